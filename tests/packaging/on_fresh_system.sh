#!/usr/bin/env bash
# Run by `tools/fresh --packages` as root of a fresh system: installs the packages of a folder with apt, first
# as of an older version, upgrades them, uses each as its documents say, purges them, and looks for what is left.
#
#   on_fresh_system.sh PACKAGES
set -euo pipefail
packages=$1
readonly doc=/usr/share/doc/libsampler-dev work=/root/work
readonly expected=$work/expected
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/fresh_system.sh"

# files_of_system: what packages may leave behind. The rest is apt's and dpkg's own, or made here.
files_of_system() {
  find / -xdev \( -path /root -o -path /tmp -o -path /proc -o -path /sys -o -path /dev -o -path /var/lib/dpkg \
    -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /etc/ld.so.cache \) -prune -o -print | sort
}

# older PACKAGE: the same of an older version.
older() {
  local folder
  folder=/root/older/$(basename "$1" .deb)
  mkdir -p /root/older
  dpkg-deb --raw-extract "$1" "$folder"
  sed -i "s/$version/$older_version/g" "$folder/DEBIAN/control"
  mkdir -p "$folder/usr/share/doc/only-older"
  touch "$folder/usr/share/doc/only-older/$(basename "$1")"
  dpkg-deb --root-owner-group -Znone --build "$folder" "$folder.deb" >/dev/null
  rm -rf "$folder"
}

use_c() {
  cp $doc/examples/minimal.c "$work"
  # shellcheck disable=SC2046  # Flags.
  cc "$work/minimal.c" -o "$work/by_pkg_config" $(pkg-config --cflags --libs sampler)
  expect_tokens "C, by pkg-config" "$work/by_pkg_config"
  by_cmake C "$work/minimal.c" "$work/cmake"
}

use_reference() {
  grep -q sampler_top_k_top_p "$doc/html/globals_func.html" || fail "the reference as HTML names no functions"
  # Read to its end: gzip would fail where grep closes the pipe.
  gzip -cd /usr/share/man/man3/sampler_sample.3.gz | grep '^\.SH SYNOPSIS' >/dev/null ||
    fail "sampler_sample has no man page"
  grep -q "^Index: $doc/html/index.html" /usr/share/doc-base/libsampler-doc.libsampler || fail "doc-base"
  echo "ok: reference"
}

# The first program of docs/go.md.
use_go() {
  mkdir -p "$work/go"
  block go $doc/docs/go.md >"$work/go/main.go"
  (cd "$work/go" && GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go-cache go build -o "$work/by_go" .)
  expect_tokens Go "$work/by_go"
}

use_rust() {
  local registry=/usr/share/cargo/registry example version
  example=$(find $registry -path '*/sampler-[0-9]*/examples/readme.rs')
  version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$(dirname "$example")/../Cargo.toml")
  by_rust "$example" "$work/rust" $registry "\"$version\""
  expect_tokens Rust "$work/rust/target/release/uses-package"
}

use_java() {
  expect_tokens Java java -cp /usr/share/java/sampler.jar /usr/share/doc/libsampler-java/examples/Readme.java
}

use_tools() {
  local logits=$doc/examples/recorded_logits/logits.f16 program
  sampler-explain "$logits" --cols 2048 --top 3 >"$work/explained"
  grep -q '^drawn: ' "$work/explained" || fail "sampler-explain draws no token"
  sampler-bench --filter '^greedy' --budget 2 >"$work/bench"
  grep -q greedy "$work/bench" || fail "sampler-bench times nothing"
  for program in generate server; do
    "sampler-$program" --help >"$work/help"
    grep -q -- --model "$work/help" || fail "sampler-$program --help"
  done
  echo "ok: programs"
}

use_all() {
  rm -rf "$work"
  mkdir "$work"
  block text $doc/README.md >"$expected"
  [ -s "$expected" ] || fail "no output in README.md"
  use_c
  use_go
  use_rust
  use_java
  # The profile pkg.libsampler.notools builds no programs.
  if compgen -G '/root/cpu/libsampler-tools_*.deb' >/dev/null; then use_tools; fi
  use_reference
}

# expect_version VERSION: of every package.
expect_version() {
  local name
  for name in "${names[@]}"; do
    [ "$(dpkg-query --show --showformat '${Version} ${db:Status-Abbrev}' "$name")" = "$1 ii " ] ||
      fail "$name is not installed as $1"
  done
}

apt-get update >/root/apt.log
# Compilers, and what the packages depend on beside each other.
install gcc libc6-dev g++ pkg-config cmake make golang-go cargo rustc default-jdk-headless ca-certificates-java
mkdir -p /root/cpu /root/cuda
for package in "$packages"/*.deb; do
  case $package in
    *-dbgsym_*) ;;
    *-cuda_*) cp "$package" /root/cuda ;;
    *) cp "$package" /root/cpu ;;
  esac
done
# shellcheck disable=SC2012  # Their names are Debian's.
version=$(dpkg-deb --field "$(ls /root/cpu/*.deb | head -n 1)" Version)
older_version=${version%-*}~older-1
mapfile -t names < <(for package in /root/cpu/*.deb; do dpkg-deb --field "$package" Package; done)
for package in /root/cpu/*.deb; do older "$package"; done

dpkg-query --show --showformat '${Package}\n' | sort >/root/packages-before
files_of_system >/root/files-before
install /root/older/*.deb
expect_version "$older_version"
install /root/cpu/*.deb
expect_version "$version"
[ ! -e /usr/share/doc/only-older ] || fail "files of the older packages are left"
echo "ok: upgraded ${#names[@]} packages from $older_version to $version"
use_all
if compgen -G '/root/cuda/*.deb' >/dev/null; then
  install /root/cuda/*.deb
  if dpkg-query --show --showformat '${db:Status-Abbrev}' libsampler1 | grep -q '^ii'; then
    fail "libsampler1 is still there beside libsampler1-cuda"
  fi
  use_all
  install /root/cpu/libsampler1_*.deb
  expect_version "$version"
  echo "ok: libsampler1-cuda in place of libsampler1, and back"
fi

rm -rf "$work"
apt-get purge --yes "${names[@]}" >/root/apt.log 2>&1 || { tail -n 40 /root/apt.log; fail "apt-get purge"; }
# Only their dependencies have been installed since.
apt-get purge --yes --auto-remove >/root/apt.log 2>&1
dpkg-query --show --showformat '${Package}\n' | sort | diff /root/packages-before - || fail "packages are left"
files_of_system | diff /root/files-before - || fail "files are left"
echo "ok: purged, nothing is left"
