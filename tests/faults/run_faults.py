#!/usr/bin/env python3
"""Builds the library with one deliberate fault and runs the tests that must notice it.

  run_faults.py proofs ROOT PROGRAM=FOLDER...
                                        the faults of faults.py that these programs catch, one a line: its
                                        name and what decides whether it is caught, between semicolons
  run_faults.py build CONFIG            notes what each unit reads
  run_faults.py none CONFIG             runs all the tests without a fault: they must pass
  run_faults.py fault CONFIG NAME       builds it with a fault: each of the fault's tests must fail
  run_faults.py document ROOT FILE      each fault applies, and the table in FILE has it and its tests

CONFIG is a JSON file that CMake writes: compiler, sources, objects, folders and test programs. A
faulty library consists of the build's objects, except the units that read what the fault edits. The
programs are those of the build, run with the faulty library instead of the one they are linked with;
those with objects of the library in them are linked anew.
"""

import hashlib
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
    """A libsampler.so in a folder of its own, from a copy of the sources."""

    def __init__(self, config, folder):
        self.config = config
        self.folder = Path(folder)
        self.root = self.folder / "root"
        self.path = self.folder / config["soname"]
        self.objects = base_objects(config)

    def compile(self, sources):
        for source in sources:
            target = self.folder / (source.replace("/", "_") + ".o")
            compile_unit(self.config, self.root, source, "-c", "-o", target)
            self.objects[source] = target

    def link(self):
        result = run([
            self.config["compiler"], *self.config["flags"], "-shared", "-pthread",
            f"-Wl,-soname,{self.config['soname']}",
            "-Xlinker", f"--version-script={self.config['version_script']}",
            *[self.objects[source] for source in self.config["sources"]], "-o", self.path])
        if result.returncode != 0:
            fail(f"linking failed:\n{result.stdout}")

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


def compile_unit(config, root, source, *options):
    result = run([
        config["compiler"], *config["flags"], *config["unit_flags"].get(source, []),
        *([] if source in config["sources"] else config["device_flags"]), "-O1",
        "-std=c++17", "-fPIC", "-fvisibility=hidden", "-I", root / "include", "-I", root / "src",
        "-I", root / "kernels", root / "src" / source, *options])
    if result.returncode != 0:
        fail(f"{source} does not compile:\n{result.stdout}")
    return result.stdout


# What a library without CUDA has in its place; one with CUDA has no object of it.
UNAVAILABLE = "cuda/unavailable.cpp"


def sources_of(config, programs):
    """Relative to src/: the library's, then those that some programs are linked with and it lacks."""
    sources = list(config["sources"])
    for program in programs:
        own = config["linked_programs"].get(program, {}).get("sources", [])
        sources += [source for source in own if source not in sources]
    return sources


def all_sources(config):
    return sources_of(config, config["linked_programs"])


def base_objects(config):
    """The library's objects without a fault, by source."""
    objects = {}
    for source in all_sources(config):
        suffix = source.removeprefix("..")
        ends = f"/{suffix.lstrip('/')}.o"
        if source.startswith("../tests/"):  # a target's in the source's own folder
            ends = f".dir/{Path(source).name}.o"
        found = [path for path in config["objects"] if os.path.normpath(path).endswith(ends)]
        if not found and source == UNAVAILABLE:
            found = [str(Path(config["work_dir"]) / "unavailable.o")]
        if len(found) != 1:
            fail(f"{len(found)} objects of {source}")
        objects[source] = found[0]
    return objects


def reads_file(config):
    return Path(config["work_dir"]) / "reads.json"


def note_what_units_read(config):
    """Files of the project, relative to its root, by the source that includes them."""
    root = Path(config["root"])
    reads = {}
    for source in all_sources(config):
        rule = compile_unit(config, root, source, "-MM").replace("\\\n", " ")
        files = [Path(os.path.normpath(word)) for word in rule.split(":", 1)[1].split()]
        reads[source] = [str(file.relative_to(root)) for file in files if root in file.parents]
    reads_file(config).write_text(json.dumps(reads), encoding="utf-8")


def build(config):
    note_what_units_read(config)
    compile_unit(config, Path(config["root"]), UNAVAILABLE, "-c", "-o",
                 Path(config["work_dir"]) / "unavailable.o")


def check_without_fault(config):
    programs = {program for fault in FAULTS for program, _ in fault.tests}
    unknown = sorted(programs - set(config["programs"]))
    if unknown and "plans_simt_test" in config["programs"]:  # those of devices are built, too
        fail(f"tests/faults/CMakeLists.txt lacks {', '.join(unknown)}: their faults are not tried")
    for program, path in sorted(config["programs"].items()):
        cases = {case for fault in FAULTS for test, case in fault.tests if test == program}
        result = run([path, f"--gtest_filter={':'.join(sorted(cases))}", "--gtest_brief=1"],
                     env=Library.environment())
        passed = re.search(r"\[  PASSED  \] (\d+) test", result.stdout)
        if result.returncode != 0 or not passed or int(passed.group(1)) < len(cases):
            fail(f"{program} does not pass without a fault:\n{result.stdout[-4000:]}")
        print(f"{program} passes without a fault: {passed.group(1)} cases", flush=True)


def edited_texts(fault, root):
    """The text of each edited file, by its path, with the fault."""
    texts = {}
    for file, text, replacement in fault.edits:
        path = root / file
        content = texts.get(path) or path.read_text(encoding="utf-8")
        if content.count(text) != 1:
            fail(f"the fault {fault.name} no longer applies: its text stands "
                 f"{content.count(text)} times in {file}:\n{text}")
        texts[path] = content.replace(text, replacement)
    return texts


def units_to_compile(fault, config):
    """Those that read an edited file. Rows are the reference's, so units of an instruction set stay as
    they are, except for tests that compare them with the reference; one unit is enough then."""
    reads = read_config(reads_file(config))
    edited = {file for file, _, _ in fault.edits}
    sources = sources_of(config, [program for program, _ in fault.tests])
    units = [source for source in sources if edited & set(reads[source])]
    if not units:
        fail(f"no source reads {', '.join(sorted(edited))}")
    compares = any(config["best_unit"] in config["linked_programs"].get(program, {}).get("sources", [])
                   for program, _ in fault.tests)
    wanted = [config["best_unit"]] if compares else []
    return [unit for unit in units if unit not in config["unit_flags"] or unit in wanted]


def build_with(fault, config):
    library = Library(config, Path(config["work_dir"]) / fault.name)
    shutil.rmtree(library.folder, ignore_errors=True)
    for name in ("include", "kernels", "src", "tests/simt"):
        shutil.copytree(Path(config["root"]) / name, library.root / name)
    for path, text in edited_texts(fault, library.root).items():
        path.write_text(text, encoding="utf-8")
    library.compile(units_to_compile(fault, config))
    library.link()
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


def sources_of_suite(folder, case):
    """The sources in a folder that define a case's suite; all, where the pattern names none."""
    suite = case.partition(".")[0].split("/")[-1]
    definition = re.compile(rf"TEST(_F|_P)?\(\s*{re.escape(suite)}\s*,")
    sources = sorted(folder.glob("*.cpp"))
    defining = [file for file in sources if definition.search(file.read_text(encoding="utf-8"))]
    return defining or sources


def proof(fault, root, folders):
    """What decides whether the fault is caught: its own text, the files that it edits, and the suites.
    Other sources hardly do; `./run test --all` does not ask."""
    files = {root / file for file, _, _ in fault.edits} | {Path(__file__).resolve()}
    for program, case in fault.tests:
        files |= set(sources_of_suite(root / folders[program], case))
    own_text = hashlib.sha256(repr(fault).encode()).hexdigest()
    return [f"={own_text}"] + sorted(file.relative_to(root).as_posix() for file in files)


def print_proofs(root, folders):
    root = Path(root).resolve()
    folders = dict(folder.split("=", 1) for folder in folders)
    for fault in FAULTS:
        if all(program in folders for program, _ in fault.tests):
            print(";".join([fault.name, *proof(fault, root, folders)]))


def document(root, path):
    """Each fault applies, and has a row: | name | meaning | tests |."""
    for fault in FAULTS:
        edited_texts(fault, Path(root))
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
    if len(arguments) > 2 and arguments[0] == "proofs":
        print_proofs(arguments[1], arguments[2:])
    elif len(arguments) == 2 and arguments[0] == "build":
        build(read_config(arguments[1]))
    elif len(arguments) == 2 and arguments[0] == "none":
        check_without_fault(read_config(arguments[1]))
    elif len(arguments) == 3 and arguments[0] == "fault":
        check_fault(read_config(arguments[1]), arguments[2])
    elif len(arguments) == 3 and arguments[0] == "document":
        document(*arguments[1:])
    else:
        fail(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
