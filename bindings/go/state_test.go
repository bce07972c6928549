package sampler

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"runtime"
	"testing"
	"time"
)

func newState(t testing.TB, s *Sampler, options StateOptions) *State {
	t.Helper()
	state, err := s.NewState(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

// drawFromState appends a prompt, draws, accepts and starts anew.
func drawFromState(s *Sampler, state *State, step int, tokens []int32) error {
	params := DefaultParams()
	params.RepetitionPenalty = 1.5
	if err := s.Sample(&SampleArgs{Input: readmeRows(), Params: &params,
		Random: Random{Offset: uint64(step)}, OutTokenIDs: I32(tokens),
		Pipeline: &Pipeline{State: state}}); err != nil {
		return err
	}
	if err := state.Accept(&AcceptArgs{NumRows: 1, TokenIDs: I32(tokens), NumTokens: 1,
		Params: &params}); err != nil {
		return err
	}
	if step%4 == 3 {
		return state.Reset(&ResetArgs{})
	}
	return nil
}

// sequences are texts as a program without a state keeps them.
type sequences struct {
	texts   [][]int32
	prompts []int32
	values  [][]float32 // adaptive ones, after each token of the output
}

func (q *sequences) history() TokenLists {
	offsets, ids := []int64{0}, []int32{}
	for _, text := range q.texts {
		ids = append(ids, text...)
		offsets = append(offsets, int64(len(ids)))
	}
	return TokenLists{Offsets: Slice(offsets), TokenIDs: I32(ids)}
}

const (
	vocabulary = 40
	numTexts   = 3
)

func readState(t *testing.T, state *State, numTokens int) (texts [][]int32, prompts []int32,
	values []float32) {
	t.Helper()
	ids, lengths := make([]int32, numTexts*numTokens), make([]int32, numTexts)
	prompts, values = make([]int32, numTexts), make([]float32, numTexts*NumAdaptiveValues)
	if err := state.Read(&ReadArgs{NumRows: numTexts, OutTokenIDs: I32(ids), NumTokens: numTokens,
		OutLengths: Slice(lengths), OutPromptLengths: Slice(prompts),
		OutAdaptiveValues: Slice(values)}); err != nil {
		t.Fatal(err)
	}
	for i, length := range lengths {
		texts = append(texts, ids[i*numTokens:][:length])
		for _, id := range ids[i*numTokens+int(length) : (i+1)*numTokens] {
			if id != -1 {
				t.Errorf("after the text of slot %d is %d", i, id)
			}
		}
	}
	return texts, prompts, values
}

// Draws by a state, and by texts and adaptive values that the program keeps, are the same, however
// often some tokens are taken back.
func TestStateIsTheHistory(t *testing.T) {
	s := newSampler(t, Options{MaxRows: numTexts, MaxCols: vocabulary})
	state := newState(t, s, StateOptions{NumSlots: numTexts, MaxTokens: 100, KeepAdaptiveValues: true})
	q := sequences{texts: [][]int32{{1, 2, 3, 1, 2}, {7}, {}}, prompts: []int32{5, 1, 0}}
	if err := state.Append(&AppendArgs{NumRows: numTexts, Tokens: q.history(),
		TokenKind: TokensPrompt}); err != nil {
		t.Fatal(err)
	}
	params := DefaultParams()
	params.RepetitionPenalty, params.FrequencyPenalty = 1.3, 0.25
	params.DRYMultiplier, params.NoRepeatNgramSize = 0.8, 3
	params.AdaptiveKind, params.AdaptiveTarget, params.AdaptiveRate = AdaptiveMirostatV2, 3, 0.2
	params.TopP, params.TopPDecay, params.TopPLeast = 0.98, 0.9, 0.5
	random := rand.New(rand.NewSource(1))
	offsets, logits := make([]uint64, numTexts), make([]float32, numTexts*vocabulary)
	drawn, expected := make([]int32, numTexts), make([]int32, numTexts)
	observations, lengths := make([]float32, numTexts), make([]int32, numTexts)
	workspace := make([]byte, 1<<20)
	_, _, values := readState(t, state, 100)
	after := map[string][]float32{"0 5": values[0:4], "1 1": values[4:8], "2 0": values[8:12]}
	for step := 0; step < 60; step++ {
		for i := range logits {
			logits[i] = float32(random.NormFloat64())
		}
		args := SampleArgs{Exec: Exec{Workspace: Slice(workspace)},
			Input:  Rows{Values: F32(logits), NumRows: numTexts, NumCols: vocabulary},
			Params: &params, Random: Random{Seed: 9, Offsets: Slice(offsets)},
			OutTokenIDs: I32(expected), Pipeline: &Pipeline{History: q.history(),
				PromptLengths: Slice(q.prompts), AdaptiveValues: Slice(values)}}
		if err := s.Sample(&args); err != nil {
			t.Fatal(err)
		}
		args.OutTokenIDs = I32(drawn)
		args.Reports = &ReportArgs{OutObservations: Slice(observations)}
		args.Pipeline = &Pipeline{State: state}
		if err := s.Sample(&args); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(drawn, expected) {
			t.Fatalf("step %d: tokens %v, of the history %v", step, drawn, expected)
		}
		before := append([]uint64{}, offsets...)
		if err := state.Accept(&AcceptArgs{NumRows: numTexts, TokenIDs: I32(drawn),
			Observations: Slice(observations), Params: &params, Offsets: Slice(offsets),
			OutLengths: Slice(lengths)}); err != nil {
			t.Fatal(err)
		}
		for i, token := range drawn {
			q.texts[i] = append(q.texts[i], token)
			if offsets[i] != before[i]+1 || int(lengths[i]) != len(q.texts[i]) {
				t.Fatalf("offsets %v, lengths %v", offsets, lengths)
			}
		}
		var texts [][]int32
		texts, _, values = readState(t, state, 100)
		for i := range texts {
			after[fmt.Sprint(i, len(texts[i]))] = values[4*i : 4*i+4]
		}
		if step%5 == 4 { // two texts lose tokens, by slots in another order
			kept := []int32{int32(len(q.texts[2]) - 2), int32(len(q.texts[0]) - 1 - step%3)}
			if err := state.Truncate(&TruncateArgs{Slots: Slice([]int32{2, 0}),
				Lengths: Slice(kept)}); err != nil {
				t.Fatal(err)
			}
			q.texts[2], q.texts[0] = q.texts[2][:kept[0]], q.texts[0][:kept[1]]
		}
		var prompts []int32
		texts, prompts, values = readState(t, state, 100)
		if !reflect.DeepEqual(texts, q.texts) || !reflect.DeepEqual(prompts, q.prompts) {
			t.Fatalf("step %d: the state has %v, %v; want %v", step, texts, prompts, q)
		}
		for i := range texts {
			if want := after[fmt.Sprint(i, len(texts[i]))]; !equalBits(values[4*i:4*i+4], want) {
				t.Fatalf("step %d: slot %d has values %v, want %v", step, i, values, want)
			}
		}
	}
}

func equalBits(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

func TestBadRowsOfStates(t *testing.T) {
	s := newSampler(t, Options{})
	state := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 4})
	status, lengths := make([]RowStatus, 4), make([]int32, 4)
	if err := state.Append(&AppendArgs{Slots: Slice([]int32{2, 3, 0, 1}),
		Tokens: TokenLists{Offsets: Slice([]int64{0, 2, 3, 8, 9}),
			TokenIDs: I64([]int64{5, 6, 7, 1, 2, 3, 4, 5, 1 << 31})},
		OutLengths: Slice(lengths), OutRowStatus: Slice(status)}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(status, []RowStatus{RowOK, RowInvalidSlot, RowStateFull, RowInvalidList}) ||
		!reflect.DeepEqual(lengths[:3], []int32{2, -1, 0}) {
		t.Errorf("status %v, lengths %v", status, lengths)
	}
	texts, prompts, _ := readState(t, state, 4)
	if !reflect.DeepEqual(texts, [][]int32{{}, {}, {5, 6}}) ||
		!reflect.DeepEqual(prompts, []int32{0, 0, 0}) {
		t.Errorf("texts %v, prompts %v", texts, prompts)
	}
}

// Rows of verification end at their first negative id.
func TestAcceptOfSeveralTokens(t *testing.T) {
	s := newSampler(t, Options{})
	state := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 4})
	offsets := []uint64{7, 8, 9}
	if err := state.Accept(&AcceptArgs{Slots: Slice([]int32{2, 0}), Offsets: Slice(offsets),
		TokenIDs: I64([]int64{3, 4, -1, 6, -1, 8}), NumTokens: 3}); err != nil {
		t.Fatal(err)
	}
	texts, _, _ := readState(t, state, 4)
	if !reflect.DeepEqual(texts, [][]int32{{6}, {}, {3, 4}}) ||
		!reflect.DeepEqual(offsets, []uint64{8, 8, 11}) {
		t.Errorf("texts %v, offsets %v", texts, offsets)
	}
}

func TestCopyAndReset(t *testing.T) {
	s := newSampler(t, Options{})
	small := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 4})
	large := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 9})
	q := sequences{texts: [][]int32{{1, 2, 3, 4, 5}, {6, 7}, {}}}
	if err := large.Append(&AppendArgs{NumRows: 3, Tokens: q.history()}); err != nil {
		t.Fatal(err)
	}
	if err := large.Copy(&CopyArgs{SourceSlots: Slice([]int32{1}),
		DestinationSlots: Slice([]int32{2})}); err != nil {
		t.Fatal(err)
	}
	status := make([]RowStatus, 2)
	if err := small.Copy(&CopyArgs{Source: large, SourceSlots: Slice([]int32{0, 2}),
		DestinationSlots: Slice([]int32{1, 0}), OutRowStatus: Slice(status)}); err != nil {
		t.Fatal(err)
	}
	texts, _, _ := readState(t, large, 9)
	if !reflect.DeepEqual(texts, [][]int32{{1, 2, 3, 4, 5}, {6, 7}, {6, 7}}) {
		t.Errorf("texts %v", texts)
	}
	texts, _, _ = readState(t, small, 4)
	if !reflect.DeepEqual(texts, [][]int32{{6, 7}, {}, {}}) ||
		!reflect.DeepEqual(status, []RowStatus{RowStateFull, RowOK}) {
		t.Errorf("texts %v, status %v", texts, status)
	}
	if err := large.Reset(&ResetArgs{Slots: Slice([]int32{1}),
		AdaptiveValues: Slice([]float32{4, 1, 2, 0.5})}); err != nil {
		t.Fatal(err)
	}
	texts, _, values := readState(t, large, 9)
	if !reflect.DeepEqual(texts, [][]int32{{1, 2, 3, 4, 5}, {}, {6, 7}}) ||
		!reflect.DeepEqual(values[4:8], []float32{4, 1, 2, 0.5}) {
		t.Errorf("texts %v, values %v", texts, values)
	}
	if err := large.Reset(&ResetArgs{}); err != nil { // all
		t.Fatal(err)
	}
	if texts, _, _ = readState(t, large, 9); !reflect.DeepEqual(texts, [][]int32{{}, {}, {}}) {
		t.Errorf("texts %v", texts)
	}
}

func TestSerializedStates(t *testing.T) {
	s := newSampler(t, Options{})
	state := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 9})
	q := sequences{texts: [][]int32{{1, 2, 3, 4, 5}, {6, 7}, {}}}
	if err := state.Append(&AppendArgs{NumRows: 3, Tokens: q.history(),
		TokenKind: TokensPrompt}); err != nil {
		t.Fatal(err)
	}
	data, err := state.Serialize(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	other := newState(t, newSampler(t, Options{}), StateOptions{NumSlots: 3, MaxTokens: 5})
	if n, err := other.Deserialize(1, data); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	texts, prompts, _ := readState(t, other, 9)
	if !reflect.DeepEqual(texts, [][]int32{{}, {1, 2, 3, 4, 5}, {6, 7}}) ||
		!reflect.DeepEqual(prompts, []int32{0, 5, 2}) {
		t.Errorf("texts %v, prompts %v", texts, prompts)
	}

	_, err = other.Deserialize(2, data)
	expectError(t, err, ErrInvalidArgument,
		"data have 2 sequences; the state has 1 slots from first_slot")
	_, err = newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 4}).Deserialize(0, data)
	expectError(t, err, ErrInvalidArgument,
		"data have a sequence of 5 tokens; max_tokens of the state is 4")
	_, err = other.Deserialize(0, nil)
	expectError(t, err, ErrInvalidArgument, "data is NULL; it is required")
	_, err = other.Deserialize(4, data)
	expectError(t, err, ErrInvalidArgument, "first_slot is 4; it must be below 4")
	_, err = state.Serialize(2, 2)
	expectError(t, err, ErrInvalidArgument, "num_slots is 2; it must be below 2")
	for _, bad := range [][]byte{{}, data[:len(data)-1], append([]byte{1}, data[1:]...)} {
		if n, err := other.Deserialize(0, bad); n != 0 || !errors.Is(err, ErrCorruptData) {
			t.Errorf("%d bytes: %d, %v", len(bad), n, err)
		}
	}
	if texts, _, _ := readState(t, other, 9); len(texts[0]) != 0 {
		t.Errorf("a failed call has set %v", texts)
	}
}

func TestStatesThatBreakARule(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 3, MaxCols: 5})
	for _, c := range []struct {
		options StateOptions
		message string
	}{
		{StateOptions{MaxTokens: 1}, "num_slots is 0; it must be at least 1"},
		{StateOptions{NumSlots: 1, MaxTokens: math.MaxInt},
			"max_tokens is 9223372036854775807; it must be below 2147483648"},
		{StateOptions{NumSlots: 1, MaxTokens: 8, MaxDistinctTokens: 9},
			"max_distinct_tokens is 9; it must be below 9"},
	} {
		_, err := s.NewState(c.options)
		expectError(t, err, ErrInvalidArgument, c.message)
		_, err = s.StateSize(c.options)
		expectError(t, err, ErrInvalidArgument, c.message)
	}
	plain, err := s.StateSize(StateOptions{NumSlots: 2, MaxTokens: 100})
	kept, errOfKept := s.StateSize(
		StateOptions{NumSlots: 2, MaxTokens: 100, KeepAdaptiveValues: true})
	if err != nil || errOfKept != nil || kept < plain+2*100*16 {
		t.Errorf("%d bytes, with adaptive values %d", plain, kept)
	}

	state := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 8})
	other := newState(t, newSampler(t, Options{}), StateOptions{NumSlots: 3, MaxTokens: 8})
	one, two := Slice([]int32{1}), Slice([]int32{0, 1})
	for _, c := range []struct {
		err     error
		message string
	}{
		{state.Append(nil), "args is nil; it is required"},
		{state.Append(&AppendArgs{NumRows: 4}),
			"num_rows is 4; without slots it must be at most the state's slots, 3"},
		{state.Append(&AppendArgs{NumRows: -1}), "num_rows is -1; it must be at least 0"},
		{state.Append(&AppendArgs{Slots: one, NumRows: 2}), "slots has 1 elements; it needs 2"},
		{state.Append(&AppendArgs{Slots: two,
			Tokens: TokenLists{Offsets: Slice([]int64{0, 1}), TokenIDs: I32([]int32{1})}}),
			"tokens.num_lists is 1; it must be num_rows, 2"},
		{state.Append(&AppendArgs{Slots: one, Tokens: TokenLists{NumLists: 1}}),
			"tokens.offsets is NULL; it is required"},
		{state.Append(&AppendArgs{Slots: one, Tokens: TokenLists{Offsets: Slice([]int64{0, 2}),
			TokenIDs: I32([]int32{1}), NumTokenIDs: 2}}),
			"tokens.token_ids has 1 elements; tokens needs 2"},
		{state.Append(&AppendArgs{Slots: two, OutLengths: one,
			Tokens: TokenLists{Offsets: Slice([]int64{0, 1, 1}), TokenIDs: I32([]int32{1})}}),
			"out_lengths has 1 elements; it needs 2"},
		{state.Append(&AppendArgs{Slots: one, TokenKind: 2}),
			"token_kind is 2; it must be one of its constants, 0 to 1"},
		{state.Accept(nil), "args is nil; it is required"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 1}), "token_ids is NULL; it is required"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 2, TokenIDs: I64(make([]int64, 3))}),
			"token_ids has 3 elements; it needs 4"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: -1}),
			"num_tokens is -1; it must be at least 1"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 1, TokenIDs: I32(make([]int32, 2)),
			Observations: Slice(make([]float32, 1))}), "observations has 1 elements; it needs 2"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 1, TokenIDs: I32(make([]int32, 2)),
			Offsets: Slice(make([]uint64, 2))}), "offsets has 2 elements; it needs 3"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 1, TokenIDs: I32(make([]int32, 2)),
			RowParams: &RowParams{TopPDecay: Slice(make([]float32, 2))}}),
			"row_params->top_p_decay has 2 elements; row_params needs 3"},
		{state.Accept(&AcceptArgs{Slots: two, NumTokens: 1,
			TokenIDs: DeviceIDs(4096, IDTypeI32)}),
			"token_ids is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{state.Truncate(nil), "args is nil; it is required"},
		{state.Truncate(&TruncateArgs{Slots: two}), "lengths is NULL; it is required"},
		{state.Truncate(&TruncateArgs{Slots: two, Lengths: one}),
			"lengths has 1 elements; it needs 2"},
		{state.Truncate(&TruncateArgs{Slots: two, Lengths: two,
			OutRowStatus: Slice(make([]RowStatus, 1))}), "out_row_status has 1 elements; it needs 2"},
		{state.Copy(nil), "args is nil; it is required"},
		{state.Copy(&CopyArgs{SourceSlots: one, DestinationSlots: two}),
			"source_slots has 1 elements; it needs 2"},
		{state.Copy(&CopyArgs{DestinationSlots: two}), "source_slots is NULL; it is required"},
		{state.Copy(&CopyArgs{Source: other, SourceSlots: one, DestinationSlots: one}),
			"source is of another sampler; it must be of the one that is called"},
		{state.Reset(nil), "args is nil; it is required"},
		{state.Reset(&ResetArgs{Slots: two, AdaptiveValues: Slice(make([]float32, 7))}),
			"adaptive_values has 7 elements; it needs 8"},
		{state.Read(nil), "args is nil; it is required"},
		{state.Read(&ReadArgs{Slots: two, NumTokens: 3, OutTokenIDs: I32(make([]int32, 5))}),
			"out_token_ids has 5 elements; it needs 6"},
		{state.Read(&ReadArgs{Slots: two, OutPromptLengths: one}),
			"out_prompt_lengths has 1 elements; it needs 2"},
		{state.Read(&ReadArgs{Slots: two, OutAdaptiveValues: Slice(make([]float32, 7))}),
			"out_adaptive_values has 7 elements; it needs 8"},
		{s.Sample(&SampleArgs{Input: readmeRows(), OutTokenIDs: I32(make([]int32, 1)),
			Pipeline: &Pipeline{State: other}}),
			"pipeline->state is of another sampler; it must be of the one that is called"},
		{s.Sample(&SampleArgs{Input: readmeRows(), OutTokenIDs: I32(make([]int32, 1)),
			Pipeline: &Pipeline{State: state, AdaptiveValues: Slice(make([]float32, 4))}}),
			"pipeline->adaptive_values is set; it must be NULL with pipeline->state"},
		{s.Sample(&SampleArgs{Input: readmeRows(), OutTokenIDs: I32(make([]int32, 1)),
			Pipeline: &Pipeline{AdaptiveValues: Slice(make([]float32, 3))}}),
			"pipeline->adaptive_values has 3 elements; pipeline needs 4"},
	} {
		expectError(t, c.err, ErrInvalidArgument, c.message)
	}
	if texts, _, _ := readState(t, state, 8); !reflect.DeepEqual(texts, [][]int32{{}, {}, {}}) {
		t.Errorf("the state has %v", texts)
	}
}

func TestClosedStates(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	state, copied := newState(t, s, StateOptions{NumSlots: 1, MaxTokens: 8}),
		newState(t, s, StateOptions{NumSlots: 1, MaxTokens: 8})
	calls := func(closed *State) []error {
		_, errOfSerialize := closed.Serialize(0, 1)
		_, errOfDeserialize := closed.Deserialize(0, nil)
		return []error{closed.Append(&AppendArgs{}), closed.Accept(&AcceptArgs{}),
			closed.Truncate(&TruncateArgs{}), closed.Copy(&CopyArgs{}), closed.Reset(&ResetArgs{}),
			closed.Read(&ReadArgs{}), errOfSerialize, errOfDeserialize}
	}
	for i := 0; i < 2; i++ {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
	var none *State
	for _, closed := range []*State{state, none, {}} {
		for i, err := range calls(closed) {
			if err != ErrStateClosed {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if err := closed.Close(); err != nil {
			t.Error(err)
		}
	}
	args := SampleArgs{Input: readmeRows(), OutTokenIDs: I32(make([]int32, 1)),
		Pipeline: &Pipeline{State: state}}
	if err := s.Sample(&args); err != ErrStateClosed {
		t.Error(err)
	}
	one := Slice([]int32{0})
	if err := copied.Copy(&CopyArgs{Source: state, SourceSlots: one,
		DestinationSlots: one}); err != ErrStateClosed {
		t.Error(err)
	}

	s.Close() // with a state
	for i, err := range calls(copied) {
		if err != ErrClosed {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.NewState(StateOptions{NumSlots: 1, MaxTokens: 8}); err != ErrClosed {
		t.Error(err)
	}
	if _, err := s.StateSize(StateOptions{NumSlots: 1, MaxTokens: 8}); err != ErrClosed {
		t.Error(err)
	}
}

// A state keeps its sampler, and forgotten states go.
func TestForgottenStates(t *testing.T) {
	tokens := make([]int32, 1)
	state := func() *State {
		s, err := New(Options{MaxRows: 1, MaxCols: 5})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 100; i++ {
			newForgotten(t, s)
		}
		return newState(t, s, StateOptions{NumSlots: 1, MaxTokens: 8})
	}()
	numStates := func() int {
		state.sampler.mutex.Lock()
		defer state.sampler.mutex.Unlock()
		return len(state.sampler.states)
	}
	for i := 0; i < 1000 && numStates() > 1; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if numStates() != 1 {
		t.Errorf("%d states are there", numStates())
	}
	if err := drawFromState(state.sampler, state, 0, tokens); err != nil {
		t.Error(err)
	}
}

func newForgotten(t *testing.T, s *Sampler) {
	if _, err := s.NewState(StateOptions{NumSlots: 1, MaxTokens: 8}); err != nil {
		t.Error(err)
	}
}
