package sampler

import (
	"bytes"
	"runtime"
	"strings"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// PresetParams returns parameters by an engine's name: its order of stages, its rules of ties,
// scopes and forms, and its own defaults. They give the engine's distribution, not its random
// numbers; what the engine does not do is not listed in Stages, and an error where it is on.
// docs/coming-from.md has what differs all the same. The name is one of
//
//	llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
//	vllm_v2          vLLM's second model runner, whose top-k has k tokens, whatever ties
//	hf_vllm_aligned  temperature, top-k with ties and top-p, greedy at 0: what small engines do
//	nano_vllm        the temperature alone. Its draw is DrawGumbel
//
// the newest version that is known, or another one, as in "vllm@0.33": PresetNames lists them.
//
// Errors: ErrInvalidArgument (no preset has that name).
func PresetParams(name string) (Params, error) {
	const op = "PresetParams"
	if strings.IndexByte(name, 0) >= 0 {
		return Params{}, &Error{op, ErrInvalidArgument, "name has a zero byte; it must have none"}
	}
	p, text := new(raw.Params), make([]byte, raw.SHIM_ERROR_BYTES)
	p.StructSize = unsafe.Sizeof(*p)
	status := Status(raw.ShimParamsPreset(raw.Address(p), name, uintptr(raw.Memory(text))))
	runtime.KeepAlive(p)
	runtime.KeepAlive(text)
	if status != statusOK {
		return Params{}, &Error{op, status, textOf(text)}
	}
	return paramsOf(p), nil
}

// textOf is a C string.
func textOf(bytesOfC []byte) string {
	return string(bytesOfC[:bytes.IndexByte(bytesOfC, 0)])
}

// PresetNames returns the names of all presets, with their versions where they have one.
func PresetNames() []string {
	var names []string
	for name := raw.ShimPresetName(0); name != ""; name = raw.ShimPresetName(int32(len(names))) {
		names = append(names, name)
	}
	return names
}
