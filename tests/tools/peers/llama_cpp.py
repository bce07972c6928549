"""What the sampler chain of llama.cpp makes of logits, as common_sampler_init puts it together."""

import ctypes
import os
import pathlib
import re

import numpy

import rows

NUM_CASES = 1500


class TokenData(ctypes.Structure):
    _fields_ = [('id', ctypes.c_int32), ('logit', ctypes.c_float), ('p', ctypes.c_float)]


class TokenDataArray(ctypes.Structure):
    _fields_ = [('data', ctypes.POINTER(TokenData)), ('size', ctypes.c_size_t),
                ('selected', ctypes.c_int64), ('sorted', ctypes.c_bool)]


class LogitBias(ctypes.Structure):
    _fields_ = [('token', ctypes.c_int32), ('bias', ctypes.c_float)]


class Vector(ctypes.Structure):
    """A std::vector of libstdc++."""
    _fields_ = [('begin', ctypes.c_void_p), ('end', ctypes.c_void_p), ('room', ctypes.c_void_p)]


def vector_of(array):
    begin = ctypes.addressof(array)
    end = begin + ctypes.sizeof(array)
    return Vector(begin, end, end)


class Llama:
    def __init__(self, peers):
        folder = pathlib.Path(peers, 'llama-build', 'bin')
        ctypes.CDLL(os.fspath(folder / 'libggml.so'), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(os.fspath(folder / 'libllama.so'))
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
            lambda *_: None)
        self.library.llama_log_set(self.log, None)
        for name in ('apply', 'accept', 'free'):
            getattr(self.library, 'llama_sampler_' + name).restype = None

    def make(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*arguments))

    def sampler(self, name, *arguments):
        return self.make('llama_sampler_init_' + name, *arguments)

    def dry(self, n):
        """With breakers of tokens: what upstream's own test calls."""
        arrays = [(ctypes.c_int32 * len(word))(*word) for word in n['dry_sequence_breakers']]
        inner = (Vector * len(arrays))(*map(vector_of, arrays))
        return self.make(
            '_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE',
            f32(n['dry_multiplier']), f32(n['dry_base']), i32(n['dry_allowed_length']),
            i32(n['dry_penalty_last_n']), ctypes.byref(vector_of(inner)))


def f32(x):
    return ctypes.c_float(x)


def i32(x):
    return ctypes.c_int32(x)


def size(x):
    return ctypes.c_size_t(x)


DEFAULTS = {
    'temperature': 0.8, 'dynatemp_range': 0.0, 'dynatemp_exponent': 1.0, 'top_k': 40, 'top_p': 0.95,
    'min_p': 0.05, 'typical_p': 1.0, 'top_n_sigma': -1.0, 'xtc_probability': 0.0,
    'xtc_threshold': 0.1, 'repeat_last_n': 64, 'repeat_penalty': 1.0, 'presence_penalty': 0.0,
    'frequency_penalty': 0.0, 'dry_multiplier': 0.0, 'dry_base': 1.75, 'dry_allowed_length': 2,
    'dry_penalty_last_n': 64, 'dry_sequence_breakers': [], 'min_keep': 0, 'logit_bias': [],
}
ORDER = ['penalties', 'dry', 'top_n_sigma', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature']
# What turns each of them on.
SAMPLERS = {'repeat_penalty': 'penalties', 'frequency_penalty': 'penalties',
            'presence_penalty': 'penalties', 'dry_multiplier': 'dry', 'top_n_sigma': 'top_n_sigma',
            'top_k': 'top_k', 'typical_p': 'typ_p', 'top_p': 'top_p', 'min_p': 'min_p',
            'xtc_probability': 'xtc', 'temperature': 'temperature', 'dynatemp_range': 'temperature'}


def samplers(llama, case, names, num_more_tokens=0):
    """The chain, for the text and num_more_tokens more tokens."""
    n = {**DEFAULTS, **names}
    keep = size(n['min_keep'])
    context = len(case.text) + num_more_tokens
    last_n, dry_n = (context if x == -1 else x
                     for x in (n['repeat_last_n'], n['dry_penalty_last_n']))
    n['dry_penalty_last_n'] = dry_n
    has_dry = n['dry_multiplier'] != 0 and n['dry_base'] >= 1 and dry_n != 0
    make = {
        'penalties': lambda: llama.sampler(
            'penalties', i32(case.columns), i32(last_n), f32(n['repeat_penalty']),
            f32(n['frequency_penalty']), f32(n['presence_penalty'])),
        'dry': lambda: llama.dry(n) if has_dry else None,
        'top_n_sigma': lambda: llama.sampler('top_n_sigma', f32(n['top_n_sigma'])),
        'top_k': lambda: llama.sampler('top_k', i32(n['top_k'])),
        'typ_p': lambda: llama.sampler('typical', f32(n['typical_p']), keep),
        'top_p': lambda: llama.sampler('top_p', f32(n['top_p']), keep),
        'min_p': lambda: llama.sampler('min_p', f32(n['min_p']), keep),
        'xtc': lambda: llama.sampler('xtc', f32(n['xtc_probability']), f32(n['xtc_threshold']),
                                     keep, ctypes.c_uint32(1)),
        'temperature': lambda: llama.sampler('temp_ext', f32(n['temperature']),
                                             f32(n['dynatemp_range']), f32(n['dynatemp_exponent'])),
    }
    biases = (LogitBias * max(len(n['logit_bias']), 1))(
        *[LogitBias(i, -numpy.inf if bias is False else bias) for i, bias in n['logit_bias']])
    yield 'logit_bias', llama.sampler('logit_bias', i32(case.columns), i32(len(n['logit_bias'])),
                                      biases)
    for name in n.get('samplers', ORDER):
        sampler = make[name]()
        if sampler:
            yield name, sampler


def candidates_of(logits):
    data = (TokenData * len(logits))(*[TokenData(i, float(x), 0) for i, x in enumerate(logits)])
    return TokenDataArray(data, len(logits), -1, False)


def recorded(llama, case, names):
    array = candidates_of(case.logits)
    edited = case.logits
    for name, sampler in samplers(llama, case, names):
        for token in case.text:
            llama.library.llama_sampler_accept(sampler, i32(token))
        llama.library.llama_sampler_apply(sampler, ctypes.byref(array))
        llama.library.llama_sampler_free(sampler)
        if name == 'dry':
            edited = None  # by powf
        if name in ('logit_bias', 'penalties') and edited is not None:
            edited = row_of(case, array)
    return edited, *rows.softmax(row_of(case, array))  # as llama_sampler_dist


def of_each_side(llama, case, names):
    """recorded(), and where XTC's coin decides, what is kept and how likely on its other side."""
    if not 0 < names.get('xtc_probability', 0) < 1:
        return recorded(llama, case, names)
    edited, *dropped = recorded(llama, case, {**names, 'xtc_probability': 1.0})
    _, *whole = recorded(llama, case, {**names, 'xtc_probability': 0.0})
    return edited, *dropped, whole


def row_of(case, array):
    row = numpy.full(case.columns, -numpy.inf, numpy.float32)
    for i in range(array.size):
        row[array.data[i].id] = array.data[i].logit
    return row


def parameters(rng, case):
    def within(low, high):
        return lambda: rows.short(rng.uniform(low, high))
    names = rows.pick(rng, {
        'repeat_penalty': (0.4, within(0.7, 1.8)),
        'frequency_penalty': (0.3, within(-0.5, 1)),
        'presence_penalty': (0.3, within(-0.5, 1)),
        'repeat_last_n': (0.4, lambda: rng.choice([-1, 0, 3, 10, 20])),
        'logit_bias': (0.3, lambda: [[i, rows.short(rng.gauss(0, 3))]
                                     for i in case.some_ids(rng, 8)]),
        'top_k': (0.6, lambda: rng.choice([0, 1, 2, 5, 20, 100])),
        'top_p': (0.6, lambda: rng.choice([1.0, rows.short(rng.uniform(0.1, 0.99))])),
        'min_p': (0.6, lambda: rng.choice([0.0, rows.short(rng.uniform(0.001, 0.4))])),
        'typical_p': (0.25, within(0.1, 0.99)),
        'top_n_sigma': (0.25, within(0.3, 3)),
        'temperature': (0.6, lambda: rng.choice([0.0, 1.0] + [rows.short(rng.uniform(0.5, 2))] * 8)),
        'xtc_threshold': (0.2, lambda: rng.choice([0.0, rows.short(rng.uniform(0.01, 0.3)), 0.6])),
    })
    if rng.random() < 0.35:
        names.update(dry_multiplier=rows.short(rng.uniform(0.2, 2)), dry_sequence_breakers=[
            [rng.randrange(8) for _ in range(rng.choice([1, 1, 2]))] for _ in range(rng.randrange(1, 3))])
        names.update(rows.pick(rng, {
            'dry_base': (0.5, lambda: rng.choice([1.0, 1.2, 3.0])),
            'dry_allowed_length': (0.5, lambda: rng.randrange(0, 5)),
            'dry_penalty_last_n': (0.5, lambda: rng.choice([-1, 0, 10, 30]))}))
    if rng.random() < 0.25:
        names.update(dynatemp_range=rows.short(rng.uniform(0.1, 0.5)),
                     dynatemp_exponent=rng.choice([0.5, 1.0, 2.0]))
    if 'xtc_threshold' in names:
        names['xtc_probability'] = 0.5 if case.row[1] % 4 else 1.0
    if rng.random() < 0.15:
        names['min_keep'] = rng.randrange(1, 6)
    if rng.random() < 0.15:
        edits, windows = ORDER[:2], ORDER[2:]
        rng.shuffle(edits)
        rng.shuffle(windows)
        names['samplers'] = (edits + windows)[rng.randrange(3):]
    if rng.random() < 0.1:
        names['logit_bias'] = [[i, False] for i in case.some_ids(rng, 8)]
    return names


def differs_on_purpose(case, names):
    """The rows that docs/coming-from.md says differ."""
    n = {**DEFAULTS, **names}
    has_holes = (case.row[4] > 0 or n['top_n_sigma'] > 0 or
                 any(bias is False for _, bias in n['logit_bias']))
    greedy = n['temperature'] <= 0 and 'temperature' in n.get('samplers', ORDER)
    return (greedy and (n['dynatemp_range'] > 0 or n['xtc_probability'] > 0 or n['typical_p'] < 1)
            or has_holes and (n['typical_p'] < 1 or n['dynatemp_range'] > 0 or
                              n['xtc_threshold'] <= 0)
            or n['min_keep'] > 1 and (n['top_n_sigma'] > 0 or 0 < n['top_k'] < n['min_keep']))


def listed(names):
    """Without what turns on a sampler that is not listed: llama.cpp passes it over, we refuse it."""
    order = names.get('samplers', ORDER)
    return {name: value for name, value in names.items() if SAMPLERS.get(name, order[0]) in order}


def cases(peers):
    llama = Llama(peers)
    rng = rows.seeded('llama_cpp')
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 1000000 + seed, holes=2 if seed % 7 == 0 else 0)
        names = parameters(rng, case)
        if differs_on_purpose(case, names):
            continue
        names = listed(names)
        yield rows.line(case, names, *of_each_side(llama, case, names))


def title(peers):
    lists = next(pathlib.Path(peers).glob('llama_cpp_python-*/vendor/llama.cpp/CMakeLists.txt'))
    version = re.findall(r'set\(LLAMA_VERSION_\w+ (\d+)\)', lists.read_text())
    return 'llama.cpp %s, of %s' % ('.'.join(version[:3]), lists.parts[-4])
