"""libsampler.vllm with the interface of vLLM's V2 model runner, as it is in vLLM's wheel: the classes
are vLLM's, the requests and steps are made here. SAMPLER_VLLM names a folder with the wheel's `vllm`.
"""

import importlib.util
import os
import pathlib
import sys
import types
import unittest

import support

try:
    import numpy
    import torch

    import libsampler.torch as operators
except ModuleNotFoundError as error:
    if error.name not in ("numpy", "torch"):
        raise
    torch = None

FOLDER = os.environ.get("SAMPLER_VLLM")
NAME = "vllm.v1.worker.gpu.sample.logits_processor"


def vllm_s_interface():
    """vLLM's module, without the packages around it, which need a GPU."""
    path = pathlib.Path(FOLDER) / "vllm/v1/worker/gpu/sample/logits_processor/interface.py"
    parts = NAME.split(".")
    for i in range(1, len(parts)):
        package = types.ModuleType(".".join(parts[:i]))
        package.__path__ = []
        sys.modules.setdefault(package.__name__, package)
    spec = importlib.util.spec_from_file_location(NAME, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module


@unittest.skipIf(torch is None, "torch is not installed")
@unittest.skipIf(FOLDER is None, "SAMPLER_VLLM names no vLLM")
class Processor(support.Expects, unittest.TestCase):
    SLOTS, LENGTH, COLUMNS = 6, 40, 97

    def setUp(self):
        self.interface = vllm_s_interface()
        from libsampler.vllm import Processor as OfLibsampler

        torch.manual_seed(4)
        self.texts = torch.randint(0, self.COLUMNS, (self.SLOTS, self.LENGTH), dtype=torch.int32)
        cpu = torch.device("cpu")
        self.state = self.interface.LogitsProcRequestState(
            device=cpu, max_num_reqs=self.SLOTS, vocab_size=self.COLUMNS,
            all_token_ids=types.SimpleNamespace(gpu=self.texts), prompt_len=None, prefill_len=None,
            total_len=None)
        self.make = lambda speculative=None: OfLibsampler(
            types.SimpleNamespace(speculative_config=speculative), self.state)
        self.processor = self.make()

    @staticmethod
    def request(seed=None, extra=None, **own):
        values = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, **own}
        return types.SimpleNamespace(seed=seed, extra_args=extra, **values)

    def context(self, slots, lengths):
        mapping = torch.tensor(slots, dtype=torch.int32)
        return self.interface.LogitsContext(
            expanded_idx_mapping=mapping, idx_mapping=mapping, idx_mapping_np=mapping.numpy(),
            expanded_local_pos=torch.zeros_like(mapping), input_ids=torch.zeros_like(mapping),
            pos=torch.tensor(lengths) - 1, seq_lens_upper_bound_np=numpy.array(lengths))

    def step(self, requests, slots, lengths, logits):
        for slot, request in requests.items():
            self.processor.validate_params(request)
            self.processor.add_request(slot, request)
        self.processor.apply_staged_writes()
        return self.processor.apply(logits.clone(), self.context(slots, lengths))

    def test_draws_for_those_who_ask(self):
        logits = torch.randn(3, self.COLUMNS) * 2
        requests = {
            4: self.request(11, {"xtc_probability": 1.0, "xtc_threshold": 0.05}, temperature=0.8),
            1: self.request(22, None, top_p=0.5),
            2: self.request(33, {"typical_p": 0.6, "top_n_sigma": 1.5, "unknown": 3}, top_k=20),
        }
        found = self.step(requests, [4, 1, 2], [7, 9, 12], logits)
        self.assertTrue(torch.equal(found[1], logits[1]))
        for row, seed, position, options in (
            (0, 11, 7, {"xtc_probability": 1.0, "xtc_threshold": 0.05, "temperature": 0.8}),
            (2, 33, 12, {"typical_p": 0.6, "top_n_sigma": 1.5, "top_k": 20}),
        ):
            expected = operators.sample(logits[row:row + 1], torch.tensor([seed]), torch.tensor([position]),
                                        filter_order=2, **options)
            self.assertEqual(torch.isfinite(found[row]).nonzero().flatten().tolist(), expected.tolist())

    def test_reads_the_text(self):
        pattern = [5, 6, 7, 8, 5, 6, 7]
        self.texts[3, :7] = torch.tensor(pattern, dtype=torch.int32)
        logits = torch.zeros(2, self.COLUMNS)
        logits[:, 8] = 30.0  # what DRY holds against token 8 decides
        logits[:, 9] = 20.0
        requests = {3: self.request(1, {"dry_multiplier": 100.0}), 0: self.request(1, {"top_h": 0.9})}
        found = self.step(requests, [3, 0], [7, 20], logits)
        self.assertEqual(found.argmax(-1).tolist(), [9, 8])
        self.expect_like(ValueError, "not supported with speculative decoding",
                         self.make("on").add_request, 0, requests[3])

    def test_slots_are_used_again_and_order_does_not_matter(self):
        logits = torch.randn(2, self.COLUMNS)
        requests = {0: self.request(5, {"min_keep": 2}), 5: self.request(6, {"min_keep": 2})}
        found = self.step(requests, [0, 5], [3, 4], logits)
        moved = self.step({}, [5, 0], [4, 3], logits.flip(0))
        self.assertTrue(torch.equal(found, moved.flip(0)))
        self.assertTrue(torch.equal(self.step({0: self.request(5)}, [0], [3], logits[:1]), logits[:1]))

    def test_grammars_hold(self):
        logits = torch.full((1, self.COLUMNS), float("-inf"))
        logits[0, 17] = 0.5
        found = self.step({0: self.request(None, {"top_h": 0.5})}, [0], [3], logits)
        self.assertEqual(torch.isfinite(found).nonzero().tolist(), [[0, 17]])
        nothing = torch.full((1, self.COLUMNS), float("-inf"))  # a bad row stays
        self.assertTrue(torch.equal(self.step({}, [0], [3], nothing), nothing))

    def test_bad_arguments(self):
        for extra, pattern in (({"dry_multiplier": "1"}, "dry_multiplier.* must be a finite number"),
                               ({"typical_p": float("nan")}, "typical_p.* is nan"),
                               ({"top_a": 1e39}, "top_a.* must be a finite number"),
                               ({"dry_base": 10**400}, "dry_base.* must be a finite number"),
                               ({"min_keep": 1.5}, "min_keep.* must be an integer")):
            self.expect_like(ValueError, pattern, self.processor.validate_params, self.request(extra=extra))


if __name__ == "__main__":
    unittest.main()
