"""Sums up test results over several stages.

usage: test_summary.py RESULTS_DIR

RESULTS_DIR holds, for each stage, STAGE.xml as ctest writes it in JUnit's format, or one of STAGE.passed,
STAGE.failed and STAGE.skipped: a stage that is one test, or that could not give results, with the reason as
its text. Each of those counts as one test, and so does each case of a googletest program, which its output tells of.
STAGE.ninja, if present, has the lines that the stage's build has added to ninja's log, and STAGE.seconds
what took how long, as lines "building 83".

Prints the tests and builds that took longest, what each stage took, the skipped tests by their reasons,
the failed ones with the end of their output, and last one line "N passed, N failed, N skipped". Exits
with 1 if something failed, or if nothing passed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

OUTPUT_LINES = 30
NUM_SLOWEST = 20
# "[ RUN      ] Suite.Case" begins a case, "[       OK ] Suite.Case (3 ms)" or the like ends it; a failed
# one's parameter follows a comma. A test may have printed on the same line before.
CASE_LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+).*?(?: \((\d+) ms\))?$")
PROGRAM_LINE = re.compile(r"^\[=+\] Running (\d+) tests? from", re.M)
COLOUR = r"\[NON-XML-CHAR-0x1B\]\[[0-9;]*m"  # as ctest writes a terminal's escape sequence
OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def skip_reason(output):
    """googletest prints the reason on the lines after "FILE:LINE: Skipped", scripts after "skipped: "."""
    match = re.search(r": Skipped\n(.*?)\n?\[  SKIPPED \]", output, flags=re.S)
    match = match or re.search(rf"^(?:{COLOUR})*skipped: (.*)$", output, flags=re.M)
    return " ".join(match.group(1).split()) if match and match.group(1).strip() else "no reason given"


def end_of(output):
    return "\n".join(output.rstrip().splitlines()[-OUTPUT_LINES:])


def cases_of_program(output):
    """Yields (outcome, case, seconds, output) for each case of a googletest program that began."""
    name, lines = None, []
    for line in output.splitlines():
        lines.append(line)
        match = CASE_LINE.search(line)
        if not match:
            continue
        if match.group(1) == "RUN":
            if name:
                yield "failed", name, 0, "\n".join(lines)
            name, lines = match.group(2), []
        elif match.group(2) == name:
            yield OUTCOMES[match.group(1)], name, int(match.group(3) or 0) / 1000, "\n".join(lines)
            name = None
    if name:
        yield "failed", name, 0, "\n".join(lines)


def results_of_program(test, output, passed):
    """Each case of a googletest program, and the program itself if something beside its cases failed."""
    expected = int(PROGRAM_LINE.search(output).group(1))
    num_cases, any_failed = 0, False
    for outcome, case, seconds, case_output in cases_of_program(output):
        num_cases += 1
        if outcome == "failed":
            any_failed = True
            yield outcome, f"{test}.{case} ({seconds:.1f} s)", end_of(case_output)
        else:
            yield outcome, f"{test}.{case}", skip_reason(case_output) if outcome == "skipped" else ""
    if num_cases != expected or num_cases == 0:
        yield "failed", test, f"{num_cases} of {expected} cases ended\n" + end_of(output)
    elif not passed and not any_failed:
        yield "failed", test, "no case failed, but the program did\n" + end_of(output)


def results_of_stage(path):
    """Yields (outcome, test, detail) for each test of a stage."""
    stage = path.stem
    if path.suffix != ".xml":
        yield path.suffix[1:], stage, path.read_text().strip()
        return
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        test, output = f"{stage}: {case.get('name')}", case.findtext("system-out") or ""
        passed = case.get("status") == "run"
        if PROGRAM_LINE.search(output):
            yield from results_of_program(test, output, passed)
        elif passed:
            yield "passed", test, ""
        elif case.get("status") == "disabled":
            yield "skipped", test, "disabled"
        elif case.find("skipped") is not None and "SKIP" in case.find("skipped").get("message", ""):
            yield "skipped", test, skip_reason(output)
        else:
            yield "failed", f"{test} ({float(case.get('time')):.1f} s)", end_of(output)


def print_skipped(skipped):
    """Tests of one stage with one reason on one line, the first of them by name."""
    groups = {}
    for test, reason in skipped:
        groups.setdefault((test.split(":")[0], reason), []).append(test)
    for (_, reason), tests in groups.items():
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        print(f"skipped  {tests[0]}{more}: {reason}")


def seconds_of_tests(path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        yield float(case.get("time")), f"{path.stem}: {case.get('name')}"


def seconds_of_builds(path):
    """A line of ninja's log has milliseconds of the start and the end, a time stamp, what was built, a hash."""
    took = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 5:
            took[fields[0], fields[1], fields[4]] = (int(fields[1]) - int(fields[0])) / 1000, f"{path.stem}: {fields[3]}"
    yield from took.values()  # one, of what one command has built


def print_slowest(what, found):
    found = sorted(found, reverse=True)
    if found:
        print(f"slowest {what}, of {sum(seconds for seconds, _ in found):.0f} s:")
    for seconds, name in found[:NUM_SLOWEST]:
        print(f"{seconds:8.1f} s  {name}")


def print_seconds(paths):
    print_slowest("tests", [found for path in paths if path.suffix == ".xml" for found in seconds_of_tests(path)])
    print_slowest("builds", [found for path in paths if path.suffix == ".ninja" for found in seconds_of_builds(path)])
    for path in paths:
        if path.suffix == ".seconds":
            took = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
            print(f"{path.stem}: " + ", ".join(f"{work} {int(seconds) // 60}:{int(seconds) % 60:02}"
                                               for work, seconds in took))


def main(results_dir):
    results = {"passed": [], "failed": [], "skipped": []}
    paths = sorted(pathlib.Path(results_dir).iterdir())
    print_seconds(paths)
    for path in paths:
        if path.suffix in (".xml", ".passed", ".failed", ".skipped"):
            for outcome, test, detail in results_of_stage(path):
                results[outcome].append((test, detail))
    print_skipped(results["skipped"])
    for test, output in results["failed"]:
        print(f"FAILED   {test}")
        if output:
            print("    " + output.replace("\n", "\n    "))
    print(", ".join(f"{len(tests)} {outcome}" for outcome, tests in results.items()))
    return 1 if results["failed"] or not results["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
