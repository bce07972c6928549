"""Bitmasks that llguidance and xgrammar make are read where they lie: texts under a grammar of theirs."""

import array
import re
import unittest

import libsampler
import support

GRAMMAR = "[ab]{3}c[0-9]"
NUM_ROWS = 3


def llguidance_masks():
    """Its masks, their columns, and a function that fills a row of them after a token, or after none."""
    import llguidance.numpy
    tokenizer = llguidance.LLTokenizer("byte")
    masks = llguidance.numpy.allocate_token_bitmask(NUM_ROWS, tokenizer.vocab_size)
    expression = llguidance.LLMatcher.grammar_from_regex(GRAMMAR)
    matchers = [llguidance.LLMatcher(tokenizer, expression) for _ in range(NUM_ROWS)]

    def fill(row, token_id=None):
        if token_id is not None:
            matchers[row].consume_token(token_id)
        llguidance.numpy.fill_next_token_bitmask(matchers[row], masks, row)

    return masks, tokenizer.vocab_size, fill


def xgrammar_masks():
    import xgrammar
    ids = [bytes([i]) for i in range(256)] + [b"<end>"]
    tokenizer = xgrammar.TokenizerInfo(ids, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    masks = xgrammar.allocate_token_bitmask(NUM_ROWS, len(ids))
    expression = xgrammar.GrammarCompiler(tokenizer).compile_regex(GRAMMAR)
    matchers = [xgrammar.GrammarMatcher(expression) for _ in range(NUM_ROWS)]

    def fill(row, token_id=None):
        if token_id is not None:
            matchers[row].accept_token(token_id)
        matchers[row].fill_next_token_bitmask(masks, row)

    return masks, len(ids), fill


class Grammars(unittest.TestCase):
    def expect_texts(self, make):
        try:
            masks, num_ids, fill = make()
        except ModuleNotFoundError as error:
            if error.name not in ("llguidance", "xgrammar"):
                raise
            self.skipTest(f"{error.name} is not installed")
        logits = array.array("f", [0.0] * (NUM_ROWS * num_ids))
        rows = libsampler.Rows(memoryview(logits).cast("B").cast("f", [NUM_ROWS, num_ids]))
        # Made once: what the engine writes later is in it.
        pipeline = libsampler.Pipeline(token_bitmasks=masks, token_bitmask_rule=libsampler.MaskRule.FORBIDS)
        seeds, texts = array.array("Q", range(NUM_ROWS)), [b""] * NUM_ROWS
        for row in range(NUM_ROWS):
            fill(row)
        with support.sampler() as sampler:
            for step in range(5):
                found = sampler.sample(rows, pipeline=pipeline, seeds=seeds, offset=step).token_ids
                for row, token_id in enumerate(found):
                    texts[row] += bytes([token_id])
                    fill(row, token_id)
        for text in texts:
            self.assertTrue(re.fullmatch(GRAMMAR, text.decode()), text)
        self.assertGreater(len(set(texts)), 1)

    def test_llguidance(self):
        self.expect_texts(llguidance_masks)

    def test_xgrammar(self):
        self.expect_texts(xgrammar_masks)


if __name__ == "__main__":
    unittest.main()
