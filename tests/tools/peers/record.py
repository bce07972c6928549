#!/usr/bin/env python3
"""Records what engines make of random logits, for tests/presets to replay.

    record.py PEERS OUTPUT [ENGINE...]

PEERS is where tools/run/peers.sh has put the engines, OUTPUT tests/presets. Without engines: all. Each
is recorded by a process of its own: two of them import parts of vLLM that do not go together.
"""

import importlib
import pathlib
import subprocess
import sys

import rows

# The module of each, and the file that it makes.
ENGINES = {
    'hugging_face': 'hugging_face', 'llama_cpp': 'llama_cpp',
    'llama_cpp_adaptive': 'llama_cpp_adaptive', 'vllm': 'vllm_sampler',
    'vllm_v2': 'vllm_v2_sampler', 'sglang': 'sglang_sampler', 'flashinfer': 'flashinfer_rules',
    'bitmasks': 'bitmasks', 'guidance': 'guidance', 'edges': 'edges',
    'edges_vllm_v2': 'edges_vllm_v2',
}


def record(peers, output, name):
    engine = importlib.import_module(ENGINES[name])
    path = pathlib.Path(output, name + '.txt')
    rows.write(path, engine.title(peers), engine.cases(peers))
    print('%s: %d KB' % (path, path.stat().st_size // 1024))


def main():
    peers, output, *names = sys.argv[1:]
    if len(names) == 1:
        record(peers, output, names[0])
        return
    for name in names or ENGINES:
        subprocess.run([sys.executable, '-W', 'ignore', __file__, peers, output, name], check=True)


main()
