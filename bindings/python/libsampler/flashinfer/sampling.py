"""flashinfer.sampling, version 0.7.2, on libsampler. docs/python.md has what differs.

Shapes: `logits` and `probs` are [batch, vocabulary], of float32, float16, bfloat16 or float64, on a CPU or
CUDA device. `indices`, int32 or int64, is [outputs]: the row that each output draws from; None: output i
draws from row i. A parameter is a number, or a tensor [batch] with one for each row. Results are on the
input's device, token ids int32, or of the type of `indices`.

Randomness: `seed` and `offset` are integers, or int64 or uint64 tensors of length 1 or [outputs]. Without
both, they come from `generator`, or torch's default one. A token depends on its row, its parameters, seed
and offset alone where seeds are given by output; else also on the output's number.

A row without a distribution (NaN, +inf, a negative probability, nothing above 0) yields token 0; with
`return_valid` the functions return (token ids, valid), `valid` false there. `check_nan` raises ValueError
instead, and synchronises. `deterministic`, `is_deterministic` and `enable_pdl` change nothing: every call
is deterministic.
"""

from numbers import Real
from typing import Any

import torch

from libsampler import FilterOrder, InputKind, OutputKind

from . import _calls

_Tokens = torch.Tensor | tuple[torch.Tensor, torch.Tensor]


def _checked(values: torch.Tensor, name: str, check_nan: bool = False) -> torch.Tensor:
    values = _calls.rows(values, name)
    if check_nan and bool(torch.isnan(values).any()):
        raise ValueError(f"Input {name} contains NaN.")
    return values


def get_seed_and_offset(
    increment: int,
    generator: torch.Generator | None = None,
    device: torch.device | None = None,
) -> tuple[int, int]:
    """A seed and an offset for one call; the generator goes on. `increment` changes nothing: each draw of
    libsampler uses one offset."""
    if device is None:
        device = torch.device("cpu") if generator is None else generator.device
    return _calls.generator_seed(generator, torch.device(device))


def softmax(
    logits: torch.Tensor,
    temperature: torch.Tensor | float | None = None,
    enable_pdl: bool | None = None,
) -> torch.Tensor:
    """The softmax of logits / temperature, float32. A temperature of 0 puts all on the first of the
    largest; None is 1."""
    logits = _checked(logits, "logits")
    if isinstance(temperature, torch.Tensor):
        if temperature.dim() != 1:
            raise ValueError("temperature tensor must be 1D with one value per logits row, got shape "
                             f"{tuple(temperature.shape)}")
        if temperature.size(0) != logits.size(0):
            raise ValueError(f"temperature tensor length must equal logits.size(0) ({logits.size(0)}), "
                             f"got {temperature.size(0)}")
        if temperature.device != logits.device:
            raise ValueError(f"temperature tensor must be on the same device as logits ({logits.device}), "
                             f"got {temperature.device}")
        if not temperature.dtype.is_floating_point or temperature.dtype.itemsize < 2:
            raise ValueError("temperature tensor must have dtype float16, bfloat16, float32, or float64, "
                             f"got {temperature.dtype}")
    elif temperature is None:
        temperature = 1.0
    elif isinstance(temperature, bool) or not isinstance(temperature, Real):
        raise TypeError(f"temperature is a {type(temperature).__name__}; it must be None, a real scalar, or "
                        "a 1D floating-point tensor with one value per logits row")
    return _calls.filtered(logits, InputKind.LOGITS, OutputKind.PROBABILITIES, torch.float32,
                           {"temperature": temperature})


def sampling_from_logits(
    logits: torch.Tensor,
    indices: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
) -> torch.Tensor:
    """Draws from the softmax of each row."""
    logits = _checked(logits, "logits", check_nan)
    return _calls.draw(logits, InputKind.LOGITS, {}, indices=indices, generator=generator, seed=seed,
                       offset=offset)[0]


def _from_probs(probs: torch.Tensor, check_nan: bool, values: dict[str, Any], **others: Any) -> _Tokens:
    probs = _checked(probs, "probs", check_nan)
    values = {name: _calls.row_parameter(value, probs) for name, value in values.items()}
    token_ids, status = _calls.draw(probs, InputKind.PROBABILITIES, values, **others)
    return token_ids if status is None else (token_ids, status == 0)


def sampling_from_probs(
    probs: torch.Tensor,
    indices: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
    return_valid: bool = False,
) -> _Tokens:
    """Draws from each row's probabilities, which need not sum to 1."""
    return _from_probs(probs, check_nan, {}, indices=indices, generator=generator, seed=seed,
                       offset=offset, status=return_valid)


def top_p_sampling_from_probs(
    probs: torch.Tensor,
    top_p: torch.Tensor | float,
    indices: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
    return_valid: bool = False,
) -> _Tokens:
    """Draws from the likeliest tokens that have top_p of the probability together, and their ties."""
    return _from_probs(probs, check_nan, {"top_p": top_p}, indices=indices, generator=generator,
                       seed=seed, offset=offset, status=return_valid)


def top_k_sampling_from_probs(
    probs: torch.Tensor,
    top_k: torch.Tensor | int,
    indices: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
    return_valid: bool = False,
) -> _Tokens:
    """Draws from the top_k likeliest tokens and the ties of the last one. top_k <= 0: from all."""
    return _from_probs(probs, check_nan, {"top_k": top_k}, indices=indices, generator=generator,
                       seed=seed, offset=offset, status=return_valid)


def min_p_sampling_from_probs(
    probs: torch.Tensor,
    min_p: torch.Tensor | float,
    indices: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
    return_valid: bool = False,
) -> _Tokens:
    """Draws from the tokens at least min_p times as likely as the likeliest."""
    return _from_probs(probs, check_nan, {"min_p": min_p}, indices=indices, generator=generator,
                       seed=seed, offset=offset, status=return_valid)


def _order(filter_apply_order: str) -> dict[str, Any]:
    if filter_apply_order == "top_k_first":
        return {"filter_order": FilterOrder.SEQUENTIAL}
    if filter_apply_order == "joint":
        return {"filter_order": FilterOrder.JOINT}
    raise ValueError(f"Invalid filter_apply_order: {filter_apply_order}")


def top_k_top_p_sampling_from_logits(
    logits: torch.Tensor,
    top_k: torch.Tensor | int,
    top_p: torch.Tensor | float,
    indices: torch.Tensor | None = None,
    filter_apply_order: str = "top_k_first",
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
) -> torch.Tensor:
    """Draws from the softmax of each row after top-k and top-p: "top_k_first" gives top-p what top-k left,
    "joint" the whole row. One read of the logits."""
    numbers = _order(filter_apply_order)
    logits = _checked(logits, "logits", check_nan)
    values = {"top_k": _calls.row_parameter(top_k, logits), "top_p": _calls.row_parameter(top_p, logits)}
    return _calls.draw(logits, InputKind.LOGITS, values, numbers=numbers, indices=indices,
                       generator=generator, seed=seed, offset=offset)[0]


def top_k_top_p_sampling_from_probs(
    probs: torch.Tensor,
    top_k: torch.Tensor | int,
    top_p: torch.Tensor | float,
    indices: torch.Tensor | None = None,
    filter_apply_order: str = "top_k_first",
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    check_nan: bool = False,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
    return_valid: bool = False,
) -> _Tokens:
    """As top_k_top_p_sampling_from_logits, from probabilities."""
    return _from_probs(probs, check_nan, {"top_k": top_k, "top_p": top_p},
                       numbers=_order(filter_apply_order), indices=indices, generator=generator,
                       seed=seed, offset=offset, status=return_valid)


def top_p_renorm_probs(
    probs: torch.Tensor,
    top_p: torch.Tensor | float,
    is_deterministic: bool = False,
) -> torch.Tensor:
    """The probabilities of what top-p keeps, float32, summing to 1; 0 elsewhere."""
    probs = _checked(probs, "probs")
    return _calls.renormalised(probs, torch.float32, {"top_p": _calls.row_parameter(top_p, probs)})


def _checked_type(values: torch.Tensor) -> None:
    if isinstance(values, torch.Tensor) and values.dtype not in (torch.float32, torch.float16,
                                                                 torch.bfloat16):
        raise AssertionError(f"Unsupported dtype {values.dtype}, expected float32, float16, or bfloat16")


def top_k_renorm_probs(
    probs: torch.Tensor,
    top_k: torch.Tensor | int,
    is_deterministic: bool = False,
) -> torch.Tensor:
    """The probabilities of what top-k keeps, of the type of `probs`, summing to 1; 0 elsewhere."""
    _checked_type(probs)
    probs = _checked(probs, "probs")
    return _calls.renormalised(probs, probs.dtype, {"top_k": _calls.row_parameter(top_k, probs)})


def top_k_mask_logits(logits: torch.Tensor, top_k: torch.Tensor | int) -> torch.Tensor:
    """The logits that top-k keeps, unchanged; -inf elsewhere."""
    _checked_type(logits)
    logits = _checked(logits, "logits")
    return _calls.filtered(logits, InputKind.LOGITS, OutputKind.VALUES, logits.dtype,
                           {"top_k": _calls.row_parameter(top_k, logits)})


# The names that FlashInfer keeps for callers of old.
top_p_renorm_prob = top_p_renorm_probs
top_k_renorm_prob = top_k_renorm_probs


def _counts(given: torch.Tensor | None, count: int, device: torch.device) -> torch.Tensor:
    if given is None:
        return torch.zeros(count, dtype=torch.int32, device=device)
    if given.shape != (count,):
        raise ValueError(f"a count tensor has shape {tuple(given.shape)}; it must have ({count},)")
    return given


def chain_speculative_sampling(
    draft_probs: torch.Tensor,
    draft_token_ids: torch.Tensor,
    target_probs: torch.Tensor,
    maybe_output_accepted_token_num: torch.Tensor | None = None,
    maybe_output_emitted_draft_token_num: torch.Tensor | None = None,
    deterministic: bool = True,
    generator: torch.Generator | None = None,
    seed: int | torch.Tensor | None = None,
    offset: int | torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Verifies drafts so that the emitted tokens follow the target (Leviathan et al. 2023).

    draft_probs is [batch, drafts, vocabulary], target_probs [batch, drafts + 1, vocabulary],
    draft_token_ids [batch, drafts]. Returns token ids [batch, drafts + 1] (the accepted drafts, one token
    of the target, then -1), and two counts [batch]: the drafts that would be accepted each on its own, and
    those emitted. Count tensors that are given are added to and returned.
    """
    draft = _calls.rows(draft_probs, "draft_probs", 3)
    target = _calls.rows(target_probs, "target_probs", 3)
    count, num_drafts, vocabulary = draft.shape
    if draft_token_ids.shape != (count, num_drafts):
        raise ValueError(f"draft_token_ids has shape {tuple(draft_token_ids.shape)}; draft_probs requires "
                         f"{(count, num_drafts)}")
    if target.shape != (count, num_drafts + 1, vocabulary):
        raise ValueError(f"target_probs has shape {tuple(target.shape)}; draft_probs requires "
                         f"{(count, num_drafts + 1, vocabulary)}")
    accepted = _counts(maybe_output_accepted_token_num, count, target.device)
    emitted = _counts(maybe_output_emitted_draft_token_num, count, target.device)
    more = torch.zeros((2, count), dtype=torch.int32, device=target.device)
    token_ids = _calls.verify(target, draft, draft_token_ids, more[0], more[1], generator, seed, offset)
    return token_ids, accepted.add_(more[0]), emitted.add_(more[1])
