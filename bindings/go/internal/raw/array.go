// Package raw is libsampler's C interface as SWIG and bindings/swig/generate.py make it.
package raw

import "unsafe"

// Array is the memory of a slice, or, where Memory is nil, the address of device memory.
//
// C gets arrays as plain addresses: cgo would check on every call that the memory holds no Go
// pointers, which takes as long as the rest of the way to C, and since it cannot know where within
// an object a slice ends it would also refuse slices of an array beside a pointer. What it would
// see to is seen to here: slices are made of numbers (see Memory), are on the heap, and are kept
// alive by the arguments' Run until C has returned. C keeps none of them.
type Array struct {
	Memory unsafe.Pointer
	At     uintptr
}

var (
	NeverTrue bool // exported, so that the compiler cannot know it
	sink      unsafe.Pointer
)

// Memory returns where a slice's elements are, on the heap: one on a goroutine's stack could move.
func Memory[T int32 | int64 | uint64 | float32 | uint16 | ~uint32 | byte](s []T) unsafe.Pointer {
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&s))
	if NeverTrue {
		sink = memory
	}
	return memory
}

func (a *Array) address() uintptr {
	return uintptr(a.Memory) + a.At
}
