#!/usr/bin/env python3
"""Builds the library with one deliberate fault and runs the tests that must notice it.

  run_faults.py names                   the faults of faults.py, one name a line
  run_faults.py build CONFIG            builds the library without a fault: its tests must pass
  run_faults.py fault CONFIG NAME       builds it with a fault: each of the fault's tests must fail
  run_faults.py document FILE           the table in FILE must list the faults and their tests

CONFIG is a JSON file that CMake writes: compiler, sources, folders and test programs. The programs
are those of the build, run with the faulty library instead of the one they are linked with; those
with a source of the library compiled in are linked anew.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from faults import FAULTS

TIMEOUT_SECONDS = 120
SKIPPED = 77


def fail(message):
    sys.exit(message)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)


class Library:
    """A build of libsampler.so in a folder of its own, from some copy of the sources."""

    def __init__(self, config, folder, root):
        self.config = config
        self.folder = Path(folder)
        self.root = Path(root)
        self.path = self.folder / config["soname"]
        self.objects = {}  # by source, once linked

    def object_of(self, source):
        return self.folder / "objects" / (source.replace("/", "_") + ".o")

    def compile(self, sources):
        (self.folder / "objects").mkdir(parents=True, exist_ok=True)
        for source in sources:
            target = self.object_of(source)
            result = run([
                self.config["compiler"], *self.config["flags"],
                *self.config["unit_flags"].get(source, []), "-O1", "-std=c++17", "-fPIC",
                "-fvisibility=hidden", "-MMD", "-MF", f"{target}.d", "-I", self.root / "include",
                "-I", self.root / "src", "-c", self.root / "src" / source, "-o", target])
            if result.returncode != 0:
                fail(f"{source} does not compile:\n{result.stdout}")

    def link(self, base=None):
        """What was not compiled here comes from the library `base`."""
        for source in self.config["sources"]:
            own = self.object_of(source)
            self.objects[source] = own if own.exists() else base.object_of(source)
        result = run([
            self.config["compiler"], *self.config["flags"], "-shared", "-pthread",
            f"-Wl,-soname,{self.config['soname']}",
            f"-Wl,--version-script={self.config['version_script']}", *self.objects.values(),
            "-o", self.path])
        if result.returncode != 0:
            fail(f"linking failed:\n{result.stdout}")

    def sources_that_read(self, files):
        """The sources whose objects were compiled from any of these files, relative to the root."""
        wanted = {str(self.root / file) for file in files}
        result = []
        for source in self.config["sources"]:
            rule = Path(f"{self.object_of(source)}.d").read_text(encoding="utf-8")
            if wanted & set(rule.replace("\\\n", " ").split()):
                result.append(source)
        return result

    @staticmethod
    def environment():
        """Rows by the reference: a fault in it shows in no others."""
        return dict(os.environ, SAMPLER_ISA="scalar")

    def prepare_test(self, program):
        """The program and the environment in which it runs with this library."""
        if program in self.config["linked_programs"]:
            return self.link_test(program), self.environment()
        binary = self.config["programs"][program]
        environment = dict(self.environment(), LD_PRELOAD=str(self.path))
        loaded = run([binary], env=dict(environment, LD_TRACE_LOADED_OBJECTS="1")).stdout
        if re.findall(r"\S*libsampler\.so\S*", loaded)[:1] != [str(self.path)]:
            fail(f"{program} does not load {self.path}:\n{loaded}")
        return binary, environment

    def link_test(self, program):
        """The test's own objects of the build, with this library's of the sources it has."""
        description = self.config["linked_programs"][program]
        binary = self.folder / program
        result = run([
            self.config["compiler"], *self.config["flags"], "-pthread",
            *description["objects"],
            *[self.objects[source] for source in description["sources"]],
            *description["libraries"], "-o", binary])
        if result.returncode != 0:
            fail(f"linking {program} failed:\n{result.stdout}")
        return binary

    def run_test(self, program, case):
        """The exit status and the output of a test program with this library."""
        binary, environment = self.prepare_test(program)
        try:
            result = run([binary, f"--gtest_filter={case}", "--gtest_brief=1",
                          "--gtest_fail_fast=1"], env=environment, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            fail(f"{program} {case}: still running after {TIMEOUT_SECONDS} seconds")
        return result.returncode, result.stdout


def read_config(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def base_library(config):
    return Library(config, Path(config["work_dir"]) / "base", config["root"])


def build(config):
    library = base_library(config)
    shutil.rmtree(library.folder, ignore_errors=True)
    library.compile(config["sources"])
    library.link()
    for program, case in sorted({test for fault in FAULTS for test in fault.tests}):
        status, output = library.run_test(program, case)
        passed = re.search(r"\[  PASSED  \] (\d+) test", output)
        if status != 0 or not passed or int(passed.group(1)) == 0:
            fail(f"{program} {case} does not pass without a fault:\n{output[-4000:]}")
        print(f"passes without a fault: {program} {case}", flush=True)


def apply(fault, root):
    for file, text, replacement in fault.edits:
        path = root / file
        content = path.read_text(encoding="utf-8")
        if content.count(text) != 1:
            fail(f"the fault {fault.name} no longer applies: its text stands "
                 f"{content.count(text)} times in {file}:\n{text}")
        path.write_text(content.replace(text, replacement), encoding="utf-8")


def build_with(fault, config):
    base = base_library(config)
    folder = Path(config["work_dir"]) / fault.name
    root = folder / "root"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("include", "src"):
        shutil.copytree(Path(config["root"]) / name, root / name)
    apply(fault, root)
    library = Library(config, folder, root)
    changed = base.sources_that_read([file for file, _, _ in fault.edits])
    if not changed:
        fail(f"no source reads {', '.join(file for file, _, _ in fault.edits)}")
    library.compile(changed)
    library.link(base)
    return library


def check_fault(config, name):
    fault = next(fault for fault in FAULTS if fault.name == name)
    if fault.machines and platform.machine() not in fault.machines:
        print(f"skipped: {name} is a fault on {', '.join(fault.machines)} only")
        sys.exit(SKIPPED)
    library = build_with(fault, config)
    for program, case in fault.tests:
        status, output = library.run_test(program, case)
        if status == 0:
            fail(f"{program} {case} passes although {fault.meaning}")
        if status != 1 or "[  FAILED  ]" not in output:
            fail(f"{program} {case} ended with status {status} rather than a failed test:\n"
                 f"{output[-4000:]}")
        failed = re.search(r"\[  FAILED  \] (\S+)", output).group(1)
        print(f"caught by {program} {failed.rstrip(',')}")
    shutil.rmtree(library.folder)


def document(path):
    """Each fault has a row: | name | meaning | tests |."""
    text = Path(path).read_text(encoding="utf-8")
    wrong = []
    for fault in FAULTS:
        tests = ", ".join(f"`{program}` {case}" for program, case in fault.tests)
        tests = tests.replace("*", "\\*")
        row = f"| {fault.name} | {fault.meaning} | {tests} |"
        if row not in text:
            wrong.append(row)
    if wrong:
        fail(f"{path} lacks these rows:\n" + "\n".join(wrong))
    names = re.findall(r"^\| ([a-z0-9_]+) \| [^|]* \| `[a-z_]+_test`", text, re.MULTILINE)
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        fail(f"{path} has rows for faults that do not exist: {', '.join(sorted(unknown))}")


def main(arguments):
    if arguments == ["names"]:
        print("\n".join(fault.name for fault in FAULTS))
    elif len(arguments) == 2 and arguments[0] == "build":
        build(read_config(arguments[1]))
    elif len(arguments) == 3 and arguments[0] == "fault":
        check_fault(read_config(arguments[1]), arguments[2])
    elif len(arguments) == 2 and arguments[0] == "document":
        document(arguments[1])
    else:
        fail(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
