#!/usr/bin/env bash
# Checks the Rust crates against an installed copy of the library.
#
#   check_rust.sh CHECK PROJECT_DIR PREFIX WORK_DIR [LIBRARY]
#
# CHECK is one of the functions check_* below. Exit status 77: skipped, for the reason printed. LIBRARY
# has the fake CUDA runtime.
set -euo pipefail

check=$1
project_dir=$2
prefix=$3
work_dir=$4
fake_cuda=${5:-}

skip() {
  echo "skipped: $*"
  exit 77
}

# require COMMAND...: it runs.
require() {
  "$@" >/dev/null 2>&1 || skip "$* does not run"
}

require_rust() {
  local version
  require cargo --version
  version=$(rustc --version | cut -d ' ' -f 2)
  printf '1.63.0\n%s\n' "${version%%-*}" | sort --check --version-sort 2>/dev/null ||
    skip "rustc is $version; 1.63 is needed"
}

# crates COMMAND [ARGUMENT...]: cargo in the workspace, without network.
crates() {
  (cd "$project_dir/bindings/rust" && cargo "$1" --offline --locked "${@:2}")
}

# expect_output TEXT COMMAND...
expect_output() {
  diff <(printf '%s\n' "$1") <("${@:2}")
}

# Unit and integration tests; the recorded calls of tests/vectors are among them.
check_test() {
  crates test --lib --tests
}

# Those that the documentation shows.
check_doc() {
  crates test --doc
  RUSTDOCFLAGS='-D warnings' crates doc --no-deps
}

check_clippy() {
  require cargo clippy --version
  crates clippy --all-targets -- -D warnings
  crates clippy --all-targets --features sampler/dlopen -- -D warnings
}

check_format() {
  require cargo fmt --version
  (cd "$project_dir/bindings/rust" && cargo fmt --check)
}

# Builds without the library, and says what is wrong where there is none to run with.
check_dlopen() {
  local message
  export PKG_CONFIG=/nonexistent
  crates test --features sampler/dlopen
  crates build --features sampler/dlopen --example readme
  if ! grep -q libsampler <<<"$(ldconfig -p 2>/dev/null)"; then
    message=$(LD_LIBRARY_PATH='' "$CARGO_TARGET_DIR/debug/examples/readme" 2>&1) && return 1
    grep -q 'status: System.*libsampler.so.1' <<<"$message"
  fi
}

# How the build finds the library, or says that it does not.
check_link() {
  local message
  export CARGO_TARGET_DIR=$work_dir/link
  if message=$(PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR='' crates build 2>&1); then
    echo "built without a library"
    return 1
  fi
  grep -q 'libsampler was not found: pkg-config says: ' <<<"$message"
  message=$(PKG_CONFIG=/nonexistent crates build 2>&1) && return 1
  grep -q 'libsampler was not found: /nonexistent does not run: ' <<<"$message"
  SAMPLER_LIB_DIR=$library_dir PKG_CONFIG=/nonexistent crates build --example readme
  "$CARGO_TARGET_DIR/debug/examples/readme" >/dev/null
}

# The recorded calls on a device.
check_device() {
  LD_LIBRARY_PATH=$(dirname "$fake_cuda")
  SAMPLER_TEST_DEVICE_REACHES_HOST=1 crates test --test vectors
}

# What the comment at the start of an example says that it prints.
text_of_example() {
  # shellcheck disable=SC2016
  sed -n '/^\/\/! ```text$/,/^\/\/! ```$/{/```/d;s/^\/\/! //;p}' \
    "$project_dir/bindings/rust/sampler/examples/$1.rs"
}

check_examples() {
  local examples=$CARGO_TARGET_DIR/release/examples recorded=$project_dir/examples/recorded_logits
  local example
  crates build --release --examples
  # shellcheck disable=SC2016  # The text between ```text and ```.
  expect_output "$(sed -n '/^```text$/,/^```$/{/^```/d;p}' "$project_dir/README.md")" \
    "$examples/readme"
  expect_output "$(cat "$recorded/tokens.txt")" "$examples/recorded_logits" "$recorded/logits.f16"
  for example in batch session; do
    expect_output "$(text_of_example $example)" "$examples/$example"
  done
  "$examples/overhead" | python3 -c 'import json; assert json.loads(input())["ns_per_call"] > 0'
}

# The crates as they are published, and a program that needs nothing but them and a C++ compiler, in a
# folder of its own.
check_package() {
  local folder crate message
  require c++ --version
  printf '1.90.0\n%s\n' "$(cargo --version | cut -d ' ' -f 2)" |
    sort --check --version-sort 2>/dev/null ||
    skip "cargo 1.90 is needed to package crates that depend on each other without a registry"
  export CARGO_TARGET_DIR=$work_dir/package
  rm -rf "$CARGO_HOME/registry" # where an earlier package of the same version would stand for this one
  crates package --workspace --allow-dirty
  folder=$(mktemp -d)
  # shellcheck disable=SC2064  # The folder of now.
  trap "rm -rf '$folder'" EXIT
  for crate in "$CARGO_TARGET_DIR"/package/*.crate; do
    tar --extract --gzip --file "$crate" --directory "$folder"
  done
  mkdir -p "$folder/program/src"
  cp "$folder"/sampler-[0-9]*/examples/readme.rs "$folder/program/src/main.rs"
  cat >"$folder/program/Cargo.toml" <<MANIFEST
[package]
name = "program"
version = "1.0.0"
edition = "2021"

[dependencies]
sampler = { path = "$(echo "$folder"/sampler-[0-9]*)", features = ["bundled"] }

[patch.crates-io]
sampler-sys = { path = "$(echo "$folder"/sampler-sys-[0-9]*)" }
MANIFEST
  export CARGO_TARGET_DIR=$folder/target PKG_CONFIG=/nonexistent LD_LIBRARY_PATH=
  (cd "$folder/program" && cargo build --offline --release)
  # shellcheck disable=SC2016  # The text between ```text and ```.
  expect_output "$(sed -n '/^```text$/,/^```$/{/^```/d;p}' "$project_dir/README.md")" \
    "$CARGO_TARGET_DIR/release/program"
  if message=$(cd "$folder/program" && CXX=/nonexistent cargo build --offline 2>&1); then
    echo "built without a compiler"
    return 1
  fi
  grep -q 'libsampler was not compiled: /nonexistent does not run: ' <<<"$message"
}

check_leak() {
  crates test --release --test leak -- --ignored
}

require_rust
require pkg-config --version
library_dir=$(dirname "$(find "$prefix" -name libsampler.so)")
export PKG_CONFIG_PATH=$library_dir/pkgconfig LD_LIBRARY_PATH=$library_dir
export CARGO_HOME=$work_dir/cargo-home CARGO_TARGET_DIR=$work_dir/target
"check_$check"
