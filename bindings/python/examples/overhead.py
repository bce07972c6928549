"""Tells how long a call takes whose row is so short that the way to the library is what counts: the
call of README.md. Prints one line of JSON, as the same programs of other languages do.

usage: overhead.py [array | numpy | torch]    what the arrays are; array.array by default
"""

import array
import json
import sys
import time

import libsampler

NUM_CALLS = 200_000
NUM_REPEATS = 5
LOGITS = [2.0, 2.5, 1.5, -1.0, 0.0]


def arrays(kind):
    if kind == "numpy":
        import numpy

        return numpy.array([LOGITS], numpy.float32), numpy.empty(1, numpy.int32)
    if kind == "torch":
        import torch

        return torch.tensor([LOGITS]), torch.empty(1, dtype=torch.int32)
    return array.array("f", LOGITS), array.array("i", [0])


def ns_per_call(sampler, logits, token_ids, first):
    draw = sampler.top_k_top_p
    start = time.perf_counter_ns()
    for step in range(first, first + NUM_CALLS):
        draw(logits, 3, 0.95, 0.8, 1, step, token_ids)
    return (time.perf_counter_ns() - start) / NUM_CALLS


def main(kind="array"):
    logits, token_ids = arrays(kind)
    with libsampler.Sampler(max_rows=1, max_cols=len(LOGITS)) as sampler:
        ns_per_call(sampler, logits, token_ids, 0)  # warms up
        repeats = [ns_per_call(sampler, logits, token_ids, (i + 1) * NUM_CALLS)
                   for i in range(NUM_REPEATS)]
    print(json.dumps({"language": "python", "ns_per_call": round(sorted(repeats)[2], 1),
                      "repeats": [round(ns, 1) for ns in repeats]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
