"""Calls of libsampler as FlashInfer's functions make them: on torch's tensors, streams and generators."""

from typing import Any

import torch

import libsampler
from libsampler.torch import INT32_MAX, call, int32, plain_rows
from libsampler.torch import row_parameter as of_members_type

# Ties are kept, and filters see the whole row or what the one before left: FlashInfer's rules.
_KEEP = {"top_k_ties": libsampler.TieRule.KEEP, "top_p_ties": libsampler.TieRule.KEEP}


def rows(values: torch.Tensor, name: str, dimensions: int = 2) -> torch.Tensor:
    """The tensor as the library takes it."""
    if not isinstance(values, torch.Tensor):
        raise TypeError(f"{name} is a {type(values).__name__}; it must be a torch.Tensor")
    if values.dim() != dimensions:
        raise ValueError(f"{name} has {values.dim()} dimensions; it must have {dimensions}")
    return plain_rows(values)


def row_parameter(value: Any, input: torch.Tensor) -> Any:
    """A parameter of a sampling function: a number, or a tensor with one for each row of the input."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim() == 0:
        raise ValueError("Expected a 1D tensor of shape (batch_size,) or scalar for the sampling "
                         "parameter, but got a 0-dimensional tensor.")
    if value.dim() > 1:
        raise ValueError("Expected a 1D tensor or scalar for the sampling parameter, "
                         f"but got a {value.dim()}D tensor.")
    if value.size(0) != input.size(0):
        raise ValueError(f"Sampling parameter tensor batch size mismatch: expected length {input.size(0)} "
                         f"to match the reference tensor batch size, but got length {value.size(0)}.")
    return value


def _parameters(
    numbers: dict[str, Any], values: dict[str, Any], indices: torch.Tensor | None
) -> tuple[libsampler.Params, libsampler.RowParams | None]:
    """Numbers and per-row tensors. A tensor has a value for each input row, the library one for each
    output row."""
    of_rows = {}
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            value = of_members_type(name, value)
            of_rows[name] = value if indices is None else value[indices.clamp(0, value.size(0) - 1).long()]
        else:
            numbers[name] = min(value, INT32_MAX) if name == "top_k" else value
    return libsampler.Params(**numbers), libsampler.RowParams(**of_rows) if of_rows else None


def _call(name: str, input: torch.Tensor, *positional: Any, **arguments: Any) -> None:
    call(name, input.device, 0, *positional, **arguments)  # bad rows yield token 0


def generator_seed(generator: torch.Generator | None, device: torch.device) -> tuple[int, int]:
    """A seed and an offset of torch's generator, which goes on by one draw."""
    if device.type == "cuda":
        if generator is None:
            torch.cuda.init()  # type: ignore[no-untyped-call]
            generator = torch.cuda.default_generators[device.index]
        offset = generator.get_offset()
        generator.set_offset(offset + 4)  # as CUDA generators want it, a multiple of 4
        return generator.initial_seed(), offset
    bits = torch.empty((), dtype=torch.int64, device="cpu").random_(generator=generator)
    return int(bits), 0


def _randomness(
    seed: Any, offset: Any, generator: torch.Generator | None, device: torch.device, count: int
) -> dict[str, Any]:
    """The library's seed and offset arguments. Both are given as numbers, or as tensors."""
    if seed is None or offset is None:
        seed, offset = generator_seed(generator, device)
    if isinstance(seed, torch.Tensor) != isinstance(offset, torch.Tensor):
        raise ValueError("seed and offset must both be tensors or both be scalars")
    if not isinstance(seed, torch.Tensor):
        return {"seed": int(seed) % 2**64, "offset": int(offset) % 2**64}
    for name, value in (("seed", seed), ("offset", offset)):
        if value.device != device:
            raise ValueError(f"{name} tensor must be on {device}")
        if value.dtype not in (torch.int64, torch.uint64):
            raise ValueError(f"{name} tensor must be int64/uint64")
        if value.dim() != 1:
            raise ValueError(f"{name} tensor must be 1D")
        if value.size(0) not in (1, count):
            raise ValueError(f"{name} tensor length must be 1 or {count}")
    return {"seeds": seed.contiguous(), "offsets": offset.contiguous()}


def draw(
    input: torch.Tensor,
    kind: libsampler.InputKind,
    values: dict[str, Any],
    *,
    numbers: dict[str, Any] | None = None,
    indices: torch.Tensor | None = None,
    generator: torch.Generator | None = None,
    seed: Any = None,
    offset: Any = None,
    status: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Token ids of one draw for each output row, and the rows' status where that is wanted. `values` are
    parameters by number or by row, `numbers` the library's other ones."""
    count = input.size(0) if indices is None else indices.size(0)
    id_type = torch.int32 if indices is None else indices.dtype
    if id_type not in (torch.int32, torch.int64):
        raise ValueError(f"indices has type {id_type}; it must have int32 or int64")
    token_ids = torch.empty(count, dtype=id_type, device=input.device)
    row_status = torch.empty(count, dtype=torch.int32, device=input.device) if status else None
    params, row_params = _parameters({**_KEEP, **(numbers or {})}, values, indices)
    random = _randomness(seed, offset, generator, input.device, count)
    if count > 0:
        _call("sample", input, libsampler.Rows(input, kind=kind), params=params, row_params=row_params,
              row_indices=None if indices is None else int32(indices), out_token_ids=token_ids,
              out_row_status=row_status, **random)
    return token_ids, row_status


def filtered(
    input: torch.Tensor,
    kind: libsampler.InputKind,
    output_kind: libsampler.OutputKind,
    dtype: torch.dtype,
    values: dict[str, Any],
) -> torch.Tensor:
    """Rows of this type with what the filters leave."""
    output = torch.empty(input.shape, dtype=dtype, device=input.device)
    params, row_params = _parameters(dict(_KEEP), values, None)
    if input.size(0) > 0:
        _call("filter", input, libsampler.Rows(input, kind=kind), params=params, row_params=row_params,
              output_kind=output_kind, output=output)
    return output


def renormalised(probs: torch.Tensor, dtype: torch.dtype, values: dict[str, Any]) -> torch.Tensor:
    """Probabilities of what the filters leave."""
    return filtered(probs, libsampler.InputKind.PROBABILITIES, libsampler.OutputKind.PROBABILITIES, dtype,
                    values)


def verify(
    target: torch.Tensor,
    draft: torch.Tensor,
    draft_token_ids: torch.Tensor,
    accepted_counts: torch.Tensor,
    emitted_counts: torch.Tensor,
    generator: torch.Generator | None,
    seed: Any,
    offset: Any,
) -> torch.Tensor:
    """Token ids [sequences, drafts + 1]; the counts, int32, are written."""
    count, num_drafts = draft_token_ids.shape
    token_ids = torch.empty((count, num_drafts + 1), dtype=torch.int32, device=target.device)
    random = _randomness(seed, offset, generator, target.device, count)
    probabilities = libsampler.InputKind.PROBABILITIES
    if count > 0:
        _call("verify", target, libsampler.Rows(target, kind=probabilities),
              libsampler.Rows(draft, kind=probabilities) if num_drafts > 0 else None,
              int32(draft_token_ids), out_token_ids=token_ids, out_accepted_counts=accepted_counts,
              out_emitted_counts=emitted_counts, **random)
    return token_ids
