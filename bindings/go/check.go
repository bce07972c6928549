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
	closed  bool // a state of the arguments is
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
	if c.closed {
		return 0, ErrStateClosed
	}
	result := raw.ShimCall(c.sampler.handle, flag(c.sizing || c.err != nil), operation, args)
	if result >= 0 && c.err != nil {
		return 0, c.err
	}
	return c.result(result)
}

// result is what C returned: a number, or minus the status, whose text the handle has.
func (c *check) result(result int64) (int, error) {
	if result < 0 {
		return 0, c.sampler.failure(c.op)
	}
	return int(result), nil
}

func (c *check) fail(format string, values ...any) {
	if c.err == nil {
		c.err = &Error{c.op, ErrInvalidArgument, fmt.Sprintf(format, values...)}
	}
}

// array returns the address of an array of at least `needed` elements.
func (c *check) array(of, name string, a array, needed int64) uintptr {
	return c.placed(of, name, a, needed, c.sampler.onCUDA)
}

// hostArray is one that is a slice on every sampler.
func hostArray[T raw.Number](c *check, name string, s []T, needed int64) uintptr {
	return c.placed("", name, slice(s), needed, false)
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

// rows is a view whose rows reach over `elements` elements.
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

func (c *check) params(p *Params) uintptr {
	return c.paramsIn(&c.sampler.memory.params, "params", p)
}

// paramsIn returns the address of what C gets: 0 for nil.
func (c *check) paramsIn(memory *raw.Params, name string, p *Params) uintptr {
	if p == nil {
		return 0
	}
	if !p.isMade {
		c.fail("%s is not of DefaultParams; start from there: all 0 is no default", name)
	}
	*memory = rawParams(p)
	return raw.Address(memory)
}

func (c *check) rowParams(p *RowParams, numSlots int64) uintptr {
	return c.rowParamsIn(&c.sampler.memory.rowParams, "row_params->", p, numSlots)
}

func (c *check) rowParamsIn(memory *raw.RowParams, of string, p *RowParams, numSlots int64) uintptr {
	if p == nil {
		return 0
	}
	*memory = c.rawRowParams(of, p, numSlots)
	return raw.Address(memory)
}

// idsBefore are token ids that a pipeline has, by their name in C, and their type.
type idsBefore struct {
	name   string
	idType IDType
}

// lists are those of the member `name`, whose ids must be of the type of those before them.
func (c *check) lists(name string, l *TokenLists, before *idsBefore) raw.TokenLists {
	numLists := int64(l.NumLists)
	if numLists == 0 && l.Offsets.length > 0 {
		numLists = int64(l.Offsets.length) - 1
	}
	numTokenIDs := l.TokenIDs.count(l.NumTokenIDs)
	if l.TokenIDs.place != absent {
		if before.name != "" && before.idType != l.TokenIDs.idType {
			c.fail("%stoken_ids is of id type %d and %stoken_ids of %d; they must be of one type",
				before.name, before.idType, name, l.TokenIDs.idType)
		}
		*before = idsBefore{name, l.TokenIDs.idType}
	}
	return raw.TokenLists{
		Offsets:     c.array(name, "offsets", l.Offsets.array, sum(numLists, 1)),
		TokenIDs:    c.array(name, "token_ids", l.TokenIDs.array, numTokenIDs),
		NumLists:    numLists,
		NumTokenIDs: numTokenIDs,
	}
}

// table is an array of `given` rows, or where that is 0 of as many as a slice has; then its length
// must be a multiple of the stride. It returns the address and the number of rows.
func (c *check) table(of, name string, a array, given, stride int64) (uintptr, int64) {
	if given == 0 && a.place == onHost && stride > 0 {
		if int64(a.length)%stride != 0 {
			c.fail("%s%s has %d elements; it must be rows of %d", of, name, a.length, stride)
		}
		given = int64(a.length) / stride
	}
	return c.array(of, name, a, product(given, stride)), given
}

// pipeline returns the address of what C gets: 0 for nil.
func (c *check) pipeline(p *Pipeline, input *Rows, numSlots, numRows int64) uintptr {
	if p == nil {
		return 0
	}
	const of = "pipeline->"
	var before idsBefore
	numCols := int64(input.NumCols)
	denseBias, numDenseBiases := c.table(of, "dense_bias", p.DenseBias.array, int64(p.NumDenseBiases),
		firstNonzero(int64(p.DenseBiasStride), numCols))
	bitmasks, numBitmasks := c.table(of, "token_bitmasks", p.TokenBitmasks.array,
		int64(p.NumTokenBitmasks), firstNonzero(int64(p.TokenBitmaskStride), sum(numCols, 31)/32))
	guidance, numGuidanceRows := c.table(of, "guidance_logits", p.GuidanceLogits.array,
		int64(p.NumGuidanceRows), firstNonzero(int64(input.RowStride), numCols))
	if p.GuidanceLogits.place != absent && p.GuidanceLogits.dtype != input.Values.dtype {
		c.fail("%sguidance_logits is of dtype %d and the call's logits of %d; they must be of one type",
			of, p.GuidanceLogits.dtype, input.Values.dtype)
	}
	memory := &c.sampler.memory.pipeline
	*memory = raw.Pipeline{
		StructSize:       unsafe.Sizeof(*memory),
		TokenBitmaskRule: int32(p.TokenBitmaskRule),
		History:          c.lists("pipeline->history.", &p.History, &before),
		PromptLengths:    c.array(of, "prompt_lengths", p.PromptLengths.array, numSlots),
		MaxHistoryTokens: int64(p.MaxHistoryTokens),
		GuidanceLogits:   guidance,
		NumGuidanceRows:  numGuidanceRows,
		GuidanceRowIndices: c.array(of, "guidance_row_indices", p.GuidanceRowIndices.array,
			numRows),
		Biased:          c.lists("pipeline->biased.", &p.Biased, &before),
		BiasContexts:    c.lists("pipeline->bias_contexts.", &p.BiasContexts, &before),
		DenseBias:       denseBias,
		NumDenseBiases:  numDenseBiases,
		DenseBiasStride: int64(p.DenseBiasStride),
		Allowed:         c.lists("pipeline->allowed.", &p.Allowed, &before),
		Banned:          c.lists("pipeline->banned.", &p.Banned, &before),
		Stop:            c.lists("pipeline->stop.", &p.Stop, &before),
		Unpenalized:     c.lists("pipeline->unpenalized.", &p.Unpenalized, &before),
		BadWords:        c.lists("pipeline->bad_words.", &p.BadWords, &before),
		BadWordOffsets: c.array(of, "bad_word_offsets", p.BadWordOffsets.array,
			sum(numSlots, 1)),
		DryBreakers:        c.lists("pipeline->dry_breakers.", &p.DRYBreakers, &before),
		TokenBitmasks:      bitmasks,
		NumTokenBitmasks:   numBitmasks,
		TokenBitmaskStride: int64(p.TokenBitmaskStride),
		TokenBitmaskIndices: c.array(of, "token_bitmask_indices", p.TokenBitmaskIndices.array,
			numRows),
		State: c.state("pipeline->state", p.State),
		AdaptiveValues: c.array(of, "adaptive_values", p.AdaptiveValues.array,
			product(numSlots, int64(NumAdaptiveValues))),
	}
	memory.Biases = c.array(of, "biases", p.Biases.array, memory.Biased.NumTokenIDs)
	memory.TokenIDType = int32(before.idType)
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

// ids returns the address of an array of ids of the type of those before it, for which C has one
// member.
func (c *check) ids(name string, ids *IDs, needed int64, before *idsBefore) uintptr {
	if ids.place != absent {
		if before.name != "" && before.idType != ids.idType {
			c.fail("%s is of id type %d and %s of %d; they must be of one type", before.name,
				before.idType, name, ids.idType)
		}
		*before = idsBefore{name, ids.idType}
	}
	return c.array("", name, ids.array, needed)
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
