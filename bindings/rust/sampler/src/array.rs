//! Borrowed arrays: what a call reads and writes.

use std::marker::PhantomData;
use std::os::raw::c_void;

use sampler_sys as sys;

use crate::{Dtype, IdType};

/// Address and number of elements of an array, and on which side it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) address: *mut c_void,
    pub(crate) len: usize,
    pub(crate) on_device: bool,
}

impl Memory {
    fn host<T>(slice: &[T]) -> Self {
        Memory {
            address: slice.as_ptr() as *mut c_void,
            len: slice.len(),
            on_device: false,
        }
    }

    fn host_mut<T>(slice: &mut [T]) -> Self {
        Memory {
            address: slice.as_mut_ptr().cast(),
            len: slice.len(),
            on_device: false,
        }
    }

    fn device(address: *mut c_void, len: usize) -> Self {
        Memory {
            address,
            len,
            on_device: true,
        }
    }
}

/// An array that a call reads: a slice, an array or a `Vec` by reference, or [device
/// memory](Array::device).
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, T> {
    pub(crate) memory: Memory,
    borrowed: PhantomData<&'a [T]>,
}

impl<'a, T> Array<'a, T> {
    /// `len` elements in memory of the sampler's CUDA device.
    ///
    /// # Safety
    ///
    /// Until the work on the call's stream has finished, the memory stays allocated, nobody writes
    /// to it, and neither the sampler nor the call's workspace is dropped.
    pub unsafe fn device(address: *const T, len: usize) -> Self {
        Array {
            memory: Memory::device(address as *mut c_void, len),
            borrowed: PhantomData,
        }
    }
}

/// An array that a call writes: a slice, an array or a `Vec` by mutable reference, or [device
/// memory](ArrayMut::device).
#[derive(Debug)]
pub struct ArrayMut<'a, T> {
    pub(crate) memory: Memory,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<'a, T> ArrayMut<'a, T> {
    /// `len` elements in memory of the sampler's CUDA device.
    ///
    /// # Safety
    ///
    /// Until the work on the call's stream has finished, the memory stays allocated, nobody else
    /// reads or writes it, and neither the sampler nor the call's workspace is dropped.
    pub unsafe fn device(address: *mut T, len: usize) -> Self {
        ArrayMut {
            memory: Memory::device(address.cast(), len),
            borrowed: PhantomData,
        }
    }
}

impl<'a, T> From<&'a [T]> for Array<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Array {
            memory: Memory::host(slice),
            borrowed: PhantomData,
        }
    }
}

impl<'a, T> From<&'a mut [T]> for ArrayMut<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        ArrayMut {
            memory: Memory::host_mut(slice),
            borrowed: PhantomData,
        }
    }
}

/// The ways to lend an array to something that a slice of `$element` turns into.
macro_rules! from_arrays {
    ($([$($generic:tt)*] $target:ty, $target_mut:ty, $element:ty;)*) => {$(
        impl<'a, $($generic)* const N: usize> From<&'a [$element; N]> for $target {
            fn from(array: &'a [$element; N]) -> Self {
                array[..].into()
            }
        }

        impl<'a, $($generic)*> From<&'a Vec<$element>> for $target {
            fn from(vec: &'a Vec<$element>) -> Self {
                vec[..].into()
            }
        }

        impl<'a, $($generic)* const N: usize> From<&'a mut [$element; N]> for $target_mut {
            fn from(array: &'a mut [$element; N]) -> Self {
                (&mut array[..]).into()
            }
        }

        impl<'a, $($generic)*> From<&'a mut Vec<$element>> for $target_mut {
            fn from(vec: &'a mut Vec<$element>) -> Self {
                (&mut vec[..]).into()
            }
        }
    )*};
}

/// Arrays of one of several element types: `$name` to read, `$name_mut` to write.
macro_rules! typed_arrays {
    ($(
        $(#[$doc:meta])* $name:ident, $(#[$doc_mut:meta])* $name_mut:ident, $type:ident {
            $($(#[$constructor_doc:meta])* $constructor:ident: $element:ty = $constant:ident,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            pub(crate) memory: Memory,
            pub(crate) element: $type,
            borrowed: PhantomData<&'a [u8]>,
        }

        impl<'a> $name<'a> {
            $(
                $(#[$constructor_doc])*
                pub fn $constructor(slice: &'a [$element]) -> Self {
                    $name {
                        memory: Memory::host(slice),
                        element: $type::$constant,
                        borrowed: PhantomData,
                    }
                }
            )*

            /// `len` elements of this type in memory of the sampler's CUDA device.
            ///
            /// # Safety
            ///
            /// As for [`Array::device`].
            pub unsafe fn device(address: *const c_void, len: usize, element: $type) -> Self {
                let memory = Memory::device(address as *mut c_void, len);
                $name { memory, element, borrowed: PhantomData }
            }
        }

        $(#[$doc_mut])*
        #[derive(Debug)]
        pub struct $name_mut<'a> {
            pub(crate) memory: Memory,
            pub(crate) element: $type,
            borrowed: PhantomData<&'a mut [u8]>,
        }

        impl<'a> $name_mut<'a> {
            $(
                $(#[$constructor_doc])*
                pub fn $constructor(slice: &'a mut [$element]) -> Self {
                    $name_mut {
                        memory: Memory::host_mut(slice),
                        element: $type::$constant,
                        borrowed: PhantomData,
                    }
                }
            )*

            /// `len` elements of this type in memory of the sampler's CUDA device.
            ///
            /// # Safety
            ///
            /// As for [`ArrayMut::device`].
            pub unsafe fn device(address: *mut c_void, len: usize, element: $type) -> Self {
                $name_mut { memory: Memory::device(address, len), element, borrowed: PhantomData }
            }
        }
    )*};
}

typed_arrays! {
    /// Logits or probabilities that a call reads. What lends an `f32` slice turns into it; other
    /// types have constructors.
    Data,
    /// Logits or probabilities that a call writes. What lends an `f32` slice turns into it; other
    /// types have constructors.
    DataMut,
    Dtype {
        /// Elements of type `f32`.
        f32: f32 = F32,
        /// Elements of IEEE binary16, as bits.
        f16: u16 = F16,
        /// Upper halves of `f32`, as bits.
        bf16: u16 = BF16,
    }

    /// Token ids that a call reads. What lends an `i32` or `i64` slice turns into it.
    Ids,
    /// Token ids that a call writes. What lends an `i32` or `i64` slice turns into it.
    IdsMut,
    IdType {
        /// Ids of type `i32`.
        i32: i32 = I32,
        /// Ids of type `i64`.
        i64: i64 = I64,
    }
}

macro_rules! from_slices {
    ($($name:ident $name_mut:ident $element:ident;)*) => {$(
        impl<'a> From<&'a [$element]> for $name<'a> {
            fn from(slice: &'a [$element]) -> Self {
                $name::$element(slice)
            }
        }

        impl<'a> From<&'a mut [$element]> for $name_mut<'a> {
            fn from(slice: &'a mut [$element]) -> Self {
                $name_mut::$element(slice)
            }
        }
    )*};
}

from_slices! {
    Data DataMut f32;
    Ids IdsMut i32;
    Ids IdsMut i64;
}

from_arrays! {
    [T,] Array<'a, T>, ArrayMut<'a, T>, T;
    [] Data<'a>, DataMut<'a>, f32;
    [] Ids<'a>, IdsMut<'a>, i32;
    [] Ids<'a>, IdsMut<'a>, i64;
}

/// A number for all rows, or an array with one per row: `0.8`, `&[0.8, 1.0]` or an [`Array`].
#[derive(Clone, Copy, Debug)]
pub enum Param<'a, T> {
    /// For all rows.
    Value(T),
    /// One per row.
    PerRow(Array<'a, T>),
}

impl<T: Number> From<T> for Param<'_, T> {
    fn from(value: T) -> Self {
        Param::Value(value)
    }
}

impl<'a, T> From<Array<'a, T>> for Param<'a, T> {
    fn from(array: Array<'a, T>) -> Self {
        Param::PerRow(array)
    }
}

impl<'a, T> From<&'a [T]> for Param<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Param::PerRow(slice.into())
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Param<'a, T> {
    fn from(array: &'a [T; N]) -> Self {
        Param::PerRow(array.into())
    }
}

impl<'a, T> From<&'a Vec<T>> for Param<'a, T> {
    fn from(vec: &'a Vec<T>) -> Self {
        Param::PerRow(vec.into())
    }
}

/// Types of parameters.
pub trait Number: sealed::Sealed {}
impl Number for f32 {}
impl Number for i32 {}
impl Number for u64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for u64 {}
}

/// A CUDA stream, on which a call enqueues its work. A CPU sampler ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub(crate) sys::sampler_stream);

impl Stream {
    /// The legacy default stream, where a call works that names none.
    pub const DEFAULT: Stream = Stream(std::ptr::null_mut());

    /// A stream by its `cudaStream_t` or `CUstream`.
    ///
    /// # Safety
    ///
    /// It is a stream of the sampler's device and exists until the work on it has finished. Calls
    /// that share a workspace, the sampler's included, are on one stream or do not overlap in time.
    pub unsafe fn from_raw(stream: usize) -> Self {
        Stream(stream as sys::sampler_stream)
    }
}
