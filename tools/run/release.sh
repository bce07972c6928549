# ./run release.

# Written by ./run test --all when a committed tree passes.
readonly tested=build/tested

is_clean() {
  local changes
  changes=$(git status --porcelain) && [ -z "$changes" ]
}

# What include/sampler/version.h says, as "0.1.0" or "0.1.0-rc1".
release_version() {
  awk '/^#define SAMPLER_VERSION_(MAJOR|MINOR|PATCH)/ { text = text (text == "" ? "" : ".") $3 }
       /^#define SAMPLER_VERSION_CANDIDATE/ && $3 { text = text "-rc" $3 }
       END { print text }' include/sampler/version.h
}

release_tests() {
  if [ "$1" = no ]; then
    ("$PWD/run" test --all) || fail "tests fail: nothing is released"
  fi
  [ "$(cat $tested 2>/dev/null)" = "$(git rev-parse HEAD)" ] ||
    fail "$tested does not say that ./run test --all has passed with commit $(git rev-parse --short HEAD)"
}

# The jar with the library of the package for CPUs inside, on x86-64 with that for aarch64, too.
release_jar() {
  local build=build/release-jar machines package aarch64=OFF
  machines=$(uname -m)
  if [ "$machines" = x86_64 ]; then
    machines=x86_64-aarch64
    aarch64=ON
  fi
  rm -rf $build
  mkdir -p $build
  for package in libsampler1 libsampler-dev; do
    dpkg-deb --extract $packages/${package}_*.deb $build/root || return
  done
  cmake -G Ninja -S bindings/java -B $build/java -DCMAKE_PREFIX_PATH="$PWD/$build/root/usr" \
    -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD=." -DSAMPLER_JAVA_AARCH64=$aarch64 -DCMAKE_BUILD_TYPE=Release &&
    cmake --build $build/java --target sampler_jar &&
    cp $build/java/sampler.jar "$1/sampler-$2-linux-$machines.jar"
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
      cargo package --offline --no-verify --package $crate || return
  done
  cp "$home"/target/package/*.crate "$1"
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
  need git command -v git
  need cargo command -v cargo
  [ "$(uname -m)" != x86_64 ] || need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
  install_missing
  is_clean || fail "these are not committed:" "$(git status --short)"
  commit=$(git rev-parse HEAD)
  release_tests $was_tested
  version=$(release_version)
  folder=build/libsampler-$version
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  rm -rf "$folder"
  mkdir -p "$folder"
  git archive --prefix="libsampler-$version/" HEAD | gzip -9 --no-name >"$folder/libsampler-$version.tar.gz"
  package $cuda
  cp $packages/*.deb "$folder"
  heading "building the jar"
  logged release-jar release_jar "$folder" "$version"
  heading "packing the crates"
  logged release-crates release_crates "$folder" "$version"
  cp CHANGELOG.md THIRD_PARTY.md "$folder"
  if ! is_clean || [ "$(git rev-parse HEAD)" != "$commit" ]; then
    fail "the tree has changed since the release was begun:" "$(git status --short)"
  fi
  (cd "$folder" && sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS .)
  cat "$folder/SHA256SUMS"
  heading "done: $folder is version $version of commit ${commit:0:12}"
}
