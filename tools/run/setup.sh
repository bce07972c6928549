# Packages and compilers that a command needs, installed where they are missing, and builds.

missing=()
wanted=()

# need PACKAGE PROBE...: the probe is a command that succeeds where the package is not needed.
need() {
  "${@:2}" >/dev/null 2>&1 || missing+=("$1")
}

# want PACKAGE PROBE...: the same for a package that is done without where it cannot be installed.
want() {
  "${@:2}" >/dev/null 2>&1 || wanted+=("$1")
}

# has_header NAME [COMPILER_OPTION...]
has_header() {
  echo "#include <$1>" | c++ -E "${@:2}" -x c++ - -o /dev/null
}

has_jdk() {
  at_least 17 "$(javac -version 2>&1 | sed -n 's/^javac //p')"
}

has_python_headers() {
  python3 -c 'import pathlib, sysconfig
assert pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists()'
}

need_for_build() {
  need g++ command -v c++
  need cmake command -v cmake
  need ninja-build command -v ninja
}

need_for_examples() {
  need nlohmann-json3-dev has_header nlohmann/json.hpp
  need libcli11-dev has_header CLI/CLI.hpp
  need libpcre2-dev has_header pcre2.h -DPCRE2_CODE_UNIT_WIDTH=8
  need pkg-config command -v pkg-config
}

need_for_tests() {
  need libgtest-dev has_header gtest/gtest.h
  need libboost-context-dev has_header boost/context/fiber.hpp
  need python3 command -v python3
  want abigail-tools command -v abidiff
}

# Shards over ranks are tested in one process without it.
want_mpi() {
  want libopenmpi-dev command -v mpicxx
  want openmpi-bin command -v mpirun
}

# examples/server is not built without the first, has no chats without the second, and no models with a SentencePiece
# tokenizer without the third.
need_for_server() {
  want libcpp-httplib-dev pkg-config --exists cpp-httplib
  want python3-jinja2 python3 -I -c 'import jinja2'
  want libsentencepiece-dev has_header sentencepiece_trainer.h
}

# The reference is not looked at without them.
need_for_reference() {
  want doxygen command -v doxygen
  want mandoc command -v mandoc
  want help2man command -v help2man
}

need_for_bench() {
  need libbenchmark-dev has_header benchmark/benchmark.h
  need nlohmann-json3-dev has_header nlohmann/json.hpp
  need libcli11-dev has_header CLI/CLI.hpp
}

need_for_gpu_check() {
  need nlohmann-json3-dev has_header nlohmann/json.hpp
  need libcli11-dev has_header CLI/CLI.hpp
  need libgtest-dev has_header gtest/gtest.h
}

need_for_bindings() {
  need pkg-config command -v pkg-config
  want golang-go command -v go
  want python3-dev has_python_headers
  want swig command -v swig
  want openjdk-17-jdk-headless has_jdk
  want junit5 test -e /usr/share/java/junit-platform-console-standalone.jar
  want libgoogle-gson-java test -e /usr/share/java/gson.jar
  want rustc command -v rustc
  want cargo command -v cargo
  want rust-clippy cargo clippy --version
  want rustfmt cargo fmt --version
}

# What tests/packaging is skipped without.
want_for_packages() {
  [ ! -e .git ] || want git command -v git
  want build-essential dpkg-query --show build-essential
  want debhelper command -v dh
  want doxygen command -v doxygen
  want lintian command -v lintian
  want fakeroot command -v fakeroot
  want default-jdk-headless dpkg-query --show default-jdk-headless
  want rpm command -v rpmspec
}

need_for_fuzzing() {
  need clang command -v clang++
}

need_for_aarch64() {
  need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
  need qemu-user command -v qemu-aarch64
  need googletest test -d /usr/src/googletest
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}

install_missing() {
  if [ ${#missing[@]} != 0 ]; then
    command -v apt-get >/dev/null || fail "no apt-get to install what is missing: ${missing[*]}"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
      fail "neither root nor sudo to install what is missing: ${missing[*]}"
    heading "installing ${missing[*]}"
    logged apt-update as_root apt-get update
    logged apt-install apt_install "${missing[@]}"
    hash -r
    missing=()
  fi
  install_wanted
}

# One by one: a package that a system does not have keeps no other from being installed.
install_wanted() {
  local package
  mkdir -p "$logs"
  for package in "${wanted[@]}"; do
    heading "installing $package"
    { apt-cache show "$package" || as_root apt-get update; } >"$logs/apt-$package.log" 2>&1 || true
    apt_install "$package" >>"$logs/apt-$package.log" 2>&1 </dev/null ||
      heading "doing without $package, see $logs/apt-$package.log"
  done
  hash -r
  wanted=()
}

# Debian packages clang's runtime libraries apart from it, named by its version; before version 14
# they were part of libclang-common.
clang_runtime_works() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o build/clang-probe
}

need_clang_runtime() {
  local major
  major=$(clang++ -dumpversion | cut -d . -f 1)
  mkdir -p build
  if apt-cache show "libclang-rt-$major-dev" >/dev/null 2>&1; then
    need "libclang-rt-$major-dev" clang_runtime_works
  else
    need "libclang-common-$major-dev" clang_runtime_works
  fi
}

# at_least VERSION OTHER: whether OTHER is that version or a newer one.
at_least() {
  printf '%s\n' "$@" | sort --check --version-sort 2>/dev/null
}

# Where the build looks for it too.
has_nvcc() {
  local version
  version=$(PATH=$PATH:/usr/local/cuda/bin "${CUDACXX:-nvcc}" --version 2>/dev/null |
    sed -n 's/.*release \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && at_least 12.4 "$version"
}

# The CUDA compiler as Python packages: --cuda asks for it.
set_up_cuda() {
  local venv=build/cuda-toolkit version=13.0 root
  if [ "$wants_cuda" = no ] || has_nvcc; then
    return
  fi
  [ "$(uname -m)" = x86_64 ] || [ "$(uname -m)" = aarch64 ] || fail "no CUDA compiler for $(uname -m)"
  if ! compgen -G "$venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc" >/dev/null; then
    need python3-venv python3 -c 'import ensurepip'
    install_missing
    heading "installing CUDA $version from PyPI into $venv"
    rm -rf "$venv"
    logged cuda-venv python3 -m venv "$venv"
    logged cuda-pip "$venv/bin/pip" install "nvidia-cuda-nvcc==$version.*" \
      "nvidia-nvvm==$version.*" "nvidia-cuda-crt==$version.*" "nvidia-cuda-runtime==$version.*" \
      "nvidia-cuda-cccl==$version.*"
  fi
  root=$(echo "$PWD/$venv"/lib/python3*/site-packages/nvidia/cu13)
  # Names that CMake looks for, which the packages leave out.
  ln -sfn lib "$root/lib64"
  ln -sf libcudart.so.13 "$root/lib/libcudart.so"
  export CUDACXX=$root/bin/nvcc
  has_nvcc || fail "the CUDA compiler of $venv does not run"
}

# The programs that disassemble device code, with which a test counts instructions: NVIDIA's Python packages
# where the toolkit came without them, of any version from the compiler's on.
set_up_disassembler() {
  local venv=build/cuda-disassembler
  if ! has_nvcc || (PATH=$PATH:/usr/local/cuda/bin && command -v cuobjdump && command -v nvdisasm) >/dev/null; then
    return
  fi
  if ! compgen -G "$venv/lib/python3*/site-packages/nvidia/*/bin/nvdisasm" >/dev/null; then
    need python3-venv python3 -c 'import ensurepip'
    install_missing
    heading "installing cuobjdump and nvdisasm from PyPI into $venv"
    rm -rf "$venv"
    if ! { logged cuda-disassembler-venv python3 -m venv "$venv" &&
      logged cuda-disassembler-pip "$venv/bin/pip" install 'nvidia-cuda-cuobjdump==13.*' \
        'nvidia-cuda-nvdisasm==13.*'; }; then
      heading "doing without them: no instructions are counted"
      return
    fi
  fi
  PATH=$PATH:$(echo "$PWD/$venv"/lib/python3*/site-packages/nvidia/*/bin)
}

# Ubuntu 22.04 packages CMake 3.22; a newer one then comes from PyPI into the build folder.
cmake_is_new_enough() {
  at_least 3.25 "$(cmake --version | sed -n '1s/[^0-9]*//p')"
}

set_up_cmake() {
  local venv=build/cmake-venv
  if [ -x "$venv/bin/cmake" ]; then
    PATH=$PWD/$venv/bin:$PATH
  fi
  if cmake_is_new_enough 2>/dev/null; then
    return
  fi
  need python3-venv python3 -c 'import ensurepip'
  install_missing
  heading "installing CMake from PyPI into $venv: 3.25 is needed, $(cmake --version | head -n 1)"
  logged cmake-venv python3 -m venv "$venv"
  logged cmake-pip "$venv/bin/pip" install 'cmake>=3.25,<4'
  PATH=$PWD/$venv/bin:$PATH
  hash -r
}

# build PRESET [CMAKE_OPTION...] [-- TARGET...]: by ccache, where it is there.
build() {
  local preset=$1 options=()
  shift
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_SLOPPINESS=pch_defines,time_macros # what precompiled headers need
  fi
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  [ $# = 0 ] || shift
  heading "building $preset"
  logged "configure-$preset" cmake --preset "$preset" "${options[@]}" &&
    logged "build-$preset" cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}
