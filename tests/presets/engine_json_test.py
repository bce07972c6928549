"""The program examples/engine_json: steps by an engine's own parameters, and what moves between them.

usage: engine_json_test.py ENGINE_JSON PROJECT_DIR
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv.pop(2))
LOGITS = PROJECT / "examples" / "recorded_logits" / "logits.f16"
REQUESTS = PROJECT / "tests" / "presets" / "requests"
PROGRAM = sys.argv.pop(1)


def run_program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          check=False)


def steps(preset, **parameters):
    """Token, number of kept tokens and logprob of each step."""
    run = run_program(preset, json.dumps(parameters), LOGITS, 12)
    assert run.returncode == 0, run.stderr
    found = re.findall(r"^token (\d+) of (\d+), logprob (-?(?:[\d.]+|inf))$", run.stdout, re.M)
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
        # The bitmask allows tokens 4 to 7, and a bias makes 5 the likeliest.
        words = [0b11110000] + [0] * 63
        only = steps("sampler", token_bitmask=words)
        self.assertLessEqual({token for token, _, _ in only}, {4, 5, 6, 7})
        self.assertEqual({kept for _, kept, _ in only}, {4})
        biased = steps("sampler", token_bitmask=words, dense_bias=[0] * 5 + [1000])
        self.assertEqual({token for token, _, _ in biased}, {5})
        self.assertNotEqual(steps("sampler", draw_method="gumbel"), steps("sampler"))
        self.assertEqual(steps("sampler", draw_method="gumbel"), steps("nano_vllm"))

    def test_forced_tokens_are_the_texts(self):
        free = steps("sampler", temperature=0)
        some = steps("sampler", temperature=0, forced_token_id=[free[0][0], -1, 7])
        self.assertEqual([token for token, _, _ in some[:3]], [free[0][0], free[1][0], 7])
        every = steps("sampler", forced_token_id=7, top_k=3)
        self.assertEqual([token for token, _, _ in every], [7] * 12)
        # The forced tokens are history.
        once = steps("sampler", temperature=0, presence_penalty=1e9, forced_token_id=[free[1][0]])
        self.assertEqual(len({token for token, _, _ in once}), 12)
        self.assertNotEqual(once[1][0], free[1][0])

    def test_tensorrts_embedding_bias_is_by_id(self):
        biased = steps("tensorrt_llm", temperature=1, embedding_bias=[0, 0, 0, 1000, False])
        self.assertEqual({token for token, _, _ in biased}, {3})

    def test_each_row_or_as_many_as_wanted_are_drawn_from(self):
        for arguments, count in [([], 48), ([48], 48), ([1], 1)]:
            run = run_program("sampler", "{}", LOGITS, *arguments)
            self.assertEqual((run.returncode, run.stdout.count("token ")), (0, count), run.stderr)
        for parameters, count in [('{"max_tokens": 3}', 3), ('{"max_tokens": 300}', 48)]:
            run = run_program("nano_vllm", parameters, LOGITS)
            self.assertEqual((run.returncode, run.stdout.count("token ")), (0, count), run.stderr)

    def test_a_token_that_ends_the_text_is_the_last(self):
        free = steps("vllm", temperature=0)
        fourth = free[3][0]
        cases = [("vllm", {"temperature": 0, "stop_token_ids": [fourth]}),
                 ("vllm", {"temperature": 0, "stop_token_ids": [fourth], "ignore_eos": True}),
                 ("sglang", {"temperature": 0, "stop_token_ids": [5, fourth]}),
                 ("hugging_face", {"eos_token_id": fourth}),
                 ("tensorrt_llm", {"end_id": fourth}),
                 ("sampler", {"temperature": 0, "stop": [fourth]})]
        for preset, parameters in cases:
            run = run_program(preset, json.dumps(parameters), LOGITS, 12)
            self.assertEqual(run.stdout.count("token "),
                             [token for token, _, _ in free].index(fourth) + 1, run.stderr)
            self.assertIn(f"engine_json: token {fourth} ends the text\n", run.stderr)
        self.assertEqual(steps("sglang", temperature=0, stop_token_ids=[fourth], ignore_eos=True),
                         free)

    def test_a_random_seed_is_another_one_each_time_and_told(self):
        runs = [run_program("vllm", '{"seed": -1}', LOGITS, 12) for _ in range(2)]
        seeds = [re.fullmatch(r"engine_json: the seed is a random one: (\d+)\n", run.stderr)[1]
                 for run in runs]
        self.assertNotEqual(*seeds)  # but for a chance of 2^-31
        again = run_program("vllm", json.dumps({"seed": int(seeds[0])}), LOGITS, 12)
        self.assertEqual((again.stdout, again.stderr), (runs[0].stdout, ""))

    def test_whole_requests_draw_and_tell_once_what_they_pass_over(self):
        presets = {"gemma3": "hugging_face", "koboldcpp": "koboldcpp", "llama2": "hugging_face",
                   "llama_cpp": "llama.cpp", "ollama": "ollama", "phi": "hugging_face",
                   "sglang": "sglang", "tensorrt_llm": "tensorrt_llm", "vllm": "vllm"}
        files = sorted(REQUESTS.glob("*.json"))
        self.assertGreaterEqual(len(files), len(presets))
        for file in files:
            preset = next(preset for name, preset in presets.items() if file.name.startswith(name))
            run = run_program(preset, f"@{file}", LOGITS, 3)
            self.assertEqual((run.returncode, run.stdout.count("token ")), (0, 3), run.stderr)
            self.assertEqual(run.stderr.count("not about sampling, and passed over: "), 1, file)

    def test_wrong_input_is_named_with_its_rule(self):
        with tempfile.NamedTemporaryFile("w") as text:
            text.write("1 2 3\n")
            text.flush()
            rule = "; it must be an integer in [1, 48]\n"
            cases = [
                (["vll", "{}", LOGITS], 'PRESET: "vll" is given; it must be one of sampler, llama'),
                (["vllm", "{", LOGITS], "PARAMETERS: not valid JSON"),
                (["vllm", '{"top_q": 1}', LOGITS], "top_q is no parameter of vllm"),
                (["vllm", '{"logit_bias": {"2048": 1}}', LOGITS], "logit_bias has token 2048; it "
                 "must be of the vocabulary, [0, 2048), as vLLM has it"),
                (["vllm", '{"bad_words_token_ids": [[1, 9999]]}', LOGITS],
                 "bad_words_token_ids has token 9999; it must be of the vocabulary"),
                (["vllm", '{"top_q": 1, "top_r": 2}', LOGITS],
                 "top_q, top_r are no parameters of vllm that this program knows"),
                (["vllm", '{"min_tokens": 3}', LOGITS], "and no token that ends a text"),
                (["vllm", "{}", "/nonexistent"], "/nonexistent: cannot be opened"),
                (["vllm", "{}", "/dev/null"], "/dev/null has 0 bytes; it must be rows of 2048 f16"),
                (["vllm", "{}", text.name], f"{text.name} has 6 bytes; it must be rows of 2048 f16"),
                *((["vllm", "{}", LOGITS, steps], f'STEPS: "{steps}" is given{rule}')
                  for steps in ["x", "-1", "0", "49", "1x", ""])]  # fmt: skip
            for arguments, message in cases:
                run = run_program(*arguments)
                self.assertIn(message, run.stderr, arguments)
                self.assertEqual((run.stdout, run.returncode), ("", 1), arguments)
        self.assertEqual(run_program("vllm", "{}").returncode, 2)

    def test_a_row_without_a_token_ends_the_run_with_the_reason(self):
        cases = [
            ({"allowed": [99999]}, "SAMPLER_ROW_EMPTY (there is no token to choose: allowed has no "
                                   "id of the row, which are those in [0, 2048))"),
            ({"token_bitmask": [0] * 64}, "what is set leaves none: token_bitmasks)"),
            ({"bad_words": [[1], []]}, "SAMPLER_ROW_INVALID_LIST (a list of tokens breaks its rule: "
                                       "bad_words has a list of 0 tokens; it must be 1 or more)"),
            ({"dry_multiplier": 1, "dry_breakers": [[1] * 21]},
             "dry_breakers has a list of 21 tokens; it must be 1 to 20)"),
            ({"forced_token_id": [-1, 2048]}, "SAMPLER_ROW_INVALID_PARAMETER (a number of the row "
                                              "breaks its rule: forced_token_id is 2048; the row "
                                              "has ids in [0, 2048))")]  # fmt: skip
        for parameters, message in cases:
            run = run_program("sampler", json.dumps(parameters), LOGITS)
            self.assertIn(message, run.stderr)
            step = 1 if "forced_token_id" in parameters else 0
            self.assertIn(f"engine_json: step {step} gives no token: SAMPLER_ROW_", run.stderr)
            self.assertEqual((run.stdout.count("token "), run.returncode), (step, 1))

    def test_a_logit_that_is_no_number_is_named(self):
        good = LOGITS.read_bytes()[:4096]
        for bits, value in [(0x7E00, "nan"), (0x7C00, "inf")]:
            with tempfile.NamedTemporaryFile() as file:
                file.write(good + good[:34] + struct.pack("<H", bits) + good[36:])
                file.flush()
                run = run_program("sampler", "{}", file.name)
            self.assertEqual(run.stderr,
                             "engine_json: step 1 gives no token: SAMPLER_ROW_INVALID_VALUE "
                             f"(a logit is NaN or +inf: logit 17 is {value})\n")
            self.assertEqual((run.stdout.count("token "), run.returncode), (1, 1))


unittest.main()
