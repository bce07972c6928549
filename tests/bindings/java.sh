#!/usr/bin/env bash
# The Java binding against an installed library; nothing is written outside the build folder and the
# network is not used.
#
#   java.sh build PREFIX BINDING WORK_DIR              builds the jar, the tests and the examples
#   java.sh javadoc PREFIX BINDING WORK_DIR            makes the documentation; a warning is an error
#   java.sh run PREFIX BINDING WORK_DIR CLASS [JVM_OPTION...]   runs one class of tests
#   java.sh device PREFIX BINDING WORK_DIR LIBRARY     recorded calls on the fake device of this library
#   java.sh checked PREFIX BINDING WORK_DIR            runs all tests where JNI's rules are checked
#   java.sh jar PREFIX BINDING WORK_DIR                what the jar carries; another build makes the same
#   java.sh aarch64 PREFIX BINDING WORK_DIR            a jar with the libraries for aarch64, too
#   java.sh maven PREFIX BINDING WORK_DIR              Maven takes the POM, and packs what it says
#   java.sh examples PREFIX BINDING WORK_DIR           compares what the examples print
set -euo pipefail

check=$1
prefix=$2
binding=$3
work_dir=$4
readonly jars=/usr/share/java # where Debian puts them
readonly junit=$jars/junit-platform-console-standalone.jar
readonly test_jars=$junit:$jars/junit-jupiter-api.jar:$jars/junit-jupiter-params.jar:$jars/gson.jar
readonly build=$work_dir/build
readonly jar=$build/sampler.jar
readonly package=io.github.libsampler

skip() {
  echo "skipped: $1"
  exit 77
}

need_java() {
  local major file
  PATH=${JAVA_HOME:+$JAVA_HOME/bin:}$PATH
  command -v javac javadoc >/dev/null || skip "no JDK is installed"
  major=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
  [ "$major" -ge 17 ] || skip "JDK 17 is needed, here is $major"
  [ -e "$(dirname "$(readlink -f "$(command -v javac)")")/../include/jni.h" ] ||
    skip "the JDK has no jni.h"
  for file in ${test_jars//:/ }; do
    [ -e "$file" ] || skip "$file is not installed"
  done
}

compile() {
  local classes=$1
  rm -rf "$classes"
  mkdir -p "$classes"
  # JUnit's classes name annotations that come with no package of it: -classfile, -path.
  javac -Xlint:all,-classfile,-path -Werror -cp "$jar:$test_jars" -d "$classes" "${@:2}"
}

build_all() {
  local jdk_include
  cmake -S "$binding" -B "$build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  cmake --build "$build"
  compile "$work_dir/tests" "$binding"/src/test/java/io/github/libsampler/*.java
  compile "$work_dir/examples" "$binding"/examples/*.java
  # Beside each other, as they are when both are installed.
  mkdir -p "$work_dir/lib"
  cp "$build/libsampler_java.so" "$(find "$prefix" -name libsampler.so.1)" "$work_dir/lib"
  jdk_include=$(dirname "$(readlink -f "$(command -v javac)")")/../include
  cc -shared -fPIC -Wall -Wextra -Werror -I"$jdk_include" -I"$jdk_include/linux" \
    -o "$work_dir/hooks.so" "$binding/src/test/native/hooks.c"
  echo 'int Java_io_github_libsampler_internal_RawJNI_shimInterface(void) { return 0; }' |
    cc -shared -fPIC -x c -o "$work_dir/other_version.so" -
}

run_class() {
  run_tests --select-class "$package.$1" "${@:2}"
}

# run_tests --select-... NAME [JVM_OPTION...]
run_tests() {
  java "${@:3}" -cp "$jar:$test_jars:$work_dir/tests" \
    -Dsampler.test.vectors="$binding/../../tests/vectors" -Dsampler.test.jar="$jar" \
    -Dsampler.test.library="$work_dir/lib/libsampler_java.so" \
    -Dsampler.test.otherLibrary="$work_dir/other_version.so" \
    -Dsampler.test.classes="$work_dir/tests" -Dsampler.test.hooks="$work_dir/hooks.so" \
    org.junit.platform.console.ConsoleLauncher --disable-banner --disable-ansi-colors \
    --fail-if-no-tests "$1" "$2" ${excluded:+--exclude-classname "$excluded"}
}

# What the JVM says against native code is on the standard output, among what the tests print. Checks
# take memory, which LeakTest would count.
run_checked() {
  local log=$work_dir/checked.log excluded='.*LeakTest'
  run_tests --select-package "$package" -Xcheck:jni >"$log" 2>&1 || { cat "$log"; return 1; }
  if grep -B 2 -A 5 '^WARNING\|^FATAL\|in native method' "$log"; then
    echo "the JVM warns of native code"
    return 1
  fi
}

# content_of JAR ENTRY
content_of() {
  python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$@"
}

natives_of() {
  jar --list --file "$1" | sed -n 's|^io/github/libsampler/native/\(.*[^/]\)$|\1|p' | sort
}

check_jar() {
  local version again=$work_dir/again
  version=$(sed -n 's/^#define SAMPLER_VERSION_[A-Z]* \([0-9]*\)$/\1/p' \
    "$binding/../../include/sampler/version.h" | paste -sd . |
    sed 's/[.]0$//; s/^\(.*[.].*[.].*\)[.]\([0-9]*\)$/\1-rc\2/') # the candidate is the last number
  diff <(content_of "$jar" META-INF/maven/$package/sampler/pom.properties) \
    <(printf '%s\n' artifactId=sampler groupId=$package "version=$version")
  diff <(content_of "$jar" META-INF/maven/$package/sampler/pom.xml) "$binding/pom.xml"
  grep -q "^  <version>$version</version>$" "$binding/pom.xml"
  diff <(natives_of "$jar") <(printf '%s\n' "linux-$(uname -m)"/libsampler{.so.1,_java.so})
  rm -rf "$again"
  cmake -S "$binding" -B "$again" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  cmake --build "$again"
  cmp "$jar" "$again/sampler.jar"
}

# The library is compiled by -O1, in half of the time, most of which goes to one unit (-O0 takes longest): that of
# the preset aarch64 is tested there.
check_aarch64() {
  local both=$work_dir/both file
  export CFLAGS=-O1 CXXFLAGS=-O1
  command -v aarch64-linux-gnu-g++ >/dev/null || skip "g++-aarch64-linux-gnu is not installed"
  cmake -S "$binding" -B "$both" -DCMAKE_PREFIX_PATH="$prefix" -DSAMPLER_JAVA_AARCH64=ON \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  cmake --build "$both"
  diff <(natives_of "$both/sampler.jar") \
    <(printf '%s\n' linux-{aarch64,"$(uname -m)"}/libsampler{.so.1,_java.so} | sort -u)
  for file in libsampler.so.1 libsampler_java.so; do
    content_of "$both/sampler.jar" "io/github/libsampler/native/linux-aarch64/$file" >"$both/$file"
    readelf --file-header "$both/$file" | grep 'Machine: *AArch64'
  done
  readelf --dynamic "$both/libsampler_java.so" | grep -F 'RUNPATH' | grep -F "[\$ORIGIN]"
  diff <(names_of "$both/libsampler_java.so") <(names_of "$build/libsampler_java.so")
  if command -v qemu-aarch64 >/dev/null; then
    run_aarch64 "$both"
  fi
}

# run_aarch64 DIRECTORY: README.md's program, in C, with the library there.
run_aarch64() {
  local root=$binding/../..
  aarch64-linux-gnu-gcc -I"$root/include" "$root/examples/minimal.c" -o "$1/minimal" "$1/libsampler.so.1"
  diff <(grep '^step ' "$root/README.md") \
    <(qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$1" "$1/minimal")
}

# What a library exports.
names_of() {
  nm --dynamic --defined-only "$1" | sed -n 's/.* T //p' | sort
}

classes_of() {
  jar --list --file "$1" | grep '[.]class$\|[.]so' | sort
}

check_maven() {
  local folder=$work_dir/maven debian=/usr/share/maven-repo plugin
  local maven=(mvn --offline --batch-mode --quiet -Dstyle.color=never --file "$folder/pom.xml"
    "-Dmaven.repo.local=$folder/repository" "-Dsampler.natives=$build/natives")
  command -v mvn >/dev/null || skip "mvn is not installed"
  rm -rf "$folder"
  mkdir -p "$folder/repository"
  cp -r "$binding/pom.xml" "$binding/src" "$folder"
  "${maven[@]}" validate
  for plugin in compiler resources jar surefire; do
    [ -e "$debian/org/apache/maven/plugins/maven-$plugin-plugin" ] ||
      skip "validated; libmaven-$plugin-plugin-java or its like is not installed"
  done
  cp -rs "$debian/." "$folder/repository" # where Maven writes, too
  "${maven[@]}" package
  diff <(classes_of "$folder"/target/sampler-*.jar) <(classes_of "$jar")
}

run_on_device() {
  mkdir -p "$work_dir/fake_cuda"
  cp "$build/libsampler_java.so" "$1" "$work_dir/fake_cuda"
  run_class VectorsTest -Dsampler.test.deviceReachesHost=true \
    -Dlibsampler.java.library="$work_dir/fake_cuda/libsampler_java.so"
}

# printed_by PROGRAM: what its last lines say that it prints.
printed_by() {
  sed '1,/^\/\/ Prints:$/d; s|^//   ||' "$binding/examples/$1.java"
}

# By class path, and Readme once more by module path. docs/java.md shows parts of them.
check_examples() {
  local root=$binding/../.. run=(java -cp "$jar:$work_dir/examples") program
  python3 "$root/tests/bindings/check_excerpts.py" "$root/docs/java.md" java "$binding"/examples/*.java
  for program in Batch Serve; do
    diff <("${run[@]}" $program) <(printed_by $program)
  done
  diff <("${run[@]}" Readme) <(grep '^step ' "$root/README.md")
  diff <(java -p "$jar" --add-modules $package -cp "$work_dir/examples" Readme) \
    <(grep '^step ' "$root/README.md")
  diff <("${run[@]}" RecordedLogits "$root/examples/recorded_logits/logits.f16") \
    "$root/examples/recorded_logits/tokens.txt"
  "${run[@]}" Overhead | grep '^{"language": "java", "ns_per_call": [0-9.]*, "repeats": \[.*\]}$'
}

need_java
case $check in
  build) build_all ;;
  javadoc) cmake --build "$build" --target sampler_javadoc ;;
  run) run_class "${@:5}" ;;
  checked) run_checked ;;
  jar) check_jar ;;
  aarch64) check_aarch64 ;;
  maven) check_maven ;;
  device) run_on_device "$5" ;;
  examples) check_examples ;;
  *) echo "unknown check: $check"; exit 2 ;;
esac
