// A part of a session on its own: with memory, and a host that a test looks into.
#ifndef SAMPLER_TESTS_SESSION_PARTS_H_
#define SAMPLER_TESTS_SESSION_PARTS_H_

#include <sampler/sampler.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../sized.h"
#include "abi/entry.h"
#include "decoding/session/sequence_table.h"
#include "decoding/session/session_arrays.h"
#include "decoding/session/session_config.h"
#include "decoding/session/session_host.h"

namespace session_test {

namespace decoding = sampler::decoding;

class Host final : public decoding::SessionHost {
 public:
  Host(const Rules &rules, const decoding::SessionConfig &config)
      : SessionHost(rules),
        texts(std::size_t(config.num_sequences()),
              std::vector<std::int32_t>(std::size_t(config.text_stride()), -1)) {}

  mutable std::vector<std::vector<std::int32_t>> texts;
  std::set<std::int32_t> ends;
  bool ngrams_fail = false;
  mutable std::vector<std::string> ngram_calls;

  Extent extent(const void *) const override { return {}; }
  std::int32_t *text(std::int32_t sequence) const override {
    return texts[std::size_t(sequence)].data();
  }
  std::int64_t longest_text() const override { return std::int64_t(texts[0].size()); }
  bool is_end(std::int32_t, std::int32_t token) const override { return ends.count(token) > 0; }
  sampler_status teach(sampler::abi::Entry &, const sampler_session_add_args &) const override {
    return SAMPLER_OK;
  }
  void set(std::int32_t sequence, const sampler_session_add_args &args,
           const sampler_params &) override {
    std::copy_n(args.token_ids, args.num_tokens, text(sequence));
  }
  void copy(std::int32_t source, std::int32_t destination, std::int64_t,
            const sampler_params *) override {
    texts[std::size_t(destination)] = texts[std::size_t(source)];
  }
  void clear(std::int32_t) override {}
  bool call_ngram(sampler::abi::Entry &entry, const char *name,
                  const decoding::NgramCall &call) const override {
    ngram_calls.push_back(name);
    return !ngrams_fail && entry.call_host(call) == SAMPLER_OK;
  }
  sampler_row_params place_numbers(decoding::Transfer *) const override { return {}; }
  sampler_row_params place_plain_numbers(const sampler_row_params &,
                                         decoding::Transfer *) const override {
    return {};
  }
  bool needs_ends() const override { return false; }
  sampler_token_lists place_ends(decoding::Transfer *) const override { return {}; }
  bool has_adaptive() const override { return false; }
  std::optional<sampler::contract::AdaptiveRules> adaptive_rules(std::int32_t) const override {
    return {};
  }
  bool has_guidance(std::int32_t) const override { return false; }
  float entropy_temperature(std::int32_t) const override { return 1; }
};

// A handle of the CPU.
class Handle {
 public:
  Handle() { sampler_create(nullptr, &sampler_); }
  ~Handle() { sampler_destroy(sampler_); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;

  sampler_t get() const { return sampler_; }

 private:
  sampler_t sampler_ = nullptr;
};

// Two sequences, 32 tokens of context and a vocabulary of 50.
inline decoding::SessionConfig small_config() {
  decoding::SessionConfig config = {};
  config.options = sized<sampler_session_options>();
  config.options.max_sequences = 2;
  config.options.max_context = 32;
  config.options.vocabulary_size = 50;
  config.options.max_drafts = 4;
  config.options.max_stop_sequences = 2;
  config.options.max_stop_tokens = 8;
  return config;
}

struct Parts {
  explicit Parts(const decoding::SessionConfig &given = small_config(),
                 const decoding::SessionHost::Rules &rules = {})
      : config(given), host(rules, config), table(config, &host, &arrays) {}

  // The number that the sequence gets.
  std::int32_t add(const std::vector<std::int32_t> &text, sampler_session_add_args args) {
    const std::int32_t sequence = table.next_number();
    args.token_ids = text.data();
    args.num_tokens = std::int64_t(text.size());
    host.set(sequence, args, {});
    table.add(args);
    return sequence;
  }
  std::int32_t add(const std::vector<std::int32_t> &text) {
    return add(text, sized<sampler_session_add_args>());
  }
  std::vector<std::int32_t> drafts(std::int32_t sequence) const {
    const std::int32_t *const first = table.drafts(sequence);
    return {first, first + table[sequence].num_drafts};
  }

  decoding::SessionConfig config;
  std::vector<std::max_align_t> memory = std::vector<std::max_align_t>(std::size_t(1) << 15);
  decoding::Arena arena{memory.data()};
  decoding::SessionArrays arrays{&arena, &arena};
  Host host;
  decoding::SequenceTable table;
};

// body(entry), as a call of the library.
template <class Body>
void in_call(const Body &body) {
  sampler::abi::enter(sampler::abi::Log{}, [&](sampler::abi::Entry &entry) {
    body(entry);
    return sampler_status(SAMPLER_OK);
  });
}

}  // namespace session_test

#endif  // SAMPLER_TESTS_SESSION_PARTS_H_
