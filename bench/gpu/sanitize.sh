#!/usr/bin/env bash
# The cut grid of gpu_check under compute-sanitizer: accesses out of bounds, races in shared memory,
# barriers that not every thread reaches. Status 1 when one of its tools finds something.
#
#   ./sanitize.sh [OPTION...]      options of gpu_check, such as --filter top_p
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1

if ! command -v compute-sanitizer >/dev/null; then
  echo "skipped: compute-sanitizer is not installed"
  exit 0
fi
status=0
for tool in memcheck racecheck synccheck; do
  echo "---- $tool"
  compute-sanitizer --tool "$tool" --error-exitcode 1 ./gpu_check --check-only --small "$@" ||
    { echo "$tool: failed"; status=1; }
done
exit "$status"
