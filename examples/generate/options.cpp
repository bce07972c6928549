#include "options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "engine_parameters.h"
#include "in_range.h"
#include "json_file.h"

namespace generate {

namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr std::int64_t kMaxGamma = 1024;
constexpr std::int64_t kMaxVocabulary = (1 << 20) - 1;

const std::map<std::string, Mode> &modes() {
  static const std::map<std::string, Mode> modes = {{"autoregressive", Mode::kAutoregressive},
                                                    {"speculative", Mode::kSpeculative},
                                                    {"ngram", Mode::kNgram},
                                                    {"beam", Mode::kBeam}};
  return modes;
}

const std::map<std::string, sampler_acceptance> &acceptances() {
  static const std::map<std::string, sampler_acceptance> acceptances = {
      {"standard", SAMPLER_ACCEPT_STANDARD},         {"block", SAMPLER_ACCEPT_BLOCK},
      {"sample_match", SAMPLER_ACCEPT_SAMPLE_MATCH}, {"typical", SAMPLER_ACCEPT_TYPICAL},
      {"relaxed", SAMPLER_ACCEPT_RELAXED},           {"threshold", SAMPLER_ACCEPT_THRESHOLD},
      {"deferred", SAMPLER_ACCEPT_DEFERRED},         {"synthetic", SAMPLER_ACCEPT_SYNTHETIC}};
  return acceptances;
}

template <typename Value>
const char *name_of(const std::map<std::string, Value> &names, Value value) {
  for (const auto &[name, named] : names) {
    if (named == value) return name.c_str();
  }
  return "";
}

// Declares the options, and knows which of them a mode uses.
class Declaration {
 public:
  Declaration(CLI::App *app, Arguments *arguments) : app_(app), arguments_(arguments) {
    declare_texts();
    declare_sampling();
    declare_engine();
    declare_drafts();
    declare_beams();
    declare_output();
  }

  // What no declaration of a single option says.
  void check() {
    read_engine();
    read_end_ids();
    const GenerationOptions &generation = arguments_->generation;
    for (const auto &[option, used_in, why] : used_in_) {
      if (option->count() > 0 &&
          std::find(used_in.begin(), used_in.end(), generation.mode) == used_in.end()) {
        fail(option->get_name() + " is not used with --mode " + mode_name(generation.mode) + why);
      }
    }
    if (generation.mode == Mode::kSpeculative && arguments_->draft.empty()) {
      fail("--mode speculative needs a drafter, --draft");
    }
    const NgramOptions &ngram = generation.ngram;
    if (ngram.is_lookup && (arguments_->prompts.size() > 1 || generation.num_samples > 1)) {
      fail("--lookup is for one text; there are several, by --prompt or --samples");
    }
    if (ngram.max_match > 0 && ngram.max_match < ngram.min_match) {
      fail("--lookup-max-match is " + std::to_string(ngram.max_match) +
           "; it must be at least --lookup-min-match, which is " + std::to_string(ngram.min_match));
    }
    check_drafts();
    check_explanation();
    if (generation.mode == Mode::kBeam && generation.num_samples > generation.beam.num_beams) {
      fail("--samples is " + std::to_string(generation.num_samples) +
           "; it must be at most --beams, which is " + std::to_string(generation.beam.num_beams));
    }
  }

  void check_explanation() {
    const GenerationOptions &generation = arguments_->generation;
    if (arguments_->explained_step && *arguments_->explained_step >= generation.max_new_tokens) {
      fail("--explain is " + std::to_string(*arguments_->explained_step) +
           "; it must be less than --length, which is " +
           std::to_string(generation.max_new_tokens));
    }
    const std::size_t num_texts = std::max(arguments_->prompts.size(), std::size_t{1}) *
                                  static_cast<std::size_t>(generation.num_samples);
    if (static_cast<std::size_t>(arguments_->explained_text) >= num_texts) {
      fail("--explain-text is " + std::to_string(arguments_->explained_text) +
           "; it must be less than the number of texts, " + std::to_string(num_texts));
    }
  }

  void check_drafts() {
    const GenerationOptions &generation = arguments_->generation;
    const sampler_speculative_args &draft = generation.draft;
    const sampler_acceptance rule = generation.acceptance.rule;
    const std::int64_t gamma_max = draft.gamma_max > 0 ? draft.gamma_max : draft.gamma;
    if (draft.adaptive_gamma == SAMPLER_GAMMA_BY_ENTROPY && draft.gamma_min > gamma_max) {
      fail("--gamma-min is " + std::to_string(draft.gamma_min) +
           "; it must be at most --gamma-max, which is " + std::to_string(gamma_max));
    }
    if (draft.draft_top_k > draft.gamma) {
      fail("--draft-top-k is " + std::to_string(draft.draft_top_k) +
           "; it must be at most --gamma, which is " + std::to_string(draft.gamma));
    }
    if (draft.draft_top_k > 0 &&
        (rule == SAMPLER_ACCEPT_BLOCK || rule == SAMPLER_ACCEPT_DEFERRED)) {
      fail(std::string("--draft-top-k is not used with --acceptance ") + acceptance_name(rule));
    }
    for (const auto &[option, acceptance] : of_acceptance_) {
      if (option->count() > 0 && acceptance != rule) {
        fail(option->get_name() + " is not used with --acceptance " + acceptance_name(rule));
      }
    }
    if (rule == SAMPLER_ACCEPT_SYNTHETIC &&
        generation.synthetic_rates.size() != static_cast<std::size_t>(gamma_max)) {
      fail("--synthetic-rates has " + std::to_string(generation.synthetic_rates.size()) +
           " numbers; it must have one for each draft of a round, " + std::to_string(gamma_max));
    }
  }

  void finish() {
    if (arguments_->prompts.empty()) arguments_->prompts.emplace_back();
    arguments_->generation.use_cache = !no_cache_;
    if (greedy_) arguments_->generation.sampling.temperature = 0;
    arguments_->colour = color_ == "always" || (color_ == "auto" && isatty(STDOUT_FILENO) == 1);
  }

 private:
  [[noreturn]] static void fail(const std::string &message) { throw CLI::ValidationError(message); }

  // `why` ends the message.
  void only_in(CLI::Option *option, const std::vector<Mode> &used_in, const char *why = "") {
    used_in_.push_back({option, used_in, why});
  }

  void declare_texts() {
    GenerationOptions &generation = arguments_->generation;
    app_->add_option("--model", arguments_->model,
                     "Folder with config.json, model.safetensors and a tokenizer")
        ->type_name("DIR")
        ->required();
    app_->add_option(
            "--mode", generation.mode,
            "How tokens come about: one a step (autoregressive), drafted by a smaller model "
            "(speculative) or from the text so far (ngram) and verified, or as the "
            "likeliest text that a search finds (beam)")
        ->type_name("MODE")
        ->default_str(mode_name(generation.mode))
        ->transform(CLI::CheckedTransformer(modes()).description(
            "{autoregressive,speculative,ngram,beam}"));
    app_->add_option(
            "--prompt", arguments_->prompts,
            "Text to continue; several --prompt make a batch. Without one, or with an empty "
            "one, the model starts at <|endoftext|>")
        ->allow_extra_args(false);
    app_->add_option("--length", generation.max_new_tokens, "New tokens at most")
        ->capture_default_str()
        ->check(in_range(1, kMaxInt));
    app_->add_option(
            "--samples", generation.num_samples,
            "Continuations of each prompt; with --mode beam the best ones, at most --beams")
        ->capture_default_str()
        ->check(in_range(1, 10000));
    ranks_ = app_->add_option("--ranks", arguments_->num_ranks,
                              "Processes that share the model's last product, each of which has "
                              "the logits of some tokens: run mpirun -np N generate --ranks N. The "
                              "text is the same")
                 ->type_name("N")
                 ->check(in_range(1, int(SAMPLER_MAX_RANKS)));
    only_in(ranks_, {Mode::kAutoregressive});
    end_ids_ = app_->add_option("--end-ids", end_ids_text_,
                                "Tokens that end a text, in place of the model's: ids like 0,198; "
                                "an empty list: none")
                   ->type_name("IDS");
    app_->add_flag("--no-cache", no_cache_,
                   "Give the model the whole text in each step. The text is the same");
  }

  void declare_sampling() {
    const std::vector<Mode> used_in = {Mode::kAutoregressive, Mode::kSpeculative, Mode::kNgram};
    SamplingOptions &sampling = arguments_->generation.sampling;
    only_in(app_->add_option("--seed", arguments_->generation.seed,
                             "Seed of each prompt's first continuation, the next one has seed + 1. "
                             "The same seed gives the same text")
                ->capture_default_str()
                ->check(in_range(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max())),
            used_in);
    CLI::Option *temperature = app_->add_option("--temperature", sampling.temperature,
                                                "Divides the logits; 0 takes the likeliest token")
                                   ->capture_default_str()
                                   ->check(in_range(0.0, 1e9));
    only_in(temperature, used_in);
    only_in(app_->add_option("--top-k", sampling.top_k, "Keep the K likeliest tokens; 0 keeps all")
                ->capture_default_str()
                ->check(in_range(0, kMaxInt)),
            used_in);
    only_in(
        app_->add_option("--top-p", sampling.top_p,
                         "Keep the likeliest tokens that together reach probability P; 1 keeps all")
            ->capture_default_str()
            ->check(in_range(0.0, 1.0)),
        used_in);
    only_in(app_->add_option("--min-p", sampling.min_p,
                             "Keep tokens at least P times as likely as the likeliest; 0 keeps all")
                ->capture_default_str()
                ->check(in_range(0.0, 1.0)),
            used_in);
    only_in(app_->add_flag("--greedy", greedy_, "Take the likeliest token, as --temperature 0")
                ->excludes(temperature),
            used_in);
  }

  void declare_engine() {
    preset_ = app_->add_option("--preset", engine_,
                               "Sample as an engine does: llama.cpp, vllm, sglang, tensorrt_llm, "
                               "hugging_face or another name of sampler_params_preset, koboldcpp "
                               "or ollama; or sampler: the library's defaults, and its own names "
                               "in --params. "
                               "With --mode beam its edits of logits alone")
                  ->type_name("NAME")
                  ->check(engine_parameters::preset_error);
    app_->add_option("--params", engine_parameters_,
                     "The engine's own parameters, a JSON object: '{\"top_k\": 40}', or @FILE")
        ->type_name("JSON")
        ->needs(preset_);
    for (const char *const option :
         {"--temperature", "--top-k", "--top-p", "--min-p", "--greedy"}) {
      preset_->excludes(app_->get_option(option));
    }
  }

  // Its seed and length stand where --seed and --length do not.
  void read_engine() {
    if (preset_->count() == 0) return;
    GenerationOptions &generation = arguments_->generation;
    try {
      const nlohmann::json json = read_json_argument(engine_parameters_, "--params");
      generation.engine = engine_parameters::read_before_end(engine_, json);
    } catch (const std::runtime_error &error) {
      fail(error.what());
    }
    read_engine_seed(&*generation.engine);
    read_engine_length(&*generation.engine);
    arguments_->notes = generation.engine->notes;
  }

  void read_engine_seed(engine_parameters::Request *request) {
    std::uint64_t &seed = arguments_->generation.seed;
    if (app_->count("--seed") == 0) {
      if (request->has_random_seed && arguments_->num_ranks > 0) {
        fail(
            "the seed of --params is a random one; with --ranks all processes must have the same, "
            "--seed");
      }
      engine_parameters::draw_random_seed(request);
      seed = request->seed.value_or(seed);
    } else if (request->seed && *request->seed != seed) {
      request->notes.push_back("--seed stands in place of the seed " +
                               std::to_string(*request->seed) + " of --params");
    }
  }

  void read_engine_length(engine_parameters::Request *request) {
    int &length = arguments_->generation.max_new_tokens;
    const std::int32_t wanted = request->max_new_tokens.value_or(-1);
    if (wanted == 0) fail("--params want 0 new tokens; there must be at least 1");
    if (wanted < 0) return;
    if (app_->count("--length") == 0) {
      length = wanted;
    } else if (wanted != length) {
      request->notes.push_back("--length stands in place of the " + std::to_string(wanted) +
                               " new tokens of --params");
    }
  }

  void read_end_ids() {
    if (end_ids_->count() == 0) return;
    arguments_->has_end_ids = true;
    if (end_ids_text_ == "none") return;
    std::istringstream words(end_ids_text_);
    for (std::string word; std::getline(words, word, ',');) {
      const std::string wrong = in_range(std::int64_t{0}, kMaxVocabulary)(word);
      if (!wrong.empty()) fail("--end-ids: " + wrong);
      arguments_->generation.end_tokens.push_back(std::stoi(word));
    }
  }

  void declare_drafts() {
    sampler_speculative_args &draft = arguments_->generation.draft;
    only_in(
        app_->add_option("--draft", arguments_->draft,
                         "Folder of the model that drafts, laid out like --model, with the same "
                         "vocabulary")
            ->type_name("DIR"),
        {Mode::kSpeculative});
    only_in(app_->add_option("--gamma", draft.gamma, "Drafts a round at most")
                ->capture_default_str()
                ->check(in_range(std::int64_t{1}, kMaxGamma)),
            {Mode::kSpeculative, Mode::kNgram});
    CLI::Option *adaptive = app_->add_flag_callback(
        "--adaptive", [&] { draft.adaptive_gamma = SAMPLER_GAMMA_BY_ENTROPY; },
        "Fewer drafts the more uncertain the drafter is: --gamma-max where it is certain, "
        "--gamma-min where all tokens are equally likely, by the entropy between");
    only_in(adaptive, {Mode::kSpeculative});
    only_in(app_->add_flag_callback(
                    "--measured", [&] { draft.adaptive_gamma = SAMPLER_GAMMA_MEASURED; },
                    "As many drafts as measured times and acceptance say are fastest, from "
                    "none to --gamma. A sampled text is then another in each run")
                ->excludes(adaptive),
            {Mode::kSpeculative, Mode::kNgram});
    only_in(app_->add_option("--gamma-min", draft.gamma_min, "Drafts a round at least; 0: none")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxGamma))
                ->needs(adaptive),
            {Mode::kSpeculative});
    only_in(app_->add_option("--gamma-max", draft.gamma_max, "Drafts a round at most; 0: --gamma")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxGamma))
                ->needs(adaptive),
            {Mode::kSpeculative});
    only_in(app_->add_option("--ema-beta", draft.ema_beta,
                             "Share of the rounds before in the entropy; 0: this round's alone")
                ->capture_default_str()
                ->check(in_range(0.0, 0.999999))
                ->needs(adaptive),
            {Mode::kSpeculative});
    only_in(app_->add_flag_callback(
                "--no-first-target", [&] { draft.first_target = 0; },
                "Draft for the first token, too, which else is the target's"),
            {Mode::kSpeculative, Mode::kNgram});
    only_in(
        app_->add_flag("--skip-sample-adjustment", draft.skip_sample_adjustment,
                       "After a rejected draft draw from the target's distribution and not from "
                       "the residual. The texts are then no longer the target's: to compare"),
        {Mode::kSpeculative});
    only_in(
        app_->add_option("--least-draft-probability", draft.least_draft_probability,
                         "A draft that the drafter gives less, at temperature 1, is the last of "
                         "its round; 0: off")
            ->capture_default_str()
            ->check(in_range(0.0, 1.0)),
        {Mode::kSpeculative});
    only_in(app_->add_option("--draft-top-k", draft.draft_top_k,
                             "Draft the K likeliest tokens of each position, --gamma in all, as a "
                             "tree: the first goes on. 0: one of each position, which is drawn")
                ->type_name("K")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxGamma))
                ->excludes(adaptive)
                ->excludes(app_->get_option("--skip-sample-adjustment"))
                ->excludes(app_->get_option("--least-draft-probability")),
            {Mode::kSpeculative});
    declare_acceptance();
    declare_ngrams();
  }

  void declare_acceptance() {
    GenerationOptions &generation = arguments_->generation;
    sampler_acceptance_params &numbers = generation.acceptance;
    only_in(app_->add_option("--acceptance", numbers.rule,
                             "The rule that drafts are verified by. Texts of standard, block and "
                             "sample_match are of the model's distribution")
                ->type_name("NAME")
                ->default_str(acceptance_name(numbers.rule))
                ->transform(CLI::CheckedTransformer(acceptances())
                                .description("{standard,block,sample_match,typical,relaxed,"
                                             "threshold,deferred,synthetic}")),
            {Mode::kSpeculative, Mode::kNgram});
    declare_number("--typical-threshold", numbers.typical_threshold, SAMPLER_ACCEPT_TYPICAL,
                   "Keep drafts of at least this probability; 0: 0.09");
    declare_number("--typical-scale", numbers.typical_scale, SAMPLER_ACCEPT_TYPICAL,
                   "And those of at least this times exp(-entropy), if that is less; 0: 0.3");
    declare_number("--relaxed-top-k", numbers.relaxed_top_k, SAMPLER_ACCEPT_RELAXED,
                   "Keep drafts among the so many likeliest tokens; 0: 1");
    declare_number("--relaxed-delta", numbers.relaxed_delta, SAMPLER_ACCEPT_RELAXED,
                   "Of them those at most this less likely than the likeliest");
    declare_number("--threshold-single", numbers.threshold_single, SAMPLER_ACCEPT_THRESHOLD,
                   "Keep drafts of at least this probability; 0: 1");
    declare_number("--threshold-total", numbers.threshold_total, SAMPLER_ACCEPT_THRESHOLD,
                   "What probabilities are divided by before the coin; 0: 1");
    declare_number("--deferred-window", numbers.deferred_window, SAMPLER_ACCEPT_DEFERRED,
                   "Drafts after a rejected one that must match for it to be kept; 0: min(6, "
                   "drafts of a round - 1)");
    declare_number("--deferred-top-k", numbers.deferred_top_k, SAMPLER_ACCEPT_DEFERRED,
                   "Of so many likeliest tokens the entropy is taken; 0: 3");
    declare_number("--deferred-entropy", numbers.deferred_entropy, SAMPLER_ACCEPT_DEFERRED,
                   "In nats, where the model is in doubt; 0: 0.3");
    CLI::Option *const rates =
        app_->add_option("--synthetic-rates", generation.synthetic_rates,
                         "Share of the first, second, ... drafts of a round that is kept, such as "
                         "0.9,0.8,0.7; one for each draft")
            ->type_name("RATES")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(in_range(0.0, 1.0));
    only_in(rates, {Mode::kSpeculative, Mode::kNgram});
    of_acceptance_.push_back({rates, SAMPLER_ACCEPT_SYNTHETIC});
  }

  // A number of a rule.
  template <typename Number>
  void declare_number(const char *name, Number &number, sampler_acceptance acceptance,
                      const std::string &text) {
    constexpr Number kHighest =
        std::is_integral_v<Number> ? std::numeric_limits<Number>::max() : Number(1e9);
    CLI::Option *const option = app_->add_option(name, number, text)
                                    ->capture_default_str()
                                    ->check(in_range(Number(0), kHighest));
    only_in(option, {Mode::kSpeculative, Mode::kNgram});
    of_acceptance_.push_back({option, acceptance});
  }

  void declare_ngrams() {
    NgramOptions &ngram = arguments_->generation.ngram;
    sampler_speculative_args &draft = arguments_->generation.draft;
    constexpr std::int64_t kMaxLength = std::numeric_limits<std::int64_t>::max();
    CLI::Option *const lookup = app_->add_flag(
        "--lookup", ngram.is_lookup,
        "Draft what followed the longest earlier occurrence of the text's end, instead of counting "
        "n-grams; for one text");
    only_in(lookup, {Mode::kNgram});
    only_in(app_->add_option("--lookup-min-match", ngram.min_match,
                             "Tokens of the text's end that must be found again; 0: 1")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxLength))
                ->needs(lookup),
            {Mode::kNgram});
    only_in(app_->add_option("--lookup-max-match", ngram.max_match,
                             "Tokens of the text's end that are looked at; 0: all")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxLength))
                ->needs(lookup),
            {Mode::kNgram});
    only_in(app_->add_flag("--ngram-one-level", ngram.one_level,
                           "Count n-grams of --ngram-order tokens alone, and none of fewer")
                ->excludes(lookup),
            {Mode::kNgram});
    only_in(app_->add_option("--ngram-memory", ngram.memory_limit,
                             "Bytes that the n-grams may take, at least 4096; 0: no limit")
                ->capture_default_str()
                ->check([](const std::string &text) {
                  return text == "0" ? "" : in_range(std::int64_t{4096}, kMaxLength)(text);
                })
                ->excludes(lookup),
            {Mode::kNgram});
    only_in(app_->add_option("--ngram-least-count", draft.ngram_least_count,
                             "End drafts before one that was counted fewer times; 0: off")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxLength)),
            {Mode::kNgram});
    only_in(app_->add_option("--ngram-least-share", draft.ngram_least_share,
                             "End drafts before one with a lower share of what followed; 0: off")
                ->capture_default_str()
                ->check(in_range(0.0, 1.0)),
            {Mode::kNgram});
    only_in(app_->add_option("--ngram-order", ngram.order, "Tokens of the longest n-gram")
                ->capture_default_str()
                ->check(in_range(2, 16)),
            {Mode::kNgram});
    only_in(app_->add_option("--filler-top-k", draft.filler_top_k,
                             "Likeliest tokens of the model that are learned after each new token; "
                             "0: the token that came")
                ->capture_default_str()
                ->check(in_range(std::int64_t{0}, kMaxVocabulary)),
            {Mode::kNgram});
    only_in(app_->add_flag_callback(
                "--stop-if-unknown", [&] { draft.stop_if_unknown = 1; },
                "Draft nothing where no n-gram is known, instead of any token"),
            {Mode::kNgram});
  }

  void declare_beams() {
    BeamOptions &beam = arguments_->generation.beam;
    only_in(app_->add_option("--beams", beam.num_beams, "Texts kept of each prompt in a step")
                ->capture_default_str()
                ->check(in_range(std::int64_t{1}, std::int64_t{1024})),
            {Mode::kBeam});
    only_in(app_->add_option("--beam-top-k", beam.top_k, "Continuations tried of a beam in a step")
                ->capture_default_str()
                ->check(in_range(std::int64_t{1}, kMaxVocabulary)),
            {Mode::kBeam});
    only_in(
        app_->add_option("--alpha", beam.alpha,
                         "Exponent of the length penalty, the more the longer the texts; 0: none")
            ->capture_default_str()
            ->check(in_range(0.0, 100.0)),
        {Mode::kBeam});
    only_in(app_->add_option("--beam-min-length", beam.min_length,
                             "Tokens added to a length in the penalty: the more, the flatter it is")
                ->capture_default_str()
                ->check(in_range(0.0, 1e9)),
            {Mode::kBeam});
    only_in(app_->add_flag("--early-stop", beam.early_stop,
                           "End once as many beams have ended as --samples wants; with --beam-pool "
                           "once the pool is full"),
            {Mode::kBeam});
    only_in(app_->add_flag("--beam-pool", beam.has_pool,
                           "Beams that have ended go to a pool, and --beams go on in each step, as "
                           "Hugging Face's generate has it; else they keep their places")
                ->excludes(app_->get_option("--beam-top-k")),
            {Mode::kBeam});
  }

  void declare_output() {
    only_in(
        app_->add_flag("--trace", arguments_->trace,
                       "Print each round before the text: drafts that were accepted (+), rejected "
                       "(-) or not looked at (.), and the model's own token after them: instead "
                       "of a draft (>) or as a bonus (*)"),
        {Mode::kSpeculative, Mode::kNgram});
    CLI::Option *const explain =
        app_->add_option("--explain", arguments_->explained_step,
                         "Show after the text what each stage did to the logits that its token "
                         "number STEP, from 0, was drawn from")
            ->type_name("STEP")
            ->check(in_range(0, kMaxInt))
            ->excludes(ranks_);
    only_in(explain, {Mode::kAutoregressive},
            ": a token there comes of several rows, of drafts or of beams, and not of one draw");
    app_->add_option("--explain-text", arguments_->explained_text,
                     "Of which text, in the order in which they are printed, from 0")
        ->type_name("N")
        ->capture_default_str()
        ->check(in_range(0, kMaxInt))
        ->needs(explain);
    only_in(app_->add_flag("--logprobs", arguments_->generation.has_logprobs,
                           "Print after the texts each new token's log-probability, in nats: that "
                           "of the logits as the model gives them"),
            {Mode::kAutoregressive});
    app_->add_option("--color", color_, "Colours in --trace; auto: on a terminal")
        ->capture_default_str()
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    only_in(app_->add_option("--repeats", arguments_->repeats,
                             "Runs with and without drafts or beams, in turn, whose median speeds "
                             "are compared; the i-th run, counted from 0, has seed + i")
                ->capture_default_str()
                ->check(in_range(1, 1000)),
            {Mode::kSpeculative, Mode::kNgram, Mode::kBeam});
    app_->add_flag_callback(
        "--cpu-times", [this] { arguments_->generation.clock = Clock::kProcess; },
        "Measure the time in which the process ran, where others have its core, too");
    app_->add_option(
            "--json", arguments_->json,
            "Append a line of JSON to this file: what was asked for, tokens, drafts, times "
            "in seconds")
        ->type_name("FILE");
  }

  CLI::App *app_;
  Arguments *arguments_;
  std::vector<std::tuple<const CLI::Option *, std::vector<Mode>, const char *>> used_in_;
  // Numbers of the rules.
  std::vector<std::pair<const CLI::Option *, sampler_acceptance>> of_acceptance_;
  CLI::Option *preset_ = nullptr;
  CLI::Option *end_ids_ = nullptr;
  CLI::Option *ranks_ = nullptr;
  std::string end_ids_text_;
  std::string engine_, engine_parameters_ = "{}";
  bool no_cache_ = false;
  bool greedy_ = false;
  std::string color_ = "auto";
};

}  // namespace

const char *mode_name(Mode mode) {
  return name_of(modes(), mode);
}

const char *acceptance_name(sampler_acceptance acceptance) {
  return name_of(acceptances(), acceptance);
}

std::optional<int> parse_arguments(int argc, char **argv, Arguments *arguments) {
  CLI::App app("Continues prompts with a GPT-2; libsampler draws the tokens.", "generate");
  Declaration declaration(&app, arguments);
  try {
    app.parse(argc, argv);
    declaration.check();
  } catch (const CLI::Error &error) {
    return app.exit(error);
  }
  declaration.finish();
  return std::nullopt;
}

}  // namespace generate
