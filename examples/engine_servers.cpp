// SGLang's sampling_params, TensorRT-LLM's SamplingParams, and the parameters of small engines.
#include "engine_table.h"

namespace engine_parameters {
namespace {

using P = sampler_params;

void finish_sglang(const Json &parameters, Request *request) {
  const Json *const longest = find(parameters, "max_new_tokens");
  const Json *const least = find(parameters, "min_new_tokens");
  if (longest && least && *least > *longest) {
    Value{"min_new_tokens", *least}.fail("at most max_new_tokens, " + longest->dump() +
                                         ", as SGLang has it");
  }
  request->ignores_stop = request->ignores_end;  // ignore_eos is of all tokens
  request->of_vocabulary = {{"logit_bias", request->biased, ", as SGLang has it"}};
}

// Any 64 bits: -1 is a seed as others.
void set_signed_seed(const Value &value, Request *request) {
  if (!value.json.is_number_integer()) value.fail("an integer");
  request->seed = value.json.get<std::uint64_t>();
}

void set_reset_id(const Value &value, Request *request) {
  const std::int32_t id = value.integer();
  if (id >= 0) request->top_p_reset_token_id = id;  // -1: none
}

// -1: none.
void add_end_id(const Value &value, Request *request) {
  if (!is_minus_1(value.json)) add_ids<&Request::stop>(value, request);
}

// Greedy where nothing asks for sampling, and where a filter leaves one token.
void finish_tensorrt(const Json &parameters, Request *request) {
  const auto equals = [&](const char *name, int number) {
    const Json *const value = find(parameters, name);
    return value && *value == number;
  };
  const bool is_set = find(parameters, "temperature") || find(parameters, "top_k") ||
                      find(parameters, "top_p") || find(parameters, "min_p");
  if (!is_set || equals("top_p", 0) || equals("top_k", 1) || equals("min_p", 1)) {
    request->params.temperature = 0.0f;
  }
  if (!request->ignores_end) return;
  request->stop.clear();  // but for these
  const Json *const stop = find(parameters, "stop_token_ids");
  if (stop) add_ids<&Request::stop>({"stop_token_ids", *stop}, request);
}

void set_filter_order(const Value &value, Request *request) {
  if (value.json != "top_k_first" && value.json != "joint") {
    value.fail("\"top_k_first\" or \"joint\"");
  }
  if (value.json == "joint") request->params.filter_order = SAMPLER_FILTERS_JOINT;
}

void finish_nano_vllm(const Json &, Request *request) {
  request->draw_method = SAMPLER_DRAW_GUMBEL;
}

}  // namespace

const Parameters &filter_parameters() {
  static const Parameters all = {{"temperature", set_number<&P::temperature>},
                                 {"top_k", set_integer<&P::top_k>},
                                 {"top_p", set_number<&P::top_p>}};
  return all;
}

const Parameters &penalty_parameters() {
  static const Parameters all = {{"repetition_penalty", set_number<&P::repetition_penalty>},
                                 {"frequency_penalty", set_number<&P::frequency_penalty>},
                                 {"presence_penalty", set_number<&P::presence_penalty>}};
  return all;
}

const Names &request_names() {
  static const Names all = {"best_of",
                            "echo",
                            "id",
                            "input",
                            "input_ids",
                            "logprobs",
                            "messages",
                            "metadata",
                            "model",
                            "n",
                            "parallel_tool_calls",
                            "priority",
                            "prompt",
                            "stop",
                            "store",
                            "stream",
                            "stream_options",
                            "suffix",
                            "text",
                            "tool_choice",
                            "tools",
                            "top_logprobs",
                            "user"};
  return all;
}

Engine sglang() {
  Engine engine;
  engine.title = "SGLang";
  engine.base = "sglang";
  engine.nested = "sampling_params";
  engine.parameters = join<Parameters>({filter_parameters(),
                                        penalty_parameters(),
                                        {{"min_p", set_number<&P::min_p>},
                                         {"sampling_seed", set_signed_seed},
                                         {"logit_bias", add_biases},
                                         {"min_new_tokens", set_integer<&P::min_new_tokens>},
                                         {"max_new_tokens", set_length},
                                         {"ignore_eos", set_ignore_eos},
                                         {"stop_token_ids", add_ids<&Request::stop>}}});
  engine.ranges = {
      {"temperature", is_at_least_0, "at least 0"},
      {"top_k", [](double x) { return x == -1 || x >= 1; }, "-1, which is off, or at least 1"},
      {"top_p", is_share_above_0, "in (0, 1]"},
      {"min_p", is_share, "in [0, 1]"},
      {"repetition_penalty", [](double x) { return x > 0 && x <= 2; }, "in (0, 2]"},
      {"frequency_penalty", is_within_2, "in [-2, 2]"},
      {"presence_penalty", is_within_2, "in [-2, 2]"},
      {"min_new_tokens", is_at_least_0, "at least 0"},
      {"max_new_tokens", is_at_least_0, "at least 0"}};
  engine.undone = {
      {"json_schema", {"left out: no grammar is made here", {}}},
      {"regex", {"left out: no grammar is made here", {}}},
      {"ebnf", {"left out: no grammar is made here", {}}},
      {"structural_tag", {"left out: no grammar is made here", {}}},
      {"response_format", {"left out: no grammar is made here", {Json{{"type", "text"}}}}},
      {"beam_width", {"1: beams are sampler_beam_search's", {1}}},
      {"custom_params", {"left out: there is no code of a request's here", {}}},
      {"custom_logit_processor", {"left out: there is no code of a request's here", {}}},
      {"max_thinking_tokens", {"left out: no thinking is told from a text here", {}}},
      {"watermark", {"left out: calls of watermark.h have it", {}}}};
  engine.ignored = join<Names>({request_names(),
                                {"audio_data",
                                 "bootstrap_host",
                                 "bootstrap_port",
                                 "bootstrap_room",
                                 "cache_salt",
                                 "conversation_id",
                                 "extra_key",
                                 "image_data",
                                 "input_embeds",
                                 "log_metrics",
                                 "logprob_start_len",
                                 "lora_path",
                                 "modalities",
                                 "no_stop_trim",
                                 "require_reasoning",
                                 "return_hidden_states",
                                 "return_logprob",
                                 "return_sampling_mask",
                                 "return_text_in_logprobs",
                                 "rid",
                                 "session_id",
                                 "session_params",
                                 "skip_special_tokens",
                                 "spaces_between_special_tokens",
                                 "stop_regex",
                                 "stream_interval",
                                 "token_ids_logprob",
                                 "top_logprobs_num",
                                 "video_data"}});
  engine.finish = finish_sglang;
  return engine;
}

Engine tensorrt_llm() {
  Engine engine;
  engine.title = "TensorRT-LLM";
  engine.base = "tensorrt_llm";
  engine.parameters =
      join<Parameters>({filter_parameters(),
                        penalty_parameters(),
                        {{"min_p", set_number<&P::min_p>},
                         {"seed", set_seed},
                         {"no_repeat_ngram_size", set_integer<&P::no_repeat_ngram_size>},
                         {"embedding_bias", set_dense_bias},
                         {"bad_token_ids", add_ids<&Request::banned>},
                         {"min_tokens", set_integer<&P::min_new_tokens>},
                         {"end_id", add_end_id},
                         {"stop_token_ids", add_ids<&Request::stop>},
                         {"ignore_eos", set_ignore_eos},
                         {"top_p_decay", set_number<&P::top_p_decay>},
                         {"top_p_min", set_number<&P::top_p_least>},
                         {"top_p_reset_ids", set_reset_id},
                         {"max_tokens", set_length}}});
  engine.ranges = {{"temperature", is_at_least_0, "at least 0"},
                   {"top_k", is_at_least_0, "0, which is off, or at least 1"},
                   {"top_p", is_share, "in [0, 1]"},
                   {"min_p", is_share, "in [0, 1]"},
                   {"repetition_penalty", is_above_0, "above 0"},
                   {"top_p_min", is_share, "in [0, 1]"},
                   {"top_p_decay", is_share_above_0, "in (0, 1]"},
                   {"min_tokens", is_at_least_0, "at least 0"},
                   {"no_repeat_ngram_size", is_at_least_0, "at least 0"}};
  engine.undone = {
      {"bad", {"left out: texts need a tokenizer, bad_token_ids has their tokens", {}}},
      {"guided_decoding", {"left out: no grammar is made here", {}}},
      {"response_format", {"left out: no grammar is made here", {Json{{"type", "text"}}}}},
      {"logits_processor", {"left out: there is no code of a request's here", {}}},
      {"apply_batched_logits_processor", {"false: there is no code of a request's here", {}}},
      {"prompt_ignore_length", {"0: penalties count the whole prompt here", {0}}},
      {"use_beam_search", {"false: beams are sampler_beam_search's", {}}},
      {"beam_width_array", {"left out: beams are sampler_beam_search's", {}}},
      {"beam_search_diversity_rate", {"0: beams are sampler_beam_search's", {0}}}};
  engine.ignored = join<Names>(
      {request_names(),
       {"add_special_tokens", "additional_model_outputs", "detokenize", "early_stopping",
        "exclude_input_from_output", "include_stop_str_in_output", "length_penalty",
        "lookahead_config", "pad_id", "prompt_logprobs", "return_context_logits",
        "return_encoder_output", "return_generation_logits", "return_perf_metrics",
        "skip_special_tokens", "spaces_between_special_tokens", "truncate_prompt_tokens"}});
  engine.finish = finish_tensorrt;
  return engine;
}

Engine flashinfer() {
  Engine engine;
  engine.title = "FlashInfer";
  engine.base = "flashinfer";
  engine.parameters = join<Parameters>({filter_parameters(),
                                        {{"min_p", set_number<&P::min_p>},
                                         {"filter_apply_order", set_filter_order},
                                         {"seed", set_seed}}});
  engine.ignored = {"check_nan", "deterministic"};
  return engine;
}

Engine hf_vllm_aligned() {
  Engine engine;
  engine.title = "the small engine";
  engine.base = "hf_vllm_aligned";
  engine.parameters = join<Parameters>({filter_parameters(), {{"seed", set_seed_or_random}}});
  return engine;
}

Engine nano_vllm() {
  Engine engine;
  engine.title = "nano-vLLM";
  engine.base = "nano_vllm";
  engine.parameters = {{"temperature", set_number<&P::temperature>},
                       {"max_tokens", set_length},
                       {"ignore_eos", set_ignore_eos}};
  engine.ranges = {{"temperature", [](double x) { return x > 1e-10; }, "above 1e-10"}};
  engine.finish = finish_nano_vllm;
  return engine;
}

}  // namespace engine_parameters
