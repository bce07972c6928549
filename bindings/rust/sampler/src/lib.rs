//! Turns logits into tokens: safe calls of libsampler, a C library whose every result is fixed bit
//! for bit by one written contract.
//!
//! ```
//! use sampler::{Options, Rows, Sampler};
//!
//! # fn main() -> Result<(), sampler::Error> {
//! let mut sampler = Sampler::new(Options { max_rows: 1, max_cols: 5, ..Options::default() })?;
//! let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
//! let mut token_ids = [0; 1];
//! sampler.top_k_top_p(&Rows::logits(&logits, 1, 5), 3, 0.95, 0.8, 1, 0, &mut token_ids)?;
//! assert_eq!(token_ids, [2]);
//! # Ok(())
//! # }
//! ```
//!
//! # Calls
//!
//! The simple calls are the operations of the field with their few arguments. The full calls,
//! [`sample`](Sampler::sample), [`filter`](Sampler::filter), [`select`](Sampler::select),
//! [`verify`](Sampler::verify), [`residual`](Sampler::residual) and [`unmask`](Sampler::unmask), have
//! every option, each with a
//! struct of arguments whose members have the names and defaults of the C API, where the headers
//! explain them:
//!
//! ```
//! use sampler::*;
//!
//! # fn main() -> Result<(), Error> {
//! # let mut sampler = Sampler::new(Options { max_rows: 1, max_cols: 5, ..Options::default() })?;
//! # let logits = [2.0, 2.5, 1.5, -1.0, 0.0];
//! # let (mut token_ids, mut logprobs) = ([0i64; 1], [0.0; 1]);
//! sampler.sample(&SampleArgs {
//!     input: Rows::logits(&logits, 1, 5),
//!     params: Params { temperature: 0.8, top_k: 3, ..Params::default() },
//!     random: Random::new(1, 0),
//!     out_token_ids: (&mut token_ids).into(),
//!     reports: ReportArgs { out_logprobs: (&mut logprobs).into(), ..ReportArgs::default() },
//!     ..SampleArgs::default()
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! Structs get new members: end each with `..default()`.
//!
//! Arrays are borrowed while the arguments live, outputs exclusively, so that none can overlap
//! another:
//!
//! ```compile_fail,E0502
//! # fn softmax(sampler: &mut sampler::Sampler) -> Result<(), sampler::Error> {
//! let mut row = [0.0f32; 5];
//! sampler.softmax(&sampler::Rows::logits(&row, 1, 5), 1.0, &mut row)
//! # }
//! ```
//!
//! Arguments that calls have in common are built once. Each call gives what changes, or is looked at,
//! in between, and the rest by `reborrow`, which lends the others for as long as the call's arguments
//! live:
//!
//! ```
//! use sampler::*;
//!
//! # fn main() -> Result<(), Error> {
//! # let mut sampler = Sampler::new(Options { max_rows: 1, max_cols: 5, ..Options::default() })?;
//! let (mut logits, mut token_ids) = ([2.0, 2.5, 1.5, -1.0, 0.0], [0; 1]);
//! let params = Params { temperature: 0.8, top_k: 3, ..Params::default() };
//! let mut args = SampleArgs { params, ..SampleArgs::default() };
//! for step in 0..3 {
//!     sampler.sample(&SampleArgs {
//!         input: Rows::logits(&logits, 1, 5),
//!         random: Random::new(1, step),
//!         out_token_ids: (&mut token_ids).into(),
//!         ..args.reborrow()
//!     })?;
//!     logits[token_ids[0] as usize] -= 1.0;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What is lent cannot be lent again meanwhile:
//!
//! ```compile_fail,E0499
//! # use sampler::*;
//! # fn twice(mut args: SampleArgs<'_>) {
//! let (one, other) = (args.reborrow(), args.reborrow());
//! drop((one, other));
//! # }
//! ```
//!
//! nor be reached otherwise as long as any of the arguments are there:
//!
//! ```compile_fail,E0502
//! # use sampler::*;
//! # fn main() {
//! let mut token_ids = [0; 1];
//! let mut args = SampleArgs { out_token_ids: (&mut token_ids).into(), ..SampleArgs::default() };
//! let step = args.reborrow();
//! println!("{token_ids:?}");
//! drop(step);
//! # }
//! ```
//!
//! A call checks the arrays' lengths before the library sees them. It allocates nothing unless it fails.
//!
//! # CUDA
//!
//! A sampler of [`DeviceType::Cuda`] takes arrays in memory of its device, which the unsafe
//! functions [`Array::device`] and [`ArrayMut::device`] make of an address; host slices are errors
//! there, except the parameters of a sampler with [`host_parameters`](Options::host_parameters). A
//! call enqueues on its [`Stream`] and returns.
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
//! let mut sampler = sampler::Sampler::new(sampler::Options::default())?;
//! drop(sampler);
//! sampler.sample(&sampler::SampleArgs::default())
//! # }
//! ```
//!
//! nor dropped again:
//!
//! ```compile_fail,E0382
//! # fn main() -> Result<(), sampler::Error> {
//! let sampler = sampler::Sampler::new(sampler::Options::default())?;
//! drop(sampler);
//! drop(sampler);
//! # Ok(())
//! # }
//! ```
//!
//! # Left out
//!
//! The loops around a model, which call it back: a [`Session`] does what they do without callbacks.
//! They are reachable through `sampler-sys`.

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod array;
mod calls;
mod check;
mod constants;
mod error;
mod handle;
mod hooks;
mod ngram;
mod parameters;
mod session;
mod state;
mod views;
mod watermark;

pub use array::{Array, ArrayMut, Bf16, Element, Id, Real, F16};
pub use calls::{
    AcceptanceParams, DraftLayout, FilterArgs, ReportArgs, ResidualArgs, SampleArgs, ScoreArgs,
    SelectArgs, UnmaskArgs, UnmaskParams, VerifyArgs,
};
pub use constants::*;
pub use error::Error;
#[cfg(feature = "dlopen")]
pub use handle::load;
pub use handle::{capabilities, version, Capabilities, LogFunction, Options, Sampler};
pub use hooks::{Allocator, ParallelForFunction};
pub use ngram::{
    prune_count, Ngram, NgramStats, NgramStorage, NgramStorageOptions, PromptLookup,
    PromptLookupOptions, PruneCount,
};
pub use session::{
    AddArgs, AdvanceArgs, ForkArgs, Plan, PlanArgs, Resumed, Sequence, Session, SessionOptions,
    Span,
};
pub use state::{
    AcceptArgs, AppendArgs, CopyArgs, ReadArgs, ResetArgs, State, StateOptions, TruncateArgs,
};
pub use views::{Exec, Params, Pipeline, Random, RowParams, Rows, Stream, TokenLists};
pub use watermark::{
    watermark_bias, watermark_detect, watermark_random, watermark_score, watermark_table,
    watermark_tournament, WatermarkDetection, WatermarkNumbers, WatermarkParams,
};

const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Sampler>();
    is_send::<State>();
    is_send::<Session>();
    is_send::<Plan>();
    is_send::<Error>();
};

/// The blocks of the documentation pages are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../../docs/rust.md")]
struct DocumentationPage;
