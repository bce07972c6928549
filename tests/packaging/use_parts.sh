# How packages and releases are used: shared by scripts that set
#   $work      a folder to work in
#   $expected  a file: what README.md's program prints
# shellcheck shell=bash disable=SC2154

readonly oldest_glibc=2.28 # see src/glibc

# What starts programs of another machine.
emulator=()

fail() {
  echo "FAILED: $*"
  exit 1
}

# block LANGUAGE FILE: the first one of Markdown.
block() {
  awk -v start='```'"$1" '/^```/ { if (inside) exit; inside = ($0 == start); next } inside' "$2"
}

# quietly COMMAND...: its output is shown where it fails.
quietly() {
  "$@" >"$work/quiet.log" 2>&1 || { tail -n 40 "$work/quiet.log"; fail "$*"; }
}

# expect_tokens NAME COMMAND...: it prints what README.md says.
expect_tokens() {
  diff "$expected" <("${@:2}") || fail "$1 prints other tokens"
  echo "ok: $1"
}

# by_cmake NAME SOURCE FOLDER [OPTION...]: programs linked by the CMake package, shared and static.
by_cmake() {
  mkdir "$3"
  cp "$2" "$3/main.c"
  cat >"$3/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(uses_package LANGUAGES C)
find_package(sampler REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE sampler::sampler)
add_executable(static main.c)
target_link_libraries(static PRIVATE sampler::sampler_static)
TEXT
  quietly cmake -S "$3" -B "$3/build" "${@:4}"
  quietly cmake --build "$3/build"
  expect_tokens "$1, by CMake" "${emulator[@]}" "$3/build/shared"
  expect_tokens "$1, by CMake, static" "${emulator[@]}" "$3/build/static"
}

# by_rust SOURCE FOLDER REGISTRY DEPENDENCY: a program with the crate, of a folder that cargo takes as a registry.
by_rust() {
  mkdir -p "$2/src" "$2/.cargo"
  cp "$1" "$2/src/main.rs"
  cat >"$2/.cargo/config.toml" <<TEXT
[source.crates-io]
replace-with = "folder"
[source.folder]
directory = "$3"
TEXT
  cat >"$2/Cargo.toml" <<TEXT
[package]
name = "uses-package"
version = "1.0.0"
edition = "2021"
[dependencies]
sampler = $4
TEXT
  (cd "$2" && CARGO_HOME=$2/cargo cargo build --quiet --offline --release)
}
