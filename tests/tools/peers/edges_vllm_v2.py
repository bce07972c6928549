"""The lines of edges.py for vLLM's second runner, whose parts do not go together with the first one's.

Without those whose top-p cuts among ties or needs one of the least likely tokens: docs/coming-from.md tells what its
kernels make of them.
"""

import vllm_v2_sampler  # before all that imports Triton

import edges


def cases(peers):
    vllm = vllm_v2_sampler.load(peers)
    runners = {}
    for is_split in (False, True):
        for case, names in edges.of_vllm(peers):
            if 'top_p' in names and (case.has_ties or names['top_p'] > 0.75):
                continue
            runner = runners.setdefault(case.columns, vllm_v2_sampler.Runner(vllm, case.columns))
            _, kept, probabilities = vllm_v2_sampler.recorded(vllm, runner, case, names, is_split)
            yield edges.line('vllm_v2', case, names, kept, probabilities)


def title(peers):
    return vllm_v2_sampler.title(peers)
