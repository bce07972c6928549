package sampler

import (
	"runtime"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// StateOptions are what a State is made with.
type StateOptions struct {
	// How many sequences there is room for, in [1, 2^31).
	NumSlots int

	// The longest sequence, its prompt included, in [1, 2^31).
	MaxTokens int

	// For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, MaxTokens]; 0: a
	// quarter of MaxTokens, but 64 where that is more, and at most MaxTokens. From the first token
	// that has no room on, a sequence is counted in each draw, which takes longer.
	MaxDistinctTokens int

	// Keeps the adaptive values after each token, 16 bytes each, so that Truncate restores them.
	KeepAdaptiveValues bool
}

// State is what is remembered of sequences, a slot for each: their tokens, where the prompt ends,
// how often each token has occurred, and the values of adaptive stages. Pipeline.State gives it to a
// draw; what was drawn enters by Accept only, so drawing twice changes nothing.
//
//	state.Append(prompt)       once
//
//	s.Sample(args)             in each step, args.Pipeline.State being the state:
//
// state.Accept(accept)       draw, then accept what was drawn
//
// Its calls are calls of its Sampler, wait for that one's other calls, and allocate nothing. A bad
// slot makes its row bad (RowInvalidSlot); a bad row changes nothing. A slot that a call which
// changes it names twice has undefined contents.
type State struct {
	sampler  *Sampler
	handle   uintptr // 0 when closed; under the sampler's mutex
	numSlots int64
}

func (o *StateOptions) raw() raw.StateOptions {
	return raw.StateOptions{
		StructSize:         unsafe.Sizeof(raw.StateOptions{}),
		NumSlots:           int64(o.NumSlots),
		MaxTokens:          int64(o.MaxTokens),
		MaxDistinctTokens:  int64(o.MaxDistinctTokens),
		KeepAdaptiveValues: flag(o.KeepAdaptiveValues),
	}
}

// NewState makes a state of empty slots. Its memory is released by Close, by that of the sampler, or
// when nothing refers to it any more. It keeps the sampler from being collected.
//
// Errors: ErrInvalidArgument, ErrOutOfMemory, ErrCUDA.
func (s *Sampler) NewState(options StateOptions) (*State, error) {
	c, err := s.begin("NewState", false, false)
	if err != nil {
		return nil, err
	}
	defer s.mutex.Unlock()
	rawOptions := options.raw()
	handle := raw.ShimStateCreate(s.handle, raw.Address(&rawOptions))
	runtime.KeepAlive(&rawOptions)
	if handle == 0 {
		return nil, s.failure(c.op)
	}
	if s.states == nil {
		s.states = map[uintptr]struct{}{}
	}
	s.states[handle] = struct{}{}
	state := &State{sampler: s, handle: handle, numSlots: rawOptions.NumSlots}
	runtime.SetFinalizer(state, (*State).Close)
	return state, nil
}

// StateSize returns the bytes of memory that a state with these options takes.
func (s *Sampler) StateSize(options StateOptions) (int, error) {
	c, err := s.begin("StateSize", false, false)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	rawOptions := options.raw()
	result, err := c.result(raw.ShimStateSize(s.handle, raw.Address(&rawOptions)))
	runtime.KeepAlive(&rawOptions)
	return result, err
}

// Close releases the state's memory. It waits for a call that is under way. Closing again, or after
// the sampler, does nothing. It never fails; the error is for io.Closer.
func (state *State) Close() error {
	if state == nil || state.sampler == nil {
		return nil
	}
	s := state.sampler
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if state.handle != 0 {
		if _, isAlive := s.states[state.handle]; isAlive {
			raw.ShimStateDestroy(state.handle)
			delete(s.states, state.handle)
		}
		state.handle = 0
		runtime.SetFinalizer(state, nil)
	}
	return nil
}

// closeStates is part of closing a sampler.
func (s *Sampler) closeStates() {
	for handle := range s.states {
		raw.ShimStateDestroy(handle)
	}
	s.states = nil
}

// begin locks the state's sampler for a call. Unless it fails, the caller unlocks.
func (state *State) begin(op string, argsAreNil bool) (check, error) {
	if state == nil || state.sampler == nil {
		return check{}, ErrStateClosed
	}
	c, err := state.sampler.begin(op, argsAreNil, false)
	if err == nil && state.handle == 0 {
		state.sampler.mutex.Unlock()
		err = ErrStateClosed
	}
	return c, err
}

// state is what C gets of one that a call of this sampler reads: 0 for nil, and where it is another
// sampler's, whose mutex is not held.
func (c *check) state(name string, state *State) uintptr {
	switch {
	case state == nil:
		return 0
	case state.sampler != c.sampler:
		c.fail("%s is of another sampler; it must be of the one that is called", name)
		return 0
	case state.handle == 0:
		c.closed = true
	}
	return state.handle
}

// Serialize returns the sequences of slots [firstSlot, firstSlot + numSlots), in a format that is
// the same on every machine.
func (state *State) Serialize(firstSlot, numSlots int) ([]byte, error) {
	c, err := state.begin("Serialize", false)
	if err != nil {
		return nil, err
	}
	defer c.sampler.mutex.Unlock()
	write := func(buffer []byte) (int, error) {
		result := raw.ShimStateSerialize(c.sampler.handle, state.handle, int64(firstSlot),
			int64(numSlots), uintptr(raw.Memory(buffer)), int64(len(buffer)))
		runtime.KeepAlive(buffer)
		return c.result(result)
	}
	bytes, err := write(nil)
	if err != nil {
		return nil, err
	}
	buffer := make([]byte, bytes)
	_, err = write(buffer)
	runtime.KeepAlive(state)
	return buffer, err
}

// Deserialize puts serialised sequences into the slots from firstSlot on, in place of what they
// hold, and returns how many slots that were. Every byte is checked; on failure all slots are as
// before.
//
// Errors: ErrInvalidArgument (more slots or longer sequences than the state has room for),
// ErrCorruptData.
func (state *State) Deserialize(firstSlot int, data []byte) (int, error) {
	c, err := state.begin("Deserialize", false)
	if err != nil {
		return 0, err
	}
	defer c.sampler.mutex.Unlock()
	result := raw.ShimStateDeserialize(c.sampler.handle, state.handle, int64(firstSlot),
		uintptr(raw.Memory(data)), int64(len(data)))
	runtime.KeepAlive(data)
	runtime.KeepAlive(state)
	return c.result(result)
}
