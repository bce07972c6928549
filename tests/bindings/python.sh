#!/usr/bin/env bash
# The Python package against the library of a build. Nothing is written outside the build folder, and
# neither the network nor any other package is used.
#
#   python.sh run PYTHON PROJECT_DIR WORK_DIR PACKAGE MODULE       runs a file of tests
#   python.sh device PYTHON PROJECT_DIR WORK_DIR PACKAGE MODULE LIBRARY
#                                                         the same on the fake device of this library
#   python.sh current PYTHON PROJECT_DIR WORK_DIR PACKAGE          what generate.py makes is checked in
#   python.sh recorded_logits PYTHON PROJECT_DIR WORK_DIR PACKAGE
#   python.sh document PYTHON PROJECT_DIR WORK_DIR PACKAGE    docs/python.md prints what README.md says
#   python.sh alone PYTHON PROJECT_DIR WORK_DIR PACKAGE CMAKE      alone, as pip builds it, it looks for nvcc
#   python.sh system PYTHON PROJECT_DIR WORK_DIR PACKAGE CMAKE BUILD_DIR    as pip builds it with an installed library
#   python.sh overhead PYTHON PROJECT_DIR WORK_DIR PACKAGE         the program that measures it runs
#
# PACKAGE is the folder that has the package; "": it was not built. Exit status 77: skipped.
set -euo pipefail

check=$1
python=$2
project_dir=$3
work_dir=$4
package=$5
binding=$project_dir/bindings/python

skip() {
  echo "skipped: $1"
  exit 77
}

# Prints what unittest skips, but for packages that are not installed; a module without tests fails.
run_tests() {
  local log=$work_dir/$1.log status=0
  cd "$binding/tests"
  "$python" -W error -m unittest -v "$1" >"$log" 2>&1 || status=$?
  cat "$log"
  grep -q '^Ran [1-9]' "$log" || status=1
  if ! grep -q '\.\.\. \(ok\|FAIL\|ERROR\)$' "$log" && [ "$status" = 0 ]; then
    skip "$(sed -n 's/.*\.\.\. skipped //p' "$log" | sort -u | paste -sd ' ')"
  fi
  exit "$status"
}

export PYTHONPATH=$package PYTHONPYCACHEPREFIX=$work_dir/cache PYTHONNOUSERSITE=1
mkdir -p "$work_dir"
if [ "$check" != current ] && [ -z "$package" ]; then
  skip "there are no headers of Python 3.11 or newer, of which a package python3-dev has them"
fi
case $check in
  run) run_tests "$6" ;;
  device)
    export SAMPLER_TEST_DEVICE_REACHES_HOST=1
    LD_LIBRARY_PATH=$(dirname "$7") run_tests "$6"
    ;;
  current) "$python" "$binding/generate.py" check "$project_dir" ;;
  recorded_logits)
    recorded=$project_dir/examples/recorded_logits
    diff <("$python" "$binding/examples/recorded_logits.py" "$recorded/logits.f16") \
      "$recorded/tokens.txt"
    ;;
  document)
    # shellcheck disable=SC2016  # Marks of code, not commands.
    sed -n '/^```python$/,/^```$/{/^```/!p}' "$project_dir/docs/python.md" >"$work_dir/document.py"
    diff <("$python" -W error "$work_dir/document.py") <(grep '^step [0-9]' "$project_dir/README.md")
    ;;
  alone)
    rm -rf "$work_dir/alone"
    CUDACXX=$work_dir/no/nvcc "$6" -S "$binding" -B "$work_dir/alone" "-DPython3_EXECUTABLE=$python" | tee "$work_dir/alone.log"
    grep -q 'CUDA: no nvcc of .*, the library is for the CPU alone' "$work_dir/alone.log"
    ;;
  system)
    rm -rf "$work_dir/prefix" "$work_dir/system"
    for component in runtime development; do
      "$6" --install "$7" --prefix "$work_dir/prefix" --component $component
    done
    "$6" -S "$binding" -B "$work_dir/system" "-DPython3_EXECUTABLE=$python" -DLIBSAMPLER_SYSTEM=ON \
      "-DCMAKE_PREFIX_PATH=$work_dir/prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    mapfile -t targets < <(sed -n 's/^build\.targets = \[\(.*\)\].*/\1/p' "$binding/pyproject.toml" | tr -d '" ' | tr , '\n')
    [ "${#targets[@]}" -gt 0 ] # none would build all
    "$6" --build "$work_dir/system" --target "${targets[@]}"
    library=$(find "$work_dir/prefix" -name libsampler.so)
    LD_LIBRARY_PATH=$(dirname "$library") PYTHONPATH=$work_dir/system/package "$python" -W error -c "import libsampler
with open('/proc/self/maps', encoding='utf-8') as maps:
    assert '$work_dir/prefix' in maps.read()"
    ;;
  overhead)
    "$python" "$binding/examples/overhead.py" |
      "$python" -c 'import json; assert json.loads(input())["ns_per_call"] > 0'
    ;;
  *) echo "unknown check: $check"; exit 2 ;;
esac
