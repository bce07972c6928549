// Sampling parameters in an engine's own words, as libsampler takes them: JSON such as vLLM's
// SamplingParams, SGLang's sampling_params, TensorRT-LLM's SamplingParams, a generation_config.json
// of Hugging Face, or the body of a request to the server of llama.cpp, koboldcpp or Ollama.
#ifndef ENGINE_PARAMETERS_H_
#define ENGINE_PARAMETERS_H_

#include <sampler/sampler.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace engine_parameters {

// A parameter that the engine does not have, or a value that it cannot have; the text names it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Ids = std::vector<std::int32_t>;

// Tokens of a parameter that must be of the vocabulary.
struct NamedIds {
  std::string name;
  Ids ids;
  std::string why;  // ends the message
};

// A request. Lists of words are tokens: who has a tokenizer turns texts into them.
struct Request {
  sampler_params params;
  sampler_draw_method draw_method = SAMPLER_DRAW_INVERSE_CDF;
  std::optional<std::uint64_t> seed;
  bool has_random_seed = false;                // the engine would draw one: see random_seed
  std::optional<std::int32_t> max_new_tokens;  // negative: no limit
  std::int32_t min_length = 0;  // of prompt and output: stop tokens are banned below it
  Ids biased;
  std::vector<float> biases;                 // of `biased`
  std::vector<Ids> bias_contexts;            // of `biased`, or of the first of them
  std::vector<float> dense_bias;             // by id; shorter than a row: later ids get none
  std::vector<std::uint32_t> token_bitmask;  // as pipeline.token_bitmasks has them
  sampler_mask_rule token_bitmask_rule = SAMPLER_MASK_LEAVES;
  Ids allowed, banned, stop, unpenalized;
  std::vector<Ids> bad_words, dry_breakers;
  std::optional<std::int32_t> top_p_reset_token_id;
  Ids forced;  // by the number of the new token; negative, and those after the list: none
  bool is_always_forced = false;  // forced[0] is every new token's
  bool ignores_end = false;       // the model's own tokens that end a text do not
  bool ignores_stop = false;      // and those of `stop` do not
  bool bans_end = false;          // the model's own tokens that end a text are banned
  // Without a token that ends a text a least number of new tokens is met, as Hugging Face has it;
  // else it is an error.
  bool may_lack_end = false;
  std::vector<NamedIds> of_vocabulary;
  // Lines for a user: which parameters were passed over, and why.
  std::vector<std::string> notes;

  // Tokens of `stop` that end a text.
  Ids ends() const { return ignores_stop ? Ids() : stop; }
  // The least number of tokens of the output, by min_length too.
  std::int32_t least_new_tokens(std::int32_t prompt_length) const;
  // The token forced after `num_new_tokens` new ones; -1: none.
  std::int32_t forced_token(std::uint64_t num_new_tokens) const;
};

// What is wrong with the name of a preset, and which there are; "" of a good one.
std::string preset_error(const std::string &name);

// All names of presets, in the order in which preset_error lists them.
std::vector<std::string> preset_names();

// The preset of that name with these parameters: a JSON object, whose nulls are left out.
//
// Names are those of sampler_params_preset; "koboldcpp" and "ollama", whose stages are those of
// other presets; and "sampler": the library's defaults, with parameters that have the names of the
// members of sampler_params and of the lists of sampler_pipeline.
//
// Parameters that are not about sampling are passed over, with a note. Throws Error that names
// every parameter that is not known or that cannot be done here, and of others the first one that
// the engine refuses. One that is off, or empty, is neither.
Request read(const std::string &preset, const nlohmann::json &parameters);

// The same where more is known later of what ends a text: end_at must follow.
Request read_before_end(const std::string &preset, const nlohmann::json &parameters);

// Takes tokens that end a text beside those of the parameters: a least number of new tokens is of
// them, too. Throws Error where there is such a number, and no token ends a text.
void end_at(const Ids &tokens, Request *request);

// Throws Error where a token of the parameters is not in [0, size) and the engine takes no such
// one.
void check_vocabulary(const Request &request, std::int64_t size);

// Where the parameters want a random seed, gives them one, with a note that names it.
void draw_random_seed(Request *request);

// The request's lists, and a text whose first tokens are the prompt, as one slot of a call. Its
// bitmask is one for row 0: calls of more rows set token_bitmask_indices.
class Pipeline {
 public:
  Pipeline(const Request &request, Ids history, std::int32_t prompt_length);
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;

  // Good as long as this object.
  const sampler_pipeline *get() const { return &pipeline_; }
  const sampler_params *params() const { return &params_; }

 private:
  struct Lists {
    std::vector<std::int64_t> offsets = {0};
    Ids ids;
    void add(const Ids &list);
    sampler_token_lists view() const;
  };

  sampler_params params_;
  std::int32_t prompt_length_;
  Lists history_, biased_, bias_contexts_, allowed_, banned_, stop_, unpenalized_, bad_words_,
      breakers_;
  std::vector<float> biases_, dense_bias_;
  std::vector<std::uint32_t> token_bitmask_;
  sampler_pipeline pipeline_ = {};
};

}  // namespace engine_parameters

#endif  // ENGINE_PARAMETERS_H_
