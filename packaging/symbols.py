"""Keeps the list of the library's symbols in its Debian package: each with the first version that has it.

usage: symbols.py write NAMES_FILE SYMBOLS_FILE CHANGELOG
       symbols.py check NAMES_FILE SYMBOLS_FILE

`write` adds new names of NAMES_FILE with the version of CHANGELOG; `check` tells names that the list lacks,
or has though they are gone, which an ABI version does not allow.
"""

import pathlib
import re
import sys

HEAD = """\
libsampler.so.1 libsampler1 #MINVER#
* Build-Depends-Package: libsampler-dev
"""


def names_in(path):
    return [line for line in pathlib.Path(path).read_text().split("\n") if re.match("[A-Za-z_]", line)]


def versions_in(path):
    file = pathlib.Path(path)
    text = file.read_text() if file.exists() else ""
    return dict(re.findall(r"^ (\w+)@SAMPLER_1 (\S+)$", text, flags=re.M))


def main(command, names_file, symbols_file, changelog=None):
    names, versions = names_in(names_file), versions_in(symbols_file)
    gone = sorted(set(versions) - set(names) - {"SAMPLER_1"})
    if gone:
        return f"{symbols_file} has names that {names_file} has not: {', '.join(gone)}"
    if command == "check":
        new = sorted({"SAMPLER_1", *names} - set(versions))
        return (f"{symbols_file} lacks {', '.join(new)}: run packaging/symbols.py write {names_file} "
                f"{symbols_file} packaging/debian/changelog") if new else 0
    # The ~ makes this the version of the upstream's backports and candidates, too.
    now = re.match(r"\S+ \(([0-9.]+)", pathlib.Path(changelog).read_text())[1] + "~"
    lines = [f" {name}@SAMPLER_1 {versions.get(name, now)}\n" for name in sorted({"SAMPLER_1", *names})]
    pathlib.Path(symbols_file).write_text(HEAD + "".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
