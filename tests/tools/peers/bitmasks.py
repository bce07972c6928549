"""What xgrammar and llguidance make of logits and a bitmask, each by its own code for the CPU. xgrammar
leaves the tokens that the mask has no bit for, llguidance forbids them. Parameters have the library's own
names. The probabilities are the softmax of what is left."""

import importlib.metadata
import pathlib

import numpy
from llguidance import numpy as llguidance
from tvm_ffi import get_global_func
from tvm_ffi.libinfo import load_lib_module

import rows

NUM_CASES = 150  # of each


def load_xgrammar(peers):
    """Its function for numpy's arrays: its Python wraps that for torch's, which is not needed."""
    load_lib_module('xgrammar', 'xgrammar_bindings',
                    extra_lib_paths=[pathlib.Path(peers, 'xgrammar', 'xgrammar')])
    function = get_global_func('xgrammar.tvm_ffi_binding.kernels.apply_token_bitmask_inplace_cpu')

    def apply(logits, words):
        function(logits.ctypes.data, (1, len(logits)), (len(logits), 1), words.ctypes.data,
                 (1, len(words)), (len(words), 1), min(len(logits), 32 * len(words)), None, 'float32')
    return apply


def mask(rng, case):
    """Words, often too few for the row, sometimes too many."""
    num_words = (case.columns + 31) // 32 + rng.choice([0, 0, 0, -1, -1, 1])
    allowed = rng.choice([0.02, 0.3, 0.5, 0.98, 1])
    return numpy.array([sum(1 << bit for bit in range(32) if rng.random() < allowed)
                        for _ in range(num_words)], numpy.uint32).view(numpy.int32)


def cases(peers):
    engines = {'leaves': load_xgrammar(peers), 'forbids': llguidance.apply_token_bitmask_inplace}
    rng = rows.seeded('bitmasks')
    for number in range(NUM_CASES * len(engines)):
        rule = list(engines)[number % len(engines)]
        is_empty = True
        while is_empty:
            case = rows.Case(rng, 7000000 + number, holes=2 if number % 7 == 0 else 0)
            words = mask(rng, case)
            edited = case.logits.copy()
            engines[rule](edited, words)
            is_empty = not (edited > -numpy.inf).any()
        names = {'token_bitmask': words.view(numpy.uint32).tolist(), 'token_bitmask_rule': rule}
        yield rows.line(case, names, edited, *rows.softmax(edited))


def title(peers):
    wheel = next(pathlib.Path(peers, 'download').glob('xgrammar-*'))
    return 'xgrammar %s and llguidance %s' % (wheel.name.split('-')[1],
                                              importlib.metadata.version('llguidance'))
