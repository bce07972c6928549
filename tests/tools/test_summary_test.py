"""What is counted of ctest's results and of what googletest prints.

usage: test_summary_test.py TEST_SUMMARY_PY
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

PASSED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] A.One
[       OK ] A.One (3 ms)
[ RUN      ] A.Two
no newline at the end[       OK ] A.Two (0 ms)
[==========] 2 tests from 1 test suite ran. (3 ms total)
[  PASSED  ] 2 tests.
"""
FAILED = """[==========] Running 3 tests from 1 test suite.
[ RUN      ] A.One/0
a.cpp:1: Failure
what is wrong
[  FAILED  ] A.One/0, where GetParam() = 7 (1 ms)
[ RUN      ] A.Two
a.cpp:2: Skipped
no such thing here
[  SKIPPED ] A.Two (0 ms)
[ RUN      ] A.Three
[       OK ] A.Three (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] A.Two
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.One/0, where GetParam() = 7
"""
CRASHED = """[==========] Running 3 tests from 1 test suite.
[ RUN      ] A.One
[       OK ] A.One (3 ms)
[ RUN      ] A.Two
in the middle
"""
LEAKED = PASSED + "ERROR: LeakSanitizer: detected memory leaks\n"
NONE = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"


def summary_of(tool, *tests, **files):
    """The summary of tests (name, status, output), and of other files by suffix; its exit status last."""
    cases = "".join(
        f'<testcase name="{name}" time="1" status="{status}">'
        + ('<skipped message="SKIP_RETURN_CODE=77"/>' if status == "notrun" else "")
        + f"<system-out>{escape(output)}</system-out></testcase>" for name, status, output in tests)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "stage.xml").write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
        for suffix, text in files.items():
            (Path(folder) / f"stage.{suffix}").write_text(text, encoding="utf-8")
        result = subprocess.run([sys.executable, tool, folder], capture_output=True, text=True,
                                check=False)
    return result.stdout.splitlines() + [result.stderr, result.returncode]


def expect(actual, last, *others):
    if actual[-3] != last or not set(others) <= set(actual):
        sys.exit(f"{actual}\nshould end with\n{last}\nand hold\n{others}")


def main(tool):
    expect(summary_of(tool, ("p", "run", PASSED), ("script", "run", "fine")),
           "3 passed, 0 failed, 0 skipped", 0)
    expect(summary_of(tool, ("p", "fail", FAILED)), "1 passed, 1 failed, 1 skipped",
           "skipped  stage: p.A.Two: no such thing here", "FAILED   stage: p.A.One/0 (0.0 s)",
           "    what is wrong", 1)
    expect(summary_of(tool, ("p", "fail", CRASHED)), "1 passed, 2 failed, 0 skipped",
           "FAILED   stage: p.A.Two (0.0 s)", "FAILED   stage: p", "    in the middle", 1)
    expect(summary_of(tool, ("p", "fail", LEAKED)), "2 passed, 1 failed, 0 skipped",
           "    no case failed, but the program did",
           "    ERROR: LeakSanitizer: detected memory leaks", 1)
    expect(summary_of(tool, ("p", "run", NONE), ("script", "run", "")),
           "1 passed, 1 failed, 0 skipped", 1)
    expect(summary_of(tool, ("s", "notrun", "skipped: as before"), ("t", "run", "")),
           "1 passed, 0 failed, 1 skipped", "skipped  stage: s: as before", 0)
    colour = "[NON-XML-CHAR-0x1B][0m"
    expect(summary_of(tool, ("s", "notrun", f"{colour}{colour}skipped: in colour"), ("t", "run", "")),
           "1 passed, 0 failed, 1 skipped", "skipped  stage: s: in colour", 0)
    expect(summary_of(tool, *[(name, "notrun", "skipped: as before") for name in "abc"], ("t", "run", "")),
           "1 passed, 0 failed, 3 skipped", "skipped  stage: a and 2 more: as before", 0)
    expect(summary_of(tool, ("s", "fail", "broken")), "0 passed, 1 failed, 0 skipped",
           "FAILED   stage: s (1.0 s)", "    broken", 1)
    # A stage that is one test.
    expect(summary_of(tool, ("t", "run", ""), passed="\n"), "2 passed, 0 failed, 0 skipped", 0)
    expect(summary_of(tool, ("t", "run", ""), failed="the build failed\n"), "1 passed, 1 failed, 0 skipped",
           "FAILED   stage", "    the build failed", 1)
    # What took long, of 30 tests the first 20; a command that has built two files is one build.
    log = "# ninja log v5\n100\t2600\t1\ta.o\tf0\n100\t2600\t1\ta.d\tf0\n0\t90000\t2\tb.o\tf1\n"
    lines = summary_of(tool, *[(f"t{i}", "run", "") for i in range(30)], ninja=log,
                       seconds="building 92\ntesting 7\n")
    expect(lines, "30 passed, 0 failed, 0 skipped", "slowest tests, of 30 s:", "     1.0 s  stage: t29",
           "slowest builds, of 92 s:", "    90.0 s  stage: b.o", "stage: building 1:32, testing 0:07", 0)
    if sum(" s  stage: t" in line for line in lines[:-2]) != 20:
        sys.exit(f"{lines}\nshould have 20 tests")
    if sum("stage: a." in line for line in lines[:-2]) != 1:
        sys.exit(f"{lines}\nshould have one build of a")


if __name__ == "__main__":
    main(*sys.argv[1:])
