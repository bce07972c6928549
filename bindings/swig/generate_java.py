#!/usr/bin/env python3
"""Makes from the public headers what the Java binding has of their structs.

usage: generate_java.py INCLUDE_DIR OUTPUT_DIR

Writes, into OUTPUT_DIR laid out like the folder bindings:
  java/src/main/generated/.../internal/Layout.java  sizes of the structs, offsets of their members
  swig/java_interface.i                             a number that changes with what C and Java share
"""

import pathlib
import sys
import zlib

import generate

NOTE = "Made from libsampler's headers by bindings/swig/generate_java.py; do not edit."
FOLDER = "java/src/main/generated/io/github/libsampler/internal"


def layout(structs):
    lines = [f"// {NOTE}", "package io.github.libsampler.internal;", "",
             "/** Sizes of the headers' structs and offsets of their members, in bytes. */",
             "public final class Layout {"]
    for struct in structs.values():
        name = struct.name.removeprefix("sampler_").upper()
        lines.append(f"  public static final int {name}_SIZE = {struct.size};")
        lines += [f"  public static final int {name}_{member.name.upper()} = {member.offset};"
                  for member in struct.members]
        lines.append("")
    return "\n".join([*lines, "  private Layout() {}", "}", ""])


def interface(shared):
    """Another number for other structs or functions: a call with them would crash."""
    number = zlib.crc32(shared.encode()) >> 1
    return "\n".join([
        f"/* {NOTE} */", f"%constant int SHIM_INTERFACE = {number};", "%inline %{",
        f"static inline int32_t shim_interface(void) {{ return {number}; }}", "%}", ""])


def main(include_dir, output_dir):
    structs = generate.structs_of(generate.header_text(include_dir))
    functions = [pathlib.Path(__file__).with_name(name).read_text()
                 for name in ("shim.h", "java.i")]
    generate.write({f"{FOLDER}/Layout.java": layout(structs),
                    "swig/java_interface.i": interface("".join([layout(structs), *functions]))},
                   output_dir)


if __name__ == "__main__":
    main(*sys.argv[1:])
