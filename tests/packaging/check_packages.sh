#!/usr/bin/env bash
# Checks of the packages for systems.
#
#   check_packages.sh build DIRECTORY      builds them for the CPU, without programs
#   check_packages.sh lintian DIRECTORY    of the packages there
#   check_packages.sh install DIRECTORY    installs them into a folder, upgrades and purges them; programs
#                                          are compiled with what lies there
#   check_packages.sh cross DIRECTORY      builds them for arm64, runs a program with them by qemu
#   check_packages.sh rpm                  parses the RPM spec
#   check_packages.sh rpm_build DIRECTORY  builds the RPM packages; programs are compiled with what they hold
set -euo pipefail
project=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)

# shellcheck source-path=SCRIPTDIR
source "$project/tests/packaging/use_parts.sh"
readonly build_profiles=pkg.libsampler.notools

# The packages' version: the library's, and Debian's revision of it.
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$project/packaging/debian/changelog")

skip() {
  echo "skipped: $*"
  exit 77
}

# unmet_for_build PROFILES: fails where packages cannot be built, and says why.
unmet_for_build() {
  local unmet
  if ! command -v dpkg-checkbuilddeps >/dev/null; then
    echo "dpkg-dev is not installed"
    return 1
  fi
  if ! unmet=$(dpkg-checkbuilddeps -P "$1" "$project/packaging/debian/control" 2>&1); then
    echo "${unmet#*error: }"
    return 1
  fi
}

# given DIRECTORY: skips where check_build was.
given() {
  local unmet
  unmet=$(unmet_for_build $build_profiles) || skip "no packages were built: $unmet"
  [ -d "$1" ] || fail "$1 is missing"
}

check_build() {
  local unmet
  unmet=$(unmet_for_build $build_profiles) || skip "$unmet"
  # Without debug information, which takes long to write and is not what is looked at.
  DEB_BUILD_PROFILES=$build_profiles DEB_BUILD_OPTIONS=noautodbgsym DEB_CXXFLAGS_STRIP=-g \
    "$project/packaging/build_packages" "$1" --build=binary --jobs="$(nproc)"
}

check_lintian() {
  given "$1"
  command -v lintian >/dev/null || skip "lintian is not installed"
  lintian --allow-root --profile debian --fail-on error,warning --tag-display-limit 0 "$1"/*.changes
}

# in_folder OPTION...: dpkg for what is installed in $root.
in_folder() {
  fakeroot -i "$root.fakeroot" -s "$root.fakeroot" -- dpkg --root="$root" --force-not-root --force-depends \
    --no-debsig --log=/dev/null "$@"
}

# older PACKAGE DIRECTORY: the same as of an older version, with a file that this one has not.
older() {
  local folder
  folder=$2/$(basename "$1" .deb)
  dpkg-deb --raw-extract "$1" "$folder"
  sed -i "s/$version/$older_version/g" "$folder/DEBIAN/control"
  mkdir -p "$folder/usr/share/doc/only-older"
  basename "$1" >"$folder/usr/share/doc/only-older/$(basename "$1" .deb)"
  dpkg-deb --root-owner-group -Znone --build "$folder" "$folder.deb" >/dev/null
  rm -rf "$folder"
}

# in_work: sets $work, a folder that is deleted at the end, and $expected.
in_work() {
  work=$(mktemp --directory)
  expected=$work/expected
  block text "$project/README.md" >"$expected"
  # shellcheck disable=SC2064  # The directory as it is now.
  trap "rm -rf '$work'" EXIT
}

check_install() {
  given "$1"
  command -v fakeroot >/dev/null || skip "fakeroot is not installed"
  local packages=() package names left
  in_work
  root=$work/root
  older_version=${version%-*}~older-1
  mkdir -p "$root"/var/lib/dpkg/{updates,info,triggers} "$work/older"
  touch "$root/var/lib/dpkg/status" "$root.fakeroot"
  for package in "$1"/*.deb; do
    case $package in
      *-dbgsym_* | *-cuda_*) continue ;;
    esac
    packages+=("$package")
    older "$package" "$work/older"
  done
  mapfile -t names < <(for package in "${packages[@]}"; do dpkg-deb --field "$package" Package; done)

  in_folder --install "$work"/older/*.deb
  in_folder --install "${packages[@]}"
  for package in "${names[@]}"; do
    [ "$(dpkg-query --admindir="$root/var/lib/dpkg" --show --showformat '${Version} ${db:Status-Abbrev}' \
      "$package")" = "$version ii " ] || fail "$package was not upgraded"
  done
  [ ! -e "$root/usr/share/doc/only-older" ] || fail "files of the older packages are left"

  check_glibc "$1"
  compile_and_run

  in_folder --purge "${names[@]}"
  left=$(find "$root" -mindepth 1 ! -type d ! -path "$root/var/lib/dpkg/*")
  [ -z "$left" ] || fail "left after purging: $left"
  left=$(find "$root/usr" "$root/etc" -mindepth 1 2>/dev/null || true)
  [ -z "$left" ] || fail "folders left after purging: $left"
}

# check_glibc DIRECTORY: the libraries of the packages there load with $oldest_glibc, wherever they were built, and can
# be installed beside it.
check_glibc() {
  local package glibc library libraries
  for package in "$1"/libsampler1_*.deb "$1"/libsampler1-cuda_*.deb "$1"/libsampler-jni_*.deb; do
    [ -e "$package" ] || continue
    glibc=$(dpkg-deb --field "$package" Depends | sed -n 's/.*libc6 (>= \([^)]*\)).*/\1/p')
    [ -n "$glibc" ] || fail "$package does not depend on libc6"
    dpkg --compare-versions "$glibc" le "$oldest_glibc" || fail "$package depends on libc6 $glibc"
    rm -rf "$work/extracted"
    dpkg-deb --extract "$package" "$work/extracted"
    libraries=$(find "$work/extracted" -name 'libsampler*.so*' ! -type l)
    [ -n "$libraries" ] || fail "$package has no library"
    for library in $libraries; do
      python3 "$project/tests/abi/check_library.py" versions "$library" "$oldest_glibc"
    done
  done
}

# The program of README.md, with what the packages have put into $root.
compile_and_run() {
  local library
  library=$(dirname "$(find "$root/usr" -name libsampler.so)")
  python3 "$project/tests/install/check_readme.py" "$project" "$root/usr"
  by_cmake C "$project/examples/minimal.c" "$work/cmake" "-DCMAKE_PREFIX_PATH=$root/usr;$library/cmake/sampler"
  grep -qx "sampler_DIR:PATH=$library/cmake/sampler" "$work/cmake/build/CMakeCache.txt" ||
    fail "CMake found another copy of the library"
  # The jar has no native library: Java finds it where the package has put it.
  if [ -e "$root/usr/share/java/sampler.jar" ]; then
    expect_tokens Java env "LD_LIBRARY_PATH=$library" java "-Djava.library.path=$library/jni" \
      -cp "$root/usr/share/java/sampler.jar" "$project/bindings/java/examples/Readme.java"
  fi
}

# Only the C library is there for arm64: no programs, and no Java to run.
check_cross() {
  local tool package file library
  for tool in aarch64-linux-gnu-g++ qemu-aarch64 dh javac; do
    command -v $tool >/dev/null || skip "there is no $tool"
  done
  # The packages' dependencies are found in it.
  dpkg-query --show libc6:arm64 >/dev/null 2>&1 ||
    skip "libc6:arm64 is not installed: dpkg --add-architecture arm64, apt-get update, apt-get install libc6:arm64"
  DEB_BUILD_PROFILES='cross pkg.libsampler.notools' DEB_BUILD_OPTIONS=noautodbgsym DEB_CXXFLAGS_STRIP=-g \
    "$project/packaging/build_packages" "$1" --build=any --host-arch=arm64 --jobs="$(nproc)"
  in_work
  root=$work/root
  for package in libsampler1 libsampler-dev libsampler-jni; do
    file=$1/${package}_${version}_arm64.deb
    [ "$(dpkg-deb --field "$file" Architecture)" = arm64 ] || fail "$file is not for arm64"
    dpkg-deb --extract "$file" "$root"
  done
  dpkg-deb --field "$1/libsampler1_${version}_arm64.deb" Depends | grep 'libc6 (>= 2' ||
    fail "libsampler1 does not depend on libc6"
  dpkg-deb --info "$1/libsampler1_${version}_arm64.deb" symbols | diff <(sed '/^\*/d; s/#MINVER#//; s/ $//' \
    "$project/packaging/debian/libsampler1.symbols") <(sed '/^\*/d; s/#MINVER#//; s/ $//' -) ||
    fail "the symbols are others"
  library=$root/usr/lib/aarch64-linux-gnu
  for file in "$library"/libsampler.so.1 "$library"/jni/libsampler_java.so; do
    readelf --file-header "$file" | grep 'Machine: *AArch64' || fail "$file is not for aarch64"
  done
  use_cross "$library"
}

# use_cross LIBRARY_DIR: README.md's program, shared and static.
use_cross() {
  local link
  for link in -lsampler '-l:libsampler.a -lstdc++ -lm -lpthread'; do
    # shellcheck disable=SC2086  # Flags.
    aarch64-linux-gnu-gcc -I"$root/usr/include" "$project/examples/minimal.c" -o "$work/program" -L"$1" $link
    expect_tokens "$link" qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$1" "$work/program"
  done
}

check_rpm() {
  command -v rpmspec >/dev/null || skip "rpmspec is not installed"
  [ "$(rpmspec --query --srpm --queryformat '%{version}' "$project/packaging/rpm/libsampler.spec")" = \
    "${version%-*}" ] || fail "the spec is of another version than packaging/debian/changelog"
  rpmspec --query --queryformat '%{name} %{version}\n' "$project/packaging/rpm/libsampler.spec"
}

# From a source tarball of the project as it is, into DIRECTORY. What RPM calls the packages that it needs, this
# system calls otherwise: --nodeps.
check_rpm_build() {
  local spec=$project/packaging/rpm/libsampler.spec source package name names=()
  command -v rpmbuild >/dev/null || skip "rpmbuild is not installed"
  command -v ninja >/dev/null || skip "ninja is not installed"
  rm -rf "$1"
  mkdir -p "$1/SOURCES"
  source=$(rpmspec --query --srpm --queryformat '[%{SOURCE}]' "$spec")
  "$project/packaging/copy_source" "$1/SOURCES/${source%.tar.gz}"
  tar -C "$1/SOURCES" -czf "$1/SOURCES/$source" --remove-files "${source%.tar.gz}"
  rpmbuild -ba --nodeps --define "_topdir $(cd "$1" && pwd)" --define "_smp_mflags -j$(nproc)" "$spec"
  in_work
  root=$work/root
  mkdir "$root"
  for package in "$1"/RPMS/*/*.rpm; do
    name=$(rpm --query --package --queryformat '%{NAME}' "$package")
    case $name in
      *-debuginfo | *-debugsource) continue ;;
    esac
    names+=("$name")
    rpm --query --package --list "$package" >"$work/$name"
    rpm2archive --nocompression - <"$package" | tar -x -C "$root"
  done
  [ "${names[*]}" = "libsampler libsampler-devel libsampler-static" ] || fail "the packages are ${names[*]}"
  grep -q '/libsampler\.so\.1$' "$work/libsampler" || fail "libsampler lacks the library"
  ! grep '\.h$\|\.a$\|\.so$' "$work/libsampler" || fail "libsampler has what is for development"
  grep -q '/sampler\.pc$' "$work/libsampler-devel" || fail "libsampler-devel lacks sampler.pc"
  rpm --query --package --provides "$1"/RPMS/*/libsampler-0*.rpm | grep -F 'libsampler.so.1()(64bit)'
  rpm --query --package --requires "$1"/RPMS/*/libsampler-devel-*.rpm | grep -F "libsampler$(rpm --eval %_isa) = "
  compile_and_run
}

case $1 in
  build | lintian | install | cross | rpm_build) "check_$1" "$2" ;;
  rpm) check_rpm ;;
  *) fail "unknown check: $1" ;;
esac
