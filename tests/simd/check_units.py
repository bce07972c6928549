#!/usr/bin/env python3
"""A unit compiled for one instruction set defines its table of passes and nothing else.

  check_units.py NM OBJECT...

Inline functions of headers would be weak symbols, and the linker might choose those of this unit for
all: on an older processor the library would then run instructions that it does not have. Weak data
(V), which unoptimised builds have, does no harm.
"""

import re
import subprocess
import sys


def main(nm, objects):
    if not objects:
        sys.exit("no objects")
    for path in objects:
        listing = subprocess.run([nm, "-C", "--defined-only", path], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        shared = [line.split(maxsplit=2)[1:] for line in listing.splitlines()]
        shared = [(kind, name) for kind, name in shared if kind != "V" and (not kind.islower() or kind in "uw")]
        wrong = [name for _, name in shared if not re.fullmatch(r"sampler::cpu::k\w+Passes", name)]
        if wrong or len(shared) != 1:
            sys.exit(f"{path} defines, for all units to see: {shared}")
        print(f"{path}: {shared[0][1]}")


main(sys.argv[1], sys.argv[2:])
