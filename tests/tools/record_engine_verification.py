#!/usr/bin/env python3
"""Records what engines make of drafts, for tests/verification/engine_golden_test.cpp to replay.

    record_engine_verification.py PEERS > tests/verification/engine_golden.txt

PEERS is where tools/run/peers.sh has put the engines. Their own code decides: kernels in Triton by
Triton's interpreter, kernels in CUDA C++ compiled for the host, a block of one thread. What is not
theirs is the randomness: each engine gets, in the place of its own uniform numbers, those that the
library makes of a sequence's seed, so that its tokens are to be the library's.
"""

import os
import pathlib
import sys

os.environ['TRITON_INTERPRET'] = '1'
sys.path.insert(0, os.fspath(pathlib.Path(__file__).parent / 'peers'))

import chains
import cuda_verification
import sglang_verification
import vllm_verification

HEAD = '''# row tp, dp: probabilities in 1/256 of targets and drafters; tl, dl: logits in 1/16, . is -infinity.
# call: engine, rule, the most drafts of a sequence. seq: x drafts, p and q numbers of their rows, at
# positions, temperature in 1/8.'''


def main():
    peers = sys.argv[1]
    rows = chains.Rows(chains.seeded('rows'))
    vllm = vllm_verification.load(peers)
    sglang = sglang_verification.load(peers)
    kernels = cuda_verification.load(peers)
    names = [path.name.split('-')[:2] for path in sorted(pathlib.Path(peers, 'download').iterdir())]
    print('# Recorded by tests/tools/record_engine_verification.py of',
          ', '.join(' '.join(name) for name in names if name[0] in (
              'vllm', 'sglang', 'flashinfer_python')))
    print(HEAD)
    for line in rows.lines():
        print(line)
    for calls in (vllm_verification.v2_calls(vllm, rows), vllm_verification.v1_calls(vllm, rows),
                  sglang_verification.calls(sglang, rows), cuda_verification.calls(kernels, rows)):
        for line in calls:
            print(line)


main()
