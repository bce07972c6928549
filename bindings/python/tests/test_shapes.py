"""What dimensions of arrays say: how rows lie, and numbers that follow from them."""

import array
import math
import unittest

import libsampler
from dlpack import Foreign
from libsampler import DraftLayout, InvalidArgument, Params, Pipeline, Reports, RowParams, Rows
from support import Expects, floats, ints, sampler

GREEDY = Params(temperature=0)
COLUMNS = 8


def shaped(values, *shape):
    """The same elements with dimensions."""
    return memoryview(values).cast("B").cast(values.typecode, shape)


def one_hot(*columns, width=COLUMNS):
    """Flat rows, each with its largest value in one column."""
    result = floats(*[0.0] * (width * len(columns)))
    for row, column in enumerate(columns):
        result[row * width + column] = 50.0
    return result


def foreign(values, shape, stride=None):
    """Rows of these elements, `stride` apart."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = (stride or shape[-1]) if i == len(shape) - 2 else strides[i + 1] * shape[i + 1]
    return Foreign(values, shape, strides)


class Case(Expects, unittest.TestCase):
    def setUp(self):
        self.sampler = sampler()
        self.addCleanup(self.sampler.close)


class OfRows(Case):
    def tokens(self, rows):
        return list(self.sampler.argmax(rows))

    def test_the_first_rows_and_columns(self):
        values = one_hot(1, 2, 3)
        for logits in (shaped(values, 3, COLUMNS), shaped(values, 1, 3, COLUMNS), foreign(values, (3, COLUMNS))):
            self.assertEqual(self.tokens(Rows(logits, num_cols=6)), [1, 2, 3])
            self.assertEqual(self.tokens(Rows(logits, num_cols=6, row_stride=COLUMNS)), [1, 2, 3])
            self.assertEqual(self.tokens(Rows(logits, num_cols=3)), [1, 2, 0])
            self.assertEqual(self.tokens(Rows(logits, num_rows=2)), [1, 2])
            self.assertEqual(self.tokens(Rows(logits, num_rows=2, num_cols=3)), [1, 2])
        self.assertEqual(self.tokens(Rows(foreign(values, (3, 6), COLUMNS), num_cols=4)), [1, 2, 3])
        self.assertEqual(self.tokens(Rows(shaped(one_hot(7), 1, COLUMNS), num_cols=7)), [0])
        self.assertEqual(self.tokens(Rows(values, num_rows=3, num_cols=6, row_stride=8)), [1, 2, 3])

    def test_numbers_that_contradict_the_shape(self):
        logits = shaped(one_hot(1, 2, 3), 3, COLUMNS)
        for numbers, rule in (({"num_cols": 9}, "num_cols is 9; it must be at most 8, as many as values has"),
                              ({"num_rows": 6, "num_cols": 4},
                               "num_rows is 6; it must be at most 3, as many as values has"),
                              ({"row_stride": 6, "num_cols": 6},
                               "row_stride is 6; it must be 8, as the rows of values are apart")):
            self.expect(InvalidArgument, f"input.{rule}", self.tokens, Rows(logits, **numbers))
        self.expect_like(InvalidArgument, "^input->num_rows is -1", self.tokens, Rows(logits, num_rows=-1))

    def test_candidates(self):
        values, ids = one_hot(1, 2, 3), ints(*range(100, 124))
        lists, flat = shaped(ids, 3, COLUMNS), Rows(values, num_rows=3, num_cols=COLUMNS)
        first = Rows(shaped(values, 3, COLUMNS), num_cols=6)
        for rows in (flat.replace(candidate_ids=ids), flat.replace(candidate_ids=lists),
                     first.replace(candidate_ids=lists)):
            self.assertEqual(self.tokens_of(rows), [101, 110, 119])
        for rows in (flat.replace(candidate_ids=shaped(ids, 4, 6)), first.replace(candidate_ids=ids),
                     first.replace(candidate_ids=foreign(ids, (3, 6), COLUMNS))):
            self.expect_like(InvalidArgument, "must be laid out like values: 3 of 8", self.tokens_of, rows)

    def tokens_of(self, rows):
        return list(self.sampler.sample(rows, params=GREEDY).token_ids)

    def test_session(self):
        padded, flat = one_hot(3, 4, width=10), {"num_rows": 2, "num_cols": 8, "row_stride": 10}
        for logits, numbers in ((Rows(shaped(padded, 2, 10), num_cols=8), {}), (Rows(padded, **flat), {}),
                                (foreign(padded, (2, 8), 10), {}), (padded, {"logits_row_stride": 10}),
                                (foreign(padded, (2, 8), 10), {"logits_row_stride": 10})):
            with self.session() as session:
                result = session.advance(session.plan().spans, logits, **numbers)
                self.assertEqual([ids[0] for ids in result.token_ids.tolist()], [3, 4])
        with self.session() as session:
            spans = session.plan().spans
            self.expect(InvalidArgument, "logits_row_stride is 9; it must be 8, as the rows of logits are apart",
                        session.advance, spans, shaped(one_hot(3, 4), 2, 8), logits_row_stride=9)
            self.expect(InvalidArgument, "logits has 1 rows of 8 elements; it needs 2 of 8", session.advance, spans,
                        Rows(padded, num_rows=1, num_cols=8))

    def test_bits_in_a_session(self):
        bits = shaped(array.array("H", [0, 0, 0x4000, 0, 0, 0, 0, 0] * 2), 2, 8)
        with self.session(logits_dtype=libsampler.Dtype.BF16) as session:
            spans = session.plan().spans
            self.expect(InvalidArgument, "logits is float16; logits_dtype of the session is 2", session.advance,
                        spans, Rows(bits, dtype=libsampler.Dtype.F16))
            result = session.advance(spans, Rows(bits, dtype=libsampler.Dtype.BF16))
            self.assertEqual([ids[0] for ids in result.token_ids.tolist()], [2, 2])

    def session(self, **options):
        session = libsampler.Session(self.sampler, max_sequences=2, max_context=9, vocabulary_size=8, **options)
        for _ in range(2):
            session.add(ints(1), params=GREEDY)
        return session


class OfTables(Case):
    def setUp(self):
        super().setUp()
        self.logits = shaped(one_hot(5, 5, width=64), 2, 64)

    def tokens(self, logits=None, params=GREEDY, **pipeline):
        return list(self.sampler.sample(logits or self.logits, params=params, pipeline=Pipeline(**pipeline)).token_ids)

    def test_bitmasks(self):
        masks = array.array("I", [2, 0, 0, 4, 0, 0])  # three words a row, of which the second one ends the row
        self.assertEqual(self.tokens(token_bitmasks=shaped(masks, 2, 3)), [1, 2])
        self.assertEqual(self.tokens(token_bitmasks=shaped(masks, 2, 3), token_bitmask_stride=3), [1, 2])
        self.assertEqual(self.tokens(token_bitmasks=masks, token_bitmask_stride=3), [1, 2])
        self.assertEqual(self.tokens(token_bitmasks=shaped(masks, 1, 6),
                                     token_bitmask_indices=ints(0, 0)), [1, 1])
        self.expect(InvalidArgument, "pipeline->token_bitmasks has rows of 3 elements; it must have rows of 2",
                    self.tokens, token_bitmasks=shaped(masks, 2, 3), token_bitmask_stride=2)
        self.expect_like(InvalidArgument, "num_token_bitmasks is 1", self.tokens,
                         token_bitmasks=shaped(masks, 1, 6))
        self.expect(InvalidArgument, "pipeline->token_bitmasks has 6 elements; pipeline needs 9", self.tokens,
                    token_bitmasks=shaped(masks, 2, 3), num_token_bitmasks=3)

    def test_dense_biases(self):
        for width in (64, 66, 96, 32):  # ids beyond a shorter row have none
            biases = one_hot(1, 2, width=width)
            biases = floats(*(value * 2 for value in biases))
            self.assertEqual(self.tokens(dense_bias=shaped(biases, 2, width)), [1, 2])
            self.assertEqual(self.tokens(dense_bias=shaped(biases[:width], 1, width)), [1, 1])
        self.expect_like(InvalidArgument, "num_dense_biases is 4", self.tokens,
                         dense_bias=shaped(one_hot(1, 2, 3, 4), 4, 8))
        self.expect_like(InvalidArgument, "dense_bias has 96 elements; it must be rows of 64", self.tokens,
                         dense_bias=floats(*[0.0] * 96))

    def test_guidance(self):
        params = Params(temperature=0, guidance_scale=2)
        padded, guidance = one_hot(1, 2, width=10), one_hot(1, 2, width=10)
        rows = foreign(padded, (2, 8), 10)

        def guided(logits, values, **more):
            return self.tokens(logits, params, guidance_logits=values, **more)

        self.assertEqual(guided(rows, foreign(guidance, (2, 8), 10)), [1, 2])
        self.assertEqual(guided(Rows(shaped(padded, 2, 10), num_cols=8), shaped(guidance, 2, 10)), [1, 2])
        self.assertEqual(guided(rows, shaped(one_hot(1), 1, 8), guidance_row_indices=ints(0, 0)), [1, 2])
        self.expect(InvalidArgument,
                    "pipeline->guidance_logits has rows of 8 elements, 8 apart; they must lie like the call's: 8, "
                    "10 apart", guided, rows, shaped(one_hot(*range(5)), 5, 8))
        self.expect(InvalidArgument, "pipeline->guidance_logits has 20 elements; pipeline needs 30", guided, rows,
                    foreign(guidance, (2, 8), 10), num_guidance_rows=3)

    def test_adaptive_values(self):
        self.expect(InvalidArgument, "pipeline->adaptive_values has rows of 8 elements; it must have rows of 4",
                    self.tokens, adaptive_values=shaped(floats(*[0.0] * 16), 2, 8))

    def test_parameters(self):
        two_columns = shaped(floats(0.0, 1.0, 0.0, 1.0), 2, 2)
        for call in (lambda: self.sampler.sample(self.logits, row_params=RowParams(temperature=two_columns)),
                     lambda: self.sampler.sample(shaped(one_hot(1, 2), 2, 8),
                                                 out_token_ids=shaped(ints(0, 0, 0, 0), 2, 2))):
            self.expect_like(InvalidArgument, "has 4 elements in 2 dimensions; it must have 2$", call)
        column = shaped(floats(0.0, 0.0), 2, 1)
        self.assertEqual(list(self.sampler.sample(self.logits, row_params=RowParams(temperature=column)).token_ids),
                         [5, 5])

    def test_scores(self):
        unmask = libsampler.UnmaskParams(confidence=libsampler.Confidence.MARGIN, num_committed=1)
        scores = floats(-0.5, -1, 0, -0.25, -3, 0)

        def changes(values, **more):
            return list(self.sampler.unmask(ints(1, 2), values, params=unmask, **more).changes)

        for values, more in ((shaped(scores, 2, 3), {}), (shaped(scores, 2, 3), {"score_stride": 3}),
                             (scores, {"score_stride": 3})):
            self.assertEqual(changes(values, **more), [0, 1])
        self.expect(InvalidArgument, "scores has rows of 3 elements; it must have rows of 2", changes,
                    shaped(scores, 2, 3), score_stride=2)


class OfOutputs(Case):
    def test_wider_rows(self):
        logits = shaped(one_hot(1, 2), 2, COLUMNS)
        plain = self.sampler.filter(logits).output
        for width in (8, 9, 12):
            for given in ({}, {"output_stride": width}):
                output = floats(*[7.0] * (2 * width))
                self.sampler.filter(logits, output=shaped(output, 2, width), **given)
                for row in range(2):
                    self.assertEqual(list(output[row * width:row * width + COLUMNS]), plain.tolist()[row])
                    self.assertEqual(list(output[row * width + COLUMNS:(row + 1) * width]), [7.0] * (width - 8))
        self.expect(InvalidArgument, "output_stride is 9; it must be 8, as the rows of output are apart",
                    self.sampler.filter, logits, output=shaped(floats(*[0.0] * 16), 2, 8), output_stride=9)
        self.expect(InvalidArgument, "output has 4 rows of 4 elements; it must have 2 of 8", self.sampler.filter,
                    logits, output=shaped(floats(*[0.0] * 16), 4, 4))
        one = floats(*[7.0] * 10)
        self.sampler.filter(shaped(one_hot(1), 1, 8), output=shaped(one, 1, 10))
        self.assertEqual(list(one[8:]), [7.0] * 2)
        self.sampler.residual(Rows(logits, kind=1), None, draft_token_ids=ints(1, 2),
                              output=shaped(floats(*[7.0] * 24), 2, 12))

    def test_a_stride_for_an_output_that_the_call_makes(self):
        logits = shaped(one_hot(1, 2), 2, COLUMNS)
        output = self.sampler.filter(logits, output_stride=500).output
        self.assertEqual(output.shape, (2, 500))
        self.assertEqual(output.tolist()[1][:COLUMNS], self.sampler.filter(logits).output.tolist()[1])
        self.expect_like(InvalidArgument, "^output_stride is 7", self.sampler.filter, logits, output_stride=7)

    def test_outputs_without_a_stride(self):
        logits, wide = shaped(one_hot(1, 2), 2, COLUMNS), shaped(floats(*[0.0] * 20), 2, 10)
        rule = "has rows of 10 elements; it must have rows of"
        for options in ({}, {"max_rows": 3, "max_cols": 40}):
            with libsampler.Sampler(**options) as s:
                for call in (s.softmax, s.top_p_renorm):
                    self.expect(InvalidArgument, f"output {rule} 8", call, logits, 1.0, wide)
                for call in (s.top_k_renorm, s.top_k_mask):
                    self.expect(InvalidArgument, f"output {rule} 8", call, logits, 1, wide)
                self.expect(InvalidArgument, f"out_values {rule} 3", s.select, logits, 3, out_values=wide)
                self.expect(InvalidArgument, f"out_values {rule} 3", s.top_k_select, logits, 3, wide)
                self.assertEqual(s.softmax(logits, 1.0, shaped(floats(*[0.0] * 24), 3, 8)).tolist()[:2],
                                 s.softmax(logits, 1.0).tolist())

    def test_reports(self):
        logits = shaped(one_hot(1, 2), 2, COLUMNS)

        def report(**members):
            return self.sampler.sample(logits, params=Params(top_k=1), reports=Reports(**members)).reports

        wide = shaped(ints(*[7] * 6), 2, 3)
        self.expect(InvalidArgument, "reports->out_top_token_ids has rows of 3 elements; it must have rows of 2",
                    report, num_top_logprobs=2, out_top_token_ids=wide)
        self.expect(InvalidArgument, "reports->out_removed_by has rows of 10 elements; it must have rows of 8",
                    report, out_removed_by=shaped(array.array("B", bytes(20)), 2, 10))
        masks = shaped(array.array("I", [7] * 6), 2, 3)
        self.assertEqual(report(out_kept_bitmask=masks).kept_bitmask.tolist(), [[2, 0, 0], [4, 0, 0]])
        found = report(out_top_token_ids=wide, out_top_logprobs=True)
        self.assertEqual((found.top_token_ids.tolist()[1][0], found.top_logprobs.shape), (2, (2, 3)))
        kept = report(out_kept_token_ids=shaped(ints(*[7] * 4), 2, 2), out_kept_probabilities=True)
        self.assertEqual(kept.kept_token_ids.tolist(), [[1, -1], [2, -1]])
        self.assertEqual(kept.kept_probabilities.tolist(), [[1, 0], [1, 0]])
        packed = report(out_kept_token_ids=ints(*[7] * 9), out_kept_offsets=True)
        self.assertEqual((list(packed.kept_offsets), list(packed.kept_token_ids[:2])), ([0, 1, 2], [1, 2]))
        for number, output in (("num_top_logprobs", "out_top_logprobs"), ("num_chosen", "out_chosen_logprobs"),
                               ("kept_capacity", "out_kept_token_ids")):
            self.expect(InvalidArgument, f"reports->{number} is not given; reports->{output} needs it", report,
                        **{output: True})
            self.assertEqual(len(getattr(report(**{output: True, number: 0}), output.removeprefix("out_"))), 0)

    def test_chosen_tokens(self):
        logits = shaped(one_hot(*range(3)), 3, COLUMNS)

        def chosen(ids, **more):
            reports = Reports(chosen_token_ids=ids, out_chosen_logprobs=True, **more)
            return self.sampler.sample(logits, reports=reports).reports.chosen_logprobs

        ids = ints(0, 1, 1, 2, 2, 3)
        expected = chosen(ids, num_chosen=2).tolist()
        self.assertEqual(len(expected[0]), 2)
        self.assertEqual(chosen(shaped(ids, 3, 2)).tolist(), expected)
        self.assertEqual(chosen(ids).tolist(), expected)
        self.assertEqual(chosen(ids[:3]).tolist(), chosen(shaped(ids[:3], 3, 1)).tolist())
        self.expect(InvalidArgument, "reports->chosen_token_ids has rows of 3 elements; it must have rows of 2",
                    chosen, shaped(ids, 2, 3), num_chosen=2)
        self.expect(InvalidArgument, "reports->chosen_token_ids has 6 elements; reports needs 9", chosen,
                    shaped(ids, 2, 3))
        self.expect(InvalidArgument, "reports->chosen_token_ids has 4 elements; it must have as many for each of 3 "
                    "rows", chosen, ids[:4])

    def test_states(self):
        with libsampler.State(self.sampler, num_slots=2, max_tokens=8) as state:
            state.append(tokens=libsampler.token_lists([[1, 2], [3]]))
            self.assertEqual(state.read(out_token_ids=shaped(ints(*[7] * 6), 2, 3)).token_ids.tolist(),
                             [[1, 2, -1], [3, -1, -1]])
            self.expect(InvalidArgument, "num_tokens is not given; out_token_ids needs it", state.read,
                        out_token_ids=True)
            self.expect(InvalidArgument, "token_ids has rows of 3 elements; it must have rows of 2", state.accept,
                        token_ids=shaped(ints(*[1] * 6), 2, 3), num_tokens=2)
            self.expect(InvalidArgument, "adaptive_values has rows of 8 elements; it must have rows of 4", state.reset,
                        slots=ints(0), adaptive_values=shaped(floats(*[0.0] * 8), 1, 8))


class OfDrafts(Case):
    def setUp(self):
        super().setUp()
        self.values = one_hot(1, 2, 3, 4, 5, 6)
        self.drafts = ints(1, 2, 4, 0)
        self.expected = [[1, 2, 3], [4, 5, -1]]

    def verify(self, target, drafts, draft=None, **more):
        return self.sampler.verify(target, draft, drafts, params=GREEDY, **more).token_ids.tolist()

    def test_number_of_drafts(self):
        cube, flat = shaped(self.values, 2, 3, COLUMNS), shaped(self.values, 6, COLUMNS)
        for target in (cube, flat, Rows(self.values, num_rows=6, num_cols=COLUMNS)):
            for drafts in (self.drafts, shaped(self.drafts, 2, 2)):
                self.assertEqual(self.verify(target, drafts), self.expected)
        indexed = DraftLayout(target_row_indices=ints(*range(6)), num_sequences=2)
        self.assertEqual(self.verify(flat, self.drafts, layout=indexed), self.expected)
        self.assertEqual(len(self.verify(flat, ints(1, 1, 1))), 3)
        for count in (2, 6, 7):
            self.expect(InvalidArgument, f"num_drafts is not given; it does not follow from {count} draft_token_ids "
                        "and 6 rows of target", self.verify, flat, ints(*[1] * count))
        self.expect_like(InvalidArgument, "it does not follow from 4 draft_token_ids", self.verify, flat, self.drafts,
                         layout=DraftLayout(draft_token_stride=2))
        packed = DraftLayout(packing=libsampler.Packing.DRAFTS, packing_offsets=ints(0, 2, 4), num_sequences=2)
        self.expect(InvalidArgument, "num_drafts is not given; packed drafts need it, the most of a sequence",
                    self.verify, flat, self.drafts, layout=packed)
        self.assertEqual(self.verify(flat, self.drafts, layout=packed, num_drafts=2), self.expected)

    def test_bonus_rows_alone(self):
        flat = shaped(one_hot(1, 4), 2, COLUMNS)
        bonus = DraftLayout(bonus_row_indices=ints(1, 0, 1), num_sequences=3)
        self.assertEqual(self.verify(flat, None, layout=bonus), [[4], [1], [4]])
        self.expect(InvalidArgument, "out_token_ids has 2 elements; it needs 3", self.verify, flat, None, layout=bonus,
                    out_token_ids=ints(0, 0))

    def test_wider_drafts(self):
        cube = shaped(self.values, 2, 3, COLUMNS)
        wide = shaped(ints(1, 2, 9, 4, 0, 9), 2, 3)
        self.assertEqual(self.verify(cube, wide, num_drafts=2), self.expected)
        self.assertEqual(self.verify(cube, wide, num_drafts=2, layout=DraftLayout(draft_token_stride=3)), self.expected)
        self.expect(InvalidArgument, "draft_token_ids has rows of 3 elements; it must have rows of 2", self.verify, cube,
                    wide, num_drafts=2, layout=DraftLayout(draft_token_stride=2))
        self.expect(InvalidArgument, "draft_token_ids has rows of 1 elements; it must have rows of 2", self.verify, cube,
                    shaped(self.drafts, 4, 1), num_drafts=2)
        self.expect(InvalidArgument, "draft_token_ids has rows of 3 elements; it must have rows of 2",
                    self.sampler.chain_speculative, cube, None, wide, 2, 0, 0)

    def test_rows_of_other_sequences(self):
        for call in (lambda target, draft: self.verify(target, shaped(ints(1, 4, 5), 3, 1), draft),
                     lambda target, draft: self.sampler.chain_speculative(target, draft, ints(1, 4, 5), 1, 0, 0)):
            self.expect(InvalidArgument, "target has 3 rows for each sequence; it must have 2, by num_drafts", call,
                        shaped(self.values, 2, 3, COLUMNS), None)
            self.expect(InvalidArgument, "draft has 3 rows for each sequence; it must have 1, by num_drafts", call,
                        shaped(self.values, 3, 2, COLUMNS), shaped(one_hot(1, 4, 5), 1, 3, COLUMNS))

    def test_layout(self):
        cube, drafts = shaped(self.values, 2, 3, COLUMNS), shaped(self.drafts, 2, 2)
        self.assertEqual(self.verify(cube, drafts, layout=DraftLayout(parents=shaped(ints(-1, 0, -1, 0), 2, 2))),
                         self.expected)
        for name, width, needed in (("parents", 3, 2), ("first_children", 2, 3), ("next_siblings", 4, 3),
                                    ("target_row_indices", 2, 3), ("draft_row_indices", 3, 2)):
            layout = DraftLayout(num_sequences=2, **{name: shaped(ints(*[0] * (6 * width)), 6, width)})
            self.expect(InvalidArgument,
                        f"layout->{name} has rows of {width} elements; it must have rows of {needed}", self.verify,
                        cube, drafts, shaped(self.values[:32], 2, 2, COLUMNS), layout=layout)
        wide = {"forced_token_ids": "i", "kv_indices": "q", "out_token_ids": "i", "out_positions": "i"}
        for name, letter in wide.items():
            self.expect(InvalidArgument, f"{name} has rows of 4 elements; it must have rows of 3", self.verify, cube,
                        drafts, **{name: shaped(array.array(letter, [0] * 8), 2, 4)})

    def test_strides_of_sequences(self):
        cube = shaped(self.values, 2, 3, COLUMNS)
        self.expect(InvalidArgument, "target.values has 48 elements; target needs 1000024", self.verify, cube,
                    self.drafts, layout=DraftLayout(target_sequence_stride=1000000))
        wide = shaped(one_hot(1, 2, 3, 0, 4, 5, 6, 0), 8, COLUMNS)
        self.assertEqual(self.verify(Rows(wide, num_rows=6), shaped(self.drafts, 2, 2),
                                     layout=DraftLayout(target_sequence_stride=32)), self.expected)


class OfSlots(Case):
    """num_slots follows from what has an element for each slot."""

    def test_sample(self):
        logits, slots = shaped(floats(*[math.sin(i) for i in range(3 * COLUMNS)]), 3, COLUMNS), ints(3, 1, 0)
        seeds, temperatures = array.array("Q", [5, 6, 7, 8]), floats(1.0, 2.0, 0.5, 0.0)
        calls = [{"seeds": seeds}, {"offsets": seeds}, {"streams": array.array("I", seeds)},
                 {"row_params": RowParams(temperature=temperatures)},
                 {"row_params": RowParams(temperature=temperatures), "seeds": seeds[:1]},
                 {"pipeline": Pipeline(banned=libsampler.token_lists([[1], [2], [3], [4]]))},
                 {"pipeline": Pipeline(banned=(array.array("q", range(5)), ints(1, 2, 3, 4)))},
                 {"pipeline": Pipeline(dense_bias=shaped(one_hot(*range(4)), 4, COLUMNS))},
                 {"pipeline": Pipeline(adaptive_values=floats(*[0.0] * 16)), "params": Params()}]
        with libsampler.State(self.sampler, num_slots=4, max_tokens=4) as state:
            for arguments in [*calls, {"pipeline": Pipeline(state=state)}]:
                found, want = (self.sampler.sample(logits, slots=slots, out_row_status=True, **arguments, **more)
                               for more in ({}, {"num_slots": 4}))
                self.assertEqual(list(found.row_status), [0, 0, 0], arguments)
                self.assertEqual(found.token_ids, want.token_ids)
        for arguments in ({}, {"seeds": seeds[:1]}, {"params": GREEDY},
                          {"pipeline": Pipeline(dense_bias=shaped(one_hot(1), 1, COLUMNS))}):
            self.expect(InvalidArgument, "num_slots is not given; slots needs it, where no array by slot has it",
                        self.sampler.sample, logits, slots=slots, **arguments)
        self.expect_like(InvalidArgument, "num_seeds is 4; it must be .* 3", self.sampler.sample, logits,
                         slots=slots, seeds=seeds, row_params=RowParams(temperature=temperatures[:3]))
        self.assertEqual(len(self.sampler.sample(Rows(floats(), num_rows=0, num_cols=4), slots=ints()).token_ids), 0)
        self.assertGreater(self.sampler.sample_workspace_size(logits, slots=slots, seeds=seeds), 0)

    def test_other_calls(self):
        logits, slots, seeds = shaped(one_hot(1, 2), 2, COLUMNS), ints(1, 0), array.array("Q", [5, 6])
        temperatures = RowParams(temperature=floats(0.0, 0.0))
        scored = self.sampler.score(logits, ints(1, 2), slots=slots, seeds=seeds, out_row_status=True)
        filtered = self.sampler.filter(logits, slots=slots, row_params=temperatures, out_row_status=True)
        verified = self.sampler.verify(logits, None, None, slots=slots, row_params=temperatures, out_row_status=True)
        for result in (scored, filtered, verified):
            self.assertEqual(list(result.row_status), [0, 0])
        random = libsampler.UnmaskParams(confidence=libsampler.Confidence.RANDOM, num_committed=1)
        found = self.sampler.unmask(ints(1, 2), slots=slots, seeds=seeds, params=random)
        self.assertEqual(sum(found.changes), 1)
        self.expect_like(InvalidArgument, "^num_slots is not given", self.sampler.unmask, ints(1, 2), slots=slots,
                         params=random)


class OfNothing(Case):
    """Calls without rows break the same rules."""

    def test_outputs_that_are_not_wanted(self):
        for rows in (Rows(floats(), num_rows=0, num_cols=4), Foreign(floats(), (0, 4)), shaped(one_hot(1), 1, 8)):
            for options in ({}, {"max_rows": 3, "max_cols": 40}):
                with libsampler.Sampler(**options) as s:
                    draws = {"argmax": 0, "categorical": 3, "top_k": 4, "top_p": 4, "min_p": 4, "top_k_top_p": 5}
                    for name, count in draws.items():
                        self.expect(InvalidArgument, "out_token_ids is False; it must be an array, or True for one "
                                    "that the call makes", getattr(s, name), rows, *[1] * count, False)
                    for name in ("softmax", "top_k_renorm", "top_p_renorm", "top_k_mask"):
                        self.expect(InvalidArgument, "output is False; it must be an array, or True for one that the "
                                    "call makes", getattr(s, name), rows, 1, False)

    def test_no_call_returns_without_an_exception(self):
        odd = [None, False, True, 5, "x", object(), floats(), ints(), floats(1.0), shaped(ints(1, 2), 1, 2)]
        empty = Rows(floats(), num_rows=0, num_cols=4)
        names = {"argmax": 0, "categorical": 3, "top_k": 4, "top_p": 4, "min_p": 4, "top_k_top_p": 5, "softmax": 1,
                 "top_k_renorm": 1, "top_p_renorm": 1, "top_k_mask": 1, "top_k_select": 1}
        for name, count in names.items():
            for value in odd:
                for position in range(count + 2):
                    arguments = [1] * count + [None]
                    arguments[min(position, count)] = value
                    try:
                        getattr(self.sampler, name)(empty, *arguments)
                    except (TypeError, ValueError):
                        pass


class OfTexts(Case):
    def test_one_dimension(self):
        pairs = shaped(ints(1, 2, 3, 4), 2, 2)
        with libsampler.NgramStorage(vocabulary_size=9) as storage:
            self.expect(InvalidArgument, "context has 2 dimensions; it must have one", storage.propose, pairs, 1)
            storage.propose(shaped(ints(1, 2), 1, 2), 1)
        with libsampler.Session(self.sampler, max_sequences=1, max_context=9, vocabulary_size=9) as session:
            self.expect(InvalidArgument, "token_ids has 2 dimensions; it must have one", session.add, pairs)
            session.add(shaped(ints(1, 2), 1, 2))
        self.expect(InvalidArgument, "context has 2 dimensions; it must have one", libsampler.watermark_random, 1,
                    pairs)


if __name__ == "__main__":
    unittest.main()
