"""What FlashInfer's kernels keep, by the rules that they accept tokens by.

The kernels need a GPU. Their rules, which upstream's tests/utils/test_sampling.py checks them against: top-k
keeps what is at least the k-th largest; top-p what less than p lies strictly above; min-p what is at least
min_p times the largest. "top_k_first" gives top-p what top-k left, renormalised; "joint" the whole row.
Callers put min-p last (SGLang).
"""

import pathlib

import numpy

import rows

NUM_CASES = 600


def softmax(logits):
    weights = numpy.exp(logits - logits.max())
    return weights / weights.sum()


def top_k(probabilities, k):
    least = numpy.sort(probabilities)[::-1][min(k, len(probabilities)) - 1]
    return probabilities >= least


def top_p(probabilities, p):
    return numpy.array([probabilities[probabilities > x].sum() < p for x in probabilities])


def renormalised(probabilities, kept):
    left = numpy.where(kept, probabilities, 0)
    return left / left.sum()


def filtered(given, names):
    row = given
    if 'top_k' in names:
        row = renormalised(row, top_k(given, names['top_k']))
    if 'top_p' in names:
        seen = given if names.get('filter_apply_order') == 'joint' else row
        row = renormalised(row, top_p(seen, float(numpy.float32(names['top_p']))))
    if 'min_p' in names:
        row = renormalised(row, row >= row.max() * float(numpy.float32(names['min_p'])))
    return row > 0, row


def recorded(case, names):
    temperature = numpy.float32(names.get('temperature', 1))
    return filtered(softmax(case.logits.astype(numpy.float64) / temperature), names)


def parameters(rng):
    def within(low, high):
        return lambda: rows.short(rng.uniform(low, high))
    names = rows.pick(rng, {
        'temperature': (0.6, within(0.5, 2)),
        'top_k': (0.6, lambda: rng.choice([1, 2, 5, 20, 100, 400])),
        'top_p': (0.6, within(0.05, 0.99)),
        'filter_apply_order': (0.5, lambda: rng.choice(['top_k_first', 'joint'])),
    })
    if names.get('filter_apply_order') != 'joint' and rng.random() < 0.4:
        names['min_p'] = rows.short(rng.uniform(0.001, 0.4))
    return names


def cases(_):
    rng = rows.seeded('flashinfer')
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 4000000 + seed, step=18 if seed % 3 == 0 else 0,
                         holes=2 if seed % 7 == 0 else 0)
        names = parameters(rng)
        yield rows.line(case, names, case.logits, *recorded(case, names))


def title(peers):
    wheel = next(pathlib.Path(peers, 'download').glob('flashinfer_python-*'))
    return 'The rules of flashinfer %s' % wheel.name.split('-')[1]
