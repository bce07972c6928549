"""A test runs when its sources are not those with which it passed, and a digest is of what passed.

usage: proven_test.py PROVEN_PY
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


class Project:
    def __init__(self, tool, root):
        self.tool, self.root = tool, Path(root)
        self.record, self.build = self.root / "tests" / "passed.txt", self.root / "build"
        for name in ("src/a.h", "src/inner/b.cpp", "tests/c.cpp"):
            self.write(name, name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def call(self, *arguments, **environment):
        variables = {name: value for name, value in os.environ.items() if name != "SAMPLER_TEST_ALL"}
        return subprocess.run([sys.executable, self.tool, *map(str, arguments)], capture_output=True,
                              text=True, check=False, env=dict(variables, **environment))

    def run(self, status=0, text="=a", **environment):
        """Of a test that ends with this status, and a text among its sources."""
        command = [sys.executable, "-c", f"print('it runs'); raise SystemExit({status})"]
        return self.call("run", self.record, "some_test", self.build, self.root, text, "src", "tests",
                         "--",
                         *command, **environment)


def expect(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def runs(result, status=0):
    return result.returncode == status and "it runs" in result.stdout


def is_skipped(result):
    return (result.returncode == SKIPPED and "it runs" not in result.stdout
            and result.stdout.startswith("skipped: src, tests "))


def main(tool):
    with tempfile.TemporaryDirectory() as root:
        project = Project(tool, root)
        expect("a test without a digest runs", runs(project.run()))
        expect("it runs until its digest is kept", runs(project.run()))
        expect("there is news", "some_test passed" in project.call("news", project.build).stdout)
        project.call("keep", project.build)
        expect("there is none when it is kept", project.call("news", project.build).stdout == "")
        expect("with the same sources it is skipped", is_skipped(project.run()))
        expect("it runs where all are asked for", runs(project.run(SAMPLER_TEST_ALL="1")))

        project.write("src/inner/b.cpp", "changed")
        expect("a change of a source lets it run", runs(project.run(1), 1))
        expect("a test that failed is no news", project.call("news", project.build).stdout == "")
        project.call("keep", project.build)
        expect("its digest is not kept", runs(project.run(1), 1))

        project.write("src/inner/b.cpp", "src/inner/b.cpp")
        expect("the sources of before are known", is_skipped(project.run()))
        expect("a change of the text lets it run", runs(project.run(1, text="=b"), 1))
        project.write("src/launch.cu", "")
        expect("what nvcc alone reads does not matter", is_skipped(project.run()))
        for name in ("new.h", "new.cuh", "CMakeLists.txt"):
            project.write(f"src/{name}", "")
            expect(f"a new source lets it run: {name}", runs(project.run()))
            if name != "new.h":
                (project.root / "src" / name).unlink()
        expect("it may fail the next time", runs(project.run(1), 1))
        expect("what it was before is no news then", project.call("news", project.build).stdout == "")
        (project.root / "src/new.h").unlink()
        (project.root / "src/a.h").rename(project.root / "src/aa.h")
        expect("a new name lets it run", runs(project.run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
