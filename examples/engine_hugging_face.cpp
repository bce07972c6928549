// Hugging Face's generation_config.json, and arguments of generate.
#include <algorithm>
#include <set>

#include "engine_table.h"

namespace engine_parameters {
namespace {

using P = sampler_params;

// [[ids, bias]]: the last id is biased where the text ends in the others.
void add_sequence_biases(const Value &value, Request *request) {
  constexpr char kRule[] = "pairs of a list of token ids and a number";
  if (!value.json.is_array()) value.fail(kRule);
  for (const Json &pair : value.json) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_array() || pair[0].empty()) {
      value.fail(kRule);
    }
    request->bias_contexts.resize(request->biased.size());
    Ids context;
    for (std::size_t i = 0; i + 1 < pair[0].size(); ++i) context.push_back(value.id_of(pair[0][i]));
    add_bias(value, pair[0].back(), pair[1], request);
    request->bias_contexts.push_back(context);
  }
}

void set_min_length(const Value &value, Request *request) {
  request->min_length = std::max(value.integer(), 0);
}

// [start, factor]: beyond `start` new tokens the ends gain with each one.
void set_exponential_decay(const Value &value, Request *request) {
  const Json &pair = value.json;
  if (!pair.is_array() || pair.size() != 2 || !Value::is_integer(pair[0]) ||
      !Value::is_f32(pair[1])) {
    value.fail("a pair of an integer and a number");
  }
  request->params.exponential_decay_start = pair[0].get<std::int32_t>();
  request->params.exponential_decay_factor = pair[1].get<float>();
}

void require_one_beam(const Value &value, Request *) {
  if (value.integer() != 1) value.fail("1: beams are sampler_beam_search's");
}

// 1 and more are off.
void set_top_p(const Value &value, Request *request) {
  request->params.top_p = std::min(value.number(), 1.0f);
}

bool samples(const Json &parameters) {
  const Json *const value = find(parameters, "do_sample");
  return value && *value == true;
}

// What changes the distribution is made with do_sample alone.
bool is_unused(const Json &parameters, const std::string &name) {
  static const Names names = {"temperature", "top_k",     "top_p",          "min_p",
                              "top_h",       "typical_p", "epsilon_cutoff", "eta_cutoff"};
  return names.count(name) > 0 && !samples(parameters);
}

void finish_hugging_face(const Json &parameters, Request *request) {
  if (!samples(parameters)) request->params.temperature = 0.0f;
  request->may_lack_end = true;
  for (const char *const name : {"bad_words_ids", "sequence_bias"}) {
    const Json *const list = find(parameters, name);
    if (list && list->empty()) {
      Value{name, *list}.fail("null or a list that is not empty, as Hugging Face has it");
    }
  }
  Ids words;
  for (const Ids &word : request->bad_words) words.insert(words.end(), word.begin(), word.end());
  Ids biased = request->biased;
  for (const Ids &context : request->bias_contexts) {
    biased.insert(biased.end(), context.begin(), context.end());
  }
  const char *const why = ", as Hugging Face has it";
  request->of_vocabulary = {{"bad_words_ids", words, why}, {"sequence_bias", biased, why}};
  // An end token is no bad word.
  const std::set<std::int32_t> stop(request->stop.begin(), request->stop.end());
  const auto is_stop = [&](const Ids &word) { return word.size() == 1 && stop.count(word[0]) > 0; };
  auto &bad_words = request->bad_words;
  bad_words.erase(std::remove_if(bad_words.begin(), bad_words.end(), is_stop), bad_words.end());
}

}  // namespace

Engine hugging_face() {
  Engine engine;
  engine.title = "Hugging Face";
  engine.base = "hugging_face";
  engine.parameters = {{"do_sample", [](const Value &value, Request *) { value.flag(); }},
                       {"temperature", set_number<&P::temperature>},
                       {"top_k", set_integer<&P::top_k>},
                       {"top_p", set_top_p},
                       {"min_p", set_number<&P::min_p>},
                       {"repetition_penalty", set_number<&P::repetition_penalty>},
                       {"typical_p", set_number<&P::typical_p>},
                       {"epsilon_cutoff", set_number<&P::epsilon_cutoff>},
                       {"eta_cutoff", set_number<&P::eta_cutoff>},
                       {"top_h", set_number<&P::top_h>},
                       {"no_repeat_ngram_size", set_integer<&P::no_repeat_ngram_size>},
                       {"bad_words_ids", set_words<&Request::bad_words>},
                       {"suppress_tokens", add_ids<&Request::banned>},
                       {"sequence_bias", add_sequence_biases},
                       {"eos_token_id", add_ids<&Request::stop>},
                       {"exponential_decay_length_penalty", set_exponential_decay},
                       {"min_new_tokens", set_integer<&P::min_new_tokens>},
                       {"min_length", set_min_length},
                       {"max_new_tokens", set_length},
                       {"num_beams", require_one_beam}};
  engine.ranges = {{"temperature", is_above_0, "above 0"},
                   {"top_k", is_at_least_0, "0, which is off, or at least 1"},
                   {"top_p", is_at_least_0, "at least 0"},
                   {"min_p", is_share, "in [0, 1]"},
                   {"top_h", is_share_above_0, "in (0, 1]"},
                   {"typical_p", is_above_0, "above 0"},
                   {"repetition_penalty", is_above_0, "above 0"},
                   {"max_new_tokens", [](double x) { return x >= 1; }, "at least 1"}};
  engine.undone = {
      {"encoder_repetition_penalty", {"1: there is no encoder here", {1}}},
      {"encoder_no_repeat_ngram_size", {"0: there is no encoder here", {0}}},
      {"forced_bos_token_id", {"left out; the preset sampler has forced_token_id", {}}},
      {"forced_eos_token_id", {"left out; the preset sampler has forced_token_id", {}}},
      {"begin_suppress_tokens", {"left out: bans are for the whole text", {}}},
      {"guidance_scale", {"1: there is no second model here", {1}}},
      {"watermarking_config", {"left out: calls of watermark.h have it", {}}},
      {"penalty_alpha", {"0: there is no contrastive search here", {0}}},
      {"dola_layers", {"left out: there are no layers here", {}}},
      {"diversity_penalty", {"0: beams are sampler_beam_search's", {0}}},
      {"num_beam_groups", {"1: beams are sampler_beam_search's", {1}}},
      {"constraints", {"left out: beams are sampler_beam_search's", {}}},
      {"force_words_ids", {"left out: beams are sampler_beam_search's", {}}},
      {"assistant_ensemble_weight", {"left out: drafts are verified without loss", {}}},
      {"token_healing", {"false: it needs the tokens' texts", {}}}};
  engine.ignored = {"_commit_hash",
                    "_from_model_config",
                    "assistant_confidence_threshold",
                    "assistant_early_exit",
                    "assistant_lookbehind",
                    "bos_token_id",
                    "cache_config",
                    "cache_implementation",
                    "compile_config",
                    "continuous_batching_config",
                    "decoder_start_token_id",
                    "disable_compile",
                    "early_stopping",
                    "is_assistant",
                    "length_penalty",
                    "low_memory",
                    "max_cache_len",
                    "max_length",
                    "max_matching_ngram_size",
                    "max_time",
                    "num_assistant_tokens",
                    "num_assistant_tokens_schedule",
                    "num_return_sequences",
                    "output_attentions",
                    "output_hidden_states",
                    "output_logits",
                    "output_scores",
                    "pad_token_id",
                    "prefill_chunk_size",
                    "prompt_lookup_num_tokens",
                    "remove_invalid_values",
                    "renormalize_logits",
                    "return_dict_in_generate",
                    "speculation_type",
                    "stop_strings",
                    "target_lookbehind",
                    "transformers_version",
                    "use_cache",
                    "use_mtp"};
  engine.is_unused = is_unused;
  engine.why_unused = "not used without do_sample";
  engine.finish = finish_hugging_face;
  return engine;
}

}  // namespace engine_parameters
