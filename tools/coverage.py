"""Tells which lines and branches of src/ ran, from the counters of a build with SAMPLER_COVERAGE.

usage: coverage.py BUILD_FOLDER SOURCE_FOLDER [--least PERCENT] [--list]

A line or branch counts as run when it ran in any of the units and instances of templates that it was
compiled into. Branches that only exceptions take are left out. Exit status 1: fewer lines than
--least percent ran. --list names the lines that did not.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys


def gcov_reports(build_folder):
    """gcov's report on each unit that was compiled, whether it ran or not."""
    for notes in sorted(pathlib.Path(build_folder).resolve().rglob("*.gcno")):
        counters = notes.with_suffix(".gcda")
        output = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities",
             str(counters if counters.exists() else notes)],
            check=True, capture_output=True, text=True, cwd=notes.parent).stdout
        for line in output.splitlines():
            if line.startswith("{"):
                yield json.loads(line)


class Coverage:
    """How often the lines and branches of the files of a folder ran."""

    def __init__(self, source_folder):
        self.root = pathlib.Path(source_folder).resolve()
        self.lines = collections.defaultdict(collections.Counter)  # by file: by line
        self.branches = collections.defaultdict(collections.Counter)  # by file: by (line, number)

    def add(self, report):
        folder = pathlib.Path(report["current_working_directory"])
        for file in report["files"]:
            path = (folder / file["file"]).resolve()
            if self.root not in path.parents:
                continue
            name = str(path.relative_to(self.root))
            for line in file["lines"]:
                number = line["line_number"]
                self.lines[name][number] += line["count"]
                branches = [branch for branch in line["branches"] if not branch["throw"]]
                for index, branch in enumerate(branches):
                    self.branches[name][number, index] += branch["count"]

    def by_folder(self):
        """(folder, lines run, lines, branches run, branches), and all together last."""
        sums = collections.defaultdict(lambda: [0, 0, 0, 0])
        for name, lines in self.lines.items():
            branches = self.branches[name]
            counts = [sum(count > 0 for count in lines.values()), len(lines),
                      sum(count > 0 for count in branches.values()), len(branches)]
            for folder in (str(pathlib.Path(name).parent), "all"):
                sums[folder] = [a + b for a, b in zip(sums[folder], counts)]
        return [(folder, *sums[folder]) for folder in sorted(sums, key=lambda f: (f == "all", f))]

    def not_run(self):
        """(file, [line, ...]) of each file with lines that did not run."""
        for name, lines in sorted(self.lines.items()):
            missing = sorted(number for number, count in lines.items() if count == 0)
            if missing:
                yield name, missing


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3, 7"."""
    result = []
    for number in numbers:
        if result and number == result[-1][1] + 1:
            result[-1][1] = number
        else:
            result.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_folder")
    parser.add_argument("source_folder")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    coverage = Coverage(options.source_folder)
    for report in gcov_reports(options.build_folder):
        coverage.add(report)
    if not coverage.lines:
        sys.exit(f"no counters of {options.source_folder} in {options.build_folder}")
    print(f"{'folder':12} {'lines':>16} {'branches':>18}")
    for folder, lines_run, lines, branches_run, branches in coverage.by_folder():
        print(f"{folder:12} {lines_run:5} of {lines:5} {percent(lines_run, lines):5.1f} %"
              f" {branches_run:5} of {branches:5} {percent(branches_run, branches):5.1f} %")
    if options.list:
        for name, missing in coverage.not_run():
            print(f"{name}: {ranges(missing)}")
    _, lines_run, lines, _, _ = coverage.by_folder()[-1]
    if percent(lines_run, lines) < options.least:
        sys.exit(f"fewer than {options.least:g} % of the lines ran")


if __name__ == "__main__":
    main()
