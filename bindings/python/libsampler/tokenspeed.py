"""TokenSpeed with libsampler's draws, verification and stages.

    import libsampler.tokenspeed
    libsampler.tokenspeed.register()        # where the engine is made; its processes do it by themselves
    Engine(model=..., sampling_backend="libsampler")

A request's temperature, filters, penalties and logit_bias hold as in TokenSpeed's backend "triton_full"; its
custom_params add libsampler's other stages, with the names of RowParams: {"dry_multiplier": 0.8}. Penalties and
DRY read what the request has generated. Tokens depend on logits, parameters, seed and position alone: a text is the
same in any batch, and without drafts, unless drafts were drawn by chance (--enable-speculative-sampling).
"""

from typing import Any

import torch
from tokenspeed.runtime.sampling import registry as _registry
from tokenspeed.runtime.sampling.backends import base as _base
from tokenspeed.runtime.sampling.tree_verify import accepted_path_rows
from tokenspeed.runtime.sampling.utils import gather_token_logprobs, nan_guard_logits
from tokenspeed.runtime.utils import server_args as _server_args
from torch import Tensor

import libsampler
from libsampler import Stage

from . import torch as _operators
from ._request_options import INTEGERS, NAMES, broken_rule, given

_FILTERS = ("temperature", "top_k", "top_p", "min_p")
_OWN = (*_FILTERS, "repetition_penalty", "frequency_penalty", "presence_penalty")  # members of SamplingParams
_FLOATS = tuple(name for name in (*_OWN, *NAMES) if name not in INTEGERS)
_STAGES = [Stage.PENALTIES, Stage.BIAS, Stage.DRY, Stage.NO_REPEAT_NGRAM,
           *range(Stage.TEMPERATURE, Stage.ADAPTIVE)]
_FILTERS_ALONE = "libsampler_filters"  # a variant of CUDA graphs


class Backend(_base.SamplingBackend):  # type: ignore[misc]
    """Parameters by slot on the device, which kernels read by the requests' slots."""

    _HAS_POOL_STATE = True
    supports_tree_verify = True
    max_output_tokens = 16384  # that penalties and DRY remember of a request

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.device = device = torch.empty(0, device=config.device).device  # with its number
        self.num_slots = slots = config.max_req_pool_size + 1
        self.sampler = libsampler.Sampler(str(device), fallback_token_id=0)
        self.state = libsampler.State(self.sampler, num_slots=slots, max_tokens=self.max_output_tokens)
        self.integers = torch.zeros(len(INTEGERS), slots, dtype=torch.int32, device=device)
        self.floats = torch.zeros(len(_FLOATS), slots, device=device)
        self.values = dict(zip((*INTEGERS, *_FLOATS), (*self.integers, *self.floats), strict=True))
        self.seeds = torch.zeros(slots, dtype=torch.int64, device=device)
        self.biases = torch.zeros(slots, config.vocab_size, device=device)
        params = libsampler.Params(stages=_STAGES, penalty_scope=libsampler.PenaltyScope.OUTPUT)
        filters = {name: self.values[name] for name in _FILTERS}
        self.filters_alone = {"params": params, "row_params": libsampler.RowParams(**filters)}
        self.all_stages = {"params": params, "row_params": libsampler.RowParams(**self.values),
                           "pipeline": libsampler.Pipeline(state=self.state, dense_bias=self.biases)}
        self.has_filters_alone = [True] * slots
        self.is_filters_alone = False  # of the step's requests

    # ---- Requests and CUDA graphs -----------------------------------------------------------------------------

    def _reset_slot(self, pool_idx: int, sp: Any) -> None:
        extra = {name: value for name, value in given(sp.custom_params).items()
                 if broken_rule(name, value) is None}
        values = {name: getattr(sp, name) for name in _OWN} | extra
        for pool, names in ((self.integers, INTEGERS), (self.floats, _FLOATS)):
            pool[:, pool_idx] = torch.tensor([values.get(name, 0) for name in names], dtype=pool.dtype)
        self.seeds[pool_idx] = sp.seed
        self.biases[pool_idx] = 0
        if sp.logit_bias:
            tokens = torch.tensor([int(token) for token in sp.logit_bias], device=self.device)
            self.biases[pool_idx, tokens] = torch.tensor(list(sp.logit_bias.values()), device=self.device)
        slot = torch.tensor([pool_idx], dtype=torch.int32, device=self.device)
        self.state.reset(slots=slot, stream=self._stream())
        self.has_filters_alone[pool_idx] = not (
            extra or sp.logit_bias or sp.repetition_penalty != 1 or sp.frequency_penalty or sp.presence_penalty)

    def _prepare_step_hook(
        self, num_tokens_per_req: int, bs: int, request_pool_indices: list[int] | None
    ) -> None:
        if request_pool_indices is not None:
            self.is_filters_alone = all(self.has_filters_alone[slot] for slot in request_pool_indices)

    def cuda_graph_capture_variants(self, num_tokens_per_req: int) -> tuple[str, ...]:
        return _base.CUDA_GRAPH_VARIANT_DEFAULT, _FILTERS_ALONE

    def prepare_capture_variant(self, bs: int, num_tokens_per_req: int, variant: str) -> None:
        self.is_filters_alone = variant == _FILTERS_ALONE
        self.prepare_capture(bs=bs, num_tokens_per_req=num_tokens_per_req)

    def cuda_graph_replay_variant(self, num_tokens_per_req: int) -> str:
        return _FILTERS_ALONE if self.is_filters_alone else str(_base.CUDA_GRAPH_VARIANT_DEFAULT)

    def reset_capture_state(self) -> None:
        self.state.reset()

    def speculative_sampling_pools(self) -> Any:
        return _base.SpeculativeSamplingPools(
            temperature=self.values["temperature"], top_k=self.values["top_k"], seed=self.seeds)

    # ---- Steps --------------------------------------------------------------------------------------------

    def sample(self, logits_output: Any, sampling_info: Any) -> tuple[Tensor, Tensor]:
        logits = self._logits(logits_output, sampling_info)
        count = logits.shape[0]
        tokens, lengths = self._predict_buf[:count], self._accept_length_buf[:count].fill_(1)
        slots = self._slots(sampling_info, count)
        self._call("sample", sampling_info, libsampler.Rows(logits), slots=slots, out_token_ids=tokens)
        self.maybe_broadcast(tokens)
        self._finish(logits_output, logits, slots, tokens.view(count, 1))
        return tokens, lengths

    def verify(
        self, logits_output: Any, sampling_info: Any, candidates: Tensor, *, tree: Any
    ) -> tuple[Tensor, Tensor]:
        count, width = candidates.shape
        if width == 1:
            return self.sample(logits_output, sampling_info)
        logits = self._logits(logits_output, sampling_info)
        slots = self._slots(sampling_info, count)
        drafts = candidates[:, 1:].to(torch.int32)
        rule, draft, layout = libsampler.Acceptance.SAMPLE_MATCH, None, None
        if tree is not None:
            layout = libsampler.DraftLayout(parents=(tree.parents[:, 1:] - 1).to(torch.int32))
        elif sampling_info.draft_probs is not None:
            rule, draft, layout, drafts = self._drawn(sampling_info.draft_probs, slots, drafts)
        tokens, path = (buffer[:count * width].view(count, width)
                        for buffer in (self._predict_buf, self._accept_index_buf))
        lengths = self._accept_length_buf[:count]
        self._call("verify", sampling_info, libsampler.Rows(logits.view(count, width, -1)), draft,
                   drafts.contiguous(), layout=layout, slots=slots, out_token_ids=tokens,
                   acceptance=libsampler.AcceptanceParams(rule=rule), out_emitted_counts=lengths,
                   out_positions=path)
        lengths += 1
        self.broadcast_verify_outputs()
        scored = logits if tree is None else logits.index_select(0, accepted_path_rows(path))
        self._finish(logits_output, scored, slots, tokens)
        return tokens.view(-1), lengths

    def _drawn(self, probs: Tensor, slots: Tensor, drafts: Tensor) -> Any:
        """Drafts with the distributions that they were drawn from, where the drafter has recorded them."""
        width = probs.shape[1]
        rows = slots.unsqueeze(1) * width + torch.arange(width - 1, dtype=torch.int32, device=self.device)
        draft = probs.view(-1, probs.shape[2])
        recorded = draft[rows, drafts.clamp(min=0)] <= self.config.spec_reject_draft_prob_threshold
        return (libsampler.Acceptance.STANDARD,
                libsampler.Rows(draft, kind=libsampler.InputKind.PROBABILITIES),
                libsampler.DraftLayout(draft_row_indices=rows),
                torch.where(recorded, drafts, -1))  # -1 is rejected, and drawn anew

    def _logits(self, logits_output: Any, info: Any) -> Tensor:
        logits = nan_guard_logits(logits_output.next_token_logits, self.config.enable_nan_detection)
        if info.vocab_mask is not None:
            info.apply_vocab_mask(logits=logits, vocab_mask=info.vocab_mask)
        return _operators.plain_rows(logits)

    def _stream(self) -> Any:
        return torch.cuda.current_stream(self.device) if self.device.type == "cuda" else None

    def _slots(self, info: Any, count: int) -> Tensor:
        slots: Tensor = self._req_pool_indices_for_kernels(info.req_pool_indices, count)
        return slots

    def _call(self, name: str, info: Any, *rows: Any, **arguments: Any) -> None:
        settings = self.filters_alone if self.is_filters_alone else self.all_stages
        offsets = self._offsets_pool_for_kernels(info).to(torch.int64)
        _operators.call_of(self.sampler, name, self.device, *rows, num_slots=self.num_slots, seeds=self.seeds,
                           offsets=offsets, **settings, **arguments)

    def _finish(self, logits_output: Any, logits: Tensor, slots: Tensor, tokens: Tensor) -> None:
        """The state and log-probabilities of tokens, of which a request has at least one, then -1."""
        if not self.is_filters_alone:
            self.state.accept(slots=slots, token_ids=tokens, stream=self._stream())
        tokens.clamp_(min=0)
        if self.config.enable_output_logprobs:
            logits_output.next_token_logprobs = gather_token_logprobs(
                logits, tokens.view(-1), logprob_order=self.config.logprob_order)


def register(name: str = "libsampler") -> None:
    """Makes it the sampling backend of this name, which may verify drafts that were drawn by chance."""
    _registry.register_backend(name, Backend)
    _server_args.SPECULATIVE_SAMPLING_BACKENDS |= {name}
