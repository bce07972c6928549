"""The ABI of a release, as abidw of libabigail writes it, and what has changed since.

usage: abi.py check RELEASED_DIR INCLUDE_DIR LIBRARY CHANGELOG
       abi.py record RELEASED_DIR INCLUDE_DIR VERSION REASON

RELEASED_DIR has a folder for each release: the public headers in `include`, `sampler.abi`, which is what
abidw tells of them, `recorded.txt`, why, and a program of the release with what it prints, which `record`
copies from beside RELEASED_DIR and then leaves as it is. There may be no release yet. `check` compares the newest release with the headers and the
library of today. What is there must stay as it is; structs that carry their size may grow at the end, and
functions, structs and constants may be added, all of which the CHANGELOG must name. Where
SAMPLER_ABI_VERSION is higher than the release's, there is nothing to compare.

The headers are looked at in an image of the library, whose functions do nothing: it has debug information,
whatever the library was built with, and also what no function has to do with, which is the constants.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import dl_header

ABIDW = ["abidw", "--no-architecture", "--no-comp-dir-path", "--no-corpus-path", "--no-show-locs",
         "--no-elf-needed", "--no-parameter-names", "--type-id-style", "hash"]
ABIDIFF = ["abidiff", "--no-architecture", "--no-default-suppression", "--no-show-locs",
           "--no-added-syms"]
CHANGED = 4  # The bits of abidiff's exit status: a change; one that surely breaks. Others are errors.
BREAKS = 8

# Variables of the image alone, which lead abidw to the constants and to every struct.
CONSTANTS = "sampler_image_constants"
STRUCT = "sampler_image_struct_"
NOT_IN_LIBRARY = "[suppress_variable]\n  name_regexp = ^sampler_image_\n"

# A program that calls each function, and what it prints.
CONSUMER = ("consumer.c", "consumer.txt")

# The first member of structs that may grow.
SIZE_MEMBER = "struct_size"


def run(command, good=(0,)):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in good:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done


def headers_in(include_dir):
    return sorted(pathlib.Path(include_dir, "sampler").glob("*.h"))


def abi_number(include_dir):
    text = pathlib.Path(include_dir, "sampler", "version.h").read_text()
    return int(re.search(r"^#define SAMPLER_ABI_VERSION (\d+)$", text, flags=re.M).group(1))


# ---- What the headers say -----------------------------------------------------------------------


def source_of_image(include_dir):
    lines, constants = [], []
    for header in headers_in(include_dir):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        lines.append(f"#include <sampler/{header.name}>")
        lines += [f"struct {name} *{STRUCT}{name};" for name in
                  re.findall(r"\bstruct\s+(\w+)\s*\{", text)]
        for body in re.findall(r"\benum\b[^{};()]*\{([^}]*)\}", text):
            constants += re.findall(r"(?:^|,)\s*(\w+)", body)
    # The first keeps the type signed, whatever comes after it.
    listed = ["image_signed = -1", *(f"image_{name} = {name}" for name in constants)]
    lines.append(f"enum {CONSTANTS} {{ {', '.join(listed)} }} {CONSTANTS};")
    lines += [f"{result} {name}({parameters}) {{ __builtin_trap(); }}"
              for _, result, name, parameters in dl_header.functions_in(include_dir)]
    return "\n".join(lines) + "\n"


def describe(include_dir, output):
    """Writes what abidw tells of the library that these headers are of."""
    number = abi_number(include_dir)
    with tempfile.TemporaryDirectory() as folder:
        source, names, image = (pathlib.Path(folder, name) for name in ("image.c", "names", "image.so"))
        source.write_text(source_of_image(include_dir))
        names.write_text(f"SAMPLER_{number} {{ global: sampler_*; local: *; }};\n")
        run([os.environ.get("CC", "cc"), "-std=c99", "-g", "-O0", "-shared", "-fPIC", "-nostdlib",
             f"-I{include_dir}", f"-Wl,-soname,libsampler.so.{number},--version-script={names}", source,
             "-o", image])
        text = run([*ABIDW, image]).stdout
    # The folder is another one each time.
    pathlib.Path(output).write_text(text.replace(f"{folder}/", ""))


class Abi:
    """What abidw has written, by name: functions, constants, structs and their members."""

    def __init__(self, file):
        self.tree = xml.etree.ElementTree.parse(file)
        root = self.tree.getroot()
        self.functions = {symbol.get("name") for symbol in root.iter("elf-symbol")
                          if symbol.get("type") == "func-type"}
        self.constants = {constant.get("name").removeprefix("image_")
                          for kind in root.iter("enum-decl") if kind.get("name") == CONSTANTS
                          for constant in kind.iter("enumerator")}
        self.structs = {struct.get("name"): struct for struct in root.iter("class-decl")
                        if struct.get("is-declaration-only") != "yes"}
        if not self.functions or not self.constants or not self.structs:
            sys.exit(f"{file} has no functions, no constants or no structs")

    def members(self):
        return {(struct, member.find("var-decl").get("name"))
                for struct, element in self.structs.items() for member in element.iter("data-member")}

    def names(self):
        return {*self.functions, *self.constants, *self.structs,
                *(f"{struct}.{member}" for struct, member in self.members())}

    def cut_to(self, earlier):
        """Takes away what structs that carry their size have gained at the end."""
        for name, struct in self.structs.items():
            if name not in earlier.structs:
                continue
            size = earlier.structs[name].get("size-in-bits")
            first = earlier.structs[name].find("data-member")
            if first.find("var-decl").get("name") != SIZE_MEMBER:
                continue
            for member in struct.findall("data-member"):
                if int(member.get("layout-offset-in-bits")) >= int(size):
                    struct.remove(member)
                    struct.set("size-in-bits", size)


# ---- What has changed ---------------------------------------------------------------------------


def differences(first, second, *options):
    done = run([*ABIDIFF, *options, first, second], good=(0, CHANGED, CHANGED | BREAKS))
    return [done.stdout.strip()] if done.returncode else []


def breaks(record, headers):
    """What no longer is as it was in `record`, in today's `headers`: two files of abidw."""
    earlier, today = Abi(record), Abi(headers)
    problems = [f"{name} is gone" for name in sorted(earlier.names() - today.names())]
    today.cut_to(earlier)
    with tempfile.NamedTemporaryFile(suffix=".abi") as cut:
        today.tree.write(cut.name)
        return problems + differences(record, cut.name)


def missing_in_library(record, library):
    """Symbols, their versions and the SONAME. Debug information would tell what handles point to."""
    with tempfile.TemporaryDirectory() as folder:
        suppressions, stripped = pathlib.Path(folder, "suppressions"), pathlib.Path(folder, "library.so")
        suppressions.write_text(NOT_IN_LIBRARY)
        run(["objcopy", "--strip-debug", library, stripped])
        return differences(record, stripped, "--suppressions", suppressions)


def added(record, headers):
    """Functions, constants, structs, and members of structs that were there."""
    earlier, today = Abi(record), Abi(headers)
    names = today.names() - earlier.names()
    return sorted(name for name in names if name.split(".")[0] not in names - {name})


def is_named(name, line):
    """Whether a line of the CHANGELOG has the name, or those before and after the dot, in backticks.
    `sampler_shard_*` names all that begin so."""
    words = [word for code in re.findall(r"`([^`]+)`", line) for word in re.findall(r"\w+\*?", code)]
    prefixes = tuple(word[:-1] for word in words if re.fullmatch(r"(?i:sampler)_[a-zA-Z0-9]+_\w*\*", word))
    return all(part in words or (prefixes and part.startswith(prefixes)) for part in name.split("."))


def unlisted(names, changelog, release):
    """Those of the names that the CHANGELOG lacks above the release's heading, once that is no longer
    `unreleased`."""
    text = re.split(rf"^## {re.escape(release)}\b(?!.*unreleased)", changelog, maxsplit=1, flags=re.M)[0]
    return [name for name in names if not any(is_named(name, line) for line in text.splitlines())]


# ---- Commands -----------------------------------------------------------------------------------


def newest_release(released_dir):
    """None where none is recorded."""
    releases = [path for path in pathlib.Path(released_dir).glob("*") if path.is_dir()]
    return max(releases, key=lambda path: [int(part) for part in path.name.split(".")], default=None)


def check(released_dir, include_dir, library, changelog):
    for tool in ("abidw", "abidiff"):
        if not shutil.which(tool):
            print(f"skipped: there is no {tool}, of Debian's package abigail-tools")
            return 77
    release = newest_release(released_dir)
    if not release:
        print("No release is recorded yet.")
        return 0
    record = release / "sampler.abi"
    number, recorded_number = abi_number(include_dir), abi_number(release / "include")
    with tempfile.TemporaryDirectory() as folder:
        kept, today = pathlib.Path(folder, "kept.abi"), pathlib.Path(folder, "today.abi")
        describe(release / "include", kept)
        problems = [f"{record} is not of the headers beside it:\n{text}"
                    for text in differences(record, kept) + differences(kept, record)]
        if number > recorded_number:
            print(f"ABI {number} is new since {release.name}, which has ABI {recorded_number}")
        else:
            describe(include_dir, today)
            found = breaks(record, today) + missing_in_library(record, library)
            if found:
                problems += found
                problems.append(f"This breaks the ABI of {release.name}, so it needs a higher "
                                "SAMPLER_ABI_VERSION (CONTRIBUTING.md, Releases).")
            problems += [f"{name} is new since {release.name}, and {changelog} does not name it"
                         for name in unlisted(added(record, today), pathlib.Path(changelog).read_text(),
                                              release.name)]
    print("\n".join(problems))
    return 1 if problems else 0


def record(released_dir, include_dir, version, reason):
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not reason.strip():
        sys.exit("the version is that of a release, as 0.1.0, and there must be a reason")
    release = pathlib.Path(released_dir, version)
    abi, include = release / "sampler.abi", release / "include"
    include.joinpath("sampler").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        today = pathlib.Path(folder, "today.abi")
        describe(include_dir, today)
        if abi.exists():
            print("\n".join([*breaks(abi, today), *(f"new: {name}" for name in added(abi, today))]))
        shutil.copyfile(today, abi)
    shutil.rmtree(include)
    for header in [*headers_in(include_dir), *pathlib.Path(include_dir).glob("*.h")]:
        target = include / header.relative_to(include_dir)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(header, target)
    for name in CONSUMER:
        source, target = pathlib.Path(released_dir).parent / name, release / name
        if source.exists() and not target.exists():
            shutil.copyfile(source, target)
    with open(release / "recorded.txt", "a") as log:
        log.write(f"ABI {abi_number(include_dir)}: {reason.strip()}\n")
    print(f"{abi}: {abi.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit({"check": check, "record": record}[sys.argv[1]](*sys.argv[2:]))
