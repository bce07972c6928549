"""tools/coverage.py on a program whose lines that run are known.

usage: coverage_test.py COMPILER COVERAGE_PY SOURCE_FOLDER
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, must be {expected!r}")


def main(compiler, coverage, source_folder):
    coverage, source_folder = str(pathlib.Path(coverage).resolve()), str(
        pathlib.Path(source_folder).resolve())
    if "Free Software Foundation" not in run(compiler, "--version").stdout or not shutil.which("gcov"):
        print("skipped: the compiler is not GCC, or there is no gcov")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder, "build")
        build.mkdir()
        program = build / "example"
        run(compiler, "--coverage", "-O0", str(pathlib.Path(source_folder, "example.cpp").resolve()), "-o",
            str(program), cwd=build, check=True)

        def tell(*options):
            return run(sys.executable, coverage, "build", source_folder, "--list", *options,
                       cwd=folder)

        before = tell("--least", "1")
        expect("before it runs", before.returncode, 1)
        expect("the reason", before.stderr, "fewer than 1 % of the lines ran\n")
        expect("its exit status", run(str(program)).returncode, 0)
        # Each line and branch of larger() ran in one of its two instances, none of never() did.
        after = tell("--least", "80")
        expect("afterwards", after.returncode, 0)
        lines = after.stdout.splitlines()
        expect("the total", lines[-2].split(), "all 8 of 10 80.0 % 3 of 4 75.0 %".split())
        expect("what did not run", lines[-1], "example.cpp: 10-11")
        expect("of more than ran", tell("--least", "81").returncode, 1)
        nothing = run(sys.executable, coverage, folder, folder)
        expect("without sources", nothing.returncode, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
