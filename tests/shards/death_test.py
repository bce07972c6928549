"""A rank that dies ends the others, which are in a call of sampler_mpi_run, within a minute.

usage: death_test.py SHARDS_MPI_TEST MPIRUN...
"""

import re
import subprocess
import sys

PROGRAM, *MPIRUN = sys.argv[1:]

run = subprocess.run([*MPIRUN, "3", PROGRAM, "--gtest_also_run_disabled_tests", "--gtest_filter=*WaitsForADeadOne"],
                     capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
if run.returncode == 0 or "the call came back" in run.stdout:
    sys.exit(f"the others went on: status {run.returncode}\n{run.stdout}")
# Open MPI names the rank and its exit code, MPICH the exit code.
if not re.search(r"Process name: \[\[\d+,\d+\],2\]\s+Exit code: +9\n|EXIT CODE: 9\n", run.stderr):
    sys.exit(f"mpirun does not tell which rank died:\n{run.stderr}")
