package sampler

import (
	"os"
	"reflect"
	"runtime"
	"testing"
)

// The library under test has a CUDA device that reaches the memory of its program: addresses of Go's
// slices stand for device memory there.
const deviceVariable = "SAMPLER_TEST_DEVICE_REACHES_HOST"

// arrayOf is the array that a field of arguments holds; nil for a number.
func arrayOf(field reflect.Value) *array {
	switch f := field.Addr().Interface().(type) {
	case *Data:
		return &f.array
	case *IDs:
		return &f.array
	case *Array[int32]:
		return &f.array
	case *Array[float32]:
		return &f.array
	case *Array[RowStatus]:
		return &f.array
	case *Param[float32]:
		return &f.array
	case *Param[int32]:
		return &f.array
	case *Param[uint64]:
		if f.place == onHost && f.length == 1 {
			f.form = isShared
		}
		return &f.array
	}
	return nil
}

// moveToDevice leaves addresses in place of slices, which it returns.
func moveToDevice(args Args) (slices []array) {
	fields := reflect.ValueOf(args).Elem()
	for i := 0; i < fields.NumField(); i++ {
		if a := arrayOf(fields.Field(i)); a != nil && a.place == onHost {
			slices = append(slices, *a)
			*a = device(uintptr(a.memory))
		}
	}
	return slices
}

func (c *vectorCase) replayOnDevice(t *testing.T, operation string) {
	args, outputs, ok := c.build(t, operation)
	if !ok {
		t.Skip("Go's arguments cannot say this: the count is the slice's length")
	}
	s := newSampler(t, Options{
		DeviceType: CUDA, MaxRows: 16, MaxCols: 1500,
		FallbackTokenID: c.Options.FallbackTokenID, UseFallbackToken: c.Options.UseFallbackToken != 0,
	})
	slices := moveToDevice(args)
	c.checkError(t, operation, call(s, operation, args))
	runtime.KeepAlive(slices)
	c.checkOutputs(t, outputs)
}

func TestVectorsOnDevice(t *testing.T) {
	if os.Getenv(deviceVariable) == "" {
		t.Skipf("%s is not set: no device here", deviceVariable)
	}
	forEachVector(t, func(t *testing.T, operation string, c *vectorCase) {
		c.replayOnDevice(t, operation)
	})
}
