#!/usr/bin/env bash
# The Go binding against an installed library. Nothing is written outside the build folder, and the
# network is not used.
#
#   go.sh build PREFIX BINDING WORK_DIR              compiles the tests into WORK_DIR
#   go.sh run PREFIX BINDING WORK_DIR NAME           runs one of them, or one example
#   go.sh device PREFIX BINDING WORK_DIR LIBRARY NAME    a test on the fake device of this library
#   go.sh vet PREFIX BINDING WORK_DIR                go vet and gofmt
#   go.sh race PREFIX BINDING WORK_DIR               all tests under the race detector
#   go.sh recorded_logits PREFIX BINDING WORK_DIR PROJECT_DIR
#   go.sh examples PREFIX BINDING WORK_DIR           the programs of examples that print what their tests say
#   go.sh document PREFIX BINDING WORK_DIR PROJECT_DIR      the first program of docs/go.md prints what
#                                                    README.md says, and other files have the rest
set -euo pipefail

check=$1
prefix=$2
binding=$3
work_dir=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
  echo "skipped: $1"
  exit 77
}

# at_least VERSION OTHER: whether OTHER is that version or a newer one.
at_least() {
  printf '%s\n' "$@" | sort --check --version-sort 2>/dev/null
}

need_go() {
  local version
  export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod GOCACHE=$work_dir/cache GOPATH=$work_dir/path
  export XDG_CONFIG_HOME=$work_dir/config
  command -v go >/dev/null || skip "go is not installed"
  version=$(go version | sed 's/.*go version go\([0-9.]*\).*/\1/')
  at_least 1.19 "$version" || skip "go 1.19 is needed, here is $version"
  command -v pkg-config >/dev/null || skip "pkg-config is not installed"
}

find_library() {
  LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libsampler.so)")
  export LD_LIBRARY_PATH PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
}

# Generated code, too.
vet() {
  local unformatted
  go vet ./...
  unformatted=$(gofmt -l .)
  [ -z "$unformatted" ] || { echo "gofmt changes $unformatted"; exit 1; }
}

# -v shows the names of what is skipped. A name that no test has is an error.
run_test() {
  local log=$work_dir/$1.log status=0
  "$work_dir/sampler.test" -test.v -test.run "^$1\$" >"$log" || status=$?
  grep -v '^=== RUN\|^    --- PASS' "$log"
  if grep -q "^--- SKIP: $1 " "$log"; then
    skip "$(sed -n 's/^ *[a-z_]*\.go:[0-9]*: //p' "$log")"
  fi
  grep -q "^--- PASS: $1 " "$log" || status=1
  exit "$status"
}

need_go
find_library
mkdir -p "$work_dir"
cd "$binding"
case $check in
  build) go test -c -o "$work_dir/sampler.test" . ;;
  run) run_test "$5" ;;
  device)
    export SAMPLER_TEST_DEVICE_REACHES_HOST=1
    LD_LIBRARY_PATH=$(dirname "$5") run_test "$6"
    ;;
  vet) vet ;;
  race) go test -race -short . ;;
  recorded_logits)
    go build -o "$work_dir/recorded_logits" ./examples/recorded_logits
    recorded=$5/examples/recorded_logits
    diff <("$work_dir/recorded_logits" "$recorded/logits.f16") "$recorded/tokens.txt"
    ;;
  examples) go test -count=1 ./examples/... ;; # a cached result would not know the library
  document)
    # shellcheck disable=SC2016  # Marks of code, not commands.
    sed -n '/^```go$/,/^```$/{/^```$/q;/^```/!p}' "$5/docs/go.md" >"$work_dir/document.go"
    [ -z "$(gofmt -l "$work_dir/document.go")" ]
    diff <(go run "$work_dir/document.go") <(grep '^step [0-9]' "$5/README.md")
    python3 "$here/check_excerpts.py" "$5/docs/go.md" go "$work_dir/document.go" \
      example_test.go examples/*/main.go
    ;;
  *) echo "unknown check: $check"; exit 2 ;;
esac
