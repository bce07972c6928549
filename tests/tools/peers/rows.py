"""Random rows and requests, and the lines that tests/presets replays.

A line is a case; its parts stand between " ; ":

    COLUMNS SEED STEP SCALE HOLES ; PARAMETERS ; PROMPT ; OUTPUT ; EDITED ; KEPT ; PROBABILITIES

The first part makes the logits: see `logits`. PARAMETERS are JSON in the engine's own names. PROMPT and
OUTPUT are token ids. EDITED is a hash of the bits of the logits after biases, bans and penalties, "-"
where they depend on the engine's C library or on how it adds up. KEPT is a hexadecimal number, bit i for
token i. PROBABILITIES are those of the kept tokens by ascending id, hexadecimal, in units of 2^-30. Where
a coin decides, a second KEPT and PROBABILITIES are of its other side.
"""

import json
import random

import numpy

MASK = (1 << 64) - 1


def mix(z):
    """splitmix64 (Steele, Lea, Flood 2014)."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def logits(columns, seed, step, scale, holes):
    """f32 logits: about normal, in multiples of 2^step, times scale / 2^21. `holes` of 8 are -inf."""
    row = numpy.empty(columns, numpy.float32)
    for i in range(columns):
        first = mix(seed << 32 | i)
        second = mix(first)
        number = sum(first >> shift & 0xFFFF for shift in (0, 16, 32, 48)) * 16 + (second & 15)
        number = (number >> step << step) - 2097120
        is_hole = i > 0 and second >> 32 & 7 < holes
        row[i] = -numpy.inf if is_hole else numpy.float32(number * scale) * numpy.float32(2.0**-21)
    return row


class Case:
    """A row and what a request has said; the parameters are the recorder's to choose."""

    def __init__(self, rng, seed, step=0, holes=0):
        self.columns = rng.choice([40, 40, 60, 100, 100, 200, 400])
        self.row = (self.columns, seed, step, rng.randrange(6, 26), holes)
        self.logits = logits(*self.row)
        num_ids = min(self.columns, rng.choice([3, 6, 12, 40]))
        text = [rng.randrange(num_ids) for _ in range(rng.randrange(8, 80))]
        prompt_length = rng.randrange(4, len(text) - 2)
        self.prompt, self.output = text[:prompt_length], text[prompt_length:]

    @property
    def text(self):
        return self.prompt + self.output

    def some_ids(self, rng, most):
        return rng.sample(range(self.columns), rng.randrange(1, most))

    def words(self, rng, text):
        """Words of one to three tokens, the last of which is often banned after `text`."""
        words = []
        for _ in range(rng.randrange(1, 6)):
            length = rng.choice([1, 2, 2, 3])
            word = [rng.randrange(self.columns) for _ in range(length)]
            if 1 < length < len(text) and rng.random() < 0.7:
                word[:-1] = text[len(text) - length + 1:]
            if word not in words:
                words.append(word)
        return words


def hash_of(logits):
    """A hash of the logits as f32; -0 is 0."""
    result = 0
    for bits in (numpy.asarray(logits, numpy.float32) + numpy.float32(0)).view(numpy.uint32):
        result = mix(result ^ int(bits))
    return '%x' % result


def softmax(logits):
    """The tokens that may be drawn, and their probabilities, in f64."""
    logits = logits.astype(numpy.float64)
    weights = numpy.exp(logits - logits.max())
    return logits > -numpy.inf, weights / weights.sum()


def kept_parts(kept, probabilities):
    """KEPT and PROBABILITIES."""
    probabilities = numpy.asarray(probabilities, numpy.float64)
    ids = [int(i) for i in numpy.flatnonzero(kept)]
    return ['%x' % sum(1 << i for i in ids),
            ' '.join('%x' % round(probabilities[i] * 2**30) for i in ids)]


def case_parts(case, parameters):
    """What comes before EDITED."""
    return [' '.join(map(str, case.row)), json.dumps(parameters, separators=(',', ':')),
            ' '.join(map(str, case.prompt)), ' '.join(map(str, case.output))]


def line(case, parameters, edited, kept, probabilities, other=None):
    """`edited` None: the bits are not to be compared. `other`: kept, probabilities."""
    return ' ; '.join([
        *case_parts(case, parameters), '-' if edited is None else hash_of(edited),
        *kept_parts(kept, probabilities), *(kept_parts(*other) if other else [])])


def short(number):
    """Few digits, and the f32 that they mean in every program."""
    return float('%.3g' % number)


def pick(rng, chances):
    """The entries of {name: (probability, function)} that a coin chooses, with their values."""
    return {name: value() for name, (chance, value) in chances.items() if rng.random() < chance}


def write(path, title, cases):
    with open(path, 'w') as out:
        out.write('# %s\n# By tests/tools/peers; rows.py there says what a line means.\n' % title)
        for one in cases:
            out.write(one + '\n')


def seeded(engine):
    return random.Random(engine)
