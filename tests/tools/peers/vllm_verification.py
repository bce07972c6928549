"""What vLLM's two rejection samplers make of drafts: their own Triton kernels, run by Triton's
interpreter on the CPU, with random numbers that are the library's."""

import os
import pathlib
import types

import numpy
import torch

import chains
import stubs


def load(peers):
    stubs.allow_parts_of('vllm', os.fspath(pathlib.Path(peers, 'verification/vllm')))
    import triton
    import triton.language as tl
    # libdevice is device code: the interpreter has none.
    stubs.use_triton(tldevice=types.SimpleNamespace(
        log1p=lambda x: like(x, numpy.log1p(x.handle.data))))
    from vllm.v1.sample import rejection_sampler as v1
    from vllm.v1.sample import metadata, sampler
    from vllm.v1.sample.logits_processor import state
    from vllm.v1.spec_decode import metadata as drafts
    from vllm.v1.worker.gpu.spec_decode import rejection_sampler_utils as v2
    from vllm.v1.sample.ops import topk_topp_sampler
    topk_topp_sampler.HAS_TRITON = False  # its kernel asks how many processors the GPU has
    return types.SimpleNamespace(v1=v1, v2=v2, metadata=metadata, sampler=sampler, state=state,
                                 drafts=drafts, tl=tl, triton=triton)


def like(tensor, values):
    from triton._C.libtriton import interpreter  # noqa: F401 (this is Triton's interpreter)
    from triton.runtime.interpreter import TensorHandle
    import triton.language as tl
    handle = TensorHandle(values.astype(tensor.handle.data.dtype), tensor.handle.dtype)
    return tl.core.tensor(handle, tensor.type)


def number(tensor):
    return int(numpy.asarray(tensor.handle.data).reshape(-1)[0])


def logits(rows, scale=16.0):
    return torch.tensor([[-torch.inf if x is chains.HOLE else x / scale for x in row]
                         for row in rows], dtype=torch.float32)


# ---- The second runner: cu_num_logits, draft_sampled, idx_mapping


def run_v2(vllm, rows, sequences, num_steps, slots, rule, numbers, shift):
    target_pool, draft_pool = rows.by_kind['l']
    tl, v2 = vllm.tl, vllm.v2
    num_slots = len(sequences) + 2
    target, sampled, cu, mapping, local = [], [], [0], [], []
    coins, last_coins = [], []
    has_draft = sequences[0].has_draft
    draft = torch.zeros(num_slots, num_steps, chains.V)
    temperature, seed = torch.zeros(num_slots), torch.zeros(num_slots, dtype=torch.int64)
    for s, sequence in enumerate(sequences):
        slot, count = slots[s], len(sequence.drafts)
        heat = sequence.temperature / 8
        temperature[slot] = heat
        one = logits([target_pool[row] for row in sequence.t])
        target.append(one / heat if heat > 0 else one)
        sampled += [0] + sequence.drafts
        mapping += [slot] * (count + 1)
        local += range(count + 1)
        cu.append(cu[-1] + count + 1)
        coins += sequence.coins(shift)
        last_coins += [sequence.last_coin(i, i < count, shift) for i in range(count + 1)]
        if has_draft and count:
            draft[slot, :count] = logits([draft_pool[row] for row in sequence.d])

    def rand(_seed, pos, includes_zero):
        return tl.full((), coins[number(pos)], tl.float32)

    def resample(residual, block, mask, token, *_args, **_more):
        x = numpy.where(mask.handle.data, residual.handle.data, -numpy.inf).astype(numpy.float64)
        if rule == 'synthetic' and x.max() == -numpy.inf:
            # A draft of the target's own row leaves nothing; vLLM takes any token then.
            return tl.full((), 1.0, tl.float32), tl.full((), 0, tl.int32)
        weights = numpy.exp(x - x.max())
        chosen = chains.drawn(weights.tolist(), last_coins[number(token)])
        return tl.full((), 1.0, tl.float32), tl.full((), chosen, tl.int32)

    def greedy_or(residual, block, mask, token, mapping_ptr, *args, **more):
        # A greedy row's bonus token is the first one.
        if temperature[mapping[number(token)]] == 0:
            x = numpy.where(mask.handle.data, residual.handle.data, -numpy.inf)
            return tl.full((), 1.0, tl.float32), tl.full((), int(x.argmax()), tl.int32)
        return resample(residual, block, mask, token)

    v2.tl_rand32, v2._seeded_resample_argmax = rand, greedy_or
    num_logits = cu[-1]
    more = {}
    if rule == 'synthetic':
        more['synthetic_conditional_rates'] = torch.tensor(numbers['rates']) / 16
    if rule == 'fly':
        more = dict(fly_window_size=numbers['window'], fly_entropy_threshold=numbers['entropy'],
                    fly_entropy_top_k=numbers['top_k'])
    tokens, counts = v2.rejection_sample(
        torch.cat(target), draft if has_draft else None,
        torch.tensor(sampled + [0], dtype=torch.int64)[:num_logits],
        torch.tensor(cu, dtype=torch.int32), torch.arange(num_logits, dtype=torch.int64),
        torch.tensor([slots[s] for s in range(len(sequences))], dtype=torch.int32),
        torch.tensor(mapping, dtype=torch.int32), torch.tensor(local, dtype=torch.int32),
        temperature, seed, num_steps, use_block_verification=rule == 'block', **more)
    return [tokens[s, :counts[s]].tolist() for s in range(len(sequences))]


def v2_calls(vllm, rows):
    rng = chains.seeded('vllm v2')
    kinds = ([('standard', True), ('standard', False), ('block', True), ('block', False),
              ('fly', True), ('fly', False), ('synthetic', True)])
    for call in range(42):
        rule, has_draft = kinds[call % len(kinds)]
        num_steps = rng.randint(2, 6)
        numbers = {}
        if rule == 'synthetic':
            numbers = {'rates': [rng.randint(4, 15) for _ in range(num_steps)]}
        if rule == 'fly':
            numbers = {'window': rng.randint(1, 3), 'entropy': rng.choice([0.25, 0.5, 0.75]),
                       'top_k': rng.randint(2, 4)}
        count = 24
        slots = rng.sample(range(count + 2), count)
        sequences = []
        for _ in range(count):
            one = chains.Sequence(rng, rows, 'l', rng.randint(0, num_steps), has_draft)
            one.temperature = rng.choice([8, 8, 8, 6, 10, 0])
            if rng.random() < 0.2 and one.drafts and rule != 'fly':
                one.drafts[rng.randrange(len(one.drafts))] = -1
            sequences.append(one)
        outcomes = chains.steady(rng, sequences, lambda batch, shift: run_v2(
            vllm, rows, batch, num_steps, slots, rule, numbers, shift))
        yield ('call vllm_v2 %s steps=%d has_draft=%d slots=%s' % (
            rule, num_steps, has_draft, ','.join(map(str, slots))) + settings(numbers))
        for sequence, tokens in zip(sequences, outcomes):
            yield sequence.line(out=tokens)


def settings(numbers):
    return ''.join(' %s=%s' % (name, ','.join(map(str, value)) if isinstance(value, list) else
                               value) for name, value in numbers.items())


# ---- The first runner: cu_num_draft_tokens, rows elsewhere, bonus rows apart


def run_v1(vllm, rows, sequences, numbers, noise, places, shift):
    target_pool, draft_pool = rows.by_kind['l'][0], rows.by_kind['p'][1]
    v1 = vllm.v1
    counts = [len(sequence.drafts) for sequence in sequences]
    num_tokens, num_rows = sum(counts), sum(counts) + len(sequences)
    all_logits = torch.full((num_rows, chains.V), 3.0)
    at, target_indices, bonus_indices = 0, [], []
    for sequence in sequences:
        for i, row in enumerate(sequence.t):
            place = places[at]
            all_logits[place] = logits([target_pool[row]])[0]
            (target_indices if i < len(sequence.drafts) else bonus_indices).append(place)
            at += 1
    drafts = [draft for sequence in sequences for draft in sequence.drafts]
    draft_probs = None
    if sequences[0].has_draft:
        draft_probs = torch.tensor([draft_pool[row] for sequence in sequences
                                    for row in sequence.d], dtype=torch.float32) / 256
    i32 = dict(dtype=torch.int32)
    plan = vllm.drafts.SpecDecodeMetadata(
        draft_token_ids=torch.tensor(drafts, **i32), num_draft_tokens=counts,
        cu_num_draft_tokens=torch.tensor(counts).cumsum(0).int(),
        cu_num_sampled_tokens=(torch.tensor(counts) + 1).cumsum(0).int(),
        target_logits_indices=torch.tensor(target_indices, **i32),
        bonus_logits_indices=torch.tensor(bonus_indices, **i32),
        logits_indices=torch.zeros(num_rows, **i32))
    temperature = torch.tensor([sequence.temperature / 8 for sequence in sequences])
    greedy = bool((temperature == 0).all())
    size = len(sequences)
    penalties = numbers.get('penalties', [16, 0, 0])
    prompts, outputs = numbers['prompts'], numbers['outputs']
    width = max(len(prompt) for prompt in prompts)
    request = vllm.metadata.SamplingMetadata(
        temperature=None if greedy else temperature, all_greedy=greedy,
        all_random=bool((temperature > 0).all()),
        top_p=torch.full((size,), numbers['top_p'] / 64) if 'top_p' in numbers else None,
        top_k=torch.full((size,), numbers['top_k'], **i32) if 'top_k' in numbers else None,
        generators={}, max_num_logprobs=None, no_penalties=penalties == [16, 0, 0],
        prompt_token_ids=torch.tensor([p + [chains.V] * (width - len(p)) for p in prompts]),
        repetition_penalties=torch.full((size,), penalties[0] / 16),
        frequency_penalties=torch.full((size,), penalties[1] / 16),
        presence_penalties=torch.full((size,), penalties[2] / 16),
        output_token_ids=[list(tokens) for tokens in outputs], allowed_token_ids_mask=None,
        bad_words_token_ids={}, logitsprocs=vllm.state.LogitsProcessors([]),
        spec_token_ids=[list(sequence.drafts) for sequence in sequences])

    def uniform(*_):
        return torch.tensor([u for sequence in sequences for u in sequence.coins(shift)[:-1]],
                            dtype=torch.float64)

    def recovered(max_spec_len, _counts, cu, ids, draft, target, *_):
        out = torch.empty_like(ids)
        v1._sample_recovered_tokens(out, cu, ids, draft, target, torch.tensor(noise) / 64.0,
                                    max_spec_len=max_spec_len)
        return out

    def bonus(rows_, _generators, k, p):
        kept = v1.apply_top_k_top_p(rows_, k, p).softmax(-1, dtype=torch.float64)
        return torch.tensor([chains.drawn(row.tolist(), sequence.last_coin(
            len(sequence.drafts), False, shift)) for row, sequence in zip(kept, sequences)]), None

    v1.generate_uniform_probs, v1.sample_recovered_tokens = uniform, recovered
    sampler = vllm.sampler.Sampler(logprobs_mode='raw_logprobs')
    sampler.greedy_sample = lambda x: x.argmax(dim=-1).view(-1)  # as on a GPU
    del sampler.topk_topp_sampler
    sampler.__dict__['topk_topp_sampler'] = bonus
    tokens = v1.RejectionSampler(sampler)(plan, draft_probs, all_logits, request)
    lists, _ = v1.RejectionSampler.parse_output(tokens.sampled_token_ids, chains.V)
    return lists


def v1_calls(vllm, rows):
    rng = chains.seeded('vllm v1')
    for call in range(40):
        has_draft, count, most = call % 2 == 0, 24, rng.randint(2, 6)
        numbers = {}
        if call % 4 >= 2:
            numbers = {'top_k': rng.choice([3, 5, 7]), 'top_p': rng.choice([50, 57, 62])}
        if call % 8 >= 5:
            numbers['penalties'] = [rng.choice([16, 20, 24]), rng.choice([4, 9]), rng.choice([0, 6])]
        sequences = []
        for s in range(count):
            one = chains.Sequence(rng, rows, 'l', most if s == 0 else rng.randint(1, most),
                                  has_draft, draft_kind='p')
            one.temperature = rng.choice([8, 8, 8, 6, 10, 0])
            if rng.random() < 0.2 and one.drafts and 'penalties' not in numbers:
                one.drafts[rng.randrange(len(one.drafts))] = -1
            sequences.append(one)
        numbers['prompts'] = [[rng.randrange(chains.V) for _ in range(rng.randint(1, 3))]
                              for _ in sequences]
        numbers['outputs'] = [[rng.randrange(chains.V) for _ in range(rng.randint(0, 3))]
                              for _ in sequences]
        noise = [[rng.randint(1, 4095) for _ in range(chains.V)] for _ in sequences]
        places = list(range(sum(len(one.t) for one in sequences)))
        rng.shuffle(places)
        outcomes = chains.steady(rng, sequences, lambda batch, shift: run_v1(
            vllm, rows, batch, numbers, noise, places, shift))
        told = {name: numbers[name] for name in ('top_k', 'top_p', 'penalties') if name in numbers}
        yield 'call vllm_v1 standard steps=%d has_draft=%d rows=%s' % (
            most, has_draft, ','.join(map(str, places))) + settings(told)
        for s, (sequence, tokens) in enumerate(zip(sequences, outcomes)):
            text = {}
            if 'penalties' in numbers:
                text = {'prompt': numbers['prompts'][s], 'output': numbers['outputs'][s]}
            yield sequence.line(out=tokens, noise=noise[s], **text)
