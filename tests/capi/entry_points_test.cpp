// Every exported function, and those that an n-gram interface points to, in every floating-point
// environment that a host may have: the same results, the host's environment as it was, and the
// host's callbacks called in it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "expect.h"
#include "fp_state.h"
#include "session_calls.h"
#include "shard_calls.h"
#include "state_calls.h"

namespace capi_test::entry_points_test {
namespace {

// ---- The host's callbacks -----------------------------------------------------------------------

// None may compute with floating-point numbers: they too are called where that traps.
struct Host {
  FpState state;  // which the callbacks are to find
  int num_calls = 0;
  int num_in_other_states = 0;

  void hear() {
    ++num_calls;
    num_in_other_states += !(fp_state() == state);
  }
};
Host host;

void *allocate(void *, std::size_t bytes, std::size_t alignment) {
  host.hear();
  void *memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void deallocate(void *, void *memory, std::size_t, std::size_t) {
  host.hear();
  std::free(memory);
}

template <class Options>
void set_hooks(Options *options) {
  options->allocator.allocate = &allocate;
  options->allocator.deallocate = &deallocate;
}

sampler_options watched_options() {
  sampler_options options = roomy_options(3);
  set_hooks(&options);
  options.log = [](void *, sampler_log_level, const char *) { host.hear(); };
  options.parallel_for = [](void *, std::int64_t num_tasks, sampler_task_fn task, void *task_user) {
    for (std::int64_t i = 0; i < num_tasks; ++i) {
      host.hear();
      task(task_user, i);
    }
    host.hear();
  };
  return options;
}

constexpr std::int64_t kVocabulary = 32;

// Logits that depend on the last token, off any grid.
struct Logits {
  float rows[kVocabulary][kVocabulary];

  explicit Logits(std::uint64_t seed) {
    Random random(seed);
    for (auto &row : rows) {
      for (float &value : row) value = float(random.between(1, 1 << 24)) * 0x1.9p-22f;
    }
  }
};

sampler_model model_of(const Logits *logits) {
  auto model = sized<sampler_model>();
  model.user = const_cast<Logits *>(logits);
  model.vocabulary_size = kVocabulary;
  model.max_context = 64;
  model.max_sequences = 16;
  model.forward = [](void *user, const sampler_forward_args *args) -> sampler_status {
    host.hear();
    float *row = static_cast<float *>(args->logits);
    for (std::int64_t span = 0; span < args->num_spans; ++span) {
      const std::int64_t end = args->token_offsets[span + 1];
      for (std::int64_t at = end - args->logit_counts[span]; at < end; ++at) {
        const auto &values = static_cast<const Logits *>(user)->rows[args->token_ids[at]];
        std::memcpy(row, values, sizeof values);
        row += args->logits_row_stride;
      }
    }
    return SAMPLER_OK;
  };
  model.truncate = [](void *, std::int32_t, std::int64_t) -> sampler_status {
    host.hear();
    return SAMPLER_OK;
  };
  model.fork = [](void *, std::int32_t, std::int32_t) -> sampler_status {
    host.hear();
    return SAMPLER_OK;
  };
  return model;
}

// ---- Entry points -------------------------------------------------------------------------------

// A call of an exported function. `prepare` and `result` run in the usual environment, `call` in
// the host's.
struct EntryPoint {
  std::function<void()> prepare;
  std::function<void()> call;
  std::function<std::string()> result;
};

class EntryPoints {
 public:
  EntryPoints() {
    add_constants();
    add_inits();
    add_handle();
    add_operations();
    add_simple_calls();
    add_loops();
    add_storage();
    add_lookup();
    add_unmasking();
    add_watermarks();
    add_watermark_schemes();
    add_state();
    add_session();
    add_shards();
  }

  const std::multimap<std::string, EntryPoint> &all() const { return points_; }

 private:
  void add(const std::string &name, std::function<void()> prepare, std::function<void()> call,
           std::function<std::string()> result) {
    points_.insert({name, {std::move(prepare), std::move(call), std::move(result)}});
  }

  // A function that returns a status; `outputs` are what it writes.
  void add_call(const std::string &name, std::function<void()> prepare,
                std::function<sampler_status()> call, std::function<std::string()> outputs) {
    add(
        name, std::move(prepare), [=] { status_ = call(); },
        [=] { return name_of_status() + outputs(); });
  }
  std::string name_of_status() const {
    const std::string name = sampler_status_string(status_);
    return status_ == SAMPLER_OK ? name : name + ": " + sampler_last_error() + "\n";
  }

  template <class T>
  static std::string bytes_of(const T &value) {
    return {reinterpret_cast<const char *>(&value), sizeof value};
  }
  static void nothing() {}
  static std::string no_output() { return ""; }

  template <class Function>
  void add_constant(const std::string &name, Function function) {
    auto value = std::make_shared<decltype(function())>();
    add(
        name, nothing, [=] { *value = function(); }, [=] { return bytes_of(*value); });
  }

  void add_constants() {
    add_constant("sampler_version", sampler_version);
    add_constant("sampler_abi_version", sampler_abi_version);
    add_constant("sampler_version_string", sampler_version_string);
    add_constant("sampler_last_error", sampler_last_error);
    add_constant("sampler_status_string", [] { return sampler_status_string(3); });
    add_constant("sampler_preset_name", [] { return sampler_preset_name(0); });
    add_constant("sampler_stage_name", [] { return sampler_stage_name(SAMPLER_STAGE_TOP_P); });
    const auto counts = std::make_shared<std::vector<std::int64_t>>(3);
    add_call(
        "sampler_prune_count", nothing,
        [=] {
          std::int64_t *const out = counts->data();
          return sampler_prune_count(5, 3, out, out + 1, out + 2);
        },
        [=] { return testing::PrintToString(*counts); });
    add_call(
        "sampler_prune_count", nothing,
        [] { return sampler_prune_count(3, 5, nullptr, nullptr, nullptr); }, no_output);
  }

  template <class Struct>
  void add_init(const std::string &name, sampler_status (*init)(Struct *, std::size_t)) {
    const auto value = std::make_shared<Struct>();
    add_call(
        name, nothing, [=] { return init(value.get(), sizeof(Struct)); },
        [=] { return bytes_of(*value); });
    add_call(
        name, nothing, [=] { return init(nullptr, sizeof(Struct)); }, no_output);
  }

  void add_inits() {
    add_init("sampler_params_init", sampler_params_init);
    add_init("sampler_options_init", sampler_options_init);
    for (const char *const name : {"vllm", "unknown"}) {
      const auto params = std::make_shared<sampler_params>();
      add_call(
          "sampler_params_preset", nothing,
          [=] { return sampler_params_preset(params.get(), sizeof *params, name); },
          [=] { return bytes_of(*params); });
    }
    add_init("sampler_generation_args_init", sampler_generation_args_init);
    add_init("sampler_speculative_args_init", sampler_speculative_args_init);
    add_init("sampler_beam_search_args_init", sampler_beam_search_args_init);
  }

  void add_handle() {
    const auto created = std::make_shared<sampler_t>();
    const auto create = [=] {
      const sampler_options options = watched_options();
      return sampler_create(&options, created.get());
    };
    const auto destroy = [=] { sampler_destroy(*created); };
    add_call("sampler_create", nothing, create, [=] {
      destroy();
      return std::string();
    });
    add_call(
        "sampler_create", nothing,
        [=] {
          sampler_options options = watched_options();
          options.max_rows = -1;
          return sampler_create(&options, created.get());
        },
        no_output);
    add("sampler_destroy", create, destroy, no_output);

    const auto capabilities = std::make_shared<sampler_capabilities>();
    add_call(
        "sampler_get_capabilities", [=] { *capabilities = sized<sampler_capabilities>(); },
        [=] { return sampler_get_capabilities(capabilities.get()); },
        [=] { return bytes_of(*capabilities); });
  }

  void add_operations() {
    for (const Spec &spec : few_specs()) {
      const auto call = std::make_shared<Call>(spec);
      add_call(
          spec.op().name, [=] { call->reset_outputs(); }, [=] { return call->run(sampler_.get()); },
          [=] { return call->output(); });
    }
    const auto bytes = std::make_shared<std::size_t>();
    for (const Op op :
         {Op::kSample, Op::kFilter, Op::kSelect, Op::kVerify, Op::kResidual, Op::kScore}) {
      Spec spec;
      spec.operation = op;
      const Operation &operation = spec.op();
      const auto call = std::make_shared<Call>(spec);
      add_call(
          operation.name, nothing, [=, &operation] { return operation.run(nullptr, nullptr); },
          no_output);
      add_call(
          operation.name, nothing,
          [=, &operation] { return operation.run(sampler_.get(), nullptr); }, no_output);
      const std::string name = operation.name + std::string("_workspace_size");
      add_call(
          name, nothing,
          [=, &operation] {
            return operation.workspace_size(sampler_.get(), call->args().data(), bytes.get());
          },
          [=] { return bytes_of(*bytes); });
      add_call(
          name, nothing,
          [=, &operation] {
            return operation.workspace_size(sampler_.get(), nullptr, bytes.get());
          },
          no_output);
    }
  }

  // ---- Calls in one line

  // Rows of values off any grid, and the outputs of a call on them.
  struct Rows {
    std::vector<float> values, output;
    std::vector<std::int32_t> token_ids;
    sampler_rows view = {};

    explicit Rows(sampler_input_kind kind) : values(20 * 37), output(20 * 37), token_ids(20 * 37) {
      Random random(5);
      for (float &value : values) value = float(random.between(1, 1 << 24)) * 0x1.9p-22f;
      view.values = values.data();
      view.num_rows = 20;
      view.num_cols = 37;
      view.kind = kind;
    }
  };

  // `call(sampler, rows, output, token_ids)`, of logits, of probabilities, which some calls refuse
  // with a number that the C library rounds as it prints it, and of nothing.
  template <class Function>
  void add_simple(const std::string &name, const Function &call) {
    for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
      const auto rows = std::make_shared<Rows>(kind);
      add_call(
          name,
          [=] {
            std::fill(rows->output.begin(), rows->output.end(), -7.0f);
            std::fill(rows->token_ids.begin(), rows->token_ids.end(), -7);
          },
          [=] {
            return call(sampler_.get(), &rows->view, rows->output.data(), rows->token_ids.data());
          },
          [=] {
            return testing::PrintToString(rows->output) + testing::PrintToString(rows->token_ids);
          });
    }
    add_call(
        name, nothing, [=] { return call(sampler_.get(), nullptr, nullptr, nullptr); }, no_output);
    add_call(
        name, nothing, [=] { return call(nullptr, nullptr, nullptr, nullptr); }, no_output);
  }

  void add_simple_calls() {
    using Input = const sampler_rows *;
    using Ids = std::int32_t *;
    add_simple("sampler_argmax", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_argmax(sampler, input, ids, nullptr);
    });
    add_simple("sampler_categorical", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_categorical(sampler, input, 0.7f, 5, 6, ids, nullptr);
    });
    add_simple("sampler_top_k", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_top_k(sampler, input, 9, 1, 5, 6, ids, nullptr);
    });
    add_simple("sampler_top_p", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_top_p(sampler, input, 0.8f, 1, 5, 6, ids, nullptr);
    });
    add_simple("sampler_min_p", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_min_p(sampler, input, 0.1f, 1, 5, 6, ids, nullptr);
    });
    add_simple("sampler_top_k_top_p", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_top_k_top_p(sampler, input, 9, 0.8f, 1, 5, 6, ids, nullptr);
    });
    add_simple("sampler_softmax", [](sampler_t sampler, Input input, float *output, Ids) {
      return sampler_softmax(sampler, input, 0.7f, output, nullptr);
    });
    add_simple("sampler_top_k_renorm", [](sampler_t sampler, Input input, float *output, Ids) {
      return sampler_top_k_renorm(sampler, input, 9, output, nullptr);
    });
    add_simple("sampler_top_p_renorm", [](sampler_t sampler, Input input, float *output, Ids) {
      return sampler_top_p_renorm(sampler, input, 0.8f, output, nullptr);
    });
    add_simple("sampler_top_k_mask", [](sampler_t sampler, Input input, float *output, Ids) {
      return sampler_top_k_mask(sampler, input, 9, output, nullptr);
    });
    add_simple("sampler_top_k_select", [](sampler_t sampler, Input input, float *output, Ids ids) {
      return sampler_top_k_select(sampler, input, 9, output, ids, nullptr);
    });
    static const std::int32_t drafts[15] = {};
    add_simple("sampler_chain_speculative", [](sampler_t sampler, Input input, float *, Ids ids) {
      return sampler_chain_speculative(sampler, input, nullptr, drafts, 3, 5, 6, ids, ids + 20,
                                       ids + 30, nullptr);
    });
  }

  // ---- Loops

  struct Texts {
    std::vector<std::int64_t> offsets = {0, 2, 3};
    std::vector<std::int32_t> prompts = {3, 4, 9};
    sampler_model target, drafter;
    sampler_params params = sampler_params_default();
    sampler_generation_args args = sampler_generation_args_default();
    sampler_speculative_args speculative = sampler_speculative_args_default();
    sampler_speculative_args with_ngrams = sampler_speculative_args_default();
    sampler_beam_search_args beam_search = sampler_beam_search_args_default();
    sampler_ngram_storage_t storage = nullptr;
    sampler_ngram ngram = sized<sampler_ngram>();
    std::vector<std::int32_t> tokens;
    std::vector<float> scores;
    sampler_generation_stats stats;

    std::string output() const {
      return testing::PrintToString(tokens) + testing::PrintToString(scores) + bytes_of(stats);
    }
  };

  std::shared_ptr<Texts> make_texts() const {
    const auto texts = std::make_shared<Texts>();
    texts->target = model_of(&target_);
    texts->drafter = model_of(&drafter_);
    sampler_generation_args &args = texts->args;
    args.target = &texts->target;
    args.params = &texts->params;
    args.num_sequences = 2;
    args.prompt_offsets = texts->offsets.data();
    args.prompt_token_ids = texts->prompts.data();
    args.max_new_tokens = 20;
    args.use_cache = 1;
    texts->tokens.resize(std::size_t(2 * 4 * args.max_new_tokens));
    texts->scores.resize(2 * 4);
    args.out_token_ids = texts->tokens.data();
    args.out_stats = &texts->stats;
    texts->speculative.generation = &args;
    texts->speculative.drafter = &texts->drafter;
    texts->speculative.adaptive_gamma = 1;
    texts->speculative.ema_beta = 0.3f;
    texts->with_ngrams.generation = &args;
    texts->with_ngrams.ngram = &texts->ngram;
    texts->beam_search.generation = &args;
    texts->beam_search.num_results = 4;
    texts->beam_search.out_scores = texts->scores.data();
    return texts;
  }

  static void add_callbacks(sampler_generation_args *args) {
    args->debug = 1;
    args->process = [](void *, sampler_stream, void *, std::int64_t, std::int64_t, std::int64_t,
                       const std::int32_t *, const std::int64_t *) -> sampler_status {
      host.hear();
      return SAMPLER_OK;
    };
    args->on_tokens = [](void *, std::int64_t, const std::int32_t *, std::int64_t,
                         sampler_finish_reason) -> std::int32_t {
      host.hear();
      return 0;
    };
    args->trace = [](void *, const sampler_trace_round *) { host.hear(); };
    args->token_text = [](void *, std::int32_t, char *buffer, std::size_t) -> std::size_t {
      host.hear();
      *buffer = '*';
      return 1;
    };
  }

  template <class LoopArgs>
  void add_loop(const std::string &name, std::shared_ptr<Texts> texts, const LoopArgs *args,
                sampler_status (*function)(sampler_t, const LoopArgs *)) {
    add_call(
        name,
        [=] {
          std::fill(texts->tokens.begin(), texts->tokens.end(), -7);
          texts->stats = sized<sampler_generation_stats>();
          sampler_ngram_storage_destroy(texts->storage);
          sampler_ngram_storage_options options = storage_options();
          sampler_ngram_storage_create(&options, &texts->storage);
          sampler_ngram_storage_interface(texts->storage, &texts->ngram);
        },
        [=] { return function(sampler_.get(), args); },
        [=] {
          sampler_ngram_storage_destroy(texts->storage);
          texts->storage = nullptr;
          return texts->output();
        });
    add_call(
        name, nothing, [=] { return function(sampler_.get(), nullptr); }, no_output);
  }

  void add_loops() {
    for (const sampler_processor processor : {SAMPLER_PROCESSOR_GREEDY, SAMPLER_PROCESSOR_SAMPLE}) {
      const auto texts = make_texts();
      add_callbacks(&texts->args);
      texts->args.processor = processor;
      texts->params.temperature = 0.9f;
      add_loop("sampler_autoregressive", texts, &texts->args, sampler_autoregressive);
      add_loop("sampler_speculative", texts, &texts->speculative, sampler_speculative);
      add_loop("sampler_speculative", texts, &texts->with_ngrams, sampler_speculative);
    }
    const auto beams = make_texts();
    add_loop("sampler_beam_search", beams, &beams->beam_search, sampler_beam_search);

    // Numbers that the C library rounds when it prints them.
    const auto refused = make_texts();
    refused->beam_search.alpha = -0.1f;
    refused->speculative.ema_beta = -0.1f;
    add_loop("sampler_beam_search", refused, &refused->beam_search, sampler_beam_search);
    add_loop("sampler_speculative", refused, &refused->speculative, sampler_speculative);
  }

  // ---- N-grams

  static sampler_ngram_storage_options storage_options() {
    auto options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = kVocabulary;
    set_hooks(&options);
    return options;
  }

  // The functions of an interface that `make` fills.
  template <class Make>
  void add_interface(const std::string &name, const Make &make) {
    const auto ngram = std::make_shared<sampler_ngram>();
    add_call(
        name, [=] { *ngram = sized<sampler_ngram>(); }, [=] { return make(ngram.get()); },
        [=] { return bytes_of(*ngram); });
    const auto add_function = [&](const std::function<sampler_status()> &call) {
      const auto prepare = [=] {
        make(ngram.get());
        out_[0] = out_[1] = -7;
      };
      add_call(name, prepare, call, [=] { return testing::PrintToString(out_); });
    };
    const std::int32_t *const text = text_.data();
    const auto num_tokens = std::int64_t(text_.size());
    std::int32_t *const out = out_;
    add_function([=] { return ngram->reset(ngram->user); });
    add_function([=] { return ngram->initialize(ngram->user, text, num_tokens - 1); });
    add_function(
        [=] { return ngram->update(ngram->user, text, num_tokens - 1, text + num_tokens - 1, 1); });
    add_function(
        [=] { return ngram->next_token(ngram->user, text, num_tokens, 1, 2, out, out + 1); });
    add_function([=] { return ngram->has_gram(ngram->user, text, 2, out); });
    add_function([=] {
      std::int64_t num_drafts = -7;
      return ngram->propose(ngram->user, text, num_tokens, 2, 1, 0.25f, out, &num_drafts);
    });
    add_function([=] { return ngram->has_gram(nullptr, text, 2, out); });
    add_function([=] { return ngram->reset(ngram->user); });
  }

  void add_storage() {
    const sampler_ngram_storage_options options = storage_options();
    const auto storage = std::make_shared<sampler_ngram_storage_t>();
    const auto create = [=] { return sampler_ngram_storage_create(&options, storage.get()); };
    const auto destroy = [=] { sampler_ngram_storage_destroy(*storage); };
    const auto create_and_learn = [=] {
      create();
      auto ngram = sized<sampler_ngram>();
      sampler_ngram_storage_interface(*storage, &ngram);
      ngram.initialize(ngram.user, text_.data(), std::int64_t(text_.size()));
    };
    add_call("sampler_ngram_storage_create", nothing, create, [=] {
      destroy();
      return std::string();
    });
    add("sampler_ngram_storage_destroy", create_and_learn, destroy, no_output);

    sampler_ngram_storage_t kept = nullptr;
    sampler_ngram_storage_create(&options, &kept);
    kept_storage_.reset(kept, sampler_ngram_storage_destroy);
    add_interface("sampler_ngram_storage_interface", [=](sampler_ngram *ngram) {
      return sampler_ngram_storage_interface(kept, ngram);
    });

    const auto stats = std::make_shared<sampler_ngram_storage_stats>();
    add_call(
        "sampler_ngram_storage_get_stats",
        [=] {
          create_and_learn();
          *stats = sized<sampler_ngram_storage_stats>();
        },
        [=] { return sampler_ngram_storage_get_stats(*storage, stats.get()); },
        [=] {
          destroy();
          return bytes_of(*stats);
        });
    const auto data = std::make_shared<std::string>();
    const auto serialize = [=] {
      std::size_t bytes = 0;
      return sampler_ngram_storage_serialize(*storage, data->data(), data->size(), &bytes);
    };
    const auto make_room = [=] {
      create_and_learn();
      std::size_t bytes = 0;
      sampler_ngram_storage_serialize(*storage, nullptr, 0, &bytes);
      data->assign(bytes, '?');
    };
    const auto give_data = [=] {
      destroy();
      return *data;
    };
    add_call("sampler_ngram_storage_serialize", make_room, serialize, give_data);
    const auto deserialize = [=] {
      return sampler_ngram_storage_deserialize(*storage, data->data(), data->size());
    };
    add_call(
        "sampler_ngram_storage_deserialize",
        [=] {
          make_room();
          serialize();
        },
        deserialize, give_data);
    add_call("sampler_ngram_storage_deserialize", make_room, deserialize, give_data);
  }

  void add_lookup() {
    auto options = sized<sampler_prompt_lookup_options>();
    options.max_tokens = 100;
    options.vocabulary_size = kVocabulary;
    set_hooks(&options);
    const auto lookup = std::make_shared<sampler_prompt_lookup_t>();
    const auto create = [=] { return sampler_prompt_lookup_create(&options, lookup.get()); };
    const auto destroy = [=] { sampler_prompt_lookup_destroy(*lookup); };
    const auto append = [=] {
      return sampler_prompt_lookup_append(*lookup, text_.data(), std::int64_t(text_.size()));
    };
    const auto destroyed = [=] {
      destroy();
      return std::string();
    };
    add_call("sampler_prompt_lookup_create", nothing, create, destroyed);
    add("sampler_prompt_lookup_destroy", create, destroy, no_output);
    add_call("sampler_prompt_lookup_append", create, append, destroyed);
    add_call(
        "sampler_prompt_lookup_reset", create, [=] { return sampler_prompt_lookup_reset(*lookup); },
        destroyed);
    const auto drafts = std::make_shared<std::vector<std::int32_t>>(4);
    const auto count = std::make_shared<std::int64_t>();
    add_call(
        "sampler_prompt_lookup_propose",
        [=] {
          create();
          append();
        },
        [=] { return sampler_prompt_lookup_propose(*lookup, 4, drafts->data(), count.get()); },
        [=] { return destroyed() + testing::PrintToString(*drafts) + bytes_of(*count); });

    sampler_prompt_lookup_t kept = nullptr;
    sampler_prompt_lookup_create(&options, &kept);
    kept_lookup_.reset(kept, sampler_prompt_lookup_destroy);
    add_interface("sampler_prompt_lookup_interface", [=](sampler_ngram *ngram) {
      return sampler_prompt_lookup_interface(kept, ngram);
    });
  }

  void add_session() {
    const auto calls = std::make_shared<SessionCalls>(sampler_.get());
    const auto start = [=] { calls->start(); };
    const auto contents = [=] { return calls->contents(); };
    const auto bytes = std::make_shared<std::size_t>();
    add_call(
        "sampler_session_create", [=] { calls->destroy(); }, [=] { return calls->create(); },
        no_output);
    add_call(
        "sampler_session_create", nothing,
        [=] { return sampler_session_create(sampler_.get(), nullptr, nullptr); }, no_output);
    add_call(
        "sampler_session_size", nothing,
        [=] { return sampler_session_size(sampler_.get(), &calls->options, bytes.get()); },
        [=] { return bytes_of(*bytes); });
    add(
        "sampler_session_destroy", start, [=] { calls->destroy(); }, no_output);
    add_call(
        "sampler_session_add", start,
        [=] { return sampler_session_add(calls->session, &calls->add, &calls->sequence); },
        contents);
    add_call(
        "sampler_session_add", nothing,
        [=] { return sampler_session_add(calls->session, nullptr, nullptr); }, no_output);
    add_call(
        "sampler_session_fork", start,
        [=] { return sampler_session_fork(calls->session, &calls->fork, &calls->sequence); },
        contents);
    add_call(
        "sampler_session_fork", nothing,
        [=] { return sampler_session_fork(nullptr, nullptr, nullptr); }, no_output);
    add_call(
        "sampler_session_remove", start, [=] { return sampler_session_remove(calls->session, 0); },
        no_output);
    add_call(
        "sampler_session_remove", nothing, [=] { return sampler_session_remove(nullptr, 0); },
        no_output);
    add_call(
        "sampler_session_get", start,
        [=] { return sampler_session_get(calls->session, 0, &calls->out); }, contents);
    add_call(
        "sampler_session_get", nothing, [=] { return sampler_session_get(nullptr, 0, nullptr); },
        no_output);
    add_call(
        "sampler_session_plan", start,
        [=] { return sampler_session_plan(calls->session, &calls->plan); }, contents);
    add_call(
        "sampler_session_plan", nothing, [=] { return sampler_session_plan(nullptr, nullptr); },
        no_output);
    add_call(
        "sampler_session_advance", start,
        [=] { return sampler_session_advance(calls->session, &calls->advance); }, contents);
    add_call(
        "sampler_session_advance", nothing,
        [=] { return sampler_session_advance(nullptr, nullptr); }, no_output);
  }

  void add_shards() {
    const auto calls = std::make_shared<ShardCalls>(sampler_.get());
    add_call(
        "sampler_shard_plan", nothing,
        [=] { return sampler_shard_plan(sampler_.get(), &calls->shard, &calls->plan); },
        [=] { return bytes_of(calls->plan); });
    add_call(
        "sampler_shard_plan", nothing,
        [=] { return sampler_shard_plan(nullptr, nullptr, nullptr); }, no_output);
    add_call(
        "sampler_shard_round", [=] { calls->reset(); }, [=] { return calls->run(); },
        [=] { return calls->outputs(); });
    add_call(
        "sampler_shard_round", nothing,
        [=] { return sampler_shard_round(sampler_.get(), &calls->shard, -1); }, no_output);
  }

  void add_unmasking() {
    struct Calls {
      std::array<std::int32_t, 4> candidates = {1, 2, 3, 1}, tokens = {};
      std::array<float, 4> scores = {-0.1F, -1.3F, -0.7F, -2.9F}, confidences = {};
      std::size_t bytes = 0;
      UnmaskArgs args;
    };
    const auto calls = std::make_shared<Calls>();
    UnmaskArgs &args = calls->args;
    args.num_rows = 4;
    args.num_blocks = 1;
    args.candidate_token_ids = calls->candidates.data();
    args.scores = calls->scores.data();
    args.token_ids = calls->tokens.data();
    args.unmask_params.order_temperature = 0.7F;
    args.unmask_params.num_committed = 2;
    args.unmask_params.threshold = 0.85F;
    args.out_confidences = calls->confidences.data();
    const auto run = [=] { return sampler_unmask(sampler_.get(), &calls->args); };
    add_call(
        "sampler_unmask", [=] { calls->tokens.fill(0); }, run,
        [=] { return bytes_of(calls->tokens) + bytes_of(calls->confidences); });
    add_call(
        "sampler_unmask", nothing, [=] { return sampler_unmask(sampler_.get(), nullptr); },
        no_output);
    add_call(
        "sampler_unmask_workspace_size", nothing,
        [=] { return sampler_unmask_workspace_size(sampler_.get(), &calls->args, &calls->bytes); },
        [=] { return bytes_of(calls->bytes); });
  }

  void add_watermarks() {
    struct Results {
      std::uint64_t seed = 0, offset = 0;
      std::uint32_t stream = 0;
      double score = 0, p_value = 0;
      std::int64_t num_scored = 0;
    };
    static constexpr std::int64_t kText[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    const auto results = std::make_shared<Results>();
    add_call(
        "sampler_watermark_random", nothing,
        [=] {
          return sampler_watermark_random(7, kText, 5, &results->seed, &results->offset,
                                          &results->stream);
        },
        [=] {
          return bytes_of(results->seed) + bytes_of(results->offset) + bytes_of(results->stream);
        });
    add_call(
        "sampler_watermark_detect", nothing,
        [=] {
          return sampler_watermark_detect(7, kText, 12, 2, 0, &results->score, &results->num_scored,
                                          &results->p_value);
        },
        [=] { return bytes_of(results->score) + bytes_of(results->p_value); });
    add_call(
        "sampler_watermark_detect", nothing,
        [=] {
          return sampler_watermark_detect(7, nullptr, 1, 2, 0, &results->score,
                                          &results->num_scored, &results->p_value);
        },
        no_output);
  }

  void add_watermark_schemes() {
    struct Results {
      sampler_watermark_params green = sized<sampler_watermark_params>(), tournament = green;
      std::array<std::int32_t, 40> table = {};
      std::array<float, 9> biases = {};
      std::array<float, 3> probabilities = {};
      double score = 0, p_value = 0;
      std::int64_t num_scored = 0;
    };
    static constexpr std::int64_t kText[] = {3, 1, 4, 1, 5, 2, 6}, kKeys[] = {5, 77};
    static constexpr std::int32_t kIds[] = {1, 2, 8};
    const auto results = std::make_shared<Results>();
    results->green.vocabulary_size = results->tournament.vocabulary_size = 9;
    results->green.context_length = results->tournament.context_length = 2;
    results->green.key = 15485863;
    results->green.green_share = 0.3;
    results->green.bias = 1.7F;
    results->tournament.scheme = SAMPLER_WATERMARK_TOURNAMENT;
    results->tournament.keys = kKeys;
    results->tournament.num_keys = 2;
    results->tournament.table = results->table.data();
    results->tournament.table_size = 40;
    add_call(
        "sampler_watermark_table", nothing,
        [=] { return sampler_watermark_table(&results->tournament, results->table.data()); },
        [=] { return bytes_of(results->table); });
    add_call(
        "sampler_watermark_bias", nothing,
        [=] {
          return sampler_watermark_bias(&results->green, kText, nullptr, 0, results->biases.data());
        },
        [=] { return bytes_of(results->biases); });
    add_call(
        "sampler_watermark_tournament",
        [=] {
          results->probabilities = {0.3F, 0.6F, 0.1F};
          sampler_watermark_table(&results->tournament, results->table.data());
        },
        [=] {
          return sampler_watermark_tournament(&results->tournament, kText, kIds, 3,
                                              results->probabilities.data());
        },
        [=] { return bytes_of(results->probabilities); });
    add_call(
        "sampler_watermark_score", nothing,
        [=] {
          return sampler_watermark_score(&results->green, kText, 7, &results->score,
                                         &results->num_scored, &results->p_value);
        },
        [=] { return bytes_of(results->score) + bytes_of(results->p_value); });
    add_call(
        "sampler_watermark_score", nothing,
        [=] {
          return sampler_watermark_score(nullptr, kText, 7, &results->score, &results->num_scored,
                                         &results->p_value);
        },
        no_output);
  }

  void add_state() {
    const auto calls = std::make_shared<StateCalls>(sampler_.get());
    const auto start = [=] { calls->start(); };
    const auto bytes = std::make_shared<std::size_t>();
    add_call(
        "sampler_state_create", [=] { calls->destroy(); }, [=] { return calls->create(); },
        no_output);
    add_call(
        "sampler_state_create", nothing,
        [=] { return sampler_state_create(sampler_.get(), nullptr, nullptr); }, no_output);
    add_call(
        "sampler_state_size", nothing,
        [=] { return sampler_state_size(sampler_.get(), &calls->options, bytes.get()); },
        [=] { return bytes_of(*bytes); });
    add(
        "sampler_state_destroy", start, [=] { calls->destroy(); }, no_output);
    const auto add_change = [&](const std::string &name, auto function, auto args) {
      add_call(
          name, start, [=] { return function(sampler_.get(), &((*calls).*args)); },
          [=] { return calls->contents() + calls->outputs(); });
      add_call(
          name, nothing, [=] { return function(sampler_.get(), nullptr); }, no_output);
      add_call(
          name, nothing, [=] { return function(nullptr, nullptr); }, no_output);
    };
    add_change("sampler_state_append", sampler_state_append, &StateCalls::append);
    add_change("sampler_accept", sampler_accept, &StateCalls::accept);
    add_change("sampler_state_truncate", sampler_state_truncate, &StateCalls::truncate);
    add_change("sampler_state_copy", sampler_state_copy, &StateCalls::copy);
    add_change("sampler_state_reset", sampler_state_reset, &StateCalls::reset);
    add_change("sampler_state_read", sampler_state_read, &StateCalls::read);
    const auto contents = [=] { return calls->contents(); };
    add_call(
        "sampler_state_serialize", start, [=] { return calls->serialize(); }, contents);
    add_call(
        "sampler_state_deserialize",
        [=] {
          calls->start();
          calls->serialize();
          sampler_accept(sampler_.get(), &calls->accept);
        },
        [=] { return calls->deserialize(); }, contents);
  }

  std::multimap<std::string, EntryPoint> points_;
  sampler_status status_ = SAMPLER_OK;
  Sampler sampler_ = make_sampler(watched_options());
  Logits target_{1}, drafter_{2};
  std::vector<std::int32_t> text_ = {1, 2, 3, 1, 2, 4, 1, 2};
  std::int32_t out_[2] = {};
  std::shared_ptr<struct sampler_ngram_storage> kept_storage_;
  std::shared_ptr<struct sampler_prompt_lookup> kept_lookup_;
};

std::set<std::string> exported_names() {
  std::ifstream file(SAMPLER_EXPORTED_NAMES);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line);
  }
  return names;
}

TEST(EntryPoints, AreAllThatIsExported) {
  std::set<std::string> names;
  const EntryPoints points;
  for (const auto &[name, point] : points.all()) names.insert(name);
  EXPECT_EQ(names, exported_names());
}

class EntryPointsIn : public testing::TestWithParam<HostState> {};

TEST_P(EntryPointsIn, DoTheSame) {
  const FpState usual = fp_state();
  const EntryPoints points;
  std::vector<std::string> expected;
  for (const auto &[name, point] : points.all()) {
    point.prepare();
    point.call();
    expected.push_back(point.result());
  }
  int num_calls = 0;
  std::size_t i = 0;
  for (const auto &[name, point] : points.all()) {
    SCOPED_TRACE(name);
    point.prepare();
    set_fp_state(GetParam().state);
    host.state = fp_state();  // some bits may read as 0
    set_fp_state(usual);
    host.num_calls = host.num_in_other_states = 0;
    FpState entered;
    const FpState left = run_in_state(GetParam().state, point.call, &entered);
    EXPECT_TRUE(left == entered) << std::hex << "entered " << entered.control << ' '
                                 << entered.status << " left " << left.control << ' '
                                 << left.status;
    EXPECT_EQ(host.num_in_other_states, 0) << "of " << host.num_calls << " callbacks";
    num_calls += host.num_calls;
    EXPECT_EQ(point.result(), expected[i++]);
  }
  EXPECT_GT(num_calls, 1000);
}

std::string state_name(const testing::TestParamInfo<HostState> &state) {
  std::string name = state.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(States, EntryPointsIn, testing::ValuesIn(host_states()), state_name);

// A callback's changes of the environment are the host's to keep.
TEST(Callbacks, MayChangeTheEnvironment) {
  const FpState usual = fp_state();
  for (const HostState &other : host_states()) {
    SCOPED_TRACE(other.name);
    static FpState wanted;
    wanted = other.state;
    sampler_options options = sampler_options_default();
    options.log = [](void *, sampler_log_level, const char *) { set_fp_state(wanted); };
    set_fp_state(wanted);
    const FpState held = fp_state();  // where some bits may read as 0
    set_fp_state(usual);
    sampler_t sampler = nullptr;
    sampler_create(&options, &sampler);
    const FpState left = fp_state();
    set_fp_state(usual);
    EXPECT_TRUE(left == held);
    ASSERT_NE(sampler, nullptr);
    sampler_destroy(sampler);
    EXPECT_TRUE(fp_state() == usual);
  }
}

}  // namespace
}  // namespace capi_test::entry_points_test
