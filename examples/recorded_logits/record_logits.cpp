// Records the logits that a model gives while a text of it is sampled from them.
//
//   record_logits MODEL_DIR OUT_FILE

#include <sampler/sampler.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <type_traits>
#include <vector>

#include "error.h"
#include "gpt2.h"
#include "tokenizer.h"

namespace {

constexpr int kNumSteps = 48;
const char *const kPrompt = "Once upon a time";

// To nearest, ties to even. |x| < 65504.
std::uint16_t to_f16(float x) {
  int exponent;
  std::frexp(x, &exponent);
  const int step = std::max(exponent - 11, -24);  // the elements' distance there is 2^step
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(x), -step)));
  const int magnitude = ((step + 25) << 10) + steps - 1024;
  return static_cast<std::uint16_t>(magnitude | (std::signbit(x) ? 0x8000 : 0));
}

struct DestroySampler {
  void operator()(sampler_t sampler) const { sampler_destroy(sampler); }
};
using Sampler = std::unique_ptr<std::remove_pointer_t<sampler_t>, DestroySampler>;

Sampler make_sampler(std::int64_t num_cols) {
  sampler_options options = sampler_options_default();
  options.max_rows = 1;
  options.max_cols = num_cols;
  sampler_t sampler = nullptr;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) {
    throw generate::Error(sampler_last_error());
  }
  return Sampler(sampler);
}

// As recorded_logits.c draws it.
std::int32_t draw(sampler_t sampler, const std::vector<std::uint16_t> &row, int step) {
  sampler_rows logits = {};
  logits.values = row.data();
  logits.num_rows = 1;
  logits.num_cols = static_cast<std::int64_t>(row.size());
  logits.dtype = SAMPLER_F16;
  const auto offset = static_cast<std::uint64_t>(step);
  std::int32_t token_id;
  if (sampler_top_k_top_p(sampler, &logits, 50, 0.95f, 0.8f, 1, offset, &token_id, nullptr) !=
      SAMPLER_OK) {
    throw generate::Error(sampler_last_error());
  }
  return token_id;
}

// Writes each step's row to `file` and prints the text.
void record(const char *model_dir, std::ostream *file) {
  const generate::Gpt2Model model(model_dir);
  const auto tokenizer = generate::read_tokenizer(model_dir, model.config().vocab_size);
  const auto num_cols = static_cast<std::size_t>(model.config().vocab_size);
  const Sampler sampler = make_sampler(model.config().vocab_size);
  generate::Gpt2Sequence sequence(model.config());
  std::vector<std::int32_t> new_tokens = tokenizer->encode(kPrompt);
  std::vector<float> logits(num_cols);
  std::vector<std::uint16_t> row(num_cols);
  std::printf("%s", kPrompt);
  for (int step = 0; step < kNumSteps; ++step) {
    model.forward({{&sequence, new_tokens.data(), static_cast<int>(new_tokens.size())}},
                  logits.data());
    for (std::size_t i = 0; i < num_cols; ++i) row[i] = to_f16(logits[i]);
    file->write(reinterpret_cast<const char *>(row.data()),
                static_cast<std::streamsize>(row.size() * sizeof row[0]));
    new_tokens = {draw(sampler.get(), row, step)};
    std::printf("%s", tokenizer->token_bytes(new_tokens[0]).c_str());
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return std::fputs("usage: record_logits MODEL_DIR OUT_FILE\n", stderr), 2;
  try {
    std::ofstream file(argv[2], std::ios::binary);
    record(argv[1], &file);
    file.flush();
    if (!file) throw generate::Error("the logits cannot be written");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "record_logits: %s\n", error.what());
    return 1;
  }
}
