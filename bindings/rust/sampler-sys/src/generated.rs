// Written by generate.py from the C headers.

/// Returned by every function that can fail; sampler_last_error() then describes the error in
/// one line.
pub type sampler_status = i32;

/// Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
/// row: it yields token -1 (or the handle's fallback token) and a bit with the reason.
pub type sampler_row_status = u32;

/// Memory of a call's arrays.
pub type sampler_device_type = i32;

/// Element type of logits and probabilities. All widen exactly to f32 before any computation. f16 is
/// IEEE binary16, bf16 the upper half of an f32.
pub type sampler_dtype = i32;

/// Type of token ids.
pub type sampler_id_type = i32;

/// Meaning of a row's values. Probabilities are >= 0 and need not sum to 1.
pub type sampler_input_kind = i32;

/// How a filter treats tokens that tie with the last kept one.
pub type sampler_tie_rule = i32;

/// How the kept probability of top-p or typical-p compares with the threshold. Matters only where a
/// sum equals the threshold exactly.
pub type sampler_sum_rule = i32;

/// How top-k, top-p and min-p combine.
pub type sampler_filter_order = i32;

/// When the temperature applies. The draw always uses it.
pub type sampler_temperature_order = i32;

/// How a token is drawn from the kept ones. All follow the same distribution.
pub type sampler_draw_method = i32;

/// The distribution of a log-probability.
pub type sampler_logprob_kind = i32;

/// Output of a filter.
pub type sampler_output_kind = i32;

/// What a [`sampler_stream`] points to.
#[repr(C)]
pub struct CUstream_st {
    _private: [u8; 0],
}

/// A CUDA stream (the type of cudaStream_t and CUstream). NULL is the legacy default stream. A CPU
/// handle ignores it.
pub type sampler_stream = *mut CUstream_st;

/// What a [`sampler_t`] points to.
#[repr(C)]
pub struct sampler_handle {
    _private: [u8; 0],
}

/// A sampler: a device, its threads and an optional workspace. It may move between threads but
/// serves one call at a time; different handles are independent.
pub type sampler_t = *mut sampler_handle;

/// Returns `bytes` bytes aligned to `alignment` (a power of two), or NULL. Called only by functions
/// that create an object, by decoding loops before any other callback, and, as ngram.h says, by
/// n-gram storages.
pub type sampler_allocate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void,
>;

/// Releases memory from the allocate function, with the same `bytes` and `alignment`. Called only by
/// functions that destroy an object, by those that create one when they fail, by decoding loops
/// before they return, and by n-gram storages.
pub type sampler_deallocate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize, alignment: usize),
>;

pub type sampler_log_level = i32;

/// Receives one line without a line end: handle creations, and every error text of the handle's
/// calls. Called on the calling thread; `message` is valid until it returns.
pub type sampler_log_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, level: sampler_log_level, message: *const c_char),
>;

/// One task of a call: `index` in [0, num_tasks).
pub type sampler_task_fn = Option<
    unsafe extern "C" fn(task_user: *mut c_void, index: i64),
>;

/// Runs `task(task_user, i)` exactly once for each i in [0, num_tasks), in any order, on any
/// threads, and returns when all have returned. Omitting or repeating a task, or running another
/// index, fails the call: SAMPLER_ERROR_CALLBACK. No task may start, or still run, after it has
/// returned or thrown: the tasks' memory ends with the call.
pub type sampler_parallel_for_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, num_tasks: i64, task: sampler_task_fn, task_user: *mut c_void),
>;

/// The stages, in their default order (no sampler_params.stages).
pub type sampler_stage = i32;

/// The threshold of P_LESS (Tan, Wu, Howard 2025).
pub type sampler_p_less_kind = i32;

/// The last stage. All but SMOOTHING adapt to the drawn tokens.
pub type sampler_adaptive_kind = i32;

/// What a [`sampler_state_t`] points to.
#[repr(C)]
pub struct sampler_state {
    _private: [u8; 0],
}

/// State of sequences: see state.h.
pub type sampler_state_t = *mut sampler_state;

/// Which tokens of a history count.
pub type sampler_penalty_scope = i32;

/// Arithmetic of the penalties, for a token that occurs c times. Forms differ in the last bit; the
/// last one in its order too.
pub type sampler_penalty_form = i32;

/// How ids without a word in the bitmask are treated. A vocabulary padded beyond the tokenizer's has
/// such ids if the mask is made for the tokenizer's: LEAVES, the default, allows them whatever the
/// grammar. Set FORBIDS unless all ids beyond the mask may be drawn.
pub type sampler_mask_rule = i32;

/// Acceptance rule: when a draft x with target probability p(x) and draft probability q(x) is
/// accepted. A greedy row (temperature at most 1e-5) accepts only the argmax, except with RELAXED
/// and SYNTHETIC.
pub type sampler_acceptance = i32;

/// How siblings of a tree were drafted, which determines the residual after a rejection.
pub type sampler_sibling_rule = i32;

/// Memory layout of the drafts of several sequences.
pub type sampler_packing = i32;

/// What orders a block's candidates: the most confident first, of equal ones the earlier row.
pub type sampler_confidence = i32;

/// What happened to a row's token.
pub type sampler_unmask_change = i32;

pub type sampler_watermark_scheme = i32;

pub type sampler_token_kind = i32;

/// The likeliest token after `context`. *out_known is 1 if the context is known, and 0 if the token
/// is drawn from `seed` and `offset`, uniformly over the vocabulary.
pub type sampler_ngram_next_token_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, seed: u64, offset: u64, out_token_id: *mut i32, out_known: *mut i32) -> sampler_status,
>;

/// out_has is 1 if a token is known to follow exactly this context, without back-off, else 0, as
/// for a context of an unsupported length.
pub type sampler_ngram_has_gram_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, out_has: *mut i32) -> sampler_status,
>;

/// Counts each of `next_token_ids` once, in order, as following `context`; duplicates
/// count twice.
pub type sampler_ngram_update_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, next_token_ids: *const i32, num_next_tokens: i64) -> sampler_status,
>;

/// Learns a text: an update with each of its tokens, as following those before it. Adds to
/// existing counts.
pub type sampler_ngram_initialize_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, token_ids: *const i32, num_tokens: i64) -> sampler_status,
>;

/// Up to num_drafts tokens, each the likeliest after the context and the tokens before it: up to the
/// first that is unknown, counted fewer than least_count times there, or whose share, its count over
/// the counts of all tokens that followed there, is below least_share, in [0, 1]. Limits of 0 are
/// off. `out_token_ids` is [num_drafts], and *out_num_drafts their number.
pub type sampler_ngram_propose_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, num_drafts: i64, least_count: i64, least_share: f32, out_token_ids: *mut i32, out_num_drafts: *mut i64) -> sampler_status,
>;

/// Forgets all.
pub type sampler_ngram_reset_fn = Option<
    unsafe extern "C" fn(user: *mut c_void) -> sampler_status,
>;

/// What a [`sampler_ngram_storage_t`] points to.
#[repr(C)]
pub struct sampler_ngram_storage {
    _private: [u8; 0],
}

/// Counts of n-grams: contexts of up to order - 1 tokens, and how often each token followed.
pub type sampler_ngram_storage_t = *mut sampler_ngram_storage;

pub type sampler_ngram_kind = i32;

/// What a [`sampler_prompt_lookup_t`] points to.
#[repr(C)]
pub struct sampler_prompt_lookup {
    _private: [u8; 0],
}

/// One growing text. Finds the longest earlier occurrence of the text's end, which may overlap that
/// end; the latest on ties. Appending a token takes amortised O(log n) at worst, for any text.
pub type sampler_prompt_lookup_t = *mut sampler_prompt_lookup;

/// Appends each span to the cache of its sequence and writes the logits after its last logit_counts
/// tokens. In a tree a token's logits follow those that it attends to. A tree's first path comes
/// first, and is all of it that `truncate` leaves: accepted tokens beside it are fed again, so that
/// nothing in a cache has to be moved.
pub type sampler_forward_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, args: *const sampler_forward_args) -> sampler_status,
>;

/// Cuts the cache of `sequence` to its first `length` tokens, fewer than it has; 0 empties it.
pub type sampler_truncate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, sequence: i32, length: i64) -> sampler_status,
>;

/// Replaces the cache of `destination` by a copy of that of `source`.
pub type sampler_fork_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, source: i32, destination: i32) -> sampler_status,
>;

pub type sampler_processor = i32;

pub type sampler_finish_reason = i32;

/// Receives the new tokens of a step, valid during the call; `reason` is not NONE with the last
/// tokens, which may be 0 in number. Nonzero return: the text ends here, CANCELLED unless it had
/// already ended.
pub type sampler_tokens_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, text: i64, token_ids: *const i32, num_tokens: i64, reason: sampler_finish_reason) -> i32,
>;

/// Logits processor: rewrites logits in place, on the handle's device, before any other use:
/// penalties, biases, grammars. Enqueuing that on `stream` is enough. Row i follows `lengths[i]`
/// tokens of the model's sequence `sequences[i]`; both arrays are host memory. In a draft tree these
/// are the text and the ancestors of the row's draft, and several rows have one length. Called for
/// logits of both drafter and target.
pub type sampler_process_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, stream: sampler_stream, logits: *mut c_void, num_rows: i64, num_cols: i64, row_stride: i64, sequences: *const i32, lengths: *const i64) -> sampler_status,
>;

/// Writes the text of a token into `buffer`, at most buffer_bytes, and returns its length. For
/// trace lines.
pub type sampler_token_text_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, token_id: i32, buffer: *mut c_char, buffer_bytes: usize) -> usize,
>;

/// Receives a round of a text; everything is valid during the call.
pub type sampler_trace_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, round: *const sampler_trace_round),
>;

/// How the number of drafts of a round is chosen.
pub type sampler_gamma_rule = i32;

/// Monotonic time in nanoseconds, from any origin. Called when the drafts of a round and their
/// verification are on the host.
pub type sampler_clock_fn = Option<
    unsafe extern "C" fn(user: *mut c_void) -> i64,
>;

/// What happens to finished beams.
pub type sampler_beam_rule = i32;

/// What a [`sampler_session_t`] points to.
#[repr(C)]
pub struct sampler_session {
    _private: [u8; 0],
}

pub type sampler_session_t = *mut sampler_session;

/// Source of a sequence's drafts; all but NONE need the session's max_drafts. The first new token is
/// never drafted.
pub type sampler_draft_source = i32;

constants! {
    SAMPLER_VERSION_MAJOR: u32 = 0;
    SAMPLER_VERSION_MINOR: u32 = 1;
    SAMPLER_VERSION_PATCH: u32 = 0;
    /// Release candidate number of this version; 0: the release itself.
    SAMPLER_VERSION_CANDIDATE: u32 = 1;
    /// major * 10000 + minor * 100 + patch.
    SAMPLER_VERSION: u32 = SAMPLER_VERSION_MAJOR * 10000 + SAMPLER_VERSION_MINOR * 100 + SAMPLER_VERSION_PATCH;
    /// The number in the SONAME. Programs and libraries with equal numbers are compatible: every change
    /// that breaks the ABI raises it, also before version 0.1.0.
    SAMPLER_ABI_VERSION: u32 = 1;
    SAMPLER_OK: sampler_status = 0;
    /// An argument violates its documentation. Nothing was enqueued, no output written.
    SAMPLER_ERROR_INVALID_ARGUMENT: sampler_status = 1;
    /// The allocator returned NULL, or the device has no memory left. Only these allocate: functions
    /// that create something, decoding loops, n-gram storages that learn or are deserialised, on a
    /// CUDA handle the copy that serialises a state, and, by malloc, detectors of watermarks.
    SAMPLER_ERROR_OUT_OF_MEMORY: sampler_status = 2;
    /// The handle's or the call's workspace is smaller than the call's _workspace_size.
    SAMPLER_ERROR_WORKSPACE_TOO_SMALL: sampler_status = 3;
    /// The arguments are valid, but not supported by this build or device.
    SAMPLER_ERROR_UNSUPPORTED: sampler_status = 4;
    /// The program was compiled for another ABI of libsampler.
    SAMPLER_ERROR_ABI_MISMATCH: sampler_status = 5;
    /// A system call failed, such as starting a thread when the handle was created.
    SAMPLER_ERROR_SYSTEM: sampler_status = 6;
    /// A callback (parallel_for) broke its contract. The outputs are undefined.
    SAMPLER_ERROR_CALLBACK: sampler_status = 7;
    /// CUDA reported an error. The outputs are undefined.
    SAMPLER_ERROR_CUDA: sampler_status = 8;
    /// A bug in libsampler, which it caught. The outputs are undefined.
    SAMPLER_ERROR_INTERNAL: sampler_status = 9;
    /// Serialised data is truncated, damaged or of a newer format.
    SAMPLER_ERROR_CORRUPT_DATA: sampler_status = 10;
    /// The row is good.
    SAMPLER_ROW_OK: sampler_row_status = 0;
    /// A NaN, a +inf logit, or a negative or infinite probability.
    SAMPLER_ROW_INVALID_VALUE: sampler_row_status = 1;
    /// No token to choose: every logit is -inf, every probability 0, or there is no candidate.
    SAMPLER_ROW_EMPTY: sampler_row_status = 2;
    /// A parameter of this row is NaN, or a temperature or filter not allowed with probabilities.
    SAMPLER_ROW_INVALID_PARAMETER: sampler_row_status = 4;
    /// The row's entry in row_indices names no input row, or that in token_bitmask_indices no mask.
    /// sampler_unmask's blocks: block_offsets do not ascend within the rows.
    SAMPLER_ROW_INVALID_INDEX: sampler_row_status = 8;
    /// candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20)
    /// or duplicated.
    SAMPLER_ROW_INVALID_CANDIDATE: sampler_row_status = 16;
    /// A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts]. The
    /// draft is rejected; the row is otherwise good and has its outputs.
    SAMPLER_ROW_INVALID_DRAFT: sampler_row_status = 32;
    /// The row's slot is outside [0, num_slots).
    SAMPLER_ROW_INVALID_SLOT: sampler_row_status = 64;
    /// A pipeline list of the row's slot has offsets that decrease or lie outside the list's ids, or
    /// breaks another rule of pipeline.h.
    SAMPLER_ROW_INVALID_LIST: sampler_row_status = 128;
    /// The tokens do not fit in the state's slot, which is unchanged.
    SAMPLER_ROW_STATE_FULL: sampler_row_status = 256;
    /// The draft tree is malformed.
    SAMPLER_ROW_INVALID_TREE: sampler_row_status = 512;
    /// The ranks of a sharded row disagree about the contents of its arrays, or its top_k is
    /// above sampler_shard_args.max_top_k.
    SAMPLER_ROW_INVALID_SHARD: sampler_row_status = 1024;
    /// host memory
    SAMPLER_DEVICE_CPU: sampler_device_type = 0;
    /// memory of the handle's CUDA device
    SAMPLER_DEVICE_CUDA: sampler_device_type = 1;
    SAMPLER_F32: sampler_dtype = 0;
    SAMPLER_F16: sampler_dtype = 1;
    SAMPLER_BF16: sampler_dtype = 2;
    SAMPLER_ID_I32: sampler_id_type = 0;
    SAMPLER_ID_I64: sampler_id_type = 1;
    SAMPLER_LOGITS: sampler_input_kind = 0;
    SAMPLER_PROBABILITIES: sampler_input_kind = 1;
    /// lower ids first, so top-k keeps exactly k
    SAMPLER_TIES_EXACT: sampler_tie_rule = 0;
    /// keeps all ties (FlashInfer's renorms, Hugging Face's top-k)
    SAMPLER_TIES_KEEP: sampler_tie_rule = 1;
    /// at least the threshold, so 0.5 keeps 4 of 8 equal tokens
    SAMPLER_SUM_REACHES: sampler_sum_rule = 0;
    /// above the threshold, so 0.5 keeps 5 of 8 (SGLang's top-p)
    SAMPLER_SUM_EXCEEDS: sampler_sum_rule = 1;
    /// top-k; then top-p of the weight that top-k kept; then min-p.
    SAMPLER_FILTERS_SEQUENTIAL: sampler_filter_order = 0;
    /// Each filter sees the whole row; the intersection is kept.
    SAMPLER_FILTERS_JOINT: sampler_filter_order = 1;
    /// min-p; then top-k; then top-p of the remaining weight (vLLM).
    SAMPLER_FILTERS_MIN_P_FIRST: sampler_filter_order = 2;
    /// filters see the row at the temperature
    SAMPLER_TEMPERATURE_FIRST: sampler_temperature_order = 0;
    /// filters see the row at temperature 1 (llama.cpp)
    SAMPLER_TEMPERATURE_LAST: sampler_temperature_order = 1;
    /// One uniform number per row; exact in integers, resolves tails of any size.
    SAMPLER_DRAW_INVERSE_CDF: sampler_draw_method = 0;
    /// Argmax of logit / temperature + Gumbel noise per token: a small change of the logits rarely
    /// changes the token. Tails below 2^-30 of the likeliest token are not resolved.
    SAMPLER_DRAW_GUMBEL: sampler_draw_method = 1;
    /// GUMBEL with the random words of a watermark: seeds, offsets and streams are those of
    /// sampler_watermark_random (watermark.h). sampler_sample only, of shards too.
    SAMPLER_DRAW_WATERMARK: sampler_draw_method = 2;
    /// the whole row, as given, at temperature 1
    SAMPLER_LOGPROB_RAW: sampler_logprob_kind = 0;
    /// the distribution drawn from: temperature and filters applied
    SAMPLER_LOGPROB_PROCESSED: sampler_logprob_kind = 1;
    /// the whole row, after its edits, at temperature 1
    SAMPLER_LOGPROB_EDITED: sampler_logprob_kind = 2;
    /// probabilities of kept tokens, renormalised; 0 elsewhere
    SAMPLER_OUTPUT_PROBABILITIES: sampler_output_kind = 0;
    /// values of kept tokens, unchanged; -inf elsewhere
    SAMPLER_OUTPUT_VALUES: sampler_output_kind = 1;
    SAMPLER_LOG_INFO: sampler_log_level = 0;
    SAMPLER_LOG_ERROR: sampler_log_level = 1;
    SAMPLER_ISA_SCALAR: u32 = 1;
    SAMPLER_ISA_AVX2: u32 = 2;
    SAMPLER_ISA_AVX512: u32 = 4;
    SAMPLER_ISA_NEON: u32 = 8;
    /// Edits.
    ///
    /// guidance, pipeline.biased, the dense bias
    SAMPLER_STAGE_BIAS: sampler_stage = 1;
    /// allowed and banned tokens, bad words, stop tokens, bitmask
    SAMPLER_STAGE_MASK: sampler_stage = 2;
    /// repetition, frequency, presence, exponential decay
    SAMPLER_STAGE_PENALTIES: sampler_stage = 3;
    /// penalises repeats of sequences
    SAMPLER_STAGE_DRY: sampler_stage = 4;
    /// bans tokens that complete an n-gram of the history
    SAMPLER_STAGE_NO_REPEAT_NGRAM: sampler_stage = 5;
    SAMPLER_STAGE_TEMPERATURE: sampler_stage = 6;
    /// Windows: each keeps some tokens of those that the one before it kept.
    ///
    /// surprise nearest the entropy
    SAMPLER_STAGE_TYPICAL_P: sampler_stage = 7;
    /// within n standard deviations of the largest logit
    SAMPLER_STAGE_TOP_N_SIGMA: sampler_stage = 8;
    /// probability at least epsilon
    SAMPLER_STAGE_EPSILON: sampler_stage = 9;
    /// the same, and lower where the entropy is high
    SAMPLER_STAGE_ETA: sampler_stage = 10;
    /// a share of the entropy
    SAMPLER_STAGE_TOP_H: sampler_stage = 11;
    /// probability at least the sum of squared probabilities
    SAMPLER_STAGE_P_LESS: sampler_stage = 12;
    /// before the steepest fall of the logits
    SAMPLER_STAGE_MIN_K: sampler_stage = 13;
    /// probability at least a share of the largest one squared
    SAMPLER_STAGE_TOP_A: sampler_stage = 14;
    /// at random, removes all tokens above a threshold but the last
    SAMPLER_STAGE_XTC: sampler_stage = 15;
    SAMPLER_STAGE_TOP_K: sampler_stage = 16;
    SAMPLER_STAGE_TOP_P: sampler_stage = 17;
    SAMPLER_STAGE_MIN_P: sampler_stage = 18;
    /// mirostat, adaptive-p or smoothing; always last
    SAMPLER_STAGE_ADAPTIVE: sampler_stage = 19;
    SAMPLER_MAX_STAGES: u32 = 32;
    /// off
    SAMPLER_P_LESS_NONE: sampler_p_less_kind = 0;
    /// the sum c of squared probabilities
    SAMPLER_P_LESS_PLAIN: sampler_p_less_kind = 1;
    /// (n c - 1) / (n - 1), lower; n tokens are left
    SAMPLER_P_LESS_NORM: sampler_p_less_kind = 2;
    SAMPLER_ADAPTIVE_NONE: sampler_adaptive_kind = 0;
    /// (Basu, Ramachandran, Keskar, Varshney 2021)
    SAMPLER_ADAPTIVE_MIROSTAT_V1: sampler_adaptive_kind = 1;
    SAMPLER_ADAPTIVE_MIROSTAT_V2: sampler_adaptive_kind = 2;
    /// llama.cpp's: changes the weights of the tokens it receives
    SAMPLER_ADAPTIVE_P: sampler_adaptive_kind = 3;
    /// Quadratic and cubic smoothing (kalomaze 2024, koboldcpp): a token d below the first one in
    /// logit / T gets the logit -k d^2 - s d^3, with k = factor * (3 - curve) / 2 and
    /// s = factor * (curve - 1) / 2.
    SAMPLER_ADAPTIVE_SMOOTHING: sampler_adaptive_kind = 4;
    SAMPLER_NUM_ADAPTIVE_VALUES: u32 = 4;
    /// repetition: all; frequency and presence: output (vLLM)
    SAMPLER_PENALTY_SCOPE_STANDARD: sampler_penalty_scope = 0;
    /// prompt and output (llama.cpp)
    SAMPLER_PENALTY_SCOPE_ALL: sampler_penalty_scope = 1;
    /// output (SGLang)
    SAMPLER_PENALTY_SCOPE_OUTPUT: sampler_penalty_scope = 2;
    /// x / r; then x - (c * frequency + presence)
    SAMPLER_PENALTY_DIVIDE: sampler_penalty_form = 0;
    /// x * (1 / r); then x - c * frequency - presence (vLLM)
    SAMPLER_PENALTY_RECIPROCAL: sampler_penalty_form = 1;
    /// as DIVIDE, repetition last (SGLang)
    SAMPLER_PENALTY_COUNTS_FIRST: sampler_penalty_form = 2;
    /// unchanged (xgrammar)
    SAMPLER_MASK_LEAVES: sampler_mask_rule = 0;
    /// banned (llguidance)
    SAMPLER_MASK_FORBIDS: sampler_mask_rule = 1;
    /// The context's default: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
    /// session. In a rule by slot or by sequence: the rule given for all.
    SAMPLER_ACCEPT_DEFAULT: sampler_acceptance = 0;
    /// Lossless: emitted tokens follow the target's distribution.
    ///
    /// u q(x) < p(x)
    SAMPLER_ACCEPT_STANDARD: sampler_acceptance = 1;
    /// Block verification (Sun et al. 2024): judges all drafts of a chain together. Emits on average
    /// no fewer tokens than STANDARD.
    SAMPLER_ACCEPT_BLOCK: sampler_acceptance = 2;
    /// The target's own token is drawn as by sampler_sample, at offset + i after i drafts; drafts are
    /// accepted while they equal it. Needs no draft distribution. The text equals, token by token, the
    /// one without speculation.
    SAMPLER_ACCEPT_SAMPLE_MATCH: sampler_acceptance = 3;
    /// Lossy: emitted tokens do not follow the target's distribution.
    ///
    /// p(x) > min(typical_threshold, typical_scale * exp(-H(p))), deterministic (Cai et al. 2024).
    SAMPLER_ACCEPT_TYPICAL: sampler_acceptance = 4;
    /// x is one of the first relaxed_top_k tokens and p(x) >= p_max - relaxed_delta; if no draft of a
    /// position is, as STANDARD. In a greedy row p is taken after the edits, at temperature
    /// 1 (TensorRT-LLM).
    SAMPLER_ACCEPT_RELAXED: sampler_acceptance = 5;
    /// p(x) >= threshold_single, or u * threshold_total < the sum of p over x and the siblings tried
    /// before it (SGLang). With both at 1 it is lossless for drafts chosen deterministically.
    SAMPLER_ACCEPT_THRESHOLD: sampler_acceptance = 6;
    /// As STANDARD, but a rejected draft of a chain is kept where the target is uncertain and the next
    /// deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM).
    SAMPLER_ACCEPT_DEFERRED: sampler_acceptance = 7;
    /// u < synthetic_rates[i], whatever p and q: for benchmarks. After a rejection a token is drawn
    /// from p.
    SAMPLER_ACCEPT_SYNTHETIC: sampler_acceptance = 8;
    /// each was drawn from its own row
    SAMPLER_SIBLINGS_INDEPENDENT: sampler_sibling_rule = 0;
    /// each from its row without its earlier siblings
    SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT: sampler_sibling_rule = 1;
    /// Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries.
    SAMPLER_PACKING_DENSE: sampler_packing = 0;
    /// Concatenated. packing_offsets is [num_sequences + 1]: the drafts of sequence s are
    /// packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later.
    SAMPLER_PACKING_DRAFTS: sampler_packing = 1;
    /// As DRAFTS, without the leading 0: packing_offsets is [num_sequences] (vLLM, V1).
    SAMPLER_PACKING_DRAFT_ENDS: sampler_packing = 2;
    /// The positions of sequence s are packing_offsets[s] to packing_offsets[s + 1] - 1,
    /// [num_sequences + 1], one more than its drafts. Arrays by draft have an entry for each position:
    /// entry i + 1 is draft i's, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
    /// s earlier.
    SAMPLER_PACKING_POSITIONS: sampler_packing = 3;
    /// The candidate's probability: LLaDA's low_confidence, Dream's maskgit_plus, SGLang, LMDeploy.
    /// Scores are log-probabilities, out_logprobs.
    SAMPLER_CONFIDENCE_PROBABILITY: sampler_confidence = 0;
    /// The likeliest token's probability less the second's: Dream's topk_margin. Scores are
    /// out_top_logprobs of at least two tokens; score_stride is num_top_logprobs.
    SAMPLER_CONFIDENCE_MARGIN: sampler_confidence = 1;
    /// Minus the entropy: Dream's entropy, and the EB sampler. Scores are out_entropies.
    SAMPLER_CONFIDENCE_ENTROPY: sampler_confidence = 2;
    /// The score as it is, +-inf too. A threshold that is on is above 0.
    SAMPLER_CONFIDENCE_GIVEN: sampler_confidence = 3;
    /// A uniform random number in [0, 1): LLaDA's random, Dream's origin. No scores.
    SAMPLER_CONFIDENCE_RANDOM: sampler_confidence = 4;
    /// Minus the row's number in its block: LMDeploy's sequential. No scores.
    SAMPLER_CONFIDENCE_POSITION: sampler_confidence = 5;
    /// nothing: masked still, or a token as before
    SAMPLER_UNMASK_KEPT: sampler_unmask_change = 0;
    /// the candidate took the mask's place
    SAMPLER_UNMASK_COMMITTED: sampler_unmask_change = 1;
    /// the candidate took another token's place
    SAMPLER_UNMASK_EDITED: sampler_unmask_change = 2;
    /// green lists by the last token
    SAMPLER_WATERMARK_LEFTHASH: sampler_watermark_scheme = 0;
    /// green lists by the last tokens, the drawn one among them
    SAMPLER_WATERMARK_SELFHASH: sampler_watermark_scheme = 1;
    /// SynthID-Text
    SAMPLER_WATERMARK_TOURNAMENT: sampler_watermark_scheme = 2;
    SAMPLER_TOKENS_OUTPUT: sampler_token_kind = 0;
    SAMPLER_TOKENS_PROMPT: sampler_token_kind = 1;
    SAMPLER_MAX_RANKS: u32 = 1024;
    SAMPLER_MAX_SHARD_EXCHANGES: u32 = 8;
    /// N-grams of 2 to `order` tokens. An unknown context backs off to its longest known end, down to
    /// its last token alone.
    SAMPLER_NGRAM_ALL_ORDERS: sampler_ngram_kind = 0;
    /// N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown.
    SAMPLER_NGRAM_ONE_LEVEL: sampler_ngram_kind = 1;
    /// The likeliest token. Filters are ignored; only adaptive_gamma uses the temperature.
    SAMPLER_PROCESSOR_GREEDY: sampler_processor = 0;
    /// drawn as by sampler_sample
    SAMPLER_PROCESSOR_SAMPLE: sampler_processor = 1;
    /// not finished: it continues, or the loop failed
    SAMPLER_FINISH_NONE: sampler_finish_reason = 0;
    /// the last token is an end token
    SAMPLER_FINISH_END_TOKEN: sampler_finish_reason = 1;
    /// max_new_tokens reached
    SAMPLER_FINISH_LENGTH: sampler_finish_reason = 2;
    /// prompt and new tokens fill the target's max_context
    SAMPLER_FINISH_CONTEXT: sampler_finish_reason = 3;
    /// on_tokens ended it
    SAMPLER_FINISH_CANCELLED: sampler_finish_reason = 4;
    /// the logits gave no token (NaN, +inf, all -inf)
    SAMPLER_FINISH_BAD_ROW: sampler_finish_reason = 5;
    /// the last tokens are a stop sequence; session.h only
    SAMPLER_FINISH_STOP_SEQUENCE: sampler_finish_reason = 6;
    /// gamma
    SAMPLER_GAMMA_FIXED: sampler_gamma_rule = 0;
    /// from the drafter's entropy, see adaptive_gamma
    SAMPLER_GAMMA_BY_ENTROPY: sampler_gamma_rule = 1;
    /// By measured cost and gain: the number with most tokens per second, 0 included. A time budget
    /// limits losses: it starts with the time of two rounds without drafts, and grows by 1/32 of the
    /// time without drafts and by what drafts gain; no round begins with drafts that may lose more. So
    /// unprofitable drafts lose at most that and, once, the first two rounds with drafts and the
    /// drafter's prefill; a step's excess over its measured cost is lost in one round. Times, and so
    /// numbers of drafts and sampled texts, differ from run to run: their distribution is exact, but
    /// the seed does not fix them. Greedy texts are those of sampler_autoregressive.
    SAMPLER_GAMMA_MEASURED: sampler_gamma_rule = 2;
    /// They keep their places among the num_beams of the text, and their scores, until better beams
    /// displace them. So fewer and fewer beams continue.
    SAMPLER_BEAMS_SHARED: sampler_beam_rule = 0;
    /// They go to a pool, and num_beams continue in each step, as in Hugging Face's generate. All
    /// continuations of a text's beams are ranked by summed log-probability. Those among the first
    /// num_beams that end (by an end token, or all at max_new_tokens and max_context) enter the pool,
    /// which keeps the num_beams best scores, the earliest on ties; the first num_beams that do not
    /// end continue. top_k is not used. Results are the pool's. Hugging Face's length_penalty is alpha
    /// with min_length 0; `early_stopping` is early_stop.
    SAMPLER_BEAMS_POOL: sampler_beam_rule = 1;
    SAMPLER_DRAFTS_NONE: sampler_draft_source = 0;
    /// a drafter model, run by the caller
    SAMPLER_DRAFTS_MODEL: sampler_draft_source = 1;
    /// a sampler_ngram, which sequences may share
    SAMPLER_DRAFTS_NGRAM: sampler_draft_source = 2;
    /// the sequence's own lookup, in the session's memory
    SAMPLER_DRAFTS_PROMPT_LOOKUP: sampler_draft_source = 3;
}

structs! {
    /// Rows of logits or probabilities, row_stride elements apart. Never written.
    sampler_rows {
        /// [num_rows, num_cols] Elements of type `dtype`. Required, unless num_rows is 0.
        values: *const c_void = null();
        /// Rows, in [0, 2^31). 0: the call does nothing.
        num_rows: i64 = 0;
        /// Columns: the vocabulary, or the capacity for candidates. In [1, 2^20).
        num_cols: i64 = 0;
        /// Elements from one row to the next, at least num_cols. 0: num_cols.
        row_stride: i64 = 0;
        /// [num_rows, num_cols] Candidate lists, for engines that hold (id, logit) pairs instead of whole
        /// rows. Laid out like `values`: the token id of each element, in [0, 2^20), in any order,
        /// distinct within a row. A list of all ids gives the same token as the row. NULL: an element's id
        /// is its column.
        candidate_ids: *const c_void = null();
        /// [num_rows] Elements of each row, in [0, num_cols]; later ones are not read. The length of each
        /// list with candidate_ids, of each row without. NULL: num_cols.
        candidate_counts: *const i32 = null();
        dtype: sampler_dtype = 0;
        kind: sampler_input_kind = 0;
        /// Type of candidate_ids.
        candidate_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
    }
    /// Random numbers: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each triple
    /// once: a sequence takes a seed, or a stream of one, and its position as the offset.
    ///
    /// Arrays are in the handle's memory, read when the work runs, and indexed by slot, or by row in
    /// calls without slots.
    sampler_random {
        seed: u64 = 0;
        offset: u64 = 0;
        /// [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. NULL and 0:
        /// `seed`, `offset`.
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        /// [slots] Stream of each slot, such as a request id where all share a seed. NULL: the slot's
        /// number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
        /// token depends on its seed and offset alone, not on its place.
        streams: *const u32 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
    }
    /// Stream and workspace of a call.
    sampler_exec {
        /// Stream of the work. Ignored by a CPU handle.
        stream: sampler_stream = null_mut();
        /// Memory for the call, at least as many bytes as its _workspace_size function returns; any
        /// alignment. NULL and 0: the handle's. Calls that share a workspace must not overlap in time: one
        /// thread, or one stream. Its contents are undefined before and after a call.
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Source of memory. Both functions NULL: the C library's malloc. A view: it never grows.
    sampler_allocator {
        allocate: sampler_allocate_fn = None;
        deallocate: sampler_deallocate_fn = None;
        user: *mut c_void = null_mut();
    }
    sampler_options {
        /// sizeof(sampler_options).
        struct_size: usize = size_of::<Self>();
        /// SAMPLER_ABI_VERSION of the headers that the caller was compiled with.
        abi_version: u32 = SAMPLER_ABI_VERSION;
        /// Device of this handle's arrays.
        device_type: sampler_device_type = 0;
        /// CUDA device number, from 0. 0 for the CPU. Calls use the device's primary context, as CUDA's
        /// runtime does, so streams and arrays must belong to it; the handle retains it
        /// until destroyed.
        device_id: i32 = 0;
        /// CPU: rows processed at once, in [1, 256]; 0 is 1, the caller's thread alone. If more, and
        /// without `parallel_for`, the threads are started here, once, and sleep between calls. In a child
        /// process that has a copy of the handle, from fork() or, from Linux 4.14 on, clone(), the handle
        /// uses only the caller's thread, and is free even if another thread's call was using it then.
        num_threads: i32 = 0;
        /// The handle's workspace: fits any operation on up to `max_rows` output rows of up to `max_cols`
        /// columns, except these, which need more: calls with stages of pipeline.h, with out_removed_by or
        /// out_kept_offsets; scores of candidate lists, and on a CUDA device reports on them;
        /// sampler_verify other than dense chains by the standard rule, or with draft_params,
        /// draft_row_params, forced_token_ids, reports, out_positions or out_kv_indices. 0 and 0: none,
        /// each call brings its own. One without the other is an error. max_rows in [0, 2^31), max_cols in
        /// [0, 2^20).
        max_rows: i64 = 0;
        max_cols: i64 = 0;
        /// Runs a call's tasks on the caller's threads instead of the handle's. NULL: the handle's.
        parallel_for: sampler_parallel_for_fn = None;
        parallel_for_user: *mut c_void = null_mut();
        /// Memory for the handle, its workspace and the decoding loops. All 0: the C library's.
        allocator: sampler_allocator = sampler_allocator::INIT;
        /// NULL: the library is silent.
        log: sampler_log_fn = None;
        log_user: *mut c_void = null_mut();
        /// Token of a bad row: -1, or, when `use_fallback_token` is 1, this id. It must then lie in
        /// [0, num_cols) of every call on rows, in [0, 2^20) on candidate lists.
        fallback_token_id: i64 = 0;
        use_fallback_token: i32 = 0;
        /// CUDA. 1: numbers per row, slot or block (the arrays of sampler_row_params and sampler_random,
        /// selected_counts, block_num_committed and block_num_steps_left) are host arrays. They travel
        /// with the launch, in its stream, without a wait, and may be reused when the call returns; a
        /// captured graph replays the values at capture. All other arrays stay on the device. A call needs
        /// up to 36 bytes more workspace per slot, up to 88 more with stages of pipeline.h, and 8 per
        /// block. 0: they are device arrays like all others. A CPU handle ignores it.
        host_parameters: i32 = 0;
        /// CUDA. 1: every call checks that its arrays and workspace are memory of the handle's device, or
        /// managed or mapped, and host_parameters' arrays host memory; INVALID_ARGUMENT names the wrong
        /// one. For debugging: one driver query per array. 0: no check. A CPU handle ignores it.
        check_pointers: i32 = 0;
        /// Must be 0.
        reserved: i32 = 0;
    }
    sampler_capabilities {
        /// sizeof(sampler_capabilities), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// sampler_version() and sampler_abi_version().
        version: u32 = 0;
        abi_version: u32 = 0;
        /// SAMPLER_ISA_ bits: compiled in, usable on this machine, and the one that a new sampler would
        /// use (0 when SAMPLER_ISA names none that is usable).
        isa_compiled: u32 = 0;
        isa_usable: u32 = 0;
        isa_active: u32 = 0;
        /// 1 if built with CUDA, and the number of devices a handle can be created for (0 also without
        /// a driver).
        cuda_compiled: u32 = 0;
        num_cuda_devices: u32 = 0;
        /// Processors that the calling thread may run on, at least 1.
        num_processors: u32 = 0;
    }
    /// Lists of token ids, concatenated: list i is token_ids[offsets[i]] to
    /// token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: no lists.
    ///
    /// For lists by slot, num_lists is the number of slots, or 1: one list for all. Rows whose offsets
    /// decrease, or lie outside [0, num_token_ids], are bad (INVALID_LIST).
    sampler_token_lists {
        /// [num_lists + 1] Ascending.
        offsets: *const i64 = null();
        /// [num_token_ids] Of the pipeline's token_id_type. May be NULL if empty.
        token_ids: *const c_void = null();
        num_lists: i64 = 0;
        num_token_ids: i64 = 0;
    }
    /// Arrays are in the handle's memory and read when the work runs.
    sampler_pipeline {
        /// sizeof(sampler_pipeline).
        struct_size: usize = size_of::<Self>();
        /// Type of every token id in this struct.
        token_id_type: sampler_id_type = 0;
        token_bitmask_rule: sampler_mask_rule = 0;
        /// By slot: the tokens so far, oldest first: prompt, then output. Penalties, DRY, n-grams, bad
        /// words and min_new_tokens need it.
        history: sampler_token_lists = sampler_token_lists::INIT;
        /// [slots] Prompt tokens in each history, in [0, its length]; others make the row bad
        /// (INVALID_LIST). NULL: 0, all is output.
        prompt_lengths: *const i32 = null();
        /// Upper bound of history lengths; rows with a longer one are bad (INVALID_LIST). DRY and n-grams
        /// take 4 bytes of workspace per token of it. In [0, 2^31). 0: history.num_token_ids, or the
        /// state's max_tokens.
        max_history_tokens: i64 = 0;
        /// Classifier-free guidance (Sanchez et al. 2023): rows of logits u of the same tokens, as after
        /// another prompt, which make the call's logits x into u + guidance_scale * (x - u). They have the
        /// type, columns and stride of the call's logits; in a call with candidate_ids their elements are
        /// those of its rows. x stays where it or u is -inf; else a NaN or +inf makes the row bad
        /// (INVALID_VALUE). Only read where a slot's guidance_scale is on. Not for loops;
        /// in sessions sampler_session_advance has them.
        guidance_logits: *const c_void = null();
        /// At least 1, and without guidance_row_indices one per output row; 0 if guidance_logits is
        /// NULL.
        num_guidance_rows: i64 = 0;
        /// [output rows] The guidance row of each row; negative: none; num_guidance_rows or more: the row
        /// is bad (INVALID_INDEX). NULL: row i has row i.
        guidance_row_indices: *const i32 = null();
        /// By slot: tokens with a bias, added to their logits.
        biased: sampler_token_lists = sampler_token_lists::INIT;
        /// [biased.num_token_ids] Finite or -inf; other values make the row bad (INVALID_PARAMETER).
        /// Biases of an id listed twice are both added, in list order.
        biases: *const f32 = null();
        /// A list for each entry of biased.token_ids, [biased.num_token_ids]: its bias is added only where
        /// the history ends in these tokens (Hugging Face's sequence_bias: the last token is biased, the
        /// others are the list). Empty lists: always. It needs a history. A row with an invalid list is
        /// bad (INVALID_LIST). offsets NULL: always, for all.
        bias_contexts: sampler_token_lists = sampler_token_lists::INIT;
        /// [num_dense_biases, dense_bias_stride] Bias by id: one row for all slots, or one each. Ids from
        /// dense_bias_stride on get none. Stride 0: num_cols, but candidate_ids require a stride.
        dense_bias: *const f32 = null();
        num_dense_biases: i64 = 0;
        dense_bias_stride: i64 = 0;
        /// By slot: the only tokens that may be drawn, unless the slot's list is empty. Duplicates
        /// are allowed.
        allowed: sampler_token_lists = sampler_token_lists::INIT;
        /// By slot: tokens that must not be drawn.
        banned: sampler_token_lists = sampler_token_lists::INIT;
        /// By slot: tokens that must not be drawn before the output has min_new_tokens tokens, and that
        /// the exponential decay makes likelier.
        stop: sampler_token_lists = sampler_token_lists::INIT;
        /// By slot: tokens that repetition, frequency and presence penalties leave as they are, such as
        /// newlines and ends.
        unpenalized: sampler_token_lists = sampler_token_lists::INIT;
        /// Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words
        /// from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. NULL: every slot has all. A word's
        /// last token is banned where the history ends in the others. A word without tokens makes its rows
        /// bad (INVALID_LIST).
        bad_words: sampler_token_lists = sampler_token_lists::INIT;
        bad_word_offsets: *const i64 = null();
        /// DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic
        /// order. Others make rows with DRY bad (INVALID_LIST).
        dry_breakers: sampler_token_lists = sampler_token_lists::INIT;
        /// [num_token_bitmasks, token_bitmask_stride] Bit i of word j is 1 where id 32 j + i may be drawn
        /// (xgrammar). Ids from 32 token_bitmask_stride on, as in a padded vocabulary, are allowed unless
        /// token_bitmask_rule is FORBIDS. The stride, in words, is also the length of a mask; 0:
        /// ceil(num_cols / 32), but candidate_ids require a stride. At least 1 mask, and without
        /// token_bitmask_indices one per output row; 0 if token_bitmasks is NULL.
        token_bitmasks: *const u32 = null();
        num_token_bitmasks: i64 = 0;
        token_bitmask_stride: i64 = 0;
        /// [output rows] The mask of each row; negative: none; num_token_bitmasks or more: the row is bad
        /// (INVALID_INDEX). NULL: row i has mask i, and there must be one for each.
        token_bitmask_indices: *const i32 = null();
        /// Replaces history, prompt_lengths and adaptive_values, which must be NULL then: slot s of the
        /// call is slot s of the state, and the call has at most the state's slots. It belongs to the same
        /// handle, and is only read.
        state: sampler_state_t = null_mut();
        /// [slots, SAMPLER_NUM_ADAPTIVE_VALUES] For callers without a state, who update them from
        /// out_observations by section 14.2 of docs/contract.md. NaN is the start of its stage; infinity
        /// makes the row bad (INVALID_PARAMETER), even with the stage off. NULL: all start.
        adaptive_values: *const f32 = null();
    }
    /// Temperature, filters, how they combine, and the parameters of the edits before them.
    sampler_params {
        /// sizeof(sampler_params).
        struct_size: usize = size_of::<Self>();
        /// Divides the logits. At most 1e-5 (0 and negative too): greedy, the first token in rank order
        /// whatever the filters. At most 2^64. Probabilities are used as given: the temperature must be 1,
        /// or at most 1e-5. Not NaN. Default 1.
        temperature: f32 = 1.0;
        /// Keeps the shortest prefix of rank order whose probability, relative to the filter's input, is
        /// at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020). >= 1:
        /// off; <= 0: one token. Not NaN. Default 1.
        top_p: f32 = 1.0;
        /// Keeps tokens at least min_p times as likely as the likeliest (Nguyen et al. 2024). <= 0: off;
        /// above 1: 1. Not NaN. Default 0.
        min_p: f32 = 0.0;
        /// Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0.
        top_k: i32 = 0;
        /// How the filters combine. All default to 0, the first constant of their enumeration.
        top_k_ties: sampler_tie_rule = 0;
        top_p_ties: sampler_tie_rule = 0;
        filter_order: sampler_filter_order = 0;
        temperature_order: sampler_temperature_order = 0;
        /// Edits: see pipeline.h. All are off by default. Floats are finite.
        ///
        /// Classifier-free guidance by pipeline.guidance_logits. 0 and 1: off.
        guidance_scale: f32 = 0.0;
        /// Penalties on tokens in the history: positive logits are divided by repetition_penalty, others
        /// multiplied by it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty is
        /// subtracted once per occurrence, presence_penalty once.
        repetition_penalty: f32 = 0.0;
        frequency_penalty: f32 = 0.0;
        presence_penalty: f32 = 0.0;
        /// Number of last history tokens that count. <= 0: all.
        penalty_window: i32 = 0;
        penalty_scope: sampler_penalty_scope = 0;
        penalty_form: sampler_penalty_form = 0;
        /// The exponential decay length penalty (Hugging Face): from the output's token
        /// exponential_decay_start on, the n-th token from there has the logits x of pipeline.stop at
        /// x + |x| * (exponential_decay_factor^n - 1).
        ///
        /// negative: 0
        exponential_decay_start: i32 = 0;
        /// 0 and 1: off; not negative
        exponential_decay_factor: f32 = 0.0;
        /// DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of
        /// n >= dry_allowed_length tokens loses dry_multiplier * dry_base^(n - dry_allowed_length).
        ///
        /// <= 0: off
        dry_multiplier: f32 = 0.0;
        /// 0: 1.75; below 1: off
        dry_base: f32 = 0.0;
        /// 0: 2; negative: 0
        dry_allowed_length: i32 = 0;
        /// last tokens searched for repeats; <= 0: all
        dry_window: i32 = 0;
        /// Bans tokens that would complete an n-gram of the history. <= 0: off.
        no_repeat_ngram_size: i32 = 0;
        /// pipeline.stop is banned before the output has min_new_tokens tokens. <= 0: no minimum.
        min_new_tokens: i32 = 0;
        /// History searched for bad words. OUTPUT: the output (vLLM); the others: all.
        bad_word_scope: sampler_penalty_scope = 0;
        /// Truncation windows: see pipeline.h. All are off by default, and none is NaN.
        ///
        /// Dynamic temperature: from max(0, T - range) to T + range, by (H / H_max)^exponent, H the
        /// entropy of its input (kalomaze 2023). Logits only.
        ///
        /// <= 0: off
        dynamic_temperature_range: f32 = 0.0;
        /// 0: 1; negative: 0
        dynamic_temperature_exponent: f32 = 0.0;
        /// locally typical sampling (Meister et al. 2023). <= 0, >= 1: off
        typical_p: f32 = 0.0;
        /// n population standard deviations (Tang et al. 2024). <= 0: off
        top_n_sigma: f32 = 0.0;
        /// (Hewitt et al. 2022). <= 0, >= 1: off
        epsilon_cutoff: f32 = 0.0;
        /// (Hewitt et al. 2022). <= 0, >= 1: off
        eta_cutoff: f32 = 0.0;
        /// (Potraghloo et al. 2025). <= 0, >= 1: off
        top_h: f32 = 0.0;
        /// (Tan, Wu, Howard 2025). NONE: off
        p_less: sampler_p_less_kind = 0;
        /// tau of min-k (Ding et al. 2026), the tokens kept of a flat row times the range of its logits.
        /// <= 0: off. 3 is usual; the smallest float keeps what stands before the fall alone.
        min_k: f32 = 0.0;
        /// times the largest probability squared (KoboldAI 2022). <= 0: off
        top_a: f32 = 0.0;
        /// exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only
        xtc_probability: f32 = 0.0;
        /// 0: 0.1; negative: 0; above 0.5: off
        xtc_threshold: f32 = 0.0;
        typical_p_ties: sampler_tie_rule = 0;
        /// Every window, top-k, top-p and min-p included, keeps at least min_keep tokens, if it
        /// has them.
        ///
        /// <= 1: one
        min_keep: i32 = 0;
        /// The order of all stages; 0 ends the list. Edits come first, ADAPTIVE last. Each enabled stage
        /// must be listed, none twice. With a list, filter_order must be SEQUENTIAL, which then has no
        /// effect, or JOINT, with the listed ones of top-k, top-p and min-p adjacent; temperature_order
        /// must be FIRST. All 0: the order of sampler_stage, with filter_order and temperature_order
        /// as documented.
        stages: [sampler_stage; SAMPLER_MAX_STAGES as usize] = [0; SAMPLER_MAX_STAGES as usize];
        /// Adaptive stages: see pipeline.h. All are off by default. Greedy rows ignore them. Drawn tokens
        /// update them: see pipeline.adaptive_values and sampler_accept.
        ///
        /// NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
        /// probability (negative: off; above 1: 1), or smoothing's factor (0: off; not negative). The
        /// rate is mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99),
        /// both 0 where negative, or smoothing's curve (0: 1; from 1 to 3). Both are finite, and ignored
        /// with NONE.
        adaptive_kind: sampler_adaptive_kind = 0;
        adaptive_target: f32 = 0.0;
        adaptive_rate: f32 = 0.0;
        /// After each token the running top_p, initially top_p, is multiplied by top_p_decay, down
        /// to top_p_least.
        ///
        /// <= 0, >= 1: off. Not NaN
        top_p_decay: f32 = 0.0;
        /// finite
        top_p_least: f32 = 0.0;
        /// Sums and ties. All default to 0, the first constant of their enumeration.
        ///
        /// Whether the kept probability of top-p and typical-p must reach or exceed the threshold.
        top_p_sum: sampler_sum_rule = 0;
        typical_p_sum: sampler_sum_rule = 0;
        /// Ties of epsilon and eta: KEEP keeps all tokens equal to the last one that min_keep requires, so
        /// all of the likeliest where no token reaches the threshold.
        cutoff_ties: sampler_tie_rule = 0;
    }
    /// Parameters by slot: [number of slots] each, in the handle's memory, or host memory with the
    /// handle's host_parameters. NULL: the scalar of that name for all. Every value has the scalar's
    /// meaning. NaN, or a temperature not allowed with probabilities, makes the slot's rows bad.
    sampler_row_params {
        /// sizeof(sampler_row_params).
        struct_size: usize = size_of::<Self>();
        temperature: *const f32 = null();
        top_p: *const f32 = null();
        min_p: *const f32 = null();
        top_k: *const i32 = null();
        guidance_scale: *const f32 = null();
        repetition_penalty: *const f32 = null();
        frequency_penalty: *const f32 = null();
        presence_penalty: *const f32 = null();
        penalty_window: *const i32 = null();
        exponential_decay_start: *const i32 = null();
        exponential_decay_factor: *const f32 = null();
        dry_multiplier: *const f32 = null();
        dry_base: *const f32 = null();
        dry_allowed_length: *const i32 = null();
        dry_window: *const i32 = null();
        no_repeat_ngram_size: *const i32 = null();
        min_new_tokens: *const i32 = null();
        dynamic_temperature_range: *const f32 = null();
        dynamic_temperature_exponent: *const f32 = null();
        typical_p: *const f32 = null();
        top_n_sigma: *const f32 = null();
        epsilon_cutoff: *const f32 = null();
        eta_cutoff: *const f32 = null();
        top_h: *const f32 = null();
        /// an unknown constant makes the row bad
        p_less: *const sampler_p_less_kind = null();
        min_k: *const f32 = null();
        top_a: *const f32 = null();
        xtc_probability: *const f32 = null();
        xtc_threshold: *const f32 = null();
        min_keep: *const i32 = null();
        /// Token that the slot yields regardless of all else: the end of a thinking budget, a replayed
        /// trace. Negative: none. An id outside the row makes it bad (INVALID_PARAMETER).
        /// sampler_sample only.
        forced_token_id: *const i64 = null();
        /// an unknown constant makes the row bad
        adaptive_kind: *const sampler_adaptive_kind = null();
        adaptive_target: *const f32 = null();
        adaptive_rate: *const f32 = null();
        top_p_decay: *const f32 = null();
        top_p_least: *const f32 = null();
        /// Token that resets the running top_p to top_p. Negative: none. NULL: none.
        top_p_reset_token_id: *const i64 = null();
    }
    /// Optional outputs beside the token ids, for sampler_sample, sampler_score, sampler_verify and
    /// sampler_session_advance; NULL: none.
    ///
    /// "Rows" are the rows of the call's tokens: the output rows of sampler_sample and sampler_score,
    /// [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
    /// sampler_session_advance. Token ids have the call's token_id_type, in sessions int32_t. Arrays are
    /// in the memory of the call's outputs. A count of 0 or a NULL array: not wanted. Reports that a
    /// call does not support must be 0; its documentation lists them.
    ///
    /// Reports describe the distribution of logprob_kind: the row as given (RAW), after its edits
    /// (EDITED), or as drawn from (PROCESSED), which excludes removed tokens. A greedy row is a single
    /// token in PROCESSED. Arithmetic: section 15 of docs/contract.md.
    sampler_report_args {
        /// sizeof(sampler_report_args).
        struct_size: usize = size_of::<Self>();
        /// The distribution of out_logprobs and of all members after out_observations.
        logprob_kind: sampler_logprob_kind = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [rows] Natural log-probability of the row's token; NaN for a bad row. For rows of probabilities
        /// it is relative to the row's sum.
        out_logprobs: *mut f32 = null_mut();
        /// [rows] The token's input value, widened to f32; NaN for a bad row.
        out_values: *mut f32 = null_mut();
        /// [rows] Number of kept tokens: 1 for a greedy row, 0 for a bad one.
        out_kept_counts: *mut i32 = null_mut();
        /// [rows] Input to the adaptive stage's update: the token's surprise in bits among those that
        /// mirostat kept, or its probability before adaptive-p changed it. NaN without an update.
        out_observations: *mut f32 = null_mut();
        /// [rows, num_top_logprobs] The distribution's first tokens in rank order, and their
        /// log-probabilities; padding, and all of a bad row, is -1 and NaN. num_top_logprobs in
        /// [0, num_cols]; either array may be NULL, not both.
        num_top_logprobs: i64 = 0;
        out_top_token_ids: *mut c_void = null_mut();
        out_top_logprobs: *mut f32 = null_mut();
        /// [rows, num_chosen] Log-probabilities of the caller's tokens: -inf outside the distribution; NaN
        /// for ids outside the row, and in bad rows. num_chosen in [0, num_cols]; unless it is 0 both
        /// are required.
        num_chosen: i64 = 0;
        chosen_token_ids: *const c_void = null();
        out_chosen_logprobs: *mut f32 = null_mut();
        /// [rows] Rank of the row's token in the distribution, from 1; 0 for a bad row, and for a forced
        /// token outside the distribution.
        out_ranks: *mut i32 = null_mut();
        /// [rows] The distribution's entropy in nats, >= 0; NaN for a bad row.
        out_entropies: *mut f32 = null_mut();
        /// [rows, kept_bitmask_stride] The kept tokens, laid out like token_bitmasks; all 0 in a bad row.
        /// The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 * stride on have no
        /// bit. The stride is required with candidate_ids.
        out_kept_bitmask: *mut u32 = null_mut();
        kept_bitmask_stride: i64 = 0;
        /// [rows, kept_capacity] The kept tokens by ascending id, and their probabilities, which sum to 1
        /// up to rounding and equal sampler_filter's; padding, and all of a bad row, is -1 and 0. A row
        /// that keeps more than kept_capacity has an empty list; its count is in out_kept_counts. In
        /// [0, num_cols]; either array may be NULL, not both.
        kept_capacity: i64 = 0;
        out_kept_token_ids: *mut c_void = null_mut();
        out_kept_probabilities: *mut f32 = null_mut();
        /// [rows + 1] Packs the kept lists (CSR): row i's are the entries [offsets[i], offsets[i + 1]) of
        /// out_kept_token_ids and out_kept_probabilities, without gaps; a bad row's is empty.
        /// kept_capacity is then the size of each of the two arrays, for all rows together, at most 2^51;
        /// with 0 both may be NULL. If the lists do not all fit, neither array is written, but the offsets
        /// are: the lists are valid if the last offset is at most kept_capacity, else it is the size
        /// needed. Entries from the last offset on are not written. A call without rows writes one offset,
        /// 0. NULL: lists of kept_capacity entries per row, as above. The workspace grows by up to
        /// kept_capacity entries.
        out_kept_offsets: *mut i64 = null_mut();
        /// [rows, num_cols] Per element: the SAMPLER_STAGE_ that removed it (sampler_stage_name), 0 if
        /// kept, 255 if its input probability is 0 or the row has no such element; 255 everywhere in a bad
        /// row. For edits, the one after which the logit is -inf; with JOINT filters the first of top-k,
        /// top-p and min-p that removes it; in a greedy row TEMPERATURE, for tokens that the edits left.
        /// Sorts the row: some milliseconds for 128,256 columns.
        out_removed_by: *mut u8 = null_mut();
    }
    sampler_sample_args {
        /// sizeof(sampler_sample_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        /// [num_row_indices] The input row of each output row, in [0, input.num_rows); other values make
        /// the output row bad. There are then num_row_indices output rows, in [0, 2^31). Output rows with
        /// the same input row and parameters share its preparation. NULL and 0: output row i draws from
        /// input row i.
        row_indices: *const i32 = null();
        num_row_indices: i64 = 0;
        /// [output rows] The slot of each output row, in [0, num_slots); other values make the row bad.
        /// For engines that keep parameters, seeds and offsets per sequence, in arrays of num_slots
        /// entries: row_params and random are indexed by slot, logits by row. NULL and 0: output row i has
        /// slot i.
        slots: *const i32 = null();
        num_slots: i64 = 0;
        /// NULL: temperature 1 and no filter.
        params: *const sampler_params = null();
        /// NULL: `params` for all.
        row_params: *const sampler_row_params = null();
        /// Edits of the logits. NULL: none.
        pipeline: *const sampler_pipeline = null();
        random: sampler_random = sampler_random::INIT;
        /// GUMBEL rounds logit / temperature + noise to f32: logits above about 1,000 in size coarsen the
        /// noise, and sums beyond 2^126, or -2^126, tie, so that the lowest of their ids is drawn.
        draw_method: sampler_draw_method = 0;
        /// Type of out_token_ids, and of ids in reports.
        token_id_type: sampler_id_type = 0;
        /// [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
        /// for a bad row. Required.
        out_token_ids: *mut c_void = null_mut();
        /// [output rows] SAMPLER_ROW_ bits. NULL: not wanted.
        out_row_status: *mut sampler_row_status = null_mut();
        /// Optional outputs per output row; all of sampler_report_args is supported. NULL: none.
        reports: *const sampler_report_args = null();
    }
    sampler_score_args {
        /// sizeof(sampler_score_args).
        struct_size: usize = size_of::<Self>();
        /// As in sampler_sample_args. Several output rows may score tokens of one input row. Random
        /// numbers are those of XTC alone. row_params->forced_token_id must be NULL.
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        row_indices: *const i32 = null();
        num_row_indices: i64 = 0;
        slots: *const i32 = null();
        num_slots: i64 = 0;
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        pipeline: *const sampler_pipeline = null();
        random: sampler_random = sampler_random::INIT;
        /// Type of token_ids, of kept, and of ids in reports.
        token_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [output rows] The tokens to score. A negative one, and one outside the row, makes the row bad
        /// (INVALID_PARAMETER), which suits padding. Required.
        token_ids: *const c_void = null();
        /// A list for each output row: the tokens that were kept when its token was drawn, in any order.
        /// They replace filters, windows and pipeline.allowed: PROCESSED log-probabilities are relative to
        /// them, after the edits, at the temperature. A row with an empty list is bad (EMPTY).
        ///
        /// num_lists is the number of output rows; num_token_ids may be more than the last offset, so
        /// out_kept_offsets and out_kept_token_ids of an earlier call do as they are. Logits only;
        /// reports->logprob_kind must be PROCESSED, the kind that depends on what was kept. Dynamic
        /// temperature, adaptive-p and smoothing, which depend on more, must be off, and not given by slot.
        ///
        /// offsets NULL: filters and windows decide, as in sampler_sample.
        kept: sampler_token_lists = sampler_token_lists::INIT;
        /// [output rows] SAMPLER_ROW_ bits. NULL: not wanted.
        out_row_status: *mut sampler_row_status = null_mut();
        /// Outputs per output row, out_logprobs among them. NULL: none.
        reports: *const sampler_report_args = null();
    }
    sampler_filter_args {
        /// sizeof(sampler_filter_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        /// [input.num_rows] As in sampler_sample_args.
        slots: *const i32 = null();
        num_slots: i64 = 0;
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        /// PROBABILITIES: softmax of the kept tokens, which sums to 1 up to rounding; one-hot when greedy;
        /// exactly 0 throughout a bad row. VALUES: kept logits unchanged, -inf elsewhere; a bad row is
        /// copied. VALUES needs logits.
        output_kind: sampler_output_kind = 0;
        /// SAMPLER_F32 or input.dtype.
        output_dtype: sampler_dtype = 0;
        /// [input.num_rows, input.num_cols] Rows output_stride elements apart, at least num_cols; 0:
        /// num_cols. With candidate lists an element belongs to the candidate at the same position, and
        /// those past a row's last one are written as removed. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. NULL: not wanted.
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        /// Edits of the logits, as in sampler_sample_args: VALUES writes the edited logits.
        pipeline: *const sampler_pipeline = null();
    }
    sampler_select_args {
        /// sizeof(sampler_select_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        /// Maximum tokens per row: columns of the outputs, in [1, input.num_cols].
        num_selected: i64 = 0;
        /// [input.num_rows] Tokens per row. <= 0 or >= num_selected: num_selected. In host memory with the
        /// handle's host_parameters. NULL: num_selected for all.
        selected_counts: *const i32 = null();
        /// Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.
        output_dtype: sampler_dtype = 0;
        token_id_type: sampler_id_type = 0;
        /// [input.num_rows, num_selected] Values and ids, in rank order and contiguous. +inf is an
        /// ordinary value here; NaN makes the row bad. Missing tokens, and all of a bad row, are -inf
        /// (probabilities: 0) and -1. Either array may be NULL, not both.
        out_values: *mut c_void = null_mut();
        out_token_ids: *mut c_void = null_mut();
        /// [input.num_rows] Tokens written per row; 0 for a bad row. NULL: not wanted.
        out_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    /// The acceptance rule and its parameters, shared by sampler_verify, sampler_speculative and
    /// sessions. NULL, or all 0: the context's rule and the defaults. Parameters of unused rules are
    /// checked, too.
    sampler_acceptance_params {
        /// sizeof(sampler_acceptance_params).
        struct_size: usize = size_of::<Self>();
        rule: sampler_acceptance = 0;
        /// sampler_verify only; 0 elsewhere: how siblings of a tree were drafted, 0 without trees; and how
        /// SAMPLE_MATCH draws, INVERSE_CDF with other rules.
        sibling_rule: sampler_sibling_rule = 0;
        draw_method: sampler_draw_method = 0;
        /// Not NaN, not negative.
        ///
        /// 0: 1
        relaxed_top_k: i32 = 0;
        /// difference of probabilities
        relaxed_delta: f32 = 0.0;
        /// 0: 0.09
        typical_threshold: f32 = 0.0;
        /// 0: 0.3
        typical_scale: f32 = 0.0;
        /// 0: 1
        threshold_single: f32 = 0.0;
        /// 0: 1
        threshold_total: f32 = 0.0;
        /// nats; at least this is uncertain. 0: 0.3
        deferred_entropy: f32 = 0.0;
        /// first tokens in the entropy. 0: 3
        deferred_top_k: i32 = 0;
        /// 0: min(6, max drafts per sequence - 1), at least 1
        deferred_window: i32 = 0;
        /// [max drafts per sequence] In [0, 1], by the draft's index in its sequence. In host memory, read
        /// during the call. Required by SYNTHETIC; NULL: no sequence has that rule.
        synthetic_rates: *const f32 = null();
    }
    /// Layout of drafts and rows in sampler_verify. All 0, or NULL in sampler_verify_args: dense chains,
    /// one sequence after the other. Arrays are in the handle's memory and read when the work runs.
    /// Dense chains by the standard rule are faster with no member set but the two sequence strides.
    sampler_draft_layout {
        /// sizeof(sampler_draft_layout).
        struct_size: usize = size_of::<Self>();
        /// Dense: elements from one sequence's first row to the next one's, of `target` and of `draft`, at
        /// least the size of a sequence. 0: contiguous, or no draft.
        target_sequence_stride: i64 = 0;
        draft_sequence_stride: i64 = 0;
        /// Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
        /// num_drafts; 0: num_drafts.
        draft_token_stride: i64 = 0;
        /// Packed batches. num_sequences is required with packing, and with target_row_indices or
        /// bonus_row_indices, and may be 0; otherwise 0 takes it from target.num_rows. Sequences have at
        /// most num_drafts drafts; a sequence whose offsets decrease, lie outside, or are further apart is
        /// bad (INVALID_LIST). With packing draft_counts must be NULL.
        packing: sampler_packing = 0;
        /// 1: the row of `draft` for draft i is slot * num_drafts + i (vLLM, V2).
        draft_rows_by_slot: i32 = 0;
        packing_offsets: *const i32 = null();
        num_sequences: i64 = 0;
        /// Packed only: entries of arrays by draft (0 with POSITIONS), and by position (with other
        /// packings only for target_row_indices).
        num_packed_drafts: i64 = 0;
        num_packed_positions: i64 = 0;
        /// [num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` for each
        /// position. With bonus_row_indices, [num_sequences], which has those of each sequence's last
        /// position, target_row_indices is laid out by draft, like draft_token_ids, and required if there
        /// may be drafts. NULL: position after position. An index outside makes its sequence bad
        /// (INVALID_INDEX) when read. `target` then has any number of rows.
        target_row_indices: *const i32 = null();
        bonus_row_indices: *const i32 = null();
        /// [num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
        /// each draft was drawn from. `draft` then has any number of rows.
        draft_row_indices: *const i32 = null();
        /// Trees. Each draft's parent, a lower index, -1 for the root: [tree_rows, num_drafts]. Or
        /// first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of its
        /// first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree for
        /// all, or num_sequences; 0: num_sequences. A draft with two parents, or in a cycle, makes its
        /// sequence bad (INVALID_TREE). NULL: a chain. Dense only.
        ///
        /// Siblings are tried in order. A rejected one leaves the residual to the next, by
        /// acceptance->sibling_rule. BLOCK and DEFERRED are for chains.
        parents: *const i32 = null();
        first_children: *const i32 = null();
        next_siblings: *const i32 = null();
        tree_rows: i64 = 0;
    }
    /// Members shared with sampler_sample_args mean the same.
    ///
    /// Probabilities are used as given, so they should sum to 1. Rows of logits become probabilities
    /// first: temperature and filters, then softmax in f32, exactly as sampler_filter writes them.
    sampler_verify_args {
        /// sizeof(sampler_verify_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
        /// after the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
        /// layout->target_sequence_stride, and determines num_sequences. In rows given as probabilities
        /// only the drafts' elements are read before the first rejection; a candidate list is read whole,
        /// so that any bad element makes the sequence bad.
        target: sampler_rows = sampler_rows::INIT;
        /// [num_sequences, num_drafts, num_cols] The distributions that the drafts were drawn from. Its
        /// num_cols is the target's. All 0: a deterministic drafter (its draft has probability 1), as with
        /// n-gram drafts. A token outside a candidate list has probability 0.
        draft: sampler_rows = sampler_rows::INIT;
        /// [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
        /// vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected with residual p. Required,
        /// unless num_drafts is 0. num_drafts is in [0, 65535].
        draft_token_ids: *const c_void = null();
        num_drafts: i64 = 0;
        /// [num_sequences] Drafts per sequence, in [0, num_drafts]; values outside are clamped and set a
        /// status. NULL: num_drafts.
        draft_counts: *const i32 = null();
        /// Packed batches, row indices, and trees. NULL: dense chains.
        layout: *const sampler_draft_layout = null();
        /// [num_sequences]
        slots: *const i32 = null();
        num_slots: i64 = 0;
        /// Temperature and filters of rows of logits, target and draft alike. If the target is
        /// probabilities the temperature must be 1 or greedy; if the draft is too (or absent), the filters
        /// must be off. A violation fails the call; in an array, it makes the sequence bad:
        /// SAMPLER_ROW_INVALID_PARAMETER. Greedy: drafts are accepted while they are the target's argmax,
        /// and the next token is the argmax too.
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        /// Temperature and filters of `draft`. NULL: the target's, which must then have no other stage if
        /// the draft is logits.
        draft_params: *const sampler_params = null();
        draft_row_params: *const sampler_row_params = null();
        /// Stages of the target's rows. At each position the history and adaptive values are as if the
        /// drafts before it had been accepted; nothing is changed. token_bitmask_indices is
        /// [num_sequences, num_drafts + 1], by position, in trees and packed batches too.
        pipeline: *const sampler_pipeline = null();
        /// [num_sequences, num_drafts + 1] By position, likewise: the token that is decided there whatever
        /// its row and the rule, of token_id_type, as at the end of a thinking budget. A draft that equals
        /// it is accepted; else it is emitted, and the drafts after it are rejected. Negative: none. An id
        /// outside the row makes the sequence bad (INVALID_PARAMETER) where it is reached. A chain with
        /// one is verified by STANDARD instead of BLOCK and DEFERRED, which decide on whole chains. NULL:
        /// none. row_params->forced_token_id must be NULL.
        forced_token_ids: *const c_void = null();
        /// One offset serves all positions of a sequence.
        random: sampler_random = sampler_random::INIT;
        /// The rule and its parameters. NULL, or rule 0: SAMPLER_ACCEPT_STANDARD, the fastest for
        /// dense chains.
        acceptance: *const sampler_acceptance_params = null();
        /// The rule by slot, 0: that of `acceptance`. An unknown constant, or a rule incompatible with the
        /// call, makes its sequence bad (INVALID_PARAMETER). NULL: `acceptance` for all.
        acceptances: *const sampler_acceptance = null();
        /// Type of draft_token_ids and out_token_ids, and of ids in reports.
        token_id_type: sampler_id_type = 0;
        /// 1: counts are added to the two arrays. 0: they overwrite them.
        accumulate_counts: i32 = 0;
        /// [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. All
        /// -1 for a bad sequence (the handle's fallback token first, if it has one). Required.
        out_token_ids: *mut c_void = null_mut();
        /// [num_sequences] each; NULL: not wanted. Drafts that would be accepted each on its own, at any
        /// position. Positions after the first rejection count only here: nothing there changes a token
        /// or, draft ids apart, a status. For trees, and for rules other than STANDARD, it
        /// equals out_emitted_counts.
        out_accepted_counts: *mut i32 = null_mut();
        /// Drafts kept before the first rejection: out_token_ids has one token more.
        out_emitted_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        /// Optional outputs per emitted token, in the order of out_token_ids, from the target's
        /// distribution at its position; without a token, as for a bad row. out_values, num_chosen,
        /// out_kept_offsets and out_removed_by, with their related members, must be 0. NULL: none.
        reports: *const sampler_report_args = null();
        /// [num_sequences, num_drafts + 1] Positions where the emitted tokens were decided, 0 first, then
        /// -1: the KV cache rows to keep. kv_indices, of the same shape, has a number per position (packed
        /// batches too); out_kv_indices has those of out_positions. NULL: not wanted.
        out_positions: *mut i32 = null_mut();
        kv_indices: *const i64 = null();
        out_kv_indices: *mut i64 = null_mut();
    }
    sampler_residual_args {
        /// sizeof(sampler_residual_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// [num_rows, num_cols] The target's probabilities, p. Used as given, so they should sum to 1. Not
        /// candidate lists.
        target: sampler_rows = sampler_rows::INIT;
        /// [num_rows, num_cols] The draft probabilities, q, of the same shape, used as given. All 0: a
        /// deterministic drafter, with its proposals in draft_token_ids.
        draft: sampler_rows = sampler_rows::INIT;
        /// [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. An id
        /// outside [0, num_cols) leaves p as the residual, and sets a status. Required if draft is all 0,
        /// else NULL.
        draft_token_ids: *const c_void = null();
        token_id_type: sampler_id_type = 0;
        /// SAMPLER_F32, or target.dtype.
        output_dtype: sampler_dtype = 0;
        /// [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
        /// left; 0 throughout a bad row. Rows start output_stride elements apart, at least num_cols; 0:
        /// num_cols. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [num_rows] NULL: not wanted. A row of p or q with a negative, NaN or infinite element is bad;
        /// an all-zero p is empty. An all-zero q subtracts nothing.
        out_row_status: *mut sampler_row_status = null_mut();
    }
    /// The rules by which candidates stand.
    sampler_unmask_params {
        /// sizeof(sampler_unmask_params).
        struct_size: usize = size_of::<Self>();
        /// Tokens that are mask_token_id, at least 0, are masked; a candidate that is it never stands.
        mask_token_id: i64 = 0;
        /// Positions of a whole block, for texts of a session, see sampler_session_add_args; else 0.
        block_length: i64 = 0;
        confidence: sampler_confidence = 0;
        /// Draws the order, without replacement, by softmax(confidence / order_temperature): Dream's
        /// alg_temp. At most 1e-5: strictly by confidence. At most 2^64. Not NaN. Off with RANDOM and
        /// POSITION.
        order_temperature: f32 = 0.0;
        /// Commits every row whose confidence is above it (SGLang, LMDeploy's dynamic rule), with ENTROPY
        /// every row whose entropy is below it. <= 0: off, and below 0 an error with GIVEN, whose scores
        /// may be negative. Not NaN. Off with POSITION.
        threshold: f32 = 0.0;
        /// ENTROPY: commits rows as long as the sum of the entropies before them, in nats, each at most
        /// 16, is at most the bound; so at least one (the EB sampler, Ben-Hamu et al. 2025). <= 0: off.
        /// Not NaN. Off with other confidences.
        entropy_bound: f32 = 0.0;
        /// Puts candidates in the place of other tokens than the mask, where they differ and the
        /// confidence is above it (with ENTROPY the entropy below): LLaDA 2.1's edits. <= 0: off, with
        /// GIVEN as above. Not NaN. Off with RANDOM and POSITION.
        edit_threshold: f32 = 0.0;
        /// Commits at least the first num_committed rows of the order. <= 0: none by number.
        num_committed: i32 = 0;
        /// Commits at least the first ceil(masked / num_steps_left) rows, which fills the block in
        /// num_steps_left steps: LLaDA's schedule, and Hugging Face's of num_transfer_tokens. <= 0: off.
        /// In a session: the steps of each block.
        num_steps_left: i32 = 0;
        /// For texts of a session. 0: blocks begin at multiples of block_length, so that the first one may
        /// have prompt tokens (SDAR, LLaDA 2). 1: the first one begins after the prompt (LLaDA, Dream).
        blocks_after_prompt: i32 = 0;
    }
    sampler_unmask_args {
        /// sizeof(sampler_unmask_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// Positions of all blocks, in [0, 2^31).
        num_rows: i64 = 0;
        /// [num_blocks + 1] Block b has the rows [block_offsets[b], block_offsets[b + 1]), which may be
        /// none. Offsets ascend, in [0, num_rows]; where any does not, all blocks are bad (INVALID_INDEX)
        /// and no row is written. Rows of no block are neither read nor written. NULL: blocks of
        /// num_rows / num_blocks rows, without a rest.
        block_offsets: *const i64 = null();
        /// In [0, 65536].
        num_blocks: i64 = 0;
        /// Type of candidate_token_ids and token_ids.
        token_id_type: sampler_id_type = 0;
        /// must be 0
        reserved: i32 = 0;
        /// NULL: all 0.
        params: *const sampler_unmask_params = null();
        /// [num_rows] A candidate for each row. A negative one never stands. Required.
        candidate_token_ids: *const c_void = null();
        /// [num_rows] SAMPLER_ROW_ bits. The candidate of a bad row never stands, nor that of a row with a
        /// NaN score. NULL: no other row is bad. Give it where a bad row has a fallback token.
        candidate_status: *const sampler_row_status = null();
        /// [num_rows, score_stride] The first score of each row is read, with MARGIN the first two.
        /// Required, or NULL, as params->confidence says.
        scores: *const f32 = null();
        /// In elements. 0: 1, with MARGIN 2.
        score_stride: i64 = 0;
        /// [num_rows] The positions' tokens, read and written. NULL: all rows are masked,
        /// params->mask_token_id must be 0, and edit_threshold off.
        token_ids: *mut c_void = null_mut();
        /// [num_rows] As in sampler_sample_args, for RANDOM and order_temperature; the candidate of a row
        /// with an invalid slot does not stand then. Random numbers follow from the slot and the row's
        /// place in its block: rows of a block may share a slot, blocks should not.
        slots: *const i32 = null();
        num_slots: i64 = 0;
        random: sampler_random = sampler_random::INIT;
        /// [num_blocks] num_committed and num_steps_left of each block. In host memory with the
        /// handle's host_parameters. NULL: those of `params`.
        block_num_committed: *const i32 = null();
        block_num_steps_left: *const i32 = null();
        /// [num_rows] What happened to each row: a SAMPLER_UNMASK_ constant. NULL: not wanted.
        out_changes: *mut u8 = null_mut();
        /// [num_rows] The confidences; NaN where there is none. NULL: not wanted.
        out_confidences: *mut f32 = null_mut();
        /// [num_blocks] Rows committed, rows edited, and rows that are masked still: 0 when the block is
        /// done. A bad block has 0, 0 and -1. NULL: not wanted.
        out_committed_counts: *mut i32 = null_mut();
        out_edited_counts: *mut i32 = null_mut();
        out_masked_counts: *mut i32 = null_mut();
        /// [num_blocks] SAMPLER_ROW_ bits of each block. NULL: not wanted.
        out_block_status: *mut sampler_row_status = null_mut();
    }
    sampler_watermark_params {
        /// sizeof(sampler_watermark_params).
        struct_size: usize = size_of::<Self>();
        scheme: sampler_watermark_scheme = 0;
        /// Tokens that a token's hash depends on besides it, in [1, 64]: transformers' context_width, of
        /// SELFHASH less 1, so that it may be 0; of TOURNAMENT ngram_len - 1.
        context_length: i32 = 0;
        /// Token ids lie in [0, vocabulary_size). In [2, 2^20).
        vocabulary_size: i64 = 0;
        /// Green lists: transformers' hashing_key, 15485863 there; and the share of green tokens,
        /// greenlist_ratio, in (0, 1), 0.25 there. TOURNAMENT: 0.
        key: i64 = 0;
        green_share: f64 = 0.0;
        /// Added to the logits of green tokens, finite: 2 there. TOURNAMENT: 0.
        bias: f32 = 0.0;
        /// For sampler_watermark_score. 1: tokens count whose context (of green lists with the token) came
        /// before. 0: only the first of them.
        keeps_repeated: i32 = 0;
        /// [num_keys] TOURNAMENT: a key for each layer, in [1, 64]. Green lists: 0, not read.
        keys: *const i64 = null();
        num_keys: i64 = 0;
        /// [table_size] What sampler_watermark_table wrote, for SELFHASH and TOURNAMENT; else not
        /// read, and 0. In [1, 2^24]; 0: 1000003 for SELFHASH, 65536 for TOURNAMENT, transformers' own.
        table: *const i32 = null();
        table_size: i64 = 0;
        /// Seed of the table of TOURNAMENT, sampling_table_seed; else 0.
        table_seed: u64 = 0;
    }
    sampler_state_options {
        /// sizeof(sampler_state_options).
        struct_size: usize = size_of::<Self>();
        /// In [1, 2^31).
        num_slots: i64 = 0;
        /// The longest sequence, its prompt included. In [1, 2^31).
        max_tokens: i64 = 0;
        /// Distinct tokens per slot with counts, 20 bytes each, in [0, max_tokens]; 0: a quarter of
        /// max_tokens, at least 64, at most max_tokens. A sequence with more is recounted in each draw:
        /// same results, but slower.
        max_distinct_tokens: i64 = 0;
        /// 1: keeps the adaptive values after each token, 16 bytes each, and truncating restores them. 0:
        /// truncating leaves them.
        keep_adaptive_values: i32 = 0;
        /// Must be 0.
        reserved: i32 = 0;
    }
    sampler_state_append_args {
        /// sizeof(sampler_state_append_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        state: sampler_state_t = null_mut();
        slots: *const i32 = null();
        num_rows: i64 = 0;
        /// A list per row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none: its
        /// offsets must be valid (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in
        /// [0, 2^31) (INVALID_LIST).
        tokens: sampler_token_lists = sampler_token_lists::INIT;
        token_id_type: sampler_id_type = 0;
        /// Prompt tokens after an output token make the row bad (INVALID_LIST).
        token_kind: sampler_token_kind = 0;
        /// [num_rows] Tokens in each slot afterwards; -1 for a bad slot. NULL: not wanted.
        out_lengths: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_accept_args {
        /// sizeof(sampler_accept_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        state: sampler_state_t = null_mut();
        slots: *const i32 = null();
        num_rows: i64 = 0;
        /// [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends
        /// at its first negative id; with a negative first id nothing happens. All of a row's tokens are
        /// accepted, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the
        /// slot's adaptive parameters valid (INVALID_PARAMETER), as reported in out_row_status. num_tokens
        /// in [1, 2^20].
        token_ids: *const c_void = null();
        num_tokens: i64 = 0;
        token_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows, num_tokens] out_observations of the call that drew the tokens. A NaN updates neither
        /// mirostat nor adaptive-p. NULL: all are NaN.
        observations: *const f32 = null();
        /// Those of that call: only the adaptive stage, top_p and its decay are read. Arrays by slot are
        /// indexed by this call's slots and have an entry per slot of the state. Both NULL: adaptive
        /// values do not change.
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        /// [slots of the state] In and out: each grows by the number of tokens its slot accepted. May be
        /// the draw's sampler_random.offsets, so that a loop of draw and accept needs no host. NULL: the
        /// caller updates offsets.
        offsets: *mut u64 = null_mut();
        /// [num_rows] As in sampler_state_append_args.
        out_lengths: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_state_truncate_args {
        /// sizeof(sampler_state_truncate_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        state: sampler_state_t = null_mut();
        slots: *const i32 = null();
        num_rows: i64 = 0;
        /// [num_rows] Tokens to keep. More than there are: all; negative: none. Required.
        lengths: *const i32 = null();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_state_copy_args {
        /// sizeof(sampler_state_copy_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// One state, or two of the same handle.
        source: sampler_state_t = null_mut();
        destination: sampler_state_t = null_mut();
        /// [num_rows] Both required. A source may serve many rows. Within one state no destination may be
        /// a source of another row.
        source_slots: *const i32 = null();
        destination_slots: *const i32 = null();
        num_rows: i64 = 0;
        /// STATE_FULL: the source's tokens do not fit in the destination, which is unchanged.
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_state_reset_args {
        /// sizeof(sampler_state_reset_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        state: sampler_state_t = null_mut();
        /// NULL and num_rows 0: every slot, and no array is read or written.
        slots: *const i32 = null();
        num_rows: i64 = 0;
        /// [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] Initial values; NaN is the start of its stage, infinity
        /// makes the row bad (INVALID_PARAMETER). NULL: all start.
        adaptive_values: *const f32 = null();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_state_read_args {
        /// sizeof(sampler_state_read_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        state: sampler_state_t = null_mut();
        slots: *const i32 = null();
        num_rows: i64 = 0;
        /// [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31).
        out_token_ids: *mut c_void = null_mut();
        num_tokens: i64 = 0;
        token_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows] each; -1 for a bad slot.
        out_lengths: *mut i32 = null_mut();
        out_prompt_lengths: *mut i32 = null_mut();
        /// [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN for a stage not yet started.
        out_adaptive_values: *mut f32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_shard_args {
        /// sizeof(sampler_shard_args).
        struct_size: usize = size_of::<Self>();
        /// The call: one of these, the others NULL. Its input, and pipeline.guidance_logits, have this
        /// rank's columns, input.num_cols of them from first_token_id on; 0 is allowed, and then the
        /// values of the input may be NULL. candidate_ids and candidate_counts are NULL. All else
        /// describes the whole row: token ids, and the widths of dense biases and bitmasks, are those of
        /// total_cols columns. sampler_filter and sampler_residual write this rank's columns. For a
        /// residual, and `verify` below, `target` is the input, and `draft` has as many columns.
        ///
        /// Row counts, parameters, slots, lists, histories, randomness and reports must be the same on
        /// every rank; a rank reads only its own columns of dense biases and bitmasks. Element types may
        /// differ. exec.workspace, or the handle's, carries the call from round to round: nothing else may
        /// use it until the last one.
        sample: *const sampler_sample_args = null();
        filter: *const sampler_filter_args = null();
        select: *const sampler_select_args = null();
        residual: *const sampler_residual_args = null();
        /// The first of this rank's ids. The ranks' ranges are consecutive in rank order, and together
        /// are [0, total_cols).
        first_token_id: i64 = 0;
        /// The whole row's columns, in [1, 2^20).
        total_cols: i64 = 0;
        /// rank in [0, num_ranks), num_ranks in [1, 1024].
        rank: i64 = 0;
        num_ranks: i64 = 0;
        /// With row_params->top_k: upper bound of its values below total_cols. Messages have room for
        /// max_top_k tokens per row; a larger value makes its rows bad (INVALID_SHARD). In
        /// [0, total_cols]; 0: total_cols, which makes messages large. Ignored without such an array.
        max_top_k: i64 = 0;
        /// [message_bytes] Output of a round, of plan.message_bytes[round] bytes.
        /// [num_ranks, message_bytes] Input of the next round: the messages of all ranks, in rank order.
        /// Round 0 reads, and the last round writes, none. Both on the handle's device, aligned to 8
        /// bytes. The sizes are those of the memory: plan.max_message_bytes and num_ranks times that
        /// suffice for all rounds.
        send: *mut c_void = null_mut();
        received: *const c_void = null();
        send_bytes: usize = 0;
        received_bytes: usize = 0;
        /// Alternative to the four calls above: chains of drafts by SAMPLER_ACCEPT_STANDARD, in dense
        /// arrays, with rows of SAMPLER_PROBABILITIES, such as sampler_filter's shards, or greedy by
        /// params->temperature. Every rank has all draft tokens, and its own columns of `target` and
        /// `draft`; all get the tokens, counts and statuses of sampler_verify. Other verification
        /// is UNSUPPORTED.
        verify: *const sampler_verify_args = null();
    }
    sampler_shard_plan_info {
        /// sizeof(sampler_shard_plan_info), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// Exact workspace bytes for all rounds, as from the _workspace_size functions. Depends on the
        /// rank's columns; all else is the same on every rank.
        workspace_bytes: usize = 0;
        /// Exchanges, and bytes that each rank sends in each: a multiple of 8. 0 after the last one.
        num_exchanges: i64 = 0;
        message_bytes: [usize; SAMPLER_MAX_SHARD_EXCHANGES as usize] = [0; SAMPLER_MAX_SHARD_EXCHANGES as usize];
        max_message_bytes: usize = 0;
        /// Digest of the arguments that must be the same on all ranks. Different digests may mean
        /// different message sizes, which a collective may not survive: compare them once, when a call is
        /// set up, unless its arguments are known to be the same.
        digest: u64 = 0;
    }
    sampler_ngram {
        /// sizeof(sampler_ngram).
        struct_size: usize = size_of::<Self>();
        user: *mut c_void = null_mut();
        next_token: sampler_ngram_next_token_fn = None;
        has_gram: sampler_ngram_has_gram_fn = None;
        update: sampler_ngram_update_fn = None;
        initialize: sampler_ngram_initialize_fn = None;
        reset: sampler_ngram_reset_fn = None;
        /// NULL: not supported
        propose: sampler_ngram_propose_fn = None;
    }
    sampler_ngram_storage_options {
        /// sizeof(sampler_ngram_storage_options).
        struct_size: usize = size_of::<Self>();
        kind: sampler_ngram_kind = 0;
        /// Length of the longest n-gram in tokens, in [2, 16]; 0: 3.
        order: i32 = 0;
        /// Token ids lie in [0, vocabulary_size). In [1, 2^20); required.
        vocabulary_size: i64 = 0;
        /// Maximum bytes at any time, at least 4096; 0: no limit. While the storage grows or is
        /// deserialised, its old and new table both count, so that in the end a third to two thirds are
        /// used. At the limit known n-grams still count, others are dropped.
        memory_limit: i64 = 0;
        /// Memory for the handle and its table. All 0: the C library's. `allocate` is called when the
        /// storage is created, deserialised, or learns; neither function may call back into
        /// the storage.
        allocator: sampler_allocator = sampler_allocator::INIT;
    }
    sampler_ngram_storage_stats {
        /// sizeof(sampler_ngram_storage_stats).
        struct_size: usize = size_of::<Self>();
        /// Contexts followed by a token, of all supported lengths.
        num_contexts: i64 = 0;
        /// Next tokens learned, each once whatever the number of orders, dropped or not.
        num_updates: i64 = 0;
        /// N-grams not counted for lack of room: memory_limit, or 1.3 * 10^9 table entries.
        num_dropped: i64 = 0;
        /// Current memory from the allocator.
        memory_bytes: i64 = 0;
    }
    sampler_prompt_lookup_options {
        /// sizeof(sampler_prompt_lookup_options).
        struct_size: usize = size_of::<Self>();
        /// Tokens of the text's end that must match, at least 1, 0: 1; and the most that are compared, at
        /// least min_match, 0: all.
        min_match: i64 = 0;
        max_match: i64 = 0;
        /// Capacity for the text in tokens, in [1, 2^27]; required. All memory, 132 bytes per token plus
        /// less than 1000, is allocated when the lookup is created.
        max_tokens: i64 = 0;
        /// Token ids lie in [0, vocabulary_size). In [1, 2^20); required.
        vocabulary_size: i64 = 0;
        /// Memory for the handle. All 0: the C library's.
        allocator: sampler_allocator = sampler_allocator::INIT;
    }
    sampler_forward_args {
        /// sizeof(sampler_forward_args) of the library.
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        /// Spans of tokens, at most one per sequence. All these arrays are valid during the call.
        num_spans: i64 = 0;
        /// [num_spans] in [0, max_sequences)
        sequences: *const i32 = null();
        /// [num_spans] cache length, where the span goes
        starts: *const i64 = null();
        /// [num_spans + 1] span i starts at token_ids[token_offsets[i]]
        token_offsets: *const i64 = null();
        token_ids: *const i32 = null();
        /// [num_spans] trailing tokens with logits wanted; may be 0
        logit_counts: *const i64 = null();
        /// [num_logit_rows, vocabulary_size] Output for the logits, span after span: the loop's memory on
        /// the handle's device. Enqueuing the work on `stream` is enough. Stride in elements.
        logits: *mut c_void = null_mut();
        num_logit_rows: i64 = 0;
        logits_row_stride: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 0
        reserved: i32 = 0;
        /// [token_offsets[num_spans]] NULL: each token follows the one before it in its span, the first
        /// one the cache. Else, for the target with draft_top_k: the parent of each token, a lower index
        /// in its span, from 0; -1: the cache. A token attends to the cache, its ancestors in order, and
        /// itself: no other token of the span. Its position is its parent's plus 1.
        parents: *const i32 = null();
    }
    sampler_model {
        /// sizeof(sampler_model).
        struct_size: usize = size_of::<Self>();
        /// Passed to the callbacks.
        user: *mut c_void = null_mut();
        /// required
        forward: sampler_forward_fn = None;
        /// required
        truncate: sampler_truncate_fn = None;
        /// needed by beam search with caches; else may be NULL
        fork: sampler_fork_fn = None;
        /// columns of the logits, in [1, 2^20)
        vocabulary_size: i64 = 0;
        /// capacity of a cache in tokens, at least 1
        max_context: i64 = 0;
        /// caches, in [1, 2^31)
        max_sequences: i64 = 0;
        /// in all spans of a forward; longer ones are split. 0: no limit
        max_span_tokens: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 1: forward supports `parents`; required of the target with draft_top_k above 1. Default 0.
        reads_parents: i32 = 0;
    }
    sampler_trace_round {
        struct_size: usize = size_of::<Self>();
        /// in [0, num_sequences)
        text: i64 = 0;
        /// of this text, from 0
        round: i64 = 0;
        /// in a tree the accepted ones first, then the others
        draft_token_ids: *const i32 = null();
        num_drafted: i64 = 0;
        /// the first num_accepted drafts became text
        num_accepted: i64 = 0;
        /// the target's token after them; -1: none
        next_token_id: i32 = 0;
        /// of the drafter, in nats; NaN when not measured
        entropy: f32 = 0.0;
        /// the round as text, by token_text, or as numbers if NULL
        line: *const c_char = null();
    }
    sampler_generation_stats {
        /// sizeof(sampler_generation_stats), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// steps of the loop, including the prompts' own
        num_rounds: i64 = 0;
        /// of all texts
        num_new_tokens: i64 = 0;
        num_drafted: i64 = 0;
        num_accepted: i64 = 0;
        /// calls of the callback
        target_forwards: i64 = 0;
        drafter_forwards: i64 = 0;
        /// num_accepted / num_drafted; 0 without drafts
        acceptance_rate: f64 = 0.0;
        /// of sampler_speculative: without drafts
        num_plain_rounds: i64 = 0;
    }
    sampler_generation_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        target: *const sampler_model = null();
        /// Prompts: text i starts with prompt_token_ids[prompt_offsets[i]] up to prompt_offsets[i + 1], at
        /// least one token and at most the target's max_context. It is the models' sequence
        /// first_sequence + i, whose caches must be empty. num_sequences in [0, 2^31); 0 does nothing.
        num_sequences: i64 = 0;
        first_sequence: i64 = 0;
        /// [num_sequences + 1], from 0 on
        prompt_offsets: *const i64 = null();
        prompt_token_ids: *const i32 = null();
        /// Maximum new tokens per text, in [1, 2^31). Default 40.
        max_new_tokens: i64 = 40;
        /// Tokens that end a text, in [0, vocabulary_size); the first one to occur is the text's last
        /// token. NULL and 0: token 1 alone. Not NULL and 0: none; an id such as -1 instead
        /// is INVALID_ARGUMENT.
        end_token_ids: *const i32 = null();
        num_end_tokens: i64 = 0;
        /// Padding of out_token_ids after a text. Default 0.
        pad_token_id: i32 = 0;
        /// 1: models keep their caches, and are fed new tokens only; rejected ones are cut. 0: caches are
        /// emptied after each step and each forward gets the whole text. The tokens are the same.
        /// Default 0.
        use_cache: i32 = 0;
        /// How a token comes from logits. Default GREEDY.
        processor: sampler_processor = 0;
        /// 1: the line of each round is also logged by the handle. Default 0.
        debug: i32 = 0;
        /// Used with SAMPLE. NULL: temperature 1 and no filter. 0 differs: top_p <= 0 keeps one token,
        /// min_p <= 0 all. Mind temperature_order: Hugging Face filters after the temperature
        /// (SAMPLER_TEMPERATURE_FIRST), llama.cpp and the reference implementations of speculative
        /// decoding before it (SAMPLER_TEMPERATURE_LAST).
        params: *const sampler_params = null();
        /// Text i has seeds[i], or seed + i where `seeds` is NULL, and its n-th new token, from 0, the
        /// offset n: a text depends on nothing beside it. (N-grams are shared,
        /// see sampler_speculative_args.)
        seed: u64 = 0;
        seeds: *const u64 = null();
        /// Callbacks, each of which may be NULL, and their `user`.
        user: *mut c_void = null_mut();
        process: sampler_process_fn = None;
        on_tokens: sampler_tokens_fn = None;
        trace: sampler_trace_fn = None;
        token_text: sampler_token_text_fn = None;
        /// [num_sequences, max_new_tokens] New tokens, end token included, then pad_token_id. Required.
        out_token_ids: *mut i32 = null_mut();
        /// [num_sequences] each; NULL: not wanted.
        ///
        /// new tokens
        out_lengths: *mut i64 = null_mut();
        out_finish_reasons: *mut sampler_finish_reason = null_mut();
        /// tokens in the target's cache, all part of the text
        out_cache_lengths: *mut i64 = null_mut();
        out_stats: *mut sampler_generation_stats = null_mut();
        /// Parameters by text, and the lists of stages: see pipeline.h. sampler_beam_search supports only
        /// edits. Text i is slot i. Arrays are read in each step, so on_tokens may change them for the
        /// next tokens. On a CUDA handle the arrays of row_params and token_bitmask_indices are host
        /// memory, the others of the pipeline device memory, of which beam search copies lists by text to
        /// the host as it begins.
        ///
        /// history, prompt_lengths, adaptive_values and state must be 0: the loop's texts are the history,
        /// and the loop updates adaptive values. guidance_logits must be NULL. token_bitmasks and
        /// token_bitmask_indices are by text; sampler_speculative, whose drafts need a mask each, supports
        /// neither these nor forced tokens. Its drafter uses only temperature, top-k, top-p and min-p.
        /// With GREEDY the temperature is 0.
        row_params: *const sampler_row_params = null();
        pipeline: *const sampler_pipeline = null();
    }
    sampler_speculative_args {
        struct_size: usize = size_of::<Self>();
        generation: *const sampler_generation_args = null();
        /// Source of drafts: one of `drafter` and `ngram`; the other is NULL.
        ///
        /// A model with the target's vocabulary_size. A text longer than its max_context continues
        /// without drafts.
        drafter: *const sampler_model = null();
        /// N-grams, by sampler_ngram_storage_interface, sampler_prompt_lookup_interface, or the caller.
        /// They learn the prompts first, and are not reset. All texts of the call share them, so texts
        /// affect each other's drafts: this changes no greedy text, and the tokens but not the
        /// distribution of sampled ones.
        ngram: *const sampler_ngram = null();
        /// Maximum drafts per round, in [1, 1024]; fewer if a draft is an end token or a limit is near.
        /// Default 5.
        gamma: i64 = 5;
        /// BY_ENTROPY, drafter only: gamma from the entropy H, in nats, of its distribution at the
        /// temperature, without filters: clamp(trunc((1 - H / ln(vocabulary_size)) gamma_max), gamma_min,
        /// gamma_max). The first draft uses the same logits. MEASURED: in [0, gamma_max].
        /// Default FIXED.
        adaptive_gamma: sampler_gamma_rule = 0;
        /// Smoothing of H over a text's rounds: ema_beta H_before + (1 - ema_beta) H. In [0, 1).
        /// Default 0.
        ema_beta: f32 = 0.0;
        /// gamma_min in [0, gamma_max], default 1; gamma_max in [1, 1024], 0 (default): gamma.
        gamma_min: i64 = 1;
        gamma_max: i64 = 0;
        /// Tokens that the n-grams learn per new position of a text: the target's filler_top_k likeliest,
        /// at most 2^20 - 1, then the token of the text unless among them; 0: only that one. Default 3.
        filler_top_k: i64 = 3;
        /// 1: no draft follows a context unknown to the n-grams; 0: their token for it does. Default 0.
        stop_if_unknown: i32 = 0;
        /// 1: the first token is drawn from the target's prompt logits, without drafts. Default 1.
        first_target: i32 = 1;
        /// 1: after a rejected draft the token is drawn from the target's p instead of the residual, so
        /// that the text no longer follows the target's distribution. For comparisons, drafter only.
        /// Default 0.
        skip_sample_adjustment: i32 = 0;
        /// must be 0
        reserved: i32 = 0;
        /// For MEASURED. NULL: the system's monotonic clock.
        clock: sampler_clock_fn = None;
        clock_user: *mut c_void = null_mut();
        /// N-grams only, which then need `propose`: drafts end before the first that was counted fewer
        /// than ngram_least_count times after its context, or with a share of all tokens counted there
        /// below ngram_least_share, in [0, 1]. With either no draft follows an unknown context, whatever
        /// stop_if_unknown. A filler_top_k above 0 counts as many tokens alike, so shares rarely exceed
        /// 1 / filler_top_k. 0 (default): off.
        ngram_least_count: i64 = 0;
        ngram_least_share: f32 = 0.0;
        /// Drafter only, in [0, 1]: a draft with less than this probability in the drafter's row, at
        /// temperature 1 and without filters, is the last of its round (Hugging Face's
        /// assistant_confidence_threshold, llama.cpp's p_min). It is still verified: otherwise STANDARD
        /// would not be lossless. Default 0: off.
        least_draft_probability: f32 = 0.0;
        /// Acceptance rule and its parameters; gamma, or gamma_max, is the max drafts per sequence.
        /// SAMPLE_MATCH gives, token by token, the text of sampler_autoregressive. Rule 0, and NULL
        /// (default): STANDARD.
        acceptance: *const sampler_acceptance_params = null();
        /// Drafter only, in [0, gamma]. 0 (default): drafts are drawn, one per position. Else drafts are
        /// the drafter's draft_top_k likeliest tokens per position, at most gamma in all: the first of a
        /// position is extended, the others are its siblings, and the target runs them as a tree. Above 1
        /// the target needs reads_parents, and max_span_tokens 0 or at least gamma + 1. Accepts more than
        /// a chain of the tree's depth. Supported by all rules but BLOCK and DEFERRED, and verified as
        /// deterministic drafts. adaptive_gamma must not be BY_ENTROPY; least_draft_probability and
        /// skip_sample_adjustment must be 0.
        draft_top_k: i64 = 0;
        /// [num_sequences] each; NULL: not wanted. Drafts per text, and those that became text.
        out_drafted_counts: *mut i64 = null_mut();
        out_accepted_counts: *mut i64 = null_mut();
    }
    sampler_beam_search_args {
        struct_size: usize = size_of::<Self>();
        /// `processor` must be GREEDY; `debug` must be 0; on_tokens, trace and out_cache_lengths must
        /// be NULL.
        ///
        /// Edits of params, row_params and pipeline apply, by each beam's history: biases, allowed and
        /// banned tokens, bad words, bitmasks, min_new_tokens with `stop`, penalties, DRY and
        /// no_repeat_ngram_size. Scores sum the edited log-probabilities. Temperature, top-k, top-p and
        /// min-p of `params` are ignored; all other stages must be off. Lists and arrays by text are read
        /// when the call starts. bad_word_offsets must be NULL, num_dense_biases at most 1, and
        /// token_id_type I32. Beams of text i use the model's sequences from first_sequence + i num_beams.
        /// out_token_ids is [num_sequences, num_results, max_new_tokens], out_lengths and
        /// out_finish_reasons [num_sequences, num_results], best first; missing results have length 0 and
        /// reason NONE. Caches are empty on return.
        generation: *const sampler_generation_args = null();
        /// in [1, 1024]; default 4
        num_beams: i64 = 4;
        /// continuations per beam (prompt: >= num_beams), in [1, 2^20); default 3
        top_k: i64 = 3;
        /// in [1, num_beams]; default 1
        num_results: i64 = 1;
        /// A beam's score is the sum of its tokens' log-probabilities (at temperature 1, from 0 on) over
        /// ((min_length + length) / (min_length + 1))^alpha (Wu et al. 2016), length its new tokens. Ties
        /// go to the better parent, then the lower id. min_length >= 0, default 5; alpha in [0, 100],
        /// default 1.2; 0: no penalty.
        min_length: f32 = 5.0;
        alpha: f32 = 1.2;
        /// When a text ends, at the latest when no beam continues. Checked after each step.
        /// SHARED: 1: once num_results of its beams have ended, whatever the others may become; 0: once
        ///   all have.
        /// POOL: 1: once the pool holds num_beams; 0: once it does, and the best running beam, ended
        ///   as it is, would score no better than the worst of the pool. (With alpha > 0 a longer
        ///   one may still score better.)
        /// Default 0.
        early_stop: i32 = 0;
        /// default SHARED
        rule: sampler_beam_rule = 0;
        /// [num_sequences, num_results] Scores; -inf for missing results. NULL: not wanted.
        out_scores: *mut f32 = null_mut();
    }
    sampler_session_options {
        /// sizeof(sampler_session_options).
        struct_size: usize = size_of::<Self>();
        /// Maximum sequences, including finished ones not yet removed. In [1, 2^20].
        max_sequences: i64 = 0;
        /// Maximum tokens of a text, its prompt included: the capacity of the target's cache. In
        /// [1, 2^31). A sequence takes 13 bytes per token of it, about 900 bytes, and per draft of
        /// max_drafts 30 to 60, and 8 more for each of max_top_logprobs, beside the calls' workspace.
        max_context: i64 = 0;
        /// Columns of the logits, in [1, 2^20), and their type.
        vocabulary_size: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 1: the session keeps the drafter's rows, max_drafts rows of logits per sequence, which
        /// STANDARD, BLOCK, RELAXED and DEFERRED require for a drafter model's drafts. Default 0.
        keep_drafter_rows: i32 = 0;
        /// Maximum drafts per sequence and step, in [0, 1024]. Default 0: no drafts.
        max_drafts: i64 = 0;
        /// Capacity of the drafter model's cache in tokens; a longer text continues without drafts, as
        /// is_drafting of sampler_session_get reports. In [0, 2^31). 0: max_context.
        drafter_context: i64 = 0;
        /// Capacity of each sequence's prompt lookup, at 132 bytes per token; a longer text continues
        /// without drafts. In [0, 2^27]. Default 0: SAMPLER_DRAFTS_PROMPT_LOOKUP is unavailable.
        lookup_tokens: i64 = 0;
        /// Per sequence: end tokens, stop sequences, and tokens of all its stop sequences.
        /// In [0, 2^20].
        max_end_tokens: i64 = 0;
        max_stop_sequences: i64 = 0;
        max_stop_tokens: i64 = 0;
        /// Maximum num_top_logprobs of sampler_session_advance, in [0, vocabulary_size]. Default 0.
        max_top_logprobs: i64 = 0;
        /// Parameters common to all sequences: rules for ties, orders, scopes and forms, and the list of
        /// stages. Its numbers are the defaults of sequences added without parameters; guidance_scale must
        /// be off. NULL: temperature 1 and no filter.
        params: *const sampler_params = null();
        /// Lists and masks of the stages, by slot: the sequence's number, of max_sequences. NULL: none.
        /// The struct is copied; its arrays remain the caller's, and are read in each advance. history,
        /// prompt_lengths, adaptive_values, state and token_bitmask_indices must be 0: the session's texts
        /// are the history. guidance_logits must be NULL: sampler_session_advance has them. If `stop` is 0
        /// it is the end tokens of each sequence, as min_new_tokens and the exponential decay require.
        pipeline: *const sampler_pipeline = null();
        /// Default acceptance rule of sequences, and the rules' parameters; max_drafts is the max drafts
        /// per sequence. Rule 0, and NULL: SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.
        acceptance: *const sampler_acceptance_params = null();
        /// 1: sequences may use draft_top_k. Default 0.
        has_draft_trees: i32 = 0;
        /// 1: sequences may use adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.
        has_adaptive_gamma: i32 = 0;
        /// For SAMPLER_GAMMA_MEASURED. NULL: the system's monotonic clock.
        clock: sampler_clock_fn = None;
        clock_user: *mut c_void = null_mut();
        /// CUDA: all of the session's work is enqueued on it, and logits are read in its order: wait first
        /// for work on other streams that computes them. It must outlive the session. NULL: the legacy
        /// default stream. A CPU handle ignores it.
        stream: sampler_stream = null_mut();
        /// Tokens that the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn per new position: the
        /// target's filler_top_k likeliest, in [0, 2^20), then the token of the text unless among them.
        /// Takes as many ids per row of logits, max_drafts + 1 rows per sequence. Default 0: only the
        /// token of the text.
        filler_top_k: i64 = 0;
        /// 1: sequences may have `unmask`, with blocks of at most max_drafts + 1 positions, at about 50
        /// bytes per position of each sequence. Default 0.
        has_blocks: i32 = 0;
        /// For blocks: the rows whose log-probabilities and entropies are the confidences.
        confidence_kind: sampler_logprob_kind = 0;
    }
    /// A sequence, as reported by sampler_session_get.
    sampler_session_sequence {
        /// sizeof(sampler_session_sequence), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// [num_tokens] The text. Valid until the sequence is advanced or removed.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        prompt_length: i64 = 0;
        /// Tokens of the text in the caches.
        cache_length: i64 = 0;
        drafter_cache_length: i64 = 0;
        /// SAMPLER_FINISH_NONE: running
        finish_reason: sampler_finish_reason = 0;
        /// Cause of BAD_ROW in finish_reason; else 0.
        row_status: sampler_row_status = 0;
        /// Index of the stop sequence for STOP_SEQUENCE, from 0; else -1.
        stop_sequence: i64 = 0;
        /// steps that gave a token
        num_steps: i64 = 0;
        num_drafted: i64 = 0;
        num_accepted: i64 = 0;
        /// 0: no more drafts, since its text or its n-grams ran out of room.
        is_drafting: i32 = 0;
        reserved: i32 = 0;
        /// State that the next tokens depend on besides the text, for `resumed` of
        /// sampler_session_add_args. Values of the adaptive stages, as in sampler_pipeline: NaN before a
        /// stage starts. For BY_ENTROPY the entropy of its steps, in nats, smoothed by ema_beta; NaN
        /// before the first.
        adaptive_values: [f32; SAMPLER_NUM_ADAPTIVE_VALUES as usize] = [0.0; SAMPLER_NUM_ADAPTIVE_VALUES as usize];
        drafter_entropy: f64 = 0.0;
    }
    sampler_session_add_args {
        /// sizeof(sampler_session_add_args).
        struct_size: usize = size_of::<Self>();
        /// The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
        /// prompt_length are the prompt, in [1, num_tokens], the others its new tokens, as for a removed
        /// sequence that resumes; 0: all are the prompt.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        prompt_length: i64 = 0;
        /// Tokens of these already in the target's and the drafter's caches, in [0, num_tokens - 1] and
        /// [0, num_tokens], and at most drafter_context. A drafter's cache of the whole text is fed its
        /// last token again.
        cache_length: i64 = 0;
        drafter_cache_length: i64 = 0;
        /// NULL: the session's. Rules for ties, orders, scopes, forms and stages must be the session's.
        params: *const sampler_params = null();
        seed: u64 = 0;
        /// Maximum new tokens, in [0, 2^31); 0: the rest of max_context.
        max_new_tokens: i64 = 0;
        /// [num_end_tokens] Tokens that end the text.
        end_token_ids: *const i32 = null();
        num_end_tokens: i64 = 0;
        /// Sequences of tokens that end the text when its new tokens end in one; none may be empty.
        /// num_lists of them, in one array of int32_t. All 0: none.
        stop_sequences: sampler_token_lists = sampler_token_lists::INIT;
        draft_source: sampler_draft_source = 0;
        /// Acceptance rule, see speculative.h; 0: the session's, by default SAMPLE_MATCH: the target's own
        /// token is drawn at each position, and drafts are kept while they equal it, so that the text is,
        /// token by token, the one without drafts. With other rules tokens depend on the drafts and on
        /// num_drafts, too. A model's drafts have its rows as draft probabilities, others are
        /// deterministic. SYNTHETIC needs the session's synthetic_rates.
        acceptance: sampler_acceptance = 0;
        /// The n-grams of NGRAM, else NULL. Copied. They learn the text now, unless ngram_has_text is 1,
        /// and later each new token. Drafts come from `propose` if it is not NULL and draft_unknown is 0,
        /// else from next_token. If it fails later, such as for lack of memory, the sequence continues
        /// without drafts.
        ngram: *const sampler_ngram = null();
        /// Maximum drafts per step, in [0, max_drafts]; 0: max_drafts.
        num_drafts: i64 = 0;
        /// For PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are the tokens after the
        /// longest match and, if the text ends before num_drafts, the drafts themselves, as if the text
        /// continued so.
        min_match: i64 = 0;
        /// For NGRAM. 1: an unknown context is followed by the n-grams' draft for it. 0: by none.
        draft_unknown: i32 = 0;
        /// 1: the n-grams of NGRAM have already learned these tokens, as for a removed sequence, and do
        /// not learn them again. 0: they learn them.
        ngram_has_text: i32 = 0;
        /// For NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
        /// first that was counted fewer than ngram_least_count times after its context, or with a share of
        /// all tokens counted there below ngram_least_share, in [0, 1]. 0: off.
        ngram_least_count: i64 = 0;
        ngram_least_share: f32 = 0.0;
        /// For MODEL, without draft_top_k, in [0, 1]: a draft with less than this probability in the
        /// drafter's row is the last of its step, as in sampler_speculative_args. 0: off.
        least_draft_probability: f32 = 0.0;
        /// For MODEL, with the session's has_draft_trees, in [0, num_drafts]. 0: drafts are drawn, one per
        /// position. Else drafts are the drafter's draft_top_k likeliest tokens per position, at most
        /// num_drafts in all: the first of a position is extended, the others are its siblings, and the
        /// target runs them as a tree. Supported by all rules but BLOCK and DEFERRED, and verified as
        /// deterministic drafts; SAMPLE_MATCH accepts more of them than of a chain.
        draft_top_k: i64 = 0;
        /// How the number of drafts of a step, at most num_drafts, is chosen; needs the
        /// session's has_adaptive_gamma.
        ///
        /// BY_ENTROPY, for MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
        /// num_drafts, H at the sequence's temperature (1 if greedy) and smoothed by ema_beta over its
        /// own steps.
        ///
        /// MEASURED: the number with most tokens per second, from 0 to num_drafts, by the time from plan
        /// to advance, common to all such sequences of the session. Times differ from run to run: with
        /// SAMPLE_MATCH texts do not change, with other rules they follow the same distribution, but the
        /// seed does not fix them. Only rounds of drafts and verification that these sequences begin and
        /// end together, while no other one has a span, are measured; to keep them together, a plan with a
        /// drafter span for one has no target span for those whose drafts are ready. Beside others MODEL
        /// drafts nothing, and the time budget uses earlier measurements. With draft_top_k the number
        /// counts positions.
        adaptive_gamma: sampler_gamma_rule = 0;
        /// for BY_ENTROPY, in [0, 1)
        ema_beta: f32 = 0.0;
        /// for BY_ENTROPY, in [0, num_drafts]
        gamma_min: i64 = 0;
        /// Result of sampler_session_get for a removed sequence, of this session or another, that resumes
        /// here. Only its adaptive_values and drafter_entropy, without which the next tokens may differ,
        /// and num_steps, num_drafted and num_accepted are read. Adaptive values must not be infinite, the
        /// entropy must be NaN or finite and at least 0, counts in [0, 2^62). Read only during the call.
        /// NULL: a new sequence.
        resumed: *const sampler_session_sequence = null();
        /// For a diffusion language model, whose text grows by blocks (unmask.h): the rules by which
        /// candidates stand. Needs the session's has_blocks. block_length is in [1, max_drafts + 1], and
        /// confidence is not GIVEN. Without num_committed, num_steps_left and entropy_bound num_committed
        /// is 1. Copied. NULL: the text grows by tokens.
        ///
        /// A span ends with the block, masked positions included, and has a row for each of its positions
        /// after the text. An advance draws their candidates, of which the rules commit some. The text
        /// grows once no position is masked; with edit_threshold once a later step changes nothing, the
        /// 16th at the latest. The last block ends at max_context, or beyond max_new_tokens. Caches hold
        /// whole blocks of the text: each is fed again with the next one. A step that changes nothing
        /// while positions are masked, or only edits after 16 that did, finishes the sequence, BAD_ROW.
        /// The n-th new token, from 0, is drawn with the offset n, in step s of its block, from 0, with
        /// the stream s.
        ///
        /// Stages see the text before the block: penalties count it, and bad words and contexts of biases
        /// follow it. Those that need to know what each token follows must be off: DRY, no-repeat n-grams,
        /// min_new_tokens, the exponential decay, mirostat, adaptive-p, top-p decay. draft_source must be
        /// NONE. Log-probabilities are not reported.
        unmask: *const sampler_unmask_params = null();
    }
    sampler_session_fork_args {
        /// sizeof(sampler_session_fork_args).
        struct_size: usize = size_of::<Self>();
        /// The sequence to fork, which continues unaffected.
        source: i32 = 0;
        /// must be 0
        reserved: i32 = 0;
        /// NULL: the source's, so that the fork repeats its text.
        seed: *const u64 = null();
        params: *const sampler_params = null();
    }
    /// Tokens to run through a model. It never grows.
    sampler_span {
        sequence: i32 = 0;
        /// The session's plan that it belongs to, which distinguishes it from earlier spans.
        plan: i32 = 0;
        /// Required cache length, where the span goes: cut the cache beyond it.
        start: i64 = 0;
        /// [num_tokens] At least one; the last ones may be drafts, or a block. Valid until the sequence is
        /// advanced, planned again or removed.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        /// Rows of logits for sampler_session_advance: those after the last num_logits tokens. May be 0: a
        /// part of a long text.
        num_logits: i64 = 0;
    }
    sampler_session_plan_args {
        /// sizeof(sampler_session_plan_args).
        struct_size: usize = size_of::<Self>();
        /// [num_sequences] Sequences to plan, distinct, in their order of priority for max_tokens.
        /// Finished ones are skipped. NULL and 0: all.
        sequences: *const i32 = null();
        num_sequences: i64 = 0;
        /// Maximum tokens in all spans of a model; 0: no limit. Else at least max_drafts + 1. Longer texts
        /// are planned in parts. A sequence that does not fit gets no span; without `sequences` it is
        /// among the first next time.
        max_tokens: i64 = 0;
        /// [num_sequences], or [max_sequences] if that is 0. A sequence has a span of one of the two
        /// models: of the drafter if it needs a draft. out_drafter_spans may be NULL if no sequence
        /// has SAMPLER_DRAFTS_MODEL.
        out_spans: *mut sampler_span = null_mut();
        out_num_spans: *mut i64 = null_mut();
        out_drafter_spans: *mut sampler_span = null_mut();
        out_num_drafter_spans: *mut i64 = null_mut();
        /// [spans of the target, max_drafts] Parent of each draft of a span: a lower index of its drafts,
        /// -1 the text; in a chain draft i follows i - 1. Entries past the drafts of a span are -1. In a
        /// tree drafts attend to their ancestors, and not to other drafts; their positions in the text are
        /// their depths. The first path comes first, so a cache cut to out_cache_lengths holds the text: a
        /// kept draft beside that path is fed again. May be NULL if no sequence has a draft_top_k
        /// above 1.
        out_parents: *mut i32 = null_mut();
    }
    sampler_session_advance_args {
        /// sizeof(sampler_session_advance_args).
        struct_size: usize = size_of::<Self>();
        /// [num_spans] Spans that the target ran, whole copies of those planned: any subset, in
        /// any order.
        spans: *const sampler_span = null();
        num_spans: i64 = 0;
        /// Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
        /// elements; 0: vocabulary_size. Not read after the call returns SAMPLER_OK; after CUDA, enqueued
        /// work may still read them.
        logits: *const c_void = null();
        logits_row_stride: i64 = 0;
        /// The same for the drafter.
        drafter_spans: *const sampler_span = null();
        num_drafter_spans: i64 = 0;
        drafter_logits: *const c_void = null();
        drafter_row_stride: i64 = 0;
        /// [rows of logits] With masks in the session's pipeline: the mask of each target row, which
        /// follows the text and the drafts before it; negative: none. Else NULL.
        token_bitmask_indices: *const i32 = null();
        /// [rows of logits] The token that is decided at each target row whatever its logits, below
        /// vocabulary_size, as where a thinking budget runs out among the drafts: a draft that is this
        /// token is kept, any other ends the drafts. Negative: none, as rows of blocks must be. In host
        /// memory. NULL: none.
        forced_token_ids: *const i32 = null();
        /// Outputs per target span, [num_spans, ...]; all but out_token_ids and out_counts may be NULL,
        /// and with no spans those, too.
        ///
        /// [num_spans, max_drafts + 1] New tokens, then -1; and their number, 0 for a span without logits
        /// or whose block is not complete.
        out_token_ids: *mut i32 = null_mut();
        out_counts: *mut i64 = null_mut();
        /// Not NONE: the sequence has finished, and is not planned any more.
        out_finish_reasons: *mut sampler_finish_reason = null_mut();
        /// Lengths to cut the caches to. Rejected drafts are cut.
        out_cache_lengths: *mut i64 = null_mut();
        out_drafter_cache_lengths: *mut i64 = null_mut();
        /// Drafts that became text.
        out_accepted_counts: *mut i64 = null_mut();
        /// Cause of BAD_ROW; else 0.
        out_row_status: *mut sampler_row_status = null_mut();
        /// Log-probabilities of the new tokens, padded with NaN, and of the first num_top_logprobs tokens
        /// in rank order, padded with -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in
        /// [0, max_top_logprobs], out_top_token_ids of int32_t and out_top_logprobs. Other members of
        /// sampler_report_args must be 0. In host memory. NULL: none.
        reports: *const sampler_report_args = null();
        /// Classifier-free guidance: [num_guidance_rows, vocabulary_size] rows as in sampler_pipeline,
        /// with the stride of `logits`, from a cache with another prompt, to which the caller feeds each
        /// span's new tokens and drafts. Required where a sequence with rows has guidance_scale on; may be
        /// NULL and 0 elsewhere.
        guidance_logits: *const c_void = null();
        num_guidance_rows: i64 = 0;
        /// [rows of logits] The guidance row of each target row; negative: none. In host memory. NULL: the
        /// row of the same number.
        guidance_row_indices: *const i32 = null();
    }
}

functions! {
    /// SAMPLER_VERSION of the loaded library.
    fn sampler_version() -> u32;
    /// The same as text, "0.1.0" or, for a release candidate, "0.1.0-rc1". Static; never NULL.
    fn sampler_version_string() -> *const c_char;
    /// SAMPLER_ABI_VERSION of the loaded library. A program that opens the library with dlopen compares
    /// it with its own SAMPLER_ABI_VERSION first.
    fn sampler_abi_version() -> u32;
    /// The name of a status, such as "SAMPLER_ERROR_INVALID_ARGUMENT". Static; never NULL:
    /// "SAMPLER_STATUS_UNKNOWN" for an unknown number.
    fn sampler_status_string(status: sampler_status) -> *const c_char;
    /// One line about the last failed call on this thread: the argument, its value, the rule. Successful
    /// calls do not change it. Never NULL, "" before the first failure; valid until the next failing
    /// call on this thread. Up to 256 threads need no allocation; further threads call malloc, and have
    /// "" if it fails.
    fn sampler_last_error() -> *const c_char;
    /// Fills `options` with the defaults: all 0 except struct_size and abi_version. `struct_size` is the
    /// size of the caller's struct; members unknown to the library are set to 0.
    fn sampler_options_init(options: *mut sampler_options, struct_size: usize) -> sampler_status;
    /// Creates a sampler. `options` NULL: a CPU sampler with one thread and no workspace. On failure
    /// *out_sampler is NULL and nothing is leaked.
    /// A CPU sampler uses the machine's best instruction set, or the one that the environment variable
    /// SAMPLER_ISA names: scalar, avx2, avx512 or neon.
    /// Errors: INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED (no CUDA in this build or on this machine),
    /// OUT_OF_MEMORY, SYSTEM (a thread could not be started), CUDA (with CUDA's error text).
    fn sampler_create(options: *const sampler_options, out_sampler: *mut sampler_t) -> sampler_status;
    /// Stops the handle's threads and releases its memory. NULL is allowed. Enqueued work must
    /// have finished.
    fn sampler_destroy(sampler: sampler_t);
    /// Fills the fields within the caller's struct_size. Needs no handle, touches no device; the first
    /// call may start CUDA's runtime.
    fn sampler_get_capabilities(out_capabilities: *mut sampler_capabilities) -> sampler_status;
    /// The name of a stage, as in its constant: "TOP_P" for SAMPLER_STAGE_TOP_P. A static string; NULL
    /// for other numbers, 0 included.
    fn sampler_stage_name(stage: sampler_stage) -> *const c_char;
    /// Fills `params` with the defaults: temperature 1 and no filter. `struct_size` is the size of the
    /// caller's struct; members unknown to the library are set to 0. INVALID_ARGUMENT: params is NULL,
    /// or the size is no size of the struct.
    fn sampler_params_init(params: *mut sampler_params, struct_size: usize) -> sampler_status;
    /// Fills `params` with a preset: an engine's stage order, rules for ties, scopes and forms, and
    /// defaults. It gives the engine's distribution, not its random numbers; stages that the engine
    /// lacks are not in `stages`, and an error if enabled. docs/coming-from.md lists remaining
    /// differences. `name` is one of
    ///
    ///   llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
    ///   vllm_v2          vLLM's second model runner, whose top-k keeps k tokens despite ties
    ///   hf_vllm_aligned  temperature, top-k with ties and top-p, greedy at 0, as in small engines
    ///   nano_vllm        temperature only; set draw_method to SAMPLER_DRAW_GUMBEL
    ///
    /// for the newest known version, or with a version, as in "vllm@0.33": see sampler_preset_name.
    /// Presets sample: for Hugging Face without do_sample, and TensorRT-LLM with nothing set, use
    /// temperature 0. llama.cpp's default DRY breakers are texts, which the caller tokenizes.
    ///
    /// INVALID_ARGUMENT, and nothing is written: params or name is NULL, the size is no size of the
    /// struct, or no preset has that name.
    fn sampler_params_preset(params: *mut sampler_params, struct_size: usize, name: *const c_char) -> sampler_status;
    /// The name of preset `index`, from 0 on, with its version if it has one: a static string. NULL past
    /// the last.
    fn sampler_preset_name(index: i32) -> *const c_char;
    /// Draws one token per output row from its filtered input row.
    fn sampler_sample(sampler: sampler_t, args: *const sampler_sample_args) -> sampler_status;
    /// Reports on given tokens what sampler_sample reports on drawn ones, bit for bit. Nothing is drawn:
    /// log-probabilities for training on what was sampled, scores of choices, perplexity.
    fn sampler_score(sampler: sampler_t, args: *const sampler_score_args) -> sampler_status;
    /// Writes the filtered rows: softmax without filters, renormalisation, masks.
    fn sampler_filter(sampler: sampler_t, args: *const sampler_filter_args) -> sampler_status;
    /// Writes the first tokens of each row in rank order: their values and ids.
    fn sampler_select(sampler: sampler_t, args: *const sampler_select_args) -> sampler_status;
    fn sampler_sample_workspace_size(sampler: sampler_t, args: *const sampler_sample_args, out_bytes: *mut usize) -> sampler_status;
    fn sampler_score_workspace_size(sampler: sampler_t, args: *const sampler_score_args, out_bytes: *mut usize) -> sampler_status;
    fn sampler_filter_workspace_size(sampler: sampler_t, args: *const sampler_filter_args, out_bytes: *mut usize) -> sampler_status;
    fn sampler_select_workspace_size(sampler: sampler_t, args: *const sampler_select_args, out_bytes: *mut usize) -> sampler_status;
    /// The token with the largest value.
    fn sampler_argmax(sampler: sampler_t, input: *const sampler_rows, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Draws from the whole row.
    fn sampler_categorical(sampler: sampler_t, input: *const sampler_rows, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_k(sampler: sampler_t, input: *const sampler_rows, top_k: i32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Nucleus sampling (Holtzman et al. 2020).
    fn sampler_top_p(sampler: sampler_t, input: *const sampler_rows, top_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Nguyen et al. 2024.
    fn sampler_min_p(sampler: sampler_t, input: *const sampler_rows, min_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_k_top_p(sampler: sampler_t, input: *const sampler_rows, top_k: i32, top_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Softmax of logits at the temperature. A bad row is written as 0.
    fn sampler_softmax(sampler: sampler_t, input: *const sampler_rows, temperature: f32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// Probabilities, of logits or of probabilities: kept tokens renormalised, 0 elsewhere and in
    /// bad rows.
    fn sampler_top_k_renorm(sampler: sampler_t, input: *const sampler_rows, top_k: i32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_p_renorm(sampler: sampler_t, input: *const sampler_rows, top_p: f32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// Logits with removed tokens set to -inf. A bad row is copied.
    fn sampler_top_k_mask(sampler: sampler_t, input: *const sampler_rows, top_k: i32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// [num_rows, num_selected] The first num_selected values and ids of each row, largest value first;
    /// either array may be NULL, not both. num_selected is in [1, num_cols]. Missing tokens are -inf
    /// (probabilities: 0) and -1. +inf is an ordinary value.
    fn sampler_top_k_select(sampler: sampler_t, input: *const sampler_rows, num_selected: i64, out_values: *mut f32, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Verifies a chain of num_drafts draft tokens for each of num_sequences sequences; emitted tokens
    /// follow the target's distribution (Leviathan et al. 2023).
    ///
    /// target               [num_sequences, num_drafts + 1, num_cols], its num_rows the product of the
    ///                      first two
    /// draft                [num_sequences, num_drafts, num_cols] the drafts' distributions; NULL: a
    ///                      deterministic drafter
    /// draft_token_ids      [num_sequences, num_drafts]
    /// out_token_ids        [num_sequences, num_drafts + 1] accepted drafts, one more token, then -1
    /// out_accepted_counts  [num_sequences] drafts that would be accepted each on its own; may be NULL
    /// out_emitted_counts   [num_sequences] drafts before the first rejection; may be NULL
    fn sampler_chain_speculative(sampler: sampler_t, target: *const sampler_rows, draft: *const sampler_rows, draft_token_ids: *const i32, num_drafts: i64, seed: u64, offset: u64, out_token_ids: *mut i32, out_accepted_counts: *mut i32, out_emitted_counts: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Verifies each sequence's drafts and emits between 1 and num_drafts + 1 tokens.
    fn sampler_verify(sampler: sampler_t, args: *const sampler_verify_args) -> sampler_status;
    /// As sampler_sample_workspace_size. A handle's workspace may have less for long dense chains by the
    /// standard rule: their positions are then read one after the other, which takes longer.
    fn sampler_verify_workspace_size(sampler: sampler_t, args: *const sampler_verify_args, out_bytes: *mut usize) -> sampler_status;
    /// Writes the distribution after a rejection in sampler_verify: max(p - q, 0) of each row,
    /// renormalised, or p where that is 0 everywhere.
    fn sampler_residual(sampler: sampler_t, args: *const sampler_residual_args) -> sampler_status;
    /// As sampler_sample_workspace_size.
    fn sampler_residual_workspace_size(sampler: sampler_t, args: *const sampler_residual_args, out_bytes: *mut usize) -> sampler_status;
    /// Commits the candidates that each block's rules let stand: at least the number asked for, and all
    /// that the threshold or the entropy bound lets through. INVALID_ARGUMENT, WORKSPACE_TOO_SMALL,
    /// CUDA, INTERNAL. A block with masked rows may commit none, if no candidate can stand, or neither
    /// number nor bound is set.
    fn sampler_unmask(sampler: sampler_t, args: *const sampler_unmask_args) -> sampler_status;
    /// As sampler_sample_workspace_size. 0, but for a CUDA handle with host_parameters.
    fn sampler_unmask_workspace_size(sampler: sampler_t, args: *const sampler_unmask_args, out_bytes: *mut usize) -> sampler_status;
    /// The random numbers of a slot that SAMPLER_DRAW_WATERMARK draws with, for sampler_random.
    ///
    /// `context` has the `context_length` last tokens of the output before the one drawn, in [1, 64],
    /// oldest first, and -1 where the output has fewer. vLLM's default is 4. Host memory.
    ///
    /// INVALID_ARGUMENT: a pointer is NULL, or the length is not in its range.
    fn sampler_watermark_random(key: u64, context: *const i64, context_length: i64, out_seed: *mut u64, out_offset: *mut u64, out_stream: *mut u32) -> sampler_status;
    /// Looks for the watermark of `key` in an output, token_ids[num_token_ids], in [0, 2^31): host
    /// memory; without the prompt.
    ///
    /// out_score: the sum of -ln(1 - u) over the tokens scored, u a token's uniform number by its
    /// context: about 1 each without the watermark, more with it. out_num_scored: the tokens scored. A
    /// token is left out where its context came before, unless `keeps_repeated` is not 0. out_p_value:
    /// the chance that a text without the watermark scores as much (a Gamma distribution's): below 0.01,
    /// say, it is watermarked. With keeps_repeated it is too small where contexts repeat. If no token is
    /// scored, the score is 0 and the p-value 1. All come from the C library's logarithm: their last
    /// digits may differ between machines.
    ///
    /// INVALID_ARGUMENT: a pointer is NULL (token_ids may be, of no tokens), a number is not in its
    /// range. OUT_OF_MEMORY: it takes 24 bytes a token while it runs.
    fn sampler_watermark_detect(key: u64, token_ids: *const i64, num_token_ids: i64, context_length: i64, keeps_repeated: i32, out_score: *mut f64, out_num_scored: *mut i64, out_p_value: *mut f64) -> sampler_status;
    /// Writes the table of the scheme: [table_size] numbers, which may serve any number of calls.
    /// `table` of the params is not read. SELFHASH takes some 10 ms. INVALID_ARGUMENT.
    fn sampler_watermark_table(params: *const sampler_watermark_params, out_table: *mut i32) -> sampler_status;
    /// Writes the biases of green lists, for sampler_pipeline: `bias` for green tokens, 0 for the
    /// others. `context` has the context_length last tokens, the prompt's too, oldest first.
    ///
    /// LEFTHASH: out_biases has a number for each token, [vocabulary_size], as of a dense bias;
    /// candidate_token_ids is NULL, num_candidates 0. About 0.6 ms for 128,256 tokens.
    /// SELFHASH: a number for each candidate, [num_candidates], in [0, 1024]: transformers takes the 40
    /// likeliest tokens. About 0.15 ms a candidate.
    ///
    /// INVALID_ARGUMENT: also for TOURNAMENT, and an id outside the vocabulary.
    fn sampler_watermark_bias(params: *const sampler_watermark_params, context: *const i64, candidate_token_ids: *const i32, num_candidates: i64, out_biases: *mut f32) -> sampler_status;
    /// Holds the tournament of a token's distribution: changes the probabilities of token_ids,
    /// [num_tokens], those that the filters keep, into those to draw by (input_kind PROBABILITIES with
    /// candidate_ids, draws without filters). They have the same sum. `context` has the context_length
    /// last tokens of the output, oldest first, and 0 where it has fewer. After a context that came
    /// before in the output transformers leaves the distribution as it is: do not call it then.
    ///
    /// INVALID_ARGUMENT: also for green lists, an id outside the vocabulary, and a probability that is
    /// negative, infinite or NaN, or a sum that is not in (0, 2^127). num_tokens is in
    /// [1, vocabulary_size].
    fn sampler_watermark_tournament(params: *const sampler_watermark_params, context: *const i64, token_ids: *const i32, num_tokens: i64, probabilities: *mut f32) -> sampler_status;
    /// Looks for the watermark in an output, token_ids[num_token_ids], in [0, 2^31). Tokens with fewer
    /// than context_length tokens before them are not scored.
    ///
    /// out_score: for green lists the deviation of the number of green tokens from what is expected by
    /// chance, in standard deviations (transformers' z-score); for TOURNAMENT the mean of the bits, 1/2
    /// without the watermark. out_num_scored: tokens scored. out_p_value: the chance of such a score
    /// without the watermark, by the normal distribution. If no token is scored, the score is 0 (1/2 for
    /// TOURNAMENT) and the p-value 1. Their last digits may differ between machines. Green lists take
    /// about 0.15 ms a token.
    ///
    /// INVALID_ARGUMENT: a NULL, an id outside the vocabulary. OUT_OF_MEMORY: it takes 24 bytes a token
    /// while it runs.
    fn sampler_watermark_score(params: *const sampler_watermark_params, token_ids: *const i64, num_token_ids: i64, out_score: *mut f64, out_num_scored: *mut i64, out_p_value: *mut f64) -> sampler_status;
    /// Makes a state of empty slots, owned by the handle: destroy it before the handle. All of its
    /// memory is written once. On failure *out_state is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device; or an impossible
    /// size), CUDA.
    fn sampler_state_create(sampler: sampler_t, options: *const sampler_state_options, out_state: *mut sampler_state_t) -> sampler_status;
    /// Bytes of memory of such a state, device memory included.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (an impossible size).
    fn sampler_state_size(sampler: sampler_t, options: *const sampler_state_options, out_bytes: *mut usize) -> sampler_status;
    /// NULL is allowed. Work that uses the state must have finished.
    fn sampler_state_destroy(state: sampler_state_t);
    /// Appends a prompt, or text not drawn here. Adaptive values do not change.
    fn sampler_state_append(sampler: sampler_t, args: *const sampler_state_append_args) -> sampler_status;
    /// Accepts drawn tokens: they enter history and counts, and each updates the adaptive values, by
    /// section 14.2 of docs/contract.md.
    fn sampler_accept(sampler: sampler_t, args: *const sampler_accept_args) -> sampler_status;
    /// Removes the tokens after the first `lengths`, as if never appended: the slot's bytes are
    /// restored. Prompts may be cut, too.
    fn sampler_state_truncate(sampler: sampler_t, args: *const sampler_state_truncate_args) -> sampler_status;
    /// Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of
    /// earlier tokens are copied if both states keep them; if only the destination does, they are the
    /// source's current ones.
    fn sampler_state_copy(sampler: sampler_t, args: *const sampler_state_copy_args) -> sampler_status;
    /// Empties slots for new sequences.
    fn sampler_state_reset(sampler: sampler_t, args: *const sampler_state_reset_args) -> sampler_status;
    /// Reads the contents of slots. NULL outputs are not written.
    fn sampler_state_read(sampler: sampler_t, args: *const sampler_state_read_args) -> sampler_status;
    /// Writes the sequences of slots [first_slot, first_slot + num_slots) into `buffer`, host memory, in
    /// a format that is the same on every machine. *out_bytes is the size needed; `buffer` NULL: only
    /// that. Waits for the device.
    /// Errors: INVALID_ARGUMENT (also a buffer that is too small; *out_bytes is still set).
    fn sampler_state_serialize(sampler: sampler_t, state: sampler_state_t, first_slot: i64, num_slots: i64, buffer: *mut c_void, buffer_bytes: usize, out_bytes: *mut usize) -> sampler_status;
    /// Replaces the slots from first_slot on by serialised sequences. Every byte is checked; on failure
    /// all slots are unchanged. *out_num_slots is the number of slots set; it may be NULL.
    /// Errors: INVALID_ARGUMENT (more slots or longer sequences than the state has room
    /// for), CORRUPT_DATA.
    fn sampler_state_deserialize(sampler: sampler_t, state: sampler_state_t, first_slot: i64, data: *const c_void, data_bytes: usize, out_num_slots: *mut i64) -> sampler_status;
    /// Plans the exchanges. It reads no array, and `send` and `received` may be NULL.
    ///
    /// Errors: INVALID_ARGUMENT; UNSUPPORTED, for calls without a sharded form, which the text names:
    /// stages with windows (typical-p, XTC ...), adaptive kinds, forced tokens, out_observations, chosen
    /// tokens, the kept set and out_removed_by as reports, RAW top log-probabilities beside edits, and
    /// verification except as in `verify`. docs/sharding.md has the list.
    fn sampler_shard_plan(sampler: sampler_t, args: *const sampler_shard_args, out_plan: *mut sampler_shard_plan_info) -> sampler_status;
    /// Computes a round, in [0, num_exchanges]: reads `received` of the previous exchange, writes `send`
    /// for the next one, or in the last round the call's outputs. Rounds come in order, with the
    /// same arguments.
    ///
    /// A rank whose arguments differ, or whose range overlaps the next one's or leaves a gap, makes
    /// round 1 fail on every rank: INVALID_ARGUMENT, and the text names the rank and the difference. A
    /// CUDA handle's calls are enqueued before that is known, and do not fail: instead every row is bad,
    /// INVALID_SHARD, on every rank, also if rounds come out of order. If only array contents differ,
    /// such as seeds by slot, the row is bad on every rank: INVALID_SHARD. Other bad rows are the same
    /// as for whole rows.
    ///
    /// If a rank fails, others wait for its message. It sends zeros instead: the round that reads them
    /// fails on every rank, as above, and the text names the failed rank.
    fn sampler_shard_round(sampler: sampler_t, args: *const sampler_shard_args, round: i64) -> sampler_status;
    /// Creates an empty storage. On failure *out_storage is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_ngram_storage_create(options: *const sampler_ngram_storage_options, out_storage: *mut sampler_ngram_storage_t) -> sampler_status;
    /// NULL is allowed.
    fn sampler_ngram_storage_destroy(storage: sampler_ngram_storage_t);
    /// Fills *out_ngram, whose struct_size is set, with the storage as an interface. It is valid until
    /// the storage is destroyed; `user` is the storage.
    ///
    /// next_token  gives the token counted most often after the longest known context; on ties the one
    ///             that reached that count first. At most the context's last order - 1 tokens are read.
    ///             Counts stop at 2^32 - 1.
    ///
    /// has_gram    1 for contexts of 1 to order - 1 tokens (ONE_LEVEL: order - 1) with a counted next
    ///             token.
    ///
    /// propose     as next_token, token after token: each has its count and share after the longest
    ///             known context, without regard to shorter ones. The share is the f32 nearest to that
    ///             of the n-grams counted; dropped ones have none.
    ///
    /// update      counts in every supported order for which the context is long enough. At most the
    ///             context's last order - 1 tokens are read.
    ///
    /// reset       also releases the table's memory and sets the statistics to 0.
    ///
    /// A call takes amortised O(order log n) at worst per token learned or proposed, n the n-grams
    /// known: now and then the table grows.
    ///
    /// update and initialize return OUT_OF_MEMORY when the allocator returned NULL: the storage is then
    /// unchanged, even if part of a text had been learned. Ids outside the vocabulary
    /// are INVALID_ARGUMENT.
    fn sampler_ngram_storage_interface(storage: sampler_ngram_storage_t, out_ngram: *mut sampler_ngram) -> sampler_status;
    /// Fills *out_stats, whose struct_size is set.
    fn sampler_ngram_storage_get_stats(storage: sampler_ngram_storage_t, out_stats: *mut sampler_ngram_storage_stats) -> sampler_status;
    /// Writes the contents into `buffer`, of `buffer_bytes` bytes, and their size into *out_bytes:
    /// little-endian, versioned, with a checksum; the same bytes on every machine. `buffer` NULL, with 0
    /// bytes: only the size. A buffer that is too small is INVALID_ARGUMENT, and *out_bytes is not
    /// written. Takes O(n log n).
    fn sampler_ngram_storage_serialize(storage: sampler_ngram_storage_t, buffer: *mut c_void, buffer_bytes: usize, out_bytes: *mut usize) -> sampler_status;
    /// Replaces the contents by serialised ones. Every byte is checked; on failure the contents are
    /// unchanged. Takes O(order + log n) per record of 12 bytes, and memory for at most 3.2 table
    /// entries per record, whatever the bytes.
    /// Errors: INVALID_ARGUMENT (data of another kind, order or vocabulary), CORRUPT_DATA, OUT_OF_MEMORY
    /// (the allocator, or memory_limit, which counts old and new contents; reset makes room).
    fn sampler_ngram_storage_deserialize(storage: sampler_ngram_storage_t, data: *const c_void, data_bytes: usize) -> sampler_status;
    /// Creates a lookup with an empty text. On failure *out_lookup is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_prompt_lookup_create(options: *const sampler_prompt_lookup_options, out_lookup: *mut sampler_prompt_lookup_t) -> sampler_status;
    /// NULL is allowed.
    fn sampler_prompt_lookup_destroy(lookup: sampler_prompt_lookup_t);
    /// Appends tokens to the text: all, or none if there is no room for all (INVALID_ARGUMENT).
    fn sampler_prompt_lookup_append(lookup: sampler_prompt_lookup_t, token_ids: *const i32, num_tokens: i64) -> sampler_status;
    /// Empties the text. Takes time in proportion to max_tokens.
    fn sampler_prompt_lookup_reset(lookup: sampler_prompt_lookup_t) -> sampler_status;
    /// Up to num_drafts tokens that followed the match, fewer if the text ends first; out_token_ids is
    /// [num_drafts], and *out_num_drafts their number. 0: no match of at least min_match tokens.
    fn sampler_prompt_lookup_propose(lookup: sampler_prompt_lookup_t, num_drafts: i64, out_token_ids: *mut i32, out_num_drafts: *mut i64) -> sampler_status;
    /// Fills *out_ngram, whose struct_size is set, with the lookup as an interface for one sequence. It
    /// is valid until the lookup is destroyed; `user` is the lookup.
    ///
    /// Every context must be a prefix of the sequence, and begin with the text; this is not checked, and
    /// otherwise the tokens are useless.
    ///
    /// next_token  the token after the longest occurrence in the text of the context's end, within
    ///             min_match and max_match. Tokens of the context past the text, such as drafts, are
    ///             matched but not appended, in amortised O(log n) at worst for each. A context that
    ///             extends that of the last call is matched from there, so that drafting one by one
    ///             matches each draft once. A context shorter than the text is unknown.
    ///
    /// propose     as next_token, token after token, in amortised O(log n) at worst for each. A match
    ///             counts as one occurrence: each token has the count 1 and the share 1, so that
    ///             least_count above 1 leaves none.
    ///
    /// has_gram    1 when the context, of min_match to max_match tokens, occurs anywhere in the text
    ///             and a token follows it.
    ///
    /// update      appends the context's tokens past the text; next_token_ids are checked but not
    ///             learned, since only some of them may be part of the sequence. If there is no room,
    ///             nothing is appended, and until a reset next_token knows nothing and propose gives
    ///             nothing: a loop continues without drafts.
    ///
    /// initialize  appends, as sampler_prompt_lookup_append does.
    ///
    /// reset       is sampler_prompt_lookup_reset.
    fn sampler_prompt_lookup_interface(lookup: sampler_prompt_lookup_t, out_ngram: *mut sampler_ngram) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
    /// to the library are set to 0.
    fn sampler_generation_args_init(args: *mut sampler_generation_args, struct_size: usize) -> sampler_status;
    /// Feeds the prompts whole, draws the first token from their last logits, then one per step.
    fn sampler_autoregressive(sampler: sampler_t, args: *const sampler_generation_args) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
    /// to the library are set to 0.
    fn sampler_speculative_args_init(args: *mut sampler_speculative_args, struct_size: usize) -> sampler_status;
    /// Drafts with a model or n-grams, and verifies with the target. A model's drafts (Leviathan et al.
    /// 2023) are verified as by sampler_verify from both models' logits, n-grams' without draft
    /// probabilities: a draft of probability p is kept with probability p and, once rejected, not drawn
    /// again. Greedy gives the text of sampler_autoregressive; sampling gives texts of
    /// its distribution.
    fn sampler_speculative(sampler: sampler_t, args: *const sampler_speculative_args) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; members unknown
    /// to the library are set to 0.
    fn sampler_beam_search_args_init(args: *mut sampler_beam_search_args, struct_size: usize) -> sampler_status;
    /// Keeps the num_beams best continuations of each text, step by step. A beam ended by a row without
    /// a token, BAD_ROW, comes last, with score -inf; in a pool it yields its place to any other, and
    /// does not count as filling the pool.
    fn sampler_beam_search(sampler: sampler_t, args: *const sampler_beam_search_args) -> sampler_status;
    /// KV cache tokens to cut after a round of num_drafted drafts, the first num_emitted of them kept:
    /// the target was fed all of them, the drafter all but the last. *out_target and *out_drafter:
    /// tokens to cut from the ends of their caches; 0: none. *out_missing: kept drafts not yet fed to
    /// the drafter, 0 or 1. 0 <= num_emitted <= num_drafted. All three required.
    fn sampler_prune_count(num_drafted: i64, num_emitted: i64, out_target: *mut i64, out_drafter: *mut i64, out_missing: *mut i64) -> sampler_status;
    /// Makes an empty session, which must be destroyed before the handle. On failure *out_session is
    /// NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device), CUDA.
    fn sampler_session_create(sampler: sampler_t, options: *const sampler_session_options, out_session: *mut sampler_session_t) -> sampler_status;
    /// Bytes of memory of such a session, device memory included. Errors:
    /// INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_session_size(sampler: sampler_t, options: *const sampler_session_options, out_bytes: *mut usize) -> sampler_status;
    /// NULL is allowed. On a CUDA handle it waits for the device.
    fn sampler_session_destroy(session: sampler_session_t);
    /// Adds a sequence; *out_sequence is its number. It is finished at once if its last token, when new,
    /// ends it, or there is no room for another. With PROMPT_LOOKUP it takes time proportional to
    /// lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA, the status
    /// of ngram's initialize.
    fn sampler_session_add(session: sampler_session_t, args: *const sampler_session_add_args, out_sequence: *mut i32) -> sampler_status;
    /// Adds a copy of a sequence, without the step's drafts: same text, same cache lengths. The caller
    /// copies the caches, cut to the lengths from sampler_session_get. Errors: INVALID_ARGUMENT (also:
    /// the session has max_sequences), CUDA.
    fn sampler_session_fork(session: sampler_session_t, args: *const sampler_session_fork_args, out_sequence: *mut i32) -> sampler_status;
    /// Removes a sequence, finished or not, planned or not. Its number may be reused.
    /// Errors: INVALID_ARGUMENT.
    fn sampler_session_remove(session: sampler_session_t, sequence: i32) -> sampler_status;
    /// Fills *out_sequence, whose struct_size is set. Errors: INVALID_ARGUMENT.
    fn sampler_session_get(session: sampler_session_t, sequence: i32, out_sequence: *mut sampler_session_sequence) -> sampler_status;
    /// Plans a step. Planning again before advancing is allowed; a sequence's last plan counts, and
    /// spans of earlier ones are refused, even if equal. A draft source that fails ends the drafting of
    /// its sequence.
    /// Errors: INVALID_ARGUMENT.
    fn sampler_session_plan(session: sampler_session_t, args: *const sampler_session_plan_args) -> sampler_status;
    /// Processes logits: the drafter's become drafts, the target's verify drafts and become tokens. A
    /// row without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts kept
    /// before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that end
    /// before it, and the sequence continues up to it); a bad row of the drafter only ends the step's
    /// drafts. A span that differs from its sequence's last plan, or whose sequence has been removed or
    /// planned again since, is INVALID_ARGUMENT. On a CUDA handle each sequence with BY_ENTROPY that
    /// begins a step adds a wait.
    /// Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.
    fn sampler_session_advance(session: sampler_session_t, args: *const sampler_session_advance_args) -> sampler_status;
}
