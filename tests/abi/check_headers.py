"""Compiles the public headers, or the C blocks of a page, with one compiler and standard.

usage: check_headers.py headers COMPILER STANDARD INCLUDE_DIR
       check_headers.py page COMPILER STANDARD INCLUDE_DIR DECLARATIONS MARKDOWN

The blocks of a page are statements of one function, in their order, after the file of declarations.

Exits with 77, "skipped", when the compiler is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys

# The functions of an example have no caller.
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"]


def compiles(compiler, standard, include_dir, what, source):
    language = "c++" if "++" in standard else "c"
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only",
               f"-I{include_dir}", "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    if result.returncode != 0:
        print(f"{what}:\n{result.stderr}")
    return result.returncode == 0


def include_lines(headers):
    return "".join(f"#include <sampler/{header}>\n" for header in headers)


def header_sources(include_dir):
    headers = sorted(path.name for path in pathlib.Path(include_dir, "sampler").glob("*.h"))
    if not headers:
        sys.exit(f"no headers in {include_dir}/sampler")
    # A declaration of its own, since ISO C forbids an empty translation unit.
    end = "typedef int translation_unit_is_not_empty;\n"
    sources = {header: include_lines([header]) + end for header in headers}
    sources["sampler_dl.h"] = "#include <sampler_dl.h>\n" + end
    sources["all, in order"] = include_lines(headers) + end
    sources["all, in reverse, twice"] = include_lines(headers[::-1] * 2) + end
    return sources


def blocks_of(document):
    path = pathlib.Path(document)
    text = path.read_text()
    found = list(re.finditer(r"^```c\n(.*?)^```$", text, flags=re.M | re.S))
    if not found:
        sys.exit(f"no C block in {document}")
    blocks = []
    for match in found:
        line = text[:match.start(1)].count("\n") + 1
        blocks.append(f'#line {line} "{path.name}"\n{match.group(1)}')
    return blocks


def page_sources(declarations, document):
    body = "".join(blocks_of(document))
    declared = pathlib.Path(declarations).read_text()
    return {document: f"{declared}void page(void);\nvoid page(void) {{\n{body}}}\n"}


def main(mode, compiler, standard, include_dir, *markdown):
    if not shutil.which(compiler):
        print(f"skipped: {compiler} is not installed")
        return 77
    if mode == "page":
        sources = page_sources(*markdown)
    else:
        sources = header_sources(include_dir)
    results = [compiles(compiler, standard, include_dir, what, source)
               for what, source in sources.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
