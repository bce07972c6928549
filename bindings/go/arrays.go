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

func slice[T int32 | int64 | uint64 | float32 | uint16 | ~uint32 | byte](s []T) array {
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

// Element is what an Array has.
type Element interface {
	int32 | float32 | RowStatus | byte
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

// Param is a parameter of an operation, for all rows or per row. The zero value is the library's
// default; so is PerRow(nil).
type Param[T float32 | int32 | uint64] struct {
	array
	value T
	form  form
}

type form uint8

const (
	isDefault form = iota
	isValue
	isPerRow
	isShared
)

// Float is one value for all rows.
func Float(value float32) Param[float32] { return Param[float32]{value: value, form: isValue} }

// Int is one value for all rows.
func Int(value int32) Param[int32] { return Param[int32]{value: value, form: isValue} }

// Uint is one value for all rows.
func Uint(value uint64) Param[uint64] { return Param[uint64]{value: value, form: isValue} }

// PerRow is a value for each output row. A seed or offset may also be a slice of one, for all rows.
func PerRow[T float32 | int32 | uint64](values []T) Param[T] {
	return Param[T]{array: slice(values), form: isPerRow}
}

// PerRowDevice is a value for each output row, in the memory of a CUDA sampler's device.
func PerRowDevice[T float32 | int32 | uint64](address uintptr) Param[T] {
	return Param[T]{array: device(address), form: isPerRow}
}

// SharedDevice is one seed or offset for all rows, in the memory of a CUDA sampler's device, which
// is read when the work runs.
func SharedDevice(address uintptr) Param[uint64] {
	return Param[uint64]{array: device(address), form: isShared}
}
