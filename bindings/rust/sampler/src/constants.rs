//! The enumerations and bit sets of the C API. A number that a newer library gives or takes has no name
//! here, and is kept.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use sampler_sys as sys;

/// A number without a name in this crate, as of a newer library: of the variant `Unknown` of each
/// enumeration, which is [made](From) of such numbers alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnknownValue(i32);

impl fmt::Debug for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

macro_rules! enumerations {
    ($($(#[$doc:meta])* $type:ident $(, $zero:ident)? {
        $($(#[$variant_doc:meta])* $variant:ident = $constant:ident,)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum $type {
                $(
                    /// The number 0, which has no name in the C API.
                    $zero,
                )?
                $($(#[$variant_doc])* $variant,)*
                /// A number that has no name here.
                Unknown(UnknownValue),
            }

            impl $type {
                pub(crate) const fn from_raw(raw: i32) -> Self {
                    match raw {
                        $(0 => Self::$zero,)?
                        $(sys::$constant => Self::$variant,)*
                        _ => Self::Unknown(UnknownValue(raw)),
                    }
                }

                /// Its number in the C API.
                pub const fn raw(self) -> i32 {
                    match self {
                        $(Self::$zero => 0,)?
                        $(Self::$variant => sys::$constant,)*
                        Self::Unknown(value) => value.0,
                    }
                }

                /// Its name in the C API, if it has one.
                pub const fn name(self) -> Option<&'static str> {
                    match self {
                        $(Self::$variant => Some(stringify!($constant)),)*
                        _ => None,
                    }
                }
            }

            /// The one that is 0 in the C API.
            impl Default for $type {
                fn default() -> Self {
                    Self::from_raw(0)
                }
            }

            /// The value that has this number in the C API.
            impl From<i32> for $type {
                fn from(raw: i32) -> Self {
                    Self::from_raw(raw)
                }
            }

            impl From<$type> for i32 {
                fn from(value: $type) -> Self {
                    value.raw()
                }
            }

            /// By its name in the C API.
            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match self.name() {
                        Some(name) => f.pad(name),
                        None => write!(f, "{} {}", stringify!($type), self.raw()),
                    }
                }
            }
        )*

        #[cfg(test)]
        const ENUMERATIONS: &[(&str, &[&str])] =
            &[$((stringify!($type), &[$(stringify!($constant)),*])),*];
    };
}

macro_rules! bit_sets {
    ($($(#[$doc:meta])* $type:ident {
        $($(#[$bit_doc:meta])* $bit:ident = $constant:ident,)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
            #[repr(transparent)]
            pub struct $type(u32);

            impl $type {
                $($(#[$bit_doc])* pub const $bit: Self = Self(sys::$constant);)*

                /// Its bits in the C API.
                pub const fn raw(self) -> u32 {
                    self.0
                }

                /// Whether it has all bits of the other.
                pub const fn contains(self, other: Self) -> bool {
                    self.0 & other.0 == other.0
                }

                /// Names of its bits with ` | ` between them, and the number of the others.
                fn write(self, f: &mut fmt::Formatter<'_>, names: &[(&str, u32)]) -> fmt::Result {
                    let mut others = self.0;
                    let mut separator = "";
                    for (name, bits) in names {
                        if others & bits != 0 || self.0 == *bits {
                            write!(f, "{separator}{name}")?;
                            separator = " | ";
                            others &= !bits;
                        }
                    }
                    if others != 0 || separator.is_empty() {
                        write!(f, "{separator}{others:#x}")?;
                    }
                    Ok(())
                }
            }

            /// The set that has these bits in the C API.
            impl From<u32> for $type {
                fn from(raw: u32) -> Self {
                    Self(raw)
                }
            }

            impl From<$type> for u32 {
                fn from(value: $type) -> Self {
                    value.0
                }
            }

            impl BitOr for $type {
                type Output = Self;

                fn bitor(self, other: Self) -> Self {
                    Self(self.0 | other.0)
                }
            }

            impl BitOrAssign for $type {
                fn bitor_assign(&mut self, other: Self) {
                    self.0 |= other.0;
                }
            }

            /// By the names of the C API.
            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.write(f, &[$((stringify!($constant), sys::$constant)),*])
                }
            }

            impl fmt::Debug for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.write(f, &[$((stringify!($bit), sys::$constant)),*])
                }
            }
        )*

        #[cfg(test)]
        const BIT_SETS: &[(&str, &[&str])] =
            &[$((stringify!($type), &[$(stringify!($constant)),*])),*];
    };
}

enumerations! {
    /// What became of a call.
    Status {
        /// It succeeded. Never the status of an [`Error`](crate::Error).
        Ok = SAMPLER_OK,
        /// An argument breaks a rule of its documentation.
        InvalidArgument = SAMPLER_ERROR_INVALID_ARGUMENT,
        /// There is no memory for a sampler or a state. Only building one allocates.
        OutOfMemory = SAMPLER_ERROR_OUT_OF_MEMORY,
        /// The sampler's or the call's workspace is too small for the call.
        WorkspaceTooSmall = SAMPLER_ERROR_WORKSPACE_TOO_SMALL,
        /// The arguments are valid, but this build or device does not offer what they ask for.
        Unsupported = SAMPLER_ERROR_UNSUPPORTED,
        /// The library has another ABI than this crate.
        AbiMismatch = SAMPLER_ERROR_ABI_MISMATCH,
        /// The system refused something: to start a thread, or to load the library.
        System = SAMPLER_ERROR_SYSTEM,
        /// A callback broke its contract. The outputs are undefined.
        Callback = SAMPLER_ERROR_CALLBACK,
        /// CUDA reported an error. The outputs are undefined.
        Cuda = SAMPLER_ERROR_CUDA,
        /// A fault of the library itself, which it caught. The outputs are undefined.
        Internal = SAMPLER_ERROR_INTERNAL,
        /// Serialised data is truncated, damaged or of a newer format.
        CorruptData = SAMPLER_ERROR_CORRUPT_DATA,
    }

    /// Where the arrays of a sampler's calls live. The default is the CPU.
    DeviceType {
        /// Host memory.
        Cpu = SAMPLER_DEVICE_CPU,
        /// Memory of the sampler's CUDA device.
        Cuda = SAMPLER_DEVICE_CUDA,
    }

    /// What the numbers of a row mean. The default is logits.
    InputKind {
        /// Logarithms of weights.
        Logits = SAMPLER_LOGITS,
        /// Numbers >= 0, which need not sum to 1.
        Probabilities = SAMPLER_PROBABILITIES,
    }

    /// What a filter does with tokens that equal the last kept one in value.
    TieRule {
        /// Lower ids first, so top-k keeps exactly k. The default.
        Exact = SAMPLER_TIES_EXACT,
        /// All of them are kept.
        Keep = SAMPLER_TIES_KEEP,
    }

    /// What the probability of the tokens that top-p or typical-p keeps must do.
    SumRule {
        /// Be at least the share. The default.
        Reaches = SAMPLER_SUM_REACHES,
        /// Be more than the share.
        Exceeds = SAMPLER_SUM_EXCEEDS,
    }

    /// Which filter sees what.
    FilterOrder {
        /// top-k; then top-p of the weight that top-k kept; then min-p. The default.
        Sequential = SAMPLER_FILTERS_SEQUENTIAL,
        /// Each filter sees the whole row; what all of them keep is kept.
        Joint = SAMPLER_FILTERS_JOINT,
        /// min-p; then top-k; then top-p of the weight that is left.
        MinPFirst = SAMPLER_FILTERS_MIN_P_FIRST,
    }

    /// When the temperature applies. The draw always uses it.
    TemperatureOrder {
        /// Filters see the row at the temperature. The default.
        First = SAMPLER_TEMPERATURE_FIRST,
        /// Filters see the row at temperature 1.
        Last = SAMPLER_TEMPERATURE_LAST,
    }

    /// What happens between logits and the draw. Each stage sees what the one before it left. The
    /// default, none, ends a list.
    Stage, None {
        /// An edit: biases of tokens, and the dense bias.
        Bias = SAMPLER_STAGE_BIAS,
        /// An edit: allowed and banned tokens, bad words, stop tokens, the bitmask.
        Mask = SAMPLER_STAGE_MASK,
        /// An edit: repetition, frequency and presence penalties.
        Penalties = SAMPLER_STAGE_PENALTIES,
        /// An edit: repeats of sequences.
        Dry = SAMPLER_STAGE_DRY,
        /// An edit: bans what completes an n-gram of the history.
        NoRepeatNgram = SAMPLER_STAGE_NO_REPEAT_NGRAM,
        /// The temperature.
        Temperature = SAMPLER_STAGE_TEMPERATURE,
        /// Keeps tokens whose surprise is nearest the entropy.
        TypicalP = SAMPLER_STAGE_TYPICAL_P,
        /// Keeps tokens within n standard deviations of the largest logit.
        TopNSigma = SAMPLER_STAGE_TOP_N_SIGMA,
        /// Keeps tokens of a probability of at least epsilon.
        Epsilon = SAMPLER_STAGE_EPSILON,
        /// The same, and lower where the entropy is high.
        Eta = SAMPLER_STAGE_ETA,
        /// Keeps tokens that have a share of the entropy.
        TopH = SAMPLER_STAGE_TOP_H,
        /// Keeps tokens of a probability of at least the sum of squared probabilities.
        PLess = SAMPLER_STAGE_P_LESS,
        /// Keeps the tokens before the steepest fall of the logits.
        MinK = SAMPLER_STAGE_MIN_K,
        /// Keeps tokens of a probability of at least a share of the largest one squared.
        TopA = SAMPLER_STAGE_TOP_A,
        /// By a coin, keeps not those above a threshold, but the last of them.
        Xtc = SAMPLER_STAGE_XTC,
        /// Keeps the first tokens.
        TopK = SAMPLER_STAGE_TOP_K,
        /// Keeps the fewest first tokens of a probability.
        TopP = SAMPLER_STAGE_TOP_P,
        /// Keeps tokens by how likely they are beside the likeliest one.
        MinP = SAMPLER_STAGE_MIN_P,
        /// Mirostat, adaptive-p or smoothing; the last one.
        Adaptive = SAMPLER_STAGE_ADAPTIVE,
    }

    /// A threshold of [`Stage::PLess`]: Tan, Wu, Howard 2025.
    PLessKind {
        /// The stage is off. The default.
        None = SAMPLER_P_LESS_NONE,
        /// The sum c of squared probabilities.
        Plain = SAMPLER_P_LESS_PLAIN,
        /// (n c - 1) / (n - 1), which is lower; n tokens are left.
        Norm = SAMPLER_P_LESS_NORM,
    }

    /// A window that the tokens drawn before move.
    AdaptiveKind {
        /// There is none. The default.
        None = SAMPLER_ADAPTIVE_NONE,
        /// Mirostat, Basu, Ramachandran, Keskar, Varshney 2021.
        MirostatV1 = SAMPLER_ADAPTIVE_MIROSTAT_V1,
        /// Its second version.
        MirostatV2 = SAMPLER_ADAPTIVE_MIROSTAT_V2,
        /// llama.cpp's adaptive-p: changes the weights of the tokens that it sees.
        P = SAMPLER_ADAPTIVE_P,
        /// Quadratic and cubic smoothing (koboldcpp): `adaptive_target` is its factor,
        /// `adaptive_rate` its curve.
        Smoothing = SAMPLER_ADAPTIVE_SMOOTHING,
    }

    /// What tokens that are appended to a [`State`](crate::State) are.
    TokenKind {
        /// Tokens of the output. The default.
        Output = SAMPLER_TOKENS_OUTPUT,
        /// Tokens of the prompt.
        Prompt = SAMPLER_TOKENS_PROMPT,
    }

    /// Which tokens of a history count.
    PenaltyScope {
        /// For the repetition penalty all; for the others the output. The default.
        Standard = SAMPLER_PENALTY_SCOPE_STANDARD,
        /// Prompt and output.
        All = SAMPLER_PENALTY_SCOPE_ALL,
        /// The output.
        Output = SAMPLER_PENALTY_SCOPE_OUTPUT,
    }

    /// How the penalties are computed for a token x that occurs c times. The forms differ in the
    /// last bit, the last one in its order too.
    PenaltyForm {
        /// x / repetition; then x - (c * frequency + presence). The default.
        Divide = SAMPLER_PENALTY_DIVIDE,
        /// x * (1 / repetition); then x - c * frequency - presence.
        Reciprocal = SAMPLER_PENALTY_RECIPROCAL,
        /// As `Divide`, repetition last.
        CountsFirst = SAMPLER_PENALTY_COUNTS_FIRST,
    }

    /// What a bitmask says of ids that it has no bit for.
    MaskRule {
        /// They may be drawn. The default.
        Leaves = SAMPLER_MASK_LEAVES,
        /// They must not be drawn.
        Forbids = SAMPLER_MASK_FORBIDS,
    }

    /// The type of a session's logits. The default is `f32`.
    Dtype {
        /// `f32`.
        F32 = SAMPLER_F32,
        /// IEEE binary16.
        F16 = SAMPLER_F16,
        /// The upper half of an `f32`.
        Bf16 = SAMPLER_BF16,
    }

    /// Where the drafts of a session's sequence come from. The first new token is never drafted.
    DraftSource {
        /// There are none. The default.
        None = SAMPLER_DRAFTS_NONE,
        /// A drafter model, which the caller runs.
        Model = SAMPLER_DRAFTS_MODEL,
        /// An [`Ngram`](crate::Ngram), which sequences may share.
        Ngram = SAMPLER_DRAFTS_NGRAM,
        /// A lookup of the sequence's own text, in the session's memory.
        PromptLookup = SAMPLER_DRAFTS_PROMPT_LOOKUP,
    }

    /// How many drafts a step gets.
    GammaRule {
        /// `num_drafts`. The default.
        Fixed = SAMPLER_GAMMA_FIXED,
        /// By the entropy of the drafter's distribution.
        ByEntropy = SAMPLER_GAMMA_BY_ENTROPY,
        /// The number of most tokens a second, by the time that drafts take.
        Measured = SAMPLER_GAMMA_MEASURED,
    }

    /// Which n-grams a storage keeps.
    NgramKind {
        /// N-grams of 2 to `order` tokens. After an unknown context the longest known end of it
        /// counts, down to its last token alone. The default.
        AllOrders = SAMPLER_NGRAM_ALL_ORDERS,
        /// N-grams of `order` tokens only. A context of fewer than `order` - 1 tokens is unknown.
        OneLevel = SAMPLER_NGRAM_ONE_LEVEL,
    }

    /// Why a session's sequence has ended.
    FinishReason {
        /// It has not. The default.
        None = SAMPLER_FINISH_NONE,
        /// The last token is an end token.
        EndToken = SAMPLER_FINISH_END_TOKEN,
        /// It has `max_new_tokens`.
        Length = SAMPLER_FINISH_LENGTH,
        /// Prompt and new tokens are `max_context`.
        Context = SAMPLER_FINISH_CONTEXT,
        /// A callback ended it. Not of sessions.
        Cancelled = SAMPLER_FINISH_CANCELLED,
        /// The logits gave no token: NaN, +inf, all -inf.
        BadRow = SAMPLER_FINISH_BAD_ROW,
        /// The last tokens are a stop sequence.
        StopSequence = SAMPLER_FINISH_STOP_SEQUENCE,
    }

    /// How a token is drawn from what the filters kept. All follow the same distribution.
    DrawMethod {
        /// One uniform number per row. The default.
        InverseCdf = SAMPLER_DRAW_INVERSE_CDF,
        /// The largest of logit / temperature + Gumbel noise per token. Tails below 2^-30 of the
        /// likeliest token are not resolved.
        Gumbel = SAMPLER_DRAW_GUMBEL,
        /// [`Gumbel`](DrawMethod::Gumbel) by the numbers of
        /// [`watermark_random`](crate::watermark_random). [`sample`](crate::Sampler::sample) alone.
        Watermark = SAMPLER_DRAW_WATERMARK,
    }

    /// What marks a text, of [`WatermarkParams`](crate::WatermarkParams).
    WatermarkScheme {
        /// Green lists by the last token. The default.
        Lefthash = SAMPLER_WATERMARK_LEFTHASH,
        /// Green lists by the last tokens, the drawn one among them.
        Selfhash = SAMPLER_WATERMARK_SELFHASH,
        /// SynthID-Text.
        Tournament = SAMPLER_WATERMARK_TOURNAMENT,
    }

    /// The distribution that log-probabilities and other reports of a row are of.
    LogprobKind {
        /// The whole row, as it is given, at temperature 1. The default.
        Raw = SAMPLER_LOGPROB_RAW,
        /// What was drawn from: temperature and filters applied.
        Processed = SAMPLER_LOGPROB_PROCESSED,
        /// The whole row, as its edits left it, at temperature 1.
        Edited = SAMPLER_LOGPROB_EDITED,
    }

    /// What orders a block's candidates: the most confident first.
    Confidence {
        /// The candidate's probability. Scores are `out_logprobs`. The default.
        Probability = SAMPLER_CONFIDENCE_PROBABILITY,
        /// The largest probability less the second. Scores are `out_top_logprobs` of at least two
        /// tokens.
        Margin = SAMPLER_CONFIDENCE_MARGIN,
        /// Minus the entropy. Scores are `out_entropies`.
        Entropy = SAMPLER_CONFIDENCE_ENTROPY,
        /// The score as it is.
        Given = SAMPLER_CONFIDENCE_GIVEN,
        /// A uniform random number. No scores.
        Random = SAMPLER_CONFIDENCE_RANDOM,
        /// From the block's first row on. No scores.
        Position = SAMPLER_CONFIDENCE_POSITION,
    }

    /// What happened to a row's token, a byte of [`UnmaskArgs::out_changes`](crate::UnmaskArgs).
    UnmaskChange {
        /// Nothing: masked still, or a token as before. The default.
        Kept = SAMPLER_UNMASK_KEPT,
        /// The candidate took the mask's place.
        Committed = SAMPLER_UNMASK_COMMITTED,
        /// The candidate took another token's place.
        Edited = SAMPLER_UNMASK_EDITED,
    }

    /// When a draft x is accepted, to which the target gives p(x) and the drafter gave q(x). u is
    /// uniform in [0, 1).
    Acceptance {
        /// That of the context: `Standard` in [`verify`](crate::Sampler::verify), `SampleMatch` in a
        /// session. By slot or sequence: the one that is given for all.
        Default = SAMPLER_ACCEPT_DEFAULT,
        /// Lossless: u q(x) < p(x).
        Standard = SAMPLER_ACCEPT_STANDARD,
        /// Lossless block verification (Sun et al. 2024): all drafts of a chain are judged together.
        Block = SAMPLER_ACCEPT_BLOCK,
        /// Lossless: the target's own token is drawn as [`sample`](crate::Sampler::sample) draws it,
        /// at the offset + i behind i drafts, and drafts are accepted while they are that token.
        SampleMatch = SAMPLER_ACCEPT_SAMPLE_MATCH,
        /// Lossy: p(x) > min(`typical_threshold`, `typical_scale` * exp(-H(p))) (Cai et al. 2024).
        Typical = SAMPLER_ACCEPT_TYPICAL,
        /// Lossy: x is one of the `relaxed_top_k` first tokens and p(x) >= p_max - `relaxed_delta`;
        /// where no draft of a position is, as `Standard` (TensorRT-LLM).
        Relaxed = SAMPLER_ACCEPT_RELAXED,
        /// Lossy: p(x) >= `threshold_single`, or u * `threshold_total` < the sum of p of x and the
        /// siblings tried before it (SGLang).
        Threshold = SAMPLER_ACCEPT_THRESHOLD,
        /// Lossy: as `Standard`, but a rejected draft of a chain is kept where the target is in doubt
        /// and the next `deferred_window` drafts would be accepted (FLy; vLLM).
        Deferred = SAMPLER_ACCEPT_DEFERRED,
        /// u < `synthetic_rates[i]`, whatever the rows say: for benchmarks.
        Synthetic = SAMPLER_ACCEPT_SYNTHETIC,
    }

    /// How siblings of a tree were drafted.
    SiblingRule {
        /// Each was drawn from its own row. The default.
        Independent = SAMPLER_SIBLINGS_INDEPENDENT,
        /// Each was drawn from its row without its earlier siblings.
        WithoutReplacement = SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT,
    }

    /// How the drafts of several sequences lie in memory.
    Packing {
        /// `num_drafts`, or `num_drafts` + 1, entries for each sequence. The default.
        Dense = SAMPLER_PACKING_DENSE,
        /// One after the other: the drafts of sequence s are those from `packing_offsets[s]` to
        /// `packing_offsets[s + 1] - 1`, its positions begin s later.
        Drafts = SAMPLER_PACKING_DRAFTS,
        /// The same without the leading 0 (vLLM, V1).
        DraftEnds = SAMPLER_PACKING_DRAFT_ENDS,
        /// The positions of sequence s are those from `packing_offsets[s]` to `packing_offsets[s + 1]
        /// - 1`, one more than its drafts. What is laid out by draft has an entry for each position:
        /// entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of `draft` begin s
        /// earlier.
        Positions = SAMPLER_PACKING_POSITIONS,
    }

    /// What a filter writes of a row.
    OutputKind {
        /// The probabilities of the kept tokens, renormalised; 0 elsewhere. The default.
        Probabilities = SAMPLER_OUTPUT_PROBABILITIES,
        /// The kept logits as they are; -inf elsewhere.
        Values = SAMPLER_OUTPUT_VALUES,
    }

    /// What a line of the log is about.
    LogLevel {
        /// A sampler was built.
        Info = SAMPLER_LOG_INFO,
        /// The text of an error.
        Error = SAMPLER_LOG_ERROR,
    }
}

/// How many stages [`Params::stages`](crate::Params::stages) has room for.
pub const MAX_STAGES: usize = sys::SAMPLER_MAX_STAGES as usize;

/// How many adaptive values a slot has: mirostat's mu; adaptive-p's weighted sum and total weight;
/// the running top_p.
pub const NUM_ADAPTIVE_VALUES: usize = sys::SAMPLER_NUM_ADAPTIVE_VALUES as usize;

bit_sets! {
    /// Why a row is bad. A bad row yields token -1, or the sampler's fallback token, and changes no
    /// other row. Arrays of it are those of C.
    RowStatus {
        /// The row is good: no bit.
        OK = SAMPLER_ROW_OK,
        /// A NaN, a +inf logit, or a negative or infinite probability.
        INVALID_VALUE = SAMPLER_ROW_INVALID_VALUE,
        /// No token to choose: every logit is -inf, every probability 0, or there is no candidate.
        EMPTY = SAMPLER_ROW_EMPTY,
        /// A parameter of this row is NaN, or a temperature or filter that probabilities cannot
        /// have.
        INVALID_PARAMETER = SAMPLER_ROW_INVALID_PARAMETER,
        /// The row's entry of `row_indices` names no input row, or that of `token_bitmask_indices`
        /// no mask.
        INVALID_INDEX = SAMPLER_ROW_INVALID_INDEX,
        /// The candidate count is outside [0, `num_cols`], or a candidate id is outside [0, 2^20) or
        /// listed twice.
        INVALID_CANDIDATE = SAMPLER_ROW_INVALID_CANDIDATE,
        /// A draft token id is outside the vocabulary, or a draft count outside [0, `num_drafts`].
        /// Such a draft is rejected; the row is otherwise good.
        INVALID_DRAFT = SAMPLER_ROW_INVALID_DRAFT,
        /// The row's entry of `slots` is outside [0, `num_slots`).
        INVALID_SLOT = SAMPLER_ROW_INVALID_SLOT,
        /// A list of the row's slot, in the [`Pipeline`](crate::Pipeline), has offsets that fall or
        /// lie outside of its ids, or breaks another rule of the pipeline.
        INVALID_LIST = SAMPLER_ROW_INVALID_LIST,
        /// The tokens do not fit in the slot of the [`State`](crate::State), which is as it was.
        STATE_FULL = SAMPLER_ROW_STATE_FULL,
        /// The sequence's drafts hang together in a way that no tree does.
        INVALID_TREE = SAMPLER_ROW_INVALID_TREE,
        /// The ranks that a row lies on disagree about it. Not of calls of this crate.
        INVALID_SHARD = SAMPLER_ROW_INVALID_SHARD,
    }

    /// Instruction sets, of [`Capabilities`](crate::Capabilities).
    Isa {
        /// Plain code.
        SCALAR = SAMPLER_ISA_SCALAR,
        /// AVX2, FMA and F16C.
        AVX2 = SAMPLER_ISA_AVX2,
        /// AVX-512 F, BW, DQ and VL besides.
        AVX512 = SAMPLER_ISA_AVX512,
        /// NEON.
        NEON = SAMPLER_ISA_NEON,
    }
}

impl RowStatus {
    /// Whether the row is good.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }
}

impl Stage {
    pub(crate) const fn array_from_raw<const N: usize>(raw: [i32; N]) -> [Self; N] {
        let mut stages = [Self::None; N];
        let mut i = 0;
        while i < N {
            stages[i] = Self::from_raw(raw[i]);
            i += 1;
        }
        stages
    }
}

// Bytes that calls write.
impl From<u8> for Stage {
    fn from(raw: u8) -> Self {
        Self::from_raw(raw.into())
    }
}

impl From<u8> for UnmaskChange {
    fn from(raw: u8) -> Self {
        Self::from_raw(raw.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// First constants of the enums that have no type here: types of C's arrays, limits, loops.
    const OTHERS: &[&str] = &[
        "SAMPLER_ID_I32",
        "SAMPLER_MAX_STAGES",
        "SAMPLER_NUM_ADAPTIVE_VALUES",
        "SAMPLER_MAX_RANKS",
        "SAMPLER_PROCESSOR_GREEDY",
        "SAMPLER_BEAMS_SHARED",
    ];

    fn without_comments(text: &str) -> String {
        let mut parts = text.split("/*");
        let first = parts.next().unwrap_or("").to_owned();
        parts.fold(first, |text, part| text + part.split_once("*/").expect("the end of it").1)
    }

    /// The names of each enum of the headers.
    fn enums_of_the_headers() -> Vec<Vec<String>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include/sampler");
        let mut enums = vec![];
        for header in fs::read_dir(folder).unwrap() {
            let text = without_comments(&fs::read_to_string(header.unwrap().path()).unwrap());
            for part in text.split("enum {").skip(1) {
                let body = part.split_once('}').expect("the end of it").0;
                let names = body.split(',').map(|line| line.split('=').next().unwrap().trim());
                enums.push(names.map(str::to_owned).collect());
            }
        }
        enums
    }

    #[test]
    fn no_constant_of_the_headers_is_missing() {
        let mut enums = enums_of_the_headers();
        for (name, constants) in [ENUMERATIONS, BIT_SETS].concat() {
            let found = enums.iter().position(|names| names[0] == constants[0]);
            assert_eq!(enums.swap_remove(found.expect(name)), constants, "{name}");
        }
        enums.retain(|names| !OTHERS.contains(&&names[0][..]));
        assert_eq!(enums, Vec::<Vec<String>>::new());
    }
}
