"""Simple and full calls, results, parameters, enumerations."""

import array
import copy
import ctypes
import inspect
import math
import pickle
import re
import unittest

import libsampler
from libsampler import Params, Reports, Rows, UnmaskParams, WatermarkParams
from support import PROJECT, Expects, bytes_of, floats, ints, sampler

LOGITS = floats(2.0, 2.5, 1.5, -1.0, 0.0)
BATCH = floats(*(math.sin(7.0 * i) * 3.0 for i in range(3 * 40)))
README_TOKENS = [2, 2, 1, 0, 1]


def rows(values=BATCH, num_rows=3, num_cols=40, **more):
    return Rows(values, num_rows=num_rows, num_cols=num_cols, **more)


class SimpleCalls(unittest.TestCase):
    def test_readme(self):
        with libsampler.Sampler() as s:
            found = [s.top_k_top_p(LOGITS, 3, 0.95, 0.8, 1, step)[0] for step in range(5)]
        self.assertEqual(found, README_TOKENS)

    def test_draws_are_those_of_the_full_call(self):
        draws = {"categorical": {}, "top_k": {"top_k": 5}, "top_p": {"top_p": 0.7},
                 "min_p": {"min_p": 0.2}, "top_k_top_p": {"top_k": 7, "top_p": 0.6}}
        for options in ({}, {"max_rows": 3, "max_cols": 40}):
            with libsampler.Sampler(**options) as s:
                for name, numbers in draws.items():
                    for seed in range(20):
                        tokens = getattr(s, name)(rows(), temperature=0.9, seed=seed, offset=4,
                                                  **numbers)
                        full = s.sample(rows(), params=Params(temperature=0.9, **numbers), seed=seed,
                                        offset=4)
                        self.assertEqual(tokens, full.token_ids, name)
                greedy = s.sample(rows(), params=Params(temperature=0))
                self.assertEqual(s.argmax(rows()), greedy.token_ids)

    def test_rows_are_those_of_the_full_call(self):
        writes = {"softmax": ({"temperature": 0.7}, 0), "top_k_renorm": ({"top_k": 6}, 0),
                  "top_p_renorm": ({"top_p": 0.6}, 0), "top_k_mask": ({"top_k": 6}, 1)}
        for options in ({}, {"max_rows": 3, "max_cols": 40}):
            with libsampler.Sampler(**options) as s:
                for name, (numbers, kind) in writes.items():
                    output = getattr(s, name)(rows(), **numbers)
                    self.assertEqual(output.shape, (3, 40))
                    full = s.filter(rows(), params=Params(**numbers), output_kind=kind)
                    self.assertEqual(output, full.output, name)

    def test_unmasking(self):
        scores = floats(-0.5, -0.125, -2.0, -0.25, -1.0, -0.0625)
        candidates, tokens = ints(5, 6, 7, 8, 9, 4), ints(1, 1, 1, 3, 1, 1)
        offsets = array.array("q", [0, 4, 6])
        change, kind = libsampler.UnmaskChange, libsampler.Confidence
        with libsampler.Sampler() as s:
            rules = UnmaskParams(mask_token_id=1, num_committed=1, threshold=0.875, edit_threshold=0.75)
            done = s.unmask(candidates, scores, block_offsets=offsets, token_ids=tokens, params=rules,
                            out_confidences=True, out_committed_counts=True, out_block_status=True)
            self.assertEqual(list(tokens), [1, 6, 1, 8, 1, 4])
            self.assertEqual(list(done.changes), [change.KEPT, change.COMMITTED, change.KEPT, change.EDITED,
                                                  change.KEPT, change.COMMITTED])
            self.assertEqual(list(done.masked_counts), [2, 1])
            self.assertEqual(list(done.committed_counts), [1, 1])
            self.assertEqual(list(done.block_status), [0, 0])
            self.assertAlmostEqual(done.confidences[0], math.exp(-0.5), 6)
            entropies = floats(0.5, 0, 0.25, 0, 1, 0, 0.75, 0, 0.125, 0, 0.5, 0)
            status = array.array("I", [1, 0, 0, 0, 0, 0])
            rules = UnmaskParams(mask_token_id=1, confidence=kind.ENTROPY, entropy_bound=0.5,
                                 order_temperature=0.5, num_committed=7, num_steps_left=7)
            done = s.unmask(candidates, entropies, block_offsets=offsets, token_ids=tokens, params=rules,
                            score_stride=2, seed=3, slots=ints(0, 1, 0, 1, 0, 1), num_slots=2,
                            candidate_status=status, block_num_committed=ints(1, 2),
                            block_num_steps_left=ints(0, 1), out_confidences=True,
                            out_committed_counts=True, out_edited_counts=True)
            self.assertEqual(list(tokens), [1, 6, 7, 8, 9, 4])
            self.assertEqual(list(done.masked_counts), [1, 0])
            self.assertEqual(list(done.committed_counts), [1, 1])
            self.assertEqual(list(done.edited_counts), [0, 0])
            self.assertTrue(math.isnan(done.confidences[0]) and done.confidences[1] == -0.25)
            one = s.unmask(candidates, params=UnmaskParams(num_steps_left=2, confidence=kind.POSITION))
            self.assertEqual(list(one.changes), [1, 1, 1, 0, 0, 0])
            self.assertEqual(list(s.unmask(candidates, scores).changes), [0] * 6)
            self.assertEqual(s.unmask_workspace_size(candidates, scores), 0)
            top = libsampler.Sampler().sample(rows(), params=Params(temperature=0), reports=Reports(
                num_top_logprobs=5, out_top_logprobs=True))
            margin = UnmaskParams(confidence=kind.MARGIN)
            wide = s.unmask(ints(7, 7, 7), top.reports.top_logprobs, params=margin, out_confidences=True)
            for row in range(3):
                likeliest = [math.exp(top.reports.top_logprobs[row, i]) for i in range(2)]
                self.assertAlmostEqual(wide.confidences[row], likeliest[0] - likeliest[1], 6)
            with self.assertRaisesRegex(libsampler.InvalidArgument, "scores has 6 elements"):
                s.unmask(candidates, scores, params=margin)
            with self.assertRaisesRegex(libsampler.InvalidArgument, "must be of one type"):
                s.unmask(candidates, scores, token_ids=array.array("q", [1] * 6))
            with self.assertRaisesRegex(TypeError, "params is of type Params; it must be libsampler.Unmask"):
                s.unmask(candidates, scores, params=Params())

    def test_scores_are_what_was_reported(self):
        params = Params(top_p=0.8, temperature=0.9)
        processed = libsampler.LogprobKind.PROCESSED
        with libsampler.Sampler() as s:
            for seed in range(20):
                drawn = s.sample(rows(), params=params, seed=seed, reports=Reports(
                    logprob_kind=processed, out_logprobs=True, kept_capacity=120,
                    out_kept_token_ids=True, out_kept_offsets=True))
                reports = Reports(logprob_kind=processed, out_logprobs=True)
                kept = (drawn.reports.kept_offsets, drawn.reports.kept_token_ids)
                for lists in (None, kept, libsampler.TokenLists(*kept)):
                    scored = s.score(rows(), drawn.token_ids, params=params, kept=lists,
                                     reports=reports, out_row_status=True)
                    self.assertEqual(scored.reports.logprobs, drawn.reports.logprobs)
                    self.assertEqual(list(scored.row_status), [0, 0, 0])
            scored = s.score(rows(), ints(-1, 3, 40), reports=reports, out_row_status=True)
            self.assertEqual(list(scored.row_status), [4, 0, 4])
            self.assertTrue(math.isnan(scored.reports.logprobs[0]))
            self.assertGreater(s.score_workspace_size(rows(), drawn.token_ids, kept=kept,
                                                      reports=reports), 0)
            with self.assertRaisesRegex(ValueError, "token_ids has 2 "):
                s.score(rows(), ints(1, 2))
            with self.assertRaisesRegex(ValueError, "token_ids is NULL"):
                s.score(rows(), None)

    def test_select_and_verify_are_those_of_the_full_calls(self):
        drafts = ints(3, 4)
        for options in ({}, {"max_rows": 3, "max_cols": 40}):
            with libsampler.Sampler(**options) as s:
                values, ids = s.top_k_select(rows(), 4)
                full = s.select(rows(), 4)
                self.assertEqual((values, ids), (full.values, full.token_ids))
                self.assertEqual(ids[1, 0], s.argmax(rows())[1])
                values, ids = s.top_k_select(rows(), 4, out_values=False)
                self.assertIsNone(values)
                tokens, accepted, emitted = s.chain_speculative(rows(), None, drafts, 2, 5, 6)
                full = s.verify(rows(), None, drafts, num_drafts=2, seed=5, offset=6,
                                out_accepted_counts=True, out_emitted_counts=True)
                self.assertEqual(tokens, full.token_ids)
                self.assertEqual(accepted, full.accepted_counts)
                self.assertEqual(emitted, full.emitted_counts)

    def test_given_outputs_are_the_results(self):
        tokens, output = ints(-7, -7, -7), array.array("f", bytes(4 * 120))
        with sampler() as s:
            self.assertIs(s.argmax(rows(), out_token_ids=tokens), tokens)
            self.assertIs(s.argmax(rows(), tokens), tokens)
            self.assertIs(s.softmax(rows(), 1.0, output), output)
            self.assertIs(s.sample(rows(), out_token_ids=tokens).token_ids, tokens)

    def test_ids_of_64_bits(self):
        with sampler() as s:
            found = s.sample(rows(), token_id_type=libsampler.IdType.I64, seed=3,
                             reports=Reports(num_top_logprobs=2, out_top_token_ids=True))
            self.assertEqual(found.token_ids.typecode, "q")
            self.assertEqual(found.reports.top_token_ids.format, "q")
            self.assertEqual(list(found.token_ids), list(s.sample(rows(), seed=3).token_ids))

    def test_half_precision(self):
        bits = array.array("H", [0x3C00, 0x4000, 0xBC00])  # 1, 2, -1
        with sampler() as s:
            for dtype in libsampler.Dtype.F16, libsampler.Dtype.BF16:
                self.assertEqual(s.argmax(Rows(bits, dtype=dtype))[0], 1)
            output = s.filter(Rows(bits, dtype=libsampler.Dtype.F16),
                              output_dtype=libsampler.Dtype.F16,
                              output_kind=libsampler.OutputKind.VALUES).output
            self.assertEqual(bytes_of(output), bits.tobytes())

    def test_fallback_token(self):
        with libsampler.Sampler(fallback_token_id=2) as s:
            self.assertEqual(s.argmax(floats(math.nan, 1.0, 2.0))[0], 2)
        with libsampler.Sampler() as s:
            found = s.sample(floats(math.nan, 1.0, 2.0), out_row_status=True)
        self.assertEqual((found.token_ids[0], found.row_status[0]),
                         (-1, libsampler.RowStatus.INVALID_VALUE))

    def test_no_rows(self):
        with sampler() as s:
            self.assertEqual(len(s.argmax(Rows(floats(), num_rows=0, num_cols=5))), 0)

    def test_workspace_grows_only(self):
        with libsampler.Sampler() as s:
            self.assertEqual(s.kept_workspace_bytes, 0)
            s.top_p(rows(), 0.5, 1.0, 0, 0)
            small = s.kept_workspace_bytes
            s.top_p(rows(array.array("f", bytes(4 * 60000)), 3, 20000), 0.5, 1.0, 0, 0)
            large = s.kept_workspace_bytes
            s.top_p(rows(), 0.5, 1.0, 0, 0)
            self.assertEqual(s.kept_workspace_bytes, large)
        self.assertTrue(0 < small < large)
        self.assertEqual(s.kept_workspace_bytes, 0)


class Parameters(Expects, unittest.TestCase):
    def test_defaults_are_those_of_c(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if "libsampler.so" in line)
        size, members = 0, {}
        for line in (PROJECT / "tests/abi/layout.txt").read_text().splitlines():
            name, *numbers = line.split()
            if not line.startswith(" "):
                struct = name
                size = int(numbers[0]) if struct == "sampler_params" else size
            elif struct == "sampler_params" and name != "struct_size":
                members[name] = [int(number) for number in numbers]
        memory = ctypes.create_string_buffer(size)
        self.assertEqual(ctypes.CDLL(path).sampler_params_init(memory, ctypes.c_size_t(size)), 0)
        params = Params()
        for name, (offset, length) in members.items():
            value = getattr(params, name)
            letter = "f" if isinstance(value, float) else "i"
            found = list(memoryview(memory.raw[offset:offset + length]).cast(letter))
            self.assertEqual(list(value) if isinstance(value, tuple) else [value], found, name)
        self.assertEqual(len(members), 47)

    def test_members(self):
        params = Params(top_k=5)
        params.top_p = 0.5
        params.stages = [libsampler.Stage.TOP_K, libsampler.Stage.TOP_P]
        self.assertEqual((params.top_k, params.top_p, params.stages[:3]), (5, 0.5, (16, 17, 0)))
        self.assertEqual(repr(Params(top_k=5, top_p=0.5)), "Params(top_p=0.5, top_k=5)")
        params.top_k = None
        self.assertEqual((params.top_k, Params(temperature=None).temperature), (0, 1.0))
        other = params.replace(min_p=0.25)
        self.assertEqual((other.min_p, params.min_p, other.top_p), (0.25, 0.0, 0.5))
        self.assertEqual(Params(top_k=3), Params(top_k=3))
        self.assertNotEqual(Params(top_k=3), Params(top_k=4))
        self.assertEqual(copy.copy(other), other)
        self.assertEqual(pickle.loads(pickle.dumps(other)), other)

    def test_presets(self):
        names = libsampler.preset_names()
        self.assertIn("flashinfer", {name.split("@")[0] for name in names})
        for name in names:
            preset = Params.preset(name)
            self.assertEqual(preset, pickle.loads(pickle.dumps(preset)), name)
        self.assertEqual(Params.preset("llama.cpp").top_k, 40)
        self.expect_like(libsampler.InvalidArgument, "nothing", Params.preset, "nothing")
        self.expect_like(TypeError, "str", Params.preset, 5)

    def test_members_that_are_wrong(self):
        params = Params(top_k=5)
        self.expect(TypeError, "Params has no member 'top_q'", Params, top_q=1)
        self.expect(TypeError, "top_k is of type float; it must be an int", Params, top_k=1.5)
        self.expect(TypeError, "top_p is of type str; it must be a float", Params, top_p="1")
        self.expect(libsampler.InvalidArgument,
                    "top_k is 2147483648; it must be in [-2^31, 2^31)", Params, top_k=2**31)
        self.expect(libsampler.InvalidArgument,
                    "top_p is 1e+300; it must be in the range of an f32", Params, top_p=1e300)
        self.expect(libsampler.InvalidArgument,
                    "stages has 33 elements; it has 32 at most", Params, stages=[1] * 33)
        with self.assertRaises(TypeError):
            params.stages = [1, "2"]
        self.assertEqual((params.stages[0], params.top_k), (0, 5))
        self.expect_like(TypeError, "takes 0 arguments", Params, 1)

    def test_arrays_are_kept_and_shown(self):
        lists = libsampler.token_lists([[1, 2], [], [3]])
        self.assertEqual((lists.offsets.tolist(), lists.token_ids.tolist()),
                         ([0, 2, 2, 3], [1, 2, 3]))
        pipeline = libsampler.Pipeline(banned=lists)
        self.assertIs(pipeline.banned, lists)
        self.assertIsNone(pipeline.history)
        self.assertIn("banned=TokenLists(", repr(pipeline))
        with sampler() as s:
            tokens = s.sample(LOGITS, params=Params(temperature=0),
                              pipeline=libsampler.Pipeline(banned=libsampler.token_lists([[1]])))
            self.assertEqual(tokens.token_ids[0], 0)
            tuples = (array.array("q", [0, 1]), ints(1))
            tokens = s.sample(LOGITS, params=Params(temperature=0),
                              pipeline=libsampler.Pipeline(banned=tuples))
            self.assertEqual(tokens.token_ids[0], 0)


class Library(Expects, unittest.TestCase):
    def test_capabilities(self):
        c = libsampler.capabilities()
        header = (PROJECT / "include/sampler/version.h").read_text()
        parts = [int(re.search(rf"VERSION_{name} (\d+)", header).group(1))
                 for name in ("MAJOR", "MINOR", "PATCH", "CANDIDATE")]
        self.assertEqual(c.version, parts[0] * 10000 + parts[1] * 100 + parts[2])
        self.assertTrue(c.isa_compiled & libsampler.ISA.SCALAR)
        self.assertGreaterEqual(c.num_processors, 1)
        base = ".".join(str(part) for part in parts[:3])
        self.assertEqual(libsampler.__version__, base + (f"-rc{parts[3]}" if parts[3] else ""))
        project = (PROJECT / "bindings/python/pyproject.toml").read_text()
        self.assertIn(f'version = "{base}' + (f'rc{parts[3]}"' if parts[3] else '"'), project)

    def test_names(self):
        for stage in libsampler.Stage:
            self.assertEqual(libsampler.stage_name(stage), stage.name)
        self.assertIsNone(libsampler.stage_name(0))
        for status in libsampler.Status:
            self.assertEqual(libsampler.status_string(status), f"SAMPLER_{status.name}")

    def test_errors_have_their_status(self):
        self.assertTrue(issubclass(libsampler.InvalidArgument, ValueError))
        self.assertTrue(issubclass(libsampler.OutOfMemory, MemoryError))
        found = {class_.status for class_ in libsampler.Error.__subclasses__()}
        self.assertEqual(found, {status.value for status in libsampler.Status if status})

    def test_watermark(self):
        text, key = [], 42
        with libsampler.Sampler() as s:
            for _ in range(60):
                seed, offset, stream = libsampler.watermark_random(key, ([-1] * 4 + text)[-4:])
                drawn = s.sample(Rows(floats(*[0.0] * 64)), seed=seed, offset=offset,
                                 streams=array.array("I", [stream]),
                                 draw_method=libsampler.DrawMethod.WATERMARK)
                text.append(drawn.token_ids[0])
        score, num_scored, p_value = libsampler.watermark_detect(key, text)
        self.assertEqual(libsampler.watermark_detect(key, text, None)[:2], (score, num_scored))
        self.assertTrue(score > 100 and p_value < 1e-6)
        self.assertEqual(num_scored, 60)
        other = libsampler.watermark_detect(key + 1, array.array("q", text), 4, keeps_repeated=True)
        self.assertGreater(other[2], 1e-3)
        for call, arguments in ((libsampler.watermark_random, (key, [])),
                                (libsampler.watermark_detect, (key, text, 65))):
            with self.assertRaises(libsampler.InvalidArgument):
                call(*arguments)
        for arguments in ((key, [1.5]), (key, None), (-1, [1])):
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                libsampler.watermark_random(*arguments)

    def test_watermark_schemes(self):
        """As printed by tests/abi/consumer.c."""
        text, candidates, scheme = [3, 1, 4, 1, 5, 9, 2, 6], [7, 8, 9], libsampler.WatermarkScheme
        green = WatermarkParams(vocabulary_size=16, context_length=1, key=15485863, green_share=0.25, bias=2)
        biases = libsampler.watermark_bias(green, text[:1])
        self.assertEqual(biases, floats(0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0))
        with libsampler.Sampler() as s:
            drawn = s.sample(Rows(floats(*[0.0] * 16)), params=Params(temperature=0),
                             pipeline=libsampler.Pipeline(dense_bias=biases))
            self.assertEqual(drawn.token_ids[0], 1)
        score, num_scored, p_value = libsampler.watermark_score(green, array.array("q", text))
        self.assertEqual(f"{score:.6f} {num_scored} {p_value:.6f}", "0.218218 7 0.413630")

        own = green.replace(scheme=scheme.SELFHASH, green_share=0.5, table_size=32)
        own.table = libsampler.watermark_table(own)
        self.assertEqual((own.table.typecode, len(own.table)), ("i", 32))
        for ids in (candidates, ints(*candidates), array.array("q", candidates)):
            self.assertEqual(libsampler.watermark_bias(own, ints(3), ids), floats(0, 0, 2))
        self.assertEqual(len(libsampler.watermark_bias(own, [3])), 0)

        marked = WatermarkParams(scheme=scheme.TOURNAMENT, vocabulary_size=16, context_length=1,
                                 keys=array.array("q", [654, 400, 836]), table_size=32, table_seed=7)
        marked.table = libsampler.watermark_table(marked)
        probabilities = floats(0.5, 0.25, 0.25)
        self.assertIsNone(libsampler.watermark_tournament(marked, text[:1], candidates, probabilities))
        self.assertEqual(probabilities, floats(*map(float.fromhex, ("0x1.bp-1", "0x1.2p-3", "0x1p-6"))))
        self.assertEqual(libsampler.watermark_score(marked, text)[1], 6)  # 1 comes twice
        score, num_scored, p_value = libsampler.watermark_score(marked.replace(keeps_repeated=1), text)
        self.assertEqual(f"{score:.6f} {num_scored} {p_value:.6f}", "0.476190 7 0.586370")
        for params, size in ((own, 1000003), (marked, 65536)):
            params = params.replace(table_size=None)
            params.table = libsampler.watermark_table(params)
            self.assertEqual(len(params.table), size)
            libsampler.watermark_score(params, text)

    def test_rules_of_watermark_schemes(self):
        bad, text, ids, three = libsampler.InvalidArgument, [1, 2, 3], [7, 8], floats(1, 1, 1)
        bias, tournament = libsampler.watermark_bias, libsampler.watermark_tournament
        green = WatermarkParams(vocabulary_size=16, context_length=2, key=1, green_share=0.5, bias=2)
        marked = WatermarkParams(scheme=libsampler.WatermarkScheme.TOURNAMENT, vocabulary_size=16,
                                 context_length=2, keys=array.array("q", [5]), table_size=4,
                                 table=ints(0, 1, 1, 0))
        for count in (0, 1, 3):
            error = f"context has {count} elements; it must have 2"
            self.expect(bad, error, bias, green, text[:count])
            self.expect(bad, error, tournament, marked, text[:count], ids, three[:2])
            self.expect(bad, f"probabilities has {count} elements; it must have 2", tournament, marked,
                        text[:2], ids, three[:count])
        for count in (0, 3, 5):
            short = marked.replace(table=ints(*[0] * count))
            error = f"params->table has {count} elements; it must have 4"
            self.expect(bad, error, tournament, short, text[:2], ids, three[:2])
            self.expect(bad, error, libsampler.watermark_score, short, text)
        own = green.replace(scheme=libsampler.WatermarkScheme.SELFHASH, table=ints(0))
        self.expect(bad, "params->table has 1 elements; it must have 1000003", bias, own, text[:2], ids)
        self.expect(bad, "params->keys has 1 elements; params needs 2", libsampler.watermark_score,
                    marked.replace(num_keys=2), text)
        self.expect(bad, "params->table is float32; it must be int32", bias, own.replace(table=three),
                    text[:2], ids)
        self.expect(bad, "params->keys is int32; it must be int64", libsampler.watermark_table,
                    marked.replace(keys=ints(5)))
        self.expect(bad, "candidate_token_ids is 4294967303; it must be in [-2^31, 2^31)", bias,
                    own.replace(table=None), text[:2], [7 + 2**32])
        for given, error in ((array.array("d", [1, 1]), "is float64; it must be float32"),
                             (memoryview(three)[:2].toreadonly(), "is read-only; it must be writable"),
                             (memoryview(floats(1, 1, 1, 1))[::2],
                              "has gaps between its elements; it must be contiguous")):
            self.expect(bad, f"probabilities {error}", tournament, marked, text[:2], ids, given)
        self.assertEqual(three, floats(1, 1, 1))

        # The library's.
        self.expect(bad, "params->table is NULL; it is required", bias, own.replace(table=None), text[:2],
                    ids)
        self.expect(bad, "num_candidates is 2; it must be below 1", bias, green, text[:2], ids)
        self.expect_like(bad, "it has no table", libsampler.watermark_table, green)
        for size, rule in ((-1, "at least 1"), (2**24 + 1, "below 16777217"), (2**63 - 1, "below 16777217")):
            self.expect(bad, f"params->table_size is {size}; it must be {rule}", libsampler.watermark_table,
                        own.replace(table_size=size))
        for size, rule in ((-1, "at least 2"), (0, "at least 2"), (2**20, "below 1048576"),
                           (2**63 - 1, "below 1048576")):
            self.expect(bad, f"params->vocabulary_size is {size}; it must be {rule}", bias,
                        green.replace(vocabulary_size=size), text[:2])
        self.expect_like(bad, "params->scheme is 3", libsampler.watermark_table, green.replace(scheme=3))
        self.expect(TypeError, "params is of type Params; it must be libsampler.WatermarkParams",
                    libsampler.watermark_score, Params(), text)
        for arguments in ((green, None), (green, [1.5, 2])):
            with self.assertRaises(TypeError):
                bias(*arguments)
        with self.assertRaisesRegex(TypeError, "probabilities is of type list; it must be an array"):
            tournament(marked, text[:2], ids, [1.0, 1.0])

    def test_prune_count(self):
        self.assertEqual(libsampler.prune_count(5, 2), (3, 2, 0))
        self.assertEqual(libsampler.prune_count(5, 5), (0, 0, 1))
        with self.assertRaises(libsampler.InvalidArgument):
            libsampler.prune_count(2, 3)

    def test_signatures_and_documentation(self):
        for class_ in (libsampler.Sampler, libsampler.State, libsampler.Session,
                       libsampler.NgramStorage, libsampler.PromptLookup):
            for name in dir(class_):
                if not name.startswith("_"):
                    self.assertTrue(getattr(class_, name).__doc__, f"{class_}.{name}")
                    if callable(getattr(class_, name)):
                        inspect.signature(getattr(class_, name))
        parameters = inspect.signature(libsampler.Sampler.residual).parameters
        self.assertEqual([name for name, one in parameters.items() if one.kind != one.KEYWORD_ONLY],
                         ["self", "target", "draft"])
        self.assertIn("[output rows]", libsampler.Sampler.sample.__doc__)
        self.assertIn("greedy", Params.temperature.__doc__)


if __name__ == "__main__":
    unittest.main()
