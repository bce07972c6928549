"""Draws a token from each row of a file of f16 logits and prints the ids, 16 to a line.

usage: recorded_logits.py logits.f16
"""

import pathlib
import sys

import libsampler

NUM_COLS = 2048
IDS_PER_LINE = 16


def main(path):
    rows = memoryview(pathlib.Path(path).read_bytes()).cast("H")
    tokens = []
    with libsampler.Sampler(max_rows=1, max_cols=NUM_COLS) as sampler:
        for step in range(len(rows) // NUM_COLS):
            logits = libsampler.Rows(rows[step * NUM_COLS:(step + 1) * NUM_COLS],
                                     dtype=libsampler.Dtype.F16)
            tokens.append(sampler.top_k_top_p(logits, 50, 0.95, 0.8, 1, step)[0])
    for start in range(0, len(tokens), IDS_PER_LINE):
        print(*tokens[start:start + IDS_PER_LINE])


if __name__ == "__main__":
    main(*sys.argv[1:])
