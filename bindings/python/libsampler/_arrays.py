"""Arrays that calls make for their outputs: of numpy or torch where the input is, else Python's own."""

import array
import sys
from typing import Any

# Each type of elements: array.array's letter, and numpy's and torch's names.
_TYPES = {
    "float32": ("f", "float32", "float32"),
    "float16": ("H", "float16", "float16"),
    "bfloat16": ("H", "uint16", "bfloat16"),
    "int32": ("i", "int32", "int32"),
    "int64": ("q", "int64", "int64"),
    "uint8": ("B", "uint8", "uint8"),
    "uint32": ("I", "uint32", "int32"),
    "uint64": ("Q", "uint64", "int64"),
}


def _is_of(value: Any, module_name: str, class_name: str) -> bool:
    module = sys.modules.get(module_name)
    return module is not None and isinstance(value, getattr(module, class_name))


def empty(like: Any, element: str, shape: tuple[int, ...], name: str, cuda_device: int) -> Any:
    """An array of this shape, of the package that `like` is of. `cuda_device` is -1 for host memory."""
    letter, numpy_name, torch_name = _TYPES[element]
    if _is_of(like, "torch", "Tensor"):
        torch = sys.modules["torch"]
        device = "cpu" if cuda_device < 0 else f"cuda:{cuda_device}"
        return torch.empty(shape, dtype=getattr(torch, torch_name), device=device)
    if cuda_device >= 0:
        if _is_of(like, "cupy", "ndarray"):
            return sys.modules["cupy"].empty(shape, dtype=numpy_name)
        raise TypeError(f"{name} is not given; it must be, an array on cuda:{cuda_device}, where the "
                        "input is of neither torch nor cupy")
    if _is_of(like, "numpy", "ndarray"):
        return sys.modules["numpy"].empty(shape, dtype=numpy_name)
    count = 1
    for size in shape:
        count *= size
    flat = array.array(letter, bytes(count * array.array(letter).itemsize))
    return flat if len(shape) == 1 else shaped(flat, shape)


def shaped(flat: Any, shape: tuple[int, ...]) -> Any:
    """An array.array as a memoryview with dimensions."""
    if 0 in shape:  # memoryview has none of that shape
        return flat
    return memoryview(flat).cast("B").cast(flat.typecode, shape)


def int32_array(contents: bytes | int) -> Any:
    """An array.array of these bytes, or of this many zeros."""
    return array.array("i", contents if isinstance(contents, bytes) else bytes(4 * contents))
