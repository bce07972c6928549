//! Sequences that come and go while others run, around models that the caller runs.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::ptr::{self, null_mut, NonNull};
use std::slice;

use sampler_sys as sys;

use crate::array::{reborrow, Array, ArrayMut, Lent, Real};
use crate::calls::{token_id_type, AcceptanceParams, ReportArgs, UnmaskParams};
use crate::check::{invalid_argument, Place};
use crate::constants::{
    Acceptance, DraftSource, Dtype, FinishReason, GammaRule, LogprobKind, RowStatus,
};
use crate::hooks::caught;
use crate::views::{or, rows_of, to_c, Params, Pipeline, Rows, Stream, TokenLists};
use crate::{error, Error, Ngram, Sampler};

const HOST: Place = Place { on_cuda: false, host_parameters: false };

/// What a [`Session`] is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionOptions<'a> {
    /// Sequences at once, finished ones that were not removed among them. In [1, 2^20].
    pub max_sequences: usize,
    /// The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A
    /// sequence takes 13 bytes for each token of it, and a few hundred bytes.
    pub max_context: usize,
    /// Columns of the logits, in [1, 2^20).
    pub vocabulary_size: usize,
    /// Type of the logits.
    pub logits_dtype: Dtype,
    /// The session keeps the drafter's rows, `max_drafts` rows of logits a sequence, which
    /// `Standard`, `Block`, `Relaxed` and `Deferred` need of a drafter's drafts.
    pub keep_drafter_rows: bool,
    /// Drafts of a sequence and step at most, in [0, 1024]. 0: nothing is drafted.
    pub max_drafts: usize,
    /// The longest text that the drafter model's cache can hold; a longer one goes on without
    /// drafts. 0: `max_context`.
    pub drafter_context: usize,
    /// Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes on
    /// without drafts. 0: no sequence has [`DraftSource::PromptLookup`].
    pub lookup_tokens: usize,
    /// End tokens of a sequence at most, in [0, 2^20].
    pub max_end_tokens: usize,
    /// Stop sequences of a sequence at most, in [0, 2^20].
    pub max_stop_sequences: usize,
    /// Tokens of all stop sequences of a sequence at most, in [0, 2^20].
    pub max_stop_tokens: usize,
    /// Log-probabilities of first tokens that [`Session::advance`] can be asked for, in [0,
    /// `vocabulary_size`].
    pub max_top_logprobs: usize,
    /// What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list
    /// of stages. Its numbers are those of sequences that are added without parameters;
    /// `guidance_scale` must be off.
    pub params: Params,
    /// Lists and masks of the stages, by slot: the slot is the sequence's number, of
    /// `max_sequences`. Their arrays are borrowed as long as the session lives. `history`,
    /// `prompt_lengths`, `adaptive_values`, `state`, `token_bitmask_indices` and `guidance_logits`
    /// must be none: the session's texts are the history. Where `stop` is none it is the end tokens
    /// of each sequence.
    pub pipeline: Option<Pipeline<'a>>,
    /// How drafts are accepted: the rule of sequences that name none, by default
    /// [`Acceptance::SampleMatch`], and the numbers of the rules, where the most drafts of a sequence
    /// are `max_drafts`. Copied.
    pub acceptance: AcceptanceParams<'a>,
    /// Sequences may have [`AddArgs::draft_top_k`].
    pub has_draft_trees: bool,
    /// Sequences may have [`AddArgs::adaptive_gamma`], which takes a row of f32 and 20 KB.
    pub has_adaptive_gamma: bool,
    /// [`GammaRule::Measured`]: the time in nanoseconds since any moment, never less than before.
    /// None: the system's monotonic clock.
    pub clock: Option<fn() -> i64>,
    /// On a CUDA sampler the stream of all of the session's work, in whose order logits are read. It
    /// outlives the session.
    pub stream: Stream,
    /// What n-grams learn of each new position: this many of the target's likeliest tokens, and
    /// then, where it is not among them, the token that came. In [0, 2^20); 0: the token that came
    /// alone.
    pub filler_top_k: usize,
    /// Sequences may have [`AddArgs::unmask`], which takes about 50 bytes for each of `max_drafts` + 1
    /// positions of each sequence.
    pub has_blocks: bool,
    /// Blocks: the distribution whose probabilities and entropies are the confidences.
    pub confidence_kind: LogprobKind,
}

/// # Safety
///
/// `user` is a clock.
unsafe extern "C" fn call_clock(user: *mut c_void) -> i64 {
    // SAFETY: with_raw() made it of such a function.
    let clock = unsafe { std::mem::transmute::<*mut c_void, fn() -> i64>(user) };
    caught(0, clock)
}

impl SessionOptions<'_> {
    /// Calls `with` with what C gets, which points to what lives as long as that call.
    fn with_raw<T>(
        &self,
        place: Place,
        with: impl FnOnce(&sys::sampler_session_options) -> T,
    ) -> Result<T, Error> {
        let (slots, cols) = (self.max_sequences, self.vocabulary_size);
        let pipeline = match &self.pipeline {
            Some(pipeline) => {
                let rows = Rows { num_cols: cols, ..Rows::default() };
                Some(pipeline.raw(place, slots, 0, &rows)?)
            }
            None => None,
        };
        let params = self.params.raw();
        let acceptance = self.acceptance.raw(HOST, self.max_drafts)?;
        Ok(with(&sys::sampler_session_options {
            max_sequences: to_c(self.max_sequences),
            max_context: to_c(self.max_context),
            vocabulary_size: to_c(self.vocabulary_size),
            logits_dtype: self.logits_dtype.raw(),
            keep_drafter_rows: self.keep_drafter_rows.into(),
            max_drafts: to_c(self.max_drafts),
            drafter_context: to_c(self.drafter_context),
            lookup_tokens: to_c(self.lookup_tokens),
            max_end_tokens: to_c(self.max_end_tokens),
            max_stop_sequences: to_c(self.max_stop_sequences),
            max_stop_tokens: to_c(self.max_stop_tokens),
            max_top_logprobs: to_c(self.max_top_logprobs),
            params: &params,
            pipeline: pipeline.as_ref().map_or(ptr::null(), |pipeline| pipeline),
            acceptance: &acceptance,
            has_draft_trees: self.has_draft_trees.into(),
            has_adaptive_gamma: self.has_adaptive_gamma.into(),
            clock: self.clock.and(Some(call_clock)),
            clock_user: self.clock.map_or(null_mut(), |clock| clock as *mut c_void),
            stream: self.stream.0,
            filler_top_k: to_c(self.filler_top_k),
            has_blocks: self.has_blocks.into(),
            confidence_kind: self.confidence_kind.raw(),
            ..sys::sampler_session_options::INIT
        }))
    }
}

/// Sequences that come and go while others run: [`plan`](Session::plan) gives the tokens that the
/// caller's models are to run, [`advance`](Session::advance) takes their logits and gives new
/// tokens.
///
/// A sequence is a text with its own parameters, seed, limits and drafts. It has a number in [0,
/// `max_sequences`), which callers may use for their caches. With
/// [`Acceptance::SampleMatch`] its n-th new token, from 0, is what [`Sampler::sample`] draws
/// for its text with its seed, offset n and stream 0. It does not depend on the other sequences, on
/// how spans are batched, or on drafts.
///
/// It owns a sampler; [`into_sampler`](Session::into_sampler) gives that back. On a CUDA sampler logits
/// and the arrays of the pipeline are device memory, all else is host memory, and
/// [`advance`](Session::advance) waits for the stream of the options. All memory is taken when it is
/// made, but for that of a [`Plan`]. A call that fails changes nothing.
pub struct Session<'a> {
    handle: NonNull<sys::sampler_session>,
    // Dropped after the session is destroyed.
    sampler: Sampler,
    ngrams: Vec<Ngram>,
    has_draft_trees: bool,
    max_sequences: usize,
    max_drafts: usize,
    vocabulary_size: usize,
    logits_dtype: Dtype,
    // The arrays of the pipeline.
    borrowed: PhantomData<&'a ()>,
}

// SAFETY: it is memory and a sampler, which may move; nothing of it belongs to a thread.
unsafe impl Send for Session<'_> {}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once, here or in into_sampler, before its sampler, and no call has
        // it.
        unsafe { sys::sampler_session_destroy(self.handle.as_ptr()) }
    }
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("max_sequences", &self.max_sequences)
            .finish_non_exhaustive()
    }
}

/// Arguments of [`Session::add`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AddArgs<'a> {
    /// The text so far, of 1 to `max_context` tokens of the vocabulary.
    pub token_ids: &'a [i32],
    /// How many of them are the prompt; the others are new tokens, as of a sequence that was removed
    /// and goes on here. 0: all.
    pub prompt_length: usize,
    /// How many of the tokens the target's cache holds already, fewer than there are.
    pub cache_length: usize,
    /// How many of them the drafter's cache holds already: all at most, and `drafter_context`.
    pub drafter_cache_length: usize,
    /// None: the session's. Rules of ties, orders, scopes, forms and stages must be the session's.
    pub params: Option<Params>,
    /// The seed of its draws.
    pub seed: u64,
    /// New tokens at most, in [0, 2^31). 0: as many as `max_context` leaves.
    pub max_new_tokens: usize,
    /// Tokens that end the text.
    pub end_token_ids: &'a [i32],
    /// Sequences of tokens that end the text where its new tokens end in one; none may be empty. Of
    /// `i32`.
    pub stop_sequences: TokenLists<'a>,
    /// Where its drafts come from.
    pub draft_source: DraftSource,
    /// The rule that they are accepted by. [`Acceptance::Default`]: the session's.
    pub acceptance: Acceptance,
    /// Drafts a step at most, in [0, `max_drafts`]. 0: `max_drafts`.
    pub num_drafts: usize,
    /// `PromptLookup`: the shortest match, in [0, 2^27]. 0: 1.
    pub min_match: usize,
    /// The n-grams of [`DraftSource::Ngram`]. They learn the text now, unless `ngram_has_text`, and later each new
    /// token. Where a call fails later, as while another thread's call is in it, the sequence goes on without drafts.
    pub ngram: Option<&'a Ngram>,
    /// With `Ngram`: it has learned these tokens, as those of a sequence that was removed.
    pub ngram_has_text: bool,
    /// `Ngram`: an unknown context is followed by the draft that the n-grams give for it; else by
    /// none.
    pub draft_unknown: bool,
    /// `Ngram` without `draft_unknown`: drafts end before the first that was counted fewer times
    /// after its context. 0: off.
    pub ngram_least_count: usize,
    /// `Ngram`: or whose share of what followed there is below this, in [0, 1]. 0: off.
    pub ngram_least_share: f32,
    /// `Model`, in [0, 1]: a draft to which the drafter's row gives less than this probability is
    /// the last of its step. 0: off.
    pub least_draft_probability: f32,
    /// How many drafts a step gets, `num_drafts` at most, with
    /// [`SessionOptions::has_adaptive_gamma`]. `ByEntropy` is of `Model` without `draft_top_k`.
    pub adaptive_gamma: GammaRule,
    /// `ByEntropy`, in [0, 1): how much the entropy is smoothed.
    pub ema_beta: f32,
    /// `ByEntropy`, in [0, `num_drafts`]: the least number of drafts.
    pub gamma_min: usize,
    /// `Model`, with [`SessionOptions::has_draft_trees`], in [0, `num_drafts`]. 0: drafts are
    /// drawn, one a position. Else they are the drafter's `draft_top_k` likeliest tokens of each
    /// position: the first goes on, the others hang beside it, and the target runs them as a tree,
    /// as [`Plan::parents`] says.
    pub draft_top_k: usize,
    /// What a removed sequence, of this session or of another one, which goes on here, had beside its
    /// text, without which the next tokens may be others. None: it is a new one.
    pub resumed: Option<Resumed>,
    /// For a diffusion language model, whose text grows by blocks, with
    /// [`SessionOptions::has_blocks`]: the rules by which candidates stand. `draft_source` must be
    /// `None`, and [`Confidence::Given`](crate::Confidence::Given) is not for sessions. None: the
    /// text grows by tokens.
    ///
    /// A span ends with the block, masked positions included, and has a row for each of its positions
    /// after the text. [`Session::advance`] draws their candidates, of which the rules commit some.
    /// The text grows once no position is masked; with `edit_threshold` once a later step changes
    /// nothing, the 16th at the latest. Caches hold whole blocks: each is fed again with the next one.
    ///
    /// Stages see the text before the block. DRY, no-repeat n-grams, `min_new_tokens`, the
    /// exponential decay, mirostat, adaptive-p and top-p decay must be off. There are no
    /// log-probabilities.
    pub unmask: Option<UnmaskParams>,
}

/// What a sequence has beside its text, to go on later: of [`Sequence::resumed`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resumed {
    /// The values of adaptive stages, as in [`Pipeline`]: NaN where one has not begun.
    pub adaptive_values: [f32; sys::SAMPLER_NUM_ADAPTIVE_VALUES as usize],
    /// By [`GammaRule::ByEntropy`] the entropy of its steps, in nats, smoothed by
    /// [`AddArgs::ema_beta`]; NaN before the first.
    pub drafter_entropy: f64,
    /// Steps that gave a token.
    pub num_steps: usize,
    /// Drafts that were verified.
    pub num_drafted: usize,
    /// Drafts that became text.
    pub num_accepted: usize,
}

/// Arguments of [`Session::fork`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ForkArgs {
    /// The sequence that is copied; it goes on as if nothing had been.
    pub source: i32,
    /// None: the source's, with which its text comes again.
    pub seed: Option<u64>,
    /// None: the source's.
    pub params: Option<Params>,
}

/// What a session knows of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sequence<'a> {
    /// The text, its prompt first.
    pub token_ids: &'a [i32],
    /// How many of the tokens are the prompt.
    pub prompt_length: usize,
    /// How many of the tokens the target's cache holds.
    pub cache_length: usize,
    /// How many of the tokens the drafter's cache holds.
    pub drafter_cache_length: usize,
    /// Why it has ended; `None`: it runs.
    pub finish_reason: FinishReason,
    /// `BadRow`: why the row is bad.
    pub row_status: RowStatus,
    /// `StopSequence`: which, from 0.
    pub stop_sequence: Option<usize>,
    /// Steps that gave a token.
    pub num_steps: usize,
    /// Drafts that were verified.
    pub num_drafted: usize,
    /// Drafts that became text.
    pub num_accepted: usize,
    /// Whether there are drafts still: its text has room in the lookup or the drafter.
    pub is_drafting: bool,
    /// What [`AddArgs::resumed`] takes, so that the text goes on later as it would have gone on now.
    pub resumed: Resumed,
}

/// Tokens to run through a model, which [`Plan::token_ids`] has.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Span(sys::sampler_span);

// SAFETY: nobody follows the address of its tokens: here it is read by plan() alone, right after the
// library has set it, and sampler_session_advance compares nothing but numbers.
unsafe impl Send for Span {}
unsafe impl Sync for Span {}

impl Span {
    /// The sequence whose tokens they are.
    pub fn sequence(&self) -> i32 {
        self.0.sequence
    }

    /// Which plan of the session it is of.
    pub fn plan(&self) -> i32 {
        self.0.plan
    }

    /// The length that the cache must have: what it holds beyond is cut off.
    pub fn start(&self) -> usize {
        self.0.start as usize
    }

    /// How many tokens there are, one at least; the last of them may be drafts, or a block.
    pub fn num_tokens(&self) -> usize {
        self.0.num_tokens as usize
    }

    /// Rows of logits that [`Session::advance`] wants: those that follow the last `num_logits`
    /// tokens. May be 0: a part of a long text.
    pub fn num_logits(&self) -> usize {
        self.0.num_logits as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span")
            .field("sequence", &self.sequence())
            .field("plan", &self.plan())
            .field("start", &self.start())
            .field("num_tokens", &self.num_tokens())
            .field("num_logits", &self.num_logits())
            .finish()
    }
}

/// Arguments of [`Session::plan`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanArgs<'a> {
    /// Which sequences, none twice, in the order in which they get of `max_tokens`. Finished ones
    /// are passed over. None: all.
    pub sequences: Option<&'a [i32]>,
    /// Tokens of all spans of a model at most; 0: no limit. Else at least `max_drafts` + 1. Longer
    /// texts are planned in parts. A sequence that there is no room for gets no span; without
    /// `sequences` it is among the first next time.
    pub max_tokens: usize,
}

/// What to run in a step. Kept from step to step, its memory is taken in the first ones alone.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    spans: Vec<Span>,
    drafter_spans: Vec<Span>,
    token_ids: Vec<i32>,
    parents: Vec<i32>,
}

impl Plan {
    /// What the target is to run.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// What the drafter is to run.
    pub fn drafter_spans(&self) -> &[Span] {
        &self.drafter_spans
    }

    /// The tokens of all of the target's spans, one span after the other.
    pub fn token_ids(&self) -> &[i32] {
        &self.token_ids[..tokens_of(&self.spans)]
    }

    /// `[spans, max_drafts]` Of a session with [`SessionOptions::has_draft_trees`]: what each draft
    /// of a span follows, a lower one of its drafts, -1 the text; -1 after them. In a tree drafts see
    /// those that they follow, and not the others; their positions in the text are their depths. The
    /// first path comes first, so that a cache that is cut holds the text: a kept draft beside that
    /// path is fed again.
    pub fn parents(&self) -> &[i32] {
        &self.parents
    }

    /// The tokens of all of the drafter's spans.
    pub fn drafter_token_ids(&self) -> &[i32] {
        &self.token_ids[tokens_of(&self.spans)..]
    }
}

fn tokens_of(spans: &[Span]) -> usize {
    spans.iter().map(Span::num_tokens).sum()
}

fn logits_of(spans: &[Span]) -> usize {
    spans.iter().map(Span::num_logits).sum()
}

/// Arguments of [`Session::advance`].
#[derive(Debug, Default)]
pub struct AdvanceArgs<'a> {
    /// Spans that the target ran, as planned last: any of them, in any order.
    pub spans: &'a [Span],
    /// Their rows of logits, span after span: `[sum of num_logits, vocabulary_size]`.
    pub logits: Array<'a, Real>,
    /// Distance of two rows of them in elements. 0: `vocabulary_size`.
    pub logits_row_stride: usize,
    /// Spans that the drafter ran.
    pub drafter_spans: &'a [Span],
    /// Their rows of logits.
    pub drafter_logits: Array<'a, Real>,
    /// Distance of two rows of them in elements. 0: `vocabulary_size`.
    pub drafter_row_stride: usize,
    /// `[rows of logits]` With masks in the session's pipeline: the mask of each row of the target,
    /// which follows the text and the drafts before it; negative: none. Else none.
    pub token_bitmask_indices: Array<'a, i32>,
    /// `[rows of logits]` The token that is decided at each row of the target whatever its logits, as
    /// where a thinking budget runs out among the drafts; negative, as of a block's rows, and None:
    /// none.
    pub forced_token_ids: Array<'a, i32>,
    /// Classifier-free guidance: rows of logits as in [`Pipeline`], laid out like `logits`, of a
    /// cache with another prompt, which the caller feeds each span's new tokens and drafts. Required
    /// where a sequence with rows has `guidance_scale` on.
    pub guidance_logits: Array<'a, Real>,
    /// `[rows of logits]` The guidance row of each row of the target; negative: none; beyond the rows:
    /// the row is bad. None: row i has row i.
    pub guidance_row_indices: Array<'a, i32>,
    /// `[spans, max_drafts + 1]` New tokens, then -1. Required.
    pub out_token_ids: ArrayMut<'a, i32>,
    /// `[spans]` How many new tokens; 0 where a block is not complete. Required.
    pub out_counts: ArrayMut<'a, i64>,
    /// `[spans]` Numbers of [`FinishReason`]: `FinishReason::from(number)`. Not `None`: the sequence
    /// has finished, and is not planned any more.
    pub out_finish_reasons: ArrayMut<'a, i32>,
    /// `[spans]` To which length to cut the target's cache. Drafts that were not kept are cut off.
    pub out_cache_lengths: ArrayMut<'a, i64>,
    /// `[spans]` To which length to cut the drafter's cache.
    pub out_drafter_cache_lengths: ArrayMut<'a, i64>,
    /// `[spans]` Drafts that became text.
    pub out_accepted_counts: ArrayMut<'a, i64>,
    /// `[spans]` Why, where the reason is `BadRow`.
    pub out_row_status: ArrayMut<'a, RowStatus>,
    /// Log-probabilities of the new tokens, and of the first `num_top_logprobs`, in [0,
    /// `max_top_logprobs`], in rank order: `logprob_kind`, `out_logprobs`, `num_top_logprobs`,
    /// `out_top_token_ids`, of `i32`, and `out_top_logprobs`. All else must be left out.
    pub reports: ReportArgs<'a>,
}

reborrow!(AdvanceArgs);

impl<'a> Session<'a> {
    /// An empty session. The sampler is dropped where this fails.
    pub fn new(sampler: Sampler, options: &SessionOptions<'a>) -> Result<Self, Error> {
        let mut handle = null_mut();
        // SAFETY: the sampler is alive and serves no other call, and the options are set up. The
        // arrays that their pipeline names are as long as it says and outlive the session.
        let status = options.with_raw(sampler.place, |raw| unsafe {
            sys::sampler_session_create(sampler.handle.as_ptr(), raw, &mut handle)
        })?;
        error::check(status)?;
        Ok(Session {
            handle: NonNull::new(handle).expect("a session that was created"),
            sampler,
            ngrams: Vec::new(),
            has_draft_trees: options.has_draft_trees,
            max_sequences: options.max_sequences,
            max_drafts: options.max_drafts,
            vocabulary_size: options.vocabulary_size,
            logits_dtype: options.logits_dtype,
            borrowed: PhantomData,
        })
    }

    /// How many bytes of memory such a session takes.
    pub fn size(sampler: &mut Sampler, options: &SessionOptions<'_>) -> Result<usize, Error> {
        let mut bytes = 0;
        // SAFETY: as above.
        let status = options.with_raw(sampler.place, |raw| unsafe {
            sys::sampler_session_size(sampler.handle.as_ptr(), raw, &mut bytes)
        })?;
        error::check(status)?;
        Ok(bytes)
    }

    /// Ends the session.
    pub fn into_sampler(self) -> Sampler {
        let mut session = ManuallyDrop::new(self);
        // SAFETY: as in drop(), which does not run; nor is the sampler used again there.
        unsafe {
            sys::sampler_session_destroy(session.handle.as_ptr());
            drop(std::mem::take(&mut session.ngrams));
            ptr::read(&session.sampler)
        }
    }

    /// Adds a sequence and gives its number. It may have finished already: where no token may
    /// follow. Fails where the session has `max_sequences`.
    pub fn add(&mut self, args: &AddArgs<'_>) -> Result<i32, Error> {
        let stops = &args.stop_sequences;
        if stops.token_ids.memory().element != sys::SAMPLER_ID_I32 {
            return Err(invalid_argument("stop_sequences.token_ids is i64; it must be i32".into()));
        }
        let params = args.params.map(|params| params.raw());
        let unmask = args.unmask.map(|unmask| unmask.raw());
        let resumed = args.resumed.map(|resumed| sys::sampler_session_sequence {
            adaptive_values: resumed.adaptive_values,
            drafter_entropy: resumed.drafter_entropy,
            num_steps: to_c(resumed.num_steps),
            num_drafted: to_c(resumed.num_drafted),
            num_accepted: to_c(resumed.num_accepted),
            ..sys::sampler_session_sequence::INIT
        });
        let raw = sys::sampler_session_add_args {
            token_ids: args.token_ids.as_ptr(),
            num_tokens: to_c(args.token_ids.len()),
            prompt_length: to_c(args.prompt_length),
            cache_length: to_c(args.cache_length),
            drafter_cache_length: to_c(args.drafter_cache_length),
            params: params.as_ref().map_or(ptr::null(), |params| params),
            seed: args.seed,
            max_new_tokens: to_c(args.max_new_tokens),
            end_token_ids: args.end_token_ids.as_ptr(),
            num_end_tokens: to_c(args.end_token_ids.len()),
            stop_sequences: stops.raw(HOST, "stop_sequences")?,
            draft_source: args.draft_source.raw(),
            acceptance: args.acceptance.raw(),
            num_drafts: to_c(args.num_drafts),
            min_match: to_c(args.min_match),
            ngram: args.ngram.map_or(ptr::null(), |ngram| ngram.raw()),
            draft_unknown: args.draft_unknown.into(),
            ngram_least_count: to_c(args.ngram_least_count),
            ngram_least_share: args.ngram_least_share,
            least_draft_probability: args.least_draft_probability,
            draft_top_k: to_c(args.draft_top_k),
            adaptive_gamma: args.adaptive_gamma.raw(),
            ema_beta: args.ema_beta,
            gamma_min: to_c(args.gamma_min),
            ngram_has_text: args.ngram_has_text.into(),
            resumed: resumed.as_ref().map_or(ptr::null(), |resumed| resumed),
            unmask: unmask.as_ref().map_or(ptr::null(), |unmask| unmask),
            ..sys::sampler_session_add_args::INIT
        };
        let mut sequence = -1;
        // SAFETY: the session is alive and in no other call, nor is its sampler, which it owns. The
        // arrays are as long as the struct says and live until the call returns, which copies them.
        error::check(unsafe {
            sys::sampler_session_add(self.handle.as_ptr(), &raw, &mut sequence)
        })?;
        if let Some(ngram) = args.ngram {
            if !self.ngrams.iter().any(|held| held.is(ngram)) {
                self.ngrams.push(ngram.clone());
            }
        }
        Ok(sequence)
    }

    /// Adds a copy of a sequence, drafts of the step apart, and gives its number. The caller copies
    /// the caches, cut to the lengths that [`get`](Session::get) gives.
    pub fn fork(&mut self, args: &ForkArgs) -> Result<i32, Error> {
        let params = args.params.map(|params| params.raw());
        let raw = sys::sampler_session_fork_args {
            source: args.source,
            seed: args.seed.as_ref().map_or(ptr::null(), |seed| seed),
            params: params.as_ref().map_or(ptr::null(), |params| params),
            ..sys::sampler_session_fork_args::INIT
        };
        let mut sequence = -1;
        // SAFETY: as above.
        error::check(unsafe {
            sys::sampler_session_fork(self.handle.as_ptr(), &raw, &mut sequence)
        })?;
        Ok(sequence)
    }

    /// Removes a sequence, finished or not. Its number may be given to another one.
    pub fn remove(&mut self, sequence: i32) -> Result<(), Error> {
        // SAFETY: as above.
        error::check(unsafe { sys::sampler_session_remove(self.handle.as_ptr(), sequence) })
    }

    /// What there is of a sequence.
    pub fn get(&self, sequence: i32) -> Result<Sequence<'_>, Error> {
        let mut raw = sys::sampler_session_sequence::INIT;
        // SAFETY: the session is alive and, since it cannot be shared between threads, in no other
        // call.
        error::check(unsafe {
            sys::sampler_session_get(self.handle.as_ptr(), sequence, &mut raw)
        })?;
        Ok(Sequence {
            // SAFETY: it is valid until the sequence is advanced or removed, for which the session
            // is borrowed exclusively.
            token_ids: unsafe { slice::from_raw_parts(raw.token_ids, raw.num_tokens as usize) },
            prompt_length: raw.prompt_length as usize,
            cache_length: raw.cache_length as usize,
            drafter_cache_length: raw.drafter_cache_length as usize,
            finish_reason: FinishReason::from_raw(raw.finish_reason),
            row_status: raw.row_status.into(),
            stop_sequence: usize::try_from(raw.stop_sequence).ok(),
            num_steps: raw.num_steps as usize,
            num_drafted: raw.num_drafted as usize,
            num_accepted: raw.num_accepted as usize,
            is_drafting: raw.is_drafting != 0,
            resumed: Resumed {
                adaptive_values: raw.adaptive_values,
                drafter_entropy: raw.drafter_entropy,
                num_steps: raw.num_steps as usize,
                num_drafted: raw.num_drafted as usize,
                num_accepted: raw.num_accepted as usize,
            },
        })
    }

    /// Plans what to run. Planning again without having advanced is fine; the last plan of a
    /// sequence counts. Where it fails the plan is empty.
    pub fn plan(&mut self, args: &PlanArgs<'_>, plan: &mut Plan) -> Result<(), Error> {
        let count = args.sequences.map_or(self.max_sequences, <[i32]>::len);
        plan.token_ids.clear();
        plan.parents.clear();
        let drafts = if self.has_draft_trees { self.max_drafts } else { 0 };
        plan.parents.resize(count.saturating_mul(drafts), -1);
        for spans in [&mut plan.spans, &mut plan.drafter_spans] {
            spans.clear();
            spans.resize(count, Span(sys::sampler_span::INIT));
        }
        let (mut num_spans, mut num_drafter_spans) = (0, 0);
        let raw = sys::sampler_session_plan_args {
            sequences: args.sequences.map_or(ptr::null(), <[i32]>::as_ptr),
            num_sequences: to_c(args.sequences.map_or(0, <[i32]>::len)),
            max_tokens: to_c(args.max_tokens),
            // A span is what C's is, by its representation.
            out_spans: plan.spans.as_mut_ptr().cast(),
            out_num_spans: &mut num_spans,
            out_drafter_spans: plan.drafter_spans.as_mut_ptr().cast(),
            out_num_drafter_spans: &mut num_drafter_spans,
            out_parents: match drafts {
                0 => null_mut(),
                _ => plan.parents.as_mut_ptr(),
            },
            ..sys::sampler_session_plan_args::INIT
        };
        // SAFETY: as in add(); there is a span for each sequence.
        let status = unsafe { sys::sampler_session_plan(self.handle.as_ptr(), &raw) };
        if status != sys::SAMPLER_OK {
            (num_spans, num_drafter_spans) = (0, 0);
        }
        plan.spans.truncate(num_spans as usize);
        plan.drafter_spans.truncate(num_drafter_spans as usize);
        plan.parents.truncate(plan.spans.len() * drafts);
        error::check(status)?;
        for span in plan.spans.iter().chain(&plan.drafter_spans) {
            // SAFETY: valid until the session is called again.
            let tokens = unsafe { slice::from_raw_parts(span.0.token_ids, span.num_tokens()) };
            plan.token_ids.extend_from_slice(tokens);
        }
        Ok(())
    }

    /// `[rows, vocabulary_size]` of the session's type.
    fn logits(
        &self,
        name: &str,
        logits: &Array<'_, Real>,
        rows: usize,
        stride: usize,
    ) -> Result<*mut std::os::raw::c_void, Error> {
        let columns = self.vocabulary_size;
        let elements = match rows {
            0 => 0,
            _ => (rows - 1).saturating_mul(or(stride, columns)).saturating_add(columns),
        };
        let element = Dtype::from_raw(logits.memory().element);
        if !logits.is_none() && rows > 0 && element != self.logits_dtype {
            return Err(invalid_argument(format!(
                "{name} is of {element}; logits_dtype of the session is {}",
                self.logits_dtype
            )));
        }
        self.sampler.place.array("", name, logits, elements)
    }

    /// Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row
    /// without a token (NaN, +inf, all -inf) finishes its sequence, `BadRow`, with what came before
    /// it; a bad row of the drafter only ends the drafts of its step. A span that is not as its
    /// sequence was planned last is `InvalidArgument`.
    pub fn advance(&mut self, args: &AdvanceArgs<'_>) -> Result<(), Error> {
        let (rows, drafter_rows) = (logits_of(args.spans), logits_of(args.drafter_spans));
        let spans = args.spans.len();
        let places = spans.saturating_mul(self.max_drafts.saturating_add(1));
        let (stride, drafter_stride) = (args.logits_row_stride, args.drafter_row_stride);
        let masks = &args.token_bitmask_indices;
        let (guidance, guidance_indices) = (&args.guidance_logits, &args.guidance_row_indices);
        let guidance_rows = rows_of("guidance_logits", guidance, stride.max(self.vocabulary_size))?;
        let (drafter_lengths, accepted) =
            (&args.out_drafter_cache_lengths, &args.out_accepted_counts);
        let (ids, reasons) = (&args.out_token_ids, &args.out_finish_reasons);
        token_id_type([
            ("out_token_ids", ids),
            ("reports.out_top_token_ids", &args.reports.out_top_token_ids),
        ])?;
        let reports = args.reports.raw(HOST, places, self.vocabulary_size)?;
        let raw = sys::sampler_session_advance_args {
            spans: args.spans.as_ptr().cast(),
            num_spans: to_c(spans),
            logits: self.logits("logits", &args.logits, rows, stride)?,
            logits_row_stride: to_c(stride),
            drafter_spans: args.drafter_spans.as_ptr().cast(),
            num_drafter_spans: to_c(args.drafter_spans.len()),
            drafter_logits: self.logits(
                "drafter_logits",
                &args.drafter_logits,
                drafter_rows,
                drafter_stride,
            )?,
            drafter_row_stride: to_c(drafter_stride),
            token_bitmask_indices: HOST.array("", "token_bitmask_indices", masks, rows)?,
            forced_token_ids: HOST.array("", "forced_token_ids", &args.forced_token_ids, rows)?,
            guidance_logits: self.logits(
                "guidance_logits",
                guidance,
                guidance_rows as usize,
                stride,
            )?,
            num_guidance_rows: guidance_rows,
            guidance_row_indices: HOST.array("", "guidance_row_indices", guidance_indices, rows)?,
            out_token_ids: HOST.array("", "out_token_ids", ids, places)?,
            out_counts: HOST.array("", "out_counts", &args.out_counts, spans)?,
            out_finish_reasons: HOST.array("", "out_finish_reasons", reasons, spans)?,
            out_cache_lengths: HOST.array(
                "",
                "out_cache_lengths",
                &args.out_cache_lengths,
                spans,
            )?,
            out_drafter_cache_lengths: HOST.array(
                "",
                "out_drafter_cache_lengths",
                drafter_lengths,
                spans,
            )?,
            out_accepted_counts: HOST.array("", "out_accepted_counts", accepted, spans)?,
            out_row_status: HOST.array("", "out_row_status", &args.out_row_status, spans)?,
            reports: &reports,
            ..sys::sampler_session_advance_args::INIT
        };
        // SAFETY: as in add(); what is written is borrowed exclusively.
        error::check(unsafe { sys::sampler_session_advance(self.handle.as_ptr(), &raw) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_arrive() {
        let rates = [0.5; 200];
        let (mut options, mut next) = (SessionOptions::default(), 100);
        options.acceptance = AcceptanceParams {
            rule: Acceptance::Block,
            typical_threshold: 0.1,
            typical_scale: 0.2,
            relaxed_top_k: 3,
            relaxed_delta: 0.4,
            threshold_single: 0.5,
            threshold_total: 0.6,
            deferred_window: 7,
            deferred_top_k: 8,
            deferred_entropy: 0.9,
            synthetic_rates: (&rates).into(),
            ..AcceptanceParams::default()
        };
        options.has_draft_trees = true;
        options.has_blocks = true;
        options.confidence_kind = LogprobKind::Edited;
        macro_rules! check {
            ($($number:ident)*) => {{
                $(next += 1; options.$number = next;)*
                options.logits_dtype = Dtype::Bf16;
                options.params.top_k = 7;
                let pipeline = Pipeline { max_history_tokens: 9, ..Pipeline::default() };
                for pipeline in [None, Some(pipeline)] {
                    options.pipeline = pipeline;
                    options.keep_drafter_rows = pipeline.is_some();
                    options
                        .with_raw(HOST, |raw| {
                            $(assert_eq!(raw.$number as usize, options.$number,
                                         stringify!($number));)*
                            assert_eq!((raw.has_draft_trees, raw.has_blocks), (1, 1));
                            assert_eq!(raw.confidence_kind, sys::SAMPLER_LOGPROB_EDITED);
                            assert_eq!(raw.logits_dtype, sys::SAMPLER_BF16);
                            assert_eq!(raw.keep_drafter_rows, i32::from(pipeline.is_some()));
                            assert_eq!(raw.pipeline.is_null(), pipeline.is_none());
                            // SAFETY: they live until this returns.
                            unsafe {
                                assert_eq!((*raw.params).top_k, 7);
                                let rules = *raw.acceptance;
                                assert_eq!(rules.rule, sys::SAMPLER_ACCEPT_BLOCK);
                                assert_eq!(rules.typical_threshold, 0.1);
                                assert_eq!(rules.typical_scale, 0.2);
                                assert_eq!((rules.relaxed_top_k, rules.relaxed_delta), (3, 0.4));
                                assert_eq!(rules.threshold_single, 0.5);
                                assert_eq!(rules.threshold_total, 0.6);
                                assert_eq!((rules.deferred_window, rules.deferred_top_k), (7, 8));
                                assert_eq!(rules.deferred_entropy, 0.9);
                                assert_eq!(rules.synthetic_rates, rates.as_ptr());
                                let lists = raw.pipeline.as_ref();
                                assert_eq!(lists.map(|lists| lists.max_history_tokens),
                                           pipeline.map(|_| 9));
                            }
                        })
                        .unwrap();
                }
            }};
        }
        check!(max_sequences max_context vocabulary_size max_drafts drafter_context lookup_tokens
               max_end_tokens max_stop_sequences max_stop_tokens max_top_logprobs);
    }
}
