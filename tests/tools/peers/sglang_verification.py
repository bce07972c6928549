"""What SGLang's chain kernels make of drafts: its own Triton kernel, by Triton's interpreter."""

import importlib.util
import pathlib

import torch

import chains


def load(peers):
    path = pathlib.Path(peers, 'verification/sglang/sglang/kernels/ops/speculative/reject_sampling.py')
    spec = importlib.util.spec_from_file_location('reject_sampling', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verify(sglang, rows, sequences, is_block, last_coins, shift):
    """`last_coins` are those of the token behind the drafts. Tokens, and where each was decided."""
    target_pool, draft_pool = rows.by_kind['p']
    size, slots = len(sequences), len(sequences[0].t)
    i64, i32 = dict(dtype=torch.int64), dict(dtype=torch.int32)
    index = torch.arange(size * slots, **i64).reshape(size, slots)
    predicts = torch.full((size * slots,), -1, **i32)
    accepted = torch.full((size, slots), -1, **i32)
    counts = torch.zeros(size, **i32)
    sglang.chain_speculative_sampling_triton(
        predicts, accepted, counts,
        torch.tensor([[0] + sequence.drafts for sequence in sequences], **i64), index, None, None,
        torch.tensor([sequence.coins(shift) for sequence in sequences]), torch.tensor(last_coins),
        torch.tensor([[target_pool[i] for i in one.t] for one in sequences]) / 256.0,
        torch.tensor([[draft_pool[i] for i in one.d] for one in sequences]) / 256.0,
        1.0, 1.0, True, block_verification=is_block)
    return told(predicts.tolist(), accepted.tolist(), counts.tolist(), slots)


def told(predicts, accepted, counts, slots):
    outcomes = []
    for s, count in enumerate(counts):
        entries = accepted[s][:count + 1]
        outcomes.append(([predicts[entry] for entry in entries],
                         [entry - s * slots for entry in entries]))
    return outcomes


def twice(sequences, shift, run, has_children):
    """The engine takes one coin for the last token, whichever its position is: the first run tells
    the position."""
    first = run([0.5] * len(sequences))
    last = [outcome[1][-1] for outcome in first]
    return run([sequence.last_coin(position, has_children(sequence, position), shift)
                for sequence, position in zip(sequences, last)])


def calls(sglang, rows):
    rng = chains.seeded('sglang')
    for call in range(20):
        is_block, steps = call % 2 == 1, rng.randint(2, 6)
        sequences = [chains.Sequence(rng, rows, 'p', steps, True) for _ in range(24)]

        def outcomes_of(batch, shift):
            return twice(batch, shift,
                         lambda last: verify(sglang, rows, batch, is_block, last, shift),
                         lambda sequence, position: position < len(sequence.drafts))

        outcomes = chains.steady(rng, sequences, outcomes_of)
        yield 'call sglang_chain %s steps=%d has_draft=1' % (
            'block' if is_block else 'standard', steps)
        for sequence, (tokens, positions) in zip(sequences, outcomes):
            yield sequence.line(out=tokens, at=positions)
