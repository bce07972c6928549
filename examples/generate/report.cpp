#include "report.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "error.h"

namespace generate {

namespace {

using Json = nlohmann::ordered_json;

bool uses_drafts(Mode mode) {
  return mode == Mode::kSpeculative || mode == Mode::kNgram;
}

double tokens_per_second(const Generation &generation) {
  return static_cast<double>(generation.stats.num_new_tokens) / generation.times.total_seconds;
}

// Of the loop and the library, that is, of all but the models.
double sampling_share(const GenerationTimes &times) {
  return 1 - (times.target_seconds + times.drafter_seconds) / times.total_seconds;
}

void print_times(const Generation &generation) {
  const GenerationTimes &times = generation.times;
  const auto num_decoded =
      generation.stats.num_new_tokens - static_cast<std::int64_t>(generation.continuations.size());
  if (times.first_token_seconds) {
    std::fprintf(stderr, "time to first token %.2f ms, ", 1e3 * *times.first_token_seconds);
    if (num_decoded > 0) {
      std::fprintf(
          stderr, "then %.0f tokens/s, ",
          static_cast<double>(num_decoded) / (times.total_seconds - *times.first_token_seconds));
    }
  }
  std::fprintf(stderr, "sampling took %.1f %% of the time\n", 100 * sampling_share(times));
}

// Six digits behind the point are more than any of the numbers means.
double rounded(double value) {
  return std::round(1e6 * value) / 1e6;
}

Json options_as_json(const GenerationOptions &options) {
  Json json;
  json["mode"] = mode_name(options.mode);
  json["samples"] = options.num_samples;
  json["cache"] = options.use_cache;
  if (options.mode == Mode::kBeam) {
    json["beams"] = options.beam.num_beams;
    json["beam_top_k"] = options.beam.top_k;
    json["alpha"] = rounded(options.beam.alpha);
    return json;
  }
  json["seed"] = options.seed;
  json["temperature"] = rounded(options.sampling.temperature);
  json["top_k"] = options.sampling.top_k;
  json["top_p"] = rounded(options.sampling.top_p);
  json["min_p"] = rounded(options.sampling.min_p);
  if (uses_drafts(options.mode)) json["gamma"] = options.draft.gamma;
  if (options.mode == Mode::kSpeculative) {
    json["adaptive"] = options.draft.adaptive_gamma;
    json["gamma_min"] = options.draft.gamma_min;
    json["gamma_max"] = options.draft.gamma_max > 0 ? options.draft.gamma_max : options.draft.gamma;
    json["ema_beta"] = rounded(options.draft.ema_beta);
  }
  if (options.mode == Mode::kNgram) {
    json["ngram_order"] = options.ngram.order;
    json["filler_top_k"] = options.ngram.filler_top_k;
  }
  return json;
}

Json times_as_json(const Generation &generation) {
  Json json;
  json["new_tokens"] = generation.stats.num_new_tokens;
  json["rounds"] = generation.stats.num_rounds;
  json["target_forwards"] = generation.stats.target_forwards;
  json["seconds"] = rounded(generation.times.total_seconds);
  json["target_seconds"] = rounded(generation.times.target_seconds);
  return json;
}

Json drafts_as_json(const Generation &generation) {
  const sampler_generation_stats &stats = generation.stats;
  Json json;
  json["drafted"] = stats.num_drafted;
  json["accepted"] = stats.num_accepted;
  json["acceptance_rate"] = rounded(stats.acceptance_rate);
  json["drafter_forwards"] = stats.drafter_forwards;
  json["drafter_seconds"] = rounded(generation.times.drafter_seconds);
  return json;
}

}  // namespace

void print_report(const Arguments &arguments, const Generation &generation,
                  const Generation *autoregressive) {
  print_times(generation);
  const sampler_generation_stats &stats = generation.stats;
  if (uses_drafts(arguments.generation.mode)) {
    std::fprintf(stderr, "accepted %lld of %lld drafts, %.1f %%, in %lld rounds\n",
                 static_cast<long long>(stats.num_accepted),
                 static_cast<long long>(stats.num_drafted), 100 * stats.acceptance_rate,
                 static_cast<long long>(stats.num_rounds));
  }
  if (autoregressive == nullptr) return;
  const double rate = tokens_per_second(generation);
  const double autoregressive_rate = tokens_per_second(*autoregressive);
  std::fprintf(stderr,
               "%.0f tokens/s in all, %.2f times the %.0f tokens/s of an autoregressive run of the "
               "same prompts behind it\n",
               rate, rate / autoregressive_rate, autoregressive_rate);
}

void append_json(const Arguments &arguments, const Generation &generation,
                 const Generation *autoregressive) {
  Json json = options_as_json(arguments.generation);
  json["prompts"] = arguments.prompts.size();
  json.update(times_as_json(generation));
  if (uses_drafts(arguments.generation.mode)) json.update(drafts_as_json(generation));
  if (autoregressive != nullptr) {
    json["autoregressive"] = times_as_json(*autoregressive);
    json["speed_up"] = rounded(tokens_per_second(generation) / tokens_per_second(*autoregressive));
  }
  std::ofstream file(arguments.json, std::ios::app);
  file << json.dump() << "\n" << std::flush;
  if (!file) throw Error(arguments.json + ": cannot be written");
}

}  // namespace generate
