"""Records greedy and beam-search texts that Hugging Face transformers gets from the small GPT-2.

usage: record_engine_texts.py > tests/decoding/engine_texts.txt

Needs PyTorch and transformers. tests/decoding/engine_texts_test.cpp compares the loops' texts with the
file. A line is a case, its parts apart by " ; ": number of beams (1: greedy), early_stopping,
length_penalty and max_new_tokens; end tokens; the prompt; and the texts, best first, each its
sequences_scores (0 of greedy ones) and its new tokens.
"""

import pathlib
import random

import torch
import transformers

MODEL = pathlib.Path(__file__).resolve().parents[2] / "examples" / "tiny_gpt2" / "target"
NUM_PROMPTS = 24
# The model hardly ever says its own end token: a comma, a full stop, a line break.
END_TOKENS = [[2047], [11], [13, 198], [11, 13, 198, 2047]]


def cases(rng):
    for _ in range(NUM_PROMPTS):
        prompt = [rng.randrange(2047) for _ in range(rng.randint(1, 6))]
        yield 1, False, 1.0, rng.choice([10, 30]), rng.choice(END_TOKENS), prompt
        for early_stopping in (False, True):
            for num_beams, length_penalty in ((2, 1.0), (4, 1.0), (4, 0.0), (6, 2.0)):
                yield (num_beams, early_stopping, length_penalty, rng.choice([5, 12, 24]),
                       rng.choice(END_TOKENS), prompt)


def texts_of(model, case):
    num_beams, early_stopping, length_penalty, max_new_tokens, ends, prompt = case
    options = {} if num_beams == 1 else {
        "num_beams": num_beams, "num_return_sequences": num_beams,
        "early_stopping": early_stopping, "length_penalty": length_penalty}
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False,
                         max_new_tokens=max_new_tokens, eos_token_id=ends, pad_token_id=0,
                         return_dict_in_generate=True, output_scores=True, **options)
    scores = [0.0] if num_beams == 1 else out.sequences_scores.tolist()
    for score, sequence in zip(scores, out.sequences.tolist()):
        tokens = sequence[len(prompt):]
        at = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        yield score, tokens[:at + 1]


def words(numbers):
    return " ".join(str(number) for number in numbers)


def main():
    torch.set_num_threads(1)
    model = transformers.GPT2LMHeadModel.from_pretrained(MODEL, dtype=torch.float32).eval()
    print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}")
    with torch.no_grad():
        for case in cases(random.Random(5)):
            num_beams, early_stopping, length_penalty, max_new_tokens, ends, prompt = case
            parts = [f"{num_beams} {int(early_stopping)} {length_penalty:g} {max_new_tokens}",
                     words(ends), words(prompt)]
            parts += [f"{score:.6g} {words(tokens)}" for score, tokens in texts_of(model, case)]
            print(" ; ".join(parts))


if __name__ == "__main__":
    main()
