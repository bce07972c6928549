"""Records what the logits processors of Hugging Face transformers make of random logits.

usage: record_engine_edits.py > tests/contract/engine_edits.txt

Needs PyTorch and transformers. tests/contract/engine_test.cpp compares the contract's edits with the
file, bit for bit. A line is a case: the processor and its parameters, the history, the logits before and
after, apart by " ; ". Floats are the bits of f32 in hexadecimal, "|" stands between the words of a list.
"""

import random
import struct

import torch
import transformers
from transformers.generation.logits_process import (
    NoBadWordsLogitsProcessor, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor)

NUM_CASES = 150  # of each processor
NUM_TOKENS = 10


def f32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def bits_of(numbers):
    return " ".join(f"{struct.unpack('<I', struct.pack('<f', x))[0]:08x}" for x in numbers)


def random_logits(rng):
    special = [0.0, -0.0, float("-inf"), 1e-40, -1e-40, 3e38]
    return [f32(rng.choice(special)) if rng.random() < 0.08 else f32(rng.gauss(0, 4))
            for _ in range(NUM_TOKENS)]


def random_history(rng):
    num_tokens = rng.randint(1, NUM_TOKENS)
    return [rng.randrange(num_tokens) for _ in range(rng.randint(1, 24))]


def random_words(rng, history):
    words = []
    for _ in range(rng.randint(1, 5)):
        length = rng.choice([1, 2, 2, 3, 3, 4])
        word = [rng.randrange(NUM_TOKENS) for _ in range(length)]
        if 1 < length <= len(history) + 1 and rng.random() < 0.6:
            word[:-1] = history[len(history) - length + 1:]
        if word not in words:
            words.append(word)
    return words


def cases(rng):
    for _ in range(NUM_CASES):
        history = random_history(rng)
        penalty = f32(rng.choice([1.0, 1.1, 1.3, 0.7, 3.0, rng.uniform(0.5, 2.0)]))
        yield (f"repetition {bits_of([penalty])}", history,
               RepetitionPenaltyLogitsProcessor(penalty=penalty))
    for _ in range(NUM_CASES):
        size = rng.randint(1, 5)
        yield f"ngram {size}", random_history(rng), NoRepeatNGramLogitsProcessor(size)
    for _ in range(NUM_CASES):
        history = random_history(rng)[:rng.choice([1, 2, 3, 24])]
        words = random_words(rng, history)
        text = " | ".join(" ".join(map(str, word)) for word in words)
        yield f"words {text}", history, NoBadWordsLogitsProcessor(words)
    for _ in range(NUM_CASES):
        ids = rng.sample(range(NUM_TOKENS), rng.randint(1, NUM_TOKENS))
        biases = [f32(rng.choice([rng.gauss(0, 5), rng.gauss(0, 1e-3), 100.0])) for _ in ids]
        text = " | ".join(f"{token} {bits_of([bias])}" for token, bias in zip(ids, biases))
        yield (f"bias {text}", random_history(rng),
               SequenceBiasLogitsProcessor([[[token], bias] for token, bias in zip(ids, biases)]))


def main():
    print("# Made by tests/tools/record_engine_edits.py, which says what a line means.")
    print(f"# transformers {transformers.__version__}, PyTorch {torch.__version__}")
    rng = random.Random(1)
    for what, history, processor in cases(rng):
        logits = random_logits(rng)
        result = processor(torch.tensor([history]), torch.tensor([logits], dtype=torch.float32))
        print(" ; ".join([what, " ".join(map(str, history)), bits_of(logits),
                          bits_of(result[0].tolist())]))


if __name__ == "__main__":
    main()
