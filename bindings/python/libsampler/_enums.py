# Made from libsampler's headers by bindings/python/generate.py; do not edit.
"""The enumerations of the C headers."""

import enum


class Status(enum.IntEnum):
    """Every function that can fail returns one of these; sampler_last_error() then tells in one line
    what was wrong."""

    OK = 0
    # An argument breaks a rule of its documentation. Nothing was enqueued, no output written.
    ERROR_INVALID_ARGUMENT = 1
    # The allocator returned None. Creating a handle, a state or a session, a decoding loop as it
    # begins, and an n-gram storage as it learns allocate; nothing else does.
    ERROR_OUT_OF_MEMORY = 2
    # The handle's or the call's workspace is smaller than the call's _workspace_size tells.
    ERROR_WORKSPACE_TOO_SMALL = 3
    # The arguments are valid, but this build or device does not offer what they ask for.
    ERROR_UNSUPPORTED = 4
    # The program was compiled for another ABI of libsampler.
    ERROR_ABI_MISMATCH = 5
    # The system refused something, such as starting a thread when the handle was created.
    ERROR_SYSTEM = 6
    # A callback of the caller (parallel_for) broke its contract. The outputs are undefined.
    ERROR_CALLBACK = 7
    # CUDA reported an error. The outputs are undefined.
    ERROR_CUDA = 8
    # A fault of libsampler itself, which it caught. The outputs are undefined.
    ERROR_INTERNAL = 9
    # Serialised data is truncated, damaged or of a newer format.
    ERROR_CORRUPT_DATA = 10


class RowStatus(enum.IntFlag):
    """Bits of an `out_row_status` entry. A bad row never makes a call fail and never changes another
    row: it yields token -1 (or the handle's fallback token) and a bit that says why."""

    # The row is good.
    OK = 0
    # A NaN, a +inf logit, or a negative or infinite probability.
    INVALID_VALUE = 1
    # No token to choose: every logit is -inf, every probability 0, or there is no candidate.
    EMPTY = 2
    # A parameter of this row is NaN, or a temperature or filter that probabilities cannot have.
    INVALID_PARAMETER = 4
    # The row's entry of row_indices names no input row, or that of token_bitmask_indices no mask.
    INVALID_INDEX = 8
    # candidate_counts is outside [0, num_cols], or a candidate id is outside [0, 2^20) or
    # listed twice.
    INVALID_CANDIDATE = 16
    # A draft token id is outside the vocabulary, or a draft length outside [0, num_drafts].
    # Such a draft is rejected; the row is otherwise good and has its outputs.
    INVALID_DRAFT = 32
    # The row's entry of slots is outside [0, num_slots).
    INVALID_SLOT = 64
    # A list of the row's slot, in the pipeline, has offsets that fall or lie outside of the list's
    # ids, or breaks another rule of pipeline.h.
    INVALID_LIST = 128
    # The tokens do not fit in the slot of the state, which is as it was.
    STATE_FULL = 256
    # The sequence's drafts hang together in a way that no tree does.
    INVALID_TREE = 512
    # The ranks that a row lies on disagree about what its arrays say, or its top_k is above
    # sampler_shard_args.max_top_k.
    INVALID_SHARD = 1024


class DeviceType(enum.IntEnum):
    """Where the arrays of a call live."""

    # host memory
    CPU = 0
    # memory of the handle's CUDA device
    CUDA = 1


class Dtype(enum.IntEnum):
    """Type of the elements of logits and probabilities. All widen exactly to f32 before anything is
    computed. f16 is IEEE binary16, bf16 the upper half of an f32."""

    F32 = 0
    F16 = 1
    BF16 = 2


class IdType(enum.IntEnum):
    """Type of token ids."""

    I32 = 0
    I64 = 1


class InputKind(enum.IntEnum):
    """What the numbers of a row mean. Probabilities are >= 0 and need not sum to 1."""

    LOGITS = 0
    PROBABILITIES = 1


class TieRule(enum.IntEnum):
    """What a filter does with tokens that equal the last kept one in value."""

    # lower ids first, so top-k keeps exactly k
    EXACT = 0
    # all of them are kept (FlashInfer's renorms, Hugging Face's top-k)
    KEEP = 1


class SumRule(enum.IntEnum):
    """What the probability of the tokens that top-p or typical-p keeps must do. It differs only where a
    sum is the share exactly."""

    # be at least the share, so 0.5 keeps 4 of 8 equal tokens
    REACHES = 0
    # be more than the share, so 0.5 keeps 5 of 8 (SGLang's top-p)
    EXCEEDS = 1


class FilterOrder(enum.IntEnum):
    """Which filter sees what."""

    # top-k; then top-p of the weight that top-k kept; then min-p.
    SEQUENTIAL = 0
    # Each filter sees the whole row; what all of them keep is kept.
    JOINT = 1
    # min-p; then top-k; then top-p of the weight that is left (vLLM).
    MIN_P_FIRST = 2


class TemperatureOrder(enum.IntEnum):
    """When the temperature applies. The draw always uses it."""

    # filters see the row at the temperature
    FIRST = 0
    # filters see the row at temperature 1 (llama.cpp)
    LAST = 1


class DrawMethod(enum.IntEnum):
    """How a token is drawn from what the filters kept. Both follow the same distribution."""

    # One uniform number per row; exact in integers, tails of any size.
    INVERSE_CDF = 0
    # The largest of logit / temperature + Gumbel noise per token: a small change of the logits
    # rarely changes the token. Tails below 2^-30 of the likeliest token are not resolved.
    GUMBEL = 1


class LogprobKind(enum.IntEnum):
    """Of which distribution a log-probability is."""

    # the whole row, as it is given, at temperature 1
    RAW = 0
    # what was drawn from: temperature and filters applied
    PROCESSED = 1
    # the whole row, as its edits left it, at temperature 1
    EDITED = 2


class OutputKind(enum.IntEnum):
    """What a filter writes of a row."""

    # of the kept tokens, renormalised; 0 elsewhere
    PROBABILITIES = 0
    # of the kept tokens, as they are; -inf elsewhere
    VALUES = 1


class LogLevel(enum.IntEnum):
    INFO = 0
    ERROR = 1


class ISA(enum.IntFlag):
    """Bits of instruction sets that CPU rows can be computed with. The tokens are the same.
    AVX2 means AVX2, FMA and F16C; AVX512 means F, BW, DQ and VL besides."""

    SCALAR = 1
    AVX2 = 2
    AVX512 = 4
    NEON = 8


class Stage(enum.IntEnum):
    """The stages, and their order where sampler_params.stages lists none."""

    # Edits.
    #
    # pipeline.biased and the dense bias
    BIAS = 1
    # allowed and banned tokens, bad words, stop tokens, bitmask
    MASK = 2
    # repetition, frequency, presence
    PENALTIES = 3
    # repeats of sequences
    DRY = 4
    # bans what completes an n-gram of the history
    NO_REPEAT_NGRAM = 5
    TEMPERATURE = 6
    # Windows: each keeps some tokens of those that the one before it kept.
    #
    # whose surprise is nearest the entropy
    TYPICAL_P = 7
    # within n standard deviations of the largest logit
    TOP_N_SIGMA = 8
    # of a probability of at least epsilon
    EPSILON = 9
    # the same, and lower where the entropy is high
    ETA = 10
    # that have a share of the entropy
    TOP_H = 11
    # by a coin, not those above a threshold, but the last of them
    XTC = 12
    TOP_K = 13
    TOP_P = 14
    MIN_P = 15
    # mirostat or adaptive-p; the last one
    ADAPTIVE = 16

MAX_STAGES = 16


class AdaptiveKind(enum.IntEnum):
    """A window that the tokens drawn before move."""

    NONE = 0
    # (Basu, Ramachandran, Keskar, Varshney 2021)
    MIROSTAT_V1 = 1
    MIROSTAT_V2 = 2
    # llama.cpp's: changes the weights of the tokens that it sees
    P = 3

# How many adaptive values a slot has: mirostat's mu; adaptive-p's weighted sum and total weight;
# the running top_p.
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
    """How the penalties are computed, for a token that occurs c times. They differ in the last bit; the
    last one in its order too."""

    # x / r; then x - (c * frequency + presence)
    DIVIDE = 0
    # x * (1 / r); then x - c * frequency - presence (vLLM)
    RECIPROCAL = 1
    # as DIVIDE, repetition last (SGLang)
    COUNTS_FIRST = 2


class MaskRule(enum.IntEnum):
    """What the bitmask says of ids that it has no word for. A vocabulary that is padded beyond the
    tokenizer's has such ids where the mask is made for the tokenizer's: LEAVES, the default, lets
    them be drawn whatever the grammar says. Set FORBIDS unless all that the row has beyond the mask
    may be drawn."""

    # they are as they are (xgrammar)
    LEAVES = 0
    # they are banned (llguidance)
    FORBIDS = 1


class Acceptance(enum.IntEnum):
    """When a draft x is accepted where the target gives it p(x) and the drafter gave it q(x). A greedy
    row (a temperature of at most 1e-5) accepts the argmax and nothing else, but for RELAXED and
    SYNTHETIC."""

    # That of the context: STANDARD in sampler_verify and sampler_speculative, SAMPLE_MATCH in a
    # session. Where a rule is given by slot or by sequence: the one that is given for all.
    DEFAULT = 0
    # Lossless: what is emitted follows the target's distribution.
    #
    # u q(x) < p(x)
    STANDARD = 1
    # Block verification (Sun et al. 2024): all drafts of a chain are judged together. On average it
    # emits no fewer tokens than STANDARD.
    BLOCK = 2
    # The target's own token is drawn as sampler_sample draws it, at offset + i after i drafts, and
    # drafts are accepted while they are that token. Needs nothing of the drafter. The text is, token
    # by token, the one without speculation.
    SAMPLE_MATCH = 3
    # Lossy: what is emitted is not of the target's distribution.
    #
    # p(x) > min(typical_threshold, typical_scale * exp(-H(p))), without a coin (Cai et al. 2024).
    TYPICAL = 4
    # x is one of the relaxed_top_k first tokens and p(x) >= p_max - relaxed_delta; where no draft of
    # a position is, as STANDARD. In a greedy row p is what the edits left, at temperature 1
    # (TensorRT-LLM).
    RELAXED = 5
    # p(x) >= threshold_single, or u * threshold_total < the sum of p of x and the siblings tried
    # before it (SGLang). With both at 1 it is lossless for drafts chosen without chance.
    THRESHOLD = 6
    # As STANDARD, but a rejected draft of a chain is kept where the target is in doubt and the next
    # deferred_window drafts would be accepted (FLy, arXiv 2511.22972; vLLM).
    DEFERRED = 7
    # u < synthetic_rates[i], whatever the rows say: for benchmarks. Behind a rejection a token is
    # drawn from p.
    SYNTHETIC = 8


class SiblingRule(enum.IntEnum):
    """How siblings of a tree were drafted, which decides what a rejection leaves for the next one."""

    # each was drawn from its own row
    INDEPENDENT = 0
    # each from its row without its earlier siblings
    WITHOUT_REPLACEMENT = 1


class Packing(enum.IntEnum):
    """How the drafts of several sequences lie in memory."""

    # Arrays of num_sequences rows of num_drafts, or num_drafts + 1, entries.
    DENSE = 0
    # One after the other. packing_offsets is [num_sequences + 1]: the drafts of sequence s are those
    # from packing_offsets[s] to packing_offsets[s + 1] - 1, its positions begin s later.
    DRAFTS = 1
    # The same without the leading 0: packing_offsets is [num_sequences] (vLLM, V1).
    DRAFT_ENDS = 2
    # The positions of sequence s are those from packing_offsets[s] to packing_offsets[s + 1] - 1,
    # [num_sequences + 1], one more than its drafts. What is laid out by draft has an entry for each
    # position: entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of `draft` begin
    # s earlier.
    POSITIONS = 3


class TokenKind(enum.IntEnum):
    OUTPUT = 0
    PROMPT = 1


class NgramKind(enum.IntEnum):
    # N-grams of 2 to `order` tokens. After an unknown context the longest known end of it counts,
    # down to its last token alone.
    ALL_ORDERS = 0
    # N-grams of `order` tokens only. A context of fewer than order - 1 tokens is unknown.
    ONE_LEVEL = 1


class DraftSource(enum.IntEnum):
    """Where a sequence's drafts come from; all but NONE need max_drafts of the session. The first new
    token is never drafted."""

    NONE = 0
    # a drafter model, which the caller runs
    MODEL = 1
    # a sampler_ngram, which sequences may share
    NGRAM = 2
    # a lookup of the sequence's own, in the session's memory
    PROMPT_LOOKUP = 3


class FinishReason(enum.IntEnum):
    # not finished: it goes on, or the loop failed
    NONE = 0
    # the last token is an end token
    END_TOKEN = 1
    # it has max_new_tokens
    LENGTH = 2
    # prompt and new tokens are the target's max_context
    CONTEXT = 3
    # on_tokens wanted no more
    CANCELLED = 4
    # the logits gave no token (NaN, +inf, all -inf)
    BAD_ROW = 5
    # the last tokens are a stop sequence; of session.h alone
    STOP_SEQUENCE = 6


class GammaRule(enum.IntEnum):
    # gamma
    FIXED = 0
    # the drafter's entropy, see adaptive_gamma
    BY_ENTROPY = 1
    # What drafts are measured to cost and to gain: the number of most tokens a second, 0 included.
    # No round begins with drafts that may lose more than there is on an account, which has two rounds
    # without drafts at first, and gets a thirty-second of the time without drafts and what drafts
    # gain. So where drafts do not pay no more than that is lost, and, once, the first two rounds with
    # drafts and the drafter's reading of the prompts; what a step costs more than was measured before
    # is lost in one round. Times differ from run to run, so numbers of drafts do,
    # and with them sampled texts: their distribution is exact, but the seed does not fix them.
    # Greedy texts are those of sampler_autoregressive.
    MEASURED = 2


__all__ = [
    "Acceptance", "AdaptiveKind", "DeviceType", "DraftSource", "DrawMethod", "Dtype",
    "FilterOrder", "FinishReason", "GammaRule", "ISA", "IdType", "InputKind", "LogLevel",
    "LogprobKind", "MAX_STAGES", "MaskRule", "NUM_ADAPTIVE_VALUES", "NgramKind", "OutputKind",
    "Packing", "PenaltyForm", "PenaltyScope", "RowStatus", "SiblingRule", "Stage", "Status",
    "SumRule", "TemperatureOrder", "TieRule", "TokenKind"
]
