"""Each day has its share, all come round, none is empty, and the command's own status comes back.

usage: share_of_the_day_test.py SHARE_OF_THE_DAY_PY
"""

import datetime
import os
import subprocess
import sys

# Lists the number of cases that it gets, and prints the share that it would run.
PROGRAM = """
import os, sys
if sys.argv[-1] == "--gtest_list_tests":
    print("Suite.", *["  Case"] * int(sys.argv[1]), sep="\\n")
else:
    print(os.environ["GTEST_TOTAL_SHARDS"], os.environ["GTEST_SHARD_INDEX"])
"""


def run(tool, seed, num_shares, *command):
    environment = {name: value for name, value in os.environ.items() if name != "SAMPLER_TEST_SEED"}
    if seed:
        environment["SAMPLER_TEST_SEED"] = seed
    return subprocess.run([sys.executable, tool, str(num_shares), *command], env=environment, capture_output=True,
                          text=True, check=False)


def share(tool, seed, num_shares, num_cases=1000):
    lines = run(tool, seed, num_shares, sys.executable, "-c", PROGRAM, str(num_cases)).stdout.splitlines()
    total, index = lines[-1].split()
    if int(total) != max(1, min(num_shares, num_cases)) or lines[0] != f"share {index} of {total}, by the day":
        sys.exit(f"{lines}")
    return int(index)


def main(tool):
    days = [f"{datetime.date(2026, 12, 28) + datetime.timedelta(days=i):%Y%m%d}" for i in range(7)]
    shares = [share(tool, day, 7) for day in days]
    if sorted(shares) != list(range(7)):
        sys.exit(f"in a week not all of 7 shares came round: {shares}")
    for num_cases in (6, 1, 0):
        shares_of_few = {share(tool, day, 7, num_cases) for day in days}
        if shares_of_few != set(range(max(1, num_cases))):
            sys.exit(f"of {num_cases} cases the shares are {shares_of_few}")
    printed = [int(subprocess.run([sys.executable, tool], env={**os.environ, "SAMPLER_TEST_SEED": day}, capture_output=True,
                                  text=True, check=True).stdout) % 7 for day in days]
    if printed != shares:
        sys.exit(f"the days printed have the shares {printed}, not {shares}")
    if share(tool, days[0], 7) != shares[0]:
        sys.exit("a day has two shares")
    # No date, or none at all, is today, which may end while this runs.
    today = [share(tool, f"{datetime.date.today():%Y%m%d}", 7) for _ in range(2)]
    for seed in ("", "1", "20261399"):
        if share(tool, seed, 7) not in (today[0], (today[0] + 1) % 7):
            sys.exit(f"{seed!r} is not today")
    if run(tool, days[0], 7, "false").returncode != 1:
        sys.exit("the command's status is lost")


if __name__ == "__main__":
    main(*sys.argv[1:])
