"""Builds the reference, installs it, and looks at it.

usage: check_reference.py headers CMAKE PROJECT_DIR WORK_DIR
       check_reference.py program PROGRAM MAN_PAGES_SCRIPT

headers  Doxygen has no warnings; every function, struct and header has a page, which says the version; no link of
         the HTML leads nowhere; man and mandoc have no warnings.
program  The page has what the program says to --help; man and mandoc have no warnings.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import check_links


def skip_without(*tools):
    for tool, package in tools:
        if not shutil.which(tool):
            print(f"skipped: there is no {tool}, of Debian's package {package}")
            sys.exit(77)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def warnings_of(pages):
    """What mandoc and, where there is one, man say of pages as they show them."""
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    problems = done.stdout.splitlines()
    if shutil.which("man"):
        for page in pages:
            shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True)
            problems += shown.stderr.splitlines()
            if shown.returncode or not shown.stdout.strip():
                problems.append(f"{page}: man shows nothing")
    return problems


def names_of(project):
    """What must have a page: functions, and structs and headers, whose pages are their own."""
    lines = (project / "src/capi/exported_names.txt").read_text().splitlines()
    functions = [line for line in lines if line and not line.startswith("#")]
    layout = (project / "tests/abi/layout.txt").read_text().splitlines()
    structs = [line.split()[0] for line in layout if not line.startswith(" ")]
    headers = [header.name for header in (project / "include/sampler").glob("*.h")]
    return functions, structs, ["sampler.h", *(f"sampler_{name}" for name in headers if name != "sampler.h")]


def missing_pages(project, man3, html):
    functions, structs, headers = names_of(project)
    if not functions or not structs or not headers:
        return ["no names to look for"]
    problems = []
    linked = "\n".join(page.read_text() for page in html.glob("*.html"))
    for name in functions + structs + headers:
        page = man3 / f"{name}.3"
        if not page.exists():
            problems.append(f"{name} has no man page")
            continue
        source = re.fullmatch(r"\.so (man3/.+)\n", page.read_text())
        if source and name in structs + headers:
            problems.append(f"{name} has no man page of its own")
        if source:
            page = man3.parent / source[1]
        if not page.exists() or name not in page.read_text().replace("sampler/", "sampler_"):
            problems.append(f"{name}.3 leads to {page}, which does not have it")
        if name in functions + structs and f">{name}</a>" not in linked:
            problems.append(f"{name} has no place in the HTML")
    return problems


def check_headers(cmake, project_dir, work_dir):
    skip_without(("doxygen", "doxygen"), ("mandoc", "mandoc"))
    project, work = pathlib.Path(project_dir), pathlib.Path(work_dir)
    shutil.rmtree(work, ignore_errors=True)
    build, prefix = work / "build", work / "prefix"
    run(cmake, "-S", project, "-B", build, "-DCMAKE_BUILD_TYPE=None", "-DSAMPLER_CUDA=OFF",
        "-DSAMPLER_BUILD_TESTS=OFF", "-DSAMPLER_BUILD_EXAMPLES=OFF", "-DSAMPLER_BUILD_DOCS=ON")
    problems = re.findall(r".*warning: .*", run(cmake, "--build", build, "--target", "docs"))
    run(cmake, "--install", build, "--prefix", prefix, "--component", "documentation")
    man3, html = prefix / "share/man/man3", prefix / "share/doc/sampler/html"
    problems += missing_pages(project, man3, html)
    problems += check_links.Site(html, "html").problems()
    own = [page for page in sorted(man3.iterdir()) if not page.read_text().startswith(".so ")]
    others = [page.name for page in man3.iterdir() if not re.match("(?i)sampler", page.name)]
    problems += [f"{name} does not begin as all names of the library do" for name in others]
    version = re.search(r"^## (\S+)", (project / "CHANGELOG.md").read_text(), flags=re.M)[1]
    problems += [f"{page.name} is not of version {version}" for page in own
                 if f'"Version {version}"' not in page.read_text().replace("\\", "")]
    return problems + warnings_of(own)


def check_program(program, script):
    skip_without(("help2man", "help2man"), ("mandoc", "mandoc"))
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "sampler-program.1")
        run(sys.executable, script, "program", program, "sampler-program", "do what it does", "1.2.3",
            page, "2000-01-01")
        text = page.read_text().replace("\\-", "-").replace("\\fR", "").replace("\\fB", "")
        options = re.findall(r"^ +(?:-\w,)?(--[\w-]+)", run(program, "--help"), flags=re.M)
        problems = [f"the page lacks {option}" for option in options
                    if not re.search(rf"^(?:-\w,)?{option}\b", text, flags=re.M)]
        problems += [f"the page lacks {part}" for part in ("sampler-program 1.2.3", "2000-01-01", ".B sampler-program\n")
                     if part not in text]
        return problems + warnings_of([page]) + ([] if len(options) > 3 else ["hardly any options"])


if __name__ == "__main__":
    found = {"headers": check_headers, "program": check_program}[sys.argv[1]](*sys.argv[2:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
