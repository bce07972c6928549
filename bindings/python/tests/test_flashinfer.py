"""libsampler.flashinfer: FlashInfer's signatures, the library's own results, and the distributions."""

import ast
import itertools
import unittest

import libsampler
import support

try:
    import torch

    from libsampler import flashinfer
    from libsampler.flashinfer import logits_processor, sampling
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    torch = None

PACKAGE = support.PROJECT / "bindings/python/libsampler/flashinfer"
RECORDED = support.PROJECT / "bindings/python/tests/flashinfer_signatures.txt"
needs_torch = unittest.skipIf(torch is None, "torch is not installed")


class Signatures(unittest.TestCase):
    """As tests/tools/peers/flashinfer_signatures.py recorded FlashInfer's. Needs no torch."""

    def test_are_those_of_flashinfer(self):
        found = {}
        for node in ast.parse((PACKAGE / "sampling.py").read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for argument in node.args.args:
                    argument.annotation = None
                found[node.name] = f"{node.name}({ast.unparse(node.args)})"
        lines = RECORDED.read_text(encoding="utf-8").splitlines()
        self.assertGreater(len(lines), 10)
        for line in lines:
            self.assertEqual(found[line.partition("(")[0]], line)


@needs_torch
class Sampling(support.Expects, unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        self.logits = torch.randn(6, 900) * 2
        self.probs = torch.softmax(self.logits, dim=-1)
        self.library = support.sampler()

    def drawn(self, input, **params):
        keep = libsampler.TieRule.KEEP
        return self.library.sample(
            input, params=libsampler.Params(top_k_ties=keep, top_p_ties=keep, **params), seed=5,
            offset=9).token_ids.tolist()

    def of_probs(self):
        return libsampler.Rows(self.probs, kind=libsampler.InputKind.PROBABILITIES)

    def test_draws_are_the_library_s(self):
        random = {"seed": 5, "offset": 9}
        joint = libsampler.FilterOrder.JOINT
        for found, expected in (
            (sampling.sampling_from_logits(self.logits, **random), self.drawn(self.logits)),
            (sampling.sampling_from_probs(self.probs, **random), self.drawn(self.of_probs())),
            (sampling.top_k_sampling_from_probs(self.probs, 8, **random),
             self.drawn(self.of_probs(), top_k=8)),
            (sampling.top_p_sampling_from_probs(self.probs, 0.6, **random),
             self.drawn(self.of_probs(), top_p=0.6)),
            (sampling.min_p_sampling_from_probs(self.probs, 0.2, **random),
             self.drawn(self.of_probs(), min_p=0.2)),
            (sampling.top_k_top_p_sampling_from_probs(self.probs, 20, 0.7, **random),
             self.drawn(self.of_probs(), top_k=20, top_p=0.7)),
            (sampling.top_k_top_p_sampling_from_logits(self.logits, 20, 0.7, **random),
             self.drawn(self.logits, top_k=20, top_p=0.7)),
            (sampling.top_k_top_p_sampling_from_logits(self.logits, 20, 0.7, filter_apply_order="joint",
                                                       **random),
             self.drawn(self.logits, top_k=20, top_p=0.7, filter_order=joint)),
        ):
            self.assertEqual((found.dtype, found.tolist()), (torch.int32, expected))

    def test_ties_are_kept(self):
        probs = torch.tensor([[0.1, 0.3, 0.3, 0.3]])
        rows = torch.zeros(3000, dtype=torch.int64)
        for found in (sampling.top_k_sampling_from_probs(probs, 2, indices=rows, seed=1, offset=0),
                      sampling.top_p_sampling_from_probs(probs, 0.5, indices=rows, seed=1, offset=0)):
            self.assertEqual((found.dtype, set(found.tolist())), (torch.int64, {1, 2, 3}))
        self.assertEqual(sampling.top_k_renorm_probs(probs, 1).count_nonzero(), 3)
        self.assertEqual(sampling.top_p_renorm_probs(probs, 0.2).count_nonzero(), 3)
        self.assertEqual(torch.isfinite(sampling.top_k_mask_logits(probs.log(), 1)).sum(), 3)

    def test_parameters_by_row_follow_indices(self):
        k = torch.tensor([1, 5, 900, 2, 1, 3])
        p = torch.tensor([1.0, 0.5, 0.9, 0.01, 0.3, 1.0])
        indices = torch.tensor([5, 0, 0, 3, 2], dtype=torch.int32)
        seeds = torch.tensor([11, 22, 33, 44, 55])
        offsets = torch.tensor([1, 2, 3, 4, 5], dtype=torch.uint64)
        found = sampling.top_k_top_p_sampling_from_probs(self.probs, k, p, indices=indices, seed=seeds,
                                                         offset=offsets)
        for i, row in enumerate(indices.tolist()):
            alone = sampling.top_k_top_p_sampling_from_probs(
                self.probs[row:row + 1], k[row].item(), p[row].item(), seed=seeds[i:i + 1],
                offset=offsets[i:i + 1])
            self.assertEqual(alone.item(), found[i].item())

    def test_generators(self):
        def tokens(generator):
            return sampling.sampling_from_logits(self.logits, generator=generator).tolist()

        first = torch.Generator().manual_seed(3)
        second = first.clone_state()
        drawn = [tokens(first) for _ in range(4)]
        self.assertEqual(drawn, [tokens(second) for _ in range(4)])
        self.assertGreater(len(set(map(tuple, drawn))), 1)
        torch.manual_seed(3)
        self.assertEqual(tokens(None), drawn[0])

    def test_bad_rows_yield_0_and_are_told(self):
        probs = self.probs.clone()
        good = sampling.sampling_from_probs(probs, seed=1, offset=1)
        probs[1, 4] = float("nan")
        probs[2] = 0
        probs[4, 0] = -1
        tokens, valid = sampling.sampling_from_probs(probs, seed=1, offset=1, return_valid=True)
        self.assertEqual(valid.tolist(), [True, False, False, True, False, True])
        self.assertEqual(tokens.tolist(), torch.where(valid, good, 0).tolist())
        self.expect(ValueError, "Input probs contains NaN.", sampling.sampling_from_probs, probs,
                    check_nan=True)
        outside = sampling.sampling_from_probs(self.probs, return_valid=True,
                                               indices=torch.tensor([0, 6, -1, 2**32]))
        self.assertEqual(outside[1].tolist(), [True, False, False, False])

    def test_types_and_strides(self):
        wide = torch.randn(6, 1000, dtype=torch.float64)
        self.assertEqual(sampling.sampling_from_logits(wide[:, ::2], seed=1, offset=1).tolist(),
                         sampling.sampling_from_logits(wide[:, ::2].float(), seed=1, offset=1).tolist())
        rows = self.logits[::2, :100]
        self.assertTrue(torch.equal(sampling.softmax(rows), sampling.softmax(rows.clone())))
        for dtype in (torch.float16, torch.bfloat16):
            probs = self.probs.to(dtype)
            self.assertEqual(sampling.top_k_renorm_probs(probs, 9).dtype, dtype)
            self.assertEqual(sampling.top_k_mask_logits(probs, 9).dtype, dtype)
            self.assertEqual(sampling.top_p_renorm_probs(probs, 0.9).dtype, torch.float32)
            self.assertEqual(sampling.softmax(probs).dtype, torch.float32)
        empty = torch.empty(0, 900)
        self.assertEqual(sampling.sampling_from_logits(empty).shape, (0,))
        self.assertEqual(sampling.softmax(empty).shape, (0, 900))

    def test_temperatures(self):
        halves = torch.full((6,), 0.5)
        expected = torch.softmax(self.logits / 0.5, dim=-1)
        for temperature in (0.5, halves, halves.double()):
            torch.testing.assert_close(sampling.softmax(self.logits, temperature), expected)
        self.assertEqual(sampling.softmax(self.logits, 0.0).count_nonzero(), 6)

    def test_errors(self):
        logits, probs = self.logits, self.probs
        one, six = torch.tensor([0.5]), torch.full((6,), 0.5)
        for error, pattern, call in (
            (ValueError, r"probs has 1 dimensions; it must have 2",
             lambda: sampling.sampling_from_probs(probs[0])),
            (TypeError, "logits is a list", lambda: sampling.sampling_from_logits([[1.0]])),
            (ValueError, "1D tensor or scalar.*2D tensor",
             lambda: sampling.top_p_renorm_probs(probs, six[None])),
            (ValueError, r"shape \(batch_size,\) or scalar.*0-dimensional",
             lambda: sampling.top_k_renorm_probs(probs, torch.tensor(4))),
            (ValueError, "batch size mismatch: expected length 6.*length 1",
             lambda: sampling.min_p_sampling_from_probs(probs, one)),
            (ValueError, "top_p is NaN",
             lambda: sampling.top_p_sampling_from_probs(probs, float("nan"))),
            (ValueError, "Invalid filter_apply_order: both",
             lambda: sampling.top_k_top_p_sampling_from_logits(logits, 1, 1.0, filter_apply_order="both")),
            (ValueError, "both be tensors or both be scalars",
             lambda: sampling.sampling_from_logits(logits, seed=1, offset=torch.tensor([1]))),
            (ValueError, "seed tensor must be int64/uint64",
             lambda: sampling.sampling_from_logits(logits, seed=one, offset=one)),
            (ValueError, "seed tensor length must be 1 or 6",
             lambda: sampling.sampling_from_logits(logits, seed=torch.arange(2), offset=torch.arange(2))),
            (ValueError, "temperature tensor must be 1D", lambda: sampling.softmax(logits, six[None])),
            (ValueError, "temperature tensor length", lambda: sampling.softmax(logits, one)),
            (ValueError, "temperature tensor must have dtype",
             lambda: sampling.softmax(logits, torch.ones(6, dtype=torch.int64))),
            (TypeError, "temperature is a str", lambda: sampling.softmax(logits, "1")),
            (ValueError, "indices has type torch.float32",
             lambda: sampling.sampling_from_logits(logits, indices=six)),
            (AssertionError, "Unsupported dtype torch.float64",
             lambda: sampling.top_k_renorm_probs(probs.double(), 4)),
            (ValueError, r"target_probs has shape \(1, 2, 3\)",
             lambda: sampling.chain_speculative_sampling(
                 torch.ones(1, 2, 3), torch.zeros(1, 2, dtype=torch.int32), torch.ones(1, 2, 3))),
        ):
            self.expect_like(error, pattern, call)


@needs_torch
class Chain(unittest.TestCase):
    """The emitted texts follow the target: FlashInfer's own test looks at no distribution."""

    def test_texts_follow_the_target(self):
        count, drafts, vocabulary = 400_000, 2, 3
        torch.manual_seed(2)
        draft = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
        target = torch.tensor([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3], [0.6, 0.1, 0.3]])
        ids = torch.stack([torch.multinomial(draft[i], count, replacement=True) for i in range(drafts)], 1)
        tokens, accepted, emitted = sampling.chain_speculative_sampling(
            draft.expand(count, -1, -1), ids, target.expand(count, -1, -1), seed=4, offset=0)
        self.assertTrue(torch.equal(emitted + 1, (tokens >= 0).sum(1)))
        self.assertTrue(bool((accepted >= emitted).all()))
        # Each token that is emitted follows the target at its place, whatever came before it.
        statistic, freedom = 0.0, 0
        for place in range(drafts + 1):
            column = tokens[:, place]
            counts = torch.bincount(column[column >= 0], minlength=vocabulary).double()
            expected = target[place].double() * counts.sum()
            statistic += float(((counts - expected) ** 2 / expected).sum())
            freedom += vocabulary - 1
        self.assertEqual(freedom, 6)
        self.assertLess(statistic, 33.1)  # chi-square of 6 degrees of freedom: p = 1e-5

    def test_given_counts_are_added_to(self):
        draft, target = torch.full((2, 3, 4), 0.25), torch.full((2, 4, 4), 0.25)
        ids = torch.zeros(2, 3, dtype=torch.int64)
        for dtype in (torch.int32, torch.int64):
            accepted, emitted = torch.tensor([5, 6], dtype=dtype), torch.tensor([7, 8], dtype=dtype)
            found = sampling.chain_speculative_sampling(draft, ids, target, accepted, emitted)
            self.assertIs(found[1], accepted)
            self.assertIs(found[2], emitted)
            self.assertEqual((accepted.tolist(), emitted.tolist()), ([8, 9], [10, 11]))
        self.assertEqual(sampling.chain_speculative_sampling(
            draft[:, :0], ids[:, :0], target[:, :1])[0].shape, (2, 1))


@needs_torch
class Pipelines(support.Expects, unittest.TestCase):
    def setUp(self):
        torch.manual_seed(8)
        self.logits = torch.randn(5, 300) * 2
        self.step = {"K": logits_processor.TopK, "P": logits_processor.TopP, "M": logits_processor.MinP}
        self.values = {"temperature": 0.7, "top_k": 40, "top_p": 0.8, "min_p": 0.05}

    def test_every_order_is_one_call_and_agrees_with_its_steps(self):
        p = logits_processor
        indices = torch.arange(5).repeat_interleave(400)
        for length in range(4):
            for order in itertools.permutations("KPM", length):
                steps = [p.Temperature(), p.Softmax(), *(self.step[name]() for name in order), p.Sample()]
                one = p.LogitsPipe(steps)
                self.assertEqual(len(one.compiled_ops), 1, one)
                found = one(self.logits, indices=indices, seed=1, offset=1, **self.values)
                parts = p.LogitsPipe(steps, compile=False)(self.logits, indices=indices, seed=1, offset=1,
                                                           **self.values)
                # Renormalising between the steps rounds: a draw beside a boundary may differ.
                self.assertGreater((found == parts).float().mean().item(), 0.998, one)

    def test_joint(self):
        p = logits_processor
        probs = torch.softmax(self.logits, dim=-1)
        for before, after, calls in (("", "", 1), ("", "M", 1), ("M", "", 2)):
            pipe = p.LogitsPipe([*(self.step[n]() for n in before), p.TopK(joint_topk_topp=True), p.TopP(),
                                 *(self.step[n]() for n in after), p.Sample()],
                                input_type=p.TensorType.PROBS)
            self.assertEqual(len(pipe.compiled_ops), calls)
        plain = p.LogitsPipe([p.TopK(joint_topk_topp=True), p.TopP(), p.Sample()],
                             input_type=p.TensorType.PROBS)
        self.assertEqual(plain(probs, top_k=9, top_p=0.6, seed=2, offset=3).tolist(),
                         sampling.top_k_top_p_sampling_from_probs(
                             probs, 9, 0.6, filter_apply_order="joint", seed=2, offset=3).tolist())

    def test_own_steps_and_rules(self):
        p = logits_processor

        class Negate(p.ParameterizedOp):
            IN = OUT = p.TensorType.LOGITS

            def __call__(self, tensor, **kwargs):
                output_type = self._validate_input_type(tensor)
                return p.TaggedTensor(torch.neg(tensor) * self._get_param("scale", kwargs), output_type)

        class Negated(p.LogitsProcessor):
            def legalize(self, input_type):
                return [Negate(**self.params)]

        pipe = p.LogitsPipe([Negated(scale=1.0), p.Softmax()], input_type=p.TensorType.LOGITS)
        torch.testing.assert_close(pipe(self.logits, scale=2.0), torch.softmax(-2 * self.logits, -1))
        once = p.FusionRule((Negate, Negate), lambda ops: True, lambda ops: ops[0], 500)
        twice = p.LogitsPipe([Negated(scale=1.0), Negated()], input_type=p.TensorType.LOGITS,
                             custom_fusion_rules=[once])
        self.assertEqual(len(twice.compiled_ops), 1)

        def never(ops):
            raise p.CompileError("never")

        self.expect(ValueError, "Pipeline creation failed: never", p.LogitsPipe, [p.Softmax()],
                    custom_validity_checks=[never])

    def test_errors(self):
        p = logits_processor
        for steps, options, pattern in (
            ([], {}, "Pipeline cannot be empty"),
            ([p.TopK()], {}, "Cannot infer input type: TopK can accept both"),
            ([p.Temperature(), p.TopP()], {}, "processor 1 .TopP.: TopP can only be applied to PROBS, got L"),
            ([p.Sample(), p.TopP()], {"input_type": p.TensorType.LOGITS}, "TopP can only .* got INDICES"),
        ):
            self.expect_like(ValueError, pattern, p.LogitsPipe, steps, **options)
        pipe = p.LogitsPipe([p.TopK(), p.Sample()], input_type=p.TensorType.LOGITS)
        for value, pattern in ((None, "Required parameter 'top_k'"), (0, "top_k is 0; it must be a positive"),
                               (1.5, "top_k is 1.5; it must"), (torch.ones(2), "batch size mismatch")):
            given = {} if value is None else {"top_k": value}
            self.expect_like(ValueError, pattern, pipe, self.logits, **given)
        self.expect_like(ValueError, "temperature is 0.0; it must be a positive float",
                         p.LogitsPipe([p.Temperature()]), self.logits, temperature=0.0)
        self.expect_like(ValueError, "cannot accept input type PROBS",
                         p.LogitsPipe([p.Softmax()]), p.TaggedTensor.probs(self.logits))

    def test_the_package_has_flashinfer_s_names(self):
        self.assertIs(flashinfer.sampling, sampling)
        self.assertIs(flashinfer.top_p_renorm_probs, sampling.top_p_renorm_prob)
        self.assertIs(flashinfer.logits_processor, logits_processor)


if __name__ == "__main__":
    unittest.main()
