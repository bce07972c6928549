# ./run gpu.

# SAMPLER_GPU_ARCHITECTURES: what the device code is compiled for, as CMake writes architectures.
gpu() {
  local folder=build/gpu max_kib=$((48 * 1024)) commit kib
  need_for_build
  need_for_gpu_check
  install_missing
  set_up_cmake
  set_up_cuda
  has_nvcc || fail "no nvcc 12.4 or newer on the PATH, in CUDACXX or in /usr/local/cuda;" \
    "./run --cuda gpu takes one from its Python packages"
  commit=$(git describe --always --abbrev=12 --dirty 2>/dev/null || echo unknown)
  build gpu-check -DCMAKE_CUDA_ARCHITECTURES="${SAMPLER_GPU_ARCHITECTURES:-90-real}" \
    -DSAMPLER_GPU_CHECK_COMMIT="$commit"
  rm -rf "$folder"
  logged install-gpu-check cmake --install build/gpu-check --component gpu_check \
    --prefix "$folder" --strip
  kib=$(du -sk "$folder" | cut -f 1)
  [ "$kib" -le "$max_kib" ] || fail "$folder has $kib KiB; $max_kib are allowed"
  heading "checking what needs no GPU"
  logged gpu-check "$folder/gpu_check" --check-only --cpu-only
  tail -n 2 "$logs/gpu-check.log"
  heading "$folder is ready, $kib KiB of commit $commit: see its README.txt"
}
