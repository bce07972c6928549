"""libsampler.exllamav3 with exllamav3's own samplers, imported from its wheel; what they import besides is stood
for by tests/tools/peers/stubs.py, and their kernels by loops. SAMPLER_EXLLAMAV3 names a folder with the wheel's
`exllamav3`.
"""

import inspect
import math
import os
import sys
import unittest
from unittest import mock

import support

try:
    import torch

    import libsampler
    import libsampler.torch as operators
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    torch = None

FOLDER = os.environ.get("SAMPLER_EXLLAMAV3")
COLUMNS = 96
PAST = [5, 6, 7, 8, 9, 5, 6, 7, 20, 21, 5, 6, 7]


def repetition_penalty(logits, out, past_ids, rep_p, sustain_range, decay_range):
    """What the kernels of exllamav3_ext/generator/rep_pen.cu do, one token after the other."""
    out.copy_(logits)
    past = past_ids[0].tolist()
    for token in set(past):
        share = max(fade(len(past) - i, sustain_range, decay_range) for i, each in enumerate(past) if each == token)
        value = logits[0, token].item()
        penalised = value / rep_p if value > 0 else value * rep_p
        out[0, token] = value * (1 - share) + penalised * share


def presence_frequency_penalty(logits, out, past_ids, pres_p, freq_p, sustain_range, decay_range):
    out.copy_(logits)
    past = past_ids[0].tolist()
    for token in set(past):
        shares = [fade(len(past) - i, sustain_range, decay_range) for i, each in enumerate(past) if each == token]
        out[0, token] -= sum(shares) * freq_p + max(shares) * pres_p


def fade(distance, sustain_range, decay_range):
    if distance <= sustain_range:
        return 1.0
    return max(1 - (distance - sustain_range) / decay_range, 0.0) if decay_range > 0 else 0.0


def dry_penalty(logits, out, past_ids, breakers, scratch, counters, multiplier, base, allowed, window, *limits):
    out.copy_(logits)
    past = past_ids[0].tolist()[-window if window > 0 else 0:]
    is_breaker = [] if breakers is None else breakers.tolist()
    longest = {}
    for i in range(1, len(past)):
        length = 0
        while length < i and past[i - 1 - length] == past[-1 - length] and not (
                is_breaker and is_breaker[past[-1 - length]]):
            length += 1
        if length >= allowed and not (is_breaker and is_breaker[past[i]]):
            longest[past[i]] = max(longest.get(past[i], 0), length)
    for token, length in longest.items():
        out[0, token] -= multiplier * base ** (length - allowed)


@unittest.skipIf(torch is None, "torch is not installed")
@unittest.skipIf(FOLDER is None, "SAMPLER_EXLLAMAV3 names no exllamav3")
class Exllamav3(support.Expects, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.fspath(support.PROJECT / "tests/tools/peers"))
        import stubs

        stubs.allow_parts_of("exllamav3", FOLDER)
        import exllamav3.generator.sampler as engine

        import libsampler.exllamav3

        cls.module, cls.engine, cls.steps = libsampler.exllamav3, engine, engine.custom
        cls.steps.buffered_arange = lambda count, device: torch.arange(count)
        cls.steps.ext.apply_rep_pens = repetition_penalty
        cls.steps.ext.apply_pres_freq_pens = presence_frequency_penalty
        cls.steps.ext.dry_penalty = dry_penalty

    def setUp(self):
        torch.manual_seed(5)
        self.logits = torch.randn(1, 1, COLUMNS) * 2
        self.past = torch.tensor([PAST])

    def stepwise(self, make):
        """A sampler of single steps; else exllamav3 makes one of them, which runs on GPUs alone."""
        with mock.patch.object(self.steps, "fused_sampler_enable", False):
            return make()

    def of_engine(self, make, **arguments):
        """The distribution before exllamav3's last step, which draws."""
        sampler = self.stepwise(make)
        sampler.steps = sampler.steps[:-1]
        state = sampler.forward(self.logits.clone(), self.past, 0, return_state=True, **arguments)
        probs = state.probs
        if probs is None or state.state in (self.steps.SS.LOGITS, self.steps.SS.LOGITS_S):
            probs = torch.softmax((state.in_logits if state.logits is None else state.logits).float(), dim=-1)
        probs = probs / probs.sum(-1, keepdim=True)
        return probs if state.indices is None else torch.zeros_like(probs).scatter_(1, state.indices, probs)

    def of_libsampler(self, sampler, **arguments):
        """The distribution that a sampler of libsampler.exllamav3 draws from."""
        found, real = [], operators.call

        def call(name, device, fallback, rows, *, out_token_ids, seed, offset, reports=None, **settings):
            found.append(torch.empty(out_token_ids.numel(), COLUMNS))
            real("filter", device, fallback, rows, output=found[0], **settings)

        with mock.patch.object(operators, "call", call):
            sampler.forward(self.logits.clone(), self.past, 0, **arguments)
        return found[0]

    def expect_same(self, make, message=None, **arguments):
        expected = self.of_engine(make, **arguments)
        for converted in (self.module.Sampler(make()), self.module.Sampler(self.stepwise(make))):
            found = self.of_libsampler(converted, **arguments)
            self.assertEqual((found > 0).tolist(), (expected > 0).tolist(), message)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        return expected

    def test_keeps_what_exllamav3_keeps(self):
        engine = self.engine
        for make in (
            engine.DefaultSampler, lambda: engine.CategoricalSampler(0.6), lambda: engine.TopKSampler(7, 1.4),
            lambda: engine.TopPSampler(0.7, 0.6), lambda: engine.TopPSampler(0.7, 0.6, temperature_last=True),
            lambda: engine.CustomSampler([engine.SS_TopK(9), engine.SS_MinP(0.1), engine.SS_Temperature(2.0),
                                          engine.SS_TopP(0.8), engine.SS_Sample()]),
            lambda: engine.CustomSampler([engine.SS_BanTokens([3, 4, 500]), engine.SS_TopK(40), engine.SS_Sample()]),
        ):
            self.expect_same(make, inspect.getsource(make))

    def test_every_argument_of_the_combo_sampler(self):
        penalties = {"rep_p": 1.3, "freq_p": 0.2, "pres_p": 0.4}
        for arguments in (
            {}, {"temperature": 0.7, "min_p": 0.02, "top_k": 30, "top_p": 0.9},
            {"temperature": 0.7, "min_p": 0.02, "top_k": 30, "top_p": 0.9, "temp_last": True},
            {"temperature": 0.7, "min_p": 0.1}, {"temperature": 1.5, "min_p": 0.1, "temp_last": True},
            penalties, {**penalties, "rep_sustain_range": 4},
            {**penalties, "rep_sustain_range": 3, "rep_decay_range": 6, "top_p": 0.8},
            {**penalties, "rep_sustain_range": 0, "rep_decay_range": 9, "logit_bias": {5: 2.0, 7: -2.0}},
            {"logit_bias": {1: 3.0, 2: -math.inf, 3: math.nan, 4: math.inf, 900: 5.0}, "min_p": 0.05},
            {"dry_multiplier": 0.8, "dry_sequence_breakers": []},
            {"dry_multiplier": 0.8, "dry_base": 1.2, "dry_allowed_length": 0, "dry_sequence_breakers": [6, 21]},
            {"dry_multiplier": 2.0, "dry_range": 8, "dry_sequence_breakers": [70]},
        ):
            plain = self.expect_same(lambda arguments=arguments: self.engine.ComboSampler(**arguments), arguments)
            found = self.of_libsampler(self.module.Sampler(**arguments))
            torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-6)

    def test_default_breakers_are_the_tokenizer_s(self):
        pieces = [chr(i + 32) for i in range(COLUMNS)]
        pieces[7] = "one."
        tokenizer = type("Tokenizer", (), {
            "actual_vocab_size": COLUMNS - 8, "extended_id_to_piece": {},
            "get_id_to_piece_list": lambda self, include_special_tokens: pieces})()
        with_breaker = self.expect_same(lambda: self.engine.ComboSampler(dry_multiplier=3.0), tokenizer=tokenizer)
        self.assertEqual(with_breaker[0, -8:].tolist(), [0.0] * 8)
        plain = self.expect_same(lambda: self.engine.ComboSampler(), tokenizer=tokenizer)
        torch.testing.assert_close(with_breaker, plain)  # token 7, with a full stop, ends every repeat

    def test_masks(self):
        keep = torch.rand(1, 64) < 0.3
        numbers = torch.where(keep, 0.0, -math.inf).half()
        numbers[0, 10] = 1.5
        self.expect_same(self.engine.DefaultSampler, logit_mask=numbers)
        allowed = keep.nonzero()[:, 1].tolist()
        bits = torch.zeros(1, 2, dtype=torch.int64)
        for token in allowed:
            bits[0, token // 32] |= 1 << (token % 32)
        bits = (bits - ((bits >> 31) << 32)).to(torch.int32)
        by_bits = self.of_libsampler(self.module.Sampler(top_p=0.9), logit_mask=bits)
        numbers[0, 10] = 0.0 if 10 in allowed else -math.inf
        expected = self.expect_same(lambda: self.engine.ComboSampler(top_p=0.9), logit_mask=numbers)
        torch.testing.assert_close(by_bits, expected)
        by_list = self.of_libsampler(self.module.Sampler(top_p=0.9), allowed_tokens=allowed)
        torch.testing.assert_close(by_list, expected)
        banned = [token for token in range(COLUMNS) if token not in allowed]
        by_bans = self.of_libsampler(self.module.Sampler(top_p=0.9), blocked_tokens=banned)
        torch.testing.assert_close(by_bans, expected)

    def test_ties_of_top_k_stay_and_greedy_takes_the_first(self):
        self.logits[0, 0, 10:14] = 20.0
        found = self.of_libsampler(self.module.Sampler(top_k=2))
        torch.testing.assert_close(found[0, 10:14], torch.full((4,), 0.25))
        for sampler in (self.engine.GreedySampler(), self.engine.TopKSampler(1), self.engine.TopPSampler(0.0),
                        self.engine.ComboSampler(temperature=0.0), self.engine.ComboSampler(top_k=1)):
            for seed in range(5):
                token = self.module.Sampler(sampler).forward(self.logits.clone(), self.past, seed)
                self.assertEqual(token.tolist(), [[10]])

    def test_draws(self):
        sampler = self.module.Sampler(temperature=0.8, top_k=20, typical_p=0.9, top_n_sigma=2.0)
        tokens = [sampler.forward(self.logits.clone(), None, seed) for seed in range(50)]
        self.assertEqual((tokens[0].shape, tokens[0].dtype), (torch.Size([1, 1]), torch.int64))
        expected = [operators.sample(self.logits[0], seed, 0, temperature=0.8, top_k=20, typical_p=0.9,
                                     top_n_sigma=2.0, stages=[6, 16, 7, 8]).item() for seed in range(50)]
        self.assertEqual([token.item() for token in tokens], expected)
        rows = self.logits.half().expand(3, 1, COLUMNS)
        drawn = sampler.forward(rows, None, 7)
        self.assertEqual(drawn.shape, torch.Size([3, 1]))
        self.assertTrue(torch.equal(drawn, sampler.forward(rows, None, 7)))
        self.assertGreater(len({sampler.forward(self.logits, None, None).item() for _ in range(50)}), 1)
        nothing = torch.full((1, 1, COLUMNS), math.nan)
        self.assertEqual(sampler.forward(nothing, None, 1).item(), 0)
        state = sampler.forward(self.logits, None, 3, return_state=True)
        self.assertIs(state.state, self.steps.SS.DONE)
        self.assertEqual(state.sample.tolist(), tokens[3].view(-1).tolist())

    def test_xtc_draws_as_the_average(self):
        def make():
            return self.engine.CustomSampler([self.engine.SS_XTC(0.6, 0.05), self.engine.SS_Sample()])

        expected, sampler, draws = self.of_engine(make), self.module.Sampler(make()), 4000
        counts = torch.zeros(COLUMNS)
        for seed in range(draws):
            counts[sampler.forward(self.logits, None, seed)] += 1
        deviation = (counts - draws * expected[0]).abs()
        self.assertTrue(bool((deviation <= 4.5 * (draws * expected[0]).sqrt() + 4).all()))

    def test_adaptive_p_moves_as_exllamav3_s(self):
        sampler = self.module.Sampler(min_p=0.02, adaptive_target=0.3, adaptive_decay=0.8)
        engine = self.stepwise(lambda: self.engine.ComboSampler(min_p=0.02, adaptive_target=0.3, adaptive_decay=0.8))
        for seed in range(6):
            self.logits = torch.randn(1, 1, COLUMNS) * 2
            token = sampler.forward(self.logits.clone(), None, seed)

            def choose(probs, logits, seed, target, *numbers, token=int(token)):
                """As if the kernel's noise led to the same token."""
                place = self.logits[0, 0].sort(descending=True).indices.tolist().index(token)
                logits.zero_()[0, place] = 1.0
                self.assertGreater(probs[0, place].item(), 0)

            self.steps.ext.adaptivep_gumbel_noise_f32 = choose
            self.assertEqual(engine.forward(self.logits.clone(), None, seed).item(), token.item())
            weighted_sum, total_weight = sampler.adaptive_values[0, 1:3].tolist()
            self.assertAlmostEqual(weighted_sum, engine.steps[-1].weighted_sum.item(), places=5)
            self.assertAlmostEqual(total_weight, engine.steps[-1].total_weight, places=5)

    def test_adaptive_stages_move_as_in_a_state(self):
        kinds = libsampler.AdaptiveKind
        for options in ({"adaptive_target": 0.2}, {"adaptive_kind": kinds.MIROSTAT_V1, "adaptive_target": 3.0},
                        {"adaptive_kind": kinds.MIROSTAT_V2, "adaptive_rate": 0.5}, {"temperature": 0.0},
                        {"top_p": 0.95, "top_p_decay": 0.7, "top_p_least": 0.3}):
            sampler, by_state = self.module.Sampler(**options), libsampler.Sampler()
            state = libsampler.State(by_state, num_slots=1, max_tokens=20)
            for seed in range(8):
                logits = torch.randn(1, COLUMNS) * 2
                found = sampler.forward(logits[None].clone(), None, seed)
                expected = by_state.sample(
                    logits, params=sampler.params, seed=seed, offset=0, pipeline=libsampler.Pipeline(state=state),
                    reports=libsampler.Reports(out_observations=True))
                self.assertEqual(found.item(), expected.token_ids[0], options)
                state.accept(token_ids=expected.token_ids.view(1, 1), params=sampler.params,
                             observations=expected.reports.observations)
            if sampler.is_adaptive:
                self.assertNotEqual(sampler.adaptive_values.tolist(), sampler.start.tolist())

    def test_is_a_sampler_of_exllamav3(self):
        own = inspect.signature(self.module.Sampler.forward).parameters
        theirs = inspect.signature(self.engine.Sampler.forward).parameters
        self.assertEqual(list(own), [*theirs, "logit_mask"])
        self.assertLessEqual(set(inspect.signature(self.engine.CustomSampler.forward).parameters), set(own))
        self.assertIsInstance(self.module.Sampler(), self.engine.Sampler)
        for arguments, expected in (({}, False), ({"rep_p": 1.1}, True), ({"dry_multiplier": 1}, True),
                                    ({"pres_p": 1.0, "rep_sustain_range": 0, "rep_decay_range": 5}, True),
                                    ({"no_repeat_ngram_size": 3}, True), ({"temperature": 0.5}, False)):
            self.assertEqual(self.module.Sampler(**arguments).reqs_past_ids, expected, arguments)

    def test_what_cannot_be_converted(self):
        engine = self.engine
        for steps, pattern in (
            ([engine.SS_Temperature(2.0), engine.SS_MinP(0.1), engine.SS_Temperature(0.5), engine.SS_Sample()],
             "SS_Temperature stands beside another"),
            ([engine.SS_RepP(1.1, 5), engine.SS_PresFreqP(0.1, 0.1, 6), engine.SS_Sample()],
             "SS_PresFreqP stands beside another"),
            ([engine.SS_TopK(5), engine.SS_BanTokens([1]), engine.SS_Sample()], "stands after the temperature"),
            ([engine.SS_XTC(0.5, 0.1, [3]), engine.SS_Sample()], "SS_XTC has protected tokens"),
            ([type("SS_Own", (engine.SS_Base,), {})(), engine.SS_Sample()], "SS_Own is a step that"),
        ):
            self.expect_like(ValueError, pattern, self.module.Sampler, engine.CustomSampler(steps))
        self.expect_like(TypeError, "unknown", self.module.Sampler, unknown=1)


if __name__ == "__main__":
    unittest.main()
