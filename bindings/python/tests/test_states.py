"""States, n-grams and sessions."""

import array
import math
import types
import unittest

import libsampler
from libsampler import (DraftSource, FinishReason, InvalidArgument, NgramStorage, Params, Pipeline,
                        PromptLookup, Session, State, TokenKind, UnmaskParams, token_lists)
from support import Expects, floats, ints, sampler

NUM_TOKENS = 30


def row_of(text):
    """A model: logits that depend on the last two tokens."""
    seed = 31 * text[-1] + (7 * text[-2] if len(text) > 1 else 0)
    return [3.0 * math.sin(1.7 * seed + 0.9 * token) for token in range(NUM_TOKENS)]


class States(Expects, unittest.TestCase):
    def setUp(self):
        self.sampler = sampler()
        self.addCleanup(self.sampler.close)

    def state(self, **options):
        return State(self.sampler, **{"num_slots": 3, "max_tokens": 16, **options})

    def test_a_loop_is_that_with_the_text_of_each_step(self):
        params = Params(repetition_penalty=1.3, presence_penalty=0.4, temperature=0.8)
        state = self.state()
        texts = [[1, 2, 3], [4], [5, 6]]
        found = state.append(tokens=token_lists(texts), token_kind=TokenKind.PROMPT,
                             out_row_status=True)
        self.assertEqual((list(found.lengths), list(found.row_status)), ([3, 1, 2], [0, 0, 0]))
        offsets = array.array("Q", [0, 0, 0])
        for _ in range(6):
            logits = libsampler.Rows(floats(*(x for text in texts for x in row_of(text))), num_rows=3,
                                     num_cols=NUM_TOKENS)
            drawn = self.sampler.sample(logits, params=params, pipeline=Pipeline(state=state),
                                        seed=9, offsets=offsets)
            again = self.sampler.sample(
                logits, params=params, seed=9, offsets=offsets,
                pipeline=Pipeline(history=token_lists(texts), prompt_lengths=ints(3, 1, 2)))
            self.assertEqual(drawn.token_ids, again.token_ids)
            state.accept(token_ids=drawn.token_ids, params=params, offsets=offsets)
            texts = [text + [token] for text, token in zip(texts, drawn.token_ids)]
        self.assertEqual(list(offsets), [6, 6, 6])
        read = state.read(num_tokens=10, out_prompt_lengths=True, out_adaptive_values=True)
        self.assertEqual([read.token_ids.tolist()[i][:len(text)] for i, text in enumerate(texts)],
                         texts)
        self.assertEqual(list(read.prompt_lengths), [3, 1, 2])
        self.assertTrue(all(math.isnan(x) for row in read.adaptive_values.tolist() for x in row))

    def test_truncate_copy_reset(self):
        state, other = self.state(), self.state(num_slots=1)
        state.append(slots=ints(1), tokens=token_lists([[7, 8, 9]]))
        state.truncate(slots=ints(1), lengths=ints(2))
        state.copy(source_slots=ints(1), destination_slots=ints(2))
        state.copy(destination=other, source_slots=ints(1), destination_slots=ints(0))
        self.assertEqual(list(state.read().lengths), [0, 2, 2])
        self.assertEqual(other.read(num_tokens=3).token_ids.tolist(), [[7, 8, -1]])
        state.reset(slots=ints(1))
        self.assertEqual(list(state.read().lengths), [0, 0, 2])
        state.reset()
        self.assertEqual(list(state.read().lengths), [0, 0, 0])
        with sampler() as stranger, State(stranger, num_slots=1, max_tokens=2) as strange:
            self.expect_like(InvalidArgument, "^destination is of another sampler", state.copy,
                             destination=strange, source_slots=ints(0), destination_slots=ints(0))

    def test_bytes(self):
        state = self.state()
        state.append(tokens=token_lists([[1], [2, 3], [4, 5, 6]]))
        data = state.serialize()
        state.reset()
        self.assertEqual(state.deserialize(data), 3)
        self.assertEqual(list(state.read().lengths), [1, 2, 3])
        self.assertEqual(state.deserialize(state.serialize(2, 1), first_slot=0), 1)
        self.assertEqual(list(state.read().lengths), [3, 2, 3])
        self.assertEqual(state.serialize(1), state.serialize(1, 2))
        self.assertEqual(state.serialize(None, None), state.serialize())
        self.assertEqual(state.deserialize(state.serialize(), first_slot=None), 3)
        with self.assertRaises(libsampler.CorruptData):
            state.deserialize(data[:-1])
        with self.assertRaises(InvalidArgument):
            state.serialize(0, 4)
        self.assertEqual(list(state.read().lengths), [3, 2, 3])

    def test_bad_arguments(self):
        state = self.state()
        for options in ({"num_slots": 0}, {"max_tokens": 0}, {"num_slots": 2**31},
                        {"max_distinct_tokens": 17}):
            self.expect_like(InvalidArgument, f"^{list(options)[0]} is ", self.state, **options)
        self.expect_like(TypeError, "has no argument 'slots'", self.state, slots=1)
        self.expect_like(InvalidArgument, "^slots has 1 elements; it needs 2", state.append,
                         slots=ints(0), num_rows=2, tokens=token_lists([[1], [2]]))
        self.expect_like(InvalidArgument, "^token_ids is float32", state.accept, token_ids=floats(1.0))
        self.expect_like(InvalidArgument, "^lengths is NULL", state.truncate, num_rows=1)
        self.assertGreater(self.sampler.state_size(num_slots=3, max_tokens=16), 0)


class Ngrams(Expects, unittest.TestCase):
    def test_storage(self):
        with NgramStorage(vocabulary_size=20, order=3) as storage:
            storage.initialize(ints(1, 2, 3, 1, 2, 4, 1, 2, 3))
            self.assertEqual(storage.next_token(ints(1, 2), 0, 0), (3, True))
            self.assertEqual(storage.next_token(ints(9), 5, 6)[1], False)
            self.assertTrue(storage.has_gram(ints(1, 2)))
            self.assertFalse(storage.has_gram(ints(9)))
            storage.update(ints(1, 2), ints(4, 4))
            self.assertEqual(storage.next_token(ints(1, 2), 0, 0), (4, True))
            self.assertEqual(list(storage.propose(ints(1, 2), 2)), [4, 1])
            self.assertEqual(list(storage.propose(ints(1, 2), 2, least_count=3)), [4])
            self.assertEqual(list(storage.propose(ints(1, 2), 2, least_count=None, least_share=None)),
                             list(storage.propose(ints(1, 2), 2)))
            out = ints(0, 0, 0)
            self.assertEqual(storage.propose(ints(1, 2), 2, out_token_ids=out), 2)
            self.assertEqual(list(out), [4, 1, 0])
            data, stats = storage.serialize(), storage.stats()
            self.assertEqual(stats.num_updates, 10)
            storage.reset()
            self.assertEqual(storage.stats().num_updates, 0)
            storage.deserialize(data)
            self.assertEqual(storage.stats().num_contexts, stats.num_contexts)
            with self.assertRaises(libsampler.CorruptData):
                storage.deserialize(data[:20])
        self.expect(libsampler.Closed, "n-grams is closed", storage.stats)

    def test_lookup(self):
        with PromptLookup(vocabulary_size=20, max_tokens=8) as lookup:
            lookup.append(ints(1, 2, 3, 4, 1, 2))
            self.assertEqual(list(lookup.propose_next(3)), [3, 4, 1])
            self.assertEqual(list(lookup.propose(ints(1, 2, 3, 4, 1, 2, 3), 2)), [4, 1])
            self.expect_like(InvalidArgument, "", lookup.append, ints(1, 1, 1))
            self.assertEqual(lookup.propose_next(2, out_token_ids=ints(0, 0)), 2)
            lookup.reset()
            self.assertEqual(len(lookup.propose_next(3)), 0)

    def test_bad_arguments(self):
        self.expect_like(InvalidArgument, "^vocabulary_size is 0", NgramStorage)
        self.expect_like(InvalidArgument, "^order is 17", NgramStorage, vocabulary_size=5, order=17)
        self.expect_like(InvalidArgument, "^max_tokens is 0", PromptLookup, vocabulary_size=5)
        storage = NgramStorage(vocabulary_size=5)
        self.expect(InvalidArgument, "context is int64; it must be int32", storage.has_gram,
                    array.array("q", [1]))
        self.expect_like(InvalidArgument, "num_drafts is -1", storage.propose, ints(1), -1)
        self.expect_like(InvalidArgument, "num_drafts is 1099511627776", storage.propose, ints(1),
                         2**40)
        self.expect_like(InvalidArgument, "out_token_ids has 1 elements", storage.propose, ints(1), 2,
                         out_token_ids=ints(0))
        self.expect_like(InvalidArgument, "token_ids", storage.initialize, ints(1, 7))


class Sessions(Expects, unittest.TestCase):
    def setUp(self):
        self.sampler = sampler()
        self.addCleanup(self.sampler.close)

    def session(self, **options):
        return Session(self.sampler, **{"max_sequences": 3, "max_context": 40,
                                        "vocabulary_size": NUM_TOKENS, **options})

    def text_of(self, prompt, count, seed, params):
        """What sample draws, step by step."""
        text = list(prompt)
        for n in range(count):
            drawn = self.sampler.sample(floats(*row_of(text)), params=params, seed=seed, offset=n,
                                        streams=array.array("I", [0]))
            text.append(drawn.token_ids[0])
        return text

    @staticmethod
    def logits_of(session, spans, plan=None):
        """Rows of a target for spans of a chain."""
        values = array.array("f")
        for span in spans:
            text = list(session.get(span.sequence).token_ids[:span.start]) + list(span.token_ids)
            for i in range(span.num_logits):
                values.extend(row_of(text[:len(text) - span.num_logits + 1 + i]))
        return values

    def run_all(self, session, **more):
        results = []
        for _ in range(200):
            plan = session.plan()
            if not plan.spans:
                return results
            results.append(session.advance(plan.spans, self.logits_of(session, plan.spans), **more))
        self.fail("it does not end")

    def test_texts_are_those_of_sample(self):
        params = Params(temperature=0.9, top_k=12)
        for source in (DraftSource.NONE, DraftSource.PROMPT_LOOKUP, DraftSource.NGRAM):
            with self.session(max_drafts=4, lookup_tokens=40, params=params) as session:
                storage = NgramStorage(vocabulary_size=NUM_TOKENS)
                prompts = [[1, 2, 3], [4, 5], [6]]
                numbers = [session.add(ints(*prompt), seed=50 + i, max_new_tokens=20,
                                       draft_source=source,
                                       ngram=storage if source == DraftSource.NGRAM else None)
                           for i, prompt in enumerate(prompts)]
                results = self.run_all(session)
                for i, number in enumerate(numbers):
                    sequence = session.get(number)
                    self.assertEqual(list(sequence.token_ids),
                                     self.text_of(prompts[i], 20, 50 + i, params))
                    self.assertIs(sequence.finish_reason, FinishReason.LENGTH)
                    self.assertEqual(sequence.prompt_length, len(prompts[i]))
                    self.assertEqual(sequence.num_drafted > 0, source != DraftSource.NONE)
                self.assertEqual(list(results[-1].finish_reasons)[-1], FinishReason.LENGTH)
                if source == DraftSource.NGRAM:
                    self.expect_like(InvalidArgument, "used by 1 sessions", storage.close)
            storage.close()

    def test_results_tell_the_new_tokens(self):
        with self.session(max_top_logprobs=2) as session:
            number = session.add(ints(1, 2), seed=3, max_new_tokens=4)
            reports = libsampler.Reports(out_logprobs=True, num_top_logprobs=2,
                                         out_top_token_ids=True, out_top_logprobs=True)
            results = self.run_all(session, reports=reports, out_row_status=True)
            tokens = [result.token_ids[0, 0] for result in results]
            self.assertEqual(tokens, list(session.get(number).token_ids)[2:])
            for result in results:
                self.assertEqual((result.counts[0], result.row_status[0]), (1, 0))
                self.assertLess(result.reports.logprobs[0], 0.0)
                self.assertEqual(result.reports.top_token_ids.shape, (1, 2))

    def test_fork_remove_resume(self):
        with self.session() as session:
            first = session.add(ints(1, 2), seed=3, max_new_tokens=6)
            plan = session.plan()
            session.advance(plan.spans, self.logits_of(session, plan.spans))
            second, third = session.fork(first), session.fork(first, seed=99)
            self.run_all(session)
            texts = [list(session.get(number).token_ids) for number in (first, second, third)]
            self.assertEqual(texts[0], texts[1])
            self.assertNotEqual(texts[0], texts[2])
            session.remove(third)
            self.expect_like(InvalidArgument, "sequence", session.get, third)
            self.expect_like(InvalidArgument, "sequence", session.remove, 3)
            removed = session.get(first)
            session.remove(first)
            again = session.add(removed.token_ids, prompt_length=2, seed=3, max_new_tokens=9,
                                resumed=removed)
            self.run_all(session)
            self.assertEqual(list(session.get(again).token_ids), self.text_of([1, 2], 9, 3, None))
            self.assertEqual(session.get(again).num_steps, 9)

    def test_ends(self):
        with self.session(max_end_tokens=1, max_stop_sequences=1, max_stop_tokens=2) as session:
            text = self.text_of([1, 2], 10, 3, None)
            one = session.add(ints(1, 2), seed=3, end_token_ids=ints(text[4]))
            two = session.add(ints(1, 2), seed=3, stop_sequences=token_lists([text[3:5]]))
            self.run_all(session)
            self.assertEqual(session.get(one).finish_reason, FinishReason.END_TOKEN)
            self.assertEqual(session.get(two).finish_reason, FinishReason.STOP_SEQUENCE)
            self.assertEqual(session.get(two).stop_sequence, 0)

    def test_a_drafter_and_trees(self):
        with self.session(max_drafts=3, has_draft_trees=1) as session:
            number = session.add(ints(1, 2), seed=3, max_new_tokens=12, num_drafts=3,
                                 draft_source=DraftSource.MODEL, draft_top_k=1)
            for _ in range(60):
                plan = session.plan()
                if not plan.spans and not plan.drafter_spans:
                    break
                self.assertEqual(plan.parents is not None, True)
                session.advance(
                    plan.spans, self.logits_of(session, plan.spans),
                    drafter_spans=plan.drafter_spans,
                    drafter_logits=self.drafter_logits(session, plan.drafter_spans))
            sequence = session.get(number)
            self.assertEqual(list(sequence.token_ids), self.text_of([1, 2], 12, 3, None))
            self.assertGreater(sequence.num_drafted, 0)

    @staticmethod
    def drafter_logits(session, spans):
        values = array.array("f")
        for span in spans:
            for _ in range(span.num_logits):
                values.extend(row_of(list(span.token_ids)))
        return values

    def test_plans(self):
        with self.session() as session:
            numbers = [session.add(ints(1, 2, 3), seed=i) for i in range(3)]
            plan = session.plan(sequences=ints(numbers[2]))
            self.assertEqual([span.sequence for span in plan.spans], [numbers[2]])
            self.assertEqual((list(plan.token_ids), list(plan.spans[0].token_ids)),
                             ([1, 2, 3], [1, 2, 3]))
            self.assertEqual((plan.spans[0].start, plan.spans[0].num_logits), (0, 1))
            self.assertIsNone(plan.parents)
            self.assertEqual(session.plan(sequences=ints()).spans, [])
            self.assertEqual(len(session.plan(max_tokens=4).spans), 2)
            self.expect_like(InvalidArgument, "span", session.advance, plan.spans,
                             floats(*row_of([1])))
            with self.assertRaises(TypeError):
                libsampler.Span()

    def test_arrays_of_the_pipeline_are_kept(self):
        mask = array.array("I", [0b1000])
        bias = array.array("f", bytes(4 * NUM_TOKENS))
        bias[7] = 100.0
        with self.session(pipeline=Pipeline(dense_bias=bias)) as session:
            with self.assertRaises(BufferError):
                bias.append(0.0)
            number = session.add(ints(1), max_new_tokens=3)
            self.run_all(session)
            self.assertEqual(list(session.get(number).token_ids), [1, 7, 7, 7])
        bias.append(0.0)
        mask.append(0)

    def test_blocks(self):
        mask, params = NUM_TOKENS - 1, Params(temperature=0)
        rules = UnmaskParams(mask_token_id=mask, block_length=3, num_steps_left=2)
        with self.session(max_drafts=2, has_blocks=1) as session:
            number = session.add(ints(1, 2), max_new_tokens=7, params=params, unmask=rules)
            counts, ends = [], []
            for _ in range(20):
                plan = session.plan()
                if not plan.spans:
                    break
                span, logits = plan.spans[0], array.array("f")
                end = span.start + span.num_tokens
                for position in range(end - span.num_logits, end):  # later ones are surer
                    logits.extend([5.0 + position if token == position else 0.0
                                   for token in range(NUM_TOKENS)])
                ends.append(list(span.token_ids[span.num_tokens - span.num_logits:]))
                counts.append(session.advance(plan.spans, logits).counts[0])
            # Blocks begin at multiples of 3, the first one in the prompt.
            self.assertEqual(ends, [[mask], [mask] * 3, [mask, 4, 5], [mask] * 3, [mask, 7, 8]])
            self.assertEqual(counts, [1, 0, 3, 0, 3])
            sequence = session.get(number)
            self.assertEqual(list(sequence.token_ids), [1, 2, 2, 3, 4, 5, 6, 7, 8])
            self.assertIs(sequence.finish_reason, FinishReason.LENGTH)
            self.expect(InvalidArgument, "unmask->block_length is 4; it must be below 4", session.add,
                        ints(1), unmask=rules.replace(block_length=4))
            self.expect(TypeError, "unmask is of type int; it must be libsampler.UnmaskParams",
                        session.add, ints(1), unmask=5)
        with self.session() as session:
            self.expect(InvalidArgument, "unmask is set; the session must have has_blocks", session.add,
                        ints(1), unmask=rules)

    def test_guidance(self):
        params = Params(guidance_scale=2.5, top_k=4)
        with self.session() as session:
            number = session.add(ints(1), seed=5, params=params)
            text = [1]
            for step, index in enumerate([None, 0, 1, -1]):
                row, first, second = row_of(text), row_of([*text, 7]), row_of([*text, 8])
                both = floats(*first, *second)
                wide = memoryview(floats(*first, *row, *second, *row)).cast("B").cast(
                    "f", (4, NUM_TOKENS))[::2]  # rows that are not side by side
                indices = ints(index or 0)
                want = self.sampler.sample(
                    floats(*row), params=params, seed=5, offset=step,
                    pipeline=Pipeline(guidance_logits=both, guidance_row_indices=indices)).token_ids[0]
                result = session.advance(session.plan().spans, floats(*row),
                                         guidance_logits=both if index is None else wide,
                                         guidance_row_indices=None if index is None else indices)
                self.assertEqual(result.token_ids[0, 0], want)
                text.append(want)
            self.assertEqual(list(session.get(number).token_ids), text)
            session.add(ints(2), params=params)
            spans, logits = session.plan().spans, floats(*row, *row)
            self.expect(InvalidArgument, "guidance_logits is NULL; sequence 0 has guidance_scale",
                        session.advance, spans, logits)
            for guidance, message in (
                    (logits[:-1], "has 59 elements; it must be rows of 30"),
                    (array.array("d", logits), "is float64"),
                    (memoryview(logits).cast("B").cast("f", (3, 20)),
                     "has rows of 20 elements; it must be rows of 30"),
                    (wide, "has rows that are 60 elements apart; those of logits are 30")):
                self.expect_like(InvalidArgument, f"guidance_logits(.values)? {message}",
                                 session.advance, spans, logits, guidance_logits=guidance)
            self.expect(InvalidArgument, "guidance_row_indices has 1 elements; it needs 2",
                        session.advance, spans, logits, guidance_logits=logits,
                        guidance_row_indices=ints(0))
            session.advance(spans, logits, guidance_logits=logits)

    def test_bad_arguments(self):
        for options in ({"max_sequences": 0}, {"max_context": -1}, {"vocabulary_size": 2**20},
                        {"max_drafts": 1025}):
            self.expect_like(InvalidArgument, f"^{list(options)[0]} is ", self.session, **options)
        self.assertGreater(self.sampler.session_size(max_sequences=1, max_context=9,
                                                     vocabulary_size=9), 0)
        with self.session(max_drafts=1) as session:
            self.expect_like(InvalidArgument, "num_tokens is 0|token_ids is NULL", session.add,
                             ints())
            self.expect_like(InvalidArgument, "token_ids", session.add, ints(NUM_TOKENS))
            self.expect_like(InvalidArgument, "int64", session.add, array.array("q", [1]))
            self.expect_like(TypeError, "ngram must be", session.add, ints(1), ngram=5)
            self.expect(TypeError, "resumed is 5; it must be what Session.get returned", session.add, ints(1),
                        resumed=5)
            before = {"num_steps": 1, "num_drafted": 0, "num_accepted": 0, "drafter_entropy": 0.0}
            for values in (5, (1.0, 2.0), [0.0] * 5):
                resumed = types.SimpleNamespace(**before, adaptive_values=values)
                self.expect(TypeError, f"resumed.adaptive_values is {values}; it must be 4 floats",
                            session.add, ints(1), resumed=resumed)
            self.expect_like(TypeError, "list of spans", session.advance, [5], floats(1.0))
            self.expect_like(TypeError, "list of spans", session.advance, 5, floats(1.0))
            session.add(ints(1))
            plan = session.plan()
            self.expect(InvalidArgument, f"logits has 1 elements; it needs {NUM_TOKENS}",
                        session.advance, plan.spans, floats(1.0))
            self.expect_like(InvalidArgument, "^logits is NULL", session.advance, plan.spans)
            closed = NgramStorage(vocabulary_size=NUM_TOKENS)
            closed.close()
            self.expect(libsampler.Closed, "ngram is closed", session.add, ints(1), ngram=closed)


if __name__ == "__main__":
    unittest.main()
