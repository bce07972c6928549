# Made from libsampler's headers by bindings/python/generate.py; do not edit.
"""The C API of libsampler."""

from collections.abc import Callable
from collections.abc import Sequence as Sequence_
from typing import Any, Protocol, Self, TypeAlias, final

from ._enums import FinishReason, RowStatus

class _DLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _Buffer(Protocol):
    def __buffer__(self, flags: int, /) -> memoryview: ...

ArrayLike: TypeAlias = _DLPack | _Buffer

class Error(Exception):
    status: int

class InvalidArgument(Error, ValueError): ...
class OutOfMemory(Error, MemoryError): ...
class WorkspaceTooSmall(Error): ...
class Unsupported(Error): ...
class AbiMismatch(Error): ...
class SystemFailure(Error): ...
class CallbackError(Error): ...
class CudaError(Error): ...
class InternalError(Error): ...
class CorruptData(Error, ValueError): ...
class Closed(Error): ...

@final
class Capabilities(tuple[int, ...]):
    version: int
    abi_version: int
    isa_compiled: int
    isa_usable: int
    isa_active: int
    cuda_compiled: int
    num_cuda_devices: int
    num_processors: int

def capabilities() -> Capabilities: ...
def version() -> str: ...
def preset_names() -> list[str]: ...
def stage_name(stage: int, /) -> str | None: ...
def status_string(status: int, /) -> str: ...
def watermark_random(key: int, context: Sequence_[int]) -> tuple[int, int, int]: ...
def watermark_detect(
    key: int, token_ids: Sequence_[int], context_length: int | None = 4, keeps_repeated: bool = False
) -> tuple[float, int, float]: ...
def watermark_table(params: WatermarkParams) -> Any: ...
def watermark_bias(
    params: WatermarkParams,
    context: Sequence_[int],
    candidate_token_ids: ArrayLike | Sequence_[int] | None = None,
) -> Any: ...
def watermark_tournament(
    params: WatermarkParams,
    context: Sequence_[int],
    token_ids: ArrayLike | Sequence_[int],
    probabilities: ArrayLike,
) -> None: ...
def watermark_score(
    params: WatermarkParams, token_ids: Sequence_[int]
) -> tuple[float, int, float]: ...
def prune_count(num_drafted: int, num_emitted: int) -> tuple[int, int, int]: ...
def _xla_handlers() -> dict[str, tuple[Any, Any]]: ...
def _xla_numbers(object: Params | Pipeline | AcceptanceParams, /) -> bytes: ...
def _xla_check(
    name: str,
    arguments: list[tuple[int, tuple[int, ...]]],
    results: list[tuple[int, tuple[int, ...]]],
    operands: str,
    params: bytes,
    pipeline: bytes,
    acceptance: bytes,
    probabilities: bool,
    values: bool,
    /,
) -> None: ...

@final
class Rows:
    """Rows of logits or probabilities, row_stride elements apart. Never written."""
    values: ArrayLike | None
    """[num_rows, num_cols] Elements of type `dtype`. Required, unless num_rows is 0."""
    num_rows: int
    """Rows, in [0, 2^31). 0: the call does nothing."""
    num_cols: int
    """Columns: the vocabulary, or the capacity for candidates. In [1, 2^20)."""
    row_stride: int
    """Elements from one row to the next, at least num_cols. 0: num_cols."""
    candidate_ids: ArrayLike | None
    """[num_rows, num_cols] Candidate lists, for engines that hold (id, logit) pairs instead of whole
    rows. Laid out like `values`: the token id of each element, in [0, 2^20), in any order,
    distinct within a row. A list of all ids gives the same token as the row. None: an element's id
    is its column."""
    candidate_counts: ArrayLike | None
    """[num_rows] Elements of each row, in [0, num_cols]; later ones are not read. The length of each
    list with candidate_ids, of each row without. None: num_cols."""
    dtype: int | None
    kind: int
    candidate_id_type: int | None
    """Type of candidate_ids."""
    def __init__(
        self,
        values: ArrayLike | None = None,
        *,
        num_rows: int | None = None,
        num_cols: int | None = None,
        row_stride: int | None = None,
        candidate_ids: ArrayLike | None = None,
        candidate_counts: ArrayLike | None = None,
        dtype: int | None = None,
        kind: int | None = None,
        candidate_id_type: int | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> Rows: ...
    def __copy__(self) -> Rows: ...


@final
class TokenLists:
    """Lists of token ids, concatenated: list i is token_ids[offsets[i]] to
    token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: no lists.

    For lists by slot, num_lists is the number of slots, or 1: one list for all. Rows whose offsets
    decrease, or lie outside [0, num_token_ids], are bad (INVALID_LIST)."""
    offsets: ArrayLike | None
    """[num_lists + 1] Ascending."""
    token_ids: ArrayLike | None
    """[num_token_ids] Of the pipeline's token_id_type. May be None if empty."""
    num_lists: int
    num_token_ids: int
    def __init__(
        self,
        offsets: ArrayLike | None = None,
        token_ids: ArrayLike | None = None,
        *,
        num_lists: int | None = None,
        num_token_ids: int | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> TokenLists: ...
    def __copy__(self) -> TokenLists: ...


@final
class Params:
    """Temperature, filters, how they combine, and the parameters of the edits before them."""
    temperature: float
    """Divides the logits. At most 1e-5 (0 and negative too): greedy, the first token in rank order
    whatever the filters. At most 2^64. Probabilities are used as given: the temperature must be 1,
    or at most 1e-5. Not NaN. Default 1."""
    top_p: float
    """Keeps the shortest prefix of rank order whose probability, relative to the filter's input, is
    at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020). >= 1:
    off; <= 0: one token. Not NaN. Default 1."""
    min_p: float
    """Keeps tokens at least min_p times as likely as the likeliest (Nguyen et al. 2024). <= 0: off;
    above 1: 1. Not NaN. Default 0."""
    top_k: int
    """Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0."""
    top_k_ties: int
    """How the filters combine. All default to 0, the first constant of their enumeration."""
    top_p_ties: int
    filter_order: int
    temperature_order: int
    guidance_scale: float
    """Edits: see pipeline.h. All are off by default. Floats are finite.

    Classifier-free guidance by pipeline.guidance_logits. 0 and 1: off."""
    repetition_penalty: float
    """Penalties on tokens in the history: positive logits are divided by repetition_penalty, others
    multiplied by it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty is
    subtracted once per occurrence, presence_penalty once."""
    frequency_penalty: float
    presence_penalty: float
    penalty_window: int
    """Number of last history tokens that count. <= 0: all."""
    penalty_scope: int
    penalty_form: int
    exponential_decay_start: int
    """The exponential decay length penalty (Hugging Face): from the output's token
    exponential_decay_start on, the n-th token from there has the logits x of pipeline.stop at
    x + |x| * (exponential_decay_factor^n - 1).

    negative: 0"""
    exponential_decay_factor: float
    """0 and 1: off; not negative"""
    dry_multiplier: float
    """DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of
    n >= dry_allowed_length tokens loses dry_multiplier * dry_base^(n - dry_allowed_length).

    <= 0: off"""
    dry_base: float
    """0: 1.75; below 1: off"""
    dry_allowed_length: int
    """0: 2; negative: 0"""
    dry_window: int
    """last tokens searched for repeats; <= 0: all"""
    no_repeat_ngram_size: int
    """Bans tokens that would complete an n-gram of the history. <= 0: off."""
    min_new_tokens: int
    """pipeline.stop is banned before the output has min_new_tokens tokens. <= 0: no minimum."""
    bad_word_scope: int
    """History searched for bad words. OUTPUT: the output (vLLM); the others: all."""
    dynamic_temperature_range: float
    """Truncation windows: see pipeline.h. All are off by default, and none is NaN.

    Dynamic temperature: from max(0, T - range) to T + range, by (H / H_max)^exponent, H the
    entropy of its input (kalomaze 2023). Logits only.

    <= 0: off"""
    dynamic_temperature_exponent: float
    """0: 1; negative: 0"""
    typical_p: float
    """locally typical sampling (Meister et al. 2023). <= 0, >= 1: off"""
    top_n_sigma: float
    """n population standard deviations (Tang et al. 2024). <= 0: off"""
    epsilon_cutoff: float
    """(Hewitt et al. 2022). <= 0, >= 1: off"""
    eta_cutoff: float
    """(Hewitt et al. 2022). <= 0, >= 1: off"""
    top_h: float
    """(Potraghloo et al. 2025). <= 0, >= 1: off"""
    p_less: int
    """(Tan, Wu, Howard 2025). NONE: off"""
    min_k: float
    """tau of min-k (Ding et al. 2026), the tokens kept of a flat row times the range of its logits.
    <= 0: off. 3 is usual; the smallest float keeps what stands before the fall alone."""
    top_a: float
    """times the largest probability squared (KoboldAI 2022). <= 0: off"""
    xtc_probability: float
    """exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only"""
    xtc_threshold: float
    """0: 0.1; negative: 0; above 0.5: off"""
    typical_p_ties: int
    min_keep: int
    """Every window, top-k, top-p and min-p included, keeps at least min_keep tokens, if it
    has them.

    <= 1: one"""
    stages: Sequence_[int]
    """The order of all stages; 0 ends the list. Edits come first, ADAPTIVE last. Each enabled stage
    must be listed, none twice. With a list, filter_order must be SEQUENTIAL, which then has no
    effect, or JOINT, with the listed ones of top-k, top-p and min-p adjacent; temperature_order
    must be FIRST. All 0: the order of sampler_stage, with filter_order and temperature_order
    as documented."""
    adaptive_kind: int
    """Adaptive stages: see pipeline.h. All are off by default. Greedy rows ignore them. Drawn tokens
    update them: see pipeline.adaptive_values and sampler_accept.

    NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
    probability (negative: off; above 1: 1), or smoothing's factor (0: off; not negative). The
    rate is mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99),
    both 0 where negative, or smoothing's curve (0: 1; from 1 to 3). Both are finite, and ignored
    with NONE."""
    adaptive_target: float
    adaptive_rate: float
    top_p_decay: float
    """After each token the running top_p, initially top_p, is multiplied by top_p_decay, down
    to top_p_least.

    <= 0, >= 1: off. Not NaN"""
    top_p_least: float
    """finite"""
    top_p_sum: int
    """Sums and ties. All default to 0, the first constant of their enumeration.

    Whether the kept probability of top-p and typical-p must reach or exceed the threshold."""
    typical_p_sum: int
    cutoff_ties: int
    """Ties of epsilon and eta: KEEP keeps all tokens equal to the last one that min_keep requires, so
    all of the likeliest where no token reaches the threshold."""
    def __init__(
        self,
        *,
        temperature: float | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        top_k: int | None = None,
        top_k_ties: int | None = None,
        top_p_ties: int | None = None,
        filter_order: int | None = None,
        temperature_order: int | None = None,
        guidance_scale: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float | None = None,
        presence_penalty: float | None = None,
        penalty_window: int | None = None,
        penalty_scope: int | None = None,
        penalty_form: int | None = None,
        exponential_decay_start: int | None = None,
        exponential_decay_factor: float | None = None,
        dry_multiplier: float | None = None,
        dry_base: float | None = None,
        dry_allowed_length: int | None = None,
        dry_window: int | None = None,
        no_repeat_ngram_size: int | None = None,
        min_new_tokens: int | None = None,
        bad_word_scope: int | None = None,
        dynamic_temperature_range: float | None = None,
        dynamic_temperature_exponent: float | None = None,
        typical_p: float | None = None,
        top_n_sigma: float | None = None,
        epsilon_cutoff: float | None = None,
        eta_cutoff: float | None = None,
        top_h: float | None = None,
        p_less: int | None = None,
        min_k: float | None = None,
        top_a: float | None = None,
        xtc_probability: float | None = None,
        xtc_threshold: float | None = None,
        typical_p_ties: int | None = None,
        min_keep: int | None = None,
        stages: Sequence_[int] | None = None,
        adaptive_kind: int | None = None,
        adaptive_target: float | None = None,
        adaptive_rate: float | None = None,
        top_p_decay: float | None = None,
        top_p_least: float | None = None,
        top_p_sum: int | None = None,
        typical_p_sum: int | None = None,
        cutoff_ties: int | None = None,
    ) -> None: ...
    @staticmethod
    def preset(name: str) -> Params: ...
    def replace(self, **changes: Any) -> Params: ...
    def __copy__(self) -> Params: ...


@final
class RowParams:
    """Parameters by slot: [number of slots] each, in the handle's memory, or host memory with the
    handle's host_parameters. None: the scalar of that name for all. Every value has the scalar's
    meaning. NaN, or a temperature not allowed with probabilities, makes the slot's rows bad."""
    temperature: ArrayLike | None
    top_p: ArrayLike | None
    min_p: ArrayLike | None
    top_k: ArrayLike | None
    guidance_scale: ArrayLike | None
    repetition_penalty: ArrayLike | None
    frequency_penalty: ArrayLike | None
    presence_penalty: ArrayLike | None
    penalty_window: ArrayLike | None
    exponential_decay_start: ArrayLike | None
    exponential_decay_factor: ArrayLike | None
    dry_multiplier: ArrayLike | None
    dry_base: ArrayLike | None
    dry_allowed_length: ArrayLike | None
    dry_window: ArrayLike | None
    no_repeat_ngram_size: ArrayLike | None
    min_new_tokens: ArrayLike | None
    dynamic_temperature_range: ArrayLike | None
    dynamic_temperature_exponent: ArrayLike | None
    typical_p: ArrayLike | None
    top_n_sigma: ArrayLike | None
    epsilon_cutoff: ArrayLike | None
    eta_cutoff: ArrayLike | None
    top_h: ArrayLike | None
    p_less: ArrayLike | None
    """an unknown constant makes the row bad"""
    min_k: ArrayLike | None
    top_a: ArrayLike | None
    xtc_probability: ArrayLike | None
    xtc_threshold: ArrayLike | None
    min_keep: ArrayLike | None
    forced_token_id: ArrayLike | None
    """Token that the slot yields regardless of all else: the end of a thinking budget, a replayed
    trace. Negative: none. An id outside the row makes it bad (INVALID_PARAMETER).
    sampler_sample only."""
    adaptive_kind: ArrayLike | None
    """an unknown constant makes the row bad"""
    adaptive_target: ArrayLike | None
    adaptive_rate: ArrayLike | None
    top_p_decay: ArrayLike | None
    top_p_least: ArrayLike | None
    top_p_reset_token_id: ArrayLike | None
    """Token that resets the running top_p to top_p. Negative: none. None: none."""
    def __init__(
        self,
        *,
        temperature: ArrayLike | None = None,
        top_p: ArrayLike | None = None,
        min_p: ArrayLike | None = None,
        top_k: ArrayLike | None = None,
        guidance_scale: ArrayLike | None = None,
        repetition_penalty: ArrayLike | None = None,
        frequency_penalty: ArrayLike | None = None,
        presence_penalty: ArrayLike | None = None,
        penalty_window: ArrayLike | None = None,
        exponential_decay_start: ArrayLike | None = None,
        exponential_decay_factor: ArrayLike | None = None,
        dry_multiplier: ArrayLike | None = None,
        dry_base: ArrayLike | None = None,
        dry_allowed_length: ArrayLike | None = None,
        dry_window: ArrayLike | None = None,
        no_repeat_ngram_size: ArrayLike | None = None,
        min_new_tokens: ArrayLike | None = None,
        dynamic_temperature_range: ArrayLike | None = None,
        dynamic_temperature_exponent: ArrayLike | None = None,
        typical_p: ArrayLike | None = None,
        top_n_sigma: ArrayLike | None = None,
        epsilon_cutoff: ArrayLike | None = None,
        eta_cutoff: ArrayLike | None = None,
        top_h: ArrayLike | None = None,
        p_less: ArrayLike | None = None,
        min_k: ArrayLike | None = None,
        top_a: ArrayLike | None = None,
        xtc_probability: ArrayLike | None = None,
        xtc_threshold: ArrayLike | None = None,
        min_keep: ArrayLike | None = None,
        forced_token_id: ArrayLike | None = None,
        adaptive_kind: ArrayLike | None = None,
        adaptive_target: ArrayLike | None = None,
        adaptive_rate: ArrayLike | None = None,
        top_p_decay: ArrayLike | None = None,
        top_p_least: ArrayLike | None = None,
        top_p_reset_token_id: ArrayLike | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> RowParams: ...
    def __copy__(self) -> RowParams: ...


@final
class Pipeline:
    """Arrays are in the handle's memory and read when the work runs."""
    token_id_type: int | None
    """Type of every token id in this struct."""
    token_bitmask_rule: int
    history: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: the tokens so far, oldest first: prompt, then output. Penalties, DRY, n-grams, bad
    words and min_new_tokens need it."""
    prompt_lengths: ArrayLike | None
    """[slots] Prompt tokens in each history, in [0, its length]; others make the row bad
    (INVALID_LIST). None: 0, all is output."""
    max_history_tokens: int
    """Upper bound of history lengths; rows with a longer one are bad (INVALID_LIST). DRY and n-grams
    take 4 bytes of workspace per token of it. In [0, 2^31). 0: history.num_token_ids, or the
    state's max_tokens."""
    guidance_logits: ArrayLike | None
    """Classifier-free guidance (Sanchez et al. 2023): rows of logits u of the same tokens, as after
    another prompt, which make the call's logits x into u + guidance_scale * (x - u). They have the
    type, columns and stride of the call's logits; in a call with candidate_ids their elements are
    those of its rows. x stays where it or u is -inf; else a NaN or +inf makes the row bad
    (INVALID_VALUE). Only read where a slot's guidance_scale is on. Not for loops;
    in sessions sampler_session_advance has them."""
    num_guidance_rows: int
    """At least 1, and without guidance_row_indices one per output row; 0 if guidance_logits is
    None."""
    guidance_row_indices: ArrayLike | None
    """[output rows] The guidance row of each row; negative: none; num_guidance_rows or more: the row
    is bad (INVALID_INDEX). None: row i has row i."""
    biased: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens with a bias, added to their logits."""
    biases: ArrayLike | None
    """[biased.num_token_ids] Finite or -inf; other values make the row bad (INVALID_PARAMETER).
    Biases of an id listed twice are both added, in list order."""
    bias_contexts: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """A list for each entry of biased.token_ids, [biased.num_token_ids]: its bias is added only where
    the history ends in these tokens (Hugging Face's sequence_bias: the last token is biased, the
    others are the list). Empty lists: always. It needs a history. A row with an invalid list is
    bad (INVALID_LIST). offsets None: always, for all."""
    dense_bias: ArrayLike | None
    """[num_dense_biases, dense_bias_stride] Bias by id: one row for all slots, or one each. Ids from
    dense_bias_stride on get none. Stride 0: num_cols, but candidate_ids require a stride."""
    num_dense_biases: int
    dense_bias_stride: int
    allowed: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: the only tokens that may be drawn, unless the slot's list is empty. Duplicates
    are allowed."""
    banned: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens that must not be drawn."""
    stop: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens that must not be drawn before the output has min_new_tokens tokens, and that
    the exponential decay makes likelier."""
    unpenalized: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens that repetition, frequency and presence penalties leave as they are, such as
    newlines and ends."""
    bad_words: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words
    from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. None: every slot has all. A word's
    last token is banned where the history ends in the others. A word without tokens makes its rows
    bad (INVALID_LIST)."""
    bad_word_offsets: ArrayLike | None
    dry_breakers: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic
    order. Others make rows with DRY bad (INVALID_LIST)."""
    token_bitmasks: ArrayLike | None
    """[num_token_bitmasks, token_bitmask_stride] Bit i of word j is 1 where id 32 j + i may be drawn
    (xgrammar). Ids from 32 token_bitmask_stride on, as in a padded vocabulary, are allowed unless
    token_bitmask_rule is FORBIDS. The stride, in words, is also the length of a mask; 0:
    ceil(num_cols / 32), but candidate_ids require a stride. At least 1 mask, and without
    token_bitmask_indices one per output row; 0 if token_bitmasks is None."""
    num_token_bitmasks: int
    token_bitmask_stride: int
    token_bitmask_indices: ArrayLike | None
    """[output rows] The mask of each row; negative: none; num_token_bitmasks or more: the row is bad
    (INVALID_INDEX). None: row i has mask i, and there must be one for each."""
    state: State | None
    """Replaces history, prompt_lengths and adaptive_values, which must be None then: slot s of the
    call is slot s of the state, and the call has at most the state's slots. It belongs to the same
    handle, and is only read."""
    adaptive_values: ArrayLike | None
    """[slots, SAMPLER_NUM_ADAPTIVE_VALUES] For callers without a state, who update them from
    out_observations by section 14.2 of docs/contract.md. NaN is the start of its stage; infinity
    makes the row bad (INVALID_PARAMETER), even with the stage off. None: all start."""
    def __init__(
        self,
        *,
        token_id_type: int | None = None,
        token_bitmask_rule: int | None = None,
        history: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        prompt_lengths: ArrayLike | None = None,
        max_history_tokens: int | None = None,
        guidance_logits: ArrayLike | None = None,
        num_guidance_rows: int | None = None,
        guidance_row_indices: ArrayLike | None = None,
        biased: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        biases: ArrayLike | None = None,
        bias_contexts: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        dense_bias: ArrayLike | None = None,
        num_dense_biases: int | None = None,
        dense_bias_stride: int | None = None,
        allowed: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        banned: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        stop: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        unpenalized: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        bad_words: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        bad_word_offsets: ArrayLike | None = None,
        dry_breakers: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        token_bitmasks: ArrayLike | None = None,
        num_token_bitmasks: int | None = None,
        token_bitmask_stride: int | None = None,
        token_bitmask_indices: ArrayLike | None = None,
        state: State | None = None,
        adaptive_values: ArrayLike | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> Pipeline: ...
    def __copy__(self) -> Pipeline: ...


@final
class Reports:
    """Optional outputs beside the token ids, for sampler_sample, sampler_score, sampler_verify and
    sampler_session_advance; None: none.

    "Rows" are the rows of the call's tokens: the output rows of sampler_sample and sampler_score,
    [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
    sampler_session_advance. Token ids have the call's token_id_type, in sessions int32_t. Arrays are
    in the memory of the call's outputs. A count of 0 or a None array: not wanted. Reports that a
    call does not support must be 0; its documentation lists them.

    Reports describe the distribution of logprob_kind: the row as given (RAW), after its edits
    (EDITED), or as drawn from (PROCESSED), which excludes removed tokens. A greedy row is a single
    token in PROCESSED. Arithmetic: section 15 of docs/contract.md."""
    logprob_kind: int
    """The distribution of out_logprobs and of all members after out_observations."""
    out_logprobs: ArrayLike | bool | None
    """[rows] Natural log-probability of the row's token; NaN for a bad row. For rows of probabilities
    it is relative to the row's sum."""
    out_values: ArrayLike | bool | None
    """[rows] The token's input value, widened to f32; NaN for a bad row."""
    out_kept_counts: ArrayLike | bool | None
    """[rows] Number of kept tokens: 1 for a greedy row, 0 for a bad one."""
    out_observations: ArrayLike | bool | None
    """[rows] Input to the adaptive stage's update: the token's surprise in bits among those that
    mirostat kept, or its probability before adaptive-p changed it. NaN without an update."""
    num_top_logprobs: int
    """[rows, num_top_logprobs] The distribution's first tokens in rank order, and their
    log-probabilities; padding, and all of a bad row, is -1 and NaN. num_top_logprobs in
    [0, num_cols]; either array may be None, not both."""
    out_top_token_ids: ArrayLike | bool | None
    out_top_logprobs: ArrayLike | bool | None
    num_chosen: int
    """[rows, num_chosen] Log-probabilities of the caller's tokens: -inf outside the distribution; NaN
    for ids outside the row, and in bad rows. num_chosen in [0, num_cols]; unless it is 0 both
    are required."""
    chosen_token_ids: ArrayLike | None
    out_chosen_logprobs: ArrayLike | bool | None
    out_ranks: ArrayLike | bool | None
    """[rows] Rank of the row's token in the distribution, from 1; 0 for a bad row, and for a forced
    token outside the distribution."""
    out_entropies: ArrayLike | bool | None
    """[rows] The distribution's entropy in nats, >= 0; NaN for a bad row."""
    out_kept_bitmask: ArrayLike | bool | None
    """[rows, kept_bitmask_stride] The kept tokens, laid out like token_bitmasks; all 0 in a bad row.
    The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 * stride on have no
    bit. The stride is required with candidate_ids."""
    kept_bitmask_stride: int
    kept_capacity: int
    """[rows, kept_capacity] The kept tokens by ascending id, and their probabilities, which sum to 1
    up to rounding and equal sampler_filter's; padding, and all of a bad row, is -1 and 0. A row
    that keeps more than kept_capacity has an empty list; its count is in out_kept_counts. In
    [0, num_cols]; either array may be None, not both."""
    out_kept_token_ids: ArrayLike | bool | None
    out_kept_probabilities: ArrayLike | bool | None
    out_kept_offsets: ArrayLike | bool | None
    """[rows + 1] Packs the kept lists (CSR): row i's are the entries [offsets[i], offsets[i + 1]) of
    out_kept_token_ids and out_kept_probabilities, without gaps; a bad row's is empty.
    kept_capacity is then the size of each of the two arrays, for all rows together, at most 2^51;
    with 0 both may be None. If the lists do not all fit, neither array is written, but the offsets
    are: the lists are valid if the last offset is at most kept_capacity, else it is the size
    needed. Entries from the last offset on are not written. A call without rows writes one offset,
    0. None: lists of kept_capacity entries per row, as above. The workspace grows by up to
    kept_capacity entries."""
    out_removed_by: ArrayLike | bool | None
    """[rows, num_cols] Per element: the SAMPLER_STAGE_ that removed it (sampler_stage_name), 0 if
    kept, 255 if its input probability is 0 or the row has no such element; 255 everywhere in a bad
    row. For edits, the one after which the logit is -inf; with JOINT filters the first of top-k,
    top-p and min-p that removes it; in a greedy row TEMPERATURE, for tokens that the edits left.
    Sorts the row: some milliseconds for 128,256 columns."""
    def __init__(
        self,
        *,
        logprob_kind: int | None = None,
        out_logprobs: ArrayLike | bool | None = None,
        out_values: ArrayLike | bool | None = None,
        out_kept_counts: ArrayLike | bool | None = None,
        out_observations: ArrayLike | bool | None = None,
        num_top_logprobs: int | None = None,
        out_top_token_ids: ArrayLike | bool | None = None,
        out_top_logprobs: ArrayLike | bool | None = None,
        num_chosen: int | None = None,
        chosen_token_ids: ArrayLike | None = None,
        out_chosen_logprobs: ArrayLike | bool | None = None,
        out_ranks: ArrayLike | bool | None = None,
        out_entropies: ArrayLike | bool | None = None,
        out_kept_bitmask: ArrayLike | bool | None = None,
        kept_bitmask_stride: int | None = None,
        kept_capacity: int | None = None,
        out_kept_token_ids: ArrayLike | bool | None = None,
        out_kept_probabilities: ArrayLike | bool | None = None,
        out_kept_offsets: ArrayLike | bool | None = None,
        out_removed_by: ArrayLike | bool | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> Reports: ...
    def __copy__(self) -> Reports: ...


@final
class DraftLayout:
    """Layout of drafts and rows in sampler_verify. All 0, or None in sampler_verify_args: dense chains,
    one sequence after the other. Arrays are in the handle's memory and read when the work runs.
    Dense chains by the standard rule are faster with no member set but the two sequence strides."""
    target_sequence_stride: int
    """Dense: elements from one sequence's first row to the next one's, of `target` and of `draft`, at
    least the size of a sequence. 0: contiguous, or no draft."""
    draft_sequence_stride: int
    draft_token_stride: int
    """Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
    num_drafts; 0: num_drafts."""
    packing: int
    """Packed batches. num_sequences is required with packing, and with target_row_indices or
    bonus_row_indices, and may be 0; otherwise 0 takes it from target.num_rows. Sequences have at
    most num_drafts drafts; a sequence whose offsets decrease, lie outside, or are further apart is
    bad (INVALID_LIST). With packing draft_counts must be None."""
    draft_rows_by_slot: int
    """1: the row of `draft` for draft i is slot * num_drafts + i (vLLM, V2)."""
    packing_offsets: ArrayLike | None
    num_sequences: int
    num_packed_drafts: int
    """Packed only: entries of arrays by draft (0 with POSITIONS), and by position (with other
    packings only for target_row_indices)."""
    num_packed_positions: int
    target_row_indices: ArrayLike | None
    """[num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` for each
    position. With bonus_row_indices, [num_sequences], which has those of each sequence's last
    position, target_row_indices is laid out by draft, like draft_token_ids, and required if there
    may be drafts. None: position after position. An index outside makes its sequence bad
    (INVALID_INDEX) when read. `target` then has any number of rows."""
    bonus_row_indices: ArrayLike | None
    draft_row_indices: ArrayLike | None
    """[num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
    each draft was drawn from. `draft` then has any number of rows."""
    parents: ArrayLike | None
    """Trees. Each draft's parent, a lower index, -1 for the root: [tree_rows, num_drafts]. Or
    first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of its
    first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree for
    all, or num_sequences; 0: num_sequences. A draft with two parents, or in a cycle, makes its
    sequence bad (INVALID_TREE). None: a chain. Dense only.

    Siblings are tried in order. A rejected one leaves the residual to the next, by
    acceptance->sibling_rule. BLOCK and DEFERRED are for chains."""
    first_children: ArrayLike | None
    next_siblings: ArrayLike | None
    tree_rows: int
    def __init__(
        self,
        *,
        target_sequence_stride: int | None = None,
        draft_sequence_stride: int | None = None,
        draft_token_stride: int | None = None,
        packing: int | None = None,
        draft_rows_by_slot: int | None = None,
        packing_offsets: ArrayLike | None = None,
        num_sequences: int | None = None,
        num_packed_drafts: int | None = None,
        num_packed_positions: int | None = None,
        target_row_indices: ArrayLike | None = None,
        bonus_row_indices: ArrayLike | None = None,
        draft_row_indices: ArrayLike | None = None,
        parents: ArrayLike | None = None,
        first_children: ArrayLike | None = None,
        next_siblings: ArrayLike | None = None,
        tree_rows: int | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> DraftLayout: ...
    def __copy__(self) -> DraftLayout: ...


@final
class AcceptanceParams:
    """The acceptance rule and its parameters, shared by sampler_verify, sampler_speculative and
    sessions. None, or all 0: the context's rule and the defaults. Parameters of unused rules are
    checked, too."""
    rule: int
    sibling_rule: int
    """sampler_verify only; 0 elsewhere: how siblings of a tree were drafted, 0 without trees; and how
    SAMPLE_MATCH draws, INVERSE_CDF with other rules."""
    draw_method: int
    relaxed_top_k: int
    """Not NaN, not negative.

    0: 1"""
    relaxed_delta: float
    """difference of probabilities"""
    typical_threshold: float
    """0: 0.09"""
    typical_scale: float
    """0: 0.3"""
    threshold_single: float
    """0: 1"""
    threshold_total: float
    """0: 1"""
    deferred_entropy: float
    """nats; at least this is uncertain. 0: 0.3"""
    deferred_top_k: int
    """first tokens in the entropy. 0: 3"""
    deferred_window: int
    """0: min(6, max drafts per sequence - 1), at least 1"""
    synthetic_rates: ArrayLike | None
    """[max drafts per sequence] In [0, 1], by the draft's index in its sequence. In host memory, read
    during the call. Required by SYNTHETIC; None: no sequence has that rule."""
    def __init__(
        self,
        *,
        rule: int | None = None,
        sibling_rule: int | None = None,
        draw_method: int | None = None,
        relaxed_top_k: int | None = None,
        relaxed_delta: float | None = None,
        typical_threshold: float | None = None,
        typical_scale: float | None = None,
        threshold_single: float | None = None,
        threshold_total: float | None = None,
        deferred_entropy: float | None = None,
        deferred_top_k: int | None = None,
        deferred_window: int | None = None,
        synthetic_rates: ArrayLike | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> AcceptanceParams: ...
    def __copy__(self) -> AcceptanceParams: ...


@final
class UnmaskParams:
    """The rules by which candidates stand."""
    mask_token_id: int
    """Tokens that are mask_token_id, at least 0, are masked; a candidate that is it never stands."""
    block_length: int
    """Positions of a whole block, for texts of a session, see sampler_session_add_args; else 0."""
    confidence: int
    order_temperature: float
    """Draws the order, without replacement, by softmax(confidence / order_temperature): Dream's
    alg_temp. At most 1e-5: strictly by confidence. At most 2^64. Not NaN. Off with RANDOM and
    POSITION."""
    threshold: float
    """Commits every row whose confidence is above it (SGLang, LMDeploy's dynamic rule), with ENTROPY
    every row whose entropy is below it. <= 0: off, and below 0 an error with GIVEN, whose scores
    may be negative. Not NaN. Off with POSITION."""
    entropy_bound: float
    """ENTROPY: commits rows as long as the sum of the entropies before them, in nats, each at most
    16, is at most the bound; so at least one (the EB sampler, Ben-Hamu et al. 2025). <= 0: off.
    Not NaN. Off with other confidences."""
    edit_threshold: float
    """Puts candidates in the place of other tokens than the mask, where they differ and the
    confidence is above it (with ENTROPY the entropy below): LLaDA 2.1's edits. <= 0: off, with
    GIVEN as above. Not NaN. Off with RANDOM and POSITION."""
    num_committed: int
    """Commits at least the first num_committed rows of the order. <= 0: none by number."""
    num_steps_left: int
    """Commits at least the first ceil(masked / num_steps_left) rows, which fills the block in
    num_steps_left steps: LLaDA's schedule, and Hugging Face's of num_transfer_tokens. <= 0: off.
    In a session: the steps of each block."""
    blocks_after_prompt: int
    """For texts of a session. 0: blocks begin at multiples of block_length, so that the first one may
    have prompt tokens (SDAR, LLaDA 2). 1: the first one begins after the prompt (LLaDA, Dream)."""
    def __init__(
        self,
        *,
        mask_token_id: int | None = None,
        block_length: int | None = None,
        confidence: int | None = None,
        order_temperature: float | None = None,
        threshold: float | None = None,
        entropy_bound: float | None = None,
        edit_threshold: float | None = None,
        num_committed: int | None = None,
        num_steps_left: int | None = None,
        blocks_after_prompt: int | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> UnmaskParams: ...
    def __copy__(self) -> UnmaskParams: ...


@final
class WatermarkParams:
    scheme: int
    context_length: int
    """Tokens that a token's hash depends on besides it, in [1, 64]: transformers' context_width, of
    SELFHASH less 1, so that it may be 0; of TOURNAMENT ngram_len - 1."""
    vocabulary_size: int
    """Token ids lie in [0, vocabulary_size). In [2, 2^20)."""
    key: int
    """Green lists: transformers' hashing_key, 15485863 there; and the share of green tokens,
    greenlist_ratio, in (0, 1), 0.25 there. TOURNAMENT: 0."""
    green_share: float
    bias: float
    """Added to the logits of green tokens, finite: 2 there. TOURNAMENT: 0."""
    keeps_repeated: int
    """For sampler_watermark_score. 1: tokens count whose context (of green lists with the token) came
    before. 0: only the first of them."""
    keys: ArrayLike | None
    """[num_keys] TOURNAMENT: a key for each layer, in [1, 64]. Green lists: 0, not read."""
    num_keys: int
    table: ArrayLike | None
    """[table_size] What sampler_watermark_table wrote, for SELFHASH and TOURNAMENT; else not
    read, and 0. In [1, 2^24]; 0: 1000003 for SELFHASH, 65536 for TOURNAMENT, transformers' own."""
    table_size: int
    table_seed: int
    """Seed of the table of TOURNAMENT, sampling_table_seed; else 0."""
    def __init__(
        self,
        *,
        scheme: int | None = None,
        context_length: int | None = None,
        vocabulary_size: int | None = None,
        key: int | None = None,
        green_share: float | None = None,
        bias: float | None = None,
        keeps_repeated: int | None = None,
        keys: ArrayLike | None = None,
        num_keys: int | None = None,
        table: ArrayLike | None = None,
        table_size: int | None = None,
        table_seed: int | None = None,
    ) -> None: ...
    def replace(self, **changes: Any) -> WatermarkParams: ...
    def __copy__(self) -> WatermarkParams: ...


@final
class SampleResult(tuple[Any, ...]):
    @property
    def token_ids(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...
    @property
    def reports(self) -> ReportResult | None: ...


@final
class ScoreResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...
    @property
    def reports(self) -> ReportResult | None: ...


@final
class FilterResult(tuple[Any, ...]):
    @property
    def output(self) -> Any: ...
    @property
    def kept_counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class SelectResult(tuple[Any, ...]):
    @property
    def values(self) -> Any: ...
    @property
    def token_ids(self) -> Any: ...
    @property
    def counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class VerifyResult(tuple[Any, ...]):
    @property
    def token_ids(self) -> Any: ...
    @property
    def accepted_counts(self) -> Any: ...
    @property
    def emitted_counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...
    @property
    def reports(self) -> ReportResult | None: ...
    @property
    def positions(self) -> Any: ...
    @property
    def kv_indices(self) -> Any: ...


@final
class ResidualResult(tuple[Any, ...]):
    @property
    def output(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class UnmaskResult(tuple[Any, ...]):
    @property
    def changes(self) -> Any: ...
    @property
    def confidences(self) -> Any: ...
    @property
    def committed_counts(self) -> Any: ...
    @property
    def edited_counts(self) -> Any: ...
    @property
    def masked_counts(self) -> Any: ...
    @property
    def block_status(self) -> Any: ...


@final
class StateAppendResult(tuple[Any, ...]):
    @property
    def lengths(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class AcceptResult(tuple[Any, ...]):
    @property
    def lengths(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class StateTruncateResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


@final
class StateCopyResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


@final
class StateResetResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


@final
class StateReadResult(tuple[Any, ...]):
    @property
    def token_ids(self) -> Any: ...
    @property
    def lengths(self) -> Any: ...
    @property
    def prompt_lengths(self) -> Any: ...
    @property
    def adaptive_values(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


@final
class SessionAdvanceResult(tuple[Any, ...]):
    @property
    def token_ids(self) -> Any: ...
    @property
    def counts(self) -> Any: ...
    @property
    def finish_reasons(self) -> Any: ...
    @property
    def cache_lengths(self) -> Any: ...
    @property
    def drafter_cache_lengths(self) -> Any: ...
    @property
    def accepted_counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...
    @property
    def reports(self) -> ReportResult | None: ...


@final
class ReportResult(tuple[Any, ...]):
    @property
    def logprobs(self) -> Any: ...
    @property
    def values(self) -> Any: ...
    @property
    def kept_counts(self) -> Any: ...
    @property
    def observations(self) -> Any: ...
    @property
    def top_token_ids(self) -> Any: ...
    @property
    def top_logprobs(self) -> Any: ...
    @property
    def chosen_logprobs(self) -> Any: ...
    @property
    def ranks(self) -> Any: ...
    @property
    def entropies(self) -> Any: ...
    @property
    def kept_bitmask(self) -> Any: ...
    @property
    def kept_token_ids(self) -> Any: ...
    @property
    def kept_probabilities(self) -> Any: ...
    @property
    def kept_offsets(self) -> Any: ...
    @property
    def removed_by(self) -> Any: ...

@final
class Sampler:
    def __new__(
        cls,
        device: Any = "cpu",
        *,
        threads: int | None = 0,
        max_rows: int | None = 0,
        max_cols: int | None = 0,
        fallback_token_id: int | None = None,
        host_parameters: bool = False,
        check_pointers: bool = False,
        parallel_for: int | None = 0,
        parallel_for_user: int | None = 0,
        allocator: tuple[int, int, int] | None = None,
        log: Callable[[int, str], Any] | None = None,
    ) -> Self: ...
    @property
    def closed(self) -> bool: ...
    @property
    def device(self) -> str: ...
    @property
    def kept_workspace_bytes(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def argmax(
        self, input: ArrayLike | Rows, out_token_ids: ArrayLike | None = None, stream: Any = None
    ) -> Any: ...
    def categorical(
        self,
        input: ArrayLike | Rows,
        temperature: float,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_k(
        self,
        input: ArrayLike | Rows,
        top_k: int,
        temperature: float,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_p(
        self,
        input: ArrayLike | Rows,
        top_p: float,
        temperature: float,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def min_p(
        self,
        input: ArrayLike | Rows,
        min_p: float,
        temperature: float,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_k_top_p(
        self,
        input: ArrayLike | Rows,
        top_k: int,
        top_p: float,
        temperature: float,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def softmax(
        self,
        input: ArrayLike | Rows,
        temperature: float,
        output: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_k_renorm(
        self,
        input: ArrayLike | Rows,
        top_k: int,
        output: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_p_renorm(
        self,
        input: ArrayLike | Rows,
        top_p: float,
        output: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_k_mask(
        self,
        input: ArrayLike | Rows,
        top_k: int,
        output: ArrayLike | None = None,
        stream: Any = None,
    ) -> Any: ...
    def top_k_select(
        self,
        input: ArrayLike | Rows,
        num_selected: int,
        out_values: ArrayLike | bool | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        stream: Any = None,
    ) -> tuple[Any, Any]: ...
    def chain_speculative(
        self,
        target: ArrayLike | Rows,
        draft: ArrayLike | Rows | None,
        draft_token_ids: ArrayLike,
        num_drafts: int,
        seed: int,
        offset: int,
        out_token_ids: ArrayLike | None = None,
        out_accepted_counts: ArrayLike | bool | None = None,
        out_emitted_counts: ArrayLike | bool | None = None,
        stream: Any = None,
    ) -> tuple[Any, Any, Any]: ...
    def sample(
        self,
        input: ArrayLike | Rows,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        row_indices: ArrayLike | None = None,
        num_row_indices: int | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        draw_method: int | None = None,
        token_id_type: int | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
    ) -> SampleResult:
        """Draws one token per output row from its filtered input row.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        row_indices
            [num_row_indices] The input row of each output row, in [0, input.num_rows); other values make
            the output row bad. There are then num_row_indices output rows, in [0, 2^31). Output rows with
            the same input row and parameters share its preparation. None and 0: output row i draws from
            input row i.
        slots
            [output rows] The slot of each output row, in [0, num_slots); other values make the row bad.
            For engines that keep parameters, seeds and offsets per sequence, in arrays of num_slots
            entries: row_params and random are indexed by slot, logits by row. None and 0: output row i has
            slot i.
        params
            None: temperature 1 and no filter.
        row_params
            None: `params` for all.
        pipeline
            Edits of the logits. None: none.
        seeds
            [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's
            number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
            token depends on its seed and offset alone, not on its place.
        draw_method
            GUMBEL rounds logit / temperature + noise to f32: logits above about 1,000 in size coarsen the
            noise, and sums beyond 2^126, or -2^126, tie, so that the lowest of their ids is drawn.
        token_id_type
            Type of out_token_ids, and of ids in reports.
        out_token_ids
            [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
            for a bad row. Required.
        out_row_status
            [output rows] SAMPLER_ROW_ bits. None: not wanted.
        reports
            Optional outputs per output row; all of sampler_report_args is supported. None: none."""
        ...
    def score(
        self,
        input: ArrayLike | Rows,
        token_ids: ArrayLike,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        row_indices: ArrayLike | None = None,
        num_row_indices: int | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        token_id_type: int | None = None,
        kept: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
    ) -> ScoreResult:
        """Reports on given tokens what sampler_sample reports on drawn ones, bit for bit. Nothing is drawn:
        log-probabilities for training on what was sampled, scores of choices, perplexity.

        token_ids
            [output rows] The tokens to score. A negative one, and one outside the row, makes the row bad
            (INVALID_PARAMETER), which suits padding. Required.
        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        seeds
            [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's
            number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
            token depends on its seed and offset alone, not on its place.
        token_id_type
            Type of token_ids, of kept, and of ids in reports.
        kept
            A list for each output row: the tokens that were kept when its token was drawn, in any order.
            They replace filters, windows and pipeline.allowed: PROCESSED log-probabilities are relative to
            them, after the edits, at the temperature. A row with an empty list is bad (EMPTY).

            num_lists is the number of output rows; num_token_ids may be more than the last offset, so
            out_kept_offsets and out_kept_token_ids of an earlier call do as they are. Logits only;
            reports->logprob_kind must be PROCESSED, the kind that depends on what was kept. Dynamic
            temperature, adaptive-p and smoothing, which depend on more, must be off, and not given by slot.

            offsets None: filters and windows decide, as in sampler_sample.
        out_row_status
            [output rows] SAMPLER_ROW_ bits. None: not wanted.
        reports
            Outputs per output row, out_logprobs among them. None: none."""
        ...
    def filter(
        self,
        input: ArrayLike | Rows,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        output_kind: int | None = None,
        output_dtype: int | None = None,
        output: ArrayLike | bool | None = None,
        output_stride: int | None = None,
        out_kept_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        pipeline: Pipeline | None = None,
    ) -> FilterResult:
        """Writes the filtered rows: softmax without filters, renormalisation, masks.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        slots
            [input.num_rows] As in sampler_sample_args.
        output_kind
            PROBABILITIES: softmax of the kept tokens, which sums to 1 up to rounding; one-hot when greedy;
            exactly 0 throughout a bad row. VALUES: kept logits unchanged, -inf elsewhere; a bad row is
            copied. VALUES needs logits.
        output_dtype
            SAMPLER_F32 or input.dtype.
        output
            [input.num_rows, input.num_cols] Rows output_stride elements apart, at least num_cols; 0:
            num_cols. With candidate lists an element belongs to the candidate at the same position, and
            those past a row's last one are written as removed. Required.
        out_kept_counts
            [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. None: not wanted.
        pipeline
            Edits of the logits, as in sampler_sample_args: VALUES writes the edited logits."""
        ...
    def select(
        self,
        input: ArrayLike | Rows,
        num_selected: int,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        selected_counts: ArrayLike | None = None,
        output_dtype: int | None = None,
        token_id_type: int | None = None,
        out_values: ArrayLike | bool | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> SelectResult:
        """Writes the first tokens of each row in rank order: their values and ids.

        num_selected
            Maximum tokens per row: columns of the outputs, in [1, input.num_cols].
        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        selected_counts
            [input.num_rows] Tokens per row. <= 0 or >= num_selected: num_selected. In host memory with the
            handle's host_parameters. None: num_selected for all.
        output_dtype
            Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.
        out_values
            [input.num_rows, num_selected] Values and ids, in rank order and contiguous. +inf is an
            ordinary value here; NaN makes the row bad. Missing tokens, and all of a bad row, are -inf
            (probabilities: 0) and -1. Either array may be None, not both.
        out_counts
            [input.num_rows] Tokens written per row; 0 for a bad row. None: not wanted."""
        ...
    def verify(
        self,
        target: ArrayLike | Rows,
        draft: ArrayLike | Rows | None = None,
        draft_token_ids: ArrayLike | None = None,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        num_drafts: int | None = None,
        draft_counts: ArrayLike | None = None,
        layout: DraftLayout | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        draft_params: Params | None = None,
        draft_row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        forced_token_ids: ArrayLike | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        acceptance: AcceptanceParams | None = None,
        acceptances: ArrayLike | None = None,
        token_id_type: int | None = None,
        accumulate_counts: int | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_accepted_counts: ArrayLike | bool | None = None,
        out_emitted_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
        out_positions: ArrayLike | bool | None = None,
        kv_indices: ArrayLike | None = None,
        out_kv_indices: ArrayLike | bool | None = None,
    ) -> VerifyResult:
        """Verifies each sequence's drafts and emits between 1 and num_drafts + 1 tokens.

        target
            [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
            after the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
            layout->target_sequence_stride, and determines num_sequences. In rows given as probabilities
            only the drafts' elements are read before the first rejection; a candidate list is read whole,
            so that any bad element makes the sequence bad.
        draft
            [num_sequences, num_drafts, num_cols] The distributions that the drafts were drawn from. Its
            num_cols is the target's. All 0: a deterministic drafter (its draft has probability 1), as with
            n-gram drafts. A token outside a candidate list has probability 0.
        draft_token_ids
            [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
            vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected with residual p. Required,
            unless num_drafts is 0. num_drafts is in [0, 65535].
        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        draft_counts
            [num_sequences] Drafts per sequence, in [0, num_drafts]; values outside are clamped and set a
            status. None: num_drafts.
        layout
            Packed batches, row indices, and trees. None: dense chains.
        slots
            [num_sequences]
        params
            Temperature and filters of rows of logits, target and draft alike. If the target is
            probabilities the temperature must be 1 or greedy; if the draft is too (or absent), the filters
            must be off. A violation fails the call; in an array, it makes the sequence bad:
            SAMPLER_ROW_INVALID_PARAMETER. Greedy: drafts are accepted while they are the target's argmax,
            and the next token is the argmax too.
        draft_params
            Temperature and filters of `draft`. None: the target's, which must then have no other stage if
            the draft is logits.
        pipeline
            Stages of the target's rows. At each position the history and adaptive values are as if the
            drafts before it had been accepted; nothing is changed. token_bitmask_indices is
            [num_sequences, num_drafts + 1], by position, in trees and packed batches too.
        forced_token_ids
            [num_sequences, num_drafts + 1] By position, likewise: the token that is decided there whatever
            its row and the rule, of token_id_type, as at the end of a thinking budget. A draft that equals
            it is accepted; else it is emitted, and the drafts after it are rejected. Negative: none. An id
            outside the row makes the sequence bad (INVALID_PARAMETER) where it is reached. A chain with
            one is verified by STANDARD instead of BLOCK and DEFERRED, which decide on whole chains. None:
            none. row_params->forced_token_id must be None.
        seeds
            [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's
            number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
            token depends on its seed and offset alone, not on its place.
        acceptance
            The rule and its parameters. None, or rule 0: SAMPLER_ACCEPT_STANDARD, the fastest for
            dense chains.
        acceptances
            The rule by slot, 0: that of `acceptance`. An unknown constant, or a rule incompatible with the
            call, makes its sequence bad (INVALID_PARAMETER). None: `acceptance` for all.
        token_id_type
            Type of draft_token_ids and out_token_ids, and of ids in reports.
        accumulate_counts
            1: counts are added to the two arrays. 0: they overwrite them.
        out_token_ids
            [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. All
            -1 for a bad sequence (the handle's fallback token first, if it has one). Required.
        out_accepted_counts
            [num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, at any
            position. Positions after the first rejection count only here: nothing there changes a token
            or, draft ids apart, a status. For trees, and for rules other than STANDARD, it
            equals out_emitted_counts.
        out_emitted_counts
            Drafts kept before the first rejection: out_token_ids has one token more.
        reports
            Optional outputs per emitted token, in the order of out_token_ids, from the target's
            distribution at its position; without a token, as for a bad row. out_values, num_chosen,
            out_kept_offsets and out_removed_by, with their related members, must be 0. None: none.
        out_positions
            [num_sequences, num_drafts + 1] Positions where the emitted tokens were decided, 0 first, then
            -1: the KV cache rows to keep. kv_indices, of the same shape, has a number per position (packed
            batches too); out_kv_indices has those of out_positions. None: not wanted."""
        ...
    def residual(
        self,
        target: ArrayLike | Rows,
        draft: ArrayLike | Rows | None = None,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        draft_token_ids: ArrayLike | None = None,
        token_id_type: int | None = None,
        output_dtype: int | None = None,
        output: ArrayLike | bool | None = None,
        output_stride: int | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> ResidualResult:
        """Writes the distribution after a rejection in sampler_verify: max(p - q, 0) of each row,
        renormalised, or p where that is 0 everywhere.

        target
            [num_rows, num_cols] The target's probabilities, p. Used as given, so they should sum to 1. Not
            candidate lists.
        draft
            [num_rows, num_cols] The draft probabilities, q, of the same shape, used as given. All 0: a
            deterministic drafter, with its proposals in draft_token_ids.
        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        draft_token_ids
            [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. An id
            outside [0, num_cols) leaves p as the residual, and sets a status. Required if draft is all 0,
            else None.
        output_dtype
            SAMPLER_F32, or target.dtype.
        output
            [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
            left; 0 throughout a bad row. Rows start output_stride elements apart, at least num_cols; 0:
            num_cols. Required.
        out_row_status
            [num_rows] None: not wanted. A row of p or q with a negative, NaN or infinite element is bad;
            an all-zero p is empty. An all-zero q subtracts nothing."""
        ...
    def unmask(
        self,
        candidate_token_ids: ArrayLike,
        scores: ArrayLike | None = None,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        num_rows: int | None = None,
        block_offsets: ArrayLike | None = None,
        num_blocks: int | None = None,
        token_id_type: int | None = None,
        params: UnmaskParams | None = None,
        candidate_status: ArrayLike | None = None,
        score_stride: int | None = None,
        token_ids: ArrayLike | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        block_num_committed: ArrayLike | None = None,
        block_num_steps_left: ArrayLike | None = None,
        out_changes: ArrayLike | bool | None = None,
        out_confidences: ArrayLike | bool | None = None,
        out_committed_counts: ArrayLike | bool | None = None,
        out_edited_counts: ArrayLike | bool | None = None,
        out_masked_counts: ArrayLike | bool | None = None,
        out_block_status: ArrayLike | bool | None = None,
    ) -> UnmaskResult:
        """Commits the candidates that each block's rules let stand: at least the number asked for, and all
        that the threshold or the entropy bound lets through. INVALID_ARGUMENT, WORKSPACE_TOO_SMALL,
        CUDA, INTERNAL. A block with masked rows may commit none, if no candidate can stand, or neither
        number nor bound is set.

        candidate_token_ids
            [num_rows] A candidate for each row. A negative one never stands. Required.
        scores
            [num_rows, score_stride] The first score of each row is read, with MARGIN the first two.
            Required, or None, as params->confidence says.
        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        num_rows
            Positions of all blocks, in [0, 2^31).
        block_offsets
            [num_blocks + 1] Block b has the rows [block_offsets[b], block_offsets[b + 1]), which may be
            none. Offsets ascend, in [0, num_rows]; where any does not, all blocks are bad (INVALID_INDEX)
            and no row is written. Rows of no block are neither read nor written. None: blocks of
            num_rows / num_blocks rows, without a rest.
        num_blocks
            In [0, 65536].
        token_id_type
            Type of candidate_token_ids and token_ids.
        params
            None: all 0.
        candidate_status
            [num_rows] SAMPLER_ROW_ bits. The candidate of a bad row never stands, nor that of a row with a
            NaN score. None: no other row is bad. Give it where a bad row has a fallback token.
        score_stride
            In elements. 0: 1, with MARGIN 2.
        token_ids
            [num_rows] The positions' tokens, read and written. None: all rows are masked,
            params->mask_token_id must be 0, and edit_threshold off.
        slots
            [num_rows] As in sampler_sample_args, for RANDOM and order_temperature; the candidate of a row
            with an invalid slot does not stand then. Random numbers follow from the slot and the row's
            place in its block: rows of a block may share a slot, blocks should not.
        seeds
            [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's
            number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a
            token depends on its seed and offset alone, not on its place.
        block_num_committed
            [num_blocks] num_committed and num_steps_left of each block. In host memory with the
            handle's host_parameters. None: those of `params`.
        out_changes
            [num_rows] What happened to each row: a SAMPLER_UNMASK_ constant. None: not wanted.
        out_confidences
            [num_rows] The confidences; NaN where there is none. None: not wanted.
        out_committed_counts
            [num_blocks] Rows committed, rows edited, and rows that are masked still: 0 when the block is
            done. A bad block has 0, 0 and -1. None: not wanted.
        out_block_status
            [num_blocks] SAMPLER_ROW_ bits of each block. None: not wanted."""
        ...
    def sample_workspace_size(
        self,
        input: ArrayLike | Rows,
        *,
        row_indices: ArrayLike | None = None,
        num_row_indices: int | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        draw_method: int | None = None,
        token_id_type: int | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
    ) -> int:
        """How many bytes of workspace `sample` needs with these arguments. No array is read or written."""
        ...
    def score_workspace_size(
        self,
        input: ArrayLike | Rows,
        token_ids: ArrayLike,
        *,
        row_indices: ArrayLike | None = None,
        num_row_indices: int | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        token_id_type: int | None = None,
        kept: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
    ) -> int:
        """How many bytes of workspace `score` needs with these arguments. No array is read or written."""
        ...
    def filter_workspace_size(
        self,
        input: ArrayLike | Rows,
        *,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        output_kind: int | None = None,
        output_dtype: int | None = None,
        output: ArrayLike | bool | None = None,
        output_stride: int | None = None,
        out_kept_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        pipeline: Pipeline | None = None,
    ) -> int:
        """How many bytes of workspace `filter` needs with these arguments. No array is read or written."""
        ...
    def select_workspace_size(
        self,
        input: ArrayLike | Rows,
        num_selected: int,
        *,
        selected_counts: ArrayLike | None = None,
        output_dtype: int | None = None,
        token_id_type: int | None = None,
        out_values: ArrayLike | bool | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> int:
        """How many bytes of workspace `select` needs with these arguments. No array is read or written."""
        ...
    def verify_workspace_size(
        self,
        target: ArrayLike | Rows,
        draft: ArrayLike | Rows | None = None,
        draft_token_ids: ArrayLike | None = None,
        *,
        num_drafts: int | None = None,
        draft_counts: ArrayLike | None = None,
        layout: DraftLayout | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        draft_params: Params | None = None,
        draft_row_params: RowParams | None = None,
        pipeline: Pipeline | None = None,
        forced_token_ids: ArrayLike | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        acceptance: AcceptanceParams | None = None,
        acceptances: ArrayLike | None = None,
        token_id_type: int | None = None,
        accumulate_counts: int | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_accepted_counts: ArrayLike | bool | None = None,
        out_emitted_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
        out_positions: ArrayLike | bool | None = None,
        kv_indices: ArrayLike | None = None,
        out_kv_indices: ArrayLike | bool | None = None,
    ) -> int:
        """How many bytes of workspace `verify` needs with these arguments. No array is read or written."""
        ...
    def residual_workspace_size(
        self,
        target: ArrayLike | Rows,
        draft: ArrayLike | Rows | None = None,
        *,
        draft_token_ids: ArrayLike | None = None,
        token_id_type: int | None = None,
        output_dtype: int | None = None,
        output: ArrayLike | bool | None = None,
        output_stride: int | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> int:
        """How many bytes of workspace `residual` needs with these arguments. No array is read or written."""
        ...
    def unmask_workspace_size(
        self,
        candidate_token_ids: ArrayLike,
        scores: ArrayLike | None = None,
        *,
        num_rows: int | None = None,
        block_offsets: ArrayLike | None = None,
        num_blocks: int | None = None,
        token_id_type: int | None = None,
        params: UnmaskParams | None = None,
        candidate_status: ArrayLike | None = None,
        score_stride: int | None = None,
        token_ids: ArrayLike | None = None,
        slots: ArrayLike | None = None,
        num_slots: int | None = None,
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        block_num_committed: ArrayLike | None = None,
        block_num_steps_left: ArrayLike | None = None,
        out_changes: ArrayLike | bool | None = None,
        out_confidences: ArrayLike | bool | None = None,
        out_committed_counts: ArrayLike | bool | None = None,
        out_edited_counts: ArrayLike | bool | None = None,
        out_masked_counts: ArrayLike | bool | None = None,
        out_block_status: ArrayLike | bool | None = None,
    ) -> int:
        """How many bytes of workspace `unmask` needs with these arguments. No array is read or written."""
        ...
    def state_size(
        self,
        *,
        num_slots: int | None = None,
        max_tokens: int | None = None,
        max_distinct_tokens: int | None = None,
        keep_adaptive_values: int | None = None,
    ) -> int:
        """Bytes of memory of such a state, device memory included.
        Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (an impossible size).

        num_slots
            In [1, 2^31).
        max_tokens
            The longest sequence, its prompt included. In [1, 2^31).
        max_distinct_tokens
            Distinct tokens per slot with counts, 20 bytes each, in [0, max_tokens]; 0: a quarter of
            max_tokens, at least 64, at most max_tokens. A sequence with more is recounted in each draw:
            same results, but slower.
        keep_adaptive_values
            1: keeps the adaptive values after each token, 16 bytes each, and truncating restores them. 0:
            truncating leaves them."""
        ...
    def session_size(
        self,
        *,
        max_sequences: int | None = None,
        max_context: int | None = None,
        vocabulary_size: int | None = None,
        logits_dtype: int | None = None,
        keep_drafter_rows: int | None = None,
        max_drafts: int | None = None,
        drafter_context: int | None = None,
        lookup_tokens: int | None = None,
        max_end_tokens: int | None = None,
        max_stop_sequences: int | None = None,
        max_stop_tokens: int | None = None,
        max_top_logprobs: int | None = None,
        params: Params | None = None,
        pipeline: Pipeline | None = None,
        acceptance: AcceptanceParams | None = None,
        has_draft_trees: int | None = None,
        has_adaptive_gamma: int | None = None,
        clock: int | None = None,
        clock_user: int | None = None,
        stream: Any = None,
        filler_top_k: int | None = None,
        has_blocks: int | None = None,
        confidence_kind: int | None = None,
    ) -> int:
        """Bytes of memory of such a session, device memory included. Errors:
        INVALID_ARGUMENT, OUT_OF_MEMORY.

        max_sequences
            Maximum sequences, including finished ones not yet removed. In [1, 2^20].
        max_context
            Maximum tokens of a text, its prompt included: the capacity of the target's cache. In
            [1, 2^31). A sequence takes 13 bytes per token of it, about 900 bytes, and per draft of
            max_drafts 30 to 60, and 8 more for each of max_top_logprobs, beside the calls' workspace.
        vocabulary_size
            Columns of the logits, in [1, 2^20), and their type.
        keep_drafter_rows
            1: the session keeps the drafter's rows, max_drafts rows of logits per sequence, which
            STANDARD, BLOCK, RELAXED and DEFERRED require for a drafter model's drafts. Default 0.
        max_drafts
            Maximum drafts per sequence and step, in [0, 1024]. Default 0: no drafts.
        drafter_context
            Capacity of the drafter model's cache in tokens; a longer text continues without drafts, as
            is_drafting of sampler_session_get reports. In [0, 2^31). 0: max_context.
        lookup_tokens
            Capacity of each sequence's prompt lookup, at 132 bytes per token; a longer text continues
            without drafts. In [0, 2^27]. Default 0: SAMPLER_DRAFTS_PROMPT_LOOKUP is unavailable.
        max_end_tokens
            Per sequence: end tokens, stop sequences, and tokens of all its stop sequences.
            In [0, 2^20].
        max_top_logprobs
            Maximum num_top_logprobs of sampler_session_advance, in [0, vocabulary_size]. Default 0.
        params
            Parameters common to all sequences: rules for ties, orders, scopes and forms, and the list of
            stages. Its numbers are the defaults of sequences added without parameters; guidance_scale must
            be off. None: temperature 1 and no filter.
        pipeline
            Lists and masks of the stages, by slot: the sequence's number, of max_sequences. None: none.
            The struct is copied; its arrays remain the caller's, and are read in each advance. history,
            prompt_lengths, adaptive_values, state and token_bitmask_indices must be 0: the session's texts
            are the history. guidance_logits must be None: sampler_session_advance has them. If `stop` is 0
            it is the end tokens of each sequence, as min_new_tokens and the exponential decay require.
        acceptance
            Default acceptance rule of sequences, and the rules' parameters; max_drafts is the max drafts
            per sequence. Rule 0, and None: SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.
        has_draft_trees
            1: sequences may use draft_top_k. Default 0.
        has_adaptive_gamma
            1: sequences may use adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.
        clock
            For SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock.
        stream
            CUDA: all of the session's work is enqueued on it, and logits are read in its order: wait first
            for work on other streams that computes them. It must outlive the session. None: the legacy
            default stream. A CPU handle ignores it.
        filler_top_k
            Tokens that the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn per new position: the
            target's filler_top_k likeliest, in [0, 2^20), then the token of the text unless among them.
            Takes as many ids per row of logits, max_drafts + 1 rows per sequence. Default 0: only the
            token of the text.
        has_blocks
            1: sequences may have `unmask`, with blocks of at most max_drafts + 1 positions, at about 50
            bytes per position of each sequence. Default 0.
        confidence_kind
            For blocks: the rows whose log-probabilities and entropies are the confidences."""
        ...

@final
class State:
    def __new__(
        cls,
        sampler: Sampler,
        *,
        num_slots: int | None = None,
        max_tokens: int | None = None,
        max_distinct_tokens: int | None = None,
        keep_adaptive_values: int | None = None,
    ) -> Self: ...
    @property
    def closed(self) -> bool: ...
    @property
    def sampler(self) -> Sampler: ...
    @property
    def num_slots(self) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def serialize(self, first_slot: int | None = 0, num_slots: int | None = None) -> bytes: ...
    def deserialize(self, data: _Buffer, first_slot: int | None = 0) -> int: ...
    def append(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_rows: int | None = None,
        tokens: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        token_id_type: int | None = None,
        token_kind: int | None = None,
        out_lengths: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> StateAppendResult:
        """Appends a prompt, or text not drawn here. Adaptive values do not change.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        tokens
            A list per row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none: its
            offsets must be valid (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in
            [0, 2^31) (INVALID_LIST).
        token_kind
            Prompt tokens after an output token make the row bad (INVALID_LIST).
        out_lengths
            [num_rows] Tokens in each slot afterwards; -1 for a bad slot. None: not wanted."""
        ...
    def accept(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_rows: int | None = None,
        token_ids: ArrayLike | None = None,
        num_tokens: int | None = None,
        token_id_type: int | None = None,
        observations: ArrayLike | None = None,
        params: Params | None = None,
        row_params: RowParams | None = None,
        offsets: ArrayLike | None = None,
        out_lengths: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> AcceptResult:
        """Accepts drawn tokens: they enter history and counts, and each updates the adaptive values, by
        section 14.2 of docs/contract.md.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        token_ids
            [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends
            at its first negative id; with a negative first id nothing happens. All of a row's tokens are
            accepted, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the
            slot's adaptive parameters valid (INVALID_PARAMETER), as reported in out_row_status. num_tokens
            in [1, 2^20].
        observations
            [num_rows, num_tokens] out_observations of the call that drew the tokens. A NaN updates neither
            mirostat nor adaptive-p. None: all are NaN.
        params
            Those of that call: only the adaptive stage, top_p and its decay are read. Arrays by slot are
            indexed by this call's slots and have an entry per slot of the state. Both None: adaptive
            values do not change.
        offsets
            [slots of the state] In and out: each grows by the number of tokens its slot accepted. May be
            the draw's sampler_random.offsets, so that a loop of draw and accept needs no host. None: the
            caller updates offsets.
        out_lengths
            [num_rows] As in sampler_state_append_args."""
        ...
    def truncate(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_rows: int | None = None,
        lengths: ArrayLike | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> StateTruncateResult:
        """Removes the tokens after the first `lengths`, as if never appended: the slot's bytes are
        restored. Prompts may be cut, too.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        lengths
            [num_rows] Tokens to keep. More than there are: all; negative: none. Required."""
        ...
    def copy(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        source_slots: ArrayLike | None = None,
        destination_slots: ArrayLike | None = None,
        num_rows: int | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> StateCopyResult:
        """Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of
        earlier tokens are copied if both states keep them; if only the destination does, they are the
        source's current ones.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        source_slots
            [num_rows] Both required. A source may serve many rows. Within one state no destination may be
            a source of another row.
        out_row_status
            STATE_FULL: the source's tokens do not fit in the destination, which is unchanged."""
        ...
    def reset(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_rows: int | None = None,
        adaptive_values: ArrayLike | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> StateResetResult:
        """Empties slots for new sequences.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        slots
            None and num_rows 0: every slot, and no array is read or written.
        adaptive_values
            [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] Initial values; NaN is the start of its stage, infinity
            makes the row bad (INVALID_PARAMETER). None: all start."""
        ...
    def read(
        self,
        *,
        stream: Any = None,
        workspace: ArrayLike | None = None,
        workspace_bytes: int | None = None,
        slots: ArrayLike | None = None,
        num_rows: int | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        num_tokens: int | None = None,
        token_id_type: int | None = None,
        out_lengths: ArrayLike | bool | None = None,
        out_prompt_lengths: ArrayLike | bool | None = None,
        out_adaptive_values: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
    ) -> StateReadResult:
        """Reads the contents of slots. None outputs are not written.

        stream
            Stream of the work. Ignored by a CPU handle.
        workspace
            Memory for the call, at least as many bytes as its _workspace_size function returns; any
            alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one
            thread, or one stream. Its contents are undefined before and after a call.
        out_token_ids
            [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31).
        out_lengths
            [num_rows] each; -1 for a bad slot.
        out_adaptive_values
            [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN for a stage not yet started."""
        ...

class _Ngram:
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def next_token(self, context: ArrayLike, seed: int, offset: int) -> tuple[int, bool]: ...
    def has_gram(self, context: ArrayLike, /) -> bool: ...
    def update(self, context: ArrayLike, next_token_ids: ArrayLike) -> None: ...
    def initialize(self, token_ids: ArrayLike, /) -> None: ...
    def propose(
        self,
        context: ArrayLike,
        num_drafts: int,
        least_count: int | None = 0,
        least_share: float | None = 0.0,
        out_token_ids: ArrayLike | None = None,
    ) -> Any: ...
    def reset(self) -> None: ...

@final
class NgramStats(tuple[int, ...]):
    num_contexts: int
    num_updates: int
    num_dropped: int
    memory_bytes: int

@final
class NgramStorage(_Ngram):
    def __new__(
        cls,
        *,
        kind: int | None = None,
        order: int | None = None,
        vocabulary_size: int | None = None,
        memory_limit: int | None = None,
        allocator: tuple[int, int, int] | None = None,
    ) -> Self: ...
    def stats(self) -> NgramStats: ...
    def serialize(self) -> bytes: ...
    def deserialize(self, data: _Buffer, /) -> None: ...

@final
class PromptLookup(_Ngram):
    def __new__(
        cls,
        *,
        min_match: int | None = None,
        max_match: int | None = None,
        max_tokens: int | None = None,
        vocabulary_size: int | None = None,
        allocator: tuple[int, int, int] | None = None,
    ) -> Self: ...
    def append(self, token_ids: ArrayLike, /) -> None: ...
    def propose_next(self, num_drafts: int, out_token_ids: ArrayLike | None = None) -> Any: ...

@final
class Span:
    @property
    def sequence(self) -> int: ...
    @property
    def plan(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def num_tokens(self) -> int: ...
    @property
    def num_logits(self) -> int: ...
    @property
    def token_ids(self) -> memoryview: ...

Spans: TypeAlias = Sequence_[Span]

@final
class Plan(tuple[Any, ...]):
    spans: list[Span]
    drafter_spans: list[Span]
    token_ids: Any
    drafter_token_ids: Any
    parents: Any

@final
class Sequence(tuple[Any, ...]):
    token_ids: Any
    prompt_length: int
    cache_length: int
    drafter_cache_length: int
    finish_reason: FinishReason
    row_status: RowStatus
    stop_sequence: int
    num_steps: int
    num_drafted: int
    num_accepted: int
    is_drafting: bool
    adaptive_values: tuple[float, float, float, float]
    drafter_entropy: float

@final
class Session:
    def __new__(
        cls,
        sampler: Sampler,
        *,
        max_sequences: int | None = None,
        max_context: int | None = None,
        vocabulary_size: int | None = None,
        logits_dtype: int | None = None,
        keep_drafter_rows: int | None = None,
        max_drafts: int | None = None,
        drafter_context: int | None = None,
        lookup_tokens: int | None = None,
        max_end_tokens: int | None = None,
        max_stop_sequences: int | None = None,
        max_stop_tokens: int | None = None,
        max_top_logprobs: int | None = None,
        params: Params | None = None,
        pipeline: Pipeline | None = None,
        acceptance: AcceptanceParams | None = None,
        has_draft_trees: int | None = None,
        has_adaptive_gamma: int | None = None,
        clock: int | None = None,
        clock_user: int | None = None,
        stream: Any = None,
        filler_top_k: int | None = None,
        has_blocks: int | None = None,
        confidence_kind: int | None = None,
    ) -> Self: ...
    @property
    def closed(self) -> bool: ...
    @property
    def sampler(self) -> Sampler: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *details: object) -> None: ...
    def remove(self, sequence: int, /) -> None: ...
    def get(self, sequence: int, /) -> Sequence: ...
    def add(
        self,
        token_ids: ArrayLike,
        *,
        prompt_length: int | None = None,
        cache_length: int | None = None,
        drafter_cache_length: int | None = None,
        params: Params | None = None,
        seed: int | None = None,
        max_new_tokens: int | None = None,
        end_token_ids: ArrayLike | None = None,
        stop_sequences: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        draft_source: int | None = None,
        acceptance: int | None = None,
        ngram: NgramStorage | PromptLookup | None = None,
        num_drafts: int | None = None,
        min_match: int | None = None,
        draft_unknown: int | None = None,
        ngram_has_text: int | None = None,
        ngram_least_count: int | None = None,
        ngram_least_share: float | None = None,
        least_draft_probability: float | None = None,
        draft_top_k: int | None = None,
        adaptive_gamma: int | None = None,
        ema_beta: float | None = None,
        gamma_min: int | None = None,
        resumed: Sequence | None = None,
        unmask: UnmaskParams | None = None,
    ) -> int:
        """Adds a sequence; *out_sequence is its number. It is finished at once if its last token, when new,
        ends it, or there is no room for another. With PROMPT_LOOKUP it takes time proportional to
        lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA, the status
        of ngram's initialize.

        token_ids
            The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
            prompt_length are the prompt, in [1, num_tokens], the others its new tokens, as for a removed
            sequence that resumes; 0: all are the prompt.
        cache_length
            Tokens of these already in the target's and the drafter's caches, in [0, num_tokens - 1] and
            [0, num_tokens], and at most drafter_context. A drafter's cache of the whole text is fed its
            last token again.
        params
            None: the session's. Rules for ties, orders, scopes, forms and stages must be the session's.
        max_new_tokens
            Maximum new tokens, in [0, 2^31); 0: the rest of max_context.
        end_token_ids
            [num_end_tokens] Tokens that end the text.
        stop_sequences
            Sequences of tokens that end the text when its new tokens end in one; none may be empty.
            num_lists of them, in one array of int32_t. All 0: none.
        acceptance
            Acceptance rule, see speculative.h; 0: the session's, by default SAMPLE_MATCH: the target's own
            token is drawn at each position, and drafts are kept while they equal it, so that the text is,
            token by token, the one without drafts. With other rules tokens depend on the drafts and on
            num_drafts, too. A model's drafts have its rows as draft probabilities, others are
            deterministic. SYNTHETIC needs the session's synthetic_rates.
        ngram
            The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,
            and later each new token. Drafts come from `propose` if it is not None and draft_unknown is 0,
            else from next_token. If it fails later, such as for lack of memory, the sequence continues
            without drafts.
        num_drafts
            Maximum drafts per step, in [0, max_drafts]; 0: max_drafts.
        min_match
            For PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are the tokens after the
            longest match and, if the text ends before num_drafts, the drafts themselves, as if the text
            continued so.
        draft_unknown
            For NGRAM. 1: an unknown context is followed by the n-grams' draft for it. 0: by none.
        ngram_has_text
            1: the n-grams of NGRAM have already learned these tokens, as for a removed sequence, and do
            not learn them again. 0: they learn them.
        ngram_least_count
            For NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
            first that was counted fewer than ngram_least_count times after its context, or with a share of
            all tokens counted there below ngram_least_share, in [0, 1]. 0: off.
        least_draft_probability
            For MODEL, without draft_top_k, in [0, 1]: a draft with less than this probability in the
            drafter's row is the last of its step, as in sampler_speculative_args. 0: off.
        draft_top_k
            For MODEL, with the session's has_draft_trees, in [0, num_drafts]. 0: drafts are drawn, one per
            position. Else drafts are the drafter's draft_top_k likeliest tokens per position, at most
            num_drafts in all: the first of a position is extended, the others are its siblings, and the
            target runs them as a tree. Supported by all rules but BLOCK and DEFERRED, and verified as
            deterministic drafts; SAMPLE_MATCH accepts more of them than of a chain.
        adaptive_gamma
            How the number of drafts of a step, at most num_drafts, is chosen; needs the
            session's has_adaptive_gamma.

            BY_ENTROPY, for MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
            num_drafts, H at the sequence's temperature (1 if greedy) and smoothed by ema_beta over its
            own steps.

            MEASURED: the number with most tokens per second, from 0 to num_drafts, by the time from plan
            to advance, common to all such sequences of the session. Times differ from run to run: with
            SAMPLE_MATCH texts do not change, with other rules they follow the same distribution, but the
            seed does not fix them. Only rounds of drafts and verification that these sequences begin and
            end together, while no other one has a span, are measured; to keep them together, a plan with a
            drafter span for one has no target span for those whose drafts are ready. Beside others MODEL
            drafts nothing, and the time budget uses earlier measurements. With draft_top_k the number
            counts positions.
        ema_beta
            for BY_ENTROPY, in [0, 1)
        gamma_min
            for BY_ENTROPY, in [0, num_drafts]
        resumed
            Result of sampler_session_get for a removed sequence, of this session or another, that resumes
            here. Only its adaptive_values and drafter_entropy, without which the next tokens may differ,
            and num_steps, num_drafted and num_accepted are read. Adaptive values must not be infinite, the
            entropy must be NaN or finite and at least 0, counts in [0, 2^62). Read only during the call.
            None: a new sequence.
        unmask
            For a diffusion language model, whose text grows by blocks (unmask.h): the rules by which
            candidates stand. Needs the session's has_blocks. block_length is in [1, max_drafts + 1], and
            confidence is not GIVEN. Without num_committed, num_steps_left and entropy_bound num_committed
            is 1. Copied. None: the text grows by tokens.

            A span ends with the block, masked positions included, and has a row for each of its positions
            after the text. An advance draws their candidates, of which the rules commit some. The text
            grows once no position is masked; with edit_threshold once a later step changes nothing, the
            16th at the latest. The last block ends at max_context, or beyond max_new_tokens. Caches hold
            whole blocks of the text: each is fed again with the next one. A step that changes nothing
            while positions are masked, or only edits after 16 that did, finishes the sequence, BAD_ROW.
            The n-th new token, from 0, is drawn with the offset n, in step s of its block, from 0, with
            the stream s.

            Stages see the text before the block: penalties count it, and bad words and contexts of biases
            follow it. Those that need to know what each token follows must be off: DRY, no-repeat n-grams,
            min_new_tokens, the exponential decay, mirostat, adaptive-p, top-p decay. draft_source must be
            NONE. Log-probabilities are not reported."""
        ...
    def fork(
        self,
        source: int,
        *,
        seed: int | None = None,
        params: Params | None = None,
    ) -> int:
        """Adds a copy of a sequence, without the step's drafts: same text, same cache lengths. The caller
        copies the caches, cut to the lengths from sampler_session_get. Errors: INVALID_ARGUMENT (also:
        the session has max_sequences), CUDA.

        source
            The sequence to fork, which continues unaffected.
        seed
            None: the source's, so that the fork repeats its text."""
        ...
    def plan(
        self,
        *,
        sequences: ArrayLike | None = None,
        max_tokens: int | None = None,
    ) -> Plan:
        """Plans a step. Planning again before advancing is allowed; a sequence's last plan counts, and
        spans of earlier ones are refused, even if equal. A draft source that fails ends the drafting of
        its sequence.
        Errors: INVALID_ARGUMENT.

        sequences
            [num_sequences] Sequences to plan, distinct, in their order of priority for max_tokens.
            Finished ones are skipped. None and 0: all.
        max_tokens
            Maximum tokens in all spans of a model; 0: no limit. Else at least max_drafts + 1. Longer texts
            are planned in parts. A sequence that does not fit gets no span; without `sequences` it is
            among the first next time."""
        ...
    def advance(
        self,
        spans: Spans,
        logits: ArrayLike,
        *,
        logits_row_stride: int | None = None,
        drafter_spans: Spans | None = None,
        drafter_logits: ArrayLike | None = None,
        drafter_row_stride: int | None = None,
        token_bitmask_indices: ArrayLike | None = None,
        forced_token_ids: ArrayLike | None = None,
        out_token_ids: ArrayLike | bool | None = None,
        out_counts: ArrayLike | bool | None = None,
        out_finish_reasons: ArrayLike | bool | None = None,
        out_cache_lengths: ArrayLike | bool | None = None,
        out_drafter_cache_lengths: ArrayLike | bool | None = None,
        out_accepted_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
        guidance_logits: ArrayLike | None = None,
        guidance_row_indices: ArrayLike | None = None,
    ) -> SessionAdvanceResult:
        """Processes logits: the drafter's become drafts, the target's verify drafts and become tokens. A
        row without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts kept
        before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that end
        before it, and the sequence continues up to it); a bad row of the drafter only ends the step's
        drafts. A span that differs from its sequence's last plan, or whose sequence has been removed or
        planned again since, is INVALID_ARGUMENT. On a CUDA handle each sequence with BY_ENTROPY that
        begins a step adds a wait.
        Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.

        spans
            [num_spans] Spans that the target ran, whole copies of those planned: any subset, in
            any order.
        logits
            Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
            elements; 0: vocabulary_size. Not read after the call returns SAMPLER_OK; after CUDA, enqueued
            work may still read them.
        drafter_spans
            The same for the drafter.
        token_bitmask_indices
            [rows of logits] With masks in the session's pipeline: the mask of each target row, which
            follows the text and the drafts before it; negative: none. Else None.
        forced_token_ids
            [rows of logits] The token that is decided at each target row whatever its logits, below
            vocabulary_size, as where a thinking budget runs out among the drafts: a draft that is this
            token is kept, any other ends the drafts. Negative: none, as rows of blocks must be. In host
            memory. None: none.
        out_token_ids
            Outputs per target span, [num_spans, ...]; all but out_token_ids and out_counts may be None,
            and with no spans those, too.

            [num_spans, max_drafts + 1] New tokens, then -1; and their number, 0 for a span without logits
            or whose block is not complete.
        out_finish_reasons
            Not NONE: the sequence has finished, and is not planned any more.
        out_cache_lengths
            Lengths to cut the caches to. Rejected drafts are cut.
        out_accepted_counts
            Drafts that became text.
        out_row_status
            Cause of BAD_ROW; else 0.
        reports
            Log-probabilities of the new tokens, padded with NaN, and of the first num_top_logprobs tokens
            in rank order, padded with -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in
            [0, max_top_logprobs], out_top_token_ids of int32_t and out_top_logprobs. Other members of
            sampler_report_args must be 0. In host memory. None: none.
        guidance_logits
            Classifier-free guidance: [num_guidance_rows, vocabulary_size] rows as in sampler_pipeline,
            with the stride of `logits`, from a cache with another prompt, to which the caller feeds each
            span's new tokens and drafts. Required where a sequence with rows has guidance_scale on; may be
            None and 0 elsewhere.
        guidance_row_indices
            [rows of logits] The guidance row of each target row; negative: none. In host memory. None: the
            row of the same number."""
        ...
