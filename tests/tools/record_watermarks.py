"""Records vLLM's watermark: tests/watermark/vllm.txt.

usage: record_watermarks.py VLLM > tests/watermark/vllm.txt

VLLM is the folder that has vllm/v1/watermarking of vLLM 0.33. Needs torch; what else it imports is stubbed.
  words KEY LENGTH CONTEXT... WORDS...     the words of tokens 0 to 7 after a context of LENGTH tokens, without
                                           their low 8 bits, which vLLM does not use
  draw KEY SEED CONTEXT... TOKEN           the token drawn after a context of 4 from the logits of SEED
  text KEY LENGTH KEEPS_REPEATED SCORE NUM_SCORED P_VALUE TOKENS...
"""

import pathlib
import sys
import types
from unittest import mock

import torch

VOCABULARY = 64


def mix(x):
    """splitmix64"""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def logits_of(seed):
    return torch.tensor([[(mix((seed << 8) + token) >> 40) * 2**-21 for token in range(VOCABULARY)]])


def load(folder):
    sys.path.insert(0, str(folder))
    root = pathlib.Path(folder) / "vllm"
    for name, path in (("vllm", root), ("vllm.v1", root / "v1")):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    for name in ("vllm.config", "vllm.config.watermarking", "vllm.v1.worker", "vllm.v1.worker.gpu",
                 "vllm.v1.worker.gpu.sample", "vllm.v1.worker.gpu.sample.gumbel"):
        sys.modules[name] = mock.MagicMock()
    package = types.ModuleType("vllm.v1.watermarking")
    package.__path__ = [str(root / "v1/watermarking")]
    sys.modules["vllm.v1.watermarking"] = package
    from vllm.v1.watermarking.gumbel import GumbelWatermarkDetector, GumbelWatermarker
    from vllm.v1.watermarking.prfs import philox
    return philox, GumbelWatermarker, GumbelWatermarkDetector


def main(folder):
    philox, watermarker, detector = load(folder)
    print("# What vLLM 0.33's watermark draws and finds, recorded by tests/tools/record_watermarks.py.")
    random = torch.Generator().manual_seed(39)

    def tokens(count, end):
        return torch.randint(0, end, (count,), generator=random)

    keys = [0, 1, 2**64 - 1, 0x0123456789ABCDEF, 42]
    for key in keys:
        for length in (1, 2, 3, 4, 5, 8, 16, 64):
            context = tokens(length, 2**20)
            context[: length // 2] = -1 if key == 1 else context[: length // 2]
            low, high = key % 2**32, key >> 32
            numbers = torch.arange(8)
            words = getattr(philox, "_philox_uint32", None)
            if words is None:
                uniform = philox._philox_uniform(low, high, context[None], numbers)[0].double()
                values = [round(float(u) * (2**24 + 1) - 1) << 8 for u in uniform]
            else:
                values = words(low, high, context[None], numbers)[0].tolist()
            print("words", key, length, *context.tolist(), *values)
    for key in keys:
        texts = [[] for _ in range(2)]
        for seed in range(120):
            text = texts[seed % 2]
            context = ([-1] * 4 + text)[-4:]
            sample = watermarker(key, 4)._sample_watermarked(logits_of(seed), torch.tensor([context]))
            token = int(sample.token_ids[0])
            print("draw", key, seed, *context, token)
            text.append(token)
        for text in [*texts, tokens(200, 50).tolist(), tokens(40, 2).tolist(), [7], []]:
            for length, dedupes in ((4, True), (4, False), (1, True), (6, True)):
                found = detector(key, length, deduplicate_contexts=dedupes).detect(text)
                print("text", key, length, int(not dedupes), repr(found.score), found.num_scored_tokens,
                      repr(found.p_value), *text)


if __name__ == "__main__":
    main(*sys.argv[1:])
