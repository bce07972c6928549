"""Runs the CPU benchmark on its smallest measurements and makes a report of what it writes.

usage: smoke_test.py CPU_BENCH BENCH_REPORT_PY
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = "".join(
    f"<!-- begin: {kind} results -->\n<!-- end: {kind} results -->\n" for kind in ("cpu", "gpu")
)
README = PAGE.replace("results", "summary")


def run(*command, status=0):
    environment = {name: value for name, value in os.environ.items() if name != "LLAMA_LIB"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def main(program, report):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        path = root / "bench/results/here.json"
        path.parent.mkdir(parents=True)
        quick = ("--min-repeats", "3", "--min-time", "0", "--rounds", "3")
        kept = ("--json", path, "--command", "a test")
        printed = run(program, "--filter", "^(greedy|min_p.*)/lm/V=32000/B=1/f32$", *quick, *kept)
        assert len(re.findall(r" x max \+- *\d+ %\n", printed)) == 2, printed

        written = json.loads(path.read_text())
        names = [cell["name"] for cell in written["benchmarks"]]
        assert names == ["greedy/lm/V=32000/B=1/f32", "min_p0.05/lm/V=32000/B=1/f32"], names
        assert written["context"]["command"] == "a test"
        for cell in written["benchmarks"]:
            assert (cell["rounds"], cell["iterations"]) == (3, 3 * 8)  # a turn each
            assert cell["spread"] >= 0
            assert 0 < cell["best_us"] <= cell["real_time"]
            assert cell["times_limit"] == cell["real_time"] / cell["limit_us"]

        # What a bitmask adds is reported beside the same call without it.
        masked = root / "masked.json"
        printed = run(program, "--filter", "^greedy_bitmask/lm/V=32000/B=1/f32$", *quick,
                      "--json", masked)
        assert re.search(r" x max \+- *\d+ %  without +[\d.]+ us: \+ -?[\d.]+ x max\n", printed), printed
        (cell,) = json.loads(masked.read_text())["benchmarks"]
        added = (cell["real_time"] - cell["without_stages_us"]) / cell["limit_us"]
        assert cell["added_limits"] == added, cell

        (root / "docs").mkdir()
        pages = {root / "docs/performance.md": PAGE, root / "README.md": README}
        for page, text in pages.items():
            page.write_text(text)
        run(sys.executable, report, "--root", root)
        assert "| `min_p0.05` | " in (root / "docs/performance.md").read_text()
        assert (root / "README.md").read_text() == README  # whose table is of 128,256 columns
        assert (root / "bench/results/plots/here.svg").exists()

        late = run(program, "--filter", "^greedy/lm/V=32000/B=1/f32$", "--budget", "0")
        assert "1 of 1 have fewer rounds than 3: the budget of 0 seconds is used up" in late, late
        unknown = run(program, "--filter", "^no such thing", status=1)
        assert "no measurement matches ^no such thing" in unknown, unknown


if __name__ == "__main__":
    main(*sys.argv[1:])
