"""Custom calls of XLA for JAX: sample, filter and verify inside of a compiled program, on CPU and CUDA.

    import libsampler.jax

    @jax.jit
    def step(logits, seeds, offset, top_ps):
        return libsampler.jax.sample(logits, seeds, offset, temperature=0.8, top_k=50, top_p=top_ps)

Options are members of Params, RowParams, Pipeline and AcceptanceParams by name. A number is a constant of
the program, which is compiled anew for another one; an array has one for each row, or for all, and may
change. A list of tokens (`history`, `biased`, `allowed`, `banned`, `stop`, `unpenalized`, `bad_words`) is
(offsets, token ids). preset="vllm" starts from an engine's parameters (Params.preset).

Seeds and offsets are numbers, or arrays of integers of one element or one for each output row; a number's
bits beyond 64 are cut off.

Rows are all dimensions but the last, so batches need no vmap, which runs its elements one after the other.
Nothing has a gradient. XLA gathers sharded arrays, so that tokens do not depend on the sharding; in
shard_map a call has the rows of its shard alone.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import libsampler
from libsampler import _core, _options

_Array = jax.Array | np.ndarray[Any, Any]
_Option = Any  # a number, a string, a list of numbers, an array, or (array, array)
_Operands = list[tuple[str, _Array]]  # by name; the ids of a list have the name ""

_INT32_MAX = 2**31 - 1

# XLA's numbers of the types that calls take.
_TYPES = {"int32": 4, "int64": 5, "uint8": 6, "uint32": 8, "uint64": 9, "float16": 10, "float32": 11,
          "bfloat16": 16}

for _name, (_on_cpu, _on_cuda) in _core._xla_handlers().items():
    jax.ffi.register_ffi_target(f"libsampler_{_name}", _on_cpu, platform="cpu")
    jax.ffi.register_ffi_target(f"libsampler_{_name}", _on_cuda, platform="CUDA")


# ---- Arrays as the library takes them ---------------------------------------------------------------------


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _as_array(value: Any) -> _Array:
    return value if _is_array(value) else np.asarray(value)


def _has_64_bits() -> bool:
    return bool(jax.dtypes.canonicalize_dtype(np.int64).itemsize == 8)


def _result(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


def _rows(input: _Array) -> _Array:
    return input if str(input.dtype) in ("float32", "float16", "bfloat16") else input.astype(jnp.float32)


def _int32(values: _Array) -> _Array:
    """Ids beyond int32 stay out of range."""
    if values.dtype.itemsize == 8:
        values = values.clip(-1, _INT32_MAX)
    return values.astype(np.int32)


def _int64(name: str, values: int | _Array) -> _Array:
    """64 bits of each integer: as they are, or as two uint32, the low one first, since jax has no wider
    integers without jax_enable_x64."""
    if not isinstance(values, (jax.Array, np.ndarray)):
        bits = operator.index(values) % 2**64
        return np.array([[bits & 0xFFFFFFFF, bits >> 32]], np.uint32)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise TypeError(f"{name} is {values.dtype}; it must be of integers")
    values = values.reshape(-1)
    if values.dtype.itemsize == 8:
        if isinstance(values, np.ndarray):
            native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
            return native.view(np.uint32).reshape(-1, 2)
        return values
    high = jnp.where(values < 0, jnp.uint32(0xFFFFFFFF), jnp.uint32(0))
    return jnp.stack([values.astype(jnp.uint32), high], axis=-1)


def _row_parameter(name: str, values: _Array, rows: int) -> _Array:
    if values.ndim == 0:
        values = jnp.broadcast_to(values, (rows,))
    if name in _options.WIDE:
        return _int64(name, values)
    return _int32(values) if name in _options.INTEGERS else values.astype(np.float32)


def _pipeline_array(name: str, values: _Array, input: _Array) -> _Array:
    if name == "guidance_logits":
        return values.astype(input.dtype)
    if name in ("dense_bias", "biases", "adaptive_values"):
        return values.astype(np.float32)
    if name == "bad_word_offsets":
        return _int64(name, values)
    return values if name == "token_bitmasks" else _int32(values)


# ---- Calls ------------------------------------------------------------------------------------------------


def _split(options: dict[str, _Option], input: _Array, rows: int) -> tuple[_Operands, dict[str, Any]]:
    """Options that are arrays, and those that are numbers."""
    operands: _Operands = []
    numbers: dict[str, Any] = {}
    for name, value in options.items():
        if name in _options.LISTS:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise TypeError(f"{name} is no list of tokens; it must be (offsets, token ids)")
            operands += [(name, _int64(name, _as_array(value[0]))), ("", _int32(_as_array(value[1])))]
        elif not _is_array(value):
            if value is not None:
                numbers[name] = value
        elif name in _options.ROW_PARAMS:
            operands.append((name, _row_parameter(name, value, rows)))
        elif name in _options.PIPELINE:
            operands.append((name, _pipeline_array(name, value, input)))
        else:
            raise TypeError(f"{name} is an array; only members of RowParams and Pipeline are")
    return operands, numbers


def _attributes(numbers: dict[str, Any]) -> tuple[bytes, bytes, bytes]:
    """Params, Pipeline and AcceptanceParams; without bytes where there is nothing to tell."""
    params, pipeline, acceptance = _options.of_numbers(numbers)
    for name in pipeline:
        if name.startswith("num_") or name.endswith(("_stride", "_id_type")):
            raise TypeError(f"{name} is no option here: it follows from the arrays")
    return (_core._xla_numbers(params),
            _core._xla_numbers(libsampler.Pipeline(**pipeline)) if pipeline else b"",
            _core._xla_numbers(acceptance) if acceptance is not None else b"")


def _shapes(arrays: Sequence[Any]) -> list[tuple[int, tuple[int, ...]]]:
    return [(_TYPES.get(str(array.dtype), 0), tuple(array.shape)) for array in arrays]


# Compiled, since a call outside of jit takes a tenth of the time so.
@functools.partial(jax.jit, static_argnums=range(6), inline=True)
def _run(
    name: str, names: str, results: tuple[jax.ShapeDtypeStruct, ...], attributes: tuple[bytes, bytes, bytes],
    probabilities: bool, values: bool, *arrays: jax.Array,
) -> Sequence[jax.Array]:
    shapes = _shapes(arrays)
    if all(isinstance(dim, int) for _, shape in shapes for dim in shape):
        _core._xla_check(name, shapes, _shapes(results), names, *attributes, probabilities, values)
    given = {key: np.frombuffer(data, np.uint8)
             for key, data in zip(("params", "pipeline", "acceptance"), attributes) if data}
    call = jax.ffi.ffi_call(f"libsampler_{name}", results, vmap_method="sequential")
    return call(*map(jax.lax.stop_gradient, arrays), operands=names, probabilities=np.int32(probabilities),
                values=np.int32(values), **given)


def _call(
    name: str, operands: _Operands, results: tuple[jax.ShapeDtypeStruct, ...], options: dict[str, _Option],
    input: _Array, rows: int, probabilities: bool, values: bool = False,
) -> Sequence[jax.Array]:
    more, numbers = _split(options, input, rows)
    names = " ".join(operand for operand, _ in operands + more if operand)
    found: Sequence[jax.Array] = _run(name, names, results, _attributes(numbers), probabilities, values,
                                      *(array for _, array in operands + more))
    return found


def _random(seed: int | _Array, offset: int | _Array) -> _Operands:
    return [("seeds", _int64("seed", seed)), ("offsets", _int64("offset", offset))]


def sample(
    input: _Array, seed: int | _Array, offset: int | _Array, *, row_indices: _Array | None = None,
    probabilities: bool = False, int64: bool = False, row_status: bool = False, **options: _Option,
) -> Any:
    """One token id for each row of `input` [..., columns], or for each entry of `row_indices` (the row it
    draws from): int32, or int64 where jax has it. -1: the row is bad. With `row_status`: the ids, and bits
    of RowStatus."""
    if int64 and not _has_64_bits():
        raise ValueError("int64 is True; jax has such arrays only with jax_enable_x64")
    input = _rows(input)
    operands: _Operands = [("input", input), *_random(seed, offset)]
    shape = input.shape[:-1]
    if row_indices is not None:
        shape = row_indices.shape
        operands.append(("row_indices", _int32(row_indices)))
    results = (_result(shape, jnp.int64 if int64 else jnp.int32),
               _result(shape, jnp.int32))
    found = _call("sample", operands, results, options, input, math.prod(shape), probabilities)
    return tuple(found) if row_status else found[0]


def filter(
    input: _Array, *, probabilities: bool = False, values: bool = False, **options: _Option
) -> jax.Array:
    """The filtered rows, of the shape of `input`: probabilities, float32; or with `values` the logits that
    are kept, of the type of `input`, and -inf elsewhere."""
    input = _rows(input)
    result = _result(input.shape, input.dtype if values else jnp.float32)
    return _call("filter", [("input", input)], (result,), options, input, math.prod(input.shape[:-1]),
                 probabilities, values)[0]


def verify(
    target: _Array, draft: _Array | None, draft_token_ids: _Array, seed: int | _Array, offset: int | _Array,
    *, probabilities: bool = False, row_status: bool = False, **options: _Option,
) -> tuple[jax.Array, ...]:
    """Verifies drafts [sequences, drafts]; target is [sequences, drafts + 1, columns], draft [sequences,
    drafts, columns], or None for a drafter without distributions. Returns the token ids [sequences,
    drafts + 1], of the drafts' type (the accepted drafts, one token, then -1), and the counts of drafts
    acceptable each on its own, and emitted; with `row_status` bits of RowStatus, too. `rule` and its
    parameters are options."""
    if draft_token_ids.ndim != 2:
        raise ValueError(f"draft_token_ids has {draft_token_ids.ndim} dimensions; it must have 2")
    if not _has_64_bits():
        draft_token_ids = _int32(draft_token_ids)
    target = _rows(target)
    operands: _Operands = [("target", target), ("draft_token_ids", draft_token_ids), *_random(seed, offset)]
    sequences, drafts = draft_token_ids.shape
    if draft is not None and draft.size > 0:
        operands.append(("draft", _rows(draft)))
    counts = _result((sequences,), jnp.int32)
    tokens = _result((sequences, drafts + 1), draft_token_ids.dtype)
    found = _call("verify", operands, (tokens, counts, counts, counts), options, target, sequences,
                  probabilities)
    return tuple(found[:4 if row_status else 3])
