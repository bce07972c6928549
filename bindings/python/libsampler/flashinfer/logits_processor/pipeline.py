"""A pipeline from logits or probabilities to whatever its last step gives."""

from collections.abc import Sequence
from typing import Any

import torch

from .compiler import CompileError, FusionRule, ValidityCheck, compile_pipeline
from .processors import LegalizationError, LogitsProcessor, infer_initial_type, legalize_processors
from .types import Op, TaggedTensor, TensorType


class LogitsPipe:
    """Steps, one after the other. `input_type` is required where the first one takes both logits and
    probabilities. compile=False runs each step by itself until `compile` is called. Parameters are given
    to the call, which returns a tensor:

        pipe = LogitsPipe([TopK(), Sample()], input_type=TensorType.PROBS)
        token_ids = pipe(probs, top_k=40)
    """

    def __init__(
        self,
        processors: Sequence[LogitsProcessor],
        compile: bool = True,
        input_type: TensorType | None = None,
        custom_fusion_rules: Sequence[FusionRule] | None = None,
        custom_validity_checks: Sequence[ValidityCheck] | None = None,
    ) -> None:
        if not processors:
            raise ValueError("Pipeline cannot be empty")
        self.processors = list(processors)
        self.compiled_ops: list[Op] | None = None
        try:
            self._initial_type = input_type or infer_initial_type(self.processors)
            self.ops = legalize_processors(self.processors, self._initial_type)
            if compile:
                self.compiled_ops = compile_pipeline(self.ops, custom_fusion_rules, custom_validity_checks)
        except (LegalizationError, CompileError) as error:
            raise ValueError(f"Pipeline creation failed: {error}") from error

    @property
    def initial_type(self) -> TensorType:
        return self._initial_type

    def compile(
        self,
        custom_fusion_rules: Sequence[FusionRule] | None = None,
        custom_validity_checks: Sequence[ValidityCheck] | None = None,
    ) -> None:
        """Checks and fuses the steps, with rules and checks of the caller's own."""
        try:
            self.compiled_ops = compile_pipeline(self.ops, custom_fusion_rules, custom_validity_checks)
        except CompileError as error:
            raise ValueError(f"Compilation failed: {error}") from error

    def __call__(self, x: torch.Tensor | TaggedTensor, **kwargs: Any) -> torch.Tensor:
        tensor = x if isinstance(x, TaggedTensor) else TaggedTensor(x, self._initial_type)
        for i, op in enumerate(self.ops if self.compiled_ops is None else self.compiled_ops):
            try:
                tensor = op(tensor, **kwargs)
            except Exception as error:
                raise ValueError(f"Error executing operator {i} ({type(op).__name__}): {error}") from error
        return tensor.data

    def __repr__(self) -> str:
        def names(items: Sequence[Any] | None) -> str:
            return " -> ".join(type(item).__name__ for item in items or ())

        return (f"LogitsPipe([{names(self.processors)}], ops=[{names(self.ops)}], "
                f"compiled_ops=[{names(self.compiled_ops)}])")
