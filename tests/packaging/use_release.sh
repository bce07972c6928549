#!/usr/bin/env bash
# Run by `tools/fresh --released` as root of a fresh system: uses what ./run release has made, the Debian packages
# apart, each as its own documents say, to print what README.md's program prints.
#
#   use_release.sh FOLDER
set -euo pipefail
folder=$1
readonly work=/root/release-work
readonly expected=$work/expected
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/fresh_system.sh"

# The commands of README.md, "Install and link".
commands_of_readme() {
  awk '/^## Install and link/ { here = 1 } here && /^    / { print; found = 1 } found && !/^    / { exit }' \
    "$source/README.md" | sed 's/sudo //g'
}

use_source() {
  commands_of_readme >"$work/commands"
  grep -q 'cmake --install' "$work/commands" || fail "README.md has no commands to install"
  # With libsampler.a, too: the same objects.
  sed -i 's/-B build /&-DSAMPLER_BUILD_STATIC=ON -DSAMPLER_CUDA=OFF /' "$work/commands"
  (cd "$source" && bash -e "$work/commands") >"$work/source.log" 2>&1 || { tail -n 40 "$work/source.log"; fail "README.md's commands"; }
  # shellcheck disable=SC2046  # Flags.
  cc "$work/main.c" -o "$work/by_pkg_config" $(pkg-config --cflags --libs sampler)
  expect_tokens "source tarball, C, by pkg-config" "$work/by_pkg_config"
  # shellcheck disable=SC2046  # Flags.
  cc -static "$work/main.c" -o "$work/all_static" $(pkg-config --static --cflags --libs sampler)
  expect_tokens "source tarball, C, by pkg-config --static" "$work/all_static"
  by_cmake "source tarball, C" "$work/main.c" "$work/cmake"
  cc "$source/examples/plugin_host.c" -o "$work/plugin_host" -ldl
  "$work/plugin_host" || fail "by sampler_dl.h"
  echo "ok: by sampler_dl.h"
}

# The crates in a folder that stands for the registry.
unpack_crates() {
  local crate name
  mkdir "$work/registry"
  for crate in "$folder"/*.crate; do
    name=$(basename "$crate" .crate)
    tar -xzf "$crate" -C "$work/registry"
    printf '{"files":{},"package":"%s"}' "$(sha256sum "$crate" | cut -d ' ' -f 1)" \
      >"$work/registry/$name/.cargo-checksum.json"
  done
}

# use_rust NAME DEPENDENCY
use_rust() {
  block rust "$source/docs/rust.md" >"$work/main.rs"
  by_rust "$work/main.rs" "$work/rust-$1" "$work/registry" "$2"
  expect_tokens "Rust crates, $1" "$work/rust-$1/target/release/uses-package"
}

uninstall_source() {
  local left
  { cmake --build "$source/build" --target uninstall && ldconfig; } >"$work/source.log" 2>&1
  left=$(find /usr/local -ipath '*sampler*' ! -type d)
  [ -z "$left" ] || fail "left after the target uninstall: $left"
  echo "ok: source tarball, uninstalled"
}

use_jar() {
  local natives
  natives=$(jar --list --file "$jar" | grep -c '/native/linux-[^/]*/libsampler\.so\.1$' || true)
  case $jar in
    *-x86_64-aarch64.jar) [ "$natives" = 2 ] || fail "the jar has $natives libraries" ;;
    *) [ "$natives" = 1 ] || fail "the jar has $natives libraries" ;;
  esac
  cp "$source/bindings/java/examples/Readme.java" "$work"
  expect_tokens "jar" java -cp "$jar" "$work/Readme.java"
}

# As a dependency of a program that Maven builds, by the coordinates of docs/java.md, from the bundle in the place of a
# repository. Plugins are Debian's.
use_maven() {
  local maven=(mvn --offline --batch-mode --quiet -Dstyle.color=never "-Dmaven.repo.local=$work/maven-local"
    -Daether.offline.protocols=file) coordinates
  unpack_maven_bundle
  mkdir "$work/maven-local"
  cp -rs /usr/share/maven-repo/. "$work/maven-local" # where Maven writes, too
  coordinates=$(grep -o 'io\.github\.libsampler:sampler:[^`]*' "$source/docs/java.md" | head -n 1)
  [ "$coordinates" = "io.github.libsampler:sampler:$version" ] || fail "docs/java.md says $coordinates"
  mkdir -p "$work/maven/src/main/java"
  cp "$source/bindings/java/examples/Readme.java" "$work/maven/src/main/java"
  cat >"$work/maven/pom.xml" <<TEXT
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>program</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories>
    <repository>
      <id>bundle</id><url>file://$work/repository</url>
      <releases><checksumPolicy>fail</checksumPolicy></releases>
    </repository>
  </repositories>
  <dependencies>
    <dependency>
      <groupId>io.github.libsampler</groupId><artifactId>sampler</artifactId><version>$version</version>
    </dependency>
  </dependencies>
</project>
TEXT
  "${maven[@]}" --file "$work/maven/pom.xml" compile || fail "mvn compile"
  expect_tokens "bundle for Maven Central, by Maven" java -cp \
    "$work/maven-local/io/github/libsampler/sampler/$version/sampler-$version.jar:$work/maven/target/classes" Readme
}

rm -rf "$work"
mkdir "$work"
(cd "$folder" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS"
unpack_source
jar=$(echo "$folder/sampler-$version"-linux-*.jar)
apt-get update >/root/apt.log
install gcc libc6-dev g++ pkg-config cmake make git golang-go cargo rustc default-jdk-headless ca-certificates-java \
  ninja-build python3 unzip \
  maven libmaven-compiler-plugin-java libmaven-resources-plugin-java junit5
use_binaries "$(uname -m)"
use_source
use_go_module
rehearse_publishing
unpack_crates
use_rust linked "\"=$version\""
uninstall_source
use_rust bundled "{ version = \"=$version\", features = [\"bundled\"] }"
use_jar
use_maven
rm -rf "$work"
echo "ok: each part of the release was used"
