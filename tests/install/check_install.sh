#!/usr/bin/env bash
# Builds and runs the examples against an installed copy of the library.
#
#   check_install.sh prefix WORK_DIR BUILD_DIR         installs into WORK_DIR/prefix
#   check_install.sh pkg_config WORK_DIR EXAMPLES      by pkg-config, and dlopen
#   check_install.sh cmake_package WORK_DIR EXAMPLES   by find_package, all examples
#   check_install.sh relocated WORK_DIR EXAMPLES       both ways, after the prefix has moved
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

case $check in
  prefix) install_prefix "$3" ;;
  pkg_config) check_pkg_config "$3" ;;
  cmake_package) check_cmake_package "$3" ;;
  relocated) check_relocated "$3" ;;
  *) echo "unknown check: $check"; exit 2 ;;
esac
