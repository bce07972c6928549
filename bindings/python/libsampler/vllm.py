"""libsampler's stages in vLLM's V2 model runner: DRY, XTC, typical-p, top-n-sigma and the others.

    vllm serve MODEL --logits-processors libsampler.vllm:Processor

A request asks for them by extra_args (vllm_xargs in the HTTP API), with the names of RowParams:
{"dry_multiplier": 0.8, "xtc_probability": 0.5}. libsampler then draws its token, with the request's
temperature, top_k, top_p, min_p and seed too, in vLLM's order; other requests stay vLLM's own. Grammars,
penalties, biases and bad words are vLLM's, and come first. The token depends on the request's logits, seed
and position alone.
"""

import random
from typing import TYPE_CHECKING, Any

import numpy
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor

from ._request_options import INTEGERS, NAMES, OF_HISTORY, broken_rule, given

if TYPE_CHECKING:
    import torch

_OWN = ("temperature", "top_k", "top_p", "min_p")  # members of SamplingParams
_MIN_P_FIRST = 2  # FilterOrder: vLLM's


class Processor(LogitsProcessor):  # type: ignore[misc]
    """Parameters by slot, on the host and the device; a call for a step's rows."""

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        import torch

        self.states = req_states
        self.speculates = getattr(vllm_config, "speculative_config", None) is not None
        slots = req_states.max_num_reqs
        self.values = {name: numpy.zeros(slots, dtype=numpy.int32 if name in INTEGERS else numpy.float32)
                       for name in (*_OWN, *NAMES)}
        self.values["seed"] = numpy.zeros(slots, dtype=numpy.int64)
        self.values["is_active"] = numpy.zeros(slots, dtype=numpy.bool_)
        self.on_device = {name: torch.zeros(slots, dtype=torch.from_numpy(array).dtype,
                                            device=req_states.device) for name, array in self.values.items()}
        self.is_staged = False

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        for name, value in given(sampling_params.extra_args).items():
            rule = broken_rule(name, value)
            if rule is not None:
                raise ValueError(f"extra_args[{name!r}] is {value!r}; {rule}")

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        extra = given(sampling_params.extra_args)
        if self.speculates and any(name in OF_HISTORY for name in extra):
            raise ValueError("extra_args has options that read the text; they are not supported with "
                             "speculative decoding")
        self.is_staged |= bool(extra) or bool(self.values["is_active"][req_idx])
        self.values["is_active"][req_idx] = bool(extra)
        for name in NAMES:
            self.values[name][req_idx] = extra.get(name, 0)  # 0: off, or the default
        for name in _OWN:
            self.values[name][req_idx] = getattr(sampling_params, name)
        seed = sampling_params.seed
        self.values["seed"][req_idx] = random.getrandbits(62) if seed is None else seed
        return bool(extra)

    def apply_staged_writes(self) -> None:
        import torch

        if self.is_staged:
            for name, array in self.values.items():
                self.on_device[name].copy_(torch.from_numpy(array.copy()), non_blocking=True)
            self.is_staged = False

    def apply(self, logits: "torch.Tensor", ctx: Any) -> "torch.Tensor":
        import libsampler.torch as operators

        slots = ctx.idx_mapping_np[self.values["is_active"][ctx.idx_mapping_np]]
        if len(slots) == 0:
            return logits
        of_row = ctx.expanded_idx_mapping.long()
        used = [name for name in (*_OWN, *NAMES) if name in _OWN or self.values[name][slots].any()]
        options: dict[str, Any] = {name: self.on_device[name][of_row] for name in used}
        if any(name in OF_HISTORY for name in used):
            options["history"] = self.history(ctx, of_row)
        token_ids = operators.sample(logits, self.on_device["seed"][of_row], ctx.pos.long() + 1, int64=True,
                                     filter_order=_MIN_P_FIRST, **options).unsqueeze(-1)
        # A drawn token is left alone with a finite logit; rows of other requests, and bad ones, stay.
        is_drawn = (self.on_device["is_active"][of_row].unsqueeze(-1)) & (token_ids >= 0)
        places = token_ids.clamp(min=0)
        kept = logits.gather(1, places).masked_fill(is_drawn, 0.0)
        logits.masked_fill_(is_drawn, float("-inf"))
        return logits.scatter_(1, places, kept)

    def history(self, ctx: Any, of_row: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        """The rows' texts, with -1, which is no token, in front of the shorter ones."""
        import torch

        length = int(ctx.seq_lens_upper_bound_np.max())
        places = torch.arange(length, device=of_row.device) - (length - 1 - ctx.pos.long().unsqueeze(-1))
        texts = self.states.all_token_ids.gpu[of_row.unsqueeze(-1), places.clamp(min=0)]
        offsets = torch.arange(0, len(of_row) * length + 1, length, device=of_row.device)
        return offsets, texts.long().masked_fill(places < 0, -1).reshape(-1)
