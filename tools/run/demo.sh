# ./run demo, in C and in other languages.

demo() {
  need_for_build
  need_for_examples
  install_missing
  set_up_cmake
  build release -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_CUDA=OFF -- generate
  heading "a small GPT-2 continues a sentence"
  generate_demo --length 120 --seed 1
  heading "a smaller one drafts for it, as far as that is measured to pay"
  generate_demo --length 180 --seed 1 --mode speculative --draft examples/tiny_gpt2/draft \
    --gamma 6 --measured --repeats 21
}

generate_demo() {
  build/release/examples/generate/generate --model examples/tiny_gpt2/target \
    --prompt "Once upon a time" --temperature 0.8 --top-p 0.95 "$@"
}

# The library, and the program in C that other languages are compared with, for `demo LANGUAGE`.
readonly demo_prefix=$PWD/build/demo-prefix

build_for_bindings() {
  need_for_build
  need_for_examples
  install_missing
  set_up_cmake
  build release -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_CUDA=OFF -- sampler sampler_static recorded_logits
  rm -rf "$demo_prefix"
  logged install-demo cmake --install build/release --prefix "$demo_prefix"
  LD_LIBRARY_PATH=$(dirname "$(find "$demo_prefix" -name libsampler.so)")
  export LD_LIBRARY_PATH PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
}

# compare_with_c LANGUAGE COMMAND...: the command prints tokens drawn from the file that is its last
# argument.
compare_with_c() {
  local logits=$PWD/examples/recorded_logits/logits.f16 tokens
  heading "tokens drawn from recorded logits in $1"
  tokens=$("${@:2}" "$logits")
  echo "$tokens"
  [ "$tokens" = "$(build/release/examples/recorded_logits "$logits")" ] || fail "in C they are others"
  echo "They are the same in C."
}

demo_go() {
  need golang-go command -v go
  build_for_bindings
  heading "building the Go binding"
  logged build-go env -C bindings/go GOFLAGS=-mod=mod GOPROXY=off GOCACHE="$PWD/build/go-cache" \
    go build -o "$PWD/build/recorded_logits_go" ./examples/recorded_logits
  compare_with_c Go build/recorded_logits_go
}

demo_java() {
  local build=$PWD/build/demo-java
  need openjdk-17-jdk-headless has_jdk
  build_for_bindings
  heading "building the Java binding"
  logged configure-java cmake -G Ninja -S bindings/java -B "$build" -DCMAKE_PREFIX_PATH="$demo_prefix"
  logged build-java cmake --build "$build"
  logged build-java-example javac -cp "$build/sampler.jar" -d "$build/examples" \
    bindings/java/examples/RecordedLogits.java
  compare_with_c Java java -cp "$build/sampler.jar:$build/examples" RecordedLogits
}

demo_python() {
  local build=$PWD/build/demo-python
  need python3-dev has_python_headers
  build_for_bindings
  heading "building the Python package"
  logged configure-python cmake -G Ninja -S bindings/python -B "$build" -DLIBSAMPLER_SYSTEM=ON \
    -DCMAKE_PREFIX_PATH="$demo_prefix"
  logged build-python cmake --build "$build"
  compare_with_c Python env PYTHONPATH="$build/package" python3 \
    bindings/python/examples/recorded_logits.py
}

demo_rust() {
  need rustc command -v rustc
  need cargo command -v cargo
  build_for_bindings
  heading "building the Rust crates"
  logged build-rust env -C bindings/rust CARGO_TARGET_DIR="$PWD/build/rust" \
    CARGO_HOME="$PWD/build/cargo-home" \
    cargo build --offline --locked --release --example recorded_logits
  compare_with_c Rust build/rust/release/examples/recorded_logits
}
