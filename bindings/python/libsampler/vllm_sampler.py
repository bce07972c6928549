"""libsampler's draws and verification in vLLM's V2 model runner, for all requests.

    VLLM_PLUGINS=libsampler vllm serve MODEL

or, before the engine starts: libsampler.vllm_sampler.register(). Subclasses of vLLM's Sampler and
RejectionSampler. Grammars, biases, penalties, bad words, logits processors, thinking budgets, traces,
log-probabilities and sampling masks are vLLM's own; temperature, min_p, top_k, top_p (preset "vllm_v2"), the
draw and the verification of drafts are libsampler's, in one call for a step's rows. A token depends on its
logits, its request's parameters and seed, and its position alone. Drafts without distributions are verified by
SAMPLE_MATCH under "standard": the text is, token by token, the one without drafts.
"""

import array
import sys
from typing import Any

import torch
from torch import Tensor
from vllm.config.model import PROCESSED_LOGPROBS_MODES
from vllm.v1.spec_decode.utils import unconditional_to_conditional_rates
from vllm.v1.worker.gpu.sample import sampler as _sampler
from vllm.v1.worker.gpu.sample import states as _states
from vllm.v1.worker.gpu.spec_decode import rejection_sampler as _rejection_sampler

import libsampler
from libsampler import Acceptance

from . import torch as _operators

_PRESET = "vllm_v2"
_RULES = {"standard": Acceptance.STANDARD, "block": Acceptance.BLOCK, "fly": Acceptance.DEFERRED,
          "synthetic": Acceptance.SYNTHETIC}
_LEAST_FLOAT = 2.0**-149  # 0 is the default


class _SamplingStates(_states.SamplingStates):  # type: ignore[misc]
    """Requests' parameters, of which vLLM applies none: its apply_sampling_params makes the edits alone."""

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        super().add_request(req_idx, sampling_params)
        return False  # no edit

    def apply_temperature(self, *_: Any) -> None:
        pass

    def apply_min_p(self, *_: Any) -> None:
        pass

    def apply_top_k_top_p(self, logits: Tensor, *_: Any) -> Tensor:
        return logits

    def filters(self, idx_mapping_np: Any) -> list[str]:
        """Those that any of the requests has on."""
        return [name for name, off in (("top_k", self.vocab_size), ("top_p", 1), ("min_p", 0))
                if (getattr(self, name).np[idx_mapping_np] != off).any()]


class Sampler(_sampler.Sampler):  # type: ignore[misc]
    """With the arguments of vLLM's."""

    def __init__(self, vllm_config: Any, max_num_reqs: int, vocab_size: int, device: torch.device,
                 *arguments: Any, **options: Any) -> None:
        super().__init__(vllm_config, max_num_reqs, vocab_size, device, *arguments, **options)
        self.sampling_states = _SamplingStates(max_num_reqs, vocab_size)
        self.offsets = torch.zeros(max_num_reqs, dtype=torch.int64, device=device)  # of the step, by slot
        self.params = libsampler.Params.preset(_PRESET)

    def sample(
        self, logits: Tensor, expanded_idx_mapping: Tensor, idx_mapping: Tensor, idx_mapping_np: Any,
        pos: Tensor, input_ids: Tensor, expanded_local_pos: Tensor, seq_lens_upper_bound_np: Any,
        return_logprobs: bool = False,
    ) -> tuple[Tensor, Tensor]:
        logits = self.apply_sampling_params(
            logits, expanded_idx_mapping, idx_mapping, idx_mapping_np, pos, input_ids, expanded_local_pos,
            seq_lens_upper_bound_np)
        sampled = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
        self.call("sample", expanded_idx_mapping, idx_mapping_np, pos, logits, out_token_ids=sampled)
        if self.returns_processed(return_logprobs):
            logits = self.processed(logits, expanded_idx_mapping, idx_mapping_np)
        return sampled, logits

    def call(self, name: str, slots: Tensor, slots_np: Any, pos: Tensor, logits: Tensor, *drafts: Any,
             **arguments: Any) -> None:
        """libsampler's call. A bad row, as of NaN, yields token 0: -1 is none of the model's."""
        states = self.sampling_states
        self.offsets[slots] = pos + 1
        row_params = libsampler.RowParams(temperature=states.temperature.gpu, **{
            each: getattr(states, each).gpu for each in states.filters(slots_np)})
        _operators.call(
            name, logits.device, 0, libsampler.Rows(_operators.plain_rows(logits)), *drafts,
            slots=_operators.int32(slots), num_slots=states.max_num_reqs, params=self.params,
            row_params=row_params, seeds=states.seeds.gpu, offsets=self.offsets, **arguments)

    def returns_processed(self, return_logprobs: bool) -> bool:
        return bool(self.return_sampling_mask
                    or (return_logprobs and self.logprobs_mode in PROCESSED_LOGPROBS_MODES))

    def processed(self, logits: Tensor, expanded_idx_mapping: Tensor, idx_mapping_np: Any) -> Tensor:
        """The edited logits as they are drawn from: over the temperature, -inf where a filter removes."""
        states = self.sampling_states
        temperature = states.temperature.gpu[expanded_idx_mapping]
        temperature.masked_fill_(temperature == 0, 1.0)  # greedy rows have no filters
        filters = {each: getattr(states, each).gpu[expanded_idx_mapping]
                   for each in states.filters(idx_mapping_np)}
        return _operators.filter(logits.float(), values=True, preset=_PRESET, temperature=temperature,
                                 **filters).div_(temperature.unsqueeze(-1))


class RejectionSampler(_rejection_sampler.RejectionSampler):  # type: ignore[misc]
    """With the arguments of vLLM's, and the Sampler above."""

    def __init__(self, sampler: Sampler, spec_config: Any, device: torch.device, *,
                 watermark_key: int | None = None) -> None:
        method = spec_config.rejection_sample_method
        if watermark_key is not None:
            raise ValueError("libsampler does not verify vLLM's watermarked drafts; watermark_config must be None")
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler is a {type(sampler).__name__}; it must be libsampler's")
        if method not in _RULES:
            raise ValueError(f"rejection_sample_method is {method!r}; it must be one of {', '.join(_RULES)}")
        super().__init__(sampler, spec_config, device)
        more: dict[str, Any] = {}
        if method == "synthetic":
            more["synthetic_rates"] = array.array(
                "f", unconditional_to_conditional_rates(spec_config.synthetic_acceptance_rates))
        elif method == "fly":
            more = {"deferred_window": self.fly_window_size, "deferred_top_k": self.fly_entropy_top_k,
                    "deferred_entropy": max(self.fly_entropy_threshold, _LEAST_FLOAT)}
        self.acceptance = libsampler.AcceptanceParams(rule=_RULES[method], **more)
        self.acceptance_without_draft = self.acceptance
        if method == "standard":
            self.acceptance_without_draft = libsampler.AcceptanceParams(rule=Acceptance.SAMPLE_MATCH)
        self.draft_params = libsampler.Params()

    def _verify(
        self, logits: Tensor, draft_logits: Tensor | None, draft_sampled: Tensor, pos: Tensor,
        cu_num_logits: Tensor, idx_mapping: Tensor, idx_mapping_np: Any, expanded_idx_mapping: Tensor,
        expanded_local_pos: Tensor, seq_lens_upper_bound_np: Any, verify_draft_sampled: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        sampler, states, num_drafts = self.sampler, self.sampler.sampling_states, self.num_speculative_steps
        logits = sampler.apply_sampling_params(
            logits, expanded_idx_mapping, idx_mapping, idx_mapping_np, pos, draft_sampled, expanded_local_pos,
            seq_lens_upper_bound_np)
        target, drafts = logits, list[Any]()
        more: dict[str, Any] = {"acceptance": self.acceptance_without_draft}
        if draft_logits is not None:
            if draft_logits.shape[1] != num_drafts:
                raise ValueError(f"draft_logits.shape[1] is {draft_logits.shape[1]}; "
                                 f"it must be num_speculative_tokens, {num_drafts}")
            columns = min(logits.shape[1], draft_logits.shape[2])  # either may be padded
            target = logits[:, :columns]
            drafts = [libsampler.Rows(draft_logits.view(-1, draft_logits.shape[2])[:, :columns])]
            more = {"acceptance": self.acceptance, "draft_params": self.draft_params,
                    "draft_row_params": libsampler.RowParams(temperature=states.temperature.gpu)}
        count = len(idx_mapping)
        sampled = torch.empty(count, num_drafts + 1, dtype=torch.int64, device=logits.device)
        num_sampled = torch.empty(count, dtype=torch.int32, device=logits.device)
        layout = libsampler.DraftLayout(
            packing=libsampler.Packing.POSITIONS, packing_offsets=_operators.int32(cu_num_logits),
            num_sequences=count, num_packed_positions=len(logits), draft_rows_by_slot=int(draft_logits is not None))
        sampler.call("verify", idx_mapping, idx_mapping_np, pos[cu_num_logits[:-1]], target, *drafts,
                     draft_token_ids=verify_draft_sampled.long(), num_drafts=num_drafts, layout=layout,
                     out_token_ids=sampled, out_emitted_counts=num_sampled, **more)
        num_sampled += 1  # the token after the drafts
        if sampler.returns_processed(states.max_num_logprobs(idx_mapping_np) != _states.NO_LOGPROBS):
            logits = sampler.processed(logits, expanded_idx_mapping, idx_mapping_np)
        return logits, sampled, num_sampled


def register() -> None:
    """Makes them the V2 model runner's, of engines that start later in this process."""
    _sampler.Sampler = Sampler
    _rejection_sampler.RejectionSampler = RejectionSampler
    runner: Any = sys.modules.get("vllm.v1.worker.gpu.model_runner")
    if runner is not None:
        runner.Sampler, runner.RejectionSampler = Sampler, RejectionSampler
