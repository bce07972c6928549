"""libsampler.vllm_sampler beside the samplers of vLLM's V2 model runner, both from its wheel; Triton interprets
vLLM's kernels, and what its files import besides is stood for by tests/tools/peers/stubs.py. SAMPLER_VLLM names a
folder with the wheel's `vllm`.
"""

import functools
import importlib
import inspect
import os
import sys
import tomllib
import types
import unittest
from unittest import mock

import support

try:
    import numpy
    import torch

    import libsampler.torch as operators
    from libsampler import verify
except ModuleNotFoundError as error:
    if error.name not in ("numpy", "torch"):
        raise
    torch = None

FOLDER = os.environ.get("SAMPLER_VLLM")
COLUMNS, SLOTS, MAX_LENGTH, NUM_DRAFTS = 40, 6, 64, 3
RUNNER = "vllm.v1.worker.gpu.model_runner"
CPU = None if torch is None else torch.device("cpu")


@functools.cache
def vllm():
    """vLLM's classes and libsampler's."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        del sys.modules[name]  # those of another test
    sys.path.insert(0, os.fspath(support.PROJECT / "tests/tools/peers"))
    import stubs
    import vllm_v2_sampler
    import vllm_verification

    stubs.allow_parts_of("vllm", FOLDER)
    stubs.use_triton(tldevice=types.SimpleNamespace(
        log1p=lambda x: vllm_verification.like(x, numpy.log1p(x.handle.data))))
    vllm_v2_sampler.let_loops_count_in_numbers()
    importlib.import_module("vllm.platforms").current_platform.device_type = "cpu"
    importlib.import_module("vllm.utils.platform_utils").num_compute_units = lambda _: 4
    importlib.import_module("vllm.config.model").PROCESSED_LOGPROBS_MODES = ("processed_logits", "processed_logprobs")
    importlib.import_module("vllm.sampling_params").MAX_LOGPROB_TOKEN_IDS = 8
    importlib.import_module("vllm.envs").VLLM_COMPUTE_NANS_IN_LOGITS = False
    from vllm.v1.sample.ops import topk_topp_sampler, topk_topp_triton
    from vllm.v1.worker.gpu import states
    from vllm.v1.worker.gpu.sample import sampler
    from vllm.v1.worker.gpu.spec_decode import rejection_sampler

    import libsampler.vllm_sampler as ours

    vllm_v2_sampler.use_split(types.SimpleNamespace(filters=topk_topp_sampler, kernels=topk_topp_triton), True)
    theirs = types.SimpleNamespace(Sampler=sampler.Sampler, RejectionSampler=rejection_sampler.RejectionSampler)
    defaults = vllm_v2_sampler.vllm_sampler.DEFAULTS
    return types.SimpleNamespace(states=states, ours=ours, theirs=theirs, defaults=defaults)


@unittest.skipIf(torch is None, "torch is not installed")
@unittest.skipIf(FOLDER is None, "SAMPLER_VLLM names no vLLM")
@unittest.skipIf(os.environ.get("TRITON_INTERPRET") != "1", "TRITON_INTERPRET is not 1")
class Vllm(support.Expects, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for name, value in vars(vllm()).items():
            setattr(cls, name, value)

    def setUp(self):
        torch.manual_seed(8)
        self.enterContext(numpy.errstate(all="ignore"))  # of numbers that vLLM's kernels do not use

    def request(self, **changes):
        """As SamplingParams has it."""
        values = {**self.defaults, "seed": 3, "logprobs": None, "logprob_token_ids": None,
                  "thinking_token_budget": None, "structured_outputs": None, "trace_decode_token_ids": None, **changes}
        return types.SimpleNamespace(all_stop_token_ids=set(values["stop_token_ids"]), **values)

    def make(self, of, requests, slots=SLOTS, columns=COLUMNS, **options):
        """A sampler of `ours` or `theirs`, with requests by slot, whose texts are 8 tokens: slot, slot + 1, ..."""
        self.state = self.states.RequestState(
            max_num_reqs=slots, max_model_len=MAX_LENGTH, max_num_batched_tokens=MAX_LENGTH,
            num_speculative_steps=NUM_DRAFTS, vocab_size=columns, device=CPU)
        config = types.SimpleNamespace(reasoning_config=None)
        sampler = of.Sampler(vllm_config=config, max_num_reqs=slots, vocab_size=columns, device=CPU,
                             req_states=self.state, **options)
        for slot, request in requests.items():
            self.state.free_indices.remove(slot)
            self.state.free_indices.append(slot)  # is taken next
            self.state.add_request(str(slot), 5, list(range(slot, slot + 8)), 8, MAX_LENGTH)
            sampler.add_request(slot, request)
        self.state.apply_staged_writes()
        sampler.apply_staged_writes()
        return sampler

    def batch(self, slots, lengths, drafts=None):
        """A step in which each request has its last token, and drafts."""
        drafts = drafts or [[]] * len(slots)
        counts = numpy.array([len(each) + 1 for each in drafts])
        ends = numpy.concatenate([[0], counts.cumsum()])
        local = numpy.concatenate([numpy.arange(count) for count in counts])
        mapping = torch.tensor(slots, dtype=torch.int32)
        first = torch.tensor(lengths).repeat_interleave(torch.from_numpy(counts)) - 1
        seq_lens = torch.tensor(lengths, dtype=torch.int32) + torch.from_numpy(counts).int() - 1
        ids = [token for each in drafts for token in (1, *each)]
        return types.SimpleNamespace(
            num_reqs=len(slots), idx_mapping=mapping, idx_mapping_np=mapping.numpy(),
            expanded_idx_mapping=mapping.repeat_interleave(torch.from_numpy(counts)),
            expanded_local_pos=torch.from_numpy(local).int(), cu_num_logits=torch.from_numpy(ends).int(),
            cu_num_logits_np=ends.astype(numpy.int32), logits_indices=torch.arange(len(ids)),
            positions=first + torch.from_numpy(local), input_ids=torch.tensor(ids, dtype=torch.int32),
            seq_lens=seq_lens, seq_lens_cpu_upper_bound=seq_lens, num_draft_tokens=len(ids) - len(slots))

    def sample(self, sampler, logits, batch, **options):
        """Tokens, and the logits that they are drawn from."""
        with torch.inference_mode():
            return sampler.sample(
                logits, batch.expanded_idx_mapping, batch.idx_mapping, batch.idx_mapping_np, batch.positions,
                batch.input_ids, batch.expanded_local_pos, batch.seq_lens_cpu_upper_bound.numpy(), **options)

    def expect_outputs(self, found, expected):
        counts = expected.num_sampled
        for name in ("num_sampled", "num_rejected"):
            one, other = getattr(found, name), getattr(expected, name)
            self.assertEqual((one.dtype, one.tolist()), (other.dtype, other.tolist()), name)
        self.assertEqual(found.sampled_token_ids.dtype, expected.sampled_token_ids.dtype)
        self.assertEqual(found.sampled_token_ids.shape, expected.sampled_token_ids.shape)
        for one, other, count in zip(found.sampled_token_ids, expected.sampled_token_ids, counts, strict=True):
            self.assertEqual(one[:count].tolist(), other[:count].tolist())
        masks = [each.sampling_mask_tensors and each.sampling_mask_tensors.tolists(counts.numpy())
                 for each in (found, expected)]
        for one, other in ((found.logprobs_tensors, expected.logprobs_tensors), masks):
            self.assertEqual(one is None, other is None)
            for member, its in zip(one or (), other or (), strict=True):
                if isinstance(member, torch.Tensor):
                    torch.testing.assert_close(member, its)
                else:
                    self.assertEqual(numpy.asarray(member).tolist(), numpy.asarray(its).tolist())


class Sampler(Vllm):
    REQUESTS = {
        0: {"temperature": 0.7, "top_k": 5, "seed": 2**40}, 3: {"min_p": 0.1, "temperature": 1.6, "seed": -7},
        1: {"top_p": 0.8, "logit_bias": {2: 5.0, 7: -100.0}},
        4: {"repetition_penalty": 1.4, "frequency_penalty": 0.3, "presence_penalty": -0.2, "top_k": 9, "top_p": 0.7},
        5: {"temperature": 0.0, "allowed_token_ids": [3, 9, 11]}, 2: {"bad_words_token_ids": [[6]], "temperature": 0.4}}

    def test_draws_from_what_vllm_leaves(self):
        requests = {slot: self.request(**changes) for slot, changes in self.REQUESTS.items()}
        logits = torch.randn(len(requests), COLUMNS).bfloat16() * 2
        lengths = [8, 9, 10, 11, 12, 13]
        batch = self.batch(list(requests), lengths)
        before = logits.clone()
        options = {"logprobs_mode": "processed_logprobs"}
        sampler = self.make(self.theirs, requests, **options)
        expected = torch.cat([  # one by one: a row with top-p alone then takes the kernels that it takes on a GPU
            self.sample(sampler, logits[row:row + 1], self.batch([slot], lengths[row:row + 1]), return_logprobs=True)[1]
            for row, slot in enumerate(requests)])
        sampler = self.make(self.ours, requests, **options)
        tokens, found = self.sample(sampler, logits, batch, return_logprobs=True)
        self.assertTrue(torch.equal(logits, before))
        torch.testing.assert_close(found, expected)
        for row, (slot, request) in enumerate(requests.items()):
            drawn = operators.sample(expected[row:row + 1], request.seed, batch.positions[row:row + 1] + 1)
            self.assertEqual(tokens[row], expected[row].argmax() if slot == 5 else drawn[0], slot)
        again, edited = self.sample(sampler, logits, batch)
        self.assertEqual(again.tolist(), tokens.tolist())
        self.assertFalse(torch.isinf(edited[0]).any())  # nothing is filtered for nobody

    def test_rules_and_seeds(self):
        """Distributions, filters, ties, greedy rows, seeds, batches: libsampler.verify."""
        sampler = self.make(self.ours, {}, slots=2048, columns=4096)
        offs = {"temperature": 1.0, "top_k": 4096, "top_p": 1.0, "min_p": 0.0}

        @verify.takes_torch
        def sample(logits, parameters, seeds):
            states = sampler.sampling_states
            slots = torch.randperm(2048)[:len(seeds)]
            for name, off in offs.items():
                getattr(states, name).np[:] = parameters.get(name, off)
            states.seeds.np[slots.numpy()] = seeds
            states.apply_staged_writes()
            return self.sample(sampler, logits, self.batch(slots.tolist(), [9] * len(seeds)))[0]

        report = verify.check_sampler(sample, "vllm_v2", draws=2000)
        self.assertTrue(report.ok, report)

    def test_places_change_nothing_but_positions_do(self):
        requests = {slot: self.request(seed=slot, **changes) for slot, changes in
                    ((0, {"top_k": 30}), (2, {"min_p": 0.01}), (4, {}), (5, {"frequency_penalty": 0.5}))}
        logits = torch.randn(4, COLUMNS)
        sampler = self.make(self.ours, requests)
        tokens, _ = self.sample(sampler, logits, self.batch([0, 2, 4, 5], [8, 9, 10, 11]))
        moved, _ = self.sample(sampler, logits[[2, 3, 0]], self.batch([4, 5, 0], [10, 11, 8]))
        self.assertEqual(moved.tolist(), tokens[[2, 3, 0]].tolist())
        other, _ = self.sample(self.make(self.ours, {1: self.request(seed=2, min_p=0.01)}), logits[1:2],
                               self.batch([1], [9]))
        self.assertEqual(other.tolist(), tokens[1:2].tolist())
        drawn = {self.sample(sampler, logits[2:3], self.batch([4], [length]))[0].item() for length in range(9, 29)}
        self.assertGreater(len(drawn), 5)
        two = [self.request(seed=None), self.request(seed=None)]
        texts = [[self.sample(sampler, logits[:1], self.batch([0], [length]))[0].item() for length in range(9, 19)]
                 for sampler in (self.make(self.ours, {0: request}) for request in two)]
        self.assertNotEqual(*texts)

    def test_outputs_are_vllm_s(self):
        """Where no chance decides."""
        requests = {0: self.request(temperature=0.0, logprobs=3), 2: self.request(top_k=1, temperature=0.5, logprobs=1),
                    3: self.request(temperature=0.0, frequency_penalty=2.0), 5: self.request(top_p=1e-6, logprobs=0)}
        logits = torch.randn(4, COLUMNS)
        for mode in ("raw_logprobs", "raw_logits", "processed_logprobs", "processed_logits"):
            batch = self.batch([0, 2, 3, 5], [8, 9, 7, 11])  # that of slot 3 is still prefilling
            options = {"logprobs_mode": mode, "return_sampling_mask": mode == "processed_logprobs"}
            with torch.inference_mode():
                found, expected = (self.make(of, requests, **options)(logits.clone(), batch)
                                   for of in (self.ours, self.theirs))
            self.expect_outputs(found, expected)
            self.assertEqual(found.num_sampled.tolist(), [1, 1, 0, 1])

    def test_replays_traces(self):
        requests = {0: self.request(trace_decode_token_ids=[1, 2, 3, 17, 18]), 1: self.request(temperature=0.0)}
        sampler = self.make(self.ours, requests, enable_trace_replay=True)
        logits = torch.randn(2, COLUMNS)
        output = sampler(logits, self.batch([0, 1], [8, 8]))
        self.assertEqual(output.sampled_token_ids.tolist(), [[17], [logits[1].argmax()]])

    def test_bad_rows(self):
        logits = torch.randn(3, COLUMNS)
        sampler = self.make(self.ours, {slot: self.request() for slot in range(3)})
        batch = self.batch([0, 1, 2], [8, 8, 8])
        tokens, _ = self.sample(sampler, logits, batch)
        logits[1, 7] = float("nan")
        found, _ = self.sample(sampler, logits, batch)
        self.assertEqual(found.tolist(), [tokens[0], 0, tokens[2]])


class RejectionSampler(Vllm):
    @staticmethod
    def config(method="standard", **changes):
        return types.SimpleNamespace(**{
            "num_speculative_tokens": NUM_DRAFTS, "enable_adaptive_verification": False,
            "rejection_sample_method": method, "fly_window_size": None, "fly_entropy_threshold": 0.3,
            "fly_entropy_top_k": 3, "synthetic_acceptance_rates": None, **changes})

    def verifier(self, of, requests, config=None, slots=SLOTS, columns=COLUMNS, **options):
        sampler = self.make(of, requests, slots, columns, **options)
        return of.RejectionSampler(sampler, config or self.config(), CPU)

    def verify(self, verifier, logits, batch, draft=None):
        """The emitted tokens, without log-probabilities: in place of __call__, whose kernels are slow here."""
        ids = batch.input_ids
        with torch.inference_mode():
            _, tokens, counts = verifier._verify(
                logits, draft, ids, batch.positions, batch.cu_num_logits, batch.idx_mapping, batch.idx_mapping_np,
                batch.expanded_idx_mapping, batch.expanded_local_pos, batch.seq_lens_cpu_upper_bound.numpy(), ids)
        self.assertEqual(((tokens >= 0).sum(1)).tolist(), counts.tolist())
        return [each[:count] for each, count in zip(tokens.tolist(), counts.tolist(), strict=True)]

    def test_follows_the_rule(self):
        for method in ("standard", "block"):
            for most, columns in ((2, 3), (1, 4), (1, 3)):
                self.check_law(method, most, columns)

    def check_law(self, method, most, columns):
        count = 4000
        verifier = self.verifier(self.ours, {}, self.config(method, num_speculative_tokens=most), count, columns)
        states = verifier.sampler.sampling_states
        states.temperature.np[:] = 1

        @verify.takes_torch
        def check(target, draft, ids, seeds):
            states.seeds.np[:] = seeds
            states.apply_staged_writes()
            batch = self.batch(list(range(count)), [8] * count, ids.tolist())
            texts = self.verify(verifier, target.log().flatten(0, 1), batch, draft.log().contiguous())
            return [text + [-1] * (most + 1 - len(text)) for text in texts]

        cases = {name: (p, q) for name, (p, q) in verify._VERIFIED.items()
                 if (len(q), len(p[0])) == (most, columns)}
        self.assertTrue(cases)
        with mock.patch.object(verify, "_VERIFIED", cases):
            report = verify.check_verifier(check, draws=count)
        findings = [one for one in report.findings if method == "standard" or one.check != "standard rule"]
        self.assertEqual(findings, [])

    def test_texts_are_those_without_drafts(self):
        requests = {0: self.request(seed=5, top_k=8), 2: self.request(seed=6, temperature=0.0),
                    3: self.request(seed=7, min_p=0.05), 5: self.request(seed=8)}
        rows = torch.randn(4, NUM_DRAFTS + 1, COLUMNS)
        verifier = self.verifier(self.ours, requests)
        expected = torch.stack([
            self.sample(verifier.sampler, rows[:, i], self.batch(list(requests), [8 + i, 9 + i, 10 + i, 11 + i]))[0]
            for i in range(NUM_DRAFTS + 1)], 1).tolist()
        drafts = [text[:NUM_DRAFTS] for text in expected]
        drafts[1] = drafts[1][:2]
        drafts[2][1] = (drafts[2][1] + 1) % COLUMNS
        drafts[3][0] = -1
        logits = torch.cat([rows[i, :len(each) + 1] for i, each in enumerate(drafts)])
        texts = self.verify(verifier, logits, self.batch(list(requests), [8, 9, 10, 11], drafts))
        self.assertEqual(texts, [expected[0], expected[1][:3], expected[2][:2], expected[3][:1]])

    def test_packs_as_vllm(self):
        """What libsampler's operator makes of each sequence alone."""
        requests = {4: self.request(seed=5, top_k=8, temperature=0.8), 0: self.request(seed=2**50, top_p=0.9),
                    3: self.request(seed=7, temperature=0.0), 1: self.request(seed=8, min_p=0.02, temperature=1.4)}
        counts = (3, 1, 3, 2)
        configs = {"standard": ({"rule": 1}, {}), "block": ({"rule": 2}, {}),
                   "fly": ({"rule": 7, "deferred_window": 1, "deferred_entropy": 0.2, "deferred_top_k": 2},
                           {"fly_window_size": 1, "fly_entropy_threshold": 0.2, "fly_entropy_top_k": 2})}
        for method, (options, changes) in configs.items():
            verifier = self.verifier(self.ours, requests, self.config(method, **changes))
            for has_draft, width in ((True, COLUMNS), (True, COLUMNS + 3), (True, COLUMNS - 3), (False, 0)):
                kept = min(width, COLUMNS) if has_draft else COLUMNS
                draft = torch.randn(SLOTS, NUM_DRAFTS, width).bfloat16() if has_draft else None
                drafts = [torch.randint(0, kept, (count,)).tolist() for count in counts]
                logits = torch.randn(sum(counts) + 4, COLUMNS)
                found = self.verify(verifier, logits, self.batch(list(requests), [8, 9, 10, 11], drafts), draft)
                start = 0
                for row, (slot, request) in enumerate(requests.items()):
                    rows = logits[start:start + counts[row] + 1, :kept]
                    start += counts[row] + 1
                    own = None
                    if has_draft:
                        own = operators.filter(draft[slot, :counts[row], :kept], temperature=request.temperature or 1)
                    target = operators.filter(rows, preset="vllm_v2", temperature=request.temperature,
                                              top_k=request.top_k, top_p=request.top_p, min_p=request.min_p)
                    rule = {"rule": 3} if method == "standard" and not has_draft else options
                    expected = operators.verify(
                        target[None], None if own is None else own[None], torch.tensor([drafts[row]]), request.seed,
                        8 + row, probabilities=True, **rule)[0][0]
                    if rule["rule"] != 3:
                        self.assertEqual(found[row], expected[expected >= 0].tolist(), (method, width, slot))

    def test_outputs_are_vllm_s(self):
        """Where no chance decides: greedy rows, placeholders, grammars' invalid drafts, requests in their prompts."""
        requests = {slot: self.request(temperature=0.0, logprobs=2, seed=slot) for slot in range(SLOTS)}
        requests[4] = self.request(temperature=0.0, frequency_penalty=3.0)
        logits = torch.randn(17, COLUMNS)
        right = logits.argmax(-1).tolist()
        drafts = [[right[0], right[1], right[2]], [right[4], 5], [], [right[8], right[9], right[10]], [right[12]],
                  [right[14], right[15]]]
        batch = self.batch([3, 0, 1, 5, 4, 2], [9, 10, 9, 11, 12, 4], drafts)
        invalid = torch.zeros(17, dtype=torch.bool)
        invalid[10] = True
        for mode in ("raw_logprobs", "processed_logits", "processed_logprobs"):
            options = {"logprobs_mode": mode, "return_sampling_mask": mode == "processed_logprobs"}
            with torch.inference_mode():
                found, expected = (self.verifier(of, requests, **options)(logits.clone(), batch, None, invalid)
                                   for of in (self.ours, self.theirs))
            self.expect_outputs(found, expected)
        self.assertEqual(found.num_sampled.tolist(), [4, 2, 1, 2, 2, 0])

    def test_synthetic_rates(self):
        requests = {slot: self.request(seed=slot) for slot in range(3)}
        logits, draft = torch.randn(12, COLUMNS), torch.randn(SLOTS, NUM_DRAFTS, COLUMNS)
        batch = self.batch([0, 1, 2], [9, 9, 9], [[1, 2, 3]] * 3)
        for rates, count in (([1.0, 1.0, 1.0], 4), ([1.0, 1.0, 0.0], 3), ([0.0, 0.0, 0.0], 1)):
            config = self.config("synthetic", synthetic_acceptance_rates=rates)
            texts = self.verify(self.verifier(self.ours, requests, config), logits, batch, draft)
            self.assertEqual([(len(text), text[:-1]) for text in texts], [(count, [1, 2, 3][:count - 1])] * 3)
        config = self.config("synthetic", synthetic_acceptance_rates=[0.6, 0.3, 0.3])
        verifier = self.verifier(self.ours, requests, config)
        batches = (self.batch([0, 1, 2], [length] * 3, [[1, 2, 3]] * 3) for length in range(8, 308))
        counts = [len(text) for batch in batches for text in self.verify(verifier, logits, batch, draft)]
        for count, rate in ((2, 0.6), (3, 0.3), (4, 0.3)):  # 4 deviations of 900 draws
            self.assertAlmostEqual(sum(each >= count for each in counts) / 900, rate, delta=0.066)

    def test_bad_rows(self):
        requests = {slot: self.request() for slot in range(2)}
        logits = torch.randn(4, COLUMNS)
        logits[0, 3] = float("nan")
        texts = self.verify(self.verifier(self.ours, requests), logits, self.batch([0, 1], [8, 8], [[1], [2]]))
        self.assertEqual(texts[0], [0])
        self.assertGreater(len(texts[1]), 0)

    def test_bad_arguments(self):
        sampler = self.make(self.ours, {})
        make = self.ours.RejectionSampler
        self.expect_like(ValueError, "watermark_config must be None", make, sampler, self.config(), CPU,
                         watermark_key=1)
        self.expect_like(TypeError, "is a Sampler; it must be libsampler's", make, self.make(self.theirs, {}),
                         self.config(), CPU)
        self.expect_like(ValueError, "rejection_sample_method is 'new'; it must be one of standard", make, sampler,
                         self.config("new"), CPU)
        self.expect_like(ValueError, r"draft_logits.shape\[1\] is 2; it must be num_speculative_tokens, 3", self.verify,
                         make(sampler, self.config(), CPU), torch.zeros(2, COLUMNS), self.batch([0], [8], [[1]]),
                         torch.zeros(SLOTS, 2, COLUMNS))

    def test_signatures_are_vllm_s(self):
        for name, method in (("Sampler", "sample"), ("RejectionSampler", "__init__"), ("RejectionSampler", "_verify")):
            own, its = (list(inspect.signature(getattr(getattr(of, name), method)).parameters.values())
                        for of in (self.ours, self.theirs))
            self.assertEqual([(each.name, each.kind, each.default) for each in own],
                             [(each.name, each.kind, each.default) for each in its])

    def test_registers(self):
        project = tomllib.loads((support.PROJECT / "bindings/python/pyproject.toml").read_text(encoding="utf-8"))
        target = project["project"]["entry-points"]["vllm.general_plugins"]["libsampler"]
        name, _, function = target.partition(":")
        load = getattr(importlib.import_module(name), function)
        places = [(sys.modules[self.theirs.Sampler.__module__], "Sampler"),
                  (sys.modules[self.theirs.RejectionSampler.__module__], "RejectionSampler")]
        runner = types.SimpleNamespace(Sampler=self.theirs.Sampler, RejectionSampler=self.theirs.RejectionSampler)
        with mock.patch.dict(sys.modules, {RUNNER: runner}), mock.patch.object(*places[0], self.theirs.Sampler), \
                mock.patch.object(*places[1], self.theirs.RejectionSampler):
            for plugins, of in (("", self.theirs), ("other", self.theirs), ("other,libsampler", self.ours)):
                with mock.patch.dict(os.environ, {"VLLM_PLUGINS": plugins}):
                    load()
                for module, name in (*places, (runner, "Sampler"), (runner, "RejectionSampler")):
                    self.assertIs(getattr(module, name), getattr(of, name))


if __name__ == "__main__":
    unittest.main()
