"""Hugging Face's `generate` with libsampler's draws: seeds by row, the same tokens in any batch.

    from libsampler.transformers import generate

    model.generate(**inputs, do_sample=True, temperature=0.8, top_p=0.95,
                   custom_generate=generate, seeds=[1, 2, 3])

The generation config keeps its meaning (preset "hugging_face"); what else libsampler has comes as
sampler_options={"dry_multiplier": 0.8}. Tokens of a row depend on its logits, seed and place in the text.
"""

import copy
from numbers import Integral
from typing import Any

import torch
from transformers import GenerationConfig, GenerationMixin, LogitsProcessor, LogitsProcessorList
from transformers.generation import logits_process as _warpers

import libsampler
from libsampler import Stage

from . import torch as _operators

# What libsampler does in their place, by the generation config's members of these names.
_REPLACED = tuple(
    getattr(_warpers, name) for name in (
        "TemperatureLogitsWarper", "TopHLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper",
        "MinPLogitsWarper", "TypicalLogitsWarper", "EpsilonLogitsWarper", "EtaLogitsWarper",
        "LogitNormalization") if hasattr(_warpers, name))
_MEMBERS = ("temperature", "top_h", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")


class SeededSampler(LogitsProcessor):
    """Draws a token for each row, and leaves it alone with a finite score, so that whatever chooses after it
    chooses that one. The last of a list, with do_sample=False; its `options` are those of
    libsampler.torch.sample. A new one for each call of `generate`.

    `seeds` has one number for each row, or is one number for all, with which rows draw independently.
    """

    def __init__(self, seeds: Any, prompt_length: int | None = None, **options: Any) -> None:
        if not isinstance(seeds, (Integral, torch.Tensor)):
            seeds = [_operators.signed(seed) for seed in seeds]
        self.seeds = seeds if isinstance(seeds, Integral) else torch.as_tensor(seeds, dtype=torch.int64)
        self.prompt_length = prompt_length
        self.options = options
        self.drawn: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rows, length = input_ids.shape
        if self.prompt_length is None:
            self.prompt_length = length
        seeds: Any = self.seeds
        if isinstance(seeds, torch.Tensor):
            if seeds.numel() != rows:
                raise ValueError(f"there are {seeds.numel()} seeds for {rows} rows; each row needs one")
            seeds = self.seeds = seeds.to(scores.device)
        history: dict[str, Any] = {}
        if "history" not in self.options:
            offsets = torch.arange(rows + 1, device=scores.device) * length
            history["history"] = (offsets, input_ids.reshape(-1).to(torch.int64))
        self.drawn = _operators.sample(scores, seeds, length - self.prompt_length, int64=True, **history,
                                       **self.options)
        return torch.full_like(scores, float("-inf")).scatter_(1, self.drawn.clamp(min=0).unsqueeze(-1), 0.0)


def options_of(config: GenerationConfig) -> dict[str, Any]:
    """The options of a generation config's warpers."""
    values = {name: getattr(config, name, None) for name in _MEMBERS}
    return {"preset": "hugging_face", "top_k": 0, "temperature": 1.0,
            **{name: value for name, value in values.items() if value is not None}}


def _all_stages(preset: str) -> list[int]:
    """The stages of a preset, and where those come that it lacks: edits before the temperature, others last."""
    own = [stage for stage in libsampler.Params.preset(preset).stages if stage not in (0, Stage.ADAPTIVE)]
    edits = [stage for stage in own if stage < Stage.TEMPERATURE]
    return list(dict.fromkeys([*edits, *range(1, Stage.TEMPERATURE), *own,
                               *range(Stage.TEMPERATURE, Stage.ADAPTIVE + 1)]))


def generate(
    model: Any,
    input_ids: Any,
    logits_processor: LogitsProcessorList,
    stopping_criteria: Any,
    generation_config: GenerationConfig,
    seeds: Any = None,
    sampler_options: dict[str, Any] | None = None,
    **model_kwargs: Any,
) -> Any:
    """For `custom_generate` of model.generate: its own loop, with libsampler's draws where do_sample is on.
    Without `seeds` each row's comes from torch's generator."""
    if generation_config.watermarking_config is not None:
        raise ValueError("watermarking_config is set; libsampler.transformers has no watermarks")
    processors = LogitsProcessorList(each for each in logits_processor if not isinstance(each, _REPLACED))
    config = generation_config
    if generation_config.do_sample:
        if seeds is None:
            seeds = torch.randint(2**62, (input_ids.shape[0],))
        options = {**options_of(generation_config), **(sampler_options or {})}
        options.setdefault("stages", _all_stages(options["preset"]))
        processors.append(SeededSampler(seeds, input_ids.shape[1], **options))
        config = copy.copy(generation_config)
        config.do_sample = False
    return GenerationMixin._sample(model, input_ids, logits_processor=processors,
                                   stopping_criteria=stopping_criteria, generation_config=config,
                                   **model_kwargs)
