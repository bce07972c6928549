"""Compares the overhead of a call between languages.

usage: overhead.py COMMAND...

Each COMMAND, a single argument, prints a line of JSON with its language and ns_per_call; one of
them is C's. They run in turn, three times.
"""

import json
import shlex
import statistics
import subprocess
import sys

ROUNDS = 3


def measure(command):
    """The language and the nanoseconds per call that `command` prints."""
    run = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"overhead.py: {command}: exit status {run.returncode}")
    try:
        result = json.loads(run.stdout)
        return result["language"], float(result["ns_per_call"])
    except (ValueError, TypeError, KeyError):
        sys.exit(f"overhead.py: {command}: no line of JSON with language and ns_per_call")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    times = {}
    for _ in range(ROUNDS):
        for command in sys.argv[1:]:
            language, ns_per_call = measure(command)
            times.setdefault(language, []).append(ns_per_call)
    if "c" not in times:
        sys.exit('overhead.py: no command has the language "c"')
    medians = {language: statistics.median(values) for language, values in times.items()}
    print(f"{'language':<12}{'ns per call':>12}{'above C':>10}")
    for language, median in medians.items():
        print(f"{language:<12}{median:>12.0f}{median - medians['c']:>10.0f}")


if __name__ == "__main__":
    main()
