"""The program examples/engine_json: steps by an engine's own parameters, and what moves between them.

usage: engine_json_test.py ENGINE_JSON PROJECT_DIR
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

LOGITS = pathlib.Path(sys.argv.pop(2)) / "examples" / "recorded_logits" / "logits.f16"
PROGRAM = sys.argv.pop(1)


def steps(preset, **parameters):
    """Token, number of kept tokens and logprob of each step."""
    run = subprocess.run([PROGRAM, preset, json.dumps(parameters), LOGITS, "12"],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"^token (\d+) of (\d+), logprob (-?[\d.]+)$", run.stdout, re.M)
    return [(int(token), int(kept), float(logprob)) for token, kept, logprob in found]


class EngineJsonTest(unittest.TestCase):
    def test_tokens_drawn_are_the_history(self):
        free = steps("sampler", temperature=0)
        tokens = [token for token, _, _ in free]
        self.assertEqual(len(tokens), 12)
        self.assertLess(len(set(tokens)), 12)
        once = steps("sampler", temperature=0, presence_penalty=1e9)
        self.assertEqual(len({token for token, _, _ in once}), 12)

    def test_mirostats_mu_moves(self):
        still = steps("llama.cpp", mirostat=2, mirostat_tau=3, mirostat_eta=0)
        moved = steps("llama.cpp", mirostat=2, mirostat_tau=3, mirostat_eta=1)
        self.assertEqual(still[0], moved[0])
        self.assertNotEqual(still[1:], moved[1:])
        # Without a rate the surprise is limited by the same number of bits in each step.
        fixed = steps("llama.cpp", mirostat=2, mirostat_tau=0.01, mirostat_eta=0)
        self.assertEqual({kept for _, kept, _ in fixed}, {1})

    def test_the_running_top_p_falls_and_is_reset(self):
        numbers = {"top_p": 0.95, "top_p_decay": 0.1, "top_p_min": 0.001, "seed": 3}
        falls = steps("tensorrt_llm", **numbers)
        self.assertGreater(falls[0][1], 1)
        self.assertEqual([kept for _, kept, _ in falls[3:]], [1] * 9)
        reset = steps("tensorrt_llm", **numbers, top_p_reset_ids=falls[0][0])
        self.assertEqual(reset[0], falls[0])
        self.assertGreater(reset[1][1], falls[1][1])

    def test_the_librarys_own_names(self):
        # Of the first 32 tokens some may be drawn, and one is made the likeliest.
        words = [0b11110000] + [0] * 63
        only = steps("sampler", token_bitmask=words)
        self.assertLessEqual({token for token, _, _ in only}, {4, 5, 6, 7})
        self.assertEqual({kept for _, kept, _ in only}, {4})
        biased = steps("sampler", token_bitmask=words, dense_bias=[0] * 5 + [1000])
        self.assertEqual({token for token, _, _ in biased}, {5})
        self.assertNotEqual(steps("sampler", draw_method="gumbel"), steps("sampler"))
        self.assertEqual(steps("sampler", draw_method="gumbel"), steps("nano_vllm"))


unittest.main()
