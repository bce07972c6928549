"""What tools/speculation_sweep.py asks of generate, and its table, by a program that stands for generate.

usage: sweep_test.py SPECULATION_SWEEP_PY
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SWEEP = sys.argv.pop(1)

# Keeps what it was asked for, and reports the same of each run: 60 of 80 drafts kept, 100 tokens in 40 calls, which
# take twice what a call for one token takes, the drafter half of that, the rest a tenth.
GENERATE = """#!/bin/sh
echo "$*" >>'{asked}'
while [ "$1" != --json ]; do shift; done
echo '{result}' >>"$2"
"""
RUNS = {"new_tokens": 100, "rounds": 40, "target_forwards": 40, "seconds": 10.4,
        "target_seconds": 8.0, "drafted": 80, "accepted": 60, "drafter_seconds": 2.0}  # fmt: skip
PLAIN = {"new_tokens": 100, "rounds": 100, "target_forwards": 100, "seconds": 12,
         "target_seconds": 10.0}  # fmt: skip
RESULT = {"speed_up": 1.25, "all_runs": RUNS, "all_autoregressive_runs": PLAIN}


class SweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results.jsonl"

    def sweep(self, generate, *options):
        return subprocess.run([sys.executable, SWEEP, generate, "target", "drafter", self.results,
                               *options], capture_output=True, text=True, check=False)  # fmt: skip

    def test_each_drafter_is_measured_sampled_and_greedy(self):
        generate, asked = self.folder / "generate", self.folder / "asked"
        generate.write_text(GENERATE.format(asked=asked, result=json.dumps(RESULT)))
        generate.chmod(0o700)
        run = self.sweep(generate, "--rounds", "2")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        # A prompt has a line break.
        calls = [f" {call.strip()} " for call in asked.read_text().split("--model")[1:]]
        for options in ("--draft drafter", "--mode ngram", "--lookup", "--adaptive", "--measured",
                        "--filler-top-k 0", "--ngram-least-count 2", "--ngram-least-share 0.5",
                        "--lookup-min-match 3", "--stop-if-unknown", "--greedy",
                        "--temperature 0.8", "--seed 0", "--seed 10"):  # fmt: skip
            self.assertTrue(any(f" {options} " in call for call in calls), options)
        for call in calls:
            self.assertIn("--cpu-times", call)
            self.assertEqual("--greedy" in call, "--seed" not in call)
        # All drafters in turn, and then all of them again.
        self.assertEqual(len(calls) % 4, 0)
        half = len(calls) // 2
        self.assertEqual([call for call in calls[:half] if "--greedy" in call],
                         [call for call in calls[half:] if "--greedy" in call])
        rows = [line for line in run.stdout.splitlines() if line.startswith("| model, gamma 1 |")]
        self.assertEqual(
            rows, ["| model, gamma 1 | 75 % | 2.00 | 2.50 | 0.50 | 2.00 | 0.10 | 0.80 | 1.25 |"] * 2)
        self.assertEqual(self.sweep("nothing", "--only-table").stdout, run.stdout)
        self.assertEqual([path.name for path in self.folder.glob("*.line")], [])

    def test_complaints(self):
        run = self.sweep("/nonexistent/generate")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nonexistent/generate", run.stderr)
        failing = self.folder / "failing"
        failing.write_text("#!/bin/sh\necho no such model >&2\nexit 1\n")
        failing.chmod(0o700)
        run = self.sweep(failing)
        self.assertEqual((run.returncode, run.stderr), (1, "speculation_sweep: no such model\n"))
        for content, message in (("", "has no line"), ("{", "is not JSON"),
                                 ("{}", "sampling is null; it must be a text"),
                                 ('{"sampling": "greedy", "row": "x"}', "all_runs is not an object")):
            self.results.write_text(content)
            run = self.sweep("nothing", "--only-table")
            self.assertEqual(run.returncode, 1)
            self.assertIn(message, run.stderr)


if __name__ == "__main__":
    unittest.main()
