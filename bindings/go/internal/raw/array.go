// Package raw is libsampler's C interface as SWIG and bindings/swig/generate.py make it.
package raw

import "unsafe"

// C gets structs and arrays as plain addresses: cgo would check on every call that the memory holds
// no Go pointers, which takes as long as the rest of the way to C, and since it cannot know where
// within an object a slice ends it would also refuse slices of an array beside a pointer. What it
// would see to is seen to here: slices are made of numbers (see Memory), all of it is on the heap,
// and is kept alive by the caller until C has returned. C keeps none of it, but for what a session's
// pipeline names, which the session keeps alive.

var (
	NeverTrue bool // exported, so that the compiler cannot know it
	sink      unsafe.Pointer
)

// Number is what arrays have as elements.
type Number interface {
	~int32 | ~uint32 | int64 | uint64 | float32 | uint16 | byte
}

// Memory returns where a slice's elements are, on the heap: one on a goroutine's stack could move.
func Memory[T Number | Span](s []T) unsafe.Pointer {
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&s))
	if NeverTrue {
		sink = memory
	}
	return memory
}

// Address returns where a struct is, on the heap.
func Address[T any](s *T) uintptr {
	if NeverTrue {
		sink = unsafe.Pointer(s)
	}
	return uintptr(unsafe.Pointer(s))
}

// AppendInts appends count numbers of C's memory.
func AppendInts(to []int32, address uintptr, count int64) []int32 {
	if count == 0 {
		return to
	}
	old := len(to)
	to = append(to, make([]int32, count)...)
	ShimCopyTokens(address, uintptr(Memory(to[old:])), count)
	return to
}
