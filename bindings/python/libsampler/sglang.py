"""SGLang with libsampler's draws.

    import libsampler.sglang
    libsampler.sglang.register()                # before the server starts
    # --sampling-backend libsampler

A subclass of SGLang's Sampler. Where no log-probabilities are wanted, tokens are drawn from the logits, which
are read once; else SGLang computes its probabilities, and libsampler draws from them. Top-k, top-p and min-p
keep what SGLang's PyTorch backend keeps (preset "sglang"). With sampling_seed a token depends on its logits,
parameters, seed and position alone; without it seeds come from torch's generator.
"""

from typing import Any

import torch
from sglang.srt.layers import sampler as _sglang

from . import torch as _operators


class Sampler(_sglang.Sampler):  # type: ignore[misc]
    def forward(
        self, logits_output: Any, sampling_info: Any, return_logprob: bool, top_logprobs_nums: Any,
        token_ids_logprobs: Any, positions: torch.Tensor, *, logprob_logits: Any = None,
    ) -> torch.Tensor:
        if (return_logprob or logprob_logits is not None or sampling_info.is_all_greedy
                or sampling_info.sampling_mask_batch_indices is not None):
            result: torch.Tensor = super().forward(
                logits_output, sampling_info, return_logprob, top_logprobs_nums, token_ids_logprobs,
                positions, logprob_logits=logprob_logits)
            return result
        logits = self._preprocess_logits(logits_output.next_token_logits, sampling_info)
        token_ids = self._draw(logits, sampling_info, positions,
                               temperature=sampling_info.temperatures.reshape(-1))
        self._sync_token_ids_across_tp(token_ids, sampling_info)
        return token_ids

    def _sample_from_probs(
        self, probs: torch.Tensor, sampling_info: Any, positions: torch.Tensor, simple_sampling_case: bool
    ) -> tuple[torch.Tensor, Any]:
        if sampling_info.sampling_mask_batch_indices is not None:  # SGLang reports what its own filters keep
            result: tuple[torch.Tensor, Any] = super()._sample_from_probs(
                probs, sampling_info, positions, simple_sampling_case)
            return result
        return self._draw(probs, sampling_info, positions, probabilities=True), None

    @staticmethod
    def _draw(rows: torch.Tensor, info: Any, positions: torch.Tensor, **options: Any) -> torch.Tensor:
        seeds: Any = info.sampling_seed
        offsets: Any = 0
        if seeds is None:
            seeds = int(torch.randint(2**62, (), device="cpu"))
        else:
            seeds, offsets = seeds.to(torch.int64), positions.to(torch.int64)
        if info.need_top_k_sampling:
            options["top_k"] = info.top_ks
        if info.need_top_p_sampling:
            options["top_p"] = info.top_ps
        if info.need_min_p_sampling:
            options["min_p"] = info.min_ps
        # A bad row yields token 0, not -1, which nothing in SGLang expects.
        return _operators.sample(rows, seeds, offsets, preset="sglang", **options).clamp_(min=0)


def register(name: str = "libsampler") -> None:
    """Makes it the sampling backend of this name."""
    _sglang.register_sampler_backend(name, Sampler)
