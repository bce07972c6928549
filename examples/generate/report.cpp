#include "report.h"

#include <algorithm>
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

double median_tokens_per_second(const std::vector<Generation> &runs) {
  std::vector<double> rates;
  for (const Generation &run : runs) rates.push_back(tokens_per_second(run));
  std::sort(rates.begin(), rates.end());
  const std::size_t middle = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
}

double speed_up(const Comparison &comparison) {
  return median_tokens_per_second(comparison.runs) /
         median_tokens_per_second(comparison.autoregressive);
}

// What was measured, whichever way it went.
void print_comparison(Mode mode, const Comparison &comparison) {
  const double ratio = speed_up(comparison);
  const std::size_t num_runs = comparison.runs.size();
  std::fprintf(stderr, "%.0f tokens/s, plain decoding %.0f tokens/s (%s%zu run%s each, in turn)\n",
               median_tokens_per_second(comparison.runs),
               median_tokens_per_second(comparison.autoregressive),
               num_runs > 1 ? "medians of " : "", num_runs, num_runs > 1 ? "s" : "");
  const char *const subject = mode == Mode::kBeam ? "beam search" : "speculation";
  if (mode == Mode::kBeam || ratio > 1) {
    std::fprintf(stderr, "%s: %.2f times the speed of plain decoding\n", subject, ratio);
    return;
  }
  std::int64_t num_plain = 0, num_rounds = 0;
  for (const Generation &run : comparison.runs) {
    num_plain += run.stats.num_plain_rounds;
    num_rounds += run.stats.num_rounds;
  }
  std::fprintf(stderr,
               "%s does not pay here: %.2f times the speed of plain decoding; 0 drafts in %lld of "
               "%lld rounds\n",
               subject, ratio, static_cast<long long>(num_plain),
               static_cast<long long>(num_rounds));
}

// The share of the loop and the library: all but the models.
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

// No number means more than six digits after the point.
double rounded(double value) {
  return std::round(1e6 * value) / 1e6;
}

Json options_as_json(const GenerationOptions &options) {
  Json json;
  json["mode"] = mode_name(options.mode);
  json["samples"] = options.num_samples;
  json["cache"] = options.use_cache;
  json["cpu_times"] = options.clock == Clock::kProcess;
  if (options.mode == Mode::kBeam) {
    json["beams"] = options.beam.num_beams;
    json["beam_top_k"] = options.beam.top_k;
    json["alpha"] = rounded(options.beam.alpha);
    json["pool"] = options.beam.has_pool;
    return json;
  }
  json["seed"] = options.seed;
  json["temperature"] = rounded(options.sampling.temperature);
  json["top_k"] = options.sampling.top_k;
  json["top_p"] = rounded(options.sampling.top_p);
  json["min_p"] = rounded(options.sampling.min_p);
  if (uses_drafts(options.mode)) {
    json["gamma"] = options.draft.gamma;
    json["measured"] = options.draft.adaptive_gamma == SAMPLER_GAMMA_MEASURED;
    json["acceptance"] = acceptance_name(options.acceptance.rule);
  }
  if (options.mode == Mode::kSpeculative) {
    json["adaptive"] = options.draft.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY;
    json["gamma_min"] = options.draft.gamma_min;
    json["gamma_max"] = options.draft.gamma_max > 0 ? options.draft.gamma_max : options.draft.gamma;
    json["ema_beta"] = rounded(options.draft.ema_beta);
    json["least_draft_probability"] = rounded(options.draft.least_draft_probability);
    json["draft_top_k"] = options.draft.draft_top_k;
  }
  if (options.mode == Mode::kNgram) {
    json["lookup"] = options.ngram.is_lookup;
    json["ngram_order"] = options.ngram.order;
    json["filler_top_k"] = options.ngram.is_lookup ? 0 : options.draft.filler_top_k;
    json["stop_if_unknown"] = options.draft.stop_if_unknown != 0;
    json["least_count"] = options.draft.ngram_least_count;
    json["least_share"] = rounded(options.draft.ngram_least_share);
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

// Counts and times of several runs, added up.
Json sums_as_json(const std::vector<Generation> &runs, bool has_drafts) {
  Generation sum;
  for (const Generation &run : runs) {
    sum.stats.num_new_tokens += run.stats.num_new_tokens;
    sum.stats.num_rounds += run.stats.num_rounds;
    sum.stats.target_forwards += run.stats.target_forwards;
    sum.stats.num_drafted += run.stats.num_drafted;
    sum.stats.num_accepted += run.stats.num_accepted;
    sum.times.total_seconds += run.times.total_seconds;
    sum.times.target_seconds += run.times.target_seconds;
    sum.times.drafter_seconds += run.times.drafter_seconds;
  }
  Json json = times_as_json(sum);
  if (has_drafts) {
    json["drafted"] = sum.stats.num_drafted;
    json["accepted"] = sum.stats.num_accepted;
    json["drafter_seconds"] = rounded(sum.times.drafter_seconds);
  }
  return json;
}

Json drafts_as_json(const Generation &generation) {
  const sampler_generation_stats &stats = generation.stats;
  Json json;
  json["drafted"] = stats.num_drafted;
  json["accepted"] = stats.num_accepted;
  json["acceptance_rate"] = rounded(stats.acceptance_rate);
  json["rounds_without_drafts"] = stats.num_plain_rounds;
  json["drafter_forwards"] = stats.drafter_forwards;
  json["drafter_seconds"] = rounded(generation.times.drafter_seconds);
  return json;
}

}  // namespace

void print_report(const Arguments &arguments, const Generation &generation,
                  const Comparison *comparison) {
  print_times(generation);
  const sampler_generation_stats &stats = generation.stats;
  if (uses_drafts(arguments.generation.mode)) {
    std::fprintf(stderr, "accepted %lld of %lld drafts, %.1f %%, in %lld rounds\n",
                 static_cast<long long>(stats.num_accepted),
                 static_cast<long long>(stats.num_drafted), 100 * stats.acceptance_rate,
                 static_cast<long long>(stats.num_rounds));
  }
  if (comparison != nullptr) print_comparison(arguments.generation.mode, *comparison);
}

void append_json(const Arguments &arguments, const Generation &generation,
                 const Comparison *comparison) {
  Json json = options_as_json(arguments.generation);
  json["prompts"] = arguments.prompts.size();
  json.update(times_as_json(generation));
  if (uses_drafts(arguments.generation.mode)) json.update(drafts_as_json(generation));
  if (comparison != nullptr) {
    json["autoregressive"] = times_as_json(comparison->autoregressive[0]);
    json["repeats"] = comparison->runs.size();
    json["speed_up"] = rounded(speed_up(*comparison));
    json["all_runs"] = sums_as_json(comparison->runs, uses_drafts(arguments.generation.mode));
    json["all_autoregressive_runs"] = sums_as_json(comparison->autoregressive, false);
  }
  std::ofstream file(arguments.json, std::ios::app);
  file << json.dump() << "\n" << std::flush;
  if (!file) throw Error(arguments.json + ": cannot be written");
}

}  // namespace generate
