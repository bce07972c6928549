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

// Arguments of each full call, by its name in C without "sampler_".
var newArgs = map[string]func() Args{
	"sample":   func() Args { return new(SampleArgs) },
	"filter":   func() Args { return new(FilterArgs) },
	"select":   func() Args { return new(SelectArgs) },
	"verify":   func() Args { return new(VerifyArgs) },
	"residual": func() Args { return new(ResidualArgs) },
}

func goName(member string) string {
	words := strings.Split(member, "_")
	for i, word := range words {
		switch word {
		case "id", "ids":
			words[i] = "ID" + word[2:]
		case "dry", "kv", "xtc":
			words[i] = strings.ToUpper(word)
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

func mapSlice[S, T any](values []S, f func(S) T) []T {
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

// field is the one that a path of C stands for: Input.Values for "input.values". Structs on the way
// are made.
func field(args Args, path string) reflect.Value {
	value := reflect.ValueOf(args)
	for _, member := range strings.Split(path, ".") {
		value = value.Elem().FieldByName(goName(member))
		if value.Kind() != reflect.Pointer {
			value = value.Addr()
		} else if params, ok := value.Addr().Interface().(**Params); ok && *params == nil {
			defaults := DefaultParams()
			*params = &defaults
		} else if value.IsNil() {
			value.Set(reflect.New(value.Type().Elem()))
		}
	}
	return value
}

func setArray(t testing.TB, args Args, path, elementType string, values any) {
	t.Helper()
	switch f := field(args, path).Interface().(type) {
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
	case *Array[uint32]:
		*f = Slice(mapSlice(values.([]RowStatus), func(s RowStatus) uint32 { return uint32(s) }))
	case *Array[int64]:
		*f = Slice(values.([]int64))
	case *Array[uint64]:
		*f = Slice(values.([]uint64))
	case *Array[float32]:
		*f = Slice(values.([]float32))
	case *Array[RowStatus]:
		*f = Slice(values.([]RowStatus))
	default:
		t.Fatalf("%s is of type %T", path, f)
	}
}

// setNumber leaves element types to the arrays, except those that no constructor gives.
func setNumber(t testing.TB, args Args, path string, text json.RawMessage) {
	t.Helper()
	if strings.HasSuffix(path, "dtype") || strings.HasSuffix(path, "id_type") {
		if integer(t, text) > int64(DtypeBF16) {
			field(args, strings.TrimSuffix(path, "dtype")+"values").Interface().(*Data).dtype =
				Dtype(integer(t, text))
		}
		return
	}
	switch f := field(args, path).Interface().(type) {
	case *float32:
		*f = math.Float32frombits(uint32(integer(t, text)))
	case *uint64:
		*f = vectorArray{"u64", []json.RawMessage{text}}.bits(t)[0]
	case *bool:
		*f = integer(t, text) != 0
	default:
		reflect.ValueOf(f).Elem().SetInt(integer(t, text))
	}
}

// build makes the arguments and the slices of the outputs.
func (c *vectorCase) build(t testing.TB, operation string) (args Args, outputs map[string]any) {
	t.Helper()
	args, outputs = newArgs[operation](), map[string]any{}
	for path, array := range c.Inputs {
		setArray(t, args, path, array.Type, array.slice(t))
	}
	for member, array := range c.Outputs {
		values := array.untouched(t)
		if before, isInput := c.Inputs[member]; isInput {
			values = before.slice(t)
		}
		setArray(t, args, member, array.Type, values)
		outputs[member] = values
	}
	for path, text := range c.Args {
		setNumber(t, args, path, text)
	}
	return args, outputs
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
	args, outputs := c.build(t, operation)
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
	args, outputs := c.build(t, operation)
	s := c.sampler(t, 0, 0)
	bytes, err := s.WorkspaceSize(args)
	if err != nil {
		t.Fatal(err)
	}
	workspace := field(args, "exec.workspace").Interface().(*Array[byte])
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
		if length == 0 {
			continue
		}
		args, _ := c.build(t, operation)
		short := reflect.ValueOf(array.slice(t)).Slice(0, length-1)
		setArray(t, args, member, array.Type, short.Interface())
		var e *Error
		err := call(s, operation, args)
		what := strings.Replace(member, "row_params.", "row_params->", 1)
		want := fmt.Sprintf("%s has %d elements; ", what, length-1)
		if !errors.As(err, &e) || e.Status != ErrInvalidArgument ||
			!strings.HasPrefix(e.Message, want) ||
			!strings.HasSuffix(e.Message, fmt.Sprintf(" needs %d", length)) {
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
