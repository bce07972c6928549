"""Checks the operators of a pipeline, and puts one in the place of several where it can."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .operators import (
    FusedSampleOp,
    FusedTemperatureSoftmaxOp,
    LogitsSampleOp,
    MinPOp,
    ProbsSampleOp,
    ProbsTopKOp,
    SoftmaxOp,
    TemperatureOp,
    TopPOp,
    has_joint_pair,
)
from .types import Op, TensorType


class CompileError(Exception):
    """The operators cannot follow each other."""


ValidityCheck = Callable[[list[Op]], None]


class FusionRule(NamedTuple):
    """One operator in the place of several. Rules of higher prio are tried first."""

    pattern: tuple[type, ...]
    """Classes of the operators, one after the other."""
    guard: Callable[[list[Op]], bool]
    """Whether the rule is for these."""
    build: Callable[[list[Op]], Op]
    """The operator in their place."""
    prio: int = 0


def _can_be_one_draw(ops: list[Op]) -> bool:
    """The library's joint filters all see the whole row, so a min-p before the pair is a call of its own;
    one after it keeps the same tokens either way."""
    kinds = [type(op) for op in ops]
    return (not has_joint_pair(ops) or MinPOp not in kinds
            or kinds.index(MinPOp) > kinds.index(ProbsTopKOp))


def _default_rules() -> list[FusionRule]:
    filters = (ProbsTopKOp, TopPOp, MinPOp)
    orders = [order for n in range(4) for order in itertools.permutations(filters, n)]
    patterns = [(*start, *order, ProbsSampleOp)
                for start in ((), (SoftmaxOp,), (TemperatureOp, SoftmaxOp)) for order in orders
                if start or order]
    patterns.append((TemperatureOp, LogitsSampleOp))
    rules = [FusionRule(pattern, _can_be_one_draw, FusedSampleOp, 10 * len(pattern)) for pattern in patterns]
    rules.append(FusionRule((TemperatureOp, SoftmaxOp), lambda ops: True, FusedTemperatureSoftmaxOp, 10))
    return sorted(rules, key=lambda rule: -rule.prio)


def _one_softmax(ops: list[Op]) -> None:
    if sum(isinstance(op, SoftmaxOp) for op in ops) > 1:
        raise CompileError("Multiple Softmax operators found. Only one Softmax is allowed per pipeline.")


def _nothing_after_a_draw(ops: list[Op]) -> None:
    for op, after in itertools.pairwise(ops):
        if op.OUT == TensorType.INDICES:
            raise CompileError(f"No operator may follow one that outputs Indices. Found "
                               f"{type(after).__name__} after {type(op).__name__}.")


def _types_fit(ops: list[Op]) -> None:
    if ops[0].IN == TensorType.INDICES:
        raise CompileError(f"First operator ({type(ops[0]).__name__}) cannot accept standard pipeline "
                           f"inputs. Expected LOGITS or PROBS, but operator accepts: {ops[0].IN}")
    for i, (op, after) in enumerate(itertools.pairwise(ops), 1):
        if op.OUT != after.IN:
            raise CompileError(f"Type mismatch at operator {i} ({type(after).__name__}). Expected input "
                               f"type: {op.OUT}, but operator accepts: {after.IN}.")


class Compiler:
    """The checks and the rules. Those that are registered come on top of its own."""

    def __init__(self) -> None:
        self.fusion_rules = _default_rules()
        self.validity_checks: list[ValidityCheck] = [_one_softmax, _nothing_after_a_draw]

    def register_fusion_rule(self, rule: FusionRule) -> None:
        """Among rules of one prio the library's own come first."""
        self.fusion_rules.append(rule)
        self.fusion_rules.sort(key=lambda r: -r.prio)

    def register_validity_check(self, check: ValidityCheck) -> None:
        """`check` raises CompileError."""
        self.validity_checks.append(check)

    def compile(self, ops: Sequence[Op]) -> list[Op]:
        if not ops:
            raise CompileError("Cannot compile empty operator list")
        ops = list(ops)
        for check in (_types_fit, *self.validity_checks):
            check(ops)
        # From the front: at each place the first rule that fits, and again there, and one before it.
        i = 0
        while i < len(ops):
            fused = self._fused(ops, i)
            i = max(i - 1, 0) if fused else i + 1
        return ops

    def _fused(self, ops: list[Op], i: int) -> bool:
        for rule in self.fusion_rules:
            window = ops[i:i + len(rule.pattern)]
            if (len(window) == len(rule.pattern)
                    and all(map(isinstance, window, rule.pattern)) and rule.guard(window)):
                ops[i:i + len(window)] = [rule.build(window)]
                return True
        return False


def compile_pipeline(
    ops: Sequence[Op],
    custom_fusion_rules: Sequence[FusionRule] | None = None,
    custom_validity_checks: Sequence[ValidityCheck] | None = None,
) -> list[Op]:
    """The operators, checked and fused, with rules and checks of the caller's own."""
    compiler = Compiler()
    for rule in custom_fusion_rules or ():
        compiler.register_fusion_rule(rule)
    for check in custom_validity_checks or ():
        compiler.register_validity_check(check)
    return compiler.compile(ops)
