//! What calls share: rows, parameters, randomness, and where a call runs.

use std::ptr::null_mut;

use sampler_sys as sys;

use crate::array::{Array, ArrayMut, Id, Lent, Real};
use crate::check::{extent, Place};
use crate::constants::*;
use crate::Error;

/// A size for C. What exceeds i64 is i64::MAX, which the library refuses.
pub(crate) fn to_c(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Rows of logits or probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rows<'a> {
    /// `[num_rows, num_cols]` Logits or probabilities.
    pub values: Array<'a, Real>,
    /// Rows, in [0, 2^31). With 0 a call does nothing.
    pub num_rows: usize,
    /// Columns: the vocabulary, or the room for candidates. In [1, 2^20).
    pub num_cols: usize,
    /// Distance of two rows in elements, at least `num_cols`. 0: `num_cols`.
    pub row_stride: usize,
    /// Candidate lists, laid out like `values`: the token id of each element, in [0, 2^20), none
    /// twice in a row. None: the id of an element is its column.
    pub candidate_ids: Array<'a, Id>,
    /// `[num_rows]` How many elements each row has, in [0, `num_cols`]. None: `num_cols`.
    pub candidate_counts: Array<'a, i32>,
    /// What the numbers mean.
    pub kind: InputKind,
}

impl<'a> Rows<'a> {
    /// Rows of logits, one after the other.
    pub fn logits(values: impl Into<Array<'a, Real>>, num_rows: usize, num_cols: usize) -> Self {
        Rows { values: values.into(), num_rows, num_cols, ..Rows::default() }
    }

    /// Rows of probabilities, one after the other. They are >= 0 and need not sum to 1.
    pub fn probabilities(
        values: impl Into<Array<'a, Real>>,
        num_rows: usize,
        num_cols: usize,
    ) -> Self {
        Rows { kind: InputKind::PROBABILITIES, ..Rows::logits(values, num_rows, num_cols) }
    }

    /// For C. `name` is the argument.
    pub(crate) fn raw(&self, place: Place, name: &str) -> Result<sys::sampler_rows, Error> {
        self.raw_sequences(place, name, self.num_rows, 1, 0)
    }

    /// For C: rows of sequences of `num_positions` each, whose first ones are `stride` elements
    /// apart, 0 where they are contiguous.
    pub(crate) fn raw_sequences(
        &self,
        place: Place,
        name: &str,
        num_sequences: usize,
        num_positions: usize,
        stride: usize,
    ) -> Result<sys::sampler_rows, Error> {
        let row_stride = or(self.row_stride, self.num_cols);
        let stride = or(stride, num_positions.saturating_mul(row_stride));
        let sequence = extent(num_positions, self.num_cols, row_stride);
        let values = if sequence == 0 { 0 } else { extent(num_sequences, sequence, stride) };
        let counts = &self.candidate_counts;
        Ok(sys::sampler_rows {
            values: place.array(name, "values", &self.values, values)?,
            num_rows: to_c(self.num_rows),
            num_cols: to_c(self.num_cols),
            row_stride: to_c(self.row_stride),
            candidate_ids: place.array(name, "candidate_ids", &self.candidate_ids, values)?,
            candidate_counts: place.array(name, "candidate_counts", counts, self.num_rows)?,
            dtype: self.values.memory().element,
            kind: self.kind.raw(),
            candidate_id_type: self.candidate_ids.memory().element,
            ..sys::sampler_rows::INIT
        })
    }
}

/// `value`, or where it is 0 `default`.
pub(crate) fn or(value: usize, default: usize) -> usize {
    match value {
        0 => default,
        _ => value,
    }
}

/// The temperature, the filters, and how they combine. The default is temperature 1 and no filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Logits are divided by the temperature. At most 1e-5: greedy. Probabilities need 1 or greedy.
    pub temperature: f32,
    /// Keeps the shortest prefix of rank order whose probability is at least this. >= 1: off; <= 0:
    /// one token.
    pub top_p: f32,
    /// Keeps the tokens at least this many times as likely as the likeliest one. <= 0: off; above
    /// 1: 1.
    pub min_p: f32,
    /// Keeps the first `top_k` tokens in rank order. <= 0 or >= `num_cols`: off.
    pub top_k: i32,
    /// What top-k does with ties.
    pub top_k_ties: TieRule,
    /// What top-p does with ties.
    pub top_p_ties: TieRule,
    /// Which filter sees what.
    pub filter_order: FilterOrder,
    /// When the temperature applies.
    pub temperature_order: TemperatureOrder,
}

impl Default for Params {
    fn default() -> Self {
        let c = sys::sampler_params::INIT;
        Params {
            temperature: c.temperature,
            top_p: c.top_p,
            min_p: c.min_p,
            top_k: c.top_k,
            top_k_ties: TieRule::default(),
            top_p_ties: TieRule::default(),
            filter_order: FilterOrder::default(),
            temperature_order: TemperatureOrder::default(),
        }
    }
}

impl Params {
    pub(crate) fn raw(&self) -> sys::sampler_params {
        sys::sampler_params {
            temperature: self.temperature,
            top_p: self.top_p,
            min_p: self.min_p,
            top_k: self.top_k,
            top_k_ties: self.top_k_ties.raw(),
            top_p_ties: self.top_p_ties.raw(),
            filter_order: self.filter_order.raw(),
            temperature_order: self.temperature_order.raw(),
            ..sys::sampler_params::INIT
        }
    }
}

/// The numbers of [`Params`] by slot: an array replaces the number of its name.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowParams<'a> {
    /// Temperatures.
    pub temperature: Array<'a, f32>,
    /// top-p.
    pub top_p: Array<'a, f32>,
    /// min-p.
    pub min_p: Array<'a, f32>,
    /// top-k.
    pub top_k: Array<'a, i32>,
}

impl RowParams<'_> {
    pub(crate) fn raw(&self, place: Place, slots: usize) -> Result<sys::sampler_row_params, Error> {
        let (of, place) = ("row_params", place.of_parameters());
        Ok(sys::sampler_row_params {
            temperature: place.array(of, "temperature", &self.temperature, slots)?,
            top_p: place.array(of, "top_p", &self.top_p, slots)?,
            min_p: place.array(of, "min_p", &self.min_p, slots)?,
            top_k: place.array(of, "top_k", &self.top_k, slots)?,
            ..sys::sampler_row_params::INIT
        })
    }
}

/// Randomness: a function of (seed, offset, stream). Use each triple once: a sequence takes a seed,
/// or a stream of one, and its position as the offset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random<'a> {
    /// The seed, where there are no `seeds`.
    pub seed: u64,
    /// The offset, where there are no `offsets`: another at each step.
    pub offset: u64,
    /// Seeds: 1 for all, or one for each slot.
    pub seeds: Array<'a, u64>,
    /// Offsets: 1 for all, or one for each slot.
    pub offsets: Array<'a, u64>,
    /// The stream of each slot. None: the slot's number where one seed serves all, 0 where each has
    /// its own.
    pub streams: Array<'a, u32>,
}

impl Random<'_> {
    /// One seed and one offset for all.
    pub fn new(seed: u64, offset: u64) -> Self {
        Random { seed, offset, ..Random::default() }
    }

    pub(crate) fn raw(&self, place: Place, slots: usize) -> Result<sys::sampler_random, Error> {
        let (of, place) = ("random", place.of_parameters());
        Ok(sys::sampler_random {
            seed: self.seed,
            offset: self.offset,
            seeds: place.array(of, "seeds", &self.seeds, 0)?,
            offsets: place.array(of, "offsets", &self.offsets, 0)?,
            streams: place.array(of, "streams", &self.streams, slots)?,
            num_seeds: to_c(self.seeds.memory().len),
            num_offsets: to_c(self.offsets.memory().len),
        })
    }
}

/// Where a call runs.
#[derive(Debug, Default)]
pub struct Exec<'a> {
    /// Where the work is enqueued. A CPU sampler ignores it.
    pub stream: Stream,
    /// Memory for the call, of as many bytes as its `_workspace_size` method tells, or more; any
    /// alignment. None: the sampler's.
    pub workspace: ArrayMut<'a, u8>,
}

impl Exec<'_> {
    pub(crate) fn raw(&self, place: Place) -> Result<sys::sampler_exec, Error> {
        Ok(sys::sampler_exec {
            stream: self.stream.0,
            workspace: place.array("exec", "workspace", &self.workspace, 0)?,
            workspace_bytes: self.workspace.memory().len,
        })
    }
}

/// A CUDA stream, on which a call enqueues its work. A CPU sampler ignores it. The default is the
/// legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub(crate) sys::sampler_stream);

impl Default for Stream {
    fn default() -> Self {
        Stream(null_mut())
    }
}

impl Stream {
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
