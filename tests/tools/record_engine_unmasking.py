"""Records what engines' own steps of diffusion models fill in: tests/unmask/engines.txt.

usage: record_engine_unmasking.py LLADA DREAM LMDEPLOY SGLANG > tests/unmask/engines.txt

LLADA is LLaDA's generate.py, DREAM Dream's generation_utils.py (as Fast-dLLM has it), LMDEPLOY the file
lmdeploy/pytorch/strategies/dllm/unmasking.py, SGLANG the folder sglang/srt/dllm/algorithm. Needs torch; what
else they import is stubbed. The model is a table of logits, which tests/unmask/engines_test.cpp makes anew.
"""

import importlib.util
import pathlib
import sys
import types
from unittest import mock

import torch

ROWS, VOCABULARY, MASK = 16, 24, 23


def mix(x):
    """splitmix64"""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def logits_of(seed, step):
    """[ROWS, VOCABULARY]; some rows are surer than others. The mask token is never likely."""
    rows = []
    for row in range(ROWS):
        place = (seed << 40) + (step << 24) + (row << 8)
        scale = 2 ** (mix(place + 255) % 4)
        rows.append([(mix(place + token) >> 40) * 2**-23 * scale for token in range(VOCABULARY)])
        rows[-1][MASK] = -64.0
    return torch.tensor(rows, dtype=torch.float32)


class Record:
    def __init__(self, name, seed, confidence, threshold=0.0, edit_threshold=0.0):
        print(f"case {name} {seed} {confidence} {threshold!r} {edit_threshold!r}")

    def step(self, num_committed, num_steps_left, tokens):
        print("step", num_committed, num_steps_left, *(int(token) for token in tokens))


PROBABILITY, MARGIN, ENTROPY, POSITION = 0, 1, 2, 5


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record_llada(path):
    sys.modules.setdefault("transformers", mock.MagicMock())
    llada = load(path, "llada")
    for seed, steps in ((1, 16), (2, 5), (3, 1), (4, 7)):
        texts = []

        def model(x, attention_mask=None, seed=seed, texts=texts):
            texts.append(x[0, 1:].clone())
            logits = torch.cat([torch.zeros(1, VOCABULARY), logits_of(seed, len(texts) - 1)])
            return types.SimpleNamespace(logits=logits[None])

        model.device = "cpu"
        texts.append(llada.generate(model, torch.zeros(1, 1, dtype=torch.long), steps=steps, gen_length=ROWS,
                                    block_length=ROWS, mask_id=MASK)[0, 1:])
        record = Record("llada", seed, PROBABILITY)
        for step in range(steps):
            record.step(0, steps - step, texts[step + 1])


def record_dream(path):
    transformers = mock.MagicMock()
    for name in ("transformers", "transformers.generation", "transformers.generation.configuration_utils",
                 "transformers.utils"):
        sys.modules[name] = transformers
    transformers.__version__ = ""
    transformers.GenerationConfig = transformers.ModelOutput = object
    dream = load(path, "dream")
    confidences = {"maskgit_plus": PROBABILITY, "topk_margin": MARGIN, "entropy": ENTROPY}
    for seed, (alg, confidence) in enumerate(confidences.items(), 11):
        for steps in (16, 6):
            config = types.SimpleNamespace(
                output_history=True, return_dict_in_generate=False, max_length=ROWS + 1, mask_token_id=MASK,
                steps=steps, eps=1e-3, alg=alg, alg_temp=0.0, temperature=0.0, top_p=None, top_k=None)
            record = Record(f"dream_{alg}", seed, confidence)
            times = torch.linspace(1, config.eps, steps + 1)
            left = [ROWS]

            def fill(i, x, _, record=record, times=times, left=left, steps=steps):
                if i is not None:
                    is_last = i == steps - 1
                    number = left[0] if is_last else int(torch.tensor(left[0]) * (1 - times[i + 1] / times[i]))
                    record.step(number, 0, x[0, 1:])
                    left[0] = int((x[0, 1:] == MASK).sum())
                return x

            def logits(i, _, given, seed=seed):
                return torch.cat([given[0, :1], logits_of(seed, i)])[None]

            class Model(dream.DreamGenerationMixin):
                device = "cpu"

                def __call__(self, x, *_):
                    return types.SimpleNamespace(logits=torch.zeros(1, x.shape[1], VOCABULARY))

            with mock.patch("builtins.print", lambda *a, **k: a and a[0] in ("case", "step") and PRINT(*a, **k)):
                Model()._sample(torch.zeros(1, 1, dtype=torch.long), None, config, fill, logits)


PRINT = print


def record_lmdeploy(path):
    package = mock.MagicMock()
    package.consts.DLLM_MASKED, package.consts.DLLM_UNMASKED, package.consts.DLLM_CACHED = 0, 1, 2
    sys.modules.update({"lmdeploy": package, "lmdeploy.pytorch": package, "lmdeploy.pytorch.config": package})
    lmdeploy = load(path, "lmdeploy_unmasking")
    strategies = package.UnmaskingStrategy
    for seed, steps in ((21, 16), (22, 5)):
        for name, confidence in (("LOW_CONFIDENCE_STATIC", PROBABILITY), ("LOW_CONFIDENCE_DYNAMIC", PROBABILITY),
                                 ("SEQUENTIAL", POSITION)):
            threshold = 0.5 if "DYNAMIC" in name else 0.0
            config = types.SimpleNamespace(block_length=ROWS, denoising_steps=steps,
                                           unmasking_strategy=getattr(strategies, name),
                                           confidence_threshold=threshold)
            processor = lmdeploy.UnmaskingProcessor(config)
            record = Record(f"lmdeploy_{name.lower()}", seed, confidence, threshold)
            masks, tokens = torch.zeros(ROWS, dtype=torch.long), torch.full((ROWS,), MASK)
            for step in range(steps):
                logits = logits_of(seed, step)
                masks, candidates = processor(logits, tokens, logits.argmax(-1), masks)
                tokens = torch.where(masks == 0, MASK, candidates)
                record.step(1 if threshold else ROWS // steps, 0, tokens)


def record_sglang(folder):
    class Algorithm:
        def __init__(self, config):
            self.block_size, self.mask_id, self.fdfo = ROWS, MASK, False

        def _prompt_mask(self, forward_batch):
            return torch.zeros(forward_batch.batch_size, ROWS, dtype=torch.bool)

    for name in ("sglang", "sglang.srt", "sglang.srt.dllm", "sglang.srt.dllm.algorithm", "sglang.srt.dllm.config",
                 "sglang.srt.model_executor", "sglang.srt.model_executor.forward_batch_info"):
        sys.modules[name] = mock.MagicMock()
    sys.modules["sglang.srt.dllm.algorithm.base"] = types.SimpleNamespace(DllmAlgorithm=Algorithm)
    sys.modules["sglang.srt.utils"] = types.SimpleNamespace(is_npu=lambda: False)
    low = load(folder / "low_confidence.py", "low_confidence").LowConfidence
    joint = load(folder / "joint_threshold.py", "joint_threshold").JointThreshold
    cases = [(low, 31, {"threshold": 0.95}), (low, 32, {"threshold": 0.5}), (low, 33, {"threshold": 0.25}),
             (joint, 34, {"threshold": 0.5, "edit_threshold": 0.75}),
             (joint, 35, {"threshold": 0.75, "edit_threshold": 0.25})]
    for kind, seed, config in cases:
        algorithm = kind(types.SimpleNamespace(algorithm_config=config))
        record = Record(f"sglang_{kind.__name__.lower()}", seed, PROBABILITY, config["threshold"],
                        config.get("edit_threshold", 0.0))
        batch = types.SimpleNamespace(batch_size=1, input_ids=torch.full((ROWS,), MASK), dllm_prompt_mask=None)
        states = getattr(algorithm, "init_step_state", lambda _: [None])(batch)
        for step in range(12):
            algorithm.step(batch, logits_of(seed, step), states)
            record.step(1, 0, batch.input_ids)


def main(llada, dream, lmdeploy, sglang):
    print("# Texts after each step of engines' own code, recorded by tests/tools/record_engine_unmasking.py.")
    print("# case NAME SEED CONFIDENCE THRESHOLD EDIT_THRESHOLD; step NUM_COMMITTED NUM_STEPS_LEFT TOKENS")
    record_llada(llada)
    record_dream(dream)
    record_lmdeploy(lmdeploy)
    record_sglang(pathlib.Path(sglang))


if __name__ == "__main__":
    main(*sys.argv[1:])
