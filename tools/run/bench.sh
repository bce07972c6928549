# ./run bench.

# FILE is relative to the project's folder. LLAMA_LIB names a libllama.so to compare with.
bench() {
  local options=() json='' command=${LLAMA_LIB:+LLAMA_LIB=libllama.so }'./run bench' commit
  while [ $# -gt 0 ]; do
    case $1 in
      --json | --filter) [ $# -ge 2 ] || fail "$1 needs a value" "$(help)" ;;
      *) fail "unknown option: $1" "$(help)" ;;
    esac
    [ "$1" = --filter ] || json=$2
    options+=("$1" "$2")
    command+=" $1 ${2@Q}"
    shift 2
  done
  need_for_build
  need_for_bench
  install_missing
  set_up_cmake
  commit=$(git describe --always --abbrev=12 --dirty 2>/dev/null || echo unknown)
  build release -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_BUILD_BENCH=ON -DSAMPLER_CUDA=OFF \
    -DSAMPLER_BENCH_COMMIT="$commit" -- cpu_bench
  [ -z "$json" ] || mkdir -p "$(dirname "$json")"
  heading "measuring, up to 5 minutes"
  build/release/bench/cpu/cpu_bench "${options[@]}" --command "$command"
  if [ -n "$json" ] && python3 -c 'import torch' 2>/dev/null; then
    heading "measuring torch"
    python3 bench/cpu/torch_peer.py "$json"
  fi
  heading "done"
}
