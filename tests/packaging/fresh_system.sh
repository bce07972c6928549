# What the scripts that run on a fresh system share. They set $expected, a file: what README.md's program prints.
# shellcheck shell=bash disable=SC2154

fail() {
  echo "FAILED: $*"
  exit 1
}

install() {
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --allow-downgrades \
    -o Dpkg::Use-Pty=0 "$@" >/root/apt.log 2>&1 || { tail -n 40 /root/apt.log; fail "apt-get install $*"; }
}

# block LANGUAGE FILE: the first one of Markdown.
block() {
  awk -v start='```'"$1" '/^```/ { if (inside) exit; inside = ($0 == start); next } inside' "$2"
}

# expect_tokens NAME COMMAND...: it prints what README.md says.
expect_tokens() {
  diff "$expected" <("${@:2}") || fail "$1 prints other tokens"
  echo "ok: $1"
}

# by_cmake SOURCE FOLDER: programs linked by the CMake package that the system has, shared and static.
by_cmake() {
  mkdir "$2"
  cp "$1" "$2/main.c"
  cat >"$2/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(uses_package LANGUAGES C)
find_package(sampler REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE sampler::sampler)
add_executable(static main.c)
target_link_libraries(static PRIVATE sampler::sampler_static)
TEXT
  { cmake -S "$2" -B "$2/build" && cmake --build "$2/build"; } >"$2.log" 2>&1 || { cat "$2.log"; fail "CMake"; }
  expect_tokens "C, by CMake" "$2/build/shared"
  expect_tokens "C, by CMake, static" "$2/build/static"
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
