"""Drafts, rows and random words that engines verify, and the lines that tell of them."""

import math
import random

V = 8
POOL = 48
OFFSET = 7
ACCEPT, RESIDUAL, BONUS = 1, 2, 3  # purposes of words, docs/contract.md section 7


def philox(seed, offset, purpose, index):
    mask = 0xFFFFFFFF
    counter = [offset & mask, offset >> 32, 0, purpose << 24 | index]
    key = [seed & mask, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & mask,
                   first >> 32 ^ counter[3] ^ key[1], first & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def coin(seed, index):
    """What a draft is judged with."""
    return (philox(seed, OFFSET, ACCEPT, index)[0] >> 3) * 2.0**-29


def last_coin(seed, position, were_tried):
    """What the token behind the accepted drafts is drawn with."""
    words = philox(seed, OFFSET, RESIDUAL if were_tried else BONUS, position)
    return (words[0] | words[1] << 32) * 2.0**-64


def drawn(weights, u):
    """The inverse of the cumulative distribution, by ascending id."""
    target, total = u * math.fsum(weights), 0.0
    for i, weight in enumerate(weights):
        total += weight
        if total > target:
            return i
    return max(i for i, weight in enumerate(weights) if weight > 0)


def composition(rng, total, holes):
    """Whole numbers of that sum."""
    while True:
        shares = [0.0 if rng.random() < holes else rng.expovariate(1) for _ in range(V)]
        if sum(shares) > 0:
            break
    numbers = [int(total * share / sum(shares)) for share in shares]
    numbers[max(range(V), key=lambda i: numbers[i])] += total - sum(numbers)
    return numbers


def probability_rows(rng):
    """Pairs of rows in 1/256: of the target, and of a drafter."""
    target, draft = [], []
    for i in range(POOL):
        p = composition(rng, 256, rng.choice([0, 0, 0.3, 0.6]))
        if i % 12 == 7:
            p = [256 if x == i % V else 0 for x in range(V)]
        q = composition(rng, 256, 0)
        if i % 6 == 0:
            q = list(p)
        elif i % 12 == 1:
            q = composition(rng, 256, 0.4)
        elif i % 12 == 2:
            p, q = [0] * V, [0] * V
            for x in range(V):
                (p if x % 2 else q)[x] = 64
        elif i % 12 == 3:
            q = [256 if x == (i // 12) % V else 0 for x in range(V)]
        elif i % 3:
            q = [(a + b) // 2 for a, b in zip(p, q)]
            q[0] += 256 - sum(q)
        target.append(p)
        draft.append(q)
    return target, draft


HOLE = None  # a logit of -infinity


def logit_rows(rng):
    """Pairs of rows in 1/16. No two logits of a row are the same."""
    target, draft = [], []
    for i in range(POOL):
        p = rng.sample(range(-64, 65), V)
        q = rng.sample(range(-64, 65), V)
        if i % 4:
            near = [x + rng.randint(-12, 12) for x in p]
            q = near if len(set(near)) == V else list(p)
        if i % 6 == 0:
            q = list(p)
        if i % 8 == 3:
            p[rng.randrange(V)] = p[rng.randrange(V)] = HOLE
        if i % 8 == 5:
            q[rng.randrange(V)] = HOLE
        target.append(p)
        draft.append(q)
    return target, draft


def weights_of(row):
    """In proportion to the probabilities of a row, of logits where there are holes or negatives."""
    if HOLE not in row and min(row) >= 0 and sum(row) == 256:
        return [float(x) for x in row]
    return [0.0 if x is HOLE else math.exp(x / 16) for x in row]


class Rows:
    def __init__(self, rng):
        self.by_kind = {'p': probability_rows(rng), 'l': logit_rows(rng)}

    def lines(self):
        for kind, (target, draft) in self.by_kind.items():
            for name, rows in (('target', target), ('draft', draft)):
                for row in rows:
                    yield 'row %s%s %s' % (name[0], kind, ' '.join(
                        '.' if x is HOLE else str(x) for x in row))


class Sequence:
    """One sequence of a call: `t` and `d` are numbers of rows."""

    def __init__(self, rng, rows, kind, num_drafts, has_draft, parents=None, draft_kind=None,
                 tokens=None):
        targets, drafts = rows.by_kind[kind][0], rows.by_kind[draft_kind or kind][1]
        self.seed = rng.randrange(1 << 40)
        self.parents = parents
        self.has_draft = has_draft
        self.temperature = 8  # in 1/8
        self.t = [rng.randrange(POOL) for _ in range(num_drafts + 1)]
        # A draft's row is of the position that the draft hangs on.
        place = (lambda i: parents[i] + 1) if parents else (lambda i: i)
        self.d, self.drafts = [], []
        for i in range(num_drafts):
            pair = self.t[place(i)]
            self.d.append(pair if rng.random() < 0.8 else rng.randrange(POOL))
            row = drafts[self.d[i]] if has_draft else targets[pair]
            weights = weights_of(row)
            if not has_draft and rng.random() < 0.3:
                weights = [1.0] * V
            # Siblings are not the same token.
            for k in range(i):
                if parents and parents[k] == parents[i]:
                    weights[self.drafts[k]] = 0.0
            if sum(weights) == 0:
                weights = [0.0 if parents and any(
                    parents[k] == parents[i] and self.drafts[k] == x for k in range(i)) else 1.0
                           for x in range(V)]
            self.drafts.append(rng.choices(range(V), weights)[0])

    def coins(self, shift):
        return [min(coin(self.seed, i) * (1 + shift), 1 - 2.0**-24)
                for i in range(len(self.drafts) + 1)]

    def last_coin(self, position, were_tried, shift):
        return min(last_coin(self.seed, position, were_tried) * (1 + shift), 1 - 2.0**-24)

    def line(self, **more):
        parts = {'seed': self.seed, 'x': self.drafts, 'p': self.t}
        if self.temperature != 8:
            parts['temperature'] = self.temperature
        if self.has_draft:
            parts['q'] = self.d
        parts.update(more)
        return 'seq ' + ' '.join('%s=%s' % (name, ','.join(map(str, value)) if isinstance(
            value, (list, tuple)) else value) for name, value in parts.items())


# Engines compute in f32, and add and divide in other orders than the contract. A case is kept when
# coins that are this much smaller or larger decide the same.
SHIFTS = (0, -3e-5, 3e-5)


def steady(rng, sequences, outcomes_of):
    """Gives other seeds to sequences whose outcome hangs on the last digits of a coin. Outcomes by
    outcomes_of(sequences, shift), a list of them."""
    while True:
        outcomes = [outcomes_of(sequences, shift) for shift in SHIFTS]
        unsteady = [i for i in range(len(sequences)) if len({repr(o[i]) for o in outcomes}) > 1]
        if not unsteady:
            return outcomes[0]
        for i in unsteady:
            sequences[i].seed = rng.randrange(1 << 40)


def seeded(name):
    return random.Random('verification ' + name)
