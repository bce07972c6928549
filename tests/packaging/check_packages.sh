#!/usr/bin/env bash
# Checks of the packages for systems.
#
#   check_packages.sh build DIRECTORY      builds them for the CPU, without programs
#   check_packages.sh lintian DIRECTORY    of the packages there
#   check_packages.sh install DIRECTORY    installs them into a folder, upgrades and purges them; programs
#                                          are compiled with what lies there
#   check_packages.sh rpm                  parses the RPM spec
set -euo pipefail
project=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)

# Of the packages: the library's, and Debian's revision of it.
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$project/packaging/debian/changelog")

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "$*"
  exit 1
}

check_build() {
  local profiles=pkg.libsampler.notools unmet
  command -v dpkg-checkbuilddeps >/dev/null || skip "dpkg-dev is not installed"
  unmet=$(dpkg-checkbuilddeps -P $profiles "$project/packaging/debian/control" 2>&1) || skip "${unmet#*error: }"
  # Without debug information, which takes long to write and is not what is looked at.
  DEB_BUILD_PROFILES=$profiles DEB_BUILD_OPTIONS=noautodbgsym DEB_CXXFLAGS_STRIP=-g \
    "$project/packaging/build_packages" "$1" --build=binary --jobs="$(nproc)"
}

check_lintian() {
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

check_install() {
  command -v fakeroot >/dev/null || skip "fakeroot is not installed"
  local packages=() package names left
  work=$(mktemp --directory)
  # shellcheck disable=SC2064  # The directory as it is now.
  trap "rm -rf '$work'" EXIT
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

  compile_and_run

  in_folder --purge "${names[@]}"
  left=$(find "$root" -mindepth 1 ! -type d ! -path "$root/var/lib/dpkg/*")
  [ -z "$left" ] || fail "left after purging: $left"
  left=$(find "$root/usr" "$root/etc" -mindepth 1 2>/dev/null || true)
  [ -z "$left" ] || fail "folders left after purging: $left"
}

# The program of README.md, with what the packages have put into $root.
compile_and_run() {
  local library
  library=$(dirname "$(find "$root/usr/lib" -name libsampler.so)")
  python3 "$project/tests/install/check_readme.py" "$project" "$root/usr"
  mkdir "$work/cmake"
  cp "$project/examples/minimal.c" "$work/cmake"
  cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(uses_package LANGUAGES C)
find_package(sampler 0.1 REQUIRED)
add_executable(shared minimal.c)
target_link_libraries(shared PRIVATE sampler::sampler)
add_executable(static minimal.c)
target_link_libraries(static PRIVATE sampler::sampler_static)
END
  cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$root/usr"
  cmake --build "$work/cmake/build"
  grep -qx "sampler_DIR:PATH=$library/cmake/sampler" "$work/cmake/build/CMakeCache.txt" ||
    fail "CMake found another copy of the library"
  diff <("$work/cmake/build/shared") <("$work/cmake/build/static")
  # The jar has no native library: Java finds it where the package has put it.
  if [ -e "$root/usr/share/java/sampler.jar" ]; then
    diff <("$work/cmake/build/shared") \
      <(LD_LIBRARY_PATH=$library java -Djava.library.path="$library/jni" \
        -cp "$root/usr/share/java/sampler.jar" "$project/bindings/java/examples/Readme.java")
  fi
}

check_rpm() {
  command -v rpmspec >/dev/null || skip "rpmspec is not installed"
  [ "$(rpmspec --query --srpm --queryformat '%{version}' "$project/packaging/rpm/libsampler.spec")" = \
    "${version%-*}" ] || fail "the spec is of another version than packaging/debian/changelog"
  rpmspec --query --queryformat '%{name} %{version}\n' "$project/packaging/rpm/libsampler.spec"
}

case $1 in
  build | lintian | install) "check_$1" "$2" ;;
  rpm) check_rpm ;;
  *) fail "unknown check: $1" ;;
esac
