"""Recipes say the same, name options that there are, and are filled in whole.

usage: recipes_test.py PROJECT_DIR
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Recipes that take the source archive of a release: patterns of what they say.
RECIPES = {
    "conda/recipe.yaml": {"url": r"^  url: (.*)", "hash": r'^  sha256: "(.*)"', "license": r"^  license: (\S+)",
                          "description": r"^  summary: (.*)"},
    "homebrew/libsampler.rb": {"url": r'^  url "(.*)"', "hash": r'^  sha256 "(.*)"', "license": r'^  license "(.*)"',
                               "description": r'^  desc "(.*)"'},
    "vcpkg/portfile.cmake": {"url": r'^    URLS "(.*)"', "hash": r"^    SHA512 (\w+)"},
    "vcpkg/vcpkg.json": {"license": r'^  "license": "(.*)"', "description": r'^  "description": "(.*)"'},
}
OTHERS_WITH_OPTIONS = ("build_binaries", "debian/rules", "nix/default.nix", "rpm/libsampler.spec")
ADDRESS = "https://github.com/libsampler/libsampler/releases/download/v{0}/libsampler-{0}.tar.gz"


def in_project(pattern, path):
    return re.search(pattern, path.read_text(), flags=re.M)[1]


def options_of(project):
    files = [project / "CMakeLists.txt", project / "bindings/java/CMakeLists.txt", *(project / "cmake").glob("*.cmake"),
             *project.glob("bench/*/CMakeLists.txt")]
    pattern = r"\boption\((SAMPLER_\w+)|\bset\((SAMPLER_\w+)[^)]*\bCACHE\b"
    return {"".join(names) for path in files for names in re.findall(pattern, path.read_text())}


def problems_of_options(project, recipes):
    known = options_of(project)
    for path in recipes:
        for name in re.findall(r"-D(SAMPLER_\w+)=", path.read_text()):
            if name not in known:
                yield f"{path} names {name}, which is no option"


def problems_of_recipe(text, patterns, expected):
    for what, pattern in patterns.items():
        found = re.search(pattern, text, flags=re.M)
        found = re.sub(r"\$\{\{ version \}\}|\$\{VERSION\}", expected["version"], found[1]) if found else None
        if found not in expected[what]:
            yield f"{what} is {found}, not {' or '.join(expected[what])}"


def main(project_dir):
    project = pathlib.Path(project_dir)
    packaging = project / "packaging"
    version = subprocess.run([packaging / "version"], check=True, capture_output=True, text=True).stdout.strip()
    problems = list(problems_of_options(project, [packaging / name for name in (*RECIPES, *OTHERS_WITH_OPTIONS)]))
    json.loads((packaging / "vcpkg/vcpkg.json").read_text())
    if shutil.which("ruby"):
        subprocess.run(["ruby", "-wc", packaging / "homebrew/libsampler.rb"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as directory:
        archive = pathlib.Path(directory, "archive.tar.gz")
        archive.write_bytes(b"an archive")
        subprocess.run([packaging / "fill_recipes", archive, directory], check=True)
        expected = {
            "version": version,
            "url": {ADDRESS.format(version)},
            "hash": {hashlib.new(kind, archive.read_bytes()).hexdigest() for kind in ("sha256", "sha512")},
            "license": {in_project(r'^license = "(.*)"', project / "bindings/rust/sampler/Cargo.toml")},
            "description": {in_project(r'^  DESCRIPTION "(.*)"', project / "CMakeLists.txt")},
        }
        for name, patterns in RECIPES.items():
            text = pathlib.Path(directory, name).read_text()
            problems += [f"{name}: {problem}" for problem in problems_of_recipe(text, patterns, expected)]
            if re.search(r"@SHA\d+@", text):
                problems.append(f"{name}: a hash is not filled in")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
