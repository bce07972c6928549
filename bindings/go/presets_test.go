package sampler

import (
	"strings"
	"testing"
)

// Rules of two engines that docs/coming-from.md has.
func TestPresets(t *testing.T) {
	llama, err := PresetParams("llama.cpp")
	if err != nil {
		t.Fatal(err)
	}
	if llama.Temperature != 0.8 || llama.TopK != 40 || llama.TopP != 0.95 || llama.MinP != 0.05 ||
		llama.PenaltyWindow != 64 || llama.PenaltyScope != PenaltyScopeAll {
		t.Errorf("llama.cpp: %+v", llama)
	}
	place := map[Stage]int{}
	for i, stage := range llama.Stages {
		place[stage] = i
	}
	if !(place[StageDRY] < place[StageTopK] && place[StageTopK] < place[StageTopP] &&
		place[StageXTC] < place[StageTemperature]) {
		t.Errorf("llama.cpp's stages are %v", llama.Stages)
	}
	vllm, err := PresetParams("vllm")
	if err != nil || vllm.Temperature != 1 || vllm.TopKTies != TiesKeep ||
		vllm.PenaltyForm != PenaltyReciprocal || vllm.BadWordScope != PenaltyScopeOutput {
		t.Errorf("vllm: %+v, %v", vllm, err)
	}

	// What they say is taken.
	s, tokens := newSampler(t, Options{MaxRows: 1, MaxCols: 5}), []int32{-1}
	vllm.TopK = 2
	if err := s.Sample(&SampleArgs{Input: readmeRows(), Params: &vllm,
		OutTokenIDs: I32(tokens)}); err != nil || tokens[0] != 0 && tokens[0] != 1 {
		t.Error(err, tokens)
	}
}

func TestPresetNames(t *testing.T) {
	names := PresetNames()
	for _, name := range names {
		params, err := PresetParams(name)
		newest, errOfNewest := PresetParams(strings.Split(name, "@")[0])
		if err != nil || errOfNewest != nil || !newest.isMade || !params.isMade {
			t.Errorf("%s: %v, %v", name, err, errOfNewest)
		}
	}
	all := strings.Join(names, " ")
	for _, engine := range []string{"llama.cpp", "vllm", "vllm_v2", "sglang", "tensorrt_llm",
		"hugging_face", "flashinfer", "hf_vllm_aligned", "nano_vllm"} {
		if !strings.Contains(all, engine) {
			t.Errorf("%s is not among %s", engine, all)
		}
	}
}

func TestPresetsThatAreNone(t *testing.T) {
	for _, name := range []string{"", "llama", "vllm@9", "vllm@", strings.Repeat("x", 1000)} {
		_, err := PresetParams(name)
		if len(name) > 32 {
			name = name[:32]
		}
		expectError(t, err, ErrInvalidArgument, "name is \""+name+"\"; it must be one of "+
			strings.Join(PresetNames(), ", ")+", the version may be left out")
	}
	_, err := PresetParams("vllm\x00")
	expectError(t, err, ErrInvalidArgument, "name has a zero byte; it must have none")
}
