"""libsampler.jax: its custom calls give the library's tokens inside of compiled programs."""

import pathlib
import shutil
import subprocess
import threading
import unittest

import libsampler
import support

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    import libsampler.jax as calls
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    jax = None
else:
    jax.config.update("jax_num_cpu_devices", 2)


@unittest.skipIf(jax is None, "jax is not installed")
class CustomCalls(support.Expects, support.Draws, unittest.TestCase):
    def setUp(self):
        self.operators = calls
        self.logits = np.random.default_rng(7).normal(0, 2, (6, 900)).astype(np.float32)
        self.library = support.sampler()
        self.seeds, self.offsets = np.arange(6) + 100, np.arange(6)

    def test_options_by_number_row_and_list(self):
        self.assertEqual(self.drawn(), self.of_library())
        self.assertEqual(self.drawn(top_k=5, temperature=0.7), self.of_library(top_k=5, temperature=0.7))
        self.assertEqual(self.drawn(top_k=None), self.of_library())
        self.assertEqual(self.drawn(preset="vllm", top_p=0.5),
                         self.library.sample(self.logits, seeds=self.seeds, offsets=self.offsets,
                                             params=libsampler.Params.preset("vllm").replace(top_p=0.5)
                                             ).token_ids.tolist())
        stages = [libsampler.Stage.TOP_P, libsampler.Stage.TOP_K, libsampler.Stage.TEMPERATURE]
        numbers = {"top_k": 30, "top_p": 0.8, "stages": stages}
        self.assertEqual(self.drawn(**numbers), self.of_library(**numbers))
        k, p = jnp.array([1, 2, 5, 9, 900, 0]), np.linspace(0.1, 1, 6)
        self.assertEqual(
            self.drawn(top_k=k, top_p=p, temperature=0.9),
            self.of_library(temperature=0.9, row_params=libsampler.RowParams(
                top_k=np.asarray(k), top_p=p.astype(np.float32))))
        self.assertEqual(self.drawn(top_p=jnp.float32(0.5)), self.of_library(top_p=0.5))
        self.assertEqual(self.drawn(top_k=jnp.array([2**31 - 1] * 6)), self.of_library())
        self.assertEqual(self.drawn(forced_token_id=jnp.array([-1, 3, -1, -1, 899, -1])),
                         self.of_library(row_params=libsampler.RowParams(
                             forced_token_id=np.array([-1, 3, -1, -1, 899, -1]))))
        offsets, ids = np.array([0, 2, 2, 2, 2, 3, 3]), np.array([4, 4, 7], dtype=np.int32)
        mask = np.random.default_rng(8).integers(0, 2**32, (6, 29), dtype=np.uint32)
        self.assertEqual(
            self.drawn(repetition_penalty=9.0, history=(offsets, ids), token_bitmasks=mask),
            self.of_library(repetition_penalty=9.0, pipeline=libsampler.Pipeline(
                history=(offsets, ids), token_bitmasks=mask)))

    def test_every_array_of_the_pipeline(self):
        uncond = self.logits[::-1].copy()
        ones = np.ones(6, np.int32)
        floats = np.float32([[0.5] * 900])
        offsets = np.arange(7)
        ids = np.int32([5, 6, 7, 8, 9, 10])
        arrays = {"guidance_logits": uncond, "guidance_row_indices": ones, "dense_bias": floats,
                  "token_bitmasks": np.uint32([[0xFFFFFFF7] * 29] * 2), "token_bitmask_indices": ones,
                  "prompt_lengths": ones * 0, "bad_word_offsets": np.array([0, 1, 1, 1, 1, 1, 1]),
                  "biases": np.float32([3] * 6)}
        lists = {"history": (offsets, ids), "biased": (offsets, ids), "banned": (offsets[:2], ids[:1]),
                 "stop": (offsets, ids), "unpenalized": (offsets, ids), "bad_words": (offsets[:2], ids[:1]),
                 "dry_breakers": (offsets[:2], ids[:1]), "allowed": (np.array([0, 0]), ids[:0])}
        numbers = {"guidance_scale": 1.5, "dry_multiplier": 0.5, "presence_penalty": 0.5}
        rule = libsampler.MaskRule.FORBIDS
        expected = self.of_library(pipeline=libsampler.Pipeline(**arrays, **lists, token_bitmask_rule=rule),
                                   **numbers)
        drawn = jax.jit(lambda logits, arrays, lists: calls.sample(
            logits, jnp.arange(100, 106), jnp.arange(6), token_bitmask_rule=rule, **arrays, **lists,
            **numbers))
        self.assertEqual(drawn(self.logits, arrays, lists).tolist(), expected)
        self.assertNotEqual(expected, self.of_library())

    def test_inputs(self):
        probs = np.array(jax.nn.softmax(self.logits))
        rows = libsampler.Rows(probs, kind=libsampler.InputKind.PROBABILITIES)
        self.assertEqual(self.drawn(probs, probabilities=True), self.of_library(rows))
        cube = self.logits.reshape(2, 3, 900)
        found, status = calls.sample(cube, self.seeds, self.offsets, row_status=True)
        self.assertEqual((found.shape, found.dtype, status.tolist()), ((2, 3), jnp.int32, [[0] * 3] * 2))
        self.assertEqual(found.flatten().tolist(), self.of_library())
        self.assertEqual(self.drawn(self.logits.astype(np.float64)), self.of_library())
        for dtype in (jnp.float16, jnp.bfloat16):
            half = jnp.asarray(self.logits, dtype)
            self.assertEqual(self.drawn(half), self.of_library(np.asarray(half, np.float32)))
        self.assertEqual(calls.sample(self.logits[:0], 1, 1).shape, (0,))
        self.assertEqual(calls.sample(self.logits[0], 1, 1).shape, ())
        indices = np.array([3, 3, 0, 1, 6, -1])
        found, status = calls.sample(self.logits, 2**63 - 1, -1, row_indices=indices, row_status=True)
        self.assertEqual((found.tolist()[4:], status.tolist()), ([-1, -1], [0, 0, 0, 0, 8, 8]))
        self.assertEqual(found.tolist()[:4], self.library.sample(
            self.logits, row_indices=indices[:4].astype(np.int32), seed=2**63 - 1,
            offset=2**64 - 1).token_ids.tolist())

    def test_seeds_have_64_bits(self):
        logits = np.tile(self.logits[:1], (4, 1))
        for seeds in (np.array([-1, 5, 2**63 - 1, -2**63]), np.array([-1, 5, 2**40, 7], ">i8"),
                      np.uint64([2**64 - 1, 5, 2**63, 2**33]), np.int32([-1, 5, 2**31 - 1, 7]),
                      np.uint32([2**32 - 1, 5, 6, 7])):
            expected = self.library.sample(logits, seeds=seeds.astype(np.uint64), offset=3).token_ids.tolist()
            self.assertEqual(calls.sample(logits, seeds, 3).tolist(), expected, seeds.dtype)
            self.assertEqual(calls.sample(logits, np.repeat(seeds, 2)[::2], 3).tolist(), expected)
            if seeds.itemsize == 4:
                self.assertEqual(calls.sample(logits, jnp.asarray(seeds), jnp.array(3)).tolist(), expected)
        self.assertEqual(calls.sample(logits, 2**64 - 1, 0).tolist(), calls.sample(logits, -1, 0).tolist())

    def test_with_64_bits(self):
        self.expect(ValueError, "int64 is True; jax has such arrays only with jax_enable_x64", self.drawn,
                    int64=True)
        self.addCleanup(jax.config.update, "jax_enable_x64", False)
        jax.config.update("jax_enable_x64", True)
        self.assertEqual(self.drawn(), self.of_library())
        found = calls.sample(self.logits, jnp.arange(6) + 100, jnp.arange(6), int64=True)
        self.assertEqual((found.dtype, found.tolist()), (jnp.int64, self.of_library()))
        ids = jnp.array([[5, 6], [7, 8]])
        tokens, _, _ = calls.verify(self.logits.reshape(2, 3, 900), None, ids, 3, 4)
        self.assertEqual(tokens.dtype, jnp.int64)

    def test_compiled(self):
        num_traces = 0

        @jax.jit
        def step(logits, seeds, offset, top_p, temperature):
            nonlocal num_traces
            num_traces += 1
            return calls.sample(logits * 2, seeds, offset, top_k=40, top_p=top_p, temperature=temperature)

        for rows in (6, 3, 1):
            logits, seeds = self.logits[:rows], self.seeds[:rows]
            for offset, temperature in ((0, 0.8), (9, 1.5)):
                expected = self.library.sample(
                    logits * 2, seeds=seeds, offset=offset,
                    params=libsampler.Params(top_k=40, top_p=0.7, temperature=temperature)).token_ids.tolist()
                found = step(logits, seeds.astype(np.int32), offset, jnp.full((rows,), 0.7), temperature)
                self.assertEqual(found.tolist(), expected)
        self.assertEqual(num_traces, 3)

        def loop(logits):
            draw = lambda offset, ids: ids.at[offset].set(calls.sample(logits, 1, offset))
            return jax.lax.fori_loop(0, 5, draw, jnp.zeros((5, 6), jnp.int32))

        self.assertEqual(jax.jit(loop)(self.logits).tolist(),
                         [calls.sample(self.logits, 1, offset).tolist() for offset in range(5)])

    def test_donated_logits(self):
        keep = jax.jit(lambda logits: calls.filter(logits, top_k=3, values=True), donate_argnums=0)
        expected = calls.filter(self.logits, top_k=3, values=True)
        for rows in (1, 5, 6):
            donated = jnp.array(self.logits[:rows])
            self.assertTrue(jnp.array_equal(keep(donated), expected[:rows]))

    def test_transformations(self):
        cube = self.logits.reshape(2, 3, 900)
        seeds = self.seeds.reshape(2, 3).astype(np.int32)
        draw = lambda logits, seeds: calls.sample(logits, seeds, 3, top_k=40)
        self.assertEqual(jax.vmap(draw)(cube, seeds).tolist(), draw(cube, seeds).tolist())
        alone = jax.vmap(lambda logits: calls.sample(logits, 1, 3))(self.logits)
        self.assertEqual(alone.tolist(), [int(calls.sample(row, 1, 3)) for row in self.logits])

        def loss(logits):
            tokens = draw(logits, self.seeds)
            return jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, None], axis=1).sum()

        gradient = jax.jit(jax.grad(loss))(self.logits)
        self.assertTrue(bool((jnp.abs(gradient).sum(-1) > 0).all()))
        shape = jax.eval_shape(draw, self.logits, self.seeds.astype(np.int32))
        self.assertEqual((shape.shape, shape.dtype), ((6,), jnp.int32))

    def test_sharded_arrays(self):
        mesh = jax.make_mesh((2,), ("x",))
        draw = jax.jit(lambda logits: calls.sample(logits, 1, 3, top_k=40))
        by_rows, by_columns = (jax.device_put(self.logits, NamedSharding(mesh, spec))
                               for spec in (PartitionSpec("x"), PartitionSpec(None, "x")))
        for sharded in (by_rows, by_columns):
            self.assertEqual(draw(sharded).tolist(), draw(self.logits).tolist())
        of_shards = jax.shard_map(draw, mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
        self.assertEqual(of_shards(by_rows).tolist(),
                         draw(self.logits[:3]).tolist() + draw(self.logits[3:]).tolist())

    def test_exported_with_any_number_of_rows(self):
        from jax import export
        rows, = export.symbolic_shape("rows")
        of_any = [jax.ShapeDtypeStruct((rows, 900), jnp.float32), jax.ShapeDtypeStruct((rows,), jnp.int32),
                  jax.ShapeDtypeStruct((), jnp.float32)]
        draw = jax.jit(lambda logits, seeds, top_p: calls.sample(logits, seeds, 3, top_p=top_p))
        checks = [export.DisabledSafetyCheck.custom_call("libsampler_sample")]
        exported = export.export(draw, disabled_checks=checks)(*of_any)
        for rows in (1, 6):
            arguments = self.logits[:rows], self.seeds[:rows].astype(np.int32), np.float32(0.8)
            self.assertEqual(exported.call(*arguments).tolist(), draw(*arguments).tolist())

    def test_filter_and_verify(self):
        found = calls.filter(self.logits, top_k=4)
        self.assertTrue(np.array_equal(found, self.library.filter(
            self.logits, params=libsampler.Params(top_k=4)).output))
        self.assertEqual((found > 0).sum(-1).tolist(), [4] * 6)
        half = calls.filter(jnp.asarray(self.logits, jnp.float16), top_k=4, values=True)
        self.assertEqual((half.dtype, int(jnp.isfinite(half).sum())), (jnp.float16, 24))
        target, draft = self.logits.reshape(2, 3, 900), self.logits[:4].reshape(2, 2, 900)
        ids = np.array([[5, 6], [7, 8]], np.int32)
        for drafts in (draft, None):
            expected = self.library.verify(target, drafts, ids, params=libsampler.Params(temperature=0.5),
                                           seed=3, offset=4, out_accepted_counts=True,
                                           out_emitted_counts=True, out_row_status=True)
            for run in (calls.verify, jax.jit(calls.verify, static_argnames=("temperature", "row_status"))):
                found = run(target, drafts, ids, 3, 4, temperature=0.5, row_status=True)
                self.assertEqual([each.tolist() for each in found],
                                 [each.tolist() for each in (
                                     expected.token_ids, expected.accepted_counts, expected.emitted_counts,
                                     expected.row_status)])
        rule = libsampler.Acceptance.SAMPLE_MATCH
        self.assertEqual(calls.verify(target, None, ids, 3, 4, rule=rule)[0].tolist(),
                         self.library.verify(target, None, ids, seed=3, offset=4,
                                             acceptance=libsampler.AcceptanceParams(rule=rule)
                                             ).token_ids.tolist())
        wide = np.array([[5, 2**32 + 6], [7, -8]])
        self.assertEqual(calls.verify(target, None, wide, 3, 4)[0].tolist(),
                         self.library.verify(target, None, wide, seed=3, offset=4).token_ids.tolist())
        self.assertEqual(calls.verify(target[:0], None, ids[:0], 3, 4)[0].shape, (0, 3))

    def test_threads(self):
        draw = jax.jit(lambda logits, offset: calls.sample(logits, 1, offset, top_p=0.9))
        many = np.tile(self.logits, (20, 1))
        expected = [draw(many, offset).tolist() for offset in range(8)]
        found = [None] * 8

        def run(offset):
            found[offset] = [draw(many, offset).tolist() for _ in range(10)]

        threads = [threading.Thread(target=run, args=(offset,)) for offset in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [[tokens] * 10 for tokens in expected])

    def test_bad_rows_are_no_errors(self):
        top_p = np.float32([0.5, np.nan, 1, 1, 1, 1])
        found, status = calls.sample(self.logits, self.seeds, self.offsets, top_p=top_p, row_status=True)
        self.assertEqual((found[1], status.tolist()), (-1, [0, 4, 0, 0, 0, 0]))
        self.assertEqual(found[0], self.drawn(top_p=0.5)[0])

    def test_errors_of_running_calls(self):
        call = jax.ffi.ffi_call("libsampler_sample", jax.ShapeDtypeStruct((6,), jnp.int32))
        self.expect_like(jax.errors.JaxRuntimeError, "INVALID_ARGUMENT: out_row_status is missing",
                         lambda: call(self.logits, operands="input").block_until_ready())

    def test_errors(self):
        for error, pattern, options in (
            (TypeError, "topk is no option", {"topk": 5}),
            (TypeError, "penalty_scope is an array; only members of", {"penalty_scope": np.ones(6)}),
            (TypeError, "history is no list of tokens", {"history": 3}),
            (TypeError, "dense_bias_stride is no option here", {"dense_bias_stride": 3}),
            (ValueError, "params->top_p is NaN; it must be a number", {"top_p": float("nan")}),
            (ValueError, "row_params->top_k has 5 elements; it must have 6",
             {"top_k": np.ones(5, dtype=np.int32)}),
        ):
            self.expect_like(error, pattern, self.drawn, **options)
            with self.assertRaisesRegex(error, pattern):
                jax.jit(lambda logits: calls.sample(logits, 1, 1, **options))(self.logits)
        self.expect_like(TypeError, "seed is float32; it must be of integers", calls.sample, self.logits,
                         jnp.ones(6), 1)
        self.expect_like(TypeError, "seed is key<.*>; it must be of integers", calls.sample, self.logits,
                         jax.random.key(0), 1)
        self.expect_like(TypeError, "float", calls.sample, self.logits, 1.5, 1)
        self.expect_like(ValueError, "random.num_seeds is 5", calls.sample, self.logits, self.seeds[:5], 1)
        self.expect_like(ValueError, "^input has no dimensions", calls.sample, self.logits[0, 0], 1, 1)
        ids = np.zeros((2, 2), np.int32)
        self.expect_like(ValueError, "^target has 6 rows; it must have 9, one more than drafts for each of 3",
                         calls.verify, self.logits.reshape(2, 3, 900), None, np.zeros((3, 2), np.int32), 1, 1)
        self.expect_like(ValueError, "^draft has 6 rows; it must have 4", calls.verify,
                         self.logits.reshape(2, 3, 900), self.logits.reshape(2, 3, 900), ids, 1, 1)
        self.expect(ValueError, "draft_token_ids has 1 dimensions; it must have 2", calls.verify,
                    self.logits, None, ids[0], 1, 1)


@unittest.skipIf(jax is None, "jax is not installed")
class Layout(unittest.TestCase):
    def test_structs_are_those_of_jaxlib_s_header(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        folder = pathlib.Path(__file__).parent
        result = subprocess.run(
            [compiler, "-std=c11", "-fsyntax-only", "-I", folder.parent / "src", "-I", jax.ffi.include_dir(),
             folder / "xla_layout.c"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
