# ./run release.

# Written by ./run test --all when a committed tree passes.
readonly tested=build/tested

is_clean() {
  local changes
  changes=$(git status --porcelain) && [ -z "$changes" ]
}

release_tests() {
  if [ "$1" = no ]; then
    ("$PWD/run" test --all) || fail "tests fail: nothing is released"
  fi
  [ "$(cat $tested 2>/dev/null)" = "$(git rev-parse HEAD)" ] ||
    fail "$tested does not say that ./run test --all has passed with commit $(git rev-parse --short HEAD)"
}

# The library's archives for CPUs, on x86-64 for aarch64, too.
release_binaries() {
  packaging/build_binaries "$1" || return
  [ "$(uname -m)" != x86_64 ] || packaging/build_binaries "$1" aarch64
}

# The jar with the libraries of the archives inside, and the bundle with it for Maven Central.
release_jar() {
  local build=$PWD/build/release-jar here machine archive options machines
  here=$(uname -m)
  machines=$here
  rm -rf "$build"
  mkdir -p "$build/$here/natives"
  for archive in "$1/libsampler-$2"-linux-*.tar.gz; do
    machine=${archive##*-linux-}
    machine=${machine%.tar.gz}
    options=()
    if [ "$machine" != "$here" ]; then
      machines+=-$machine
      options=("-DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/$machine-linux-gnu.cmake")
    fi
    mkdir "$build/$machine-library"
    tar -xzf "$archive" -C "$build/$machine-library" --strip-components=1
    cmake -G Ninja -S bindings/java -B "$build/$machine" -Dsampler_DIR="$build/$machine-library/lib/cmake/sampler" \
      -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD=." -DCMAKE_BUILD_TYPE=Release "${options[@]}" &&
      cmake --build "$build/$machine" --target sampler_java_natives || return
    [ "$machine" = "$here" ] || cp -r "$build/$machine/natives/." "$build/$here/natives"
  done
  cmake --build "$build/$here" --target sampler_jar sampler_javadoc &&
    cp "$build/$here/sampler.jar" "$1/sampler-$2-linux-$machines.jar" &&
    python3 packaging/maven_bundle.py bindings/java "$build/$here/sampler.jar" "$build/$here/javadoc" "$1/sampler-$2-maven.zip"
}

# The second crate needs the first, which no registry may have yet.
release_crates() {
  local home=$PWD/build/release-cargo registry=$PWD/build/release-cargo/crates
  rm -rf "$home"
  packaging/install_crates "$2" bindings/rust "$registry" || return
  cat >"$home/config.toml" <<END
[source.crates-io]
replace-with = "release"
[source.release]
directory = "$registry"
END
  for crate in sampler-sys sampler; do
    env -C bindings/rust CARGO_HOME="$home" CARGO_TARGET_DIR="$home/target" \
      cargo package --offline --no-verify --allow-dirty --package $crate || return
  done
  cp "$home"/target/package/*.crate "$1"
}

need_for_parts() {
  need git command -v git
  need cargo command -v cargo
  need pkgconf command -v pkgconf
  need python3-venv python3 -c 'import ensurepip'
  need unzip command -v unzip
  want golang-go command -v go
  want ruby command -v ruby
  if [ "$(uname -m)" = x86_64 ]; then
    need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
    need qemu-user command -v qemu-aarch64
  fi
}

# release_parts FOLDER VERSION: adds all but Debian packages to the source archive there, and checks it.
release_parts() {
  local check
  heading "building the library's archives"
  logged release-binaries release_binaries "$@"
  heading "building the jar"
  logged release-jar release_jar "$@"
  heading "packing the crates"
  logged release-crates release_crates "$@"
  packaging/fill_recipes "$1/libsampler-$2.tar.gz" "$1/recipes"
  for check in binaries crates go maven conda homebrew vcpkg; do
    heading "checking $check"
    may_skip "release-check-$check" tests/packaging/check_release.sh $check "$1"
  done
}

release() {
  local was_tested=no cuda='' commit version folder
  while [ $# -gt 0 ]; do
    case $1 in
      --tested) was_tested=yes ;;
      --cpu) cuda=--cpu ;;
      *) fail "unknown option: $1" "$(help)" ;;
    esac
    shift
  done
  need_for_parts
  install_missing
  is_clean || fail "these are not committed:" "$(git status --short)"
  commit=$(git rev-parse HEAD)
  release_tests $was_tested
  version=$(packaging/version)
  folder=build/libsampler-$version
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  rm -rf "$folder"
  mkdir -p "$folder"
  git archive --prefix="libsampler-$version/" HEAD | gzip -9 --no-name >"$folder/libsampler-$version.tar.gz"
  package $cuda
  cp $packages/*.deb "$folder"
  release_parts "$folder" "$version"
  cp CHANGELOG.md THIRD_PARTY.md "$folder"
  if ! is_clean || [ "$(git rev-parse HEAD)" != "$commit" ]; then
    fail "the tree has changed since the release was begun:" "$(git status --short)"
  fi
  (cd "$folder" && find . -type f -printf '%P\0' | sort --zero-terminated | xargs -0 sha256sum -- >../SHA256SUMS &&
    mv ../SHA256SUMS .)
  cat "$folder/SHA256SUMS"
  heading "done: $folder is version $version of commit ${commit:0:12}"
}
