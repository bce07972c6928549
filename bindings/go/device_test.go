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

// arrayOf is the array that a field of arguments holds; nil for any other.
func arrayOf(field reflect.Value) *array {
	switch f := field.Addr().Interface().(type) {
	case *Data:
		return &f.array
	case *IDs:
		return &f.array
	case *Array[int32]:
		return &f.array
	case *Array[int64]:
		return &f.array
	case *Array[AdaptiveKind]:
		return &f.array
	case *Array[Acceptance]:
		return &f.array
	case *Array[byte]:
		return &f.array
	case *Array[uint32]:
		return &f.array
	case *Array[uint64]:
		return &f.array
	case *Array[float32]:
		return &f.array
	case *Array[RowStatus]:
		return &f.array
	}
	return nil
}

// moveToDevice leaves addresses in place of slices, which it returns.
func moveToDevice(value reflect.Value) (slices []array) {
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return nil
	}
	for i := 0; i < value.NumField(); i++ {
		if field := value.Field(i); !field.CanInterface() || value.Type().Field(i).Name == "SyntheticRates" {
			continue // not public, or always the host's
		} else if a := arrayOf(field); a == nil {
			slices = append(slices, moveToDevice(field)...)
		} else if a.place == onHost {
			slices = append(slices, *a)
			*a = device(uintptr(a.memory))
		}
	}
	return slices
}

func (c *vectorCase) replayOnDevice(t *testing.T, operation string) {
	args, outputs := c.build(t, operation)
	s := newSampler(t, Options{
		DeviceType: CUDA, MaxRows: 16, MaxCols: 1500,
		FallbackTokenID: c.Options.FallbackTokenID, UseFallbackToken: c.Options.UseFallbackToken != 0,
	})
	slices := moveToDevice(reflect.ValueOf(args))
	c.bringWorkspace(s, args)
	slices = append(slices, moveToDevice(reflect.ValueOf(args))...)
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
