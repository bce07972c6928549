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

/// Which filter sees what.
pub type sampler_filter_order = i32;

/// When the temperature applies. The draw always uses it.
pub type sampler_temperature_order = i32;

/// How a token is drawn from what the filters kept. Both follow the same distribution.
pub type sampler_draw_method = i32;

/// Of which distribution a log-probability is.
pub type sampler_logprob_kind = i32;

/// What is behind a [`sampler_stream`].
#[repr(C)]
pub struct CUstream_st {
    _private: [u8; 0],
}

/// A CUDA stream (cudaStream_t and CUstream are this type). NULL is the legacy default stream.
/// A CPU handle ignores it.
pub type sampler_stream = *mut CUstream_st;

/// What is behind a [`sampler_t`].
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

/// The operations that use a workspace: a number for each function of that name.
pub type sampler_operation = i32;

constants! {
    SAMPLER_VERSION_MAJOR: u32 = 0;
    SAMPLER_VERSION_MINOR: u32 = 0;
    SAMPLER_VERSION_PATCH: u32 = 1;
    /// major * 10000 + minor * 100 + patch.
    SAMPLER_VERSION: u32 = SAMPLER_VERSION_MAJOR * 10000 + SAMPLER_VERSION_MINOR * 100 + SAMPLER_VERSION_PATCH;
    /// The number in the SONAME. Programs and libraries with equal numbers fit together; until version
    /// 0.1.0 the ABI may change without a change of this number.
    SAMPLER_ABI_VERSION: u32 = 0;
    SAMPLER_OK: sampler_status = 0;
    /// An argument breaks a rule of its documentation. Nothing was enqueued, no output written.
    SAMPLER_ERROR_INVALID_ARGUMENT: sampler_status = 1;
    /// The allocator returned NULL. Creating a handle, a decoding loop as it begins, and an n-gram
    /// storage as it learns allocate; nothing else does.
    SAMPLER_ERROR_OUT_OF_MEMORY: sampler_status = 2;
    /// The handle's or the call's workspace is smaller than sampler_workspace_size tells.
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
    /// The row's entry of row_indices names no input row.
    SAMPLER_ROW_INVALID_INDEX: sampler_row_status = 8;
    /// candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20) or
    /// listed twice.
    SAMPLER_ROW_INVALID_CANDIDATE: sampler_row_status = 16;
    /// A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts].
    /// Such a draft is rejected; the row is otherwise good and has its outputs.
    SAMPLER_ROW_INVALID_DRAFT: sampler_row_status = 32;
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
    /// the whole row at temperature 1
    SAMPLER_LOGPROB_RAW: sampler_logprob_kind = 0;
    /// what was drawn from: temperature and filters applied
    SAMPLER_LOGPROB_PROCESSED: sampler_logprob_kind = 1;
    SAMPLER_LOG_INFO: sampler_log_level = 0;
    SAMPLER_LOG_ERROR: sampler_log_level = 1;
    SAMPLER_OP_SAMPLE: sampler_operation = 0;
    SAMPLER_OP_TOP_K: sampler_operation = 1;
    SAMPLER_OP_TOP_P: sampler_operation = 2;
    SAMPLER_OP_MIN_P: sampler_operation = 3;
    SAMPLER_OP_TOP_K_TOP_P: sampler_operation = 4;
    SAMPLER_OP_ARGMAX: sampler_operation = 5;
    SAMPLER_OP_SOFTMAX: sampler_operation = 6;
    SAMPLER_OP_TOP_K_RENORM: sampler_operation = 7;
    SAMPLER_OP_TOP_P_RENORM: sampler_operation = 8;
    SAMPLER_OP_TOP_K_MASK: sampler_operation = 9;
    SAMPLER_OP_TOP_K_SELECT: sampler_operation = 10;
    SAMPLER_OP_CHAIN_SPECULATIVE: sampler_operation = 11;
    SAMPLER_OP_RESIDUAL: sampler_operation = 12;
    SAMPLER_ISA_SCALAR: u32 = 1;
    SAMPLER_ISA_AVX2: u32 = 2;
    SAMPLER_ISA_AVX512: u32 = 4;
    SAMPLER_ISA_NEON: u32 = 8;
}

structs! {
    sampler_options {
        /// sizeof(sampler_options).
        struct_size: usize = size_of::<Self>();
        /// SAMPLER_ABI_VERSION of the headers that the caller was compiled with.
        abi_version: u32 = SAMPLER_ABI_VERSION;
        /// Where the arrays of this handle's calls live.
        device_type: sampler_device_type = SAMPLER_DEVICE_CPU;
        /// CUDA device number, 0 the first. 0 for the CPU.
        device_id: i32 = 0;
        /// CPU: how many rows are worked on at once, in [1, 256]; 0 is 1, the caller's thread alone.
        /// With more, and without `parallel_for`, the threads are started here, once, and sleep between
        /// calls. In a child process that has a copy of the handle, of fork() or, from Linux 4.14 on,
        /// of clone(), the handle works with the caller's thread alone, and is free even where another
        /// thread's call used it at that moment.
        num_threads: i32 = 0;
        /// The workspace that the handle brings: room for any operation on up to `max_rows` output rows
        /// of up to `max_cols` columns. 0 and 0: the handle has none, and each call brings its own.
        /// One without the other is an error. max_rows in [0, 2^31), max_cols in [0, 2^20).
        max_rows: i64 = 0;
        max_cols: i64 = 0;
        /// Runs a call's tasks on the caller's threads instead of the handle's. NULL: the handle's.
        parallel_for: sampler_parallel_for_fn = None;
        parallel_for_user: *mut c_void = null_mut();
        /// Memory for the handle, its workspace and the decoding loops. Both NULL: the C library's.
        allocate: sampler_allocate_fn = None;
        deallocate: sampler_deallocate_fn = None;
        allocator_user: *mut c_void = null_mut();
        /// NULL: the library is silent.
        log: sampler_log_fn = None;
        log_user: *mut c_void = null_mut();
        /// What a bad row yields as its token: -1, or, when `use_fallback_token` is 1, this id. It must
        /// then lie in [0, num_cols) of every call on rows, in [0, 2^20) on candidate lists.
        fallback_token_id: i64 = 0;
        use_fallback_token: i32 = 0;
        /// CUDA. 1: what a call takes per row as numbers (temperatures, top_ks, top_ps, min_ps, seeds,
        /// offsets) are host arrays. They travel with the launch, in its stream, without a wait, and may be
        /// reused when the call returns; a graph that captures the call replays their values of then. All
        /// other arrays stay on the device. A call needs up to 32 bytes a row more workspace. 0: they are
        /// device arrays like all others. A CPU handle ignores it.
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
    /// Arguments of sampler_sample.
    sampler_sample_args {
        /// sizeof(sampler_sample_args).
        struct_size: usize = size_of::<Self>();
        /// Where the work is enqueued. Ignored by a CPU handle.
        stream: sampler_stream = null_mut();
        /// [num_input_rows, num_cols] Logits or probabilities, one row `row_stride` elements after the
        /// other. Never written.
        input: *const c_void = null();
        /// Rows of output: tokens to draw. In [0, 2^31); with 0 the call does nothing.
        num_rows: i64 = 0;
        /// Columns of the input: the vocabulary, or the room for candidates. In [1, 2^20).
        num_cols: i64 = 0;
        /// Distance of two input rows in elements, at least num_cols. 0: num_cols.
        row_stride: i64 = 0;
        /// Element type and meaning of the input.
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        /// [num_rows] The input row that each output row draws from, in [0, num_input_rows); any other
        /// value makes the output row bad. The work of preparing a row is shared by the outputs that draw
        /// from it with equal parameters. NULL: output row i draws from input row i.
        row_indices: *const i32 = null();
        /// Rows of the input, in [0, 2^31). 0: num_rows. Without row_indices it must be 0 or num_rows.
        num_input_rows: i64 = 0;
        /// Candidate lists, for engines that hold (id, logit) pairs rather than rows.
        /// [num_input_rows, num_cols], laid out like the input: the token id of each element, in
        /// [0, 2^20), in any order, none twice in a row. A list of all ids gives the same token as the
        /// row. NULL: the id of an element is its column.
        candidate_ids: *const c_void = null();
        /// [num_input_rows] How many elements of each row there are, in [0, num_cols]; what is behind them
        /// is not read. Needs candidate_ids. NULL: num_cols.
        candidate_counts: *const i32 = null();
        /// Type of candidate_ids.
        candidate_id_type: sampler_id_type = 0;
        /// Type of out_token_ids.
        token_id_type: sampler_id_type = 0;
        /// Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the
        /// first token in rank order whatever the filters say. Above 2^64: 2^64. Probabilities are taken
        /// as they are: there it must be 1, or at most 1e-5. Not NaN. Default 1.
        temperature: f32 = 1.0;
        /// Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0.
        top_k: i32 = 0;
        /// Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
        /// is at least top_p (nucleus sampling, Holtzman et al. 2020). >= 1: off; <= 0: one token.
        /// Not NaN. Default 1.
        top_p: f32 = 1.0;
        /// Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).
        /// <= 0: off; above 1: 1. Not NaN. Default 0.
        min_p: f32 = 0.0;
        /// [num_rows] The same per output row. NULL: the value above for all. Every value has the meaning
        /// above; NaN, or a temperature that probabilities cannot have, makes the row bad.
        temperatures: *const f32 = null();
        top_ks: *const i32 = null();
        top_ps: *const f32 = null();
        min_ps: *const f32 = null();
        /// How the filters combine. All default to 0, the first constant of their enumeration.
        top_k_ties: sampler_tie_rule = 0;
        top_p_ties: sampler_tie_rule = 0;
        filter_order: sampler_filter_order = 0;
        temperature_order: sampler_temperature_order = 0;
        /// How the token is drawn.
        draw_method: sampler_draw_method = 0;
        /// Of which distribution out_logprobs is.
        logprob_kind: sampler_logprob_kind = 0;
        /// Randomness: Philox4x32-10 (Salmon et al. 2011) of (seed, offset, stream). Use each pair of seed
        /// and offset once: a sequence takes a seed, and its position as the offset.
        /// With one seed for all rows the stream is the output row, so rows draw independently. With a
        /// seed per row the stream is 0, and a row's token depends on its own seed and offset alone, not
        /// on its slot in the batch.
        seed: u64 = 0;
        offset: u64 = 0;
        /// [num_seeds], [num_offsets] Seeds and offsets in the handle's memory, read when the work runs.
        /// num_seeds is 1 (one for all rows) or num_rows (one each). NULL and 0: `seed`, `offset`.
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        /// [num_rows] The tokens, of type token_id_type: column numbers, or candidate ids. -1 or the
        /// handle's fallback token for a bad row. Required.
        out_token_ids: *mut c_void = null_mut();
        /// [num_rows] How many tokens the filters kept; 1 for a greedy row, 0 for a bad one. NULL: not
        /// wanted.
        out_kept_counts: *mut i32 = null_mut();
        /// [num_rows] Natural logarithm of the probability of the drawn token; NaN for a bad row. A
        /// probability row's logprob is relative to its sum. NULL: not wanted.
        out_logprobs: *mut f32 = null_mut();
        /// [num_rows] SAMPLER_ROW_ bits. NULL: not wanted.
        out_row_status: *mut sampler_row_status = null_mut();
        /// Memory for the call, of sampler_workspace_size() bytes or more, any alignment. NULL and 0: the
        /// handle's.
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_k_top_p. Filter order: SEQUENTIAL is FlashInfer's top_k_first.
    sampler_top_k_top_p_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        row_indices: *const i32 = null();
        num_input_rows: i64 = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        temperature: f32 = 1.0;
        top_k: i32 = 0;
        top_p: f32 = 1.0;
        top_k_ties: sampler_tie_rule = 0;
        top_p_ties: sampler_tie_rule = 0;
        filter_order: sampler_filter_order = 0;
        temperatures: *const f32 = null();
        top_ks: *const i32 = null();
        top_ps: *const f32 = null();
        temperature_order: sampler_temperature_order = 0;
        draw_method: sampler_draw_method = 0;
        seed: u64 = 0;
        offset: u64 = 0;
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        out_token_ids: *mut c_void = null_mut();
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_k.
    sampler_top_k_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        row_indices: *const i32 = null();
        num_input_rows: i64 = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        temperature: f32 = 1.0;
        top_k: i32 = 0;
        temperatures: *const f32 = null();
        top_ks: *const i32 = null();
        top_k_ties: sampler_tie_rule = 0;
        draw_method: sampler_draw_method = 0;
        seed: u64 = 0;
        offset: u64 = 0;
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        out_token_ids: *mut c_void = null_mut();
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_p.
    sampler_top_p_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        row_indices: *const i32 = null();
        num_input_rows: i64 = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        temperature: f32 = 1.0;
        top_p: f32 = 1.0;
        temperatures: *const f32 = null();
        top_ps: *const f32 = null();
        top_p_ties: sampler_tie_rule = 0;
        temperature_order: sampler_temperature_order = 0;
        draw_method: sampler_draw_method = 0;
        /// Must be 0.
        reserved: i32 = 0;
        seed: u64 = 0;
        offset: u64 = 0;
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        out_token_ids: *mut c_void = null_mut();
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_min_p.
    sampler_min_p_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        row_indices: *const i32 = null();
        num_input_rows: i64 = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        temperature: f32 = 1.0;
        min_p: f32 = 0.0;
        temperatures: *const f32 = null();
        min_ps: *const f32 = null();
        temperature_order: sampler_temperature_order = 0;
        draw_method: sampler_draw_method = 0;
        seed: u64 = 0;
        offset: u64 = 0;
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        out_token_ids: *mut c_void = null_mut();
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_argmax.
    sampler_argmax_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        out_token_ids: *mut c_void = null_mut();
        /// [num_rows] The value of each token, widened to f32; NaN for a bad row. NULL: not wanted.
        out_values: *mut f32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_softmax.
    sampler_softmax_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        /// [num_rows, num_cols] Logits.
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        candidate_id_type: sampler_id_type = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        temperature: f32 = 1.0;
        /// SAMPLER_F32 or the input's.
        output_dtype: sampler_dtype = 0;
        temperatures: *const f32 = null();
        /// [num_rows, num_cols] Probabilities; 0 in every element of a bad row. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_k_renorm. The input is probabilities by default.
    sampler_top_k_renorm_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = SAMPLER_PROBABILITIES;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        output_dtype: sampler_dtype = 0;
        temperature: f32 = 1.0;
        top_k: i32 = 0;
        temperatures: *const f32 = null();
        top_ks: *const i32 = null();
        top_k_ties: sampler_tie_rule = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows, num_cols] Kept tokens' probabilities, which sum to 1 but for rounding; exactly 0
        /// elsewhere and in bad rows. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [num_rows] As in sampler_sample_args. NULL: not wanted.
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_p_renorm. The input is probabilities by default.
    sampler_top_p_renorm_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = SAMPLER_PROBABILITIES;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        output_dtype: sampler_dtype = 0;
        temperature: f32 = 1.0;
        top_p: f32 = 1.0;
        temperatures: *const f32 = null();
        top_ps: *const f32 = null();
        top_p_ties: sampler_tie_rule = 0;
        temperature_order: sampler_temperature_order = 0;
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_k_mask.
    sampler_top_k_mask_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        /// [num_rows, num_cols] Logits.
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        candidate_id_type: sampler_id_type = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        top_k: i32 = 0;
        top_k_ties: sampler_tie_rule = 0;
        top_ks: *const i32 = null();
        output_dtype: sampler_dtype = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows, num_cols] Kept logits, unchanged, and -inf elsewhere. A bad row is copied as it
        /// is. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        out_kept_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_top_k_select.
    sampler_top_k_select_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        input: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        row_stride: i64 = 0;
        input_dtype: sampler_dtype = 0;
        input_kind: sampler_input_kind = 0;
        candidate_ids: *const c_void = null();
        candidate_counts: *const i32 = null();
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        /// How many tokens a row yields at most: columns of the outputs, in [1, num_cols].
        num_selected: i64 = 0;
        /// [num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. NULL: that for
        /// all.
        top_ks: *const i32 = null();
        /// [num_rows, num_selected] Values, of type f32 or the input's, and ids, both in rank order and
        /// contiguous. Where a row has fewer tokens to give, the rest is -inf (probabilities: 0) and -1;
        /// so is all of a bad row. Either may be NULL, not both.
        out_values: *mut c_void = null_mut();
        out_token_ids: *mut c_void = null_mut();
        /// Type of out_values.
        output_dtype: sampler_dtype = 0;
        /// Must be 0.
        reserved: i32 = 0;
        /// [num_rows] How many tokens each row yielded; 0 for a bad row. NULL: not wanted.
        out_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_chain_speculative. Members that sampler_sample_args has too mean the same.
    ///
    /// Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities
    /// first: temperature and filters, then softmax in f32, exactly what the renorm operations write.
    sampler_chain_speculative_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        /// [num_rows, num_drafts + 1, num_cols] The target's row at each draft position, and the one
        /// behind the last. Strides in elements: of rows, at least what num_drafts + 1 positions take, and
        /// of positions, at least num_cols. 0: contiguous.
        target: *const c_void = null();
        num_rows: i64 = 0;
        /// in [0, 65535]
        num_drafts: i64 = 0;
        num_cols: i64 = 0;
        target_row_stride: i64 = 0;
        target_position_stride: i64 = 0;
        target_dtype: sampler_dtype = 0;
        target_kind: sampler_input_kind = 0;
        /// [num_rows, num_drafts, num_cols] The rows that the drafts were drawn from. NULL: the drafter
        /// was deterministic (its draft has probability 1), as with n-gram drafts.
        draft: *const c_void = null();
        draft_row_stride: i64 = 0;
        draft_position_stride: i64 = 0;
        draft_dtype: sampler_dtype = 0;
        draft_kind: sampler_input_kind = 0;
        /// Candidate lists, laid out like `target` and `draft`: the ids of the elements, and how many
        /// there are, [num_rows, num_drafts + 1] and [num_rows, num_drafts]. NULL: an element's id is its
        /// column; all num_cols. A token that is not in a list has probability 0 there. Of rows of given
        /// probabilities only the drafts' elements are looked at before the first rejection; a list is
        /// read whole, so that a bad element anywhere in it makes the row bad.
        target_candidate_ids: *const c_void = null();
        target_candidate_counts: *const i32 = null();
        draft_candidate_ids: *const c_void = null();
        draft_candidate_counts: *const i32 = null();
        /// [num_rows, num_drafts] The draft tokens, of type token_id_type. One outside the vocabulary,
        /// [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is p.
        draft_token_ids: *const c_void = null();
        /// [num_rows] How many drafts each row has, in [0, num_drafts]; values outside are clamped and
        /// set a status. NULL: num_drafts.
        draft_lengths: *const i32 = null();
        /// Types of all candidate ids; of draft_token_ids and out_token_ids.
        candidate_id_type: sampler_id_type = 0;
        token_id_type: sampler_id_type = 0;
        /// Temperature and filters of the rows that are logits, target and draft alike. When the target is
        /// probabilities the temperature must be 1 or greedy; when the draft is too (or NULL), the filters
        /// must be off. A value that is not makes the call fail, an element of an array its row:
        /// SAMPLER_ROW_INVALID_PARAMETER. At most 1e-5: greedy. Then a draft is accepted while it is the target's argmax,
        /// and the token behind is the argmax too.
        temperature: f32 = 1.0;
        top_k: i32 = 0;
        top_p: f32 = 1.0;
        min_p: f32 = 0.0;
        temperatures: *const f32 = null();
        top_ks: *const i32 = null();
        top_ps: *const f32 = null();
        min_ps: *const f32 = null();
        top_k_ties: sampler_tie_rule = 0;
        top_p_ties: sampler_tie_rule = 0;
        filter_order: sampler_filter_order = 0;
        temperature_order: sampler_temperature_order = 0;
        /// As in sampler_sample_args. One offset serves all positions of a row.
        seed: u64 = 0;
        offset: u64 = 0;
        seeds: *const u64 = null();
        offsets: *const u64 = null();
        num_seeds: i64 = 0;
        num_offsets: i64 = 0;
        /// [num_rows, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For a
        /// bad row -1 throughout (the handle's fallback token first, if it has one). Required.
        out_token_ids: *mut c_void = null_mut();
        /// [num_rows] Drafts that would be accepted each on its own, wherever they stand. Positions behind
        /// the first rejection count only here: nothing there changes a token or, draft ids apart, a
        /// status. NULL: not wanted.
        out_accepted_counts: *mut i32 = null_mut();
        /// [num_rows] Drafts kept before the first rejection: out_token_ids has one token more. NULL: not
        /// wanted.
        out_emitted_counts: *mut i32 = null_mut();
        out_row_status: *mut sampler_row_status = null_mut();
        /// 1: the counts are added to what the two arrays hold. 0: they overwrite it.
        accumulate_counts: i32 = 0;
        /// Must be 0.
        reserved: i32 = 0;
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
    /// Arguments of sampler_residual. Members that sampler_sample_args has too mean the same.
    sampler_residual_args {
        struct_size: usize = size_of::<Self>();
        stream: sampler_stream = null_mut();
        /// [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
        /// to 1.
        target: *const c_void = null();
        /// [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, taken as
        /// given. NULL: the drafter was deterministic, and draft_token_ids says what it proposed.
        draft: *const c_void = null();
        /// [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
        /// row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
        /// draft is NULL; NULL where it is not.
        draft_token_ids: *const c_void = null();
        num_rows: i64 = 0;
        num_cols: i64 = 0;
        /// Elements from one row's start to the next, at least num_cols. 0: num_cols.
        target_row_stride: i64 = 0;
        draft_row_stride: i64 = 0;
        target_dtype: sampler_dtype = 0;
        draft_dtype: sampler_dtype = 0;
        token_id_type: sampler_id_type = 0;
        /// SAMPLER_F32, or target_dtype.
        output_dtype: sampler_dtype = 0;
        /// [num_rows, num_cols] Probabilities, which sum to 1 but for rounding, exactly 0 where nothing is
        /// left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
        /// num_cols; 0: num_cols. Required.
        output: *mut c_void = null_mut();
        output_stride: i64 = 0;
        /// [num_rows] NULL: not wanted. A row of p or q with an element that is negative, NaN or infinite
        /// is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p.
        out_row_status: *mut sampler_row_status = null_mut();
        workspace: *mut c_void = null_mut();
        workspace_bytes: usize = 0;
    }
}

functions! {
    /// SAMPLER_VERSION of the library that was loaded.
    fn sampler_version() -> u32;
    /// The same as text, "0.0.1". Static; never NULL.
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
    /// Fills `options` with the defaults. For callers that cannot use SAMPLER_OPTIONS_INIT: pass the
    /// sizeof that their headers had; newer fields are left alone.
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
    /// Tells how many bytes of workspace the call `operation` with `args` needs: with so many it
    /// succeeds, with one fewer it returns SAMPLER_ERROR_WORKSPACE_TOO_SMALL. `args` is that operation's
    /// argument struct, set as for the call; of its pointers only whether they are NULL matters, and
    /// none is read. Arrays that the call requires may be NULL all the same. What the call refuses
    /// whatever its addresses, this refuses too, with the same text. A workspace may have any alignment. Its contents are undefined before and after a
    /// call. Calls that share one must not overlap in time: one thread, or one stream.
    fn sampler_workspace_size(sampler: sampler_t, operation: sampler_operation, args: *const c_void, out_bytes: *mut usize) -> sampler_status;
    /// Fills the fields that the caller's struct_size covers. Needs no handle, touches no device; the
    /// first call may start CUDA's runtime.
    fn sampler_get_capabilities(out_capabilities: *mut sampler_capabilities) -> sampler_status;
    fn sampler_sample_args_init(args: *mut sampler_sample_args, struct_size: usize) -> sampler_status;
    /// Draws one token per row from what top-k, top-p and min-p keep of it: every option in one call.
    fn sampler_sample(sampler: sampler_t, args: *const sampler_sample_args) -> sampler_status;
    fn sampler_top_k_top_p_args_init(args: *mut sampler_top_k_top_p_args, struct_size: usize) -> sampler_status;
    /// Draws one token per row from the top_k most likely tokens whose probability reaches top_p.
    fn sampler_top_k_top_p(sampler: sampler_t, args: *const sampler_top_k_top_p_args) -> sampler_status;
    fn sampler_top_k_args_init(args: *mut sampler_top_k_args, struct_size: usize) -> sampler_status;
    /// Draws one token per row from the top_k most likely tokens.
    fn sampler_top_k(sampler: sampler_t, args: *const sampler_top_k_args) -> sampler_status;
    fn sampler_top_p_args_init(args: *mut sampler_top_p_args, struct_size: usize) -> sampler_status;
    /// Draws one token per row from the nucleus: the likeliest tokens whose probability reaches top_p.
    fn sampler_top_p(sampler: sampler_t, args: *const sampler_top_p_args) -> sampler_status;
    fn sampler_min_p_args_init(args: *mut sampler_min_p_args, struct_size: usize) -> sampler_status;
    /// Draws one token per row from those at least min_p times as likely as the likeliest.
    fn sampler_min_p(sampler: sampler_t, args: *const sampler_min_p_args) -> sampler_status;
    fn sampler_argmax_args_init(args: *mut sampler_argmax_args, struct_size: usize) -> sampler_status;
    /// Gives the first token of each row in rank order: the largest value, the lowest id among equals.
    /// The same token as sampling at temperature 0.
    fn sampler_argmax(sampler: sampler_t, args: *const sampler_argmax_args) -> sampler_status;
    fn sampler_softmax_args_init(args: *mut sampler_softmax_args, struct_size: usize) -> sampler_status;
    /// Writes the probabilities of each row of logits at the temperature; one-hot when greedy.
    fn sampler_softmax(sampler: sampler_t, args: *const sampler_softmax_args) -> sampler_status;
    fn sampler_top_k_renorm_args_init(args: *mut sampler_top_k_renorm_args, struct_size: usize) -> sampler_status;
    /// Writes each row's probabilities with all but the top_k largest set to 0, renormalised.
    fn sampler_top_k_renorm(sampler: sampler_t, args: *const sampler_top_k_renorm_args) -> sampler_status;
    fn sampler_top_p_renorm_args_init(args: *mut sampler_top_p_renorm_args, struct_size: usize) -> sampler_status;
    /// Writes each row's probabilities with all outside the nucleus set to 0, renormalised.
    fn sampler_top_p_renorm(sampler: sampler_t, args: *const sampler_top_p_renorm_args) -> sampler_status;
    fn sampler_top_k_mask_args_init(args: *mut sampler_top_k_mask_args, struct_size: usize) -> sampler_status;
    /// Writes each row of logits with all but the top_k largest set to -inf.
    fn sampler_top_k_mask(sampler: sampler_t, args: *const sampler_top_k_mask_args) -> sampler_status;
    fn sampler_top_k_select_args_init(args: *mut sampler_top_k_select_args, struct_size: usize) -> sampler_status;
    /// Writes the first num_selected tokens of each row in rank order: their values and ids.
    fn sampler_top_k_select(sampler: sampler_t, args: *const sampler_top_k_select_args) -> sampler_status;
    fn sampler_chain_speculative_args_init(args: *mut sampler_chain_speculative_args, struct_size: usize) -> sampler_status;
    /// Verifies each row's chain of drafts and emits between 1 and num_drafts + 1 tokens.
    fn sampler_chain_speculative(sampler: sampler_t, args: *const sampler_chain_speculative_args) -> sampler_status;
    fn sampler_residual_args_init(args: *mut sampler_residual_args, struct_size: usize) -> sampler_status;
    /// Writes what sampler_chain_speculative draws from after a rejection: max(p - q, 0) of each row,
    /// renormalised, or p where that is 0 everywhere.
    fn sampler_residual(sampler: sampler_t, args: *const sampler_residual_args) -> sampler_status;
}
