"""What the plans of docs/sharding.md are made of is what the library plans now.

usage: bench_test.py SHARDS_BENCH RESULTS.jsonl MPIRUN...
"""

import json
import subprocess
import sys

BENCH, RESULTS, *MPIRUN = sys.argv[1:]


def plans(lines):
    cells = [json.loads(line) for line in lines]
    return [cell for cell in cells if "shards_us" not in cell]


with open(RESULTS) as results:
    recorded = plans(results)
run = subprocess.run([*MPIRUN, str(recorded[0]["ranks"]), BENCH, str(recorded[0]["rows"]), str(recorded[0]["cols"]), "0"],
                     stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
planned = plans(run.stdout.splitlines())
for old, new in zip(recorded, planned):
    if old != new:
        sys.exit(f"{RESULTS} has\n{old}\nand the plan is\n{new}")
if len(recorded) != len(planned):
    sys.exit(f"{RESULTS} has {len(recorded)} plans, and there are {len(planned)}")
