"""Checks what the built library shows to the dynamic linker.

usage: check_library.py exports LIBRARY NAMES_FILE INCLUDE_DIR
       check_library.py soname LIBRARY EXPECTED
       check_library.py needed LIBRARY
       check_library.py versions LIBRARY NEWEST_GLIBC
       check_library.py hardening LIBRARY
       check_library.py thread_local LIBRARY
       check_library.py protection LIBRARY COMPILER OBJECT:...
"""

import pathlib
import platform
import re
import subprocess
import sys

# ld-linux carries the thread-local storage of a CUDA runtime that is linked in. libpthread, libdl and librt are
# empty since glibc 2.34, and have what is called before it.
ALLOWED_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
                     "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names_in(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def declared_functions(include_dir):
    functions = []
    for header in sorted(pathlib.Path(include_dir, "sampler").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        functions += re.findall(r"SAMPLER_API\b[^;(]*?(\w+)\(", text)
    return functions


def compare(what, found, listed):
    problems = [f"{name}: {what}, but not listed" for name in sorted(set(found) - set(listed))]
    problems += [f"{name}: listed, but not {what}" for name in sorted(set(listed) - set(found))]
    return problems


def check_exports(library, names_file, include_dir):
    listed = names_in(names_file)
    exported = []
    for line in output_of("nm", "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # The version node itself.
            exported.append(name.split("@")[0])
    problems = compare("exported", exported, listed)
    problems += compare("declared in the headers", declared_functions(include_dir), listed)
    if listed != sorted(set(listed)):
        problems.append(f"{names_file} is not sorted")
    return problems


def dynamic_entries(library, tag):
    pattern = rf"\({tag}\).*\[(.*)\]"
    return re.findall(pattern, output_of("readelf", "--wide", "--dynamic", library))


def check_soname(library, expected):
    found = dynamic_entries(library, "SONAME")
    return [] if found == [expected] else [f"SONAME is {found}, must be {expected}"]


def check_needed(library):
    needed = dynamic_entries(library, "NEEDED")
    if "libc.so.6" not in needed:
        return [f"libc.so.6 is missing from {needed}: readelf was misread"]
    return [f"needs {name}" for name in needed if name not in ALLOWED_LIBRARIES]


def check_versions(library, newest_glibc):
    def number(version):
        return tuple(int(part) for part in version.split("."))

    undefined = output_of("nm", "-D", "--undefined-only", library).split()
    versioned = [symbol.split("@", 1) for symbol in undefined if "@" in symbol]
    if not versioned:
        return ["no symbol has a version: nm was misread"]
    problems = []
    for name, version in versioned:
        family, _, value = version.lstrip("@").partition("_")
        if family == "SAMPLER":
            continue  # a program's, of this library
        if family != "GLIBC":
            problems.append(f"{name} is from {version}, which is not glibc")
        elif number(value) > number(newest_glibc):
            problems.append(f"{name} needs glibc {value}, newer than {newest_glibc}")
    return problems


def check_hardening(library):
    dynamic = output_of("readelf", "--wide", "--dynamic", library)
    segments = output_of("readelf", "--wide", "--segments", library)
    problems = [f"{flag} is not set" for flag in ("NODELETE", "NOW") if
                not re.search(rf"FLAGS.*\b{flag}\b", dynamic)]
    if "TEXTREL" in dynamic:
        problems.append("has text relocations")
    if "GNU_RELRO" not in segments:
        problems.append("has no relro segment")
    stack = re.search(r"GNU_STACK.*", segments)
    if not stack or "RWE" in stack.group(0):
        problems.append("asks for an executable stack")
    return problems


def check_thread_local(library):
    """A thread's first access to what is thread_local may allocate, and end the process."""
    symbols = output_of("readelf", "--wide", "--symbols", library)
    if "sampler" not in symbols:
        return ["no symbol of the library's own is left: it was stripped"]
    names = [line.split()[-1] for line in symbols.splitlines() if " TLS " in line]
    own = [name for name in names if not name.startswith("libcudart_static")]
    problems = [f"{name} is thread_local" for name in own]
    if not names and re.search(r"^ *TLS ", output_of("readelf", "--wide", "--segments", library),
                               flags=re.M):
        problems.append("has a thread-local segment of unknown contents")
    return problems


def control_flow_features(file):
    notes = output_of("readelf", "--wide", "--notes", file)
    found = re.findall(r"(?:x86|AArch64) feature: (.*)", notes)
    return set(found[0].replace(" ", "").split(",")) if found else set()


def check_protection(library, compiler, joined_objects):
    """What the compiler was asked for shows in its objects, and in the library as far as the
    toolchain's own objects let it."""
    objects = [file for file in joined_objects.split(":") if file]
    wanted = {"x86_64": {"IBT", "SHSTK"}, "aarch64": {"BTI", "PAC"}}[platform.machine()]
    problems = [f"{file} lacks {', '.join(sorted(wanted - control_flow_features(file)))}"
                for file in objects if not wanted <= control_flow_features(file)]
    if not objects:
        problems.append("no object was given")
    start_files = [output_of(compiler, f"-print-file-name={name}").strip()
                   for name in ("crti.o", "crtbeginS.o", "crtendS.o", "crtn.o")]
    possible = wanted.intersection(*[control_flow_features(file) for file in start_files])
    # A CUDA runtime that is linked in has none.
    if "libcudart_static" not in output_of("readelf", "--wide", "--symbols", library):
        missing = possible - control_flow_features(library)
        problems += [f"{library} lacks {', '.join(sorted(missing))}"] if missing else []
    imports = output_of("nm", "--dynamic", "--undefined-only", library)
    for name in ("__stack_chk_fail", "__vsnprintf_chk"):
        if name not in imports:
            problems.append(f"{name} is not called")
    return problems


CHECKS = {"exports": check_exports, "soname": check_soname, "needed": check_needed,
          "versions": check_versions, "hardening": check_hardening,
          "thread_local": check_thread_local, "protection": check_protection}

if __name__ == "__main__":
    found_problems = CHECKS[sys.argv[1]](*sys.argv[2:])
    print("\n".join(found_problems))
    sys.exit(1 if found_problems else 0)
