#!/usr/bin/env python3
"""Times torch on one CPU thread, and adds the results to a file of ./run bench --json.

usage: torch_peer.py FILE

Rows are those of the benchmark's kind `lm`, f32, one at a time. Results have "program": "torch VERSION";
those of an earlier run are replaced.
"""

import json
import math
import os
import statistics
import sys
import time

import torch

COLUMNS = (128256, 32000, 262144)
FEW_COLUMNS = 111  # many draws from one row
MIN_REPEATS, MAX_REPEATS, MAX_SECONDS = 5, 50, 0.5


def draw(weights):
    """A multinomial draw of any number of tokens, as vLLM writes it."""
    return (weights / torch.empty_like(weights).exponential_(1.0)).argmax(-1)


def top_p_of_sorted(logits, p):
    """Probabilities of logits in descending order, 0 outside the nucleus."""
    probabilities = logits.softmax(-1)
    return probabilities.masked_fill(probabilities.cumsum(-1) - probabilities >= p, 0)


def top_k_top_p(logits, k, p):
    values, ids = logits.topk(k)
    return ids[draw(top_p_of_sorted(values, p))]


def top_p(logits, p):
    values, ids = logits.sort(descending=True)
    return ids[draw(top_p_of_sorted(values, p))]


def min_p(logits, p):
    probabilities = logits.softmax(-1)
    return draw(probabilities.masked_fill(probabilities < p * probabilities.max(), 0))


def top_k_mask(logits, k):
    return logits.masked_fill(logits < logits.topk(k).values[-1], -math.inf)


OPERATIONS = {
    "greedy": lambda x: x.argmax(-1),
    "top_k50_top_p0.95": lambda x: top_k_top_p(x / 0.8, 50, 0.95),
    "top_k1000_top_p0.95": lambda x: top_k_top_p(x, 1000, 0.95),
    "min_p0.05": lambda x: min_p(x / 0.8, 0.05),
    "temperature0.8": lambda x: draw((x / 0.8).softmax(-1)),
    "top_p0.95": lambda x: top_p(x / 0.8, 0.95),
    "draws10000": lambda x: torch.multinomial((x / 0.8).softmax(-1), 10000, replacement=True),
    "softmax": lambda x: x.softmax(-1),
    "top_k_mask50": lambda x: top_k_mask(x, 50),
    "top_k_select50": lambda x: x.topk(50),
}


def language_row(num_cols):
    ranks = torch.arange(1, num_cols + 1, dtype=torch.float64)
    row = -1.1 * ranks.log() + 0.3 * torch.randn(num_cols, dtype=torch.float64)
    return row[torch.randperm(num_cols)].float()


def times_of(operation, row):
    """Times in microseconds; a maximum before each call leaves the row in the cache."""
    operation(row)
    times = []
    begin = time.perf_counter()
    while len(times) < MAX_REPEATS:
        if len(times) >= MIN_REPEATS and time.perf_counter() - begin > MAX_SECONDS:
            break
        row.max()
        start = time.perf_counter()
        operation(row)
        times.append((time.perf_counter() - start) * 1e6)
    return times


def main(path):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    program = f"torch {torch.__version__}"
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    cells = [c for c in report["benchmarks"] if not c.get("program", "").startswith("torch ")]
    for num_cols in (*COLUMNS, FEW_COLUMNS):
        row = language_row(num_cols)
        for operation, call in OPERATIONS.items():
            if num_cols == FEW_COLUMNS and not operation.startswith("draws"):
                continue
            times = times_of(call, row)
            shape = f"{operation}/lm/V={num_cols}/B=1/f32"
            cells.append({
                "name": f"torch/{shape}", "run_type": "iteration", "iterations": len(times),
                "real_time": statistics.median(times), "time_unit": "us", "program": program,
                "operation": operation, "rows": "lm", "num_rows": 1, "num_cols": num_cols,
                "dtype": "f32", "best_us": min(times),
            })
            print(f"{program} {shape:46} {cells[-1]['real_time']:10.1f} us", flush=True)
    report["benchmarks"] = cells
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    os.replace(path + ".partial", path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with torch.inference_mode():
        main(sys.argv[1])
