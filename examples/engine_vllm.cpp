// vLLM's SamplingParams, for its two model runners.
#include <algorithm>

#include "engine_table.h"

namespace engine_parameters {
namespace {

using P = sampler_params;

// The tokens of a trace, which are drawn one after the other.
void set_trace(const Value &value, Request *request) {
  request->forced = value.ids();
  if (request->forced.empty()) value.fail("a list of at least one token id, as vLLM has it");
}

// Biases are clamped, and low temperatures raised, as vLLM does.
void finish_vllm(const Json &parameters, Request *request) {
  // The newer name comes first.
  const bool is_newer = find(parameters, "max_completion_tokens");
  const char *const name = is_newer ? "max_completion_tokens" : "max_tokens";
  const Json *const longest = find(parameters, name);
  const Json *const least = find(parameters, "min_tokens");
  if (longest) set_length({name, *longest}, request);
  if (longest && least && *least > *longest) {
    Value{"min_tokens", *least}.fail("at most " + std::string(name) + ", " + longest->dump() +
                                     ", as vLLM has it");
  }
  const Json *const allowed = find(parameters, "allowed_token_ids");
  if (allowed && allowed->empty()) {
    Value{"allowed_token_ids", *allowed}.fail("a list of at least one token id, as vLLM has it");
  }
  for (float &bias : request->biases) bias = std::min(100.0f, std::max(-100.0f, bias));
  float &temperature = request->params.temperature;
  if (temperature > 0.0f) temperature = std::max(0.01f, temperature);

  const char *const why = ", as vLLM has it";
  Ids words;
  for (const Ids &word : request->bad_words) words.insert(words.end(), word.begin(), word.end());
  request->of_vocabulary = {{"logit_bias", request->biased, why},
                            {"allowed_token_ids", request->allowed, why},
                            {"bad_words_token_ids", words, why},
                            {"stop_token_ids", request->stop, why},
                            {"trace_decode_token_ids", request->forced, why}};
}

// Its second runner has room for so much of a request.
void finish_vllm_v2(const Json &parameters, Request *request) {
  finish_vllm(parameters, request);
  const auto check = [](const char *name, std::size_t number, std::size_t most,
                        const char *of_what) {
    if (number > most) {
      throw Error(std::string(name) + " has " + std::to_string(number) + of_what +
                  "; it must have at most " + std::to_string(most) +
                  ", as vLLM's second runner has it");
    }
  };
  std::size_t num_word_tokens = 0;
  for (const Ids &word : request->bad_words) num_word_tokens += word.size();
  check("allowed_token_ids", request->allowed.size(), 1024, " tokens");
  check("logit_bias", request->biased.size(), 1024, " tokens");
  check("bad_words_token_ids", request->bad_words.size(), 128, " words");
  check("bad_words_token_ids", num_word_tokens, 1024, " tokens");
  if (request->params.min_new_tokens > 0) {
    check("stop_token_ids", request->stop.size(), 128, " tokens");
  }
}

}  // namespace

Engine vllm() {
  Engine engine;
  engine.title = "vLLM";
  engine.base = "vllm";
  engine.parameters = join<Parameters>({filter_parameters(),
                                        penalty_parameters(),
                                        {{"min_p", set_number<&P::min_p>},
                                         {"seed", set_seed_or_random},
                                         {"logit_bias", add_biases},
                                         {"allowed_token_ids", add_ids<&Request::allowed>},
                                         {"bad_words_token_ids", set_words<&Request::bad_words>},
                                         {"trace_decode_token_ids", set_trace},
                                         {"min_tokens", set_integer<&P::min_new_tokens>},
                                         {"max_tokens", set_length},
                                         {"max_completion_tokens", set_length},
                                         {"ignore_eos", set_ignore_eos},
                                         {"stop_token_ids", add_ids<&Request::stop>}}});
  engine.ranges = {
      {"temperature", [](double x) { return x >= 0 && x <= 2; }, "in [0, 2]"},
      {"top_k", [](double x) { return x >= -1; }, "0 or -1, which are off, or at least 1"},
      {"top_p", is_share_above_0, "in (0, 1]"},
      {"min_p", is_share, "in [0, 1]"},
      {"repetition_penalty", is_above_0, "above 0"},
      {"frequency_penalty", is_within_2, "in [-2, 2]"},
      {"presence_penalty", is_within_2, "in [-2, 2]"},
      {"min_tokens", is_at_least_0, "at least 0"},
      {"max_tokens", [](double x) { return x >= 1; }, "at least 1"},
      {"max_completion_tokens", [](double x) { return x >= 1; }, "at least 1"}};
  engine.undone = {
      {"bad_words", {"left out: texts need a tokenizer, bad_words_token_ids has their tokens", {}}},
      {"structured_outputs", {"left out: no grammar is made here", {}}},
      {"response_format", {"left out: no grammar is made here", {Json{{"type", "text"}}}}},
      {"guided_json", {"left out: no grammar is made here", {}}},
      {"guided_regex", {"left out: no grammar is made here", {}}},
      {"guided_choice", {"left out: no grammar is made here", {}}},
      {"guided_grammar", {"left out: no grammar is made here", {}}},
      {"thinking_token_budget", {"left out: no thinking is told from a text here", {-1}}},
      {"watermarking", {"left out: calls of watermark.h have it", {}}},
      {"logits_processors", {"left out: there is no code of a request's here", {}}},
      {"use_beam_search", {"false: beams are sampler_beam_search's", {}}}};
  engine.ignored = join<Names>({request_names(),
                                {"_all_stop_token_ids",
                                 "_eos_token_id",
                                 "add_generation_prompt",
                                 "add_special_tokens",
                                 "cache_salt",
                                 "chat_template",
                                 "chat_template_kwargs",
                                 "continue_final_message",
                                 "detokenize",
                                 "documents",
                                 "early_stopping",
                                 "ec_transfer_params",
                                 "extra_args",
                                 "flat_logprobs",
                                 "include_reasoning",
                                 "include_stop_str_in_output",
                                 "kv_transfer_params",
                                 "length_penalty",
                                 "logprob_token_ids",
                                 "media_io_kwargs",
                                 "mm_payload",
                                 "mm_processor_kwargs",
                                 "output_kind",
                                 "output_text_buffer_length",
                                 "prompt_embeds",
                                 "prompt_logprob_start",
                                 "prompt_logprob_token_ids",
                                 "prompt_logprobs",
                                 "reasoning_effort",
                                 "repetition_detection",
                                 "request_id",
                                 "return_mm_kwargs",
                                 "return_prompt_text",
                                 "return_token_ids",
                                 "return_token_offsets",
                                 "return_tokens_as_token_ids",
                                 "return_weight_versions",
                                 "routed_experts_prompt_start",
                                 "session_id",
                                 "skip_clone",
                                 "skip_reading_prefix_cache",
                                 "skip_special_tokens",
                                 "spaces_between_special_tokens",
                                 "stream_interval",
                                 "truncate_prompt_tokens",
                                 "truncation_side",
                                 "vllm_xargs"}});
  engine.finish = finish_vllm;
  return engine;
}

Engine vllm_v2() {
  Engine engine = vllm();
  engine.base = "vllm_v2";
  engine.finish = finish_vllm_v2;
  return engine;
}

}  // namespace engine_parameters
