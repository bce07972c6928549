#!/usr/bin/env python3
"""Times the Python package beside the ways to sample in Python, in one run: on CPU tensors of 128,256 f32.

usage: python_peers.py [--json FILE] [--columns N]

Rows are logit = -1.1 ln(rank) + N(0, 0.3), in random order. All have the same number of threads, torch's own.
The programs take turns of ten calls, of which the first four are not timed, or of one where it takes over 20 ms.
A time is the median of at least 5 calls and half a second. `x` is how many times
longer a peer takes than libsampler.torch. Peers:

- pytorch: what vLLM's sampler does without Triton: the whole row sorted, masks, softmax, noise;
- hugging_face: transformers' warpers, then torch.multinomial, where transformers is installed;
- multinomial: torch.multinomial of the softmax alone, without filters.
"""

import argparse
import json
import math
import os
import statistics
import time

import torch

import libsampler
import libsampler.flashinfer
import libsampler.torch

ROWS = (1, 8, 64)
CASES = {
    "top-k 50, top-p 0.95, T 0.8": {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
    "top-p 0.95, T 0.8": {"temperature": 0.8, "top_p": 0.95},
    "T 0.8": {"temperature": 0.8},
}
MIN_REPEATS, SECONDS = 5, 0.5


def rows_of(count, columns):
    generator = torch.Generator().manual_seed(1)
    logits = torch.empty(count, columns)
    for row in logits:
        ranks = torch.randperm(columns, generator=generator) + 1.0
        row.copy_(-1.1 * ranks.log() + 0.3 * torch.randn(columns, generator=generator))
    return logits


def pytorch(logits, temperature, top_k=None, top_p=None):
    logits = logits / temperature
    if top_k or top_p:
        ordered, ids = logits.sort(dim=-1)
        if top_k:
            ordered.masked_fill_(ordered < ordered[:, -top_k].unsqueeze(-1), -math.inf)
        if top_p:
            below = ordered.softmax(-1).cumsum(-1) <= 1 - top_p
            below[:, -1] = False
            ordered.masked_fill_(below, -math.inf)
        logits = torch.empty_like(logits).scatter_(-1, ids, ordered)
    probabilities = logits.softmax(-1)
    return probabilities.div_(torch.empty_like(probabilities).exponential_()).argmax(-1)


def hugging_face(transformers, logits, temperature, top_k=None, top_p=None):
    warpers = [transformers.TemperatureLogitsWarper(temperature)]
    warpers += [transformers.TopKLogitsWarper(top_k)] if top_k else []
    warpers += [transformers.TopPLogitsWarper(top_p)] if top_p else []
    scores = transformers.LogitsProcessorList(warpers)(None, logits)
    return torch.multinomial(scores.softmax(-1), 1)


def flashinfer(logits, seeds, offsets, temperature, top_k=0, top_p=1.0):
    sampling = libsampler.flashinfer.sampling
    return sampling.top_k_top_p_sampling_from_logits(logits / temperature, top_k, top_p, seed=seeds,
                                                     offset=offsets)


def programs(logits, options):
    seeds, offsets = torch.arange(len(logits)), torch.zeros(len(logits), dtype=torch.int64)
    found = {
        "libsampler.torch": lambda: libsampler.torch.sample(logits, seeds, offsets, **options),
        "libsampler.flashinfer": lambda: flashinfer(logits, seeds, offsets, **options),
        "pytorch": lambda: pytorch(logits, **options),
        "multinomial": lambda: torch.multinomial((logits / options["temperature"]).softmax(-1), 1),
    }
    try:
        import transformers
    except ModuleNotFoundError:
        return found
    return found | {"hugging_face": lambda: hugging_face(transformers, logits, **options)}


def timed(call):
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e6


def microseconds(calls):
    """Medians of programs that take turns."""
    turns = {name: (10, 4) if timed(call) + timed(call) < 40_000 else (1, 0) for name, call in calls.items()}
    times = {name: [] for name in calls}
    begin = time.perf_counter()
    while min(map(len, times.values())) < MIN_REPEATS or time.perf_counter() - begin < SECONDS * len(calls):
        for name, call in calls.items():
            count, untimed = turns[name]
            times[name] += [timed(call) for _ in range(count)][untimed:]
    return {name: statistics.median(values) for name, values in times.items()}


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith(("model name", "CPU part"))]
    return names[0] if names else "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--columns", type=int, default=128256)
    arguments = parser.parse_args()
    active = libsampler.capabilities().isa_active
    result = {
        "columns": arguments.columns, "processor": processor(), "cores": os.cpu_count(),
        "threads": torch.get_num_threads(), "libsampler": libsampler.version(),
        "isa": libsampler.ISA(active).name, "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"), "results": []}
    print(f"{result['processor']}, {result['isa']}, {result['threads']} threads, torch {torch.__version__}, "
          f"V = {arguments.columns:,}; microseconds (x)\n")
    for name, options in CASES.items():
        for count in ROWS:
            times = microseconds(programs(rows_of(count, arguments.columns), options))
            own = times["libsampler.torch"]
            result["results"].append({"case": name, "rows": count, "microseconds": times})
            cells = ", ".join(f"{program} {value:,.0f} ({value / own:.1f})" for program, value in times.items())
            print(f"{name}, B = {count}: {cells}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
