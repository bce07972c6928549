"""What transformers' classifier-free guidance, then a temperature and top-p, make of two rows of logits, in f64.
The second row has the first one's shape, the next seed, and nothing at -inf. Parameters have the library's
own names."""

import torch
import transformers
from transformers.generation import logits_process

import rows

NUM_CASES = 300


def model_of(logits):
    """A model whose next logits these are."""
    def model(*_, **__):
        output = transformers.modeling_outputs.CausalLMOutputWithPast(logits=logits.view(1, 1, -1))
        output['past_key_values'] = None
        return output
    return model


def guided(case, other, names):
    text, scores = torch.tensor([case.text]), torch.tensor(case.logits).double().unsqueeze(0)
    guidance = logits_process.UnbatchedClassifierFreeGuidanceLogitsProcessor(
        names['guidance_scale'], model_of(torch.tensor(other).double()), unconditional_ids=text)
    scores = guidance(text, scores)
    scores = logits_process.TemperatureLogitsWarper(names['temperature'])(text, scores)
    return logits_process.TopPLogitsWarper(names['top_p'])(text, scores)[0]


def cases(_):
    rng = rows.seeded('guidance')
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 2 * seed, holes=2 if seed % 7 == 0 else 0)
        columns, own_seed, step, scale, _ = case.row
        other = rows.logits(columns, own_seed + 1, step, scale, 0)
        names = {'guidance_scale': rows.short(rng.uniform(0.1, 4)),
                 'temperature': rows.short(rng.uniform(0.5, 2)),
                 'top_p': rows.short(rng.uniform(0.3, 0.99))}
        scores = guided(case, other, names)
        yield rows.line(case, names, None, (scores > -torch.inf).numpy(),
                        scores.softmax(-1).numpy())


def title(_):
    return 'transformers %s with torch %s' % (transformers.__version__, torch.__version__)
