# ./run wheel.

readonly wheels=build/wheels

# The wheel and the source archive of the Python package, and the tests with what was installed of each.
wheel() {
  local options=() tests=() builder=build/wheel-builder
  [ "${1:-}" = --cpu ] && options=(-Ccmake.define.SAMPLER_CUDA=OFF)
  need_for_build
  need python3-dev has_python_headers
  need python3-venv python3 -m ensurepip --version
  install_missing
  rm -rf "$wheels" "$builder"
  python3 -m venv "$builder"
  heading "installing what builds wheels, from PyPI"
  logged wheel-builder "$builder/bin/pip" install build
  heading "building the source archive, and the wheel of it"
  logged wheel-build "$builder/bin/python" -m build --outdir "$wheels" "${options[@]}" bindings/python
  heading "running the tests with the wheel"
  logged wheel-install "$builder/bin/pip" install --no-deps "$wheels"/libsampler-*.whl
  mapfile -t tests < <(cd bindings/python/tests && printf '%s\n' test_*.py)
  logged wheel-test env -C bindings/python/tests -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 \
    "$PWD/$builder/bin/python" -W error -m unittest "${tests[@]%.py}"
  ls "$wheels"
}
