"""The man pages that Doxygen wrote of what the headers declare, named for a system's man3.

usage: man_pages.py headers DOXYGEN_DIR OUTPUT_DIR DATE
       man_pages.py program PROGRAM NAME SUMMARY VERSION OUTPUT DATE    of what it says to --help, by help2man

Doxygen also writes pages of members, folders and nameless enumerations, and names a header's page without
its folder: sampling.h becomes sampler_sampling.h. A function gets a page of its own, made of what its header's
has of it; types and constants without a page are sourced from their header's. What man and mandoc warn of is mended: the date's form, a font that is
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


def function_page(name, header, text):
    """The page of a function, from its header's; None where that has none of it."""
    title = re.search(r'^\.TH "([^"]+)" (.*)$', text, re.M)
    documented = text.partition('.SH "Function Documentation"\n')[2].partition("\n.SH ")[0]
    for part in documented.split('.SS "')[1:]:
        prototype, _, body = part.partition('"\n')
        if re.search(rf"\b{name} \(", prototype):
            break
    else:
        return None
    body = body.strip()
    plain = re.sub(r"\\f[BIPR]|\\&", "", body.partition("\n")[0])
    brief = re.split(r"\.(?= [A-Z]|$)", plain)[0] or f"a function of {title[1]}"
    types = re.findall(r"\\fB(sampler_(?:\w+_)?(?:args|options|params|sequence))\\fP", prototype)
    also = [f"\\fB{page}\\fP(3)" for page in [*dict.fromkeys(types), header.removesuffix(".3")]]
    return "\n".join([f'.TH "{name}" {title[2]}', ".SH NAME", f"{name} \\- {brief}", ".SH SYNOPSIS",
                      f"\\fB#include <{title[1]}>\\fP", ".PP", f"{prototype};",
                      *([".SH DESCRIPTION", body] if body else []),
                      '.SH "SEE ALSO"', ", ".join(also), ""])


def write_headers(doxygen_dir, output_dir, date):
    output = pathlib.Path(output_dir)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for page in pathlib.Path(doxygen_dir).glob("*.3"):
        if WANTED.fullmatch(page.name):
            text = page.read_text()
            source = re.fullmatch(r"\.so man3/(.+)\n", text)
            if source:
                header = page.with_name(source[1])
                text = function_page(page.stem, name_of(header.name),
                                     mended(header.read_text(), date)) or f".so man3/{name_of(header.name)}\n"
            else:
                text = mended(text, date)
            output.joinpath(name_of(page.name)).write_text(text)


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
