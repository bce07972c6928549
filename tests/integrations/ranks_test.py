"""The programs of integrations/mpi and integrations/nccl print what their pages say, on any number
of ranks: ranks_test.py INTEGRATIONS [NAME PROGRAM]... -- MPIRUN..."""

import pathlib
import re
import subprocess
import sys

NUM_RANKS = (1, 2, 3)


def block(page):
    """The page's block of what is printed."""
    blocks = re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(f"{page} has {len(blocks)} blocks of text; it must have the one that is printed")
    return blocks[0]


def main():
    separator = sys.argv.index("--")
    integrations, *programs = sys.argv[1:separator]
    mpirun = sys.argv[separator + 1:]
    failed = 0
    for name, program in zip(programs[::2], programs[1::2]):
        expected = block(pathlib.Path(integrations, name, "README.md"))
        for num_ranks in NUM_RANKS:
            done = subprocess.run([*mpirun, str(num_ranks), program], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0 or done.stdout != expected or done.stderr:
                print(f"{name}, {num_ranks} ranks: status {done.returncode}\n{done.stdout}"
                      f"{done.stderr}expected:\n{expected}")
                failed += 1
    print(f"{len(programs) // 2 * len(NUM_RANKS)} runs, {failed} failed")
    return failed != 0


sys.exit(main())
