// libsampler in llama.cpp: the same texts and distributions as of its own chain, and both times.
//
//   engine LIBSAMPLER MODEL WIDE_MODEL REFERENCE
//
// MODEL is the target of examples/tiny_gpt2 and REFERENCE its reference.json; WIDE_MODEL is the
// same with a vocabulary as large as those of today's models.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "../../../statistics/chi_square.h"
#include "chains.h"
#include "model.h"

namespace llama_peer {
namespace {

constexpr int64_t kLargeVocab = 128256;

int num_failures = 0;

const char *checked(bool holds) {
  num_failures += holds ? 0 : 1;
  return holds ? "ok" : "WRONG";
}

double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Settings defaults() {
  Settings settings;
  settings.name = "defaults";
  return settings;
}
Settings edits() {
  Settings settings;
  settings.name = "penalties, DRY";
  settings.penalty_repeat = 1.1f;
  settings.penalty_freq = settings.penalty_present = 0.1f;
  settings.dry_multiplier = 0.8f;
  return settings;
}
Settings every_stage() {
  Settings settings = edits();
  settings.name = "every stage";
  settings.top_n_sigma = 2.5f;
  settings.typ_p = 0.95f;
  settings.xtc_probability = 0.5f;
  return settings;
}
Settings without_top_k() {
  Settings settings;
  settings.name = "top-k off";
  settings.top_k = 0;
  return settings;
}
Settings greedy(Settings settings) {
  settings.name += ", temp 0";
  settings.temp = 0;
  return settings;
}

// ---- Ways to draw a token ----

enum class Way { kOwn, kArray, kRow };
constexpr Way kWays[] = {Way::kOwn, Way::kArray, Way::kRow};

// As llama_sampler_sample() does, for logits that are no context's.
class Candidates {
 public:
  llama_token apply(llama_sampler *smpl, const float *logits, int64_t num_vocab) {
    fill(logits, num_vocab);
    llama_sampler_apply(smpl, &array_);
    return array_.selected < 0 ? -1 : array_.data[array_.selected].id;
  }
  std::set<llama_token> kept(llama_sampler *smpl, const float *logits, int64_t num_vocab) {
    fill(logits, num_vocab);
    llama_sampler_apply(smpl, &array_);
    std::set<llama_token> result;
    for (size_t i = 0; i < array_.size; ++i)
      if (array_.data[i].logit > -INFINITY) result.insert(array_.data[i].id);
    return result;
  }

 private:
  void fill(const float *logits, int64_t num_vocab) {
    data_.resize(size_t(num_vocab));
    for (llama_token id = 0; id < num_vocab; ++id) data_[size_t(id)] = {id, logits[id], 0.0f};
    array_ = {data_.data(), data_.size(), -1, false};
  }
  std::vector<llama_token_data> data_;
  llama_token_data_array array_ = {};
};

// Draws from the last logits of the model, and accepts.
llama_token step(Model *model, llama_sampler *smpl, Way way) {
  if (way != Way::kRow) return llama_sampler_sample(smpl, model->context(), -1);
  const llama_token id = sampler_llama_sample(smpl, llama_get_logits_ith(model->context(), -1));
  llama_sampler_accept(smpl, id);
  return id;
}

struct Generated {
  Text text;
  std::vector<double> sampler_us, model_us;  // of each token
};

Generated generate(Model *model, llama_sampler *smpl, Way way, const Text &prompt, int count,
                   bool accepts_prompt = true) {
  Generated result;
  llama_sampler_reset(smpl);
  for (const llama_token id : prompt)
    if (accepts_prompt) llama_sampler_accept(smpl, id);
  model->begin();
  model->decode(prompt);
  for (int i = 0; i < count; ++i) {
    const double begin = microseconds();
    result.text.push_back(step(model, smpl, way));
    const double drawn = microseconds();
    model->decode({result.text.back()});
    result.sampler_us.push_back(drawn - begin);
    result.model_us.push_back(microseconds() - drawn);
  }
  return result;
}

// ---- The model is the model ----

struct Prompt {
  std::string text;
  Text ids, greedy;
};

std::vector<Prompt> prompts_of(const std::string &path) {
  std::vector<Prompt> result;
  for (const auto &entry : nlohmann::json::parse(std::ifstream(path))) {
    if (entry["model"] == "target")
      result.push_back({entry["prompt"], entry["ids"], entry["greedy_next_20"]});
  }
  return result;
}

void check_model(Model *model, const std::vector<Prompt> &prompts) {
  const Sampler chain = llamas(greedy(defaults()), model->num_vocab(), 1);
  bool tokens = true, texts = true;
  for (const Prompt &prompt : prompts) {
    tokens &= model->tokens_of(prompt.text) == prompt.ids;
    texts &= generate(model, chain.get(), Way::kOwn, prompt.ids, 20).text == prompt.greedy;
  }
  std::printf("\nthe model in llama.cpp: tokens of %zu prompts %s, 20 greedy tokens each %s\n",
              prompts.size(), checked(tokens), checked(texts));
}

// ---- The same texts ----

void check_greedy(Model *model, const std::vector<Prompt> &prompts, const char *library) {
  constexpr int kCount = 150;
  std::printf("\ngreedy texts of %d tokens, as llama.cpp's chain writes them\n", kCount);
  for (const Settings &settings : {greedy(defaults()), greedy(edits())}) {
    const Sampler own = llamas(settings, model->num_vocab(), 1);
    const Sampler adapter = ours(settings, model->num_vocab(), 1, library);
    for (const Prompt &prompt : prompts) {
      const Text text = generate(model, own.get(), Way::kOwn, prompt.ids, kCount).text;
      const auto same = [&](Way way) {
        return generate(model, adapter.get(), way, prompt.ids, kCount).text == text;
      };
      std::printf("  %-24s", settings.name.c_str());
      std::printf(" array %s", checked(same(Way::kArray)));
      std::printf(", row %s: ", checked(same(Way::kRow)));
      std::string begin = model->text_of({text.begin(), text.begin() + 12});
      std::replace(begin.begin(), begin.end(), '\n', '/');
      std::printf("%s\n", begin.c_str());
    }
  }
}

// ---- After other samplers ----

Sampler chain_of(std::initializer_list<llama_sampler *> samplers) {
  Sampler chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  for (llama_sampler *const smpl : samplers) llama_sampler_chain_add(chain.get(), smpl);
  return chain;
}

void check_chain(Model *model, const Text &prompt, const char *library) {
  constexpr int kCount = 60;
  const int64_t num_vocab = model->num_vocab();
  Settings five = defaults();
  five.top_k = 5;
  const Sampler alone = ours(five, num_vocab, 7, library);
  const Text text = generate(model, alone.get(), Way::kRow, prompt, kCount).text;
  const Sampler after =
      chain_of({llama_sampler_init_top_k(5), ours(defaults(), num_vocab, 7, library).release()});
  const Text after_text = generate(model, after.get(), Way::kArray, prompt, kCount).text;
  const Sampler grammar =
      chain_of({llama_sampler_init_grammar(model->vocab(), "root ::= [a-z ]*", "root"),
                ours(edits(), num_vocab, 7, library).release()});
  const std::string words =
      model->text_of(generate(model, grammar.get(), Way::kArray, prompt, kCount, false).text);
  const bool is_words = std::all_of(words.begin(), words.end(),
                                    [](char c) { return c == ' ' || (c >= 'a' && c <= 'z'); });

  // A clone writes what the one it was made of writes; a copy takes back.
  const Sampler chain = chain_of({ours(edits(), num_vocab, 7, library).release()});
  generate(model, chain.get(), Way::kArray, prompt, kCount);
  const Sampler clone(llama_sampler_clone(chain.get()));
  const auto go_on = [&](llama_sampler *smpl) {
    Text tokens;
    for (int i = 0; i < 10; ++i) tokens.push_back(step(model, smpl, Way::kArray));
    return tokens;
  };
  const Text next = go_on(chain.get());
  llama_sampler_copy(clone.get(), chain.get());
  const Text again = go_on(chain.get());
  std::printf("\nin llama.cpp's chains: after top-k %s, ", checked(after_text == text));
  std::printf("after a grammar %s (%.30s), ", checked(is_words), words.c_str());
  std::printf("clone %s, ", checked(go_on(clone.get()) == next));
  std::printf("copy %s\n", checked(again == next));
}

// ---- The same distribution ----

// A text that is the same from the end after each period: each accepted period gives other random
// numbers and leaves the logits as they are.
Text period_of(const Prompt &prompt) {
  Text period;
  for (size_t i = 0; i < 8; ++i) period.push_back(prompt.greedy[i % 6]);
  return period;
}

using Counts = std::map<llama_token, std::array<double, 2>>;

// The chance that two samples of equal size of one distribution differ as much.
double chance_of(const Counts &counts, int *out_cells) {
  constexpr double kFewest = 50;
  double statistic = 0;
  std::array<double, 2> rare = {};
  int cells = 0;
  const auto add = [&](const std::array<double, 2> &cell) {
    const double sum = cell[0] + cell[1];
    statistic += sum > 0 ? (cell[0] - cell[1]) * (cell[0] - cell[1]) / sum : 0;
    cells += sum > 0 ? 1 : 0;
  };
  for (const auto &[id, cell] : counts) {
    if (cell[0] + cell[1] >= kFewest) {
      add(cell);
    } else {
      rare[0] += cell[0];
      rare[1] += cell[1];
    }
  }
  add(rare);
  *out_cells = cells;
  return cells < 2 ? 1 : statistics_test::chi_square_tail(statistic, cells - 1);
}

struct Draws {
  Counts counts;
  bool same_kept = false;
};

Draws draw_many(const float *logits, int64_t num_vocab, const Text &period,
                const Settings &llama_settings, const Settings &our_settings, const char *library,
                uint32_t seed, int num_draws) {
  Draws result;
  Candidates candidates;
  Settings certain = llama_settings;
  certain.xtc_probability = 0;
  const Sampler own = llamas(llama_settings, num_vocab, seed);
  const Sampler filters = llamas(certain, num_vocab, seed, false);
  const Sampler adapter = ours(our_settings, num_vocab, seed + 1, library);
  const auto accept_period = [&](llama_sampler *smpl) {
    for (const llama_token id : period) llama_sampler_accept(smpl, id);
  };
  for (int i = 0; i < 20; ++i) {  // longer than all windows
    for (const Sampler *smpl : {&own, &filters, &adapter}) accept_period(smpl->get());
  }
  for (int i = 0; i < num_draws; ++i) {
    ++result.counts[candidates.apply(own.get(), logits, num_vocab)][0];
    ++result.counts[sampler_llama_sample(adapter.get(), logits)][1];
    accept_period(adapter.get());
  }
  std::set<llama_token> drawn;
  for (const auto &[id, cell] : result.counts)
    if (cell[1] > 0) drawn.insert(id);
  result.same_kept = drawn == candidates.kept(filters.get(), logits, num_vocab);
  return result;
}

void check_distribution(Model *model, const std::vector<Prompt> &prompts, const char *library) {
  constexpr int kDraws = 100000;
  constexpr double kLeastChance = 1e-4;  // seeds are fixed
  std::printf(
      "\n%d draws of each from the same logits; all that llama.cpp keeps is drawn here, and "
      "nothing else\n  %-24s %6s %9s %10s\n",
      kDraws, "", "cells", "p-value", "kept");
  uint32_t seed = 1;
  const auto show = [&](const std::string &name, const Draws &draws, bool equal) {
    int cells = 0;
    const double chance = chance_of(draws.counts, &cells);
    std::printf("  %-24s %6d %9.2g %s", name.c_str(), cells, chance,
                checked((chance > kLeastChance) == equal));
    std::printf(" %6zu %s\n", draws.counts.size(), equal ? checked(draws.same_kept) : "");
  };
  for (const Settings &settings : {defaults(), edits(), every_stage()}) {
    for (const Prompt &prompt : prompts) {
      model->begin();
      const float *logits = model->decode(prompt.ids);
      show(settings.name,
           draw_many(logits, model->num_vocab(), period_of(prompt), settings, settings, library,
                     seed += 2, kDraws),
           true);
    }
  }
  Settings other = defaults();
  other.temp = 0.85f;
  model->begin();
  const float *logits = model->decode(prompts[0].ids);
  show("0.8 against 0.85",
       draw_many(logits, model->num_vocab(), period_of(prompts[0]), defaults(), other, library,
                 seed + 2, kDraws),
       false);
}

// ---- Times ----

// Logits as of a language model.
std::vector<float> language_row(int64_t num_vocab) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 0.3);
  std::vector<float> row;
  for (int64_t i = 0; i < num_vocab; ++i)
    row.push_back(float(-1.1 * std::log(double(i + 1)) + normal(random)));
  std::shuffle(row.begin(), row.end(), random);
  return row;
}

constexpr int kRuns = 100, kFewestRuns = 10, kCalls = 10;
constexpr double kLongUs = 5e6;  // of all runs, then there are no more

void print_times(const char *name, const std::array<double, 3> &us) {
  std::printf("  %-16s %10.1f %10.1f %6.1fx %10.1f %6.1fx", name, us[0], us[1], us[0] / us[1],
              us[2], us[0] / us[2]);
}

// Microseconds of a token, each the least of several means of kCalls.
void time_alone(int64_t num_vocab, const char *library) {
  std::printf("\nsampling alone, V = %lld, µs a token: array of candidates, chain, accept\n",
              static_cast<long long>(num_vocab));
  std::printf("  %-16s %10s %10s %7s %10s\n", "", "llama.cpp", "array", "", "row");
  const std::vector<float> logits = language_row(num_vocab);
  for (const Settings &settings : {defaults(), edits(), every_stage(), without_top_k()}) {
    const Sampler own = llamas(settings, num_vocab, 1);
    const Sampler adapter = ours(settings, num_vocab, 1, library);
    std::array<double, 3> least = {1e9, 1e9, 1e9};
    Candidates candidates;
    const double start = microseconds();
    for (int run = 0; run < kRuns; ++run) {
      if (run >= kFewestRuns && microseconds() - start > kLongUs) break;
      for (const Way way : kWays) {
        llama_sampler *const smpl = (way == Way::kOwn ? own : adapter).get();
        const double begin = microseconds();
        for (int i = 0; i < kCalls; ++i) {
          const llama_token id = way == Way::kRow
                                     ? sampler_llama_sample(smpl, logits.data())
                                     : candidates.apply(smpl, logits.data(), num_vocab);
          llama_sampler_accept(smpl, id);
        }
        double &us = least[size_t(way)];
        us = std::min(us, (microseconds() - begin) / kCalls);
      }
    }
    print_times(settings.name.c_str(), least);
    std::printf("\n");
  }
}

// Drafts taken back.
void time_copy(int64_t num_vocab, const char *library) {
  std::printf("\ndrafts taken back by llama_sampler_copy() after 4,000 tokens, V = %lld, µs\n",
              static_cast<long long>(num_vocab));
  for (const bool is_ours : {false, true}) {
    Sampler smpl = is_ours ? ours(edits(), num_vocab, 1, library) : llamas(edits(), num_vocab, 1);
    for (int i = 0; i < 4000; ++i) llama_sampler_accept(smpl.get(), i * 7 % 1000);
    const Sampler before(llama_sampler_clone(smpl.get()));
    double least = 1e9;
    for (int run = 0; run < kRuns; ++run) {
      const double begin = microseconds();
      llama_sampler_copy(before.get(), smpl.get());
      least = std::min(least, microseconds() - begin);
    }
    std::printf("  %-16s %10.1f\n", is_ours ? "adapter" : "llama.cpp", least);
  }
}

// The mean over the tokens of a text, of each the least of several times that it was written.
class Least {
 public:
  void take(const std::vector<double> &us) {
    if (us_.empty()) us_ = us;
    for (size_t i = 0; i < us.size(); ++i) us_[i] = std::min(us_[i], us[i]);
  }
  double mean() const { return std::accumulate(us_.begin(), us_.end(), 0.0) / double(us_.size()); }

 private:
  std::vector<double> us_;
};

void time_generation(Model *model, const Text &prompt, const char *library) {
  constexpr int kTexts = 7, kCount = 100;
  std::printf("\ngeneration, V = %lld, one thread, µs a token: sampling, and its share of all\n",
              static_cast<long long>(model->num_vocab()));
  for (const Settings &settings : {defaults(), edits()}) {
    const Sampler own = llamas(settings, model->num_vocab(), 1);
    const Sampler adapter = ours(settings, model->num_vocab(), 1, library);
    std::array<Least, 3> sampling;
    Least rest;
    for (int text = 0; text < kTexts; ++text) {
      for (const Way way : kWays) {
        llama_sampler *const smpl = (way == Way::kOwn ? own : adapter).get();
        const Generated one = generate(model, smpl, way, prompt, kCount);
        sampling[size_t(way)].take(one.sampler_us);
        rest.take(one.model_us);
      }
    }
    std::array<double, 3> us;
    for (size_t i = 0; i < us.size(); ++i) us[i] = sampling[i].mean();
    print_times(settings.name.c_str(), us);
    std::printf("  the model %.0f; shares", rest.mean());
    for (const double one : us) std::printf(" %.2f %%", 100 * one / (one + rest.mean()));
    std::printf("\n");
  }
}

void run(char **arguments) {
  const char *const library = arguments[0];
  llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
  llama_backend_init();
  std::printf("llama.cpp %s\n", llama_version());
  const std::vector<Prompt> prompts = prompts_of(arguments[3]);
  Model model(arguments[1]), wide(arguments[2]);
  check_model(&model, prompts);
  check_greedy(&model, prompts, library);
  check_chain(&model, prompts[0].ids, library);
  check_distribution(&model, prompts, library);
  time_alone(model.num_vocab(), library);
  time_alone(kLargeVocab, library);
  time_copy(kLargeVocab, library);
  time_generation(&model, prompts[0].ids, library);
  time_generation(&wide, prompts[0].ids, library);
}

}  // namespace
}  // namespace llama_peer

int main(int argc, char **argv) try {
  if (argc != 5) {
    std::fprintf(stderr, "usage: engine LIBSAMPLER MODEL WIDE_MODEL REFERENCE\n");
    return 2;
  }
  llama_peer::run(argv + 1);
  if (llama_peer::num_failures == 0) return 0;
  std::fprintf(stderr, "%d checks failed\n", llama_peer::num_failures);
  return 1;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
