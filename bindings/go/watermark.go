package sampler

import (
	"math"
	"runtime"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// WatermarkRandom returns the random numbers that DrawWatermark draws with after the last tokens of an
// output, at most 64, oldest first, -1 where it has fewer.
func WatermarkRandom(key uint64, context []int64) (seed, offset uint64, stream uint32, err error) {
	out, text := new([3]uint64), make([]byte, raw.SHIM_ERROR_BYTES)
	status := Status(raw.ShimWatermarkRandom(int64(key), uintptr(raw.Memory(context)),
		int64(len(context)), raw.Address(out), uintptr(raw.Memory(text))))
	runtime.KeepAlive(context)
	if status != statusOK {
		return 0, 0, 0, &Error{"WatermarkRandom", status, textOf(text)}
	}
	return out[0], out[1], uint32(out[2]), nil
}

// WatermarkDetection is what WatermarkDetect found in a text.
type WatermarkDetection struct {
	Score     float64 // about 1 for each token scored without the watermark, more with it
	NumScored int64
	PValue    float64 // the chance that a text without it scores as much
}

// WatermarkDetect looks for the watermark of a key in an output, by contexts of so many tokens. Tokens
// after a context that stood there before count only if keepsRepeated.
func WatermarkDetect(key uint64, tokenIDs []int64, contextLength int, keepsRepeated bool) (
	WatermarkDetection, error) {
	out, text := new([3]uint64), make([]byte, raw.SHIM_ERROR_BYTES)
	var keeps int32
	if keepsRepeated {
		keeps = 1
	}
	status := Status(raw.ShimWatermarkDetect(int64(key), uintptr(raw.Memory(tokenIDs)),
		int64(len(tokenIDs)), int64(contextLength), keeps, raw.Address(out),
		uintptr(raw.Memory(text))))
	runtime.KeepAlive(tokenIDs)
	if status != statusOK {
		return WatermarkDetection{}, &Error{"WatermarkDetect", status, textOf(text)}
	}
	return WatermarkDetection{math.Float64frombits(out[0]), int64(out[1]),
		math.Float64frombits(out[2])}, nil
}
