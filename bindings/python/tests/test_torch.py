"""libsampler.torch: its operators are the library's calls, and torch can compile them."""

import unittest
import unittest.mock

import libsampler
import support

try:
    import torch

    import libsampler.torch as operators
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    torch = None


@unittest.skipIf(torch is None, "torch is not installed")
class Operators(support.Expects, support.Draws, unittest.TestCase):
    def setUp(self):
        self.operators = operators
        torch.manual_seed(7)
        self.logits = torch.randn(6, 900) * 2
        self.library = support.sampler()
        self.seeds, self.offsets = torch.arange(6) + 100, torch.arange(6)

    def test_options_by_number_row_and_list(self):
        self.assertEqual(self.drawn(), self.of_library())
        self.assertEqual(self.drawn(top_k=5, temperature=0.7), self.of_library(top_k=5, temperature=0.7))
        self.assertEqual(self.drawn(preset="vllm", top_p=0.5),
                         self.library.sample(self.logits, seeds=self.seeds, offsets=self.offsets,
                                             params=libsampler.Params.preset("vllm").replace(top_p=0.5)
                                             ).token_ids.tolist())
        stages = [libsampler.Stage.TOP_P, libsampler.Stage.TOP_K, libsampler.Stage.TEMPERATURE]
        numbers = {"top_k": 30, "top_p": 0.8, "stages": stages}
        self.assertEqual(self.drawn(**numbers), self.of_library(**numbers))
        k, p = torch.tensor([1, 2, 5, 9, 900, 0]), torch.linspace(0.1, 1, 6)
        self.assertEqual(
            self.drawn(top_k=k, top_p=p.double(), temperature=0.9),
            self.of_library(temperature=0.9, row_params=libsampler.RowParams(top_k=k.int(), top_p=p)))
        self.assertEqual(self.drawn(top_p=torch.ones(6, dtype=torch.int64), top_k=k.float()),
                         self.drawn(top_k=k))
        forced = torch.tensor([-1, 3, -1, -1, 899, -1])
        self.assertEqual(self.drawn(forced_token_id=forced),
                         self.of_library(row_params=libsampler.RowParams(forced_token_id=forced)))
        offsets, ids = torch.tensor([0, 2, 2, 2, 2, 3, 3]), torch.tensor([4, 4, 7], dtype=torch.int32)
        mask = torch.randint(-2**31, 2**31 - 1, (6, 29), dtype=torch.int32)
        self.assertEqual(
            self.drawn(repetition_penalty=9.0, history=(offsets, ids), token_bitmasks=mask),
            self.of_library(repetition_penalty=9.0, pipeline=libsampler.Pipeline(
                history=(offsets, ids), token_bitmasks=mask)))

    def test_inputs(self):
        probs = torch.softmax(self.logits, dim=-1)
        rows = libsampler.Rows(probs, kind=libsampler.InputKind.PROBABILITIES)
        self.assertEqual(self.drawn(probs, probabilities=True), self.of_library(rows))
        cube = self.logits.reshape(2, 3, 900)
        found = operators.sample(cube, self.seeds, self.offsets, int64=True)
        self.assertEqual((found.shape, found.dtype), ((2, 3), torch.int64))
        self.assertEqual(found.flatten().tolist(), self.of_library())
        self.assertEqual(self.drawn(self.logits.double()), self.of_library())
        self.assertEqual(self.drawn(self.logits[:1].expand(6, -1)), self.drawn(self.logits[:1].repeat(6, 1)))
        self.assertEqual(operators.sample(self.logits[:0], 1, 1).shape, (0,))
        columns = torch.stack([self.seeds, self.offsets], dim=1)
        self.assertEqual(operators.sample(self.logits, columns[:, 0], columns[:, 1]).tolist(), self.drawn())
        indices = torch.tensor([3, 3, 0, 1, 6, -1])
        found, status = torch.ops.libsampler.sample(self.logits, [], "", False, indices, 2**63 - 1, -1)
        self.assertEqual(found.tolist()[4:], [-1, -1])
        self.assertEqual(status.tolist(), [0, 0, 0, 0, 8, 8])
        self.assertEqual(operators.sample(self.logits, 2**64 - 1, 0).tolist(),
                         operators.sample(self.logits, -1, 0).tolist())

    def test_numbers_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("there is no numpy")
        numbers = {"top_k": numpy.int64(5), "penalty_window": numpy.int32(7), "temperature": numpy.float32(0.5)}
        self.assertEqual(operators.sample(self.logits, numpy.int64(3), numpy.uint64(4), **numbers).tolist(),
                         operators.sample(self.logits, 3, 4, top_k=5, penalty_window=7, temperature=0.5).tolist())

    def test_more_threads_than_a_sampler_has(self):
        with unittest.mock.patch("torch.get_num_threads", return_value=384):
            sampler = operators._Samplers().get(torch.device("cpu"), None)
        self.assertEqual(sampler.argmax(self.logits).tolist(), self.logits.argmax(dim=1).tolist())

    def test_filter_and_verify(self):
        found = operators.filter(self.logits, top_k=4)
        torch.testing.assert_close(found.sum(-1), torch.ones(6))
        self.assertEqual((found > 0).sum(-1).tolist(), [4] * 6)
        half = operators.filter(self.logits.half(), top_k=4, values=True)
        self.assertEqual((half.dtype, torch.isfinite(half).sum().item()), (torch.float16, 24))
        target, draft = self.logits.reshape(2, 3, 900), self.logits[:4].reshape(2, 2, 900)
        ids = torch.tensor([[5, 6], [7, 8]])
        for drafts in (draft, None):
            tokens, accepted, emitted = operators.verify(target, drafts, ids, 3, 4, temperature=0.5)
            expected = self.library.verify(target, drafts, ids, params=libsampler.Params(temperature=0.5),
                                           seed=3, offset=4)
            self.assertEqual(tokens.tolist(), expected.token_ids.tolist())
            self.assertEqual((tokens.dtype, emitted.shape, accepted.shape), (torch.int64, (2,), (2,)))
        rule = libsampler.Acceptance.SAMPLE_MATCH
        self.assertEqual(operators.verify(target, None, ids, 3, 4, rule=rule)[0].tolist(),
                         self.library.verify(target, None, ids, seed=3, offset=4,
                                             acceptance=libsampler.AcceptanceParams(rule=rule)
                                             ).token_ids.tolist())

    def test_torch_s_own_check_of_operators(self):
        ops, none = torch.ops.libsampler, []
        target, ids = self.logits.reshape(2, 3, 900), torch.zeros(2, 2, dtype=torch.int32)
        for op, arguments in ((ops.sample, (self.logits, none, "top_k=5")),
                              (ops.sample, (self.logits, [torch.ones(6)], "top_p", False, torch.arange(6))),
                              (ops.filter, (self.logits, none, "top_k=5", False, True)),
                              (ops.verify, (target, None, ids, none, ""))):
            torch.library.opcheck(op.default, arguments)

    def test_compiled_without_a_break(self):
        def step(logits, seeds, offsets, top_p):
            tokens = operators.sample(logits * 2, seeds, offsets, top_k=40, top_p=top_p, temperature=0.8)
            return tokens, operators.filter(logits, top_k=3).sum(-1)

        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        for rows in (6, 3, 2):
            arguments = (self.logits[:rows], self.seeds[:rows], self.offsets[:rows], torch.full((rows,), 0.7))
            found, expected = compiled(*arguments), step(*arguments)
            self.assertEqual(found[0].tolist(), expected[0].tolist())
            self.assertTrue(torch.equal(found[1], expected[1]))

    def test_errors(self):
        for error, pattern, options in (
            (TypeError, "topk is no option", {"topk": 5}),
            (TypeError, "penalty_scope is a tensor; only members of", {"penalty_scope": torch.ones(6)}),
            (TypeError, "history is no list of tokens", {"history": 3}),
            (ValueError, "top_p is NaN", {"top_p": float("nan")}),
            (ValueError, "row_params.*top_k", {"top_k": torch.ones(5, dtype=torch.int32)}),
        ):
            self.expect_like(error, pattern, self.drawn, **options)
        self.expect_like(ValueError, "there are 0 tensors; the settings name 1",
                         torch.ops.libsampler.sample, self.logits, [], "top_p")
        self.expect(ValueError, "the tensors are on meta; they must be on a CPU or CUDA device",
                    operators.call, "sample", torch.device("meta"), None)


if __name__ == "__main__":
    unittest.main()
