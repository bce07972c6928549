"""libsampler.sglang with SGLang's own Sampler, imported from its wheel; what it imports besides is stood for
by tests/tools/peers/stubs.py. SAMPLER_SGLANG names a folder with the wheel's `sglang`.
"""

import os
import sys
import types
import unittest

import support

try:
    import torch

    import libsampler.torch as operators
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    torch = None

FOLDER = os.environ.get("SAMPLER_SGLANG")


@unittest.skipIf(torch is None, "torch is not installed")
@unittest.skipIf(FOLDER is None, "SAMPLER_SGLANG names no SGLang")
class Backend(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
        sys.path.insert(0, os.fspath(support.PROJECT / "tests/tools/peers"))
        import stubs

        stubs.allow_parts_of("sglang", FOLDER)
        import libsampler.sglang

        cls.module = libsampler.sglang
        cls.sglang = libsampler.sglang._sglang
        cls.sglang.SGLANG_RETURN_ORIGINAL_LOGPROB = False
        cls.sglang._trace_e2e_sampler = lambda stage, **fields: None
        cls.sglang.sampler_softmax = lambda logits: torch.softmax(logits, dim=-1)

    def setUp(self):
        torch.manual_seed(6)
        self.logits = torch.randn(5, 300) * 2
        self.backend = self.module.Sampler.__new__(self.module.Sampler)
        torch.nn.Module.__init__(self.backend)
        for name in ("rl_on_policy_target", "enable_deterministic", "use_log_softmax_logprob",
                     "use_ascend_backend"):
            setattr(self.backend, name, False)
        self.backend.rl_on_policy_target = None
        self.backend.output_logprob_processor = types.SimpleNamespace(
            compute_logprobs=lambda logprobs, tops, ids, tokens: types.SimpleNamespace(
                write_output_to=lambda output: setattr(output, "logprobs", logprobs)))
        self.backend._preprocess_logits = lambda logits, info: logits
        self.backend._sync_token_ids_across_tp = lambda tokens, info: None

    def info(self, **changes):
        values = {
            "temperatures": torch.full((5, 1), 0.7), "top_ks": torch.tensor([1, 5, 2**30, 20, 2**30]),
            "top_ps": torch.tensor([1.0, 0.9, 0.5, 1.0, 1.0]), "min_ps": torch.tensor([0.0, 0, 0, 0.2, 0]),
            "need_top_k_sampling": True, "need_top_p_sampling": True, "need_min_p_sampling": True,
            "sampling_seed": torch.tensor([1, 2, 3, 4, 5]), "is_all_greedy": False, "grammars": None,
            "sampling_mask_batch_indices": None, "sampling_support_logprobs_capture_indices": None,
            "has_custom_logit_processor": False}
        return types.SimpleNamespace(**{**values, **changes})

    def draw(self, info, logits=None, return_logprob=False, positions=None):
        output = types.SimpleNamespace(next_token_logits=(self.logits if logits is None else logits).clone())
        positions = torch.arange(10, 15)[:len(output.next_token_logits)] if positions is None else positions
        tokens = self.backend.forward(output, info, return_logprob, [], [], positions)
        return tokens, output

    def test_draws_from_logits(self):
        info = self.info()
        found, _ = self.draw(info)
        expected = operators.sample(
            self.logits, info.sampling_seed, torch.arange(10, 15), preset="sglang",
            temperature=info.temperatures.flatten(), top_k=info.top_ks, top_p=info.top_ps, min_p=info.min_ps)
        self.assertEqual((found.tolist(), found.dtype), (expected.tolist(), torch.int32))
        order = torch.tensor([3, 0, 4, 1, 2])
        moved = types.SimpleNamespace(**{name: value[order] if isinstance(value, torch.Tensor) else value
                                         for name, value in vars(info).items()})
        again, _ = self.draw(moved, self.logits[order], positions=torch.arange(10, 15)[order])
        self.assertEqual(again.tolist(), found[order].tolist())

    def test_keeps_what_sglang_keeps(self):
        info = self.info(sampling_seed=None)
        probs = torch.softmax(self.logits / 0.7, dim=-1)
        _, left, ids, _ = self.sglang.top_k_top_p_min_p_sampling_from_probs_torch(
            probs, info.top_ks, info.top_ps, info.min_ps, True, None, None, return_filtered_probs=True)
        kept = torch.zeros_like(probs).scatter_(1, ids.long(), left)
        for _ in range(200):
            tokens, _ = self.draw(info)
            self.assertTrue(bool((kept.gather(1, tokens.long().unsqueeze(-1)) > 0).all()))

    def test_with_logprobs(self):
        tokens, output = self.draw(self.info(), return_logprob=True)
        torch.testing.assert_close(output.logprobs, torch.log_softmax(self.logits / 0.7, -1))
        # From SGLang's probabilities: but for rounding the same draw.
        self.assertGreater((tokens == self.draw(self.info())[0]).float().mean(), 0.7)

    def test_greedy_and_bad_rows(self):
        tokens, _ = self.draw(self.info(is_all_greedy=True))
        self.assertEqual(tokens.tolist(), self.logits.argmax(-1).tolist())
        self.logits[2] = float("nan")
        self.assertEqual(self.draw(self.info())[0][2], 0)

    def test_seeds_of_torch(self):
        info = self.info(sampling_seed=None, need_top_k_sampling=False, need_top_p_sampling=False,
                         need_min_p_sampling=False)
        torch.manual_seed(1)
        drawn = [self.draw(info)[0].tolist() for _ in range(3)]
        torch.manual_seed(1)
        self.assertEqual(drawn, [self.draw(info)[0].tolist() for _ in range(3)])
        self.assertGreater(len(set(map(tuple, drawn))), 1)

    def test_registers(self):
        choices = types.ModuleType("sglang.srt.server_args")
        choices.SAMPLING_BACKEND_CHOICES = set()
        sys.modules["sglang.srt.server_args"] = choices
        self.module.register()
        self.assertIn("libsampler", choices.SAMPLING_BACKEND_CHOICES)
        self.assertIs(self.sglang._CUSTOM_SAMPLER_FACTORIES["libsampler"], self.module.Sampler)


if __name__ == "__main__":
    unittest.main()
