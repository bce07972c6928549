"""The custom calls of XLA, by a runtime of the tests' own: jax is not needed."""

import array
import threading
import unittest

import libsampler
import support
import xla
from libsampler import _core
from support import floats, ints

ROWS, COLS = 5, 300
LOGITS = floats(*(((i * 7919) % 1009) / 100 for i in range(ROWS * COLS)))
SEEDS, OFFSETS = array.array("Q", range(100, 100 + ROWS)), array.array("Q", [2**63 + 1])


class Calls(support.Expects, unittest.TestCase):
    def setUp(self):
        self.runtime = xla.Runtime()
        self.library = support.sampler()
        self.tokens, self.status = ints(*[7] * ROWS), ints(*[7] * ROWS)
        self.arguments = [("f32", (ROWS, COLS), LOGITS), ("u64", (ROWS,), SEEDS), ("u64", (1,), OFFSETS)]
        self.results = [("i32", (ROWS,), self.tokens), ("i32", (ROWS,), self.status)]
        self.attributes = {"operands": "input seeds offsets",
                           "params": _core._xla_numbers(libsampler.Params(top_k=40, temperature=0.9))}

    def sample(self, arguments=None, results=None, more=(), operands="", **changes):
        """The tokens of a call with more arguments, and other attributes, than those of setUp."""
        attributes = {**self.attributes, **changes}
        attributes["operands"] += operands
        attributes = {name: value for name, value in attributes.items() if value is not None}
        self.runtime.run(xla.handler("sample"), (arguments or self.arguments) + list(more),
                         results or self.results, attributes)
        return self.tokens.tolist()

    def expected(self, **arguments):
        return self.library.sample(
            libsampler.Rows(LOGITS, num_rows=ROWS, num_cols=COLS), seeds=SEEDS, offsets=OFFSETS,
            **{"params": libsampler.Params(top_k=40, temperature=0.9), **arguments}).token_ids.tolist()

    def refuses(self, text, **changes):
        with self.assertRaises(xla.XlaError) as raised:
            self.sample(**changes)
        self.assertEqual((str(raised.exception), raised.exception.code), (text, xla.INVALID_ARGUMENT))
        self.assertEqual((set(self.tokens), set(self.status)), ({7}, {7}))

    def test_version(self):
        for name in ("sample", "filter", "verify"):
            for on_cuda in (False, True):
                told = [xla.Runtime(minor).version_told_by(xla.handler(name, on_cuda))
                        for minor in (None, 1, 3, 9)]
                self.assertEqual(told, [(0, 1, 0, 9), (0, 1, 0, 9), (0, 3, 0, 0), (0, 3, 0, 0)])

    def test_sample(self):
        self.assertEqual(self.sample(), self.expected())
        self.assertEqual(self.status.tolist(), [0] * ROWS)
        words = array.array("I", [part for seed in SEEDS for part in (seed, 0)])
        self.arguments[1] = ("u32", (ROWS, 2), words)
        top_ps = floats(0.1, 0.5, 1, 0.3, 0.9)
        self.assertEqual(self.sample(more=[("f32", (ROWS,), top_ps)], operands=" top_p"),
                         self.expected(row_params=libsampler.RowParams(top_p=top_ps)))
        drawn = self.expected()
        offsets, ids = array.array("q", [0, 2, 2, 3, 3, 3]), ints(drawn[0], 5, drawn[2])
        masks = array.array("I", [0x5555AAAA] * ROWS * 10)
        lists = [("i64", (ROWS + 1,), offsets), ("i32", (3,), ids), ("u32", (ROWS, 10), masks)]
        self.assertEqual(self.sample(more=lists, operands=" banned token_bitmasks"),
                         self.expected(pipeline=libsampler.Pipeline(banned=(offsets, ids),
                                                                    token_bitmasks=masks)))
        wide = _core._xla_numbers(libsampler.Pipeline(token_id_type=libsampler.IdType.I64))
        tokens = self.tokens.tolist()  # the type of ids is that of their array
        self.assertEqual(self.sample(more=lists, operands=" banned token_bitmasks", pipeline=wide), tokens)
        self.tokens = array.array("q", [0] * ROWS)
        self.results[0] = ("i64", (ROWS,), self.tokens)
        self.assertEqual(self.sample(), self.expected())

    def test_rows_on_threads(self):
        expected = self.expected()
        self.runtime.threads = 4
        self.assertEqual(self.sample(), expected)  # by the caller alone: no helper was started
        self.assertEqual(len(self.runtime.tasks), 3)
        for task, data in self.runtime.tasks:  # too late, and harmless
            task(data)
        self.runtime.fails = "thread_pool_schedule"
        self.assertEqual(self.sample(), expected)
        self.runtime.fails = "thread_pool_count"
        self.assertEqual(self.sample(), expected)
        self.runtime.fails = None
        self.assertEqual(list(self.runtime.errors.values()), [None, None])  # both were released

        threads = []

        def schedule(arguments):
            threads.append(threading.Thread(target=arguments.task, args=(arguments.data,)))
            threads[-1].start()

        self.runtime.thread_pool_schedule = schedule
        for _ in range(50):
            self.assertEqual(self.sample(), expected)
        for thread in threads:
            thread.join()
        self.assertEqual(len(threads), 150)

    def test_older_xla(self):
        self.runtime.api.struct_size = xla.Api.thread_pool_schedule.offset
        self.assertEqual(self.sample(), self.expected())
        with self.assertRaises(xla.XlaError) as raised:
            self.runtime.run(xla.handler("sample", on_cuda=True), self.arguments, self.results,
                             self.attributes)
        self.assertEqual(raised.exception.code, xla.UNIMPLEMENTED)

    @unittest.skipIf(libsampler.capabilities().num_cuda_devices, "there is a device")
    def test_no_cuda(self):
        self.sample()
        with self.assertRaises(xla.XlaError) as raised:
            self.runtime.run(xla.handler("sample", on_cuda=True), self.arguments, self.results,
                             self.attributes)
        self.assertEqual(raised.exception.code, xla.UNIMPLEMENTED)

    def test_errors(self):
        rows, ones = ("f32", (ROWS, COLS), LOGITS), floats(*[1] * 6)
        self.refuses("there are 3 arguments; `operands` names more", operands=" top_p")
        self.refuses("there are 4 arguments; `operands` names more", operands=" banned",
                     more=[("i64", (ROWS + 1,), array.array("q", [0] * 6))])
        self.refuses("there are 4 arguments; `operands` names 3", more=[("f32", (6,), ones)])
        self.refuses("top_q is no operand of this call", operands=" top_q", more=[("f32", (6,), ones)])
        self.refuses("pipeline->state is no array", operands=" state", more=[("f32", (6,), ones)])
        self.refuses("row_params->top_p has 6 elements; it must have 5", operands=" top_p",
                     more=[("f32", (6,), ones)])
        self.refuses("row_params->top_k is float32; it must be int32", operands=" top_k",
                     more=[("f32", (6,), ones)])
        self.refuses("input is of another type; it must be float32, float16 or bfloat16",
                     arguments=[("f64", (ROWS, COLS), LOGITS), *self.arguments[1:]])
        self.refuses("input has no dimensions; it must have rows",
                     arguments=[("f32", (), LOGITS), *self.arguments[1:]])
        self.refuses("pipeline->guidance_logits has 5 columns; the logits have 300",
                     operands=" guidance_logits", more=[("f32", (5,), ones)])
        self.refuses("out_token_ids has 4 elements; it must have 5",
                     results=[("i32", (4,), self.tokens), self.results[1]])
        self.refuses("out_row_status is missing", results=self.results[:1])
        self.refuses("random.num_seeds is 4; it must be 1 or the number of slots, 5",
                     arguments=[rows, ("u64", (4,), SEEDS), self.arguments[2]])
        self.refuses("params->top_p is NaN; it must be a number",
                     params=_core._xla_numbers(libsampler.Params(top_p=float("nan"))))
        size = len(self.attributes["params"])
        self.refuses(f"params has {size + 8} bytes; this version of libsampler has {size}",
                     params=self.attributes["params"] + bytes(8))
        for text, attributes, stage in (
            ("the attribute `operands` is missing", {}, xla.EXECUTE),
            ("the attribute `operands` is missing", {"operands": 1}, xla.EXECUTE),
            ("input is missing", {"operands": "rows seeds offsets"}, xla.EXECUTE),
            ("this is a function of the execution stage", self.attributes, 1),
        ):
            self.expect(xla.XlaError, text, self.runtime.run, xla.handler("sample"), self.arguments,
                        self.results, attributes, stage)

    def test_addresses_in_attributes_are_not_read(self):
        rule = libsampler.Acceptance.SYNTHETIC
        acceptance = bytearray(_core._xla_numbers(libsampler.AcceptanceParams(rule=rule)))
        acceptance[-8:] = b"\xde" * 8  # synthetic_rates
        arguments = [("f32", (1, ROWS, COLS), LOGITS), ("i32", (1, ROWS - 1), ints(*[0] * (ROWS - 1)))]
        results = [("i32", (1, ROWS), self.tokens), *[("i32", (1,), ints(0))] * 3]
        with self.assertRaisesRegex(xla.XlaError, "needs acceptance->synthetic_rates"):
            self.runtime.run(xla.handler("verify"), arguments, results,
                             {"operands": "target draft_token_ids", "acceptance": bytes(acceptance)})

    def test_rows_of_other_sequences(self):
        drafts, few = ("i32", (1, 3), ints(0, 0, 0)), LOGITS[:4 * COLS]
        results = [("i32", (1, 4), self.tokens[:4]), *[("i32", (1,), ints(0))] * 3]
        for name, target, draft in (("target", (2, 2, COLS), (1, 3, COLS)), ("draft", (1, 4, COLS), (3, 1, COLS))):
            with self.assertRaisesRegex(xla.XlaError, f"^{name} has . rows for each sequence; it must have"):
                self.runtime.run(xla.handler("verify"),
                                 [("f32", target, few), drafts, ("f32", draft, LOGITS[:3 * COLS])], results,
                                 {"operands": "target draft_token_ids draft"})

    def test_check(self):
        shapes = [(xla.DTYPES[dtype], shape) for dtype, shape, _ in self.arguments]
        results = [(xla.DTYPES[dtype], shape) for dtype, shape, _ in self.results]

        def check(name="sample", shapes=shapes, results=results, params=self.attributes["params"]):
            return _core._xla_check(name, shapes, results, "input seeds offsets", params, b"", b"", False,
                                    False)

        self.assertIsNone(check())
        self.expect(TypeError, "draw is no custom call", check, "draw")
        self.expect(libsampler.InvalidArgument, "out_row_status is missing", check, results=results[:1])
        self.expect(libsampler.InvalidArgument, "an array has 9 dimensions; it must have at most 8", check,
                    shapes=[(xla.DTYPES["f32"], (1,) * 9)])
        self.expect(libsampler.InvalidArgument, "there are 97 arrays; a call has at most 96", check,
                    shapes=shapes[:1] * 97)
        self.expect(libsampler.InvalidArgument, "params->top_p is NaN; it must be a number", check,
                    params=_core._xla_numbers(libsampler.Params(top_p=float("nan"))))
        self.expect(TypeError, "it must be Params, Pipeline or AcceptanceParams", _core._xla_numbers,
                    libsampler.RowParams())


if __name__ == "__main__":
    unittest.main()
