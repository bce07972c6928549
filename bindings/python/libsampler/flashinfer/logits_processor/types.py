"""What flows through a pipeline, and what an operator is."""

import abc
import dataclasses
import enum
from typing import Any

import torch


class TensorType(enum.Enum):
    """What a tensor's values mean."""

    LOGITS = enum.auto()
    PROBS = enum.auto()
    INDICES = enum.auto()
    """Token ids: nothing may follow."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"TensorType.{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class TaggedTensor:
    """A tensor with its meaning. torch's functions take it as the tensor."""

    data: torch.Tensor
    type: TensorType

    @staticmethod
    def logits(t: torch.Tensor) -> "TaggedTensor":
        return TaggedTensor(t, TensorType.LOGITS)

    @staticmethod
    def probs(t: torch.Tensor) -> "TaggedTensor":
        return TaggedTensor(t, TensorType.PROBS)

    @staticmethod
    def indices(t: torch.Tensor) -> "TaggedTensor":
        return TaggedTensor(t, TensorType.INDICES)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        def plain(value: Any) -> Any:
            return value.data if isinstance(value, TaggedTensor) else value

        named = {name: plain(value) for name, value in (kwargs or {}).items()}
        return func(*map(plain, args), **named)

    @property
    def shape(self) -> torch.Size:
        return self.data.shape

    @property
    def device(self) -> torch.device:
        return self.data.device

    @property
    def dtype(self) -> torch.dtype:
        return self.data.dtype

    def size(self, dim: int | None = None) -> Any:
        return self.data.size() if dim is None else self.data.size(dim)

    def __repr__(self) -> str:
        return (f"TaggedTensor(type={self.type}, shape={self.shape}, dtype={self.dtype}, "
                f"device={self.device})")


class Op(abc.ABC):
    """An operator: it takes a tensor of type IN, and gives one of type OUT."""

    IN: TensorType
    OUT: TensorType

    def __init__(self) -> None:
        for name in ("IN", "OUT"):
            if not isinstance(getattr(type(self), name, None), TensorType):
                raise ValueError(f"Operator {type(self).__name__} must define IN and OUT tensor types")

    @abc.abstractmethod
    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        """`kwargs` are all arguments of the pipeline's call."""

    def _validate_input_type(self, tensor: TaggedTensor) -> TensorType:
        if tensor.type != self.IN:
            raise ValueError(f"Operator {type(self).__name__} cannot accept input type {tensor.type}. "
                             f"Expected: {self.IN}")
        return self.OUT

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.IN} -> {self.OUT})"


class ParameterizedOp(Op):
    """An operator with parameters: those of the pipeline's call, else its own."""

    def __init__(self, **default_params: Any) -> None:
        super().__init__()
        self.default_params = default_params

    def _get_param(self, name: str, kwargs: dict[str, Any], required: bool = True) -> Any:
        if name in kwargs:
            return kwargs[name]
        if name in self.default_params:
            return self.default_params[name]
        if required:
            raise ValueError(f"Required parameter '{name}' not provided for {type(self).__name__}")
        return None
