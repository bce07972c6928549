"""Sums up test results over several stages.

usage: test_summary.py RESULTS_DIR

RESULTS_DIR holds, for each stage, STAGE.xml as ctest writes it in JUnit's format, or one of
STAGE.failed and STAGE.skipped: a stage that could not give results, with the reason as its text. Each
of those counts as one test. Prints the skipped tests with their reasons, the failed ones with the end
of their output, and last one line "N passed, N failed, N skipped". Exits with 1 if something failed,
or if nothing passed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

OUTPUT_LINES = 30


def skip_reason(output):
    """googletest prints the reason on the lines after "FILE:LINE: Skipped", scripts after "skipped: "."""
    match = re.search(r": Skipped\n(.*?)\n?\[  SKIPPED \]", output, flags=re.S)
    match = match or re.search(r"^skipped: (.*)$", output, flags=re.M)
    return " ".join(match.group(1).split()) if match and match.group(1).strip() else "no reason given"


def results_of_stage(path):
    """Yields (outcome, test, detail) for each test of a stage."""
    stage = path.stem
    if path.suffix != ".xml":
        yield path.suffix[1:], stage, path.read_text().strip()
        return
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        test, output = f"{stage}: {case.get('name')}", case.findtext("system-out") or ""
        if case.get("status") == "run":
            yield "passed", test, ""
        elif case.get("status") == "disabled":
            yield "skipped", test, "disabled"
        elif case.find("skipped") is not None and "SKIP" in case.find("skipped").get("message", ""):
            yield "skipped", test, skip_reason(output)
        else:
            end = output.rstrip().splitlines()[-OUTPUT_LINES:]
            yield "failed", f"{test} ({float(case.get('time')):.1f} s)", "\n".join(end)


def main(results_dir):
    results = {"passed": [], "failed": [], "skipped": []}
    for path in sorted(pathlib.Path(results_dir).iterdir()):
        for outcome, test, detail in results_of_stage(path):
            results[outcome].append((test, detail))
    for test, reason in results["skipped"]:
        print(f"skipped  {test}: {reason}")
    for test, output in results["failed"]:
        print(f"FAILED   {test}")
        if output:
            print("    " + output.replace("\n", "\n    "))
    print(", ".join(f"{len(tests)} {outcome}" for outcome, tests in results.items()))
    return 1 if results["failed"] or not results["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
