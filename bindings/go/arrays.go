package sampler

import (
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// array is a slice or an address of device memory. The zero value is neither: C's NULL.
type array struct {
	memory  unsafe.Pointer // of a slice
	address uintptr        // of device memory
	length  int            // of a slice, in elements
	place   place
}

type place uint8

const (
	absent place = iota
	onHost
	onDevice
)

func slice[T raw.Number](s []T) array {
	if s == nil {
		return array{}
	}
	return array{memory: raw.Memory(s), length: len(s), place: onHost}
}

func device(address uintptr) array {
	if address == 0 {
		return array{}
	}
	return array{address: address, place: onDevice}
}

// count is how many elements there are: `given`, or the length of a slice where that is 0.
func (a *array) count(given int) int64 {
	if given == 0 {
		return int64(a.length)
	}
	return int64(given)
}

// Data is an array of logits, probabilities or values. The zero value, nil slices and address 0
// stand for no array.
type Data struct {
	array
	dtype Dtype
}

// F32 is an array of 32-bit floats.
func F32(s []float32) Data { return Data{slice(s), DtypeF32} }

// F16 is an array of bit patterns of IEEE binary16.
func F16(s []uint16) Data { return Data{slice(s), DtypeF16} }

// BF16 is an array of bit patterns of bfloat16.
func BF16(s []uint16) Data { return Data{slice(s), DtypeBF16} }

// Device is an array in the memory of a CUDA sampler's device.
func Device(address uintptr, dtype Dtype) Data { return Data{device(address), dtype} }

// elementType is C's 0 where there is no array.
func (d *Data) elementType() int32 {
	if d.place == absent {
		return 0
	}
	return int32(d.dtype)
}

// IDs is an array of token ids. The zero value, nil slices and address 0 stand for no array.
type IDs struct {
	array
	idType IDType
}

// I32 is an array of 32-bit ids.
func I32(s []int32) IDs { return IDs{slice(s), IDTypeI32} }

// I64 is an array of 64-bit ids.
func I64(s []int64) IDs { return IDs{slice(s), IDTypeI64} }

// DeviceIDs is an array of ids in the memory of a CUDA sampler's device.
func DeviceIDs(address uintptr, idType IDType) IDs { return IDs{device(address), idType} }

func (ids *IDs) elementType() int32 {
	if ids.place == absent {
		return 0
	}
	return int32(ids.idType)
}

// Element is what an Array has.
type Element interface {
	int32 | int64 | uint32 | uint64 | float32 | RowStatus | AdaptiveKind | PLessKind |
		Acceptance | byte
}

// Array is an array of one type of elements. The zero value, nil slices and address 0 stand for no
// array.
type Array[T Element] struct {
	array
	_ [0]T
}

// Slice is an array in Go's memory.
func Slice[T Element](s []T) Array[T] { return Array[T]{array: slice(s)} }

// OnDevice is an array in the memory of a CUDA sampler's device.
func OnDevice[T Element](address uintptr) Array[T] { return Array[T]{array: device(address)} }
