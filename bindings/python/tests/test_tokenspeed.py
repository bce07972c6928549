"""libsampler.tokenspeed with TokenSpeed's own classes, imported from its wheel; what they import besides is stood
for by tests/tools/peers/stubs.py. SAMPLER_TOKENSPEED names a folder with the wheel's `tokenspeed`, and in
`kernel` tokenspeed-kernel's, whose kernels Triton interprets.
"""

import importlib
import importlib.util
import os
import pathlib
import sys
import tomllib
import types
import unittest
from unittest import mock

import support

try:
    import msgspec  # noqa: F401  of TokenSpeed's SamplingParams
    import torch

    import libsampler.torch as operators
except ModuleNotFoundError as error:
    if error.name not in ("msgspec", "torch"):
        raise
    torch = None

FOLDER = os.environ.get("SAMPLER_TOKENSPEED")
COLUMNS, SLOTS, MAX_REQUESTS, MAX_DRAFTS = 200, 8, 6, 4


# Where the kernels' options are settings of a launch.
KERNEL_OPTIONS = {"BLOCK_SIZE": 32, "TOPK_PAD": 8, "NUM_ATTEMPTS": 4, "TOP_K_DISABLED": 1 << 30}
KERNEL_COLUMNS = 32


def kernels(name):
    """A file of tokenspeed-kernel, with Triton's interpreter, which works on a CPU."""
    import numpy
    import triton
    import triton.language
    from triton.runtime import interpreter

    def create_splat(self, block, value):
        """The interpreter takes the type of a comparison for that of what is compared."""
        numbers = numpy.full(block.shape, value.data)
        return interpreter.TensorHandle(numbers, triton.language.int1 if numbers.dtype == bool else value.dtype.scalar)

    interpreter.InterpreterBuilder.create_splat = create_splat
    sys.modules["tokenspeed_kernel._triton"] = types.SimpleNamespace(triton=triton, tl=triton.language)
    path = pathlib.Path(FOLDER) / f"kernel/tokenspeed_kernel/ops/sampling/triton/{name}.py"
    spec = importlib.util.spec_from_file_location(f"tokenspeed_kernel_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@unittest.skipIf(torch is None, "torch or msgspec is not installed")
@unittest.skipIf(FOLDER is None, "SAMPLER_TOKENSPEED names no TokenSpeed")
class Tokenspeed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.fspath(support.PROJECT / "tests/tools/peers"))
        import stubs

        stubs.allow_parts_of("tokenspeed", FOLDER, "tokenspeed_kernel")
        ranges = types.ModuleType("tokenspeed.runtime.utils.nvtx")
        ranges.nvtx_range = lambda *name, **color: lambda function: function
        sys.modules[ranges.__name__] = ranges
        from tokenspeed.runtime.sampling import registry, sampling_batch_info, sampling_params, tree_verify
        from tokenspeed.runtime.sampling.backends import base, flashinfer_full, greedy
        from tokenspeed.runtime.utils import server_args

        server_args.SPECULATIVE_SAMPLING_BACKENDS = frozenset({"flashinfer"})
        import libsampler.tokenspeed

        cls.module, cls.base, cls.registry, cls.greedy = libsampler.tokenspeed, base, registry, greedy
        cls.full, cls.server_args, cls.tree = flashinfer_full, server_args, tree_verify
        cls.params_of, cls.info_of = sampling_params.SamplingParams, sampling_batch_info.SamplingBatchInfo

    def setUp(self):
        torch.manual_seed(8)
        self.logits = torch.randn(4, COLUMNS) * 2
        self.backend = self.make()
        self.lengths = torch.randint(5, 50, (SLOTS + 1,), dtype=torch.int32)

    def make(self, **changes):
        return self.module.Backend(self.base.SamplingBackendConfig(**{
            "enable_speculative_sampling": True, "sampling_stream": "batch", "logprob_order": "torch",
            "max_bs": MAX_REQUESTS, "max_draft_tokens_per_req": MAX_DRAFTS + 1, "max_req_pool_size": SLOTS,
            "vocab_size": COLUMNS, "device": "cpu", **changes}))

    def prepare(self, requests, num_tokens=1):
        """A step of requests, by slot."""
        self.backend.prepare_step([f"request {slot}" for slot in requests], list(requests),
                                  list(requests.values()), num_tokens)
        return self.info(list(requests))

    def info(self, slots, **changes):
        return self.info_of(req_pool_indices=torch.tensor(slots), valid_cache_lengths=self.lengths, **changes)

    def request(self, **changes):
        return self.params_of(**{"seed": 3, **changes})

    def sample(self, info, logits=None, backend=None):
        output = types.SimpleNamespace(next_token_logits=(self.logits if logits is None else logits).clone())
        tokens, lengths = (backend or self.backend).sample(output, info)
        self.assertEqual((lengths.tolist(), lengths.dtype), ([1] * len(tokens), torch.int32))
        return tokens.clone(), output

    def verify(self, info, logits, candidates, tree=None):
        output = types.SimpleNamespace(next_token_logits=logits.reshape(-1, COLUMNS).clone())
        tokens, lengths = self.backend.verify(output, info, candidates, tree=tree)
        self.assertEqual((tokens.shape, tokens.dtype), (torch.Size([candidates.numel()]), torch.int32))
        return tokens.view(candidates.shape).clone(), lengths.clone(), output

    def test_draws_by_slot(self):
        requests = {5: self.request(seed=11, temperature=0.7, top_k=20), 1: self.request(seed=2**40, top_p=0.8),
                    2: self.request(temperature=0.0), 8: self.request(min_p=0.1, temperature=1.6, top_k=9)}
        info = self.prepare(requests)
        found, _ = self.sample(info)
        for row, (slot, request) in enumerate(requests.items()):
            expected = operators.sample(
                self.logits[row:row + 1], torch.tensor([request.seed]), int(self.lengths[slot]),
                temperature=request.temperature, top_k=request.top_k, top_p=request.top_p, min_p=request.min_p)
            self.assertEqual(found[row], expected[0], slot)
        self.assertEqual(found[2], self.logits[2].argmax())
        again, _ = self.sample(self.info([8, 2, 5, 1]), self.logits[[3, 2, 0, 1]])
        self.assertEqual(again.tolist(), found[[3, 2, 0, 1]].tolist())
        self.assertEqual(self.sample(self.info([2]), torch.full((1, COLUMNS), float("nan")))[0].tolist(), [0])

    def distribution(self, info, logits=None):
        """That which a step of the backend draws from."""
        found, real = [], operators.call_of

        def call(sampler, name, device, rows, *, out_token_ids, seeds, offsets, row_params, **settings):
            found.append(torch.empty(len(out_token_ids), COLUMNS if logits is None else logits.shape[1]))
            without_coin = row_params.replace(xtc_probability=None, xtc_threshold=None)
            real(sampler, "filter", device, rows, output=found[0], row_params=without_coin, **settings)
            real(sampler, name, device, rows, out_token_ids=out_token_ids, seeds=seeds, offsets=offsets,
                 row_params=row_params, **settings)

        with mock.patch.object(operators, "call_of", call):
            tokens, _ = self.sample(info, logits)
        return found[0], tokens

    def test_penalties_and_biases_are_tokenspeed_s(self):
        """Those of its backend flashinfer_full, which are torch's operations."""
        full = self.full.FlashInferFullSamplingBackend
        engine = full.__new__(full)
        requests = {
            3: self.request(repetition_penalty=1.4, frequency_penalty=0.3, presence_penalty=-0.2),
            1: self.request(logit_bias={"7": 4.0, "9": -100.0}, temperature=0.8), 4: self.request(top_p=0.9),
            6: self.request(repetition_penalty=0.7, logit_bias={"1": 2.0}, temperature=1.3)}
        engine._counts = torch.zeros(SLOTS + 1, COLUMNS, dtype=torch.int32)
        engine._logit_bias = torch.zeros(SLOTS + 1, COLUMNS)
        for name in ("rep", "freq", "pres"):
            setattr(engine, f"_{name}_pen_pool", torch.zeros(SLOTS + 1))
        temperatures = torch.ones(4, 1)
        for row, (slot, request) in enumerate(requests.items()):
            engine._rep_pen_pool[slot] = request.repetition_penalty
            engine._freq_pen_pool[slot] = request.frequency_penalty
            engine._pres_pen_pool[slot] = request.presence_penalty
            temperatures[row] = request.temperature
            for token, bias in (request.logit_bias or {}).items():
                engine._logit_bias[slot, int(token)] = bias
        logits = self.logits * 0.2  # tokens repeat
        logits[:, :6] += 4
        for _ in range(12):
            info = self.prepare(requests)
            self.lengths += 1
            found, tokens = self.distribution(info, logits)
            penalised = engine._apply_penalties_and_bias(logits.clone(), info)
            expected = torch.softmax(penalised / temperatures, dim=-1)
            expected[2] = found[2]  # the filters of another test
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
            engine._accumulate_counts(info.req_pool_indices, tokens, torch.ones(4))
        self.assertGreater(int(engine._counts.max()), 1)
        another = self.request(repetition_penalty=2.0)
        self.backend.prepare_step(["another", "and one"], [3, 1], [another, another])  # slots begin anew
        found, _ = self.distribution(self.info([3, 1]), logits[:2])
        torch.testing.assert_close(found, torch.softmax(logits[:2], dim=-1), rtol=1e-4, atol=1e-6)

    def test_other_stages(self):
        requests = {2: self.request(custom_params={"typical_p": 0.4, "top_n_sigma": 1.5, "min_keep": 2}),
                    7: self.request(custom_params={"dry_multiplier": 100.0, "dry_allowed_length": 1}),
                    5: self.request(custom_params={"typical_p": "0.4", "min_keep": 1.5, "top_a": 10**400, "mine": 1})}
        found, _ = self.distribution(self.prepare(requests), self.logits[:3])
        expected = operators.filter(self.logits[:1], typical_p=0.4, top_n_sigma=1.5, min_keep=2)
        torch.testing.assert_close(found[:1], expected)
        torch.testing.assert_close(found[2:], torch.softmax(self.logits[2:3], dim=-1))
        flat = torch.zeros(1, COLUMNS)
        for token in (3, 4, 5, 3):  # what DRY holds against 4 decides
            row = flat.clone()
            row[0, token] = 30
            self.sample(self.info([7]), row)
        flat[0, 4], flat[0, 5] = 30, 20
        self.assertEqual(self.sample(self.info([7]), flat)[0].tolist(), [5])

    def text(self, request, rows, backend):
        """Tokens drawn one after the other, from a row for each place."""
        backend.prepare_step(["text"], [2], [request])
        lengths, tokens = self.lengths.clone(), []
        for row in rows:
            tokens.append(self.sample(self.info_of(req_pool_indices=torch.tensor([2]), valid_cache_lengths=lengths),
                                      row[None], backend)[0].item())
            lengths += 1
        return tokens

    def test_chains_give_the_text_without_drafts(self):
        for request in (self.request(), self.request(temperature=0.0), self.request(top_p=0.7, min_p=0.02, top_k=30),
                        self.request(frequency_penalty=2.0, custom_params={"xtc_probability": 0.5})):
            rows = torch.randn(MAX_DRAFTS + 1, COLUMNS) * 2
            expected = self.text(request, rows, self.make())
            for num_right in range(MAX_DRAFTS + 1):
                self.backend = self.make()
                drafts = [token if i < num_right else (token + 1) % COLUMNS for i, token in enumerate(expected)]
                candidates = torch.tensor([[0, *drafts[:MAX_DRAFTS]]])
                self.prepare({2: request}, MAX_DRAFTS + 1)
                tokens, lengths, _ = self.verify(self.info([2]), rows, candidates)
                self.assertEqual(lengths.tolist(), [num_right + 1])
                self.assertEqual(tokens[0, :num_right + 1].tolist(), expected[:num_right + 1])
                if not self.backend.is_filters_alone:
                    read = self.backend.state.read(num_tokens=9, out_token_ids=True, out_lengths=True)
                    self.assertEqual(read.lengths[2], num_right + 1)
        self.backend = self.make()
        one = self.verify(self.prepare({2: self.request()}), rows[:1], torch.tensor([[7]]))
        self.assertEqual(one[0].tolist(), [self.sample(self.info([2]), rows[:1])[0].tolist()])

    def test_greedy_chains_are_tokenspeed_s(self):
        rows = torch.randn(3, MAX_DRAFTS + 1, COLUMNS)
        target = rows.argmax(-1)
        candidates = torch.zeros(3, MAX_DRAFTS + 1, dtype=torch.int64)
        candidates[:, 1:] = target[:, :-1]
        candidates[1, 3] += 1
        candidates[2, 1] += 1
        self.prepare({slot: self.request(temperature=0.0) for slot in (1, 2, 3)}, MAX_DRAFTS + 1)
        tokens, lengths, _ = self.verify(self.info([1, 2, 3]), rows, candidates)
        predicts, accepted = torch.zeros(tokens.numel(), dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
        path = torch.full(tokens.shape, -1, dtype=torch.int32)
        self.greedy._verify_chain_greedy_torch(predicts, path, accepted, candidates.int(), target, *candidates.shape)
        self.assertEqual(lengths.tolist(), (accepted + 1).tolist())
        for found, expected, length in zip(tokens, predicts.view(tokens.shape), lengths, strict=True):
            self.assertEqual(found[:length].tolist(), expected[:length].tolist())

    def test_drafts_drawn_by_chance(self):
        probs = torch.full((SLOTS + 1, MAX_DRAFTS + 1, COLUMNS), 3.0)  # none is recorded
        probs[4, :-1] = torch.softmax(torch.randn(MAX_DRAFTS, COLUMNS), -1)
        rows = torch.randn(2, MAX_DRAFTS + 1, COLUMNS) * 0.5
        candidates = torch.randint(0, COLUMNS, (2, MAX_DRAFTS + 1))
        rows[1, 0, candidates[1, 1]] = 20.0
        drafts = candidates[:, 1:].clone()
        counts = torch.zeros(MAX_DRAFTS + 1)
        for seed in range(60):
            request = self.request(seed=seed, top_p=0.95, temperature=0.9)
            self.backend.prepare_step([f"{seed}a", f"{seed}b"], [4, 6], [request, request], MAX_DRAFTS + 1)
            info = self.info([4, 6], draft_probs=probs)
            tokens, lengths, _ = self.verify(info, rows, candidates)
            target = operators.filter(rows, top_p=0.95, temperature=0.9)
            expected, _, emitted = operators.verify(
                target[:1], probs[4:5, :-1], drafts[:1].int(), seed, int(self.lengths[4]), probabilities=True)
            length = int(lengths[0])
            self.assertEqual(length, int(emitted[0]) + 1)
            self.assertEqual(tokens[0, :length].tolist(), expected[0, :length].tolist())
            self.assertEqual(lengths[1], 1)  # without a record every draft is rejected
            counts[length - 1] += 1
            if seed % 2 == 0:  # stages that are on for another request change nothing
                other = self.request(frequency_penalty=1.0, custom_params={"xtc_probability": 0.5})
                self.backend.prepare_step([f"{seed}a", f"{seed}c"], [4, 6], [request, other], MAX_DRAFTS + 1)
                self.assertFalse(self.backend.is_filters_alone)
                again, _, _ = self.verify(info, rows, candidates)
                self.assertEqual(again[0, :length].tolist(), tokens[0, :length].tolist())
        self.assertGreater(int((counts > 0).sum()), 1)
        pools = self.backend.speculative_sampling_pools()
        self.assertEqual((pools.seed[4], pools.top_k[4]), (59, 1 << 30))
        self.assertAlmostEqual(pools.temperature[4].item(), 0.9, places=6)

    def tree_of(self, rows):
        """A tree whose right path is 0, 2, 4, given what is drawn at its places."""
        parents = torch.tensor([[-1, 0, 0, 2, 2]], dtype=torch.int32)
        expected = self.text(self.request(), [rows[0], rows[2], rows[4]], self.make())
        first, second = expected[:2]
        candidates = torch.tensor([[9, (first + 1) % COLUMNS, first, (second + 1) % COLUMNS, second]])
        return candidates, self.tree.TreeVerifyBatch(parents=parents, depths=None), expected

    def test_trees(self):
        self.backend = self.make(enable_output_logprobs=True)
        rows = torch.randn(5, COLUMNS)
        candidates, tree, expected = self.tree_of(rows)
        self.prepare({2: self.request()}, 5)
        tokens, lengths, output = self.verify(self.info([2]), rows, candidates, tree)
        self.assertEqual((lengths.tolist(), tokens[0, :3].tolist()), ([3], expected))
        self.assertEqual(self.backend.accepted_path(1, 5).tolist(), [[0, 2, 4, -1, -1]])
        logprobs = torch.log_softmax(rows, -1)
        for place, row, token in zip(range(3), (0, 2, 4), expected, strict=True):
            self.assertAlmostEqual(output.next_token_logprobs[place].item(), logprobs[row, token].item(), places=5)

    def test_logprobs_masks_and_nans(self):
        backend = self.make(enable_output_logprobs=True, enable_nan_detection=True)
        self.backend = backend
        info = self.prepare({1: self.request(frequency_penalty=1.0), 2: self.request()})
        info.vocab_mask = torch.tensor([[True] * 100 + [False] * 100, [False] * 150 + [True] * 50])
        info.apply_vocab_mask = lambda logits, vocab_mask: logits.masked_fill_(~vocab_mask, float("-inf"))
        self.logits[0, 5] = float("nan")
        nan_guard = sys.modules["tokenspeed.runtime.sampling.utils"]
        with mock.patch.object(nan_guard, "crash_on_warnings", lambda: False):
            tokens, output = self.sample(info, self.logits[:2])
        self.assertLess(tokens[0], 100)
        self.assertGreaterEqual(tokens[1], 150)
        masked = self.logits[:2].masked_fill(~info.vocab_mask, float("-inf"))
        masked[0, 5] = -1e5
        expected = torch.log_softmax(masked, -1).gather(1, tokens.long()[:, None])[:, 0]
        torch.testing.assert_close(output.next_token_logprobs, expected)

    def test_graphs(self):
        default, filters = self.backend.cuda_graph_capture_variants(1)
        self.assertEqual(default, self.base.CUDA_GRAPH_VARIANT_DEFAULT)
        for variant in (default, filters):
            self.backend.prepare_capture_variant(2, 1, variant)
            self.assertEqual(self.backend.cuda_graph_replay_variant(1), variant)
            self.sample(self.info_of(req_pool_indices=torch.zeros(2, dtype=torch.int64)), self.logits[:2])
        self.backend.reset_capture_state()
        self.prepare({1: self.request(), 2: self.request(top_k=3)})
        self.assertEqual(self.backend.cuda_graph_replay_variant(1), filters)
        for changes in ({"repetition_penalty": 1.1}, {"logit_bias": {"1": 1.0}}, {"custom_params": {"top_h": 0.5}}):
            self.prepare({1: self.request(), 4: self.request(**changes)})
            self.assertEqual(self.backend.cuda_graph_replay_variant(1), default)
            self.backend._last_rid_per_slot[4] = None

    def test_registers(self):
        project = tomllib.loads((support.PROJECT / "bindings/python/pyproject.toml").read_text(encoding="utf-8"))
        target = project["project"]["entry-points"]["tokenspeed.plugins"]["libsampler"]
        module, _, function = target.partition(":")
        getattr(importlib.import_module(module), function)()
        self.assertIn("libsampler", self.server_args.SPECULATIVE_SAMPLING_BACKENDS)
        arguments = types.SimpleNamespace(
            sampling_backend="libsampler", sampling_stream="batch", logprob_order="torch", enable_nan_detection=False,
            enable_output_logprobs=False, enable_speculative_sampling=False, spec_reject_draft_prob_threshold=2.0,
            disable_sampling_tp_sync=True)
        made = self.registry.create_sampling_backend(
            arguments, max_bs=2, max_draft_tokens_per_req=1, device="cpu", max_req_pool_size=2, vocab_size=COLUMNS)
        self.assertIsInstance(made, self.module.Backend)

    # ---- TokenSpeed's kernels -----------------------------------------------------------------------------

    @unittest.skipIf(os.environ.get("TRITON_INTERPRET") != "1", "TRITON_INTERPRET is not 1")
    def test_keeps_what_tokenspeed_s_kernel_keeps(self):
        kernel = kernels("generic")._gumbel_sample_generic_pool_kernel
        logits = torch.randn(1, KERNEL_COLUMNS)
        logits[0, 5:10] += 5  # these have nearly all
        for changes in ({"top_k": 3}, {"top_p": 0.6}, {"min_p": 0.4}, {"top_k": 5, "top_p": 0.8, "min_p": 0.2},
                        {"temperature": 0.5, "top_p": 0.9, "min_p": 0.1}, {"temperature": 2.0, "top_k": 4}):
            request = self.request(**changes)
            self.backend.prepare_step([str(changes)], [1], [request])
            kept = set((self.distribution(self.info([1]), logits)[0][0] > 0).nonzero().flatten().tolist())
            draws = 12 * len(kept)
            temperatures, top_ks, top_ps, min_ps = (
                torch.full((draws,), getattr(request, name)) for name in ("temperature", "top_k", "top_p", "min_p"))
            out = torch.empty(draws, dtype=torch.int32)
            kernel[(draws,)](
                logits.expand(draws, -1).contiguous(), torch.arange(draws, dtype=torch.int32), temperatures,
                top_ks.int(), top_ps, min_ps, torch.arange(draws), torch.zeros(draws, dtype=torch.int64), out,
                logits_row_stride=KERNEL_COLUMNS, vocab_size=KERNEL_COLUMNS, NUM_TOKENS_PER_REQ=1, **KERNEL_OPTIONS)
            self.assertEqual(set(out.tolist()), kept, changes)

    @unittest.skipIf(os.environ.get("TRITON_INTERPRET") != "1", "TRITON_INTERPRET is not 1")
    def test_verifies_as_tokenspeed_s_kernels(self):
        """Given what libsampler draws at every place."""
        rows = torch.randn(5, COLUMNS)
        candidates, tree, (first, *_) = self.tree_of(rows)
        request = self.request()
        depths = (0, 1, 1, 2, 2)
        drawn = torch.tensor([
            operators.sample(rows[i:i + 1], torch.tensor([request.seed]), int(self.lengths[2]) + depths[i]).item()
            for i in range(5)], dtype=torch.int32)
        predicts, length = torch.zeros(5, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        path = torch.zeros(1, 5, dtype=torch.int32)
        kernels("tree_verify").verify_tree(predicts, length, path, candidates.int(), tree.parents, drawn)
        self.prepare({2: request}, 5)
        tokens, lengths, _ = self.verify(self.info([2]), rows, candidates, tree)
        self.assertEqual((lengths.tolist(), self.backend.accepted_path(1, 5).tolist()),
                         (length.tolist(), path.tolist()))
        self.assertEqual(tokens[0, :length].tolist(), predicts[:length].tolist())
        chain = torch.tensor([[9, first, 3, 4, 5]])
        in_chain = torch.tensor([
            operators.sample(rows[i:i + 1], torch.tensor([request.seed]), int(self.lengths[2]) + i).item()
            for i in range(5)], dtype=torch.int32)
        kernels("verify")._verify_chain_target_sampled_kernel[(1,)](
            predicts, path, length, chain.int(), in_chain, NUM_DRAFT_TOKENS=5, ENABLE_PDL=False)
        tokens, lengths, _ = self.verify(self.info([2]), rows, chain)
        self.assertEqual(lengths.tolist(), (length + 1).tolist())
        self.assertEqual(tokens[0, :lengths[0]].tolist(), predicts[:lengths[0]].tolist())


if __name__ == "__main__":
    unittest.main()
