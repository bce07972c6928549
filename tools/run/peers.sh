# ./run peers.

readonly peers=build/peers

# The versions that the presets of src/capi/presets.cpp are of.
readonly peer_python=(torch==2.15.0 transformers==5.23.0 numpy msgspec dill orjson)
readonly peer_vllm=vllm==0.33.0 peer_sglang=sglang==0.5.23
readonly peer_flashinfer=flashinfer-python==0.7.2.post1 peer_llama=llama-cpp-python==0.3.36

# What is imported of vLLM and SGLang; tests/tools/peers/stubs.py stands for the rest.
readonly parts_of_vllm=('vllm/v1/sample/*' vllm/model_executor/layers/utils.py vllm/_custom_ops.py
  vllm/utils/torch_utils.py)
readonly parts_of_sglang=('sglang/srt/sampling/*' sglang/srt/layers/sampler.py)

# download NAME==VERSION FILE_PATTERN [OPTION...]: unless it is there.
download() {
  compgen -G "$peers/download/$2" >/dev/null && return
  "$peers/python/bin/pip" download --no-deps --dest "$peers/download" "${@:3}" "$1"
}

# What tests/verification replays: read by tests/tools/record_engine_verification.py.
readonly verification_parts_of_vllm=('vllm/v1/sample/*' 'vllm/v1/spec_decode/*' vllm/v1/outputs.py
  'vllm/v1/worker/gpu/sample/*' 'vllm/v1/worker/gpu/spec_decode/*' 'vllm/v1/watermarking/prfs/*'
  'vllm/model_executor/warmup/*' vllm/model_executor/layers/utils.py vllm/_custom_ops.py
  vllm/utils/torch_utils.py)
readonly verification_parts_of_sglang=('sglang/kernels/ops/speculative/*'
  'sglang/kernels/jit/include/sgl_kernel/speculative/*')

# torch, with which Triton comes, is gigabytes.
install_record_presets() {
  "$peers/python/bin/python" -W ignore tests/tools/peers/record.py "$peers" tests/presets "$@"
}

# In about ten minutes: Triton's interpreter is slow.
record_verification() {
  local golden=tests/verification/engine_golden.txt
  "$peers/python/bin/python" -W ignore tests/tools/record_engine_verification.py "$peers" \
    >"$golden.partial"
  mv "$golden.partial" "$golden"
}

# The engines to record; verification is what they make of drafts. Without any: all.
peers() {
  mkdir -p "$peers/download"
  [ -d "$peers/python" ] || python3 -m venv "$peers/python"
  "$peers/python/bin/pip" install "${peer_python[@]}"
  download "$peer_vllm" 'vllm-*.whl'
  download "$peer_sglang" 'sglang-*.whl'
  download "$peer_flashinfer" 'flashinfer_python-*.whl'
  download "$peer_llama" 'llama_cpp_python-*.tar.gz' --no-binary :all:
  unzip -oq "$peers"/download/vllm-*.whl "${parts_of_vllm[@]}" -d "$peers/vllm"
  unzip -oq "$peers"/download/sglang-*.whl "${parts_of_sglang[@]}" -d "$peers/sglang"
  unzip -oq "$peers"/download/vllm-*.whl "${verification_parts_of_vllm[@]}" -d "$peers/verification/vllm"
  unzip -oq "$peers"/download/sglang-*.whl "${verification_parts_of_sglang[@]}" \
    -d "$peers/verification/sglang"
  tar -xzf "$peers"/download/llama_cpp_python-*.tar.gz -C "$peers"
}

build_llama() {
  cmake -G Ninja -S "$(echo "$peers"/llama_cpp_python-*/vendor/llama.cpp)" -B "$peers/llama-build" \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF \
    -DLLAMA_CURL=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF
  cmake --build "$peers/llama-build" --target llama
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

# The engines to record; verification is what they make of drafts. Without any: all.
peers() {
  need_for_build
  need unzip command -v unzip
  need python3-venv python3 -c 'import ensurepip'
  install_missing
  heading "installing engines into $peers"
  logged peers-install install_peers
  local -a engines=()
  local wants_verification=no engine
  for engine in "$@"; do
    if [ "$engine" = verification ]; then wants_verification=yes; else engines+=("$engine"); fi
  done
  if [ "$#" -eq 0 ] || [ "${#engines[@]}" -gt 0 ]; then
    heading "building llama.cpp"
    logged peers-llama build_llama
    heading "recording rows"
    record_presets "${engines[@]}"
  fi
  if [ "$#" -eq 0 ] || [ "$wants_verification" = yes ]; then
    heading "recording verified drafts"
    record_verification
  fi
  heading "done: build and run presets_test and verification_engine_golden_test"
}
