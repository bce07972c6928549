"""Arguments that break a rule: errors name the argument, its value and the rule."""

import array
import copy
import ctypes
import math
import pickle
import unittest

import libsampler
from libsampler import InvalidArgument, Params, Rows, State
from support import Expects, floats, ints, sampler

LOGITS = floats(2.0, 2.5, 1.5, -1.0, 0.0)


class Options(Expects, unittest.TestCase):
    def test_sampler(self):
        new = libsampler.Sampler
        self.expect(InvalidArgument, "device is 'gpu'; it must be \"cpu\", \"cuda\" or \"cuda:0\"",
                    new, "gpu")
        for device in ("cuda:", "cuda:x", "cudax", "cuda:99999999999", "", "CPU"):
            self.expect_like(InvalidArgument, "^device is ", new, device)
        self.expect_like(InvalidArgument, "^num_threads is -1", new, threads=-1)
        self.expect_like(InvalidArgument, "^num_threads is 257", new, threads=257)
        self.expect_like(InvalidArgument, "^max_rows is 1 and max_cols 0", new, max_rows=1)
        self.expect_like(InvalidArgument, r"^max_rows is 2147483648", new, max_rows=2**31,
                         max_cols=1)
        self.expect_like(InvalidArgument, r"^max_rows is .*; it must be in \[-2\^63, 2\^63\)$", new,
                         max_rows=2**80)
        self.expect(TypeError, "threads is of type str; it must be an int", new, threads="2")
        self.expect_like(TypeError, "log must be callable", new, log=5)
        self.expect_like(TypeError, "allocator must be", new, allocator=5)
        self.expect_like(TypeError, "parallel_for is of type float", new, parallel_for=1.5)
        with self.assertRaises(TypeError):
            new("cpu", 2)
        nothing = dict.fromkeys(("threads", "max_rows", "max_cols", "parallel_for", "parallel_for_user"))
        self.assertEqual(new(None, **nothing).device, "cpu")
        if not libsampler.capabilities().num_cuda_devices:
            with self.assertRaises(libsampler.Unsupported):
                new("cuda:0")

    def test_log(self):
        lines = []
        with libsampler.Sampler(log=lambda level, line: lines.append((level, line))) as s:
            self.assertEqual(lines[-1][0], libsampler.LogLevel.INFO)
            self.expect_like(InvalidArgument, "temperature", s.top_k, LOGITS, 1, math.nan, 0, 0)
            self.assertEqual(lines[-1][0], libsampler.LogLevel.ERROR)
            self.assertIn("temperature", lines[-1][1])
            count = len(lines)
            s.top_p(LOGITS, 0.5, 1.0, 0, 0)
            self.assertEqual(len(lines), count)  # a workspace that grows is no error

    def test_allocator(self):
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.restype = ctypes.c_void_p
        sizes = []

        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        def allocate(_, size, alignment):
            sizes.append(size)
            return libc.aligned_alloc(ctypes.c_size_t(alignment),
                                      ctypes.c_size_t(-(-size // alignment) * alignment))

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        def deallocate(_, memory, size, __):
            sizes.remove(size)
            libc.free(ctypes.c_void_p(memory))

        addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in (allocate, deallocate)]
        with libsampler.Sampler(allocator=(*addresses, 0)) as s:
            self.assertTrue(sizes)
            self.assertEqual(s.argmax(LOGITS)[0], 1)
        self.assertFalse(sizes)


class Arrays(Expects, unittest.TestCase):
    def setUp(self):
        self.sampler = sampler()
        self.addCleanup(self.sampler.close)

    def test_what_is_no_array(self):
        s = self.sampler
        for value in (5, [1.0, 2.0], "text", object()):
            self.expect_like(TypeError, "^input.values is of type .*; it must be an array", s.argmax,
                             value)
        self.expect_like(TypeError, "argmax.. needs the argument 'input'", s.argmax)
        self.expect_like(InvalidArgument, "^input->num_cols is 0", s.argmax, None)
        self.expect_like(InvalidArgument, "^input.", s.sample, None)

    def test_elements(self):
        s = self.sampler
        for letter, name in {"d": "float64", "i": "int32", "b": "int8", "B": "uint8"}.items():
            self.expect(InvalidArgument,
                        f"input.values is {name}; it must be float32, float16 or bfloat16",
                        s.argmax, array.array(letter, [1, 2]))
        self.expect(InvalidArgument,
                    "input.values is uint16; its dtype must be given: F16 or BF16", s.argmax,
                    array.array("H", [1, 2]))
        self.expect(InvalidArgument, "input.values is float32; it must be float16", s.argmax,
                    Rows(LOGITS, dtype=libsampler.Dtype.F16))
        self.expect(InvalidArgument, "out_token_ids is float32; it must be int32 or int64",
                    s.argmax, LOGITS, floats(0.0))
        self.expect_like(InvalidArgument, "is int32 and out_token_ids is int64; they must be of one",
                         s.argmax, LOGITS, array.array("q", [0]))
        self.expect(InvalidArgument, "slots is int64; it must be int32", s.sample, LOGITS,
                    slots=array.array("q", [0]), num_slots=1)
        self.expect_like(InvalidArgument, "^input.dtype is 7", s.sample, Rows(LOGITS, dtype=7))

    def test_lengths(self):
        s = self.sampler
        self.expect(InvalidArgument, "out_token_ids has 1 elements; it needs 2", s.argmax,
                    memoryview(floats(1, 2, 3, 4)).cast("B").cast("f", (2, 2)), ints(0))
        self.expect(InvalidArgument, "input.values has 5 elements; input needs 10", s.argmax,
                    Rows(LOGITS, num_rows=2, num_cols=5))
        self.expect_like(InvalidArgument, "^input->num_rows is -1", s.argmax,
                         Rows(LOGITS, num_rows=-1, num_cols=5))
        self.expect_like(InvalidArgument, "^input.num_cols is 1048576", s.argmax,
                         Rows(LOGITS, num_rows=1, num_cols=2**20))
        self.expect_like(InvalidArgument, "^input->row_stride is 3", s.argmax,
                         Rows(LOGITS, num_rows=1, num_cols=5, row_stride=3))
        self.expect_like(InvalidArgument, "^num_selected is 6", s.top_k_select, LOGITS, 6)
        self.expect_like(InvalidArgument, "^num_selected is 1099511627776", s.select, LOGITS, 2**40)
        self.expect_like(InvalidArgument, "^num_selected is 0", s.select, LOGITS, 0)

    def test_guidance(self):
        s = self.sampler
        params = Params(temperature=0, guidance_scale=3)

        def sample(guidance, rows=LOGITS):
            return s.sample(rows, params=params, pipeline=libsampler.Pipeline(guidance_logits=guidance))

        self.assertEqual(sample(floats(2.0, 2.5, 0.0, -1.0, 0.0)).token_ids[0], 2)
        self.expect(InvalidArgument, "pipeline->guidance_logits is uint16; it must be float32", sample,
                    array.array("H", [0] * 5))
        self.expect(InvalidArgument,
                    "pipeline->guidance_logits has 9 elements; it must be rows of 5", sample,
                    floats(*range(9)))
        # Values of 16 bits, which Python has as whole numbers.
        halfs = array.array("H", [0x4000, 0x4100, 0x3E00, 0xBC00, 0])
        other = array.array("H", [0x4000, 0x4100, 0, 0xBC00, 0])
        tokens = sample(other, Rows(halfs, num_rows=1, num_cols=5, dtype=libsampler.Dtype.F16))
        self.assertEqual(tokens.token_ids[0], 2)

    def test_strides(self):
        s = self.sampler
        columns = memoryview(floats(*range(10)))[::2]
        self.expect_like(InvalidArgument, "columns that are 2 elements apart", s.argmax, columns)
        self.expect_like(InvalidArgument, "columns that are -1 elements apart", s.argmax,
                         memoryview(LOGITS)[::-1])
        self.expect(InvalidArgument,
                    "out_token_ids has gaps between its elements; it must be contiguous", s.argmax,
                    LOGITS, memoryview(ints(0, 0, 0))[::2])

    def test_arrays_of_ctypes(self):
        s = self.sampler
        rows = (ctypes.c_float * 3 * 2)((1, 3, 2), (5, 4, 0))
        tokens = (ctypes.c_int32 * 2)()
        s.argmax(rows, tokens)
        self.assertEqual(list(tokens), [1, 0])
        self.assertEqual(list(s.argmax(rows[0])), [1])
        self.expect_like(InvalidArgument, "^input.values is float64", s.argmax, (ctypes.c_double * 2)())

    def test_read_only(self):
        s = self.sampler
        tokens = memoryview(bytes(4)).cast("i")
        self.expect(InvalidArgument, "out_token_ids is read-only; it must be writable", s.argmax,
                    LOGITS, tokens)
        self.expect(InvalidArgument, "exec.workspace is read-only; it must be writable", s.sample,
                    LOGITS, workspace=bytes(10))
        self.assertEqual(s.argmax(memoryview(LOGITS.tobytes()).cast("f"))[0], 1)

    def test_objects_of_another_class(self):
        s = self.sampler
        self.expect(TypeError, "params is of type dict; it must be libsampler.Params", s.sample,
                    LOGITS, params={})
        self.expect(TypeError, "row_params is of type Params; it must be libsampler.RowParams",
                    s.sample, LOGITS, row_params=Params())
        self.expect_like(TypeError, "pipeline->state must be a libsampler.State", s.sample, LOGITS,
                         pipeline=libsampler.Pipeline(state=5))
        self.expect_like(TypeError, "pipeline->history is 5; it must be TokenLists", s.sample, LOGITS,
                         pipeline=libsampler.Pipeline(history=5))
        self.expect_like(TypeError, "stream is of type str", s.sample, LOGITS, stream="x")
        self.expect_like(TypeError, "has no argument 'temperature'", s.sample, LOGITS, temperature=1)
        self.expect_like(TypeError, "has the argument 'input' twice", s.sample, LOGITS, input=LOGITS)
        self.expect_like(TypeError, "takes 1 arguments", s.sample, LOGITS, 1)

    def test_numbers(self):
        s = self.sampler
        self.expect_like(InvalidArgument, "^temperature is NaN", s.top_k,
                         LOGITS, 1, math.nan, 0, 0)
        self.expect_like(InvalidArgument, "^params->top_p is NaN", s.sample, LOGITS,
                         params=Params(top_p=math.nan))
        self.expect(InvalidArgument, "seed is -1; it must be in [0, 2^64)", s.top_k, LOGITS, 1, 1.0,
                    -1, 0)
        self.expect(InvalidArgument, "seed is 18446744073709551616; it must be in [0, 2^64)",
                    s.top_k, LOGITS, 1, 1.0, 2**64, 0)
        self.expect(TypeError, "top_k is None; it must be a number", s.top_k, LOGITS, None, 1.0, 0, 0)
        self.expect(TypeError, "top_k is of type float; it must be an int", s.top_k, LOGITS, 1.0,
                    1.0, 0, 0)
        self.assertEqual(s.top_k(LOGITS, -5, 0.0, 2**64 - 1, 2**64 - 1)[0], 1)

    def test_failed_calls_leave_outputs_alone(self):
        tokens = ints(77)
        with self.assertRaises(InvalidArgument):
            self.sampler.sample(LOGITS, params=Params(top_p=math.nan), out_token_ids=tokens)
        self.assertEqual(tokens[0], 77)

    def test_arrays_are_released(self):
        """An array that a call still held could not grow."""
        logits, tokens = floats(*LOGITS), ints(0)
        self.sampler.argmax(logits, tokens)
        with self.assertRaises(InvalidArgument):
            self.sampler.argmax(logits, floats(0.0))
        logits.append(9.0)
        tokens.append(0)


class Closed(Expects, unittest.TestCase):
    def test_sampler(self):
        s = libsampler.Sampler()
        state = State(s, num_slots=1, max_tokens=4)
        session = libsampler.Session(s, max_sequences=1, max_context=4, vocabulary_size=5)
        s.close()
        s.close()
        self.assertTrue(s.closed and state.closed and session.closed)
        self.expect(libsampler.Closed, "sampler is closed", s.argmax, LOGITS)
        self.expect(libsampler.Closed, "sampler is closed", State, s, num_slots=1, max_tokens=4)
        self.expect(libsampler.Closed, "state is closed", state.read)
        self.expect(libsampler.Closed, "session is closed", session.plan)
        state.close()
        session.close()
        self.assertEqual(repr(s), "<Sampler cpu, closed>")

    def test_objects_outlive_their_names(self):
        state = State(libsampler.Sampler(), num_slots=1, max_tokens=4)
        state.append(tokens=libsampler.token_lists([[1, 2]]))
        self.assertEqual(state.read().lengths[0], 2)

    def test_state_of_another_sampler(self):
        with sampler() as one, sampler() as other, State(one, num_slots=1, max_tokens=4) as state:
            pipeline = libsampler.Pipeline(state=state)
            self.expect_like(InvalidArgument, "^pipeline->state is of another sampler", other.sample,
                             LOGITS, pipeline=pipeline)
            state.close()
            self.expect(libsampler.Closed, "pipeline->state is closed", one.sample, LOGITS,
                        pipeline=pipeline)

    def test_copies_are_refused(self):
        with libsampler.Sampler() as s:
            objects = [s, State(s, num_slots=1, max_tokens=4),
                       libsampler.Session(s, max_sequences=1, max_context=4, vocabulary_size=5),
                       libsampler.NgramStorage(vocabulary_size=5),
                       libsampler.PromptLookup(vocabulary_size=5, max_tokens=4)]
            for value in objects:
                self.expect_like(TypeError, "cannot be copied or pickled", pickle.dumps, value)
                self.expect_like(TypeError, "cannot be copied or pickled", copy.copy, value)


if __name__ == "__main__":
    unittest.main()
