"""What the device code takes of a multiprocessor, that none of it is spilled, and that all of it fits.

usage: kernel_resources.py record COMPILER ARGUMENT...
       kernel_resources.py check [--may-spill FUNCTIONS BYTES] FILE MOST_DYNAMIC_BYTES ARCHITECTURE...

`record` runs the CUDA compiler, which must be told -Xptxas=-v, and keeps what the assembler reports in
a file beside the object file, OBJECT.resources; all else the compiler prints goes on to stderr.

`check` prints a table of the kernels in such a file. It fails when any function of them spills a register, those
whose mangled names have the pattern FUNCTIONS more than BYTES in stores or in loads, when an architecture named (90
for sm_90) has no kernel, and when the file holds none. Static and dynamic shared memory together must be within what
a block of each architecture may have, and that of two blocks, with what the driver reserves, within a
multiprocessor's where launches are planned for two. MOST_DYNAMIC_BYTES is the program of tests/cuda that prints what
launches are planned with.
"""

import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
FUNCTION = re.compile(r"Function properties for (\w+)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"\b(\d+) bytes smem\b")

# KiB of shared memory that a block may have, opted in, and that a multiprocessor has.
SHARED_KIB = {"80": (163, 164), "86": (99, 100), "87": (163, 164), "89": (99, 100), "90": (227, 228),
              "100": (227, 228), "103": (227, 228), "120": (99, 100), "121": (99, 100)}
RESERVED_BYTES = 1024  # by the driver, of a multiprocessor's, for each block


def record(command):
    path = command[command.index("-o") + 1] + ".resources"
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    report = []
    for line in result.stderr.splitlines(keepends=True):
        is_report = line.startswith("ptxas info") or SPILLS.search(line)
        (report.append if is_report else sys.stderr.write)(line)
    if result.returncode == 0:
        with open(path, "w") as file:
            file.writelines(report)
    return result.returncode


def read_kernels(lines):
    """The kernels of a report: name, architecture, registers, stack bytes, and the functions that
    spill."""
    kernels = []
    function = None
    for line in lines:
        if match := ENTRY.search(line):
            kernels.append({"name": match[1], "architecture": match[2], "registers": None,
                            "stack": None, "shared": 0, "spilling": []})
        elif match := FUNCTION.search(line):
            function = match[1]
        elif match := SPILLS.search(line):
            stack, stores, loads = map(int, match.groups())
            if function == kernels[-1]["name"]:
                kernels[-1]["stack"] = stack
            if stores or loads:
                kernels[-1]["spilling"].append((function, stores, loads))
        elif match := REGISTERS.search(line):
            kernels[-1]["registers"] = int(match[1])
            if match := SHARED.search(line):
                kernels[-1]["shared"] = int(match[1])
    return kernels


def short_name(mangled):
    """"plain" and "staged" for the general kernels."""
    match = re.search(r"(?<=\d)(plain|staged)_kernelE", mangled)
    return match[1] if match else mangled


def shared_memory_faults(kernel, name, program):
    """What is wrong with the shared memory of a kernel that takes a row, and the most it is launched
    with."""
    if kernel["architecture"] not in SHARED_KIB:
        return [f"sm_{kernel['architecture']}: how much shared memory it has does not stand here"], 0
    block, multiprocessor = (1024 * kib for kib in SHARED_KIB[kernel["architecture"]])
    static = kernel["shared"]
    arguments = [str(number) for number in (static, block, multiprocessor)]
    result = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    most, of_two = map(int, result.stdout.split())
    faults = []
    if static + most > block:
        faults.append(f"{static} bytes of static and {most} of dynamic shared memory; "
                      f"a block may have {block}")
    if 2 * (static + of_two + RESERVED_BYTES) > multiprocessor:
        faults.append(f"two blocks with {static} bytes of static and {of_two} of dynamic shared memory; "
                      f"a multiprocessor has {multiprocessor}")
    return [f"sm_{kernel['architecture']} {name}: {fault}" for fault in faults], most


def check(path, program, architectures, may_spill=None, most_spilled=0):
    with open(path) as file:
        kernels = read_kernels(file)
    faults = [] if kernels else [f"{path} reports no kernel"]
    for wanted in architectures:
        if not any(kernel["architecture"] == wanted for kernel in kernels):
            faults.append(f"no kernel for sm_{wanted}")
    print(f"{'architecture':<14}{'kernel':<24}{'registers':>10}{'stack bytes':>13}"
          f"{'shared bytes':>14}{'and dynamic':>13}")
    for kernel in sorted(kernels, key=lambda k: (k["architecture"].zfill(4), k["name"])):
        name = short_name(kernel["name"])
        wrong, dynamic = [], 0
        if name != kernel["name"]:
            wrong, dynamic = shared_memory_faults(kernel, name, program)
        faults += wrong
        print(f"sm_{kernel['architecture']:<11}{name:<24}{kernel['registers']:>10}{kernel['stack']:>13}"
              f"{kernel['shared']:>14}{dynamic:>13}")
        for function, stores, loads in kernel["spilling"]:
            if may_spill and re.search(may_spill, function) and max(stores, loads) <= most_spilled:
                continue
            faults.append(f"sm_{kernel['architecture']} {name}: {function} spills "
                          f"{stores} bytes of stores, {loads} of loads")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "record":
        return record(arguments[1:])
    if len(arguments) >= 6 and arguments[:2] == ["check", "--may-spill"]:
        return check(arguments[4], arguments[5], arguments[6:], arguments[2], int(arguments[3]))
    if len(arguments) >= 3 and arguments[0] == "check":
        return check(arguments[1], arguments[2], arguments[3:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
