#include "model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>

#include "memory.h"

namespace decoding_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// SplitMix64's finaliser.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t hash(std::uint64_t seed, const Tokens &text, std::size_t num_tokens) {
  const std::size_t first =
      num_tokens == 0 || num_tokens >= text.size() ? 0 : text.size() - num_tokens;
  std::uint64_t state = mix(seed + 0x9E3779B97F4A7C15u);
  for (std::size_t i = first; i < text.size(); ++i) {
    state = mix(state + std::uint64_t(text[i]) + 0x9E3779B97F4A7C15u);
  }
  return state;
}

// What the token `at` of a span sees, itself the last. `cache` has the span at its end, from
// `start` on.
Tokens path_to(const Tokens &cache, std::size_t start, const std::int32_t *parents,
               std::int64_t at) {
  Tokens path;
  for (; at >= 0; at = parents[at]) path.push_back(cache[start + index(at)]);
  path.insert(path.end(), cache.rend() - std::ptrdiff_t(start), cache.rend());
  std::reverse(path.begin(), path.end());
  return path;
}

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// x is a value that f16 holds, an infinity or NaN.
std::uint16_t to_f16(float x) {
  const std::uint32_t bits = bits_of(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  if (std::isnan(x)) return 0x7E00;
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | 0x7C00);
  if (x == 0) return sign;
  const int exponent = int((bits >> 23) & 0xFF) - 127;
  EXPECT_TRUE(exponent >= -14 && exponent <= 15 && (bits & 0x1FFF) == 0) << x << " is no f16";
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | ((bits >> 13) & 0x3FF));
}

std::uint16_t to_bf16(float x) {
  EXPECT_TRUE(std::isnan(x) || (bits_of(x) & 0xFFFF) == 0) << x << " is no bf16";
  return static_cast<std::uint16_t>(bits_of(x) >> 16);
}

}  // namespace

std::uint64_t Random::next() {
  return mix(state_ += 0x9E3779B97F4A7C15u);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + std::int64_t(next() % std::uint64_t(high - low + 1));
}

// ---- Calls --------------------------------------------------------------------------------------

void Calls::fail(std::int64_t call, sampler_status status, Failure failure) {
  failing_ = count_ + call;
  status_ = status;
  failure_ = failure;
}

void Calls::reset() {
  *this = Calls();
}

sampler_status Calls::next() {
  EXPECT_FALSE(has_failed_) << "a callback is called although one has failed";
  if (count_++ != failing_) return SAMPLER_OK;
  has_failed_ = true;
  if (failure_ == Failure::kException) throw std::runtime_error("thrown by a callback");
  return status_;
}

// ---- Model --------------------------------------------------------------------------------------

Model::Model(const Limits &limits, NextLogits next_logits, Calls *calls)
    : limits_(limits), next_logits_(std::move(next_logits)), calls_(calls) {
  reset();
  allow_sequences(0, limits.max_sequences);
}

sampler_model Model::interface() {
  sampler_model model = sized<sampler_model>();
  model.user = this;
  model.forward = forward;
  model.truncate = truncate;
  model.fork = fork;
  model.vocabulary_size = limits_.vocabulary_size;
  model.max_context = limits_.max_context;
  model.max_sequences = limits_.max_sequences;
  model.max_span_tokens = limits_.max_span_tokens;
  model.logits_dtype = limits_.dtype;
  model.reads_parents = limits_.reads_parents;
  return model;
}

void Model::reset() {
  caches_.assign(index(limits_.max_sequences), Tokens());
  num_forwards_ = num_truncates_ = num_tokens_fed_ = num_logit_rows_ = num_trees_ = 0;
}

bool Model::caches_are_empty() const {
  return std::all_of(caches_.begin(), caches_.end(),
                     [](const Tokens &cache) { return cache.empty(); });
}

void Model::allow_sequences(std::int64_t first, std::int64_t count) {
  first_allowed_ = first;
  num_allowed_ = count;
}

bool Model::is_allowed(std::int64_t sequence) const {
  return sequence >= first_allowed_ && sequence < first_allowed_ + num_allowed_;
}

void Model::check_forward(const sampler_forward_args &args) const {
  ASSERT_EQ(args.struct_size, sizeof args);
  ASSERT_GE(args.num_spans, 1);
  ASSERT_EQ(args.token_offsets[0], 0);
  ASSERT_TRUE(limits_.reads_parents || !args.parents);
  bool is_tree = false;
  std::set<std::int32_t> seen;
  std::int64_t num_rows = 0;
  for (std::int64_t i = 0; i < args.num_spans; ++i) {
    const std::int32_t sequence = args.sequences[i];
    ASSERT_TRUE(is_allowed(sequence)) << sequence;
    ASSERT_TRUE(seen.insert(sequence).second) << "two spans of sequence " << sequence;
    const std::int64_t begin = args.token_offsets[i], end = args.token_offsets[i + 1];
    ASSERT_GT(end, begin);
    const auto length = std::int64_t(cache(sequence).size());
    ASSERT_EQ(args.starts[i], length);
    ASSERT_LE(length + end - begin, limits_.max_context);
    for (std::int64_t j = begin; args.parents && j < end; ++j) {
      const std::int64_t parent = begin + args.parents[j];
      ASSERT_GE(parent, begin - 1);
      ASSERT_LT(parent, j);
      // A tree hangs at a token of its span, and all of it has logits.
      ASSERT_TRUE(parent == j - 1 || parent >= end - args.logit_counts[i]);
      is_tree = is_tree || parent != j - 1;
    }
    for (std::int64_t j = begin; j < end; ++j) {
      ASSERT_GE(args.token_ids[j], 0);
      ASSERT_LT(args.token_ids[j], limits_.vocabulary_size);
    }
    ASSERT_GE(args.logit_counts[i], 0);
    ASSERT_LE(args.logit_counts[i], end - begin);
    num_rows += args.logit_counts[i];
    if (expects_whole_texts_ && limits_.max_span_tokens == 0) {
      ASSERT_EQ(length, 0);
    }
  }
  ASSERT_EQ(args.parents != nullptr, is_tree);
  if (limits_.max_span_tokens > 0) {
    ASSERT_LE(args.token_offsets[args.num_spans], limits_.max_span_tokens);
  }
  ASSERT_EQ(args.num_logit_rows, num_rows);
  if (num_rows > 0) {
    ASSERT_NE(args.logits, nullptr);
    ASSERT_GE(args.logits_row_stride, limits_.vocabulary_size);
  }
  ASSERT_EQ(args.logits_dtype, limits_.dtype);
  ASSERT_EQ(args.reserved, 0);
}

void Model::write_row(const sampler_forward_args &args, std::int64_t row,
                      const Tokens &text) const {
  const Logits values = next_logits_(text);
  ASSERT_EQ(std::int64_t(values.size()), limits_.vocabulary_size);
  const std::size_t element = limits_.dtype == SAMPLER_F32 ? 4 : 2;
  unsigned char *out =
      static_cast<unsigned char *>(args.logits) + index(row * args.logits_row_stride) * element;
  if (limits_.dtype == SAMPLER_F32) {
    copy_to_logits(out, values.data(), values.size() * element);
    return;
  }
  std::vector<std::uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(),
                 limits_.dtype == SAMPLER_F16 ? to_f16 : to_bf16);
  copy_to_logits(out, halves.data(), halves.size() * element);
}

void Model::run_forward(const sampler_forward_args &args) {
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < args.num_spans; ++i) {
    Tokens &cache = caches_[index(args.sequences[i])];
    const std::int64_t begin = args.token_offsets[i], end = args.token_offsets[i + 1];
    const std::size_t start = cache.size();
    for (std::int64_t j = begin; j < end; ++j) {
      cache.push_back(args.token_ids[j]);
      if (j < end - args.logit_counts[i]) continue;
      write_row(args, row++,
                args.parents ? path_to(cache, start, args.parents + begin, j - begin) : cache);
    }
    num_tokens_fed_ += end - begin;
  }
  num_logit_rows_ += row;
  num_trees_ += args.parents != nullptr;
  ++num_forwards_;
  if (on_forward_) on_forward_(args);
}

sampler_status Model::forward(void *user, const sampler_forward_args *args) {
  Model &model = *static_cast<Model *>(user);
  if (const sampler_status status = model.calls_->next()) return status;
  const bool was_well = !testing::Test::HasFatalFailure();
  model.check_forward(*args);
  // A call that breaks the rules ends the loop.
  if (was_well && testing::Test::HasFatalFailure()) return -1000;
  model.run_forward(*args);
  return SAMPLER_OK;
}

sampler_status Model::truncate(void *user, std::int32_t sequence, std::int64_t length) {
  Model &model = *static_cast<Model *>(user);
  if (const sampler_status status = model.calls_->next()) return status;
  EXPECT_TRUE(model.is_allowed(sequence)) << sequence;
  Tokens &cache = model.caches_.at(index(sequence));
  EXPECT_GE(length, 0);
  EXPECT_LT(length, std::int64_t(cache.size())) << "nothing to cut off";
  cache.resize(std::min(cache.size(), index(length)));
  ++model.num_truncates_;
  return SAMPLER_OK;
}

sampler_status Model::fork(void *user, std::int32_t source, std::int32_t destination) {
  Model &model = *static_cast<Model *>(user);
  if (const sampler_status status = model.calls_->next()) return status;
  EXPECT_TRUE(model.is_allowed(source)) << source;
  EXPECT_TRUE(model.is_allowed(destination)) << destination;
  EXPECT_NE(source, destination);
  model.caches_.at(index(destination)) = Tokens(model.caches_.at(index(source)));
  return SAMPLER_OK;
}

// ---- Logits -------------------------------------------------------------------------------------

NextLogits table_logits(std::uint64_t seed, std::int64_t vocabulary_size, int num_tokens,
                        bool with_impossible) {
  return [=](const Tokens &text) {
    Random random(hash(seed, text, std::size_t(num_tokens)));
    Logits logits(index(vocabulary_size));
    for (float &x : logits) {
      x = float(random.between(-32, 32)) / 8;
      if (with_impossible && &x != logits.data() && random.one_in(4)) x = -kInf;
    }
    return logits;
  };
}

NextLogits mixed_logits(NextLogits first, NextLogits second, int percent, std::uint64_t seed) {
  return [=](const Tokens &text) {
    return int(hash(seed, text, 0) % 100) < percent ? second(text) : first(text);
  };
}

NextLogits constant_logits(Logits logits) {
  return [logits = std::move(logits)](const Tokens &) { return logits; };
}

Logits logits_of(const std::vector<double> &probabilities) {
  Logits logits;
  for (const double p : probabilities) logits.push_back(p > 0 ? float(std::log(p)) : -kInf);
  return logits;
}

// ---- ScriptedNgram ------------------------------------------------------------------------------

sampler_ngram ScriptedNgram::interface() {
  sampler_ngram ngram = sized<sampler_ngram>();
  ngram.user = this;
  ngram.next_token = next_token;
  ngram.has_gram = has_gram;
  ngram.update = update;
  ngram.initialize = initialize;
  ngram.reset = reset;
  ngram.propose = propose;
  return ngram;
}

sampler_status ScriptedNgram::next_token(void *user, const std::int32_t *context,
                                         std::int64_t num_tokens, std::uint64_t, std::uint64_t,
                                         std::int32_t *out_token_id, std::int32_t *out_known) {
  ScriptedNgram &ngram = *static_cast<ScriptedNgram *>(user);
  if (const sampler_status status = ngram.calls_->next()) return status;
  const Next next = ngram.script_(Tokens(context, context + num_tokens));
  *out_token_id = next.token_id;
  *out_known = next.is_known;
  return SAMPLER_OK;
}

sampler_status ScriptedNgram::propose(void *user, const std::int32_t *context,
                                      std::int64_t num_tokens, std::int64_t num_drafts,
                                      std::int64_t least_count, float least_share,
                                      std::int32_t *out_token_ids, std::int64_t *out_num_drafts) {
  ScriptedNgram &ngram = *static_cast<ScriptedNgram *>(user);
  if (const sampler_status status = ngram.calls_->next()) return status;
  EXPECT_GT(num_drafts, 0);
  Tokens text(context, context + num_tokens);
  ngram.questions_.push_back({text, num_drafts, least_count, least_share});
  for (*out_num_drafts = 0; *out_num_drafts < num_drafts; ++*out_num_drafts) {
    const Next next = ngram.script_(text);
    if (!next.is_known) break;
    out_token_ids[*out_num_drafts] = next.token_id;
    text.push_back(next.token_id);
  }
  return SAMPLER_OK;
}

sampler_status ScriptedNgram::has_gram(void *user, const std::int32_t *context,
                                       std::int64_t num_tokens, std::int32_t *out_has) {
  ScriptedNgram &ngram = *static_cast<ScriptedNgram *>(user);
  if (const sampler_status status = ngram.calls_->next()) return status;
  *out_has = ngram.script_(Tokens(context, context + num_tokens)).is_known;
  return SAMPLER_OK;
}

sampler_status ScriptedNgram::update(void *user, const std::int32_t *context,
                                     std::int64_t num_tokens, const std::int32_t *next_token_ids,
                                     std::int64_t num_next_tokens) {
  ScriptedNgram &ngram = *static_cast<ScriptedNgram *>(user);
  if (const sampler_status status = ngram.calls_->next()) return status;
  ngram.lessons_.push_back({Tokens(context, context + num_tokens),
                            Tokens(next_token_ids, next_token_ids + num_next_tokens)});
  return SAMPLER_OK;
}

sampler_status ScriptedNgram::initialize(void *user, const std::int32_t *token_ids,
                                         std::int64_t num_tokens) {
  ScriptedNgram &ngram = *static_cast<ScriptedNgram *>(user);
  if (const sampler_status status = ngram.calls_->next()) return status;
  ngram.texts_.emplace_back(token_ids, token_ids + num_tokens);
  return SAMPLER_OK;
}

sampler_status ScriptedNgram::reset(void *user) {
  ADD_FAILURE() << "a loop forgets what the storage knows";
  return static_cast<ScriptedNgram *>(user)->calls_->next();
}

}  // namespace decoding_test
