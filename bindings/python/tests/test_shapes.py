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
