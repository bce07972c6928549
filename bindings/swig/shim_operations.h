/* Made from libsampler's headers by bindings/swig/generate.py; do not edit. */

/* Members of sampler_options; see shim_create_with. */
static inline shim_handle *shim_create(int32_t device_type, int32_t device_id,
    int32_t num_threads, int64_t max_rows, int64_t max_cols, int64_t fallback_token_id,
    int32_t use_fallback_token, int32_t host_parameters, int32_t check_pointers) {
  sampler_options options = SAMPLER_OPTIONS_INIT;
  options.device_type = device_type;
  options.device_id = device_id;
  options.num_threads = num_threads;
  options.max_rows = max_rows;
  options.max_cols = max_cols;
  options.fallback_token_id = fallback_token_id;
  options.use_fallback_token = use_fallback_token;
  options.host_parameters = host_parameters;
  options.check_pointers = check_pointers;
  return shim_create_with(&options);
}

/* Members of sampler_capabilities. */
static inline uint32_t shim_capability_version(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.version;
}

static inline uint32_t shim_capability_abi_version(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.abi_version;
}

static inline uint32_t shim_capability_isa_compiled(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.isa_compiled;
}

static inline uint32_t shim_capability_isa_usable(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.isa_usable;
}

static inline uint32_t shim_capability_isa_active(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.isa_active;
}

static inline uint32_t shim_capability_cuda_compiled(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.cuda_compiled;
}

static inline uint32_t shim_capability_num_cuda_devices(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.num_cuda_devices;
}

static inline uint32_t shim_capability_num_processors(void) {
  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;
  sampler_get_capabilities(&capabilities);
  return capabilities.num_processors;
}

/* The operations. With `only_size` 0 they call; else they tell the bytes of workspace that the
 * call needs. Both return minus the status when they fail. */
static inline int64_t shim_sample(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_i32 row_indices,
    shim_offset row_indices_at, int64_t num_input_rows, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, int32_t top_k, float top_p, float min_p, shim_read_f32 temperatures,
    shim_offset temperatures_at, shim_read_i32 top_ks, shim_offset top_ks_at,
    shim_read_f32 top_ps, shim_offset top_ps_at, shim_read_f32 min_ps, shim_offset min_ps_at,
    int32_t top_k_ties, int32_t top_p_ties, int32_t filter_order, int32_t temperature_order,
    int32_t draw_method, int32_t logprob_kind, uint64_t seed, uint64_t offset,
    shim_read_u64 seeds, shim_offset seeds_at, shim_read_u64 offsets, shim_offset offsets_at,
    int64_t num_seeds, int64_t num_offsets, shim_write_any out_token_ids,
    shim_offset out_token_ids_at, shim_write_i32 out_kept_counts,
    shim_offset out_kept_counts_at, shim_write_f32 out_logprobs, shim_offset out_logprobs_at,
    shim_write_u32 out_row_status, shim_offset out_row_status_at, shim_write_any workspace,
    shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_sample_args args = SAMPLER_SAMPLE_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.row_indices = shim_at(row_indices, row_indices_at);
  args.num_input_rows = num_input_rows;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.top_k = top_k;
  args.top_p = top_p;
  args.min_p = min_p;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.top_ps = shim_at(top_ps, top_ps_at);
  args.min_ps = shim_at(min_ps, min_ps_at);
  args.top_k_ties = top_k_ties;
  args.top_p_ties = top_p_ties;
  args.filter_order = filter_order;
  args.temperature_order = temperature_order;
  args.draw_method = draw_method;
  args.logprob_kind = logprob_kind;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_logprobs = shim_at(out_logprobs, out_logprobs_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_SAMPLE, &args);
  }
  return shim_finish(handle, sampler_sample(shim_sampler(handle), &args));
}

static inline int64_t shim_top_k_top_p(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_i32 row_indices,
    shim_offset row_indices_at, int64_t num_input_rows, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, int32_t top_k, float top_p, int32_t top_k_ties, int32_t top_p_ties,
    int32_t filter_order, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_i32 top_ks, shim_offset top_ks_at, shim_read_f32 top_ps, shim_offset top_ps_at,
    int32_t temperature_order, int32_t draw_method, uint64_t seed, uint64_t offset,
    shim_read_u64 seeds, shim_offset seeds_at, shim_read_u64 offsets, shim_offset offsets_at,
    int64_t num_seeds, int64_t num_offsets, shim_write_any out_token_ids,
    shim_offset out_token_ids_at, shim_write_i32 out_kept_counts,
    shim_offset out_kept_counts_at, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_top_k_top_p_args args = SAMPLER_TOP_K_TOP_P_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.row_indices = shim_at(row_indices, row_indices_at);
  args.num_input_rows = num_input_rows;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.top_k = top_k;
  args.top_p = top_p;
  args.top_k_ties = top_k_ties;
  args.top_p_ties = top_p_ties;
  args.filter_order = filter_order;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.top_ps = shim_at(top_ps, top_ps_at);
  args.temperature_order = temperature_order;
  args.draw_method = draw_method;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_K_TOP_P, &args);
  }
  return shim_finish(handle, sampler_top_k_top_p(shim_sampler(handle), &args));
}

static inline int64_t shim_top_k(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_i32 row_indices,
    shim_offset row_indices_at, int64_t num_input_rows, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, int32_t top_k, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_i32 top_ks, shim_offset top_ks_at, int32_t top_k_ties, int32_t draw_method,
    uint64_t seed, uint64_t offset, shim_read_u64 seeds, shim_offset seeds_at,
    shim_read_u64 offsets, shim_offset offsets_at, int64_t num_seeds, int64_t num_offsets,
    shim_write_any out_token_ids, shim_offset out_token_ids_at, shim_write_i32 out_kept_counts,
    shim_offset out_kept_counts_at, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_top_k_args args = SAMPLER_TOP_K_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.row_indices = shim_at(row_indices, row_indices_at);
  args.num_input_rows = num_input_rows;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.top_k = top_k;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.top_k_ties = top_k_ties;
  args.draw_method = draw_method;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_K, &args);
  }
  return shim_finish(handle, sampler_top_k(shim_sampler(handle), &args));
}

static inline int64_t shim_top_p(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_i32 row_indices,
    shim_offset row_indices_at, int64_t num_input_rows, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, float top_p, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_f32 top_ps, shim_offset top_ps_at, int32_t top_p_ties, int32_t temperature_order,
    int32_t draw_method, uint64_t seed, uint64_t offset, shim_read_u64 seeds,
    shim_offset seeds_at, shim_read_u64 offsets, shim_offset offsets_at, int64_t num_seeds,
    int64_t num_offsets, shim_write_any out_token_ids, shim_offset out_token_ids_at,
    shim_write_i32 out_kept_counts, shim_offset out_kept_counts_at,
    shim_write_u32 out_row_status, shim_offset out_row_status_at, shim_write_any workspace,
    shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_top_p_args args = SAMPLER_TOP_P_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.row_indices = shim_at(row_indices, row_indices_at);
  args.num_input_rows = num_input_rows;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.top_p = top_p;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ps = shim_at(top_ps, top_ps_at);
  args.top_p_ties = top_p_ties;
  args.temperature_order = temperature_order;
  args.draw_method = draw_method;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_P, &args);
  }
  return shim_finish(handle, sampler_top_p(shim_sampler(handle), &args));
}

static inline int64_t shim_min_p(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_i32 row_indices,
    shim_offset row_indices_at, int64_t num_input_rows, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, float min_p, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_f32 min_ps, shim_offset min_ps_at, int32_t temperature_order, int32_t draw_method,
    uint64_t seed, uint64_t offset, shim_read_u64 seeds, shim_offset seeds_at,
    shim_read_u64 offsets, shim_offset offsets_at, int64_t num_seeds, int64_t num_offsets,
    shim_write_any out_token_ids, shim_offset out_token_ids_at, shim_write_i32 out_kept_counts,
    shim_offset out_kept_counts_at, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_min_p_args args = SAMPLER_MIN_P_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.row_indices = shim_at(row_indices, row_indices_at);
  args.num_input_rows = num_input_rows;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.min_p = min_p;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.min_ps = shim_at(min_ps, min_ps_at);
  args.temperature_order = temperature_order;
  args.draw_method = draw_method;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_MIN_P, &args);
  }
  return shim_finish(handle, sampler_min_p(shim_sampler(handle), &args));
}

static inline int64_t shim_argmax(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t input_kind, shim_read_any candidate_ids,
    shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    shim_write_any out_token_ids, shim_offset out_token_ids_at, shim_write_f32 out_values,
    shim_offset out_values_at, shim_write_u32 out_row_status, shim_offset out_row_status_at,
    shim_write_any workspace, shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_argmax_args args = SAMPLER_ARGMAX_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_values = shim_at(out_values, out_values_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_ARGMAX, &args);
  }
  return shim_finish(handle, sampler_argmax(shim_sampler(handle), &args));
}

static inline int64_t shim_softmax(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t candidate_id_type,
    shim_read_any candidate_ids, shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, float temperature, int32_t output_dtype,
    shim_read_f32 temperatures, shim_offset temperatures_at, shim_write_any output,
    shim_offset output_at, int64_t output_stride, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_softmax_args args = SAMPLER_SOFTMAX_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.candidate_id_type = candidate_id_type;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.temperature = temperature;
  args.output_dtype = output_dtype;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.output = shim_at(output, output_at);
  args.output_stride = output_stride;
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_SOFTMAX, &args);
  }
  return shim_finish(handle, sampler_softmax(shim_sampler(handle), &args));
}

static inline int64_t shim_top_k_renorm(shim_handle *handle, int32_t only_size,
    uintptr_t stream, shim_read_any input, shim_offset input_at, int64_t num_rows,
    int64_t num_cols, int64_t row_stride, int32_t input_dtype, int32_t input_kind,
    shim_read_any candidate_ids, shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t output_dtype,
    float temperature, int32_t top_k, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_i32 top_ks, shim_offset top_ks_at, int32_t top_k_ties, shim_write_any output,
    shim_offset output_at, int64_t output_stride, shim_write_i32 out_kept_counts,
    shim_offset out_kept_counts_at, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_top_k_renorm_args args = SAMPLER_TOP_K_RENORM_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.output_dtype = output_dtype;
  args.temperature = temperature;
  args.top_k = top_k;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.top_k_ties = top_k_ties;
  args.output = shim_at(output, output_at);
  args.output_stride = output_stride;
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_K_RENORM, &args);
  }
  return shim_finish(handle, sampler_top_k_renorm(shim_sampler(handle), &args));
}

static inline int64_t shim_top_p_renorm(shim_handle *handle, int32_t only_size,
    uintptr_t stream, shim_read_any input, shim_offset input_at, int64_t num_rows,
    int64_t num_cols, int64_t row_stride, int32_t input_dtype, int32_t input_kind,
    shim_read_any candidate_ids, shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t output_dtype,
    float temperature, float top_p, shim_read_f32 temperatures, shim_offset temperatures_at,
    shim_read_f32 top_ps, shim_offset top_ps_at, int32_t top_p_ties, int32_t temperature_order,
    shim_write_any output, shim_offset output_at, int64_t output_stride,
    shim_write_i32 out_kept_counts, shim_offset out_kept_counts_at,
    shim_write_u32 out_row_status, shim_offset out_row_status_at, shim_write_any workspace,
    shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_top_p_renorm_args args = SAMPLER_TOP_P_RENORM_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.output_dtype = output_dtype;
  args.temperature = temperature;
  args.top_p = top_p;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ps = shim_at(top_ps, top_ps_at);
  args.top_p_ties = top_p_ties;
  args.temperature_order = temperature_order;
  args.output = shim_at(output, output_at);
  args.output_stride = output_stride;
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_P_RENORM, &args);
  }
  return shim_finish(handle, sampler_top_p_renorm(shim_sampler(handle), &args));
}

static inline int64_t shim_top_k_mask(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any input, shim_offset input_at, int64_t num_rows, int64_t num_cols,
    int64_t row_stride, int32_t input_dtype, int32_t candidate_id_type,
    shim_read_any candidate_ids, shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t top_k, int32_t top_k_ties, shim_read_i32 top_ks,
    shim_offset top_ks_at, int32_t output_dtype, shim_write_any output, shim_offset output_at,
    int64_t output_stride, shim_write_i32 out_kept_counts, shim_offset out_kept_counts_at,
    shim_write_u32 out_row_status, shim_offset out_row_status_at, shim_write_any workspace,
    shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_top_k_mask_args args = SAMPLER_TOP_K_MASK_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.candidate_id_type = candidate_id_type;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.top_k = top_k;
  args.top_k_ties = top_k_ties;
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.output_dtype = output_dtype;
  args.output = shim_at(output, output_at);
  args.output_stride = output_stride;
  args.out_kept_counts = shim_at(out_kept_counts, out_kept_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_K_MASK, &args);
  }
  return shim_finish(handle, sampler_top_k_mask(shim_sampler(handle), &args));
}

static inline int64_t shim_top_k_select(shim_handle *handle, int32_t only_size,
    uintptr_t stream, shim_read_any input, shim_offset input_at, int64_t num_rows,
    int64_t num_cols, int64_t row_stride, int32_t input_dtype, int32_t input_kind,
    shim_read_any candidate_ids, shim_offset candidate_ids_at, shim_read_i32 candidate_counts,
    shim_offset candidate_counts_at, int32_t candidate_id_type, int32_t token_id_type,
    int64_t num_selected, shim_read_i32 top_ks, shim_offset top_ks_at,
    shim_write_any out_values, shim_offset out_values_at, shim_write_any out_token_ids,
    shim_offset out_token_ids_at, int32_t output_dtype, shim_write_i32 out_counts,
    shim_offset out_counts_at, shim_write_u32 out_row_status, shim_offset out_row_status_at,
    shim_write_any workspace, shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_top_k_select_args args = SAMPLER_TOP_K_SELECT_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.input = shim_at(input, input_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.row_stride = row_stride;
  args.input_dtype = input_dtype;
  args.input_kind = input_kind;
  args.candidate_ids = shim_at(candidate_ids, candidate_ids_at);
  args.candidate_counts = shim_at(candidate_counts, candidate_counts_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.num_selected = num_selected;
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.out_values = shim_at(out_values, out_values_at);
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.output_dtype = output_dtype;
  args.out_counts = shim_at(out_counts, out_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_TOP_K_SELECT, &args);
  }
  return shim_finish(handle, sampler_top_k_select(shim_sampler(handle), &args));
}

static inline int64_t shim_chain_speculative(shim_handle *handle, int32_t only_size,
    uintptr_t stream, shim_read_any target, shim_offset target_at, int64_t num_rows,
    int64_t num_drafts, int64_t num_cols, int64_t target_row_stride,
    int64_t target_position_stride, int32_t target_dtype, int32_t target_kind,
    shim_read_any draft, shim_offset draft_at, int64_t draft_row_stride,
    int64_t draft_position_stride, int32_t draft_dtype, int32_t draft_kind,
    shim_read_any target_candidate_ids, shim_offset target_candidate_ids_at,
    shim_read_i32 target_candidate_counts, shim_offset target_candidate_counts_at,
    shim_read_any draft_candidate_ids, shim_offset draft_candidate_ids_at,
    shim_read_i32 draft_candidate_counts, shim_offset draft_candidate_counts_at,
    shim_read_any draft_token_ids, shim_offset draft_token_ids_at, shim_read_i32 draft_lengths,
    shim_offset draft_lengths_at, int32_t candidate_id_type, int32_t token_id_type,
    float temperature, int32_t top_k, float top_p, float min_p, shim_read_f32 temperatures,
    shim_offset temperatures_at, shim_read_i32 top_ks, shim_offset top_ks_at,
    shim_read_f32 top_ps, shim_offset top_ps_at, shim_read_f32 min_ps, shim_offset min_ps_at,
    int32_t top_k_ties, int32_t top_p_ties, int32_t filter_order, int32_t temperature_order,
    uint64_t seed, uint64_t offset, shim_read_u64 seeds, shim_offset seeds_at,
    shim_read_u64 offsets, shim_offset offsets_at, int64_t num_seeds, int64_t num_offsets,
    shim_write_any out_token_ids, shim_offset out_token_ids_at,
    shim_write_i32 out_accepted_counts, shim_offset out_accepted_counts_at,
    shim_write_i32 out_emitted_counts, shim_offset out_emitted_counts_at,
    shim_write_u32 out_row_status, shim_offset out_row_status_at, int32_t accumulate_counts,
    shim_write_any workspace, shim_offset workspace_at, uint64_t workspace_bytes) {
  sampler_chain_speculative_args args = SAMPLER_CHAIN_SPECULATIVE_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.target = shim_at(target, target_at);
  args.num_rows = num_rows;
  args.num_drafts = num_drafts;
  args.num_cols = num_cols;
  args.target_row_stride = target_row_stride;
  args.target_position_stride = target_position_stride;
  args.target_dtype = target_dtype;
  args.target_kind = target_kind;
  args.draft = shim_at(draft, draft_at);
  args.draft_row_stride = draft_row_stride;
  args.draft_position_stride = draft_position_stride;
  args.draft_dtype = draft_dtype;
  args.draft_kind = draft_kind;
  args.target_candidate_ids = shim_at(target_candidate_ids, target_candidate_ids_at);
  args.target_candidate_counts = shim_at(target_candidate_counts, target_candidate_counts_at);
  args.draft_candidate_ids = shim_at(draft_candidate_ids, draft_candidate_ids_at);
  args.draft_candidate_counts = shim_at(draft_candidate_counts, draft_candidate_counts_at);
  args.draft_token_ids = shim_at(draft_token_ids, draft_token_ids_at);
  args.draft_lengths = shim_at(draft_lengths, draft_lengths_at);
  args.candidate_id_type = candidate_id_type;
  args.token_id_type = token_id_type;
  args.temperature = temperature;
  args.top_k = top_k;
  args.top_p = top_p;
  args.min_p = min_p;
  args.temperatures = shim_at(temperatures, temperatures_at);
  args.top_ks = shim_at(top_ks, top_ks_at);
  args.top_ps = shim_at(top_ps, top_ps_at);
  args.min_ps = shim_at(min_ps, min_ps_at);
  args.top_k_ties = top_k_ties;
  args.top_p_ties = top_p_ties;
  args.filter_order = filter_order;
  args.temperature_order = temperature_order;
  args.seed = seed;
  args.offset = offset;
  args.seeds = shim_at(seeds, seeds_at);
  args.offsets = shim_at(offsets, offsets_at);
  args.num_seeds = num_seeds;
  args.num_offsets = num_offsets;
  args.out_token_ids = shim_at(out_token_ids, out_token_ids_at);
  args.out_accepted_counts = shim_at(out_accepted_counts, out_accepted_counts_at);
  args.out_emitted_counts = shim_at(out_emitted_counts, out_emitted_counts_at);
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.accumulate_counts = accumulate_counts;
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_CHAIN_SPECULATIVE, &args);
  }
  return shim_finish(handle, sampler_chain_speculative(shim_sampler(handle), &args));
}

static inline int64_t shim_residual(shim_handle *handle, int32_t only_size, uintptr_t stream,
    shim_read_any target, shim_offset target_at, shim_read_any draft, shim_offset draft_at,
    shim_read_any draft_token_ids, shim_offset draft_token_ids_at, int64_t num_rows,
    int64_t num_cols, int64_t target_row_stride, int64_t draft_row_stride, int32_t target_dtype,
    int32_t draft_dtype, int32_t token_id_type, int32_t output_dtype, shim_write_any output,
    shim_offset output_at, int64_t output_stride, shim_write_u32 out_row_status,
    shim_offset out_row_status_at, shim_write_any workspace, shim_offset workspace_at,
    uint64_t workspace_bytes) {
  sampler_residual_args args = SAMPLER_RESIDUAL_ARGS_INIT;
  args.stream = (sampler_stream)stream;
  args.target = shim_at(target, target_at);
  args.draft = shim_at(draft, draft_at);
  args.draft_token_ids = shim_at(draft_token_ids, draft_token_ids_at);
  args.num_rows = num_rows;
  args.num_cols = num_cols;
  args.target_row_stride = target_row_stride;
  args.draft_row_stride = draft_row_stride;
  args.target_dtype = target_dtype;
  args.draft_dtype = draft_dtype;
  args.token_id_type = token_id_type;
  args.output_dtype = output_dtype;
  args.output = shim_at(output, output_at);
  args.output_stride = output_stride;
  args.out_row_status = shim_at(out_row_status, out_row_status_at);
  args.workspace = shim_at(workspace, workspace_at);
  args.workspace_bytes = workspace_bytes;
  if (only_size) {
    return shim_workspace_size(handle, SAMPLER_OP_RESIDUAL, &args);
  }
  return shim_finish(handle, sampler_residual(shim_sampler(handle), &args));
}
