"""Compares the layout of every public struct with a checked-in file.

usage: layout.py generate INCLUDE_DIR OUTPUT.c
       layout.py check LAYOUT_FILE COMMAND...

`generate` finds the structs in the headers and writes a program that prints, for each, its size and
the offset and size of its members. `check` runs that program (COMMAND) and compares: a struct or
member that is new, moved, resized or gone is an error, as is padding between members. When a change
is meant, write the program's output over LAYOUT_FILE.
"""

import difflib
import pathlib
import re
import subprocess
import sys


def members_of(struct_name, body):
    members = []
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        if "," in declaration or "(" in declaration:
            sys.exit(f"{struct_name}: declare one member at a time, and callbacks by typedef: "
                     f"{declaration}")
        members.append(re.search(r"(\w+)\s*(\[\w+\])*$", declaration).group(1))
    return members


def structs_in(include_dir):
    structs = {}
    for header in sorted(pathlib.Path(include_dir, "sampler").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"\\\n", " ", text)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        found = re.findall(r"\bstruct\s+(\w+)\s*\{([^{}]*)\}", text)
        if len(found) != len(re.findall(r"\b(?:struct|union)\b[^;{}()]*\{", text)):
            sys.exit(f"{header}: a struct without a tag, a nested one or a union is not understood")
        structs.update((name, members_of(name, body)) for name, body in found)
    if not structs:
        sys.exit(f"no struct in {include_dir}")
    return structs


def generate(include_dir, output):
    lines = ["#include <sampler/sampler.h>", "#include <stddef.h>", "#include <stdio.h>", ""]
    headers = sorted(path.name for path in pathlib.Path(include_dir, "sampler").glob("*.h"))
    lines[1:1] = [f"#include <sampler/{header}>" for header in headers]
    lines.append("int main(void) {")
    for name, members in sorted(structs_in(include_dir).items()):
        lines.append(f'  printf("{name} %zu\\n", sizeof(struct {name}));')
        for member in members:
            lines.append(f'  printf("  {member} %zu %zu\\n", offsetof(struct {name}, {member}),\n'
                         f"         sizeof(((struct {name} *)0)->{member}));")
    lines += ["  return 0;", "}", ""]
    pathlib.Path(output).write_text("\n".join(lines))


def padding_in(layout):
    """Yields one line for each hole; the members of a struct must follow each other to its end."""
    struct, struct_size, end = None, 0, 0
    for line in layout + ["end 0"]:
        words = line.split()
        if not line.startswith(" "):
            if end != struct_size:
                yield f"{struct}: {struct_size - end} bytes of padding at the end"
            struct, struct_size, end = words[0], int(words[1]), 0
        else:
            offset, size = int(words[1]), int(words[2])
            if offset != end:
                yield f"{struct}: {offset - end} bytes of padding before {words[0]}"
            end = offset + size


def check(layout_file, *command):
    expected = pathlib.Path(layout_file).read_text().splitlines()
    actual = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    problems = list(difflib.unified_diff(expected, actual, layout_file, "headers", lineterm=""))
    problems += padding_in(actual)
    print("\n".join(problems))
    return 1 if problems or not actual else 0


if __name__ == "__main__":
    sys.exit({"generate": generate, "check": check}[sys.argv[1]](*sys.argv[2:]))
