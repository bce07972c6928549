#!/usr/bin/env bash
# What `./run release` refuses: changes that are not committed, a commit that was not tested, tests that fail.
#
#   release_test.sh PROJECT_DIR
set -euo pipefail
project=$1

skip() {
  echo "skipped: $*"
  exit 77
}

git -C "$project" rev-parse --quiet --verify HEAD >/dev/null 2>&1 || skip "this is no clone by git"
command -v cargo >/dev/null || skip "cargo is not installed"
[ "$(uname -m)" != x86_64 ] || command -v aarch64-linux-gnu-g++ >/dev/null ||
  skip "g++-aarch64-linux-gnu is not installed"

work=$(mktemp --directory)
# shellcheck disable=SC2064  # The directory as it is now.
trap "rm -rf '$work'" EXIT
git clone --quiet --shared "$project" "$work/clone"
cd "$work/clone"
git config user.name test
git config user.email test@example.com

# expect_refusal TEXT OPTION...
expect_refusal() {
  local said
  if said=$(./run release --cpu "${@:2}" 2>&1); then
    echo "released, although it was to say: $1"
    exit 1
  fi
  grep -qF -- "$1" <<<"$said" || { echo "$said"; echo "does not say: $1"; exit 1; }
  if compgen -G 'build/libsampler-*' >/dev/null; then
    echo "a release is begun, although: $1"
    exit 1
  fi
}

expect_refusal "does not say that ./run test --all has passed" --tested
echo >>CHANGELOG.md
expect_refusal "these are not committed" --tested
git checkout --quiet CHANGELOG.md
touch new_file
expect_refusal "these are not committed"
rm new_file
echo 'run_tests() { return 1; }' >>tools/run/test.sh
git commit --quiet --all --message "Tests that fail"
expect_refusal "tests fail: nothing is released"
