package sampler

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// Options are what New makes a Sampler with. The zero value is a CPU sampler with one thread and no
// workspace: then each call brings its own.
type Options struct {
	// Where the arrays of the calls live.
	DeviceType DeviceType

	// CUDA device number, 0 the first. 0 for the CPU.
	DeviceID int

	// CPU: how many rows are worked on at once, in [1, 256]; 0 is 1, the caller's thread alone.
	// With more, threads are started here, once, and sleep between calls.
	NumThreads int

	// The workspace that the sampler brings: room for any operation on up to MaxRows output rows of
	// up to MaxCols columns, but for calls that need more, such as those with stages or with reports
	// of verified tokens: sampler/handle.h lists them. 0 and 0: none. One without the other is an
	// error. MaxRows is below 2^31, MaxCols below 2^20.
	MaxRows int
	MaxCols int

	// What a bad row yields as its token: -1, or, when UseFallbackToken is set, this id. It must lie
	// in [0, NumCols) of every call on rows, in [0, 2^20) on candidate lists.
	FallbackTokenID  int64
	UseFallbackToken bool

	// CUDA: what a call takes per row or slot as numbers (the arrays of RowParams and Random, and
	// SelectedCounts) are slices rather than device memory. They may be reused when the call returns.
	HostParameters bool

	// CUDA: every call checks that its arrays are memory of the device. For debugging.
	CheckPointers bool

	// Runs a call's tasks on the caller's threads instead of the sampler's: the address of a C
	// function, a sampler_parallel_for_fn, and what it gets as its user. 0: the sampler's.
	ParallelFor     uintptr
	ParallelForUser uintptr

	// Memory for the sampler and its workspace. The zero value: the C library's.
	Allocator Allocator

	// Takes one line about the sampler made, and about every error that the library finds in its
	// calls, before they return, on their goroutine. It must not call the sampler. nil: none.
	Log func(level LogLevel, line string)
}

// Allocator is where the library's memory comes from: addresses of C functions, as sampler_allocator
// has them, and what they get as their user. Functions of Go cannot be: C would keep memory that
// only Go's collector knows.
type Allocator struct {
	Allocate, Deallocate, User uintptr
}

func (a Allocator) raw() raw.Allocator {
	return raw.Allocator{Allocate: a.Allocate, Deallocate: a.Deallocate, User: a.User}
}

// Sampler serves calls, one at a time. It must not be copied.
type Sampler struct {
	mutex          sync.Mutex // held by a call, so that Close waits
	handle         uintptr    // 0 when closed
	states         map[uintptr]struct{}
	sessions       map[uintptr]map[*Ngram]struct{} // and what drafts for them
	onCUDA         bool
	hostParameters bool
	log            func(level LogLevel, line string)
	memory         structs
}

// New creates a sampler. Its memory is released by Close, or when nothing refers to it any more.
//
// Errors: ErrInvalidArgument, ErrABIMismatch, ErrUnsupported (no CUDA in the library or on this
// machine), ErrOutOfMemory, ErrSystem (a thread could not be started), ErrCUDA.
func New(options Options) (*Sampler, error) {
	rawOptions := raw.Options{
		StructSize:       unsafe.Sizeof(raw.Options{}),
		AbiVersion:       uint32(raw.SAMPLER_ABI_VERSION),
		DeviceType:       int32(options.DeviceType),
		DeviceID:         clamped(options.DeviceID),
		NumThreads:       clamped(options.NumThreads),
		MaxRows:          int64(options.MaxRows),
		MaxCols:          int64(options.MaxCols),
		FallbackTokenID:  options.FallbackTokenID,
		UseFallbackToken: flag(options.UseFallbackToken),
		HostParameters:   flag(options.HostParameters),
		CheckPointers:    flag(options.CheckPointers),
		ParallelFor:      options.ParallelFor,
		ParallelForUser:  options.ParallelForUser,
		Allocator:        options.Allocator.raw(),
	}
	handle := raw.ShimCreate(raw.Address(&rawOptions), flag(options.Log != nil))
	runtime.KeepAlive(&rawOptions)
	if handle == 0 {
		return nil, &Error{"New", ErrOutOfMemory, "there is no memory for a sampler"}
	}
	s := &Sampler{
		handle:         handle,
		onCUDA:         options.DeviceType == CUDA,
		hostParameters: options.HostParameters,
		log:            options.Log,
	}
	isMade := false
	defer func() {
		if !isMade { // it could not be, or its Log panics
			s.Close()
		}
	}()
	if Status(raw.ShimStatus(handle)) != statusOK {
		return nil, s.failure("New")
	}
	s.passLog()
	runtime.SetFinalizer(s, (*Sampler).Close)
	isMade = true
	return s, nil
}

// passLog hands over the line that a call has logged.
func (s *Sampler) passLog() {
	if s.log == nil {
		return
	}
	if level := raw.ShimLogLevel(s.handle); level >= 0 {
		s.log(LogLevel(level), raw.ShimLogLine(s.handle))
	}
}

// failure is the error of the call that has failed.
func (s *Sampler) failure(op string) error {
	s.passLog()
	return &Error{op, Status(raw.ShimStatus(s.handle)), raw.ShimError(s.handle)}
}

// Close releases the sampler's threads and memory, its states and its sessions. It waits for a call that is under
// way; work that was enqueued on a CUDA stream must have finished. Closing again does nothing. It
// never fails; the error is for io.Closer.
func (s *Sampler) Close() error {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.handle != 0 {
		s.closeStates()
		s.closeSessions()
		raw.ShimDestroy(s.handle)
		s.handle = 0
		runtime.SetFinalizer(s, nil)
	}
	return nil
}

// SystemCapabilities is what the library and this machine offer.
type SystemCapabilities struct {
	Version        int // major * 10000 + minor * 100 + patch
	ABIVersion     int
	ISACompiled    ISA // instruction sets that the library has code for,
	ISAUsable      ISA // those of them that this machine has,
	ISAActive      ISA // and the one that a sampler made now would use
	CUDACompiled   bool
	NumCUDADevices int
	NumProcessors  int // that the calling thread may run on
}

// Capabilities returns what the library and this machine offer.
func Capabilities() SystemCapabilities {
	c := raw.Capabilities{StructSize: unsafe.Sizeof(raw.Capabilities{})}
	raw.ShimGetCapabilities(raw.Address(&c))
	return SystemCapabilities{
		Version:        int(c.Version),
		ABIVersion:     int(c.AbiVersion),
		ISACompiled:    ISA(c.IsaCompiled),
		ISAUsable:      ISA(c.IsaUsable),
		ISAActive:      ISA(c.IsaActive),
		CUDACompiled:   c.CudaCompiled != 0,
		NumCUDADevices: int(c.NumCudaDevices),
		NumProcessors:  int(c.NumProcessors),
	}
}

// Version returns the version of the library that was loaded, "0.1.0-rc1".
func Version() string {
	return raw.ShimVersionString()
}
