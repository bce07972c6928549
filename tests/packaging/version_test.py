"""Every place that says the version says that of include/sampler/version.h.

usage: version_test.py PROJECT_DIR
"""

import pathlib
import re
import sys

# How each writes it: "-rc1" or Debian's "~rc1".
PLACES = {
    "CHANGELOG.md": (r"^## (\S+)", "-"),
    "SECURITY.md": (r"^\| (\S+), and what follows", "-"),
    "docs/java.md": (r"`io\.github\.libsampler:sampler:(.*?)`", "-"),
    "bindings/rust/sampler/Cargo.toml": (r'^version = "(.*)"', "-"),
    "bindings/rust/sampler-sys/Cargo.toml": (r'^version = "(.*)"', "-"),
    "bindings/java/pom.xml": (r"^  <version>(.*)</version>", "-"),
    "packaging/debian/changelog": (r"^libsampler \((.*)-[^-]*\)", "~"),
    "packaging/conda/recipe.yaml": (r"^  version: (\d.*)", "-"),
    "packaging/homebrew/libsampler.rb": (r'/libsampler-(.*)\.tar\.gz"', "-"),
    "packaging/vcpkg/vcpkg.json": (r'"version-semver": "(.*)"', "-"),
    "packaging/rpm/libsampler.spec": (r"^Version: +(\S+)", "~"),
    "packaging/nix/default.nix": (r'version = "(.*)";', "-"),
}


def first(pattern, path):
    found = re.search(pattern, path.read_text(), flags=re.M)
    return found[1] if found else f"no line like {pattern}"


def main(project_dir):
    project = pathlib.Path(project_dir)
    numbers = [int(first(rf"^#define SAMPLER_VERSION_{part} (\d+)", project / "include/sampler/version.h"))
               for part in ("MAJOR", "MINOR", "PATCH", "CANDIDATE")]
    version, candidate = "{}.{}.{}".format(*numbers), numbers[3]
    problems = []
    for path, (pattern, separator) in PLACES.items():
        expected = version + (f"{separator}rc{candidate}" if candidate else "")
        found = first(pattern, project / path)
        if found != expected:
            problems.append(f"{path} says {found}, and include/sampler/version.h {expected}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
