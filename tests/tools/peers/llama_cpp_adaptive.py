"""What mirostat and adaptive-p of llama.cpp keep at each step of a text, and what they then remember.

A line is a text; its parts stand between " ; ":

    COLUMNS SEED STEP SCALE HOLES ; PARAMETERS ; PROMPT ; OUTPUT ; KEPT ; PROBABILITIES ; TOKEN VALUES ; ...

The first four are those of rows.py; the logits of each step have the seed after that of the step before. A
step is three parts: KEPT and PROBABILITIES as in rows.py, then the token that llama.cpp has drawn of them,
and what the sampler remembers when it has accepted it, the bits of f32 in hexadecimal: mirostat's mu, or
adaptive-p's weighted sum and total weight.
"""

import ctypes
import struct

import llama_cpp
import rows
from llama_cpp import f32, i32

NUM_TEXTS = 50  # of each kind
NUM_STEPS = 8
NUM_RANKED = 100  # tokens that mirostat's first version looks at: m of common_sampler_init


class Memory:
    """What a sampler holds. Its struct is llama.cpp's own business, so the numbers that it was made with
    must stand where they are looked for."""

    def __init__(self, sampler, known, first_value, num_values):
        self.at = ctypes.cast(sampler, ctypes.POINTER(ctypes.c_void_p))[1]
        self.first_value, self.num_values = first_value, num_values
        for offset, number in known.items():
            if self.read(offset, 1) != struct.pack('f', number):
                raise SystemExit('llama.cpp has another struct of this sampler')

    def read(self, offset, count):
        return ctypes.string_at(self.at + offset, 4 * count)

    def values(self):
        return struct.unpack('%dI' % self.num_values, self.read(self.first_value, self.num_values))


SIZE_OF_MT19937 = 625 * 8  # libstdc++


def mirostat(llama, case, n):
    """The sampler of `mirostat` 1 or 2, and its memory."""
    tau, eta = n['mirostat_tau'], n['mirostat_eta']
    seed = ctypes.c_uint32(case.row[1])
    if n['mirostat'] == 1:
        sampler = llama.sampler('mirostat', i32(case.columns), seed, f32(tau), f32(eta),
                                i32(NUM_RANKED))
        return sampler, Memory(sampler, {12: tau, 16: eta, 24: 2 * tau}, 24, 1)
    sampler = llama.sampler('mirostat_v2', seed, f32(tau), f32(eta))
    return sampler, Memory(sampler, {8: tau, 12: eta, 16: 2 * tau}, 16, 1)


def adaptive_p(llama, case, n):
    target, decay = n['adaptive_target'], n['adaptive_decay']
    sampler = llama.sampler('adaptive_p', f32(target), f32(decay), ctypes.c_uint32(case.row[1]))
    return sampler, Memory(sampler, {0: target, 4: decay}, 16 + SIZE_OF_MT19937, 2)


def chain_of(llama, case, names):
    """The samplers before the last one, the last one and its memory; they have seen the text."""
    if 'mirostat' in names:
        before = {'samplers': ['temperature'], 'temperature': names['temperature'],
                  'logit_bias': names.get('logit_bias', [])}
        last, memory = mirostat(llama, case, names)
    else:
        before = {**names, 'samplers': [name for name in names['samplers'] if name != 'adaptive_p']}
        last, memory = adaptive_p(llama, case, names)
    chain = [sampler for _, sampler in llama_cpp.samplers(llama, case, before, NUM_STEPS)] + [last]
    for token in case.text:
        accept(llama, chain, token)
    return chain, memory


def accept(llama, chain, token):
    for sampler in chain:
        llama.library.llama_sampler_accept(sampler, i32(token))


def steps(llama, case, names):
    """KEPT, PROBABILITIES and TOKEN VALUES of each."""
    chain, memory = chain_of(llama, case, names)
    columns, seed, *rest = case.row
    for step in range(NUM_STEPS):
        candidates = llama_cpp.candidates_of(rows.logits(columns, seed + step, *rest))
        for sampler in chain:
            llama.library.llama_sampler_apply(sampler, ctypes.byref(candidates))
        token = candidates.data[candidates.selected].id
        accept(llama, chain, token)
        yield from rows.kept_parts(*rows.softmax(llama_cpp.row_of(case, candidates)))
        yield ' '.join([str(token), *('%x' % value for value in memory.values())])
    for sampler in chain:
        llama.library.llama_sampler_free(sampler)


def mirostat_parameters(rng, case, version):
    names = {'mirostat': version, 'mirostat_tau': rows.short(rng.uniform(0.5, 6)),
             'mirostat_eta': rows.short(rng.uniform(0.05, 1)),
             'temperature': rng.choice([1.0, rows.short(rng.uniform(0.5, 2))])}
    return names | rows.pick(rng, {'logit_bias': (0.3, lambda: [
        [i, rows.short(rng.gauss(0, 3))] for i in case.some_ids(rng, 8)])})


def adaptive_p_parameters(rng, case):
    """None: where docs/coming-from.md says that rows differ."""
    names = llama_cpp.parameters(rng, case)
    if 'xtc_probability' in names:
        names['xtc_probability'] = 1.0
    if llama_cpp.differs_on_purpose(case, names) or names.get('temperature', 1) <= 0:
        return None
    names['samplers'] = names.get('samplers', llama_cpp.ORDER)[:]
    names['samplers'].insert(rng.randrange(len(names['samplers']) + 1), 'adaptive_p')
    return llama_cpp.listed({**names, 'adaptive_target': rows.short(rng.uniform(0, 1)),
                             'adaptive_decay': rng.choice([0.0, 0.5, 0.9])})


def cases(peers):
    llama = llama_cpp.Llama(peers)
    rng = rows.seeded('llama_cpp_adaptive')
    kinds = [lambda case: mirostat_parameters(rng, case, 1),
             lambda case: mirostat_parameters(rng, case, 2),
             lambda case: adaptive_p_parameters(rng, case)]
    for number in range(NUM_TEXTS * len(kinds)):
        names = None
        while names is None:
            has_holes = number % len(kinds) > 0 and number % 7 == 0
            case = rows.Case(rng, 6000000 + NUM_STEPS * number, holes=2 if has_holes else 0)
            names = kinds[number % len(kinds)](case)
        yield ' ; '.join([*rows.case_parts(case, names), *steps(llama, case, names)])


def title(peers):
    return llama_cpp.title(peers) + ': mirostat and adaptive-p; see llama_cpp_adaptive.py'
