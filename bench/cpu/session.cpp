// Cost of a decoding session per sequence and step, besides sampling: the time of plan and advance,
// less that of one sampler_sample call on the same rows with the same parameters by slot. Batches
// of 256 sequences on one thread, each with its own temperature, top-k, top-p and seed, an end
// token, and a stop sequence of four tokens. The model takes no time: all rows exist. The last case
// has sequences that come and go, with prompt lookups whose drafts are accepted. Times are process
// CPU times.
#include <sampler/sampler.h>

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kSequences = 256;
constexpr std::int64_t kSteps = 200;
constexpr int kRepeats = 9;

// CPU time of the process in nanoseconds.
double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * double(time.tv_sec) + double(time.tv_nsec);
}

void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  std::fprintf(stderr, "%s\n", sampler_last_error());
  std::exit(1);
}

template <class Struct>
Struct sized() {
  Struct result = {};
  result.struct_size = sizeof result;
  return result;
}

struct Case {
  const char *name;
  std::int64_t vocabulary_size;
  float repetition_penalty;
  bool has_lookup;  // a lookup that finds nothing
};

class Batch {
 public:
  explicit Batch(const Case &of) : case_(of) {
    sampler_options options = sampler_options_default();
    options.max_rows = kSequences;
    options.max_cols = of.vocabulary_size;
    check(sampler_create(&options, &sampler_));
    logits_.resize(std::size_t(kSequences * of.vocabulary_size));
    std::uint32_t random = 1;
    for (float &x : logits_) {
      random = random * 1664525u + 1013904223u;
      x = float(random >> 8) * 0x1p-21f;
    }
    // The end token is never drawn.
    for (std::int64_t i = 1; i <= kSequences; ++i) {
      logits_[std::size_t(i * of.vocabulary_size - 1)] = -100;
    }
  }
  ~Batch() { sampler_destroy(sampler_); }
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  // Nanoseconds per step, and of sampling in it.
  double with_session() {
    auto options = sized<sampler_session_options>();
    options.max_sequences = kSequences;
    options.max_context = kSteps + 40;
    options.vocabulary_size = case_.vocabulary_size;
    options.max_drafts = case_.has_lookup ? 1 : 0;
    options.lookup_tokens = case_.has_lookup ? options.max_context : 0;
    options.max_end_tokens = options.max_stop_sequences = 1;
    options.max_stop_tokens = 4;
    sampler_session_t session;
    check(sampler_session_create(sampler_, &options, &session));
    const std::int32_t prompt[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::int32_t end = std::int32_t(case_.vocabulary_size - 1);
    const std::int32_t stop[] = {end, 1, 2, 3};
    const std::int64_t stop_offsets[] = {0, 4};
    for (std::int64_t i = 0; i < kSequences; ++i) {
      const sampler_params params = params_of(i);
      auto args = sized<sampler_session_add_args>();
      args.token_ids = prompt;
      args.num_tokens = 8;
      args.params = &params;
      args.seed = std::uint64_t(i);
      args.end_token_ids = &end;
      args.num_end_tokens = 1;
      args.stop_sequences = {stop_offsets, stop, 1, 4};
      args.draft_source = case_.has_lookup ? SAMPLER_DRAFTS_PROMPT_LOOKUP : SAMPLER_DRAFTS_NONE;
      args.min_match = 1000;
      std::int32_t sequence;
      check(sampler_session_add(session, &args, &sequence));
    }
    std::vector<sampler_span> spans(kSequences);
    std::vector<std::int32_t> token_ids(std::size_t(kSequences * (options.max_drafts + 1)));
    std::vector<std::int64_t> counts(kSequences);
    std::vector<sampler_finish_reason> reasons(kSequences);
    std::vector<std::int64_t> cache_lengths(kSequences);
    std::int64_t num_spans = 0;
    auto plan = sized<sampler_session_plan_args>();
    plan.out_spans = spans.data();
    plan.out_num_spans = &num_spans;
    auto advance = sized<sampler_session_advance_args>();
    advance.spans = spans.data();
    advance.logits = logits_.data();
    advance.out_token_ids = token_ids.data();
    advance.out_counts = counts.data();
    advance.out_finish_reasons = reasons.data();
    advance.out_cache_lengths = cache_lengths.data();
    const double start = now();
    for (std::int64_t step = 0; step < kSteps; ++step) {
      check(sampler_session_plan(session, &plan));
      advance.num_spans = num_spans;
      check(sampler_session_advance(session, &advance));
      num_rows_ += num_spans;
    }
    const double time = now() - start;
    sampler_session_destroy(session);
    return time / double(kSteps);
  }

  double sampling_alone() {
    std::vector<float> temperature(kSequences), top_p(kSequences);
    std::vector<std::int32_t> top_k(kSequences), token_ids(kSequences), rows(kSequences);
    std::vector<std::uint64_t> seeds(kSequences), offsets(kSequences);
    std::vector<sampler_row_status> row_status(kSequences);
    for (std::int64_t i = 0; i < kSequences; ++i) {
      const sampler_params params = params_of(i);
      const auto at = std::size_t(i);
      temperature[at] = params.temperature;
      top_p[at] = params.top_p;
      top_k[at] = params.top_k;
      seeds[at] = std::uint64_t(i);
      rows[at] = std::int32_t(i);
    }
    // A state with growing texts, as the session's: penalties take most of its time.
    auto state_options = sized<sampler_state_options>();
    state_options.num_slots = kSequences;
    state_options.max_tokens = kSteps + 40;
    sampler_state_t state = nullptr;
    if (case_.repetition_penalty > 0) {
      check(sampler_state_create(sampler_, &state_options, &state));
    }
    sampler_params params = sampler_params_default();
    params.repetition_penalty = case_.repetition_penalty;
    auto row_params = sized<sampler_row_params>();
    row_params.temperature = temperature.data();
    row_params.top_p = top_p.data();
    row_params.top_k = top_k.data();
    auto pipeline = sized<sampler_pipeline>();
    pipeline.state = state;
    auto sample = sized<sampler_sample_args>();
    sample.input.values = logits_.data();
    sample.input.num_rows = kSequences;
    sample.input.num_cols = case_.vocabulary_size;
    sample.slots = rows.data();
    sample.num_slots = kSequences;
    sample.params = &params;
    sample.row_params = &row_params;
    sample.pipeline = state ? &pipeline : nullptr;
    sample.random.seeds = seeds.data();
    sample.random.offsets = offsets.data();
    sample.random.num_seeds = sample.random.num_offsets = kSequences;
    sample.out_token_ids = token_ids.data();
    sample.out_row_status = row_status.data();
    std::size_t bytes = 0;
    check(sampler_sample_workspace_size(sampler_, &sample, &bytes));
    workspace_.resize(std::max(workspace_.size(), bytes));
    sample.exec.workspace = workspace_.data();
    sample.exec.workspace_bytes = workspace_.size();
    auto accept = sized<sampler_accept_args>();
    accept.state = state;
    accept.num_rows = kSequences;
    accept.num_tokens = 1;
    accept.token_ids = token_ids.data();
    double nanoseconds = 0;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      std::fill(offsets.begin(), offsets.end(), std::uint64_t(step));
      const double start = now();
      check(sampler_sample(sampler_, &sample));
      nanoseconds += now() - start;
      if (state) check(sampler_accept(sampler_, &accept));
    }
    sampler_state_destroy(state);
    return nanoseconds / double(kSteps);
  }

  std::int64_t num_rows() const { return num_rows_; }

 private:
  sampler_params params_of(std::int64_t i) const {
    sampler_params params = sampler_params_default();
    params.temperature = 0.5f + float(i) / float(kSequences);
    params.top_k = std::int32_t(20 + i % 20);
    params.top_p = 0.8f + 0.1f * float(i) / float(kSequences);
    params.repetition_penalty = case_.repetition_penalty;
    return params;
  }

  Case case_;
  sampler_t sampler_ = nullptr;
  std::vector<float> logits_;
  std::vector<unsigned char> workspace_;
  std::int64_t num_rows_ = 0;
};

// Sequences that live kLife steps, so that some leave and join in each step. They count in circles:
// a lookup's three drafts are all accepted.
class Churn {
 public:
  Churn() {
    sampler_options options = sampler_options_default();
    options.max_rows = kRows;
    options.max_cols = kColumns;
    check(sampler_create(&options, &sampler_));
    logits_.assign(std::size_t(kRows * kColumns), 0.0f);
    tokens_.assign(std::size_t(kRows), 0);
    for (std::int64_t i = 0; i < kPrompt; ++i) prompt_.push_back(std::int32_t(i % kCircle));
    params_.top_k = 20;
    auto session = sized<sampler_session_options>();
    session.max_sequences = kSequences;
    session.max_context = session.lookup_tokens = kPrompt + kLife * kRowsOfOne;
    session.vocabulary_size = kColumns;
    session.max_drafts = kRowsOfOne - 1;
    check(sampler_session_create(sampler_, &session, &session_));
    for (std::int64_t i = 0; i < kSequences; ++i) add();
  }
  ~Churn() {
    sampler_session_destroy(session_);
    sampler_destroy(sampler_);
  }
  Churn(const Churn &) = delete;
  Churn &operator=(const Churn &) = delete;

  // Nanoseconds over all steps.
  struct Times {
    double churn = 0, step = 0, sampling = 0;
    std::int64_t num_tokens = 0, num_spans = 0;
  };
  Times run() {
    Times times;
    for (std::int64_t i = 0; i < kSteps; ++i, ++num_steps_) {
      double start = now();
      for (std::int64_t k = 0; k < kSequences / kLife; ++k) {
        const auto leaving = std::int32_t((num_steps_ * (kSequences / kLife) + k) % kSequences);
        check(sampler_session_remove(session_, leaving));
        add();
      }
      times.churn += now() - start;
      step(&times);
    }
    return times;
  }

  static constexpr std::int64_t kLife = 32, kRowsOfOne = 4;

 private:
  static constexpr std::int64_t kColumns = 1024, kCircle = 16, kPrompt = 64;
  static constexpr std::int64_t kRows = kSequences * kRowsOfOne;

  void add() {
    auto args = sized<sampler_session_add_args>();
    args.token_ids = prompt_.data();
    args.num_tokens = kPrompt;
    args.params = &params_;
    args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
    std::int32_t sequence;
    check(sampler_session_add(session_, &args, &sequence));
  }

  void step(Times *times) {
    double start = now();
    std::int64_t num_spans = 0;
    auto plan = sized<sampler_session_plan_args>();
    plan.out_spans = spans_;
    plan.out_num_spans = &num_spans;
    check(sampler_session_plan(session_, &plan));
    times->step += now() - start;
    const std::int64_t num_rows = write_rows(num_spans);
    auto advance = sized<sampler_session_advance_args>();
    advance.spans = spans_;
    advance.num_spans = num_spans;
    advance.logits = logits_.data();
    advance.out_token_ids = tokens_.data();
    advance.out_counts = counts_;
    start = now();
    check(sampler_session_advance(session_, &advance));
    times->step += now() - start;
    times->num_spans += num_spans;
    for (std::int64_t i = 0; i < num_spans; ++i) times->num_tokens += counts_[i];
    sample(num_rows, times);
  }

  // One token in each row is almost certain.
  std::int64_t write_rows(std::int64_t num_spans) {
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < num_spans; ++i) {
      const sampler_span &span = spans_[i];
      for (std::int64_t k = span.num_tokens - span.num_logits; k < span.num_tokens; ++k, ++row) {
        float *const begin = logits_.data() + row * kColumns;
        std::fill_n(begin, kCircle, 0.0f);
        begin[(span.token_ids[k] + 1) % kCircle] = 40;
      }
    }
    return row;
  }

  // Samples the same rows in one call.
  void sample(std::int64_t num_rows, Times *times) {
    auto sample = sized<sampler_sample_args>();
    sample.input.values = logits_.data();
    sample.input.num_rows = num_rows;
    sample.input.num_cols = kColumns;
    sample.params = &params_;
    sample.out_token_ids = tokens_.data();
    const double start = now();
    check(sampler_sample(sampler_, &sample));
    times->sampling += now() - start;
  }

  sampler_t sampler_ = nullptr;
  sampler_session_t session_ = nullptr;
  sampler_params params_ = sampler_params_default();
  std::vector<float> logits_;
  std::vector<std::int32_t> prompt_, tokens_;
  sampler_span spans_[kSequences];
  std::int64_t counts_[kSequences];
  std::int64_t num_steps_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_churn() {
  Churn churn;
  churn.run();
  std::vector<double> step, sampling, beside, joins, tokens;
  for (int i = 0; i < kRepeats; ++i) {
    const Churn::Times times = churn.run();
    step.push_back(times.step / double(kSteps));
    sampling.push_back(times.sampling / double(kSteps));
    beside.push_back((times.step - times.sampling) / double(times.num_spans));
    joins.push_back(times.churn / double(kSteps * kSequences / Churn::kLife));
    tokens.push_back(double(times.num_tokens) / double(times.num_spans));
  }
  std::printf("| 1,024 columns, lookups of %d drafts | %.0f | %.0f | %.3f |\n\n",
              int(Churn::kRowsOfOne - 1), median(step) / 1000, median(sampling) / 1000,
              median(beside) / 1000);
  std::printf("In the last case a span gave %.2f tokens; a removal and an add took %.2f us.\n",
              median(tokens), median(joins) / 1000);
}

}  // namespace

int main() {
  std::printf(
      "| case | a step, us | of it sampling, us | beside it, us a sequence |\n|---|--:|--:|--:|\n");
  for (const Case &one :
       {Case{"1,024 columns", 1024, 0, false}, Case{"32,000 columns", 32000, 0, false},
        Case{"1,024 columns, prompt lookups", 1024, 0, true},
        Case{"1,024 columns, a repetition penalty", 1024, 1.2f, false}}) {
    Batch batch(one);
    std::vector<double> session, sampling, beside;
    for (int i = 0; i < kRepeats; ++i) {
      session.push_back(batch.with_session());
      sampling.push_back(batch.sampling_alone());
      beside.push_back((session.back() - sampling.back()) / double(kSequences));
    }
    if (batch.num_rows() != kSequences * kSteps * kRepeats) {
      std::fprintf(stderr, "some sequences have ended\n");
      return 1;
    }
    std::printf("| %s | %.0f | %.0f | %.3f |\n", one.name, median(session) / 1000,
                median(sampling) / 1000, median(beside) / 1000);
  }
  print_churn();
  return 0;
}
