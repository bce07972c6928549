#!/usr/bin/env bash
# usage: sanitize_test.sh SANITIZE_SH
#
# Runs bench/gpu/sanitize.sh without compute-sanitizer, and with one that is played.
set -euo pipefail

script=$1
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "$*"
  exit 1
}

# expect STATUS OUTPUT: of the script in the work folder, called with --filter x.
expect() {
  local status=0 output
  output=$(PATH=$work/bin "$work/sanitize.sh" --filter x 2>&1) || status=$?
  [ "$status" = "$1" ] || fail "status $status instead of $1: $output"
  [ "$output" = "$2" ] || fail "printed:" "$output" "instead of:" "$2"
}

mkdir "$work/bin"
for program in bash dirname env; do
  ln -s "$(command -v "$program")" "$work/bin/$program"
done
cp "$script" "$work/sanitize.sh"
expect 0 "skipped: compute-sanitizer is not installed"

cat >"$work/bin/compute-sanitizer" <<'END'
#!/usr/bin/env bash
echo "$*"
[ "$2" != "${FAILING_TOOL:-}" ]
END
chmod +x "$work/bin/compute-sanitizer"
call() {
  printf -- '---- %s\n--tool %s --error-exitcode 1 ./gpu_check --check-only --small --filter x' "$1" "$1"
}
expect 0 "$(call memcheck; echo; call racecheck; echo; call synccheck)"
export FAILING_TOOL=racecheck
expect 1 "$(call memcheck; echo; call racecheck; echo; echo racecheck: failed; call synccheck)"

if command -v shellcheck >/dev/null; then
  shellcheck "$script" "${BASH_SOURCE[0]}"
fi
