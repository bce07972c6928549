// Package samplerllama makes samplers of llama.cpp that draw by libsampler, for yzma. It needs no cgo.
package samplerllama

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// The shared libraries: integrations/llama_cpp, and what it opens.
const (
	adapterName = "libsampler_llama.so"
	libraryName = "libsampler.so.1"
)

// errorSize is SAMPLER_DL_ERROR_SIZE.
const errorSize = 512

// Addresses of C functions, and what C keeps the addresses of, which is never freed.
var (
	initFunc, sampleFunc, presetFunc uintptr

	libraryPath []byte

	allBreakers      []*Breakers
	allBreakersMutex sync.Mutex
)

// Load opens libsampler_llama.so in the folder that llama.Load was given ("": the one in YZMA_LIB),
// and libsampler.so.1 there or where the system finds it. It is called once, after llama.Load.
func Load(path string) error {
	if path == "" {
		path = os.Getenv("YZMA_LIB")
	}
	adapter, err := purego.Dlopen(filepath.Join(path, adapterName), purego.RTLD_NOW)
	if err != nil {
		return err
	}
	name := filepath.Join(path, libraryName)
	if _, err := os.Stat(name); err != nil {
		name = libraryName
	}
	library, err := purego.Dlopen(name, purego.RTLD_NOW)
	if err != nil {
		return err
	}
	preset, err := purego.Dlsym(library, "sampler_params_preset")
	if err != nil {
		return err
	}
	sample, err := purego.Dlsym(adapter, "sampler_llama_sample")
	if err != nil {
		return err
	}
	initialize, err := purego.Dlsym(adapter, "sampler_llama_init")
	if err != nil {
		return err
	}
	initFunc, sampleFunc, presetFunc = initialize, sample, preset
	libraryPath = append([]byte(name), 0)
	return nil
}

var errNotLoaded = errors.New("samplerllama: Load was not called, or failed")

// PresetParams has an engine's stages, rules and defaults: "llama.cpp", "vllm@0.33".
func PresetParams(name string) (Params, error) {
	if presetFunc == 0 {
		return Params{}, errNotLoaded
	}
	var params Params
	text := append([]byte(name), 0)
	status, _, _ := purego.SyscallN(presetFunc, uintptr(unsafe.Pointer(&params)), unsafe.Sizeof(params),
		uintptr(unsafe.Pointer(&text[0])))
	if int32(status) != 0 {
		return Params{}, fmt.Errorf("samplerllama: no preset is named %q (status %d)", name, int32(status))
	}
	return params, nil
}

// Breakers are lists of tokens that end DRY's repeats.
type Breakers struct {
	offsets []int64
	ids     []llama.Token
}

// NewBreakers has lists of 1 to 20 tokens each, in any order. They stay in memory until the process
// ends, since samplers read them: make them once for a vocabulary.
func NewBreakers(lists [][]llama.Token) (*Breakers, error) {
	sorted := append([][]llama.Token(nil), lists...)
	sort.Slice(sorted, func(i, j int) bool { return compare(sorted[i], sorted[j]) < 0 })
	breakers := &Breakers{offsets: []int64{0}}
	for i, list := range sorted {
		if len(list) == 0 || len(list) > 20 {
			return nil, fmt.Errorf("samplerllama: a breaker has %d tokens; it must have 1 to 20", len(list))
		}
		if i > 0 && compare(sorted[i-1], list) == 0 {
			continue
		}
		breakers.ids = append(breakers.ids, list...)
		breakers.offsets = append(breakers.offsets, int64(len(breakers.ids)))
	}
	allBreakersMutex.Lock()
	defer allBreakersMutex.Unlock()
	allBreakers = append(allBreakers, breakers)
	return breakers, nil
}

func compare(a, b []llama.Token) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

// Options of a sampler.
type Options struct {
	NumVocab    int32     // llama.VocabNTokens()
	Seed        uint64    // equal texts and seeds give equal tokens
	Params      *Params   // copied; nil: PresetParams("llama.cpp")
	DRYBreakers *Breakers // nil: none
}

// sampler_token_lists and sampler_llama_options.
type (
	tokenLists struct {
		offsets          *int64
		ids              *llama.Token
		numLists, numIDs int64
	}
	rawOptions struct {
		library  *byte
		params   *Params
		numVocab int64
		seed     uint64
		breakers tokenLists
	}
)

// Sampler is a whole chain, from the penalties to the draw. Tokens that it accepts are the text that
// penalties look at.
type Sampler struct {
	// The llama_sampler, for every function of yzma. llama.SamplerFree frees it, alone or with the
	// chain that it was added to.
	llama.Sampler

	NumVocab int32
}

// New makes a sampler.
func New(options Options) (Sampler, error) {
	if initFunc == 0 {
		return Sampler{}, errNotLoaded
	}
	raw := &rawOptions{
		library:  &libraryPath[0],
		params:   options.Params,
		numVocab: int64(options.NumVocab),
		seed:     options.Seed,
	}
	if options.Params != nil && options.Params.structSize == 0 {
		return Sampler{}, errors.New("samplerllama: Params are made by DefaultParams or PresetParams")
	}
	if b := options.DRYBreakers; b != nil && len(b.ids) > 0 {
		raw.breakers = tokenLists{&b.offsets[0], &b.ids[0], int64(len(b.offsets) - 1), int64(len(b.ids))}
	}
	text := make([]byte, errorSize)
	made, _, _ := purego.SyscallN(initFunc, uintptr(unsafe.Pointer(raw)), uintptr(unsafe.Pointer(&text[0])))
	if made == 0 {
		return Sampler{}, fmt.Errorf("samplerllama: %s", text[:bytes.IndexByte(text, 0)])
	}
	return Sampler{Sampler: llama.Sampler(made), NumVocab: options.NumVocab}, nil
}

// Sample draws from a row as of llama.GetLogitsIth and accepts nothing. It takes a tenth of the time of
// llama.SamplerSample, which fills an array of candidates. An error if the row has a NaN or no token.
func (s Sampler) Sample(logits []float32) (llama.Token, error) {
	if int64(len(logits)) < int64(s.NumVocab) || s.Sampler == 0 {
		return llama.TokenNull, fmt.Errorf("samplerllama: there are %d logits; the vocabulary has %d",
			len(logits), s.NumVocab)
	}
	drawn, _, _ := purego.SyscallN(sampleFunc, uintptr(s.Sampler), uintptr(unsafe.Pointer(&logits[0])))
	if token := llama.Token(int32(drawn)); token >= 0 {
		return token, nil
	}
	return llama.TokenNull, errors.New("samplerllama: the row has no token, or there is no memory")
}
