"""The steps of a pipeline, as its user names them, and the operators that they become."""

import abc
from collections.abc import Sequence
from typing import Any

from . import operators
from .types import Op, TensorType


class LegalizationError(Exception):
    """A step cannot take what the one before it gives."""


class LogitsProcessor(abc.ABC):
    """A step. A subclass says which operators it becomes for logits, and which for probabilities."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    @abc.abstractmethod
    def legalize(self, input_type: TensorType) -> list[Op]:
        """Its operators for an input of this type; ValueError where there are none."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.params.items())})"


class _Standard(LogitsProcessor):
    OPS: dict[TensorType, type[Op]]

    def legalize(self, input_type: TensorType) -> list[Op]:
        op = self.OPS.get(input_type)
        if op is None:
            kinds = " or ".join(map(str, self.OPS))
            raise ValueError(f"{type(self).__name__} can only be applied to {kinds}, got {input_type}")
        return [op(**self.params)]


class Temperature(_Standard):
    """Divides logits by `temperature` of the pipeline's call: a positive float, or a tensor by row."""

    OPS = {TensorType.LOGITS: operators.TemperatureOp}


class Softmax(_Standard):
    """Makes probabilities of logits. Once in a pipeline."""

    OPS = {TensorType.LOGITS: operators.SoftmaxOp}

    def __init__(self, enable_pdl: bool | None = None, **params: Any) -> None:
        super().__init__(enable_pdl=enable_pdl, **params)


class TopK(_Standard):
    """Keeps the `top_k` likeliest tokens, a positive integer or a tensor by row. joint_topk_topp: a TopP
    that follows sees the whole row."""

    OPS = {TensorType.LOGITS: operators.LogitsTopKOp, TensorType.PROBS: operators.ProbsTopKOp}

    def __init__(self, joint_topk_topp: bool = False, **params: Any) -> None:
        super().__init__(joint_topk_topp=joint_topk_topp, **params)


class TopP(_Standard):
    """Keeps the likeliest tokens with `top_p` of the probability together: in (0, 1], or a tensor by row."""

    OPS = {TensorType.PROBS: operators.TopPOp}


class MinP(_Standard):
    """Keeps tokens at least `min_p` times as likely as the likeliest: in (0, 1], or a tensor by row."""

    OPS = {TensorType.PROBS: operators.MinPOp}


class Sample(_Standard):
    """Draws token ids. `indices`, `generator`, `seed` and `offset` of the pipeline's call are those of
    sampling.sampling_from_probs."""

    OPS = {TensorType.LOGITS: operators.LogitsSampleOp, TensorType.PROBS: operators.ProbsSampleOp}

    def __init__(self, deterministic: bool = True, **params: Any) -> None:
        super().__init__(deterministic=deterministic, **params)


def legalize_processors(
    processors: Sequence[LogitsProcessor], initial_type: TensorType = TensorType.LOGITS
) -> list[Op]:
    """The operators of the steps, from an input of this type on."""
    if not processors:
        raise LegalizationError("Cannot legalize empty processor list")
    ops: list[Op] = []
    current = initial_type
    for i, processor in enumerate(processors):
        try:
            own = processor.legalize(current)
            if not own:
                raise ValueError("it has no operators")
        except Exception as error:
            raise LegalizationError(
                f"Failed to legalize processor {i} ({type(processor).__name__}): {error}") from error
        ops.extend(own)
        current = own[-1].OUT
    return ops


def infer_initial_type(processors: Sequence[LogitsProcessor]) -> TensorType:
    """The one type of input that the first step takes."""
    def takes(input_type: TensorType) -> bool:
        try:
            processors[0].legalize(input_type)
        except (ValueError, LegalizationError):
            return False
        return True

    name = type(processors[0]).__name__
    types = [each for each in (TensorType.LOGITS, TensorType.PROBS) if takes(each)]
    if len(types) > 1:
        raise LegalizationError(f"Cannot infer input type: {name} can accept both LOGITS and PROBS. Please "
                                "specify input_type explicitly when creating the LogitsPipe.")
    if not types:
        raise LegalizationError(f"Processor {name} cannot accept standard pipeline inputs (LOGITS or PROBS)")
    return types[0]
