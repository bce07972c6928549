"""What dimensions of arrays say: how rows lie, and numbers that follow from them."""

import unittest

import libsampler
from dlpack import Foreign
from libsampler import InvalidArgument, Params, Rows
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

    def session(self):
        session = libsampler.Session(self.sampler, max_sequences=2, max_context=9, vocabulary_size=8)
        for _ in range(2):
            session.add(ints(1), params=GREEDY)
        return session


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


if __name__ == "__main__":
    unittest.main()
