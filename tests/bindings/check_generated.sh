#!/usr/bin/env bash
# check_generated.sh PROJECT_DIR WORK_DIR: makes the bindings' generated code anew in WORK_DIR and
# compares it with what is checked in. Skipped where SWIG is of another version: it writes other code.
set -euo pipefail

bindings=$1/bindings
work_dir=$2
wanted=$(sed -n 's/^ \* Version //p' "$bindings/java/native/sampler_wrap.c")
found=$(swig -version 2>/dev/null | sed -n 's/^SWIG Version //p' || true)
if [ "$found" != "$wanted" ]; then
  echo "skipped: the generated code is SWIG $wanted's, here is ${found:-none}"
  exit 77
fi

if ! command -v gofmt >/dev/null; then
  echo "skipped: there is no gofmt, which the generated code goes through"
  exit 77
fi

rm -rf "$work_dir"
mkdir -p "$work_dir/bindings"
bash "$bindings/swig/regenerate.sh" "$work_dir/bindings"

cd "$work_dir/bindings"
status=0
while read -r file; do
  if ! cmp "$file" "$bindings/$file"; then
    status=1
  fi
done < <(find . -type f)
# What nothing generates any more.
while read -r file; do
  if [ ! -e "$file" ]; then
    echo "$file is checked in but not generated"
    status=1
  fi
done < <(cd "$bindings" && find java/src/main/generated -type f)
[ "$status" = 0 ] || echo "run bindings/swig/regenerate.sh"
exit "$status"
