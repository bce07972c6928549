#!/usr/bin/env python3
"""Times torch, and FlashInfer where it is installed, on the cells of gpu_check.

The JSON has gpu_check's format and names of cells; each cell also has its "program".
Needs only torch; without it, or without a CUDA device, it prints so and exits with status 0.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import time

REPEATS = 50
MIN_REPEATS = 5
MAX_SECONDS_PER_SERIES = 0.5
HOT_CALLS_PER_GRAPH = 16
MAX_CALLS_PER_GRAPH = 320
COLD_BYTES = 192 << 20
MAX_POOL_BYTES = 20 << 30
NUM_DRAFTS = 7

LOGITS, PROBABILITIES, CHAIN = range(3)


def torch_operations(torch):
    """Name: (what the inputs are, function). The usual ways to write these in torch."""

    def draw(weights):
        # A multinomial draw without a synchronisation, as vLLM does it.
        return (weights / torch.empty_like(weights).exponential_(1.0)).argmax(-1)

    def top_k_top_p_logits(logits, k, p):
        ordered, index = logits.float().sort(dim=-1)
        ordered.masked_fill_(ordered < ordered[:, -k].unsqueeze(1), -math.inf)
        below = ordered.softmax(-1).cumsum(-1) <= 1 - p
        below[:, -1] = False
        ordered.masked_fill_(below, -math.inf)
        return ordered.scatter(-1, index, ordered)

    def top_p_probabilities(probabilities, p):
        ordered, index = probabilities.float().sort(dim=-1, descending=True)
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered >= p * ordered.sum(-1, True), 0)
        return ordered, index

    def top_p(logits, p):
        ordered, index = top_p_probabilities(logits.float().softmax(-1), p)
        return index.gather(-1, draw(ordered).unsqueeze(1))

    def top_k(logits, k):
        values, index = logits.topk(k, dim=-1)
        return index.gather(-1, draw(values.float().softmax(-1)).unsqueeze(1))

    def min_p(logits, p):
        probabilities = logits.float().softmax(-1)
        limit = p * probabilities.amax(-1, keepdim=True)
        return draw(probabilities.masked_fill(probabilities < limit, 0))

    def top_k_renorm(probabilities, k):
        limit = probabilities.topk(k, dim=-1).values[:, -1:]
        kept = probabilities.float().masked_fill(probabilities < limit, 0)
        return (kept / kept.sum(-1, keepdim=True)).to(probabilities.dtype)

    def top_p_renorm(probabilities, p):
        ordered, index = top_p_probabilities(probabilities, p)
        kept = torch.zeros_like(ordered).scatter(-1, index, ordered)
        return (kept / kept.sum(-1, keepdim=True)).to(probabilities.dtype)

    def top_k_mask(logits, k):
        limit = logits.topk(k, dim=-1).values[:, -1:]
        return logits.masked_fill(logits < limit, -math.inf)

    return {
        "top_k50_top_p0.9": (LOGITS, lambda x: draw(top_k_top_p_logits(x, 50, 0.9).softmax(-1))),
        "top_p0.9": (LOGITS, lambda x: top_p(x, 0.9)),
        "greedy": (LOGITS, lambda x: x.argmax(-1)),
        "temperature": (LOGITS, lambda x: draw((x.float() / 0.8).softmax(-1))),
        "softmax": (LOGITS, lambda x: x.softmax(-1)),
        "min_p0.05": (LOGITS, lambda x: min_p(x, 0.05)),
        "top_k1000": (LOGITS, lambda x: top_k(x, 1000)),
        "top_k_mask50": (LOGITS, lambda x: top_k_mask(x, 50)),
        "top_k_renorm50": (PROBABILITIES, lambda x: top_k_renorm(x, 50)),
        "top_p_renorm0.9": (PROBABILITIES, lambda x: top_p_renorm(x, 0.9)),
    }


def flashinfer_operations(torch, sampling):
    def chain(inputs):
        draft, ids, target = inputs
        return sampling.chain_speculative_sampling(draft, ids, target)

    def top_k_top_p(logits, order):
        return sampling.top_k_top_p_sampling_from_logits(logits, 50, 0.9, filter_apply_order=order)

    def from_logits(sample, *parameters, temperature=1.0):
        return lambda x: sample((x.float() / temperature).softmax(-1), *parameters)

    return {
        "top_k50_top_p0.9": (LOGITS, lambda x: top_k_top_p(x, "top_k_first")),
        "joint": (LOGITS, lambda x: top_k_top_p(x, "joint")),
        "top_p0.9": (LOGITS, from_logits(sampling.top_p_sampling_from_probs, 0.9)),
        "temperature": (LOGITS, from_logits(sampling.sampling_from_probs, temperature=0.8)),
        "softmax": (LOGITS, sampling.softmax),
        "min_p0.05": (LOGITS, from_logits(sampling.min_p_sampling_from_probs, 0.05)),
        "top_k1000": (LOGITS, from_logits(sampling.top_k_sampling_from_probs, 1000)),
        "top_k_mask50": (LOGITS, lambda x: sampling.top_k_mask_logits(x, 50)),
        "top_k_renorm50": (PROBABILITIES, lambda x: sampling.top_k_renorm_probs(x, 50)),
        "top_p_renorm0.9": (PROBABILITIES, lambda x: sampling.top_p_renorm_probs(x, 0.9)),
        "chain7": (CHAIN, chain),
    }


def series(calls_per_repeat, measure):
    measure()
    times = []
    begin = time.monotonic()
    while len(times) < REPEATS:
        if len(times) >= MIN_REPEATS and time.monotonic() - begin > MAX_SECONDS_PER_SERIES:
            break
        times.append(measure() / calls_per_repeat)
    return {
        "median_us": statistics.median(times),
        "best_us": min(times),
        "repeats": len(times),
        "calls_per_repeat": calls_per_repeat,
    }


class Timer:
    def __init__(self, torch):
        self.torch = torch
        self.start = torch.cuda.Event(enable_timing=True)
        self.stop = torch.cuda.Event(enable_timing=True)

    def inputs(self, kind, num_rows, num_cols, dtype):
        """Different inputs, together larger than a cache: views of a few random rows."""
        torch = self.torch
        width = dtype.itemsize
        rows = num_rows * (1 if kind != CHAIN else 2 * NUM_DRAFTS + 1)
        bytes_each = rows * num_cols * width
        bytes_read = num_rows * num_cols * width * (2 if kind == CHAIN else 1)
        room = min(MAX_POOL_BYTES, torch.cuda.mem_get_info()[0] // 4)
        if bytes_each > room:
            return []
        count = max(1, min(COLD_BYTES // bytes_read + 1, MAX_CALLS_PER_GRAPH, room // bytes_each))
        return [self.one_input(kind, num_rows, num_cols, dtype) for _ in range(count)]

    def one_input(self, kind, num_rows, num_cols, dtype):
        torch = self.torch

        def values(rows, probabilities):
            result = torch.empty(rows, num_cols, dtype=dtype, device="cuda")
            for begin in range(0, rows, 256):  # bounds the memory of intermediate results
                part = result[begin : begin + 256]
                logits = -1.1 * torch.log1p(torch.rand(part.shape, device="cuda") * num_cols)
                logits += 0.3 * torch.randn(part.shape, device="cuda")
                part.copy_(logits.softmax(-1) if probabilities else logits)
            return result

        if kind != CHAIN:
            return values(num_rows, kind == PROBABILITIES)
        shape = (num_rows, -1, num_cols)
        ids = torch.zeros(num_rows, NUM_DRAFTS, dtype=torch.int32, device="cuda")
        return (
            values(num_rows * NUM_DRAFTS, True).view(shape),
            ids,
            values(num_rows * (NUM_DRAFTS + 1), True).view(shape),
        )

    def between_events(self, work):
        self.start.record()
        work()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) * 1e3

    def kernel(self, call, inputs, num_calls):
        """Time of a call in a graph; if it cannot be captured, of eager calls, and False."""
        torch = self.torch

        def all_calls():
            for i in range(num_calls):
                call(inputs[i % len(inputs)])

        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                all_calls()
            return series(num_calls, lambda: self.between_events(graph.replay)), True
        except RuntimeError:
            torch.cuda.synchronize()
            return series(num_calls, lambda: self.between_events(all_calls)), False

    def wall(self, call, inputs, waits):
        numbers = iter(range(1 << 30))

        def measure():
            self.torch.cuda.synchronize()
            begin = time.perf_counter()
            call(inputs[next(numbers) % len(inputs)])
            if waits:
                self.torch.cuda.synchronize()
            return (time.perf_counter() - begin) * 1e6

        return series(1, measure)

    def cell(self, call, inputs):
        call(inputs[0])
        self.torch.cuda.synchronize()
        cold, is_graph = self.kernel(call, inputs, max(len(inputs), 4))
        hot, _ = self.kernel(call, inputs[:1], HOT_CALLS_PER_GRAPH)
        return {
            "graph": is_graph,
            "kernel_cold": cold,
            "kernel_hot": hot,
            "wall": self.wall(call, inputs, True),
            "enqueue": self.wall(call, inputs, False),
        }


def cells(operations):
    """The cells, most important first."""
    columns = {128256: 0, 32000: 3, 262144: 4}
    rows = {1: 0, 64: 0, 1024: 0, 256: 1, 16: 2, 4: 3}
    types = {"f32": 0, "bf16": 2}
    result = [(c, t, o, r) for c in columns for t in types for o in operations for r in rows]
    return sorted(result, key=lambda cell: columns[cell[0]] + types[cell[1]] + rows[cell[3]])


def write(path, report):
    with open(path + ".partial", "w") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".partial", path)


def describe(torch, programs):
    properties = torch.cuda.get_device_properties(0)
    return {
        "program": " and ".join(programs),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": properties.name,
        "compute_capability": properties.major * 10 + properties.minor,
        "multiprocessors": properties.multi_processor_count,
        "runtime_cuda_version": torch.version.cuda,
    }


def measure_all(torch, programs, arguments):
    report = {"run": describe(torch, programs), "cells": []}
    names = list(dict.fromkeys(name for table in programs.values() for name in table))
    timer = Timer(torch)
    begin = time.monotonic()
    for num_cols, type_name, operation, num_rows in cells(names):
        name = f"{operation}/B={num_rows}/V={num_cols}/{type_name}"
        if arguments.filter not in name:
            continue
        for program, table in programs.items():
            if operation not in table or time.monotonic() - begin > arguments.budget:
                continue
            kind, call = table[operation]
            dtype = torch.float32 if type_name == "f32" else torch.bfloat16
            try:
                inputs = timer.inputs(kind, num_rows, num_cols, dtype)
                if not inputs:
                    continue
                times = timer.cell(call, inputs)
            except Exception as error:  # an operation that a peer refuses is no reason to stop
                print(f"{program} {name}: {type(error).__name__}: {error}".splitlines()[0])
                continue
            finally:
                inputs = None
                torch.cuda.empty_cache()
            shape = {"num_rows": num_rows, "num_cols": num_cols, "dtype": type_name}
            report["cells"].append(
                {"name": name, "program": program, "operation": operation, **shape, **times}
            )
            report["run"]["seconds"] = time.monotonic() - begin
            write(arguments.json, report)
            cold, hot = times["kernel_cold"]["median_us"], times["kernel_hot"]["median_us"]
            print(f"{program:20} {name:36} cold {cold:9.2f} us  hot {hot:9.2f} us", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", default="torch.json", help="rewritten after every cell")
    parser.add_argument("--budget", type=float, default=480, help="seconds")
    parser.add_argument("--filter", default="", help="only cells whose name contains this text")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("skipped: torch is not installed")
        return
    if not torch.cuda.is_available():
        print("skipped: torch finds no CUDA device")
        return
    programs = {f"torch {torch.__version__}": torch_operations(torch)}
    try:
        import flashinfer

        programs[f"flashinfer {flashinfer.__version__}"] = flashinfer_operations(
            torch, flashinfer.sampling
        )
    except ImportError:
        print("flashinfer is not installed: torch alone")
    measure_all(torch, programs, arguments)


if __name__ == "__main__":
    main()
