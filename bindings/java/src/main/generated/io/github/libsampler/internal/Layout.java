// Made from libsampler's headers by bindings/swig/generate_java.py; do not edit.
package io.github.libsampler.internal;

/** Sizes of the headers' structs and offsets of their members, in bytes. */
public final class Layout {
  public static final int ALLOCATOR_SIZE = 24;
  public static final int ALLOCATOR_ALLOCATE = 0;
  public static final int ALLOCATOR_DEALLOCATE = 8;
  public static final int ALLOCATOR_USER = 16;

  public static final int OPTIONS_SIZE = 120;
  public static final int OPTIONS_STRUCT_SIZE = 0;
  public static final int OPTIONS_ABI_VERSION = 8;
  public static final int OPTIONS_DEVICE_TYPE = 12;
  public static final int OPTIONS_DEVICE_ID = 16;
  public static final int OPTIONS_NUM_THREADS = 20;
  public static final int OPTIONS_MAX_ROWS = 24;
  public static final int OPTIONS_MAX_COLS = 32;
  public static final int OPTIONS_PARALLEL_FOR = 40;
  public static final int OPTIONS_PARALLEL_FOR_USER = 48;
  public static final int OPTIONS_ALLOCATOR = 56;
  public static final int OPTIONS_LOG = 80;
  public static final int OPTIONS_LOG_USER = 88;
  public static final int OPTIONS_FALLBACK_TOKEN_ID = 96;
  public static final int OPTIONS_USE_FALLBACK_TOKEN = 104;
  public static final int OPTIONS_HOST_PARAMETERS = 108;
  public static final int OPTIONS_CHECK_POINTERS = 112;
  public static final int OPTIONS_RESERVED = 116;

  public static final int CAPABILITIES_SIZE = 40;
  public static final int CAPABILITIES_STRUCT_SIZE = 0;
  public static final int CAPABILITIES_VERSION = 8;
  public static final int CAPABILITIES_ABI_VERSION = 12;
  public static final int CAPABILITIES_ISA_COMPILED = 16;
  public static final int CAPABILITIES_ISA_USABLE = 20;
  public static final int CAPABILITIES_ISA_ACTIVE = 24;
  public static final int CAPABILITIES_CUDA_COMPILED = 28;
  public static final int CAPABILITIES_NUM_CUDA_DEVICES = 32;
  public static final int CAPABILITIES_NUM_PROCESSORS = 36;

  public static final int PARAMS_SIZE = 40;
  public static final int PARAMS_STRUCT_SIZE = 0;
  public static final int PARAMS_TEMPERATURE = 8;
  public static final int PARAMS_TOP_P = 12;
  public static final int PARAMS_MIN_P = 16;
  public static final int PARAMS_TOP_K = 20;
  public static final int PARAMS_TOP_K_TIES = 24;
  public static final int PARAMS_TOP_P_TIES = 28;
  public static final int PARAMS_FILTER_ORDER = 32;
  public static final int PARAMS_TEMPERATURE_ORDER = 36;

  public static final int ROW_PARAMS_SIZE = 40;
  public static final int ROW_PARAMS_STRUCT_SIZE = 0;
  public static final int ROW_PARAMS_TEMPERATURE = 8;
  public static final int ROW_PARAMS_TOP_P = 16;
  public static final int ROW_PARAMS_MIN_P = 24;
  public static final int ROW_PARAMS_TOP_K = 32;

  public static final int EXEC_SIZE = 24;
  public static final int EXEC_STREAM = 0;
  public static final int EXEC_WORKSPACE = 8;
  public static final int EXEC_WORKSPACE_BYTES = 16;

  public static final int ROWS_SIZE = 64;
  public static final int ROWS_VALUES = 0;
  public static final int ROWS_NUM_ROWS = 8;
  public static final int ROWS_NUM_COLS = 16;
  public static final int ROWS_ROW_STRIDE = 24;
  public static final int ROWS_CANDIDATE_IDS = 32;
  public static final int ROWS_CANDIDATE_COUNTS = 40;
  public static final int ROWS_DTYPE = 48;
  public static final int ROWS_KIND = 52;
  public static final int ROWS_CANDIDATE_ID_TYPE = 56;
  public static final int ROWS_RESERVED = 60;

  public static final int RANDOM_SIZE = 56;
  public static final int RANDOM_SEED = 0;
  public static final int RANDOM_OFFSET = 8;
  public static final int RANDOM_SEEDS = 16;
  public static final int RANDOM_OFFSETS = 24;
  public static final int RANDOM_STREAMS = 32;
  public static final int RANDOM_NUM_SEEDS = 40;
  public static final int RANDOM_NUM_OFFSETS = 48;

  public static final int SAMPLE_ARGS_SIZE = 256;
  public static final int SAMPLE_ARGS_STRUCT_SIZE = 0;
  public static final int SAMPLE_ARGS_EXEC = 8;
  public static final int SAMPLE_ARGS_INPUT = 32;
  public static final int SAMPLE_ARGS_ROW_INDICES = 96;
  public static final int SAMPLE_ARGS_NUM_ROW_INDICES = 104;
  public static final int SAMPLE_ARGS_SLOTS = 112;
  public static final int SAMPLE_ARGS_NUM_SLOTS = 120;
  public static final int SAMPLE_ARGS_PARAMS = 128;
  public static final int SAMPLE_ARGS_ROW_PARAMS = 136;
  public static final int SAMPLE_ARGS_RANDOM = 144;
  public static final int SAMPLE_ARGS_DRAW_METHOD = 200;
  public static final int SAMPLE_ARGS_LOGPROB_KIND = 204;
  public static final int SAMPLE_ARGS_TOKEN_ID_TYPE = 208;
  public static final int SAMPLE_ARGS_RESERVED = 212;
  public static final int SAMPLE_ARGS_OUT_TOKEN_IDS = 216;
  public static final int SAMPLE_ARGS_OUT_KEPT_COUNTS = 224;
  public static final int SAMPLE_ARGS_OUT_LOGPROBS = 232;
  public static final int SAMPLE_ARGS_OUT_VALUES = 240;
  public static final int SAMPLE_ARGS_OUT_ROW_STATUS = 248;

  public static final int FILTER_ARGS_SIZE = 168;
  public static final int FILTER_ARGS_STRUCT_SIZE = 0;
  public static final int FILTER_ARGS_EXEC = 8;
  public static final int FILTER_ARGS_INPUT = 32;
  public static final int FILTER_ARGS_SLOTS = 96;
  public static final int FILTER_ARGS_NUM_SLOTS = 104;
  public static final int FILTER_ARGS_PARAMS = 112;
  public static final int FILTER_ARGS_ROW_PARAMS = 120;
  public static final int FILTER_ARGS_OUTPUT_KIND = 128;
  public static final int FILTER_ARGS_OUTPUT_DTYPE = 132;
  public static final int FILTER_ARGS_OUTPUT = 136;
  public static final int FILTER_ARGS_OUTPUT_STRIDE = 144;
  public static final int FILTER_ARGS_OUT_KEPT_COUNTS = 152;
  public static final int FILTER_ARGS_OUT_ROW_STATUS = 160;

  public static final int SELECT_ARGS_SIZE = 152;
  public static final int SELECT_ARGS_STRUCT_SIZE = 0;
  public static final int SELECT_ARGS_EXEC = 8;
  public static final int SELECT_ARGS_INPUT = 32;
  public static final int SELECT_ARGS_NUM_SELECTED = 96;
  public static final int SELECT_ARGS_SELECTED_COUNTS = 104;
  public static final int SELECT_ARGS_OUTPUT_DTYPE = 112;
  public static final int SELECT_ARGS_TOKEN_ID_TYPE = 116;
  public static final int SELECT_ARGS_OUT_VALUES = 120;
  public static final int SELECT_ARGS_OUT_TOKEN_IDS = 128;
  public static final int SELECT_ARGS_OUT_COUNTS = 136;
  public static final int SELECT_ARGS_OUT_ROW_STATUS = 144;

  public static final int VERIFY_ARGS_SIZE = 328;
  public static final int VERIFY_ARGS_STRUCT_SIZE = 0;
  public static final int VERIFY_ARGS_EXEC = 8;
  public static final int VERIFY_ARGS_TARGET = 32;
  public static final int VERIFY_ARGS_DRAFT = 96;
  public static final int VERIFY_ARGS_TARGET_SEQUENCE_STRIDE = 160;
  public static final int VERIFY_ARGS_DRAFT_SEQUENCE_STRIDE = 168;
  public static final int VERIFY_ARGS_DRAFT_TOKEN_IDS = 176;
  public static final int VERIFY_ARGS_NUM_DRAFTS = 184;
  public static final int VERIFY_ARGS_DRAFT_COUNTS = 192;
  public static final int VERIFY_ARGS_SLOTS = 200;
  public static final int VERIFY_ARGS_NUM_SLOTS = 208;
  public static final int VERIFY_ARGS_PARAMS = 216;
  public static final int VERIFY_ARGS_ROW_PARAMS = 224;
  public static final int VERIFY_ARGS_RANDOM = 232;
  public static final int VERIFY_ARGS_TOKEN_ID_TYPE = 288;
  public static final int VERIFY_ARGS_ACCUMULATE_COUNTS = 292;
  public static final int VERIFY_ARGS_OUT_TOKEN_IDS = 296;
  public static final int VERIFY_ARGS_OUT_ACCEPTED_COUNTS = 304;
  public static final int VERIFY_ARGS_OUT_EMITTED_COUNTS = 312;
  public static final int VERIFY_ARGS_OUT_ROW_STATUS = 320;

  public static final int RESIDUAL_ARGS_SIZE = 200;
  public static final int RESIDUAL_ARGS_STRUCT_SIZE = 0;
  public static final int RESIDUAL_ARGS_EXEC = 8;
  public static final int RESIDUAL_ARGS_TARGET = 32;
  public static final int RESIDUAL_ARGS_DRAFT = 96;
  public static final int RESIDUAL_ARGS_DRAFT_TOKEN_IDS = 160;
  public static final int RESIDUAL_ARGS_TOKEN_ID_TYPE = 168;
  public static final int RESIDUAL_ARGS_OUTPUT_DTYPE = 172;
  public static final int RESIDUAL_ARGS_OUTPUT = 176;
  public static final int RESIDUAL_ARGS_OUTPUT_STRIDE = 184;
  public static final int RESIDUAL_ARGS_OUT_ROW_STATUS = 192;

  private Layout() {}
}
