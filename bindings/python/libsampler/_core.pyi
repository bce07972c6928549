# Made from libsampler's headers by bindings/python/generate.py; do not edit.
"""The C API of libsampler."""

from collections.abc import Callable
from collections.abc import Sequence as Sequence_
from typing import Any, Protocol, Self, TypeAlias

from ._enums import FinishReason, RowStatus

class _DLPack(Protocol):
    def __dlpack__(self, **keywords: Any) -> Any: ...
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
def prune_count(num_drafted: int, num_emitted: int) -> tuple[int, int, int]: ...

class Rows:
    """Rows of logits or probabilities, each row_stride elements after the one before. Never written."""
    values: ArrayLike | None
    """[num_rows, num_cols] Elements of type `dtype`. Required, unless there are no rows."""
    num_rows: int
    """Rows, in [0, 2^31). With 0 a call does nothing."""
    num_cols: int
    """Columns: the vocabulary, or the room for candidates. In [1, 2^20)."""
    row_stride: int
    """Distance of two rows in elements, at least num_cols. 0: num_cols."""
    candidate_ids: ArrayLike | None
    """Candidate lists, for engines that hold (id, logit) pairs rather than whole rows.
    [num_rows, num_cols], laid out like `values`: the token id of each element, in [0, 2^20), in
    any order, none twice in a row. A list of all ids gives the same token as the row. None: the id
    of an element is its column."""
    candidate_counts: ArrayLike | None
    """[num_rows] How many elements each row has, in [0, num_cols]; those that follow are not read.
    With candidate_ids it is the length of each list, without them of each row. None: num_cols."""
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


class TokenLists:
    """Lists of token ids, one after the other in one array: list i has token_ids[offsets[i]] to
    token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: there are none.

    Where lists are by slot, num_lists is the number of slots, or 1: one list for all. Rows whose
    offsets fall, or lie outside [0, num_token_ids], are bad (INVALID_LIST)."""
    offsets: ArrayLike | None
    """[num_lists + 1] Ascending."""
    token_ids: ArrayLike | None
    """[num_token_ids] Of the pipeline's id_type. May be None where there are none."""
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


class Params:
    """The temperature, the filters, how they combine, and the numbers of the edits before them."""
    temperature: float
    """Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the
    first token in rank order whatever the filters say. At most 2^64. Probabilities are taken as
    they are: there it must be 1, or at most 1e-5. Not NaN. Default 1."""
    top_p: float
    """Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,
    is at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020).
    >= 1: off; <= 0: one token. Not NaN. Default 1."""
    min_p: float
    """Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).
    <= 0: off; above 1: 1. Not NaN. Default 0."""
    top_k: int
    """Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0."""
    top_k_ties: int
    """How the filters combine. All default to 0, the first constant of their enumeration."""
    top_p_ties: int
    filter_order: int
    temperature_order: int
    repetition_penalty: float
    """Edits: see pipeline.h. All are off by default. Floats are finite.

    Of tokens that occur in the history: positive logits are divided by repetition_penalty and
    others multiplied with it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty
    is subtracted for each occurrence, presence_penalty once."""
    frequency_penalty: float
    presence_penalty: float
    penalty_window: int
    """Of the history the last so many tokens count. <= 0: all."""
    penalty_scope: int
    penalty_form: int
    dry_multiplier: float
    """DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of n tokens
    loses dry_multiplier * dry_base^(n - dry_allowed_length), from the allowed length on.

    <= 0: off"""
    dry_base: float
    """0: 1.75; below 1: off"""
    dry_allowed_length: int
    """0: 2; negative: 0"""
    dry_window: int
    """repeats are sought in the last so many tokens; <= 0: in all"""
    no_repeat_ngram_size: int
    """Tokens that would complete an n-gram of the history are banned. <= 0: off."""
    min_new_tokens: int
    """pipeline.stop is banned before the output has so many tokens. <= 0: no minimum."""
    bad_word_scope: int
    """What bad words are looked for in. OUTPUT: the output (vLLM); the others: all."""
    dynamic_temperature_range: float
    """Windows: see pipeline.h. All are off by default, and none is NaN.

    Dynamic temperature: T follows the entropy of what it sees, from max(0, T - range) to T +
    range, by the power `exponent` of its share of the largest (kalomaze 2023). Logits only.

    <= 0: off"""
    dynamic_temperature_exponent: float
    """0: 1; negative: 0"""
    typical_p: float
    """locally typical sampling (Meister et al. 2023). <= 0, >= 1: off"""
    top_n_sigma: float
    """(Tang et al. 2024), of the population. <= 0: off"""
    epsilon_cutoff: float
    """(Hewitt et al. 2022). <= 0, >= 1: off"""
    eta_cutoff: float
    """(the same). <= 0, >= 1: off"""
    top_h: float
    """(Potraghloo et al. 2025). <= 0, >= 1: off"""
    xtc_probability: float
    """exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only"""
    xtc_threshold: float
    """0: 0.1; negative: 0; above 0.5: off"""
    typical_p_ties: int
    min_keep: int
    """No window, top-k, top-p and min-p among them, keeps fewer tokens, where there are so many.

    <= 1: one"""
    stages: Sequence_[int]
    """The order of all stages; 0 ends it. Edits come first, ADAPTIVE comes last. A stage that is on
    must be listed, none twice. filter_order must be SEQUENTIAL, whatever it means without a list,
    or JOINT: then the listed ones of top-k, top-p and min-p stand side by side. temperature_order
    must be FIRST. All 0: the order of sampler_stage, in which filter_order and temperature_order
    have their meaning."""
    adaptive_kind: int
    """Adaptive stages: see pipeline.h. All are off by default. They change nothing in a greedy row.
    What is drawn moves them on: see pipeline.adaptive_values and sampler_accept.

    NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's
    probability (negative: off; above 1: 1). The rate is mirostat's learning rate (0: 0.1), or
    adaptive-p's decay (0: 0.9; above 0.99: 0.99); a negative one is 0. Both are finite, and mean
    nothing with NONE."""
    adaptive_target: float
    adaptive_rate: float
    top_p_decay: float
    """After each token the running top_p, which begins as top_p, is multiplied by the factor, and
    does not fall below the least value.

    the factor. <= 0, >= 1: off. Not NaN"""
    top_p_least: float
    """finite"""
    top_p_sum: int
    """Sums and ties. All default to 0, the first constant of their enumeration.

    Whether what top-p and typical-p keep must reach their share or exceed it."""
    typical_p_sum: int
    cutoff_ties: int
    """Ties of epsilon and eta: with KEEP, all tokens stay that equal the last one of those that
    min_keep asks for, so all of the likeliest where no token reaches the threshold."""
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
        repetition_penalty: float | None = None,
        frequency_penalty: float | None = None,
        presence_penalty: float | None = None,
        penalty_window: int | None = None,
        penalty_scope: int | None = None,
        penalty_form: int | None = None,
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


class RowParams:
    """The same by slot: [number of slots] each, in the handle's memory, or host memory with the
    handle's host_parameters. None: the scalar of that name for all. Every value has the scalar's
    meaning. One that is NaN, or a temperature that probabilities cannot have, makes its rows bad."""
    temperature: ArrayLike | None
    top_p: ArrayLike | None
    min_p: ArrayLike | None
    top_k: ArrayLike | None
    repetition_penalty: ArrayLike | None
    frequency_penalty: ArrayLike | None
    presence_penalty: ArrayLike | None
    penalty_window: ArrayLike | None
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
    xtc_probability: ArrayLike | None
    xtc_threshold: ArrayLike | None
    min_keep: ArrayLike | None
    forced_token_id: ArrayLike | None
    """The token that the slot yields whatever the rest says: the end of a thinking budget, a trace
    that is replayed. Negative: none. One that is no element of the row makes it bad
    (INVALID_PARAMETER). sampler_sample only."""
    adaptive_kind: ArrayLike | None
    """one that is no such constant: the row is bad"""
    adaptive_target: ArrayLike | None
    adaptive_rate: ArrayLike | None
    top_p_decay: ArrayLike | None
    top_p_least: ArrayLike | None
    top_p_reset_token_id: ArrayLike | None
    """The token after which the running top_p is top_p again. Negative: none. None: none."""
    def __init__(
        self,
        *,
        temperature: ArrayLike | None = None,
        top_p: ArrayLike | None = None,
        min_p: ArrayLike | None = None,
        top_k: ArrayLike | None = None,
        repetition_penalty: ArrayLike | None = None,
        frequency_penalty: ArrayLike | None = None,
        presence_penalty: ArrayLike | None = None,
        penalty_window: ArrayLike | None = None,
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


class Pipeline:
    """Arrays are in the handle's memory and read when the work runs."""
    token_id_type: int | None
    """Of every token id in this struct."""
    token_bitmask_rule: int
    history: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: the tokens so far, the oldest first; the prompt, then the output. Penalties, DRY,
    n-grams, bad words and min_new_tokens need it."""
    prompt_lengths: ArrayLike | None
    """[slots] How many tokens of each history are the prompt, in [0, its length]; others make the row
    bad (INVALID_LIST). None: 0, all is output."""
    max_history_tokens: int
    """No history is longer; rows of a longer one are bad (INVALID_LIST). DRY and n-grams take 4 bytes
    of workspace for each token of it. In [0, 2^31). 0: history.num_token_ids, or the state's
    max_tokens."""
    biased: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: what is added to the logits of these tokens."""
    biases: ArrayLike | None
    """[biased.num_token_ids] Finite or -inf; a row that has another is bad (INVALID_PARAMETER). Of an
    id that a list has twice both are added, in the order of the list."""
    dense_bias: ArrayLike | None
    """[num_dense_biases, dense_bias_stride] Added by id: one row for all slots, or one each. Ids from
    dense_bias_stride on get none. The stride 0 is num_cols; with candidate_ids it must be given."""
    num_dense_biases: int
    dense_bias_stride: int
    allowed: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: the only tokens that may be drawn, where a slot's list has any. Ids may come twice."""
    banned: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens that must not be drawn."""
    stop: TokenLists | tuple[ArrayLike, ArrayLike] | None
    """By slot: tokens that must not be drawn before the output has min_new_tokens tokens."""
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
    """[num_token_bitmasks, token_bitmask_stride] Ids from 32 token_bitmask_stride on, as a padded
    vocabulary has, are allowed unless token_bitmask_rule is FORBIDS. Bit i of word j is 1 where id
    32 j + i may be drawn (xgrammar). The stride, in words, is the length of a mask, too; 0:
    ceil(num_cols / 32). With candidate_ids it must be given. Masks: 1 at least, and without
    token_bitmask_indices as many as output rows; 0 where token_bitmasks is None."""
    num_token_bitmasks: int
    token_bitmask_stride: int
    token_bitmask_indices: ArrayLike | None
    """[output rows] The mask of each; negative: none; num_token_bitmasks or more: the row is bad
    (INVALID_INDEX). None: row i has mask i, and there must be one for each."""
    state: State | None
    """In place of history, prompt_lengths and adaptive_values, which must be None then: slot s of the
    call is slot s of the state, and the call's slots are at most those of the state. Of the same
    handle. The call reads it and changes nothing."""
    adaptive_values: ArrayLike | None
    """[slots, SAMPLER_NUM_ADAPTIVE_VALUES] Of callers without a state, who move them on from
    out_observations by section 14.2 of docs/contract.md. A NaN is the start of its stage; an
    infinity makes the row bad (INVALID_PARAMETER), also where the stage is off. None: all start."""
    def __init__(
        self,
        *,
        token_id_type: int | None = None,
        token_bitmask_rule: int | None = None,
        history: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        prompt_lengths: ArrayLike | None = None,
        max_history_tokens: int | None = None,
        biased: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        biases: ArrayLike | None = None,
        dense_bias: ArrayLike | None = None,
        num_dense_biases: int | None = None,
        dense_bias_stride: int | None = None,
        allowed: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        banned: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
        stop: TokenLists | tuple[ArrayLike, ArrayLike] | None = None,
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


class Reports:
    """What a call tells of the tokens beside their ids. sampler_sample, sampler_verify and
    sampler_session_advance take one; None: nothing is told.

    "Rows" are the rows of the call's out_token_ids: those of output of sampler_sample,
    [num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of
    sampler_session_advance. Token ids are of the call's token_id_type, of a session int32_t. Arrays
    are where the call's outputs are. A number of 0 or a None array: not wanted. What a call does not
    report must be 0 there, which its documentation names.

    Reports are of the distribution that logprob_kind names: the row as it is given (RAW), as its
    edits left it (EDITED), or what was drawn from (PROCESSED), of which tokens that were not kept
    have no part. A greedy row is a single token in PROCESSED. Section 15 of docs/contract.md has
    their arithmetic."""
    logprob_kind: int
    """The distribution of out_logprobs and of all that follows out_observations."""
    out_logprobs: ArrayLike | bool | None
    """[rows] Natural logarithm of the probability of the row's token; NaN for a bad row. Of a row of
    probabilities it is relative to the row's sum."""
    out_values: ArrayLike | bool | None
    """[rows] The token's value in the input as it is given, widened to f32; NaN for a bad row."""
    out_kept_counts: ArrayLike | bool | None
    """[rows] How many tokens the filters kept: 1 for a greedy row, 0 for a bad one."""
    out_observations: ArrayLike | bool | None
    """[rows] What moves the adaptive stage on: the token's surprise in bits among those that mirostat
    kept, or its probability before adaptive-p changed it. NaN where nothing does."""
    num_top_logprobs: int
    """[rows, num_top_logprobs] The distribution's first tokens in rank order, and their
    log-probabilities; then, and in bad rows, -1 and NaN. num_top_logprobs in [0, num_cols]; either
    array may be None, not both."""
    out_top_token_ids: ArrayLike | bool | None
    out_top_logprobs: ArrayLike | bool | None
    num_chosen: int
    """[rows, num_chosen] The log-probabilities of tokens that the caller names: -inf of elements that
    have no part in the distribution; NaN of ids that are no element of the row, and in bad rows.
    num_chosen in [0, num_cols]; where it is not 0 both are required."""
    chosen_token_ids: ArrayLike | None
    out_chosen_logprobs: ArrayLike | bool | None
    out_ranks: ArrayLike | bool | None
    """[rows] The place of the row's token among the distribution's in rank order, the first is 1; 0
    for a bad row, and for a forced token that has no part in the distribution."""
    out_entropies: ArrayLike | bool | None
    """[rows] The distribution's entropy in nats, 0 or more; NaN for a bad row."""
    out_kept_bitmask: ArrayLike | bool | None
    """[rows, kept_bitmask_stride] The tokens that were kept, laid out like token_bitmasks; all 0 in a
    bad row. The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 stride on have
    no bit. With candidate_ids the stride must be given."""
    kept_bitmask_stride: int
    kept_capacity: int
    """[rows, kept_capacity] The same as a list, by ascending id, and their probabilities, which sum
    to 1 up to rounding and are those that sampler_filter writes; then, and in bad rows, -1 and 0.
    A row that keeps more than kept_capacity has an empty list, and its number in out_kept_counts.
    In [0, num_cols]; either array may be None, not both."""
    out_kept_token_ids: ArrayLike | bool | None
    out_kept_probabilities: ArrayLike | bool | None
    out_kept_offsets: ArrayLike | bool | None
    """[rows + 1] Packs the lists of kept tokens (CSR): that of row i is the entries
    [offsets[i], offsets[i + 1]) of out_kept_token_ids and out_kept_probabilities, without gaps; a
    bad row's is empty. kept_capacity is then the entries of each of the two arrays, for all rows
    together, at most 2^51; with 0 both may be None. Lists that have no room together are all left
    out: neither array is written, and the offsets are those of the lists all the same. So the
    lists are there where the last offset is at most kept_capacity, and tells what is needed where
    it is not. Entries from the last offset on are not written. A call without rows writes one
    offset, 0. None: lists of kept_capacity entries a row, as above. The workspace holds up to
    kept_capacity entries more."""
    out_removed_by: ArrayLike | bool | None
    """[rows, num_cols] By element: the SAMPLER_STAGE_ that removed the token (sampler_stage_name), 0
    where it is kept, 255 where the input gives it no probability or the row has no such element;
    255 everywhere in a bad row. Of edits it is the one after which the logit is -inf; with JOINT
    filters the first of top-k, top-p and min-p that does not keep the token; in a greedy row
    TEMPERATURE, of what the edits left. Sorts the row: some milliseconds for 128,256 columns."""
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


class DraftLayout:
    """Where the drafts and rows of a sampler_verify lie, where they are not dense chains, one sequence
    after the other. All 0, or None in sampler_verify_args: they are. Arrays are in the handle's
    memory and read when the work runs. Dense chains by the standard rule are verified faster without
    a member of it but the two strides."""
    target_sequence_stride: int
    """Dense: distance in elements from one sequence's first row to the next one's, of `target` and of
    `draft`, at least what the rows of one take. 0: they are contiguous, or there is no draft."""
    draft_sequence_stride: int
    draft_token_stride: int
    """Dense: elements of draft_token_ids from one sequence's first to the next one's, at least
    num_drafts; 0: num_drafts."""
    packing: int
    """Packed batches. num_sequences says how many sequences there are then, and where
    target_row_indices or bonus_row_indices is given, 0 among them; else 0 is what target.num_rows
    tells. Sequences have at most num_drafts drafts; one whose offsets fall, lie outside, or are
    further apart is bad (INVALID_LIST). draft_counts must be None then."""
    draft_rows_by_slot: int
    """1: the row of `draft` that belongs to draft i is slot * num_drafts + i (vLLM, V2)."""
    packing_offsets: ArrayLike | None
    num_sequences: int
    num_packed_drafts: int
    """Packed only: how many entries there are of what is laid out by draft (0 with POSITIONS), and by
    position (with the others only where target_row_indices has them)."""
    num_packed_positions: int
    target_row_indices: ArrayLike | None
    """[num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` that each
    position reads. With bonus_row_indices, [num_sequences], those of a sequence's last position
    are there, and target_row_indices, which is required where there may be drafts, is laid out by
    draft, like draft_token_ids. None: position after position. One outside makes its sequence bad
    (INVALID_INDEX) when it is read. `target` has any number of rows then."""
    bonus_row_indices: ArrayLike | None
    draft_row_indices: ArrayLike | None
    """[num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that
    each draft was drawn from. `draft` has any number of rows then."""
    parents: ArrayLike | None
    """Trees. The node that each draft hangs on, a lower number, -1 the root: [tree_rows, num_drafts].
    Or first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of
    its first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree
    for all, or num_sequences; 0: num_sequences. A tree in which a draft hangs on two, or on itself
    by way of others, makes its sequence bad (INVALID_TREE). None: a chain. Dense only.

    Siblings are tried in their order. At a rejected one what is left for the next is the residual,
    by sibling_rule of sampler_verify_args. BLOCK and DEFERRED are for chains."""
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


class AcceptanceParams:
    """The rule that drafts are accepted by, and the numbers of the rules, which sampler_verify,
    sampler_speculative and sessions take alike. None, or all 0: the rule of the context, and the
    numbers that stand for 0. Numbers of rules that are not used are checked, too."""
    rule: int
    relaxed_top_k: int
    """Not NaN, not negative.

    0: 1"""
    relaxed_delta: float
    """a difference of probabilities"""
    typical_threshold: float
    """0: 0.09"""
    typical_scale: float
    """0: 0.3"""
    threshold_single: float
    """0: 1"""
    threshold_total: float
    """0: 1"""
    deferred_entropy: float
    """in nats, at least this is doubt. 0: 0.3"""
    deferred_top_k: int
    """of so many first tokens the entropy is taken. 0: 3"""
    deferred_window: int
    """0: min(6, the most drafts of a sequence - 1), at least 1"""
    synthetic_rates: ArrayLike | None
    """[the most drafts of a sequence] In [0, 1], by the draft's number in its sequence. In host
    memory, read during the call. Required by SYNTHETIC; None: no sequence has that rule."""
    def __init__(
        self,
        *,
        rule: int | None = None,
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


class SampleResult(tuple[Any, ...]):
    @property
    def token_ids(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...
    @property
    def reports(self) -> ReportResult | None: ...


class FilterResult(tuple[Any, ...]):
    @property
    def output(self) -> Any: ...
    @property
    def kept_counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


class SelectResult(tuple[Any, ...]):
    @property
    def values(self) -> Any: ...
    @property
    def token_ids(self) -> Any: ...
    @property
    def counts(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


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


class ResidualResult(tuple[Any, ...]):
    @property
    def output(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


class StateAppendResult(tuple[Any, ...]):
    @property
    def lengths(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


class AcceptResult(tuple[Any, ...]):
    @property
    def lengths(self) -> Any: ...
    @property
    def row_status(self) -> Any: ...


class StateTruncateResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


class StateCopyResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


class StateResetResult(tuple[Any, ...]):
    @property
    def row_status(self) -> Any: ...


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

class Sampler:
    def __new__(
        cls,
        device: Any = "cpu",
        *,
        threads: int = 0,
        max_rows: int = 0,
        max_cols: int = 0,
        fallback_token_id: int | None = None,
        host_parameters: bool = False,
        check_pointers: bool = False,
        parallel_for: int = 0,
        parallel_for_user: int = 0,
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
        """Draws one token per output row from what the filters keep of its input row.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        row_indices
            [num_row_indices] The input row that each output row draws from, in [0, input.num_rows); any
            other value makes the output row bad. Rows of output are then num_row_indices, in [0, 2^31).
            Outputs of one input row with equal parameters share the work of preparing it. None and 0:
            output row i draws from input row i.
        slots
            [output rows] The slot of each output row, in [0, num_slots); any other value makes the row
            bad. Engines hold parameters, seeds and offsets by sequence, in arrays of num_slots entries of
            which a batch names some: row_params and random are indexed by slot, logits by row. None and 0:
            output row i has slot i.
        params
            What to draw from. None: temperature 1 and no filter.
        row_params
            None: the same for all.
        pipeline
            Edits of the logits. None: none.
        seeds
            [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] The stream of each: a request id, say, where all share a seed. None: the slot's number
            where one seed serves all, so that they draw independently; 0 where each has its own, so that a
            row's token depends on its seed and offset alone and not on its place.
        draw_method
            How the token is drawn. GUMBEL rounds logit / temperature + noise to f32: logits of a size
            above 1,000 or so coarsen the noise, and those for which it would pass 2^126, or -2^126, tie,
            so that the lowest id of them is drawn.
        token_id_type
            Type of out_token_ids, and of the ids of reports.
        out_token_ids
            [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token
            for a bad row. Required.
        out_row_status
            [output rows] SAMPLER_ROW_ bits. None: not wanted.
        reports
            What else is told of each output row, all of sampler_report_args. None: nothing."""
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
        """Writes what the filters keep of each row: softmax without filters, renormalisation, masks.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        slots
            [input.num_rows] As in sampler_sample_args.
        output_kind
            PROBABILITIES: the softmax of the kept tokens, which sums to 1 up to rounding; one-hot when
            greedy; exactly 0 in every element of a bad row. VALUES: the kept logits unchanged, -inf
            elsewhere; a bad row is copied as it is. VALUES needs logits.
        output_dtype
            SAMPLER_F32 or input.dtype.
        output
            [input.num_rows, input.num_cols] Each row output_stride elements after the one before, at least
            num_cols; 0: num_cols. With candidate lists an element belongs to the candidate at the same
            place, and those that follow a row's last one are written as not kept. Required.
        out_kept_counts
            [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. None: not wanted.
        pipeline
            Edits of the logits, as in sampler_sample_args: VALUES writes the logits that they left."""
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
            How many tokens a row yields at most: columns of the outputs, in [1, input.num_cols].
        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        selected_counts
            [input.num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. In host
            memory with the handle's host_parameters. None: num_selected for all.
        output_dtype
            Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.
        out_values
            [input.num_rows, num_selected] Values and ids, both in rank order and contiguous. +inf is a
            value like any other here; NaN makes the row bad. Where a row has fewer tokens to give, the
            rest is -inf (probabilities: 0) and -1; so is all of a bad row. Either may be None, not both.
        out_counts
            [input.num_rows] How many tokens each row yielded; 0 for a bad row. None: not wanted."""
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
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        acceptance: AcceptanceParams | None = None,
        acceptances: ArrayLike | None = None,
        sibling_rule: int | None = None,
        draw_method: int | None = None,
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
        """Verifies each sequence's chain of drafts and emits between 1 and num_drafts + 1 tokens.

        target
            [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one
            that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever
            layout->target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only
            the drafts' elements are looked at before the first rejection; a candidate list is read whole,
            so that a bad element anywhere in it makes the sequence bad.
        draft
            [num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is
            the target's. All 0: the drafter was deterministic (its draft has probability 1), as with
            n-gram drafts. A token that is not in a candidate list has probability 0 there.
        draft_token_ids
            [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the
            vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is
            p. Required, unless num_drafts is 0. num_drafts is in [0, 65535].
        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        draft_counts
            [num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are
            clamped and set a status. None: num_drafts.
        layout
            Packed batches, rows in other places, and trees. None: dense chains.
        slots
            [num_sequences]
        params
            Temperature and filters of the rows that are logits, target and draft alike. When the target is
            probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),
            the filters must be off. A value that is not makes the call fail, an element of an array its
            sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's
            argmax, and the token that follows is the argmax too.
        draft_params
            Temperature and filters of `draft`. None: those of the target, which must then have no other
            stage where the draft is logits.
        pipeline
            The stages of the target's rows. At each position the text, and what adaptive stages remember,
            are as if the drafts before it had been accepted; nothing is changed. token_bitmask_indices is
            [num_sequences, num_drafts + 1], by position, in trees and packed batches too. Forced tokens
            are not verified: forced_token_id must be None.
        seeds
            [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:
            `seed`, `offset`.
        streams
            [slots] The stream of each: a request id, say, where all share a seed. None: the slot's number
            where one seed serves all, so that they draw independently; 0 where each has its own, so that a
            row's token depends on its seed and offset alone and not on its place.
        acceptance
            The rule, and the numbers of the rules. None: SAMPLER_ACCEPT_STANDARD, which rule 0 is, too.
            Dense chains by it are verified faster than by others.
        acceptances
            The rule by slot, 0: that of `acceptance`. One that is no such constant, or does not go with
            what the call has, makes its sequence bad (INVALID_PARAMETER). None: the same for all.
        sibling_rule
            How siblings of a tree were drafted; 0 without trees.
        draw_method
            How SAMPLE_MATCH draws. The other rules: INVERSE_CDF.
        token_id_type
            Type of draft_token_ids and out_token_ids, and of the ids of reports.
        accumulate_counts
            1: the counts are added to what the two arrays hold. 0: they overwrite it.
        out_token_ids
            [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For
            a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required.
        out_accepted_counts
            [num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, wherever
            they stand. Positions after the first rejection count only here: nothing there changes a token
            or, draft ids apart, a status. Of trees and of rules but STANDARD it is out_emitted_counts.
        out_emitted_counts
            Drafts kept before the first rejection: out_token_ids has one token more.
        reports
            What else is told of every emitted token, in the order of out_token_ids: of the target's
            distribution at its position; as for a bad row where no token stands. out_values, num_chosen,
            out_kept_offsets and out_removed_by must be 0, and what belongs to them. None: nothing.
        out_positions
            [num_sequences, num_drafts + 1] The positions that the emitted tokens were decided at, 0 first:
            the rows of a KV cache to keep. Then -1. kv_indices, of the same shape, has a number for each
            position (packed batches too); out_kv_indices has those of out_positions. None: not wanted."""
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
        """Writes what sampler_verify draws from after a rejection: max(p - q, 0) of each row, renormalised,
        or p where that is 0 everywhere.

        target
            [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum
            to 1. Not candidate lists.
        draft
            [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many
            rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids
            says what it proposed.
        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        draft_token_ids
            [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a
            row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where
            draft is all 0; None where it is not.
        output_dtype
            SAMPLER_F32, or target.dtype.
        output
            [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is
            left; 0 in every element of a bad row. Rows start output_stride elements apart, at least
            num_cols; 0: num_cols. Required.
        out_row_status
            [num_rows] None: not wanted. A row of p or q with an element that is negative, NaN or infinite
            is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p."""
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
        seed: int | None = None,
        offset: int | None = None,
        seeds: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        streams: ArrayLike | None = None,
        num_seeds: int | None = None,
        num_offsets: int | None = None,
        acceptance: AcceptanceParams | None = None,
        acceptances: ArrayLike | None = None,
        sibling_rule: int | None = None,
        draw_method: int | None = None,
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
    def state_size(
        self,
        *,
        num_slots: int | None = None,
        max_tokens: int | None = None,
        max_distinct_tokens: int | None = None,
        keep_adaptive_values: int | None = None,
    ) -> int:
        """How many bytes of memory such a state takes, those on the device too.
        Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (more than there can be).

        num_slots
            In [1, 2^31).
        max_tokens
            The longest sequence, its prompt included. In [1, 2^31).
        max_distinct_tokens
            For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, max_tokens]; 0: a
            quarter of max_tokens, but 64 where that is more, and at most max_tokens. From the first token
            that has no room on, a sequence is counted in each draw: the results are the same, the draw
            takes longer.
        keep_adaptive_values
            1: the adaptive values after each token are kept, 16 bytes each, and truncating restores them.
            0: truncating leaves them."""
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
    ) -> int:
        """How many bytes of memory such a session takes, those on the device too. Errors:
        INVALID_ARGUMENT, OUT_OF_MEMORY.

        max_sequences
            Sequences at once, finished ones that were not removed among them. In [1, 2^20].
        max_context
            The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A
            sequence takes 13 bytes for each token of it, a few hundred bytes, and for each of max_drafts
            about 40, and 8 more for each of max_top_logprobs.
        vocabulary_size
            Columns of the logits, in [1, 2^20), and their type.
        keep_drafter_rows
            1: the session keeps the drafter's rows, max_drafts rows of logits a sequence, which STANDARD,
            BLOCK, RELAXED and DEFERRED need of a drafter model's drafts. Default 0.
        max_drafts
            Drafts of a sequence and step at most, in [0, 1024]. Default 0: nothing is drafted.
        drafter_context
            The longest text that the drafter model's cache can hold; a longer one goes on without drafts,
            which is_drafting of sampler_session_get tells. In [0, 2^31). 0: max_context.
        lookup_tokens
            Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes
            on without drafts. In [0, 2^27]. Default 0: no sequence has SAMPLER_DRAFTS_PROMPT_LOOKUP.
        max_end_tokens
            Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20].
        max_top_logprobs
            Log-probabilities of the first tokens that sampler_session_advance can be asked for, in
            [0, vocabulary_size]. Default 0.
        params
            What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of
            stages. Its numbers are those of sequences that are added without parameters. None: temperature
            1 and no filter.
        pipeline
            Lists and masks of the stages, by slot: the slot is the sequence's number, of max_sequences.
            None: none. The struct is copied; the arrays that it names are the caller's, and are read in
            each advance. history, prompt_lengths, adaptive_values, state and token_bitmask_indices must be
            0: the session's texts are the history. Where `stop` is 0 it is the end tokens of each
            sequence, as min_new_tokens needs it.
        acceptance
            How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,
            where the most drafts of a sequence are max_drafts. Rule 0, and None:
            SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.
        has_draft_trees
            1: sequences may have draft_top_k. Default 0.
        has_adaptive_gamma
            1: sequences may have adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.
        clock
            Of SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock.
        stream
            Of a CUDA handle: all of the session's work is enqueued on it, and logits are read in its
            order: what computes them on another stream must have been waited for. It must outlive the
            session. None: the legacy default stream. A CPU handle ignores it.
        filler_top_k
            What the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn of each new position: the so many
            likeliest tokens of the target, in [0, 2^20), and then, where it is not among them, the token
            that came. It takes as many ids for each row of logits, max_drafts + 1 rows a sequence. Default
            0: the token that came alone."""
        ...

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
    def serialize(self, first_slot: int = 0, num_slots: int | None = None) -> bytes: ...
    def deserialize(self, data: _Buffer, first_slot: int = 0) -> int: ...
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
        """Appends a prompt, or text that was not drawn here. Adaptive values stay as they are.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        tokens
            A list for each row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none:
            its offsets must be a list's (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in
            [0, 2^31) (INVALID_LIST).
        token_kind
            Prompt tokens after an output token make the row bad (INVALID_LIST).
        out_lengths
            [num_rows] How many tokens each slot has afterwards; -1 for a bad slot. None: not wanted."""
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
        """Tells what was drawn: the tokens enter text and counts, and adaptive values move on with each,
        by section 14.2 of docs/contract.md.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        token_ids
            [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends
            at its first negative id; where its first id is negative nothing happens. All of a row's tokens
            are taken, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the
            slot's numbers of adaptive stages good (INVALID_PARAMETER), which out_row_status tells.
            num_tokens in [1, 2^20].
        observations
            [num_rows, num_tokens] out_observations of the call that drew the tokens. One that is NaN moves
            neither mirostat nor adaptive-p. None: all are.
        params
            Those of that call, of which the adaptive stage, top_p and its decay are read. Numbers by slot
            are indexed by the slots of this call, and there are as many as the state has. Both None:
            adaptive values stay.
        offsets
            [slots of the state] In and out: each grows by the tokens that its slot took. It may be the
            array that the draw has as sampler_random.offsets, so that a loop of draw and accept needs no
            host. None: offsets are the caller's business.
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
        """Forgets the tokens after the first `lengths`, as if they had never come: the slot's bytes are
        what they were. Prompts may be cut, too.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        lengths
            [num_rows] How many tokens to keep. More than there are: all; negative: none. Required."""
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
        earlier tokens are copied where both states keep them; where only the destination does, they are
        the source's present ones.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        source_slots
            [num_rows] Both required. A source may serve many rows. Within one state no destination may be
            a source of another row.
        out_row_status
            STATE_FULL: the source's tokens do not fit in the destination, which is as it was."""
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
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        slots
            None and num_rows 0: every slot, and no array is read or written.
        adaptive_values
            [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] To begin with; a NaN is the start of its stage, an
            infinity makes the row bad (INVALID_PARAMETER). None: all start."""
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
        """Writes what slots hold. Outputs that are None are not written.

        stream
            Where the work is enqueued. Ignored by a CPU handle.
        workspace
            Memory for the call, of as many bytes as its _workspace_size function tells, or more; any
            alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,
            or one stream. Its contents are undefined before and after a call.
        out_token_ids
            [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31).
        out_lengths
            [num_rows] each; -1 for a bad slot.
        out_adaptive_values
            [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN where a stage has not begun."""
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
        least_count: int = 0,
        least_share: float = 0.0,
        out_token_ids: ArrayLike | None = None,
    ) -> Any: ...
    def reset(self) -> None: ...

class NgramStats(tuple[int, ...]):
    num_contexts: int
    num_updates: int
    num_dropped: int
    memory_bytes: int

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

class Plan(tuple[Any, ...]):
    spans: list[Span]
    drafter_spans: list[Span]
    token_ids: Any
    drafter_token_ids: Any
    parents: Any

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
    ) -> int:
        """Adds a sequence; *out_sequence is its number. It may have finished already: where its last token,
        if it is a new one, ends it, or there is no room for another one. With PROMPT_LOOKUP it takes
        time in proportion to lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has
        max_sequences), CUDA, the status of ngram's initialize.

        token_ids
            The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first
            prompt_length are the prompt, in [1, num_tokens], and the others its new tokens, as of a
            sequence that was removed and goes on here; 0: all are the prompt.
        cache_length
            How many of these tokens the target's and the drafter's caches hold already, in
            [0, num_tokens - 1] and [0, num_tokens], and at most drafter_context. A drafter's cache that
            holds the whole text is fed its last token again.
        params
            None: the session's. Rules of ties, orders, scopes, forms and stages must be the session's.
        max_new_tokens
            New tokens at most, in [0, 2^31); 0: as many as max_context leaves.
        end_token_ids
            [num_end_tokens] Tokens that end the text.
        stop_sequences
            Sequences of tokens that end the text where its new tokens end in one; none may be empty.
            num_lists of them, in one array of int32_t. All 0: none.
        acceptance
            The rule that its drafts are accepted by, which speculative.h explains; 0: the session's, by
            default SAMPLE_MATCH: the target's own token is drawn at each position, and drafts are kept
            while they are that token, so that the text is, token by token, the one without drafts. By
            other rules tokens depend on the drafts and on num_drafts, too. Drafts of a model were drawn
            from its rows, others are certain. SYNTHETIC needs synthetic_rates of the session.
        ngram
            The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,
            and later each new token. Drafts come by `propose` where it has that and draft_unknown is 0,
            else by next_token. Where it fails later, as for want of memory, the sequence goes on without
            drafts.
        num_drafts
            Drafts a step at most, in [0, max_drafts]; 0: max_drafts.
        min_match
            Of PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are what followed the longest
            match and, where the text ends before there are num_drafts, the drafts themselves: what follows
            there if the text goes on so.
        draft_unknown
            Of NGRAM. 1: a context that is unknown is followed by the draft that the n-grams give for it.
            0: by none.
        ngram_has_text
            1: the n-grams of NGRAM have learned these tokens, as those of a removed sequence, and do not
            learn them again. 0: they learn them.
        ngram_least_count
            Of NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the
            first that was counted fewer than ngram_least_count times after its context, or whose share of
            what followed there is below ngram_least_share, in [0, 1]. 0: off.
        least_draft_probability
            Of MODEL without draft_top_k, in [0, 1]: a draft to which the drafter's row gives less than
            this probability is the last of its step, as in sampler_speculative_args. 0: off.
        draft_top_k
            Of MODEL, with has_draft_trees of the session, in [0, num_drafts]. 0: drafts are drawn, one a
            position. Else they are the drafter's so many likeliest tokens of each position, num_drafts of
            them at most: the first of a position goes on, the others hang beside it, and the target runs
            them as a tree. For all rules but BLOCK and DEFERRED, to which such drafts are certain; with
            SAMPLE_MATCH more of them are kept than of a chain.
        adaptive_gamma
            How many drafts a step gets, num_drafts at most, with has_adaptive_gamma of the session.

            BY_ENTROPY, of MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to
            num_drafts, H at the sequence's temperature (a greedy one's at 1) and smoothed by ema_beta over
            its own steps.

            MEASURED: the number of most tokens a second, from 0 to num_drafts, by the time from plan to
            advance. It is one for all such sequences of the session. Times differ from run to run: with
            SAMPLE_MATCH texts stay as they are, by other rules they follow the same distribution, but the
            seed does not fix them. What is measured are rounds of drafts and their verification that these
            sequences begin and end together, while no other one has a span; so that they do, a plan that
            has a span of the drafter for one has none of the target for those that have their drafts.
            Beside others MODEL drafts nothing, and the account is kept by what was measured. With
            draft_top_k a number is of positions.
        ema_beta
            of BY_ENTROPY, in [0, 1)
        gamma_min
            of BY_ENTROPY, in [0, num_drafts]
        resumed
            What sampler_session_get gave of a removed sequence, of this session or of another one, which
            goes on here. Its adaptive_values and drafter_entropy go on, without which the next tokens may
            be others, and its num_steps, num_drafted and num_accepted; nothing else is read. Adaptive
            values must not be infinite, the entropy must be NaN or finite and at least 0, numbers in
            [0, 2^62). Read during the call alone. None: it is a new one."""
        ...
    def fork(
        self,
        source: int,
        *,
        seed: int | None = None,
        params: Params | None = None,
    ) -> int:
        """Adds a sequence that is a copy of another one, drafts of the step apart: the same text, of which
        the caches hold as much. The caller copies the caches, cut to what sampler_session_get tells.
        Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA.

        source
            What is forked: a sequence, which goes on as if nothing had been.
        seed
            None: the source's, with which its text comes again."""
        ...
    def plan(
        self,
        *,
        sequences: ArrayLike | None = None,
        max_tokens: int | None = None,
    ) -> Plan:
        """Tells what to run. Planning again without having advanced is fine; the last plan of a sequence
        counts, and spans of earlier ones are refused, even where they are the same. A draft source that
        fails ends the drafting of its sequence.
        Errors: INVALID_ARGUMENT.

        sequences
            [num_sequences] Which ones, none twice, in the order in which they get of max_tokens. Finished
            ones are passed over. None and 0: all.
        max_tokens
            Tokens of all spans of a model at most; 0: no limit. Else at least max_drafts + 1. Texts that
            are longer are planned in parts. A sequence that there is no room for gets no span; without
            `sequences` it is among the first next time."""
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
        out_token_ids: ArrayLike | bool | None = None,
        out_counts: ArrayLike | bool | None = None,
        out_finish_reasons: ArrayLike | bool | None = None,
        out_cache_lengths: ArrayLike | bool | None = None,
        out_drafter_cache_lengths: ArrayLike | bool | None = None,
        out_accepted_counts: ArrayLike | bool | None = None,
        out_row_status: ArrayLike | bool | None = None,
        reports: Reports | None = None,
    ) -> SessionAdvanceResult:
        """Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row
        without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts that were
        kept before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that
        end before it, and the sequence goes on up to it); a bad row of the drafter only ends the drafts
        of its step. A span
        that is not as its sequence was planned last, also since that has been removed or planned anew,
        is INVALID_ARGUMENT. Of a CUDA handle each sequence with BY_ENTROPY whose step begins makes it
        wait once more.
        Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.

        spans
            [num_spans] Spans that the target ran, whole copies of those planned: any of them, in any
            order.
        logits
            Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in
            elements; 0: vocabulary_size. They are not read any more when the call returns SAMPLER_OK;
            after CUDA work that was enqueued may still read them.
        drafter_spans
            The same of the drafter.
        token_bitmask_indices
            [rows of logits] With masks in the session's pipeline: the mask of each row of the target,
            which follows the text and the drafts before it; negative: none. Else None.
        out_token_ids
            What follows is by span of the target, [num_spans, ...]; all but out_token_ids and out_counts
            may be None, and where there is no span those, too.

            [num_spans, max_drafts + 1] New tokens, then -1; and how many. A span without logits has none.
        out_finish_reasons
            Not NONE: the sequence has finished, and is not planned any more.
        out_cache_lengths
            To which lengths to cut the caches. Drafts that were not kept are cut off.
        out_accepted_counts
            Drafts that became text.
        out_row_status
            Of BAD_ROW: why; else 0.
        reports
            Log-probabilities of the new tokens, then NaN, and of the first num_top_logprobs tokens in rank
            order, then -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in [0, max_top_logprobs],
            out_top_token_ids of int32_t and out_top_logprobs. What else sampler_report_args has must be 0.
            In host memory. None: none."""
        ...
