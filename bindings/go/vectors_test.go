package sampler

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"
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

	Workspace string // "call": the sampler's has no room for it

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
		return mapSlice(bits, func(b uint64) uint32 { return uint32(b) })
	case "u8":
		return mapSlice(bits, func(b uint64) byte { return byte(b) })
	case "u64":
		return bits
	}
	t.Fatalf("unknown type %q", a.Type)
	return nil
}

// alias is the same memory as elements of another type of the same size.
func alias[T, S any](values []S) []T {
	if len(values) == 0 {
		return []T{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&values[0])), len(values))
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
		"i32": "3452816845", "i64": "-3617008641903833651", "u32": "3452816845", "u8": "205",
		"u64": "14829735431805717965"}[a.Type]
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
func field(args any, path string) reflect.Value {
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

func setArray(t testing.TB, args any, path, elementType string, values any) {
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
	case *[]float32:
		*f = values.([]float32)
	case *[MaxStages]Stage:
		copy(f[:], alias[Stage](values.([]int32)))
	case *Array[int32]:
		*f = Slice(values.([]int32))
	case *Array[AdaptiveKind]:
		*f = Slice(alias[AdaptiveKind](values.([]int32)))
	case *Array[PLessKind]:
		*f = Slice(alias[PLessKind](values.([]int32)))
	case *Array[Acceptance]:
		*f = Slice(alias[Acceptance](values.([]int32)))
	case *Array[uint32]:
		*f = Slice(values.([]uint32))
	case *Array[RowStatus]:
		*f = Slice(alias[RowStatus](values.([]uint32)))
	case *Array[byte]:
		*f = Slice(values.([]byte))
	case *Array[int64]:
		*f = Slice(values.([]int64))
	case *Array[uint64]:
		*f = Slice(values.([]uint64))
	case *Array[float32]:
		*f = Slice(values.([]float32))
	default:
		t.Fatalf("%s is of type %T", path, f)
	}
}

// setNumber leaves element types to the arrays, except those that no constructor gives.
func setNumber(t testing.TB, args any, path string, text json.RawMessage) {
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
	args = newArgs[operation]()
	return args, c.fill(t, args)
}

// fill sets the members of arguments, and returns the slices of the outputs.
func (c *vectorCase) fill(t testing.TB, args any) (outputs map[string]any) {
	t.Helper()
	outputs = map[string]any{}
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
	return outputs
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
	s := c.sampler(t, 16, 1500)
	c.bringWorkspace(s, args)
	c.checkError(t, operation, call(s, operation, args))
	c.checkOutputs(t, outputs)
}

// bringWorkspace gives the call its own where the sampler's may have no room for it.
func (c *vectorCase) bringWorkspace(s *Sampler, args Args) {
	if c.Workspace == "" {
		return
	}
	// A call that is refused has no size.
	if bytes, err := s.WorkspaceSize(args); err == nil {
		*field(args, "exec.workspace").Interface().(*Array[byte]) = Slice(make([]byte, bytes))
		*field(args, "exec.workspace_bytes").Interface().(*int) = bytes
	}
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

// What errors name with an arrow.
var pointers = regexp.MustCompile(`^((draft_)?(row_)?params|pipeline|reports|layout|acceptance)\.`)

// checkShortSlices takes one element from each array in turn.
func (c *vectorCase) checkShortSlices(t *testing.T, operation string) {
	s := c.sampler(t, 16, 1500)
	arrays := map[string]vectorArray{}
	for member, array := range c.Inputs {
		if member != "params.stages" {
			arrays[member] = array
		}
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
		c.bringWorkspace(s, args)
		var e *Error
		err := call(s, operation, args)
		what := pointers.ReplaceAllString(member, "$1->")
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

// ---- States

type vectorStateFile struct {
	Cases []struct {
		Name    string
		Options struct {
			NumSlots           int `json:"num_slots"`
			MaxTokens          int `json:"max_tokens"`
			MaxDistinctTokens  int `json:"max_distinct_tokens"`
			KeepAdaptiveValues int `json:"keep_adaptive_values"`
		}
		Calls []vectorCase
	}
}

var newStateArgs = map[string]func() any{
	"append":   func() any { return new(AppendArgs) },
	"accept":   func() any { return new(AcceptArgs) },
	"truncate": func() any { return new(TruncateArgs) },
	"copy":     func() any { return new(CopyArgs) },
	"reset":    func() any { return new(ResetArgs) },
	"read":     func() any { return new(ReadArgs) },
}

// replayOn makes a call of a state, or a draw with it.
func (c *vectorCase) replayOn(t *testing.T, s *Sampler, state *State) {
	t.Helper()
	switch {
	case c.Name == "serialize":
		data, err := state.Serialize(int(integer(t, c.Args["first_slot"])),
			int(integer(t, c.Args["num_slots"])))
		c.checkError(t, c.Name, err)
		c.checkOutputs(t, map[string]any{"out_data": data})
	case c.Name == "deserialize":
		firstSlot := 0
		if text, isGiven := c.Args["first_slot"]; isGiven {
			firstSlot = int(integer(t, text))
		}
		numSlots, err := state.Deserialize(firstSlot, c.Inputs["data"].slice(t).([]byte))
		c.checkError(t, c.Name, err)
		if err == nil {
			c.checkOutputs(t, map[string]any{"out_num_slots": []int64{int64(numSlots)}})
		}
	case newStateArgs[c.Name] == nil:
		args, outputs := c.build(t, c.Name)
		args.(*SampleArgs).Pipeline = &Pipeline{State: state}
		c.bringWorkspace(s, args)
		c.checkError(t, c.Name, call(s, c.Name, args))
		c.checkOutputs(t, outputs)
	default:
		args := newStateArgs[c.Name]()
		outputs := c.fill(t, args)
		method := reflect.ValueOf(state).MethodByName(goName(c.Name))
		err, _ := method.Call([]reflect.Value{reflect.ValueOf(args)})[0].Interface().(error)
		c.checkError(t, c.Name, err)
		c.checkOutputs(t, outputs)
	}
}

func TestVectorsOfStates(t *testing.T) {
	contents, err := os.ReadFile(filepath.Join(vectorsDir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file vectorStateFile
	if err := json.Unmarshal(contents, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		s := newSampler(t, Options{MaxRows: 16, MaxCols: 1500})
		state, err := s.NewState(StateOptions{NumSlots: c.Options.NumSlots,
			MaxTokens: c.Options.MaxTokens, MaxDistinctTokens: c.Options.MaxDistinctTokens,
			KeepAdaptiveValues: c.Options.KeepAdaptiveValues != 0})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Calls {
			t.Run(fmt.Sprintf("%s/%d_%s", c.Name, i, c.Calls[i].Name),
				func(t *testing.T) { c.Calls[i].replayOn(t, s, state) })
		}
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Files and operations are the same ones.
func TestEveryVectorFileIsReplayed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.json"))
	if err != nil || len(files) != len(newArgs)+1 { // and that of states
		t.Errorf("%d files of recorded calls, %d operations (%v)", len(files), len(newArgs), err)
	}
}
