"""What engines keep where a sum of probabilities is a filter's share exactly, or a probability its threshold.

The logits are multiples of ln 2, so that the probabilities of a row are powers of two, or equal: all engines have
them without an error. The lines are those of rows.py, after the name of a preset; in place of what makes the
logits they have "bits" and the bits of each. Top-h is not among them: its entropies are rounded in any engine.
"""

import numpy

import flashinfer_rules
import hugging_face
import llama_cpp
import rows
import sglang_sampler
import vllm_sampler

LN_2 = numpy.float32(numpy.log(2))

# By token of a row: how many times ln 2 its logit lies below 0.
ROWS = [
    [0, 1, 2, 2],
    [2, 0, 2, 1],
    [0] * 8,
    [0] * 16,
    [1, 0, 1, 0, 1, 1],
    [7, 0, 1, 2, 3, 4, 5, 6, 7],
    [2, 1, 2, 0, 1, 2, 0, 2],
]
SHARES = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875]
# Tokens that equal the likeliest one, none of which reaches a threshold.
TIED_ROWS = [[0, 0, 0, 1, 2, 2, 3, 3], [0, 0, 2, 2]]


class Case:
    prompt, output = [0], []

    def __init__(self, levels):
        self.logits = numpy.array(levels, numpy.float32) * -LN_2
        self.probabilities = 2.0**-numpy.array(levels) / numpy.sum(2.0**-numpy.array(levels))
        self.columns = len(levels)
        # Whether the likeliest tokens tie, or any others but the least likely ones.
        self.has_ties = levels.count(min(levels)) > 1 or len(set(levels)) < sum(
            level < max(levels) for level in levels) + 1
        self.row = ['bits', *('%x' % bits for bits in self.logits.view(numpy.uint32))]

    @property
    def text(self):
        return self.prompt + self.output


def each(name, *others, values=SHARES, levels=ROWS):
    """The parameters of every row and value, after those of `others`."""
    for row in levels:
        for value in values:
            yield Case(row), {**dict(others), name: value}


def of_hugging_face(_):
    plain = ('do_sample', True), ('top_k', 0)
    for name in ('top_p', 'min_p', 'typical_p', 'epsilon_cutoff', 'eta_cutoff'):
        yield from each(name, *plain)
    yield from each('top_p', plain[0], ('top_k', 4))
    for name in ('epsilon_cutoff', 'eta_cutoff'):
        yield from each(name, *plain, values=[0.5], levels=TIED_ROWS)


def of_llama_cpp(_):
    plain = ('top_k', 0), ('top_p', 1.0), ('min_p', 0.0), ('temperature', 1.0)
    for name in ('top_p', 'min_p', 'typical_p'):
        yield from each(name, *plain)
    yield from each('top_p', ('top_k', 4), *plain[2:])
    yield from each('xtc_threshold', ('xtc_probability', 1.0), *plain, values=[0.125, 0.25, 0.5])
    yield from each('top_n_sigma', *plain, values=[1.0, 2.0], levels=[[0, 0, 4, 4], [0, 0, 2, 2, 0, 0, 2, 2]])


def of_vllm(_):
    for name in ('top_p', 'min_p'):
        yield from each(name)
    yield from each('top_p', ('top_k', 4))


def of_sglang(_):
    yield from of_vllm(_)
    yield from each('top_p', ('min_p', 0.25))


def of_flashinfer(_):
    yield from of_vllm(_)
    yield from each('top_p', ('top_k', 4), ('filter_apply_order', 'joint'))


def line(preset, case, names, kept, probabilities):
    return '%s ; %s' % (preset, rows.line(case, names, None, kept, probabilities))


def cases(peers):
    llama = llama_cpp.Llama(peers)
    vllm, sglang = vllm_sampler.load(peers), sglang_sampler.load(peers)
    engines = {
        'hugging_face': (of_hugging_face, hugging_face.recorded),
        'llama.cpp': (of_llama_cpp, lambda *one: llama_cpp.recorded(llama, *one)),
        'vllm': (of_vllm, lambda *one: vllm_sampler.recorded(vllm, *one)),
        'sglang': (of_sglang, lambda *one: sglang_sampler.recorded(sglang, *one)),
        'flashinfer': (of_flashinfer, lambda case, names: (
            None, *flashinfer_rules.filtered(case.probabilities, names))),
    }
    for preset, (rows_of, recorded) in engines.items():
        for case, names in rows_of(peers):
            yield line(preset, case, names, *recorded(case, names)[1:])


def title(peers):
    return '; '.join(engine.title(peers) for engine in
                     (hugging_face, llama_cpp, vllm_sampler, sglang_sampler, flashinfer_rules))
