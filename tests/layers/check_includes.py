"""Folders of the library include what the table of CONTRIBUTING.md allows them, and nothing else.

    check_includes.py ROOT
"""

import pathlib
import re
import sys

FOLDERS = ["src/contract", "src/shards", "src/cpu", "src/cuda", "src/abi", "src/capi", "src/decoding/ngram", "src/decoding/session",
           "src/decoding/loops", "src/state", "kernels"]
INCLUDE = re.compile(r'#\s*include\s+["<](?:decoding/)?([a-z_]+)/', re.M)


def allowed_by_table(root):
    """What each folder may include, by the last part of the folder's name."""
    rows = {}
    for line in (root / "CONTRIBUTING.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        folder = cells[0].strip("`/")
        if folder not in FOLDERS:
            continue
        rows[folder] = set(re.findall(r"`(\w+)`", cells[-1])) | {folder.rsplit("/", 1)[-1]}
        if "the public headers" in cells[-1]:
            rows[folder].add("sampler")
    return rows


def main():
    root = pathlib.Path(sys.argv[1])
    rows = allowed_by_table(root)
    known = {"sampler"} | {folder.rsplit("/", 1)[-1] for folder in FOLDERS}
    num_includes = 0
    faults = []
    for folder in FOLDERS:
        if folder not in rows:
            sys.exit(f"CONTRIBUTING.md has no row of {folder}/")
        for path in sorted((root / folder).rglob("*.*")):
            for part in INCLUDE.findall(path.read_text()):
                num_includes += part in known
                if part in known - rows[folder]:
                    faults.append(f"{path.relative_to(root)} includes {part}/")
    if num_includes < 100:
        sys.exit(f"only {num_includes} includes found")
    sys.exit("\n".join(faults) or 0)


main()
