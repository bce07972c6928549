// Every rule of the headers, broken one at a time in every operation that has it: the status, the
// whole error text, and that nothing was written. Then what the rules allow at their edges.
#include <cfloat>
#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <set>

#include "expect.h"

namespace capi_test {
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
Spec full_spec(const Operation &operation) {
  Spec spec;
  spec.operation = operation.number;
  spec.dtype = spec.draft_dtype = SAMPLER_F16;
  spec.candidates = operation.has("candidate_id_type");
  spec.row_indices = operation.has("row_indices");
  spec.num_input_rows = spec.row_indices ? 3 : 0;
  spec.per_row = true;
  spec.token_id_type = SAMPLER_ID_I64;
  return spec;
}

// Breaks rules of one operation and remembers which members it has been at.
class Rules {
 public:
  explicit Rules(const Operation &operation)
      : operation_(operation), spec_(full_spec(operation)), sampler_(roomy_sampler()) {}

  const Operation &operation() const { return operation_; }
  Spec &spec() { return spec_; }

  template <class T>
  void refuse(const std::string &member, T value, const std::string &message) {
    if (!operation_.has(member)) return;
    refuse_call(
        member, [&](Call *call) { call->args().set(member, value); }, message);
  }

  // `change` breaks the one rule; it is about `member`.
  template <class Change>
  void refuse_call(const std::string &member, const Change &change, const std::string &message) {
    if (!operation_.has(member)) return;
    SCOPED_TRACE(std::string(operation_.name) + ": " + message);
    seen_.insert(member);
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
  // sampler_workspace_size must say the same, with the required arrays and without.
  void expect_size_refused(Call *call, const std::string &message) {
    const bool is_of_addresses =
        are_of_addresses_ || message.find("it is required") != std::string::npos;
    for (const bool has_arrays : {true, false}) {
      for (const char *member : {"input", "target", "output", "out_token_ids"}) {
        if (!has_arrays) call->args().set_if_any<void *>(member, nullptr);
      }
      std::size_t bytes = 77;
      const sampler_status status =
          sampler_workspace_size(sampler_.get(), spec_.operation, call->args().data(), &bytes);
      if (is_of_addresses) {
        EXPECT_EQ(status, SAMPLER_OK) << sampler_last_error();
        continue;
      }
      EXPECT_EQ(status, SAMPLER_ERROR_INVALID_ARGUMENT) << "arrays: " << has_arrays;
      EXPECT_EQ(sampler_last_error(), message) << "arrays: " << has_arrays;
      EXPECT_EQ(bytes, 77u);
    }
  }

  const Operation &operation_;
  Spec spec_;
  Sampler sampler_;
  bool are_of_addresses_ = false;
  std::set<std::string> seen_;
};

void break_ranges(Rules *rules) {
  const auto too_low = [&](const char *member, std::int64_t least) {
    for (const std::int64_t value : {least - 1, std::int64_t(INT64_MIN)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be at least %" PRId64, member, value, least));
    }
  };
  const auto too_high = [&](const char *member, std::int64_t end) {
    for (const std::int64_t value : {end, std::int64_t(INT64_MAX)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be below %" PRId64, member, value, end));
    }
  };
  too_low("num_rows", 0);
  too_high("num_rows", std::int64_t(1) << 31);
  too_low("num_cols", 1);
  too_high("num_cols", 1 << 20);
  too_low("num_input_rows", 0);
  too_high("num_input_rows", std::int64_t(1) << 31);
  too_low("num_drafts", 0);
  too_high("num_drafts", 65536);
  too_low("num_selected", 1);
  too_high("num_selected", rules->spec().num_cols + 1);
}

void break_enumerations(Rules *rules) {
  const auto outside = [&](const char *member, std::int32_t count) {
    for (const std::int32_t value : {-1, count, INT32_MIN, INT32_MAX}) {
      rules->refuse(
          member, value,
          text("%s is %d; it must be one of its constants, 0 to %d", member, value, count - 1));
    }
  };
  for (const char *member : {"input_dtype", "target_dtype", "draft_dtype", "output_dtype"}) {
    outside(member, 3);
  }
  for (const char *member : {"input_kind", "target_kind", "draft_kind", "candidate_id_type",
                             "token_id_type", "top_k_ties", "top_p_ties", "temperature_order",
                             "draw_method", "logprob_kind", "accumulate_counts"}) {
    outside(member, 2);
  }
  outside("filter_order", 3);
  for (const std::int32_t value : {1, -1, INT32_MAX}) {
    rules->refuse("reserved", value, text("reserved is %d; it must be 0", value));
  }
  rules->refuse(
      "output_dtype", SAMPLER_BF16,
      text("output_dtype is 2; it must be SAMPLER_F32 or %s_dtype, 1", rules->spec().values()));
}

void break_strides(Rules *rules) {
  const auto outside = [&](const char *member, const char *least_name, std::int64_t least) {
    for (const std::int64_t value :
         {least - 1, std::int64_t(1), std::int64_t(-1), std::int64_t(INT64_MIN)}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; it must be 0 or at least %s, %" PRId64, member, value,
                         least_name, least));
    }
  };
  const auto too_large = [&](const char *member, const char *array, std::int64_t rows) {
    for (const std::int64_t value : {std::int64_t(INT64_MAX), std::int64_t(INT64_MAX) / 3}) {
      rules->refuse(
          member, value,
          text("%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space",
               array, rows, value));
    }
  };
  const Spec &spec = rules->spec();
  const std::int64_t cols = spec.num_cols;
  for (const char *member :
       {"row_stride", "output_stride", "target_position_stride", "draft_position_stride"}) {
    outside(member, "num_cols", cols);
  }
  if (spec.is_chain()) {
    outside("target_row_stride", "what a row's positions take", (spec.num_drafts + 1) * cols);
    outside("draft_row_stride", "what a row's positions take", spec.num_drafts * cols);
  } else {
    outside("target_row_stride", "num_cols", cols);
    outside("draft_row_stride", "num_cols", cols);
  }
  too_large("row_stride", "input", spec.input_rows());
  too_large("output_stride", "output", spec.num_rows);
  too_large("target_row_stride", "target", spec.num_rows);
  too_large("draft_row_stride", "draft", spec.num_rows);
  for (const char *member : {"target_position_stride", "draft_position_stride"}) {
    for (const std::int64_t value : {std::int64_t(INT64_MAX), std::int64_t(INT64_MAX) / 2}) {
      rules->refuse(member, value,
                    text("%s is %" PRId64 "; a row must fit the address space", member, value));
    }
  }
  // All positions of a row fit, but not a row after it.
  const auto too_large_together = [&](const std::string &array, std::int64_t num_positions) {
    const std::string member = array + "_position_stride";
    const std::int64_t value = INT64_MAX / num_positions + 1;
    rules->refuse_call(
        member,
        [&](Call *call) {
          call->args().set(member, value);
          call->args().set(array + "_row_stride", std::int64_t(0));
        },
        text("%s is %" PRId64 "; a row must fit the address space", member.c_str(), value));
  };
  too_large_together("target", spec.num_positions());
  too_large_together("draft", spec.num_draft_positions());
}

void break_parameters(Rules *rules) {
  const Spec spec = rules->spec();
  rules->spec().per_row = false;
  for (const std::uint32_t bits : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    for (const char *member : {"temperature", "top_p", "min_p"}) {
      rules->refuse(member, nan_of(bits), text("%s is NaN; it must be a number", member));
    }
  }
  rules->spec().kind = rules->spec().draft_kind = SAMPLER_PROBABILITIES;
  if (rules->operation().has("input_kind") || spec.is_chain()) {
    for (const float value : {0.7f, 2.0f, kInf, 1.00000012f, 1.1e-5f}) {
      rules->refuse("temperature", value,
                    text("temperature is %.9g; it must be 1, or at most 1e-5, with "
                         "SAMPLER_PROBABILITIES",
                         double(value)));
    }
  }
  if (spec.is_chain()) {
    const char *message =
        "a filter is set and neither target nor draft is logits; filters must be off for "
        "SAMPLER_PROBABILITIES";
    rules->refuse("top_k", std::int32_t(1), message);
    rules->refuse("top_p", 0.999f, message);
    rules->refuse("min_p", 0.001f, message);
    rules->spec().draft = false;  // no draft has no logits either
    rules->spec().draft_kind = SAMPLER_LOGITS;
    rules->refuse("top_k", std::int32_t(1), message);
  }
  rules->spec() = spec;
}

void break_seeds(Rules *rules) {
  for (const std::string name : {"seed", "offset"}) {
    const std::string array = name + "s", count = "num_" + name + "s";
    for (const std::int64_t value :
         {std::int64_t(0), std::int64_t(-1), std::int64_t(2), std::int64_t(3), std::int64_t(5),
          std::int64_t(INT64_MIN), std::int64_t(INT64_MAX)}) {
      rules->refuse(count, value,
                    text("%s is %" PRId64 "; it must be 1 or num_rows, 4", count.c_str(), value));
    }
    rules->refuse_call(
        array, [&](Call *call) { call->args().set<void *>(array, nullptr); },
        count + " is 4; it must be 0");
  }
}

void break_pointers(Rules *rules) {
  if (rules->spec().is_residual()) {
    rules->refuse("draft_token_ids", UINTPTR_MAX - 7,
                  "draft and draft_token_ids are set; one of them must be NULL");
    rules->refuse("draft", static_cast<void *>(nullptr), "draft_token_ids is NULL; it is required");
  }
  for (const char *member : {"input", "target", "out_token_ids", "output", "draft_token_ids"}) {
    if (!Call(rules->spec()).has_array(member)) continue;
    if (rules->operation().has("num_selected") && std::string(member) == "out_token_ids") {
      rules->refuse_call(
          member,
          [&](Call *call) {
            call->args().set<void *>("out_values", nullptr);
            call->args().set<void *>(member, nullptr);
          },
          "out_token_ids is NULL; it is required");
    } else {
      rules->refuse(member, static_cast<void *>(nullptr),
                    text("%s is NULL; it is required", member));
    }
  }
  rules->refuse("candidate_ids", static_cast<void *>(nullptr),
                "candidate_ids is NULL; candidate_counts needs it");
  rules->refuse("target_candidate_ids", static_cast<void *>(nullptr),
                "target_candidate_ids is NULL; target_candidate_counts needs it");
  rules->refuse("draft_candidate_ids", static_cast<void *>(nullptr),
                "draft_candidate_ids is NULL; draft_candidate_counts needs it");
  if (rules->spec().is_chain()) {
    rules->refuse("draft", static_cast<void *>(nullptr),
                  "draft is NULL; draft_candidate_ids needs it");
  }
  rules->refuse_call(
      "row_indices", [](Call *call) { call->args().set<void *>("row_indices", nullptr); },
      "num_input_rows is 3; without row_indices it must be 0 or num_rows, 4");
}

// The arrays of a call are misaligned, or reach over the end of the address space.
void break_addresses(Rules *rules) {
  const Spec &spec = rules->spec();
  Call example(spec);
  for (const auto &[member, layout] : rules->operation().members) {
    if (layout.type != MemberType::kPointer || !example.has_array(member)) continue;
    const std::size_t size = example.array(member).element_size;
    for (std::size_t shift = 1; shift < size; shift *= 2) {
      Call call(spec);
      unsigned char *pointer = call.buffer(member).data() + shift;
      rules->refuse(member, pointer,
                    text("%s is %p; it must be aligned to %zu bytes", member.c_str(),
                         static_cast<void *>(pointer), size));
    }
    std::int64_t rows = example.array(member).rows * example.array(member).cols, stride = 1;
    if (member == "input" || member == "candidate_ids" || member == "output") {
      rows = example.array(member).rows;
      stride = spec.num_cols;
    } else if (member == "target" || member == "target_candidate_ids") {
      rows = spec.num_rows;
      stride = spec.num_cols * spec.num_positions();
    } else if (member == "draft" || member == "draft_candidate_ids") {
      rows = spec.num_rows;
      stride = spec.num_cols * spec.num_draft_positions();
    }
    rules->refuse(
        member, UINTPTR_MAX - 7,
        text("%s has %" PRId64 " rows, %" PRId64 " elements apart; it must fit the address space",
             member.c_str(), rows, stride));
  }
}

void break_workspace(Rules *rules) {
  rules->refuse("workspace_bytes", std::size_t(5),
                "workspace is NULL and workspace_bytes 5; it must be 0 then");
  rules->refuse_call(
      "workspace",
      [](Call *call) {
        call->args().set("workspace", UINTPTR_MAX - 99);
        call->args().set("workspace_bytes", std::size_t(100));
      },
      "workspace_bytes is 100; the workspace must fit the address space");
  static unsigned char byte;
  rules->refuse_call(
      "workspace_bytes",
      [](Call *call) {
        call->args().set<void *>("workspace", &byte);
        call->args().set("workspace_bytes", SIZE_MAX);
      },
      "workspace_bytes is 18446744073709551615; the workspace must fit the address space");
}

// Members that take every value.
const std::set<std::string> kWithoutRules = {"stream", "top_k", "seed", "offset"};

class ArgumentRules : public testing::TestWithParam<int> {};

TEST_P(ArgumentRules, EachIsChecked) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  Rules rules(operation);
  break_ranges(&rules);
  break_enumerations(&rules);
  break_strides(&rules);
  break_parameters(&rules);
  break_seeds(&rules);
  break_pointers(&rules);
  rules.are_of_addresses();
  break_addresses(&rules);
  if (rules.spec().is_residual()) {  // either the drafter's rows or its tokens
    rules.spec().draft = false;
    break_addresses(&rules);
    rules.refuse("draft_token_ids", static_cast<void *>(nullptr),
                 "draft_token_ids is NULL; it is required");
    rules.spec().draft = true;
  }
  break_workspace(&rules);
  for (const auto &[member, layout] : operation.members) {
    if (member == "struct_size") continue;  // struct_size_test.cpp
    EXPECT_TRUE(rules.has_seen(member) || kWithoutRules.count(member) != 0)
        << operation.name << ": no rule of " << member << " is tested";
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
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Spec spec = full_spec(operation);
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
      const std::string message = sampler_last_error();
      const bool other_first = is_output.count(other) && message.rfind(other + " ", 0) == 0;
      EXPECT_EQ(
          message,
          (other_first ? other + " overlaps " + output : output + " overlaps " + other) + rule);
    }
  }
}

TEST_P(ArgumentRules, WorkspaceOverlapsNothing) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Spec spec = full_spec(operation);
  const Sampler sampler = roomy_sampler();
  Call example(spec);
  std::size_t bytes = 0;
  ASSERT_EQ(sampler_workspace_size(sampler.get(), operation.number, example.args().data(), &bytes),
            SAMPLER_OK);
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
    call.args().set("workspace_bytes", bytes);
    call.args().set("workspace", memory.data() + array_bytes);
    EXPECT_EQ(call.run(sampler.get()), SAMPLER_OK) << sampler_last_error();

    call.args().set("workspace", memory.data() + array_bytes - 1);
    expect_refused(&call, sampler.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                   (is_output.count(member) ? member + " overlaps workspace"
                                            : "workspace overlaps " + member) +
                       "; outputs must overlap neither inputs nor each other");
  }
}

TEST_P(ArgumentRules, PointersToNothing) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Sampler sampler = roomy_sampler();
  Call call(full_spec(operation));
  expect_refused(&call, nullptr, SAMPLER_ERROR_INVALID_ARGUMENT,
                 "sampler is NULL; it must come from sampler_create");
  EXPECT_EQ(operation.run(sampler.get(), nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "args is NULL; it must point to a struct");
}

// An output that is not wanted changes none of the others.
TEST_P(ArgumentRules, OptionalOutputsMayBeMissing) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Sampler sampler = roomy_sampler();
  Call call(full_spec(operation));
  expect_ok(&call, sampler.get());
  std::map<std::string, std::string> expected;
  for (const std::string &output : call.outputs()) expected[output] = call.buffer(output).bytes();
  for (const std::string &missing : call.outputs()) {
    const bool required = !operation.has("num_selected") && missing == "out_token_ids";
    if (required || missing == "output") continue;
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

// Values beyond a parameter's range mean the value at its end.
TEST_P(ArgumentRules, ExtremeParametersHaveTheirMeaning) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Sampler sampler = roomy_sampler();
  Spec spec;
  spec.operation = operation.number;
  spec.num_rows = 20;
  const auto with = [&](const char *member, auto value) {
    Call call(spec);
    call.args().set(member, value);
    return output_of(&call, sampler.get());
  };
  const auto expect_same = [&](const char *member, auto extreme, auto value) {
    if (!operation.has(member)) return;
    EXPECT_EQ(with(member, extreme), with(member, value)) << operation.name << " " << member;
  };
  for (const std::int32_t off : {INT32_MIN, -1, 37, INT32_MAX}) expect_same("top_k", off, 0);
  expect_same("top_p", kInf, 1.0f);
  expect_same("top_p", 1.5f, 1.0f);
  expect_same("top_p", -kInf, 0.0f);
  expect_same("top_p", -0.0f, 0.0f);
  expect_same("min_p", kInf, 1.0f);
  expect_same("min_p", 3.0f, 1.0f);
  expect_same("min_p", -kInf, 0.0f);
  for (const float hot : {kInf, FLT_MAX, 0x1.000002p64f}) expect_same("temperature", hot, 0x1p64f);
  for (const float cold : {-kInf, -1.0f, -0.0f, FLT_TRUE_MIN, 1e-5f}) {
    expect_same("temperature", cold, 0.0f);
  }
  // And the ends differ from each other, so that the comparisons above can fail.
  if (operation.has("top_k")) {
    EXPECT_NE(with("top_k", 1), with("top_k", 0));
  }
  if (operation.has("top_p")) {
    EXPECT_NE(with("top_p", 0.0f), with("top_p", 1.0f));
  }
  if (operation.has("min_p")) {
    EXPECT_NE(with("min_p", 1.0f), with("min_p", 0.0f));
  }
  if (operation.has("temperature")) {
    EXPECT_NE(with("temperature", 0.0f), with("temperature", 0x1p64f));
    EXPECT_NE(with("temperature", 0.0f), with("temperature", 1.1e-5f));
  }
}

// Beside an array the value for all rows is of no matter.
TEST_P(ArgumentRules, ValuesBesideArraysAreIgnored) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  const Sampler sampler = roomy_sampler();
  for (const sampler_input_kind kind : {SAMPLER_LOGITS, SAMPLER_PROBABILITIES}) {
    Spec spec = full_spec(operation);
    spec.kind = kind;
    Call call(spec);
    const std::string expected = output_of(&call, sampler.get());
    for (const float value : {0.3f, -kInf, nan_of(0x7FC00000u)}) {
      for (const char *name : {"temperature", "top_p", "min_p"}) {
        if (!call.has_array(std::string(name) + "s")) continue;
        call.args().set(name, value);
      }
      if (operation.has("seeds")) {
        call.args().set("seed", std::uint64_t(99));
        call.args().set("offset", std::uint64_t(99));
      }
      EXPECT_TRUE(same_bytes(output_of(&call, sampler.get()), expected));
    }
  }
}

// With no rows nothing is read or written: no array is needed.
TEST_P(ArgumentRules, NoRowsDoNothing) {
  const Operation &operation = operations()[std::size_t(GetParam())];
  sampler_options options = SAMPLER_OPTIONS_INIT;
  const Sampler without_workspace = make_sampler(options);
  Args args(operation);
  args.set("num_cols", std::int64_t(10));
  args.set_if_any("num_selected", std::int64_t(3));
  args.set_if_any("num_drafts", std::int64_t(2));
  EXPECT_EQ(operation.run(without_workspace.get(), args.data()), SAMPLER_OK)
      << sampler_last_error();

  Call call(full_spec(operation));
  call.args().set("num_rows", std::int64_t(0));
  call.args().set_if_any("num_seeds", std::int64_t(0));
  call.args().set_if_any("num_offsets", std::int64_t(0));
  call.reset_outputs();
  EXPECT_EQ(call.run(without_workspace.get()), SAMPLER_OK) << sampler_last_error();
  EXPECT_TRUE(call.outputs_are_untouched());
  // The other rules still hold.
  call.args().set("num_cols", std::int64_t(0));
  expect_refused(&call, without_workspace.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                 "num_cols is 0; it must be at least 1");
}

INSTANTIATE_TEST_SUITE_P(Of, ArgumentRules, testing::Range(0, SAMPLER_OP_RESIDUAL + 1),
                         operation_name);

TEST(FallbackToken, LiesInTheVocabularyOfEachCall) {
  sampler_options options = roomy_options();
  options.use_fallback_token = 1;
  options.fallback_token_id = 36;
  const Sampler last = make_sampler(options);
  options.fallback_token_id = 37;
  const Sampler behind = make_sampler(options);
  for (const Operation &operation : operations()) {
    if (!operation.has("seed") && operation.number != SAMPLER_OP_ARGMAX) continue;
    SCOPED_TRACE(operation.name);
    Spec spec;
    spec.operation = operation.number;
    Call rows(spec);
    expect_ok(&rows, last.get());
    expect_refused(&rows, behind.get(), SAMPLER_ERROR_INVALID_ARGUMENT,
                   "the sampler's fallback_token_id is 37; it must be below num_cols, 37");
    spec.candidates = true;
    Call lists(spec);
    expect_ok(&lists, behind.get());
  }
}

TEST(LastError, StaysUntilTheNextFailure) {
  const Sampler sampler = roomy_sampler();
  Call call(Spec{});
  Call broken(Spec{});
  broken.args().set("num_cols", std::int64_t(-7));
  EXPECT_EQ(broken.run(sampler.get()), SAMPLER_ERROR_INVALID_ARGUMENT);
  const std::string message = "num_cols is -7; it must be at least 1";
  EXPECT_EQ(sampler_last_error(), message);
  expect_ok(&call, sampler.get());
  EXPECT_EQ(sampler_last_error(), message);
  EXPECT_EQ(sampler_create(nullptr, nullptr), SAMPLER_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(sampler_last_error(), "out_sampler is NULL; it is required");
}

}  // namespace
}  // namespace capi_test
