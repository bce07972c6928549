"""Records what transformers' own watermarks do: tests/watermark/transformers.txt.

    record_schemes.py > tests/watermark/transformers.txt

Needs torch and transformers, on the CPU. Lines:

    green SCHEME V KEY SHARE LENGTH CONTEXT... : COUNT SUM FIRST...
        tokens green after a context, of all (left) or of the 40 first candidates 7, 14, 21, ... mod V (self)
    table SCHEME SEED SIZE : SUM FIRST...
    bits LENGTH TABLE_SIZE CONTEXT... TOKEN : BITS...
    tournament LENGTH COUNT CONTEXT... TOKENS... PROBABILITIES... PROBABILITIES...   before and after
    z SCHEME V KEY SHARE LENGTH COUNT TOKENS... : COUNT SCORE
"""

import random
import sys

import torch
import transformers
from transformers import SynthIDTextWatermarkLogitsProcessor, WatermarkLogitsProcessor
from transformers.generation.watermarking import WatermarkDetector


def green(generator):
    for scheme in ("lefthash", "selfhash"):
        for vocabulary, key, share, width in ((50, 15485863, 0.25, 1), (1000, 15485863, 0.5, 4), (128256, 123456789, 0.25, 2),
                                              (32000, -77, 0.1, 3)):
            processor = WatermarkLogitsProcessor(vocabulary, "cpu", share, 2.0, key, scheme, width)
            for _ in range(4 if vocabulary < 100000 else 2):
                context = [generator.randrange(vocabulary) for _ in range(width)]
                sequence = torch.tensor(context)
                if scheme == "lefthash":
                    ids = sorted(processor._get_greenlist_ids(sequence).tolist())
                else:
                    ids = []
                    context = context[1:]
                    for i in range(40):
                        token = 7 * (i + 1) % vocabulary
                        own = torch.tensor(context + [token])
                        if token in processor._get_greenlist_ids(own).tolist():
                            ids.append(token)
                print("green", scheme, vocabulary, key, share, len(context), *context, ":", len(ids), sum(ids), *ids[:8])


KEYS = [654, 400, 836, 123, 340, 443, 597, 160, 57, 29, 590, 639, 13, 715, 468, 990, 966, 226, 324, 585, 118, 504, 421, 521,
        129, 669, 732, 225, 90, 960]


def tables():
    processor = WatermarkLogitsProcessor(50, "cpu", 0.25, 2.0, 15485863, "selfhash", 1)
    table = processor.fixed_table.tolist()
    print("table self", 15485863, len(table), ":", sum(i * value for i, value in enumerate(table)) % (1 << 61), *table[:6])
    for seed, size in ((0, 65536), (42, 1000)):
        table = SynthIDTextWatermarkLogitsProcessor(5, KEYS, size, seed, 1024, "cpu").sampling_table.tolist()
        print("table tournament", seed, size, ":", sum(i * value for i, value in enumerate(table)), *table[:6])


def bits(generator):
    for length, size in ((4, 65536), (1, 65536), (2, 1000)):
        processor = SynthIDTextWatermarkLogitsProcessor(length + 1, KEYS, size, 0, 1024, "cpu")
        for _ in range(4):
            ngram = [generator.randrange(128256) for _ in range(length + 1)]
            keys = processor.compute_ngram_keys(torch.tensor([[ngram]]))
            values = processor.sample_g_values(keys)[0, 0].tolist()
            print("bits", length, size, *ngram, ":", *values)


def tournaments(generator):
    for length, count in ((4, 3), (1, 12), (2, 40)):
        processor = SynthIDTextWatermarkLogitsProcessor(length + 1, KEYS, 65536, 0, 1024, "cpu")
        for _ in range(3):
            context = [generator.randrange(1000) for _ in range(length)]
            ids = torch.tensor([[generator.randrange(1000) for _ in range(count)]])
            scores = torch.tensor([[generator.gauss(0, 2) for _ in range(count)]])
            keys, _ = processor._compute_keys(torch.tensor([context]), ids)
            updated = processor.update_scores(scores, processor.sample_g_values(keys))
            before, after = torch.softmax(scores, 1)[0].tolist(), torch.exp(updated)[0].tolist()
            print("tournament", length, count, *context, *ids[0].tolist(), *map(repr, before), *map(repr, after))


class Config:
    is_encoder_decoder = False
    bos_token_id = -1

    def __init__(self, vocabulary):
        self.vocab_size = vocabulary

    def get_text_config(self, decoder=False):
        return self


def scores(generator):
    for scheme in ("lefthash", "selfhash"):
        for vocabulary, share, width in ((50, 0.25, 1), (1000, 0.5, 3)):
            config = {"greenlist_ratio": share, "bias": 2.0, "hashing_key": 15485863, "seeding_scheme": scheme,
                      "context_width": width}
            detector = WatermarkDetector(Config(vocabulary), "cpu", config)
            for length in (10, 40):
                tokens = [generator.randrange(vocabulary) for _ in range(length)]
                found = detector(torch.tensor([tokens]), return_dict=True)
                print("z", scheme, vocabulary, 15485863, share, width - (scheme == "selfhash"), length, *tokens, ":",
                      int(found.num_tokens_scored[0]), repr(float(found.z_score[0])))


def main():
    generator = random.Random(9)
    print(f"# What transformers {transformers.__version__} with torch {torch.__version__} does, recorded by "
          "tests/tools/record_schemes.py.")
    green(generator)
    tables()
    bits(generator)
    tournaments(generator)
    scores(generator)


sys.exit(main())
