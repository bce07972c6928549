"""What the CUDA kernels of SGLang (trees) and FlashInfer (chains) make of drafts: their own sources,
compiled for the host behind cuda_on_host.h."""

import ctypes
import pathlib
import re
import subprocess
import zipfile

import chains
import sglang_verification

V = chains.V

ENTRIES = '''
alignas(16) static uint8_t memory[4096];
namespace sglang::speculative_sampling { uint8_t smem_sampling[4096]; }
namespace flashinfer::sampling { uint8_t smem_sampling[4096]; }

extern "C" void tree_sampling(
    uint32_t size, uint32_t steps, uint32_t nodes, int *predicts, int *accepted, int *counts,
    int64_t *candidates, int64_t *index, int64_t *next, int64_t *sibling, float *coins,
    float *last_coins, float *target, float *draft, float single, float total) {
  for (blockIdx.x = 0; blockIdx.x < size; ++blockIdx.x) {
    sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
        1, cub::BLOCK_SCAN_RAKING, cub::BLOCK_REDUCE_RAKING, 4, true, float, int, int64_t>(
        predicts, accepted, counts, candidates, index, next, sibling, coins, last_coins, target,
        draft, size, steps, nodes, %(V)d, single, total);
  }
}

extern "C" void tree_greedy(uint32_t size, uint32_t steps, uint32_t nodes, int *predicts,
                            int *accepted, int *counts, int64_t *candidates, int64_t *index,
                            int64_t *next, int64_t *sibling, int64_t *target) {
  for (blockIdx.x = 0; blockIdx.x < size; ++blockIdx.x) {
    sglang::speculative::VerifyTreeGreedy<int, int64_t>(predicts, accepted, counts, candidates,
                                                        index, next, sibling, target, size, steps,
                                                        nodes);
  }
}

extern "C" void build_tree(uint32_t size, int64_t *parents, int64_t *selected, int64_t *lengths,
                           bool *mask, int64_t *positions, int64_t *index, int64_t *next,
                           int64_t *sibling, int top_k, int depth, int nodes) {
  for (blockIdx.x = 0; blockIdx.x < size; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < uint32_t(nodes); ++threadIdx.x) {
      sglang::speculative::build_tree_efficient(parents, selected, lengths, mask, positions, index,
                                                next, sibling, top_k, depth, nodes, 1);
    }
    threadIdx.x = 0;
  }
}

extern "C" void chain(float *draft, int *drafts, float *target, int *tokens, int *accepted,
                      int *emitted, uint32_t size, uint32_t steps, const float *coins) {
  for (blockIdx.x = 0; blockIdx.x < size; ++blockIdx.x) {
    host_coins = coins + blockIdx.x * (2 * steps + 2);
    flashinfer::sampling::ChainSpeculativeSampling<1, cub::BLOCK_SCAN_RAKING,
                                                   cub::BLOCK_REDUCE_RAKING, 4, true, float, int>(
        draft, drafts, target, tokens, accepted, emitted, steps, %(V)d, nullptr, 0, nullptr, 0, 0,
        0);
  }
}
''' % {'V': V}


def function(source, name):
    """A function template of FlashInfer's header, from `template` to the brace in the first column."""
    at = source.index(name)
    return source[source.rindex('template <', 0, at):source.index('\n}\n', at) + 3]


def load(peers):
    folder = pathlib.Path(peers, 'verification')
    folder.mkdir(exist_ok=True)
    wheel = next(pathlib.Path(peers, 'download').glob('flashinfer_python-*.whl'))
    with zipfile.ZipFile(wheel) as files:
        header = files.read('flashinfer/data/include/flashinfer/sampling.cuh').decode()
    draw = function(header, '__device__ __forceinline__ void DeviceSamplingFromProb(')
    chain = function(header, 'ChainSpeculativeSampling(')
    sglang = pathlib.Path(peers, 'verification/sglang/sglang/kernels/jit/include/sgl_kernel/speculative')
    trees = [(sglang / name).read_text() for name in ('sampling.cuh', 'eagle.cuh')]
    trees = [re.sub(r'#(include|pragma once).*', '', text) for text in trees]
    host = pathlib.Path(__file__).with_name('cuda_on_host.h').read_text()
    # nvcc takes calls of member templates without `template`.
    kernels = [re.sub(r'\.(Sum|SubtractLeft)<', r'.template \1<', text) for text in (draw, chain, *trees)]
    source = '\n'.join([host, 'namespace flashinfer::sampling {', *kernels[:2], '}', *kernels[2:],
                        ENTRIES])
    (folder / 'kernels.cpp').write_text(source)
    subprocess.run(['g++', '-std=c++17', '-O1', '-ffp-contract=off', '-w', '-shared', '-fPIC',
                    '-fpermissive', '-o', folder / 'kernels.so', folder / 'kernels.cpp'],
                   check=True)
    return ctypes.CDLL(str(folder / 'kernels.so'))


def array(kind, values):
    values = list(values)
    return (kind * len(values))(*values)


def flat(rows, numbers, scale=256.0):
    return array(ctypes.c_float, (x / scale for i in numbers for x in rows[i]))


I32, I64, F32 = ctypes.c_int32, ctypes.c_int64, ctypes.c_float


class Tables:
    """Trees as SGLang builds them out of a drafter's beams: the top_k best of each step, of which
    the best of all are the nodes."""

    def __init__(self, rng, kernels, size, top_k, depth, nodes):
        while True:
            # Scores of paths, falling with depth; entry j of step i has parent j // top_k.
            parents, selected = [], []
            for _ in range(size):
                one_parents, scores = [-1], []
                beams = [(0.0, 0)]  # score, entry of the parent list
                for step in range(depth):
                    new = [(score - rng.expovariate(1), slot * top_k + k)
                           for slot, (score, _) in enumerate(beams) for k in range(top_k)]
                    first = len(scores)
                    scores += [score for score, _ in new]
                    order = sorted(range(len(new)), key=lambda i: -new[i][0])[:top_k]
                    if step + 1 < depth:
                        one_parents += [first + i for i in order]
                    beams = [(new[i][0], 0) for i in order]
                best = sorted(sorted(range(len(scores)), key=lambda i: -scores[i])[:nodes - 1])
                parents.append(one_parents)
                selected.append(best)
            length = top_k * (depth - 1) + 1
            assert all(len(one) == length for one in parents)
            self.index, self.next, self.sibling, positions = (
                array(I64, [-1] * (size * nodes)) for _ in range(4))
            kernels.build_tree(
                size, array(I64, sum(parents, [])), array(I64, sum(selected, [])),
                array(I64, [0] * size), (ctypes.c_bool * (size * nodes * nodes))(), positions,
                self.index, self.next, self.sibling, top_k, depth, nodes)
            self.depths = [list(positions[s * nodes:(s + 1) * nodes]) for s in range(size)]
            break
        self.nodes = nodes

    def parents_of(self, s):
        """By draft: the draft that it hangs on, -1 the root."""
        first = s * self.nodes
        parents = [None] * (self.nodes - 1)
        for node in range(self.nodes):
            child = self.next[first + node]
            while child != -1:
                parents[child - 1] = node - 1
                child = self.sibling[first + child]
        return parents

    def links(self, s):
        first = s * self.nodes
        return {'first': list(self.next[first:first + self.nodes]),
                'next': list(self.sibling[first:first + self.nodes])}

    def has_children(self, s, position):
        return self.next[s * self.nodes + position] != -1


def tree_calls(kernels, rows):
    rng = chains.seeded('trees')
    target_pool = rows.by_kind['p'][0]
    for call in range(30):
        top_k, depth, size = rng.randint(2, 4), rng.randint(1, 4), 12
        nodes = 1 + rng.randint(2, min(12, top_k + (depth - 1) * top_k * top_k))
        tables = Tables(rng, kernels, size, top_k, depth, nodes)
        steps = depth + 1
        rule = ('threshold', 'threshold', 'greedy')[call % 3]
        single, total = (16, 16) if call % 2 == 0 else (rng.randint(4, 14), rng.randint(6, 16))
        sequences = []
        for s in range(size):
            one = chains.Sequence(rng, rows, 'p', nodes - 1, False, tables.parents_of(s))
            one.number = s
            if rule == 'greedy':
                one.temperature = 0
            sequences.append(one)
        candidates = array(I64, (x for one in sequences for x in [0] + one.drafts))

        def outputs():
            return (array(I32, [-1] * (size * nodes)), array(I32, [-1] * (size * steps)),
                    array(I32, [0] * size))

        def told(predicts, accepted, counts):
            entries = [list(accepted[s * steps:(s + 1) * steps]) for s in range(size)]
            return sglang_verification.told(list(predicts), entries, list(counts), nodes)

        def sampled(batch, shift):
            def run(last):
                out = outputs()
                kernels.tree_sampling(
                    size, steps, nodes, *out, candidates, tables.index, tables.next, tables.sibling,
                    array(F32, (u for one in batch for u in one.coins(shift))), array(F32, last),
                    flat(target_pool, (i for one in batch for i in one.t)),
                    array(F32, [0] * (size * nodes * V)), F32(single / 16), F32(total / 16))
                return told(*out)
            return sglang_verification.twice(
                batch, shift, run, lambda one, position: tables.has_children(one.number, position))

        def greedy(batch, _shift):
            best = (max(range(V), key=lambda x: target_pool[i][x]) for one in batch for i in one.t)
            out = outputs()
            kernels.tree_greedy(size, steps, nodes, *out, candidates, tables.index, tables.next,
                                tables.sibling, array(I64, best))
            return told(*out)

        outcomes = chains.steady(rng, sequences, greedy if rule == 'greedy' else sampled)
        more = '' if rule == 'greedy' else ' single=%d total=%d' % (single, total)
        yield 'call sglang_tree %s steps=%d has_draft=0%s' % (rule, nodes - 1, more)
        for s, (sequence, (tokens, positions)) in enumerate(zip(sequences, outcomes)):
            yield sequence.line(out=tokens, at=positions, **tables.links(s))


def chain_calls(kernels, rows):
    rng = chains.seeded('flashinfer')
    target_pool, draft_pool = rows.by_kind['p']
    for _ in range(10):
        steps, size = rng.randint(1, 6), 24
        sequences = [chains.Sequence(rng, rows, 'p', steps, True) for _ in range(size)]

        def outcomes_of(batch, shift):
            def run(coins):
                tokens = array(I32, [-1] * (size * (steps + 1)))
                accepted, emitted = array(I32, [5] * size), array(I32, [3] * size)
                kernels.chain(
                    flat(draft_pool, (i for one in batch for i in one.d)),
                    array(I32, (x for one in batch for x in one.drafts)),
                    flat(target_pool, (i for one in batch for i in one.t)), tokens, accepted,
                    emitted, size, steps, array(F32, coins))
                return [([x for x in tokens[s * (steps + 1):(s + 1) * (steps + 1)] if x >= 0],
                         accepted[s], emitted[s]) for s in range(size)]

            def coins_of(one, kept):
                # The kernel draws for the rejected draft again, for its count of accepted ones.
                coins = one.coins(shift)[:steps]
                coins = coins[:kept + 1] + coins[kept:] if kept < steps else coins
                coins.append(one.last_coin(kept, kept < steps, shift))
                return coins + [0.0] * (2 * steps + 2 - len(coins))

            first = run([u for one in batch for u in coins_of(one, steps)])
            return run([u for one, outcome in zip(batch, first)
                        for u in coins_of(one, len(outcome[0]) - 1)])

        outcomes = chains.steady(rng, sequences, outcomes_of)
        yield 'call flashinfer standard steps=%d has_draft=1' % steps
        for sequence, (tokens, accepted, emitted) in zip(sequences, outcomes):
            yield sequence.line(out=tokens, accepted=accepted, emitted=emitted)


def calls(kernels, rows):
    yield from tree_calls(kernels, rows)
    yield from chain_calls(kernels, rows)
