// Structs carry their size, so that programs and libraries of different versions work together.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "expect.h"
#include "session_calls.h"
#include "shard_calls.h"
#include "state_calls.h"

namespace capi_test::struct_size_test {
namespace {

constexpr std::size_t kMaxStructSize = 65536;

template <class Struct>
std::string bytes_of(const Struct &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

// A public struct: `use` gives one to the library, which reads or fills it.
struct PublicStruct {
  std::string type;
  std::string argument;  // what error texts call it
  std::string image;     // one that the library takes
  std::function<sampler_status(const void *)> use;

  std::size_t size() const { return image.size(); }
};

// All of them, and what their use needs.
class PublicStructs {
 public:
  PublicStructs() {
    sampler_ngram_storage_create(&storage_options_, &storage_);
    sampler_prompt_lookup_create(&lookup_options_, &lookup_);
    model_.forward = [](void *, const sampler_forward_args *) -> sampler_status {
      return SAMPLER_OK;
    };
    model_.truncate = [](void *, std::int32_t, std::int64_t) -> sampler_status {
      return SAMPLER_OK;
    };
    model_.vocabulary_size = model_.max_context = model_.max_sequences = 9;
    sampler_ngram_storage_interface(storage_, &ngram_);
    generation_.target = &model_;
    generation_.prompt_offsets = offsets_;
    generation_.out_token_ids = &token_id_;
    speculative_.generation = beam_search_.generation = &generation_;
    speculative_.ngram = &ngram_;
    add_calls();
    add_handles();
    add_loops();
    add_ngrams();
    add_states();
    add_sessions();
    add_shards();
  }
  ~PublicStructs() {
    sampler_ngram_storage_destroy(storage_);
    sampler_prompt_lookup_destroy(lookup_);
  }
  PublicStructs(const PublicStructs &) = delete;
  PublicStructs &operator=(const PublicStructs &) = delete;

  const std::vector<PublicStruct> &all() const { return all_; }

 private:
  template <class Struct, class Use>
  void add(const char *type, const char *argument, const Struct &value, const Use &use) {
    all_.push_back({type, argument, bytes_of(value), [=](const void *data) {
                      // The library takes structs by their type, and this one has any size.
                      return use(static_cast<Struct *>(const_cast<void *>(data)));
                    }});
  }
#define ADD(type, argument, value, ...) \
  add(#type, argument, static_cast<const type &>(value), [=](type * data) __VA_ARGS__)

  void add_calls() {
    const sampler_t sampler = sampler_.get();
    auto sample = sized<sampler_sample_args>();
    auto score = sized<sampler_score_args>();
    auto filter = sized<sampler_filter_args>();
    auto select = sized<sampler_select_args>();
    auto verify = sized<sampler_verify_args>();
    auto residual = sized<sampler_residual_args>();
    const auto unmask = sized<sampler_unmask_args>();
    for (sampler_rows *rows : {&sample.input, &score.input, &filter.input, &select.input,
                               &verify.target, &residual.target}) {
      rows->num_cols = 1;
    }
    select.num_selected = 1;
    residual.target.kind = SAMPLER_PROBABILITIES;
    ADD(sampler_sample_args, "args", sample, { return sampler_sample(sampler, data); });
    ADD(sampler_score_args, "args", score, { return sampler_score(sampler, data); });
    ADD(sampler_filter_args, "args", filter, { return sampler_filter(sampler, data); });
    ADD(sampler_select_args, "args", select, { return sampler_select(sampler, data); });
    ADD(sampler_verify_args, "args", verify, { return sampler_verify(sampler, data); });
    ADD(sampler_residual_args, "args", residual, { return sampler_residual(sampler, data); });
    ADD(sampler_unmask_args, "args", unmask, { return sampler_unmask(sampler, data); });

    std::size_t *const bytes = &bytes_;
    ADD(sampler_sample_args, "args", sample,
        { return sampler_sample_workspace_size(sampler, data, bytes); });
    ADD(sampler_score_args, "args", score,
        { return sampler_score_workspace_size(sampler, data, bytes); });
    ADD(sampler_filter_args, "args", filter,
        { return sampler_filter_workspace_size(sampler, data, bytes); });
    ADD(sampler_select_args, "args", select,
        { return sampler_select_workspace_size(sampler, data, bytes); });
    ADD(sampler_verify_args, "args", verify,
        { return sampler_verify_workspace_size(sampler, data, bytes); });
    ADD(sampler_residual_args, "args", residual,
        { return sampler_residual_workspace_size(sampler, data, bytes); });
    ADD(sampler_unmask_args, "args", unmask,
        { return sampler_unmask_workspace_size(sampler, data, bytes); });

    const auto params = sampler_params_default();
    const auto row_params = sized<sampler_row_params>();
    const auto pipeline = sized<sampler_pipeline>();
    ADD(sampler_pipeline, "pipeline", pipeline, {
      auto args = sample;
      args.pipeline = data;
      return sampler_sample(sampler, &args);
    });
    ADD(sampler_pipeline, "pipeline", pipeline, {
      auto args = filter;
      args.pipeline = data;
      return sampler_filter(sampler, &args);
    });
    const auto reports = sized<sampler_report_args>();
    ADD(sampler_report_args, "reports", reports, {
      auto args = sample;
      args.reports = data;
      return sampler_sample(sampler, &args);
    });
    ADD(sampler_report_args, "reports", reports, {
      auto args = verify;
      args.reports = data;
      return sampler_verify(sampler, &args);
    });
    static constexpr std::int64_t kKey = 1;
    auto watermark = sized<sampler_watermark_params>();
    watermark.scheme = SAMPLER_WATERMARK_TOURNAMENT;
    watermark.context_length = 1;
    watermark.vocabulary_size = 2;
    watermark.keys = &kKey;
    watermark.num_keys = 1;
    watermark.table_size = 8;
    ADD(sampler_watermark_params, "params", watermark, {
      static std::int32_t table[8];
      return sampler_watermark_table(data, table);
    });
    ADD(sampler_unmask_params, "params", sized<sampler_unmask_params>(), {
      auto args = unmask;
      args.params = data;
      return sampler_unmask(sampler, &args);
    });
    ADD(sampler_acceptance_params, "acceptance", sized<sampler_acceptance_params>(), {
      auto args = verify;
      args.acceptance = data;
      return sampler_verify(sampler, &args);
    });
    ADD(sampler_draft_layout, "layout", sized<sampler_draft_layout>(), {
      auto args = verify;
      args.layout = data;
      return sampler_verify(sampler, &args);
    });
    ADD(sampler_params, "params", params, {
      auto args = sample;
      args.params = data;
      return sampler_sample(sampler, &args);
    });
    ADD(sampler_params, "params", params, {
      auto args = filter;
      args.params = data;
      return sampler_filter(sampler, &args);
    });
    ADD(sampler_params, "params", params, {
      auto args = verify;
      args.params = data;
      return sampler_verify(sampler, &args);
    });
    ADD(sampler_row_params, "row_params", row_params, {
      auto args = sample;
      args.row_params = data;
      return sampler_sample(sampler, &args);
    });
    ADD(sampler_row_params, "row_params", row_params, {
      auto args = filter;
      args.row_params = data;
      return sampler_filter(sampler, &args);
    });
    ADD(sampler_row_params, "row_params", row_params, {
      auto args = verify;
      args.row_params = data;
      return sampler_verify(sampler, &args);
    });
  }

  void add_handles() {
    ADD(sampler_options, "options", sampler_options_default(), {
      sampler_t sampler = nullptr;
      const sampler_status status = sampler_create(data, &sampler);
      sampler_destroy(sampler);
      return status;
    });
    ADD(sampler_capabilities, "out_capabilities", sized<sampler_capabilities>(),
        { return sampler_get_capabilities(data); });
  }

  void add_loops() {
    const sampler_t sampler = sampler_.get();
    const sampler_generation_args &generation = generation_;
    const sampler_speculative_args &speculative = speculative_;
    ADD(sampler_generation_args, "args", generation,
        { return sampler_autoregressive(sampler, data); });
    ADD(sampler_speculative_args, "args", speculative,
        { return sampler_speculative(sampler, data); });
    ADD(sampler_beam_search_args, "args", beam_search_,
        { return sampler_beam_search(sampler, data); });
    ADD(sampler_model, "target", model_, {
      auto args = generation;
      args.target = data;
      return sampler_autoregressive(sampler, &args);
    });
    ADD(sampler_params, "params", sampler_params_default(), {
      auto args = generation;
      args.params = data;
      return sampler_autoregressive(sampler, &args);
    });
    ADD(sampler_generation_stats, "out_stats", sized<sampler_generation_stats>(), {
      auto args = generation;
      args.out_stats = data;
      return sampler_autoregressive(sampler, &args);
    });
    ADD(sampler_acceptance_params, "acceptance", sized<sampler_acceptance_params>(), {
      auto args = speculative;
      args.acceptance = data;
      return sampler_speculative(sampler, &args);
    });
    ADD(sampler_ngram, "ngram", ngram_, {
      auto args = speculative;
      args.ngram = data;
      return sampler_speculative(sampler, &args);
    });
  }

  void add_ngrams() {
    const sampler_ngram_storage_t storage = storage_;
    const sampler_prompt_lookup_t lookup = lookup_;
    ADD(sampler_ngram_storage_options, "options", storage_options_, {
      sampler_ngram_storage_t created = nullptr;
      const sampler_status status = sampler_ngram_storage_create(data, &created);
      sampler_ngram_storage_destroy(created);
      return status;
    });
    ADD(sampler_ngram_storage_stats, "out_stats", sized<sampler_ngram_storage_stats>(),
        { return sampler_ngram_storage_get_stats(storage, data); });
    ADD(sampler_ngram, "out_ngram", sized<sampler_ngram>(),
        { return sampler_ngram_storage_interface(storage, data); });
    ADD(sampler_prompt_lookup_options, "options", lookup_options_, {
      sampler_prompt_lookup_t created = nullptr;
      const sampler_status status = sampler_prompt_lookup_create(data, &created);
      sampler_prompt_lookup_destroy(created);
      return status;
    });
    ADD(sampler_ngram, "out_ngram", sized<sampler_ngram>(),
        { return sampler_prompt_lookup_interface(lookup, data); });
  }

  void add_states() {
    const sampler_t sampler = sampler_.get();
    states_.start();
    StateCalls *const calls = &states_;
    ADD(sampler_state_options, "options", calls->options, {
      sampler_state_t created = nullptr;
      const sampler_status status = sampler_state_create(sampler, data, &created);
      sampler_state_destroy(created);
      return status;
    });
    std::size_t *const bytes = &bytes_;
    ADD(sampler_state_options, "options", calls->options,
        { return sampler_state_size(sampler, data, bytes); });
    ADD(sampler_state_append_args, "args", calls->append,
        { return sampler_state_append(sampler, data); });
    calls->accept.num_rows = 0;
    ADD(sampler_accept_args, "args", calls->accept, { return sampler_accept(sampler, data); });
    ADD(sampler_params, "params", calls->params, {
      auto args = calls->accept;
      args.params = data;
      return sampler_accept(sampler, &args);
    });
    ADD(sampler_row_params, "row_params", calls->row_params, {
      auto args = calls->accept;
      args.row_params = data;
      return sampler_accept(sampler, &args);
    });
    ADD(sampler_state_truncate_args, "args", calls->truncate,
        { return sampler_state_truncate(sampler, data); });
    ADD(sampler_state_copy_args, "args", calls->copy,
        { return sampler_state_copy(sampler, data); });
    ADD(sampler_state_reset_args, "args", calls->reset,
        { return sampler_state_reset(sampler, data); });
    ADD(sampler_state_read_args, "args", calls->read,
        { return sampler_state_read(sampler, data); });
  }

  void add_sessions() {
    const sampler_t sampler = sampler_.get();
    // Where this suite runs on a device there are none.
    if (sessions_.create() == SAMPLER_ERROR_UNSUPPORTED) return;
    sessions_.start();
    SessionCalls *const calls = &sessions_;
    const auto create = [=](const sampler_session_options *options) {
      sampler_session_t created = nullptr;
      const sampler_status status = sampler_session_create(sampler, options, &created);
      sampler_session_destroy(created);
      return status;
    };
    const auto add_and_remove = [=](const sampler_session_add_args *args) {
      std::int32_t sequence = 0;
      const sampler_status status = sampler_session_add(calls->session, args, &sequence);
      if (status == SAMPLER_OK) sampler_session_remove(calls->session, sequence);
      return status;
    };
    const auto fork_and_remove = [=](const sampler_session_fork_args *args) {
      std::int32_t sequence = 0;
      const sampler_status status = sampler_session_fork(calls->session, args, &sequence);
      if (status == SAMPLER_OK) sampler_session_remove(calls->session, sequence);
      return status;
    };
    ADD(sampler_session_options, "options", calls->options, { return create(data); });
    std::size_t *const bytes = &bytes_;
    ADD(sampler_session_options, "options", calls->options,
        { return sampler_session_size(sampler, data, bytes); });
    ADD(sampler_params, "params", calls->params, {
      auto options = calls->options;
      options.params = data;
      return create(&options);
    });
    ADD(sampler_pipeline, "pipeline", sized<sampler_pipeline>(), {
      auto options = calls->options;
      options.pipeline = data;
      return create(&options);
    });
    ADD(sampler_acceptance_params, "acceptance", sized<sampler_acceptance_params>(), {
      auto options = calls->options;
      options.acceptance = data;
      return create(&options);
    });
    ADD(sampler_session_add_args, "args", calls->add, { return add_and_remove(data); });
    ADD(sampler_params, "params", calls->params, {
      auto args = calls->add;
      args.params = data;
      return add_and_remove(&args);
    });
    ADD(sampler_ngram, "ngram", ngram_, {
      auto args = calls->add;
      args.draft_source = SAMPLER_DRAFTS_NGRAM;
      args.ngram = data;
      return add_and_remove(&args);
    });
    ADD(sampler_session_fork_args, "args", calls->fork, { return fork_and_remove(data); });
    ADD(sampler_params, "params", calls->params, {
      auto args = calls->fork;
      args.params = data;
      return fork_and_remove(&args);
    });
    ADD(sampler_session_sequence, "out_sequence", sized<sampler_session_sequence>(),
        { return sampler_session_get(calls->session, 0, data); });
    ADD(sampler_session_plan_args, "args", calls->plan,
        { return sampler_session_plan(calls->session, data); });
    sampler_session_advance_args advance = calls->advance;
    advance.num_spans = 0;
    ADD(sampler_session_advance_args, "args", advance,
        { return sampler_session_advance(calls->session, data); });
    ADD(sampler_report_args, "reports", sized<sampler_report_args>(), {
      auto args = advance;
      args.reports = data;
      return sampler_session_advance(calls->session, &args);
    });
  }

  void add_shards() {
    ShardCalls *const calls = &shards_;
    const sampler_t sampler = sampler_.get();
    ADD(sampler_shard_args, "args", calls->shard,
        { return sampler_shard_plan(sampler, data, &calls->plan); });
    ADD(sampler_shard_args, "args", calls->shard,
        { return sampler_shard_round(sampler, data, 0); });
    ADD(sampler_shard_plan_info, "out_plan", sized<sampler_shard_plan_info>(),
        { return sampler_shard_plan(sampler, &calls->shard, data); });
    ADD(sampler_sample_args, "sample", calls->sample, {
      auto args = calls->shard;
      args.sample = data;
      return sampler_shard_plan(sampler, &args, &calls->plan);
    });
  }

  static sampler_ngram_storage_options make_storage_options() {
    auto options = sized<sampler_ngram_storage_options>();
    options.vocabulary_size = 9;
    return options;
  }
  static sampler_prompt_lookup_options make_lookup_options() {
    auto options = sized<sampler_prompt_lookup_options>();
    options.vocabulary_size = options.max_tokens = 9;
    return options;
  }

  Sampler sampler_ = roomy_sampler();
  StateCalls states_{sampler_.get()};
  SessionCalls sessions_{sampler_.get()};
  ShardCalls shards_{sampler_.get()};
  sampler_ngram_storage_options storage_options_ = make_storage_options();
  sampler_prompt_lookup_options lookup_options_ = make_lookup_options();
  sampler_ngram_storage_t storage_ = nullptr;
  sampler_prompt_lookup_t lookup_ = nullptr;
  sampler_ngram ngram_ = sized<sampler_ngram>();
  sampler_model model_ = sized<sampler_model>();
  sampler_generation_args generation_ = sampler_generation_args_default();
  sampler_speculative_args speculative_ = sampler_speculative_args_default();
  sampler_beam_search_args beam_search_ = sampler_beam_search_args_default();
  std::int64_t offsets_[1] = {0};
  std::int32_t token_id_ = 0;
  std::size_t bytes_ = 0;
  std::vector<PublicStruct> all_;
};

// Zeroed memory, aligned to 8 bytes, that ends where reading faults.
class BeforeGuardPage {
 public:
  explicit BeforeGuardPage(std::size_t bytes)
      : bytes_((bytes + 7) / 8 * 8),
        page_(std::size_t(sysconf(_SC_PAGESIZE))),
        length_((bytes_ + page_ - 1) / page_ * page_ + page_),
        memory_(mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        data_(static_cast<unsigned char *>(memory_) + length_ - page_ - bytes_) {
    mprotect(static_cast<unsigned char *>(memory_) + length_ - page_, page_, PROT_NONE);
  }
  ~BeforeGuardPage() { munmap(memory_, length_); }
  BeforeGuardPage(const BeforeGuardPage &) = delete;
  BeforeGuardPage &operator=(const BeforeGuardPage &) = delete;

  unsigned char *data() { return data_; }

 private:
  std::size_t bytes_, page_, length_;
  void *memory_;
  unsigned char *data_;
};

// An initialised struct that says it is `struct_size` bytes long.
void make_struct(const PublicStruct &type, unsigned char *data, std::size_t struct_size) {
  std::memcpy(data, type.image.data(), type.size());
  std::memcpy(data, &struct_size, sizeof struct_size);
}

std::string wrong_size(const PublicStruct &type, std::size_t struct_size) {
  return type.argument + "->struct_size is " + std::to_string(struct_size) + "; set it to sizeof(" +
         type.type + "), " + std::to_string(type.size()) +
         " here or up to 65536 with newer headers";
}

TEST(StructSize, OfThisVersionIsRead) {
  const PublicStructs structs;
  for (const PublicStruct &type : structs.all()) {
    SCOPED_TRACE(type.type);
    BeforeGuardPage memory(type.size());
    make_struct(type, memory.data(), type.size());
    EXPECT_EQ(type.use(memory.data()), SAMPLER_OK) << sampler_last_error();
  }
}

TEST(StructSize, BelowTheFirstReleaseIsRefused) {
  const PublicStructs structs;
  for (const PublicStruct &type : structs.all()) {
    for (const std::size_t size :
         {std::size_t(0), std::size_t(1), std::size_t(8), type.size() - 1}) {
      SCOPED_TRACE(type.type);
      // There is no more memory than the size says, except the size itself.
      BeforeGuardPage memory(std::max(size, sizeof size));
      std::memcpy(memory.data(), &size, sizeof size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), wrong_size(type, size));
    }
  }
}

TEST(StructSize, OfANewerVersionIsReadWhenTheTailIsZero) {
  const PublicStructs structs;
  for (const PublicStruct &type : structs.all()) {
    for (const std::size_t size : {type.size() + 1, type.size() + 8, kMaxStructSize}) {
      SCOPED_TRACE(type.type);
      BeforeGuardPage memory(size);
      make_struct(type, memory.data(), size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_OK) << sampler_last_error();
      for (const std::size_t i : {type.size(), size - 1}) {
        make_struct(type, memory.data(), size);
        memory.data()[i] = 0x80;
        EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
        EXPECT_EQ(sampler_last_error(), type.argument + "->struct_size is " + std::to_string(size) +
                                            " and members after byte " +
                                            std::to_string(type.size()) +
                                            " are set; this library does not know them");
        memory.data()[i] = 0;
      }
    }
  }
}

TEST(StructSize, ThatNoStructHasIsRefusedUnread) {
  const PublicStructs structs;
  for (const PublicStruct &type : structs.all()) {
    for (const std::size_t size :
         {kMaxStructSize + 1, std::size_t(0xA5A5A5A5A5A5A5A5u), SIZE_MAX}) {
      SCOPED_TRACE(type.type);
      BeforeGuardPage memory(type.size());
      make_struct(type, memory.data(), size);
      EXPECT_EQ(type.use(memory.data()), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(), wrong_size(type, size));
    }
  }
}

// ---- Defaults -----------------------------------------------------------------------------------

// A struct with a function that fills it, and the inline one that gives the same.
template <class Struct>
struct WithInit {
  const char *type;
  const char *argument;
  sampler_status (*init)(Struct *, std::size_t);
  Struct (*make)();

  void check() const {
    SCOPED_TRACE(type);
    fills_what_the_inline_function_gives();
    zeroes_the_members_of_a_newer_version();
    refuses_sizes_that_no_struct_has();
  }

  void fills_what_the_inline_function_gives() const {
    Struct filled;
    std::memset(static_cast<void *>(&filled), 0xA5, sizeof filled);
    EXPECT_EQ(init(&filled, sizeof filled), SAMPLER_OK);
    EXPECT_EQ(bytes_of(filled), bytes_of(make()));
    EXPECT_EQ(filled.struct_size, sizeof filled);
  }

  void zeroes_the_members_of_a_newer_version() const {
    struct Newer {
      Struct known;
      unsigned char added[24];
      unsigned char outside[8];
    } newer;
    std::memset(static_cast<void *>(&newer), 0xA5, sizeof newer);
    EXPECT_EQ(init(&newer.known, sizeof(Struct) + sizeof newer.added), SAMPLER_OK);
    Struct expected = make();
    expected.struct_size = sizeof(Struct) + sizeof newer.added;
    EXPECT_EQ(bytes_of(newer), bytes_of(expected) + std::string(24, 0) + std::string(8, '\xA5'));
  }

  void refuses_sizes_that_no_struct_has() const {
    Struct filled = make();
    const std::string before = bytes_of(filled);
    for (const std::size_t size :
         {std::size_t(0), sizeof(Struct) - 1, kMaxStructSize + 1, SIZE_MAX}) {
      EXPECT_EQ(init(&filled, size), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(sampler_last_error(),
                "struct_size is " + std::to_string(size) + "; it must be sizeof(" + type + "), " +
                    std::to_string(sizeof(Struct)) + " here or up to 65536 with newer headers");
      EXPECT_EQ(bytes_of(filled), before);
    }
    EXPECT_EQ(init(nullptr, sizeof(Struct)), SAMPLER_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(sampler_last_error(), std::string(argument) + " is NULL; it is required");
  }
};

#define WITH_INIT(type, argument)                \
  WithInit<type> {                               \
#type, argument, type##_init, type##_default \
  }

TEST(Init, GivesTheDefaults) {
  WITH_INIT(sampler_params, "params").check();
  WITH_INIT(sampler_options, "options").check();
  WITH_INIT(sampler_generation_args, "args").check();
  WITH_INIT(sampler_speculative_args, "args").check();
  WITH_INIT(sampler_beam_search_args, "args").check();
}

TEST(Defaults, AreWhatTheHeadersSay) {
  auto params = sized<sampler_params>();
  params.temperature = params.top_p = 1;
  EXPECT_EQ(bytes_of(sampler_params_default()), bytes_of(params));

  auto options = sized<sampler_options>();
  options.abi_version = SAMPLER_ABI_VERSION;
  EXPECT_EQ(bytes_of(sampler_options_default()), bytes_of(options));

  auto generation = sized<sampler_generation_args>();
  generation.max_new_tokens = 40;
  EXPECT_EQ(bytes_of(sampler_generation_args_default()), bytes_of(generation));

  auto speculative = sized<sampler_speculative_args>();
  speculative.gamma = 5;
  speculative.gamma_min = 1;
  speculative.filler_top_k = 3;
  speculative.first_target = 1;
  EXPECT_EQ(bytes_of(sampler_speculative_args_default()), bytes_of(speculative));

  auto beam_search = sized<sampler_beam_search_args>();
  beam_search.num_beams = 4;
  beam_search.top_k = 3;
  beam_search.num_results = 1;
  beam_search.min_length = 5;
  beam_search.alpha = 1.2f;
  EXPECT_EQ(bytes_of(sampler_beam_search_args_default()), bytes_of(beam_search));
}

// Parameters that are not given are the defaults, of which those by slot take nothing away.
TEST(Defaults, AreUsedWhereParametersAreNull) {
  const Sampler sampler = roomy_sampler();
  for (const Op op : {Op::kSample, Op::kFilter, Op::kVerify}) {
    Spec spec;
    spec.operation = op;
    Call call(spec);
    const sampler_params defaults = sampler_params_default();
    call.args().set("params", &defaults);
    const std::string expected = output_of(&call, sampler.get());
    call.args().set<void *>("row_params", nullptr);
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
    call.args().set<void *>("params", nullptr);
    EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
  }
}

}  // namespace
}  // namespace capi_test::struct_size_test
