"""What the tests share. They need nothing but Python and the package on PYTHONPATH."""

import array
import pathlib
import struct

import libsampler

PROJECT = pathlib.Path(__file__).resolve().parents[3]

# Types of tests/vectors -> array.array's letter, and that of the same bits as integers.
LETTERS = {"f32": ("f", "I"), "f16": ("H", "H"), "bf16": ("H", "H"), "i32": ("i", "i"),
           "i64": ("q", "q"), "u32": ("I", "I"), "u64": ("Q", "Q"), "u8": ("B", "B")}


def floats(*values):
    return array.array("f", values)


def ints(*values):
    return array.array("i", values)


def of_bits(type_name, data):
    """An array of these elements' bits."""
    letter, bits = LETTERS[type_name]
    result = array.array(letter)
    result.frombytes(array.array(bits, [int(value) for value in data]).tobytes())
    return result


def f32_of_bits(bits):
    return struct.unpack("f", struct.pack("I", bits))[0]


def bytes_of(value):
    return memoryview(value).tobytes()


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


class Expects:
    """For unittest.TestCase: an exception and its whole text."""

    def expect(self, error, text, call, *arguments, **keywords):
        with self.assertRaises(error) as raised:
            call(*arguments, **keywords)
        self.assertEqual(str(raised.exception), text)

    def expect_like(self, error, pattern, call, *arguments, **keywords):
        with self.assertRaisesRegex(error, pattern):
            call(*arguments, **keywords)


class Draws:
    """For unittest.TestCase: what `operators`, a module, draws from `logits`, and what `library`, a sampler,
    does, each with `seeds` and `offsets`."""

    def drawn(self, input=None, **options):
        return self.operators.sample(self.logits if input is None else input, self.seeds, self.offsets,
                                     **options).tolist()

    def of_library(self, rows=None, row_params=None, pipeline=None, **params):
        return self.library.sample(
            self.logits if rows is None else rows, params=libsampler.Params(**params), row_params=row_params,
            pipeline=pipeline, seeds=self.seeds, offsets=self.offsets).token_ids.tolist()


def sampler(**options):
    return libsampler.Sampler(**{"max_rows": 16, "max_cols": 1500, **options})
