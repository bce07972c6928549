"""Arrays of other packages, by DLPack."""

import array
import sys
import unittest

import dlpack
import libsampler
from dlpack import CUDA, Foreign
from libsampler import InvalidArgument, Params, Pipeline, Reports, Rows, TokenLists
from support import Expects, floats, ints, sampler

LOGITS = floats(2.0, 2.5, 1.5, -1.0, 0.0, 0.0, 1.0, 9.0)


class OnTheCpu(Expects, unittest.TestCase):
    def setUp(self):
        self.sampler = sampler()
        self.addCleanup(self.sampler.close)

    def test_versions(self):
        for version in (0, 1):
            tokens = Foreign(ints(0, 0), version=version)
            found = self.sampler.argmax(Foreign(LOGITS, (2, 4), version=version), tokens)
            self.assertIs(found, tokens)
            self.assertEqual(list(tokens.elements), [1, 3])
            self.assertEqual(tokens.streams, [None])
        self.expect_like(TypeError, "^input.values gives a capsule of DLPack that is not of version 1",
                         self.sampler.argmax, Foreign(LOGITS, version=2))

    def test_exchange_api(self):
        class_ = dlpack.exchanging_class()
        tokens = class_(ints(0, 0))
        self.sampler.argmax(class_(LOGITS, (2, 4)), tokens)
        self.assertEqual(list(tokens.elements), [1, 3])
        self.assertEqual(len(class_.calls_of_c), 2)
        references = sys.getrefcount(tokens)
        for _ in range(5):
            self.sampler.argmax(class_(LOGITS, (2, 4)), tokens)
        class_.calls_of_c.clear()
        self.assertEqual(sys.getrefcount(tokens), references - 1)

    def test_strides_and_offsets(self):
        tokens = ints(0, 0)
        self.sampler.argmax(Foreign(LOGITS, (2, 3), (4, 1)), tokens)
        self.assertEqual(list(tokens), [1, 2])
        self.sampler.argmax(Foreign(LOGITS, (1, 4), byte_offset=16), tokens)
        self.assertEqual(tokens[0], 3)
        self.sampler.argmax(Foreign(LOGITS, (2, 1, 4)), tokens)
        self.assertEqual(list(tokens), [1, 3])
        self.expect_like(InvalidArgument, "columns that are 4 elements apart", self.sampler.argmax,
                         Foreign(LOGITS, (4, 2), (1, 4)), ints(0, 0, 0, 0))
        self.expect_like(InvalidArgument, "rows that are 0 elements apart", self.sampler.argmax,
                         Foreign(LOGITS, (2, 4), (0, 1)), tokens)
        self.expect_like(InvalidArgument, "rows at different distances", self.sampler.argmax,
                         Foreign(LOGITS, (2, 2, 1), (3, 2, 1)), ints(0, 0, 0, 0))
        self.expect_like(InvalidArgument, "has 9 dimensions", self.sampler.argmax,
                         Foreign(LOGITS, (1,) * 9), tokens)
        self.expect_like(InvalidArgument, "^random.seeds has 9 dimensions", self.sampler.sample, LOGITS,
                         slots=ints(0), offsets=array.array("q", [0, 0]), seeds=Foreign(ints(0), (1,) * 9))
        self.expect_like(InvalidArgument, "^input->num_cols is 0", self.sampler.argmax,
                         _scalar(), tokens)

    def test_strided_outputs(self):
        output = array.array("f", [7.0] * 8)
        self.sampler.filter(Foreign(LOGITS, (2, 4)), output_kind=1,
                            output=Foreign(array.array("f", [7.0] * 12), (2, 4), (6, 1)))
        view = Foreign(output, (2, 3), (4, 1))
        self.sampler.filter(Foreign(LOGITS, (2, 3), (4, 1)), output=view, output_kind=1)
        self.assertEqual(list(output), [2.0, 2.5, 1.5, 7.0, 0.0, 0.0, 1.0, 7.0])
        self.expect_like(InvalidArgument, "^output has 2 rows of 2 elements; it must have 2 of 4",
                         self.sampler.filter, Foreign(LOGITS, (2, 4)),
                         output=Foreign(output, (2, 2), (4, 1)))

    def test_rules(self):
        self.expect(InvalidArgument, "out_token_ids is read-only; it must be writable",
                    self.sampler.argmax, LOGITS, Foreign(ints(0), flags=1))
        self.expect(InvalidArgument, "input.values is on cuda:1; it must be on cpu, as the sampler is",
                    self.sampler.argmax, Foreign(LOGITS, device=(CUDA, 1)), ints(0))
        self.expect_like(InvalidArgument, "^input.values is on device 8:0 of DLPack",
                         self.sampler.argmax, Foreign(LOGITS, device=(8, 0)), ints(0))
        self.expect_like(InvalidArgument, "^input.values is of another type", self.sampler.argmax,
                         Foreign(LOGITS, dtype=(6, 8)), ints(0))
        self.assertEqual(self.sampler.argmax(Foreign(array.array("I", [0x40003F80]), (2,),
                                                     dtype=(4, 16)))[0], 1)

    def test_no_memory(self):
        logits, tokens = Foreign(LOGITS, (2, 4)), Foreign(ints(0, 0))
        size = self.sampler.sample_workspace_size(logits)
        for value in (logits, tokens):
            value._managed.tensor.data = None
        self.expect(InvalidArgument, "input.values has 8 elements, but no memory", self.sampler.argmax, logits)
        self.expect(InvalidArgument, "out_token_ids has 2 elements, but no memory", self.sampler.argmax,
                    Foreign(LOGITS, (2, 4)), tokens)
        lookup = libsampler.PromptLookup(vocabulary_size=5, max_tokens=4)
        self.expect_like(InvalidArgument, "but no memory$", lookup.initialize, tokens)
        self.assertEqual(self.sampler.sample_workspace_size(logits), size)

    def test_arrays_that_take_others_away(self):
        class Taking(Foreign):
            def __dlpack__(self, **keywords):
                self.take()
                return super().__dlpack__(**keywords)

        for _ in range(20):
            rows = Rows(Taking(LOGITS, (2, 4)))
            rows.values.take = lambda: setattr(rows, "values", None)
            self.assertEqual(list(self.sampler.sample(rows, params=Params(top_k=1)).token_ids), [1, 3])
            pipeline = Pipeline(banned=TokenLists(Taking(array.array("q", [0, 1])), ints(1)))
            pipeline.banned.offsets.take = lambda: setattr(pipeline, "banned", None)
            found = self.sampler.sample(Foreign(LOGITS, (2, 4)), params=Params(top_k=1), pipeline=pipeline)
            self.assertEqual(list(found.token_ids), [0, 3])

    def test_errors_of_the_package_come_through(self):
        class Broken(Foreign):
            def __dlpack__(self, **_):
                raise RuntimeError("no capsule today")

        self.expect(RuntimeError, "no capsule today", self.sampler.argmax, Broken(LOGITS))

    def test_devices_that_are_none(self):
        logits = Foreign(LOGITS)
        for device in (5, None, [1, 0]):
            logits.device = device
            self.expect(TypeError, f"input.values.__dlpack_device__() is {device}; it must be (type, id)",
                        self.sampler.argmax, logits)
        for device in ((1,), ("cpu", 0)):
            logits.device = device
            with self.assertRaises(TypeError):
                self.sampler.argmax(logits)

        class Half:
            __dlpack__ = logits.__dlpack__

        self.expect(TypeError, "input.values has __dlpack__, but no __dlpack_device__", self.sampler.argmax, Half())


def _scalar():
    import ctypes
    return ctypes.c_float(1.0)


class OtherPackages(unittest.TestCase):
    """Skipped where they are not installed; nothing else needs them."""

    def of(self, name):
        try:
            return __import__(name)
        except ImportError:
            self.skipTest(f"there is no {name}")

    def test_numpy(self):
        numpy = self.of("numpy")
        values = numpy.array([[2, 2.5, 1.5], [4, 0, 1]], numpy.float32)
        with sampler() as s:
            found = s.argmax(values)
            self.assertEqual((type(found), found.dtype.name, found.tolist()),
                             (numpy.ndarray, "int32", [1, 0]))
            self.assertEqual(s.argmax(values.astype(numpy.float16)).tolist(), [1, 0])
            self.assertEqual(s.argmax(values[:, :2]).tolist(), [1, 0])
            self.assertEqual(s.softmax(values, 1.0).shape, (2, 3))
            result = s.sample(values, reports=Reports(num_top_logprobs=2, out_top_logprobs=True))
            self.assertEqual(result.reports.top_logprobs.shape, (2, 2))
            self.assertEqual(s.top_k(values, numpy.int64(1), numpy.float32(1), 0, 0).tolist(), [1, 0])
            with self.assertRaises(InvalidArgument):
                s.argmax(values.T)
            with self.assertRaises(InvalidArgument):
                s.argmax(values.astype(">f4"))

    def test_numpy_elements_without_bytes(self):
        numpy = self.of("numpy")
        with sampler() as s, self.assertRaisesRegex(InvalidArgument, "^input.values is of another type"):
            s.argmax(numpy.zeros(3, numpy.dtype([])))

    def test_bfloat16_of_numpy(self):
        numpy, bfloat16 = self.of("numpy"), self.of("ml_dtypes").bfloat16
        values = numpy.array([[2, 2.5, 1.5], [4, 0, 1]], bfloat16)
        output = numpy.zeros((2, 3), bfloat16)
        with sampler() as s:
            for rows in (values, numpy.tile(values, 2)[:, :3]):
                self.assertEqual(s.argmax(rows).tolist(), [1, 0])
            s.filter(values, params=libsampler.Params(top_k=1), output=output, output_kind=1)
            self.assertEqual(output.max(axis=1).tolist(), [2.5, 4])
            with self.assertRaisesRegex(InvalidArgument, "^output is read-only"):
                output.flags.writeable = False
                s.filter(values, output=output)
            with self.assertRaisesRegex(InvalidArgument, "^out_token_ids is bfloat16; it must be int32"):
                s.argmax(values, numpy.zeros(2, bfloat16))

    def test_torch(self):
        torch = self.of("torch")
        values = torch.tensor([[2, 2.5, 1.5], [4, 0, 1]])
        with sampler() as s:
            for dtype in (torch.float32, torch.float16, torch.bfloat16):
                found = s.argmax(values.to(dtype))
                self.assertEqual((found.dtype, found.tolist()), (torch.int32, [1, 0]))
            tokens = torch.zeros(2, dtype=torch.int64)
            s.sample(values, params=libsampler.Params(temperature=0), out_token_ids=tokens)
            self.assertEqual(tokens.tolist(), [1, 0])
            output = s.filter(values.bfloat16(), output_dtype=libsampler.Dtype.BF16).output
            self.assertEqual(output.dtype, torch.bfloat16)
            seeds = torch.tensor([3, 4], dtype=torch.int64)
            s.sample(values, seeds=seeds, out_row_status=torch.zeros(2, dtype=torch.int32))


if __name__ == "__main__":
    unittest.main()
