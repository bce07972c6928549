"""What SGLang's sampler makes of logits: its PyTorch backend, with its own penalties."""

import os
import pathlib
import types

os.environ['TORCHDYNAMO_DISABLE'] = '1'  # its penalties are compiled otherwise

import torch

import rows
import stubs

NUM_CASES = 900


def load(peers):
    stubs.allow_parts_of('sglang', os.fspath(pathlib.Path(peers, 'sglang')))
    from sglang.srt.layers import sampler
    from sglang.srt.sampling import penaltylib
    from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
    from sglang.srt.sampling.sampling_params import TOP_K_ALL, SamplingParams
    return types.SimpleNamespace(sampler=sampler, penaltylib=penaltylib, params=SamplingParams, top_k_all=TOP_K_ALL,
                                 info=SamplingBatchInfo)


TOKENIZER = types.SimpleNamespace(additional_stop_token_ids=None, eos_token_id=None)


class Batch:
    """What the penalties ask of a schedule batch."""
    device = 'cpu'

    def __init__(self, params):
        self.reqs = [types.SimpleNamespace(sampling_params=params, eos_token_ids=None,
                                           tokenizer=TOKENIZER)]


def edit(sglang, case, params, biases):
    batch = Batch(params)
    penalties = sglang.penaltylib.BatchedPenalizerOrchestrator(
        case.columns, batch, {
            sglang.penaltylib.BatchedFrequencyPenalizer,
            sglang.penaltylib.BatchedPresencePenalizer,
            sglang.penaltylib.BatchedMinNewTokensPenalizer,
            sglang.penaltylib.BatchedRepetitionPenalizer})
    for token in case.output:
        penalties.cumulate_output_tokens(torch.tensor([token]))
    bias = torch.zeros(1, case.columns)
    for token, value in biases.items():
        bias[0, int(token)] = value
    info = types.SimpleNamespace(
        penalizer_orchestrator=penalties, temperatures=torch.ones(1, 1), vocab_size=case.columns,
        logit_bias=bias if biases else None, acc_additive_penalties=None, acc_scaling_penalties=None)
    # As with the overlapped scheduler, which is the default.
    sglang.info.update_penalties(info)
    info.penalizer_orchestrator = None
    logits = torch.tensor(case.logits).unsqueeze(0)
    sglang.info._apply_pre_grammar_logits_transforms(info, logits)
    sglang.info._apply_post_grammar_logits_transforms(info, logits)
    return logits


def recorded(sglang, case, names):
    params = sglang.params(**names)
    params.normalize(TOKENIZER)
    params.verify(case.columns)
    logits = edit(sglang, case, params, names.get('logit_bias', {}))
    edited = logits[0].clone().numpy()
    if names.get('frequency_penalty'):
        edited = None  # adds it up occurrence by occurrence
    probs = torch.softmax(logits / torch.tensor([[params.temperature]]), -1)
    if params.top_k >= sglang.top_k_all and params.top_p == 1 and params.min_p == 0:
        return edited, (probs[0] > 0).numpy(), probs[0].numpy()  # Sampler's simple case
    _, left, ids, _ = sglang.sampler.top_k_top_p_min_p_sampling_from_probs_torch(
        probs, torch.tensor([params.top_k]), torch.tensor([params.top_p]),
        torch.tensor([params.min_p]), need_min_p_sampling=params.min_p > 0, sampling_seed=None,
        positions=None, return_filtered_probs=True)
    row = torch.zeros(case.columns)
    row[ids[0].long()] = left[0]
    return edited, (row > 0).numpy(), (row / row.sum()).numpy()


def parameters(rng, case):
    def within(low, high):
        return lambda: rows.short(rng.uniform(low, high))
    names = rows.pick(rng, {
        'temperature': (0.6, lambda: rng.choice([0.0] + [rows.short(rng.uniform(0.5, 2))] * 9)),
        'top_k': (0.5, lambda: rng.choice([-1, 1, 2, 5, 20, 100, 400])),
        'top_p': (0.5, within(0.05, 0.99)),
        'min_p': (0.4, within(0.001, 0.4)),
        'repetition_penalty': (0.4, within(0.7, 1.8)),
        'frequency_penalty': (0.3, within(-0.5, 1)),
        'presence_penalty': (0.3, within(-0.5, 1)),
        'logit_bias': (0.25, lambda: {str(i): rows.short(rng.gauss(0, 3))
                                      for i in case.some_ids(rng, 8)}),
    })
    if rng.random() < 0.3:
        names.update(min_new_tokens=rng.randrange(1, 60), stop_token_ids=case.some_ids(rng, 4))
    return names


def cases(peers):
    sglang = load(peers)
    rng = rows.seeded('sglang')
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 3000000 + seed, step=18 if seed % 10 == 0 else 0,
                         holes=2 if seed % 7 == 0 else 0)
        names = parameters(rng, case)
        yield rows.line(case, names, *recorded(sglang, case, names))


def title(peers):
    wheel = next(pathlib.Path(peers, 'download').glob('sglang-*'))
    return 'sglang %s with torch %s' % (wheel.name.split('-')[1], torch.__version__)
