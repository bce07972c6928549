"""Runs the comparison of languages with C's program and one that is played.

usage: overhead_test.py OVERHEAD_PY OVERHEAD
"""

import json
import shlex
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def played(result):
    return shlex.join(["echo", json.dumps(result)])


def main(compare, program):
    printed = json.loads(run(program).stdout)
    assert printed["language"] == "c", printed
    assert sorted(printed["repeats"])[2] == printed["ns_per_call"] > 0, printed
    assert len(printed["repeats"]) == 5, printed

    c = played({"language": "c", "ns_per_call": 100.0})
    other = played({"language": "other", "ns_per_call": 130.0})
    table = run(sys.executable, compare, c, other)
    lines = [line.split() for line in table.stdout.splitlines()]
    assert lines[1:] == [["c", "100", "0"], ["other", "130", "30"]], table
    assert run(sys.executable, compare, program, other).returncode == 0

    for commands, reason in [
        (["false"], "false: exit status 1"),
        (["echo 1"], "echo 1: no line of JSON"),
        ([other], 'no command has the language "c"'),
    ]:
        refused = run(sys.executable, compare, *commands)
        assert refused.returncode == 1 and reason in refused.stderr, refused


if __name__ == "__main__":
    main(*sys.argv[1:])
