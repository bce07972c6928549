// Every rule of the headers, broken one at a time in every operation that has it: the status, the
// whole error text, and that nothing was written. Then what the rules allow at their edges.
#include <array>
#include <cfloat>
#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <set>

#include "expect.h"

namespace capi_test::argument_rules_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::string text(const char *format, ...) {
  char buffer[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(buffer, sizeof buffer, format, values);
  va_end(values);
  return buffer;
}

float nan_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A call with every array that the operation can have.
Spec full_spec(Op op) {
  Spec spec;
  spec.operation = op;
  spec.dtype = spec.draft_dtype = SAMPLER_F16;
  spec.candidates = true;
  spec.row_indices = spec.op().has("row_indices");
  spec.num_input_rows = spec.row_indices ? 3 : 0;
  spec.per_slot = spec.slots = spec.streams = true;
  spec.token_id_type = SAMPLER_ID_I64;
  spec.pipeline = true;
  spec.reports = spec.may_report();
  spec.kept = true;
  return spec;
}

// Breaks rules of one operation and remembers which members it has been at.
class Rules {
 public:
  explicit Rules(Op op) : spec_(full_spec(op)), sampler_(roomy_sampler()) {}

  const Operation &operation() const { return spec_.op(); }
  Spec &spec() { return spec_; }
  // As errors have it.
  std::string name(const std::string &member) const {
    return name_in_errors(operation().path(member));
  }

  template <class T>
  void refuse(const std::string &member, T value, const std::string &message) {
    if (!operation().has(member)) return;
    refuse_call(
        member, [&](Call *call) { call->args().set(member, value); }, message);
  }

  // `change` breaks the one rule; it is about `member`.
  template <class Change>
  void refuse_call(const std::string &member, const Change &change, const std::string &message) {
    if (!operation().has(member)) return;
    SCOPED_TRACE(std::string(operation().name) + ": " + message);
    seen_.insert(operation().path(member));
    Call call(spec_);
    expect_ok(&call, sampler_.get());
    change(&call);
    expect_refused(&call, sampler_.get(), SAMPLER_ERROR_INVALID_ARGUMENT, message);
    expect_size_refused(&call, message);
  }

  // The rules that follow are about where arrays lie, which the size of the workspace is not.
  void are_of_addresses() { are_of_addresses_ = true; }

  bool has_seen(const std::string &member) const { return seen_.count(member) != 0; }

 private:
  // The size of the workspace is refused in the same words, with the required arrays and without.
  void expect_size_refused(Call *call, const std::string &message) {
    const bool is_of_addresses =
        are_of_addresses_ || message.find("it is required") != std::string::npos;
    for (const bool has_arrays : {true, false}) {
      for (const char *member :
           {"input.values", "target.values", "draft.values", "output", "out_token_ids"}) {
        if (!has_arrays && call->has_array(member)) call->args().set<void *>(member, nullptr);
      }
      std::size_t bytes = 77;
      const sampler_status status =
          operation().workspace_size(sampler_.get(), call->args().data(), &bytes);
      if (is_of_addresses) {
        EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
        continue;
      }
      EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT) << "arrays: " << has_arrays;
      EXPECT_EQ(sampler_last_error(), message) << "arrays: " << has_arrays;
      EXPECT_EQ(bytes, 77u);
    }
  }

  Spec spec_;
  Sampler sampler_;
  bool are_of_addresses_ = false;
  std::set<std::string> seen_;
};

const char *const kViews[] = {"input", "target", "draft"};

void break_ranges(Rules *rules) {
  const auto outside = [&](const std::string &member, std::int64_t least, std::int64_t end) {
    const char *const name = member.c_str();
    for (const std::int64_t value : {least - 1, std::int64_t(INT64_MIN)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be at least %" PRId64, name, value, least));
    }
    for (const std::int64_t value : {end, std::int64_t(INT64_MAX)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be below %" PRId64, name, value, end));
    }
  };
  for (const std::string view : kViews) {
    outside(view + ".num_rows", 0, std::int64_t(1) << 31);
    outside(view + ".num_cols", 1, 1 << 20);
  }
  outside("num_row_indices", 0, std::int64_t(1) << 31);
  outside("num_slots", 0, std::int64_t(1) << 31);
  outside("num_drafts", 0, 65536);
  outside("num_selected", 1, rules->spec().num_cols + 1);
}

// Operations on two models, whose rows belong together.
void break_numbers(Rules *rules) {
  if (!rules->spec().has_two_models()) return;
  for (const std::int64_t value : {0, 1, 36, 38}) {
    rules->refuse(
        "draft.num_cols", value,
        value == 0 ? "draft.num_cols is 0; it must be at least 1"
                   : text("draft.num_cols is %" PRId64 "; it must be target.num_cols, 37", value));
  }
  if (rules->spec().is_residual()) {
    rules->refuse("draft.num_rows", std::int64_t(5),
                  "draft.num_rows is 5; it must be target.num_rows, 4");
    rules->refuse("target.num_rows", std::int64_t(3),
                  "draft.num_rows is 4; it must be target.num_rows, 3");
    return;
  }
  for (const std::int64_t value : {0, 11, 13, 16}) {
    rules->refuse(
        "draft.num_rows", value,
        text("draft.num_rows is %" PRId64 "; it must be num_sequences * num_drafts, 12", value));
  }
  for (const std::int64_t value : {1, 15, 17}) {
    rules->refuse(
        "target.num_rows", value,
        text("target.num_rows is %" PRId64 "; it must be a multiple of num_drafts + 1, 4", value));
  }
  rules->refuse("target.num_rows", std::int64_t(20),
                "draft.num_rows is 12; it must be num_sequences * num_drafts, 15");
  rules->refuse("num_drafts", std::int64_t(4),
                "target.num_rows is 16; it must be a multiple of num_drafts + 1, 5");
  rules->refuse("num_drafts", std::int64_t(7),
                "draft.num_rows is 12; it must be num_sequences * num_drafts, 14");
}

void break_enumerations(Rules *rules) {
  const auto outside = [&](const std::string &member, std::int32_t count) {
    for (const std::int32_t value : {-1, count, INT32_MIN, INT32_MAX}) {
      rules->refuse(member, value,
                    text("%s is %d; it must be one of its constants, 0 to %d",
                         rules->name(member).c_str(), value, count - 1));
    }
  };
  const auto reserved = [&](const std::string &member) {
    for (const std::int32_t value : {1, -1, INT32_MAX}) {
      rules->refuse(member, value,
                    text("%s is %d; it must be 0", rules->name(member).c_str(), value));
    }
  };
  for (const std::string view : kViews) {
    outside(view + ".dtype", 3);
    outside(view + ".kind", 2);
    outside(view + ".candidate_id_type", 2);
    reserved(view + ".reserved");
  }
  reserved("reserved");
  outside("output_dtype", 3);
  outside("params.filter_order", 3);
  outside("logprob_kind", 3);
  outside("draw_method", 3);
  for (const char *member :
       {"params.top_k_ties", "params.top_p_ties", "params.top_p_sum", "params.temperature_order",
        "token_id_type", "output_kind", "accumulate_counts"}) {
    outside(member, 2);
  }
  rules->refuse(
      "output_dtype", SAMPLER_BF16,
      text("output_dtype is 2; it must be SAMPLER_F32 or %s.dtype, 1", rules->spec().view()));
  rules->refuse_call(
      "output_kind",
      [](Call *call) {
        call->args().set("output_kind", SAMPLER_OUTPUT_VALUES);
        call->args().set("input.kind", SAMPLER_PROBABILITIES);
      },
      "input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS where values are written");
  if (!rules->spec().is_residual()) return;
  for (const std::string view : {"target", "draft"}) {
    rules->refuse(view + ".kind", SAMPLER_LOGITS,
                  view + ".kind is 0; it must be SAMPLER_PROBABILITIES");
  }
}

void break_strides(Rules *rules) {
  const auto outside = [&](const std::string &member, const std::string &least_name,
                           std::int64_t least) {
    for (const std::int64_t value :
         {least - 1, std::int64_t(1), std::int64_t(-1), std::int64_t(INT64_MIN)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be 0 or at least %s, %" PRId64,
                         rules->name(member).c_str(), value, least_name.c_str(), least));
    }
  };
  const auto too_large = [&](const std::string &member, const std::string &array,
                             std::int64_t rows) {
    for (const std::int64_t value : {std::int64_t(INT64_MAX), std::int64_t(INT64_MAX) / 3}) {
      rules->refuse(
          member, value,
          text("%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space",
               array.c_str(), rows, value));
    }
  };
  const Spec &spec = rules->spec();
  const std::int64_t cols = spec.num_cols;
  for (const std::string view : kViews) {
    outside(view + ".row_stride", view + ".num_cols", cols);
    const std::int64_t num_positions = spec.num_positions() - (view == "draft");
    outside(view + "_sequence_stride", "what a sequence's rows take", num_positions * cols);
    too_large(view + "_sequence_stride", view + ".values", spec.num_rows);
    if (!spec.is_verify()) {
      too_large(view + ".row_stride", view + ".values", spec.input_rows());
      continue;
    }
    for (const std::int64_t value : {std::int64_t(INT64_MAX), std::int64_t(INT64_MAX) / 2}) {
      rules->refuse(view + ".row_stride", value,
                    text("%s.row_stride is %" PRId64 "; a sequence must fit the address space",
                         view.c_str(), value));
    }
  }
  outside("output_stride", spec.view() + std::string(".num_cols"), cols);
  too_large("output_stride", "output", spec.num_rows);
  if (!spec.is_verify()) return;
  // All rows of a sequence fit, but not together.
  const auto too_large_together = [&](const std::string &view, std::int64_t num_positions) {
    const std::int64_t value = INT64_MAX / num_positions + 1;
    rules->refuse(view + ".row_stride", value,
                  text("%s.row_stride is %" PRId64 "; a sequence must fit the address space",
                       view.c_str(), value));
  };
  too_large_together("target", spec.num_positions());
  too_large_together("draft", spec.num_draft_positions());
}

void break_parameters(Rules *rules) {
  const Spec spec = rules->spec();
  rules->spec().per_slot = false;
  for (const std::uint32_t bits : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    for (const std::string member : {"temperature", "top_p", "min_p"}) {
      rules->refuse("params." + member, nan_of(bits),
                    "params->" + member + " is NaN; it must be a number");
    }
  }
  rules->spec().kind = rules->spec().draft_kind = SAMPLER_LOGITS;
  for (const float value : {0x1.000002p64f, FLT_MAX, kInf}) {
    rules->refuse("params.temperature", value,
                  text("params->temperature is %.9g; it must be at most 2^64", double(value)));
  }
  rules->spec().kind = rules->spec().draft_kind = SAMPLER_PROBABILITIES;
  for (const float value : {0.7f, 2.0f, kInf, 1.00000012f, 1.1e-5f}) {
    rules->refuse("params.temperature", value,
                  text("params->temperature is %.9g; it must be 1, or at most 1e-5, with "
                       "SAMPLER_PROBABILITIES",
                       double(value)));
  }
  if (spec.is_verify()) {
    const char *message =
        "params has a filter and neither target nor draft is logits; filters must be off for "
        "SAMPLER_PROBABILITIES";
    rules->refuse("params.top_k", std::int32_t(1), message);
    rules->refuse("params.top_p", 0.999f, message);
    rules->refuse("params.min_p", 0.001f, message);
    rules->spec().draft = false;  // no draft has no logits either
    rules->refuse("params.top_k", std::int32_t(1), message);
  }
  rules->spec() = spec;
}

void break_seeds(Rules *rules) {
  for (const std::string name : {"seeds", "offsets"}) {
    const std::string array = "random." + name, count = "random.num_" + name;
    for (const std::int64_t value :
         {std::int64_t(0), std::int64_t(-1), std::int64_t(2), std::int64_t(4), std::int64_t(9),
          std::int64_t(INT64_MIN), std::int64_t(INT64_MAX)}) {
      rules->refuse(
          count, value,
          text("%s is %" PRId64 "; it must be 1 or the number of slots, 8", count.c_str(), value));
    }
    rules->refuse_call(
        array, [&](Call *call) { call->args().set<void *>(array, nullptr); },
        count + " is 8; it must be 0");
  }
}

void break_pointers(Rules *rules) {
  void *const null = nullptr;
  const Call example(rules->spec());
  for (const std::string member : {"input.values", "target.values", "draft.values", "out_token_ids",
                                   "output", "draft_token_ids", "token_ids"}) {
    const bool is_optional = rules->operation().has("num_selected") && member == "out_token_ids";
    if (!example.has_array(member) || is_optional) continue;
    rules->refuse(member, null, member + " is NULL; it is required");
  }
  if (rules->operation().has("num_selected")) {
    rules->refuse_call(
        "out_token_ids",
        [&](Call *call) {
          call->args().set("out_values", null);
          call->args().set("out_token_ids", null);
        },
        "out_token_ids is NULL; it is required");
  }
  rules->refuse("row_indices", null, "num_row_indices is 4; it must be 0");
  rules->refuse("slots", null, "num_slots is 8; it must be 0");
}

// Tokens that were kept.
void break_kept(Rules *rules) {
  if (rules->spec().operation != Op::kScore) return;
  static std::int64_t somewhere[64];
  rules->refuse("reserved", std::int32_t(1), "reserved is 1; it must be 0");
  rules->refuse("reports.reserved", std::int32_t(1), "reports->reserved is 1; it must be 0");
  rules->refuse("kept.offsets", static_cast<void *>(nullptr), "kept.num_lists is 4; it must be 0");
  rules->refuse("kept.token_ids", static_cast<void *>(nullptr),
                "kept.token_ids is NULL; it is required");
  rules->refuse("kept.num_lists", std::int64_t(-1), "kept.num_lists is -1; it must be at least 0");
  for (const std::int64_t value : {0, 1, 3, 5}) {
    rules->refuse(
        "kept.num_lists", value,
        text("kept.num_lists is %d; it must be the number of output rows, 4", int(value)));
  }
  rules->refuse("kept.num_token_ids", std::int64_t(-1),
                "kept.num_token_ids is -1; it must be at least 0");
  for (const sampler_logprob_kind kind : {SAMPLER_LOGPROB_RAW, SAMPLER_LOGPROB_EDITED}) {
    rules->refuse(
        "logprob_kind", kind,
        text("reports->logprob_kind is %d; with kept it must be SAMPLER_LOGPROB_PROCESSED, 1",
             int(kind)));
  }
  for (const std::string name : {"dynamic_temperature_range", "adaptive_kind"}) {
    rules->refuse("row_params." + name, static_cast<void *>(somewhere),
                  "row_params->" + name + " is set; it must be off with kept");
  }
  rules->refuse("params.dynamic_temperature_range", 0.5f,
                "params->dynamic_temperature_range is 0.5; it must be off with kept");
  for (const sampler_adaptive_kind kind : {SAMPLER_ADAPTIVE_P, SAMPLER_ADAPTIVE_SMOOTHING}) {
    rules->refuse_call(
        "params.adaptive_kind",
        [kind](Call *call) {
          call->args().set("params.adaptive_kind", std::int32_t(kind));
          call->args().set("params.adaptive_target", 0.5f);
        },
        text("params->adaptive_kind is %d; it must be off with kept", int(kind)));
  }
  const Spec spec = rules->spec();
  rules->spec().pipeline = rules->spec().kept = false;
  rules->spec().kind = SAMPLER_PROBABILITIES;
  static const std::int64_t offsets[5] = {};
  rules->refuse_call(
      "kept.offsets",
      [](Call *call) {
        call->args().set("kept.offsets", static_cast<const void *>(offsets));
        call->args().set("kept.num_lists", std::int64_t(4));
      },
      "kept.offsets is set and input.kind is SAMPLER_PROBABILITIES; it must be SAMPLER_LOGITS");
  rules->spec() = spec;
}

// Rules of a deterministic drafter, and of candidates in a residual.
void break_drafts(Rules *rules) {
  static std::int64_t somewhere[64];
  void *const set = somewhere;
  if (rules->spec().is_residual()) {
    rules->refuse("draft_token_ids", set,
                  "draft and draft_token_ids are set; one of them must be 0");
    for (const std::string view : {"target", "draft"}) {
      for (const std::string member : {".candidate_ids", ".candidate_counts"}) {
        rules->refuse(view + member, set, view + member + " is set; it must be NULL in a residual");
      }
    }
  }
  rules->spec().draft = false;
  for (const std::int64_t stride : {-1, 1, 1000}) {
    rules->refuse("draft_sequence_stride", stride,
                  text("layout->draft_sequence_stride is %d; it must be 0", int(stride)));
  }
  if (rules->spec().has_two_models()) {
    rules->refuse("draft_token_ids", static_cast<void *>(nullptr),
                  "draft_token_ids is NULL; it is required");
    // Any member makes it one with rows.
    rules->refuse("draft.row_stride", std::int64_t(1),
                  "draft.num_cols is 0; it must be at least 1");
    rules->refuse("draft.kind", SAMPLER_PROBABILITIES,
                  "draft.num_cols is 0; it must be at least 1");
    rules->refuse("draft.values", set, "draft.num_cols is 0; it must be at least 1");
  }
  rules->spec().draft = true;
}

const std::set<std::string> kReports = {
    "num_top_logprobs",    "out_top_token_ids",     "out_top_logprobs",
    "num_chosen",          "chosen_token_ids",      "out_ranks",
    "out_chosen_logprobs", "out_entropies",         "out_kept_bitmask",
    "kept_capacity",       "kept_bitmask_stride",   "out_kept_token_ids",
    "out_removed_by",      "out_kept_probabilities"};
bool is_report(const std::string &member) {
  const std::string parent = "reports.";
  return member.rfind(parent, 0) == 0 && kReports.count(member.substr(parent.size())) != 0;
}

void break_reports(Rules *rules) {
  const auto outside = [&](const std::string &member, std::int64_t least, std::int64_t end) {
    for (const std::int64_t value : {least - 1, std::int64_t(INT64_MIN)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be at least %" PRId64,
                         rules->name(member).c_str(), value, least));
    }
    for (const std::int64_t value : {end, std::int64_t(INT64_MAX)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be below %" PRId64,
                         rules->name(member).c_str(), value, end));
    }
  };
  void *const null = nullptr;
  const std::int64_t cols = rules->spec().num_cols;
  outside("num_top_logprobs", 0, cols + 1);
  outside("num_chosen", 0, cols + 1);
  outside("kept_capacity", 0, cols + 1);
  outside("kept_bitmask_stride", 1, std::int64_t(1) << 31);  // of candidate lists
  rules->refuse(
      "out_kept_bitmask", null,
      text("reports->kept_bitmask_stride is %" PRId64 "; it must be 0", (2 * cols + 31) / 32));
  rules->refuse("chosen_token_ids", null, "reports->chosen_token_ids is NULL; it is required");
  rules->refuse("out_chosen_logprobs", null,
                "reports->out_chosen_logprobs is NULL; it is required");
  for (const auto &[ids, numbers] :
       {std::pair<std::string, std::string>("out_top_token_ids", "out_top_logprobs"),
        std::pair<std::string, std::string>("out_kept_token_ids", "out_kept_probabilities")}) {
    const std::string ids_member = ids, numbers_member = numbers;
    rules->refuse_call(
        ids,
        [&](Call *call) {
          call->args().set(ids_member, null);
          call->args().set(numbers_member, null);
        },
        rules->name(ids) + " is NULL; it is required");
  }
}

// The arrays of a call are misaligned, or reach over the end of the address space.
void break_addresses(Rules *rules) {
  const Spec &spec = rules->spec();
  rules->refuse(
      "out_kept_offsets", UINTPTR_MAX - 7,  // packed_lists_test.cpp has the rest
      text("reports->out_kept_offsets has %d rows, 1 elements apart; it must fit the address space",
           int(spec.num_rows) + 1));
  const Call example(spec);
  for (const auto &[member, layout] : rules->operation().members) {
    if (!example.has_array(member)) continue;
    const Call::Array &array = example.array(member);
    const std::string name = name_in_errors(member);
    for (std::size_t shift = 1; shift < array.element_size; shift *= 2) {
      Call call(spec);
      unsigned char *pointer = call.buffer(member).data() + shift;
      rules->refuse(member, pointer,
                    text("%s is %p; it must be aligned to %zu bytes", name.c_str(),
                         static_cast<void *>(pointer), array.element_size));
    }
    std::int64_t rows = array.rows * array.cols, stride = 1;
    if (member == "input.values" || member == "input.candidate_ids" || member == "output") {
      rows = array.rows;
      stride = spec.num_cols;
    } else if (member == "pipeline.dense_bias" || member == "pipeline.token_bitmasks" ||
               member == "pipeline.guidance_logits" || is_report(member)) {
      rows = array.rows;
      stride = array.stride;
    } else if (member == "target.values" || member == "target.candidate_ids") {
      rows = spec.num_rows;
      stride = spec.num_cols * spec.num_positions();
    } else if (member == "draft.values" || member == "draft.candidate_ids") {
      rows = spec.num_rows;
      stride = spec.num_cols * spec.num_draft_positions();
    }
    rules->refuse(
        member, UINTPTR_MAX - 7,
        text("%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space",
             name.c_str(), rows, stride));
  }
}

void break_workspace(Rules *rules) {
  rules->refuse("exec.workspace_bytes", std::size_t(5),
                "exec.workspace is NULL and exec.workspace_bytes 5; it must be 0 then");
  rules->refuse_call(
      "exec.workspace",
      [](Call *call) {
        call->args().set("exec.workspace", UINTPTR_MAX - 99);
        call->args().set("exec.workspace_bytes", std::size_t(100));
      },
      "exec.workspace_bytes is 100; the workspace must fit the address space");
  static unsigned char byte;
  rules->refuse_call(
      "exec.workspace_bytes",
      [](Call *call) {
        call->args().set<void *>("exec.workspace", &byte);
        call->args().set("exec.workspace_bytes", SIZE_MAX);
      },
      "exec.workspace_bytes is 18446744073709551615; the workspace must fit the address space");
}

// Numbers of the stages besides top-k, top-p and min-p.
struct Number {
  const char *name;
  bool is_float;
  bool turns_on;  // its stage, where it is 1.5, 3 or, of fractions, 0.5
  bool needs_history;
};
const Number kNumbers[] = {{"guidance_scale", true, true, false},
                           {"repetition_penalty", true, true, true},
                           {"frequency_penalty", true, true, true},
                           {"presence_penalty", true, true, true},
                           {"penalty_window", false, false, true},
                           {"exponential_decay_start", false, false, true},
                           {"exponential_decay_factor", true, true, true},
                           {"dry_multiplier", true, true, true},
                           {"dry_base", true, false, true},
                           {"dry_allowed_length", false, false, true},
                           {"dry_window", false, false, true},
                           {"no_repeat_ngram_size", false, true, true},
                           {"min_new_tokens", false, true, true},
                           {"dynamic_temperature_range", true, true, false},
                           {"dynamic_temperature_exponent", true, false, false},
                           {"typical_p", true, true, false},
                           {"top_n_sigma", true, true, false},
                           {"epsilon_cutoff", true, true, false},
                           {"eta_cutoff", true, true, false},
                           {"top_h", true, true, false},
                           {"p_less", false, true, false},
                           {"min_k", true, true, false},
                           {"top_a", true, true, false},
                           {"xtc_probability", true, true, false},
                           {"xtc_threshold", true, false, false},
                           {"min_keep", false, true, false},
                           {"adaptive_kind", false, true, false},
                           {"adaptive_target", true, false, false},
                           {"adaptive_rate", true, false, false},
                           {"top_p_decay", true, true, false},
                           {"top_p_least", true, false, false}};

// What turns it on.
std::string set_on(Call *call, const Number &number) {
  const std::string member = std::string("params.") + number.name;
  if (!number.is_float) {
    const bool is_p_less = member == "params.p_less";  // whose constants end with 2
    call->args().set(member, std::int32_t(is_p_less ? 2 : 3));
    return is_p_less ? "2" : "3";
  }
  call->args().set(member, 0.5f);
  return "0.5";
}

void break_adaptive_numbers(Rules *rules) {
  for (const std::int32_t kind : {-1, 3}) {
    rules->refuse("params.p_less", kind,
                  text("params->p_less is %d; it must be one of its constants, 0 to 2", int(kind)));
  }
  for (const std::int32_t kind : {-1, 5}) {
    rules->refuse(
        "params.adaptive_kind", kind,
        text("params->adaptive_kind is %d; it must be one of its constants, 0 to 4", int(kind)));
  }
  for (const char *name : {"adaptive_target", "adaptive_rate", "top_p_least"}) {
    for (const float value : {kInf, -kInf}) {
      rules->refuse(std::string("params.") + name, value,
                    text("params->%s is %s; it must be finite", name, value > 0 ? "inf" : "-inf"));
    }
  }
  for (const sampler_adaptive_kind kind :
       {SAMPLER_ADAPTIVE_MIROSTAT_V1, SAMPLER_ADAPTIVE_MIROSTAT_V2}) {
    rules->refuse_call(
        "params.adaptive_target",
        [=](Call *call) {
          call->args().set("params.adaptive_kind", kind);
          call->args().set("params.adaptive_target", -0.5f);
        },
        "params->adaptive_target is -0.5; mirostat's must not be negative");
  }
}

// sampler_verify: its stages are tested by tests/verification, those that a device refuses by
// tests/simt/runtime.
bool has_stages_on_cpu(const Rules &rules) {
  return rules.operation().name == std::string("sampler_verify");
}

void break_stage_numbers(Rules *rules) {
  const Spec spec = rules->spec();
  for (const char *member :
       {"params.penalty_scope", "params.penalty_form", "params.bad_word_scope"}) {
    rules->refuse(member, std::int32_t(3),
                  name_in_errors(member) + " is 3; it must be one of its constants, 0 to 2");
  }
  for (const char *member : {"params.typical_p_ties", "params.typical_p_sum", "params.cutoff_ties",
                             "pipeline.token_id_type", "pipeline.token_bitmask_rule"}) {
    rules->refuse(member, std::int32_t(-1),
                  name_in_errors(member) + " is -1; it must be one of its constants, 0 to 1");
  }
  static double somewhere[64];
  const std::string function = rules->operation().name;
  const std::string off = "; it must be off: " + function + " does not have that stage";
  rules->spec().per_slot = false;
  for (const Number &number : kNumbers) {
    const std::string name = number.name, member = "params." + name;
    if (number.is_float) {
      rules->refuse(member, nan_of(0xFFC00000u),
                    "params->" + name + " is NaN; it must be a number");
    }
    if (has_stages_on_cpu(*rules)) continue;
    if (!rules->operation().has("pipeline")) {
      rules->refuse("row_params." + name, static_cast<void *>(somewhere),
                    "row_params->" + name + " is set" + off);
      if (!number.turns_on) {
        rules->refuse_call(
            member,
            [&](Call *call) {
              call->args().set("row_params." + name, static_cast<void *>(somewhere));
            },
            "row_params->" + name + " is set" + off);
        continue;
      }
      rules->refuse_call(
          member, [&](Call *call) { set_on(call, number); },
          "params->" + name + " is " + (number.is_float ? "0.5" : "3") + off);
      continue;
    }
    if (number.needs_history && number.turns_on) {
      const auto without_history = [](Call *call) {
        for (const auto &[path, layout] : call->spec().op().members) {
          if (path.rfind("pipeline.", 0) != 0 || path == "pipeline.struct_size") continue;
          std::memset(static_cast<unsigned char *>(call->args().data()) + layout.offset, 0,
                      layout.size);
        }
      };
      rules->spec().pipeline = false;
      rules->refuse_call(
          member,
          [&](Call *call) {
            without_history(call);
            set_on(call, number);
          },
          "params->" + name + " is " + (number.is_float ? "0.5" : "3") +
              "; it needs pipeline->history or pipeline->state");
      rules->refuse_call(
          "row_params." + name,
          [&](Call *call) {
            without_history(call);
            call->args().set("row_params." + name, static_cast<void *>(somewhere));
          },
          "row_params->" + name + " is set; it needs pipeline->history or pipeline->state");
      rules->spec().pipeline = true;
    }
  }
  for (const char *name : {"repetition_penalty", "frequency_penalty", "presence_penalty"}) {
    const bool is_repetition = std::string(name) == "repetition_penalty";
    for (const float value : {kInf, -kInf}) {
      rules->refuse(std::string("params.") + name, value,
                    text("params->%s is %s; it must be finite%s", name, value > 0 ? "inf" : "-inf",
                         is_repetition ? " and not negative" : ""));
    }
  }
  rules->refuse("params.repetition_penalty", -0.5f,
                "params->repetition_penalty is -0.5; it must be finite and not negative");
  break_adaptive_numbers(rules);
  if (has_stages_on_cpu(*rules)) {
    rules->refuse("row_params.forced_token_id", static_cast<void *>(somewhere),
                  "row_params->forced_token_id is set; " + function + " does not force tokens");
  } else if (!rules->operation().has("pipeline")) {
    rules->refuse("row_params.top_p_reset_token_id", static_cast<void *>(somewhere),
                  "row_params->top_p_reset_token_id is set" + off);
    rules->refuse("row_params.forced_token_id", static_cast<void *>(somewhere),
                  "row_params->forced_token_id is set; " + function + " does not force tokens");
  } else if (rules->spec().operation == Op::kScore) {
    rules->refuse("row_params.forced_token_id", static_cast<void *>(somewhere),
                  "row_params->forced_token_id is set; it must be NULL: token_ids has the tokens");
  } else if (rules->spec().operation == Op::kFilter) {
    rules->refuse("row_params.forced_token_id", static_cast<void *>(somewhere),
                  "row_params->forced_token_id is set; sampler_filter draws no token");
    rules->refuse("params.xtc_probability", 0.5f,
                  "params->xtc_probability is 0.5; sampler_filter draws no coin");
    rules->refuse("row_params.xtc_probability", static_cast<void *>(somewhere),
                  "row_params->xtc_probability is set; sampler_filter draws no coin");
  }
  rules->spec() = spec;
}

using Stages = std::array<sampler_stage, SAMPLER_MAX_STAGES>;

void break_stage_order(Rules *rules) {
  const auto refuse = [&](const Stages &stages, const std::string &message) {
    rules->refuse("params.stages", stages, message);
  };
  if (has_stages_on_cpu(*rules)) return;
  if (!rules->operation().has("pipeline")) {
    const std::string rule = std::string("params->stages lists an order; ") +
                             rules->operation().name +
                             " has that of filter_order and temperature_order";
    refuse({1}, rule);
    refuse({0, 0, 6}, rule);
    return;
  }
  const Spec spec = rules->spec();
  rules->spec().kept = false;  // so that ADAPTIVE is on
  refuse({20}, "params->stages[0] is 20; it must be a SAMPLER_STAGE_ constant, 1 to 19, or 0");
  refuse({1, -1}, "params->stages[1] is -1; it must be a SAMPLER_STAGE_ constant, 1 to 19, or 0");
  for (const sampler_stage after : {16, 6, 1}) {
    const char *const name = after == 16 ? "TOP_K" : after == 6 ? "TEMPERATURE" : "BIAS";
    refuse(
        {19, after},
        text("params->stages has SAMPLER_STAGE_%s after SAMPLER_STAGE_ADAPTIVE; ADAPTIVE must be "
             "the last",
             name));
  }
  refuse({0, 2}, "params->stages[1] is 2; it must be 0, after the 0 that ends the list");
  refuse({1, 2, 1}, "params->stages has SAMPLER_STAGE_BIAS twice; it must have each stage once");
  refuse({1, 16, 4},
         "params->stages has SAMPLER_STAGE_DRY after SAMPLER_STAGE_TOP_K; edits must come first");
  refuse({1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
         "SAMPLER_STAGE_TEMPERATURE is on and params->stages does not list it");
  refuse({1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
         "SAMPLER_STAGE_DRY is on and params->stages does not list it");
  refuse({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
         "SAMPLER_STAGE_ADAPTIVE is on and params->stages does not list it");
  rules->refuse_call(
      "params.top_p_decay",
      [](Call *call) {
        call->args().set("params.top_p", 1.0f);
        call->args().set("params.stages",
                         Stages{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19});
      },
      "SAMPLER_STAGE_TOP_P is on and params->stages does not list it");
  const Stages all = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  const auto with = [&](const char *member, std::int32_t value, const Stages &stages,
                        const std::string &message) {
    rules->refuse_call(
        member,
        [&](Call *call) {
          call->args().set("params.stages", stages);
          call->args().set(member, value);
        },
        message);
  };
  with("params.filter_order", SAMPLER_FILTERS_MIN_P_FIRST, all,
       "params->stages lists the order and params->filter_order is another; it must be 0");
  with("params.temperature_order", SAMPLER_TEMPERATURE_LAST, all,
       "params->stages lists the order and params->temperature_order is another; it must be 0");
  with("params.filter_order", SAMPLER_FILTERS_JOINT,
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 15, 17, 18, 19},
       "params->stages has another stage between TOP_K, TOP_P and MIN_P; they must stand side by "
       "side with SAMPLER_FILTERS_JOINT");
  rules->spec() = spec;
}

void break_pipeline(Rules *rules) {
  if (!rules->operation().has("pipeline")) return;
  const std::int64_t slots = rules->spec().num_slots();
  void *const null = nullptr;
  const auto named = [](const std::string &member) { return name_in_errors(member); };
  const auto outside = [&](const std::string &member, std::int64_t least, std::int64_t end) {
    rules->refuse(member, least - 1,
                  text("%s is %" PRId64 "; it must be at least %" PRId64, named(member).c_str(),
                       least - 1, least));
    rules->refuse(
        member, end,
        text("%s is %" PRId64 "; it must be below %" PRId64, named(member).c_str(), end, end));
  };
  for (const std::string name : {"history", "biased", "bias_contexts", "allowed", "banned", "stop",
                                 "unpenalized", "bad_words", "dry_breakers"}) {
    const std::string lists = "pipeline." + name;
    const bool is_by_slot =
        name != "bias_contexts" && name != "bad_words" && name != "dry_breakers";
    const auto num_lists = name == "bias_contexts" ? 3 * slots : is_by_slot ? slots : 2;
    outside(lists + ".num_lists", 0, std::int64_t(1) << 31);
    rules->refuse(lists + ".num_token_ids", std::int64_t(-1),
                  named(lists) + ".num_token_ids is -1; it must be at least 0");
    rules->refuse(lists + ".offsets", null,
                  text("%s.num_lists is %d; it must be 0", named(lists).c_str(), int(num_lists)));
    rules->refuse(lists + ".token_ids", null, named(lists) + ".token_ids is NULL; it is required");
    if (!is_by_slot) continue;
    for (const std::int64_t value : {std::int64_t(0), std::int64_t(2), slots + 1}) {
      rules->refuse(
          lists + ".num_lists", value,
          text("%s.num_lists is %" PRId64 "; it must be 1 or the number of slots, %" PRId64,
               named(lists).c_str(), value, slots));
    }
  }
  const auto drop = [](const std::string &lists) {
    return [=](Call *call) {
      call->args().set<void *>("pipeline." + lists + ".offsets", nullptr);
      call->args().set("pipeline." + lists + ".num_lists", std::int64_t(0));
      call->args().set("pipeline." + lists + ".num_token_ids", std::int64_t(0));
    };
  };
  for (const std::int64_t value : {std::int64_t(0), slots, 3 * slots + 1}) {
    rules->refuse("pipeline.bias_contexts.num_lists", value,
                  text("pipeline->bias_contexts.num_lists is %" PRId64
                       "; it must be pipeline->biased.num_token_ids, %" PRId64,
                       value, 3 * slots));
  }
  rules->refuse_call("pipeline.prompt_lengths", drop("history"),
                     "pipeline->prompt_lengths is set; it needs pipeline->history");
  const auto drop_biased = [=](Call *call) {
    drop("biased")(call);
    drop("bias_contexts")(call);
  };
  rules->refuse_call("pipeline.biases", drop_biased,
                     "pipeline->biases is set; it needs pipeline->biased");
  rules->refuse("pipeline.biases", null, "pipeline->biases is NULL; it is required");
  rules->refuse_call("pipeline.bad_word_offsets", drop("bad_words"),
                     "pipeline->bad_word_offsets is set; it needs pipeline->bad_words");
  rules->refuse_call("pipeline.stop.offsets", drop("stop"),
                     "min_new_tokens is set; it needs pipeline->stop");
  const auto drop_stop = [=](Call *call) {
    drop("stop")(call);
    call->args().set("params.min_new_tokens", std::int32_t(0));
    call->args().set_if_any("row_params.min_new_tokens", static_cast<const void *>(nullptr));
  };
  rules->refuse_call("pipeline.stop.offsets", drop_stop,
                     "exponential_decay_factor is set; it needs pipeline->stop");
  outside("pipeline.max_history_tokens", 0, std::int64_t(1) << 31);
  outside("pipeline.num_guidance_rows", 1, std::int64_t(1) << 31);
  rules->refuse("pipeline.guidance_logits", null, "pipeline->num_guidance_rows is 3; it must be 0");
  rules->refuse("pipeline.guidance_row_indices", null,
                "pipeline->num_guidance_rows is 3; it must be at least 4");
  const auto drop_guidance = [](Call *call) {
    call->args().set<void *>("pipeline.guidance_logits", nullptr);
    call->args().set("pipeline.num_guidance_rows", std::int64_t(0));
  };
  rules->refuse_call("pipeline.guidance_row_indices", drop_guidance,
                     "pipeline->guidance_row_indices is set; it needs pipeline->guidance_logits");
  rules->refuse_call(
      "pipeline.guidance_logits",
      [=](Call *call) {
        drop_guidance(call);
        call->args().set<void *>("pipeline.guidance_row_indices", nullptr);
      },
      "guidance_scale is set; it needs pipeline->guidance_logits");
  outside("pipeline.dense_bias_stride", 1, std::int64_t(1) << 31);
  outside("pipeline.token_bitmask_stride", 1, std::int64_t(1) << 31);
  outside("pipeline.num_token_bitmasks", 1, std::int64_t(1) << 31);
  for (const std::int64_t value : {std::int64_t(0), std::int64_t(2), slots + 1}) {
    rules->refuse("pipeline.num_dense_biases", value,
                  text("pipeline->num_dense_biases is %" PRId64
                       "; it must be 1 or the number of slots, %" PRId64,
                       value, slots));
  }
  rules->refuse("pipeline.dense_bias", null,
                text("pipeline->num_dense_biases is %" PRId64 "; it must be 0", slots));
  rules->refuse("pipeline.token_bitmasks", null, "pipeline->num_token_bitmasks is 3; it must be 0");
  rules->refuse("pipeline.token_bitmask_indices", null,
                "pipeline->num_token_bitmasks is 3; it must be at least 4");
  rules->refuse_call(
      "pipeline.token_bitmask_indices",
      [](Call *call) {
        call->args().set<void *>("pipeline.token_bitmasks", nullptr);
        call->args().set("pipeline.num_token_bitmasks", std::int64_t(0));
        call->args().set("pipeline.token_bitmask_stride", std::int64_t(0));
      },
      "pipeline->token_bitmask_indices is set; it needs pipeline->token_bitmasks");
  // Probabilities are not edited.
  const Spec spec = rules->spec();
  rules->spec().kind = SAMPLER_PROBABILITIES;
  static std::int64_t offsets[2] = {0, 0};
  rules->refuse_call(
      "pipeline.banned.offsets",
      [](Call *call) {
        call->args().set<void *>("pipeline.banned.offsets", offsets);
        call->args().set("pipeline.banned.num_lists", std::int64_t(1));
      },
      "pipeline has SAMPLER_STAGE_MASK and input.kind is SAMPLER_PROBABILITIES; edits need "
      "SAMPLER_LOGITS");
  rules->refuse("params.dynamic_temperature_range", 0.5f,
                "params->dynamic_temperature_range is 0.5; it needs SAMPLER_LOGITS");
  rules->spec() = spec;
}

// Members that take every value, and those that struct_size_test.cpp is about.
const std::set<std::string> kWithoutRules = {
    "exec.stream", "params", "row_params", "pipeline", "params.top_k", "params.penalty_window",
    "params.exponential_decay_start", "params.dry_allowed_length", "params.dry_window",
    "params.min_keep", "random.seed", "random.offset", "params.struct_size",
    "row_params.struct_size", "pipeline.struct_size", "struct_size", "reports",
    "reports.struct_size", "layout", "layout.struct_size",
    // Tested by tests/state.
    "pipeline.state"};

TEST(Stages, AreThere) {
  const Sampler sampler = roomy_sampler();
  for (const Op op : {Op::kSample, Op::kFilter}) {
    Call call(full_spec(op));
    expect_ok(&call, sampler.get());
  }
}

class ArgumentRules : public testing::TestWithParam<Op> {};

TEST_P(ArgumentRules, EachIsChecked) {
  Rules rules(GetParam());
  break_ranges(&rules);
  break_numbers(&rules);
  break_enumerations(&rules);
  break_strides(&rules);
  break_parameters(&rules);
  break_seeds(&rules);
  break_pointers(&rules);
  break_drafts(&rules);
  break_kept(&rules);
  break_stage_numbers(&rules);
  break_stage_order(&rules);
  break_pipeline(&rules);
  break_reports(&rules);
  rules.are_of_addresses();
  break_addresses(&rules);
  if (rules.spec().is_residual()) {  // either the drafter's rows or its tokens
    rules.spec().draft = false;
    break_addresses(&rules);
    rules.spec().draft = true;
  }
  break_workspace(&rules);
  for (const auto &[member, layout] : rules.operation().members) {
    const bool is_of_stages = member.find("params.") != std::string::npos;
    if (has_stages_on_cpu(rules) && is_of_stages) continue;
    EXPECT_TRUE(rules.has_seen(member) || kWithoutRules.count(member) != 0)
        << rules.operation().name << ": no rule of " << member << " is tested";
  }
}

// Two arrays of the call, moved so that the second begins `shared` bytes before the first ends.
struct Neighbours {
  Neighbours(Call *call, const std::string &first, const std::string &second, std::size_t shared) {
    const std::size_t first_bytes = call->buffer(first).size();
    const std::size_t middle = (first_bytes / 64 + 1) * 64;
    memory = Buffer(middle + call->buffer(second).size() + 64, 0, Call::kSentinel);
    const std::size_t align = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    unsigned char *const second_data = memory.data() + align % 64 + middle;
    unsigned char *const first_data = second_data - first_bytes + shared;
    std::memcpy(first_data, call->buffer(first).data(), first_bytes);
    std::memcpy(second_data, call->buffer(second).data(), call->buffer(second).size());
    call->args().set(first, first_data);
    call->args().set(second, second_data);
  }

  Buffer memory;
};

TEST_P(ArgumentRules, OutputsOverlapNothing) {
  const Operation &operation = capi_test::operation(GetParam());
  const Spec spec = full_spec(GetParam());
  const Sampler sampler = roomy_sampler();
  const Call example(spec);
  const std::vector<std::string> outputs = example.outputs();
  const std::set<std::string> is_output(outputs.begin(), outputs.end());
  for (const std::string &output : outputs) {
    for (const auto &[other, layout] : operation.members) {
      if (!example.has_array(other) || other == output) continue;
      SCOPED_TRACE(std::string(operation.name) + ": " + output + " and " + other);
      Call call(spec);
      {
        const Neighbours apart(&call, output, other, 0);
        EXPECT_EQ(call.run(sampler.get()), SAMPLER_OK) << sampler_last_error();
      }
      const Neighbours overlapping(&call, output, other, call.array(output).element_size);
      call.reset_outputs();
      const std::string before = overlapping.memory.bytes();
      EXPECT_EQ(call.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(overlapping.memory.bytes(), before);
      EXPECT_TRUE(call.outputs_are_untouched());
      const char *const rule = "; outputs must overlap neither inputs nor each other";
      const std::string message = sampler_last_error(), other_name = name_in_errors(other);
      const std::string output_name = name_in_errors(output);
      const bool other_first = is_output.count(other) && message.rfind(other_name + " ", 0) == 0;
      EXPECT_EQ(message, (other_first ? other_name + " overlaps " + output_name
                                      : output_name + " overlaps " + other_name) +
                             rule);
    }
  }
}

TEST_P(ArgumentRules, WorkspaceOverlapsNothing) {
  const Operation &operation = capi_test::operation(GetParam());
  const Spec spec = full_spec(GetParam());
  const Sampler sampler = roomy_sampler();
  const Call example(spec);
  const std::size_t bytes = workspace_size(sampler.get(), example.args());
  const std::vector<std::string> outputs = example.outputs();
  const std::set<std::string> is_output(outputs.begin(), outputs.end());
  for (const auto &[member, layout] : operation.members) {
    if (!example.has_array(member)) continue;
    SCOPED_TRACE(std::string(operation.name) + ": " + member);
    Call call(spec);
    const std::size_t array_bytes = call.buffer(member).size();
    Buffer memory(bytes + array_bytes, 0, Call::kSentinel);
    std::memcpy(memory.data(), call.buffer(member).data(), array_bytes);
    call.args().set(member, memory.data());
    call.args().set("exec.workspace_bytes", bytes);
    call.args().set("exec.workspace", memory.data() + array_bytes);
    EXPECT_EQ(call.run(sampler.get()), SAMPLER_OK) << sampler_last_error();

    call.args().set("exec.workspace", memory.data() + array_bytes - 1);
    expect_refused(&call, sampler.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                   (is_output.count(member) ? name_in_errors(member) + " overlaps exec.workspace"
                                            : "exec.workspace overlaps " + name_in_errors(member)) +
                       "; outputs must overlap neither inputs nor each other");
  }
}

TEST_P(ArgumentRules, PointersToNothing) {
  const Operation &operation = capi_test::operation(GetParam());
  const Sampler sampler = roomy_sampler();
  Call call(full_spec(GetParam()));
  expect_refused(&call, nullptr, SAMPLER_ERROR_INVALID_ARGUMENT,
                 "sampler is NULL; it must come from sampler_create");
  EXPECT_EQ(operation.run(sampler.get(), nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "args is NULL; it must point to a struct");
}

// An output that is not wanted changes none of the others.
TEST_P(ArgumentRules, OptionalOutputsMayBeMissing) {
  const Operation &operation = capi_test::operation(GetParam());
  const Sampler sampler = roomy_sampler();
  Call call(full_spec(GetParam()));
  expect_ok(&call, sampler.get());
  std::map<std::string, std::string> expected;
  for (const std::string &output : call.outputs()) expected[output] = call.buffer(output).bytes();
  for (const std::string &missing : call.outputs()) {
    const bool required = !operation.has("num_selected") && missing == "out_token_ids";
    if (required || missing == "output" || missing == "reports.out_chosen_logprobs") continue;
    if (missing == "reports.out_kept_bitmask") continue;  // it has a stride
    SCOPED_TRACE(std::string(operation.name) + " without " + missing);
    void *const pointer = call.args().get<void *>(missing);
    call.args().set<void *>(missing, nullptr);
    expect_ok(&call, sampler.get());
    for (const std::string &output : call.outputs()) {
      const std::string untouched(expected[output].size(), char(Call::kSentinel));
      EXPECT_TRUE(same_bytes(call.buffer(output).bytes(),
                             output == missing ? untouched : expected[output]));
    }
    call.args().set(missing, pointer);
  }
}

class Parameters : public testing::TestWithParam<Op> {};

INSTANTIATE_TEST_SUITE_P(Of, Parameters, testing::Values(Op::kSample, Op::kFilter, Op::kVerify),
                         operation_name);

// Values beyond a parameter's range mean the value at its end.
TEST_P(Parameters, HaveTheirMeaningAtTheExtremes) {
  const Sampler sampler = roomy_sampler();
  Spec spec;
  spec.operation = GetParam();
  spec.num_rows = 20;
  const auto with = [&](const char *member, auto value) {
    Call call(spec);
    call.args().set(member, value);
    return output_of(&call, sampler.get());
  };
  const auto expect_same = [&](const char *member, auto extreme, auto value) {
    EXPECT_EQ(with(member, extreme), with(member, value)) << member;
  };
  for (const std::int32_t off : {INT32_MIN, -1, 37, INT32_MAX}) expect_same("params.top_k", off, 0);
  expect_same("params.top_p", kInf, 1.0f);
  expect_same("params.top_p", 1.5f, 1.0f);
  expect_same("params.top_p", -kInf, 0.0f);
  expect_same("params.top_p", -0.0f, 0.0f);
  expect_same("params.min_p", kInf, 1.0f);
  expect_same("params.min_p", 3.0f, 1.0f);
  expect_same("params.min_p", -kInf, 0.0f);
  for (const float cold : {-kInf, -1.0f, -0.0f, FLT_TRUE_MIN, 1e-5f}) {
    expect_same("params.temperature", cold, 0.0f);
  }
  // And the ends differ from each other, so that the comparisons above can fail.
  EXPECT_NE(with("params.top_k", 1), with("params.top_k", 0));
  EXPECT_NE(with("params.top_p", 0.0f), with("params.top_p", 1.0f));
  EXPECT_NE(with("params.min_p", 1.0f), with("params.min_p", 0.0f));
  EXPECT_NE(with("params.temperature", 0.0f), with("params.temperature", 0x1p64f));
  EXPECT_NE(with("params.temperature", 0.0f), with("params.temperature", 1.1e-5f));
}

// Beside an array the value for all rows is of no matter.
TEST_P(Parameters, BesideArraysAreIgnored) {
  const Sampler sampler = roomy_sampler();
  for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
    Spec spec = full_spec(GetParam());
    spec.kind = kind;
    Call call(spec);
    const std::string expected = output_of(&call, sampler.get());
    for (const float value : {0.3f, -kInf, nan_of(0x7FC00000u)}) {
      for (const std::string name : {"temperature", "top_p", "min_p"}) {
        if (call.has_array("row_params." + name)) call.args().set("params." + name, value);
      }
      call.args().set_if_any("random.seed", std::uint64_t(99));
      call.args().set_if_any("random.offset", std::uint64_t(99));
      EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
    }
  }
}

// With no rows nothing is read or written: no array is needed.
TEST_P(ArgumentRules, NoRowsDoNothing) {
  const Operation &operation = capi_test::operation(GetParam());
  const Sampler without_workspace = make_sampler(sampler_options_default());
  Args args(operation);
  args.set_if_any("input.num_cols", std::int64_t(10));
  args.set_if_any("target.num_cols", std::int64_t(10));
  if (GetParam() == Op::kResidual) args.set("target.kind", SAMPLER_PROBABILITIES);
  args.set_if_any("num_selected", std::int64_t(3));
  args.set_if_any("num_drafts", std::int64_t(2));
  EXPECT_EQ(operation.run(without_workspace.get(), args.data()), SAMPLER_OK)
      << sampler_last_error();
  if (operation.has("draft.num_cols")) {  // a draft of no rows
    args.set("draft.num_cols", std::int64_t(10));
    args.set("draft.kind", SAMPLER_PROBABILITIES);
    EXPECT_EQ(operation.run(without_workspace.get(), args.data()), SAMPLER_OK)
        << sampler_last_error();
  }

  Call call(full_spec(GetParam()));
  take_rows(&call.args());
  call.reset_outputs();
  EXPECT_EQ(call.run(without_workspace.get()), SAMPLER_OK) << sampler_last_error();
  EXPECT_TRUE(call.outputs_are_untouched());
  // The other rules still hold.
  const std::string num_cols = call.spec().view() + std::string(".num_cols");
  call.args().set(num_cols, std::int64_t(0));
  expect_refused(&call, without_workspace.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                 num_cols + " is 0; it must be at least 1");
}

INSTANTIATE_TEST_SUITE_P(Of, ArgumentRules, all_operations(), operation_name);

TEST(FallbackToken, LiesInTheVocabularyOfEachCall) {
  sampler_options options = roomy_options();
  options.use_fallback_token = 1;
  options.fallback_token_id = 36;
  const Sampler last = make_sampler(options);
  options.fallback_token_id = 37;
  const Sampler outside = make_sampler(options);
  for (const Op op : {Op::kSample, Op::kVerify}) {
    Spec spec;
    spec.operation = op;
    for (const bool ragged : {false, true}) {
      spec.ragged = ragged;
      SCOPED_TRACE(describe(spec));
      Call rows(spec);
      expect_ok(&rows, last.get());
      expect_refused(&rows, outside.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                     "the sampler's fallback_token_id is 37; it must be below num_cols, 37");
    }
    spec.ragged = false;
    spec.candidates = true;
    Call lists(spec);
    expect_ok(&lists, outside.get());
  }
}

TEST(LastError, StaysUntilTheNextFailure) {
  const Sampler sampler = roomy_sampler();
  Call call(Spec{});
  Call broken(Spec{});
  broken.args().set("input.num_cols", std::int64_t(-7));
  EXPECT_EQ(broken.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
  const std::string message = "input.num_cols is -7; it must be at least 1";
  EXPECT_EQ(sampler_last_error(), message);
  expect_ok(&call, sampler.get());
  EXPECT_EQ(sampler_last_error(), message);
  EXPECT_EQ(sampler_create(nullptr, nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_sampler is NULL; it is required");
}

}  // namespace
}  // namespace capi_test::argument_rules_test
