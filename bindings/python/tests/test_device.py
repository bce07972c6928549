"""CUDA samplers, on a device that reaches the memory of its program: Python's own arrays stand for
device memory there, by DLPack."""

import array
import os
import unittest

import dlpack
import libsampler
import vectors
import xla
from dlpack import CUDA, Foreign
from libsampler import InvalidArgument, Params, RowParams, _core
from support import Expects, bytes_of, floats, ints
from vectors import Case

LOGITS = floats(2.0, 2.5, 1.5, -1.0, 0.0)
TYPES = {"f16": (2, 16), "bf16": (4, 16)}
HOST_ALWAYS = {"acceptance.synthetic_rates", "params.stages", "draft_params.stages"}


def on_device(elements, **more):
    return Foreign(elements, device=(CUDA, 0), **more)


def move(case):
    """Leaves device memory in place of the arrays of a case."""
    recorded = {**case.recorded.get("inputs", {}), **case.recorded.get("outputs", {})}
    for path, value in case.paths.items():
        if isinstance(value, array.array) and path not in HOST_ALWAYS:
            dtype = TYPES.get(recorded[path]["type"])
            case.replace(path, on_device(value, dtype=dtype))


def setUpModule():
    if not os.environ.get("SAMPLER_TEST_DEVICE_REACHES_HOST"):
        raise unittest.SkipTest("the library has no such device")


class OnDevice(Expects, unittest.TestCase):
    def sampler(self, **options):
        s = libsampler.Sampler("cuda:0", **{"max_rows": 16, "max_cols": 1500, **options})
        self.addCleanup(s.close)
        return s

    def check(self, case, call, **more):
        recorded = case.recorded
        if recorded["status"]:
            with self.assertRaises(libsampler.Error) as raised:
                call(**case.keywords(), **more)
            self.assertEqual(str(raised.exception), recorded["error"])
        else:
            call(**case.keywords(), **more)
        for path, output in case.outputs.items():
            self.assertEqual(bytes_of(output), case.expected(path), path)

    def test_vectors(self):
        for operation in vectors.OPERATIONS:
            for recorded in vectors.cases(operation):
                with self.subTest(f"{operation}: {recorded['name']}"):
                    case = Case(recorded, operation)
                    move(case)
                    options = recorded.get("options", {})
                    fallback = options.get("fallback_token_id", 0) \
                        if options.get("use_fallback_token") else None
                    with libsampler.Sampler("cuda", max_rows=16, max_cols=1500,
                                            fallback_token_id=fallback) as s:
                        more = {}
                        if "workspace" in recorded and not recorded["status"]:
                            size = getattr(s, f"{operation}_workspace_size")(**case.keywords())
                            more["workspace"] = on_device(array.array("B", bytes(size)))
                        self.check(case, getattr(s, operation), **more)

    def test_workspace(self):
        s, num_small = self.sampler(max_rows=0, max_cols=0), 0
        for recorded in vectors.cases("sample"):
            if recorded["status"] or "options" in recorded:
                continue
            case = Case(recorded, "sample")
            move(case)
            size = s.sample_workspace_size(**case.keywords())
            if size == 0:
                continue
            with self.assertRaises(libsampler.WorkspaceTooSmall):
                s.sample(**case.keywords())
            num_small += 1
            self.check(case, s.sample, workspace=on_device(array.array("B", bytes(size))))
        self.assertGreater(num_small, 10)
        self.assertEqual(s.kept_workspace_bytes, 0)

    def test_places(self):
        s = self.sampler()
        logits, tokens = on_device(LOGITS), on_device(ints(0))
        self.assertIs(s.argmax(logits, tokens), tokens)
        self.assertEqual(tokens.elements[0], 1)
        self.expect(InvalidArgument,
                    "input.values is on cpu; it must be on cuda:0, the sampler's device", s.argmax,
                    LOGITS, tokens)
        self.expect(InvalidArgument,
                    "input.values is on cuda:1; it must be on cuda:0, the sampler's device",
                    s.argmax, Foreign(LOGITS, device=(CUDA, 1)), tokens)
        self.expect(InvalidArgument,
                    "out_token_ids is on cpu; it must be on cuda:0, the sampler's device", s.argmax,
                    logits, ints(0))
        self.expect(InvalidArgument, "exec.workspace is on cpu; it must be on cuda:0, the sampler's "
                    "device", s.sample, logits, out_token_ids=tokens, workspace=bytearray(64))
        self.expect_like(TypeError, "out_token_ids is not given; it must be, an array on cuda:0",
                         s.argmax, logits)
        managed = Foreign(ints(0), device=(13, 0))
        s.argmax(logits, managed)
        self.assertEqual(managed.elements[0], 1)

    def test_host_parameters(self):
        logits, tokens = on_device(LOGITS), on_device(ints(0))
        for host in (True, False):
            s = self.sampler(host_parameters=host)
            top_k = ints(1) if host else on_device(ints(1))
            s.sample(logits, row_params=RowParams(top_k=top_k), out_token_ids=tokens)
            self.assertEqual(tokens.elements[0], 1)
            wrong = on_device(ints(1)) if host else ints(1)
            self.expect_like(InvalidArgument, "^row_params->top_k is on c", s.sample, logits,
                             row_params=RowParams(top_k=wrong), out_token_ids=tokens)

    def test_streams(self):
        s = self.sampler()
        logits, tokens = on_device(LOGITS), on_device(ints(0))
        s.argmax(logits, tokens)
        s.argmax(logits, tokens, stream=0)
        self.assertEqual(logits.streams, [1, 1])  # the legacy default stream

        class Stream:
            cuda_stream = 0

        s.argmax(logits, tokens, stream=Stream())
        class_ = dlpack.exchanging_class(stream=0)
        exchanged = class_(LOGITS, device=(CUDA, 0))
        s.argmax(exchanged, tokens)
        self.assertEqual(class_.calls_of_c[-1], "stream")
        class_.calls_of_c.clear()
        s.argmax(exchanged, tokens, stream=0)
        self.assertNotIn("stream", class_.calls_of_c)

    def test_states_and_sessions(self):
        s = self.sampler()
        with libsampler.State(s, num_slots=2, max_tokens=8) as state:
            lists = libsampler.TokenLists(on_device(array.array("q", [0, 2, 3])),
                                          on_device(ints(4, 5, 6)))
            lengths = on_device(ints(0, 0))
            state.append(tokens=lists, out_lengths=lengths)
            self.assertEqual(list(lengths.elements), [2, 1])
            self.assertEqual(len(state.serialize()) > 0, True)
        with libsampler.Session(s, max_sequences=1, max_context=8, vocabulary_size=5) as session:
            session.add(ints(1), max_new_tokens=2, params=Params(temperature=0))
            plan = session.plan()
            result = session.advance(plan.spans, on_device(LOGITS, shape=(1, 5)))
            self.assertEqual((result.token_ids[0, 0], result.counts[0]), (1, 1))
            self.expect_like(InvalidArgument, "^logits.values is on cpu", session.advance,
                             session.plan().spans, LOGITS)
            self.expect_like(InvalidArgument, "^guidance_logits.values is on cpu", session.advance,
                             session.plan().spans, on_device(LOGITS), guidance_logits=LOGITS)


class CustomCalls(Expects, unittest.TestCase):
    """Those of XLA. Here a call of a sampler on the CPU is the measure."""

    def setUp(self):
        self.rows = floats(*(((i * 7919) % 1009) / 100 for i in range(6 * 300)))
        self.history = ("i64", (2,), array.array("q", [0, 4])), ("i32", (4,), ints(3, 1, 4, 1))
        self.seeds = ("i64", (1,), array.array("q", [5]))
        params = Params(top_p=0.9, typical_p=0.95, no_repeat_ngram_size=2)
        self.params = _core._xla_numbers(params)

    def run_sample(self, runtime, on_cuda):
        tokens, status = ints(*[7] * 6), ints(*[7] * 6)
        runtime.run(xla.handler("sample", on_cuda), [("f32", (6, 300), self.rows), self.seeds, *self.history],
                    [("i32", (6,), tokens), ("i32", (6,), status)],
                    {"operands": "input seeds history", "params": self.params})
        return tokens, status

    def run_filter(self, runtime, on_cuda):
        output = floats(*[7] * 1800)
        runtime.run(xla.handler("filter", on_cuda), [("f32", (2, 3, 300), self.rows), *self.history],
                    [("f32", (2, 3, 300), output)], {"operands": "input history", "params": self.params})
        return output,

    def run_verify(self, runtime, on_cuda):
        tokens, counts = ints(*[7] * 6), [ints(7, 7), ints(7, 7), ints(7, 7)]
        runtime.run(xla.handler("verify", on_cuda),
                    [("f32", (2, 3, 300), self.rows), self.seeds, ("i32", (2, 2), ints(9, 9, 8, 7)),
                     *self.history],
                    [("i32", (2, 3), tokens), *(("i32", (2,), count) for count in counts)],
                    {"operands": "target seeds draft_token_ids history", "params": self.params})
        return tokens, *counts

    def test_they_are_those_of_the_cpu(self):
        for run in (self.run_sample, self.run_filter, self.run_verify):
            expected = run(xla.Runtime(), False)
            self.assertNotIn(7, expected[-1])
            for device in (0, 1):
                runtime = xla.Runtime(device=device)
                self.assertEqual(run(runtime, True), expected)
                self.assertEqual(len(runtime.allocated), 1)  # the workspace, which was freed again
                self.assertEqual(runtime.tasks, [])

    def test_errors_of_xla_are_passed_on(self):
        for name in ("stream_get", "device_ordinal", "memory_allocate", "memory_free"):
            runtime = xla.Runtime()
            runtime.fails = name
            self.expect(xla.XlaError, f"{name} fails", self.run_sample, runtime, True)

    def test_errors(self):
        self.run_sample(xla.Runtime(), True)
        self.expect_like(xla.XlaError, "device_id is 9", self.run_sample, xla.Runtime(device=9), True)
        self.params = _core._xla_numbers(Params(top_p=float("nan")))
        self.expect(xla.XlaError, "params->top_p is NaN; it must be a number", self.run_sample,
                    xla.Runtime(), True)


if __name__ == "__main__":
    unittest.main()
