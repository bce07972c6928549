"""What small kernels may take, checked in what the compiler made of them.

usage: small_kernels.py UNIT OBJECT RESOURCES ARCHITECTURE...

UNIT is stream, edits, listed, chains, decided or held, OBJECT the object file of UNIT.cu, RESOURCES the assembler's
report beside it (kernel_resources.py). For each architecture, 90 for sm_90, there is a kernel for each type and kind
(of some kinds, one for all types), with 64 registers at most (80 of "edited", "given", "listed" and WEIGHED, and of
"any" before sm_90; 128 of "edits", and of "listed" from sm_100 on), no stack frame and nothing spilled; and with so
much code at most as LIMITS has it for the kind. CALLERS have 128 registers and 576 bytes of stack at most; "staged"
has 800, and spills up to 216 bytes in a function. Exit status 77: the CUDA toolkit lacks cuobjdump, with which the
kernels of one architecture are taken from OBJECT."""

import os
import re
import sys
import tempfile

import sass_listing
from kernel_resources import read_kernels

MOST_REGISTERS = 64  # so that 32 warps share a multiprocessor
MOST_REGISTERS_OF_ANY = 80  # before 9.0, where it would spill some of 64; of edited, given, listed and weighed rows
MOST_REGISTERS_OF_EDITS = 128
MOST_REGISTERS_OF_CALLERS, MOST_STACK_OF_CALLERS = 128, 576
# The walk from one stage to the next, which is outside of all passes over rows, may spill a little.
MOST_STACK_OF_STAGED, MOST_SPILLED_OF_STAGED = 800, 216
LIMITS = {  # of code in bytes, by kind; in the order of the kinds' numbers
    "stream": {"greedy": 32 << 10, "list": 83 << 10, "any": 204 << 10, "edited": 219 << 10,
               "given": 184 << 10},
    "edits": {"edits": 176 << 10},
    "listed": {"listed": 156 << 10},
    "chains": {"place": 12 << 10, "match": 64 << 10, "find_reported": 8 << 10},
    "decided": {"decide": 168 << 10},
    "held": {"softmax": 40 << 10, "filter": 128 << 10, "chain": 48 << 10, "verify": 200 << 10,
             "select": 48 << 10, "report": 288 << 10, "edited-report": 424 << 10, "staged": 672 << 10,
             "draw": 48 << 10, "reweighed": 76 << 10, "values": 104 << 10,
             "typical": 132 << 10, "verify-extended": 360 << 10},
}
CALLERS = ("verify", "verify-extended", "report", "edited-report", "staged", "decide")  # kinds that call functions
WEIGHED = ("reweighed", "values", "typical")
# Kinds with one kernel, which takes rows of all types, or of f32 alone.
ONE_TYPE = ("given", "edits", "listed", "place", "match", "find_reported", "filter", "select", *WEIGHED, *CALLERS)
TYPES = {0: "f32", 1: "f16", 2: "bf16"}
NAME = re.compile(r"(stream|held)_kernelILi(\d)E\w*?(?:10StreamKind|8HeldKind)E(\d+)E")
NAME_OF_ONE = re.compile(r"\d(edits|listed|place|match|find_reported|decide)_kernelE")


def name_of(mangled):
    if match := NAME_OF_ONE.search(mangled):
        return TYPES[0], match[1]
    match = NAME.search(mangled)
    return (TYPES[int(match[2])], list(LIMITS[match[1]])[int(match[3]) - 1]) if match else None


def code_bytes(path, architecture):
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        sass_listing.run_tool("cuobjdump", "--extract-elf", f"sm_{architecture}", os.path.abspath(path),
                              cwd=folder)
        for cubin in os.listdir(folder):
            with open(os.path.join(folder, cubin), "rb") as file:
                sections = sass_listing.Elf(file.read()).sections
            for section, data in sections.items():
                if section.startswith(".text.") and (name := name_of(section)):
                    sizes[name] = len(data)
    return sizes


def main(arguments):
    if len(arguments) < 4 or arguments[0] not in LIMITS:
        sys.exit(__doc__)
    unit, path, resources, *architectures = arguments
    with open(resources) as file:
        reported = read_kernels(file)
    faults = []
    print(f"{'architecture':<14}{'kernel':<14}{'registers':>10}{'stack bytes':>13}{'code bytes':>12}")
    for architecture in architectures:
        try:
            sizes = code_bytes(path, architecture)
        except FileNotFoundError as error:
            print(error)
            return 77
        found = {name_of(kernel["name"]): kernel for kernel in reported
                 if kernel["architecture"] == architecture and name_of(kernel["name"])}
        for of_type in TYPES.values():
            for kind, limit in LIMITS[unit].items():
                if kind in ONE_TYPE and of_type != "f32":
                    continue
                kernel, size = found.get((of_type, kind)), sizes.get((of_type, kind))
                name = f"sm_{architecture} {of_type} {kind}"
                if not kernel or not size:
                    faults.append(f"{name}: there is no such kernel")
                    continue
                print(f"sm_{architecture:<11}{of_type + ' ' + kind:<14}{kernel['registers']:>10}"
                      f"{kernel['stack']:>13}{size:>12}")
                most, most_stack, most_spilled = MOST_REGISTERS, 0, 0
                if kind in ("edited", "given", "listed", *WEIGHED) or (kind == "any" and int(architecture) < 90):
                    most = MOST_REGISTERS_OF_ANY
                if kind == "edits" or (kind == "listed" and int(architecture) >= 100):
                    most = MOST_REGISTERS_OF_EDITS
                if kind in CALLERS:
                    most = MOST_REGISTERS_OF_CALLERS
                    most_stack = MOST_STACK_OF_CALLERS
                if kind == "staged":
                    most_stack, most_spilled = MOST_STACK_OF_STAGED, MOST_SPILLED_OF_STAGED
                spilled = max([bytes_ for _, *both in kernel["spilling"] for bytes_ in both], default=0)
                if kernel["registers"] > most:
                    faults.append(f"{name}: {kernel['registers']} registers, above {most}")
                if kernel["stack"] > most_stack or spilled > most_spilled:
                    faults.append(f"{name}: {kernel['stack']} bytes of stack frame, {spilled} of spilled registers")
                if size > limit:
                    faults.append(f"{name}: {size} bytes of code, above {limit}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
