"""What the device code takes of a multiprocessor, and that none of it is spilled.

usage: kernel_resources.py record COMPILER ARGUMENT...
       kernel_resources.py check FILE ARCHITECTURE...

`record` runs the CUDA compiler, which must be told -Xptxas=-v, and keeps what the assembler reports in
a file beside the object file, OBJECT.resources; all else the compiler prints goes on to stderr.

`check` prints a table of the kernels in such a file. It fails when any function of them spills a
register, when an architecture named (90 for sm_90) has no kernel, and when the file holds none.
"""

import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
FUNCTION = re.compile(r"Function properties for (\w+)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")


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
                            "stack": None, "spilling": []})
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
    return kernels


def short_name(mangled):
    """Of operation_kernel<clustered, Request>: the request, and whether it is for clusters."""
    match = re.search(r"operation_kernelILb([01])\w*?8contract\d+(\w+?)Request", mangled)
    if not match:
        return mangled
    return match[2] + (" in clusters" if match[1] == "1" else "")


def check(path, architectures):
    with open(path) as file:
        kernels = read_kernels(file)
    faults = [] if kernels else [f"{path} reports no kernel"]
    for wanted in architectures:
        if not any(kernel["architecture"] == wanted for kernel in kernels):
            faults.append(f"no kernel for sm_{wanted}")
    print(f"{'architecture':<14}{'kernel':<24}{'registers':>10}{'stack bytes':>13}")
    for kernel in sorted(kernels, key=lambda k: (k["architecture"].zfill(4), k["name"])):
        name = short_name(kernel["name"])
        print(f"sm_{kernel['architecture']:<11}{name:<24}{kernel['registers']:>10}{kernel['stack']:>13}")
        for function, stores, loads in kernel["spilling"]:
            faults.append(f"sm_{kernel['architecture']} {name}: {function} spills "
                          f"{stores} bytes of stores, {loads} of loads")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "record":
        return record(arguments[1:])
    if len(arguments) >= 2 and arguments[0] == "check":
        return check(arguments[1], arguments[2:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
