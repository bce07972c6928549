"""exllamav3 with libsampler's draws and stages.

    from libsampler.exllamav3 import Sampler
    Job(input_ids=ids, sampler=Sampler(temperature=0.8, min_p=0.05, dry_multiplier=0.8, typical_p=0.9))
    Job(input_ids=ids, sampler=Sampler(TopPSampler(0.9, temperature=0.8)))

A token depends on its logits, the text and rand_u32 alone; in adaptive stages also on what was drawn before.
Top-k keeps ties, as exllamav3's kernel does, and top-p the lower ids. XTC tosses its coin instead of averaging.
"""

import functools
import inspect
import math
import operator
import random
from typing import Any

import torch
from exllamav3.generator.sampler import custom as _steps
from exllamav3.generator.sampler.presets import ComboSampler as _ComboSampler
from exllamav3.generator.sampler.sampler import Sampler as _Sampler
from torch import Tensor

import libsampler
from libsampler import Stage, TokenLists

from . import torch as _operators

# exllamav3's steps: the stage, and members of Params and what else it needs, with the step's own name for it.
_STEPS = {
    "SS_BanTokens": (Stage.MASK, "banned=mask.token_ids"),
    "SS_LogitBias": (Stage.BIAS, "biases=bias.logit_bias"),
    "SS_RepP": (Stage.PENALTIES, "repetition_penalty=rep_p sustain_range decay_range"),
    "SS_PresFreqP": (Stage.PENALTIES, "presence_penalty=pres_p frequency_penalty=freq_p sustain_range decay_range"),
    "SS_DRY": (Stage.DRY, "dry_multiplier dry_base dry_allowed_length dry_window=dry_range breakers default_breakers"),
    "SS_Temperature": (Stage.TEMPERATURE, "temperature"), "SS_MinP": (Stage.MIN_P, "min_p"),
    "SS_TopK": (Stage.TOP_K, "top_k"), "SS_TopP": (Stage.TOP_P, "top_p"),
    "SS_XTC": (Stage.XTC, "xtc_probability=probability xtc_threshold=threshold protected"),
    "SS_AdaptiveP": (Stage.ADAPTIVE, "adaptive_target=target adaptive_rate=decay"),
}
_OF_HISTORY = ("repetition_penalty", "frequency_penalty", "presence_penalty", "dry_multiplier", "no_repeat_ngram_size")


def _unfused(step: Any) -> tuple[list[int], dict[str, Any]]:
    """The stages and numbers of which exllamav3 has made one step."""
    if step.mode == step.MODE_GREEDY:
        return [Stage.TEMPERATURE], {"temperature": 0.0}
    has_min_p = step.mode == step.MODE_SAMPLE_MINP or step.filters & step.F_MINP
    stages: list[int] = [Stage.MIN_P, Stage.TOP_K, Stage.TOP_P]
    stages.insert(0 if step.inv_temp_filter == step.inv_temp else 3, Stage.TEMPERATURE)
    return stages, {"temperature": 1 / step.inv_temp, "top_k": step.top_k, "top_p": step.top_p,
                    "min_p": math.exp(step.minp_log * step.inv_temp_filter) if has_min_p else 0.0}


def _read(sampler: Any) -> tuple[list[int], dict[str, Any]]:
    """The stages of a sampler's steps, in their order, and their numbers."""
    stages: list[int] = []
    values: dict[str, Any] = {}
    for step in sampler.steps:
        name = type(step).__name__
        if name in ("SS_Argmax", "SS_Normalize", "SS_Sample", "SS_Sample_mn", "SS_Sort"):
            continue
        if name == "SS_Fused":
            own, found = _unfused(step)
        elif name in _STEPS:
            stage, members = _STEPS[name]
            pairs = [member.split("=") for member in members.split()]
            own, found = [stage], {pair[0]: operator.attrgetter(pair[-1])(step) for pair in pairs}
        else:
            raise ValueError(f"{name} is a step that libsampler has no stage for")
        if any(values.get(member, value) != value for member, value in found.items()):
            raise ValueError(f"{name} stands beside another step of its kind, with other numbers")
        values |= found
        stages += [stage for stage in own if stage not in stages]
    if type(sampler.steps[-1]).__name__ == "SS_Argmax" or values.get("top_k") == 1:
        values["temperature"] = 0.0
    return stages, values


class Sampler(_Sampler):  # type: ignore[misc]
    """The stages of one of exllamav3's samplers, or of a ComboSampler of the options, in their order. Other options
    are members of libsampler.Params; stages that exllamav3 lacks come last, unless `stages` lists all."""

    def __init__(self, sampler: Any = None, /, **options: Any) -> None:
        super().__init__()
        if sampler is None:
            names = [name for name in inspect.signature(_ComboSampler).parameters if name in options]
            sampler = _ComboSampler(**{name: options.pop(name) for name in names})
        stages, values = _read(sampler)
        if values.pop("protected", None):
            raise ValueError("SS_XTC has protected tokens; libsampler's XTC has none")
        self.banned, self.biases = values.pop("banned", []), dict(sorted(values.pop("biases", {}).items()))
        breakers, self.has_default_breakers = values.pop("breakers", None), values.pop("default_breakers", False)
        self.breakers = frozenset(breakers.token_ids) if breakers else None
        window, decay_range = (max(values.pop(name, 0), 0) for name in ("sustain_range", "decay_range"))
        self.fading: tuple[float, ...] = ()  # penalties that fade with a token's distance, which libsampler's do not
        if decay_range > 0:
            penalties = zip(_OF_HISTORY[:3], (1.0, 0.0, 0.0), strict=True)
            self.fading = (*(values.pop(name, off) for name, off in penalties), window, decay_range)
        zeros = [name for name in ("dry_allowed_length", "xtc_threshold", "adaptive_rate") if values.get(name) == 0]
        values |= dict.fromkeys(zeros, -1)  # 0 is libsampler's default
        kind = libsampler.AdaptiveKind.P if Stage.ADAPTIVE in stages else libsampler.AdaptiveKind.NONE
        edits = [stage for stage in stages if stage < Stage.TEMPERATURE]
        if edits != stages[:len(edits)]:
            raise ValueError("a penalty, bias or ban stands after the temperature or a filter")
        first = range(1, Stage.TEMPERATURE if Stage.TEMPERATURE in stages else Stage.TYPICAL_P)
        windows = [stage for stage in stages[len(edits):] if stage != Stage.ADAPTIVE]
        order = dict.fromkeys([*edits, *first, *windows, *range(Stage.TYPICAL_P, Stage.ADAPTIVE + 1)])
        self.params = params = libsampler.Params(**{
            "stages": list(order), "top_k_ties": libsampler.TieRule.KEEP, "adaptive_kind": kind,
            "penalty_window": min(window, 2**31 - 1), **values, **options})
        target, weight = params.adaptive_target, 1 / (1 - min(max(params.adaptive_rate, 0.0), 0.99))
        self.is_adaptive = params.adaptive_kind != libsampler.AdaptiveKind.NONE or 0 < params.top_p_decay < 1
        self.start = self.adaptive_values = torch.tensor([[
            2 * (target or 5.0), target * weight, weight, min(max(params.top_p, 0.0), 1.0)]])
        self.reqs_past_ids = bool(self.fading) or any(getattr(self.params, name) for name in _OF_HISTORY)

    @torch.inference_mode()
    def forward(
        self, logits: Tensor, sequence_ids: Tensor | None = None, rand_u32: int | None = None, tokenizer: Any = None,
        blocked_tokens: list[int] | None = None, allowed_tokens: list[int] | None = None, return_state: bool = False,
        *, logit_mask: Tensor | None = None,
    ) -> Any:
        seed = random.getrandbits(32) if rand_u32 is None else rand_u32
        if tokenizer is not None and tokenizer.actual_vocab_size < logits.shape[-1]:
            logits[..., tokenizer.actual_vocab_size:] = -math.inf  # exllamav3 reads them afterwards
        rows = _operators.plain_rows(logits.reshape(-1, logits.shape[-1]))
        device, (count, columns) = rows.device, rows.shape
        lists: dict[str, Any] = {}
        if self.reqs_past_ids and sequence_ids is not None:
            past = sequence_ids.to(device, torch.int64)
            lists["history"] = (torch.arange(len(past) + 1, device=device) * past.shape[1], past.reshape(-1))
            rows = self._faded(rows, past) if self.fading else rows
        if self.biases and not self.fading:
            lists["biased"] = _lists(tuple(self.biases), device)
            lists["biases"] = torch.tensor(tuple(self.biases.values()), dtype=torch.float32, device=device)
        if self.banned or blocked_tokens:
            lists["banned"] = _lists((*self.banned, *(blocked_tokens or ())), device)
        if allowed_tokens:
            lists["allowed"] = _lists(tuple(allowed_tokens), device)
        if logit_mask is not None:
            lists |= _mask(logit_mask.to(device).reshape(-1, logit_mask.shape[-1]), count, columns)
        has_default = self.has_default_breakers and tokenizer is not None
        breakers = _steps.dry_default_sequence_breaker_tokens(tokenizer) if has_default else self.breakers
        if breakers:
            lists["dry_breakers"] = _lists(breakers, device, each=True)
        observed = None
        if self.is_adaptive:
            values = self.adaptive_values if len(self.adaptive_values) == count else self.start.expand(count, -1)
            lists["adaptive_values"] = values = values.to(device).contiguous()
            observed = torch.empty(count, device=device)
        sample = torch.empty(count, dtype=torch.int64, device=device)
        _operators.call(  # a bad row yields token 0
            "sample", device, 0, libsampler.Rows(rows), params=self.params, seed=seed, offset=0, out_token_ids=sample,
            pipeline=libsampler.Pipeline(**lists), reports=libsampler.Reports(out_observations=observed))
        if observed is not None:
            self.adaptive_values = self._moved(values, observed)
        return sample.view(logits.shape[:-1]) if not return_state else _steps.SamplingState(
            rand_u32=seed, bsz=count, dim=columns, in_logits=rows, sample=sample, state=_steps.SS.DONE)

    def _moved(self, values: Tensor, observed: Tensor) -> Tensor:
        """What mirostat, adaptive-p (its sum and weight) and top-p decay remember, after a token."""
        rate, target = self.params.adaptive_rate, self.params.adaptive_target
        moved = values * min(max(rate, 0.0), 0.99)
        moved[:, 0] = values[:, 0] - max(rate or 0.1, 0.0) * (observed - (target or 5.0))
        moved[:, 1] += observed
        moved[:, 2] += 1
        moved = torch.where(observed.isnan().unsqueeze(1), values, moved)
        moved[:, 3] = (values[:, 3] * self.params.top_p_decay).clamp(min=self.params.top_p_least)
        return moved

    def _faded(self, rows: Tensor, past: Tensor) -> Tensor:
        """The rows with biases and penalties."""
        repetition, frequency, presence, sustain_range, decay_range = self.fading
        rows, columns = rows.to(torch.float32, copy=True), rows.shape[1]
        for token in [each for each in self.biases if 0 <= each < columns]:
            rows[:, token] += self.biases[token]
        distances = torch.arange(past.shape[1], 0, -1, dtype=torch.float32, device=rows.device)
        shares = (1 - (distances - sustain_range) / decay_range).clamp(0, 1) * (past < columns)
        past = past.clamp(max=columns - 1)
        total = torch.zeros_like(rows).scatter_add_(1, past, shares)
        largest = torch.zeros_like(rows).scatter_reduce_(1, past, shares, "amax")
        rows *= 1 - largest + largest * torch.where(rows > 0, 1 / repetition, repetition)
        return rows - total * frequency - largest * presence


@functools.lru_cache(maxsize=64)
def _lists(ids: tuple[int, ...] | frozenset[int], device: torch.device, each: bool = False) -> TokenLists:
    """A list of all ids, or one of each, by ascending id."""
    ends = torch.arange(0, len(ids) + 1, 1 if each else len(ids), device=device)
    return TokenLists(ends, torch.tensor(sorted(ids), device=device))


def _mask(mask: Tensor, count: int, columns: int) -> dict[str, Any]:
    """Bits, or numbers that are added, of all rows or of each; ids beyond them are banned."""
    if mask.dtype != torch.int32:
        return {"dense_bias": torch.nn.functional.pad(mask.float(), (0, columns - mask.shape[1]), value=-math.inf)}
    return {"token_bitmasks": mask.expand(count, -1).contiguous(), "token_bitmask_stride": mask.shape[1],
            "token_bitmask_rule": libsampler.MaskRule.FORBIDS}
