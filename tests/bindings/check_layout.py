"""Compares the layout of structs that bindings/swig/generate.py reads from the headers with that of the
compiler, which tests/abi/layout.txt holds.

usage: check_layout.py PROJECT_DIR
"""

import pathlib
import sys


def recorded_layout(path):
    """Struct -> lines of its size and its members' offsets and sizes."""
    layout, struct = {}, None
    for line in path.read_text().splitlines():
        if not line.startswith(" "):
            struct, line = line.split(" ")
            layout[struct] = []
        layout[struct].append(line.strip())
    return layout


def main(project_dir):
    project = pathlib.Path(project_dir)
    sys.path.insert(0, str(project / "bindings" / "swig"))
    import generate

    recorded = recorded_layout(project / "tests" / "abi" / "layout.txt")
    structs = generate.structs_of(generate.header_text(project / "include"))
    for name, struct in structs.items():
        lines = [str(struct.size), *(f"{m.name} {m.offset} {m.size}" for m in struct.members)]
        if lines != recorded.get(name):
            return f"{name} is {recorded.get(name)}; generate.py reads {lines}"
    return 0 if "sampler_sample_args" in structs else "generate.py reads no argument struct"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
