"""What vLLM's sampler makes of logits: its PyTorch path, with its own logits processors."""

import os
import pathlib
import types

import torch

import rows
import stubs

NUM_CASES = 1100


def load(peers):
    stubs.allow_parts_of('vllm', os.fspath(pathlib.Path(peers, 'vllm')))
    from vllm.v1.sample import metadata, sampler
    from vllm.v1.sample.logits_processor import builtin, interface, state
    return types.SimpleNamespace(metadata=metadata, sampler=sampler, builtin=builtin,
                                 interface=interface, state=state)


def processors(vllm, case, n):
    request = types.SimpleNamespace(
        min_p=n['min_p'], logit_bias={int(i): x for i, x in n['logit_bias'].items()},
        min_tokens=n['min_tokens'], all_stop_token_ids=set(n['stop_token_ids']),
        structured_outputs=None)
    config = types.SimpleNamespace(scheduler_config=types.SimpleNamespace(max_num_seqs=1))
    update = vllm.interface.BatchUpdate(
        batch_size=1, removed=[], added=[(0, request, case.prompt, case.output)], moved=[])
    made = []
    for name in ('MinTokensLogitsProcessor', 'LogitBiasLogitsProcessor', 'MinPLogitsProcessor'):
        made.append(getattr(vllm.builtin, name)(config, torch.device('cpu'), False))
        made[-1].update_state(update)
    return vllm.state.LogitsProcessors(made)


DEFAULTS = {'temperature': 1.0, 'top_p': 1.0, 'top_k': 0, 'min_p': 0.0, 'repetition_penalty': 1.0,
            'frequency_penalty': 0.0, 'presence_penalty': 0.0, 'logit_bias': {}, 'min_tokens': 0,
            'stop_token_ids': [], 'bad_words_token_ids': [], 'allowed_token_ids': []}


def metadata(vllm, case, n):
    def one(x, dtype=torch.float32):
        return torch.tensor([x], dtype=dtype)
    allowed = None
    if n['allowed_token_ids']:
        allowed = torch.ones(1, case.columns, dtype=torch.bool)
        allowed[0, n['allowed_token_ids']] = False
    greedy = n['temperature'] < 1e-5
    has_top_k = 0 < n['top_k'] < case.columns
    return vllm.metadata.SamplingMetadata(
        temperature=None if greedy else one(n['temperature']), all_greedy=greedy,
        all_random=not greedy, top_p=one(n['top_p']) if n['top_p'] < 1 else None,
        top_k=one(n['top_k'], torch.int32) if has_top_k else None, generators={},
        max_num_logprobs=0,
        no_penalties=(n['repetition_penalty'], n['frequency_penalty'],
                      n['presence_penalty']) == (1, 0, 0),
        prompt_token_ids=torch.tensor([case.prompt]),
        frequency_penalties=one(n['frequency_penalty']),
        presence_penalties=one(n['presence_penalty']),
        repetition_penalties=one(n['repetition_penalty']), output_token_ids=[case.output],
        allowed_token_ids_mask=allowed,
        bad_words_token_ids={0: n['bad_words_token_ids']} if n['bad_words_token_ids'] else {},
        logitsprocs=processors(vllm, case, n))


def recorded(vllm, case, names):
    n = {**DEFAULTS, **names}
    sampler = vllm.sampler.Sampler(logprobs_mode='processed_logits')
    request = metadata(vllm, case, n)
    logits = torch.tensor(case.logits).unsqueeze(0)
    logits = sampler.apply_logits_processors(logits, request, predict_bonus_token=False)
    edited = logits[0].clone().numpy()
    token, processed = sampler.sample(logits, request)
    if request.all_greedy:
        one_hot = torch.nn.functional.one_hot(token[0].long(), case.columns).numpy()
        return edited, one_hot > 0, one_hot
    return edited, (processed[0] > -torch.inf).numpy(), processed[0].softmax(-1).numpy()


def parameters(rng, case):
    def within(low, high):
        return lambda: rows.short(rng.uniform(low, high))
    return rows.pick(rng, {
        'temperature': (0.6, lambda: rng.choice([0.0] + [rows.short(rng.uniform(0.5, 2))] * 9)),
        'top_k': (0.5, lambda: rng.choice([-1, 0, 1, 2, 5, 20, 100, 400])),
        'top_p': (0.5, within(0.05, 0.99)),
        'min_p': (0.4, within(0.001, 0.4)),
        'repetition_penalty': (0.4, within(0.7, 1.8)),
        'frequency_penalty': (0.3, within(-0.5, 1)),
        'presence_penalty': (0.3, within(-0.5, 1)),
        'logit_bias': (0.25, lambda: {str(i): rows.short(rng.gauss(0, 3))
                                      for i in case.some_ids(rng, 8)}),
        'allowed_token_ids': (0.2, lambda: case.some_ids(rng, case.columns)),
        'bad_words_token_ids': (0.25, lambda: case.words(rng, case.output)),
    }) | (rng.random() < 0.3 and {'min_tokens': rng.randrange(1, 60),
                                  'stop_token_ids': case.some_ids(rng, 4)} or {})


def cases(peers):
    vllm = load(peers)
    rng = rows.seeded('vllm')
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 2000000 + seed, step=18 if seed % 10 == 0 else 0,
                         holes=2 if seed % 7 == 0 else 0)
        names = parameters(rng, case)
        edited, kept, probabilities = recorded(vllm, case, names)
        if kept.any():
            yield rows.line(case, names, edited, kept, probabilities)


def title(peers):
    wheel = next(pathlib.Path(peers, 'download').glob('vllm-*'))
    return 'vllm %s with torch %s' % (wheel.name.split('-')[1], torch.__version__)
