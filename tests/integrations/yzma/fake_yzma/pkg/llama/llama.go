// Package llama stands for yzma's of that name: the few functions that integrations/yzma and its test
// use, with yzma's names and types. It is no part of yzma.
package llama

import (
	"path/filepath"
	"unsafe"

	"github.com/ebitengine/purego"
)

type (
	Token   int32
	Sampler uintptr
)

const TokenNull = -1

type TokenData struct {
	Id    Token
	Logit float32
	P     float32
}

type TokenDataArray struct {
	Data     *TokenData
	Size     uint64
	Selected int64
	Sorted   uint8
}

type SamplerChainParams struct {
	NoPerf uint8
}

var (
	libPath   string
	functions = map[string]uintptr{}
)

func LibPath() string { return libPath }

func Load(path string) error {
	libPath = path
	lib, err := purego.Dlopen(filepath.Join(path, "libllama.so"), purego.RTLD_NOW|purego.RTLD_GLOBAL)
	for _, name := range []string{"chain_default_params", "chain_init", "chain_add", "chain_n", "accept",
		"apply", "reset", "clone", "free"} {
		if err == nil {
			functions[name], err = purego.Dlsym(lib, "llama_sampler_"+name)
		}
	}
	return err
}

func call(name string, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(functions[name], args...)
	return result
}

func SamplerChainDefaultParams() SamplerChainParams {
	return SamplerChainParams{uint8(call("chain_default_params"))}
}

func SamplerChainInit(params SamplerChainParams) Sampler {
	return Sampler(call("chain_init", uintptr(params.NoPerf)))
}

func SamplerChainAdd(chain Sampler, smpl Sampler) { call("chain_add", uintptr(chain), uintptr(smpl)) }
func SamplerChainN(chain Sampler) int             { return int(call("chain_n", uintptr(chain))) }
func SamplerAccept(smpl Sampler, token Token)     { call("accept", uintptr(smpl), uintptr(token)) }
func SamplerReset(smpl Sampler)                   { call("reset", uintptr(smpl)) }
func SamplerClone(smpl Sampler) Sampler           { return Sampler(call("clone", uintptr(smpl))) }
func SamplerFree(smpl Sampler)                    { call("free", uintptr(smpl)) }

func SamplerApply(smpl Sampler, curP *TokenDataArray) {
	purego.SyscallN(functions["apply"], uintptr(smpl), uintptr(unsafe.Pointer(curP)))
}
