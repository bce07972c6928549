"""Runs a part of a googletest program's cases, another part each day.

usage: share_of_the_day.py [NUM_SHARES COMMAND...]

The cases are dealt out to NUM_SHARES shares, or to as many as there are cases, and one share a day runs.
SAMPLER_TEST_SEED, a date as YYYYMMDD, says which day it is; today where it is no date. Without arguments:
prints the day, as a number.
"""

import datetime
import os
import subprocess
import sys


def day():
    """Days since a fixed one."""
    try:
        return datetime.datetime.strptime(os.environ.get("SAMPLER_TEST_SEED", ""), "%Y%m%d").date().toordinal()
    except ValueError:
        return datetime.date.today().toordinal()


def count_cases(command):
    """How many cases the program runs; googletest fails where it has none to run."""
    listed = subprocess.run([*command, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return sum(line.startswith("  ") for line in listed.splitlines())


def main(num_shares, *command):
    num_shares = max(1, min(int(num_shares), count_cases(command)))
    share = day() % num_shares
    print(f"share {share} of {num_shares}, by the day", flush=True)
    os.environ.update(GTEST_TOTAL_SHARDS=str(num_shares), GTEST_SHARD_INDEX=str(share))
    os.execvp(command[0], command)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(day())
    else:
        main(*sys.argv[1:])
