"""Makes tokenizer_json_cases.json: tokenizers in the form of tokenizer.json, and what PyPI's tokenizers makes of texts.

usage: make_tokenizer_json_cases.py TINY_GPT2_MODEL_DIR OUT_FILE

The tokenizers lack the vocabulary and the merges, which are the model's.
"""

import json
import pathlib
import random
import sys

import tokenizers

LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")
QWEN_2 = LLAMA_3.replace("{1,3}", "")
GPT_4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
          r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
WORDS = ["the", " king", " ", "  ", "\n", "\r\n", "'s", "'LL", "ROMEO:", "O", "3", "1234", "x1", "--", "\u00e9", "\u96ea",
         "\U0001f600", "\u0301", "\u00a0", "?!", "\t", "'", "\u0663", "<|endoftext|>", "<|im_start|>", "<|im_", "\u2167",
         "Wh", "ere"]


def byte_level(prefix=False, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(**pattern):
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(id, content, special=True):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": special}


def tokenizer(pre_tokenizer, *tokens, post_processor=None, **model):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": None,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": byte_level(),
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, **model}}


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [2047], "tokens": ["<|endoftext|>"]}}}
TOKENIZERS = {
    "gpt2": tokenizer(byte_level(), added(2047, "<|endoftext|>"), post_processor=byte_level()),
    "with a first space": tokenizer(byte_level(prefix=True), added(2047, "<|endoftext|>")),
    "llama3": tokenizer(sequence(split(Regex=LLAMA_3), byte_level(regex=False)), added(2047, "<|endoftext|>"),
                        post_processor={"type": "Sequence", "processors": [byte_level(), TEMPLATE]}, ignore_merges=True),
    "qwen2": tokenizer(sequence(split(Regex=QWEN_2), byte_level(regex=False)), added(2047, "<|endoftext|>"),
                       added(2048, "<|im_start|>"), added(2049, "  ", special=False)),
    "gpt4o": tokenizer(sequence(split(Regex=GPT_4O), byte_level(regex=False)), added(2047, "<|endoftext|>")),
    "starcoder": tokenizer(sequence({"type": "Digits", "individual_digits": True}, byte_level())),
    "many": tokenizer(sequence(split(String="'s"), split(Regex=r"[\r\n]"), {"type": "Digits", "individual_digits": False},
                               split(String="?!"), byte_level())),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    vocab = json.loads((folder / "vocab.json").read_text())
    merges = [line.split(" ") for line in (folder / "merges.txt").read_text().splitlines()[1:]]
    draw = random.Random(1)
    texts = ["", "Where is the king?\n\n  'Tis 1234 o'clock", *("".join(draw.choices(WORDS, k=16)) for _ in range(14))]
    cases = []
    for name, one in TOKENIZERS.items():
        model = {**one["model"], "vocab": vocab, "merges": merges}
        made = tokenizers.Tokenizer.from_str(json.dumps({**one, "model": model}))
        cases.append({"name": name, "tokenizer": one,
                      "texts": [{"text": text, "ids": made.encode(text).ids} for text in texts]})
    lines = ",\n".join(json.dumps(case) for case in cases)
    pathlib.Path(sys.argv[2]).write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
