#!/usr/bin/env python3
"""Builds the library with deliberate faults and runs the tests that must notice them.

  run_faults.py run CONFIG [NAME...]    those of the day, a tenth of them, or these; with SAMPLER_TEST_ALL
                                        in the environment all
  run_faults.py check CONFIG            each fault's text stands once in its file, and one build can have it

A build has many faults, side by side with the code that they replace (guards.py); SAMPLER_FAULT in the
environment of a test names the one in force, 0 for none. A few faults that are `alone` have a build of
their own. Each day of the year has another tenth: SAMPLER_TEST_SEED, a date as YYYYMMDD, says which day it
is, today where it is not set.

CONFIG is a JSON file that CMake writes: compiler, sources, objects, folders and test programs. A faulty
library consists of the build's objects, except the units that read what a fault edits. The programs are
those of the build, run with the faulty library instead of the one they are linked with; those with objects
of the library in them are linked anew. What is printed is like what googletest prints, a case a fault.
"""

import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import guards
from faults import FAULTS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from share_of_the_day import day  # noqa: E402  The folder had to be named first.

TIMEOUT_SECONDS = 120
SHARES = 14  # of the faults, one a day
FOLDERS = ("include", "kernels", "src", "tests/oracle", "tests/simt", "tests/support")

CHOSEN = "chosen_fault.cpp"
CHOSEN_TEXT = """#include <cstdlib>
namespace sampler_faults {
int chosen;
__attribute__((constructor(101))) static void choose() {
  const char *text = std::getenv("SAMPLER_FAULT");
  chosen = text ? std::atoi(text) : 0;
}
}
"""
CHOSEN_HEADER = f"""namespace sampler_faults {{ extern int chosen; }}
#define {guards.MACRO}(number) (sampler_faults::chosen == (number))
"""


class Failure(Exception):
    """The test is not as it should be; the text says why."""


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def side_by_side(work, items):
    """The outcomes of work(item), of as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


# ---- Sources

# What a library without CUDA has in its place; one with CUDA has no object of it.
UNAVAILABLE = "cuda/unavailable.cpp"


def sources_of(config, programs):
    """Relative to src/: the library's, then those that some programs are linked with and it lacks."""
    sources = list(config["sources"])
    for program in programs:
        own = config["linked_programs"].get(program, {}).get("sources", [])
        sources += [source for source in own if source not in sources]
    return sources


def base_objects(config):
    """The library's objects without a fault, by source."""
    objects = {}
    for source in sources_of(config, config["linked_programs"]):
        ends = f"/{source.removeprefix('..').lstrip('/')}.o"
        if source.startswith("../tests/"):  # a target's in the source's own folder
            ends = f".dir/{Path(source).name}.o"
        found = [path for path in config["objects"] if os.path.normpath(path).endswith(ends)]
        if len(found) != 1 and source != UNAVAILABLE:
            raise Failure(f"{len(found)} objects of {source}")
        objects[source] = found[0] if found else None
    return objects


class Includes:
    """Which files of the project a source reads, as its #include lines say."""

    def __init__(self, root, folders):
        self.root, self.folders, self.direct = root, folders, {}

    def direct_of(self, path):
        if path not in self.direct:
            names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', path.read_text(encoding="utf-8"), re.M)
            found = (next((folder / name for folder in (path.parent, *self.folders) if (folder / name).is_file()), None)
                     for name in names)
            self.direct[path] = {Path(os.path.normpath(file)) for file in found if file}
        return self.direct[path]

    def of(self, path):
        read, waiting = set(), [Path(os.path.normpath(path))]
        while waiting:
            file = waiting.pop()
            if file not in read:
                read.add(file)
                waiting += self.direct_of(file)
        return {file.relative_to(self.root).as_posix() for file in read}


def include_folders(config, root):
    return [root / "include", root / "src", root / "kernels",
            *(root / folder for folder in config["device_folders"])]


# ---- Edits

def content_of(root, file):
    return (root / file).read_text(encoding="utf-8")


def edits_by_file(fault, root):
    """[(text, replacement)] by file; each text stands there once."""
    edits = {}
    for file, text, replacement in fault.edits:
        count = content_of(root, file).count(text)
        if count != 1:
            raise Failure(f"the fault {fault.name} no longer applies: its text stands {count} times in {file}:\n{text}")
        edits.setdefault(file, []).append((text, replacement))
    return edits


def regions_of(fault, root):
    """[(begin, end, kind, new text)] by file, of what is chosen at run time."""
    try:
        return {file: guards.regions(content_of(root, file), edits) for file, edits in edits_by_file(fault, root).items()}
    except guards.CannotGuard as reason:
        raise Failure(f"the fault {fault.name} {reason}: mark it as `alone`") from reason


def overlap(one, other):
    return any(a[0] < b[1] and b[0] < a[1] for file in one.keys() & other.keys()
               for a in one[file] for b in other[file])


def groups_of(faults, root):
    """Lists of faults that one build can have: their places in the sources do not overlap."""
    groups = []
    for fault in faults:
        regions = None if fault.alone else regions_of(fault, root)
        if regions is None:
            groups.append([(fault, None)])
            continue
        for group in groups:
            if group[0][1] is not None and not any(overlap(regions, other) for _, other in group):
                group.append((fault, regions))
                break
        else:
            groups.append([(fault, regions)])
    return groups


# ---- Builds

class Library:
    """A libsampler.so with the faults of a group, and the programs that have parts of it in them."""

    def __init__(self, config, group, folder):
        self.config = config
        self.faults = {number: fault for number, (fault, _) in enumerate(group, 1)}
        self.folder = Path(folder)
        self.root = self.folder / "root"
        self.path = self.folder / config["soname"]
        self.objects = base_objects(config)
        self.programs = sorted({program for fault in self.faults.values() for program, _ in fault.tests})
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in FOLDERS:
            shutil.copytree(Path(config["root"]) / name, self.root / name)
        for header in (Path(config["root"]) / "tests").glob("*.h"):
            shutil.copy(header, self.root / "tests")
        edited = self.edit(group)
        (self.folder / CHOSEN).write_text(CHOSEN_TEXT, encoding="utf-8")
        (self.folder / "chosen_fault.h").write_text(CHOSEN_HEADER, encoding="utf-8")
        self.compile(self.units_that_read(edited))
        self.link()
        self.binaries = dict(zip(self.programs, side_by_side(self.prepare, self.programs)))

    def edit(self, group):
        """Makes the edits, and returns the names of the edited files."""
        guarded = {}
        for number, (fault, regions) in enumerate(group, 1):
            if regions is None:
                for file, edits in edits_by_file(fault, self.root).items():
                    content = content_of(self.root, file)
                    for text, replacement in edits:
                        content = content.replace(text, replacement)
                    (self.root / file).write_text(content, encoding="utf-8")
                    guarded[file] = []
            else:
                for file, places in regions.items():
                    guarded.setdefault(file, []).extend((*place, number) for place in places)
        for file, places in guarded.items():
            content = guards.apply(content_of(self.root, file), places)
            (self.root / file).write_text(content, encoding="utf-8")
        return set(guarded)

    def units_that_read(self, edited):
        """Rows are the reference's, so units of an instruction set stay as they are, except for tests that
        compare them with the reference; one unit is enough then."""
        includes = Includes(self.root.resolve(), [folder.resolve() for folder in include_folders(self.config, self.root)])
        units = [source for source in sources_of(self.config, self.programs)
                 if edited & includes.of((self.root / "src" / source).resolve())]
        if not units:
            raise Failure(f"no source reads {', '.join(sorted(edited))}")
        best = self.config["best_unit"]
        compares = any(best in self.config["linked_programs"].get(program, {}).get("sources", [])
                       for program in self.programs)
        return [unit for unit in units if unit not in self.config["unit_flags"] or (compares and unit == best)]

    def compile(self, units):
        if not self.objects[UNAVAILABLE] and UNAVAILABLE not in units:
            units = units + [UNAVAILABLE]
        # Those that take long come first, so that none is left over at the end.
        units = sorted(units, key=lambda unit: unit in self.config["unit_flags"] or "tests/" in unit, reverse=True)
        self.objects.update(zip(units, side_by_side(self.compile_unit, units)))
        self.chosen = self.compile_unit(self.folder / CHOSEN)

    def compile_unit(self, source):
        target = self.folder / (str(source).replace("/", "_") + ".o")
        unit_flags = self.config["unit_flags"].get(source, [])
        folders = include_folders(self.config, self.root)[:3 if source in self.config["sources"] else None]
        result = run([self.config["compiler"], *self.config["flags"], *unit_flags, "-O1", "-w", "-std=c++17", "-fPIC",
                      "-fvisibility=hidden", *(f"-I{folder}" for folder in folders), "-include",
                      self.folder / "chosen_fault.h", self.root / "src" / source, "-c", "-o", target])
        if result.returncode != 0:
            raise Failure(f"{source} does not compile:\n{result.stdout[-4000:]}")
        return target

    def link(self):
        result = run([self.config["compiler"], *self.config["flags"], "-shared", "-pthread",
                      f"-Wl,-soname,{self.config['soname']}", "-Xlinker",
                      f"--version-script={self.config['version_script']}",
                      *[self.objects[source] for source in self.config["sources"]], self.chosen, "-o", self.path])
        if result.returncode != 0:
            raise Failure(f"linking failed:\n{result.stdout[-4000:]}")

    def prepare(self, program):
        """What is run of a program of the tests with this library."""
        if program in self.config["linked_programs"]:
            return self.link_program(program)
        binary = self.config["programs"][program]
        loaded = run([binary], env=dict(self.environment(program, 0), LD_TRACE_LOADED_OBJECTS="1")).stdout
        if re.findall(r"\S*libsampler\.so\S*", loaded)[:1] != [str(self.path)]:
            raise Failure(f"{program} does not load {self.path}:\n{loaded}")
        return binary

    def link_program(self, program):
        """The test's own objects of the build, with this library's of the sources it has."""
        description = self.config["linked_programs"][program]
        binary = self.folder / program
        result = run([self.config["compiler"], *self.config["flags"], "-pthread", *description["objects"],
                      *[self.objects[source] for source in description["sources"]], self.chosen,
                      *description["libraries"], "-o", binary])
        if result.returncode != 0:
            raise Failure(f"linking {program} failed:\n{result.stdout[-4000:]}")
        return binary

    def environment(self, program, number):
        """Rows by the reference: a fault in it shows in no others."""
        environment = dict(os.environ, SAMPLER_ISA="scalar", SAMPLER_FAULT=str(number))
        environment.pop("SAMPLER_TEST_SEED", None)
        if program not in self.config["linked_programs"]:
            environment["LD_PRELOAD"] = str(self.path)
        return environment

    def run_test(self, program, case, number):
        try:
            result = run([self.binaries[program], f"--gtest_filter={case}", "--gtest_brief=1", "--gtest_fail_fast=1"],
                         env=self.environment(program, number), timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"{program} {case}: still running after {TIMEOUT_SECONDS} seconds") from None
        return result.returncode, result.stdout


# ---- Outcomes

def check_without_fault(library, program):
    """The program's cases pass where no fault is in force."""
    cases = {case for fault in library.faults.values() for test, case in fault.tests if test == program}
    status, output = library.run_test(program, ":".join(sorted(cases)), 0)
    passed = re.search(r"\[  PASSED  \] (\d+) test", output)
    if status != 0 or not passed or int(passed.group(1)) < len(cases):
        raise Failure(f"{program} does not pass without a fault:\n{output[-4000:]}")
    return f"{program}: {passed.group(1)} cases"


def check_fault(library, number):
    """Each of the fault's tests fails."""
    fault = library.faults[number]
    caught = []
    for program, case in fault.tests:
        status, output = library.run_test(program, case, number)
        if status == 0:
            raise Failure(f"{program} {case} passes although {fault.meaning}")
        if status < 0 and fault.ends_it:
            caught.append(f"{program} ended by signal {-status}")
            continue
        if status != 1 or "[  FAILED  ]" not in output:
            raise Failure(f"{program} {case} ended with status {status} rather than a failed test:\n{output[-4000:]}")
        failed = re.search(r"\[  FAILED  \] (\S+)", output).group(1)
        caught.append(f"caught by {program} {failed.rstrip(',')}")
    return "\n".join(caught)


def report(name, check):
    """Runs a check as a case of googletest is run; whether it passed."""
    start = time.monotonic()
    try:
        text, outcome = check(), "      OK"
    except Failure as failure:
        text, outcome = str(failure), " FAILED "
    took = round(1000 * (time.monotonic() - start))
    # In one piece: print() writes the end of the line apart, where another thread's text may come between.
    sys.stdout.write(f"[ RUN      ] {name}\n{text}\n[{outcome:>9} ] {name} ({took} ms)\n")
    sys.stdout.flush()
    return outcome == "      OK"


def run_group(config, group, folder):
    """The outcomes of a group's cases, by True and False."""
    names = [fault.name for fault, _ in group]
    try:
        library = Library(config, group, folder)
    except Failure as failure:
        text = str(failure)

        def fail():
            raise Failure(text)
        return [report(f"faults.{name}", fail) for name in names]
    checks = [] if group[0][1] is None else \
        [(f"without_a_fault.{program}", lambda program=program: check_without_fault(library, program))
         for program in library.programs]
    checks += [(f"faults.{fault.name}", lambda number=number: check_fault(library, number))
               for number, fault in library.faults.items()]
    outcomes = side_by_side(lambda check: report(*check), checks)
    if all(outcomes):
        shutil.rmtree(folder)
    return outcomes


def chosen_faults(config, names):
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        sys.exit(f"no such faults: {', '.join(sorted(unknown))}")
    chosen = [fault for place, fault in enumerate(FAULTS)
              if (fault.name in names if names else
                  os.environ.get("SAMPLER_TEST_ALL") or place % SHARES == day() % SHARES)]
    chosen = [fault for fault in chosen if not fault.machines or platform.machine() in fault.machines]
    return [fault for fault in chosen if all(program in config["programs"] for program, _ in fault.tests)]


def run_faults(config, names):
    chosen = chosen_faults(config, names)
    groups = groups_of(chosen, Path(config["root"]))
    num_cases = len(chosen) + sum(len({program for fault, _ in group for program, _ in fault.tests})
                                  for group in groups if group[0][1] is not None)
    print(f"[==========] Running {num_cases} tests from {len(groups)} builds with faults.", flush=True)
    outcomes = []
    for number, group in enumerate(groups):
        outcomes += run_group(config, group, Path(config["work_dir"]) / f"build{number}")
    failed = outcomes.count(False)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def check(config):
    """What no build is needed for, of all faults."""
    root = Path(config["root"])
    unknown = sorted({program for fault in FAULTS for program, _ in fault.tests} - set(config["programs"]))
    if unknown and "plans_simt_test" in config["programs"]:  # those of devices are built, too
        raise Failure(f"tests/faults/CMakeLists.txt lacks {', '.join(unknown)}: their faults are not tried")
    if len({fault.name for fault in FAULTS}) < len(FAULTS):
        raise Failure("two faults have one name")
    for fault in FAULTS:
        if fault.alone:
            edits_by_file(fault, root)
        else:
            regions_of(fault, root)
    base_objects(config)
    print(f"{len(FAULTS)} faults in {len(groups_of(FAULTS, root))} builds")
    return 0


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    config = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    try:
        if arguments[0] == "run":
            return run_faults(config, arguments[2:])
        if arguments[0] == "check" and len(arguments) == 2:
            return check(config)
    except Failure as failure:
        sys.exit(str(failure))
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
