"""The operators of a pipeline, and the one that stands for several."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from libsampler import FilterOrder, InputKind, Stage

from .. import _calls, sampling
from .types import Op, ParameterizedOp, TaggedTensor, TensorType


class _NumberOp(ParameterizedOp):
    """An operator with one parameter: a number by its rule, or a tensor with one for each row."""

    NAME: str
    RULE: str

    @staticmethod
    def allows(value: Any) -> bool:
        raise NotImplementedError

    def value(self, kwargs: dict[str, Any]) -> Any:
        value = self._get_param(self.NAME, kwargs)
        if isinstance(value, torch.Tensor):
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self.allows(value):
            raise ValueError(f"{self.NAME} is {value!r}; it must be {self.RULE}, or a tensor array")
        return value


class TemperatureOp(_NumberOp):
    """Logits / temperature."""

    IN = TensorType.LOGITS
    OUT = TensorType.LOGITS
    NAME = "temperature"
    RULE = "a positive float"

    @staticmethod
    def allows(value: Any) -> bool:
        return isinstance(value, float) and value > 0

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        value = self.value(kwargs)
        if isinstance(value, torch.Tensor) and value.dim() == 1:
            value = value.unsqueeze(-1)
        return TaggedTensor(tensor.data / value, output_type)


class SoftmaxOp(ParameterizedOp):
    """Probabilities of logits."""

    IN = TensorType.LOGITS
    OUT = TensorType.PROBS

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.softmax(tensor.data), output_type)


class _TopKOp(_NumberOp):
    NAME = "top_k"
    RULE = "a positive integer"

    @staticmethod
    def allows(value: Any) -> bool:
        return isinstance(value, int) and value > 0


class LogitsTopKOp(_TopKOp):
    """The top_k largest logits; -inf elsewhere."""

    IN = TensorType.LOGITS
    OUT = TensorType.LOGITS

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.top_k_mask_logits(tensor.data, self.value(kwargs)), output_type)


class ProbsTopKOp(_TopKOp):
    """The top_k largest probabilities, renormalised."""

    IN = TensorType.PROBS
    OUT = TensorType.PROBS

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.top_k_renorm_probs(tensor.data, self.value(kwargs)), output_type)


class _ShareOp(_NumberOp):
    IN = TensorType.PROBS
    OUT = TensorType.PROBS
    RULE = "a float in (0, 1]"

    @staticmethod
    def allows(value: Any) -> bool:
        return bool(0 < value <= 1)


class TopPOp(_ShareOp):
    """The likeliest tokens with top_p of the probability together, renormalised."""

    NAME = "top_p"

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.top_p_renorm_probs(tensor.data, self.value(kwargs)), output_type)


class MinPOp(_ShareOp):
    """The tokens at least min_p times as likely as the likeliest, renormalised."""

    NAME = "min_p"

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        probs = _calls.rows(tensor.data, "probs")
        value = _calls.row_parameter(self.value(kwargs), probs)
        return TaggedTensor(_calls.renormalised(probs, torch.float32, {"min_p": value}), output_type)


class _SampleOp(ParameterizedOp):
    """A draw: `indices`, `generator`, `seed` and `offset` are those of sampling.sampling_from_probs."""

    OUT = TensorType.INDICES
    OPTIONS = ("indices", "generator", "seed", "offset")

    def options(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        return {name: self._get_param(name, kwargs, required=False) for name in self.OPTIONS}


class ProbsSampleOp(_SampleOp):
    IN = TensorType.PROBS

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        probs = _calls.rows(tensor.data, "probs")
        token_ids, _ = _calls.draw(probs, InputKind.PROBABILITIES, {}, **self.options(kwargs))
        return TaggedTensor(token_ids, output_type)


class LogitsSampleOp(_SampleOp):
    IN = TensorType.LOGITS

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.sampling_from_logits(tensor.data, **self.options(kwargs)), output_type)


class FusedTemperatureSoftmaxOp(Op):
    """Temperature, then softmax, in one call."""

    IN = TensorType.LOGITS
    OUT = TensorType.PROBS

    def __init__(self, ops: Sequence[Op]) -> None:
        super().__init__()
        assert isinstance(ops[0], TemperatureOp)
        self.temperature = ops[0]

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        return TaggedTensor(sampling.softmax(tensor.data, self.temperature.value(kwargs)), output_type)


_STAGES: dict[type[Op], Stage] = {TopPOp: Stage.TOP_P, MinPOp: Stage.MIN_P, ProbsTopKOp: Stage.TOP_K}


class FusedSampleOp(Op):
    """Everything from `ops[0]` to a draw, in one call: temperature and softmax, or neither; filters in
    their order; the draw."""

    OUT = TensorType.INDICES

    def __init__(self, ops: Sequence[Op]) -> None:
        self.IN = ops[0].IN
        self.ops = list(ops)
        stages = [_STAGES[type(op)] for op in ops if type(op) in _STAGES]
        if has_joint_pair(ops):
            self.numbers: dict[str, Any] = {"filter_order": FilterOrder.JOINT}
        else:
            self.numbers = {"stages": [Stage.TEMPERATURE, *stages] if stages else []}

    def __call__(self, tensor: TaggedTensor, **kwargs: Any) -> TaggedTensor:
        output_type = self._validate_input_type(tensor)
        kind, name = ((InputKind.LOGITS, "logits") if self.IN == TensorType.LOGITS
                      else (InputKind.PROBABILITIES, "probs"))
        rows = _calls.rows(tensor.data, name)
        values = {op.NAME: _calls.row_parameter(op.value(kwargs), rows)
                  for op in self.ops if isinstance(op, _NumberOp)}
        draw = self.ops[-1]
        assert isinstance(draw, _SampleOp)
        token_ids, _ = _calls.draw(rows, kind, values, numbers=self.numbers, **draw.options(kwargs))
        return TaggedTensor(token_ids, output_type)

    def __repr__(self) -> str:
        return f"FusedSampleOp({', '.join(type(op).__name__ for op in self.ops)})"


def has_joint_pair(ops: Sequence[Op]) -> bool:
    """Whether a top-p directly follows a top-k that wants it to see the whole row."""
    return any(isinstance(op, ProbsTopKOp) and op.default_params.get("joint_topk_topp")
               and isinstance(after, TopPOp) for op, after in itertools.pairwise(ops))
