# How packages and the parts of a release are used: shared by scripts that set
#   $work      a folder to work in
#   $expected  a file: what README.md's program prints
# and, for what takes $source, $version and $folder: the unpacked source archive, its version, and the release's folder.
# shellcheck shell=bash disable=SC2154

readonly oldest_glibc=2.28 # see src/glibc
# GCC 8's, as systems with that glibc have: libsampler.a is linked with the program's C++ library.
readonly newest_libstdcxx='GLIBCXX_3.4.25 CXXABI_1.3.11'
readonly go_module=github.com/libsampler/libsampler/bindings/go

# What starts programs of another machine.
emulator=()

fail() {
  echo "FAILED: $*"
  exit 1
}

# block LANGUAGE FILE: the first one of Markdown.
block() {
  awk -v start='```'"$1" '/^```/ { if (inside) exit; inside = ($0 == start); next } inside' "$2"
}

# quietly COMMAND...: its output is shown where it fails.
quietly() {
  "$@" >"$work/quiet.log" 2>&1 || { tail -n 40 "$work/quiet.log"; fail "$*"; }
}

# expect_tokens NAME COMMAND...: it prints what README.md says.
expect_tokens() {
  diff "$expected" <("${@:2}") || fail "$1 prints other tokens"
  echo "ok: $1"
}

# by_cmake NAME SOURCE FOLDER [OPTION...]: programs linked by the CMake package, shared and static.
by_cmake() {
  mkdir "$3"
  cp "$2" "$3/main.c"
  cat >"$3/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(uses_package LANGUAGES C)
find_package(sampler REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE sampler::sampler)
add_executable(static main.c)
target_link_libraries(static PRIVATE sampler::sampler_static)
TEXT
  quietly cmake -S "$3" -B "$3/build" "${@:4}"
  quietly cmake --build "$3/build"
  expect_tokens "$1, by CMake" "${emulator[@]}" "$3/build/shared"
  expect_tokens "$1, by CMake, static" "${emulator[@]}" "$3/build/static"
}

# by_rust SOURCE FOLDER REGISTRY DEPENDENCY: a program with the crate, of a folder that cargo takes as a registry.
by_rust() {
  mkdir -p "$2/src" "$2/.cargo"
  cp "$1" "$2/src/main.rs"
  cat >"$2/.cargo/config.toml" <<TEXT
[source.crates-io]
replace-with = "folder"
[source.folder]
directory = "$3"
TEXT
  cat >"$2/Cargo.toml" <<TEXT
[package]
name = "uses-package"
version = "1.0.0"
edition = "2021"
[dependencies]
sampler = $4
TEXT
  (cd "$2" && CARGO_HOME=$2/cargo cargo build --quiet --offline --release)
}

unpack_source() {
  local archive
  archive=$(find "$folder" -maxdepth 1 -name 'libsampler-*.tar.gz' ! -name '*-linux-*')
  version=$(basename "$archive" .tar.gz)
  version=${version#libsampler-}
  source=$work/libsampler-$version
  tar -xzf "$archive" -C "$work"
  block text "$source/README.md" >"$expected"
  block c "$source/README.md" >"$work/main.c"
  { [ -s "$expected" ] && [ -s "$work/main.c" ]; } || fail "README.md has no program and output"
}

# unpack_binaries MACHINE: sets $prefix, a new place.
unpack_binaries() {
  local name=libsampler-$version-linux-$1
  prefix=$(mktemp --directory "$work/XXXXXX")/$name
  tar -xzf "$folder/$name.tar.gz" -C "$(dirname "$prefix")"
}

# What programs meet of the libraries in $prefix.
look_at_binaries() {
  local check=$source/tests/abi/check_library.py names=$source/src/capi/exported_names.txt lib=$prefix/lib name names_of_own
  [ "$(readlink "$lib/libsampler.so")" = libsampler.so.1 ] || fail "lib/libsampler.so is no link to libsampler.so.1"
  [ -L "$lib/libsampler.so.1" ] || fail "lib/libsampler.so.1 is no link"
  quietly python3 "$check" soname "$lib/libsampler.so" libsampler.so.1
  quietly python3 "$check" exports "$lib/libsampler.so" "$names" "$prefix/include"
  quietly python3 "$check" needed "$lib/libsampler.so"
  quietly python3 "$check" versions "$lib/libsampler.so" "$oldest_glibc"
  quietly python3 "$check" hardening "$lib/libsampler.so"
  diff <(grep '^[a-z]' "$names" | sort) \
    <(nm --defined-only --extern-only "$lib/libsampler.a" | awk 'NF == 3 { print $3 }' | sort) ||
    fail "libsampler.a has other names"
  # Beside the compiler's own libraries libsampler.a asks for nothing but what libsampler.so takes of the C library, or
  # has a copy of: pthread_atfork.
  names_of_own=$(comm -13 <(nm --dynamic --undefined-only "$lib/libsampler.so" | sed 's/.* //; s/@.*//' | sort -u) \
    <(nm --undefined-only "$lib/libsampler.a" | awk 'NF == 2 { print $2 }' | sort -u) |
    grep -vE '^(_Z|__cxa_|__gxx_|_Unwind_|__cpu_model$|__aarch64_|pthread_atfork$|_GLOBAL_OFFSET_TABLE_$)' || true)
  [ -z "$names_of_own" ] || fail "libsampler.a needs $names_of_own"
  for name in LICENSE THIRD_PARTY.md; do
    diff "$source/$name" "$prefix/share/doc/libsampler/$name" || fail "$name"
  done
  # Neither the folder that it was built in nor one to install it into.
  ! grep -rE '/(tmp|root|home|work|usr/local)/' "$prefix/lib" || fail "a file names a folder of the build"
}

# newer_than_gcc_8 LIBRARY: versions of C++ symbols that it asks for and GCC 8 lacks.
newer_than_gcc_8() {
  local newest family
  for newest in $newest_libstdcxx; do
    family=${newest%_*}
    readelf --wide --version-info "$1" | grep -oE "${family}_[0-9.]+" | cat - <(echo "$newest") | sort --unique --version-sort |
      sed "1,/^$newest\$/d"
  done
}

# use_binaries MACHINE: README.md's program, shared and static, by pkg-config and by CMake; the library by dlopen.
use_binaries() {
  local machine=$1 name=$1 cc=cc package program options=()
  unpack_binaries "$machine"
  if [ "$machine" != "$(uname -m)" ]; then
    cc=$machine-linux-gnu-gcc
    emulator=("qemu-$machine" -L "/usr/$machine-linux-gnu")
    options=("-DCMAKE_TOOLCHAIN_FILE=$source/cmake/$machine-linux-gnu.cmake")
  fi
  look_at_binaries
  for package in sampler sampler-static; do
    program=$prefix/$package
    # shellcheck disable=SC2046  # Flags.
    "$cc" "$work/main.c" -o "$program" "-Wl,-rpath,$prefix/lib" \
      $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs $package)
    expect_tokens "$name, C, by pkg-config, $package" "${emulator[@]}" "$program"
  done
  ! readelf --dynamic "$program" | grep 'NEEDED.*libsampler' || fail "the static program needs libsampler.so"
  [ -z "$(newer_than_gcc_8 "$program")" ] || fail "libsampler.a needs $(newer_than_gcc_8 "$program")"
  by_cmake "$name, C" "$work/main.c" "$prefix/cmake" "-Dsampler_DIR=$prefix/lib/cmake/sampler" "${options[@]}"
  "$cc" "-I$prefix/include" "$source/examples/plugin_host.c" -o "$prefix/plugin_host" -ldl
  quietly "${emulator[@]}" "$prefix/plugin_host" "$prefix/lib/libsampler.so.1"
  echo "ok: $name, by dlopen"
  emulator=()
}

# A repository as it is at the tag, in the place of the module's on the Internet. The go command makes the module's
# archive of it, by its own rules and limits.
make_go_module() {
  local repository=$work/go-repository zip
  cp -r "$source" "$repository"
  rm -rf "$repository/build"
  export GIT_CONFIG_GLOBAL=$work/gitconfig GIT_CONFIG_NOSYSTEM=1
  git config --global "url.file://$repository.insteadOf" "https://${go_module%/bindings/go}"
  git config --global user.name release
  git config --global user.email release@localhost
  git -C "$repository" init --quiet
  git -C "$repository" add --all --force
  git -C "$repository" commit --quiet --message "$version"
  git -C "$repository" tag "bindings/go/v$version"
  (cd "$work" && GOPROXY=direct GOSUMDB=off GOPATH=$work/go-maker quietly go mod download "$go_module@v$version")
  zip=$work/go-maker/pkg/mod/cache/download/$go_module/@v/v$version.zip
  diff <({ git -C "$repository/bindings/go" ls-files; echo LICENSE; } | sort) \
    <(unzip -Z1 "$zip" | sed "s|^$go_module@v$version/||" | sort) || fail "the Go module has other files"
  diff "$source/LICENSE" <(unzip -p "$zip" "$go_module@v$version/LICENSE") || fail "the Go module's LICENSE"
  unzip -p "$zip" "$go_module@v$version/go.mod" | grep -qx "module $go_module" || fail "the Go module's go.mod"
}

# A program elsewhere with the module from a proxy: files in a folder. The library is what pkg-config finds.
use_go_module() {
  make_go_module
  mkdir "$work/go"
  block go "$source/docs/go.md" >"$work/go/main.go"
  export GOFLAGS=-mod=mod GOSUMDB=off GOPATH=$work/go-path GOCACHE=$work/go-cache GOMODCACHE=$work/go-modules
  export GOPROXY=file://$work/go-maker/pkg/mod/cache/download
  (cd "$work/go" && quietly go mod init program && quietly go get "$go_module@v$version" && quietly go build -o ../by_go .)
  expect_tokens "Go module of the tag bindings/go/v$version" "$work/by_go"
  chmod -R u+w "$work/go-maker" "$work/go-modules" # or they are not removed
}

# Cargo publishes to a registry that is an empty repository here, but does not upload: it looks at each crate's data,
# packs it, and compiles what it has packed. It is given no network.
rehearse_publishing() (
  home=$work/cargo
  mkdir -p "$home/index"
  echo '{"dl": "http://127.0.0.1", "api": "http://127.0.0.1"}' >"$home/index/config.json"
  git -C "$home/index" init --quiet
  git -C "$home/index" add config.json
  git -C "$home/index" -c user.name=release -c user.email=release@localhost commit --quiet --message "empty"
  "$source/packaging/install_crates" "$version" "$source/bindings/rust" "$home/crates"
  cat >"$home/config.toml" <<TEXT
[source.crates-io]
replace-with = "crates"
[source.crates]
directory = "$home/crates"
[registries.rehearsal]
index = "file://$home/index"
TEXT
  cd "$source/bindings/rust" || exit
  export CARGO_HOME=$home CARGO_TARGET_DIR=$home/target
  for name in sampler-sys sampler; do
    quietly cargo publish --dry-run --allow-dirty --registry rehearsal --features dlopen --package "$name"
    # Only crates.io asks for a description, a licence and an address.
    ! cargo package --list --allow-dirty --package "$name" 2>&1 | grep 'manifest has no' || fail "$name"
    mkdir "$home/$name"
    tar -xzf "$folder/$name-$version.crate" -C "$home/$name"
    # Another cargo may write another Cargo.toml than Cargo.toml.orig, and a repository's commit is in the release's.
    diff -r --exclude=.cargo_vcs_info.json --exclude=Cargo.toml --exclude=Cargo.lock --exclude=target \
      "$home/$name/$name-$version" "$home/target/package/$name-$version" || fail "the crate $name is another one"
    echo "ok: cargo publish --dry-run, $name"
  done
)

# Puts the bundle for Maven Central into $work/repository, as Central would.
unpack_maven_bundle() {
  mkdir -p "$work/repository"
  unzip -q -d "$work/repository" "$folder/sampler-$version-maven.zip"
}
