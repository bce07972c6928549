# ./run peers.

readonly peers=build/peers
readonly llama_engine=$peers/llama-engine

# The versions that the presets of src/capi/presets.cpp are of.
readonly peer_python=(torch==2.15.0 transformers==5.23.0 jax==0.10.2 numpy msgspec dill orjson)
readonly peer_vllm=vllm==0.33.0 peer_sglang=sglang==0.5.23
readonly peer_flashinfer=flashinfer-python==0.7.2.post1
readonly peer_grammars=(llguidance==1.9.1 apache-tvm-ffi==0.1.15.post2) peer_xgrammar=xgrammar==0.2.8
readonly peer_exllamav3=exllamav3==1.6.5 peer_tokenspeed=tokenspeed==0.1.1
readonly peer_tokenspeed_kernel=tokenspeed-kernel==0.1.4
readonly peer_llama=llama-cpp-python==0.3.36 peer_gguf=gguf==0.19.0

# What is imported of the engines; tests/tools/peers/stubs.py stands for the rest.
readonly parts_of_vllm=('vllm/v1/sample/*' vllm/model_executor/layers/utils.py vllm/_custom_ops.py
  vllm/utils/torch_utils.py)
readonly parts_of_vllm_v2=('vllm/v1/sample/*' 'vllm/v1/worker/gpu/sample/*'
  vllm/v1/worker/gpu/{buffer_utils,input_batch,states}.py vllm/v1/outputs.py
  'vllm/model_executor/warmup/*' vllm/utils/{math_utils,torch_utils}.py vllm/envs.py
  'vllm/v1/worker/gpu/spec_decode/rejection_sampler*.py' vllm/v1/spec_decode/{fly,utils}.py)
readonly parts_of_sglang=('sglang/srt/sampling/*' sglang/srt/layers/sampler.py)
readonly parts_of_exllamav3='exllamav3/generator/sampler/*' parts_of_tokenspeed='tokenspeed/runtime/sampling/*'
readonly parts_of_tokenspeed_kernel=(tokenspeed_kernel/ops/sampling/triton/{generic,tree_verify,verify}.py)

# What tests/verification replays: read by tests/tools/record_engine_verification.py.
readonly verification_parts_of_vllm=('vllm/v1/sample/*' 'vllm/v1/spec_decode/*' vllm/v1/outputs.py
  'vllm/v1/worker/gpu/sample/*' 'vllm/v1/worker/gpu/spec_decode/*' 'vllm/v1/watermarking/prfs/*'
  'vllm/model_executor/warmup/*' vllm/model_executor/layers/utils.py vllm/_custom_ops.py
  vllm/utils/torch_utils.py)
readonly verification_parts_of_sglang=('sglang/kernels/ops/speculative/*'
  'sglang/kernels/jit/include/sgl_kernel/speculative/*')

# download NAME==VERSION FILE_PATTERN [OPTION...]: unless it is there.
download() {
  compgen -G "$peers/download/$2" >/dev/null && return
  "$peers/python/bin/pip" download --no-deps --dest "$peers/download" "${@:3}" "$1"
}

install_python() {
  mkdir -p "$peers/download"
  [ -d "$peers/python" ] || python3 -m venv "$peers/python"
  "$peers/python/bin/pip" install "$@"
}

# torch, with which Triton comes, is gigabytes.
install_peers() {
  install_python "${peer_python[@]}" "${peer_grammars[@]}" &&
    download "$peer_vllm" 'vllm-*.whl' &&
    download "$peer_sglang" 'sglang-*.whl' &&
    download "$peer_flashinfer" 'flashinfer_python-*.whl' &&
    download "$peer_xgrammar" 'xgrammar-*.whl' &&
    unzip -oq "$peers"/download/xgrammar-*.whl -d "$peers/xgrammar" &&
    unzip -oq "$peers"/download/vllm-*.whl "${parts_of_vllm[@]}" -d "$peers/vllm" &&
    unzip -oq "$peers"/download/vllm-*.whl "${parts_of_vllm_v2[@]}" -d "$peers/vllm_v2" &&
    unzip -oq "$peers"/download/sglang-*.whl "${parts_of_sglang[@]}" -d "$peers/sglang" &&
    unzip -oq "$peers"/download/vllm-*.whl "${verification_parts_of_vllm[@]}" \
      -d "$peers/verification/vllm" &&
    unzip -oq "$peers"/download/sglang-*.whl "${verification_parts_of_sglang[@]}" \
      -d "$peers/verification/sglang"
}

llama_sources() {
  echo "$PWD/$peers"/llama_cpp_python-*/vendor/llama.cpp
}

build_llama() {
  install_python "$peer_gguf" &&
    download "$peer_llama" 'llama_cpp_python-*.tar.gz' --no-binary llama-cpp-python || return
  compgen -G "$peers/llama_cpp_python-*/" >/dev/null ||
    tar -xzf "$peers"/download/llama_cpp_python-*.tar.gz -C "$peers" || return
  cmake -G Ninja -S "$(llama_sources)" -B "$peers/llama-build" \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF &&
    cmake --build "$peers/llama-build" --target llama --parallel "$jobs"
}

# What runs the adapter, and a small model, also with as many tokens as a large one has.
build_llama_engine() {
  local to_gguf=("$peers/python/bin/python" tests/tools/peers/llama/to_gguf.py examples/tiny_gpt2/target)
  cmake -G Ninja -S tests/tools/peers/llama -B "$llama_engine" -DCMAKE_BUILD_TYPE=Release \
    -DLLAMA="$(llama_sources)" -DLLAMA_BUILD="$PWD/$peers/llama-build" \
    -DSAMPLER="$PWD/build/release/src/libsampler.so" &&
    cmake --build "$llama_engine" --parallel "$jobs" &&
    "${to_gguf[@]}" "$llama_engine/small.gguf" &&
    "${to_gguf[@]}" "$llama_engine/wide.gguf" 128256
}

run_in_llama() {
  need_for_examples
  need_for_tests
  install_missing
  set_up_cmake
  build release -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_CUDA=OFF -- sampler
  heading "building what runs the adapter in llama.cpp"
  logged peers-llama-engine build_llama_engine
  heading "the adapter's test, in llama.cpp"
  diff <("$llama_engine/interface") <("$llama_engine/fake_interface") ||
    fail "tests/integrations/fake_llama/llama.h is not what llama.cpp declares"
  logged peers-llama-test "$llama_engine/llama_cpp_test"
  heading "texts, distributions and times, in two minutes"
  "$llama_engine/engine" build/release/src/libsampler.so "$llama_engine/small.gguf" \
    "$llama_engine/wide.gguf" examples/tiny_gpt2/reference.json
}

record_presets() {
  "$peers/python/bin/python" -W ignore tests/tools/peers/record.py "$peers" tests/presets "$@"
}

# In about ten minutes: Triton's interpreter is slow.
record_verification() {
  local golden=tests/verification/engine_golden.txt
  "$peers/python/bin/python" -W ignore tests/tools/record_engine_verification.py "$peers" \
    >"$golden.partial"
  mv "$golden.partial" "$golden"
}

# torch, and the Python package as pip builds it.
install_package() {
  need_for_build
  need python3-dev has_python_headers
  need python3-venv python3 -c 'import ensurepip'
  need unzip command -v unzip
  install_missing
  heading "installing torch and the package into $peers"
  logged peers-install install_python "${peer_python[@]}" "${peer_grammars[@]}" "$peer_xgrammar" pytest
  logged peers-package install_python --force-reinstall --no-deps -Ccmake.define.SAMPLER_CUDA=OFF \
    ./bindings/python
}

# The package's tests that need torch, jax, transformers, or what is in the engines' wheels. Triton
# interprets TokenSpeed's kernels and vLLM's, but nothing else.
run_python_tests() {
  install_package
  logged peers-vllm download "$peer_vllm" 'vllm-*.whl'
  logged peers-sglang download "$peer_sglang" 'sglang-*.whl'
  logged peers-exllamav3 download "$peer_exllamav3" 'exllamav3-*.whl'
  logged peers-tokenspeed download "$peer_tokenspeed" 'tokenspeed-*.whl'
  logged peers-tokenspeed-kernel download "$peer_tokenspeed_kernel" 'tokenspeed_kernel-*.whl'
  unzip -oq "$peers"/download/vllm-*.whl "${parts_of_vllm_v2[@]}" -d "$peers/vllm_v2"
  unzip -oq "$peers"/download/sglang-*.whl "${parts_of_sglang[@]}" -d "$peers/sglang"
  unzip -oq "$peers"/download/exllamav3-*.whl "$parts_of_exllamav3" -d "$peers/exllamav3"
  unzip -oq "$peers"/download/tokenspeed-*.whl "$parts_of_tokenspeed" -d "$peers/tokenspeed"
  unzip -oq "$peers"/download/tokenspeed_kernel-*.whl "${parts_of_tokenspeed_kernel[@]}" \
    -d "$peers/tokenspeed/kernel"
  heading "the package's tests"
  local -a test=(env -C bindings/python/tests -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1
    SAMPLER_VLLM="$PWD/$peers/vllm_v2" SAMPLER_SGLANG="$PWD/$peers/sglang"
    SAMPLER_EXLLAMAV3="$PWD/$peers/exllamav3" SAMPLER_TOKENSPEED="$PWD/$peers/tokenspeed")
  "${test[@]}" "$PWD/$peers/python/bin/python" -m unittest \
    test_torch test_jax test_flashinfer test_verify test_grammars test_transformers test_vllm test_sglang \
    test_exllamav3 &&
    "${test[@]}" TRITON_INTERPRET=1 "$PWD/$peers/python/bin/python" -m unittest test_tokenspeed test_vllm_sampler
}

# FlashInfer's own tests, of a folder of its sources, with libsampler.flashinfer.
run_flashinfer_tests() {
  install_package
  "$peers/python/bin/python" tests/tools/peers/flashinfer_suite.py "$1" "$peers/flashinfer-tests" "${@:2}"
}

# The engines to record; verification is what they make of drafts, llama what llama.cpp makes of the
# adapter in integrations/llama_cpp. Without any: all.
peers() {
  local -a engines=()
  local records=no verification=no llama=no engine
  if [ "${1:-}" = python ]; then
    run_python_tests
    return
  elif [ "${1:-}" = flashinfer ] && [ -d "${2:-}" ]; then
    run_flashinfer_tests "${@:2}"
    return
  fi
  for engine in "${@:-all}"; do
    case $engine in
      all) records=yes verification=yes llama=yes ;;
      verification) verification=yes ;;
      llama) llama=yes ;;
      *) records=yes engines+=("$engine") ;;
    esac
  done
  need_for_build
  need unzip command -v unzip
  need python3-venv python3 -c 'import ensurepip'
  install_missing
  if [ "$records$verification" != nono ]; then
    heading "installing engines into $peers"
    logged peers-install install_peers
  fi
  if [ "$records$llama" != nono ]; then
    heading "building llama.cpp, in about ten minutes where it is not yet"
    logged peers-llama build_llama
  fi
  if [ "$records" = yes ]; then
    heading "recording rows"
    record_presets "${engines[@]}"
  fi
  if [ "$verification" = yes ]; then
    heading "recording verified drafts"
    record_verification
  fi
  if [ "$llama" = yes ]; then
    run_in_llama
  fi
  heading "done; what was recorded is replayed by presets_test and verification_engine_golden_test"
}
