// Package yzma tests integrations/yzma. Here fake_yzma stands for yzma, fake_purego for purego and
// ../fake_llama for llama.cpp; the file also compiles with yzma and purego themselves, and runs with
// llama.cpp's library.
//
// YZMA_LIB is a folder with libllama.so, libsampler_llama.so and libsampler.so.1, EXPECTED the program of
// yzma_expected.c, SAMPLER_INCLUDE the project's include/.
package yzma

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"
	samplerllama "github.com/libsampler/libsampler/integrations/yzma"
)

const (
	numVocab = 1000
	numSteps = 60
	seed     = 11
)

func TestMain(m *testing.M) {
	if _, err := samplerllama.New(samplerllama.Options{NumVocab: numVocab}); err == nil {
		panic("a sampler without Load")
	}
	if err := llama.Load(os.Getenv("YZMA_LIB")); err != nil {
		panic(err)
	}
	if err := samplerllama.Load("/nowhere"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		panic(fmt.Sprint("of a folder that is not there: ", err))
	}
	if err := samplerllama.Load(llama.LibPath()); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// logitsOf is fill of yzma_expected.c.
func logitsOf(step int) []float32 {
	logits := make([]float32, numVocab)
	x := 88172645463325252 + uint64(step%7)
	for i := range logits {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		logits[i] = float32(int64(x>>40)-1<<23) / (1 << 20)
	}
	return logits
}

// apply is what llama.SamplerSample does with logits.
func apply(smpl llama.Sampler, logits []float32) llama.Token {
	data := make([]llama.TokenData, len(logits))
	for i, logit := range logits {
		data[i] = llama.TokenData{Id: llama.Token(i), Logit: logit}
	}
	array := &llama.TokenDataArray{Data: &data[0], Size: uint64(len(data)), Selected: -1}
	llama.SamplerApply(smpl, array)
	if array.Selected < 0 {
		return llama.TokenNull
	}
	return data[array.Selected].Id
}

func newSampler(t *testing.T, options samplerllama.Options) samplerllama.Sampler {
	t.Helper()
	options.NumVocab, options.Seed = numVocab, seed
	sampler, err := samplerllama.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return sampler
}

// inChain is a chain that owns smpl.
func inChain(t *testing.T, smpl llama.Sampler) llama.Sampler {
	chain := llama.SamplerChainInit(llama.SamplerChainDefaultParams())
	llama.SamplerChainAdd(chain, smpl)
	if n := llama.SamplerChainN(chain); n != 1 {
		t.Fatalf("the chain has %d samplers", n)
	}
	t.Cleanup(func() { llama.SamplerFree(chain) })
	return chain
}

// chainParams are those of yzma_expected.c.
func chainParams() *samplerllama.Params {
	p := samplerllama.DefaultParams()
	p.RepetitionPenalty, p.FrequencyPenalty, p.PenaltyWindow = 1.3, 0.4, 64
	p.PenaltyScope = samplerllama.PenaltyScopeAll
	p.DRYMultiplier, p.DRYBase, p.DRYAllowedLength = 0.8, 1.5, 1
	p.Temperature, p.TopK, p.TopP, p.MinP = 1.8, 100, 0.9, 0.05
	p.TypicalP, p.XTCProbability, p.XTCThreshold = 0.95, 0.5, 0.05
	p.MinKeep, p.CutoffTies = 3, samplerllama.TiesKeep
	copy(p.Stages[:], []samplerllama.Stage{samplerllama.StagePenalties, samplerllama.StageDRY,
		samplerllama.StageTopK, samplerllama.StageTemperature, samplerllama.StageXTC,
		samplerllama.StageTypicalP, samplerllama.StageTopP, samplerllama.StageMinP})
	return &p
}

func TestDrawsWhatTheLibraryDraws(t *testing.T) {
	output, err := exec.Command(os.Getenv("EXPECTED")).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	for i, params := range []*samplerllama.Params{nil, chainParams()} {
		expected := strings.Fields(lines[i])
		if len(expected) != numSteps {
			t.Fatalf("%d tokens are expected", len(expected))
		}
		sampler := newSampler(t, samplerllama.Options{Params: params})
		chain := inChain(t, sampler.Sampler)
		for _, token := range []llama.Token{5, 6, 7, 5, 6} {
			llama.SamplerAccept(chain, token)
		}
		for step, want := range expected {
			logits := logitsOf(step)
			drawn, err := sampler.Sample(logits)
			if err != nil || fmt.Sprint(drawn) != want {
				t.Fatalf("chain %d, step %d: %d (%v), want %s", i, step, drawn, err, want)
			}
			if other := apply(chain, logits); other != drawn {
				t.Fatalf("chain %d, step %d: %d of candidates, %d of the row", i, step, other, drawn)
			}
			llama.SamplerAccept(chain, drawn)
		}
	}
}

// What C has the address of is there after collections.
func TestHasBreakers(t *testing.T) {
	params := samplerllama.DefaultParams()
	params.Temperature, params.DRYMultiplier = 0, 100
	breakers, err := samplerllama.NewBreakers([][]llama.Token{{8, 9}, {3}, {8, 9}})
	if err != nil {
		t.Fatal(err)
	}
	none := newSampler(t, samplerllama.Options{Params: &params})
	chain := inChain(t, none.Sampler)
	broken := newSampler(t, samplerllama.Options{Params: &params, DRYBreakers: breakers})
	llama.SamplerChainAdd(chain, broken.Sampler)
	breakers = nil
	for i := 0; i < 3; i++ {
		runtime.GC()
		garbage := make([][]int64, 1000)
		for j := range garbage {
			garbage[j] = []int64{-1, -1, -1}
		}
	}
	copied := inChain(t, llama.SamplerClone(broken.Sampler))
	logits := make([]float32, numVocab)
	logits[4] = 5
	for _, text := range [][]llama.Token{{4, 1, 2, 3, 4, 1, 2, 3}, {4, 1, 8, 9, 4, 1, 8, 9}, {4, 1, 9, 8, 4, 1, 9, 8}} {
		for _, one := range []llama.Sampler{chain, copied} {
			llama.SamplerReset(one)
			for _, token := range text {
				llama.SamplerAccept(one, token)
			}
		}
		if drawn, err := none.Sample(logits); err != nil || drawn == 4 {
			t.Errorf("%v: %d without breakers (%v)", text, drawn, err)
		}
		drawn, err := broken.Sample(logits)
		if err != nil || (drawn == 4) != (text[2] != 9) {
			t.Errorf("%v: %d with breakers (%v)", text, drawn, err)
		}
		if other := apply(copied, logits); other != drawn {
			t.Errorf("%v: %d of a clone, not %d", text, other, drawn)
		}
	}
}

func expectError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%v: nothing of %q", err, part)
	}
}

func TestTellsErrors(t *testing.T) {
	_, err := samplerllama.New(samplerllama.Options{})
	expectError(t, err, "0")
	_, err = samplerllama.New(samplerllama.Options{NumVocab: 100, Params: &samplerllama.Params{Temperature: 1}})
	expectError(t, err, "DefaultParams")
	params := chainParams()
	params.FilterOrder = 99
	_, err = samplerllama.New(samplerllama.Options{NumVocab: 100, Params: params})
	expectError(t, err, "filter_order")
	_, err = samplerllama.PresetParams("nobody")
	expectError(t, err, "nobody")
	_, err = samplerllama.NewBreakers([][]llama.Token{{}})
	expectError(t, err, "0 tokens")
	sampler := newSampler(t, samplerllama.Options{})
	defer llama.SamplerFree(sampler.Sampler)
	logits := logitsOf(0)
	_, err = sampler.Sample(logits[1:])
	expectError(t, err, "999 logits")
	logits[7] = float32(math.NaN())
	_, err = sampler.Sample(logits)
	expectError(t, err, "no token")
	_, err = samplerllama.Sampler{}.Sample(logits)
	expectError(t, err, "vocabulary")
}

// Params are the header's struct, member for member, and presets fill them in.
func TestHasTheLayoutOfC(t *testing.T) {
	text := read(t, "sampling.h")
	text = text[strings.Index(text, "typedef struct sampler_params {"):]
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text[:strings.Index(text, "} sampler_params;")], "")
	members := regexp.MustCompile(`(\w+) (\w+)(\[SAMPLER_MAX_STAGES\])?;`).FindAllStringSubmatch(text, -1)
	params := reflect.TypeOf(samplerllama.Params{})
	if len(members) != params.NumField() {
		t.Fatalf("C has %d members, Go %d", len(members), params.NumField())
	}
	for i, member := range members {
		field, name := params.Field(i), strings.ReplaceAll(member[2], "_", "")
		kind := field.Type.Kind()
		if member[3] != "" {
			kind = field.Type.Elem().Kind()
		}
		want := reflect.Int32 // enumerations, too
		switch member[1] {
		case "float":
			want = reflect.Float32
		case "size_t":
			want = reflect.Uintptr
		}
		if !strings.EqualFold(field.Name, name) || kind != want || (member[3] != "") != (field.Type.Kind() == reflect.Array) {
			t.Errorf("C has %s, Go %s %s", member[0], field.Name, field.Type)
		}
	}
	preset, err := samplerllama.PresetParams("llama.cpp")
	if err != nil || preset.TopK != 40 || preset.TopP != 0.95 || preset.MinP != 0.05 || preset.Temperature != 0.8 {
		t.Errorf("%+v, %v", preset, err)
	}
}

func TestHasTheConstantsOfC(t *testing.T) {
	text := read(t, "types.h") + read(t, "pipeline.h")
	constants := map[string]int{
		"TIES_KEEP":              int(samplerllama.TiesKeep),
		"SUM_EXCEEDS":            int(samplerllama.SumExceeds),
		"FILTERS_JOINT":          int(samplerllama.FiltersJoint),
		"FILTERS_MIN_P_FIRST":    int(samplerllama.FiltersMinPFirst),
		"TEMPERATURE_LAST":       int(samplerllama.TemperatureLast),
		"PENALTY_SCOPE_ALL":      int(samplerllama.PenaltyScopeAll),
		"PENALTY_SCOPE_OUTPUT":   int(samplerllama.PenaltyScopeOutput),
		"PENALTY_RECIPROCAL":     int(samplerllama.PenaltyReciprocal),
		"PENALTY_COUNTS_FIRST":   int(samplerllama.PenaltyCountsFirst),
		"P_LESS_PLAIN":           int(samplerllama.PLessPlain),
		"P_LESS_NORM":            int(samplerllama.PLessNorm),
		"ADAPTIVE_MIROSTAT_V1":   int(samplerllama.AdaptiveMirostatV1),
		"ADAPTIVE_MIROSTAT_V2":   int(samplerllama.AdaptiveMirostatV2),
		"ADAPTIVE_P":             int(samplerllama.AdaptiveP),
		"MAX_STAGES":             samplerllama.MaxStages,
		"STAGE_BIAS":             int(samplerllama.StageBias),
		"STAGE_MASK":             int(samplerllama.StageMask),
		"STAGE_PENALTIES":        int(samplerllama.StagePenalties),
		"STAGE_DRY":              int(samplerllama.StageDRY),
		"STAGE_NO_REPEAT_NGRAM":  int(samplerllama.StageNoRepeatNgram),
		"STAGE_TEMPERATURE":      int(samplerllama.StageTemperature),
		"STAGE_TYPICAL_P":        int(samplerllama.StageTypicalP),
		"STAGE_TOP_N_SIGMA":      int(samplerllama.StageTopNSigma),
		"STAGE_EPSILON":          int(samplerllama.StageEpsilon),
		"STAGE_ETA":              int(samplerllama.StageEta),
		"STAGE_TOP_H":            int(samplerllama.StageTopH),
		"STAGE_P_LESS":           int(samplerllama.StagePLess),
		"STAGE_MIN_K":            int(samplerllama.StageMinK),
		"STAGE_TOP_A":            int(samplerllama.StageTopA),
		"STAGE_XTC":              int(samplerllama.StageXTC),
		"STAGE_TOP_K":            int(samplerllama.StageTopK),
		"STAGE_TOP_P":            int(samplerllama.StageTopP),
		"STAGE_MIN_P":            int(samplerllama.StageMinP),
		"STAGE_ADAPTIVE":         int(samplerllama.StageAdaptive),
		"PENALTY_SCOPE_STANDARD": int(samplerllama.PenaltyScopeStandard),
		"ADAPTIVE_SMOOTHING":     int(samplerllama.AdaptiveSmoothing),
	}
	for name, got := range constants {
		match := regexp.MustCompile(`\bSAMPLER_` + name + ` = (\d+)`).FindStringSubmatch(text)
		if match == nil || match[1] != strconv.Itoa(got) {
			t.Errorf("SAMPLER_%s: C has %v, Go %d", name, match, got)
		}
	}
	// None is missing, but those of 0.
	const kinds = `\bSAMPLER_((?:TIES|SUM|FILTERS|TEMPERATURE|PENALTY|P_LESS|ADAPTIVE|STAGE)_\w+) = [1-9]`
	for _, match := range regexp.MustCompile(kinds).FindAllStringSubmatch(text, -1) {
		if _, found := constants[match[1]]; !found {
			t.Errorf("SAMPLER_%s: Go has none", match[1])
		}
	}
}

func read(t *testing.T, header string) string {
	text, err := os.ReadFile(filepath.Join(os.Getenv("SAMPLER_INCLUDE"), "sampler", header))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
