"""Checks that the code that a page shows is in files that other tests run.

usage: check_excerpts.py PAGE LANGUAGE FILE...

The lines of each block of the language are lines of one of the files, one after the other; indentation
and empty lines do not count. A line `// ...` stands for lines that are left out.
"""

import pathlib
import re
import sys


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def parts_of(block):
    """The runs of lines between those that stand for others."""
    parts = [[]]
    for line in lines_of(block):
        if line == "// ...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def has(lines, parts):
    start = 0
    for part in parts:
        found = next((i for i in range(start, len(lines) - len(part) + 1)
                      if lines[i:i + len(part)] == part), None)
        if found is None:
            return False
        start = found + len(part)
    return True


def main(page, language, *paths):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", pathlib.Path(page).read_text(),
                        flags=re.M | re.S)
    if not blocks:
        return f"{page} shows no {language}"
    files = [lines_of(pathlib.Path(path).read_text()) for path in paths]
    for block in blocks:
        if not any(has(lines, parts_of(block)) for lines in files):
            return f"{page} shows what no file has:\n{block}"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
