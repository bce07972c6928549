#!/usr/bin/env python3
"""Records what engines make of random logits, for tests/presets to replay.

    record.py PEERS OUTPUT [ENGINE...]

PEERS is where tools/run/peers.sh has put the engines, OUTPUT tests/presets. Without engines: all.
"""

import importlib
import pathlib
import sys

import rows

# The module of each, and the file that it makes.
ENGINES = {
    'hugging_face': 'hugging_face', 'llama_cpp': 'llama_cpp',
    'llama_cpp_adaptive': 'llama_cpp_adaptive', 'vllm': 'vllm_sampler', 'sglang': 'sglang_sampler',
    'flashinfer': 'flashinfer_rules', 'bitmasks': 'bitmasks',
}


def main():
    peers, output, *names = sys.argv[1:]
    for name in names or ENGINES:
        engine = importlib.import_module(ENGINES[name])
        path = pathlib.Path(output, name + '.txt')
        rows.write(path, engine.title(peers), engine.cases(peers))
        print('%s: %d KB' % (path, path.stat().st_size // 1024))


main()
