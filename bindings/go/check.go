package sampler

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// check turns the arguments of one call into those of C and remembers the first that breaks a rule
// of Go's side: a slice that is too short, or in the wrong memory. All other rules are the
// library's.
//
// Arguments are named as the library does: by what they are a member of, "" or such as "input.",
// and their own name.
type check struct {
	sampler *Sampler
	op      string
	sizing  bool // WorkspaceSize looks at neither lengths nor places
	err     *Error
}

// begin locks the sampler for a call. Unless it fails, the caller unlocks.
func (s *Sampler) begin(op string, argsAreNil, sizing bool) (check, error) {
	if s == nil {
		return check{}, ErrClosed
	}
	if argsAreNil {
		return check{}, &Error{op, ErrInvalidArgument, "args is nil; it is required"}
	}
	s.mutex.Lock()
	if s.handle == 0 {
		s.mutex.Unlock()
		return check{}, ErrClosed
	}
	return check{sampler: s, op: op, sizing: sizing}, nil
}

// call makes the call with the struct at `args`, or asks for its size. Where a rule is broken it
// asks too: the library's word on the numbers that lengths follow from goes before.
func (c *check) call(operation int32, args uintptr) (int, error) {
	result := raw.ShimCall(c.sampler.handle, flag(c.sizing || c.err != nil), operation, args)
	if result < 0 {
		return 0, &Error{c.op, Status(-result), raw.ShimError(c.sampler.handle)}
	}
	if c.err != nil {
		return 0, c.err
	}
	return int(result), nil
}

func (c *check) fail(format string, values ...any) {
	if c.err == nil {
		c.err = &Error{c.op, ErrInvalidArgument, fmt.Sprintf(format, values...)}
	}
}

// array returns the address of an array of at least so many elements.
func (c *check) array(of, name string, a array, needed int64) uintptr {
	return c.placed(of, name, a, needed, c.sampler.onCUDA)
}

// parameter is an array that is a slice on a CUDA sampler with HostParameters too.
func (c *check) parameter(of, name string, a array, needed int64) uintptr {
	return c.placed(of, name, a, needed, c.sampler.onCUDA && !c.sampler.hostParameters)
}

func (c *check) placed(of, name string, a array, needed int64, mustBeOnDevice bool) uintptr {
	switch {
	case a.place == absent || c.sizing:
	case mustBeOnDevice && a.place == onHost:
		c.fail("%s%s is a slice; it must be device memory on this CUDA sampler", of, name)
	case !mustBeOnDevice && a.place == onDevice && c.sampler.onCUDA:
		c.fail("%s%s is device memory, %#x; it must be a slice with host_parameters",
			of, name, a.address)
	case !mustBeOnDevice && a.place == onDevice:
		c.fail("%s%s is device memory, %#x; it must be a slice on a CPU sampler",
			of, name, a.address)
	case a.place == onHost && int64(a.length) < needed:
		who := "it"
		if of != "" {
			who = strings.TrimRight(of, ".->")
		}
		c.fail("%s%s has %d elements; %s needs %d", of, name, a.length, who, needed)
	}
	return uintptr(a.memory) + a.address
}

// exec takes the length of a workspace that is a slice; that of device memory is given.
func (c *check) exec(e *Exec) raw.Exec {
	bytes := e.Workspace.count(e.WorkspaceBytes)
	if bytes < 0 {
		c.fail("exec.workspace_bytes is %d; it must be at least 0", bytes)
	}
	return raw.Exec{
		Stream:         e.Stream,
		Workspace:      c.array("exec.", "workspace", e.Workspace.array, bytes),
		WorkspaceBytes: uintptr(bytes),
	}
}

// rows is a view whose rows reach over so many elements.
func (c *check) rows(of string, r *Rows, elements int64) raw.Rows {
	return raw.Rows{
		Values:          c.array(of, "values", r.Values.array, elements),
		NumRows:         int64(r.NumRows),
		NumCols:         int64(r.NumCols),
		RowStride:       int64(r.RowStride),
		CandidateIDs:    c.array(of, "candidate_ids", r.CandidateIDs.array, elements),
		CandidateCounts: c.array(of, "candidate_counts", r.CandidateCounts.array, int64(r.NumRows)),
		Dtype:           r.Values.elementType(),
		Kind:            int32(r.Kind),
		CandidateIDType: r.CandidateIDs.elementType(),
	}
}

// params returns the address of what C gets: 0 for nil.
func (c *check) params(p *Params) uintptr {
	if p == nil {
		return 0
	}
	if !p.isMade {
		c.fail("params is not of DefaultParams; start from there: all 0 is no default")
	}
	memory := &c.sampler.memory.params
	*memory = raw.Params{
		StructSize:       unsafe.Sizeof(*memory),
		Temperature:      p.Temperature,
		TopP:             p.TopP,
		MinP:             p.MinP,
		TopK:             clamped(p.TopK),
		TopKTies:         int32(p.TopKTies),
		TopPTies:         int32(p.TopPTies),
		FilterOrder:      int32(p.FilterOrder),
		TemperatureOrder: int32(p.TemperatureOrder),
	}
	return raw.Address(memory)
}

func (c *check) rowParams(p *RowParams, numSlots int64) uintptr {
	if p == nil {
		return 0
	}
	const of = "row_params->"
	memory := &c.sampler.memory.rowParams
	*memory = raw.RowParams{
		StructSize:  unsafe.Sizeof(*memory),
		Temperature: c.parameter(of, "temperature", p.Temperature.array, numSlots),
		TopP:        c.parameter(of, "top_p", p.TopP.array, numSlots),
		MinP:        c.parameter(of, "min_p", p.MinP.array, numSlots),
		TopK:        c.parameter(of, "top_k", p.TopK.array, numSlots),
	}
	return raw.Address(memory)
}

func (c *check) random(r *Random, numSlots int64) raw.Random {
	const of = "random."
	numSeeds, numOffsets := r.Seeds.count(r.NumSeeds), r.Offsets.count(r.NumOffsets)
	return raw.Random{
		Seed:       r.Seed,
		Offset:     r.Offset,
		Seeds:      c.parameter(of, "seeds", r.Seeds.array, numSeeds),
		Offsets:    c.parameter(of, "offsets", r.Offsets.array, numOffsets),
		Streams:    c.parameter(of, "streams", r.Streams.array, numSlots),
		NumSeeds:   numSeeds,
		NumOffsets: numOffsets,
	}
}

// tokenIDType is the one type that C has for draft tokens and those that are written.
func (c *check) tokenIDType(drafts, out *IDs) int32 {
	if drafts.place == absent {
		return out.elementType()
	}
	if out.place != absent && drafts.idType != out.idType {
		c.fail("draft_token_ids is of id type %d and out_token_ids of %d; they must be of one type",
			drafts.idType, out.idType)
	}
	return drafts.elementType()
}

func flag(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// clamped is for a number whose meaning beyond int32 is that of the largest or least one.
func clamped(value int) int32 {
	if value > math.MaxInt32 {
		return math.MaxInt32
	}
	if value < math.MinInt32 {
		return math.MinInt32
	}
	return int32(value)
}

// The numbers of elements below are 0 where a factor is not positive, since C then reads nothing or
// refuses the call, and the largest int64 where they would be larger.

func product(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func firstNonzero(first, second int64) int64 {
	if first != 0 {
		return first
	}
	return second
}

// extent is the distance from the first element of the view's rows to after the last.
func (r *Rows) extent() int64 {
	return extent(int64(r.NumRows), int64(r.NumCols), int64(r.RowStride))
}

// extent is that of numRows rows of numCols columns; stride 0 is numCols.
func extent(numRows, numCols, stride int64) int64 {
	if numRows <= 0 || numCols <= 0 {
		return 0
	}
	return sum(product(numRows-1, firstNonzero(stride, numCols)), numCols)
}

// sequences is the extent of sequences of the view's rows, numPositions each.
func (r *Rows) sequences(numSequences, numPositions int64, sequenceStride int) int64 {
	if numSequences <= 0 || numPositions <= 0 || r.NumCols <= 0 {
		return 0
	}
	rowStride := firstNonzero(int64(r.RowStride), int64(r.NumCols))
	stride := firstNonzero(int64(sequenceStride), product(numPositions, rowStride))
	return sum(product(numSequences-1, stride), extent(numPositions, int64(r.NumCols), rowStride))
}
