//! Turns logits into tokens: safe calls of libsampler, a C library whose every result is fixed bit
//! for bit by one written contract.
//!
//! ```
//! use sampler::{Sampler, TopKTopP};
//!
//! # fn main() -> Result<(), sampler::Error> {
//! let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
//! let mut token_ids = [0i32; 1];
//! let mut sampler = Sampler::builder().max_rows(1).max_cols(5).build()?;
//! sampler.top_k_top_p(
//!     TopKTopP::new()
//!         .input(&logits)
//!         .num_rows(1)
//!         .num_cols(5)
//!         .temperature(0.8)
//!         .top_k(3)
//!         .top_p(0.95)
//!         .seed(1)
//!         .out_token_ids(&mut token_ids),
//! )?;
//! assert_eq!(token_ids, [2]);
//! # Ok(())
//! # }
//! ```
//!
//! # Arguments
//!
//! Each operation has a struct of arguments with the members of the C API, where the headers
//! explain them, and a method of [`Sampler`] of its name. What is one value or one per row takes a
//! number or an array: `.temperature(0.8)`, `.temperature(&[0.8, 1.0])`. Logits and probabilities
//! are `f32` slices or [`Data`] of f16 or bf16; ids are `i32` or `i64`.
//!
//! Arrays are borrowed until the arguments are dropped, outputs exclusively, so that none can
//! overlap another:
//!
//! ```compile_fail,E0502
//! let mut row = [0.0f32; 5];
//! sampler::Softmax::new().input(&row).output(&mut row);
//! ```
//!
//! A call checks their lengths before the library sees them. It allocates nothing
//! unless it fails.
//!
//! # CUDA
//!
//! A sampler of [`DeviceType::CUDA`] takes arrays in memory of its device, which the unsafe
//! functions [`Array::device`], [`Data::device`] and their like make of an address; host slices are
//! errors there, but for the parameters of a sampler with
//! [`host_parameters`](Builder::host_parameters). A call enqueues on its [`Stream`] and returns.
//!
//! # Threads
//!
//! A sampler may move between threads but cannot be shared; give each thread its own, or put one
//! behind a `Mutex`.
//!
//! ```compile_fail,E0277
//! fn shared<T: Sync>() {}
//! shared::<sampler::Sampler>();
//! ```
//!
//! A sampler that was dropped cannot be used:
//!
//! ```compile_fail,E0382
//! # fn main() -> Result<(), sampler::Error> {
//! let mut sampler = sampler::Sampler::builder().build()?;
//! drop(sampler);
//! sampler.argmax(&sampler::Argmax::new())
//! # }
//! ```
//!
//! nor dropped again:
//!
//! ```compile_fail,E0382
//! # fn main() -> Result<(), sampler::Error> {
//! let sampler = sampler::Sampler::builder().build()?;
//! drop(sampler);
//! drop(sampler);
//! # Ok(())
//! # }
//! ```
//!
//! # Left out
//!
//! The C API's hooks for memory and for running tasks on the caller's threads. They are reachable
//! through `sampler-sys`.

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod array;
mod check;
mod constants;
mod error;
mod handle;
mod operations;

pub use array::{Array, ArrayMut, Data, DataMut, Ids, IdsMut, Number, Param, Stream};
pub use constants::*;
pub use error::Error;
#[cfg(feature = "dlopen")]
pub use handle::load;
pub use handle::{capabilities, version, Builder, Capabilities, Sampler};
pub use operations::{
    Argmax, Arguments, ChainSpeculative, MinP, Residual, Sample, Softmax, TopK, TopKMask,
    TopKRenorm, TopKSelect, TopKTopP, TopP, TopPRenorm,
};

const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Sampler>();
    is_send::<Error>();
};

/// The blocks of the documentation page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rust.md")]
struct DocumentationPage;
