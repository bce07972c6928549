package sampler

import (
	"errors"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// Status is what kind of error a call ended with. As an error it is what errors.Is compares with.
type Status int32

// The statuses of libsampler. Newer libraries may return others.
const (
	// ErrInvalidArgument: an argument breaks a rule of its documentation. No output was written.
	ErrInvalidArgument = Status(raw.SAMPLER_ERROR_INVALID_ARGUMENT)
	// ErrOutOfMemory: there is no memory for a sampler or a state.
	ErrOutOfMemory = Status(raw.SAMPLER_ERROR_OUT_OF_MEMORY)
	// ErrWorkspaceTooSmall: the sampler's or the call's workspace is smaller than WorkspaceSize.
	ErrWorkspaceTooSmall = Status(raw.SAMPLER_ERROR_WORKSPACE_TOO_SMALL)
	// ErrUnsupported: this build of the library or this machine does not offer what was asked for.
	ErrUnsupported = Status(raw.SAMPLER_ERROR_UNSUPPORTED)
	// ErrABIMismatch: the program was compiled for another ABI of libsampler.
	ErrABIMismatch = Status(raw.SAMPLER_ERROR_ABI_MISMATCH)
	// ErrSystem: the system refused something, such as starting a thread.
	ErrSystem = Status(raw.SAMPLER_ERROR_SYSTEM)
	// ErrCallback: a callback broke its contract. This package has none.
	ErrCallback = Status(raw.SAMPLER_ERROR_CALLBACK)
	// ErrCUDA: CUDA reported an error. The outputs are undefined.
	ErrCUDA = Status(raw.SAMPLER_ERROR_CUDA)
	// ErrInternal: a fault of libsampler, which it caught. The outputs are undefined.
	ErrInternal = Status(raw.SAMPLER_ERROR_INTERNAL)
	// ErrCorruptData: serialised data is truncated, damaged or of a newer format.
	ErrCorruptData = Status(raw.SAMPLER_ERROR_CORRUPT_DATA)
)

// Error returns the status' name in C, such as "SAMPLER_ERROR_INVALID_ARGUMENT".
func (s Status) Error() string {
	return raw.ShimStatusString(int32(s))
}

// Error is what a failed call returns.
type Error struct {
	Op      string // the method: "TopKTopP"
	Status  Status // what errors.Is compares with ErrInvalidArgument and the others
	Message string // one line: which argument, its value, the rule
}

// Error returns the method and the message.
func (e *Error) Error() string {
	return "sampler: " + e.Op + ": " + e.Message
}

// Unwrap returns the status.
func (e *Error) Unwrap() error {
	return e.Status
}

const statusOK = Status(raw.SAMPLER_OK)

// ErrClosed is returned by the methods of a Sampler that was closed, or was not made by New.
var ErrClosed = errors.New("sampler: the sampler is closed")

// ErrStateClosed is returned by the methods of a State that was closed, or was not made by NewState,
// and by calls that are given one.
var ErrStateClosed = errors.New("sampler: the state is closed")
