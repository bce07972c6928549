package sampler

import (
	"errors"
	"os"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
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
	case *Array[PLessKind]:
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
		if field := value.Field(i); !field.CanInterface() {
			continue // not public
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

func TestSessionsOnDevice(t *testing.T) {
	if os.Getenv(deviceVariable) == "" {
		t.Skipf("%s is not set: no device here", deviceVariable)
	}
	s := newSampler(t, Options{DeviceType: CUDA, MaxRows: 1, MaxCols: sessionCols})
	options := sessionOptions()
	var stream byte
	options.Stream = uintptr(unsafe.Pointer(&stream))
	session, err := s.NewSession(options)
	if err != nil {
		t.Fatal(err)
	}
	prompt := []int32{1, 2, 3, 1, 2, 3}
	for i, source := range []DraftSource{DraftsNone, DraftsModel, DraftsPromptLookup} {
		addSequence(t, session, AddArgs{TokenIDs: prompt, Seed: uint64(i), MaxNewTokens: 9,
			DraftSource: source, StopSequences: [][]int32{{0, 0}}})
	}
	for caller := (&sessionCaller{onDevice: true}); caller.step(t, session, 0); {
	}
	for i := 0; i < 3; i++ {
		wanted := drawnAlone(t, prompt, 9, uint64(i), DefaultParams())
		if got := sequenceOf(t, session, i).TokenIDs; !reflect.DeepEqual(got, wanted.text) {
			t.Errorf("sequence %d is %v, not %v", i, got, wanted.text)
		}
	}

	// Logits that lie elsewhere are refused.
	number := addSequence(t, session, AddArgs{TokenIDs: prompt})
	var plan Plan
	if err := session.Plan(&PlanArgs{Sequences: []int32{int32(number)}}, &plan); err != nil {
		t.Fatal(err)
	}
	args := AdvanceArgs{Spans: plan.Spans, Logits: F32(make([]float32, sessionCols)),
		OutTokenIDs: make([]int32, sessionDrafts+1), OutCounts: make([]int64, 1)}
	refused(t, session.Advance(&args), "logits is a slice; it must be device memory on this CUDA sampler")
	var logits byte
	args.Logits, args.GuidanceLogits = Device(uintptr(unsafe.Pointer(&logits)), DtypeF32), args.Logits
	refused(t, session.Advance(&args),
		"guidance_logits is a slice; it must be device memory on this CUDA sampler")
}

func refused(t *testing.T, err error, message string) {
	t.Helper()
	var told *Error
	if !errors.As(err, &told) || told.Message != message {
		t.Errorf("%v instead of %q", err, message)
	}
}

func TestVectorsOnDevice(t *testing.T) {
	if os.Getenv(deviceVariable) == "" {
		t.Skipf("%s is not set: no device here", deviceVariable)
	}
	forEachVector(t, func(t *testing.T, operation string, c *vectorCase) {
		c.replayOnDevice(t, operation)
	})
}
