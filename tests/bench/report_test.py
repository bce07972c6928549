"""Tables, plots and complaints of tools/bench_report.py, from files made up here.

usage: report_test.py BENCH_REPORT_PY
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

REPORT = sys.argv.pop(1)
PAGE = """# Title

<!-- begin: cpu results -->
<!-- end: cpu results -->
between
<!-- begin: gpu results -->
<!-- end: gpu results -->
last line
"""
README = PAGE.replace("results", "summary")

CPU_RUN = {
    "program": "libsampler",
    "version": "0.0.1",
    "commit": "abc123",
    "date": "2026-11-20T10:00:00Z",
    "command": "./run bench --json bench/results/a.json",
    "cpu": "A <fast> & small CPU",
    "num_cpus": 2,
    "l2_bytes": 1048576,
    "l3_bytes": 33554432,
    "compiler": "GNU 12.2.0",
    "instructions": "scalar",
    "limit_instructions": "AVX2",
    "llama": "llama.cpp 1.2",
}
GPU_RUN = {
    "program": "libsampler",
    "version": "0.0.1",
    "commit": "abc123",
    "date": "2026-11-20T10:00:00Z",
    "command": "./gpu_check --time-only",
    "device": "GPU 9000",
    "compute_capability": 90,
    "driver": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 1",
    "driver_cuda_version": 12080,
    "runtime_cuda_version": 13000,
}


def cpu_cell(operation, time, limit, num_cols=128256, num_rows=1, dtype="f32", rows="lm", **more):
    return {
        "name": f"{operation}/{rows}/V={num_cols}/B={num_rows}/{dtype}",
        "real_time": time,
        "time_unit": "us",
        "operation": operation,
        "rows": rows,
        "num_rows": num_rows,
        "num_cols": num_cols,
        "dtype": dtype,
        "limit_us": limit,
        **more,
    }


def gpu_cell(operation, cold, num_rows, dtype="f32", program="libsampler", num_cols=128256):
    return {
        "program": program,
        "operation": operation,
        "num_rows": num_rows,
        "num_cols": num_cols,
        "dtype": dtype,
        "kernel_cold": {"median_us": cold},
    }


CPU = {
    "context": CPU_RUN,
    "benchmarks": [
        cpu_cell("greedy", 9, 6, llama_us=180),
        cpu_cell("top_p0.95", 48.25, 6.25, llama_us=1463),
        cpu_cell("greedy", 2.5, 1.5, num_cols=32000),
        cpu_cell("greedy", 4.75, 3, dtype="bf16"),
        cpu_cell("greedy", 10.8, 6, rows="flat"),
        cpu_cell("greedy", 9.9, 6, rows="masked"),
        cpu_cell("greedy", 640, 500, num_rows=64, threads_us=355, thread_efficiency=0.901),
        {**cpu_cell("top_p0.95", 2500, 6), "program": "torch 2.9"},
    ],
}
GPU = {
    "run": GPU_RUN,
    "cells": [
        gpu_cell("top_p0.9", 130, 1024),
        gpu_cell("greedy", 2.5, 1),
        gpu_cell("greedy", 8, 64),
        gpu_cell("greedy", 99.96, 1, "bf16"),
        gpu_cell("greedy", 1.25, 256, num_cols=32000),
        gpu_cell("greedy", 3.25, 8),
        gpu_cell("all_outputs", 7, 1),
    ],
}
PEERS = {
    "run": {"program": "two", "date": "2026-11-19T00:00:00Z", "device": "GPU 9000"},
    "cells": [
        gpu_cell("top_p0.9", 65, 1024, program="flashinfer 0.7"),
        gpu_cell("top_p0.9", 3.5, 1, program="torch 2.9"),
        gpu_cell("greedy", 20, 1, program="torch 2.9"),
    ],
}
FACTS = {"run": GPU_RUN, "attributes": {"multiprocessors": 132}}

CPU_TABLE = """
|  | V = 32,000 | V = 128,256 | V = 262,144 | x max | llama.cpp | torch 2.9 | bf16 | hardest row | 2 threads |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| a plain maximum | 1.50 | 6.25 | – |  |  |  |  |  |  |
| `greedy` | 2.50 | 9.00 | – | 1.50 | 180 (20.0x) | – | 4.75 | 1.20 (flat) | 90 % |
| `top_p0.95` | – | 48.2 | – | 7.72 | 1,463 (30.3x) | 2,500 (51.8x) | – | – | – |

– was not measured.
"""
GPU_TABLE = """
| library / peer, µs | B = 1 | B = 64 | B = 256 | B = 1,024 |
| --- | --: | --: | --: | --: |
| greedy | 2.50 / 20.0 | 8.00 / – | – | – |
| top-p 0.9 | – | – | – | 130 / 65.0 |

– was not measured.
"""


CPU_SUMMARY = """
|  | µs | llama.cpp | torch 2.9 |
| --- | --: | --: | --: |
| `greedy` | 9.00 | 180 (20.0x) | – |
| `top_p0.95` | 48.2 | 1,463 (30.3x) | 2,500 (51.8x) |

– was not measured.
"""


class Report(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.results = self.root / "bench/results"
        self.results.mkdir(parents=True)
        (self.root / "docs").mkdir()
        (self.root / "docs/performance.md").write_text(PAGE)
        (self.root / "README.md").write_text(README)

    def put(self, name, values):
        (self.results / name).write_text(values if isinstance(values, str) else json.dumps(values))

    def run_report(self, *options, status=0):
        command = [sys.executable, REPORT, "--root", str(self.root), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr.strip()

    def page(self):
        return (self.root / "docs/performance.md").read_text()

    def readme(self):
        return (self.root / "README.md").read_text()

    def marks(self, name):
        tree = xml.etree.ElementTree.parse(self.results / "plots" / name)
        return [path for path in tree.iter("{http://www.w3.org/2000/svg}path")
                if path.get("class") == "mark"]

    def test_nothing_stands_where_there_are_no_results(self):
        self.run_report("--check")
        self.run_report()
        self.assertEqual(self.page(), PAGE)
        self.assertEqual(self.readme(), README)
        self.assertFalse((self.results / "plots").exists())

    def test_cpu(self):
        self.put("a.json", CPU)
        self.run_report()
        self.assertIn(CPU_TABLE, self.page())
        self.assertIn(CPU_SUMMARY, self.readme())
        self.assertIn("L3 32 MiB**, scalar, one core, 2026-11-20", self.readme())
        self.assertIn("Peers: llama.cpp 1.2, torch 2.9.", self.readme())
        for part in ("A <fast> & small CPU, 2 processors, L2 1 MiB, L3 32 MiB", "commit abc123",
                     "GNU 12.2.0", "2026-11-20", "Beside llama.cpp 1.2 and torch 2.9",
                     "the slowest of 2 kinds",
                     "`./run bench --json bench/results/a.json`", "(../bench/results/plots/a.svg)"):
            self.assertIn(part, self.page())
        # Two operations: each with its maximum, libsampler and llama.cpp; torch has one of them.
        self.assertEqual(len(self.marks("a.svg")), 7)
        self.assertTrue(self.page().endswith(PAGE.split("between")[1]))
        self.assertTrue(self.readme().endswith(README.split("between")[1]))

    def test_gpu_and_its_peers(self):
        self.put("g-2026-11-20.json", GPU)
        self.put("g-2026-11-20-facts.json", FACTS)
        self.put("g-2026-11-20-peers.json", PEERS)
        self.run_report()
        self.assertIn(GPU_TABLE, self.page())
        self.assertIn(GPU_TABLE, self.readme())
        self.assertIn("**GPU 9000**, 2026-11-20: ", self.readme())
        self.assertIn("Peers: flashinfer 0.7, torch 2.9. In 1 of 2 cells the library takes longer", self.readme())
        for part in ("**GPU 9000**, compute capability 9.0, driver 570.86.15 for CUDA 12.8, "
                     "runtime CUDA 13.0: libsampler 0.0.1, commit abc123, 2026-11-20. "
                     "Peers: flashinfer 0.7, 2026-11-19 (top-p 0.9); torch 2.9, 2026-11-19 (all else).",
                     "In 1 of 2 cells the library takes longer than its peer"):
            self.assertIn(part, self.page())
        self.assertFalse((self.results / "plots").exists())

    def test_the_newest_gpu_file_that_has_a_cell_gives_it(self):
        self.put("g-2026-11-20.json", GPU)
        newer = {**GPU_RUN, "commit": "def456", "version": "0.0.2", "date": "2026-11-21T09:00:00Z"}
        cells = [gpu_cell("greedy", 4, 64), gpu_cell("min_p0.05", 6, 1)]
        self.put("g-2026-11-21.json", {"run": newer, "cells": cells})
        self.run_report()
        for part in ("| greedy | 2.50 / – | 4.00 / – | – | – |", "| min-p 0.05 | 6.00 / – |",
                     "| top-p 0.9 | – | – | – | 130 / – |",
                     "libsampler 0.0.2, commit def456, 2026-11-21 (greedy, min-p 0.05); "
                     "commit abc123, 2026-11-20 (all else)."):
            self.assertIn(part, self.page())
        self.assertIn("**GPU 9000**, 2026-11-21: ", self.readme())
        for text in (self.page(), self.readme()):
            self.assertEqual(text.count("**GPU 9000**"), 1)
            self.assertNotIn("than its peer", text)

    def test_a_second_run_changes_nothing_and_a_third_takes_away(self):
        self.put("a.json", CPU)
        self.put("g.json", GPU)
        self.run_report()
        once = self.page(), self.readme()
        self.run_report()
        self.assertEqual((self.page(), self.readme()), once)
        for path in self.results.glob("*.json"):
            path.unlink()
        self.run_report()
        self.assertEqual((self.page(), self.readme()), (PAGE, README))
        self.assertEqual(list((self.results / "plots").iterdir()), [])

    def test_check_finds_what_is_not_current(self):
        self.put("a.json", CPU)
        self.assertEqual(
            self.run_report("--check", status=1),
            "docs/performance.md is not what bench/results gives\n"
            "README.md is not what bench/results gives\n"
            "bench/results/plots/a.svg is missing\nrun tools/bench_report.py")
        self.assertEqual((self.page(), self.readme()), (PAGE, README))
        self.run_report()
        self.run_report("--check")
        plot = self.results / "plots/a.svg"
        plot.write_text(plot.read_text().replace("greedy", "greedier"))
        self.assertIn("plots/a.svg is not what bench/results gives",
                      self.run_report("--check", status=1))
        plot.rename(self.results / "plots/b.svg")
        self.assertIn("plots/b.svg belongs to no file of bench/results",
                      self.run_report("--check", status=1))

    def test_no_name_leaves_the_plot(self):
        cells = [cell | {"operation": cell["operation"].replace("greedy", "greedy_of_rows_with_a_long_name")}
                 for cell in CPU["benchmarks"]]
        self.put("a.json", {**CPU, "benchmarks": cells})
        self.run_report()
        tree = xml.etree.ElementTree.parse(self.results / "plots/a.svg")
        ends = [text for text in tree.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") == "end"]
        self.assertEqual(len(ends), 2)
        for text in ends:
            self.assertGreater(float(text.get("x")), 7 * len(text.text))  # at 13 px

    def test_other_instructions_of_the_same_machine_are_a_column(self):
        cells = [cell | {"real_time": 2 * cell["real_time"]} for cell in CPU["benchmarks"]]
        self.put("0.json", {"context": CPU_RUN | {"instructions": "SSE"}, "benchmarks": cells})
        self.put("a.json", {**CPU, "context": CPU_RUN | {"instructions": CPU_RUN["limit_instructions"]}})
        self.run_report()
        self.assertIn("| `greedy` | 2.50 | 9.00 | – | 1.50 | 180 (20.0x) | – | 18.0 | 4.75 |", self.page())
        self.assertIn("| torch 2.9 | SSE | bf16 |", self.page())
        self.assertIn("| `greedy` | 9.00 | 18.0 | 180 (20.0x) |", self.readme())
        self.assertEqual([path.name for path in (self.results / "plots").iterdir()], ["a.svg"])

    def test_a_run_that_was_stopped_after_one_cell(self):
        self.put("a.json", {**CPU, "benchmarks": CPU["benchmarks"][:1]})
        self.put("g.json", {**GPU, "cells": GPU["cells"][:1]})
        self.run_report()
        self.assertIn("| `greedy` | – | 9.00 | – | 1.50 | 180 (20.0x) | – | – | – |", self.page())
        self.assertIn("| top-p 0.9 | – | – | – | 130 / – |", self.page())
        self.assertEqual(len(self.marks("a.svg")), 3)

    def expect_complaint(self, values, complaint):
        self.put("a.json", values)
        self.assertEqual(self.run_report(status=1), f"bench_report: {complaint}")
        self.assertEqual((self.page(), self.readme()), (PAGE, README))

    def test_malformed_files(self):
        place = "bench/results/a.json"
        text = json.dumps(CPU)
        self.put("a.json", text[: len(text) // 2])
        self.assertIn(f"bench_report: {place} is not JSON: ", self.run_report(status=1))
        self.expect_complaint("[]", f"{place} is not an object")
        self.expect_complaint({}, f"{place} has neither benchmarks (CPU) nor cells or attributes (GPU)")
        self.expect_complaint({**CPU, "benchmarks": []},
                              f"{place}: benchmarks is no list with results in it")
        self.expect_complaint({**CPU, "context": {**CPU_RUN, "commit": 5}},
                              f"{place}: context: commit is 5; it must be a text")
        self.expect_complaint({**CPU, "benchmarks": [cpu_cell("greedy", -1, 6)]},
                              f"{place}: benchmarks[0]: real_time is -1; it must be a positive "
                              "number")
        self.expect_complaint({**GPU, "cells": [gpu_cell("greedy", None, 1)]},
                              f"{place}: cells[0]: kernel_cold: median_us is null; it must be a "
                              "positive number")
        self.expect_complaint({**GPU, "cells": [gpu_cell("residual", 5, 1)]},
                              f"{place}: no operation of libsampler's is one of the GPU table")
        self.expect_complaint({**GPU, "cells": [5]}, f"{place}: cells[0] is not an object")
        self.expect_complaint(PEERS, f"{place}: no file has libsampler's times on GPU 9000")

    def test_pages_without_markers(self):
        for name, kind in (("README.md", "summary"), ("docs/performance.md", "results")):
            (self.root / name).write_text("nothing\n")
            self.assertIn(f"{name} needs one line <!-- begin: cpu {kind} -->", self.run_report(status=1))


if __name__ == "__main__":
    unittest.main()
