"""What the sampler of vLLM's second runner makes of logits: vllm/v1/worker/gpu/sample, its own
classes in their own order, and its Triton kernels by Triton's interpreter on the CPU.

Where a row has top-p and no top-k, every second one takes the kernels that a GPU takes for small
batches, the split pipeline; the others, and all rows with top-k, the one kernel of large batches.
"""

import importlib
import os
import pathlib
import types

os.environ['TRITON_INTERPRET'] = '1'

import numpy
import torch

import rows
import stubs
import vllm_sampler

NUM_CASES = 1100
NUM_SLOTS = 3
PROCESSORS_OF_THE_GPU = 4  # a row is split among as many programs
LONGEST_TEXT = 100


class Number(int):
    """A loop's number, which a compiled kernel may cast."""

    def to(self, _type):
        return self


def let_loops_count_in_numbers():
    """The interpreter's count in int."""
    from triton.runtime import interpreter
    patch = interpreter._patch_lang_core

    def patch_range_too(lang, scope):
        patch(lang, scope)
        ints = lang.range
        scope.set_attr(lang, 'range', lambda *ends, **options: map(Number, ints(*ends)))

    interpreter._patch_lang_core = patch_range_too


def load(peers):
    stubs.allow_parts_of('vllm', os.fspath(pathlib.Path(peers, 'vllm_v2')))
    stubs.use_triton()
    let_loops_count_in_numbers()
    importlib.import_module('vllm.platforms').current_platform.device_type = 'cpu'
    importlib.import_module('vllm.utils.platform_utils').num_compute_units = (
        lambda _: PROCESSORS_OF_THE_GPU)
    from vllm.v1.sample.ops import topk_topp_sampler, topk_topp_triton
    from vllm.v1.worker.gpu import states
    from vllm.v1.worker.gpu.sample import sampler
    return types.SimpleNamespace(filters=topk_topp_sampler, kernels=topk_topp_triton,
                                 states=states, sampler=sampler)


class Runner:
    """What the runner has of rows of one length: slots of requests, and the sampler."""

    def __init__(self, vllm, columns):
        device = torch.device('cpu')
        self.requests = vllm.states.RequestState(
            max_num_reqs=NUM_SLOTS, max_model_len=LONGEST_TEXT, max_num_batched_tokens=LONGEST_TEXT,
            num_speculative_steps=0, vocab_size=columns, device=device)
        self.sampler = vllm.sampler.Sampler(
            types.SimpleNamespace(reasoning_config=None), NUM_SLOTS, columns, device, self.requests)
        # The logits between the edits and the temperature.
        self.edited = None
        states = self.sampler.sampling_states
        apply_temperature = states.apply_temperature

        def copy_first(logits, *args):
            self.edited = logits.clone()
            apply_temperature(logits, *args)

        states.apply_temperature = copy_first

    def sample(self, case, params):
        """The edited logits, the token, the logits that are left."""
        text = case.text
        self.requests.add_request('one', len(case.prompt), text, len(text), LONGEST_TEXT)
        slot = self.requests.req_id_to_index['one']
        self.sampler.add_request(slot, params)
        self.requests.apply_staged_writes()
        self.sampler.apply_staged_writes()
        self.edited = logits = torch.tensor(case.logits).unsqueeze(0)
        slots = torch.tensor([slot], dtype=torch.int32)
        token, left = self.sampler.sample(
            logits, expanded_idx_mapping=slots, idx_mapping=slots, idx_mapping_np=slots.numpy(),
            pos=torch.tensor([len(text) - 1]), input_ids=torch.tensor(text[-1:], dtype=torch.int32),
            expanded_local_pos=torch.zeros(1, dtype=torch.int32),
            seq_lens_upper_bound_np=numpy.array([len(text)], numpy.int32))
        self.requests.remove_request('one')
        return self.edited[0].numpy(), int(token), left[0]


def request(case, names):
    """As SamplingParams has it: a greedy request has no filters."""
    n = {**vllm_sampler.DEFAULTS, **names}
    if n['temperature'] == 0:
        n.update(top_k=0, top_p=1.0, min_p=0.0)
    n['logit_bias'] = {int(i): x for i, x in n['logit_bias'].items()}
    return types.SimpleNamespace(
        **n, all_stop_token_ids=set(n['stop_token_ids']), seed=len(case.text), logprobs=None,
        logprob_token_ids=None, thinking_token_budget=None, structured_outputs=None)


def use_split(vllm, is_split):
    """Whether rows with top-p alone are split: on the CPU, where these lie, vLLM never does."""
    def filtered(logits, k, p, **more):
        if is_split and k is None:
            vllm.kernels._apply_topp_split(logits, None, p, -torch.inf, PROCESSORS_OF_THE_GPU)
            return logits
        return vllm.kernels.apply_top_k_top_p_triton(logits, k, p, **more)

    vllm.filters.apply_top_k_top_p_triton = filtered


def recorded(vllm, runner, case, names, is_split):
    use_split(vllm, is_split)
    params = request(case, names)
    edited, token, left = runner.sample(case, params)
    if params.temperature == 0:
        one_hot = torch.nn.functional.one_hot(torch.tensor(token), case.columns).numpy()
        return edited, one_hot > 0, one_hot
    kept = (left > -torch.inf).numpy()
    assert kept[token] or not kept.any()
    return edited, kept, left.softmax(-1).numpy()


def cases(peers):
    vllm = load(peers)
    rng = rows.seeded('vllm_v2')
    runners = {}
    for seed in range(NUM_CASES):
        case = rows.Case(rng, 8000000 + seed, step=18 if seed % 5 == 0 else 0,
                         holes=2 if seed % 7 == 0 else 0)
        names = vllm_sampler.parameters(rng, case)
        if case.columns not in runners:
            runners[case.columns] = Runner(vllm, case.columns)
        edited, kept, probabilities = recorded(
            vllm, runners[case.columns], case, names, is_split=seed % 2 == 0)
        if kept.any():
            yield rows.line(case, names, edited, kept, probabilities)


def title(peers):
    import triton
    return "%s and Triton's interpreter %s" % (vllm_sampler.title(peers), triton.__version__)
