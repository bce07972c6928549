"""What generate() of Hugging Face's transformers makes of logits: its own list of processors."""

import numpy
import torch
import transformers
from transformers import GenerationConfig
from transformers.generation.utils import GenerationMixin

import rows

NUM_CASES = 1200
NEED_AN_END = {'min_new_tokens', 'min_length', 'exponential_decay_length_penalty'}


class Model(GenerationMixin):
    """What _get_logits_processor asks of a model."""
    config = transformers.PretrainedConfig()
    device = torch.device('cpu')


def parameters(rng, case):
    def within(low, high):
        return lambda: rows.short(rng.uniform(low, high))
    windows = rows.pick(rng, {
        'top_k': (0.7, lambda: rng.choice([0, 0, 1, 2, 5, 20, 100, 300])),
        'top_p': (0.35, within(0.05, 0.99)),
        'min_p': (0.3, within(0.001, 0.4)),
        'typical_p': (0.25, within(0.1, 0.99)),
        'epsilon_cutoff': (0.2, within(0.0002, 0.05)),
        'eta_cutoff': (0.2, within(0.0002, 0.2)),
        'top_h': (0.2, within(0.1, 0.95)),
        'temperature': (0.6, within(0.5, 2)),
    })
    edits = rows.pick(rng, {
        'repetition_penalty': (0.4, within(0.7, 1.8)),
        'no_repeat_ngram_size': (0.25, lambda: rng.randrange(1, 4)),
        'bad_words_ids': (0.25, lambda: case.words(rng, case.text)),
        'suppress_tokens': (0.25, lambda: case.some_ids(rng, 6)),
        'sequence_bias': (0.25, lambda: [[sequence, rows.short(rng.gauss(0, 3))]
                                         for sequence in biased_sequences(rng, case)]),
        'min_new_tokens': (0.25, lambda: rng.randrange(1, 60)),
        'min_length': (0.2, lambda: rng.randrange(1, 90)),
        # A factor that f32 has, too.
        'exponential_decay_length_penalty': (0.25, lambda: [rng.randrange(0, 30), rng.randrange(58, 90) / 64]),
    })
    if NEED_AN_END & edits.keys() or rng.random() < 0.1:
        edits['eos_token_id'] = case.some_ids(rng, 4)
    return {'do_sample': rng.random() < 0.95, **windows, **edits}


def biased_sequences(rng, case):
    """No two end in the same token: transformers rounds their sum once, libsampler each addition."""
    sequences = {i: [i] for i in case.some_ids(rng, 8)}
    if rng.random() < 0.5:
        sequences.update((word[-1], word) for word in case.words(rng, case.text))
    return list(sequences.values())


def processors(case, names, do_sample):
    config = GenerationConfig(**{**names, 'do_sample': do_sample})
    config.update(**config._get_default_generation_params(), defaults_only=True)  # as generate() does
    stop = names.get('eos_token_id')
    config._eos_token_tensor = None if stop is None else torch.tensor(stop)
    return Model()._get_logits_processor(config, input_ids_seq_length=len(case.prompt), device='cpu')


def recorded(case, names):
    text, logits = torch.tensor([case.text]), torch.tensor(case.logits).unsqueeze(0)
    edited = processors(case, names, do_sample=False)(text, logits.clone())[0]
    if names['do_sample']:
        scores = processors(case, names, do_sample=True)(text, logits)[0]
        return edited.numpy(), (scores > -torch.inf).numpy(), scores.softmax(-1).numpy()
    greedy = torch.nn.functional.one_hot(edited.argmax(), len(edited)).numpy()
    return edited.numpy(), greedy > 0, greedy


def cases(_):
    rng = rows.seeded('hugging_face')
    for seed in range(NUM_CASES):
        step = 18 if seed % 10 == 0 else 0
        case = rows.Case(rng, seed, step=step, holes=2 if seed % 7 == 0 else 0)
        names = parameters(rng, case)
        edited, kept, probabilities = recorded(case, names)
        # Where an end is banned before it decays transformers has NaN.
        if kept.any() and not numpy.isnan(edited).any():
            yield rows.line(case, names, edited, kept, probabilities)


def title(_):
    return 'transformers %s with torch %s' % (transformers.__version__, torch.__version__)
