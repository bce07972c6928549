"""The lines of edges.py for vLLM's second runner, whose parts do not go together with the first one's."""

import vllm_v2_sampler  # before all that imports Triton

import edges


def cases(peers):
    vllm = vllm_v2_sampler.load(peers)
    runners = {}
    for is_split in (False, True):
        for case, names in edges.of_vllm(peers):
            runner = runners.setdefault(case.columns, vllm_v2_sampler.Runner(vllm, case.columns))
            _, kept, probabilities = vllm_v2_sampler.recorded(vllm, runner, case, names, is_split)
            yield edges.line('vllm_v2', case, names, kept, probabilities)


def title(peers):
    return vllm_v2_sampler.title(peers)
