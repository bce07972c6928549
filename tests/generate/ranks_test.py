"""generate --ranks N under mpirun writes what one process writes, with the same log-probabilities.

usage: ranks_test.py GENERATE MODEL NUM_RANKS MPIRUN...
"""

import json
import subprocess
import sys
import unittest

GENERATE, MODEL, NUM_RANKS, *MPIRUN = sys.argv[1:]
del sys.argv[1:]

SEVERAL = ["--prompt", "ROMEO:", "--prompt", "", "--samples", "2", "--length", "25", "--logprobs"]
EDITS = (
    '{"temperature": 0.9, "top_k": 200, "top_p": 0.9, "repetition_penalty": 1.2, "frequency_penalty": 0.3,'
    ' "presence_penalty": 0.2, "logit_bias": {"11": 2.5, "1040": -3}, "min_tokens": 8, "stop_token_ids": [11, 198]}'
)
LISTS = json.dumps({
    "top_p": 0.9, "top_p_decay": 0.9, "top_p_least": 0.3, "banned": [11, 25], "stop": [13], "min_new_tokens": 5,
    "bad_words": [[198], [258, 259]], "no_repeat_ngram_size": 3, "draw_method": "gumbel",
    "dense_bias": [(i % 7 - 3) / 4 for i in range(2048)], "token_bitmask": [0xFFFF7F7F + i for i in range(64)],
})  # fmt: skip
DRY = '{"top_k": 40, "min_p": 0.05, "repeat_penalty": 1.1, "dry_multiplier": 0.8, "xtc_probability": 0}'
CASES = {
    "greedy": [*SEVERAL, "--greedy"],
    "sampled": [*SEVERAL, "--temperature", "0.8", "--seed", "3"],
    "top-k and top-p": [*SEVERAL, "--top-k", "50", "--top-p", "0.95", "--seed", "4"],
    "top-p alone": [*SEVERAL, "--top-p", "0.9", "--min-p", "0.01"],
    "without a cache": ["--prompt", "ROMEO:", "--length", "8", "--top-k", "9", "--no-cache"],
    "end tokens": ["--prompt", "ROMEO:", "--samples", "3", "--end-ids", "11,13,198"],
    "to the context's end": ["--prompt", "ROMEO: " * 37, "--top-k", "5", "--length", "1000"],
    "edits": [*SEVERAL, "--preset", "vllm", "--params", EDITS],
    "lists": [*SEVERAL, "--preset", "sampler", "--params", LISTS],
    "history": [*SEVERAL, "--preset", "llama.cpp", "--params", DRY],
    "a race": [*SEVERAL, "--preset", "nano_vllm", "--params", '{"temperature": 0.7}'],
}


def run(*command):
    return subprocess.run(command, capture_output=True, check=False)


def run_ranks(*arguments):
    return run(*MPIRUN, NUM_RANKS, GENERATE, "--model", MODEL, "--ranks", NUM_RANKS, *arguments)


class RanksTest(unittest.TestCase):
    def test_the_text_is_that_of_one_process(self):
        for name, arguments in CASES.items():
            with self.subTest(name):
                plain = run(GENERATE, "--model", MODEL, *arguments)
                self.assertEqual(plain.returncode, 0, plain.stderr)
                ranks = run_ranks(*arguments)
                self.assertEqual(ranks.returncode, 0, ranks.stderr)
                self.assertEqual(ranks.stdout.decode(), plain.stdout.decode())
                # One rank reports the run.
                self.assertEqual(ranks.stderr.count(b"sampling took"), 1, ranks.stderr)

    def test_a_preset_without_a_sharded_form_is_an_error(self):
        ranks = run_ranks("--preset", "llama.cpp", "--params", '{"typical_p": 0.5}')
        self.assertNotEqual(ranks.returncode, 0)
        self.assertEqual(ranks.stdout, b"")
        self.assertIn(
            b"sampling: params has SAMPLER_STAGE_TYPICAL_P; it has no sharded form", ranks.stderr
        )

    def test_another_number_of_processes_is_an_error(self):
        wrong = str(int(NUM_RANKS) + 1)
        ranks = run(*MPIRUN, NUM_RANKS, GENERATE, "--model", MODEL, "--ranks", wrong)
        self.assertNotEqual(ranks.returncode, 0)
        self.assertEqual(ranks.stdout, b"")
        expected = f"--ranks is {wrong}, and MPI has started {NUM_RANKS}; run mpirun -np {wrong}"
        self.assertIn(expected, ranks.stderr.decode())


if __name__ == "__main__":
    unittest.main()
