# ./run package.

readonly packages=build/packages

need_for_packages() {
  need_for_build
  need_for_examples
  need build-essential has_package build-essential
  need debhelper command -v dh
  need doxygen command -v doxygen
  need python3 command -v python3
  need lintian command -v lintian
  need fakeroot command -v fakeroot
  need default-jdk-headless has_package default-jdk-headless
  need libbenchmark-dev has_header benchmark/benchmark.h
  need libcpp-httplib-dev has_package libcpp-httplib-dev
}

need_for_package_checks() {
  need_for_parts
  need debootstrap command -v debootstrap
  need rpm command -v rpmbuild
  want g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
  want qemu-user command -v qemu-aarch64
}

has_package() {
  dpkg-query --show "$1"
}

# hashes DIRECTORY: of what is to be the same whenever and wherever it is built.
hashes() {
  (cd "$1" && sha256sum -- *.deb)
}

# In another folder, at another time, in another zone and language, and compiled anew.
build_again() {
  env TZ=Asia/Tokyo LC_ALL=C.UTF-8 DEB_BUILD_PROFILES="$1" \
    packaging/build_packages build/packages-built-again-elsewhere --build=binary --jobs="$jobs"
}

# may_skip NAME COMMAND...: logged; prints why, where the command says that it skips.
may_skip() {
  logged "$1" succeeds_or_skips "${@:2}"
  heading "$(grep '^skipped: ' "$logs/$1.log" || echo "as it should be")"
}

succeeds_or_skips() {
  local status=0
  "$@" || status=$?
  [ $status = 77 ] || return $status
}

# The parts of a release beside packages, of the project as it is; the library's archives once more, elsewhere.
check_parts() {
  local folder=build/release-parts elsewhere=build/release-parts-elsewhere version
  version=$(packaging/version)
  rm -rf $folder $elsewhere
  mkdir -p $folder $elsewhere
  packaging/copy_source "$elsewhere/libsampler-$version"
  tar -C $elsewhere -czf "$folder/libsampler-$version.tar.gz" "libsampler-$version"
  release_parts $folder "$version"
  heading "building the library's archives again, elsewhere"
  logged release-again env -C "$elsewhere/libsampler-$version" bash -c 'source tools/run/release.sh; release_binaries ..'
  diff <(cd $folder && sha256sum -- *-linux-*.tar.gz) <(cd $elsewhere && sha256sum -- *-linux-*.tar.gz) ||
    fail "the library's archives of two builds differ"
}

# check_packages PROFILES
check_packages() {
  local check=tests/packaging/check_packages.sh
  heading "lintian"
  logged package-lintian bash $check lintian $packages
  heading "installing into a folder, upgrading, purging"
  logged package-folder bash $check install $packages
  heading "building again, elsewhere"
  logged package-again build_again "$1"
  diff <(hashes $packages) <(hashes build/packages-built-again-elsewhere) ||
    fail "the packages of two builds differ"
  heading "building packages for arm64"
  may_skip package-cross bash $check cross build/packages-arm64
  heading "building RPM packages"
  may_skip package-rpm bash $check rpm_build build/packages-rpm
  check_parts
  heading "installing on a fresh system"
  logged package-fresh as_root env FRESH_CACHE="${FRESH_CACHE:-}" FRESH_DIR="${FRESH_DIR:-/var/tmp}" \
    tools/fresh --packages $packages
}

package() {
  local cuda=yes check='' profiles=''
  while [ $# -gt 0 ]; do
    case $1 in
      --cpu) cuda=no ;;
      --check) check=yes ;;
      *) fail "unknown option: $1" "$(help)" ;;
    esac
    shift
  done
  need_for_packages
  [ -z "$check" ] || need_for_package_checks
  install_missing
  set_up_cmake
  set_up_cuda
  if [ $cuda = yes ] && has_nvcc; then
    profiles=pkg.libsampler.cuda
  fi
  heading "building packages${profiles:+, with CUDA}"
  logged package env DEB_BUILD_PROFILES=$profiles packaging/build_packages $packages --build=binary --jobs="$jobs"
  [ -z "$check" ] || check_packages "$profiles"
  (cd $packages && du --apparent-size --block-size=1K -- *.deb)
  heading "done: $packages"
}
