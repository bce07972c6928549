"""Compiles the program that README.md shows against an installed copy, runs it, compares its output.

usage: check_readme.py PROJECT_DIR PREFIX

The program is the first ```c block with a main function and the same text as examples/minimal.c;
the ```text block after it is what it prints.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks_of(markdown):
    return re.findall(r"^```(\w*)\n(.*?)^```$", markdown, flags=re.M | re.S)


def program_and_output(markdown):
    blocks = blocks_of(markdown)
    for index, (language, text) in enumerate(blocks):
        if language == "c" and "int main" in text:
            outputs = [text for language, text in blocks[index + 1:] if language == "text"]
            return text, outputs[0] if outputs else sys.exit("no text block after the program")
    return sys.exit("no C block with a main function")


def output_of_program(program, prefix, directory):
    source, binary = directory / "readme.c", directory / "readme"
    source.write_text(program)
    library_dir = next(prefix.rglob("libsampler.so")).parent
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "sampler"], check=True,
                           capture_output=True, text=True,
                           env=dict(os.environ, PKG_CONFIG_PATH=str(library_dir / "pkgconfig")))
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", source,
                    "-o", binary, *flags.stdout.split()], check=True)
    return subprocess.run([binary], check=True, capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(library_dir))).stdout


def main(project_dir, prefix):
    program, expected = program_and_output(pathlib.Path(project_dir, "README.md").read_text())
    problems = []
    if program != pathlib.Path(project_dir, "examples/minimal.c").read_text():
        problems.append("the program in README.md differs from examples/minimal.c")
    with tempfile.TemporaryDirectory() as directory:
        printed = output_of_program(program, pathlib.Path(prefix), pathlib.Path(directory))
    if printed != expected:
        problems.append(f"README.md says that the program prints\n{expected}but it prints\n{printed}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
