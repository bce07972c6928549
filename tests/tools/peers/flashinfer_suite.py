"""Runs FlashInfer's own tests of its samplers with libsampler.flashinfer in FlashInfer's place.

    python flashinfer_suite.py FOLDER COPY [--largest N] [PYTEST_OPTION...]

FOLDER is FlashInfer's `tests`, or has test_sampling.py and test_logits_processor.py. The copies in COPY differ
in the device alone: "cuda:0" is "cpu", unless there is CUDA. Tests of more than N logits (batch times
vocabulary, by default 4 million) are left out: FlashInfer's largest have 127 million, for a GPU.
"""

import argparse
import pathlib
import re
import sys

import pytest
import torch

import libsampler.flashinfer

FILES = ("test_sampling.py", "test_logits_processor.py")
BATCH_OF_UNNAMED = 1024 * 128 * 1024  # tests without parameters of these names have this many logits
ON_A_CPU = (
    (r'"cuda(:0)?"', '"cpu"'),
    (r"torch\.cuda\.synchronize\(\)", "None"),
)


def copy_tests(folder, copy, on_cpu):
    copy.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        found = sorted(folder.rglob(name))
        if len(found) != 1:
            sys.exit(f"{folder} has {len(found)} files {name}; it must have one")
        text = found[0].read_text()
        for pattern, replacement in ON_A_CPU if on_cpu else ():
            text = re.sub(pattern, replacement, text)
        (copy / name).write_text(text)


class InFlashInfersPlace:
    """A plugin of pytest: the name `flashinfer`, and the choice of tests by size."""

    def __init__(self, largest):
        self.largest = largest
        for name in ("", ".sampling", ".logits_processor"):
            sys.modules[f"flashinfer{name}"] = sys.modules[f"libsampler.flashinfer{name}"]

    def logits(self, item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "vocab_size" not in parameters:
            return BATCH_OF_UNNAMED
        rows = parameters.get("batch_size", 1) * (parameters.get("num_speculate_tokens", 0) + 1)
        return rows * parameters["vocab_size"]

    def pytest_collection_modifyitems(self, config, items):
        left_out = [item for item in items if self.logits(item) > self.largest]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if self.logits(item) <= self.largest]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("copy", type=pathlib.Path)
    parser.add_argument("--largest", type=int, default=4_000_000)
    arguments, options = parser.parse_known_args()
    copy_tests(arguments.folder, arguments.copy, not torch.cuda.is_available())
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", str(arguments.copy), *options],
                         plugins=[InFlashInfersPlace(arguments.largest)]))


if __name__ == "__main__":
    main()
