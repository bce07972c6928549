package sampler

import (
	"runtime"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// AppendArgs are the arguments of State.Append.
type AppendArgs struct {
	Exec Exec

	// [NumRows] The slot of each row. Left out: row i has slot i. NumRows 0 is the length of a
	// slice, here as below.
	Slots   Array[int32]
	NumRows int

	// A list for each row. All of a row's tokens are appended, or none: its offsets must be a list's
	// (RowInvalidList), the tokens fit (RowStateFull), and the ids lie in [0, 2^31)
	// (RowInvalidList).
	Tokens TokenLists

	// Prompt tokens after an output token make the row bad (RowInvalidList).
	TokenKind TokenKind

	// [NumRows] How many tokens each slot has afterwards; -1 for a bad slot.
	OutLengths   Array[int32]
	OutRowStatus Array[RowStatus]
}

// Append appends a prompt, or text that was not drawn here. Adaptive values stay as they are.
func (state *State) Append(args *AppendArgs) error {
	c, err := state.begin("Append", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	var before idsBefore
	numRows := args.Slots.count(args.NumRows)
	memory := &c.sampler.memory.append
	*memory = raw.StateAppendArgs{
		StructSize:   unsafe.Sizeof(*memory),
		Exec:         c.exec(&args.Exec),
		State:        state.handle,
		Slots:        c.array("", "slots", args.Slots.array, numRows),
		NumRows:      numRows,
		Tokens:       c.lists("tokens.", &args.Tokens, &before),
		TokenKind:    int32(args.TokenKind),
		OutLengths:   c.array("", "out_lengths", args.OutLengths.array, numRows),
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	memory.TokenIDType = int32(before.idType)
	return c.callState(raw.SHIM_STATE_APPEND, raw.Address(memory), state, args)
}

// AcceptArgs are the arguments of State.Accept.
type AcceptArgs struct {
	Exec    Exec
	Slots   Array[int32]
	NumRows int

	// [NumRows, NumTokens] OutTokenIDs of the draw (NumTokens 1) or of verification. A row ends at
	// its first negative id; where its first id is negative nothing happens. All of a row's tokens
	// are taken, or none: they must fit (RowStateFull), their ids be below 2^31 (RowInvalidList),
	// and the slot's numbers of adaptive stages good (RowInvalidParameter). NumTokens is in
	// [1, 2^20]; 0: 1.
	TokenIDs  IDs
	NumTokens int

	// [NumRows, NumTokens] OutObservations of the call that drew the tokens. One that is NaN moves
	// neither mirostat nor adaptive-p. Left out: all are.
	Observations Array[float32]

	// Those of that call, of which the adaptive stage, TopP and its decay are read. Numbers by slot
	// are indexed by the slots of this call, and there are as many as the state has. Both nil:
	// adaptive values stay.
	Params    *Params
	RowParams *RowParams

	// [slots of the state] In and out: each grows by the tokens that its slot took. It may be the
	// array that the draw has as Random.Offsets. Left out: offsets are the caller's business.
	Offsets Array[uint64]

	// [NumRows] As in AppendArgs.
	OutLengths   Array[int32]
	OutRowStatus Array[RowStatus]
}

// Accept takes what was drawn: the tokens enter text and counts, and adaptive values move on.
func (state *State) Accept(args *AcceptArgs) error {
	c, err := state.begin("Accept", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	numRows := args.Slots.count(args.NumRows)
	rowTokens := int64(args.NumTokens)
	if rowTokens == 0 {
		rowTokens = 1
	}
	numTokens := product(numRows, rowTokens)
	memory := &c.sampler.memory.accept
	*memory = raw.AcceptArgs{
		StructSize:   unsafe.Sizeof(*memory),
		Exec:         c.exec(&args.Exec),
		State:        state.handle,
		Slots:        c.array("", "slots", args.Slots.array, numRows),
		NumRows:      numRows,
		TokenIDs:     c.array("", "token_ids", args.TokenIDs.array, numTokens),
		NumTokens:    rowTokens,
		TokenIDType:  args.TokenIDs.elementType(),
		Observations: c.array("", "observations", args.Observations.array, numTokens),
		Params:       c.params(args.Params),
		RowParams:    c.rowParams(args.RowParams, state.numSlots),
		Offsets:      c.array("", "offsets", args.Offsets.array, state.numSlots),
		OutLengths:   c.array("", "out_lengths", args.OutLengths.array, numRows),
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	return c.callState(raw.SHIM_ACCEPT, raw.Address(memory), state, args)
}

// TruncateArgs are the arguments of State.Truncate.
type TruncateArgs struct {
	Exec    Exec
	Slots   Array[int32]
	NumRows int

	// [NumRows] How many tokens to keep. More than there are: all; negative: none. Required.
	Lengths      Array[int32]
	OutRowStatus Array[RowStatus]
}

// Truncate forgets the tokens after the first Lengths, as if they had never come. Prompts may be
// cut, too.
func (state *State) Truncate(args *TruncateArgs) error {
	c, err := state.begin("Truncate", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	numRows := args.Slots.count(args.NumRows)
	memory := &c.sampler.memory.truncate
	*memory = raw.StateTruncateArgs{
		StructSize:   unsafe.Sizeof(*memory),
		Exec:         c.exec(&args.Exec),
		State:        state.handle,
		Slots:        c.array("", "slots", args.Slots.array, numRows),
		NumRows:      numRows,
		Lengths:      c.array("", "lengths", args.Lengths.array, numRows),
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	return c.callState(raw.SHIM_STATE_TRUNCATE, raw.Address(memory), state, args)
}

// CopyArgs are the arguments of State.Copy.
type CopyArgs struct {
	Exec Exec

	// Whose sequences are copied: another state of the same sampler. nil: the state's own.
	Source *State

	// [NumRows] Both required. A source may serve many rows. Within one state no destination may be
	// a source of another row. NumRows 0 is the length of a slice of DestinationSlots.
	SourceSlots      Array[int32]
	DestinationSlots Array[int32]
	NumRows          int

	// RowStateFull: the source's tokens do not fit in the destination, which is as it was.
	OutRowStatus Array[RowStatus]
}

// Copy copies sequences into slots of the state: beams, several continuations of a prompt, a larger
// state. Adaptive values of earlier tokens are copied where both states keep them; where only this
// one does, they are the source's present ones.
func (state *State) Copy(args *CopyArgs) error {
	c, err := state.begin("Copy", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	source := args.Source
	if source == nil {
		source = state
	}
	numRows := args.DestinationSlots.count(args.NumRows)
	memory := &c.sampler.memory.copy
	*memory = raw.StateCopyArgs{
		StructSize:  unsafe.Sizeof(*memory),
		Exec:        c.exec(&args.Exec),
		Source:      c.state("source", source),
		Destination: state.handle,
		SourceSlots: c.array("", "source_slots", args.SourceSlots.array, numRows),
		DestinationSlots: c.array("", "destination_slots", args.DestinationSlots.array,
			numRows),
		NumRows:      numRows,
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	return c.callState(raw.SHIM_STATE_COPY, raw.Address(memory), state, args)
}

// ResetArgs are the arguments of State.Reset.
type ResetArgs struct {
	Exec Exec

	// Left out, and NumRows 0: every slot, and no array is read or written.
	Slots   Array[int32]
	NumRows int

	// [NumRows, NumAdaptiveValues] To begin with; a NaN is the start of its stage, an infinity makes
	// the row bad (RowInvalidParameter). Left out: all start.
	AdaptiveValues Array[float32]
	OutRowStatus   Array[RowStatus]
}

// Reset empties slots for new sequences.
func (state *State) Reset(args *ResetArgs) error {
	c, err := state.begin("Reset", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	numRows := args.Slots.count(args.NumRows)
	memory := &c.sampler.memory.reset
	*memory = raw.StateResetArgs{
		StructSize: unsafe.Sizeof(*memory),
		Exec:       c.exec(&args.Exec),
		State:      state.handle,
		Slots:      c.array("", "slots", args.Slots.array, numRows),
		NumRows:    numRows,
		AdaptiveValues: c.array("", "adaptive_values", args.AdaptiveValues.array,
			product(numRows, int64(NumAdaptiveValues))),
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	return c.callState(raw.SHIM_STATE_RESET, raw.Address(memory), state, args)
}

// ReadArgs are the arguments of State.Read. Outputs that are left out are not written.
type ReadArgs struct {
	Exec    Exec
	Slots   Array[int32]
	NumRows int

	// [NumRows, NumTokens] The first tokens of each slot, then -1. NumTokens is in [0, 2^31).
	OutTokenIDs IDs
	NumTokens   int

	// [NumRows] each; -1 for a bad slot.
	OutLengths       Array[int32]
	OutPromptLengths Array[int32]

	// [NumRows, NumAdaptiveValues] NaN where a stage has not begun.
	OutAdaptiveValues Array[float32]
	OutRowStatus      Array[RowStatus]
}

// Read writes what slots hold.
func (state *State) Read(args *ReadArgs) error {
	c, err := state.begin("Read", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	numRows := args.Slots.count(args.NumRows)
	memory := &c.sampler.memory.read
	*memory = raw.StateReadArgs{
		StructSize: unsafe.Sizeof(*memory),
		Exec:       c.exec(&args.Exec),
		State:      state.handle,
		Slots:      c.array("", "slots", args.Slots.array, numRows),
		NumRows:    numRows,
		OutTokenIDs: c.array("", "out_token_ids", args.OutTokenIDs.array,
			product(numRows, int64(args.NumTokens))),
		NumTokens:   int64(args.NumTokens),
		TokenIDType: args.OutTokenIDs.elementType(),
		OutLengths:  c.array("", "out_lengths", args.OutLengths.array, numRows),
		OutPromptLengths: c.array("", "out_prompt_lengths", args.OutPromptLengths.array,
			numRows),
		OutAdaptiveValues: c.array("", "out_adaptive_values", args.OutAdaptiveValues.array,
			product(numRows, int64(NumAdaptiveValues))),
		OutRowStatus: c.array("", "out_row_status", args.OutRowStatus.array, numRows),
	}
	return c.callState(raw.SHIM_STATE_READ, raw.Address(memory), state, args)
}

// callState makes a call of a state, which with its arguments stays reachable until it returns.
func (c *check) callState(operation int, memory uintptr, state *State, args any) error {
	_, err := c.call(int32(operation), memory)
	runtime.KeepAlive(state)
	runtime.KeepAlive(args)
	return err
}
