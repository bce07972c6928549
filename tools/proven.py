#!/usr/bin/env python3
"""Runs a test whose outcome its sources decide only if they have changed since it passed.

  proven.py run RECORD TEST BUILD ROOT PATH... -- COMMAND...
      runs COMMAND, unless RECORD, a file, has a line "TEST DIGEST" with the sources' digest: then it
      says so and exits with 77. With SAMPLER_TEST_ALL in the environment it always runs. If COMMAND
      passes, the line is left in the folder BUILD.
  proven.py keep BUILD
      writes the lines of the folder into the records, which are to be committed.
  proven.py news BUILD
      tells of lines in the folder that the records lack.

The sources are the files of the folders ROOT/PATH that the host's compiler, Python or CMake reads, or
single files. A PATH that begins with "=" is none, and stands for itself.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
SUFFIXES = {".cmake", ".cpp", ".cuh", ".h", ".py", ".txt"}
RECORD = "passed.txt"


def digest_of(root, paths):
    """A hash of the names and the contents of the files, records apart."""
    files = set()
    total = hashlib.sha256()
    for path in paths:
        if path.startswith("="):
            total.update(path.encode())
            continue
        below = list((root / path).rglob("*")) if (root / path).is_dir() else [root / path]
        files |= {file for file in below if file.suffix in SUFFIXES and file.name != RECORD}
        if not below:
            sys.exit(f"{path} is empty")
    for file in sorted(files):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return total.hexdigest()


def read_record(record):
    """Digests by the names of tests."""
    if not record.exists():
        return {}
    return dict(line.split() for line in record.read_text(encoding="utf-8").splitlines())


def run(record, test, build, root, *rest):
    paths, command = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    record, root = Path(record), Path(root)
    digest = digest_of(root, paths)
    if read_record(record).get(test) == digest and not os.environ.get("SAMPLER_TEST_ALL"):
        print(f"skipped: {', '.join(path for path in paths if path[0] != '=')} are as they were when it passed; ./run test --all runs it")
        return SKIPPED
    passed = Path(build) / test
    passed.parent.mkdir(parents=True, exist_ok=True)
    passed.unlink(missing_ok=True)
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        passed.write_text(json.dumps({"record": str(record), "digest": digest}), encoding="utf-8")
    return status if status >= 0 else 128 - status


def news(build):
    """(record, test, digest) of what passed with sources that its record does not name."""
    for passed in sorted(Path(build).glob("*")):
        line = json.loads(passed.read_text(encoding="utf-8"))
        record = Path(line["record"])
        if read_record(record).get(passed.name) != line["digest"]:
            yield record, passed.name, line["digest"]


def keep(build):
    for record, test, digest in news(build):
        lines = dict(read_record(record), **{test: digest})
        record.write_text("".join(f"{name} {lines[name]}\n" for name in sorted(lines)),
                          encoding="utf-8")
        print(f"{record}: {test}")
    return 0


def main(arguments):
    if len(arguments) > 6 and arguments[0] == "run" and "--" in arguments:
        return run(*arguments[1:])
    if len(arguments) == 2 and arguments[0] == "keep":
        return keep(arguments[1])
    if len(arguments) == 2 and arguments[0] == "news":
        for record, test, _ in news(arguments[1]):
            print(f"{test} passed with changed sources, which {record} lacks")
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
