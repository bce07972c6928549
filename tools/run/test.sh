# ./run test, fuzz and coverage.

readonly results=build/results

# stage PRESET [LAUNCHER...]: builds, tests, and leaves the outcome in build/results. A stage that fails
# does not stop the ones after it.
stage() {
  if build_stage "$1"; then
    test_stage "$@"
  fi
}

# took PRESET WORK SECONDS_AT_START
took() {
  echo "$2 $((SECONDS - $3))" >>"$results/$1.seconds"
}

# What ninja notes of a build stays in the results: tools/test_summary.py reports what took long.
build_stage() {
  local log=build/$1/.ninja_log start=$SECONDS before
  before=$(mktemp)
  sort "$log" >"$before" 2>/dev/null || true
  if ! build "$1" -DSAMPLER_BUILD_TESTS=ON -DSAMPLER_TEST_DAY="$(python3 tools/share_of_the_day.py)" ${SAMPLER_TEST_ALL:+-DSAMPLER_TEST_LONG=ON}; then
    echo "the build failed, see $logs" >"$results/$1.failed"
    return 1
  fi
  sort "$log" | comm -13 "$before" - >"$results/$1.ninja"
  rm "$before"
  took "$1" building "$start"
}

# test_stage PRESET [LAUNCHER...]
test_stage() {
  local preset=$1 status=0 start=$SECONDS xml
  xml=$PWD/$results/$preset.xml
  heading "testing $preset"
  logged "test-$preset" "${@:2}" ctest --preset "$preset" --parallel "$jobs" \
    --output-junit "$xml" --test-output-size-passed 10000000 --test-output-size-failed 10000000 ||
    status=$?
  took "$preset" testing "$start"
  grep 'tests passed' "$logs/test-$preset.log" | sed 's/^/             /' || true
  if ! grep -qs '^[[:space:]]*tests="[1-9]' "$xml"; then
    rm -f "$xml"
    echo "ctest ended with status $status, see $logs/test-$preset.log" >"$results/$preset.failed"
  fi
}

# What a user installs, without debug information.
tell_size() {
  local library=build/release/src/libsampler.so stripped=build/libsampler-stripped.so
  if [ -e "$library" ] && strip -o "$stripped" "$library"; then
    heading "libsampler.so: $(($(stat -c %s "$stripped") / 1024)) KiB"
    rm "$stripped"
  fi
}

skip_stage() {
  heading "skipping $1: $2"
  echo "$2" >"$results/$1.skipped"
}

# Thread- and MemorySanitizer of older compilers do not start where the kernel randomises addresses over more
# bits than they know. Containers may forbid to turn that off.
without_address_randomisation() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then
    setarch "$(uname -m)" -R "$@"
  else
    "$@"
  fi
}

need_for_all_suites() {
  need_for_build
  need_for_examples
  need_for_server
  want_mpi
  need_for_tests
  need_for_bindings
  need_for_bench
  need_for_fuzzing
}

install_for_stages() {
  install_missing
  need_clang_runtime
  install_missing
  set_up_cmake
  set_up_cuda
  set_up_disassembler
}

test_quick() {
  need_for_build
  need_for_examples
  need_for_tests
  install_missing
  set_up_cmake
  stage quick
}

# What finds a fault of today's change. docs/testing.md has a table of what is left to test_all.
test_most() {
  need_for_all_suites
  install_for_stages
  stage test
  has_nvcc || skip_stage cuda "there is no nvcc 12.4 or newer: the library is for the CPU alone"
  stage asan
}

# Everything, whatever it takes; device code for all architectures.
test_all() {
  export SAMPLER_TEST_ALL=1
  need_for_all_suites
  need_for_reference
  want_for_packages
  want debootstrap command -v debootstrap
  if [ "$(uname -m)" = x86_64 ]; then
    need_for_aarch64
  fi
  install_for_stages
  stage all
  has_nvcc || skip_stage cuda "there is no nvcc 12.4 or newer: the library is for the CPU alone"
  stage asan
  stage tsan without_address_randomisation
  stage msan without_address_randomisation
  if [ "$(uname -m)" = x86_64 ]; then
    stage aarch64
  else
    skip_stage aarch64 "cross-compiled on x86-64 only, this is $(uname -m)"
  fi
  packages_stage
  clone_stage
  tell_size
}

# one_test NAME COMMAND...: a stage that is one test.
one_test() {
  local start=$SECONDS
  heading "testing $1"
  if logged "test-$1" "${@:2}"; then
    echo >"$results/$1.passed"
  else
    echo "see $logs/test-$1.log" >"$results/$1.failed"
  fi
  took "$1" testing "$start"
}

# The commands of ./run that others do not run, where nothing was built before.
fresh_clone() {
  local clone=$PWD/build/clone
  rm -rf "$clone" && git clone --quiet . "$clone" || return
  for arguments in demo 'demo go' 'demo java' 'demo python' 'demo rust' explain gpu 'test --quick' 'fuzz 6'; do
    echo "==== ./run $arguments"
    # shellcheck disable=SC2086  # A list of words.
    env --unset=SAMPLER_TEST_ALL "$clone/run" $arguments || return
  done
  rm -rf "$clone"
}

clone_stage() {
  if [ -e .git ] && command -v git >/dev/null; then
    one_test clone fresh_clone
  else
    skip_stage clone "this is no clone by git"
  fi
}

# The packages that tests have built, on a fresh system, which root alone can make.
packages_stage() {
  local folder=build/all/tests/packaging/packages
  if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    skip_stage packages "a fresh system is made by root with debootstrap"
  elif ! compgen -G "$folder/*.deb" >/dev/null; then
    skip_stage packages "none were built"
  else
    one_test packages tools/fresh --packages "$folder"
  fi
}

run_tests() {
  local tests=test_most commit=''
  case ${1:-} in
    '') ;;
    --all) tests=test_all ;;
    --quick) tests=test_quick ;;
    *) fail "unknown option: $1" "$(help)" ;;
  esac
  # Random inputs, and the deliberate faults that are tried, are those of the day.
  export SAMPLER_TEST_SEED=${SAMPLER_TEST_SEED:-$(date +%Y%m%d)}
  heading "random inputs of seed $SAMPLER_TEST_SEED: SAMPLER_TEST_SEED=$SAMPLER_TEST_SEED repeats them"
  rm -rf "$results"
  mkdir -p "$results"
  # ./run release takes this as evidence of what is committed.
  if [ "${1:-}" = --all ]; then
    rm -f "$tested"
    if [ -e .git ] && command -v git >/dev/null && is_clean; then
      commit=$(git rev-parse HEAD)
      heading "commit $commit"
    fi
  fi
  # The last line counts tests even if setting up fails.
  trap 'echo "0 passed, 1 failed, 0 skipped"' EXIT
  $tests
  trap - EXIT
  heading "done"
  python3 tools/test_summary.py "$results" || return
  if [ -n "$commit" ] && is_clean && [ "$(git rev-parse HEAD)" = "$commit" ]; then
    echo "$commit" >"$tested"
  fi
}

fuzz() {
  local seconds=${1:-600} target
  [[ $seconds =~ ^[0-9]+$ ]] || fail "not a number of seconds: $seconds"
  [ "$seconds" -ge 3 ] || fail "too few seconds for three fuzzers: $seconds"
  need_for_build
  need_for_fuzzing
  install_missing
  need_clang_runtime
  install_missing
  set_up_cmake
  build asan -DSAMPLER_BUILD_TESTS=ON -- fuzz_sampler fuzz_ngram fuzz_state
  heading "fuzzing for $seconds seconds"
  for target in fuzz_sampler fuzz_ngram fuzz_state; do
    mkdir -p "build/fuzz-corpus/$target"
    "build/asan/tests/fuzz/$target" -max_total_time=$((seconds / 3)) -jobs="$jobs" \
      -workers="$jobs" -artifact_prefix=build/ "build/fuzz-corpus/$target"
  done
}

# The suites of each part of the library; the others look at what the same code computes. What bounds
# the work of optimised code is left out.
coverage() {
  local programs=(capi_test capi_threads_test capi_fork_test capi_allocation_test capi_dlopen_test
    capi_exception_memory_test ngram_test ngram_threads_test ngram_complexity_test decoding_test
    state_test simd_test complexity_test library_simt_test decoding_calls_simt_test)
  need_for_build
  need_for_tests
  install_missing
  set_up_cmake
  build coverage -DSAMPLER_BUILD_TESTS=ON -- "${programs[@]}"
  heading "running the tests"
  find build/coverage -name '*.gcda' -delete
  logged test-coverage env GTEST_FILTER='-*Complexity.*:*CraftedRows*' ctest --test-dir build/coverage --parallel "$jobs" \
    --tests-regex "^($(IFS='|'; echo "${programs[*]}"))(\\.[0-9]+)?\$"
  heading "lines and branches of src/ that ran"
  python3 tools/coverage.py build/coverage src --least 97 --list
}
