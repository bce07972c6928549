#!/usr/bin/env bash
# Checks of the parts of a release, the Debian packages apart, that ./run release puts into a folder.
#
#   check_release.sh CHECK FOLDER
#
#   binaries   README.md's program with the library's archives, of aarch64 by qemu
#   crates     cargo publishes them, but for the upload
#   go         the module as it is at the release's tag, by a program elsewhere
#   maven      the bundle for Maven Central, and README.md's program with its jar
#   conda      rattler-build builds the recipe and runs its tests
#   homebrew   the formula's steps and its test
#   vcpkg      vcpkg, whose folder VCPKG_ROOT names, builds the port, shared and static
set -euo pipefail
folder=$(cd "$2" && pwd)
readonly folder
work=$(mktemp --directory)
readonly work expected=$work/expected
trap 'rm -rf "$work"' EXIT
tests=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR
source "$tests/use_parts.sh"

skip() {
  echo "skipped: $*"
  exit 77
}

# want COMMAND...: skips where one is not there.
want() {
  local command
  for command in "$@"; do
    command -v "$command" >/dev/null || skip "there is no $command"
  done
}

# Those that there are archives for.
machines() {
  find "$folder" -name "libsampler-$version-linux-*.tar.gz" | sed 's/.*-linux-//; s/\.tar\.gz$//'
}

check_binaries() {
  local machine
  want pkg-config python3
  for machine in $(machines); do
    [ "$machine" = "$(uname -m)" ] || want "$machine-linux-gnu-gcc" "qemu-$machine"
    use_binaries "$machine"
  done
}

check_crates() {
  want cargo git
  rehearse_publishing
}

check_go() {
  want go git pkg-config unzip
  unpack_binaries "$(uname -m)"
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib use_go_module
}

check_maven() {
  local jar machine
  want java python3 unzip
  quietly python3 "$tests/maven_bundle_test.py" "$folder/sampler-$version-maven.zip" \
    io.github.libsampler sampler "$version"
  unpack_maven_bundle
  cp "$source/bindings/java/examples/Readme.java" "$work"
  jar=$work/repository/io/github/libsampler/sampler/$version/sampler-$version.jar
  cmp "$jar" "$folder/sampler-$version"-linux-*.jar
  for machine in $(machines); do
    unpack_binaries "$machine"
    unzip -q -j -d "$prefix/native" "$jar" "io/github/libsampler/native/linux-$machine/*"
    cmp "$prefix/native/libsampler.so.1" "$prefix/lib/libsampler.so.1"
    quietly python3 "$source/tests/abi/check_library.py" versions "$prefix/native/libsampler_java.so" "$oldest_glibc"
  done
  expect_tokens "jar of the bundle for Maven Central" java -cp "$jar" "$work/Readme.java"
}

check_conda() {
  want python3 ninja
  python3 -m venv "$work/venv" >/dev/null || skip "there is no venv"
  "$work/venv/bin/pip" install --quiet py-rattler-build==0.73.0 || skip "PyPI has no rattler-build, or cannot be reached"
  mkdir "$work/conda"
  quietly "$work/venv/bin/python" "$tests/conda_recipe.py" "$folder/recipes/conda/recipe.yaml" \
    "$folder/libsampler-$version.tar.gz" "$work/conda"
  echo "ok: conda's recipe"
}

check_homebrew() {
  want ruby ninja pkgconf
  mkdir "$work/homebrew"
  quietly ruby -w "$tests/homebrew_formula.rb" "$folder/recipes/homebrew/libsampler.rb" \
    "$folder/libsampler-$version.tar.gz" "$work/homebrew"
  echo "ok: Homebrew's formula"
}

# vcpkg finds the archive among what it has downloaded, and looks at its hash.
check_vcpkg() {
  local machine triplet linkage
  [ -x "${VCPKG_ROOT:-}/vcpkg" ] || skip "VCPKG_ROOT names no folder of vcpkg"
  machine=$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
  mkdir -p "$work/downloads" "$work/triplets"
  cp "$folder/libsampler-$version.tar.gz" "$work/downloads"
  for linkage in dynamic static; do
    triplet=$machine-linux-$linkage-of-release
    printf 'set(VCPKG_TARGET_ARCHITECTURE %s)\nset(VCPKG_CRT_LINKAGE dynamic)\nset(VCPKG_LIBRARY_LINKAGE %s)
set(VCPKG_CMAKE_SYSTEM_NAME Linux)\nset(VCPKG_BUILD_TYPE release)\n' "$machine" $linkage >"$work/triplets/$triplet.cmake"
    VCPKG_DOWNLOADS=$work/downloads VCPKG_FORCE_SYSTEM_BINARIES=1 quietly "$VCPKG_ROOT/vcpkg" install libsampler \
      --triplet "$triplet" --overlay-triplets "$work/triplets" --overlay-ports "$folder/recipes/vcpkg" \
      --x-install-root "$work/$linkage" --x-buildtrees-root "$work/buildtrees" --x-packages-root "$work/packages" \
      --binarysource clear --classic --enforce-port-checks
    mkdir "$work/by_$linkage"
    cp "$work/main.c" "$work/by_$linkage"
    { printf 'cmake_minimum_required(VERSION 3.25)\nproject(uses_port LANGUAGES C)\nadd_executable(main main.c)\n'
      sed -n 's/^  //p' "$folder/recipes/vcpkg/usage"; } >"$work/by_$linkage/CMakeLists.txt"
    quietly cmake -S "$work/by_$linkage" -B "$work/by_$linkage/build" \
      "-DCMAKE_TOOLCHAIN_FILE=$VCPKG_ROOT/scripts/buildsystems/vcpkg.cmake" "-DVCPKG_INSTALLED_DIR=$work/$linkage" \
      "-DVCPKG_TARGET_TRIPLET=$triplet" -DVCPKG_MANIFEST_MODE=OFF
    quietly cmake --build "$work/by_$linkage/build"
    expect_tokens "vcpkg's port, $linkage" "$work/by_$linkage/build/main"
  done
}

unpack_source
case $1 in
  binaries | conda | crates | go | homebrew | maven | vcpkg) "check_$1" ;;
  *) fail "unknown check: $1" ;;
esac
