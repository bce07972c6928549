#!/usr/bin/env bash
# integrations/yzma and integrations/candle against small modules that stand for yzma, purego and candle.
# The network is not used. Exit status 77: skipped, for the reason printed.
#
#   adopters.sh yzma PROJECT_DIR WORK_DIR LIBRARY LIBLLAMA ADAPTER EXPECTED GOCACHE
#   adopters.sh candle PROJECT_DIR WORK_DIR LIBRARY
set -euo pipefail

check=$1
project_dir=$2
work_dir=$3
library=$4

skip() {
  echo "skipped: $1"
  exit 77
}

# need VERSION COMMAND...: the first number with a dot that the command prints is that or newer.
need() {
  local version
  command -v "$2" >/dev/null || skip "$2 is not installed"
  version=$("${@:2}" | grep -o '[0-9]\+\.[0-9.]*[0-9]' | head -n 1)
  printf '%s\n' "$1" "$version" | sort --check --version-sort 2>/dev/null ||
    skip "$2 $1 is needed, here is $version"
}

check_yzma() {
  local unformatted
  need 1.19 go version
  export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=readonly GOWORK=off GOCACHE=$4 GOPATH=$work_dir/path
  export XDG_CONFIG_HOME=$work_dir/config
  export YZMA_LIB=$work_dir/lib EXPECTED=$3 SAMPLER_INCLUDE=$project_dir/include
  mkdir -p "$YZMA_LIB"
  ln -sf "$library" "$YZMA_LIB/libsampler.so.1"
  ln -sf "$1" "$YZMA_LIB/libllama.so"
  ln -sf "$2" "$YZMA_LIB/libsampler_llama.so"
  unformatted=$(gofmt -l "$project_dir/integrations/yzma" "$project_dir/tests/integrations/yzma")
  [ -z "$unformatted" ] || { echo "gofmt changes $unformatted"; exit 1; }
  cd "$project_dir/tests/integrations/yzma"
  go vet . github.com/libsampler/libsampler/integrations/yzma
  go test -count=1 -v . # a cached result would not know the libraries
}

check_candle() {
  need 1.63 rustc --version
  need 1.0 cargo --version
  SAMPLER_LIB_DIR=$(dirname "$library")
  export SAMPLER_LIB_DIR LD_LIBRARY_PATH=$SAMPLER_LIB_DIR
  export CARGO_HOME=$work_dir/cargo-home CARGO_TARGET_DIR=$work_dir/target
  cd "$project_dir/tests/integrations/candle"
  if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --check
    rustfmt --edition 2021 --config-path . --check fake_candle/lib.rs ../../../integrations/candle/src/lib.rs
  fi
  cargo test --offline --locked
}

mkdir -p "$work_dir"
"check_$check" "${@:5}"
