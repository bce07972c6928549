//! Borrowed arrays: what a call reads and writes.

use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr::null_mut;

use sampler_sys as sys;

use crate::RowStatus;

/// Address, number and type of the elements of an array, and on which side it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// NULL: there is no array. The slice of no elements has an address.
    pub(crate) address: *mut c_void,
    pub(crate) len: usize,
    /// A constant of sampler_dtype or sampler_id_type, where the array may be of several types.
    pub(crate) element: i32,
    pub(crate) on_device: bool,
}

impl Memory {
    const NONE: Memory = Memory { address: null_mut(), len: 0, element: 0, on_device: false };

    fn of<T, E: Element<T>>(address: *const E, len: usize, on_device: bool) -> Self {
        Memory { address: address as *mut c_void, len, element: E::TYPE, on_device }
    }
}

/// An array of either kind.
pub(crate) trait Lent {
    fn memory(&self) -> Memory;

    fn is_none(&self) -> bool {
        self.memory().address.is_null()
    }
}

macro_rules! arrays {
    ($($(#[$doc:meta])* $name:ident [$($mut:ident)?] $pointer:ident $as_ptr:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// `T` is the type of the elements, or [`Real`] or [`Id`] where they may be of several.
        #[derive(Debug)]
        pub struct $name<'a, T> {
            memory: Memory,
            borrowed: PhantomData<&'a $($mut)? [T]>,
        }

        impl<'a, T> $name<'a, T> {
            /// `len` elements in memory of the sampler's CUDA device.
            ///
            /// # Safety
            ///
            /// Until the work on the call's stream has finished, the memory stays allocated, nobody
            /// writes to it or, where the call writes, reads it, and neither the sampler nor the
            /// call's workspace is dropped.
            pub unsafe fn device<E: Element<T>>(address: *$pointer E, len: usize) -> Self {
                Self::new(Memory::of(address, len, true))
            }

            /// The same elements, where `U` may have them.
            pub(crate) fn cast<U>(self) -> $name<'a, U> {
                $name::new(self.memory)
            }

            fn new(memory: Memory) -> Self {
                $name { memory, borrowed: PhantomData }
            }
        }

        impl<'a> $name<'a, Real> {
            /// IEEE binary16, as bits.
            pub fn f16(bits: &'a $($mut)? [u16]) -> Self {
                Self::new(Memory::of(bits.$as_ptr().cast::<F16>(), bits.len(), false))
            }

            /// Upper halves of `f32`, as bits.
            pub fn bf16(bits: &'a $($mut)? [u16]) -> Self {
                Self::new(Memory::of(bits.$as_ptr().cast::<Bf16>(), bits.len(), false))
            }
        }

        impl<T> Default for $name<'_, T> {
            fn default() -> Self {
                Self::new(Memory::NONE)
            }
        }

        impl<T> Lent for $name<'_, T> {
            fn memory(&self) -> Memory {
                self.memory
            }
        }

        impl<'a, T, E: Element<T>> From<&'a $($mut)? [E]> for $name<'a, T> {
            fn from(slice: &'a $($mut)? [E]) -> Self {
                Self::new(Memory::of(slice.$as_ptr(), slice.len(), false))
            }
        }

        impl<'a, T, E: Element<T>, const N: usize> From<&'a $($mut)? [E; N]> for $name<'a, T> {
            fn from(array: &'a $($mut)? [E; N]) -> Self {
                (&$($mut)? array[..]).into()
            }
        }

        impl<'a, T, E: Element<T>> From<&'a $($mut)? Vec<E>> for $name<'a, T> {
            fn from(vec: &'a $($mut)? Vec<E>) -> Self {
                (&$($mut)? vec[..]).into()
            }
        }
    )*};
}

arrays! {
    /// An array that a call reads. It is made of a slice, an array or a `Vec` by reference, or of
    /// [device memory](Array::device). The default is no array.
    #[derive(Clone, Copy)]
    Array [] const as_ptr;

    /// An array that a call writes. It is made of a slice, an array or a `Vec` by mutable
    /// reference, or of [device memory](ArrayMut::device). The default is no array: not wanted.
    ArrayMut [mut] mut as_mut_ptr;
}

impl<T> ArrayMut<'_, T> {
    /// The same array for a while.
    pub fn reborrow(&mut self) -> ArrayMut<'_, T> {
        ArrayMut::new(self.memory)
    }
}

/// What structs of arguments that have an [`ArrayMut`] offer in place of a copy.
macro_rules! reborrow {
    ($($args:ident)*) => {$(
        impl $args<'_> {
            /// The same arguments for a while: `..args.reborrow()` is all that a call has like the
            /// one before.
            pub fn reborrow(&mut self) -> $args<'_> {
                // SAFETY: nothing of it is dropped. What it borrows exclusively is borrowed from
                // `self`, which nobody can use as long as there is the copy.
                unsafe { std::ptr::read(self) }
            }
        }

        const _: () = assert!(!std::mem::needs_drop::<$args>());
    )*};
}
pub(crate) use reborrow;

/// Logits or probabilities: [`f32`], [`F16`] or [`Bf16`].
#[derive(Clone, Copy, Debug)]
pub enum Real {}

/// Token ids: [`i32`] or [`i64`].
#[derive(Clone, Copy, Debug)]
pub enum Id {}

/// An element of IEEE binary16, as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an `f32`, as its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// What an [`Array`] of `T` may have as its elements.
pub trait Element<T>: sealed::Sealed<T> {}

mod sealed {
    pub trait Sealed<T> {
        const TYPE: i32;
    }
}

macro_rules! elements {
    ($($element:ty: $array:ty = $constant:expr;)*) => {$(
        impl Element<$array> for $element {}

        impl sealed::Sealed<$array> for $element {
            const TYPE: i32 = $constant;
        }
    )*};
}

elements! {
    f32: Real = sys::SAMPLER_F32;
    F16: Real = sys::SAMPLER_F16;
    Bf16: Real = sys::SAMPLER_BF16;
    i32: Id = sys::SAMPLER_ID_I32;
    i64: Id = sys::SAMPLER_ID_I64;
    // These have one type only, for which C has no constant.
    f32: f32 = 0;
    i32: i32 = 0;
    i64: i64 = 0;
    u8: u8 = 0;
    u32: u32 = 0;
    u32: RowStatus = 0;
    RowStatus: RowStatus = 0;
    u64: u64 = 0;
}
