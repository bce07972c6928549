#!/usr/bin/env python3
"""Makes from the public headers what the bindings made by SWIG have of their structs and constants.

usage: generate.py INCLUDE_DIR OUTPUT_DIR

Writes, into OUTPUT_DIR laid out like the folder bindings:
  swig/constants.i            the constants of the headers' enumerations, and the ABI's number
  go/internal/raw/structs.go  the structs, laid out as C does
A member of a type that is not in NUMBERS, and no pointer and no struct, ends it with an error.
"""

import dataclasses
import pathlib
import re
import sys

NOTE = "Made from libsampler's headers by bindings/swig/generate.py; do not edit."

# Its loops call models back: see docs/bindings.md.
HEADERS_LEFT_OUT = {"decoding.h"}

# What the other headers have from those.
FROM_HEADERS_LEFT_OUT = {"decoding.h": ("sampler_finish_reason", "sampler_gamma_rule")}

# Bytes on a 64-bit machine, and Go's type.
NUMBERS = {"int32_t": (4, "int32"), "uint32_t": (4, "uint32"), "float": (4, "float32"),
           "double": (8, "float64"), "int64_t": (8, "int64"), "uint64_t": (8, "uint64"), "size_t": (8, "uintptr")}
POINTER_SIZE = 8


@dataclasses.dataclass(frozen=True)
class Member:
    name: str
    type: str         # one of NUMBERS, a struct of the headers or, of pointers, "void"
    enum: str         # "sampler_dtype" where that is what the headers call the type; else ""
    is_pointer: bool  # to `type`
    is_read: bool     # a pointer to const
    length: int       # of an array in the struct; 0 of what is none
    offset: int
    size: int


@dataclasses.dataclass(frozen=True)
class Struct:
    name: str         # "sampler_rows"
    members: tuple
    size: int


# ---- Reading the headers ------------------------------------------------------------------------


def header_text(include_dir):
    """All headers without their comments."""
    paths = sorted(pathlib.Path(include_dir, "sampler").glob("*.h"))
    text = "".join(path.read_text() for path in paths if path.name not in HEADERS_LEFT_OUT)
    for name, enums in FROM_HEADERS_LEFT_OUT.items():
        header = pathlib.Path(include_dir, "sampler", name).read_text()
        for enum in enums:
            text += re.search(rf"typedef int32_t {enum};\nenum \{{[^}}]*\}};", header).group()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def enumerations(text):
    """The constants, one list for each enumeration, in the order of the headers."""
    bodies = re.findall(r"\benum\s*\{([^{}]*)\}", text)
    return [re.findall(r"(SAMPLER_\w+)\s*=\s*(\d+)", body) for body in bodies]


def structs_of(text):
    """Name -> Struct, those that others have as members first."""
    integers = {name: base for base, name in re.findall(r"typedef (u?int\d+_t) (\w+);", text)}
    handles = re.findall(r"typedef struct \w+ \*(\w+);", text)
    constants = {name: int(value) for enum in enumerations(text) for name, value in enum}
    bodies = dict(re.findall(r"typedef struct (\w+) \{([^{}]*)\} \1;", text))
    structs = {}

    def member(declaration, end):
        type_name, name, length = re.fullmatch(r"(.*?)\s*(\w+)(?:\[(\w+)\])?", declaration).groups()
        base = type_name.removeprefix("const ").removesuffix(" *")
        type_ = integers.get(base, base)
        if base in handles or base.endswith("_fn"):
            type_name, type_ = base + " *", "void"
        if type_name.endswith("*"):
            size = alignment = POINTER_SIZE
        elif type_ in NUMBERS:
            size = alignment = NUMBERS[type_][0]
        elif type_ in bodies:
            size, alignment = struct(type_).size, POINTER_SIZE
        else:
            sys.exit(f"{declaration}: no counterpart of {type_name}")
        length = constants[length] if length else 0
        return Member(name, type_, base if base in integers else "", type_name.endswith("*"),
                      type_name.startswith("const"), length, -(-end // alignment) * alignment,
                      size * (length or 1))

    def struct(name):
        if name not in structs:
            members, end = [], 0
            for declaration in bodies[name].split(";"):
                if declaration.strip():
                    members.append(member(declaration.strip(), end))
                    end = members[-1].offset + members[-1].size
            structs[name] = Struct(name, tuple(members), -(-end // POINTER_SIZE) * POINTER_SIZE)
        return structs[name]

    for name in bodies:
        struct(name)
    return structs


def paths_of(structs, struct, prefix="", start=0):
    """Path ("input.num_rows"), offset and Member of all that is no struct, views' members too."""
    for member in structs[struct].members:
        path, offset = prefix + member.name, start + member.offset
        if not member.is_pointer and member.type in structs:
            yield from paths_of(structs, member.type, path + ".", offset)
        else:
            yield path, offset, member


# ---- Writing ------------------------------------------------------------------------------------


def constants(text):
    version = re.search(r"#define (SAMPLER_ABI_VERSION) (\d+)", text).groups()
    lines = [f"/* {NOTE} */"]
    for enum in [[version], *enumerations(text)]:
        lines += ["", *(f"%constant int {name} = {value};" for name, value in enum)]
    return "\n".join(lines) + "\n"


def go_name(name):
    words = {"id": "ID", "ids": "IDs"}
    return "".join(words.get(word, word.capitalize()) for word in name.split("_"))


def go_structs(structs):
    names = {name: go_name(name.removeprefix("sampler_")) for name in structs}
    lines = [f"// {NOTE}", "", "package raw", "",
             "// The structs of the headers, with addresses for pointers."]
    for struct in structs.values():
        width = max(len(go_name(member.name)) for member in struct.members)
        lines += ["", f"type {names[struct.name]} struct {{"]
        for member in struct.members:
            type_name = "uintptr" if member.is_pointer else \
                names.get(member.type) or NUMBERS[member.type][1]
            length = f"[{member.length}]" if member.length else ""
            lines.append(f"\t{go_name(member.name):{width}} {length}{type_name}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def write(files, output_dir):
    for name, contents in files.items():
        path = pathlib.Path(output_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents)


def main(include_dir, output_dir):
    text = header_text(include_dir)
    write({"swig/constants.i": constants(text),
           "go/internal/raw/structs.go": go_structs(structs_of(text))}, output_dir)


if __name__ == "__main__":
    main(*sys.argv[1:])
