"""Is your sampler right? Checks any sampler, or verifier of drafts, against libsampler's contract or an
engine's preset, from what it draws:

    import libsampler.verify

    @libsampler.verify.takes_torch
    def sample(logits, parameters, seeds):
        return my_engine(logits, **parameters, seeds=seeds)   # a token id for each row

    print(libsampler.verify.check_sampler(sample, preset="vllm"))

or from a shell, where `sample` is in my_engine.py: python -m libsampler.verify my_engine:sample --preset vllm

`logits` is a memoryview of float32 [rows, columns], which numpy.asarray takes; with `takes_torch` it is a
torch.Tensor. `parameters` are those of temperature, top_k, top_p and min_p that are on; `seeds` has an integer for each row. Checked are
which tokens can be drawn, how often (chi-square), rows with ties, tails, -inf and large logits, seeds by
row, and batches in another order.

No statistic of a correct sampler fails but once in some 10^6 runs.
"""

import argparse
import array
import importlib
import math
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import libsampler
from libsampler import InputKind, Params, Rows

_Array = Any  # a memoryview of more than one dimension, for which Python 3.11 has no type
Sample = Callable[[_Array, dict[str, Any], list[int]], Any]
"""logits [rows, columns], parameters, seeds [rows] -> token ids [rows]"""
Verify = Callable[[_Array, _Array, _Array, list[int]], Any]
"""target [sequences, drafts + 1, columns], draft [sequences, drafts, columns], both probabilities, draft
token ids [sequences, drafts], seeds [sequences] -> token ids [sequences][up to drafts + 1], -1 at the end"""

_STAGES = {"temperature": libsampler.Stage.TEMPERATURE, "top_k": libsampler.Stage.TOP_K,
           "top_p": libsampler.Stage.TOP_P, "min_p": libsampler.Stage.MIN_P}
PARAMETERS = tuple(_STAGES)
_LEAST_P_VALUE = 1e-9  # a hundred tests a run
_LEAST_EXPECTED = 12  # draws of a token that chi-square, and the search for missing tokens, rely on
_MOST_VALUES = 1 << 22  # elements of the rows of one call


@dataclass(frozen=True)
class Finding:
    """One thing that differs."""

    check: str
    row: str
    parameters: dict[str, Any]
    text: str

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.check}: row \"{self.row}\"{', ' if values else ''}{values}: {self.text}"


@dataclass
class Report:
    """What was checked, and what differs."""

    checks: int = 0
    draws: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    """What an engine leaves to its machine: which of tied tokens a filter keeps."""

    @property
    def ok(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        first = (f"{self.checks} checks, {self.draws:,} draws: "
                 + ("nothing differs" if self.ok else f"{len(self.findings)} findings"))
        return "\n".join([first, *(f"- {finding}" for finding in self.findings),
                          *(f"- note: {note}" for note in self.notes)])


def takes_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with tensors of torch, on the CPU, in the place of memoryviews."""
    import torch

    def tensor(value: Any) -> Any:
        if not isinstance(value, memoryview):
            return value
        shape: Any = value.shape
        kind = torch.int32 if value.format == "i" else torch.float32
        return torch.frombuffer(value.cast("B"), dtype=kind).view(shape)

    def taking(*arguments: Any) -> Any:
        return function(*map(tensor, arguments))

    return taking


# ---- Statistics -------------------------------------------------------------------------------------------


def chi_square_p(statistic: float, freedom: int) -> float:
    """The probability of a chi-square statistic at least this large (Wilson and Hilferty 1931: within a
    small factor, far less than the margin of the threshold)."""
    if statistic <= 0:
        return 1.0
    deviation = (statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))
    return 0.5 * math.erfc(deviation / math.sqrt(2 / (9 * freedom)) / math.sqrt(2))


def _frequencies_differ(counts: Counter[Any], expected: dict[Any, float], draws: int) -> str | None:
    """What chi-square says, with rare outcomes together."""
    statistic, bins, rest_seen, rest_expected = 0.0, 0, 0.0, 0.0
    worst: tuple[float, Any] = (0.0, None)
    for outcome, probability in expected.items():
        mean, seen = probability * draws, counts[outcome]
        if mean < _LEAST_EXPECTED:
            rest_seen, rest_expected = rest_seen + seen, rest_expected + mean
            continue
        part = (seen - mean) ** 2 / mean
        statistic, bins = statistic + part, bins + 1
        worst = max(worst, (part, outcome), key=lambda pair: pair[0])
    if rest_expected >= _LEAST_EXPECTED:
        part = (rest_seen - rest_expected) ** 2 / rest_expected
        statistic, bins = statistic + part, bins + 1
        worst = max(worst, (part, "the tail"), key=lambda pair: pair[0])
    if bins < 2 or chi_square_p(statistic, bins - 1) >= _LEAST_P_VALUE:
        return None
    if worst[1] == "the tail":
        times, mean = rest_seen, rest_expected
    else:
        times, mean = counts[worst[1]], expected[worst[1]] * draws
    what = worst[1] if isinstance(worst[1], str) else f"token {worst[1]}"
    distance = sum(abs(counts[o] / draws - p) for o, p in expected.items() if p * draws >= _LEAST_EXPECTED) / 2
    return (f"wrong frequencies: {what} was drawn {times:,.0f} times in {draws:,}, expected {mean:,.0f} "
            f"(distance {distance:.4f})")


# ---- Rows -------------------------------------------------------------------------------------------------

_NEVER = float("-inf")


def _rows() -> dict[str, list[float]]:
    """Hard rows. No sum of probabilities lies within 10^-4 of a top_p that is used, but in "equal", where
    a sum equals it."""
    steep = [math.log(p) for p in (0.34, 0.21, 0.14, 0.11, 0.08, 0.05, 0.04, 0.03)]
    mixed = [steep[i] for i in (5, 2, 7, 0, 3, 6, 1, 4)]
    interleaved = [_NEVER] * 16
    interleaved[1::2] = mixed
    return {
        "spread": mixed,
        "shifted by 10,000": [x + 1e4 for x in mixed],
        "shifted by -10,000": [x - 1e4 for x in mixed],
        "ties": [math.log(p) for p in (0.02, 0.12, 0.12, 0.3, 0.12, 0.12, 0.2)],
        "equal": [0.0] * 8,
        "-inf between": interleaved,
        "one token": [_NEVER, _NEVER, 3.0, _NEVER],
        "one of 1 - 10^-3": [0.0, math.log(0.001 / 0.999)],
        "tail of a half": [math.log(0.5)] + [math.log(0.5 / 4000)] * 4000,
        "tail of 10^-6 each": [math.log(0.75)] + [math.log(0.25 / 250_000)] * 250_000,
    }


_CASES: dict[str, list[dict[str, Any]]] = {
    "spread": [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 1}, {"top_k": 3}, {"top_k": 7},
               {"top_p": 0.01}, {"top_p": 0.5}, {"top_p": 0.9}, {"min_p": 0.2}, {"min_p": 0.5},
               {"top_k": 4, "top_p": 0.7}, {"top_p": 0.9, "temperature": 2.0}, {"top_k": 6, "min_p": 0.3},
               {"top_k": 5, "top_p": 0.9, "min_p": 0.2, "temperature": 0.7}],
    "shifted by 10,000": [{}, {"top_p": 0.5}, {"top_k": 3}],
    "shifted by -10,000": [{}, {"top_p": 0.5}, {"min_p": 0.2}],
    "ties": [{"top_k": 3}, {"top_k": 4}, {"top_p": 0.6}],
    "equal": [{"top_p": 0.5}, {"top_k": 3}, {"min_p": 1.0}],
    "-inf between": [{}, {"top_k": 10}, {"top_p": 0.9}, {"temperature": 2.0}],
    "one token": [{}, {"top_p": 0.5}, {"top_k": 2}],
    "one of 1 - 10^-3": [{}, {"top_p": 0.9995}],
    "tail of a half": [{}, {"temperature": 1.3}],
    "tail of 10^-6 each": [{}],
}


def _shaped(values: "array.array[Any]", *shape: int) -> _Array:
    plain: Any = memoryview(values).cast("B")
    return plain.cast(values.typecode, shape)


def _plain(result: Any) -> Any:
    return result.tolist() if hasattr(result, "tolist") else result


def _ids(result: Any, rows: int) -> list[int]:
    ids = [int(each) for each in _plain(result)]
    if len(ids) != rows:
        raise ValueError(f"the sampler returned {len(ids)} token ids for {rows} rows")
    return ids


# ---- Samplers ---------------------------------------------------------------------------------------------


def _other_ties(row: Sequence[float], kept: dict[int, float], counts: Counter[int]) -> dict[int, float] | None:
    """What is kept, where it is as many tokens of the same logits, but other ones."""
    if set(counts) == set(kept) or len(counts) != len(kept) or not all(0 <= i < len(row) for i in counts):
        return None
    if sorted(row[i] for i in counts) != sorted(row[i] for i in kept):
        return None
    probability = {row[i]: p for i, p in kept.items()}
    return {i: probability[row[i]] for i in counts}


class _SamplerCheck:
    def __init__(self, sample: Sample, preset: str | None, draws: int, seed: int) -> None:
        self.sample, self.draws, self.engine = sample, draws, preset is not None
        self.start = Params() if preset is None else Params.preset(preset)
        self.library = libsampler.Sampler()
        self.seeds = random.Random(seed)
        self.report = Report()

    def found(self, check: str, row: str, parameters: dict[str, Any], text: str | None) -> None:
        self.report.checks += 1
        if text:
            self.report.findings.append(Finding(check, row, parameters, text))

    def distribution(self, row: Sequence[float], parameters: dict[str, Any]) -> list[float]:
        """The probabilities that the preset, or the contract, gives these logits."""
        logits = _shaped(array.array("f", row), 1, len(row))
        output = self.library.filter(logits, params=self.start.replace(**parameters)).output
        return [float(x) for x in memoryview(output).cast("B").cast("f")]

    def new_seeds(self, count: int) -> list[int]:
        return [self.seeds.getrandbits(31) for _ in range(count)]

    def drawn(self, row: Sequence[float], parameters: dict[str, Any]) -> Counter[int]:
        one = array.array("f", row)
        most = max(1, _MOST_VALUES // len(row))
        draws = min(self.draws, 64 * most)
        counts: Counter[int] = Counter()
        while draws > 0:
            rows = min(most, draws)
            counts.update(_ids(self.sample(_shaped(one * rows, rows, len(row)), parameters, self.new_seeds(rows)), rows))
            draws -= rows
        self.report.draws += counts.total()
        return counts

    def row(self, name: str, row: Sequence[float], parameters: dict[str, Any]) -> None:
        expected = self.distribution(row, parameters)
        counts = self.drawn(row, parameters)
        kept = {i: p for i, p in enumerate(expected) if p > 0}
        if self.engine and (others := _other_ties(row, kept, counts)):
            self.report.notes.append(Finding("distribution", name, parameters,
                                             f"of tied tokens it keeps {sorted(others)}"))
            kept = others
        text = (self.wrong_tokens(row, kept, counts)
                or _frequencies_differ(counts, kept, counts.total()))
        self.found("distribution", name, parameters, text)

    @staticmethod
    def wrong_tokens(row: Sequence[float], kept: dict[int, float], counts: Counter[int]) -> str | None:
        outside = sorted((i for i in counts if i not in kept), key=lambda i: -counts[i])
        draws = counts.total()
        least = min((row[i] for i in kept), default=_NEVER)
        missing = [i for i, p in kept.items() if p * draws >= 4 * _LEAST_EXPECTED and counts[i] == 0]
        if outside:
            i, times = outside[0], counts[outside[0]]
            if not 0 <= i < len(row):
                return f"token {i}, which is no column, was drawn {times:,} times"
            if row[i] == _NEVER:
                return f"token {i} was drawn {times:,} times; its logit is -inf"
            why = "it ties with the last kept token" if row[i] == least else "it is not kept"
            return (f"{len(kept)} tokens are kept, but {len(outside)} others were drawn: token {i} "
                    f"{times:,} times in {draws:,}; {why}")
        if missing:
            i = missing[0]
            return (f"{len(kept)} tokens are kept, but {len(missing)} of them were never drawn: token {i}, "
                    f"expected {kept[i] * draws:,.0f} times in {draws:,}")
        return None

    def rows(self, supports: Sequence[str]) -> None:
        rows, stages = _rows(), list(self.start.stages)
        takes = {name for name in supports if not any(stages) or _STAGES[name] in stages}
        for name, cases in _CASES.items():
            for parameters in cases:
                if set(parameters) <= takes:
                    self.row(name, rows[name], parameters)

    def greedy(self) -> None:
        row = _rows()["ties"]
        for parameters in ({"temperature": 0.0}, {"temperature": 0.0, "top_k": 5}):
            counts = self.drawn(row, parameters)
            text = None
            if set(counts) != {3}:
                text = f"drew {sorted(counts)}; the largest logit is token 3's"
            self.found("greedy", "ties", parameters, text)

    def seeded(self) -> None:
        """Tokens depend on their rows and seeds alone."""
        columns, rows = 50, 24
        source = random.Random(1)
        logits = [[source.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
        seeds = self.new_seeds(rows)

        def batch(order: Sequence[int], own: Sequence[int] | None = None) -> list[int]:
            flat = array.array("f", [x for i in order for x in logits[i]])
            given = [seeds[i] for i in order] if own is None else list(own)
            self.report.draws += len(order)
            return _ids(self.sample(_shaped(flat, len(order), columns), {}, given), len(order))

        every = range(rows)
        base = batch(every)
        self.found("repetition", "random", {}, None if batch(every) == base else
                   "the same rows and seeds gave other tokens")
        same = batch([0] * rows, [seeds[0]] * rows)
        self.found("seeds", "random", {}, None if len(set(same)) == 1 else
                   f"one row with one seed in {rows} slots gave {len(set(same))} different tokens")
        changed = batch(every, [seeds[0], *self.new_seeds(rows - 1)])
        self.found("seeds", "random", {}, None if changed[1:] != base[1:] else
                   "the seeds of all rows but the first changed, and no token did")
        alone = [batch([i])[0] for i in every]
        wrong = [i for i in every if alone[i] != base[i]]
        self.found("batch", "random", {}, None if not wrong else
                   f"{len(wrong)} of {rows} rows gave other tokens alone than in the batch, first row {wrong[0]}")
        order = list(every)
        source.shuffle(order)
        moved = batch(order)
        wrong = [i for at, i in enumerate(order) if moved[at] != base[i]]
        self.found("permutation", "random", {}, None if not wrong else
                   f"{len(wrong)} of {rows} rows gave other tokens in another slot, first row {wrong[0]}")


def check_sampler(
    sample: Sample,
    preset: str | None = None,
    *,
    supports: Sequence[str] = PARAMETERS,
    seeds: bool = True,
    greedy: bool = True,
    draws: int = 20_000,
    seed: int = 0,
) -> Report:
    """Checks a sampler against a preset's rules (libsampler.preset_names()), or the contract's.

    `supports` has the parameters that it takes. seeds=False: it has no seeds by row; greedy=False: it takes
    no temperature 0. `draws` is for each row and parameters, fewer for the widest row; `seed` determines
    the seeds that it is given. An exception of `sample` is passed on."""
    check = _SamplerCheck(sample, preset, draws, seed)
    with check.library:
        check.rows(supports)
        if greedy and "temperature" in supports:
            check.greedy()
        if seeds:
            check.seeded()
    return check.report


def nearest_presets(sample: Sample, **options: Any) -> list[tuple[str, Report]]:
    """Each preset with its report: those with the fewest findings first, of them those with more checks."""
    reports = [(name, check_sampler(sample, name, **{"seeds": False, **options}))
               for name in libsampler.preset_names()]
    return sorted(reports, key=lambda pair: (len(pair[1].findings), -pair[1].checks))


# ---- Verifiers of drafts ----------------------------------------------------------------------------------

_VERIFIED: dict[str, tuple[list[list[float]], list[list[float]]]] = {
    "different": ([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3], [0.6, 0.1, 0.3]],
                  [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]),
    "the same": ([[0.2, 0.5, 0.3]] * 3, [[0.2, 0.5, 0.3]] * 2),
    "no common token": ([[0.5, 0.5, 0.0, 0.0]] * 2, [[0.0, 0.0, 0.3, 0.7]]),
    "certain target": ([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]], [[0.4, 0.3, 0.3]]),
    "certain drafter": ([[0.3, 0.3, 0.4], [0.1, 0.8, 0.1]], [[0.0, 0.0, 1.0]]),
}


def _texts(target: list[list[float]], draft: list[list[float]]) -> dict[tuple[int, ...], float]:
    """The law of emitted texts by the standard rule (Leviathan et al. 2023), by enumeration."""
    texts: dict[tuple[int, ...], float] = {}
    reached: dict[tuple[int, ...], float] = {(): 1.0}
    for p, q in zip(target, draft, strict=False):
        rejected = sum(max(a - b, 0.0) for a, b in zip(p, q, strict=True))
        further: dict[tuple[int, ...], float] = {}
        for text, probability in reached.items():
            for token, (a, b) in enumerate(zip(p, q, strict=True)):
                if min(a, b) > 0:
                    further[*text, token] = probability * min(a, b)
                if rejected > 0 and a > b:
                    texts[*text, token] = texts.get((*text, token), 0) + probability * (a - b)
        reached = further
    for text, probability in reached.items():
        for token, a in enumerate(target[len(draft)]):
            if a > 0:
                texts[*text, token] = texts.get((*text, token), 0) + probability * a
    return texts


def check_verifier(verify: Verify, *, draws: int = 50_000, seed: int = 0) -> Report:
    """Checks a verifier of chains: emitted tokens must follow the target wherever they stand, and texts the
    standard rule's law. A rule that is lossless but accepts at other times differs in texts alone."""
    report = Report()
    source = random.Random(seed)
    for name, (target, draft) in _VERIFIED.items():
        drafts, columns = len(draft), len(target[0])
        ids = array.array("i", [0]) * (draws * drafts)
        for place in range(drafts):
            ids[place::drafts] = array.array("i", source.choices(range(columns), draft[place], k=draws))
        flat_target = array.array("f", [x for row in target for x in row]) * draws
        flat_draft = array.array("f", [x for row in draft for x in row]) * draws
        result = verify(
            _shaped(flat_target, draws, drafts + 1, columns),
            _shaped(flat_draft, draws, drafts, columns),
            _shaped(ids, draws, drafts),
            [source.getrandbits(31) for _ in range(draws)])
        texts = Counter(tuple(int(x) for x in text if x >= 0) for text in _plain(result))
        report.draws += draws
        for place in range(drafts + 1):
            counts: Counter[Any] = Counter()
            for text, times in texts.items():
                if len(text) > place:
                    counts[text[place]] += times
            report.checks += 1
            kept = {i: p for i, p in enumerate(target[place]) if p > 0}
            outside = [token for token in counts if token not in kept]
            wrong = (f"token {outside[0]} was emitted, which the target gives probability 0" if outside
                     else _frequencies_differ(counts, kept, counts.total()) if counts.total() else None)
            if wrong:
                report.findings.append(Finding("tokens follow the target", name, {"place": place}, wrong))
        report.checks += 1
        law = _texts(target, draft)
        impossible = [text for text in texts if text not in law]
        wrong = (f"text {impossible[0]} was emitted {texts[impossible[0]]:,} times, which the rule never does"
                 if impossible else _frequencies_differ(texts, law, draws))
        if wrong:
            report.findings.append(Finding("standard rule", name, {}, wrong))
    return report


# ---- The program ------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m libsampler.verify", description="Is your sampler right?")
    parser.add_argument("function", help="module:function, as libsampler.verify describes it")
    parser.add_argument("--preset", help=f"one of {', '.join(libsampler.preset_names())}; else the contract")
    parser.add_argument("--nearest", action="store_true", help="says how many findings each preset has")
    parser.add_argument("--drafts", action="store_true", help="the function verifies drafts")
    parser.add_argument("--without-seeds", action="store_true", help="it has no seeds by row")
    parser.add_argument("--supports", default=",".join(PARAMETERS), help="the parameters that it takes")
    parser.add_argument("--draws", type=int, help="for each row and parameters")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    module, colon, name = given.function.partition(":")
    if not colon:
        parser.error(f"{given.function} is no module:function")
    sys.path.insert(0, os.getcwd())
    function = getattr(importlib.import_module(module), name)
    options: dict[str, Any] = {"seed": given.seed} | ({"draws": given.draws} if given.draws else {})
    if given.drafts:
        report = check_verifier(function, **options)
    elif given.nearest:
        options["supports"] = given.supports.split(",")
        for preset, report in nearest_presets(function, **options):
            print(f"{preset:24} {len(report.findings):3} findings in {report.checks} checks")
        return 0
    else:
        report = check_sampler(function, given.preset, seeds=not given.without_seeds,
                               supports=given.supports.split(","), **options)
    print(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
