"""No comment opens with the word "Of": its subject comes first.

    check_openings.py ROOT
"""

import os
import pathlib
import re
import sys

LEFT_OUT = {"build", "target", "node_modules"}
SUFFIXES = {".c", ".cmake", ".cpp", ".cu", ".cuh", ".go", ".h", ".i", ".java", ".py", ".pyi", ".rs", ".sh"}
OPENING = re.compile(r'(?P<line>//[/!]?|#)[ \t]+Of\b|(?:/\*\*?|""")[\s*]*Of\b')


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and name[0] != ".")
        for path in (pathlib.Path(folder, name) for name in sorted(names)):
            if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
                yield path


def openings_of(text):
    """Numbers of the lines. A line comment goes on where the line above is one, too."""
    for match in OPENING.finditer(text):
        *_, above, before = ("\n" + text[:match.start()]).split("\n")
        if before.strip() or not match["line"] or not above.lstrip().startswith(match["line"]):
            yield text.count("\n", 0, match.end()) + 1


def main():
    root = pathlib.Path(sys.argv[1])
    files = list(files_of(root))
    if len(files) < 500:
        sys.exit(f"only {len(files)} files found")
    sys.exit("\n".join(f'{path.relative_to(root)}:{number}: a comment opens with "Of"'
                       for path in files for number in openings_of(path.read_text())) or 0)


main()
