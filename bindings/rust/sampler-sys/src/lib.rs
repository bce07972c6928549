//! The C API of libsampler as it stands in the headers: types, constants, functions.
//!
//! The crate `sampler` is the safe way to call it. The comments here are those of the headers, and
//! say what a call needs: every function is unsafe to call. Structs have the
//! constant `INIT`: all 0 except `struct_size`, and what the header's `_default()` sets.
//!
//! By default programs are linked with `libsampler.so`. With the feature `dlopen` they are not: the
//! library is opened by [`load`], which must have succeeded before any function is called.

#![allow(non_camel_case_types)]
#![allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]
// The rules are in the comments of the headers, and the functions are as they are in C.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
#![deny(unsafe_op_in_unsafe_fn)]

use std::mem::size_of;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

#[cfg(feature = "dlopen")]
mod dynamic;
#[cfg(feature = "dlopen")]
pub use dynamic::{load, LoadError};

#[cfg(test)]
mod tests;

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $type = $value;)*

        #[cfg(test)]
        pub(crate) const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $name as i64)),*];
    };
}

/// Name and size of a struct; name, offset and size of its members.
#[cfg(test)]
pub(crate) type Layout = (&'static str, usize, Vec<(&'static str, usize, usize)>);

macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$member_doc:meta])* $member:ident: $type:ty = $default:expr;)*
    })*) => {
        $($(#[$doc])* #[repr(C)] #[derive(Clone, Copy)] pub struct $name {
            $($(#[$member_doc])* pub $member: $type,)*
        }

        impl $name {
            /// `struct_size` is set, all else at its default.
            pub const INIT: Self = Self { $($member: $default,)* };
        })*

        #[cfg(test)]
        pub(crate) fn layouts() -> Vec<Layout> {
            fn size_of_value<T>(_: &T) -> usize {
                size_of::<T>()
            }
            vec![$({
                let value = $name::INIT;
                let start = &value as *const $name as usize;
                let members = vec![$((
                    stringify!($member),
                    &value.$member as *const $type as usize - start,
                    size_of_value(&value.$member),
                )),*];
                (stringify!($name), size_of::<$name>(), members)
            }),*]
        }
    };
}

macro_rules! functions {
    ($($(#[$doc:meta])*
       fn $name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        #[cfg(not(feature = "dlopen"))]
        extern "C" {
            $($(#[$doc])* pub fn $name($($parameter: $type),*) $(-> $result)?;)*
        }

        #[cfg(feature = "dlopen")]
        pub(crate) struct Functions {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        #[cfg(feature = "dlopen")]
        impl Functions {
            /// # Safety
            ///
            /// `library` is libsampler.
            pub(crate) unsafe fn find(library: &dynamic::Library) -> Result<Self, LoadError> {
                Ok(Self {
                    $($name: {
                        let symbol = library.symbol(concat!(stringify!($name), "\0"))?;
                        // SAFETY: the header declares the function with these types.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($type),*) $(-> $result)?,
                            >(symbol)
                        }
                    },)*
                })
            }
        }

        $(
            $(#[$doc])*
            #[cfg(feature = "dlopen")]
            #[inline]
            pub unsafe fn $name($($parameter: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps the rules of the function.
                unsafe { (dynamic::functions().$name)($($parameter),*) }
            }
        )*
    };
}

include!("generated.rs");
