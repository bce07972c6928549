# Made from libsampler's headers by bindings/python/generate.py; do not edit.
"""The enumerations of the C headers."""

import enum


class Status(enum.IntEnum):
    """Returned by every function that can fail; sampler_last_error() then describes the error in
    one line."""

    OK = 0
    # An argument violates its documentation. Nothing was enqueued, no output written.
    ERROR_INVALID_ARGUMENT = 1
    # The allocator returned None, or the device has no memory left. Only these allocate: functions
    # that create something, decoding loops, n-gram storages that learn or are deserialised, on a
    # CUDA handle the copy that serialises a state, and, by malloc, detectors of watermarks.
    ERROR_OUT_OF_MEMORY = 2
    # The handle's or the call's workspace is smaller than the call's _workspace_size.
    ERROR_WORKSPACE_TOO_SMALL = 3
    # The arguments are valid, but not supported by this build or device.
    ERROR_UNSUPPORTED = 4
    # The program was compiled for another ABI of libsampler.
    ERROR_ABI_MISMATCH = 5
    # A system call failed, such as starting a thread when the handle was created.
    ERROR_SYSTEM = 6
    # A callback (parallel_for) broke its contract. The outputs are undefined.
    ERROR_CALLBACK = 7
    # CUDA reported an error. The outputs are undefined.
    ERROR_CUDA = 8
    # A bug in libsampler, which it caught. The outputs are undefined.
    ERROR_INTERNAL = 9
    # Serialised data is truncated, damaged or of a newer format.
    ERROR_CORRUPT_DATA = 10


class RowStatus(enum.IntFlag):
    """Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
    row: it yields token -1 (or the handle's fallback token) and a bit with the reason."""

    # The row is good.
    OK = 0
    # A NaN, a +inf logit, or a negative or infinite probability.
    INVALID_VALUE = 1
    # No token to choose: every logit is -inf, every probability 0, or there is no candidate.
    EMPTY = 2
    # A parameter of this row is NaN, or a temperature or filter not allowed with probabilities.
    INVALID_PARAMETER = 4
    # The row's entry in row_indices names no input row, or that in token_bitmask_indices no mask.
    # sampler_unmask's blocks: block_offsets do not ascend within the rows.
    INVALID_INDEX = 8
    # candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20)
    # or duplicated.
    INVALID_CANDIDATE = 16
    # A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts]. The
    # draft is rejected; the row is otherwise good and has its outputs.
    INVALID_DRAFT = 32
    # The row's slot is outside [0, num_slots).
    INVALID_SLOT = 64
    # A pipeline list of the row's slot has offsets that decrease or lie outside the list's ids, or
    # breaks another rule of pipeline.h.
    INVALID_LIST = 128
    # The tokens do not fit in the state's slot, which is unchanged.
    STATE_FULL = 256
    # The draft tree is malformed.
    INVALID_TREE = 512
    # The ranks of a sharded row disagree about the contents of its arrays, or its top_k is
    # above sampler_shard_args.max_top_k.
    INVALID_SHARD = 1024


class DeviceType(enum.IntEnum):
    """Memory of a call's arrays."""

    # host memory
    CPU = 0
    # memory of the handle's CUDA device
    CUDA = 1


class Dtype(enum.IntEnum):
    """Element type of logits and probabilities. All widen exactly to f32 before any computation. f16 is
    IEEE binary16, bf16 the upper half of an f32."""

    F32 = 0
    F16 = 1
    BF16 = 2


class IdType(enum.IntEnum):
    """Type of token ids."""

    I32 = 0
    I64 = 1


class InputKind(enum.IntEnum):
    """Meaning of a row's values. Probabilities are >= 0 and need not sum to 1."""

    LOGITS = 0
    PROBABILITIES = 1


class TieRule(enum.IntEnum):
    """How a filter treats tokens that tie with the last kept one."""

    # lower ids first, so top-k keeps exactly k
    EXACT = 0
    # keeps all ties (FlashInfer's renorms, Hugging Face's top-k)
    KEEP = 1


class SumRule(enum.IntEnum):
    """How the kept probability of top-p or typical-p compares with the threshold. Matters only where a
    sum equals the threshold exactly."""

    # at least the threshold, so 0.5 keeps 4 of 8 equal tokens
    REACHES = 0
    # above the threshold, so 0.5 keeps 5 of 8 (SGLang's top-p)
    EXCEEDS = 1


class FilterOrder(enum.IntEnum):
    """How top-k, top-p and min-p combine."""

    # top-k; then top-p of the weight that top-k kept; then min-p.
    SEQUENTIAL = 0
    # Each filter sees the whole row; the intersection is kept.
    JOINT = 1
    # min-p; then top-k; then top-p of the remaining weight (vLLM).
    MIN_P_FIRST = 2


class TemperatureOrder(enum.IntEnum):
    """When the temperature applies. The draw always uses it."""

    # filters see the row at the temperature
    FIRST = 0
    # filters see the row at temperature 1 (llama.cpp)
    LAST = 1


class DrawMethod(enum.IntEnum):
    """How a token is drawn from the kept ones. All follow the same distribution."""

    # One uniform number per row; exact in integers, resolves tails of any size.
    INVERSE_CDF = 0
    # Argmax of logit / temperature + Gumbel noise per token: a small change of the logits rarely
    # changes the token. Tails below 2^-30 of the likeliest token are not resolved.
    GUMBEL = 1
    # GUMBEL with the random words of a watermark: seeds, offsets and streams are those of
    # sampler_watermark_random (watermark.h). sampler_sample only, of shards too.
    WATERMARK = 2


class LogprobKind(enum.IntEnum):
    """The distribution of a log-probability."""

    # the whole row, as given, at temperature 1
    RAW = 0
    # the distribution drawn from: temperature and filters applied
    PROCESSED = 1
    # the whole row, after its edits, at temperature 1
    EDITED = 2


class OutputKind(enum.IntEnum):
    """Output of a filter."""

    # probabilities of kept tokens, renormalised; 0 elsewhere
    PROBABILITIES = 0
    # values of kept tokens, unchanged; -inf elsewhere
    VALUES = 1


class LogLevel(enum.IntEnum):
    INFO = 0
    ERROR = 1


class ISA(enum.IntFlag):
    """Bits of instruction sets for CPU rows. All give the same tokens. AVX2 means AVX2, FMA and F16C;
    AVX512 adds F, BW, DQ and VL."""

    SCALAR = 1
    AVX2 = 2
    AVX512 = 4
    NEON = 8


class Stage(enum.IntEnum):
    """The stages, in their default order (no sampler_params.stages)."""

    # Edits.
    #
    # guidance, pipeline.biased, the dense bias
    BIAS = 1
    # allowed and banned tokens, bad words, stop tokens, bitmask
    MASK = 2
    # repetition, frequency, presence, exponential decay
    PENALTIES = 3
    # penalises repeats of sequences
    DRY = 4
    # bans tokens that complete an n-gram of the history
    NO_REPEAT_NGRAM = 5
    TEMPERATURE = 6
    # Windows: each keeps some tokens of those that the one before it kept.
    #
    # surprise nearest the entropy
    TYPICAL_P = 7
    # within n standard deviations of the largest logit
    TOP_N_SIGMA = 8
    # probability at least epsilon
    EPSILON = 9
    # the same, and lower where the entropy is high
    ETA = 10
    # a share of the entropy
    TOP_H = 11
    # probability at least the sum of squared probabilities
    P_LESS = 12
    # before the steepest fall of the logits
    MIN_K = 13
    # probability at least a share of the largest one squared
    TOP_A = 14
    # at random, removes all tokens above a threshold but the last
    XTC = 15
    TOP_K = 16
    TOP_P = 17
    MIN_P = 18
    # mirostat, adaptive-p or smoothing; always last
    ADAPTIVE = 19

MAX_STAGES = 32


class PLessKind(enum.IntEnum):
    """The threshold of P_LESS (Tan, Wu, Howard 2025)."""

    # off
    NONE = 0
    # the sum c of squared probabilities
    PLAIN = 1
    # (n c - 1) / (n - 1), lower; n tokens are left
    NORM = 2


class AdaptiveKind(enum.IntEnum):
    """The last stage. All but SMOOTHING adapt to the drawn tokens."""

    NONE = 0
    # (Basu, Ramachandran, Keskar, Varshney 2021)
    MIROSTAT_V1 = 1
    MIROSTAT_V2 = 2
    # llama.cpp's: changes the weights of the tokens it receives
    P = 3
    # Quadratic and cubic smoothing (kalomaze 2024, koboldcpp): a token d below the first one in
    # logit / T gets the logit -k d^2 - s d^3, with k = factor * (3 - curve) / 2 and
    # s = factor * (curve - 1) / 2.
    SMOOTHING = 4

# Adaptive values per slot: mirostat's mu; adaptive-p's weighted sum and total weight; the
# running top_p.
NUM_ADAPTIVE_VALUES = 4


class PenaltyScope(enum.IntEnum):
    """Which tokens of a history count."""

    # repetition: all; frequency and presence: output (vLLM)
    STANDARD = 0
    # prompt and output (llama.cpp)
    ALL = 1
    # output (SGLang)
    OUTPUT = 2


class PenaltyForm(enum.IntEnum):
    """Arithmetic of the penalties, for a token that occurs c times. Forms differ in the last bit; the
    last one in its order too."""

    # x / r; then x - (c * frequency + presence)
    DIVIDE = 0
    # x * (1 / r); then x - c * frequency - presence (vLLM)
    RECIPROCAL = 1
    # as DIVIDE, repetition last (SGLang)
    COUNTS_FIRST = 2


class MaskRule(enum.IntEnum):
    """How ids without a word in the bitmask are treated. A vocabulary padded beyond the tokenizer's has
    such ids if the mask is made for the tokenizer's: LEAVES, the default, allows them whatever the
    grammar. Set FORBIDS unless all ids beyond the mask may be drawn."""

    # unchanged (xgrammar)
    LEAVES = 0
    # banned (llguidance)
    FORBIDS = 1


class Acceptance(enum.IntEnum):
    """Acceptance rule: when a draft x with target probability p(x) and draft probability q(x) is
    accepted. A greedy row (temperature at most 1e-5) accepts only the argmax, except with RELAXED
    and SYNTHETIC."""

    # The context's default: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
    # session. In a rule by slot or by sequence: the rule given for all.
    DEFAULT = 0
    # Lossless: emitted tokens follow the target's distribution.
    #
    # u q(x) < p(x)
    STANDARD = 1
    # Block verification (Sun et al. 2024): judges all drafts of a chain together. Emits on average
    # no fewer tokens than STANDARD.
    BLOCK = 2
    # The target's own token is drawn as by sampler_sample, at offset + i after i drafts; drafts are
    # accepted while they equal it. Needs no draft distribution. The text equals, token by token, the
    # one without speculation.
    SAMPLE_MATCH = 3
    # Lossy: emitted tokens do not follow the target's distribution.
    #
    # p(x) > min(typical_threshold, typical_scale * exp(-H(p))), deterministic (Cai et al. 2024).
    TYPICAL = 4
    # x is one of the first relaxed_top_k tokens and p(x) >= p_max - relaxed_delta; if no draft of a
    # position is, as STANDARD. In a greedy row p is taken after the edits, at temperature
    # 1 (TensorRT-LLM).
    RELAXED = 5
    # p(x) >= threshold_single, or u * threshold_total < the sum of p over x and the siblings tried
    # before it (SGLang). With both at 1 it is lossless for drafts chosen deterministically.
    THRESHOLD = 6
    # As STANDARD, but a rejected draft of a chain is kept where the target is uncertain and the next
    # deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM).
    DEFERRED = 7
    # u < synthetic_rates[i], whatever p and q: for benchmarks. After a rejection a token is drawn
    # from p.
    SYNTHETIC = 8


class SiblingRule(enum.IntEnum):
    """How siblings of a tree were drafted, which determines the residual after a rejection."""

    # each was drawn from its own row
    INDEPENDENT = 0
    # each from its row without its earlier siblings
    WITHOUT_REPLACEMENT = 1


class Packing(enum.IntEnum):
    """Memory layout of the drafts of several sequences."""

    # Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries.
    DENSE = 0
    # Concatenated. packing_offsets is [num_sequences + 1]: the drafts of sequence s are
    # packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later.
    DRAFTS = 1
    # As DRAFTS, without the leading 0: packing_offsets is [num_sequences] (vLLM, V1).
    DRAFT_ENDS = 2
    # The positions of sequence s are packing_offsets[s] to packing_offsets[s + 1] - 1,
    # [num_sequences + 1], one more than its drafts. Arrays by draft have an entry for each position:
    # entry i + 1 is draft i's, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
    # s earlier.
    POSITIONS = 3


class Confidence(enum.IntEnum):
    """What orders a block's candidates: the most confident first, of equal ones the earlier row."""

    # The candidate's probability: LLaDA's low_confidence, Dream's maskgit_plus, SGLang, LMDeploy.
    # Scores are log-probabilities, out_logprobs.
    PROBABILITY = 0
    # The likeliest token's probability less the second's: Dream's topk_margin. Scores are
    # out_top_logprobs of at least two tokens; score_stride is num_top_logprobs.
    MARGIN = 1
    # Minus the entropy: Dream's entropy, and the EB sampler. Scores are out_entropies.
    ENTROPY = 2
    # The score as it is, +-inf too. A threshold that is on is above 0.
    GIVEN = 3
    # A uniform random number in [0, 1): LLaDA's random, Dream's origin. No scores.
    RANDOM = 4
    # Minus the row's number in its block: LMDeploy's sequential. No scores.
    POSITION = 5


class UnmaskChange(enum.IntEnum):
    """What happened to a row's token."""

    # nothing: masked still, or a token as before
    KEPT = 0
    # the candidate took the mask's place
    COMMITTED = 1
    # the candidate took another token's place
    EDITED = 2


class WatermarkScheme(enum.IntEnum):
    # green lists by the last token
    LEFTHASH = 0
    # green lists by the last tokens, the drawn one among them
    SELFHASH = 1
    # SynthID-Text
    TOURNAMENT = 2


class TokenKind(enum.IntEnum):
    OUTPUT = 0
    PROMPT = 1


class NgramKind(enum.IntEnum):
    # N-grams of 2 to `order` tokens. An unknown context backs off to its longest known end, down to
    # its last token alone.
    ALL_ORDERS = 0
    # N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown.
    ONE_LEVEL = 1


class DraftSource(enum.IntEnum):
    """Source of a sequence's drafts; all but NONE need the session's max_drafts. The first new token is
    never drafted."""

    NONE = 0
    # a drafter model, run by the caller
    MODEL = 1
    # a sampler_ngram, which sequences may share
    NGRAM = 2
    # the sequence's own lookup, in the session's memory
    PROMPT_LOOKUP = 3


class FinishReason(enum.IntEnum):
    # not finished: it continues, or the loop failed
    NONE = 0
    # the last token is an end token
    END_TOKEN = 1
    # max_new_tokens reached
    LENGTH = 2
    # prompt and new tokens fill the target's max_context
    CONTEXT = 3
    # on_tokens ended it
    CANCELLED = 4
    # the logits gave no token (NaN, +inf, all -inf)
    BAD_ROW = 5
    # the last tokens are a stop sequence; session.h only
    STOP_SEQUENCE = 6


class GammaRule(enum.IntEnum):
    # gamma
    FIXED = 0
    # from the drafter's entropy, see adaptive_gamma
    BY_ENTROPY = 1
    # By measured cost and gain: the number with most tokens per second, 0 included. A time budget
    # limits losses: it starts with the time of two rounds without drafts, and grows by 1/32 of the
    # time without drafts and by what drafts gain; no round begins with drafts that may lose more. So
    # unprofitable drafts lose at most that and, once, the first two rounds with drafts and the
    # drafter's prefill; a step's excess over its measured cost is lost in one round. Times, and so
    # numbers of drafts and sampled texts, differ from run to run: their distribution is exact, but
    # the seed does not fix them. Greedy texts are those of sampler_autoregressive.
    MEASURED = 2


__all__ = [
    "Acceptance", "AdaptiveKind", "Confidence", "DeviceType", "DraftSource", "DrawMethod",
    "Dtype", "FilterOrder", "FinishReason", "GammaRule", "ISA", "IdType", "InputKind",
    "LogLevel", "LogprobKind", "MAX_STAGES", "MaskRule", "NUM_ADAPTIVE_VALUES", "NgramKind",
    "OutputKind", "PLessKind", "Packing", "PenaltyForm", "PenaltyScope", "RowStatus",
    "SiblingRule", "Stage", "Status", "SumRule", "TemperatureOrder", "TieRule", "TokenKind",
    "UnmaskChange", "WatermarkScheme"
]
