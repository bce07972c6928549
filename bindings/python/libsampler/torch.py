"""Operators of torch: `torch.ops.libsampler.sample`, `filter` and `verify`, and functions that call them.
They work under torch.compile, as one node without a graph break, and in CUDA graphs: a call enqueues on
torch's current stream, and neither synchronises nor copies to the host.

    import libsampler.torch

    token_ids = libsampler.torch.sample(logits, seeds, offsets, temperature=0.8, top_k=50, top_p=top_ps)

Options are members of Params, RowParams, Pipeline and AcceptanceParams by name. A number holds for all
rows, and torch.compile compiles anew for another one; a tensor has one for each row, and may change. A list
of tokens (`history`, `biased`, `allowed`, `banned`, `stop`, `unpenalized`, `bad_words`) is (offsets, token
ids), of int64 and the token ids' type. preset="vllm" starts from an engine's parameters (Params.preset).

Seeds and offsets are numbers, or int64 or uint64 tensors of one element or one for each output row. All
tensors of a call are on one device, a CPU or CUDA.
"""

import ast
import functools
import operator
import threading
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

import libsampler
from libsampler import _options

_Option = Any  # a number, a string, a list of numbers, a Tensor, or (Tensor, Tensor)

INT32_MAX = 2**31 - 1
_MOST_THREADS = 256  # of a sampler


class _Samplers(threading.local):
    """A sampler serves one call at a time: each thread has its own for each device and fallback token."""

    def __init__(self) -> None:
        self.found: dict[tuple[torch.device, int | None], libsampler.Sampler] = {}

    def get(self, device: torch.device, fallback_token_id: int | None) -> libsampler.Sampler:
        found = self.found.get((device, fallback_token_id))
        if found is None:
            if device.type == "cuda":
                found = libsampler.Sampler(f"cuda:{device.index}", fallback_token_id=fallback_token_id)
            elif device.type == "cpu":
                threads = min(torch.get_num_threads(), _MOST_THREADS)
                found = libsampler.Sampler(threads=threads, fallback_token_id=fallback_token_id)
            else:
                raise ValueError(f"the tensors are on {device}; they must be on a CPU or CUDA device")
            self.found[device, fallback_token_id] = found
        return found


_samplers = _Samplers()


def call(name: str, device: torch.device, fallback_token_id: int | None, *positional: Any,
         **arguments: Any) -> None:
    """A method of the device's sampler."""
    call_of(_samplers.get(device, fallback_token_id), name, device, *positional, **arguments)


def call_of(sampler: libsampler.Sampler, name: str, device: torch.device, *positional: Any,
            **arguments: Any) -> None:
    """A method of a sampler, on torch's current stream, with a workspace of torch's allocator, which keeps it
    in the stream's order."""
    if device.type == "cuda":
        size = getattr(sampler, f"{name}_workspace_size")(*positional, **arguments)
        arguments["workspace"] = torch.empty(max(size, 1), dtype=torch.uint8, device=device)
        arguments["stream"] = torch.cuda.current_stream(device)
    getattr(sampler, name)(*positional, **arguments)


def int32(values: Tensor) -> Tensor:
    """Ids beyond int32 stay out of range."""
    if values.dtype == torch.int64:
        values = values.clamp(-1, INT32_MAX)
    return values.to(torch.int32).contiguous()


def row_parameter(name: str, values: Tensor) -> Tensor:
    """A tensor of this member of RowParams, of the member's type."""
    if name in _options.WIDE:
        return values.to(torch.int64).contiguous()
    return int32(values) if name in _options.INTEGERS else values.to(torch.float32).contiguous()


def plain_rows(input: Tensor) -> Tensor:
    """The rows as the library takes them: copied where they are of another type, columns lie apart, or rows
    overlap, as those of `expand`."""
    if input.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        input = input.float()
    if input.dim() != 2 or input.stride(1) != 1 or input.stride(0) < input.shape[1]:
        input = input.contiguous()
    return input.detach()


# ---- Options as a string and tensors, which an operator can take ------------------------------------------


def _split(options: dict[str, _Option]) -> tuple[str, list[Tensor]]:
    """`settings` has a line for each option: name=number, or the name alone of each tensor."""
    lines, tensors = [], []
    for name, value in options.items():
        if isinstance(value, Tensor):
            lines.append(name)
            tensors.append(value)
        elif name in _options.LISTS:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise TypeError(f"{name} is no list of tokens; it must be (offsets, token ids)")
            lines.append(name)
            tensors.extend(value)
        elif isinstance(value, str):
            lines.append(f"{name}={value!r}")
        elif isinstance(value, (list, tuple)):
            lines.append(f"{name}={[int(each) for each in value]}")
        elif value is not None:
            lines.append(f"{name}={int(value) if isinstance(value, Integral) else float(value)}")
    return "\n".join(lines), tensors


class _Settings:
    """What a string of settings says, read once."""

    def __init__(self, settings: str) -> None:
        numbers: dict[str, _Option] = {}
        self.row_names: list[tuple[int, str]] = []
        self.pipeline_names: list[tuple[int, str]] = []
        self.num_tensors = 0
        for line in settings.splitlines():
            name, is_number, text = line.partition("=")
            if not is_number:
                if name in _options.ROW_PARAMS:
                    self.row_names.append((self.num_tensors, name))
                elif name in _options.PIPELINE:
                    self.pipeline_names.append((self.num_tensors, name))
                else:
                    raise TypeError(f"{name} is a tensor; only members of RowParams and Pipeline are")
                self.num_tensors += 2 if name in _options.LISTS else 1
                continue
            numbers[name] = float(text) if text in ("nan", "inf", "-inf") else ast.literal_eval(text)
        self.params, self.pipeline, self.acceptance = _options.of_numbers(numbers)

    def arguments(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        if len(tensors) != self.num_tensors:
            raise ValueError(f"there are {len(tensors)} tensors; the settings name {self.num_tensors}")
        result: dict[str, Any] = {"params": self.params}
        if self.row_names:
            result["row_params"] = libsampler.RowParams(
                **{name: row_parameter(name, tensors[i]) for i, name in self.row_names})
        if self.pipeline_names or self.pipeline:
            arrays: dict[str, Any] = {
                name: tensors[i] if name not in _options.LISTS
                else libsampler.TokenLists(tensors[i], tensors[i + 1])
                for i, name in self.pipeline_names}
            result["pipeline"] = libsampler.Pipeline(**arrays, **self.pipeline)
        return result


_settings = functools.lru_cache(maxsize=1024)(_Settings)


def _rows(input: Tensor, probabilities: bool) -> libsampler.Rows:
    kind = libsampler.InputKind.PROBABILITIES if probabilities else libsampler.InputKind.LOGITS
    return libsampler.Rows(plain_rows(input), kind=kind)


def _random(seed: int, offset: int, seeds: Tensor | None, offsets: Tensor | None) -> dict[str, Any]:
    result: dict[str, Any] = {"seed": seed % 2**64, "offset": offset % 2**64}
    if seeds is not None:
        result["seeds"] = seeds.reshape(-1).contiguous()
    if offsets is not None:
        result["offsets"] = offsets.reshape(-1).contiguous()
    return result


# ---- Operators --------------------------------------------------------------------------------------------

_OPTIONS = "Tensor[] tensors, str settings, bool probabilities=False"
_RANDOM = "int seed=0, int offset=0, Tensor? seeds=None, Tensor? offsets=None"


def _sample(
    runs: bool, input: Tensor, tensors: Sequence[Tensor], settings: str, probabilities: bool = False,
    row_indices: Tensor | None = None, seed: int = 0, offset: int = 0, seeds: Tensor | None = None,
    offsets: Tensor | None = None, int64: bool = False,
) -> tuple[Tensor, Tensor]:
    shape = input.shape[:-1] if row_indices is None else row_indices.shape
    token_ids = input.new_empty(shape, dtype=torch.int64 if int64 else torch.int32)
    row_status = input.new_empty(shape, dtype=torch.int32)
    if runs and token_ids.numel() > 0:
        call("sample", input.device, None, _rows(input, probabilities),
             row_indices=None if row_indices is None else int32(row_indices.reshape(-1)),
             out_token_ids=token_ids.view(-1), out_row_status=row_status.view(-1),
             **_random(seed, offset, seeds, offsets), **_settings(settings).arguments(tensors))
    return token_ids, row_status


def _filter(
    runs: bool, input: Tensor, tensors: Sequence[Tensor], settings: str, probabilities: bool = False,
    values: bool = False,
) -> Tensor:
    keeps_type = values and input.dtype in (torch.float16, torch.bfloat16)
    output = input.new_empty(input.shape, dtype=input.dtype if keeps_type else torch.float32)
    if runs and output.numel() > 0:
        kind = libsampler.OutputKind.VALUES if values else libsampler.OutputKind.PROBABILITIES
        call("filter", input.device, None, _rows(input, probabilities), output_kind=kind, output=output,
             **_settings(settings).arguments(tensors))
    return output


def _verify(
    runs: bool, target: Tensor, draft: Tensor | None, draft_token_ids: Tensor, tensors: Sequence[Tensor],
    settings: str, probabilities: bool = False, seed: int = 0, offset: int = 0,
    seeds: Tensor | None = None, offsets: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    count, num_drafts = draft_token_ids.shape
    token_ids = draft_token_ids.new_empty((count, num_drafts + 1))
    accepted, emitted, row_status = (
        draft_token_ids.new_empty((count,), dtype=torch.int32) for _ in range(3))
    if runs and count > 0:
        read = _settings(settings)
        call("verify", target.device, None, _rows(target, probabilities),
             None if draft is None or draft.numel() == 0 else _rows(draft, probabilities),
             draft_token_ids.contiguous(), out_token_ids=token_ids, out_accepted_counts=accepted,
             out_emitted_counts=emitted, out_row_status=row_status, acceptance=read.acceptance,
             **_random(seed, offset, seeds, offsets), **read.arguments(tensors))
    return token_ids, accepted, emitted, row_status


def _register(name: str, kernel: Callable[..., Any], schema: str) -> None:
    """`kernel` makes the outputs, and fills them unless it is torch that only asks for their shapes."""
    name = f"libsampler::{name}"
    torch.library.define(name, schema)
    torch.library.impl(name, ("cpu", "cuda"), functools.partial(kernel, True))
    torch.library.register_fake(name, functools.partial(kernel, False))


_register("sample", _sample,
          f"(Tensor input, {_OPTIONS}, Tensor? row_indices=None, {_RANDOM}, bool int64=False) "
          "-> (Tensor token_ids, Tensor row_status)")
_register("filter", _filter, f"(Tensor input, {_OPTIONS}, bool values=False) -> Tensor")
_register("verify", _verify,
          f"(Tensor target, Tensor? draft, Tensor draft_token_ids, {_OPTIONS}, {_RANDOM}) "
          "-> (Tensor token_ids, Tensor accepted_counts, Tensor emitted_counts, Tensor row_status)")


# ---- Functions --------------------------------------------------------------------------------------------


def signed(value: int) -> int:
    """The same 64 bits as an operator takes them."""
    value = operator.index(value) % 2**64
    return value if value < 2**63 else value - 2**64


def _randomness(seed: Any, offset: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in (("seed", seed), ("offset", offset)):
        if isinstance(value, Tensor):
            result[name + "s"] = value
        else:
            result[name] = signed(value)
    return result


def sample(
    input: Tensor, seed: int | Tensor, offset: int | Tensor, *, row_indices: Tensor | None = None,
    probabilities: bool = False, int64: bool = False, **options: _Option,
) -> Tensor:
    """One token id for each row of `input` [..., columns], or for each entry of `row_indices` (the row it
    draws from): int32, or int64. -1: the row is bad (status of `torch.ops.libsampler.sample`)."""
    settings, tensors = _split(options)
    result: Tensor = torch.ops.libsampler.sample(
        input, tensors, settings, probabilities, row_indices, int64=int64, **_randomness(seed, offset))[0]
    return result


def filter(
    input: Tensor, *, probabilities: bool = False, values: bool = False, **options: _Option
) -> Tensor:
    """The filtered rows, of the shape of `input`: probabilities, float32; or with `values` the logits that
    are kept, of the type of `input`, and -inf elsewhere."""
    settings, tensors = _split(options)
    result: Tensor = torch.ops.libsampler.filter(input, tensors, settings, probabilities, values)
    return result


def verify(
    target: Tensor, draft: Tensor | None, draft_token_ids: Tensor, seed: int | Tensor, offset: int | Tensor,
    *, probabilities: bool = False, **options: _Option,
) -> tuple[Tensor, Tensor, Tensor]:
    """Verifies drafts [sequences, drafts]; target is [sequences, drafts + 1, columns], draft [sequences,
    drafts, columns], or None for a drafter without distributions. Returns the token ids [sequences,
    drafts + 1], of the drafts' type (the accepted drafts, one token, then -1), and the counts of drafts
    acceptable each on its own, and emitted. `rule` and its parameters are options, too."""
    settings, tensors = _split(options)
    token_ids, accepted, emitted, _ = torch.ops.libsampler.verify(
        target, draft, draft_token_ids, tensors, settings, probabilities, **_randomness(seed, offset))
    return token_ids, accepted, emitted
