//! The enumerations of the C API: numbers with names, so that a number which a newer library gives
//! or takes is no error.

use std::fmt;

use sampler_sys as sys;

macro_rules! enumerations {
    ($($(#[$doc:meta])* $type:ident {
        $($(#[$constant_doc:meta])* $name:ident = $constant:ident,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(i32);

        impl $type {
            $($(#[$constant_doc])* pub const $name: Self = Self(sys::$constant);)*

            /// The value that has this number in the C API, whether or not it has a name here.
            pub const fn from_raw(raw: i32) -> Self {
                Self(raw)
            }

            /// Its number in the C API.
            pub const fn raw(self) -> i32 {
                self.0
            }

            /// Its name in the C API; `None` where it has none here.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($constant)),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{} {}", stringify!($type), self.0),
                }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

enumerations! {
    /// What became of a call.
    Status {
        /// It succeeded. Never the status of an [`Error`](crate::Error).
        OK = SAMPLER_OK,
        /// An argument breaks a rule of its documentation.
        INVALID_ARGUMENT = SAMPLER_ERROR_INVALID_ARGUMENT,
        /// There is no memory for a sampler or a state. Only building one allocates.
        OUT_OF_MEMORY = SAMPLER_ERROR_OUT_OF_MEMORY,
        /// The sampler's or the call's workspace is too small for the call.
        WORKSPACE_TOO_SMALL = SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
        /// The arguments are valid, but this build or device does not offer what they ask for.
        UNSUPPORTED = SAMPLER_ERROR_UNSUPPORTED,
        /// The library has another ABI than this crate.
        ABI_MISMATCH = SAMPLER_ERROR_ABI_MISMATCH,
        /// The system refused something: to start a thread, or to load the library.
        SYSTEM = SAMPLER_ERROR_SYSTEM,
        /// A callback broke its contract. The outputs are undefined.
        CALLBACK = SAMPLER_ERROR_CALLBACK,
        /// CUDA reported an error. The outputs are undefined.
        CUDA = SAMPLER_ERROR_CUDA,
        /// A fault of the library itself, which it caught. The outputs are undefined.
        INTERNAL = SAMPLER_ERROR_INTERNAL,
        /// Serialised data is truncated, damaged or of a newer format.
        CORRUPT_DATA = SAMPLER_ERROR_CORRUPT_DATA,
    }

    /// Where the arrays of a sampler's calls live. The default is the CPU.
    DeviceType {
        /// Host memory.
        CPU = SAMPLER_DEVICE_CPU,
        /// Memory of the sampler's CUDA device.
        CUDA = SAMPLER_DEVICE_CUDA,
    }

    /// What the numbers of a row mean. The default is logits.
    InputKind {
        /// Logarithms of weights.
        LOGITS = SAMPLER_LOGITS,
        /// Numbers >= 0, which need not sum to 1.
        PROBABILITIES = SAMPLER_PROBABILITIES,
    }

    /// What a filter does with tokens that equal the last kept one in value.
    TieRule {
        /// Lower ids first, so top-k keeps exactly k. The default.
        EXACT = SAMPLER_TIES_EXACT,
        /// All of them are kept.
        KEEP = SAMPLER_TIES_KEEP,
    }

    /// What the probability of the tokens that top-p or typical-p keeps must do.
    SumRule {
        /// Be at least the share. The default.
        REACHES = SAMPLER_SUM_REACHES,
        /// Be more than the share.
        EXCEEDS = SAMPLER_SUM_EXCEEDS,
    }

    /// Which filter sees what.
    FilterOrder {
        /// top-k; then top-p of the weight that top-k kept; then min-p. The default.
        SEQUENTIAL = SAMPLER_FILTERS_SEQUENTIAL,
        /// Each filter sees the whole row; what all of them keep is kept.
        JOINT = SAMPLER_FILTERS_JOINT,
        /// min-p; then top-k; then top-p of the weight that is left.
        MIN_P_FIRST = SAMPLER_FILTERS_MIN_P_FIRST,
    }

    /// When the temperature applies. The draw always uses it.
    TemperatureOrder {
        /// Filters see the row at the temperature. The default.
        FIRST = SAMPLER_TEMPERATURE_FIRST,
        /// Filters see the row at temperature 1.
        LAST = SAMPLER_TEMPERATURE_LAST,
    }

    /// What happens between logits and the draw. Each stage sees what the one before it left. The
    /// default is none, the end of a list.
    Stage {
        /// An edit: biases of tokens, and the dense bias.
        BIAS = SAMPLER_STAGE_BIAS,
        /// An edit: allowed and banned tokens, bad words, stop tokens, the bitmask.
        MASK = SAMPLER_STAGE_MASK,
        /// An edit: repetition, frequency and presence penalties.
        PENALTIES = SAMPLER_STAGE_PENALTIES,
        /// An edit: repeats of sequences.
        DRY = SAMPLER_STAGE_DRY,
        /// An edit: bans what completes an n-gram of the history.
        NO_REPEAT_NGRAM = SAMPLER_STAGE_NO_REPEAT_NGRAM,
        /// The temperature.
        TEMPERATURE = SAMPLER_STAGE_TEMPERATURE,
        /// Keeps tokens whose surprise is nearest the entropy.
        TYPICAL_P = SAMPLER_STAGE_TYPICAL_P,
        /// Keeps tokens within n standard deviations of the largest logit.
        TOP_N_SIGMA = SAMPLER_STAGE_TOP_N_SIGMA,
        /// Keeps tokens of a probability of at least epsilon.
        EPSILON = SAMPLER_STAGE_EPSILON,
        /// The same, and lower where the entropy is high.
        ETA = SAMPLER_STAGE_ETA,
        /// Keeps tokens that have a share of the entropy.
        TOP_H = SAMPLER_STAGE_TOP_H,
        /// Keeps tokens of a probability of at least the sum of squared probabilities.
        P_LESS = SAMPLER_STAGE_P_LESS,
        /// Keeps the tokens before the steepest fall of the logits.
        MIN_K = SAMPLER_STAGE_MIN_K,
        /// Keeps tokens of a probability of at least a share of the largest one squared.
        TOP_A = SAMPLER_STAGE_TOP_A,
        /// By a coin, keeps not those above a threshold, but the last of them.
        XTC = SAMPLER_STAGE_XTC,
        /// Keeps the first tokens.
        TOP_K = SAMPLER_STAGE_TOP_K,
        /// Keeps the fewest first tokens of a probability.
        TOP_P = SAMPLER_STAGE_TOP_P,
        /// Keeps tokens by how likely they are beside the likeliest one.
        MIN_P = SAMPLER_STAGE_MIN_P,
        /// Mirostat or adaptive-p; the last one.
        ADAPTIVE = SAMPLER_STAGE_ADAPTIVE,
    }

    /// A threshold of [`Stage::P_LESS`]: Tan, Wu, Howard 2025.
    PLessKind {
        /// The stage is off. The default.
        NONE = SAMPLER_P_LESS_NONE,
        /// The sum c of squared probabilities.
        PLAIN = SAMPLER_P_LESS_PLAIN,
        /// (n c - 1) / (n - 1), which is lower; n tokens are left.
        NORM = SAMPLER_P_LESS_NORM,
    }

    /// A window that the tokens drawn before move.
    AdaptiveKind {
        /// There is none. The default.
        NONE = SAMPLER_ADAPTIVE_NONE,
        /// Mirostat, Basu, Ramachandran, Keskar, Varshney 2021.
        MIROSTAT_V1 = SAMPLER_ADAPTIVE_MIROSTAT_V1,
        /// Its second version.
        MIROSTAT_V2 = SAMPLER_ADAPTIVE_MIROSTAT_V2,
        /// llama.cpp's adaptive-p: changes the weights of the tokens that it sees.
        P = SAMPLER_ADAPTIVE_P,
    }

    /// What tokens that are appended to a [`State`](crate::State) are.
    TokenKind {
        /// What a model said. The default.
        OUTPUT = SAMPLER_TOKENS_OUTPUT,
        /// What it was asked.
        PROMPT = SAMPLER_TOKENS_PROMPT,
    }

    /// Which tokens of a history count.
    PenaltyScope {
        /// For the repetition penalty all; for the others the output. The default.
        STANDARD = SAMPLER_PENALTY_SCOPE_STANDARD,
        /// Prompt and output.
        ALL = SAMPLER_PENALTY_SCOPE_ALL,
        /// The output.
        OUTPUT = SAMPLER_PENALTY_SCOPE_OUTPUT,
    }

    /// How the penalties are computed for a token x that occurs c times. The forms differ in the
    /// last bit, the last one in its order too.
    PenaltyForm {
        /// x / repetition; then x - (c * frequency + presence). The default.
        DIVIDE = SAMPLER_PENALTY_DIVIDE,
        /// x * (1 / repetition); then x - c * frequency - presence.
        RECIPROCAL = SAMPLER_PENALTY_RECIPROCAL,
        /// As `DIVIDE`, repetition last.
        COUNTS_FIRST = SAMPLER_PENALTY_COUNTS_FIRST,
    }

    /// What a bitmask says of ids that it has no bit for.
    MaskRule {
        /// They may be drawn. The default.
        LEAVES = SAMPLER_MASK_LEAVES,
        /// They must not be drawn.
        FORBIDS = SAMPLER_MASK_FORBIDS,
    }

    /// The type of a session's logits. The default is `f32`.
    Dtype {
        /// `f32`.
        F32 = SAMPLER_F32,
        /// IEEE binary16.
        F16 = SAMPLER_F16,
        /// The upper half of an `f32`.
        BF16 = SAMPLER_BF16,
    }

    /// Where the drafts of a session's sequence come from. The first new token is never drafted.
    DraftSource {
        /// There are none. The default.
        NONE = SAMPLER_DRAFTS_NONE,
        /// A drafter model, which the caller runs.
        MODEL = SAMPLER_DRAFTS_MODEL,
        /// An [`Ngram`](crate::Ngram), which sequences may share.
        NGRAM = SAMPLER_DRAFTS_NGRAM,
        /// A lookup of the sequence's own text, in the session's memory.
        PROMPT_LOOKUP = SAMPLER_DRAFTS_PROMPT_LOOKUP,
    }

    /// How many drafts a step gets.
    GammaRule {
        /// `num_drafts`. The default.
        FIXED = SAMPLER_GAMMA_FIXED,
        /// By the entropy of the drafter's distribution.
        BY_ENTROPY = SAMPLER_GAMMA_BY_ENTROPY,
        /// The number of most tokens a second, by the time that drafts take.
        MEASURED = SAMPLER_GAMMA_MEASURED,
    }

    /// Which n-grams a storage keeps.
    NgramKind {
        /// Of 2 to `order` tokens. After an unknown context the longest known end of it counts, down
        /// to its last token alone. The default.
        ALL_ORDERS = SAMPLER_NGRAM_ALL_ORDERS,
        /// Of `order` tokens only. A context of fewer than `order` - 1 tokens is unknown.
        ONE_LEVEL = SAMPLER_NGRAM_ONE_LEVEL,
    }

    /// Why a session's sequence has ended.
    FinishReason {
        /// It has not. The default.
        NONE = SAMPLER_FINISH_NONE,
        /// The last token is an end token.
        END_TOKEN = SAMPLER_FINISH_END_TOKEN,
        /// It has `max_new_tokens`.
        LENGTH = SAMPLER_FINISH_LENGTH,
        /// Prompt and new tokens are `max_context`.
        CONTEXT = SAMPLER_FINISH_CONTEXT,
        /// The logits gave no token: NaN, +inf, all -inf.
        BAD_ROW = SAMPLER_FINISH_BAD_ROW,
        /// The last tokens are a stop sequence.
        STOP_SEQUENCE = SAMPLER_FINISH_STOP_SEQUENCE,
    }

    /// How a token is drawn from what the filters kept. All follow the same distribution.
    DrawMethod {
        /// One uniform number per row. The default.
        INVERSE_CDF = SAMPLER_DRAW_INVERSE_CDF,
        /// The largest of logit / temperature + Gumbel noise per token. Tails below 2^-30 of the
        /// likeliest token are not resolved.
        GUMBEL = SAMPLER_DRAW_GUMBEL,
        /// [`GUMBEL`](DrawMethod::GUMBEL) by the numbers of
        /// [`watermark_random`](crate::watermark_random). [`sample`](crate::Sampler::sample) alone.
        WATERMARK = SAMPLER_DRAW_WATERMARK,
    }

    /// Of which distribution a log-probability, and what else is reported of a row, is.
    LogprobKind {
        /// The whole row, as it is given, at temperature 1. The default.
        RAW = SAMPLER_LOGPROB_RAW,
        /// What was drawn from: temperature and filters applied.
        PROCESSED = SAMPLER_LOGPROB_PROCESSED,
        /// The whole row, as its edits left it, at temperature 1.
        EDITED = SAMPLER_LOGPROB_EDITED,
    }

    /// What orders a block's candidates: the most confident first.
    Confidence {
        /// The candidate's probability. Scores are `out_logprobs`. The default.
        PROBABILITY = SAMPLER_CONFIDENCE_PROBABILITY,
        /// The largest probability less the second. Scores are `out_top_logprobs` of at least two
        /// tokens.
        MARGIN = SAMPLER_CONFIDENCE_MARGIN,
        /// Minus the entropy. Scores are `out_entropies`.
        ENTROPY = SAMPLER_CONFIDENCE_ENTROPY,
        /// The score as it is.
        GIVEN = SAMPLER_CONFIDENCE_GIVEN,
        /// A uniform random number. No scores.
        RANDOM = SAMPLER_CONFIDENCE_RANDOM,
        /// From the block's first row on. No scores.
        POSITION = SAMPLER_CONFIDENCE_POSITION,
    }

    /// What happened to a row's token, a byte of [`UnmaskArgs::out_changes`](crate::UnmaskArgs).
    UnmaskChange {
        /// Nothing: masked still, or a token as before. The default.
        KEPT = SAMPLER_UNMASK_KEPT,
        /// The candidate took the mask's place.
        COMMITTED = SAMPLER_UNMASK_COMMITTED,
        /// The candidate took another token's place.
        EDITED = SAMPLER_UNMASK_EDITED,
    }

    /// When a draft x is accepted, to which the target gives p(x) and the drafter gave q(x). u is
    /// uniform in [0, 1).
    Acceptance {
        /// That of the context: `STANDARD` in [`verify`](crate::Sampler::verify), `SAMPLE_MATCH` in a
        /// session. By slot or sequence: the one that is given for all.
        DEFAULT = SAMPLER_ACCEPT_DEFAULT,
        /// Lossless: u q(x) < p(x).
        STANDARD = SAMPLER_ACCEPT_STANDARD,
        /// Lossless block verification (Sun et al. 2024): all drafts of a chain are judged together.
        BLOCK = SAMPLER_ACCEPT_BLOCK,
        /// Lossless: the target's own token is drawn as [`sample`](crate::Sampler::sample) draws it,
        /// at the offset + i behind i drafts, and drafts are accepted while they are that token.
        SAMPLE_MATCH = SAMPLER_ACCEPT_SAMPLE_MATCH,
        /// Lossy: p(x) > min(`typical_threshold`, `typical_scale` * exp(-H(p))) (Cai et al. 2024).
        TYPICAL = SAMPLER_ACCEPT_TYPICAL,
        /// Lossy: x is one of the `relaxed_top_k` first tokens and p(x) >= p_max - `relaxed_delta`;
        /// where no draft of a position is, as `STANDARD` (TensorRT-LLM).
        RELAXED = SAMPLER_ACCEPT_RELAXED,
        /// Lossy: p(x) >= `threshold_single`, or u * `threshold_total` < the sum of p of x and the
        /// siblings tried before it (SGLang).
        THRESHOLD = SAMPLER_ACCEPT_THRESHOLD,
        /// Lossy: as `STANDARD`, but a rejected draft of a chain is kept where the target is in doubt
        /// and the next `deferred_window` drafts would be accepted (FLy; vLLM).
        DEFERRED = SAMPLER_ACCEPT_DEFERRED,
        /// u < `synthetic_rates[i]`, whatever the rows say: for benchmarks.
        SYNTHETIC = SAMPLER_ACCEPT_SYNTHETIC,
    }

    /// How siblings of a tree were drafted.
    SiblingRule {
        /// Each was drawn from its own row. The default.
        INDEPENDENT = SAMPLER_SIBLINGS_INDEPENDENT,
        /// Each was drawn from its row without its earlier siblings.
        WITHOUT_REPLACEMENT = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT,
    }

    /// How the drafts of several sequences lie in memory.
    Packing {
        /// `num_drafts`, or `num_drafts` + 1, entries for each sequence. The default.
        DENSE = SAMPLER_PACKING_DENSE,
        /// One after the other: the drafts of sequence s are those from `packing_offsets[s]` to
        /// `packing_offsets[s + 1] - 1`, its positions begin s later.
        DRAFTS = SAMPLER_PACKING_DRAFTS,
        /// The same without the leading 0 (vLLM, V1).
        DRAFT_ENDS = SAMPLER_PACKING_DRAFT_ENDS,
        /// The positions of sequence s are those from `packing_offsets[s]` to `packing_offsets[s + 1]
        /// - 1`, one more than its drafts. What is laid out by draft has an entry for each position:
        /// entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of `draft` begin s
        /// earlier.
        POSITIONS = SAMPLER_PACKING_POSITIONS,
    }

    /// What a filter writes of a row.
    OutputKind {
        /// The probabilities of the kept tokens, renormalised; 0 elsewhere. The default.
        PROBABILITIES = SAMPLER_OUTPUT_PROBABILITIES,
        /// The kept logits as they are; -inf elsewhere.
        VALUES = SAMPLER_OUTPUT_VALUES,
    }

    /// What a line of the log is about.
    LogLevel {
        /// A sampler was built.
        INFO = SAMPLER_LOG_INFO,
        /// The text of an error.
        ERROR = SAMPLER_LOG_ERROR,
    }
}

/// How many stages [`Params::stages`](crate::Params::stages) has room for.
pub const MAX_STAGES: usize = sys::SAMPLER_MAX_STAGES as usize;

/// How many adaptive values a slot has: mirostat's mu; adaptive-p's weighted sum and total weight;
/// the running top_p.
pub const NUM_ADAPTIVE_VALUES: usize = sys::SAMPLER_NUM_ADAPTIVE_VALUES as usize;

/// Bits of an `out_row_status` element: why a row is bad. A bad row yields token -1, or the
/// sampler's fallback token, and changes no other row.
pub mod row_status {
    use super::sys;

    /// The row is good.
    pub const OK: u32 = sys::SAMPLER_ROW_OK;
    /// A NaN, a +inf logit, or a negative or infinite probability.
    pub const INVALID_VALUE: u32 = sys::SAMPLER_ROW_INVALID_VALUE;
    /// No token to choose: every logit is -inf, every probability 0, or there is no candidate.
    pub const EMPTY: u32 = sys::SAMPLER_ROW_EMPTY;
    /// A parameter of this row is NaN, or a temperature or filter that probabilities cannot have.
    pub const INVALID_PARAMETER: u32 = sys::SAMPLER_ROW_INVALID_PARAMETER;
    /// The row's entry of `row_indices` names no input row, or that of `token_bitmask_indices` no
    /// mask.
    pub const INVALID_INDEX: u32 = sys::SAMPLER_ROW_INVALID_INDEX;
    /// The candidate count is outside [0, `num_cols`], or a candidate id is outside [0, 2^20) or
    /// listed twice.
    pub const INVALID_CANDIDATE: u32 = sys::SAMPLER_ROW_INVALID_CANDIDATE;
    /// A draft token id is outside the vocabulary, or a draft count outside [0, `num_drafts`].
    /// Such a draft is rejected; the row is otherwise good.
    pub const INVALID_DRAFT: u32 = sys::SAMPLER_ROW_INVALID_DRAFT;
    /// The row's entry of `slots` is outside [0, `num_slots`).
    pub const INVALID_SLOT: u32 = sys::SAMPLER_ROW_INVALID_SLOT;
    /// A list of the row's slot, in the [`Pipeline`](crate::Pipeline), has offsets that fall or lie
    /// outside of its ids, or breaks another rule of the pipeline.
    pub const INVALID_LIST: u32 = sys::SAMPLER_ROW_INVALID_LIST;
    /// The tokens do not fit in the slot of the [`State`](crate::State), which is as it was.
    pub const STATE_FULL: u32 = sys::SAMPLER_ROW_STATE_FULL;
    /// The sequence's drafts hang together in a way that no tree does.
    pub const INVALID_TREE: u32 = sys::SAMPLER_ROW_INVALID_TREE;
    /// The ranks that a row lies on disagree about it. Not of calls of this crate.
    pub const INVALID_SHARD: u32 = sys::SAMPLER_ROW_INVALID_SHARD;
}

/// Bits of the instruction sets in [`Capabilities`](crate::Capabilities).
pub mod isa {
    use super::sys;

    /// Plain code.
    pub const SCALAR: u32 = sys::SAMPLER_ISA_SCALAR;
    /// AVX2, FMA and F16C.
    pub const AVX2: u32 = sys::SAMPLER_ISA_AVX2;
    /// AVX-512 F, BW, DQ and VL besides.
    pub const AVX512: u32 = sys::SAMPLER_ISA_AVX512;
    /// NEON.
    pub const NEON: u32 = sys::SAMPLER_ISA_NEON;
}
