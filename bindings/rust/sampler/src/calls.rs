//! The full calls, each with a struct of arguments, and the simple ones.

use std::ptr::null;

use sampler_sys as sys;

use crate::array::{reborrow, Array, ArrayMut, Id, Lent, Real};
use crate::check::{extent, invalid_argument, Place};
use crate::constants::*;
use crate::views::{or, to_c, Exec, Params, Pipeline, Random, RowParams, Rows, TokenLists};
use crate::{error, Error, Sampler};

// ---- Arguments ----------------------------------------------------------------------------------

/// What a call reports of the tokens beside their ids. Rows are those of its `out_token_ids`: of
/// output of [`Sampler::sample`], `[num_sequences, num_drafts + 1]` of [`Sampler::verify`],
/// `[spans, max_drafts + 1]` of [`Session::advance`](crate::Session::advance). Ids are of the type
/// of `out_token_ids`. The default reports nothing, and what a call does not report must be left
/// out.
///
/// Reports go by `logprob_kind`: with [`LogprobKind::Processed`] tokens that were not kept have no
/// part, and greedy rows are a single token.
#[derive(Debug, Default)]
pub struct ReportArgs<'a> {
    /// The distribution of `out_logprobs` and of all that follows `out_observations`.
    pub logprob_kind: LogprobKind,
    /// `[rows]` Natural logarithm of the probability of the row's token; NaN for a bad row.
    pub out_logprobs: ArrayMut<'a, f32>,
    /// `[rows]` The token's value in the input as it is given; NaN for a bad row.
    pub out_values: ArrayMut<'a, f32>,
    /// `[rows]` How many tokens the filters kept: 1 for a greedy row, 0 for a bad one.
    pub out_kept_counts: ArrayMut<'a, i32>,
    /// `[rows]` What moves the adaptive stage on: the token's surprise in bits among those that
    /// mirostat kept, or its probability before adaptive-p changed it. NaN where nothing does.
    pub out_observations: ArrayMut<'a, f32>,
    /// How many first tokens are reported, in [0, `num_cols`].
    pub num_top_logprobs: usize,
    /// `[rows, num_top_logprobs]` The first tokens in rank order; then, and in bad rows, -1.
    pub out_top_token_ids: ArrayMut<'a, Id>,
    /// `[rows, num_top_logprobs]` Their log-probabilities; then, and in bad rows, NaN.
    pub out_top_logprobs: ArrayMut<'a, f32>,
    /// How many tokens the caller names, in [0, `num_cols`].
    pub num_chosen: usize,
    /// `[rows, num_chosen]` Those tokens.
    pub chosen_token_ids: Array<'a, Id>,
    /// `[rows, num_chosen]` Their log-probabilities: -inf of those that have no probability; NaN of
    /// ids that are no element of the row, and in bad rows.
    pub out_chosen_logprobs: ArrayMut<'a, f32>,
    /// `[rows]` The place of the row's token in rank order, the first is 1; 0 for a bad row, and for
    /// a forced token without probability.
    pub out_ranks: ArrayMut<'a, i32>,
    /// `[rows]` The entropy in nats; NaN for a bad row.
    pub out_entropies: ArrayMut<'a, f32>,
    /// `[rows, kept_bitmask_stride]` The tokens that were kept, laid out like
    /// [`Pipeline::token_bitmasks`]; all 0 in a bad row.
    pub out_kept_bitmask: ArrayMut<'a, u32>,
    /// In words. 0: `num_cols` / 32, rounded up. Ids from 32 strides on have no bit. With candidate
    /// ids it must be given.
    pub kept_bitmask_stride: usize,
    /// Room for how many kept tokens a row has in the two lists, in [0, `num_cols`]. A row that
    /// keeps more has an empty list, and its number in `out_kept_counts`.
    pub kept_capacity: usize,
    /// `[rows, kept_capacity]` The tokens that were kept by ascending id; then, and in bad rows, -1.
    pub out_kept_token_ids: ArrayMut<'a, Id>,
    /// `[rows, kept_capacity]` Their probabilities, which sum to 1 up to rounding; then, and in bad
    /// rows, 0.
    pub out_kept_probabilities: ArrayMut<'a, f32>,
    /// `[rows + 1]` Packs the lists of kept tokens: that of row `i` is the entries from
    /// `offsets[i]` up to `offsets[i + 1]` of `out_kept_token_ids` and `out_kept_probabilities`,
    /// without gaps. `kept_capacity` is then the entries of each, for all rows together. Lists that
    /// have no room together are all left out: neither is written, and the last offset, which is
    /// above `kept_capacity` then, is the number needed. The workspace holds up to `kept_capacity`
    /// entries more.
    pub out_kept_offsets: ArrayMut<'a, i64>,
    /// `[rows, num_cols]` By element: the number of the [`Stage`] that removed the token, 0 where it
    /// is kept, 255 where the input gives it no probability; 255 everywhere in a bad row. In a greedy
    /// row the temperature removes what the edits left. Sorts the row.
    pub out_removed_by: ArrayMut<'a, u8>,
}

/// Arguments of [`Sampler::sample`].
#[derive(Debug, Default)]
pub struct SampleArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Logits or probabilities. Required.
    pub input: Rows<'a>,
    /// The input row that each output row draws from, in [0, `input.num_rows`); any other value
    /// makes the output row bad. There are as many output rows as elements. None: output row i draws
    /// from input row i.
    pub row_indices: Array<'a, i32>,
    /// `[output rows]` The slot of each output row, in [0, `num_slots`), by which `row_params` and
    /// `random` are indexed; any other value makes the row bad. None: output row i has slot i.
    pub slots: Array<'a, i32>,
    /// How many slots there are. 0 where there are no `slots`.
    pub num_slots: usize,
    /// Temperature and filters.
    pub params: Params,
    /// Temperature and filters by slot.
    pub row_params: RowParams<'a>,
    /// Randomness.
    pub random: Random<'a>,
    /// How the token is drawn.
    pub draw_method: DrawMethod,
    /// `[output rows]` The tokens. -1, or the sampler's fallback token, for a bad row. Required.
    pub out_token_ids: ArrayMut<'a, Id>,
    /// `[output rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
    /// Edits of the logits.
    pub pipeline: Option<&'a Pipeline<'a>>,
    /// What else is reported of each output row.
    pub reports: ReportArgs<'a>,
}

/// Arguments of [`Sampler::score`].
#[derive(Debug, Default)]
pub struct ScoreArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Logits or probabilities. Required.
    pub input: Rows<'a>,
    /// As in [`SampleArgs`].
    pub row_indices: Array<'a, i32>,
    /// `[output rows]` As in [`SampleArgs`].
    pub slots: Array<'a, i32>,
    /// How many slots there are. 0 where there are no `slots`.
    pub num_slots: usize,
    /// Temperature and filters.
    pub params: Params,
    /// Temperature and filters by slot.
    pub row_params: RowParams<'a>,
    /// Edits of the logits.
    pub pipeline: Option<&'a Pipeline<'a>>,
    /// Randomness, of XTC alone.
    pub random: Random<'a>,
    /// `[output rows]` The tokens to score. A negative one, and one outside the row, makes the row
    /// bad, which suits padding. Required.
    pub token_ids: Array<'a, Id>,
    /// A list for each output row: the tokens that were kept when its token was drawn, as
    /// `out_kept_offsets` and `out_kept_token_ids` of an earlier call. They replace filters, windows
    /// and [`Pipeline::allowed`]. Logits only; `reports.logprob_kind` must be
    /// [`LogprobKind::Processed`]; dynamic temperature, adaptive-p and smoothing must be
    /// off. None: filters and windows decide.
    pub kept: TokenLists<'a>,
    /// `[output rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
    /// What is reported of each output row: `out_logprobs`, say.
    pub reports: ReportArgs<'a>,
}

/// The rules by which candidates stand. By the default none does; of a session's text one a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnmaskParams {
    /// Tokens that are it, at least 0, are masked; a candidate that is it never stands. 0 where there
    /// are no `token_ids`.
    pub mask_token_id: i64,
    /// In a session only: the positions of a whole block, in [1, `max_drafts` + 1].
    pub block_length: usize,
    /// What orders the candidates.
    pub confidence: Confidence,
    /// Draws the order by the softmax of confidence / `order_temperature`. 0: strictly by confidence.
    pub order_temperature: f32,
    /// Commits every row whose confidence is above it (entropy: below it). At most 0: off.
    pub threshold: f32,
    /// Commits rows as long as the entropies before them sum to at most this. At most 0: off.
    pub entropy_bound: f32,
    /// Puts candidates in the place of other tokens where the confidence is above it. At most 0:
    /// off.
    pub edit_threshold: f32,
    /// At least this many are committed. At most 0: off.
    pub num_committed: i32,
    /// At least enough are committed that this number of steps fills the block; in a session the
    /// steps of each block. At most 0: off.
    pub num_steps_left: i32,
    /// In a session only: the first block begins after the prompt. Else blocks begin at multiples
    /// of `block_length`, so that the first one may have prompt tokens.
    pub blocks_after_prompt: bool,
}

/// Arguments of [`Sampler::unmask`]: a step of a diffusion language model, for blocks of rows.
#[derive(Debug, Default)]
pub struct UnmaskArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Positions of all blocks.
    pub num_rows: usize,
    /// `[num_blocks + 1]` Block b has the rows from `block_offsets[b]` up to `block_offsets[b + 1]`.
    /// None: `num_rows / num_blocks` each.
    pub block_offsets: Array<'a, i64>,
    /// How many blocks there are.
    pub num_blocks: usize,
    /// What lets candidates stand.
    pub params: UnmaskParams,
    /// `[num_rows]` A candidate for each row, as [`Sampler::sample`] drew it. A negative one never
    /// stands. Required.
    pub candidate_token_ids: Array<'a, Id>,
    /// `[num_rows]` Why a row is bad. The candidate of a bad row never stands.
    pub candidate_status: Array<'a, RowStatus>,
    /// `[num_rows, score_stride]` What the confidence is made of: one number a row, or two.
    pub scores: Array<'a, f32>,
    /// Distance of two rows' scores. 0: side by side.
    pub score_stride: usize,
    /// `[num_rows]` The tokens, read and written; those that are `mask_token_id` are masked. None:
    /// all are.
    pub token_ids: ArrayMut<'a, Id>,
    /// `[num_rows]` As in [`SampleArgs`], for [`Confidence::Random`] and `order_temperature`.
    pub slots: Array<'a, i32>,
    /// How many slots there are. 0 where there are no `slots`.
    pub num_slots: usize,
    /// Randomness, of these alone.
    pub random: Random<'a>,
    /// `[num_blocks]` `num_committed` of each block.
    pub block_num_committed: Array<'a, i32>,
    /// `[num_blocks]` `num_steps_left` of each block.
    pub block_num_steps_left: Array<'a, i32>,
    /// `[num_rows]` What happened to each row: an [`UnmaskChange`].
    pub out_changes: ArrayMut<'a, u8>,
    /// `[num_rows]` The confidences; NaN where there is none.
    pub out_confidences: ArrayMut<'a, f32>,
    /// `[num_blocks]` How many rows were committed.
    pub out_committed_counts: ArrayMut<'a, i32>,
    /// `[num_blocks]` How many rows were edited.
    pub out_edited_counts: ArrayMut<'a, i32>,
    /// `[num_blocks]` How many rows are masked still.
    pub out_masked_counts: ArrayMut<'a, i32>,
    /// `[num_blocks]` Why each block is bad.
    pub out_block_status: ArrayMut<'a, RowStatus>,
}

/// Arguments of [`Sampler::filter`].
#[derive(Debug, Default)]
pub struct FilterArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Logits or probabilities. Required.
    pub input: Rows<'a>,
    /// `[input.num_rows]` As in [`SampleArgs`].
    pub slots: Array<'a, i32>,
    /// How many slots there are. 0 where there are no `slots`.
    pub num_slots: usize,
    /// Temperature and filters.
    pub params: Params,
    /// Temperature and filters by slot.
    pub row_params: RowParams<'a>,
    /// What is written of a row.
    pub output_kind: OutputKind,
    /// `[input.num_rows, input.num_cols]` The rows that the call writes: `f32` or of the input's
    /// type. Required.
    pub output: ArrayMut<'a, Real>,
    /// Distance of two rows of `output` in elements, at least `num_cols`. 0: `num_cols`.
    pub output_stride: usize,
    /// `[input.num_rows]` How many tokens the filters kept: 1 for a greedy row, 0 for a bad one.
    pub out_kept_counts: ArrayMut<'a, i32>,
    /// `[input.num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
    /// Edits of the logits: [`OutputKind::Values`] writes the logits that they left.
    pub pipeline: Option<&'a Pipeline<'a>>,
}

/// Arguments of [`Sampler::select`].
#[derive(Debug, Default)]
pub struct SelectArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// Logits or probabilities. Required.
    pub input: Rows<'a>,
    /// How many tokens a row yields at most: columns of the outputs, in [1, `input.num_cols`].
    pub num_selected: usize,
    /// `[input.num_rows]` How many each row yields. <= 0 or >= `num_selected`: `num_selected`.
    pub selected_counts: Array<'a, i32>,
    /// `[input.num_rows, num_selected]` Values in rank order, `f32` or of the input's type, then
    /// -inf (probabilities: 0). This or `out_token_ids` is required.
    pub out_values: ArrayMut<'a, Real>,
    /// `[input.num_rows, num_selected]` Ids in rank order, then -1.
    pub out_token_ids: ArrayMut<'a, Id>,
    /// `[input.num_rows]` How many tokens each row yielded; 0 for a bad row.
    pub out_counts: ArrayMut<'a, i32>,
    /// `[input.num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

/// The rule that drafts are accepted by, and the numbers of the rules, which are not NaN and not
/// negative. The default: the rule of the context, and the numbers that stand for 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptanceParams<'a> {
    /// When a draft is accepted.
    pub rule: Acceptance,
    /// [`VerifyArgs`] only: how siblings of a tree were drafted.
    pub sibling_rule: SiblingRule,
    /// [`VerifyArgs`] only: how `SampleMatch` draws. The other rules: [`DrawMethod::InverseCdf`].
    pub draw_method: DrawMethod,
    /// A number of `Relaxed`. 0: 1.
    pub relaxed_top_k: i32,
    /// A number of `Relaxed`.
    pub relaxed_delta: f32,
    /// A number of `Typical`. 0: 0.09.
    pub typical_threshold: f32,
    /// A number of `Typical`. 0: 0.3.
    pub typical_scale: f32,
    /// A number of `Threshold`. 0: 1.
    pub threshold_single: f32,
    /// A number of `Threshold`. 0: 1.
    pub threshold_total: f32,
    /// The least entropy that `Deferred` doubts, in nats. 0: 0.3.
    pub deferred_entropy: f32,
    /// First tokens whose entropy `Deferred` looks at. 0: 3.
    pub deferred_top_k: i32,
    /// The window of `Deferred`. 0: min(6, the most drafts of a sequence - 1), at least 1.
    pub deferred_window: i32,
    /// `[the most drafts of a sequence]` In [0, 1]. Host memory on every sampler. Required by
    /// `Synthetic`.
    pub synthetic_rates: Array<'a, f32>,
}

/// Where the drafts and rows of [`Sampler::verify`] lie. The default: dense chains, one sequence after
/// the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct DraftLayout<'a> {
    /// Distance of two sequences' first rows in `target` in elements, at least what the rows of one
    /// take. 0: contiguous.
    pub target_sequence_stride: usize,
    /// The same in `draft`.
    pub draft_sequence_stride: usize,
    /// Elements of `draft_token_ids` from one sequence's first to the next one's, at least
    /// `num_drafts`. 0: `num_drafts`. Not of packed batches.
    pub draft_token_stride: usize,
    /// How the drafts of several sequences lie in memory. In packed batches the length of
    /// `draft_token_ids` is the number of drafts, or positions, and `draft_counts` must be none.
    pub packing: Packing,
    /// Whether the row of `draft` that belongs to draft i is slot * `num_drafts` + i.
    pub draft_rows_by_slot: bool,
    /// Where the drafts, or positions, of each sequence are: see [`Packing`]. One whose offsets fall,
    /// lie outside, or are further apart than `num_drafts` is bad.
    pub packing_offsets: Array<'a, i32>,
    /// How many sequences there are. Required with `packing`, and with `target_row_indices` or
    /// `bonus_row_indices`. 0: by `target.num_rows`.
    pub num_sequences: usize,
    /// `[num_sequences, num_drafts + 1]`, packed: one for each position. The row of `target` that it
    /// reads. With `bonus_row_indices` one for each draft, laid out like `draft_token_ids`. None:
    /// position after position. One outside makes its sequence bad when it is read. `target` has any
    /// number of rows then.
    pub target_row_indices: Array<'a, i32>,
    /// `[num_sequences]` The row of `target` that each sequence's last position reads.
    pub bonus_row_indices: Array<'a, i32>,
    /// `[num_sequences, num_drafts]`, packed: laid out like `draft_token_ids`. The row of `draft` that
    /// each draft was drawn from. `draft` has any number of rows then.
    pub draft_row_indices: Array<'a, i32>,
    /// Trees: `[tree_rows, num_drafts]` The draft that each hangs on, a lower number, -1 the root.
    /// Siblings are tried in their order. None, here and of the next two: a chain.
    pub parents: Array<'a, i32>,
    /// In place of `parents`, with `next_siblings`: `[tree_rows, num_drafts + 1]` By position, the
    /// position of its first child, -1 or 0 for none.
    pub first_children: Array<'a, i32>,
    /// `[tree_rows, num_drafts + 1]` By position, the position of its next sibling, -1 or 0 for none.
    pub next_siblings: Array<'a, i32>,
    /// 1: one tree for all. 0, or the number of sequences: one for each.
    pub tree_rows: usize,
}

/// Arguments of [`Sampler::verify`].
#[derive(Debug, Default)]
pub struct VerifyArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// `[num_sequences, num_drafts + 1, num_cols]` The target's row at each draft position, then
    /// the one that follows the last draft. `target.num_rows` is `num_sequences * (num_drafts + 1)`
    /// and gives the number of sequences, unless rows are packed or indexed. Required.
    pub target: Rows<'a>,
    /// `[num_sequences, num_drafts, num_cols]` The rows that the drafts were drawn from. None: the
    /// drafter was deterministic, its draft has probability 1.
    pub draft: Option<Rows<'a>>,
    /// `[num_sequences, num_drafts]` The draft tokens, of the type of `out_token_ids`. One outside
    /// the vocabulary is rejected. Required unless `num_drafts` is 0.
    pub draft_token_ids: Array<'a, Id>,
    /// Drafts of a sequence at most, in [0, 65535].
    pub num_drafts: usize,
    /// `[num_sequences]` How many drafts each sequence has, in [0, `num_drafts`]. None:
    /// `num_drafts`.
    pub draft_counts: Array<'a, i32>,
    /// Packed batches, rows in other places, and trees.
    pub layout: DraftLayout<'a>,
    /// `[num_sequences]` As in [`SampleArgs`].
    pub slots: Array<'a, i32>,
    /// How many slots there are. 0 where there are no `slots`.
    pub num_slots: usize,
    /// Temperature and filters of the rows that are logits.
    pub params: Params,
    /// Temperature and filters by slot.
    pub row_params: RowParams<'a>,
    /// Temperature and filters of `draft`. None: those of the target, which must then have no other
    /// stage where the draft is logits.
    pub draft_params: Option<Params>,
    /// Temperature and filters of `draft` by slot.
    pub draft_row_params: Option<RowParams<'a>>,
    /// The stages of the target's rows. At each position the text, and what adaptive stages remember,
    /// are as if the drafts before it had been accepted; nothing is changed. Its
    /// `token_bitmask_indices` are `[num_sequences, num_drafts + 1]`.
    pub pipeline: Option<&'a Pipeline<'a>>,
    /// `[num_sequences, num_drafts + 1]` By position: the token that is decided there whatever its
    /// row and the rule, as at the end of a thinking budget. Negative, and None: none.
    pub forced_token_ids: Array<'a, Id>,
    /// Randomness. One offset serves all positions of a sequence.
    pub random: Random<'a>,
    /// The rule, by default [`Acceptance::Standard`], and the numbers of the rules.
    pub acceptance: AcceptanceParams<'a>,
    /// By slot: numbers of [`Acceptance`]: `Acceptance::Block.raw()`; 0 is that of `acceptance`.
    /// Another one, or one that does not go with what the call has, makes its sequence bad. None:
    /// the same for all.
    pub acceptances: Array<'a, i32>,
    /// Whether the counts are added to what the two arrays hold; else they overwrite it.
    pub accumulate_counts: bool,
    /// `[num_sequences, num_drafts + 1]` The accepted drafts, then one token of the target, then -1.
    /// For a bad sequence -1 throughout, or the sampler's fallback token first. Required.
    pub out_token_ids: ArrayMut<'a, Id>,
    /// `[num_sequences]` Drafts that would be accepted each on its own, wherever they stand. For
    /// trees, and rules but `Standard`, it is `out_emitted_counts`.
    pub out_accepted_counts: ArrayMut<'a, i32>,
    /// `[num_sequences]` Drafts kept before the first rejection: `out_token_ids` has one token more.
    pub out_emitted_counts: ArrayMut<'a, i32>,
    /// `[num_sequences]` Why a sequence is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
    /// What else is reported of every emitted token, in the order of `out_token_ids`: of the
    /// target's distribution at its position; as for a bad row where no token stands. `out_values`,
    /// `num_chosen`, `out_kept_offsets` and `out_removed_by` must be left out.
    pub reports: ReportArgs<'a>,
    /// `[num_sequences, num_drafts + 1]` The positions that the emitted tokens were decided at, 0
    /// first: the rows of a KV cache to keep. Then -1.
    pub out_positions: ArrayMut<'a, i32>,
    /// `[num_sequences, num_drafts + 1]` A number for each position.
    pub kv_indices: Array<'a, i64>,
    /// `[num_sequences, num_drafts + 1]` Those of `out_positions`.
    pub out_kv_indices: ArrayMut<'a, i64>,
}

/// Arguments of [`Sampler::residual`].
#[derive(Debug, Default)]
pub struct ResidualArgs<'a> {
    /// Where the call runs.
    pub exec: Exec<'a>,
    /// The target's rows of probabilities, p. Required.
    pub target: Rows<'a>,
    /// As many rows of the probabilities that the drafts were drawn from, q. None: the drafter was
    /// deterministic, and `draft_token_ids` is required.
    pub draft: Option<Rows<'a>>,
    /// `[target.num_rows]` The tokens of a deterministic drafter. Where the id lies outside [0,
    /// `num_cols`) the residual is p.
    pub draft_token_ids: Array<'a, Id>,
    /// `[target.num_rows, target.num_cols]` The rows that the call writes: `f32` or of the target's
    /// type. Required.
    pub output: ArrayMut<'a, Real>,
    /// Distance of two rows of `output` in elements, at least `num_cols`. 0: `num_cols`.
    pub output_stride: usize,
    /// `[target.num_rows]` Why a row is bad.
    pub out_row_status: ArrayMut<'a, RowStatus>,
}

reborrow!(ReportArgs SampleArgs ScoreArgs UnmaskArgs FilterArgs SelectArgs VerifyArgs ResidualArgs);

// ---- For C --------------------------------------------------------------------------------------

/// What the arguments for C point to.
struct Pointees {
    params: sys::sampler_params,
    row_params: sys::sampler_row_params,
    pipeline: Option<sys::sampler_pipeline>,
    draft_params: Option<sys::sampler_params>,
    draft_row_params: Option<sys::sampler_row_params>,
    reports: sys::sampler_report_args,
    acceptance: sys::sampler_acceptance_params,
    layout: sys::sampler_draft_layout,
    unmask: sys::sampler_unmask_params,
}

/// NULL where there is none.
fn address<T>(of: &Option<T>) -> *const T {
    of.as_ref().map_or(null(), |it| it)
}

impl Pointees {
    const NONE: Self = Pointees {
        params: sys::sampler_params::INIT,
        row_params: sys::sampler_row_params::INIT,
        pipeline: None,
        draft_params: None,
        draft_row_params: None,
        reports: sys::sampler_report_args::INIT,
        acceptance: sys::sampler_acceptance_params::INIT,
        layout: sys::sampler_draft_layout::INIT,
        unmask: sys::sampler_unmask_params::INIT,
    };
}

/// How many slots there are, of `num_rows` rows of output.
fn count_slots(slots: &Array<i32>, num_slots: usize, num_rows: usize) -> usize {
    if slots.is_none() {
        num_rows
    } else {
        num_slots
    }
}

/// Elements of rows of output.
fn output_extent(rows: &Rows, output_stride: usize) -> usize {
    let stride = or(output_stride, rows.num_cols);
    extent(rows.num_rows, rows.num_cols, stride)
}

/// The type of all, which C has one member for.
pub(crate) fn token_id_type<const N: usize>(all: [(&str, &dyn Lent); N]) -> Result<i32, Error> {
    let mut first: Option<(&str, i32)> = None;
    for (name, ids) in all {
        let element = ids.memory().element;
        match first {
            _ if ids.is_none() => {}
            None => first = Some((name, element)),
            Some((_, before)) if before == element => {}
            Some((before, _)) => {
                let is_i32 = element == sys::SAMPLER_ID_I32;
                let (this, other) = if is_i32 { ("i32", "i64") } else { ("i64", "i32") };
                return Err(invalid_argument(format!(
                    "{before} is {other} and {name} {this}; they must be the same"
                )));
            }
        }
    }
    Ok(first.map_or(0, |(_, element)| element))
}

impl ReportArgs<'_> {
    /// For `num_rows` rows of `num_cols` columns.
    pub(crate) fn raw(
        &self,
        place: Place,
        num_rows: usize,
        num_cols: usize,
    ) -> Result<sys::sampler_report_args, Error> {
        let of_rows = |per_row: usize| num_rows.saturating_mul(per_row);
        let (top, chosen) = (of_rows(self.num_top_logprobs), of_rows(self.num_chosen));
        let is_packed = !self.out_kept_offsets.is_none();
        let kept = if is_packed { self.kept_capacity } else { of_rows(self.kept_capacity) };
        let num_offsets = num_rows.saturating_add(1);
        let words = or(self.kept_bitmask_stride, num_cols.saturating_add(31) / 32);
        let (of, columns) = ("reports", of_rows(num_cols));
        let (ids, probabilities) = (&self.out_kept_token_ids, &self.out_kept_probabilities);
        let (top_ids, bitmask) = (&self.out_top_token_ids, &self.out_kept_bitmask);
        let (kept_counts, observations) = (&self.out_kept_counts, &self.out_observations);
        let (named, logprobs) = (&self.chosen_token_ids, &self.out_chosen_logprobs);
        let offsets = &self.out_kept_offsets;
        Ok(sys::sampler_report_args {
            logprob_kind: self.logprob_kind.raw(),
            out_logprobs: place.array(of, "out_logprobs", &self.out_logprobs, num_rows)?,
            out_values: place.array(of, "out_values", &self.out_values, num_rows)?,
            out_kept_counts: place.array(of, "out_kept_counts", kept_counts, num_rows)?,
            out_observations: place.array(of, "out_observations", observations, num_rows)?,
            num_top_logprobs: to_c(self.num_top_logprobs),
            out_top_token_ids: place.array(of, "out_top_token_ids", top_ids, top)?,
            out_top_logprobs: place.array(of, "out_top_logprobs", &self.out_top_logprobs, top)?,
            num_chosen: to_c(self.num_chosen),
            chosen_token_ids: place.array(of, "chosen_token_ids", named, chosen)?,
            out_chosen_logprobs: place.array(of, "out_chosen_logprobs", logprobs, chosen)?,
            out_ranks: place.array(of, "out_ranks", &self.out_ranks, num_rows)?,
            out_entropies: place.array(of, "out_entropies", &self.out_entropies, num_rows)?,
            out_kept_bitmask: place.array(of, "out_kept_bitmask", bitmask, of_rows(words))?,
            kept_bitmask_stride: to_c(self.kept_bitmask_stride),
            kept_capacity: to_c(self.kept_capacity),
            out_kept_token_ids: place.array(of, "out_kept_token_ids", ids, kept)?,
            out_kept_probabilities: place.array(
                of,
                "out_kept_probabilities",
                probabilities,
                kept,
            )?,
            out_kept_offsets: place.array(of, "out_kept_offsets", offsets, num_offsets)?,
            out_removed_by: place.array(of, "out_removed_by", &self.out_removed_by, columns)?,
            ..sys::sampler_report_args::INIT
        })
    }
}

impl AcceptanceParams<'_> {
    /// Where a sequence has at most `num_drafts`.
    pub(crate) fn raw(
        &self,
        place: Place,
        num_drafts: usize,
    ) -> Result<sys::sampler_acceptance_params, Error> {
        let (rates, on_host) = (&self.synthetic_rates, Place { on_cuda: false, ..place });
        Ok(sys::sampler_acceptance_params {
            rule: self.rule.raw(),
            sibling_rule: self.sibling_rule.raw(),
            draw_method: self.draw_method.raw(),
            relaxed_top_k: self.relaxed_top_k,
            relaxed_delta: self.relaxed_delta,
            typical_threshold: self.typical_threshold,
            typical_scale: self.typical_scale,
            threshold_single: self.threshold_single,
            threshold_total: self.threshold_total,
            deferred_entropy: self.deferred_entropy,
            deferred_top_k: self.deferred_top_k,
            deferred_window: self.deferred_window,
            synthetic_rates: on_host.array("acceptance", "synthetic_rates", rates, num_drafts)?,
            ..sys::sampler_acceptance_params::INIT
        })
    }
}

impl SampleArgs<'_> {
    fn raw(&self, place: Place, to: &mut Pointees) -> Result<sys::sampler_sample_args, Error> {
        let num_rows = if self.row_indices.is_none() {
            self.input.num_rows
        } else {
            self.row_indices.memory().len
        };
        let slots = count_slots(&self.slots, self.num_slots, num_rows);
        to.params = self.params.raw();
        to.row_params = self.row_params.raw(place, slots)?;
        to.pipeline = match self.pipeline {
            Some(pipeline) => Some(pipeline.raw(place, slots, num_rows, &self.input)?),
            None => None,
        };
        to.reports = self.reports.raw(place, num_rows, self.input.num_cols)?;
        Ok(sys::sampler_sample_args {
            exec: self.exec.raw(place)?,
            input: self.input.raw(place, "input")?,
            row_indices: place.array("", "row_indices", &self.row_indices, 0)?,
            num_row_indices: to_c(self.row_indices.memory().len),
            slots: place.array("", "slots", &self.slots, num_rows)?,
            num_slots: to_c(self.num_slots),
            params: &to.params,
            row_params: &to.row_params,
            random: self.random.raw(place, slots)?,
            draw_method: self.draw_method.raw(),
            out_token_ids: place.array("", "out_token_ids", &self.out_token_ids, num_rows)?,
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            pipeline: address(&to.pipeline),
            reports: &to.reports,
            token_id_type: token_id_type([
                ("out_token_ids", &self.out_token_ids),
                ("reports.out_top_token_ids", &self.reports.out_top_token_ids),
                ("reports.chosen_token_ids", &self.reports.chosen_token_ids),
                ("reports.out_kept_token_ids", &self.reports.out_kept_token_ids),
            ])?,
            ..sys::sampler_sample_args::INIT
        })
    }
}

impl ScoreArgs<'_> {
    fn raw(&self, place: Place, to: &mut Pointees) -> Result<sys::sampler_score_args, Error> {
        let num_rows = if self.row_indices.is_none() {
            self.input.num_rows
        } else {
            self.row_indices.memory().len
        };
        let slots = count_slots(&self.slots, self.num_slots, num_rows);
        to.params = self.params.raw();
        to.row_params = self.row_params.raw(place, slots)?;
        to.pipeline = match self.pipeline {
            Some(pipeline) => Some(pipeline.raw(place, slots, num_rows, &self.input)?),
            None => None,
        };
        to.reports = self.reports.raw(place, num_rows, self.input.num_cols)?;
        Ok(sys::sampler_score_args {
            exec: self.exec.raw(place)?,
            input: self.input.raw(place, "input")?,
            row_indices: place.array("", "row_indices", &self.row_indices, 0)?,
            num_row_indices: to_c(self.row_indices.memory().len),
            slots: place.array("", "slots", &self.slots, num_rows)?,
            num_slots: to_c(self.num_slots),
            params: &to.params,
            row_params: &to.row_params,
            pipeline: address(&to.pipeline),
            random: self.random.raw(place, slots)?,
            token_ids: place.array("", "token_ids", &self.token_ids, num_rows)?,
            kept: self.kept.raw(place, "kept")?,
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            reports: &to.reports,
            token_id_type: token_id_type([
                ("token_ids", &self.token_ids),
                ("kept.token_ids", &self.kept.token_ids),
                ("reports.out_top_token_ids", &self.reports.out_top_token_ids),
                ("reports.chosen_token_ids", &self.reports.chosen_token_ids),
                ("reports.out_kept_token_ids", &self.reports.out_kept_token_ids),
            ])?,
            ..sys::sampler_score_args::INIT
        })
    }
}

impl UnmaskParams {
    pub(crate) fn raw(&self) -> sys::sampler_unmask_params {
        sys::sampler_unmask_params {
            mask_token_id: self.mask_token_id,
            block_length: to_c(self.block_length),
            confidence: self.confidence.raw(),
            order_temperature: self.order_temperature,
            threshold: self.threshold,
            entropy_bound: self.entropy_bound,
            edit_threshold: self.edit_threshold,
            num_committed: self.num_committed,
            num_steps_left: self.num_steps_left,
            blocks_after_prompt: self.blocks_after_prompt.into(),
            ..sys::sampler_unmask_params::INIT
        }
    }
}

impl UnmaskArgs<'_> {
    fn raw(&self, place: Place, to: &mut Pointees) -> Result<sys::sampler_unmask_args, Error> {
        let (rows, blocks) = (self.num_rows, self.num_blocks);
        let slots = count_slots(&self.slots, self.num_slots, rows);
        let width = if self.params.confidence == Confidence::Margin { 2 } else { 1 };
        let parameters = place.of_parameters();
        to.unmask = self.params.raw();
        Ok(sys::sampler_unmask_args {
            exec: self.exec.raw(place)?,
            num_rows: to_c(rows),
            block_offsets: place.array(
                "",
                "block_offsets",
                &self.block_offsets,
                blocks.saturating_add(1),
            )?,
            num_blocks: to_c(blocks),
            params: &to.unmask,
            candidate_token_ids: place.array(
                "",
                "candidate_token_ids",
                &self.candidate_token_ids,
                rows,
            )?,
            candidate_status: place.array("", "candidate_status", &self.candidate_status, rows)?,
            scores: place.array(
                "",
                "scores",
                &self.scores,
                extent(rows, width, or(self.score_stride, width)),
            )?,
            score_stride: to_c(self.score_stride),
            token_ids: place.array("", "token_ids", &self.token_ids, rows)?,
            slots: place.array("", "slots", &self.slots, rows)?,
            num_slots: to_c(self.num_slots),
            random: self.random.raw(place, slots)?,
            block_num_committed: parameters.array(
                "",
                "block_num_committed",
                &self.block_num_committed,
                blocks,
            )?,
            block_num_steps_left: parameters.array(
                "",
                "block_num_steps_left",
                &self.block_num_steps_left,
                blocks,
            )?,
            out_changes: place.array("", "out_changes", &self.out_changes, rows)?,
            out_confidences: place.array("", "out_confidences", &self.out_confidences, rows)?,
            out_committed_counts: place.array(
                "",
                "out_committed_counts",
                &self.out_committed_counts,
                blocks,
            )?,
            out_edited_counts: place.array(
                "",
                "out_edited_counts",
                &self.out_edited_counts,
                blocks,
            )?,
            out_masked_counts: place.array(
                "",
                "out_masked_counts",
                &self.out_masked_counts,
                blocks,
            )?,
            out_block_status: place.array(
                "",
                "out_block_status",
                &self.out_block_status,
                blocks,
            )?,
            token_id_type: token_id_type([
                ("candidate_token_ids", &self.candidate_token_ids),
                ("token_ids", &self.token_ids),
            ])?,
            ..sys::sampler_unmask_args::INIT
        })
    }
}

impl FilterArgs<'_> {
    fn raw(&self, place: Place, to: &mut Pointees) -> Result<sys::sampler_filter_args, Error> {
        let num_rows = self.input.num_rows;
        let slots = count_slots(&self.slots, self.num_slots, num_rows);
        let elements = output_extent(&self.input, self.output_stride);
        to.params = self.params.raw();
        to.row_params = self.row_params.raw(place, slots)?;
        to.pipeline = match self.pipeline {
            Some(pipeline) => Some(pipeline.raw(place, slots, num_rows, &self.input)?),
            None => None,
        };
        Ok(sys::sampler_filter_args {
            exec: self.exec.raw(place)?,
            input: self.input.raw(place, "input")?,
            slots: place.array("", "slots", &self.slots, num_rows)?,
            num_slots: to_c(self.num_slots),
            params: &to.params,
            row_params: &to.row_params,
            output_kind: self.output_kind.raw(),
            output_dtype: self.output.memory().element,
            output: place.array("", "output", &self.output, elements)?,
            output_stride: to_c(self.output_stride),
            out_kept_counts: place.array("", "out_kept_counts", &self.out_kept_counts, num_rows)?,
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            pipeline: address(&to.pipeline),
            ..sys::sampler_filter_args::INIT
        })
    }
}

impl SelectArgs<'_> {
    fn raw(&self, place: Place, _: &mut Pointees) -> Result<sys::sampler_select_args, Error> {
        let num_rows = self.input.num_rows;
        // The library refuses more than there are columns.
        let elements = num_rows.saturating_mul(self.num_selected.min(self.input.num_cols));
        let (parameters, selected) = (place.of_parameters(), &self.selected_counts);
        Ok(sys::sampler_select_args {
            exec: self.exec.raw(place)?,
            input: self.input.raw(place, "input")?,
            num_selected: to_c(self.num_selected),
            selected_counts: parameters.array("", "selected_counts", selected, num_rows)?,
            output_dtype: self.out_values.memory().element,
            token_id_type: self.out_token_ids.memory().element,
            out_values: place.array("", "out_values", &self.out_values, elements)?,
            out_token_ids: place.array("", "out_token_ids", &self.out_token_ids, elements)?,
            out_counts: place.array("", "out_counts", &self.out_counts, num_rows)?,
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            ..sys::sampler_select_args::INIT
        })
    }
}

impl VerifyArgs<'_> {
    fn is_packed(&self) -> bool {
        self.layout.packing != Packing::Dense
    }

    /// Whether the target has any number of rows; else each sequence has a fixed number.
    fn has_any_rows(&self) -> bool {
        let indices = [&self.layout.target_row_indices, &self.layout.bonus_row_indices];
        self.is_packed() || indices.iter().any(|rows| !rows.is_none())
    }

    /// As many as the library takes there to be.
    fn num_sequences(&self) -> usize {
        if self.has_any_rows() {
            self.layout.num_sequences
        } else {
            self.target.num_rows / self.num_drafts.saturating_add(1)
        }
    }

    /// The rows of target and draft.
    fn raw_models(&self, place: Place) -> Result<[sys::sampler_rows; 2], Error> {
        let (p, p_stride) = (&self.target, self.layout.target_sequence_stride);
        let (num_sequences, num_positions) =
            (self.num_sequences(), self.num_drafts.saturating_add(1));
        let target = if self.has_any_rows() {
            p.raw(place, "target")?
        } else {
            p.raw_sequences(place, "target", num_sequences, num_positions, p_stride)?
        };
        let is_indexed = self.layout.draft_rows_by_slot || !self.layout.draft_row_indices.is_none();
        let (q_stride, num_drafts) = (self.layout.draft_sequence_stride, self.num_drafts);
        let draft = match &self.draft {
            None => sys::sampler_rows::INIT,
            Some(q) if self.is_packed() || is_indexed => q.raw(place, "draft")?,
            Some(q) => q.raw_sequences(place, "draft", num_sequences, num_drafts, q_stride)?,
        };
        Ok([target, draft])
    }

    /// Which rows and drafts belong to each sequence, and how they hang together; and how many draft
    /// tokens there must be.
    fn raw_layout(&self, place: Place) -> Result<(sys::sampler_draft_layout, usize), Error> {
        let (num_sequences, num_drafts) = (self.num_sequences(), self.num_drafts);
        let num_positions = num_drafts.saturating_add(1);
        let of_sequences = |per_sequence: usize| num_sequences.saturating_mul(per_sequence);
        let draft_token_ids = &self.draft_token_ids;
        let (targets, bonuses) = (&self.layout.target_row_indices, &self.layout.bonus_row_indices);
        let offsets = match self.layout.packing {
            Packing::DraftEnds => num_sequences,
            _ => num_sequences.saturating_add(1),
        };
        // The length of packed drafts is their number, and that of what is laid out like them.
        let entries = draft_token_ids.memory().len;
        let of_positions = of_sequences(num_positions);
        let (ids, of_drafts, of_positions) = match self.layout.packing {
            Packing::Dense => {
                let stride = or(self.layout.draft_token_stride, num_drafts);
                let sequences = if num_drafts == 0 { 0 } else { num_sequences };
                let ids = extent(sequences, num_drafts, stride);
                (ids, of_sequences(num_drafts), of_positions)
            }
            Packing::Positions => (0, entries, entries),
            _ => (0, entries, entries.saturating_add(num_sequences)),
        };
        let of_targets = if bonuses.is_none() { of_positions } else { of_drafts };
        let (num_packed_drafts, num_packed_positions) = match self.layout.packing {
            Packing::Dense => (0, 0),
            Packing::Positions => (0, entries),
            _ if targets.is_none() || !bonuses.is_none() => (entries, 0),
            _ => (entries, of_positions),
        };
        let trees = or(self.layout.tree_rows, num_sequences);
        let (of_nodes, of_links) =
            (trees.saturating_mul(num_drafts), trees.saturating_mul(num_positions));
        let (children, siblings) = (&self.layout.first_children, &self.layout.next_siblings);
        let (of, rows) = ("layout", &self.layout.draft_row_indices);
        let packing_offsets = &self.layout.packing_offsets;
        let layout = sys::sampler_draft_layout {
            target_sequence_stride: to_c(self.layout.target_sequence_stride),
            draft_sequence_stride: to_c(self.layout.draft_sequence_stride),
            packing: self.layout.packing.raw(),
            draft_rows_by_slot: self.layout.draft_rows_by_slot.into(),
            packing_offsets: place.array(of, "packing_offsets", packing_offsets, offsets)?,
            num_sequences: to_c(self.layout.num_sequences),
            num_packed_drafts: to_c(num_packed_drafts),
            num_packed_positions: to_c(num_packed_positions),
            draft_token_stride: to_c(self.layout.draft_token_stride),
            target_row_indices: place.array(of, "target_row_indices", targets, of_targets)?,
            bonus_row_indices: place.array(of, "bonus_row_indices", bonuses, num_sequences)?,
            draft_row_indices: place.array(of, "draft_row_indices", rows, of_drafts)?,
            parents: place.array(of, "parents", &self.layout.parents, of_nodes)?,
            first_children: place.array(of, "first_children", children, of_links)?,
            next_siblings: place.array(of, "next_siblings", siblings, of_links)?,
            tree_rows: to_c(self.layout.tree_rows),
            ..sys::sampler_draft_layout::INIT
        };
        Ok((layout, ids))
    }

    fn raw(&self, place: Place, to: &mut Pointees) -> Result<sys::sampler_verify_args, Error> {
        let num_rows = self.num_sequences();
        let slots = count_slots(&self.slots, self.num_slots, num_rows);
        let positions = num_rows.saturating_mul(self.num_drafts.saturating_add(1));
        let [target, draft] = self.raw_models(place)?;
        let (accepted, emitted) = (&self.out_accepted_counts, &self.out_emitted_counts);
        to.params = self.params.raw();
        to.row_params = self.row_params.raw(place, slots)?;
        to.draft_params = self.draft_params.map(|params| params.raw());
        to.draft_row_params = match &self.draft_row_params {
            Some(params) => Some(params.raw_of(place, "draft_row_params", slots)?),
            None => None,
        };
        to.pipeline = match self.pipeline {
            Some(pipeline) => Some(pipeline.raw(place, slots, positions, &self.target)?),
            None => None,
        };
        to.reports = self.reports.raw(place, positions, self.target.num_cols)?;
        to.acceptance = self.acceptance.raw(place, self.num_drafts)?;
        let (layout, num_ids) = self.raw_layout(place)?;
        to.layout = layout;
        let (draft_token_ids, parameters) = (&self.draft_token_ids, place.of_parameters());
        Ok(sys::sampler_verify_args {
            exec: self.exec.raw(place)?,
            target,
            draft,
            draft_token_ids: place.array("", "draft_token_ids", draft_token_ids, num_ids)?,
            num_drafts: to_c(self.num_drafts),
            layout: &to.layout,
            draft_counts: place.array("", "draft_counts", &self.draft_counts, num_rows)?,
            slots: place.array("", "slots", &self.slots, num_rows)?,
            num_slots: to_c(self.num_slots),
            params: &to.params,
            row_params: &to.row_params,
            random: self.random.raw(place, slots)?,
            accumulate_counts: self.accumulate_counts.into(),
            out_token_ids: place.array("", "out_token_ids", &self.out_token_ids, positions)?,
            out_accepted_counts: place.array("", "out_accepted_counts", accepted, num_rows)?,
            out_emitted_counts: place.array("", "out_emitted_counts", emitted, num_rows)?,
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            draft_params: address(&to.draft_params),
            draft_row_params: address(&to.draft_row_params),
            pipeline: address(&to.pipeline),
            forced_token_ids: place.array(
                "",
                "forced_token_ids",
                &self.forced_token_ids,
                positions,
            )?,
            acceptance: &to.acceptance,
            acceptances: parameters.array("", "acceptances", &self.acceptances, slots)?,
            token_id_type: token_id_type([
                ("draft_token_ids", draft_token_ids),
                ("forced_token_ids", &self.forced_token_ids),
                ("out_token_ids", &self.out_token_ids),
                ("reports.out_top_token_ids", &self.reports.out_top_token_ids),
                ("reports.chosen_token_ids", &self.reports.chosen_token_ids),
                ("reports.out_kept_token_ids", &self.reports.out_kept_token_ids),
            ])?,
            reports: &to.reports,
            out_positions: place.array("", "out_positions", &self.out_positions, positions)?,
            kv_indices: place.array("", "kv_indices", &self.kv_indices, positions)?,
            out_kv_indices: place.array("", "out_kv_indices", &self.out_kv_indices, positions)?,
            ..sys::sampler_verify_args::INIT
        })
    }
}

impl ResidualArgs<'_> {
    fn raw(&self, place: Place, _: &mut Pointees) -> Result<sys::sampler_residual_args, Error> {
        let num_rows = self.target.num_rows;
        let elements = output_extent(&self.target, self.output_stride);
        Ok(sys::sampler_residual_args {
            exec: self.exec.raw(place)?,
            target: self.target.raw(place, "target")?,
            draft: match &self.draft {
                Some(draft) => draft.raw(place, "draft")?,
                None => sys::sampler_rows::INIT,
            },
            draft_token_ids: place.array("", "draft_token_ids", &self.draft_token_ids, num_rows)?,
            token_id_type: self.draft_token_ids.memory().element,
            output_dtype: self.output.memory().element,
            output: place.array("", "output", &self.output, elements)?,
            output_stride: to_c(self.output_stride),
            out_row_status: place.array("", "out_row_status", &self.out_row_status, num_rows)?,
            ..sys::sampler_residual_args::INIT
        })
    }
}

// ---- Full calls ---------------------------------------------------------------------------------

macro_rules! full_calls {
    ($($(#[$doc:meta])* $call:ident($args:ident) = $c_call:ident,
       $workspace_size:ident = $c_workspace_size:ident;)*) => {
        impl Sampler {$(
            $(#[$doc])*
            pub fn $call(&mut self, args: &$args<'_>) -> Result<(), Error> {
                let mut pointees = Pointees::NONE;
                let args = args.raw(self.place, &mut pointees)?;
                // SAFETY: the sampler is alive and serves no other call, since it is borrowed
                // exclusively. The arrays are as long as the struct says, on the right side, alive
                // and, if written, borrowed exclusively; of those on the device, whoever made them
                // promised as much. What the struct points to lives until the call returns.
                error::check(unsafe { sys::$c_call(self.handle.as_ptr(), &args) })
            }

            /// The bytes of workspace that the call with these arguments needs: with one fewer it
            /// fails with [`WorkspaceTooSmall`](Status::WorkspaceTooSmall). Arrays that it requires
            /// may be missing.
            pub fn $workspace_size(&mut self, args: &$args<'_>) -> Result<usize, Error> {
                let mut pointees = Pointees::NONE;
                let args = args.raw(self.place, &mut pointees)?;
                let mut bytes = 0;
                // SAFETY: as above.
                let status =
                    unsafe { sys::$c_workspace_size(self.handle.as_ptr(), &args, &mut bytes) };
                error::check(status).map(|()| bytes)
            }
        )*}
    };
}

full_calls! {
    /// Draws one token per output row from what the filters keep of its input row.
    sample(SampleArgs) = sampler_sample,
    sample_workspace_size = sampler_sample_workspace_size;

    /// Reports on given tokens what [`sample`](Sampler::sample) reports on drawn ones, bit for bit.
    /// Nothing is drawn.
    score(ScoreArgs) = sampler_score,
    score_workspace_size = sampler_score_workspace_size;

    /// Writes what the filters keep of each row: softmax without filters, renormalisation, masks.
    filter(FilterArgs) = sampler_filter,
    filter_workspace_size = sampler_filter_workspace_size;

    /// Writes the first tokens of each row in rank order: their values and ids.
    select(SelectArgs) = sampler_select,
    select_workspace_size = sampler_select_workspace_size;

    /// Verifies each sequence's chain or tree of drafts and emits between 1 and `num_drafts` + 1
    /// tokens.
    verify(VerifyArgs) = sampler_verify,
    verify_workspace_size = sampler_verify_workspace_size;

    /// Writes what [`verify`](Sampler::verify) draws from after a rejection: max(p - q, 0) of each
    /// row, renormalised, or p where that is 0 everywhere.
    residual(ResidualArgs) = sampler_residual,
    residual_workspace_size = sampler_residual_workspace_size;

    /// Commits the candidates that each block's rules let stand.
    unmask(UnmaskArgs) = sampler_unmask,
    unmask_workspace_size = sampler_unmask_workspace_size;
}

// ---- Simple calls -------------------------------------------------------------------------------

macro_rules! simple_calls {
    ($output:ident: $element:ty, $needed:expr;
     $($(#[$doc:meta])* $call:ident($($parameter:ident: $type:ty),*) = $c_call:ident;)*) => {
        impl Sampler {$(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments)]
            pub fn $call<'a>(
                &mut self,
                input: &Rows<'_>,
                $($parameter: $type,)*
                $output: impl Into<ArrayMut<'a, $element>>,
            ) -> Result<(), Error> {
                let (needed, output) = ($needed(input), $output.into());
                let input = input.raw(self.place, "input")?;
                let output = self.place.array("", stringify!($output), &output, needed)?;
                let (handle, stream) = (self.handle.as_ptr(), self.stream.0);
                // SAFETY: as of the full calls.
                error::check(unsafe { sys::$c_call(handle, &input, $($parameter,)* output, stream) })
            }
        )*}
    };
}

simple_calls! {
    out_token_ids: i32, |input: &Rows| input.num_rows;

    /// The token of each row's largest value.
    argmax() = sampler_argmax;

    /// Draws a token from each whole row.
    categorical(temperature: f32, seed: u64, offset: u64) = sampler_categorical;

    /// Draws a token from the `top_k` likeliest of each row.
    top_k(top_k: i32, temperature: f32, seed: u64, offset: u64) = sampler_top_k;

    /// Draws a token from the likeliest of each row whose probability reaches `top_p`.
    top_p(top_p: f32, temperature: f32, seed: u64, offset: u64) = sampler_top_p;

    /// Draws a token from those of each row at least `min_p` times as likely as the likeliest.
    min_p(min_p: f32, temperature: f32, seed: u64, offset: u64) = sampler_min_p;

    /// Draws a token from the `top_k` likeliest of each row, then of those from the likeliest whose
    /// probability reaches `top_p`.
    top_k_top_p(top_k: i32, top_p: f32, temperature: f32, seed: u64, offset: u64)
        = sampler_top_k_top_p;
}

simple_calls! {
    output: f32, |input: &Rows| output_extent(input, 0);

    /// Writes the probabilities of logits at the temperature. A bad row is written as 0.
    softmax(temperature: f32) = sampler_softmax;

    /// Writes the probabilities of the `top_k` likeliest tokens, renormalised, and 0 elsewhere.
    top_k_renorm(top_k: i32) = sampler_top_k_renorm;

    /// Writes the probabilities of the likeliest tokens whose probability reaches `top_p`,
    /// renormalised, and 0 elsewhere.
    top_p_renorm(top_p: f32) = sampler_top_p_renorm;

    /// Writes the `top_k` largest logits of each row, and -inf elsewhere. A bad row is copied.
    top_k_mask(top_k: i32) = sampler_top_k_mask;
}

impl Sampler {
    /// Writes the first `num_selected` tokens of each row, largest value first, into `[num_rows,
    /// num_selected]` values and ids, of which one may be [none](ArrayMut::default). Where there
    /// are fewer tokens the rest is -inf (probabilities: 0) and -1.
    pub fn top_k_select<'a>(
        &mut self,
        input: &Rows<'_>,
        num_selected: usize,
        out_values: impl Into<ArrayMut<'a, f32>>,
        out_token_ids: impl Into<ArrayMut<'a, i32>>,
    ) -> Result<(), Error> {
        let args = SelectArgs {
            input: *input,
            num_selected,
            out_values: out_values.into().cast(),
            out_token_ids: out_token_ids.into().cast(),
            ..SelectArgs::default()
        };
        let mut pointees = Pointees::NONE;
        let args = args.raw(self.place, &mut pointees)?;
        // SAFETY: as of the full calls.
        error::check(unsafe {
            sys::sampler_top_k_select(
                self.handle.as_ptr(),
                &args.input,
                args.num_selected,
                args.out_values.cast(),
                args.out_token_ids.cast(),
                self.stream.0,
            )
        })
    }

    /// Verifies a chain of `num_drafts` drafts for each sequence of `target`, which is
    /// `[num_sequences, num_drafts + 1, num_cols]`, so that what is emitted follows its
    /// distribution. `draft` is `[num_sequences, num_drafts, num_cols]`; without it the drafter was
    /// deterministic. `out_token_ids` is `[num_sequences, num_drafts + 1]`: accepted drafts, one
    /// token more, then -1. The counts, `[num_sequences]`, may be [none](ArrayMut::default): drafts
    /// that would be accepted each on its own, and drafts before the first rejection.
    #[allow(clippy::too_many_arguments)]
    pub fn chain_speculative<'a>(
        &mut self,
        target: &Rows<'_>,
        draft: Option<&Rows<'_>>,
        draft_token_ids: impl Into<Array<'a, i32>>,
        num_drafts: usize,
        seed: u64,
        offset: u64,
        out_token_ids: impl Into<ArrayMut<'a, i32>>,
        out_accepted_counts: impl Into<ArrayMut<'a, i32>>,
        out_emitted_counts: impl Into<ArrayMut<'a, i32>>,
    ) -> Result<(), Error> {
        let args = VerifyArgs {
            target: *target,
            draft: draft.copied(),
            draft_token_ids: draft_token_ids.into().cast(),
            num_drafts,
            out_token_ids: out_token_ids.into().cast(),
            out_accepted_counts: out_accepted_counts.into(),
            out_emitted_counts: out_emitted_counts.into(),
            ..VerifyArgs::default()
        };
        let mut pointees = Pointees::NONE;
        let args = args.raw(self.place, &mut pointees)?;
        // SAFETY: as of the full calls.
        error::check(unsafe {
            sys::sampler_chain_speculative(
                self.handle.as_ptr(),
                &args.target,
                &args.draft,
                args.draft_token_ids.cast(),
                args.num_drafts,
                seed,
                offset,
                args.out_token_ids.cast(),
                args.out_accepted_counts,
                args.out_emitted_counts,
                self.stream.0,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON_CUDA: Place = Place { on_cuda: true, host_parameters: false };

    /// Arrays have the elements that they need: 2 sequences of at most 3 drafts, 7 slots, 40
    /// columns.
    #[test]
    fn members_of_verification_arrive() {
        let (rates, pipeline) = ([0.5; 3], Pipeline::default());
        let mut args = VerifyArgs {
            target: Rows { num_rows: 8, num_cols: 40, ..Rows::default() },
            num_drafts: 3,
            num_slots: 7,
            draft_params: Some(Params { top_k: 4, ..Params::default() }),
            draft_row_params: Some(RowParams::default()),
            pipeline: Some(&pipeline),
            acceptance: AcceptanceParams {
                synthetic_rates: (&rates).into(), // host memory
                ..AcceptanceParams::default()
            },
            layout: DraftLayout { draft_rows_by_slot: true, ..DraftLayout::default() },
            reports: ReportArgs {
                num_top_logprobs: 4,
                kept_capacity: 5,
                kept_bitmask_stride: 6,
                ..ReportArgs::default()
            },
            ..VerifyArgs::default()
        };
        let mut to = Pointees::NONE;
        let mut next = 4096;
        macro_rules! fill {
            ($args:expr; numbers: $($number:ident)*;
             enumerations: $($name:ident: $enumeration:ident)*;
             arrays: $($array:ident: $of:ident $type:ty, $len:expr;)*) => {
                $(next += 1; $args.$number = next as _;)*
                $(next += 1; $args.$name = $enumeration::from_raw(next as i32);)*
                $(next += 1;
                  // SAFETY: nobody reads it.
                  $args.$array = unsafe { $of::device(next as *mut $type, $len) };)*
            };
        }
        macro_rules! check {
            ($raw:expr, $args:expr; numbers: $($number:ident)*;
             enumerations: $($name:ident)*; arrays: $($array:ident)*) => {
                $(assert_eq!($raw.$number, $args.$number, stringify!($number));)*
                $(assert_eq!($raw.$name, $args.$name.raw(), stringify!($name));)*
                $(assert_eq!($raw.$array as usize, $args.$array.memory().address as usize,
                             stringify!($array));)*
            };
        }
        fill!(args; numbers:; enumerations:; arrays:
                draft_token_ids: Array i64, 6; draft_counts: Array i32, 2; slots: Array i32, 2;
                out_token_ids: ArrayMut i64, 8; out_accepted_counts: ArrayMut i32, 2;
                out_emitted_counts: ArrayMut i32, 2; out_row_status: ArrayMut u32, 2;
                acceptances: Array i32, 7; out_positions: ArrayMut i32, 8;
                forced_token_ids: Array i64, 8;
                kv_indices: Array i64, 8; out_kv_indices: ArrayMut i64, 8;
        );
        fill!(args.acceptance; numbers: typical_threshold typical_scale relaxed_top_k relaxed_delta
                threshold_single threshold_total deferred_window deferred_top_k deferred_entropy;
            enumerations: rule: Acceptance sibling_rule: SiblingRule draw_method: DrawMethod;
            arrays:);
        fill!(args.layout; numbers:; enumerations:; arrays:
                packing_offsets: Array i32, 3;
                target_row_indices: Array i32, 6; bonus_row_indices: Array i32, 2;
                draft_row_indices: Array i32, 6; parents: Array i32, 6;
                first_children: Array i32, 8; next_siblings: Array i32, 8;
        );
        fill!(args.reports; numbers:; enumerations: logprob_kind: LogprobKind; arrays:
                out_kept_counts: ArrayMut i32, 8; out_logprobs: ArrayMut f32, 8;
                out_ranks: ArrayMut i32, 8; out_entropies: ArrayMut f32, 8;
                out_observations: ArrayMut f32, 8; out_top_token_ids: ArrayMut i64, 32;
                out_top_logprobs: ArrayMut f32, 32; out_kept_bitmask: ArrayMut u32, 48;
                out_kept_token_ids: ArrayMut i64, 40; out_kept_probabilities: ArrayMut f32, 40;
        );
        let raw = args.raw(ON_CUDA, &mut to).unwrap();
        check!(raw, args; numbers:; enumerations:; arrays:
            draft_token_ids draft_counts slots out_token_ids out_accepted_counts
            out_emitted_counts out_row_status acceptances out_positions forced_token_ids
            kv_indices out_kv_indices);
        check!(to.acceptance, args.acceptance; numbers: typical_threshold typical_scale
            relaxed_top_k relaxed_delta threshold_single threshold_total deferred_window
            deferred_top_k deferred_entropy; enumerations: rule sibling_rule draw_method;
            arrays: synthetic_rates);
        check!(to.layout, args.layout; numbers:; enumerations: packing; arrays: packing_offsets
            target_row_indices bonus_row_indices draft_row_indices parents first_children
            next_siblings);
        check!(to.reports, args.reports; numbers:; enumerations: logprob_kind; arrays:
            out_kept_counts out_logprobs out_ranks out_entropies out_observations
            out_top_token_ids out_top_logprobs out_kept_bitmask out_kept_token_ids
            out_kept_probabilities);
        assert_eq!(to.acceptance.synthetic_rates, rates.as_ptr());
        let (layout, reports) = (to.layout, to.reports);
        assert_eq!((raw.num_drafts, raw.num_slots, layout.num_sequences), (3, 7, 0));
        assert_eq!((layout.num_packed_drafts, layout.num_packed_positions), (0, 0));
        assert_eq!((layout.draft_rows_by_slot, layout.draft_token_stride), (1, 0));
        assert_eq!((reports.num_top_logprobs, reports.kept_capacity), (4, 5));
        assert_eq!((reports.kept_bitmask_stride, layout.tree_rows), (6, 0));
        assert_eq!(raw.token_id_type, sys::SAMPLER_ID_I64);
        assert_eq!(raw.draft_params, address(&to.draft_params));
        assert_eq!(to.draft_params.unwrap().top_k, 4);
        assert_eq!(raw.draft_row_params, address(&to.draft_row_params));
        assert_eq!(raw.pipeline, address(&to.pipeline));
        assert!(to.draft_row_params.is_some() && to.pipeline.is_some());
        assert!(std::ptr::eq(raw.layout, &to.layout) && std::ptr::eq(raw.reports, &to.reports));
        assert!(std::ptr::eq(raw.acceptance, &to.acceptance));

        let layout = &mut args.layout;
        (layout.num_sequences, layout.tree_rows, layout.draft_token_stride) = (2, 1, 9);
        (layout.packing, layout.draft_rows_by_slot) = (Packing::Drafts, false);
        (args.draft_params, args.draft_row_params, args.pipeline) = (None, None, None);
        let raw = args.raw(ON_CUDA, &mut to).unwrap();
        let layout = to.layout;
        assert_eq!((layout.num_sequences, layout.tree_rows), (2, 1));
        assert_eq!((layout.draft_token_stride, layout.packing), (9, 1));
        assert_eq!((layout.num_packed_drafts, layout.num_packed_positions), (6, 0));
        assert_eq!(layout.draft_rows_by_slot, 0);
        assert!(raw.draft_params.is_null() && raw.draft_row_params.is_null());
        assert!(raw.pipeline.is_null());

        // SAFETY: nobody reads it.
        args.layout.target_row_indices = unsafe { Array::device(4096 as *const i32, 8) };
        args.layout.bonus_row_indices = Array::default();
        args.raw(ON_CUDA, &mut to).unwrap();
        assert_eq!((to.layout.num_packed_drafts, to.layout.num_packed_positions), (6, 8));
        args.layout.packing = Packing::Positions;
        args.raw(ON_CUDA, &mut to).unwrap();
        assert_eq!((to.layout.num_packed_drafts, to.layout.num_packed_positions), (0, 6));
    }

    #[test]
    fn rules_of_unmasking_arrive() {
        let mut args = UnmaskArgs {
            params: UnmaskParams {
                mask_token_id: 1 << 40,
                block_length: 2,
                confidence: Confidence::Random,
                order_temperature: 0.1,
                threshold: 0.2,
                entropy_bound: 0.3,
                edit_threshold: 0.4,
                num_committed: 5,
                num_steps_left: 6,
                blocks_after_prompt: true,
            },
            ..UnmaskArgs::default()
        };
        let mut to = Pointees::NONE;
        let raw = args.raw(ON_CUDA, &mut to).unwrap();
        assert!(std::ptr::eq(raw.params, &to.unmask));
        let rules = to.unmask;
        assert_eq!(rules.struct_size, std::mem::size_of_val(&rules));
        assert_eq!((rules.mask_token_id, rules.block_length), (1 << 40, 2));
        assert_eq!(rules.confidence, sys::SAMPLER_CONFIDENCE_RANDOM);
        assert_eq!((rules.order_temperature, rules.threshold), (0.1, 0.2));
        assert_eq!((rules.entropy_bound, rules.edit_threshold), (0.3, 0.4));
        assert_eq!((rules.num_committed, rules.num_steps_left), (5, 6));
        assert_eq!(rules.blocks_after_prompt, 1);
        args.params = UnmaskParams::default();
        args.raw(ON_CUDA, &mut to).unwrap();
        assert_eq!((to.unmask.mask_token_id, to.unmask.blocks_after_prompt), (0, 0));
    }
}
