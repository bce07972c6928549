"""libsampler.verify: right samplers pass, and planted faults are found and named."""

import array
import contextlib
import importlib
import io
import random
import sys
import types
import unittest

import libsampler
import support
from libsampler import Acceptance, AcceptanceParams, InputKind, Params, Rows, SumRule, TieRule, verify


class Engine:
    """A sampler of libsampler's, as verify calls it."""

    def __init__(self, preset=None, change=lambda parameters: parameters):
        self.sampler = libsampler.Sampler(threads=2)
        self.start = Params() if preset is None else Params.preset(preset)
        self.change = change

    def __call__(self, logits, parameters, seeds):
        params = self.start.replace(**self.change(dict(parameters)))
        return self.sampler.sample(logits, params=params, seeds=array.array("q", seeds), offset=3).token_ids


def findings(sample, **options):
    return verify.check_sampler(sample, **{"draws": 4000, **options}).findings


class Samplers(unittest.TestCase):
    def assert_names(self, found, *texts):
        self.assertTrue(found)
        for text in texts:
            self.assertTrue(any(text in str(each) for each in found), f"{text}: {[*map(str, found)]}")

    def test_right_ones_pass(self):
        report = verify.check_sampler(Engine(), draws=4000)
        self.assertTrue(report.ok, str(report))
        self.assertGreater(report.checks, 40)
        self.assertRegex(str(report), r"^\d+ checks, [\d,]+ draws: nothing differs$")
        for preset in ("vllm", "sglang", "flashinfer", "hugging_face"):
            self.assertEqual(findings(Engine(preset), preset=preset), [], preset)

    def test_top_k_with_one_less(self):
        def change(parameters):
            if parameters.get("top_k", 0) > 1:
                parameters["top_k"] -= 1
            return parameters

        self.assert_names(findings(Engine(change=change)), 'row "spread", top_k = 3: 3 tokens are kept, but 1 '
                          "of them were never drawn")

    def test_top_p_with_one_token_more(self):
        class OneMore(Engine):
            def __call__(self, logits, parameters, seeds):
                if "top_p" in parameters and len(parameters) == 1:
                    kept = self.sampler.filter(
                        logits, params=self.start.replace(**parameters), out_kept_counts=True).kept_counts[0]
                    parameters = {"top_k": kept + 1}
                return super().__call__(logits, parameters, seeds)

        self.assert_names(findings(OneMore()), 'row "spread", top_p = 0.5: 2 tokens are kept, but 1 others '
                          "were drawn: token 1")

    def test_seeds_of_the_first_row_alone(self):
        class FirstSeed(Engine):
            def __call__(self, logits, parameters, seeds):
                return self.sampler.sample(logits, params=self.start.replace(**parameters), seed=seeds[0],
                                           offset=3).token_ids

        self.assert_names(findings(FirstSeed()), "the seeds of all rows but the first changed, and no token did",
                          "gave other tokens in another slot", "alone than in the batch")

    def test_seeds_that_are_ignored(self):
        class Unseeded(Engine):
            calls = 0

            def __call__(self, logits, parameters, seeds):
                self.calls += 1
                return super().__call__(logits, parameters, [s + self.calls for s in seeds])

        self.assert_names(findings(Unseeded()), "the same rows and seeds gave other tokens")
        self.assertEqual(findings(Unseeded(), seeds=False), [])

    def test_a_tail_that_is_cut(self):
        for least in (1e-3, 2e-6):
            class Cut(Engine):
                rows = {}

                def __call__(self, logits, parameters, seeds):
                    key = (logits.shape, logits[0, 0], logits[0, 1])
                    if key not in self.rows:
                        probs = self.sampler.filter(logits).output
                        first = memoryview(probs).cast("B").cast("f")[:logits.shape[1]]
                        cut = array.array("f", [x if x >= least else 0.0 for x in first.tolist()])
                        self.rows[key] = memoryview(cut * logits.shape[0]).cast("B").cast(
                            "f", logits.shape)
                    return self.sampler.sample(Rows(self.rows[key], kind=InputKind.PROBABILITIES),
                                               seeds=array.array("q", seeds), offset=3).token_ids

            self.assert_names(findings(Cut(), draws=200, seeds=False, supports=()),
                              'row "tail of 10^-6 each": wrong frequencies')

    def test_frequencies_that_are_off(self):
        def warm(parameters):
            return {**parameters, "temperature": parameters.get("temperature", 1.0) * 1.1}

        self.assert_names(findings(Engine(change=warm), draws=20_000, greedy=False), "wrong frequencies: token")

    def test_rules_that_are_another_engine_s(self):
        self.assert_names(findings(Engine(change=lambda p: {**p, "top_k_ties": TieRule.KEEP})),
                          'row "ties", top_k = 3: 3 tokens are kept', "it ties with the last kept token")
        self.assert_names(findings(Engine(change=lambda p: {**p, "top_p_sum": SumRule.EXCEEDS})),
                          'row "equal", top_p = 0.5')
        nearest = verify.nearest_presets(Engine("sglang"), draws=2000)
        self.assertTrue(nearest[0][0].startswith("sglang"), nearest[0][0])
        self.assertTrue(nearest[0][1].ok)
        self.assertGreater(len(nearest[-1][1].findings), 0)

    def test_greedy_and_ids(self):
        self.assert_names(findings(Engine(change=lambda p: {**p, "temperature": p.get("temperature") or 1.0})),
                          "the largest logit is token 3's")
        self.assert_names(findings(lambda logits, parameters, seeds: [-1] * logits.shape[0]),
                          "token -1, which is no column")
        with self.assertRaisesRegex(ValueError, "returned 1 token ids for"):
            findings(lambda logits, parameters, seeds: [0])

    def test_the_program(self):
        module = types.ModuleType("an_engine")
        module.sample, module.calm = Engine(), Engine(change=lambda p: {**p, "temperature": 0.5})
        module.drafts = Drafts()
        sys.modules["an_engine"] = module
        for arguments, status, pattern in (
            (["an_engine:sample", "--draws", "2000"], 0, "nothing differs"),
            (["an_engine:calm", "--draws", "2000", "--without-seeds"], 1, r"\d+ findings\n- distribution"),
            (["an_engine:sample", "--draws", "500", "--nearest", "--supports", "top_k"], 0, r"vllm +\d+ find"),
            (["an_engine:drafts", "--draws", "2000", "--drafts"], 0, "nothing differs"),
        ):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                self.assertEqual(verify.main(arguments), status, output.getvalue())
            self.assertRegex(output.getvalue(), pattern)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            verify.main(["an_engine"])


class Drafts:
    """A verifier of libsampler's, with a fault that changes the result."""

    def __init__(self, rule=Acceptance.STANDARD, fault=None):
        self.sampler, self.rule, self.fault = libsampler.Sampler(threads=2), rule, fault

    def __call__(self, target, draft, ids, seeds):
        found = self.sampler.verify(
            Rows(target, kind=InputKind.PROBABILITIES), Rows(draft, kind=InputKind.PROBABILITIES), ids,
            seeds=array.array("q", seeds), offset=3, acceptance=AcceptanceParams(rule=self.rule)).token_ids
        texts = found.tolist()
        return texts if self.fault is None else self.fault(texts, target, draft, ids)


class Verifiers(unittest.TestCase):
    def test_right_ones_pass(self):
        report = verify.check_verifier(Drafts())
        self.assertTrue(report.ok, str(report))

    def test_another_lossless_rule_differs_in_texts_alone(self):
        found = verify.check_verifier(Drafts(Acceptance.SAMPLE_MATCH)).findings
        self.assertEqual({each.check for each in found}, {"standard rule"})

    def test_accepting_always(self):
        def always(texts, target, draft, ids):
            return [[*drafts, text[-1]] for drafts, text in zip(ids.tolist(), texts, strict=True)]

        found = verify.check_verifier(Drafts(fault=always), draws=5000).findings
        self.assertIn("tokens follow the target", {each.check for each in found})

    def test_a_residual_that_is_the_target(self):
        source = random.Random(1)

        def from_target(texts, target, draft, ids):
            drafts, rows, result = ids.tolist(), target.tolist(), []
            for i, text in enumerate(texts):
                text = [token for token in text if token >= 0]
                place = len(text) - 1
                if place < len(drafts[i]):
                    text[place] = source.choices(range(len(rows[i][place])), rows[i][place])[0]
                result.append(text)
            return result

        found = verify.check_verifier(Drafts(fault=from_target), draws=20_000).findings
        self.assertIn(("tokens follow the target", "different"), {(f.check, f.row) for f in found})

    def test_the_law_sums_to_1(self):
        for target, draft in verify._VERIFIED.values():
            self.assertAlmostEqual(sum(verify._texts(target, draft).values()), 1)


def imported(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise
        return None


torch, transformers = imported("torch"), imported("transformers")


@unittest.skipIf(torch is None, "torch is not installed")
class Peers(unittest.TestCase):
    def test_torch(self):
        @verify.takes_torch
        def sample(logits, parameters, seeds):
            scaled = logits / parameters.get("temperature", 1.0)
            return torch.multinomial(torch.softmax(scaled, dim=-1), 1).flatten()

        torch.manual_seed(1)
        report = verify.check_sampler(sample, supports=["temperature"], seeds=False, greedy=False,
                                      draws=4000)
        self.assertTrue(report.ok, str(report))

    def test_libsampler_in_flashinfer_s_place(self):
        from libsampler.flashinfer import sampling

        @verify.takes_torch
        def sample(logits, parameters, seeds):
            seeds = torch.tensor(seeds)
            probs = sampling.softmax(logits, parameters.get("temperature"))
            probs = sampling.top_k_renorm_probs(probs, parameters.get("top_k", 0))
            probs = sampling.top_p_renorm_probs(probs, parameters.get("top_p", 1.0))
            return sampling.min_p_sampling_from_probs(probs, parameters.get("min_p", 0.0), seed=seeds,
                                                      offset=torch.zeros_like(seeds))

        report = verify.check_sampler(sample, preset="flashinfer")
        self.assertTrue(report.ok, str(report))

        @verify.takes_torch
        def drafts(target, draft, ids, seeds):
            return sampling.chain_speculative_sampling(
                draft, ids, target, seed=torch.tensor(seeds),
                offset=torch.zeros(len(seeds), dtype=torch.int64))[0]

        report = verify.check_verifier(drafts)
        self.assertTrue(report.ok, str(report))

    @unittest.skipIf(transformers is None, "transformers is not installed")
    def test_hugging_face(self):
        @verify.takes_torch
        def sample(logits, parameters, seeds):
            warpers = transformers.LogitsProcessorList(
                [{"temperature": transformers.TemperatureLogitsWarper,
                  "top_k": transformers.TopKLogitsWarper, "top_p": transformers.TopPLogitsWarper,
                  "min_p": transformers.MinPLogitsWarper}[name](parameters[name])
                 for name in ("temperature", "top_k", "top_p", "min_p") if name in parameters])
            scores = warpers(None, logits)
            return torch.multinomial(torch.softmax(scores, dim=-1), 1).flatten()

        torch.manual_seed(1)
        report = verify.check_sampler(sample, preset="hugging_face", seeds=False, greedy=False, draws=4000)
        self.assertTrue(report.ok, str(report))
        self.assertIn('row "equal", top_p = 0.5: of tied tokens it keeps [4, 5, 6, 7]', str(report))


class Statistics(unittest.TestCase):
    def test_chi_square(self):
        for statistic, freedom, expected in ((3.841, 1, 0.05), (18.307, 10, 0.05), (29.588, 10, 0.001),
                                             (149.449, 100, 0.001)):
            self.assertAlmostEqual(verify.chi_square_p(statistic, freedom) / expected, 1, delta=0.1)
        self.assertEqual(verify.chi_square_p(0, 3), 1)


if __name__ == "__main__":
    unittest.main()
