"""The plot, the table and the complaints of tools/speculation_plot.py, from results made up here.

usage: plot_test.py SPECULATION_PLOT_PY
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PLOT = sys.argv.pop(1)


def result(gamma, adaptive=False, **changes):
    """A drafter that costs a tenth of the target, and half of all drafts accepted."""
    values = {
        "mode": "speculative", "temperature": 1.0, "adaptive": adaptive, "gamma": gamma,
        "gamma_max": gamma, "new_tokens": 30, "rounds": 20, "drafted": 20 * gamma,
        "accepted": 10 * gamma, "drafter_seconds": 0.02 * gamma, "target_seconds": 0.3,
        "seconds": 0.35 + 0.02 * gamma, "speed_up": 1.0 + gamma / 8,
        "autoregressive": {"target_forwards": 40, "target_seconds": 0.4},
    }  # fmt: skip
    return {**values, **changes}


class PlotTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name) / "results.jsonl"
        self.svg = pathlib.Path(folder.name) / "plot.svg"

    def run_plot(self, results, *options):
        self.results.write_text("".join(json.dumps(values) + "\n" for values in results))
        command = [sys.executable, PLOT, self.results, self.svg, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_points_of_both_series(self):
        results = [result(gamma, adaptive) for gamma in (1, 2, 4) for adaptive in (False, True)]
        results += [result(2, speed_up=9.0), result(2, speed_up=1.5, accepted=0)]
        run = self.run_plot(results, "--title", "A <title>")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        tree = xml.etree.ElementTree.parse(self.svg)
        titles = [node.text for node in tree.iter("{http://www.w3.org/2000/svg}title")]
        for title in ("gamma 1, fixed: 50.0", "gamma 2, fixed: 33.3", "gamma 2, adaptive: 50.0"):
            self.assertIn(title, titles)  # acceptance, of all drafts
        for title in ("gamma 4, fixed: 1.50", "gamma 2, fixed: 1.50", "gamma 2, adaptive: 1.25"):
            self.assertIn(title, titles)  # the median speed-up
        self.assertIn("A &lt;title&gt;, temperature 1<", self.svg.read_text())

    def test_table(self):
        run = self.run_plot([result(1), result(3)])
        # A forward takes 10 ms; a round 15 ms of the target, 1 ms a draft and 2.5 ms of the rest.
        self.assertIn("| 1 | 50 % | 1.50 | 1.50 | 0.10 | 1.50 | 0.25 | 0.81 | 1.12 |", run.stdout)
        self.assertIn("| 3 | 50 % | 1.50 | 1.88 | 0.10 | 1.50 | 0.25 | 0.91 | 1.38 |", run.stdout)

    def test_check(self):
        self.assertNotEqual(self.run_plot([result(1)], "--check").returncode, 0)
        self.assertFalse(self.svg.exists())
        self.assertEqual(self.run_plot([result(1)]).returncode, 0)
        self.assertEqual(self.run_plot([result(1)], "--check").returncode, 0)
        self.assertNotEqual(self.run_plot([result(2)], "--check").returncode, 0)

    def test_complaints(self):
        for results, message in (
            ([], "has no line"),
            ([{}], ":1: mode is null; it must be a text"),
            ([result(1), result(1, mode="ngram")], ":2: mode is ngram; it must be speculative"),
            ([result(1), result(1, temperature=2)], ":2: temperature is not that of the first line"),
            ([result(1, speed_up=0)], ":1: speed_up is 0; it must be a positive number"),
            ([result(1, drafted="x")], ':1: drafted is "x"; it must be an integer'),
        ):
            run = self.run_plot(results)
            self.assertEqual(run.returncode, 1)
            self.assertIn(message, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1)
            self.assertFalse(self.svg.exists())


if __name__ == "__main__":
    unittest.main()
