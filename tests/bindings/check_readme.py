"""Checks that what README.md shows of a language is part of the program in the language's documentation,
which another test runs.

usage: check_readme.py PROJECT_DIR LANGUAGE
"""

import pathlib
import re
import sys


def lines_of_blocks(path, language):
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), flags=re.M | re.S)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def main(project_dir, language):
    project = pathlib.Path(project_dir)
    shown = lines_of_blocks(project / "README.md", language)
    if not shown:
        return f"README.md shows no {language}"
    document = iter(lines_of_blocks(project / "docs" / f"{language}.md", language))
    for line in shown:
        if line not in document:  # takes lines up to it
            return f"docs/{language}.md does not have, where it should: {line}"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
