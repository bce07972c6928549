/* Made from libsampler's headers by bindings/swig/generate.py; do not edit. */

%constant int SAMPLER_ABI_VERSION = 1;

%constant int SAMPLER_LOG_INFO = 0;
%constant int SAMPLER_LOG_ERROR = 1;

%constant int SAMPLER_ISA_SCALAR = 1;
%constant int SAMPLER_ISA_AVX2 = 2;
%constant int SAMPLER_ISA_AVX512 = 4;
%constant int SAMPLER_ISA_NEON = 8;

%constant int SAMPLER_NGRAM_ALL_ORDERS = 0;
%constant int SAMPLER_NGRAM_ONE_LEVEL = 1;

%constant int SAMPLER_STAGE_BIAS = 1;
%constant int SAMPLER_STAGE_MASK = 2;
%constant int SAMPLER_STAGE_PENALTIES = 3;
%constant int SAMPLER_STAGE_DRY = 4;
%constant int SAMPLER_STAGE_NO_REPEAT_NGRAM = 5;
%constant int SAMPLER_STAGE_TEMPERATURE = 6;
%constant int SAMPLER_STAGE_TYPICAL_P = 7;
%constant int SAMPLER_STAGE_TOP_N_SIGMA = 8;
%constant int SAMPLER_STAGE_EPSILON = 9;
%constant int SAMPLER_STAGE_ETA = 10;
%constant int SAMPLER_STAGE_TOP_H = 11;
%constant int SAMPLER_STAGE_P_LESS = 12;
%constant int SAMPLER_STAGE_MIN_K = 13;
%constant int SAMPLER_STAGE_TOP_A = 14;
%constant int SAMPLER_STAGE_XTC = 15;
%constant int SAMPLER_STAGE_TOP_K = 16;
%constant int SAMPLER_STAGE_TOP_P = 17;
%constant int SAMPLER_STAGE_MIN_P = 18;
%constant int SAMPLER_STAGE_ADAPTIVE = 19;

%constant int SAMPLER_MAX_STAGES = 32;

%constant int SAMPLER_P_LESS_NONE = 0;
%constant int SAMPLER_P_LESS_PLAIN = 1;
%constant int SAMPLER_P_LESS_NORM = 2;

%constant int SAMPLER_ADAPTIVE_NONE = 0;
%constant int SAMPLER_ADAPTIVE_MIROSTAT_V1 = 1;
%constant int SAMPLER_ADAPTIVE_MIROSTAT_V2 = 2;
%constant int SAMPLER_ADAPTIVE_P = 3;
%constant int SAMPLER_ADAPTIVE_SMOOTHING = 4;

%constant int SAMPLER_NUM_ADAPTIVE_VALUES = 4;

%constant int SAMPLER_PENALTY_SCOPE_STANDARD = 0;
%constant int SAMPLER_PENALTY_SCOPE_ALL = 1;
%constant int SAMPLER_PENALTY_SCOPE_OUTPUT = 2;

%constant int SAMPLER_PENALTY_DIVIDE = 0;
%constant int SAMPLER_PENALTY_RECIPROCAL = 1;
%constant int SAMPLER_PENALTY_COUNTS_FIRST = 2;

%constant int SAMPLER_MASK_LEAVES = 0;
%constant int SAMPLER_MASK_FORBIDS = 1;

%constant int SAMPLER_DRAFTS_NONE = 0;
%constant int SAMPLER_DRAFTS_MODEL = 1;
%constant int SAMPLER_DRAFTS_NGRAM = 2;
%constant int SAMPLER_DRAFTS_PROMPT_LOOKUP = 3;

%constant int SAMPLER_MAX_RANKS = 1024;
%constant int SAMPLER_MAX_SHARD_EXCHANGES = 8;

%constant int SAMPLER_ACCEPT_DEFAULT = 0;
%constant int SAMPLER_ACCEPT_STANDARD = 1;
%constant int SAMPLER_ACCEPT_BLOCK = 2;
%constant int SAMPLER_ACCEPT_SAMPLE_MATCH = 3;
%constant int SAMPLER_ACCEPT_TYPICAL = 4;
%constant int SAMPLER_ACCEPT_RELAXED = 5;
%constant int SAMPLER_ACCEPT_THRESHOLD = 6;
%constant int SAMPLER_ACCEPT_DEFERRED = 7;
%constant int SAMPLER_ACCEPT_SYNTHETIC = 8;

%constant int SAMPLER_SIBLINGS_INDEPENDENT = 0;
%constant int SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT = 1;

%constant int SAMPLER_PACKING_DENSE = 0;
%constant int SAMPLER_PACKING_DRAFTS = 1;
%constant int SAMPLER_PACKING_DRAFT_ENDS = 2;
%constant int SAMPLER_PACKING_POSITIONS = 3;

%constant int SAMPLER_TOKENS_OUTPUT = 0;
%constant int SAMPLER_TOKENS_PROMPT = 1;

%constant int SAMPLER_OK = 0;
%constant int SAMPLER_ERROR_INVALID_ARGUMENT = 1;
%constant int SAMPLER_ERROR_OUT_OF_MEMORY = 2;
%constant int SAMPLER_ERROR_WORKSPACE_TOO_SMALL = 3;
%constant int SAMPLER_ERROR_UNSUPPORTED = 4;
%constant int SAMPLER_ERROR_ABI_MISMATCH = 5;
%constant int SAMPLER_ERROR_SYSTEM = 6;
%constant int SAMPLER_ERROR_CALLBACK = 7;
%constant int SAMPLER_ERROR_CUDA = 8;
%constant int SAMPLER_ERROR_INTERNAL = 9;
%constant int SAMPLER_ERROR_CORRUPT_DATA = 10;

%constant int SAMPLER_ROW_OK = 0;
%constant int SAMPLER_ROW_INVALID_VALUE = 1;
%constant int SAMPLER_ROW_EMPTY = 2;
%constant int SAMPLER_ROW_INVALID_PARAMETER = 4;
%constant int SAMPLER_ROW_INVALID_INDEX = 8;
%constant int SAMPLER_ROW_INVALID_CANDIDATE = 16;
%constant int SAMPLER_ROW_INVALID_DRAFT = 32;
%constant int SAMPLER_ROW_INVALID_SLOT = 64;
%constant int SAMPLER_ROW_INVALID_LIST = 128;
%constant int SAMPLER_ROW_STATE_FULL = 256;
%constant int SAMPLER_ROW_INVALID_TREE = 512;
%constant int SAMPLER_ROW_INVALID_SHARD = 1024;

%constant int SAMPLER_DEVICE_CPU = 0;
%constant int SAMPLER_DEVICE_CUDA = 1;

%constant int SAMPLER_F32 = 0;
%constant int SAMPLER_F16 = 1;
%constant int SAMPLER_BF16 = 2;

%constant int SAMPLER_ID_I32 = 0;
%constant int SAMPLER_ID_I64 = 1;

%constant int SAMPLER_LOGITS = 0;
%constant int SAMPLER_PROBABILITIES = 1;

%constant int SAMPLER_TIES_EXACT = 0;
%constant int SAMPLER_TIES_KEEP = 1;

%constant int SAMPLER_SUM_REACHES = 0;
%constant int SAMPLER_SUM_EXCEEDS = 1;

%constant int SAMPLER_FILTERS_SEQUENTIAL = 0;
%constant int SAMPLER_FILTERS_JOINT = 1;
%constant int SAMPLER_FILTERS_MIN_P_FIRST = 2;

%constant int SAMPLER_TEMPERATURE_FIRST = 0;
%constant int SAMPLER_TEMPERATURE_LAST = 1;

%constant int SAMPLER_DRAW_INVERSE_CDF = 0;
%constant int SAMPLER_DRAW_GUMBEL = 1;
%constant int SAMPLER_DRAW_WATERMARK = 2;

%constant int SAMPLER_LOGPROB_RAW = 0;
%constant int SAMPLER_LOGPROB_PROCESSED = 1;
%constant int SAMPLER_LOGPROB_EDITED = 2;

%constant int SAMPLER_OUTPUT_PROBABILITIES = 0;
%constant int SAMPLER_OUTPUT_VALUES = 1;

%constant int SAMPLER_CONFIDENCE_PROBABILITY = 0;
%constant int SAMPLER_CONFIDENCE_MARGIN = 1;
%constant int SAMPLER_CONFIDENCE_ENTROPY = 2;
%constant int SAMPLER_CONFIDENCE_GIVEN = 3;
%constant int SAMPLER_CONFIDENCE_RANDOM = 4;
%constant int SAMPLER_CONFIDENCE_POSITION = 5;

%constant int SAMPLER_UNMASK_KEPT = 0;
%constant int SAMPLER_UNMASK_COMMITTED = 1;
%constant int SAMPLER_UNMASK_EDITED = 2;

%constant int SAMPLER_WATERMARK_LEFTHASH = 0;
%constant int SAMPLER_WATERMARK_SELFHASH = 1;
%constant int SAMPLER_WATERMARK_TOURNAMENT = 2;

%constant int SAMPLER_FINISH_NONE = 0;
%constant int SAMPLER_FINISH_END_TOKEN = 1;
%constant int SAMPLER_FINISH_LENGTH = 2;
%constant int SAMPLER_FINISH_CONTEXT = 3;
%constant int SAMPLER_FINISH_CANCELLED = 4;
%constant int SAMPLER_FINISH_BAD_ROW = 5;
%constant int SAMPLER_FINISH_STOP_SEQUENCE = 6;

%constant int SAMPLER_GAMMA_FIXED = 0;
%constant int SAMPLER_GAMMA_BY_ENTROPY = 1;
%constant int SAMPLER_GAMMA_MEASURED = 2;
