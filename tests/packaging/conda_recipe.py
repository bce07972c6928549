"""Builds the package of packaging/conda by rattler-build, and runs the recipe's own tests.

usage: conda_recipe.py RECIPE SOURCE_ARCHIVE WORK_DIR

RECIPE has the archive's hash. WORK_DIR is empty. Packages that the recipe asks for stand for the system's compilers and
programs, so that no channel is needed; what they contain in conda-forge is not looked at.
"""

import pathlib
import re
import sys
from platform import machine

import rattler_build

# What of the system each package of a channel stands for: variables that its activation sets.
STANDS_FOR = {
    "sysroot": {},
    "gcc": {"CC": "cc"},
    "gxx": {"CXX": "c++"},
    "cmake": {},
    "ninja": {},
    "pkg-config": {},
}
# As conda-forge pins them.
VARIANTS = {"c_stdlib": ["sysroot"], "c_compiler": ["gcc"], "cxx_compiler": ["gxx"]}
LEAST_VERSION = "3.25"  # of each, as of CMake




def build(recipe, channel, test="skip"):
    """The path of the package, which is in the channel then."""
    tools = rattler_build.ToolConfiguration(test_strategy=test, use_bz2=False, use_sharded=False, use_zstd=False)
    result, = recipe.run_build(variant_config=rattler_build.VariantConfig(VARIANTS), channels=[channel.as_uri()],
                               output_dir=channel, tool_config=tools)
    print("\n".join(result.log))
    return result.packages[0]


def add_stand_ins(channel):
    platform = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[machine()]
    for name, variables in STANDS_FOR.items():
        if name in ("sysroot", "gcc", "gxx"):
            name = f"{name}_{platform}"
        script = ["mkdir -p $PREFIX/etc/conda/activate.d"]
        script += [f"echo 'export {variable}={value}' >$PREFIX/etc/conda/activate.d/{name}.sh"
                   for variable, value in variables.items()]
        build(rattler_build.Stage0Recipe.from_dict({
            "package": {"name": name, "version": LEAST_VERSION},
            "build": {"script": script},
        }), channel)


def main(recipe_file, archive, work_dir):
    work = pathlib.Path(work_dir).resolve()
    channel = work / "channel"
    channel.mkdir()
    add_stand_ins(channel)
    # The archive is here and not at its address.
    text, num_addresses = re.subn(r"^  url: .*", f"  url: {pathlib.Path(archive).resolve().as_uri()}",
                                  pathlib.Path(recipe_file).read_text(), flags=re.M)
    assert num_addresses == 1
    recipe = work / "recipe.yaml"
    recipe.write_text(text)
    package = rattler_build.Package.from_file(
        build(rattler_build.Stage0Recipe.from_file(recipe), channel, test="native"))
    print(f"{package.filename}: {package.license}, {package.test_count} tests")
    return 0 if package.test_count else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
