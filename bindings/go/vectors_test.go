package sampler

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Recorded calls: tests/vectors/README.md describes the files.

const vectorsDir = "../../tests/vectors"

type vectorFile struct {
	Operation string
	Cases     []vectorCase
}

type vectorCase struct {
	Name    string
	Args    map[string]json.RawMessage
	Inputs  map[string]vectorArray
	Outputs map[string]vectorArray
	Status  int32
	Error   string
	Options struct {
		FallbackTokenID  int64 `json:"fallback_token_id"`
		UseFallbackToken int   `json:"use_fallback_token"`
	}
}

type vectorArray struct {
	Type string
	Data []json.RawMessage // integers, or strings of digits
}

// Arguments of each operation, by its name in C without "sampler_".
var newArgs = map[string]func() Args{
	"sample":            func() Args { return new(SampleArgs) },
	"top_k_top_p":       func() Args { return new(TopKTopPArgs) },
	"top_k":             func() Args { return new(TopKArgs) },
	"top_p":             func() Args { return new(TopPArgs) },
	"min_p":             func() Args { return new(MinPArgs) },
	"argmax":            func() Args { return new(ArgmaxArgs) },
	"softmax":           func() Args { return new(SoftmaxArgs) },
	"top_k_renorm":      func() Args { return new(TopKRenormArgs) },
	"top_p_renorm":      func() Args { return new(TopPRenormArgs) },
	"top_k_mask":        func() Args { return new(TopKMaskArgs) },
	"top_k_select":      func() Args { return new(TopKSelectArgs) },
	"chain_speculative": func() Args { return new(ChainSpeculativeArgs) },
	"residual":          func() Args { return new(ResidualArgs) },
}

func goName(member string) string {
	words := strings.Split(member, "_")
	for i, word := range words {
		switch word {
		case "id", "ids":
			words[i] = "ID" + word[2:]
		default:
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func call(s *Sampler, operation string, args Args) error {
	method := reflect.ValueOf(s).MethodByName(goName(operation))
	err, _ := method.Call([]reflect.Value{reflect.ValueOf(args)})[0].Interface().(error)
	return err
}

func integer(t testing.TB, text json.RawMessage) int64 {
	t.Helper()
	value, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// bits of the elements.
func (a vectorArray) bits(t testing.TB) []uint64 {
	t.Helper()
	result := make([]uint64, len(a.Data))
	for i, text := range a.Data {
		if a.Type == "u64" {
			value, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			result[i] = value
		} else {
			result[i] = uint64(integer(t, text))
		}
	}
	return result
}

// slice returns a slice of the type's elements.
func (a vectorArray) slice(t testing.TB) any {
	t.Helper()
	switch bits := a.bits(t); a.Type {
	case "f32":
		return mapSlice(bits, func(b uint64) float32 { return math.Float32frombits(uint32(b)) })
	case "f16", "bf16":
		return mapSlice(bits, func(b uint64) uint16 { return uint16(b) })
	case "i32":
		return mapSlice(bits, func(b uint64) int32 { return int32(b) })
	case "i64":
		return mapSlice(bits, func(b uint64) int64 { return int64(b) })
	case "u32":
		return mapSlice(bits, func(b uint64) RowStatus { return RowStatus(b) })
	case "u64":
		return bits
	}
	t.Fatalf("unknown type %q", a.Type)
	return nil
}

func mapSlice[T any](values []uint64, f func(uint64) T) []T {
	result := make([]T, len(values))
	for i, value := range values {
		result[i] = f(value)
	}
	return result
}

// untouched is what an output array holds before a call: bytes 0xCD.
func (a vectorArray) untouched(t testing.TB) any {
	t.Helper()
	filled := vectorArray{Type: a.Type, Data: make([]json.RawMessage, len(a.Data))}
	text := map[string]string{"f32": "3452816845", "f16": "52685", "bf16": "52685",
		"i32": "3452816845", "i64": "-3617008641903833651", "u32": "3452816845"}[a.Type]
	for i := range filled.Data {
		filled.Data[i] = json.RawMessage(text)
	}
	return filled.slice(t)
}

// sameBits compares slices of one type; NaNs too.
func sameBits(a, b any) bool {
	if x, ok := a.([]float32); ok {
		y := b.([]float32)
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
				return false
			}
		}
		return len(x) == len(y)
	}
	return reflect.DeepEqual(a, b)
}

// field is the public field that a member of C's struct is part of: Temperature for temperatures.
func field(args Args, member string) reflect.Value {
	fields := reflect.ValueOf(args).Elem()
	if found := fields.FieldByName(goName(member)); found.IsValid() {
		return found
	}
	return fields.FieldByName(goName(strings.TrimSuffix(member, "s")))
}

func setArray(t testing.TB, args Args, member, elementType string, values any) {
	t.Helper()
	switch f := field(args, member).Addr().Interface().(type) {
	case *Data:
		switch elementType {
		case "f32":
			*f = F32(values.([]float32))
		case "f16":
			*f = F16(values.([]uint16))
		case "bf16":
			*f = BF16(values.([]uint16))
		}
	case *IDs:
		if elementType == "i32" {
			*f = I32(values.([]int32))
		} else {
			*f = I64(values.([]int64))
		}
	case *Array[int32]:
		*f = Slice(values.([]int32))
	case *Array[float32]:
		*f = Slice(values.([]float32))
	case *Array[RowStatus]:
		*f = Slice(values.([]RowStatus))
	case *Param[float32]:
		*f = PerRow(values.([]float32))
	case *Param[int32]:
		*f = PerRow(values.([]int32))
	case *Param[uint64]:
		*f = PerRow(values.([]uint64))
	default:
		t.Fatalf("%s is of type %T", member, f)
	}
}

// setNumber returns false for what Go's API cannot say: a number of seeds without seeds.
func (c *vectorCase) setNumber(t testing.TB, args Args, member string, text json.RawMessage) bool {
	t.Helper()
	if strings.HasPrefix(member, "num_seeds") || strings.HasPrefix(member, "num_offsets") {
		array := c.Inputs[strings.TrimPrefix(member, "num_")]
		return integer(t, text) == int64(len(array.Data))
	}
	if strings.HasSuffix(member, "_dtype") || strings.HasSuffix(member, "_id_type") {
		return setElementType(t, args, member, integer(t, text))
	}
	switch f := field(args, member).Addr().Interface().(type) {
	case *Param[float32]:
		if f.form != isPerRow {
			*f = Float(math.Float32frombits(uint32(integer(t, text))))
		}
	case *Param[int32]:
		if f.form != isPerRow {
			*f = Int(int32(integer(t, text)))
		}
	case *Param[uint64]:
		if f.form != isPerRow {
			*f = Uint(vectorArray{"u64", []json.RawMessage{text}}.bits(t)[0])
		}
	case *InputKind:
		*f = InputKind(integer(t, text) + 1)
	case *bool:
		*f = integer(t, text) != 0
	default:
		field(args, member).SetInt(integer(t, text))
	}
	return true
}

// setElementType forges a type that no constructor gives; others come with the arrays.
func setElementType(t testing.TB, args Args, member string, value int64) bool {
	if data := field(args, strings.TrimSuffix(member, "_dtype")); data.IsValid() && value > 2 {
		d := data.Addr().Interface().(*Data)
		d.dtype, d.place = Dtype(value), onHost
	}
	return true
}

// build makes the arguments and the slices of the outputs.
func (c *vectorCase) build(t testing.TB, operation string) (args Args, outputs map[string]any,
	ok bool) {
	t.Helper()
	args, outputs = newArgs[operation](), map[string]any{}
	for member, array := range c.Inputs {
		setArray(t, args, member, array.Type, array.slice(t))
	}
	for member, array := range c.Outputs {
		values := array.untouched(t)
		if before, isInput := c.Inputs[member]; isInput {
			values = before.slice(t)
		}
		setArray(t, args, member, array.Type, values)
		outputs[member] = values
	}
	for member, text := range c.Args {
		if !c.setNumber(t, args, member, text) {
			return nil, nil, false
		}
	}
	return args, outputs, true
}

func (c *vectorCase) sampler(t testing.TB, maxRows, maxCols int) *Sampler {
	t.Helper()
	return newSampler(t, Options{
		MaxRows: maxRows, MaxCols: maxCols,
		FallbackTokenID:  c.Options.FallbackTokenID,
		UseFallbackToken: c.Options.UseFallbackToken != 0,
	})
}

func (c *vectorCase) checkOutputs(t *testing.T, outputs map[string]any) {
	t.Helper()
	for member, got := range outputs {
		if want := c.Outputs[member].slice(t); !sameBits(got, want) {
			t.Errorf("%s is %v, recorded %v", member, got, want)
		}
	}
}

// replay makes the call with the sampler's workspace.
func (c *vectorCase) replay(t *testing.T, operation string) {
	args, outputs, ok := c.build(t, operation)
	if !ok {
		t.Skip("Go's arguments cannot say this: the count is the slice's length")
	}
	c.checkError(t, operation, call(c.sampler(t, 16, 1500), operation, args))
	c.checkOutputs(t, outputs)
}

func (c *vectorCase) checkError(t *testing.T, operation string, err error) {
	t.Helper()
	if c.Status != 0 {
		var e *Error
		if !errors.As(err, &e) || e.Status != Status(c.Status) || e.Message != c.Error ||
			e.Op != goName(operation) {
			t.Fatalf("error is %v, recorded %d: %s", err, c.Status, c.Error)
		}
	} else if err != nil {
		t.Fatal(err)
	}
}

// replayWithWorkspace gives the call exactly the workspace that it needs, and one byte less.
func (c *vectorCase) replayWithWorkspace(t *testing.T, operation string) {
	args, outputs, _ := c.build(t, operation)
	s := c.sampler(t, 0, 0)
	bytes, err := s.WorkspaceSize(args)
	if err != nil {
		t.Fatal(err)
	}
	workspace := field(args, "workspace").Addr().Interface().(*Array[byte])
	if bytes > 0 {
		*workspace = Slice(make([]byte, bytes-1))
		if err := call(s, operation, args); !errors.Is(err, ErrWorkspaceTooSmall) {
			t.Fatalf("%d bytes of workspace: %v", bytes-1, err)
		}
	}
	*workspace = Slice(make([]byte, bytes))
	if err := call(s, operation, args); err != nil {
		t.Fatal(err)
	}
	c.checkOutputs(t, outputs)
}

// checkShortSlices takes one element from each array in turn.
func (c *vectorCase) checkShortSlices(t *testing.T, operation string) {
	s := c.sampler(t, 16, 1500)
	arrays := map[string]vectorArray{}
	for member, array := range c.Inputs {
		arrays[member] = array
	}
	for member, array := range c.Outputs {
		arrays[member] = array
	}
	for member, array := range arrays {
		length := len(array.Data)
		if length == 0 || array.Type == "u64" {
			continue // the length of seeds is their number
		}
		args, _, _ := c.build(t, operation)
		short := reflect.ValueOf(array.slice(t)).Slice(0, length-1)
		setArray(t, args, member, array.Type, short.Interface())
		err := call(s, operation, args)
		want := fmt.Sprintf("%s has %d elements; it must have at least %d%s",
			member, length-1, length, lengths)
		var e *Error
		if !errors.As(err, &e) || e.Status != ErrInvalidArgument || e.Message != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func forEachVector(t *testing.T, f func(t *testing.T, operation string, c *vectorCase)) {
	for operation := range newArgs {
		contents, err := os.ReadFile(filepath.Join(vectorsDir, operation+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file vectorFile
		if err := json.Unmarshal(contents, &file); err != nil {
			t.Fatal(err)
		}
		if file.Operation != operation || len(file.Cases) == 0 {
			t.Fatalf("%s.json has %d cases of %q", operation, len(file.Cases), file.Operation)
		}
		for i := range file.Cases {
			c := &file.Cases[i]
			t.Run(operation+"/"+c.Name, func(t *testing.T) { f(t, operation, c) })
		}
	}
}

func TestVectors(t *testing.T) {
	forEachVector(t, func(t *testing.T, operation string, c *vectorCase) { c.replay(t, operation) })
}

func TestVectorsWithWorkspacePerCall(t *testing.T) {
	forEachVector(t, func(t *testing.T, operation string, c *vectorCase) {
		if c.Status == 0 {
			c.replayWithWorkspace(t, operation)
		}
	})
}

func TestSlicesThatAreTooShort(t *testing.T) {
	forEachVector(t, func(t *testing.T, operation string, c *vectorCase) {
		if c.Status == 0 {
			c.checkShortSlices(t, operation)
		}
	})
}

// Files and operations are the same ones.
func TestEveryVectorFileIsReplayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.json"))
	if err != nil || len(files) != len(newArgs) {
		t.Errorf("%d files of recorded calls, %d operations (%v)", len(files), len(newArgs), err)
	}
}
