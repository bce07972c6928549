// Written by generate.py from the C headers.

/// Every function that can fail returns one of these; sampler_last_error() then tells in one line
/// what was wrong.
pub type sampler_status = i32;

/// Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
/// row: it yields token -1 (or the handle's fallback token) and a bit that says why.
pub type sampler_row_status = u32;

/// Where the arrays of a call live.
pub type sampler_device_type = i32;

/// Type of the elements of logits and probabilities. All widen exactly to f32 before anything is
/// computed. f16 is IEEE binary16, bf16 the upper half of an f32.
pub type sampler_dtype = i32;

/// Type of token ids.
pub type sampler_id_type = i32;

/// What the numbers of a row mean. Probabilities are >= 0 and need not sum to 1.
pub type sampler_input_kind = i32;

/// What a filter does with tokens that equal the last kept one in value.
pub type sampler_tie_rule = i32;

/// What the probability of the tokens that top-p or typical-p keeps must do. It differs only where a
/// sum is the share exactly.
pub type sampler_sum_rule = i32;

/// Which filter sees what.
pub type sampler_filter_order = i32;

/// When the temperature applies. The draw always uses it.
pub type sampler_temperature_order = i32;

/// How a token is drawn from what the filters kept. Both follow the same distribution.
pub type sampler_draw_method = i32;

/// Of which distribution a log-probability is.
pub type sampler_logprob_kind = i32;

/// What a filter writes of a row.
pub type sampler_output_kind = i32;

/// What a [`sampler_stream`] points to.
#[repr(C)]
pub struct CUstream_st {
    _private: [u8; 0],
}

/// A CUDA stream (cudaStream_t and CUstream are this type). NULL is the legacy default stream.
/// A CPU handle ignores it.
pub type sampler_stream = *mut CUstream_st;

/// What a [`sampler_t`] points to.
#[repr(C)]
pub struct sampler_handle {
    _private: [u8; 0],
}

/// A sampler: a device, its threads and, if wanted, a workspace. It may move between threads but
/// serves one call at a time; different handles are independent.
pub type sampler_t = *mut sampler_handle;

/// Returns `bytes` bytes aligned to `alignment` (a power of two), or NULL. Called only by functions
/// that create a handle, by decoding loops before they call anything else, and, as ngram.h says, by
/// n-gram storages.
pub type sampler_allocate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void,
>;

/// Releases what the allocate function returned, with the same `bytes` and `alignment`. Called only
/// by functions that destroy a handle, by those that create one when they fail, by decoding loops
/// before they return, and by n-gram storages.
pub type sampler_deallocate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize, alignment: usize),
>;

pub type sampler_log_level = i32;

/// Takes one line without a line end. It hears of handles created, and of every error text of the
/// handle's calls. Called on the thread of the call; `message` is valid until it returns.
pub type sampler_log_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, level: sampler_log_level, message: *const c_char),
>;

/// One task of a call: `index` in [0, num_tasks).
pub type sampler_task_fn = Option<
    unsafe extern "C" fn(task_user: *mut c_void, index: i64),
>;

/// Runs `task(task_user, i)` exactly once for each i in [0, num_tasks), in any order, on any
/// threads, and returns when all have returned. One that leaves a task out, runs one twice or one of
/// another index makes the call fail: SAMPLER_ERROR_CALLBACK. No task may be run, and none may still
/// run, after it has returned or thrown: their memory ends with the call.
pub type sampler_parallel_for_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, num_tasks: i64, task: sampler_task_fn, task_user: *mut c_void),
>;

/// The stages, and their order where sampler_params.stages lists none.
pub type sampler_stage = i32;

/// A window that the tokens drawn before move.
pub type sampler_adaptive_kind = i32;

/// What a [`sampler_state_t`] points to.
#[repr(C)]
pub struct sampler_state {
    _private: [u8; 0],
}

/// What is remembered of sequences: see state.h.
pub type sampler_state_t = *mut sampler_state;

/// Which tokens of a history count.
pub type sampler_penalty_scope = i32;

/// How the penalties are computed, for a token that occurs c times. They differ in the last bit; the
/// last one in its order too.
pub type sampler_penalty_form = i32;

/// What the bitmask says of ids that it has no word for. A vocabulary that is padded beyond the
/// tokenizer's has such ids where the mask is made for the tokenizer's: LEAVES, the default, lets
/// them be drawn whatever the grammar says. Set FORBIDS unless all that the row has beyond the mask
/// may be drawn.
pub type sampler_mask_rule = i32;

/// When a draft x is accepted where the target gives it p(x) and the drafter gave it q(x). A greedy
/// row (a temperature of at most 1e-5) accepts the argmax and nothing else, but for RELAXED and
/// SYNTHETIC.
pub type sampler_acceptance = i32;

/// How siblings of a tree were drafted, which decides what a rejection leaves for the next one.
pub type sampler_sibling_rule = i32;

/// How the drafts of several sequences lie in memory.
pub type sampler_packing = i32;

pub type sampler_token_kind = i32;

/// The likeliest token to follow the end of `context`. *out_known is 1 when something is known
/// there, and 0 when the token is drawn from `seed` and `offset`, uniformly over the vocabulary.
pub type sampler_ngram_next_token_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, seed: u64, offset: u64, out_token_id: *mut i32, out_known: *mut i32) -> sampler_status,
>;

/// out_has is 1 when a token is known to follow exactly this context, without back-off, and 0 when
/// not, as for a context of a length that is not kept.
pub type sampler_ngram_has_gram_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, out_has: *mut i32) -> sampler_status,
>;

/// Counts each of `next_token_ids` once, in their order, as following the end of `context`; one that
/// stands there twice counts twice.
pub type sampler_ngram_update_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, context: *const i32, num_tokens: i64, next_token_ids: *const i32, num_next_tokens: i64) -> sampler_status,
>;

/// Learns a text: an update with each of its tokens, as following those before it. What was known
/// stays.
pub type sampler_ngram_initialize_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, token_ids: *const i32, num_tokens: i64) -> sampler_status,
>;

/// Up to num_drafts tokens, each the likeliest after the context and the tokens before it: up to the
/// first that is unknown, that was counted fewer than least_count times there, or whose share, its
/// count over the counts of all tokens that followed there, is below least_share, in [0, 1]. Limits
/// of 0 are off. `out_token_ids` is [num_drafts], and *out_num_drafts their number.
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

/// One growing text. It tells what followed the longest earlier occurrence of the text's end, which
/// may overlap that end; of equally long ones the latest. Appending a token takes amortised
/// O(log n) at worst, whatever the text.
pub type sampler_prompt_lookup_t = *mut sampler_prompt_lookup;

/// Appends each span to the cache of its sequence and writes the logits that follow its last
/// logit_counts tokens. Of a tree the logits of a token follow those that it sees. Its first path
/// comes before all else, and is all of it that `truncate` leaves: what became text beside it comes
/// again, so that nothing in a cache has to be moved.
pub type sampler_forward_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, args: *const sampler_forward_args) -> sampler_status,
>;

/// Cuts the cache of `sequence` to its first `length` tokens, fewer than it has; 0 empties it.
pub type sampler_truncate_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, sequence: i32, length: i64) -> sampler_status,
>;

/// Makes the cache of `destination` a copy of that of `source`, whatever it held.
pub type sampler_fork_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, source: i32, destination: i32) -> sampler_status,
>;

pub type sampler_processor = i32;

pub type sampler_finish_reason = i32;

/// Takes the new tokens of a step, which are valid during the call; `reason` is not NONE with the
/// last of them, of which there may be 0. Not 0: the text ends here, CANCELLED where it had not
/// ended anyway.
pub type sampler_tokens_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, text: i64, token_ids: *const i32, num_tokens: i64, reason: sampler_finish_reason) -> i32,
>;

/// Rewrites logits in place, on the handle's device, before anything else looks at them: penalties,
/// biases, grammars. Enqueuing that on `stream` is enough. Row i follows `lengths[i]` tokens of the
/// model's sequence `sequences[i]`; both arrays are host memory. In a tree of drafts that is the
/// text and the drafts that the row's own follows, and several rows have one length. Logits of the
/// drafter and of the target both come by.
pub type sampler_process_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, stream: sampler_stream, logits: *mut c_void, num_rows: i64, num_cols: i64, row_stride: i64, sequences: *const i32, lengths: *const i64) -> sampler_status,
>;

/// Writes the text of a token into `buffer`, at most buffer_bytes, and returns its length. For trace
/// lines.
pub type sampler_token_text_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, token_id: i32, buffer: *mut c_char, buffer_bytes: usize) -> usize,
>;

/// Takes a round of a text; everything is valid during the call.
pub type sampler_trace_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, round: *const sampler_trace_round),
>;

/// What decides on the number of drafts of a round.
pub type sampler_gamma_rule = i32;

/// The time in nanoseconds since any moment, never less than before. A loop asks for it when the
/// drafts of a round and their verification are on the host.
pub type sampler_clock_fn = Option<
    unsafe extern "C" fn(user: *mut c_void) -> i64,
>;

/// What becomes of beams that have ended.
pub type sampler_beam_rule = i32;

/// What a [`sampler_session_t`] points to.
#[repr(C)]
pub struct sampler_session {
    _private: [u8; 0],
}

pub type sampler_session_t = *mut sampler_session;

/// Where a sequence's drafts come from; all but NONE need max_drafts of the session. The first new
/// token is never drafted.
pub type sampler_draft_source = i32;

constants! {
    SAMPLER_VERSION_MAJOR: u32 = 0;
    SAMPLER_VERSION_MINOR: u32 = 1;
    SAMPLER_VERSION_PATCH: u32 = 0;
    /// The number of a candidate for the release of this version; 0: the release itself.
    SAMPLER_VERSION_CANDIDATE: u32 = 1;
    /// major * 10000 + minor * 100 + patch.
    SAMPLER_VERSION: u32 = SAMPLER_VERSION_MAJOR * 10000 + SAMPLER_VERSION_MINOR * 100 + SAMPLER_VERSION_PATCH;
    /// The number in the SONAME. Programs and libraries with equal numbers fit together: every change
    /// that breaks the ABI raises it, also before version 0.1.0.
    SAMPLER_ABI_VERSION: u32 = 1;
    SAMPLER_OK: sampler_status = 0;
    /// An argument breaks a rule of its documentation. Nothing was enqueued, no output written.
    SAMPLER_ERROR_INVALID_ARGUMENT: sampler_status = 1;
    /// The allocator returned NULL. Creating a handle, a state or a session, a decoding loop as it
    /// begins, and an n-gram storage as it learns allocate; nothing else does.
    SAMPLER_ERROR_OUT_OF_MEMORY: sampler_status = 2;
    /// The handle's or the call's workspace is smaller than the call's _workspace_size tells.
    SAMPLER_ERROR_WORKSPACE_TOO_SMALL: sampler_status = 3;
    /// The arguments are valid, but this build or device does not offer what they ask for.
    SAMPLER_ERROR_UNSUPPORTED: sampler_status = 4;
    /// The program was compiled for another ABI of libsampler.
    SAMPLER_ERROR_ABI_MISMATCH: sampler_status = 5;
    /// The system refused something, such as starting a thread when the handle was created.
    SAMPLER_ERROR_SYSTEM: sampler_status = 6;
    /// A callback of the caller (parallel_for) broke its contract. The outputs are undefined.
    SAMPLER_ERROR_CALLBACK: sampler_status = 7;
    /// CUDA reported an error. The outputs are undefined.
    SAMPLER_ERROR_CUDA: sampler_status = 8;
    /// A fault of libsampler itself, which it caught. The outputs are undefined.
    SAMPLER_ERROR_INTERNAL: sampler_status = 9;
    /// Serialised data is truncated, damaged or of a newer format.
    SAMPLER_ERROR_CORRUPT_DATA: sampler_status = 10;
    /// The row is good.
    SAMPLER_ROW_OK: sampler_row_status = 0;
    /// A NaN, a +inf logit, or a negative or infinite probability.
    SAMPLER_ROW_INVALID_VALUE: sampler_row_status = 1;
    /// No token to choose: every logit is -inf, every probability 0, or there is no candidate.
    SAMPLER_ROW_EMPTY: sampler_row_status = 2;
    /// A parameter of this row is NaN, or a temperature or filter that probabilities cannot have.
    SAMPLER_ROW_INVALID_PARAMETER: sampler_row_status = 4;
    /// The row's entry of row_indices names no input row, or that of token_bitmask_indices no mask.
    SAMPLER_ROW_INVALID_INDEX: sampler_row_status = 8;
    /// candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20) or
    /// listed twice.
    SAMPLER_ROW_INVALID_CANDIDATE: sampler_row_status = 16;
    /// A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts].
    /// Such a draft is rejected; the row is otherwise good and has its outputs.
    SAMPLER_ROW_INVALID_DRAFT: sampler_row_status = 32;
    /// The row's entry of slots is outside [0, num_slots).
    SAMPLER_ROW_INVALID_SLOT: sampler_row_status = 64;
    /// A list of the row's slot, in the pipeline, has offsets that fall or lie outside of the list's
    /// ids, or breaks another rule of pipeline.h.
    SAMPLER_ROW_INVALID_LIST: sampler_row_status = 128;
    /// The tokens do not fit in the slot of the state, which is as it was.
    SAMPLER_ROW_STATE_FULL: sampler_row_status = 256;
    /// The sequence's drafts hang together in a way that no tree does.
    SAMPLER_ROW_INVALID_TREE: sampler_row_status = 512;
    /// The ranks that a row lies on disagree about what its arrays say, or its top_k is above
    /// sampler_shard_args.max_top_k.
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
    /// all of them are kept (FlashInfer's renorms, Hugging Face's top-k)
    SAMPLER_TIES_KEEP: sampler_tie_rule = 1;
    /// be at least the share, so 0.5 keeps 4 of 8 equal tokens
    SAMPLER_SUM_REACHES: sampler_sum_rule = 0;
    /// be more than the share, so 0.5 keeps 5 of 8 (SGLang's top-p)
    SAMPLER_SUM_EXCEEDS: sampler_sum_rule = 1;
    /// top-k; then top-p of the weight that top-k kept; then min-p.
    SAMPLER_FILTERS_SEQUENTIAL: sampler_filter_order = 0;
    /// Each filter sees the whole row; what all of them keep is kept.
    SAMPLER_FILTERS_JOINT: sampler_filter_order = 1;
    /// min-p; then top-k; then top-p of the weight that is left (vLLM).
    SAMPLER_FILTERS_MIN_P_FIRST: sampler_filter_order = 2;
    /// filters see the row at the temperature
    SAMPLER_TEMPERATURE_FIRST: sampler_temperature_order = 0;
    /// filters see the row at temperature 1 (llama.cpp)
    SAMPLER_TEMPERATURE_LAST: sampler_temperature_order = 1;
    /// One uniform number per row; exact in integers, tails of any size.
    SAMPLER_DRAW_INVERSE_CDF: sampler_draw_method = 0;
    /// The largest of logit / temperature + Gumbel noise per token: a small change of the logits
    /// rarely changes the token. Tails below 2^-30 of the likeliest token are not resolved.
    SAMPLER_DRAW_GUMBEL: sampler_draw_method = 1;
    /// the whole row, as it is given, at temperature 1
    SAMPLER_LOGPROB_RAW: sampler_logprob_kind = 0;
    /// what was drawn from: temperature and filters applied
    SAMPLER_LOGPROB_PROCESSED: sampler_logprob_kind = 1;
    /// the whole row, as its edits left it, at temperature 1
    SAMPLER_LOGPROB_EDITED: sampler_logprob_kind = 2;
    /// of the kept tokens, renormalised; 0 elsewhere
    SAMPLER_OUTPUT_PROBABILITIES: sampler_output_kind = 0;
    /// of the kept tokens, as they are; -inf elsewhere
    SAMPLER_OUTPUT_VALUES: sampler_output_kind = 1;
    SAMPLER_LOG_INFO: sampler_log_level = 0;
    SAMPLER_LOG_ERROR: sampler_log_level = 1;
    SAMPLER_ISA_SCALAR: u32 = 1;
    SAMPLER_ISA_AVX2: u32 = 2;
    SAMPLER_ISA_AVX512: u32 = 4;
    SAMPLER_ISA_NEON: u32 = 8;
    /// Edits.
    ///
    /// pipeline.biased and the dense bias
    SAMPLER_STAGE_BIAS: sampler_stage = 1;
    /// allowed and banned tokens, bad words, stop tokens, bitmask
    SAMPLER_STAGE_MASK: sampler_stage = 2;
    /// repetition, frequency, presence
    SAMPLER_STAGE_PENALTIES: sampler_stage = 3;
    /// repeats of sequences
    SAMPLER_STAGE_DRY: sampler_stage = 4;
    /// bans what completes an n-gram of the history
    SAMPLER_STAGE_NO_REPEAT_NGRAM: sampler_stage = 5;
    SAMPLER_STAGE_TEMPERATURE: sampler_stage = 6;
    /// Windows: each keeps some tokens of those that the one before it kept.
    ///
    /// whose surprise is nearest the entropy
    SAMPLER_STAGE_TYPICAL_P: sampler_stage = 7;
    /// within n standard deviations of the largest logit
    SAMPLER_STAGE_TOP_N_SIGMA: sampler_stage = 8;
    /// of a probability of at least epsilon
    SAMPLER_STAGE_EPSILON: sampler_stage = 9;
    /// the same, and lower where the entropy is high
    SAMPLER_STAGE_ETA: sampler_stage = 10;
    /// that have a share of the entropy
    SAMPLER_STAGE_TOP_H: sampler_stage = 11;
    /// by a coin, not those above a threshold, but the last of them
    SAMPLER_STAGE_XTC: sampler_stage = 12;
    SAMPLER_STAGE_TOP_K: sampler_stage = 13;
    SAMPLER_STAGE_TOP_P: sampler_stage = 14;
    SAMPLER_STAGE_MIN_P: sampler_stage = 15;
    /// mirostat or adaptive-p; the last one
    SAMPLER_STAGE_ADAPTIVE: sampler_stage = 16;
    SAMPLER_MAX_STAGES: u32 = 16;
    SAMPLER_ADAPTIVE_NONE: sampler_adaptive_kind = 0;
    /// (Basu, Ramachandran, Keskar, Varshney 2021)
    SAMPLER_ADAPTIVE_MIROSTAT_V1: sampler_adaptive_kind = 1;
    SAMPLER_ADAPTIVE_MIROSTAT_V2: sampler_adaptive_kind = 2;
    /// llama.cpp's: changes the weights of the tokens that it sees
    SAMPLER_ADAPTIVE_P: sampler_adaptive_kind = 3;
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
    /// they are as they are (xgrammar)
    SAMPLER_MASK_LEAVES: sampler_mask_rule = 0;
    /// they are banned (llguidance)
    SAMPLER_MASK_FORBIDS: sampler_mask_rule = 1;
    /// That of the context: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
    /// session. Where a rule is given by slot or by sequence: the one that is given for all.
    SAMPLER_ACCEPT_DEFAULT: sampler_acceptance = 0;
    /// Lossless: what is emitted follows the target's distribution.
    ///
    /// u q(x) < p(x)
    SAMPLER_ACCEPT_STANDARD: sampler_acceptance = 1;
    /// Block verification (Sun et al. 2024): all drafts of a chain are judged together. On average it
    /// emits no fewer tokens than STANDARD.
    SAMPLER_ACCEPT_BLOCK: sampler_acceptance = 2;
    /// The target's own token is drawn as sampler_sample draws it, at offset + i after i drafts, and
    /// drafts are accepted while they are that token. Needs nothing of the drafter. The text is, token
    /// by token, the one without speculation.
    SAMPLER_ACCEPT_SAMPLE_MATCH: sampler_acceptance = 3;
    /// Lossy: what is emitted is not of the target's distribution.
    ///
    /// p(x) > min(typical_threshold, typical_scale * exp(-H(p))), without a coin (Cai et al. 2024).
    SAMPLER_ACCEPT_TYPICAL: sampler_acceptance = 4;
    /// x is one of the relaxed_top_k first tokens and p(x) >= p_max - relaxed_delta; where no draft of
    /// a position is, as STANDARD. In a greedy row p is what the edits left, at temperature 1
    /// (TensorRT-LLM).
    SAMPLER_ACCEPT_RELAXED: sampler_acceptance = 5;
    /// p(x) >= threshold_single, or u * threshold_total < the sum of p of x and the siblings tried
    /// before it (SGLang). With both at 1 it is lossless for drafts chosen without chance.
    SAMPLER_ACCEPT_THRESHOLD: sampler_acceptance = 6;
    /// As STANDARD, but a rejected draft of a chain is kept where the target is in doubt and the next
    /// deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM).
    SAMPLER_ACCEPT_DEFERRED: sampler_acceptance = 7;
    /// u < synthetic_rates[i], whatever the rows say: for benchmarks. Behind a rejection a token is
    /// drawn from p.
    SAMPLER_ACCEPT_SYNTHETIC: sampler_acceptance = 8;
    /// each was drawn from its own row
    SAMPLER_SIBLINGS_INDEPENDENT: sampler_sibling_rule = 0;
    /// each from its row without its earlier siblings
    SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT: sampler_sibling_rule = 1;
    /// Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries.
    SAMPLER_PACKING_DENSE: sampler_packing = 0;
    /// One after the other. packing_offsets is [num_sequences + 1]: the drafts of sequence s are those
    /// from packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later.
    SAMPLER_PACKING_DRAFTS: sampler_packing = 1;
    /// The same without the leading 0: packing_offsets is [num_sequences] (vLLM, V1).
    SAMPLER_PACKING_DRAFT_ENDS: sampler_packing = 2;
    /// The positions of sequence s are those from packing_offsets[s] to packing_offsets[s + 1] - 1,
    /// [num_sequences + 1], one more than its drafts. What is laid out by draft has an entry for each
    /// position: entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
    /// s earlier.
    SAMPLER_PACKING_POSITIONS: sampler_packing = 3;
    SAMPLER_TOKENS_OUTPUT: sampler_token_kind = 0;
    SAMPLER_TOKENS_PROMPT: sampler_token_kind = 1;
    SAMPLER_MAX_RANKS: u32 = 1024;
    SAMPLER_MAX_SHARD_EXCHANGES: u32 = 8;
    /// N-grams of 2 to `order` tokens. After an unknown context the longest known end of it counts,
    /// down to its last token alone.
    SAMPLER_NGRAM_ALL_ORDERS: sampler_ngram_kind = 0;
    /// N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown.
    SAMPLER_NGRAM_ONE_LEVEL: sampler_ngram_kind = 1;
    /// The likeliest token. Filters are not used; the temperature by adaptive_gamma alone.
    SAMPLER_PROCESSOR_GREEDY: sampler_processor = 0;
    /// drawn as sampler_sample does it
    SAMPLER_PROCESSOR_SAMPLE: sampler_processor = 1;
    /// not finished: it goes on, or the loop failed
    SAMPLER_FINISH_NONE: sampler_finish_reason = 0;
    /// the last token is an end token
    SAMPLER_FINISH_END_TOKEN: sampler_finish_reason = 1;
    /// it has max_new_tokens
    SAMPLER_FINISH_LENGTH: sampler_finish_reason = 2;
    /// prompt and new tokens are the target's max_context
    SAMPLER_FINISH_CONTEXT: sampler_finish_reason = 3;
    /// on_tokens wanted no more
    SAMPLER_FINISH_CANCELLED: sampler_finish_reason = 4;
    /// the logits gave no token (NaN, +inf, all -inf)
    SAMPLER_FINISH_BAD_ROW: sampler_finish_reason = 5;
    /// the last tokens are a stop sequence; of session.h alone
    SAMPLER_FINISH_STOP_SEQUENCE: sampler_finish_reason = 6;
    /// gamma
    SAMPLER_GAMMA_FIXED: sampler_gamma_rule = 0;
    /// the drafter's entropy, see adaptive_gamma
    SAMPLER_GAMMA_BY_ENTROPY: sampler_gamma_rule = 1;
    /// What drafts are measured to cost and to gain: the number of most tokens a second, 0 included.
    /// No round begins with drafts that may lose more than there is on an account, which has two rounds
    /// without drafts at first, and gets a thirty-second of the time without drafts and what drafts
    /// gain. So where drafts do not pay no more than that is lost, and, once, the first two rounds with
    /// drafts and the drafter's reading of the prompts; what a step costs more than was measured before
    /// is lost in one round. Times differ from run to run, so numbers of drafts do,
    /// and with them sampled texts: their distribution is exact, but the seed does not fix them.
    /// Greedy texts are those of sampler_autoregressive.
    SAMPLER_GAMMA_MEASURED: sampler_gamma_rule = 2;
    /// They keep their places among the num_beams of the text, and their scores, as long as no better
    /// beam takes them. So there are fewer and fewer that go on.
    SAMPLER_BEAMS_SHARED: sampler_beam_rule = 0;
    /// They go to a pool, and num_beams go on in each step, as Hugging Face's generate has it. All
    /// continuations of a text's beams are ranked by their sums of log-probabilities. Of the first
    /// num_beams those that end (by an end token, or all at max_new_tokens and max_context) go to the
    /// pool, which keeps the num_beams of the best scores, of equal ones those that came first; the
    /// first num_beams that do not end go on. top_k is not used. Results are the pool's.
    /// Hugging Face's length_penalty is alpha with min_length 0; `early_stopping` is early_stop.
    SAMPLER_BEAMS_POOL: sampler_beam_rule = 1;
    SAMPLER_DRAFTS_NONE: sampler_draft_source = 0;
    /// a drafter model, which the caller runs
    SAMPLER_DRAFTS_MODEL: sampler_draft_source = 1;
    /// a sampler_ngram, which sequences may share
    SAMPLER_DRAFTS_NGRAM: sampler_draft_source = 2;
    /// a lookup of the sequence's own, in the session's memory
    SAMPLER_DRAFTS_PROMPT_LOOKUP: sampler_draft_source = 3;
}

structs! {
    /// Rows of logits or probabilities, each row_stride elements after the one before. Never written.
    sampler_rows {
        /// [num_rows, num_cols] Elements of type `dtype`. Required, unless there are no rows.
        values: *const c_void = null();
        /// Rows, in [0, 2^31). With 0 a call does nothing.
        num_rows: i64 = 0;
        /// Columns: the vocabulary, or the room for candidates. In [1, 2^20).
        num_cols: i64 = 0;
        /// Distance of two rows in elements, at least num_cols. 0: num_cols.
        row_stride: i64 = 0;
        /// Candidate lists, for engines that hold (id, logit) pairs rather than whole rows.
        /// [num_rows, num_cols], laid out like `values`: the token id of each element, in [0, 2^20), in
        /// any order, none twice in a row. A list of all ids gives the same token as the row. NULL: the id
        /// of an element is its column.
        candidate_ids: *const c_void = null();
        /// [num_rows] How many elements each row has, in [0, num_cols]; those that follow are not read.
        /// With candidate_ids it is the length of each list, without them of each row. NULL: num_cols.
        candidate_counts: *const i32 = null();
        dtype: sampler_dtype = 0;
        kind: sampler_input_kind = 0;
        /// Type of candidate_ids.
        candidate_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
    }
    /// Randomness: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each triple once: a
    /// sequence takes a seed, or a stream of one, and its position as the offset.
    ///
    /// Arrays are in the handle's memory, read when the work runs, and indexed by slot: by row where the
    /// call has no slots.
    sampler_random {
        seed: u64 = 0;
        offset: u64 = 0;
        /// [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. NULL and 0:
        /// `seed`, `offset`.
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        /// [slots] The stream of each: a request id, say, where all share a seed. NULL: the slot's number
        /// where one seed serves all, so that they draw independently; 0 where each has its own, so that a
        /// row's token depends on its seed and offset alone and not on its place.
        streams: *const u32 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
    }
    /// Where a call runs.
    sampler_exec {
        /// Where the work is enqueued. Ignored by a CPU handle.
        stream: sampler_stream = null_mut();
        /// Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
        /// alignment. NULL and 0: the handle's. Calls that share one must not overlap in time: one thread,
        /// or one stream. Its contents are undefined before and after a call.
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Where memory comes from. Both functions NULL: the C library's malloc. A view: it never grows.
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
        /// Where the arrays of this handle's calls live.
        device_type: sampler_device_type = 0;
        /// CUDA device number, 0 the first. 0 for the CPU. Calls work in the device's primary context, as
        /// CUDA's runtime does, so that streams and arrays must be of it; the handle keeps it until it is
        /// destroyed.
        device_id: i32 = 0;
        /// CPU: how many rows are worked on at once, in [1, 256]; 0 is 1, the caller's thread alone.
        /// With more, and without `parallel_for`, the threads are started here, once, and sleep between
        /// calls. In a child process that has a copy of the handle, of fork() or, from Linux 4.14 on,
        /// of clone(), the handle works with the caller's thread alone, and is free even where another
        /// thread's call used it at that moment.
        num_threads: i32 = 0;
        /// The workspace that the handle brings: room for any operation on up to `max_rows` output rows
        /// of up to `max_cols` columns, but for calls with stages of pipeline.h, with out_removed_by or
        /// out_kept_offsets, of sampler_verify with more than dense chains by the standard rule, or on a
        /// CUDA device with any report of candidate lists, which take more. 0 and 0: the handle has none,
        /// and each call brings its own. One without the other is an error. max_rows in [0, 2^31),
        /// max_cols in [0, 2^20).
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
        /// What a bad row yields as its token: -1, or, when `use_fallback_token` is 1, this id. It must
        /// then lie in [0, num_cols) of every call on rows, in [0, 2^20) on candidate lists.
        fallback_token_id: i64 = 0;
        use_fallback_token: i32 = 0;
        /// CUDA. 1: what a call takes per row or slot as numbers (the arrays of sampler_row_params and
        /// sampler_random, and selected_counts) are host arrays. They travel with the launch, in its
        /// stream, without a wait, and may be reused when the call returns; a graph that captures the call
        /// replays their values of then. All other arrays stay on the device. A call needs up to 36 bytes
        /// a slot more workspace, and up to 88 more with stages of pipeline.h. 0: they are device arrays
        /// like all others. A CPU handle ignores it.
        host_parameters: i32 = 0;
        /// CUDA. 1: every call checks that its arrays and its workspace are memory of the handle's device,
        /// or managed or mapped, and host_parameters' arrays host memory; INVALID_ARGUMENT names the one
        /// that is not. For debugging: it asks the driver once per array. 0: they are taken as they are.
        /// A CPU handle ignores it.
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
        /// SAMPLER_ISA_ bits: compiled in, usable on this machine, and the one that a sampler created now
        /// would use (0 when SAMPLER_ISA names none that is usable).
        isa_compiled: u32 = 0;
        isa_usable: u32 = 0;
        isa_active: u32 = 0;
        /// 1 when the library was built with CUDA, and how many devices a handle can be created for
        /// (0 also without a driver).
        cuda_compiled: u32 = 0;
        num_cuda_devices: u32 = 0;
        /// Processors that the calling thread may run on, at least 1.
        num_processors: u32 = 0;
    }
    /// Lists of token ids, one after the other in one array: list i has token_ids[offsets[i]] to
    /// token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: there are none.
    ///
    /// Where lists are by slot, num_lists is the number of slots, or 1: one list for all. Rows whose
    /// offsets fall, or lie outside [0, num_token_ids], are bad (INVALID_LIST).
    sampler_token_lists {
        /// [num_lists + 1] Ascending.
        offsets: *const i64 = null();
        /// [num_token_ids] Of the pipeline's id_type. May be NULL where there are none.
        token_ids: *const c_void = null();
        num_lists: i64 = 0;
        num_token_ids: i64 = 0;
    }
    /// Arrays are in the handle's memory and read when the work runs.
    sampler_pipeline {
        /// sizeof(sampler_pipeline).
        struct_size: usize = size_of::<Self>();
        /// Of every token id in this struct.
        token_id_type: sampler_id_type = 0;
        token_bitmask_rule: sampler_mask_rule = 0;
        /// By slot: the tokens so far, the oldest first; the prompt, then the output. Penalties, DRY,
        /// n-grams, bad words and min_new_tokens need it.
        history: sampler_token_lists = sampler_token_lists::INIT;
        /// [slots] How many tokens of each history are the prompt, in [0, its length]; others make the row
        /// bad (INVALID_LIST). NULL: 0, all is output.
        prompt_lengths: *const i32 = null();
        /// No history is longer; rows of a longer one are bad (INVALID_LIST). DRY and n-grams take 4 bytes
        /// of workspace for each token of it. In [0, 2^31). 0: history.num_token_ids, or the state's
        /// max_tokens.
        max_history_tokens: i64 = 0;
        /// By slot: what is added to the logits of these tokens.
        biased: sampler_token_lists = sampler_token_lists::INIT;
        /// [biased.num_token_ids] Finite or -inf; a row that has another is bad (INVALID_PARAMETER). Of an
        /// id that a list has twice both are added, in the order of the list.
        biases: *const f32 = null();
        /// [num_dense_biases, dense_bias_stride] Added by id: one row for all slots, or one each. Ids from
        /// dense_bias_stride on get none. The stride 0 is num_cols; with candidate_ids it must be given.
        dense_bias: *const f32 = null();
        num_dense_biases: i64 = 0;
        dense_bias_stride: i64 = 0;
        /// By slot: the only tokens that may be drawn, where a slot's list has any. Ids may come twice.
        allowed: sampler_token_lists = sampler_token_lists::INIT;
        /// By slot: tokens that must not be drawn.
        banned: sampler_token_lists = sampler_token_lists::INIT;
        /// By slot: tokens that must not be drawn before the output has min_new_tokens tokens.
        stop: sampler_token_lists = sampler_token_lists::INIT;
        /// Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words
        /// from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. NULL: every slot has all. A word's
        /// last token is banned where the history ends in the others. A word without tokens makes its rows
        /// bad (INVALID_LIST).
        bad_words: sampler_token_lists = sampler_token_lists::INIT;
        bad_word_offsets: *const i64 = null();
        /// DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic
        /// order. Others make rows with DRY bad (INVALID_LIST).
        dry_breakers: sampler_token_lists = sampler_token_lists::INIT;
        /// [num_token_bitmasks, token_bitmask_stride] Ids from 32 token_bitmask_stride on, as a padded
        /// vocabulary has, are allowed unless token_bitmask_rule is FORBIDS. Bit i of word j is 1 where id
        /// 32 j + i may be drawn (xgrammar). The stride, in words, is the length of a mask, too; 0:
        /// ceil(num_cols / 32). With candidate_ids it must be given. Masks: 1 at least, and without
        /// token_bitmask_indices as many as output rows; 0 where token_bitmasks is NULL.
        token_bitmasks: *const u32 = null();
        num_token_bitmasks: i64 = 0;
        token_bitmask_stride: i64 = 0;
        /// [output rows] The mask of each; negative: none; num_token_bitmasks or more: the row is bad
        /// (INVALID_INDEX). NULL: row i has mask i, and there must be one for each.
        token_bitmask_indices: *const i32 = null();
        /// In place of history, prompt_lengths and adaptive_values, which must be NULL then: slot s of the
        /// call is slot s of the state, and the call's slots are at most those of the state. Of the same
        /// handle. The call reads it and changes nothing.
        state: sampler_state_t = null_mut();
        /// [slots, SAMPLER_NUM_ADAPTIVE_VALUES] Of callers without a state, who move them on from
        /// out_observations by section 14.2 of docs/contract.md. A NaN is the start of its stage; an
        /// infinity makes the row bad (INVALID_PARAMETER), also where the stage is off. NULL: all start.
        adaptive_values: *const f32 = null();
    }
    /// The temperature, the filters, how they combine, and the numbers of the edits before them.
    sampler_params {
        /// sizeof(sampler_params).
        struct_size: usize = size_of::<Self>();
        /// Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the
        /// first token in rank order whatever the filters say. At most 2^64. Probabilities are taken as
        /// they are: there it must be 1, or at most 1e-5. Not NaN. Default 1.
        temperature: f32 = 1.0;
        /// Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
        /// is at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020).
        /// >= 1: off; <= 0: one token. Not NaN. Default 1.
        top_p: f32 = 1.0;
        /// Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).
        /// <= 0: off; above 1: 1. Not NaN. Default 0.
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
        /// Of tokens that occur in the history: positive logits are divided by repetition_penalty and
        /// others multiplied with it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty
        /// is subtracted for each occurrence, presence_penalty once.
        repetition_penalty: f32 = 0.0;
        frequency_penalty: f32 = 0.0;
        presence_penalty: f32 = 0.0;
        /// Of the history the last so many tokens count. <= 0: all.
        penalty_window: i32 = 0;
        penalty_scope: sampler_penalty_scope = 0;
        penalty_form: sampler_penalty_form = 0;
        /// DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of n tokens
        /// loses dry_multiplier * dry_base^(n - dry_allowed_length), from the allowed length on.
        ///
        /// <= 0: off
        dry_multiplier: f32 = 0.0;
        /// 0: 1.75; below 1: off
        dry_base: f32 = 0.0;
        /// 0: 2; negative: 0
        dry_allowed_length: i32 = 0;
        /// repeats are sought in the last so many tokens; <= 0: in all
        dry_window: i32 = 0;
        /// Tokens that would complete an n-gram of the history are banned. <= 0: off.
        no_repeat_ngram_size: i32 = 0;
        /// pipeline.stop is banned before the output has so many tokens. <= 0: no minimum.
        min_new_tokens: i32 = 0;
        /// What bad words are looked for in. OUTPUT: the output (vLLM); the others: all.
        bad_word_scope: sampler_penalty_scope = 0;
        /// Windows: see pipeline.h. All are off by default, and none is NaN.
        ///
        /// Dynamic temperature: T follows the entropy of what it sees, from max(0, T - range) to T +
        /// range, by the power `exponent` of its share of the largest (kalomaze 2023). Logits only.
        ///
        /// <= 0: off
        dynamic_temperature_range: f32 = 0.0;
        /// 0: 1; negative: 0
        dynamic_temperature_exponent: f32 = 0.0;
        /// locally typical sampling (Meister et al. 2023). <= 0, >= 1: off
        typical_p: f32 = 0.0;
        /// (Tang et al. 2024), of the population. <= 0: off
        top_n_sigma: f32 = 0.0;
        /// (Hewitt et al. 2022). <= 0, >= 1: off
        epsilon_cutoff: f32 = 0.0;
        /// (the same). <= 0, >= 1: off
        eta_cutoff: f32 = 0.0;
        /// (Potraghloo et al. 2025). <= 0, >= 1: off
        top_h: f32 = 0.0;
        /// exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only
        xtc_probability: f32 = 0.0;
        /// 0: 0.1; negative: 0; above 0.5: off
        xtc_threshold: f32 = 0.0;
        typical_p_ties: sampler_tie_rule = 0;
        /// No window, top-k, top-p and min-p among them, keeps fewer tokens, where there are so many.
        ///
        /// <= 1: one
        min_keep: i32 = 0;
        /// The order of all stages; 0 ends it. Edits come first, ADAPTIVE comes last. A stage that is on
        /// must be listed, none twice. filter_order must be SEQUENTIAL, whatever it means without a list,
        /// or JOINT: then the listed ones of top-k, top-p and min-p stand side by side. temperature_order
        /// must be FIRST. All 0: the order of sampler_stage, in which filter_order and temperature_order
        /// have their meaning.
        stages: [sampler_stage; SAMPLER_MAX_STAGES as usize] = [0; SAMPLER_MAX_STAGES as usize];
        /// Adaptive stages: see pipeline.h. All are off by default. They change nothing in a greedy row.
        /// What is drawn moves them on: see pipeline.adaptive_values and sampler_accept.
        ///
        /// NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
        /// probability (negative: off; above 1: 1). The rate is mirostat's learning rate (0: 0.1), or
        /// adaptive-p's decay (0: 0.9; above 0.99: 0.99); a negative one is 0. Both are finite, and mean
        /// nothing with NONE.
        adaptive_kind: sampler_adaptive_kind = 0;
        adaptive_target: f32 = 0.0;
        adaptive_rate: f32 = 0.0;
        /// After each token the running top_p, which begins as top_p, is multiplied by the factor, and
        /// does not fall below the least value.
        ///
        /// the factor. <= 0, >= 1: off. Not NaN
        top_p_decay: f32 = 0.0;
        /// finite
        top_p_least: f32 = 0.0;
        /// Sums and ties. All default to 0, the first constant of their enumeration.
        ///
        /// Whether what top-p and typical-p keep must reach their share or exceed it.
        top_p_sum: sampler_sum_rule = 0;
        typical_p_sum: sampler_sum_rule = 0;
        /// Ties of epsilon and eta: with KEEP, all tokens stay that equal the last one of those that
        /// min_keep asks for, so all of the likeliest where no token reaches the threshold.
        cutoff_ties: sampler_tie_rule = 0;
    }
    /// The same by slot: [number of slots] each, in the handle's memory, or host memory with the
    /// handle's host_parameters. NULL: the scalar of that name for all. Every value has the scalar's
    /// meaning. One that is NaN, or a temperature that probabilities cannot have, makes its rows bad.
    sampler_row_params {
        /// sizeof(sampler_row_params).
        struct_size: usize = size_of::<Self>();
        temperature: *const f32 = null();
        top_p: *const f32 = null();
        min_p: *const f32 = null();
        top_k: *const i32 = null();
        repetition_penalty: *const f32 = null();
        frequency_penalty: *const f32 = null();
        presence_penalty: *const f32 = null();
        penalty_window: *const i32 = null();
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
        xtc_probability: *const f32 = null();
        xtc_threshold: *const f32 = null();
        min_keep: *const i32 = null();
        /// The token that the slot yields whatever the rest says: the end of a thinking budget, a trace
        /// that is replayed. Negative: none. One that is no element of the row makes it bad
        /// (INVALID_PARAMETER). sampler_sample only.
        forced_token_id: *const i64 = null();
        /// one that is no such constant: the row is bad
        adaptive_kind: *const sampler_adaptive_kind = null();
        adaptive_target: *const f32 = null();
        adaptive_rate: *const f32 = null();
        top_p_decay: *const f32 = null();
        top_p_least: *const f32 = null();
        /// The token after which the running top_p is top_p again. Negative: none. NULL: none.
        top_p_reset_token_id: *const i64 = null();
    }
    /// What a call tells of the tokens beside their ids. sampler_sample, sampler_verify and
    /// sampler_session_advance take one; NULL: nothing is told.
    ///
    /// "Rows" are the rows of the call's out_token_ids: those of output of sampler_sample,
    /// [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
    /// sampler_session_advance. Token ids are of the call's token_id_type, of a session int32_t. Arrays
    /// are where the call's outputs are. A number of 0 or a NULL array: not wanted. What a call does not
    /// report must be 0 there, which its documentation names.
    ///
    /// Reports are of the distribution that logprob_kind names: the row as it is given (RAW), as its
    /// edits left it (EDITED), or what was drawn from (PROCESSED), of which tokens that were not kept
    /// have no part. A greedy row is a single token in PROCESSED. Section 15 of docs/contract.md has
    /// their arithmetic.
    sampler_report_args {
        /// sizeof(sampler_report_args).
        struct_size: usize = size_of::<Self>();
        /// The distribution of out_logprobs and of all that follows out_observations.
        logprob_kind: sampler_logprob_kind = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [rows] Natural logarithm of the probability of the row's token; NaN for a bad row. Of a row of
        /// probabilities it is relative to the row's sum.
        out_logprobs: *mut f32 = null_mut();
        /// [rows] The token's value in the input as it is given, widened to f32; NaN for a bad row.
        out_values: *mut f32 = null_mut();
        /// [rows] How many tokens the filters kept: 1 for a greedy row, 0 for a bad one.
        out_kept_counts: *mut i32 = null_mut();
        /// [rows] What moves the adaptive stage on: the token's surprise in bits among those that mirostat
        /// kept, or its probability before adaptive-p changed it. NaN where nothing does.
        out_observations: *mut f32 = null_mut();
        /// [rows, num_top_logprobs] The distribution's first tokens in rank order, and their
        /// log-probabilities; then, and in bad rows, -1 and NaN. num_top_logprobs in [0, num_cols]; either
        /// array may be NULL, not both.
        num_top_logprobs: i64 = 0;
        out_top_token_ids: *mut c_void = null_mut();
        out_top_logprobs: *mut f32 = null_mut();
        /// [rows, num_chosen] The log-probabilities of tokens that the caller names: -inf of elements that
        /// have no part in the distribution; NaN of ids that are no element of the row, and in bad rows.
        /// num_chosen in [0, num_cols]; where it is not 0 both are required.
        num_chosen: i64 = 0;
        chosen_token_ids: *const c_void = null();
        out_chosen_logprobs: *mut f32 = null_mut();
        /// [rows] The place of the row's token among the distribution's in rank order, the first is 1; 0
        /// for a bad row, and for a forced token that has no part in the distribution.
        out_ranks: *mut i32 = null_mut();
        /// [rows] The distribution's entropy in nats, 0 or more; NaN for a bad row.
        out_entropies: *mut f32 = null_mut();
        /// [rows, kept_bitmask_stride] The tokens that were kept, laid out like token_bitmasks; all 0 in a
        /// bad row. The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 stride on have
        /// no bit. With candidate_ids the stride must be given.
        out_kept_bitmask: *mut u32 = null_mut();
        kept_bitmask_stride: i64 = 0;
        /// [rows, kept_capacity] The same as a list, by ascending id, and their probabilities, which sum
        /// to 1 up to rounding and are those that sampler_filter writes; then, and in bad rows, -1 and 0.
        /// A row that keeps more than kept_capacity has an empty list, and its number in out_kept_counts.
        /// In [0, num_cols]; either array may be NULL, not both.
        kept_capacity: i64 = 0;
        out_kept_token_ids: *mut c_void = null_mut();
        out_kept_probabilities: *mut f32 = null_mut();
        /// [rows + 1] Packs the lists of kept tokens (CSR): that of row i is the entries
        /// [offsets[i], offsets[i + 1]) of out_kept_token_ids and out_kept_probabilities, without gaps; a
        /// bad row's is empty. kept_capacity is then the entries of each of the two arrays, for all rows
        /// together, at most 2^51; with 0 both may be NULL. Lists that have no room together are all left
        /// out: neither array is written, and the offsets are those of the lists all the same. So the
        /// lists are there where the last offset is at most kept_capacity, and tells what is needed where
        /// it is not. Entries from the last offset on are not written. A call without rows writes one
        /// offset, 0. NULL: lists of kept_capacity entries a row, as above. The workspace holds up to
        /// kept_capacity entries more.
        out_kept_offsets: *mut i64 = null_mut();
        /// [rows, num_cols] By element: the SAMPLER_STAGE_ that removed the token (sampler_stage_name), 0
        /// where it is kept, 255 where the input gives it no probability or the row has no such element;
        /// 255 everywhere in a bad row. Of edits it is the one after which the logit is -inf; with JOINT
        /// filters the first of top-k, top-p and min-p that does not keep the token; in a greedy row
        /// TEMPERATURE, of what the edits left. Sorts the row: some milliseconds for 128,256 columns.
        out_removed_by: *mut u8 = null_mut();
    }
    sampler_sample_args {
        /// sizeof(sampler_sample_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        /// [num_row_indices] The input row that each output row draws from, in [0, input.num_rows); any
        /// other value makes the output row bad. Rows of output are then num_row_indices, in [0, 2^31).
        /// Outputs of one input row with equal parameters share the work of preparing it. NULL and 0:
        /// output row i draws from input row i.
        row_indices: *const i32 = null();
        num_row_indices: i64 = 0;
        /// [output rows] The slot of each output row, in [0, num_slots); any other value makes the row
        /// bad. Engines hold parameters, seeds and offsets by sequence, in arrays of num_slots entries of
        /// which a batch names some: row_params and random are indexed by slot, logits by row. NULL and 0:
        /// output row i has slot i.
        slots: *const i32 = null();
        num_slots: i64 = 0;
        /// What to draw from. NULL: temperature 1 and no filter.
        params: *const sampler_params = null();
        /// NULL: the same for all.
        row_params: *const sampler_row_params = null();
        /// Edits of the logits. NULL: none.
        pipeline: *const sampler_pipeline = null();
        random: sampler_random = sampler_random::INIT;
        /// How the token is drawn. GUMBEL rounds logit / temperature + noise to f32: logits of a size
        /// above 1,000 or so coarsen the noise, and those for which it would pass 2^126, or -2^126, tie,
        /// so that the lowest id of them is drawn.
        draw_method: sampler_draw_method = 0;
        /// Type of out_token_ids, and of the ids of reports.
        token_id_type: sampler_id_type = 0;
        /// [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
        /// for a bad row. Required.
        out_token_ids: *mut c_void = null_mut();
        /// [output rows] SAMPLER_ROW_ bits. NULL: not wanted.
        out_row_status: *mut sampler_row_status = null_mut();
        /// What else is told of each output row, all of sampler_report_args. NULL: nothing.
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
        /// PROBABILITIES: the softmax of the kept tokens, which sums to 1 up to rounding; one-hot when
        /// greedy; exactly 0 in every element of a bad row. VALUES: the kept logits unchanged, -inf
        /// elsewhere; a bad row is copied as it is. VALUES needs logits.
        output_kind: sampler_output_kind = 0;
        /// SAMPLER_F32 or input.dtype.
        output_dtype: sampler_dtype = 0;
        /// [input.num_rows, input.num_cols] Each row output_stride elements after the one before, at least
        /// num_cols; 0: num_cols. With candidate lists an element belongs to the candidate at the same
        /// place, and those that follow a row's last one are written as not kept. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. NULL: not wanted.
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        /// Edits of the logits, as in sampler_sample_args: VALUES writes the logits that they left.
        pipeline: *const sampler_pipeline = null();
    }
    sampler_select_args {
        /// sizeof(sampler_select_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        input: sampler_rows = sampler_rows::INIT;
        /// How many tokens a row yields at most: columns of the outputs, in [1, input.num_cols].
        num_selected: i64 = 0;
        /// [input.num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. In host
        /// memory with the handle's host_parameters. NULL: num_selected for all.
        selected_counts: *const i32 = null();
        /// Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.
        output_dtype: sampler_dtype = 0;
        token_id_type: sampler_id_type = 0;
        /// [input.num_rows, num_selected] Values and ids, both in rank order and contiguous. +inf is a
        /// value like any other here; NaN makes the row bad. Where a row has fewer tokens to give, the
        /// rest is -inf (probabilities: 0) and -1; so is all of a bad row. Either may be NULL, not both.
        out_values: *mut c_void = null_mut();
        out_token_ids: *mut c_void = null_mut();
        /// [input.num_rows] How many tokens each row yielded; 0 for a bad row. NULL: not wanted.
        out_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    /// The rule that drafts are accepted by, and the numbers of the rules, which sampler_verify,
    /// sampler_speculative and sessions take alike. NULL, or all 0: the rule of the context, and the
    /// numbers that stand for 0. Numbers of rules that are not used are checked, too.
    sampler_acceptance_params {
        /// sizeof(sampler_acceptance_params).
        struct_size: usize = size_of::<Self>();
        rule: sampler_acceptance = 0;
        /// Not NaN, not negative.
        ///
        /// 0: 1
        relaxed_top_k: i32 = 0;
        /// a difference of probabilities
        relaxed_delta: f32 = 0.0;
        /// 0: 0.09
        typical_threshold: f32 = 0.0;
        /// 0: 0.3
        typical_scale: f32 = 0.0;
        /// 0: 1
        threshold_single: f32 = 0.0;
        /// 0: 1
        threshold_total: f32 = 0.0;
        /// in nats, at least this is doubt. 0: 0.3
        deferred_entropy: f32 = 0.0;
        /// of so many first tokens the entropy is taken. 0: 3
        deferred_top_k: i32 = 0;
        /// 0: min(6, the most drafts of a sequence - 1), at least 1
        deferred_window: i32 = 0;
        /// [the most drafts of a sequence] In [0, 1], by the draft's number in its sequence. In host
        /// memory, read during the call. Required by SYNTHETIC; NULL: no sequence has that rule.
        synthetic_rates: *const f32 = null();
    }
    /// Where the drafts and rows of a sampler_verify lie, where they are not dense chains, one sequence
    /// after the other. All 0, or NULL in sampler_verify_args: they are. Arrays are in the handle's
    /// memory and read when the work runs. Dense chains by the standard rule are verified faster without
    /// a member of it but the two strides.
    sampler_draft_layout {
        /// sizeof(sampler_draft_layout).
        struct_size: usize = size_of::<Self>();
        /// Dense: distance in elements from one sequence's first row to the next one's, of `target` and of
        /// `draft`, at least what the rows of one take. 0: they are contiguous, or there is no draft.
        target_sequence_stride: i64 = 0;
        draft_sequence_stride: i64 = 0;
        /// Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
        /// num_drafts; 0: num_drafts.
        draft_token_stride: i64 = 0;
        /// Packed batches. num_sequences says how many sequences there are then, and where
        /// target_row_indices or bonus_row_indices is given, 0 among them; else 0 is what target.num_rows
        /// tells. Sequences have at most num_drafts drafts; one whose offsets fall, lie outside, or are
        /// further apart is bad (INVALID_LIST). draft_counts must be NULL then.
        packing: sampler_packing = 0;
        /// 1: the row of `draft` that belongs to draft i is slot * num_drafts + i (vLLM, V2).
        draft_rows_by_slot: i32 = 0;
        packing_offsets: *const i32 = null();
        num_sequences: i64 = 0;
        /// Packed only: how many entries there are of what is laid out by draft (0 with POSITIONS), and by
        /// position (with the others only where target_row_indices has them).
        num_packed_drafts: i64 = 0;
        num_packed_positions: i64 = 0;
        /// [num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` that each
        /// position reads. With bonus_row_indices, [num_sequences], those of a sequence's last position
        /// are there, and target_row_indices, which is required where there may be drafts, is laid out by
        /// draft, like draft_token_ids. NULL: position after position. One outside makes its sequence bad
        /// (INVALID_INDEX) when it is read. `target` has any number of rows then.
        target_row_indices: *const i32 = null();
        bonus_row_indices: *const i32 = null();
        /// [num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
        /// each draft was drawn from. `draft` has any number of rows then.
        draft_row_indices: *const i32 = null();
        /// Trees. The node that each draft hangs on, a lower number, -1 the root: [tree_rows, num_drafts].
        /// Or first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of
        /// its first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree
        /// for all, or num_sequences; 0: num_sequences. A tree in which a draft hangs on two, or on itself
        /// by way of others, makes its sequence bad (INVALID_TREE). NULL: a chain. Dense only.
        ///
        /// Siblings are tried in their order. At a rejected one what is left for the next is the residual,
        /// by sibling_rule of sampler_verify_args. BLOCK and DEFERRED are for chains.
        parents: *const i32 = null();
        first_children: *const i32 = null();
        next_siblings: *const i32 = null();
        tree_rows: i64 = 0;
    }
    /// Members that sampler_sample_args has too mean the same.
    ///
    /// Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities
    /// first: temperature and filters, then softmax in f32, exactly what sampler_filter writes.
    sampler_verify_args {
        /// sizeof(sampler_verify_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
        /// that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
        /// layout->target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only
        /// the drafts' elements are looked at before the first rejection; a candidate list is read whole,
        /// so that a bad element anywhere in it makes the sequence bad.
        target: sampler_rows = sampler_rows::INIT;
        /// [num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is
        /// the target's. All 0: the drafter was deterministic (its draft has probability 1), as with
        /// n-gram drafts. A token that is not in a candidate list has probability 0 there.
        draft: sampler_rows = sampler_rows::INIT;
        /// [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
        /// vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is
        /// p. Required, unless num_drafts is 0. num_drafts is in [0, 65535].
        draft_token_ids: *const c_void = null();
        num_drafts: i64 = 0;
        /// [num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are
        /// clamped and set a status. NULL: num_drafts.
        draft_counts: *const i32 = null();
        /// Packed batches, rows in other places, and trees. NULL: dense chains.
        layout: *const sampler_draft_layout = null();
        /// [num_sequences]
        slots: *const i32 = null();
        num_slots: i64 = 0;
        /// Temperature and filters of the rows that are logits, target and draft alike. When the target is
        /// probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),
        /// the filters must be off. A value that is not makes the call fail, an element of an array its
        /// sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's
        /// argmax, and the token that follows is the argmax too.
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        /// Temperature and filters of `draft`. NULL: those of the target, which must then have no other
        /// stage where the draft is logits.
        draft_params: *const sampler_params = null();
        draft_row_params: *const sampler_row_params = null();
        /// The stages of the target's rows. At each position the text, and what adaptive stages remember,
        /// are as if the drafts before it had been accepted; nothing is changed. token_bitmask_indices is
        /// [num_sequences, num_drafts + 1], by position, in trees and packed batches too. Forced tokens
        /// are not verified: forced_token_id must be NULL.
        pipeline: *const sampler_pipeline = null();
        /// One offset serves all positions of a sequence.
        random: sampler_random = sampler_random::INIT;
        /// The rule, and the numbers of the rules. NULL: SAMPLER_ACCEPT_STANDARD, which rule 0 is, too.
        /// Dense chains by it are verified faster than by others.
        acceptance: *const sampler_acceptance_params = null();
        /// The rule by slot, 0: that of `acceptance`. One that is no such constant, or does not go with
        /// what the call has, makes its sequence bad (INVALID_PARAMETER). NULL: the same for all.
        acceptances: *const sampler_acceptance = null();
        /// How siblings of a tree were drafted; 0 without trees.
        sibling_rule: sampler_sibling_rule = 0;
        /// How SAMPLE_MATCH draws. The other rules: INVERSE_CDF.
        draw_method: sampler_draw_method = 0;
        /// Type of draft_token_ids and out_token_ids, and of the ids of reports.
        token_id_type: sampler_id_type = 0;
        /// 1: the counts are added to what the two arrays hold. 0: they overwrite it.
        accumulate_counts: i32 = 0;
        /// [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For
        /// a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required.
        out_token_ids: *mut c_void = null_mut();
        /// [num_sequences] each; NULL: not wanted. Drafts that would be accepted each on its own, wherever
        /// they stand. Positions after the first rejection count only here: nothing there changes a token
        /// or, draft ids apart, a status. Of trees and of rules but STANDARD it is out_emitted_counts.
        out_accepted_counts: *mut i32 = null_mut();
        /// Drafts kept before the first rejection: out_token_ids has one token more.
        out_emitted_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        /// What else is told of every emitted token, in the order of out_token_ids: of the target's
        /// distribution at its position; as for a bad row where no token stands. out_values, num_chosen,
        /// out_kept_offsets and out_removed_by must be 0, and what belongs to them. NULL: nothing.
        reports: *const sampler_report_args = null();
        /// [num_sequences, num_drafts + 1] The positions that the emitted tokens were decided at, 0 first:
        /// the rows of a KV cache to keep. Then -1. kv_indices, of the same shape, has a number for each
        /// position (packed batches too); out_kv_indices has those of out_positions. NULL: not wanted.
        out_positions: *mut i32 = null_mut();
        kv_indices: *const i64 = null();
        out_kv_indices: *mut i64 = null_mut();
    }
    sampler_residual_args {
        /// sizeof(sampler_residual_args).
        struct_size: usize = size_of::<Self>();
        exec: sampler_exec = sampler_exec::INIT;
        /// [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
        /// to 1. Not candidate lists.
        target: sampler_rows = sampler_rows::INIT;
        /// [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many
        /// rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids
        /// says what it proposed.
        draft: sampler_rows = sampler_rows::INIT;
        /// [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
        /// row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
        /// draft is all 0; NULL where it is not.
        draft_token_ids: *const c_void = null();
        token_id_type: sampler_id_type = 0;
        /// SAMPLER_F32, or target.dtype.
        output_dtype: sampler_dtype = 0;
        /// [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
        /// left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
        /// num_cols; 0: num_cols. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [num_rows] NULL: not wanted. A row of p or q with an element that is negative, NaN or infinite
        /// is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p.
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_state_options {
        /// sizeof(sampler_state_options).
        struct_size: usize = size_of::<Self>();
        /// In [1, 2^31).
        num_slots: i64 = 0;
        /// The longest sequence, its prompt included. In [1, 2^31).
        max_tokens: i64 = 0;
        /// For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, max_tokens]; 0: a
        /// quarter of max_tokens, but 64 where that is more, and at most max_tokens. From the first token
        /// that has no room on, a sequence is counted in each draw: the results are the same, the draw
        /// takes longer.
        max_distinct_tokens: i64 = 0;
        /// 1: the adaptive values after each token are kept, 16 bytes each, and truncating restores them.
        /// 0: truncating leaves them.
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
        /// A list for each row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none:
        /// its offsets must be a list's (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in
        /// [0, 2^31) (INVALID_LIST).
        tokens: sampler_token_lists = sampler_token_lists::INIT;
        token_id_type: sampler_id_type = 0;
        /// Prompt tokens after an output token make the row bad (INVALID_LIST).
        token_kind: sampler_token_kind = 0;
        /// [num_rows] How many tokens each slot has afterwards; -1 for a bad slot. NULL: not wanted.
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
        /// at its first negative id; where its first id is negative nothing happens. All of a row's tokens
        /// are taken, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the
        /// slot's numbers of adaptive stages good (INVALID_PARAMETER), which out_row_status tells.
        /// num_tokens in [1, 2^20].
        token_ids: *const c_void = null();
        num_tokens: i64 = 0;
        token_id_type: sampler_id_type = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows, num_tokens] out_observations of the call that drew the tokens. One that is NaN moves
        /// neither mirostat nor adaptive-p. NULL: all are.
        observations: *const f32 = null();
        /// Those of that call, of which the adaptive stage, top_p and its decay are read. Numbers by slot
        /// are indexed by the slots of this call, and there are as many as the state has. Both NULL:
        /// adaptive values stay.
        params: *const sampler_params = null();
        row_params: *const sampler_row_params = null();
        /// [slots of the state] In and out: each grows by the tokens that its slot took. It may be the
        /// array that the draw has as sampler_random.offsets, so that a loop of draw and accept needs no
        /// host. NULL: offsets are the caller's business.
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
        /// [num_rows] How many tokens to keep. More than there are: all; negative: none. Required.
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
        /// STATE_FULL: the source's tokens do not fit in the destination, which is as it was.
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
        /// [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] To begin with; a NaN is the start of its stage, an
        /// infinity makes the row bad (INVALID_PARAMETER). NULL: all start.
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
        /// [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN where a stage has not begun.
        out_adaptive_values: *mut f32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
    }
    sampler_shard_args {
        /// sizeof(sampler_shard_args).
        struct_size: usize = size_of::<Self>();
        /// The call: one of them, the others NULL. Its input has this rank's columns, input.num_cols of
        /// them from first_token_id on; 0 is fine, and then the values may be NULL. candidate_ids and
        /// candidate_counts are NULL. All else is that of the whole row: token ids, and the widths of
        /// dense biases and bitmasks, are those of total_cols columns. sampler_filter and
        /// sampler_residual write this rank's columns. Of a residual, and of `verify` below, `target` is
        /// the input, and `draft` has as many columns.
        ///
        /// Numbers of rows, parameters, slots, lists, histories, randomness and reports must be the same
        /// on every rank; of dense biases and bitmasks a rank reads what is for its own columns. Element
        /// types may differ. exec.workspace, or the handle's, carries the call from round to round: until
        /// the last one nothing else may use it.
        sample: *const sampler_sample_args = null();
        filter: *const sampler_filter_args = null();
        select: *const sampler_select_args = null();
        residual: *const sampler_residual_args = null();
        /// The first of this rank's ids. The ranks' ranges follow one another in the order of their
        /// numbers, and together are [0, total_cols).
        first_token_id: i64 = 0;
        /// The whole row's columns, in [1, 2^20).
        total_cols: i64 = 0;
        /// In [0, num_ranks); in [1, 1024].
        rank: i64 = 0;
        num_ranks: i64 = 0;
        /// With row_params->top_k: none of its numbers below total_cols is larger. Messages have room for
        /// so many tokens of each row; one that is larger makes its rows bad (INVALID_SHARD). In
        /// [0, total_cols]; 0: total_cols, which makes them large. Ignored without such an array.
        max_top_k: i64 = 0;
        /// [message_bytes] What a round writes, of plan.message_bytes[round] bytes.
        /// [num_ranks, message_bytes] What the round after it reads: the messages of all ranks, in their
        /// order. Round 0 reads, and the last round writes, none. Both on the handle's device, aligned to
        /// 8 bytes. The sizes are those of the memory: plan.max_message_bytes and num_ranks times that are
        /// enough for all rounds.
        send: *mut c_void = null_mut();
        received: *const c_void = null();
        send_bytes: usize = 0;
        received_bytes: usize = 0;
        /// A call, too, in the place of the four above: chains of drafts by SAMPLER_ACCEPT_STANDARD, in
        /// dense arrays, whose rows are SAMPLER_PROBABILITIES, as sampler_filter writes a shard's, or
        /// greedy by params->temperature. Every rank has all draft tokens, and its own columns of `target`
        /// and `draft`; all have the tokens, counts and statuses of sampler_verify. Other verification is
        /// UNSUPPORTED.
        verify: *const sampler_verify_args = null();
    }
    sampler_shard_plan_info {
        /// sizeof(sampler_shard_plan_info), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// Bytes of workspace for all rounds: exactly, as with the _workspace_size functions. It depends
        /// on the rank's columns; all else is the same on every rank.
        workspace_bytes: usize = 0;
        /// Exchanges, and what each rank sends in each: a multiple of 8. 0 after the last one.
        num_exchanges: i64 = 0;
        message_bytes: [usize; SAMPLER_MAX_SHARD_EXCHANGES as usize] = [0; SAMPLER_MAX_SHARD_EXCHANGES as usize];
        max_message_bytes: usize = 0;
        /// Of the arguments that all ranks must have the same. Where the digests differ so may the sizes
        /// of messages, which a collective may not survive: compare them once, when a call is set up, if
        /// its arguments are not known to be the same.
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
        /// NULL: there is none
        propose: sampler_ngram_propose_fn = None;
    }
    sampler_ngram_storage_options {
        /// sizeof(sampler_ngram_storage_options).
        struct_size: usize = size_of::<Self>();
        kind: sampler_ngram_kind = 0;
        /// Tokens of the longest n-gram, in [2, 16]; 0: 3.
        order: i32 = 0;
        /// Token ids lie in [0, vocabulary_size). In [1, 2^20); required.
        vocabulary_size: i64 = 0;
        /// Bytes that the storage may take at any time, at least 4096; 0: no limit. While it grows or is
        /// deserialised, its old and its new table count both, so that between a third and two thirds are
        /// used in the end. At the limit known n-grams still count, others are dropped.
        memory_limit: i64 = 0;
        /// Memory for the handle and its table. All 0: the C library's. `allocate` is called when the
        /// storage is created, deserialised, or learns; neither function may call back into the storage.
        allocator: sampler_allocator = sampler_allocator::INIT;
    }
    sampler_ngram_storage_stats {
        /// sizeof(sampler_ngram_storage_stats).
        struct_size: usize = size_of::<Self>();
        /// Contexts that a token followed, of all lengths kept.
        num_contexts: i64 = 0;
        /// Next tokens learned, each once whatever the number of orders, dropped or not.
        num_updates: i64 = 0;
        /// N-grams that were not counted for want of room: memory_limit, or 1.3 * 10^9 table entries.
        num_dropped: i64 = 0;
        /// What the storage takes of its allocator now.
        memory_bytes: i64 = 0;
    }
    sampler_prompt_lookup_options {
        /// sizeof(sampler_prompt_lookup_options).
        struct_size: usize = size_of::<Self>();
        /// Tokens of the text's end that must match, at least 1, 0: 1; and that are looked at, at least
        /// min_match, 0: all.
        min_match: i64 = 0;
        max_match: i64 = 0;
        /// Room for the text, in [1, 2^27]; required. All memory, 132 bytes a token and less
        /// than 1000 beside, is allocated when the lookup is created.
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
        /// Spans of tokens, no two of one sequence. All these arrays are valid during the call.
        num_spans: i64 = 0;
        /// [num_spans] in [0, max_sequences)
        sequences: *const i32 = null();
        /// [num_spans] the length of the cache, where the span goes
        starts: *const i64 = null();
        /// [num_spans + 1] span i is token_ids[token_offsets[i]] and on
        token_offsets: *const i64 = null();
        token_ids: *const i32 = null();
        /// [num_spans] logits wanted, of the last so many tokens; may be 0
        logit_counts: *const i64 = null();
        /// [num_logit_rows, vocabulary_size] Where the logits go, span after span: the loop's memory on
        /// the handle's device. Enqueuing the work on `stream` is enough. Stride in elements.
        logits: *mut c_void = null_mut();
        num_logit_rows: i64 = 0;
        logits_row_stride: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 0
        reserved: i32 = 0;
        /// [token_offsets[num_spans]] NULL: in each span a token follows the one before it, the first one
        /// the cache. Else, of the target with draft_top_k: the token of its span, counted from 0, that
        /// each one follows, a lower one; -1: the cache. A token sees the cache, those that it follows,
        /// one after the other, and itself: no other token of the span. Its position in the text is that
        /// of the token that it follows, and 1.
        parents: *const i32 = null();
    }
    sampler_model {
        /// sizeof(sampler_model).
        struct_size: usize = size_of::<Self>();
        /// Handed to the callbacks.
        user: *mut c_void = null_mut();
        /// required
        forward: sampler_forward_fn = None;
        /// required
        truncate: sampler_truncate_fn = None;
        /// needed by beam search with caches; else it may be NULL
        fork: sampler_fork_fn = None;
        /// columns of the logits, in [1, 2^20)
        vocabulary_size: i64 = 0;
        /// tokens that a cache can hold, at least 1
        max_context: i64 = 0;
        /// caches, in [1, 2^31)
        max_sequences: i64 = 0;
        /// of all spans of a forward; longer ones are split. 0: no limit
        max_span_tokens: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 1: forward goes by `parents`, which draft_top_k above 1 needs of the target. Default 0.
        reads_parents: i32 = 0;
    }
    sampler_trace_round {
        struct_size: usize = size_of::<Self>();
        /// in [0, num_sequences)
        text: i64 = 0;
        /// of this text, from 0
        round: i64 = 0;
        /// of a tree those that became text first, then the others
        draft_token_ids: *const i32 = null();
        num_drafted: i64 = 0;
        /// the first so many drafts became text
        num_accepted: i64 = 0;
        /// the target's token after them; -1: none
        next_token_id: i32 = 0;
        /// of the drafter's distribution, in nats; NaN when it was not measured
        entropy: f32 = 0.0;
        /// all of it, by token_text, or as numbers where that is NULL
        line: *const c_char = null();
    }
    sampler_generation_stats {
        /// sizeof(sampler_generation_stats), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// steps of the loop, the prompts' own among them
        num_rounds: i64 = 0;
        /// of all texts
        num_new_tokens: i64 = 0;
        num_drafted: i64 = 0;
        num_accepted: i64 = 0;
        /// calls of the callback
        target_forwards: i64 = 0;
        drafter_forwards: i64 = 0;
        /// num_accepted / num_drafted; 0 when nothing was drafted
        acceptance_rate: f64 = 0.0;
        /// of sampler_speculative: those without drafts
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
        /// New tokens of a text at most, in [1, 2^31). Default 40.
        max_new_tokens: i64 = 40;
        /// Tokens that end a text, in [0, vocabulary_size); the earliest in it does, and is its last
        /// token. NULL and 0: token 1 alone. Not NULL and 0: none; an id such as -1 in its place is
        /// INVALID_ARGUMENT.
        end_token_ids: *const i32 = null();
        num_end_tokens: i64 = 0;
        /// Fills out_token_ids after a text. Default 0.
        pad_token_id: i32 = 0;
        /// 1: models keep what they were fed, and are fed new tokens only; what is rejected is cut off.
        /// 0: caches are emptied after each step and each forward gets the whole text. The tokens are the
        /// same. Default 0.
        use_cache: i32 = 0;
        /// How a token comes from logits. Default GREEDY.
        processor: sampler_processor = 0;
        /// 1: the line of each round goes to the handle's log, too. Default 0.
        debug: i32 = 0;
        /// Of SAMPLE. NULL: temperature 1 and no filter. A top_p or min_p of 0 is not the same: top_p <= 0
        /// keeps one token, min_p <= 0 all. Mind temperature_order: Hugging Face filters after the
        /// temperature (SAMPLER_TEMPERATURE_FIRST), llama.cpp and the reference implementations of
        /// speculative decoding before it (SAMPLER_TEMPERATURE_LAST).
        params: *const sampler_params = null();
        /// Text i has seeds[i], or seed + i where `seeds` is NULL, and its n-th new token, from 0, the
        /// offset n: what a text becomes depends on nothing beside it. (N-grams are shared, see
        /// sampler_speculative_args.)
        seed: u64 = 0;
        seeds: *const u64 = null();
        /// Callbacks, each of which may be NULL, and what they are handed as `user`.
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
        /// tokens in the target's cache, all of them of the text
        out_cache_lengths: *mut i64 = null_mut();
        out_stats: *mut sampler_generation_stats = null_mut();
        /// Parameters by text, and the lists of stages: see pipeline.h. sampler_beam_search takes edits
        /// alone, and those of CPU handles alone: of a CUDA handle it refuses them, UNSUPPORTED, and a
        /// stage in params. Text i is slot i. Arrays are read in each step, so that
        /// on_tokens may change what the next tokens are drawn by. On a CUDA handle the arrays of
        /// row_params and token_bitmask_indices are host memory, the others of the pipeline the device's.
        ///
        /// history, prompt_lengths, adaptive_values and state must be 0: the loop's texts are the history,
        /// and what their tokens move is moved. token_bitmasks and token_bitmask_indices are by text;
        /// sampler_speculative, whose drafts need a mask each, takes none, and no forced tokens. Its
        /// drafter draws by temperature, top-k, top-p and min-p alone. With GREEDY the temperature is 0.
        row_params: *const sampler_row_params = null();
        pipeline: *const sampler_pipeline = null();
    }
    sampler_speculative_args {
        struct_size: usize = size_of::<Self>();
        generation: *const sampler_generation_args = null();
        /// Where drafts come from, one of the two; the other is NULL.
        ///
        /// A model of the target's vocabulary_size. A text that is longer than its max_context goes on
        /// without drafts.
        drafter: *const sampler_model = null();
        /// Or n-grams: sampler_ngram_storage_interface's, sampler_prompt_lookup_interface's, or the
        /// caller's own. They learn the prompts first, and are not reset. All texts of the call share
        /// them: what one taught them others are drafted, which changes no greedy text, and of sampled
        /// ones the tokens but not the distribution.
        ngram: *const sampler_ngram = null();
        /// Drafts a round at most, in [1, 1024]; fewer where a draft is an end token or a limit is near.
        /// Default 5.
        gamma: i64 = 5;
        /// BY_ENTROPY, of a drafter alone: gamma follows the entropy H of its distribution at the
        /// temperature, without filters, in nats: clamp(trunc((1 - H / ln(vocabulary_size)) gamma_max),
        /// gamma_min, gamma_max). The logits that it is taken of serve the first draft. MEASURED: in
        /// [0, gamma_max]. Default FIXED.
        adaptive_gamma: sampler_gamma_rule = 0;
        /// H is smoothed over a text's rounds: ema_beta H_before + (1 - ema_beta) H. In [0, 1). Default 0.
        ema_beta: f32 = 0.0;
        /// gamma_min in [0, gamma_max], default 1; gamma_max in [1, 1024], 0 (default): gamma.
        gamma_min: i64 = 1;
        gamma_max: i64 = 0;
        /// What the n-grams learn of each position that became text: the so many likeliest tokens of the
        /// target, at most 2^20 - 1, and then, where it is not among them, the token that came; 0: that
        /// one alone. Default 3.
        filler_top_k: i64 = 3;
        /// 1: no draft follows a context that the n-grams do not know; 0: the token that they give for it.
        /// Default 0.
        stop_if_unknown: i32 = 0;
        /// 1: the first token is drawn from the target's logits of the prompt, without drafts. Default 1.
        first_target: i32 = 1;
        /// 1: after a rejected draft the token is drawn from the target's p and not from the residual, so
        /// that the text no longer follows the target's distribution. For comparisons, with a drafter
        /// alone. Default 0.
        skip_sample_adjustment: i32 = 0;
        /// must be 0
        reserved: i32 = 0;
        /// Of MEASURED. NULL: the system's monotonic clock.
        clock: sampler_clock_fn = None;
        clock_user: *mut c_void = null_mut();
        /// Of n-grams alone, for which `propose` is needed then: drafts end before the first that was
        /// counted fewer than ngram_least_count times after its context, or whose share of what followed
        /// there is below ngram_least_share, in [0, 1]. With either of them no draft follows an unknown
        /// context, whatever stop_if_unknown. A filler_top_k above 0 counts as many tokens alike, so that
        /// shares are hardly above 1 / filler_top_k. 0 (default): off.
        ngram_least_count: i64 = 0;
        ngram_least_share: f32 = 0.0;
        /// Of a drafter, in [0, 1]: a draft to which the drafter's row gives less than this probability,
        /// at temperature 1 and without filters, is the last of its round (Hugging Face's
        /// assistant_confidence_threshold, llama.cpp's p_min). It is verified, too: if it were left out,
        /// STANDARD would not be lossless. Default 0: off.
        least_draft_probability: f32 = 0.0;
        /// How drafts are accepted, where the most drafts of a sequence are gamma, or gamma_max.
        /// SAMPLE_MATCH gives, token by token, the text of sampler_autoregressive. Rule 0, and NULL
        /// (default): STANDARD.
        acceptance: *const sampler_acceptance_params = null();
        /// Of a drafter, in [0, gamma]. 0 (default): drafts are drawn, one a position. Else they are the
        /// drafter's so many likeliest tokens of each position, gamma of them at most: the first of a
        /// position goes on, the others hang beside it, and the target runs them as a tree, for which it
        /// needs reads_parents, and max_span_tokens 0 or at least gamma + 1, where this is above 1. More
        /// of them are kept than of a chain as long as the tree is deep. For all rules but BLOCK and
        /// DEFERRED, to which such drafts are certain. adaptive_gamma must not be BY_ENTROPY;
        /// least_draft_probability and skip_sample_adjustment must be 0.
        draft_top_k: i64 = 0;
        /// [num_sequences] each; NULL: not wanted. Of each text: its drafts, and those that became text.
        out_drafted_counts: *mut i64 = null_mut();
        out_accepted_counts: *mut i64 = null_mut();
    }
    sampler_beam_search_args {
        struct_size: usize = size_of::<Self>();
        /// `processor` must be GREEDY; `debug` must be 0; on_tokens, trace and
        /// out_cache_lengths must be NULL.
        ///
        /// Of params, row_params and pipeline the edits count, by what each beam has said: biases, allowed
        /// and banned tokens, bad words, bitmasks, min_new_tokens with `stop`, penalties, DRY and
        /// no_repeat_ngram_size. Scores are sums of the log-probabilities that they leave. Temperature,
        /// top-k, top-p and min-p of `params` are not used; all other stages must be off. Lists and
        /// numbers by text are read when the call starts. bad_word_offsets must be NULL, num_dense_biases
        /// at most 1, and token_id_type I32. Beams of text i live in the model's sequences first_sequence
        /// + i num_beams and on. out_token_ids is [num_sequences, num_results, max_new_tokens],
        /// out_lengths and out_finish_reasons [num_sequences, num_results], best first; where there are
        /// fewer results, their lengths are 0 and their reasons NONE. Caches are empty on return.
        generation: *const sampler_generation_args = null();
        /// in [1, 1024]; default 4
        num_beams: i64 = 4;
        top_k: i64 = 3;
        /// continuations tried of a beam, in [1, 2^20); default 3. Of the
        /// prompt num_beams, where that is more
        ///
        /// in [1, num_beams]; default 1
        num_results: i64 = 1;
        /// A beam's score is the sum of its tokens' log-probabilities (at temperature 1, from 0 on) over
        /// ((min_length + length) / (min_length + 1))^alpha (Wu et al. 2016), length its new tokens. Of
        /// equal scores the better parent's comes first, then the lower id. min_length >= 0, default 5;
        /// alpha in [0, 100], default 1.2; 0: no penalty.
        min_length: f32 = 5.0;
        alpha: f32 = 1.2;
        /// When a text ends, which it does at the latest when no beam goes on. Asked after each step.
        /// SHARED: 1: once num_results of its beams have ended, whatever the others may become; 0: once
        ///   all have.
        /// POOL: 1: once the pool holds num_beams; 0: once it does, and the best beam that goes on, were
        ///   it to end as it is, would have no better score than the worst of the pool. (With alpha > 0 a
        ///   longer one may still come to have a better one.)
        /// Default 0.
        early_stop: i32 = 0;
        /// default SHARED
        rule: sampler_beam_rule = 0;
        /// [num_sequences, num_results] Scores; -inf where there is no result. NULL: not wanted.
        out_scores: *mut f32 = null_mut();
    }
    sampler_session_options {
        /// sizeof(sampler_session_options).
        struct_size: usize = size_of::<Self>();
        /// Sequences at once, finished ones that were not removed among them. In [1, 2^20].
        max_sequences: i64 = 0;
        /// The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A
        /// sequence takes 13 bytes for each token of it, a few hundred bytes, and for each of max_drafts
        /// about 40, and 8 more for each of max_top_logprobs.
        max_context: i64 = 0;
        /// Columns of the logits, in [1, 2^20), and their type.
        vocabulary_size: i64 = 0;
        logits_dtype: sampler_dtype = 0;
        /// 1: the session keeps the drafter's rows, max_drafts rows of logits a sequence, which STANDARD,
        /// BLOCK, RELAXED and DEFERRED need of a drafter model's drafts. Default 0.
        keep_drafter_rows: i32 = 0;
        /// Drafts of a sequence and step at most, in [0, 1024]. Default 0: nothing is drafted.
        max_drafts: i64 = 0;
        /// The longest text that the drafter model's cache can hold; a longer one goes on without drafts,
        /// which is_drafting of sampler_session_get tells. In [0, 2^31). 0: max_context.
        drafter_context: i64 = 0;
        /// Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes
        /// on without drafts. In [0, 2^27]. Default 0: no sequence has SAMPLER_DRAFTS_PROMPT_LOOKUP.
        lookup_tokens: i64 = 0;
        /// Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20].
        max_end_tokens: i64 = 0;
        max_stop_sequences: i64 = 0;
        max_stop_tokens: i64 = 0;
        /// Log-probabilities of the first tokens that sampler_session_advance can be asked for, in
        /// [0, vocabulary_size]. Default 0.
        max_top_logprobs: i64 = 0;
        /// What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of
        /// stages. Its numbers are those of sequences that are added without parameters. NULL: temperature
        /// 1 and no filter.
        params: *const sampler_params = null();
        /// Lists and masks of the stages, by slot: the slot is the sequence's number, of max_sequences.
        /// NULL: none. The struct is copied; the arrays that it names are the caller's, and are read in
        /// each advance. history, prompt_lengths, adaptive_values, state and token_bitmask_indices must be
        /// 0: the session's texts are the history. Where `stop` is 0 it is the end tokens of each
        /// sequence, as min_new_tokens needs it.
        pipeline: *const sampler_pipeline = null();
        /// How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,
        /// where the most drafts of a sequence are max_drafts. Rule 0, and NULL:
        /// SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.
        acceptance: *const sampler_acceptance_params = null();
        /// 1: sequences may have draft_top_k. Default 0.
        has_draft_trees: i32 = 0;
        /// 1: sequences may have adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.
        has_adaptive_gamma: i32 = 0;
        /// Of SAMPLER_GAMMA_MEASURED. NULL: the system's monotonic clock.
        clock: sampler_clock_fn = None;
        clock_user: *mut c_void = null_mut();
        /// Of a CUDA handle: all of the session's work is enqueued on it, and logits are read in its
        /// order: what computes them on another stream must have been waited for. It must outlive the
        /// session. NULL: the legacy default stream. A CPU handle ignores it.
        stream: sampler_stream = null_mut();
        /// What the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn of each new position: the so many
        /// likeliest tokens of the target, in [0, 2^20), and then, where it is not among them, the token
        /// that came. It takes as many ids for each row of logits, max_drafts + 1 rows a sequence. Default
        /// 0: the token that came alone.
        filler_top_k: i64 = 0;
    }
    /// What sampler_session_get tells of a sequence.
    sampler_session_sequence {
        /// sizeof(sampler_session_sequence), set by the caller.
        struct_size: usize = size_of::<Self>();
        /// [num_tokens] The text. Valid until the sequence is advanced or removed.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        prompt_length: i64 = 0;
        /// How much of the text the caches hold.
        cache_length: i64 = 0;
        drafter_cache_length: i64 = 0;
        /// SAMPLER_FINISH_NONE: it runs
        finish_reason: sampler_finish_reason = 0;
        /// Why finish_reason is BAD_ROW; else 0.
        row_status: sampler_row_status = 0;
        /// The stop sequence of STOP_SEQUENCE, from 0; else -1.
        stop_sequence: i64 = 0;
        /// that gave a token
        num_steps: i64 = 0;
        num_drafted: i64 = 0;
        num_accepted: i64 = 0;
        /// 0: there are no drafts any more, since its text or its n-grams had no room.
        is_drafting: i32 = 0;
        reserved: i32 = 0;
        /// Beside its text, what its next tokens go by; `resumed` of sampler_session_add_args takes it.
        /// The values of its adaptive stages, as in sampler_pipeline: NaN where one has not begun. Of
        /// BY_ENTROPY the entropy of its steps, in nats, smoothed by ema_beta; NaN before the first.
        adaptive_values: [f32; SAMPLER_NUM_ADAPTIVE_VALUES as usize] = [0.0; SAMPLER_NUM_ADAPTIVE_VALUES as usize];
        drafter_entropy: f64 = 0.0;
    }
    sampler_session_add_args {
        /// sizeof(sampler_session_add_args).
        struct_size: usize = size_of::<Self>();
        /// The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
        /// prompt_length are the prompt, in [1, num_tokens], and the others its new tokens, as of a
        /// sequence that was removed and goes on here; 0: all are the prompt.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        prompt_length: i64 = 0;
        /// How many of these tokens the target's and the drafter's caches hold already, in
        /// [0, num_tokens - 1] and [0, num_tokens], and at most drafter_context. A drafter's cache that
        /// holds the whole text is fed its last token again.
        cache_length: i64 = 0;
        drafter_cache_length: i64 = 0;
        /// NULL: the session's. Rules of ties, orders, scopes, forms and stages must be the session's.
        params: *const sampler_params = null();
        seed: u64 = 0;
        /// New tokens at most, in [0, 2^31); 0: as many as max_context leaves.
        max_new_tokens: i64 = 0;
        /// [num_end_tokens] Tokens that end the text.
        end_token_ids: *const i32 = null();
        num_end_tokens: i64 = 0;
        /// Sequences of tokens that end the text where its new tokens end in one; none may be empty.
        /// num_lists of them, in one array of int32_t. All 0: none.
        stop_sequences: sampler_token_lists = sampler_token_lists::INIT;
        draft_source: sampler_draft_source = 0;
        /// The rule that its drafts are accepted by, which speculative.h explains; 0: the session's, by
        /// default SAMPLE_MATCH: the target's own token is drawn at each position, and drafts are kept
        /// while they are that token, so that the text is, token by token, the one without drafts. By
        /// other rules tokens depend on the drafts and on num_drafts, too. Drafts of a model were drawn
        /// from its rows, others are certain. SYNTHETIC needs synthetic_rates of the session.
        acceptance: sampler_acceptance = 0;
        /// The n-grams of NGRAM, else NULL. Copied. They learn the text now, unless ngram_has_text is 1,
        /// and later each new token. Drafts come by `propose` where it has that and draft_unknown is 0,
        /// else by next_token. Where it fails later, as for want of memory, the sequence goes on without
        /// drafts.
        ngram: *const sampler_ngram = null();
        /// Drafts a step at most, in [0, max_drafts]; 0: max_drafts.
        num_drafts: i64 = 0;
        /// Of PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are what followed the longest
        /// match and, where the text ends before there are num_drafts, the drafts themselves: what follows
        /// there if the text goes on so.
        min_match: i64 = 0;
        /// Of NGRAM. 1: a context that is unknown is followed by the draft that the n-grams give for it.
        /// 0: by none.
        draft_unknown: i32 = 0;
        /// 1: the n-grams of NGRAM have learned these tokens, as those of a removed sequence, and do not
        /// learn them again. 0: they learn them.
        ngram_has_text: i32 = 0;
        /// Of NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
        /// first that was counted fewer than ngram_least_count times after its context, or whose share of
        /// what followed there is below ngram_least_share, in [0, 1]. 0: off.
        ngram_least_count: i64 = 0;
        ngram_least_share: f32 = 0.0;
        /// Of MODEL without draft_top_k, in [0, 1]: a draft to which the drafter's row gives less than
        /// this probability is the last of its step, as in sampler_speculative_args. 0: off.
        least_draft_probability: f32 = 0.0;
        /// Of MODEL, with has_draft_trees of the session, in [0, num_drafts]. 0: drafts are drawn, one a
        /// position. Else they are the drafter's so many likeliest tokens of each position, num_drafts of
        /// them at most: the first of a position goes on, the others hang beside it, and the target runs
        /// them as a tree. For all rules but BLOCK and DEFERRED, to which such drafts are certain; with
        /// SAMPLE_MATCH more of them are kept than of a chain.
        draft_top_k: i64 = 0;
        /// How many drafts a step gets, num_drafts at most, with has_adaptive_gamma of the session.
        ///
        /// BY_ENTROPY, of MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
        /// num_drafts, H at the sequence's temperature (a greedy one's at 1) and smoothed by ema_beta over
        /// its own steps.
        ///
        /// MEASURED: the number of most tokens a second, from 0 to num_drafts, by the time from plan to
        /// advance. It is one for all such sequences of the session. Times differ from run to run: with
        /// SAMPLE_MATCH texts stay as they are, by other rules they follow the same distribution, but the
        /// seed does not fix them. What is measured are rounds of drafts and their verification that these
        /// sequences begin and end together, while no other one has a span; so that they do, a plan that
        /// has a span of the drafter for one has none of the target for those that have their drafts.
        /// Beside others MODEL drafts nothing, and the account is kept by what was measured. With
        /// draft_top_k a number is of positions.
        adaptive_gamma: sampler_gamma_rule = 0;
        /// of BY_ENTROPY, in [0, 1)
        ema_beta: f32 = 0.0;
        /// of BY_ENTROPY, in [0, num_drafts]
        gamma_min: i64 = 0;
        /// What sampler_session_get gave of a removed sequence, of this session or of another one, which
        /// goes on here. Its adaptive_values and drafter_entropy go on, without which the next tokens may
        /// be others, and its num_steps, num_drafted and num_accepted; nothing else is read. Adaptive
        /// values must not be infinite, the entropy must be NaN or finite and at least 0, numbers in
        /// [0, 2^62). Read during the call alone. NULL: it is a new one.
        resumed: *const sampler_session_sequence = null();
    }
    sampler_session_fork_args {
        /// sizeof(sampler_session_fork_args).
        struct_size: usize = size_of::<Self>();
        /// What is forked: a sequence, which goes on as if nothing had been.
        source: i32 = 0;
        /// must be 0
        reserved: i32 = 0;
        /// NULL: the source's, with which its text comes again.
        seed: *const u64 = null();
        params: *const sampler_params = null();
    }
    /// Tokens to run through a model. It never grows.
    sampler_span {
        sequence: i32 = 0;
        /// Which plan of the session it is of: the session tells spans of earlier ones by it.
        plan: i32 = 0;
        /// The length that the cache must have, where the span goes: what it holds beyond is cut off.
        start: i64 = 0;
        /// [num_tokens] At least one; the last of them may be drafts. Valid until the sequence is
        /// advanced, planned again or removed.
        token_ids: *const i32 = null();
        num_tokens: i64 = 0;
        /// Rows of logits that sampler_session_advance wants, those that follow the last so many tokens.
        /// May be 0: a part of a long text.
        num_logits: i64 = 0;
    }
    sampler_session_plan_args {
        /// sizeof(sampler_session_plan_args).
        struct_size: usize = size_of::<Self>();
        /// [num_sequences] Which ones, none twice, in the order in which they get of max_tokens. Finished
        /// ones are passed over. NULL and 0: all.
        sequences: *const i32 = null();
        num_sequences: i64 = 0;
        /// Tokens of all spans of a model at most; 0: no limit. Else at least max_drafts + 1. Texts that
        /// are longer are planned in parts. A sequence that there is no room for gets no span; without
        /// `sequences` it is among the first next time.
        max_tokens: i64 = 0;
        /// [num_sequences], or [max_sequences] where that is 0. A sequence has a span of one of the two
        /// models: of the drafter where it needs a draft. out_drafter_spans may be NULL where none has
        /// SAMPLER_DRAFTS_MODEL.
        out_spans: *mut sampler_span = null_mut();
        out_num_spans: *mut i64 = null_mut();
        out_drafter_spans: *mut sampler_span = null_mut();
        out_num_drafter_spans: *mut i64 = null_mut();
        /// [spans of the target, max_drafts] What each draft of a span follows: a lower one of its drafts,
        /// -1 the text; in a chain draft i follows i - 1. What follows the drafts of a span is -1. In a
        /// tree drafts see those that they follow, and not the others; their positions in the text are
        /// their depths. The first path comes first, so that a cache that is cut to out_cache_lengths
        /// holds the text: a kept draft beside that path is fed again. May be NULL where no sequence has a
        /// draft_top_k above 1.
        out_parents: *mut i32 = null_mut();
    }
    sampler_session_advance_args {
        /// sizeof(sampler_session_advance_args).
        struct_size: usize = size_of::<Self>();
        /// [num_spans] Spans that the target ran, whole copies of those planned: any of them, in any
        /// order.
        spans: *const sampler_span = null();
        num_spans: i64 = 0;
        /// Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
        /// elements; 0: vocabulary_size. They are not read any more when the call returns SAMPLER_OK;
        /// after CUDA work that was enqueued may still read them.
        logits: *const c_void = null();
        logits_row_stride: i64 = 0;
        /// The same of the drafter.
        drafter_spans: *const sampler_span = null();
        num_drafter_spans: i64 = 0;
        drafter_logits: *const c_void = null();
        drafter_row_stride: i64 = 0;
        /// [rows of logits] With masks in the session's pipeline: the mask of each row of the target,
        /// which follows the text and the drafts before it; negative: none. Else NULL.
        token_bitmask_indices: *const i32 = null();
        /// What follows is by span of the target, [num_spans, ...]; all but out_token_ids and out_counts
        /// may be NULL, and where there is no span those, too.
        ///
        /// [num_spans, max_drafts + 1] New tokens, then -1; and how many. A span without logits has none.
        out_token_ids: *mut i32 = null_mut();
        out_counts: *mut i64 = null_mut();
        /// Not NONE: the sequence has finished, and is not planned any more.
        out_finish_reasons: *mut sampler_finish_reason = null_mut();
        /// To which lengths to cut the caches. Drafts that were not kept are cut off.
        out_cache_lengths: *mut i64 = null_mut();
        out_drafter_cache_lengths: *mut i64 = null_mut();
        /// Drafts that became text.
        out_accepted_counts: *mut i64 = null_mut();
        /// Of BAD_ROW: why; else 0.
        out_row_status: *mut sampler_row_status = null_mut();
        /// Log-probabilities of the new tokens, then NaN, and of the first num_top_logprobs tokens in rank
        /// order, then -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in [0, max_top_logprobs],
        /// out_top_token_ids of int32_t and out_top_logprobs. What else sampler_report_args has must be 0.
        /// In host memory. NULL: none.
        reports: *const sampler_report_args = null();
    }
}

functions! {
    /// SAMPLER_VERSION of the library that was loaded.
    fn sampler_version() -> u32;
    /// The same as text, "0.1.0", of a candidate "0.1.0-rc1". Static; never NULL.
    fn sampler_version_string() -> *const c_char;
    /// SAMPLER_ABI_VERSION of the library that was loaded. A program that opens the library with dlopen
    /// compares it with its own SAMPLER_ABI_VERSION before anything else.
    fn sampler_abi_version() -> u32;
    /// The name of a status, "SAMPLER_ERROR_INVALID_ARGUMENT". Static; never NULL: a number that is no
    /// status gives "SAMPLER_STATUS_UNKNOWN".
    fn sampler_status_string(status: sampler_status) -> *const c_char;
    /// One line about the last call on this thread that failed: which argument, its value, the rule.
    /// Calls that succeed leave it alone. Never NULL, "" before the first failure; valid until the next
    /// failing call on this thread. Up to 256 threads have one without any memory being taken; a further
    /// one takes it from malloc, and has "" where there is none.
    fn sampler_last_error() -> *const c_char;
    /// Fills `options` with the defaults: all 0 except struct_size and abi_version. `struct_size` is
    /// the size of the caller's struct; what a newer one has more is set to 0.
    fn sampler_options_init(options: *mut sampler_options, struct_size: usize) -> sampler_status;
    /// Creates a sampler. `options` NULL: a CPU sampler with one thread and no workspace.
    /// On failure *out_sampler is NULL and nothing is leaked.
    /// A CPU sampler computes rows with the best instruction set of the machine, or with the one that
    /// the environment variable SAMPLER_ISA names: scalar, avx2, avx512 or neon.
    /// Errors: INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED (no CUDA in this build or on this machine),
    /// OUT_OF_MEMORY, SYSTEM (a thread could not be started), CUDA (with CUDA's word for it).
    fn sampler_create(options: *const sampler_options, out_sampler: *mut sampler_t) -> sampler_status;
    /// Stops the handle's threads and releases its memory. NULL is fine. Work that was enqueued with it
    /// must have finished.
    fn sampler_destroy(sampler: sampler_t);
    /// Fills the fields that the caller's struct_size covers. Needs no handle, touches no device; the
    /// first call may start CUDA's runtime.
    fn sampler_get_capabilities(out_capabilities: *mut sampler_capabilities) -> sampler_status;
    /// The name of a stage, as in its constant: "TOP_P" of SAMPLER_STAGE_TOP_P. A static string; NULL of
    /// what is no stage, 0 among them.
    fn sampler_stage_name(stage: sampler_stage) -> *const c_char;
    /// Fills `params` with the defaults: temperature 1 and no filter. `struct_size` is the size of the
    /// caller's struct; what a newer one has more is set to 0. INVALID_ARGUMENT: params is NULL, or the
    /// size is no size of the struct.
    fn sampler_params_init(params: *mut sampler_params, struct_size: usize) -> sampler_status;
    /// Fills `params` with a preset: the order of stages of an engine, its rules of ties, scopes and
    /// forms, and its own defaults. It gives the engine's distribution, not its random numbers; what
    /// the engine does not do is not listed in `stages`, and an error where it is on.
    /// docs/coming-from.md has what differs all the same. `name` is one of
    ///
    ///   llama.cpp, vllm, sglang, tensorrt_llm, hugging_face, flashinfer
    ///   vllm_v2          vLLM's second model runner, whose top-k has k tokens, whatever ties
    ///   hf_vllm_aligned  temperature, top-k with ties and top-p, greedy at 0: what small engines do
    ///   nano_vllm        the temperature alone. Its draw is draw_method SAMPLER_DRAW_GUMBEL
    ///
    /// the newest version that is known, or another one, as in "vllm@0.33": sampler_preset_name lists
    /// them. A preset samples: Hugging Face without do_sample, and TensorRT-LLM where nothing is set,
    /// are temperature 0. llama.cpp's default breakers of DRY are texts, which the caller turns into
    /// tokens.
    ///
    /// INVALID_ARGUMENT, and nothing is written: params or name is NULL, the size is no size of the
    /// struct, or no preset has that name.
    fn sampler_params_preset(params: *mut sampler_params, struct_size: usize, name: *const c_char) -> sampler_status;
    /// The name of preset `index`, with its version where it has one: a static string. From 0 on; NULL
    /// where there is none.
    fn sampler_preset_name(index: i32) -> *const c_char;
    /// Draws one token per output row from what the filters keep of its input row.
    fn sampler_sample(sampler: sampler_t, args: *const sampler_sample_args) -> sampler_status;
    /// Writes what the filters keep of each row: softmax without filters, renormalisation, masks.
    fn sampler_filter(sampler: sampler_t, args: *const sampler_filter_args) -> sampler_status;
    /// Writes the first tokens of each row in rank order: their values and ids.
    fn sampler_select(sampler: sampler_t, args: *const sampler_select_args) -> sampler_status;
    fn sampler_sample_workspace_size(sampler: sampler_t, args: *const sampler_sample_args, out_bytes: *mut usize) -> sampler_status;
    fn sampler_filter_workspace_size(sampler: sampler_t, args: *const sampler_filter_args, out_bytes: *mut usize) -> sampler_status;
    fn sampler_select_workspace_size(sampler: sampler_t, args: *const sampler_select_args, out_bytes: *mut usize) -> sampler_status;
    /// The token of the largest value.
    fn sampler_argmax(sampler: sampler_t, input: *const sampler_rows, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Draws from the whole row.
    fn sampler_categorical(sampler: sampler_t, input: *const sampler_rows, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_k(sampler: sampler_t, input: *const sampler_rows, top_k: i32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Nucleus sampling (Holtzman et al. 2020).
    fn sampler_top_p(sampler: sampler_t, input: *const sampler_rows, top_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Nguyen et al. 2024.
    fn sampler_min_p(sampler: sampler_t, input: *const sampler_rows, min_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_k_top_p(sampler: sampler_t, input: *const sampler_rows, top_k: i32, top_p: f32, temperature: f32, seed: u64, offset: u64, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Probabilities of logits at the temperature. A bad row is written as 0.
    fn sampler_softmax(sampler: sampler_t, input: *const sampler_rows, temperature: f32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// Probabilities, of logits or of probabilities: those of the kept tokens renormalised, 0 elsewhere
    /// and in bad rows.
    fn sampler_top_k_renorm(sampler: sampler_t, input: *const sampler_rows, top_k: i32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    fn sampler_top_p_renorm(sampler: sampler_t, input: *const sampler_rows, top_p: f32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// Logits, those that are not kept set to -inf. A bad row is copied.
    fn sampler_top_k_mask(sampler: sampler_t, input: *const sampler_rows, top_k: i32, output: *mut f32, stream: sampler_stream) -> sampler_status;
    /// The first num_selected tokens of each row, largest value first: [num_rows, num_selected] values
    /// and ids, either of which may be NULL, not both. num_selected is in [1, num_cols]. Where there are
    /// fewer tokens the rest is -inf (probabilities: 0) and -1. +inf is a value like any other.
    fn sampler_top_k_select(sampler: sampler_t, input: *const sampler_rows, num_selected: i64, out_values: *mut f32, out_token_ids: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Verifies a chain of num_drafts draft tokens for each of num_sequences sequences, so that what is
    /// emitted follows the target's distribution (Leviathan et al. 2023).
    ///
    /// target               [num_sequences, num_drafts + 1, num_cols], its num_rows the product of the
    ///                      first two
    /// draft                [num_sequences, num_drafts, num_cols] what the drafts were drawn from; NULL:
    ///                      a deterministic drafter
    /// draft_token_ids      [num_sequences, num_drafts]
    /// out_token_ids        [num_sequences, num_drafts + 1] accepted drafts, one token more, then -1
    /// out_accepted_counts  [num_sequences] drafts that would be accepted each on its own; may be NULL
    /// out_emitted_counts   [num_sequences] drafts before the first rejection; may be NULL
    fn sampler_chain_speculative(sampler: sampler_t, target: *const sampler_rows, draft: *const sampler_rows, draft_token_ids: *const i32, num_drafts: i64, seed: u64, offset: u64, out_token_ids: *mut i32, out_accepted_counts: *mut i32, out_emitted_counts: *mut i32, stream: sampler_stream) -> sampler_status;
    /// Verifies each sequence's chain of drafts and emits between 1 and num_drafts + 1 tokens.
    fn sampler_verify(sampler: sampler_t, args: *const sampler_verify_args) -> sampler_status;
    /// As sampler_sample_workspace_size.
    fn sampler_verify_workspace_size(sampler: sampler_t, args: *const sampler_verify_args, out_bytes: *mut usize) -> sampler_status;
    /// Writes what sampler_verify draws from after a rejection: max(p - q, 0) of each row, renormalised,
    /// or p where that is 0 everywhere.
    fn sampler_residual(sampler: sampler_t, args: *const sampler_residual_args) -> sampler_status;
    /// As sampler_sample_workspace_size.
    fn sampler_residual_workspace_size(sampler: sampler_t, args: *const sampler_residual_args, out_bytes: *mut usize) -> sampler_status;
    /// Makes a state of empty slots, which belongs to the handle: it must be destroyed before it. All of
    /// its memory is written once. On failure *out_state is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device; or more bytes
    /// than there can be), CUDA.
    fn sampler_state_create(sampler: sampler_t, options: *const sampler_state_options, out_state: *mut sampler_state_t) -> sampler_status;
    /// How many bytes of memory such a state takes, those on the device too.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (more than there can be).
    fn sampler_state_size(sampler: sampler_t, options: *const sampler_state_options, out_bytes: *mut usize) -> sampler_status;
    /// NULL is fine. Work that uses the state must have finished.
    fn sampler_state_destroy(state: sampler_state_t);
    /// Appends a prompt, or text that was not drawn here. Adaptive values stay as they are.
    fn sampler_state_append(sampler: sampler_t, args: *const sampler_state_append_args) -> sampler_status;
    /// Tells what was drawn: the tokens enter text and counts, and adaptive values move on with each,
    /// by section 14.2 of docs/contract.md.
    fn sampler_accept(sampler: sampler_t, args: *const sampler_accept_args) -> sampler_status;
    /// Forgets the tokens after the first `lengths`, as if they had never come: the slot's bytes are
    /// what they were. Prompts may be cut, too.
    fn sampler_state_truncate(sampler: sampler_t, args: *const sampler_state_truncate_args) -> sampler_status;
    /// Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of
    /// earlier tokens are copied where both states keep them; where only the destination does, they are
    /// the source's present ones.
    fn sampler_state_copy(sampler: sampler_t, args: *const sampler_state_copy_args) -> sampler_status;
    /// Empties slots for new sequences.
    fn sampler_state_reset(sampler: sampler_t, args: *const sampler_state_reset_args) -> sampler_status;
    /// Writes what slots hold. Outputs that are NULL are not written.
    fn sampler_state_read(sampler: sampler_t, args: *const sampler_state_read_args) -> sampler_status;
    /// Writes the sequences of slots [first_slot, first_slot + num_slots) into `buffer`, which is host
    /// memory, in a format that is the same on every machine. *out_bytes is how many bytes it takes;
    /// with `buffer` NULL that is all. Waits for the device.
    /// Errors: INVALID_ARGUMENT (also a buffer that is too small; *out_bytes is set then).
    fn sampler_state_serialize(sampler: sampler_t, state: sampler_state_t, first_slot: i64, num_slots: i64, buffer: *mut c_void, buffer_bytes: usize, out_bytes: *mut usize) -> sampler_status;
    /// Puts serialised sequences into the slots from first_slot on, in place of what they hold. Every
    /// byte is checked; on failure all slots are as before. *out_num_slots is how many slots were set;
    /// it may be NULL.
    /// Errors: INVALID_ARGUMENT (more slots or longer sequences than the state has room for),
    /// CORRUPT_DATA.
    fn sampler_state_deserialize(sampler: sampler_t, state: sampler_state_t, first_slot: i64, data: *const c_void, data_bytes: usize, out_num_slots: *mut i64) -> sampler_status;
    /// What the call will exchange. It reads no array, and `send` and `received` may be NULL.
    ///
    /// Errors: INVALID_ARGUMENT; UNSUPPORTED, for what has no sharded form, which the text names: stages
    /// that keep windows (typical-p, XTC ...), adaptive kinds, forced tokens, out_observations, chosen
    /// tokens, the kept set and out_removed_by as reports, RAW top log-probabilities beside edits, and
    /// verification but what `verify` says. docs/sharding.md has the list.
    fn sampler_shard_plan(sampler: sampler_t, args: *const sampler_shard_args, out_plan: *mut sampler_shard_plan_info) -> sampler_status;
    /// Computes a round, in [0, num_exchanges]: reads `received` of the exchange before it, writes
    /// `send` for the one that follows it, or in the last round the call's outputs. Rounds come in
    /// order, with the same arguments.
    ///
    /// A rank whose arguments differ, or whose range overlaps the next one's or leaves a gap, makes
    /// round 1 fail on every rank: INVALID_ARGUMENT, and the text names the rank and what differs. A
    /// CUDA handle's calls are enqueued before that is known, and do not fail: there every row is bad,
    /// INVALID_SHARD, on every rank, and so it is where rounds do not come in order. Where only what
    /// arrays hold differs, seeds by slot, say, the row is bad on every rank: INVALID_SHARD. Other bad
    /// rows are what they are where the row is whole.
    ///
    /// Others wait for the message of a rank that fails. It sends zeros in its place: the round that
    /// reads them fails on every rank, as above, and the text names the one that failed.
    fn sampler_shard_round(sampler: sampler_t, args: *const sampler_shard_args, round: i64) -> sampler_status;
    /// Creates an empty storage. On failure *out_storage is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_ngram_storage_create(options: *const sampler_ngram_storage_options, out_storage: *mut sampler_ngram_storage_t) -> sampler_status;
    /// NULL is fine.
    fn sampler_ngram_storage_destroy(storage: sampler_ngram_storage_t);
    /// Fills *out_ngram, whose struct_size is set, with the storage as an interface. It is valid until
    /// the storage is destroyed; `user` is the storage.
    ///
    /// next_token  gives the token counted most often after the longest known context; of equal counts
    ///             the one that had that count first. Of the context at most the last order - 1 tokens
    ///             are read. Counts stop at 2^32 - 1.
    ///
    /// has_gram    1 for contexts of 1 to order - 1 tokens (ONE_LEVEL: order - 1) that a token is
    ///             counted after.
    ///
    /// propose     as next_token, token after token: each has the count and the share that it has after
    ///             the longest known context, without regard to shorter ones. The share is the f32
    ///             nearest to that of the n-grams counted; those dropped have none.
    ///
    /// update      counts in every order that is kept and for which the context is long enough. Of the
    ///             context at most the last order - 1 tokens are read.
    ///
    /// reset       also gives the table's memory back and sets the statistics to 0.
    ///
    /// A call takes amortised O(order log n) at worst for each token that it learns or proposes, n being
    /// the n-grams known: now and then the table grows.
    ///
    /// update and initialize return OUT_OF_MEMORY when the allocator returned NULL: the storage is then
    /// as it was, whatever part of a text had been learned. Other ids than those of the vocabulary are
    /// INVALID_ARGUMENT.
    fn sampler_ngram_storage_interface(storage: sampler_ngram_storage_t, out_ngram: *mut sampler_ngram) -> sampler_status;
    /// Fills *out_stats, whose struct_size is set.
    fn sampler_ngram_storage_get_stats(storage: sampler_ngram_storage_t, out_stats: *mut sampler_ngram_storage_stats) -> sampler_status;
    /// Writes the contents into `buffer`, which has `buffer_bytes` bytes, and their number into
    /// *out_bytes: little-endian, versioned, with a checksum; the same bytes on every machine. `buffer`
    /// NULL, with 0 bytes: only the number. A buffer that is too small is INVALID_ARGUMENT, and
    /// *out_bytes is not written. Takes O(n log n).
    fn sampler_ngram_storage_serialize(storage: sampler_ngram_storage_t, buffer: *mut c_void, buffer_bytes: usize, out_bytes: *mut usize) -> sampler_status;
    /// Replaces the contents by serialised ones. Every byte is checked; on failure the contents are as
    /// before. Takes O(order + log n) a record of 12 bytes, and memory for at most 3.2 table entries for
    /// each, whatever the bytes are.
    /// Errors: INVALID_ARGUMENT (the data are of a storage of another kind, order or vocabulary),
    /// CORRUPT_DATA, OUT_OF_MEMORY (the allocator, or memory_limit, which counts old and new contents;
    /// reset makes room).
    fn sampler_ngram_storage_deserialize(storage: sampler_ngram_storage_t, data: *const c_void, data_bytes: usize) -> sampler_status;
    /// Creates a lookup with an empty text. On failure *out_lookup is NULL.
    /// Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_prompt_lookup_create(options: *const sampler_prompt_lookup_options, out_lookup: *mut sampler_prompt_lookup_t) -> sampler_status;
    /// NULL is fine.
    fn sampler_prompt_lookup_destroy(lookup: sampler_prompt_lookup_t);
    /// Appends tokens to the text: all or, where they are more than there is room for
    /// (INVALID_ARGUMENT), none.
    fn sampler_prompt_lookup_append(lookup: sampler_prompt_lookup_t, token_ids: *const i32, num_tokens: i64) -> sampler_status;
    /// Empties the text. Takes time in proportion to max_tokens.
    fn sampler_prompt_lookup_reset(lookup: sampler_prompt_lookup_t) -> sampler_status;
    /// Up to num_drafts tokens that followed the match, fewer where the text ends before; out_token_ids
    /// is [num_drafts], and *out_num_drafts their number. 0: no match of at least min_match tokens.
    fn sampler_prompt_lookup_propose(lookup: sampler_prompt_lookup_t, num_drafts: i64, out_token_ids: *mut i32, out_num_drafts: *mut i64) -> sampler_status;
    /// Fills *out_ngram, whose struct_size is set, with the lookup as an interface for one sequence. It
    /// is valid until the lookup is destroyed; `user` is the lookup.
    ///
    /// Every context must be a beginning of the sequence, and begin with the text; that is not checked,
    /// and where it is not so the tokens are of no use.
    ///
    /// next_token  what followed the longest occurrence in the text of the context's end, within
    ///             min_match and max_match. Tokens of the context after the text, such as drafts, are
    ///             matched but not appended, in amortised O(log n) at worst for each. A context that
    ///             goes on from that of the last call is matched from there on, so that drafting one by
    ///             one matches each draft once. A context shorter than the text is unknown.
    ///
    /// propose     what next_token gives, token after token, in amortised O(log n) at worst for each. A
    ///             match counts as one occurrence: each token has the count 1 and the share 1, so that
    ///             least_count above 1 leaves none.
    ///
    /// has_gram    1 when the context, of min_match to max_match tokens, stands anywhere in the text and
    ///             a token follows it.
    ///
    /// update      appends to the text what the context has beyond it; next_token_ids are checked but
    ///             not learned, since only some of them may be part of the sequence. Where there is no
    ///             room for that, nothing is appended, and from then until a reset next_token knows
    ///             nothing and propose gives nothing: a loop goes on without drafts.
    ///
    /// initialize  appends, as sampler_prompt_lookup_append does.
    ///
    /// reset       is sampler_prompt_lookup_reset.
    fn sampler_prompt_lookup_interface(lookup: sampler_prompt_lookup_t, out_ngram: *mut sampler_ngram) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
    /// one has more is set to 0.
    fn sampler_generation_args_init(args: *mut sampler_generation_args, struct_size: usize) -> sampler_status;
    /// Feeds the prompts whole, draws the first token from their last logits, then one a step.
    fn sampler_autoregressive(sampler: sampler_t, args: *const sampler_generation_args) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
    /// one has more is set to 0.
    fn sampler_speculative_args_init(args: *mut sampler_speculative_args, struct_size: usize) -> sampler_status;
    /// Drafts with a model or n-grams, and verifies with the target. With a model (Leviathan et al.
    /// 2023) as sampler_verify does it from both models' logits. With n-grams without draft
    /// probabilities: a draft of probability p is kept with probability p and, once rejected, not drawn
    /// again. Greedy gives the text of sampler_autoregressive; sampling gives texts of its distribution.
    fn sampler_speculative(sampler: sampler_t, args: *const sampler_speculative_args) -> sampler_status;
    /// Fills `args` with the defaults. `struct_size` is the size of the caller's struct; what a newer
    /// one has more is set to 0.
    fn sampler_beam_search_args_init(args: *mut sampler_beam_search_args, struct_size: usize) -> sampler_status;
    /// Keeps the num_beams best continuations of each text, step by step. One that a row without a token
    /// ended, BAD_ROW, comes after all others, its score -inf; in a pool it takes no place that another
    /// one needs, and the pool is not full with it.
    fn sampler_beam_search(sampler: sampler_t, args: *const sampler_beam_search_args) -> sampler_status;
    /// What to cut off caches after a round of num_drafted drafts of which the first num_emitted were
    /// kept: the target was fed all of them, the drafter all but the last. *out_target and *out_drafter:
    /// tokens at the ends of their caches; 0 cuts off nothing. *out_missing: drafts that were kept and
    /// that the drafter has not been fed, 0 or 1. 0 <= num_emitted <= num_drafted. All three required.
    fn sampler_prune_count(num_drafted: i64, num_emitted: i64, out_target: *mut i64, out_drafter: *mut i64, out_missing: *mut i64) -> sampler_status;
    /// Makes an empty session, which must be destroyed before the handle. On failure *out_session is
    /// NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (the handle's allocator, or the device), CUDA.
    fn sampler_session_create(sampler: sampler_t, options: *const sampler_session_options, out_session: *mut sampler_session_t) -> sampler_status;
    /// How many bytes of memory such a session takes, those on the device too. Errors:
    /// INVALID_ARGUMENT, OUT_OF_MEMORY.
    fn sampler_session_size(sampler: sampler_t, options: *const sampler_session_options, out_bytes: *mut usize) -> sampler_status;
    /// NULL is fine. Of a CUDA handle it waits for the device.
    fn sampler_session_destroy(session: sampler_session_t);
    /// Adds a sequence; *out_sequence is its number. It may have finished already: where its last token,
    /// if it is a new one, ends it, or there is no room for another one. With PROMPT_LOOKUP it takes
    /// time in proportion to lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has
    /// max_sequences), CUDA, the status of ngram's initialize.
    fn sampler_session_add(session: sampler_session_t, args: *const sampler_session_add_args, out_sequence: *mut i32) -> sampler_status;
    /// Adds a sequence that is a copy of another one, drafts of the step apart: the same text, of which
    /// the caches hold as much. The caller copies the caches, cut to what sampler_session_get tells.
    /// Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA.
    fn sampler_session_fork(session: sampler_session_t, args: *const sampler_session_fork_args, out_sequence: *mut i32) -> sampler_status;
    /// Removes a sequence, finished or not, planned or not. Its number may be given to another one.
    /// Errors: INVALID_ARGUMENT.
    fn sampler_session_remove(session: sampler_session_t, sequence: i32) -> sampler_status;
    /// Fills *out_sequence, whose struct_size is set. Errors: INVALID_ARGUMENT.
    fn sampler_session_get(session: sampler_session_t, sequence: i32, out_sequence: *mut sampler_session_sequence) -> sampler_status;
    /// Tells what to run. Planning again without having advanced is fine; the last plan of a sequence
    /// counts, and spans of earlier ones are refused, even where they are the same. A draft source that
    /// fails ends the drafting of its sequence.
    /// Errors: INVALID_ARGUMENT.
    fn sampler_session_plan(session: sampler_session_t, args: *const sampler_session_plan_args) -> sampler_status;
    /// Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row
    /// without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts that were
    /// kept before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that
    /// end before it, and the sequence goes on up to it); a bad row of the drafter only ends the drafts
    /// of its step. A span
    /// that is not as its sequence was planned last, also since that has been removed or planned anew,
    /// is INVALID_ARGUMENT. Of a CUDA handle each sequence with BY_ENTROPY whose step begins makes it
    /// wait once more.
    /// Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.
    fn sampler_session_advance(session: sampler_session_t, args: *const sampler_session_advance_args) -> sampler_status;
}
