# ./run explain

# Where ./run was called: paths among the arguments are relative to it.
readonly called_from=$OLDPWD

explain() {
  local recorded=$PWD/examples/recorded_logits program=$PWD/build/release/examples/explain/sampler-explain
  need_for_build
  need_for_examples
  install_missing
  set_up_cmake
  build release -DSAMPLER_BUILD_TESTS=OFF -DSAMPLER_CUDA=OFF -- sampler-explain
  if [ $# -gt 0 ]; then
    (cd "$called_from" && "$program" "$@")
    return
  fi
  heading "what llama.cpp's stages do to a row of a small GPT-2; build/explain.svg is a plot of it"
  "$program" "$recorded/logits.f16" --cols 2048 --row 32 --history "$(head -n 2 "$recorded/tokens.txt")" \
    --params '{"repeat_penalty": 1.1, "logit_bias": {"13": false}, "top_k": 100, "typical_p": 0.9}' \
    --seed 1 --offset 32 --tokenizer examples/tiny_gpt2/target --top 14 --svg build/explain.svg
}
