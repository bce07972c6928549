package sampler

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// check turns the arguments of one call into those of C and remembers the first that breaks a rule
// of Go's side: a slice that is too short, or in the wrong memory. All other rules are the
// library's.
type check struct {
	sampler *Sampler
	op      string
	sizing  bool // WorkspaceSize looks at neither lengths nor places
	err     *Error
}

// begin locks the sampler for a call. Unless it fails, the caller unlocks.
func (s *Sampler) begin(op string, argsAreNil bool, onlySize int32) (check, error) {
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
	return check{sampler: s, op: op, sizing: onlySize != 0}, nil
}

// finish makes Go's results of C's.
func (c *check) finish(result int64) (int, error) {
	if result >= 0 {
		return int(result), nil
	}
	return 0, &Error{c.op, Status(-result), raw.ShimError(c.sampler.handle)}
}

// refuse returns the check's error, unless the library has one too: `result` is its word on the
// numbers that lengths follow from.
func (c *check) refuse(result int64) (int, error) {
	if result < 0 {
		return c.finish(result)
	}
	return 0, c.err
}

func (c *check) fail(format string, values ...any) {
	if c.err == nil {
		c.err = &Error{c.op, ErrInvalidArgument, fmt.Sprintf(format, values...)}
	}
}

func (c *check) array(name string, a array, needed int64) raw.Array {
	if a.place != absent && !c.sizing {
		c.place(name, a, needed, c.sampler.onCUDA)
	}
	return raw.Array{Memory: a.memory, At: a.address}
}

// parameter is an array that is a slice on a CUDA sampler with HostParameters too.
func (c *check) parameter(name string, a array, needed int64) raw.Array {
	if a.place != absent && !c.sizing {
		c.place(name, a, needed, c.sampler.onCUDA && !c.sampler.hostParameters)
	}
	return raw.Array{Memory: a.memory, At: a.address}
}

func (c *check) place(name string, a array, needed int64, mustBeOnDevice bool) {
	switch {
	case mustBeOnDevice && a.place == onHost:
		c.fail("%s is a slice; it must be device memory on this CUDA sampler", name)
	case !mustBeOnDevice && a.place == onDevice && c.sampler.onCUDA:
		c.fail("%s is device memory, %#x; it must be a slice with host_parameters", name, a.address)
	case !mustBeOnDevice && a.place == onDevice:
		c.fail("%s is device memory, %#x; it must be a slice on a CPU sampler", name, a.address)
	case a.place == onHost && int64(a.length) < needed:
		c.fail("%s has %d elements; it must have at least %d for these rows, columns and strides",
			name, a.length, needed)
	}
}

func (c *check) data(name string, d Data, dtype *int32, needed int64) raw.Array {
	if d.place != absent {
		*dtype = int32(d.dtype)
	}
	return c.array(name, d.array, needed)
}

func (c *check) ids(name string, ids IDs, idType *int32, needed int64) raw.Array {
	if ids.place != absent {
		*idType = int32(ids.idType)
	}
	return c.array(name, ids.array, needed)
}

// oneType is for arrays that C has one element type for.
func (c *check) oneType(firstName string, first IDs, secondName string, second IDs) {
	if first.place != absent && second.place != absent && first.idType != second.idType {
		c.fail("%s is of id type %d and %s of %d; they must be of one type",
			firstName, first.idType, secondName, second.idType)
	}
}

func (c *check) kind(name string, kind InputKind, out *int32) {
	switch kind {
	case DefaultKind:
	case Logits:
		*out = int32(raw.SAMPLER_LOGITS)
	case Probabilities:
		*out = int32(raw.SAMPLER_PROBABILITIES)
	default:
		c.fail("%s is %d; it must be one of its constants", name, kind)
	}
}

func param[T float32 | int32](c *check, name string, p Param[T], value *T, values *raw.Array,
	numRows int64) {
	switch p.form {
	case isValue:
		*value = p.value
	case isPerRow:
		*values = c.parameter(name, p.array, numRows)
	}
}

func (c *check) seeds(name string, p Param[uint64], value *uint64, values *raw.Array, count *int64,
	numRows int64) {
	switch {
	case p.form == isValue:
		*value = p.value
	case p.place == absent:
	case p.form == isShared:
		*values, *count = c.parameter(name, p.array, 1), 1
	case p.place == onDevice:
		*values, *count = c.parameter(name, p.array, numRows), numRows
	default:
		*values, *count = c.parameter(name, p.array, 0), int64(p.length)
	}
}

// workspace takes the length of a slice; that of device memory is given.
func (c *check) workspace(a Array[byte], bytes int) (raw.Array, uint64) {
	if a.place == onHost && bytes == 0 {
		bytes = a.length
	}
	if bytes < 0 {
		c.fail("workspace_bytes is %d; it must be at least 0", bytes)
	}
	return c.array("workspace", a.array, int64(bytes)), uint64(bytes)
}

func flag(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

func firstNonzero(first, second int64) int64 {
	if first != 0 {
		return first
	}
	return second
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

// rows is the distance from the first element to behind the last; stride 0 is numCols.
func rows(numRows, numCols, stride int64) int64 {
	if numRows <= 0 || numCols <= 0 {
		return 0
	}
	return sum(product(numRows-1, firstNonzero(stride, numCols)), numCols)
}

// positions is rows of numPositions rows of numCols elements each.
func positions(numRows, numPositions, numCols, rowStride, positionStride int64) int64 {
	if numRows <= 0 || numPositions <= 0 || numCols <= 0 {
		return 0
	}
	positionStride = firstNonzero(positionStride, numCols)
	rowStride = firstNonzero(rowStride, product(numPositions, positionStride))
	return sum(product(numRows-1, rowStride), rows(numPositions, numCols, positionStride))
}
