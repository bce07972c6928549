//! The operations: one struct of arguments each, and the calls that take them.
//!
//! A struct of arguments is the C struct, set up as its `_INIT` macro does, and the lengths of the
//! arrays that were lent to it.

use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;

use sampler_sys as sys;

use crate::array::{Array, ArrayMut, Data, DataMut, Ids, IdsMut, Param, Stream};
use crate::check::{Arrays, Held, Place, Shape, Sizes};
use crate::constants::*;
use crate::{error, Error, Sampler};

/// Arguments of an operation that works in a workspace: all of them.
pub trait Arguments: sealed::Sealed {}

pub(crate) mod sealed {
    use super::*;

    pub trait Sealed {
        const OPERATION: sys::sampler_operation;

        /// The C struct.
        fn raw(&self) -> *const c_void;
    }
}

// ---- The members, each written once: how it is set ----------------------------------------------

/// A number.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident: $type:ty) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: $type) -> &mut Self {
            self.raw.$name = $name;
            self
        }
    };
}

/// A constant of an enumeration.
macro_rules! constant {
    ($(#[$doc:meta])* $name:ident: $type:ty) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: $type) -> &mut Self {
            self.raw.$name = $name.raw();
            self
        }
    };
}

/// An array of one type.
macro_rules! array {
    ($(#[$doc:meta])* $name:ident: $type:ident<$element:ty>) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: impl Into<$type<'a, $element>>) -> &mut Self {
            let memory = $name.into().memory;
            self.raw.$name = memory.address.cast();
            self.arrays.$name = Held::of(memory);
            self
        }
    };
}

/// An array of one of several types.
macro_rules! data {
    ($(#[$doc:meta])* $name:ident: $type:ident, $dtype:ident) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: impl Into<$type<'a>>) -> &mut Self {
            let data = $name.into();
            self.raw.$name = data.memory.address;
            self.raw.$dtype = data.element.raw();
            self.arrays.$name = Held::of(data.memory);
            self
        }
    };
}

macro_rules! ids {
    ($(#[$doc:meta])* $name:ident: $type:ident, $id_type:ident) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: impl Into<$type<'a>>) -> &mut Self {
            let ids = $name.into();
            self.raw.$name = ids.memory.address;
            self.raw.$id_type = ids.element.raw();
            self.arrays.$name = Held::of_ids(ids.memory, ids.element);
            self
        }
    };
}

/// A value, or an array with one per row.
macro_rules! parameter {
    ($(#[$doc:meta])* $name:ident, $names:ident: $type:ty $(, $count:ident)?) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, $name: impl Into<Param<'a, $type>>) -> &mut Self {
            match $name.into() {
                Param::Value(value) => {
                    self.raw.$name = value;
                    self.raw.$names = std::ptr::null();
                    self.arrays.$names = Held::default();
                    $(self.raw.$count = 0;)?
                }
                Param::PerRow(array) => {
                    self.raw.$names = array.memory.address.cast();
                    self.arrays.$names = Held::of(array.memory);
                    $(self.raw.$count = array.memory.len as i64;)?
                }
            }
            self
        }
    };
}

macro_rules! member {
    (num_rows) => {
        number! {
            /// Rows of output, in [0, 2^31). With 0, the default, the call does nothing.
            num_rows: i64
        }
    };
    (num_cols) => {
        number! {
            /// Columns of the input: the vocabulary, or the room for candidates. In [1, 2^20).
            num_cols: i64
        }
    };
    (row_stride) => {
        number! {
            /// Distance of two input rows in elements, at least `num_cols`. 0, the default:
            /// `num_cols`.
            row_stride: i64
        }
    };
    (num_input_rows) => {
        number! {
            /// Rows of the input, in [0, 2^31). 0, the default: `num_rows`. Without `row_indices`
            /// it must be 0 or `num_rows`.
            num_input_rows: i64
        }
    };
    (output_stride) => {
        number! {
            /// Distance of two output rows in elements, at least `num_cols`. 0, the default:
            /// `num_cols`.
            output_stride: i64
        }
    };
    (num_selected) => {
        number! {
            /// How many tokens a row yields at most: columns of the outputs, in [1, `num_cols`].
            num_selected: i64
        }
    };
    (num_drafts) => {
        number! {
            /// Drafts of a row, in [0, 65535].
            num_drafts: i64
        }
    };
    (target_row_stride) => {
        number! {
            /// Distance of two rows of the target in elements, at least what `num_drafts` + 1
            /// positions take. 0, the default: contiguous.
            target_row_stride: i64
        }
    };
    (target_position_stride) => {
        number! {
            /// Distance of two positions of the target in elements, at least `num_cols`. 0, the
            /// default: `num_cols`.
            target_position_stride: i64
        }
    };
    (draft_row_stride) => {
        number! {
            /// Distance of two rows of the draft in elements, at least what `num_drafts` positions
            /// take. 0, the default: contiguous.
            draft_row_stride: i64
        }
    };
    (draft_position_stride) => {
        number! {
            /// Distance of two positions of the draft in elements, at least `num_cols`. 0, the
            /// default: `num_cols`.
            draft_position_stride: i64
        }
    };
    (accumulate_counts) => {
        /// Whether the counts are added to what the two arrays hold. By default they overwrite it.
        #[inline]
        pub fn accumulate_counts(&mut self, accumulate_counts: bool) -> &mut Self {
            self.raw.accumulate_counts = accumulate_counts.into();
            self
        }
    };

    (input_kind) => {
        constant! {
            /// What the numbers of the input mean.
            input_kind: InputKind
        }
    };
    (target_kind) => {
        constant! {
            /// What the numbers of the target mean.
            target_kind: InputKind
        }
    };
    (draft_kind) => {
        constant! {
            /// What the numbers of the draft mean.
            draft_kind: InputKind
        }
    };
    (top_k_ties) => {
        constant! {
            /// What top-k does with ties.
            top_k_ties: TieRule
        }
    };
    (top_p_ties) => {
        constant! {
            /// What top-p does with ties.
            top_p_ties: TieRule
        }
    };
    (filter_order) => {
        constant! {
            /// Which filter sees what.
            filter_order: FilterOrder
        }
    };
    (temperature_order) => {
        constant! {
            /// When the temperature applies.
            temperature_order: TemperatureOrder
        }
    };
    (draw_method) => {
        constant! {
            /// How the token is drawn.
            draw_method: DrawMethod
        }
    };
    (logprob_kind) => {
        constant! {
            /// Of which distribution `out_logprobs` is.
            logprob_kind: LogprobKind
        }
    };

    (input) => {
        data! {
            /// `[num_input_rows, num_cols]` Logits or probabilities, one row `row_stride` elements
            /// after the other. Required.
            input: Data, input_dtype
        }
    };
    (row_indices) => {
        array! {
            /// `[num_rows]` The input row that each output row draws from, in [0,
            /// `num_input_rows`); any other value makes the output row bad. By default output row i
            /// draws from input row i.
            row_indices: Array<i32>
        }
    };
    (candidate_ids) => {
        ids! {
            /// `[num_input_rows, num_cols]` Candidate lists, laid out like the input: the token id
            /// of each element, in [0, 2^20), none twice in a row. By default the id is the column.
            candidate_ids: Ids, candidate_id_type
        }
    };
    (candidate_counts) => {
        array! {
            /// `[num_input_rows]` How many elements of each row there are, in [0, `num_cols`].
            /// Needs `candidate_ids`. By default `num_cols`.
            candidate_counts: Array<i32>
        }
    };
    (target) => {
        data! {
            /// `[num_rows, num_drafts + 1, num_cols]` The target's row at each draft position, and
            /// the one behind the last. Required.
            target: Data, target_dtype
        }
    };
    (draft) => {
        data! {
            /// `[num_rows, num_drafts, num_cols]` The rows that the drafts were drawn from. By
            /// default the drafter was deterministic: its draft has probability 1.
            draft: Data, draft_dtype
        }
    };
    (target_rows) => {
        data! {
            /// `[num_rows, num_cols]` The target's rows of probabilities, p. Required.
            target: Data, target_dtype
        }
    };
    (draft_rows) => {
        data! {
            /// `[num_rows, num_cols]` The rows of probabilities that the drafts were drawn from, q.
            /// By default the drafter was deterministic, and `draft_token_ids` is required.
            draft: Data, draft_dtype
        }
    };
    (deterministic_draft_token_ids) => {
        ids! {
            /// `[num_rows]` The tokens that a deterministic drafter proposed, instead of `draft`. Of
            /// a row whose id lies outside [0, `num_cols`) the residual is p.
            draft_token_ids: Ids, token_id_type
        }
    };
    (target_stride_of_rows) => {
        number! {
            /// Distance of two rows of the target in elements, at least `num_cols`. 0, the default:
            /// `num_cols`.
            target_row_stride: i64
        }
    };
    (draft_stride_of_rows) => {
        number! {
            /// Distance of two rows of the draft in elements, at least `num_cols`. 0, the default:
            /// `num_cols`.
            draft_row_stride: i64
        }
    };
    (target_candidate_ids) => {
        ids! {
            /// `[num_rows, num_drafts + 1, num_cols]` The ids of the target's elements, laid out
            /// like it. By default the id is the column.
            target_candidate_ids: Ids, candidate_id_type
        }
    };
    (target_candidate_counts) => {
        array! {
            /// `[num_rows, num_drafts + 1]` How many elements there are. By default `num_cols`.
            target_candidate_counts: Array<i32>
        }
    };
    (draft_candidate_ids) => {
        ids! {
            /// `[num_rows, num_drafts, num_cols]` The ids of the draft's elements, laid out like
            /// it. Of the same type as those of the target. By default the id is the column.
            draft_candidate_ids: Ids, candidate_id_type
        }
    };
    (draft_candidate_counts) => {
        array! {
            /// `[num_rows, num_drafts]` How many elements there are. By default `num_cols`.
            draft_candidate_counts: Array<i32>
        }
    };
    (draft_token_ids) => {
        ids! {
            /// `[num_rows, num_drafts]` The draft tokens, of the same type as `out_token_ids`. One
            /// outside the vocabulary is rejected. Required unless `num_drafts` is 0.
            draft_token_ids: Ids, token_id_type
        }
    };
    (draft_lengths) => {
        array! {
            /// `[num_rows]` How many drafts each row has, in [0, `num_drafts`]. By default
            /// `num_drafts`.
            draft_lengths: Array<i32>
        }
    };

    (temperature) => {
        parameter! {
            /// Logits are divided by it, or each row's by its own. At most 1e-5: greedy. With
            /// probabilities it must be 1 or greedy. Default 1.
            temperature, temperatures: f32
        }
    };
    (top_k) => {
        parameter! {
            /// Keeps the first `top_k` tokens in rank order. <= 0, the default, or >= `num_cols`:
            /// off.
            top_k, top_ks: i32
        }
    };
    (top_p) => {
        parameter! {
            /// Keeps the shortest prefix of rank order whose probability is at least this. >= 1,
            /// the default: off; <= 0: one token.
            top_p, top_ps: f32
        }
    };
    (min_p) => {
        parameter! {
            /// Keeps the tokens at least this many times as likely as the likeliest one. <= 0, the
            /// default: off; above 1: 1.
            min_p, min_ps: f32
        }
    };
    (seed) => {
        parameter! {
            /// Seed of the draws: one for all rows, or an array of 1 or `num_rows`. With a seed per
            /// row a row's token does not depend on its slot in the batch. Use each pair of seed
            /// and offset once. Default 0.
            seed, seeds: u64, num_seeds
        }
    };
    (offset) => {
        parameter! {
            /// Offset of the draws: another at each step of a sequence. One for all rows, or an
            /// array of 1 or `num_rows`. Default 0.
            offset, offsets: u64, num_offsets
        }
    };
    // Not per row, but of selected tokens.
    (selected_top_ks) => {
        array! {
            /// `[num_rows]` How many tokens each row yields. <= 0 or >= `num_selected`, the
            /// default: `num_selected`.
            top_ks: Array<i32>
        }
    };

    (output) => {
        data! {
            /// `[num_rows, num_cols]` The rows that the call writes, `output_stride` elements
            /// apart: of type `f32` or the input's. Required.
            output: DataMut, output_dtype
        }
    };
    (out_token_ids) => {
        ids! {
            /// `[num_rows]` The tokens. -1, or the sampler's fallback token, for a bad row.
            /// Required.
            out_token_ids: IdsMut, token_id_type
        }
    };
    (out_emitted_token_ids) => {
        ids! {
            /// `[num_rows, num_drafts + 1]` The accepted drafts, then one token of the target, then
            /// -1. For a bad row -1 throughout, or the sampler's fallback token first. Required.
            out_token_ids: IdsMut, token_id_type
        }
    };
    (out_selected_token_ids) => {
        ids! {
            /// `[num_rows, num_selected]` Ids in rank order, then -1. This or `out_values` is
            /// required.
            out_token_ids: IdsMut, token_id_type
        }
    };
    (out_selected_values) => {
        data! {
            /// `[num_rows, num_selected]` Values in rank order, of type `f32` or the input's, then
            /// -inf (probabilities: 0).
            out_values: DataMut, output_dtype
        }
    };
    (out_values) => {
        array! {
            /// `[num_rows]` The value of each token; NaN for a bad row.
            out_values: ArrayMut<f32>
        }
    };
    (out_kept_counts) => {
        array! {
            /// `[num_rows]` How many tokens the filters kept; 1 for a greedy row, 0 for a bad one.
            out_kept_counts: ArrayMut<i32>
        }
    };
    (out_logprobs) => {
        array! {
            /// `[num_rows]` Natural logarithm of the probability of the drawn token; NaN for a bad
            /// row.
            out_logprobs: ArrayMut<f32>
        }
    };
    (out_counts) => {
        array! {
            /// `[num_rows]` How many tokens each row yielded; 0 for a bad row.
            out_counts: ArrayMut<i32>
        }
    };
    (out_accepted_counts) => {
        array! {
            /// `[num_rows]` Drafts that would be accepted each on its own, wherever they stand.
            out_accepted_counts: ArrayMut<i32>
        }
    };
    (out_emitted_counts) => {
        array! {
            /// `[num_rows]` Drafts kept before the first rejection: `out_token_ids` has one token
            /// more.
            out_emitted_counts: ArrayMut<i32>
        }
    };
    (stream) => {
        /// Where the work is enqueued. A CPU sampler ignores it.
        #[inline]
        pub fn stream(&mut self, stream: Stream) -> &mut Self {
            self.raw.stream = stream.0;
            self
        }
    };
    (workspace) => {
        /// Memory for the call, of [`Sampler::workspace_size`] bytes or more, any alignment. By
        /// default the sampler's.
        #[inline]
        pub fn workspace(&mut self, workspace: impl Into<ArrayMut<'a, u8>>) -> &mut Self {
            let memory = workspace.into().memory;
            self.raw.workspace = memory.address;
            self.raw.workspace_bytes = memory.len;
            self.arrays.workspace = Held::of(memory);
            self
        }
    };
    (out_row_status) => {
        array! {
            /// `[num_rows]` Bits of [`row_status`].
            out_row_status: ArrayMut<u32>
        }
    };
}

// ---- The operations -----------------------------------------------------------------------------

macro_rules! operation {
    (
        $(#[$doc:meta])*
        $name:ident, $function:ident: $c_function:ident($c_args:ident), $operation:ident;
        shape: |$raw:ident| $shape:expr;
        members: $($member:ident)*
    ) => {
        $(#[$doc])*
        ///
        /// Members have the names, meanings and defaults of the C API.
        pub struct $name<'a> {
            raw: sys::$c_args,
            arrays: Arrays,
            borrowed: PhantomData<&'a mut [u8]>,
        }

        impl<'a> $name<'a> {
            /// All members at their defaults, no array lent.
            #[inline]
            pub fn new() -> Self {
                $name {
                    raw: sys::$c_args::INIT,
                    arrays: Arrays::default(),
                    borrowed: PhantomData,
                }
            }

            $(member!($member);)*
            member!(stream);
            member!(workspace);

            #[inline]
            fn check(&self, place: Place) -> Result<(), Error> {
                let $raw = &self.raw;
                match $shape {
                    Some(shape) => self.arrays.check(&shape, place),
                    None => Ok(()),
                }
            }
        }

        impl Default for $name<'_> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl Arguments for $name<'_> {}

        impl sealed::Sealed for $name<'_> {
            const OPERATION: sys::sampler_operation = sys::$operation;

            fn raw(&self) -> *const c_void {
                (&self.raw as *const sys::$c_args).cast()
            }
        }

        impl Sampler {
            $(#[$doc])*
            #[inline]
            pub fn $function(&mut self, args: &$name<'_>) -> Result<(), Error> {
                args.check(self.place)?;
                // SAFETY: the sampler is alive and serves no other call, since it is borrowed
                // exclusively. The arrays are as long as the struct says, on the right side, alive
                // and, if written, borrowed exclusively; of those on the device, whoever made them
                // promised as much.
                error::check(unsafe { sys::$c_function(self.handle.as_ptr(), &args.raw) })
            }
        }
    };
}

/// The numbers that all operations have, and those named.
macro_rules! sizes {
    ($raw:ident $($size:ident)*) => {
        Sizes {
            num_rows: $raw.num_rows,
            num_cols: $raw.num_cols,
            $($size: $raw.$size,)*
            ..Sizes::default()
        }
    };
}

operation! {
    /// Draws one token per row from what top-k, top-p and min-p keep of it: every option in one
    /// call.
    Sample, sample: sampler_sample(sampler_sample_args), SAMPLER_OP_SAMPLE;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride num_input_rows));
    members:
        input num_rows num_cols row_stride input_kind row_indices num_input_rows candidate_ids
        candidate_counts temperature top_k top_p min_p top_k_ties top_p_ties filter_order
        temperature_order draw_method logprob_kind seed offset out_token_ids out_kept_counts
        out_logprobs out_row_status
}

operation! {
    /// Draws one token per row from the `top_k` most likely tokens whose probability reaches
    /// `top_p`.
    TopKTopP, top_k_top_p: sampler_top_k_top_p(sampler_top_k_top_p_args), SAMPLER_OP_TOP_K_TOP_P;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride num_input_rows));
    members:
        input num_rows num_cols row_stride input_kind row_indices num_input_rows candidate_ids
        candidate_counts temperature top_k top_p top_k_ties top_p_ties filter_order
        temperature_order draw_method seed offset out_token_ids out_kept_counts out_row_status
}

operation! {
    /// Draws one token per row from the `top_k` most likely tokens.
    TopK, top_k: sampler_top_k(sampler_top_k_args), SAMPLER_OP_TOP_K;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride num_input_rows));
    members:
        input num_rows num_cols row_stride input_kind row_indices num_input_rows candidate_ids
        candidate_counts temperature top_k top_k_ties draw_method seed offset out_token_ids
        out_kept_counts out_row_status
}

operation! {
    /// Draws one token per row from the nucleus: the likeliest tokens whose probability reaches
    /// `top_p`.
    TopP, top_p: sampler_top_p(sampler_top_p_args), SAMPLER_OP_TOP_P;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride num_input_rows));
    members:
        input num_rows num_cols row_stride input_kind row_indices num_input_rows candidate_ids
        candidate_counts temperature top_p top_p_ties temperature_order draw_method seed offset
        out_token_ids out_kept_counts out_row_status
}

operation! {
    /// Draws one token per row from those at least `min_p` times as likely as the likeliest.
    MinP, min_p: sampler_min_p(sampler_min_p_args), SAMPLER_OP_MIN_P;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride num_input_rows));
    members:
        input num_rows num_cols row_stride input_kind row_indices num_input_rows candidate_ids
        candidate_counts temperature min_p temperature_order draw_method seed offset out_token_ids
        out_kept_counts out_row_status
}

operation! {
    /// Gives the first token of each row in rank order: the largest value, the lowest id among
    /// equals. The same token as sampling at temperature 0.
    Argmax, argmax: sampler_argmax(sampler_argmax_args), SAMPLER_OP_ARGMAX;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride));
    members:
        input num_rows num_cols row_stride input_kind candidate_ids candidate_counts out_token_ids
        out_values out_row_status
}

operation! {
    /// Writes the probabilities of each row of logits at the temperature; one-hot when greedy.
    Softmax, softmax: sampler_softmax(sampler_softmax_args), SAMPLER_OP_SOFTMAX;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride output_stride));
    members:
        input num_rows num_cols row_stride candidate_ids candidate_counts temperature output
        output_stride out_row_status
}

operation! {
    /// Writes each row's probabilities with all but the `top_k` largest set to 0, renormalised.
    /// The input is probabilities by default.
    TopKRenorm, top_k_renorm: sampler_top_k_renorm(sampler_top_k_renorm_args),
    SAMPLER_OP_TOP_K_RENORM;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride output_stride));
    members:
        input num_rows num_cols row_stride input_kind candidate_ids candidate_counts temperature
        top_k top_k_ties output output_stride out_kept_counts out_row_status
}

operation! {
    /// Writes each row's probabilities with all outside the nucleus set to 0, renormalised. The
    /// input is probabilities by default.
    TopPRenorm, top_p_renorm: sampler_top_p_renorm(sampler_top_p_renorm_args),
    SAMPLER_OP_TOP_P_RENORM;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride output_stride));
    members:
        input num_rows num_cols row_stride input_kind candidate_ids candidate_counts temperature
        top_p top_p_ties temperature_order output output_stride out_kept_counts out_row_status
}

operation! {
    /// Writes each row of logits with all but the `top_k` largest set to -inf.
    TopKMask, top_k_mask: sampler_top_k_mask(sampler_top_k_mask_args), SAMPLER_OP_TOP_K_MASK;
    shape: |raw| Shape::of_rows(sizes!(raw row_stride output_stride));
    members:
        input num_rows num_cols row_stride candidate_ids candidate_counts top_k top_k_ties output
        output_stride out_kept_counts out_row_status
}

operation! {
    /// Writes the first `num_selected` tokens of each row in rank order: their values and ids.
    TopKSelect, top_k_select: sampler_top_k_select(sampler_top_k_select_args),
    SAMPLER_OP_TOP_K_SELECT;
    shape: |raw| Shape::of_selection(sizes!(raw row_stride), raw.num_selected);
    members:
        input num_rows num_cols row_stride input_kind candidate_ids candidate_counts num_selected
        selected_top_ks out_selected_values out_selected_token_ids out_counts out_row_status
}

operation! {
    /// Verifies each row's chain of drafts and emits between 1 and `num_drafts` + 1 tokens.
    ChainSpeculative, chain_speculative:
    sampler_chain_speculative(sampler_chain_speculative_args), SAMPLER_OP_CHAIN_SPECULATIVE;
    shape: |raw| Shape::of_chain(
        sizes!(raw),
        raw.num_drafts,
        (raw.target_row_stride, raw.target_position_stride),
        (raw.draft_row_stride, raw.draft_position_stride),
    );
    members:
        target num_rows num_drafts num_cols target_row_stride target_position_stride target_kind
        draft draft_row_stride draft_position_stride draft_kind target_candidate_ids
        target_candidate_counts draft_candidate_ids draft_candidate_counts draft_token_ids
        draft_lengths temperature top_k top_p min_p top_k_ties top_p_ties filter_order
        temperature_order seed offset out_emitted_token_ids out_accepted_counts out_emitted_counts
        out_row_status accumulate_counts
}

operation! {
    /// Writes what a token is drawn from after a rejection: max(p - q, 0) of each row,
    /// renormalised, or p where that is 0 everywhere.
    Residual, residual: sampler_residual(sampler_residual_args), SAMPLER_OP_RESIDUAL;
    shape: |raw| Shape::of_residual(
        sizes!(raw output_stride),
        raw.target_row_stride,
        raw.draft_row_stride,
    );
    members:
        target_rows draft_rows deterministic_draft_token_ids num_rows num_cols
        target_stride_of_rows draft_stride_of_rows output output_stride out_row_status
}
