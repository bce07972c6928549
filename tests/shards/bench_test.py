"""What the plans of docs/sharding.md are made of is what the library plans now, and what a measuring run writes makes a
table of the document.

usage: bench_test.py SHARDS_BENCH ROOT MPIRUN...
"""

import json
import pathlib
import subprocess
import sys
import tempfile

BENCH, ROOT, *MPIRUN = sys.argv[1:]
ROOT = pathlib.Path(ROOT)
RESULTS = ROOT / "bench/results/shards.jsonl"


def run(ranks, *arguments):
    done = subprocess.run([*MPIRUN, str(ranks), BENCH, *map(str, arguments)],
                          stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def plans(cells):
    return [cell for cell in cells if "shards_us" not in cell]


recorded = plans(json.loads(line) for line in RESULTS.read_text().splitlines())
planned = plans(run(recorded[0]["ranks"], recorded[0]["rows"], recorded[0]["cols"], 0))
for old, new in zip(recorded, planned):
    if old != new:
        sys.exit(f"{RESULTS} has\n{old}\nand the plan is\n{new}")
if len(recorded) != len(planned):
    sys.exit(f"{RESULTS} has {len(recorded)} plans, and there are {len(planned)}")

measured = [cell for ranks in (1, 2) for cell in run(ranks, 3, 600, 1)]
with tempfile.TemporaryDirectory() as folder:
    results, document, plot = (pathlib.Path(folder) / name for name in ("results", "document", "plot"))
    results.write_text("\n".join(map(json.dumps, measured + planned)))
    document.write_text((ROOT / "docs/sharding.md").read_text())
    tool = [sys.executable, ROOT / "tools/shards_model.py", results, document, plot]
    subprocess.run(tool, check=True)
    text = document.read_text()
    table = text[text.index("<!-- shards: measured -->"):]
    table = table[:table.index("<!-- end -->")]
    for wanted in ("`mpirun -np n shards_bench 3 600 1`: ", "| operation | 1 rank | 2 ranks |\n", "\n| greedy | ",
                   "\n| chains of 4 drafts | ", "\n| chains of 4 drafts, greedy | ", "the least of 1 steps"):
        if wanted not in table:
            sys.exit(f"the table has no {wanted!r}:\n{table}")
    if "exchanges then" in table:
        sys.exit(f"what is measured is not what is planned:\n{table}")
    measured[0]["exchanges"] += 1
    results.write_text("\n".join(map(json.dumps, measured + planned)))
    subprocess.run(tool, check=True)
    if " Greedy took 2 exchanges then." not in document.read_text():
        sys.exit("the document does not say that an operation took other exchanges")
    measured[0]["machine"] = "another one"
    results.write_text("\n".join(map(json.dumps, measured + planned)))
    if subprocess.run(tool, capture_output=True, check=False).returncode == 0:
        sys.exit("cells of two machines make one table")
