#!/usr/bin/env bash
# Builds and runs the examples against an installed copy of the library.
#
#   check_install.sh prefix WORK_DIR BUILD_DIR         installs into WORK_DIR/prefix
#   check_install.sh pkg_config WORK_DIR EXAMPLES      by pkg-config, and dlopen
#   check_install.sh cmake_package WORK_DIR EXAMPLES   by find_package, all examples
#   check_install.sh relocated WORK_DIR EXAMPLES       both ways, after the prefix has moved
#   check_install.sh static WORK_DIR EXAMPLES          with libsampler.a
#   check_install.sh components WORK_DIR BUILD_DIR SOURCE_DIR    one by one, and taken away again
#   check_install.sh layouts WORK_DIR SOURCE_DIR       what other choices of directories and library make of it
set -euo pipefail

check=$1
work_dir=$2
prefix=$work_dir/prefix

expect_file() {
  [ -e "$1" ] || { echo "not installed: $1"; exit 1; }
}

# library_dir PREFIX: where the library lies; "lib" or a distribution's choice.
library_dir() {
  dirname "$(find "$1" -name libsampler.so)"
}

# build_with_pkg_config PREFIX SOURCE PROGRAM: linked with the library.
build_with_pkg_config() {
  compile_c "$2" "$3" "$(flags_from_pkg_config "$1" --cflags --libs)"
}

# flags_from_pkg_config PREFIX OPTION...
flags_from_pkg_config() {
  PKG_CONFIG_PATH=$(library_dir "$1")/pkgconfig pkg-config "${@:2}" sampler
}

# compile_c SOURCE PROGRAM FLAGS
compile_c() {
  # shellcheck disable=SC2086  # A list of flags.
  cc -std=c99 -Wall -Wextra -pedantic -Werror "$1" -o "$2" $3
}

# build_with_cmake PREFIX EXAMPLES BUILD_DIR [TARGET]
build_with_cmake() {
  cmake -S "$2" -B "$3" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF \
    -DCMAKE_BUILD_TYPE=None
  if ! grep -q "^sampler_DIR:PATH=$1/" "$3/CMakeCache.txt"; then
    echo "CMake found another copy of the library:"
    grep "^sampler_DIR" "$3/CMakeCache.txt"
    exit 1
  fi
  cmake --build "$3" ${4:+--target "$4"}
}

# expect_recorded_tokens PROGRAM EXAMPLES
expect_recorded_tokens() {
  diff <("$1" "$2/recorded_logits/logits.f16") "$2/recorded_logits/tokens.txt"
}

install_prefix() {
  rm -rf "$work_dir"
  cmake --install "$1" --prefix "$prefix"
  expect_file "$prefix/include/sampler/sampler.h"
  expect_file "$(library_dir "$prefix")/libsampler.so.1"
  expect_file "$(find "$prefix" -name LICENSE)"
}

check_pkg_config() {
  local dir
  dir=$(library_dir "$prefix")
  build_with_pkg_config "$prefix" "$1/minimal.c" "$work_dir/minimal"
  LD_LIBRARY_PATH=$dir "$work_dir/minimal"
  build_with_pkg_config "$prefix" "$1/recorded_logits/recorded_logits.c" "$work_dir/recorded_logits"
  LD_LIBRARY_PATH=$dir expect_recorded_tokens "$work_dir/recorded_logits" "$1"
  compile_c "$1/plugin_host.c" "$work_dir/plugin_host" \
    "$(flags_from_pkg_config "$prefix" --cflags) -ldl"
  "$work_dir/plugin_host" "$dir/libsampler.so.1"
}

check_cmake_package() {
  local build_dir=$work_dir/cmake_package dir mode
  dir=$(library_dir "$prefix")
  build_with_cmake "$prefix" "$1" "$build_dir"
  "$build_dir/minimal"
  "$build_dir/score"
  "$build_dir/watermark"
  "$build_dir/diffusion" | tail -n 1 | grep -q ': the quick fox jumps over the dog '
  [ "$("$build_dir/diffusion_session" | grep -c 'the quick fox jumps over the dog[.]$')" = 2 ]
  "$build_dir/session"
  "$build_dir/stages"
  "$build_dir/state"
  "$build_dir/plugin_host" "$dir/libsampler.so.1"
  expect_recorded_tokens "$build_dir/recorded_logits" "$1"
  "$build_dir/engine_json" llama.cpp '{"repeat_penalty": 1.1, "top_k": 40, "dry_multiplier": 0.8}' \
    "$1/recorded_logits/logits.f16" 8
  "$build_dir/explain/sampler-explain" "$1/recorded_logits/logits.f16" --cols 2048 --top 3
  if [ -e "$build_dir/server/sampler-server" ]; then
    "$build_dir/server/sampler-server" --help
  fi
  for mode in autoregressive "speculative --draft $1/tiny_gpt2/draft" ngram; do
    # shellcheck disable=SC2086  # A mode with its options.
    "$build_dir/generate/generate" --model "$1/tiny_gpt2/target" --prompt "Once upon a time" \
      --greedy --length 8 --mode $mode
  done
}

check_relocated() {
  local moved=$work_dir/moved
  rm -rf "$moved" "$work_dir/staging"
  cp -a "$prefix" "$work_dir/staging"
  mv "$work_dir/staging" "$moved"
  if grep -rIl "$work_dir" "$moved"; then
    echo "these files name the place that they were installed to"
    exit 1
  fi
  build_with_pkg_config "$moved" "$1/minimal.c" "$work_dir/minimal_moved"
  LD_LIBRARY_PATH=$(library_dir "$moved") "$work_dir/minimal_moved"
  build_with_cmake "$moved" "$1" "$work_dir/relocated" minimal
  "$work_dir/relocated/minimal"
}

# The names that a program gets from libsampler.a are those that libsampler.so exports.
check_static() {
  local dir names=$1/../src/capi/exported_names.txt
  dir=$(library_dir "$prefix")
  diff <(grep '^[a-z]' "$names" | sort) \
    <(nm --defined-only --extern-only "$dir/libsampler.a" | awk 'NF == 3 { print $3 }' | sort)
  # Beside the shared library.
  expect_file "$dir/libsampler.so"
  compile_c "$1/minimal.c" "$work_dir/minimal_static" \
    "$(PKG_CONFIG_PATH=$dir/pkgconfig pkg-config --cflags --libs sampler-static)"
  if readelf -d "$work_dir/minimal_static" | grep 'NEEDED.*libsampler'; then
    echo "the program needs libsampler.so"
    exit 1
  fi
  "$work_dir/minimal_static"

  mkdir -p "$work_dir/static_source"
  cp "$1/minimal.c" "$work_dir/static_source"
  cat >"$work_dir/static_source/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(uses_static LANGUAGES C)
find_package(sampler REQUIRED)
add_executable(minimal minimal.c)
target_link_libraries(minimal PRIVATE sampler::sampler_static)
END
  build_with_cmake "$prefix" "$work_dir/static_source" "$work_dir/static_build"
  "$work_dir/static_build/minimal"
}

# expect_only DIR REGEX: all files of DIR, and there are some.
expect_only() {
  local others
  others=$(find "$1" ! -type d | grep -v "$2" || true)
  if [ -n "$others" ] || [ -z "$(find "$1" ! -type d)" ]; then
    find "$1" ! -type d
    echo "these are not what is expected in $1: $2"
    exit 1
  fi
}

expect_only_if_any() {
  [ ! -e "$1" ] || expect_only "$@"
}

expect_no_files() {
  if find "$1" ! -type d | grep .; then
    echo "these are left after uninstalling"
    exit 1
  fi
}

# uninstall_parts BUILD_DIR SOURCE_DIR DESTDIR COMPONENT...: as the target uninstall does it, but not of the prefix that
# other checks use.
uninstall_parts() {
  local part
  mkdir -p "$work_dir/manifests"
  for part in "${@:4}"; do
    mv "$1/install_manifest_$part.txt" "$work_dir/manifests"
  done
  DESTDIR=$3 cmake -D BINARY_DIR="$work_dir/manifests" -P "$2/cmake/uninstall.cmake"
}

check_components() {
  local parts=$work_dir/parts part
  rm -rf "$parts"
  # What is staged is taken away from there, not from the prefix.
  DESTDIR=$parts/stage cmake --install "$1" --prefix "$parts/runtime" --component runtime
  uninstall_parts "$1" "$2" "$parts/stage" runtime
  expect_no_files "$parts"
  cmake --install "$1" --prefix "$parts/runtime" --component runtime
  cmake --install "$1" --prefix "$parts/development" --component development
  # Where they are built; documentation: tests/docs.
  for part in tools java jni; do
    cmake --install "$1" --prefix "$parts/$part" --component $part
  done
  expect_only "$parts/runtime" '/libsampler\.so\.[0-9.]*$'
  expect_only "$parts/development" '\.h$\|/libsampler\.\(so\|a\)$\|\.pc$\|\.cmake$\|/LICENSE$'
  expect_only_if_any "$parts/tools" '/bin/sampler-[a-z]*$'
  expect_only_if_any "$parts/java" '/share/java/sampler\.jar$'
  expect_only_if_any "$parts/jni" '/libsampler_java\.so$'
  uninstall_parts "$1" "$2" "" runtime development tools java jni
  expect_no_files "$parts"
}

# configure DIR OPTION...
configure_layout() {
  rm -rf "$1"
  cmake -S "$source_dir" -B "$1" -DCMAKE_BUILD_TYPE=None -DSAMPLER_CUDA=OFF -DSAMPLER_BUILD_TESTS=OFF \
    -DSAMPLER_BUILD_EXAMPLES=OFF "${@:2}" >"$1.log"
}

# expect_line FILE LINE
expect_line() {
  grep -qxF -- "$2" "$1" || { cat "$1"; echo "$1 has no line $2"; exit 1; }
}

# As Nix has it: the library in one place, its headers in another, both named by absolute paths, and then what finds
# them moved to the headers.
check_absolute() {
  local build=$work_dir/absolute elsewhere out dev pc
  elsewhere=$(mktemp --directory) # CMake takes no headers installed below the sources, where builds may be
  # shellcheck disable=SC2064  # The directory as it is now.
  trap "rm -rf '$elsewhere'" EXIT
  out=$elsewhere/out
  dev=$elsewhere/dev
  configure_layout "$build" -DCMAKE_INSTALL_PREFIX="$out" -DCMAKE_INSTALL_LIBDIR="$out/lib" \
    -DCMAKE_INSTALL_INCLUDEDIR="$dev/include" -DCMAKE_INSTALL_BINDIR="$out/bin" -DSAMPLER_BUILD_EXAMPLES=ON
  grep -qF "{DESTDIR}$out/bin/sampler-generate\"" "$build/cmake_install.cmake"
  grep -qF "\"$out/lib/libsampler.a\"" "$build/sampler-config.cmake"
  cp -a "$(library_dir "$prefix")"/libsampler.so* "$build/src" # as if it had been built there
  cmake --install "$build"
  mkdir "$dev/lib"
  mv "$out/lib/cmake" "$out/lib/pkgconfig" "$dev/lib"
  pc=$dev/lib/pkgconfig/sampler.pc
  expect_line "$pc" "prefix=$out"
  expect_line "$pc" "libdir=$out/lib"
  expect_line "$pc" "includedir=$dev/include"
  compile_c "$1/minimal.c" "$work_dir/minimal_absolute" \
    "$(PKG_CONFIG_PATH=$dev/lib/pkgconfig pkg-config --cflags --libs sampler)"
  LD_LIBRARY_PATH=$out/lib "$work_dir/minimal_absolute"
  build_with_cmake "$dev" "$1" "$work_dir/absolute_user" minimal
  "$work_dir/absolute_user/minimal"
}

# Programs of the build find the library there, whatever the folder is called.
check_comma() {
  local build="$work_dir/a name, with a comma"
  configure_layout "$build" -G Ninja -DSAMPLER_BUILD_EXAMPLES=ON
  cp -a "$(library_dir "$prefix")"/libsampler.so* "$build/src" # as if it had been built there
  cmake --build "$build" --target examples/CMakeFiles/minimal.dir/minimal.c.o
  (cd "$build" && sh -c "$(ninja -t commands -s examples/minimal)")
  "$build/examples/minimal"
}

# A project that has the library as a part gets it for the CPU, whether nvcc is there or not.
check_subproject() {
  local build=$work_dir/subproject/build
  rm -rf "$work_dir/subproject"
  mkdir -p "$work_dir/subproject"
  cp "$source_dir/examples/minimal.c" "$work_dir/subproject"
  cat >"$work_dir/subproject/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(has_sampler LANGUAGES C CXX)
include(FetchContent)
$1
add_executable(minimal minimal.c)
target_link_libraries(minimal PRIVATE sampler::sampler)
END
  cmake -S "$work_dir/subproject" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None >"$build.log"
  grep -qx 'SAMPLER_CUDA:STRING=OFF' "$build/CMakeCache.txt"
  if ninja -C "$build" -t targets all | grep -E '^(sampler|_deps/[^/]*)/(tests|examples)/'; then
    echo "a part has tests or examples"
    exit 1
  fi
  ninja -C "$build" CMakeFiles/minimal.dir/minimal.c.o >"$build.log"
  cp -a "$(library_dir "$prefix")"/libsampler.so* "$(dirname "$(find "$build" -path '*/src/CMakeFiles' | head -n 1)")"
  (cd "$build" && sh -c "$(ninja -t commands -s minimal)")
  "$build/minimal"
}

# A candidate is older than its release.
check_version() {
  local version=$1 full
  full=$(sed -n 's/^Version: //p' "$work_dir/multiarch/sampler.pc")
  printf 'Name: asks\nDescription: asks\nVersion: 1\nRequires: sampler >= %s\n' "$version" >"$work_dir/multiarch/asks.pc"
  if [ "$full" = "$version" ]; then
    PKG_CONFIG_PATH=$work_dir/multiarch pkg-config --exists asks
    return
  fi
  expect_line "$work_dir/multiarch/sampler-config-version.cmake" "# This is ${full/\~/-}, which is older than $version."
  cat >"$work_dir/multiarch/version.cmake" <<'END'
include(${DIR}/sampler-config-version.cmake)
if(PACKAGE_VERSION_COMPATIBLE)
  message(FATAL_ERROR "a candidate passes for ${PACKAGE_FIND_VERSION}")
endif()
END
  cmake -DDIR="$work_dir/multiarch" -DPACKAGE_FIND_VERSION="$version" -P "$work_dir/multiarch/version.cmake"
  # pkg-config before pkgconf knows no ~.
  if PKG_CONFIG_PATH=$work_dir/multiarch pkg-config --exists asks && pkgconf --version >/dev/null 2>&1; then
    echo "$full passes for $version"
    exit 1
  fi
}

check_layouts() {
  local source_dir=$1 pc
  check_absolute "$1/examples"
  check_comma
  check_subproject "add_subdirectory($source_dir sampler)"
  check_subproject "FetchContent_Declare(sampler SOURCE_DIR $source_dir)
FetchContent_MakeAvailable(sampler)"

  configure_layout "$work_dir/multiarch" -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu
  pc=$work_dir/multiarch/sampler.pc
  expect_line "$pc" 'prefix=${pcfiledir}/../../..'
  expect_line "$pc" 'Libs: -L${libdir} -lsampler'
  check_version "$(sed -nE 's/^#define SAMPLER_VERSION_(MAJOR|MINOR|PATCH) +([0-9]+).*/\2/p' "$1/include/sampler/version.h" | paste -sd .)"

  configure_layout "$work_dir/static_only" -DBUILD_SHARED_LIBS=OFF
  pc=$work_dir/static_only/sampler.pc
  expect_line "$pc" 'Libs: -L${libdir} -lsampler -lstdc++ -lm -lpthread'
  if grep -q 'libsampler\.so' "$work_dir/static_only/cmake_install.cmake"; then
    echo "libsampler.so is installed, too"
    exit 1
  fi
  grep -q 'libsampler\.a' "$work_dir/static_only/cmake_install.cmake"
}

case $check in
  prefix) install_prefix "$3" ;;
  pkg_config) check_pkg_config "$3" ;;
  cmake_package) check_cmake_package "$3" ;;
  relocated) check_relocated "$3" ;;
  static) check_static "$3" ;;
  components) check_components "$3" "$4" ;;
  layouts) check_layouts "$3" ;;
  *) echo "unknown check: $check"; exit 2 ;;
esac
