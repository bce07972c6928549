"""Of the man pages that Doxygen wrote, those of what the headers declare, named for a system's man3.

usage: man_pages.py headers DOXYGEN_DIR OUTPUT_DIR DATE
       man_pages.py program PROGRAM NAME SUMMARY VERSION OUTPUT DATE    of what it says to --help, by help2man

Doxygen also writes pages of members, folders and nameless enumerations, and names a header's page without
its folder: sampling.h becomes sampler_sampling.h. Functions, types and constants that have no page of their
own are sourced from their header's. What man and mandoc warn of is mended: the date's form, a font that is
no font, paragraphs without text, a name without a description, which whatis wants.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WANTED = re.compile(r"(sampler|SAMPLER)_\w+\.3|\w+\.h\.3")


def name_of(page):
    return page if page.startswith(("sampler", "SAMPLER")) else f"sampler_{page}"


def mended(text, date):
    lines, is_literal = [], False
    for line in text.splitlines():
        line = line.rstrip().replace("\\fC", "\\fB")
        if line.startswith(".TH "):
            line = re.sub(r'^(\S+ \S+ \S+) "[^"]*"', rf'\1 "{date}"', line)
        is_literal = line != ".fi" and (is_literal or line == ".nf")
        if not is_literal:
            if not line or line in (".PP", ".br") and lines[-1][:3] in (".SH", ".SS", ".PP", ".br"):
                continue
            while line[:3] in (".SH", ".SS", ".PP", ".IP") and lines[-1] in (".PP", ".br"):
                lines.pop()
        if lines[-1:] == [".SH NAME"] and "\\-" not in line:
            line += " \\- a struct of libsampler"
        lines.append(line)
    return "\n".join(lines) + "\n"


def write_headers(doxygen_dir, output_dir, date):
    output = pathlib.Path(output_dir)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for page in pathlib.Path(doxygen_dir).glob("*.3"):
        if WANTED.fullmatch(page.name):
            text = page.read_text()
            source = re.fullmatch(r"\.so man3/(.+)\n", text)
            output.joinpath(name_of(page.name)).write_text(
                f".so man3/{name_of(source[1])}\n" if source else mended(text, date))


def write_program(program, name, summary, version, output, date):
    with tempfile.TemporaryDirectory() as folder:
        called = pathlib.Path(folder, name)  # by which the page is called
        called.symlink_to(pathlib.Path(program).absolute())
        page = subprocess.run(["help2man", "--no-info", "--no-discard-stderr", f"--name={summary}",
                               f"--version-string={version}", called],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
    page = page.replace(f".B {pathlib.Path(program).name}\n", f".B {name}\n")
    pathlib.Path(output).write_text(mended(page, date))


if __name__ == "__main__":
    {"headers": write_headers, "program": write_program}[sys.argv[1]](*sys.argv[2:])
