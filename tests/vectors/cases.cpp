#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "call.h"
#include "rows.h"

namespace vectors_test {
namespace {

using capi_test::Call;
using capi_test::Op;
using capi_test::Operation;
using capi_test::Spec;
using oracle_test::Random;
using oracle_test::RowKind;
using Edit = std::function<void(Call *)>;
using Kinds = std::vector<RowKind>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint64_t kNanBits = 0x7FC00000;
constexpr std::int64_t kVocabularyLimit = 1 << 20;

const Kinds kLikely = {RowKind::kLanguage, RowKind::kNormal, RowKind::kPeaked, RowKind::kCoarse};
const Kinds kTied = {RowKind::kCoarse, RowKind::kEqual, RowKind::kTwoValues};
const Kinds kHard = {RowKind::kFlat,      RowKind::kMasked, RowKind::kOneFinite,
                     RowKind::kHeavyTail, RowKind::kWide,   RowKind::kSignedZero,
                     RowKind::kCloseTies, RowKind::kHuge,   RowKind::kSubnormal};

const char *const kDtypeNames[] = {"f32", "f16", "bf16"};
const char *const kKindNames[] = {"logits", "probabilities"};
const char *const kIdNames[] = {"i32", "i64"};

// To 20 significant bits, so that a row is the same whatever its machine's std::log and std::exp
// make of the last bits.
float rounded(float x) {
  if (!std::isfinite(x)) return x;
  int exponent;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 20)), exponent - 20);
}

std::vector<float> make_row(RowKind row_kind, sampler_input_kind kind, std::size_t num_cols,
                            sampler_dtype dtype, Random *random) {
  std::vector<float> row = make_logits(row_kind, num_cols, dtype, random);
  if (kind == SAMPLER_PROBABILITIES && row_kind == RowKind::kSubnormal) {
    for (float &value : row) value = std::fabs(value);
  } else if (kind == SAMPLER_PROBABILITIES) {
    row = oracle_test::make_probabilities(row, 1.0);
  }
  for (float &value : row) value = rounded(value);
  return oracle_test::to_type(row, dtype).values;
}

// ---- Contents of a Call

void set_row(Call *call, const std::string &member, std::int64_t row,
             const std::vector<float> &values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    call->set_value(member, row, std::int64_t(i), values[i]);
  }
}

void fill_rows(Call *call, const std::string &member, sampler_input_kind kind, const Kinds &kinds,
               Random *random) {
  const Call::Array &array = call->array(member);
  for (std::int64_t row = 0; row < array.rows; ++row) {
    const RowKind row_kind = kinds[std::size_t(row) % kinds.size()];
    set_row(call, member, row,
            make_row(row_kind, kind, std::size_t(array.cols), array.dtype, random));
  }
}

std::int64_t argmax(const Call &call, const std::string &member, std::int64_t row) {
  std::int64_t best = 0;
  for (std::int64_t col = 1; col < call.spec().num_cols; ++col) {
    if (call.value(member, row, col) > call.value(member, row, best)) best = col;
  }
  return best;
}

// Half of the drafter's rows are the target's: it is a good drafter.
void copy_targets(Call *call) {
  const Spec &spec = call->spec();
  const std::int64_t num_drafts = spec.num_draft_positions();
  for (std::int64_t draft = 0; draft < spec.num_rows * num_drafts; draft += 2) {
    const std::int64_t position = draft / num_drafts * spec.num_positions() + draft % num_drafts;
    std::vector<float> row;
    for (std::int64_t col = 0; col < spec.num_cols; ++col) {
      row.push_back(call->value("target.values", position, col));
    }
    set_row(call, "draft.values", draft, oracle_test::to_type(row, spec.draft_dtype).values);
  }
}

// Each draft is in turn the target's likeliest token, the drafter's, and any.
void fill_drafts(Call *call, Random *random) {
  const Spec &spec = call->spec();
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    for (std::int64_t i = 0; i < spec.num_draft_positions(); ++i) {
      const std::int64_t position = row * spec.num_positions() + i;
      std::int64_t col = std::int64_t(random->below(std::size_t(spec.num_cols)));
      if ((row + i) % 3 == 0) col = argmax(*call, "target.values", position);
      if ((row + i) % 3 == 1 && spec.draft) {
        col = argmax(*call, "draft.values", row * spec.num_drafts + i);
      }
      const bool lists = call->has_array("target.candidate_ids");
      call->set_id("draft_token_ids", row, i,
                   lists ? call->id("target.candidate_ids", position, col) : col);
    }
  }
}

void fill(Call *call, const Kinds &kinds, Random *random) {
  const Spec &spec = call->spec();
  fill_rows(call, spec.values(), spec.kind, kinds, random);
  if (!spec.has_two_models()) return;
  if (spec.draft) fill_rows(call, "draft.values", spec.draft_kind, kinds, random);
  if (spec.draft && spec.draft_kind == spec.kind) copy_targets(call);
  if (call->has_array("draft_token_ids")) fill_drafts(call, random);
}

// Makes what follows the ends of rows NaN, which nothing may read.
void spoil_ends(Call *call) {
  for (const std::string view : {"input", "target", "draft"}) {
    const std::string values = view + ".values";
    if (!call->has_array(values)) continue;
    for (std::int64_t row = 0; row < call->array(values).rows; ++row) {
      for (std::int64_t col = call->count(view, row); col < call->spec().num_cols; ++col) {
        call->set_value(values, row, col, kNan);
      }
    }
  }
}

void leave_out(Call *call, const std::string &member) {
  call->args().set_if_any<void *>(member, nullptr);
}

// ---- From a Call to a Case

ElementType element_type(const Call::Array &array, const capi_test::Member &member) {
  static const std::vector<std::string> kValues = {"input.values", "target.values",
                                                   "draft.values", "output",
                                                   "out_values",   "reports.out_values"};
  if (member.number != capi_test::Number::kOther) return type_of(member);
  if (std::find(kValues.begin(), kValues.end(), array.member) != kValues.end()) {
    return ElementType(array.dtype);
  }
  return array.element_size == 8 ? ElementType::kI64 : ElementType::kI32;
}

// The name of an output of a call, or of its reports.
std::string name_of_output(const std::string &member) {
  return member.compare(0, 8, "reports.") == 0 ? member.substr(8) : member;
}

// Whether a case has the member: not what each replay has of its own.
// The cases have no stages besides the filters.
bool is_of_stages(const std::string &member) {
  return member.compare(0, 8, "pipeline") == 0 || member == "params.stages";
}

bool is_recorded(const std::string &member) {
  const auto ends_with = [&](const std::string &end) {
    return member.size() >= end.size() &&
           member.compare(member.size() - end.size(), end.size(), end) == 0;
  };
  return member.compare(0, 5, "exec.") != 0 && !ends_with("struct_size") && !is_of_stages(member);
}

std::uint64_t bits(const capi_test::Args &args, const std::string &member, std::size_t size) {
  return size == sizeof(std::uint64_t) ? args.get<std::uint64_t>(member)
                                       : args.get<std::uint32_t>(member);
}

Case to_case(const std::string &name, const Call &call) {
  const capi_test::Args defaults(call.spec().op());
  Case result;
  result.operation = &call.spec().op();
  result.name = name;
  for (const auto &[member, description] : result.operation->members) {
    if (description.is_pointer || !is_recorded(member)) continue;
    const std::uint64_t value = bits(call.args(), member, description.size);
    if (value != bits(defaults, member, description.size)) result.args[member] = value;
  }
  for (const auto &[member, description] : result.operation->members) {
    if (!description.is_pointer || !call.has_array(member)) continue;
    if (call.args().get<void *>(member) == nullptr) continue;
    const Call::Array &array = call.array(member);
    Arrays &arrays = array.direction == Call::Direction::kIn ? result.inputs : result.outputs;
    arrays[member] = {element_type(array, description), array.buffer.bytes()};
  }
  return result;
}

// Whether `recorded` shows all that `made` does: the same call with at least its outputs, or
// another that is refused with the same text.
bool covers(const Case &recorded, const Case &made) {
  if (made.status != SAMPLER_OK) return recorded.error == made.error;
  return recorded.status == SAMPLER_OK && recorded.args == made.args &&
         recorded.inputs == made.inputs && recorded.use_fallback_token == made.use_fallback_token &&
         std::all_of(made.outputs.begin(), made.outputs.end(),
                     [&](const auto &output) { return recorded.outputs.count(output.first) != 0; });
}

// ---- What is recorded

// A use of a full call, whose name the cases begin with: an operation of the field, or the call
// itself with all that it offers.
struct Use {
  const char *name;
  Op call;
  bool has_both_kinds;                  // of rows; else only logits, of a residual probabilities
  std::vector<std::string> parameters;  // that differ from their defaults, by slot too
  bool draws;                           // and so has seeds, a way of drawing, row_indices
  std::vector<std::string> outputs;     // that may be left out
  float temperature = 1.0f;             // where it is no parameter
  sampler_output_kind output_kind = SAMPLER_OUTPUT_PROBABILITIES;
};

const std::vector<std::string> kAllParameters = {"temperature", "top_k", "top_p", "min_p"};
const std::vector<std::string> kStatus = {"out_row_status"};
const std::vector<std::string> kCounts = {"out_kept_counts", "out_row_status"};
const std::vector<std::string> kLists = {"out_values", "out_counts", "out_row_status"};
const std::vector<std::string> kDraftCounts = {"out_accepted_counts", "out_emitted_counts",
                                               "out_row_status"};

const std::vector<Use> &operations_of_the_field() {
  static const std::vector<std::string> kLogprobs = {"out_kept_counts", "out_logprobs",
                                                     "out_row_status"};
  static const std::vector<std::string> kArgmax = {"out_values", "out_row_status"};
  static const std::vector<Use> uses = {
      {"sample", Op::kSample, true, kAllParameters, true, kLogprobs},
      {"top_k", Op::kSample, true, {"temperature", "top_k"}, true, kCounts},
      {"top_p", Op::kSample, true, {"temperature", "top_p"}, true, kCounts},
      {"min_p", Op::kSample, true, {"temperature", "min_p"}, true, kCounts},
      {"top_k_top_p", Op::kSample, true, {"temperature", "top_k", "top_p"}, true, kCounts},
      {"argmax", Op::kSample, true, {}, false, kArgmax, 0.0f},
      {"softmax", Op::kFilter, false, {"temperature"}, false, kStatus},
      {"top_k_renorm", Op::kFilter, true, {"temperature", "top_k"}, false, kCounts},
      {"top_p_renorm", Op::kFilter, true, {"temperature", "top_p"}, false, kCounts},
      {"top_k_mask", Op::kFilter, false, {"top_k"}, false, kCounts, 1.0f, SAMPLER_OUTPUT_VALUES},
      {"top_k_select", Op::kSelect, true, {}, false, kLists},
      {"chain_speculative", Op::kVerify, true, kAllParameters, true, kDraftCounts},
      {"residual", Op::kResidual, false, {}, false, kStatus},
  };
  return uses;
}

const std::vector<Use> &whole_calls() {
  static const std::vector<std::string> kAllOfSample = {"out_kept_counts", "out_logprobs",
                                                        "out_values", "out_row_status"};
  static const std::vector<Use> uses = {
      {"sample", Op::kSample, true, kAllParameters, true, kAllOfSample},
      {"filter", Op::kFilter, true, kAllParameters, false, kCounts},
      {"select", Op::kSelect, true, {}, false, kLists},
      {"verify", Op::kVerify, true, kAllParameters, true, kDraftCounts},
      {"residual", Op::kResidual, false, {}, false, kStatus},
  };
  return uses;
}

bool contains(const std::vector<std::string> &all, const std::string &one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// The cases of one use.
class Cases {
 public:
  // Verification has several rows of input for each of output, so its rows are narrower.
  Cases(const Use &use, std::int64_t num_cols, std::int64_t num_cols_of_verify)
      : use_(use),
        operation_(capi_test::operation(use.call)),
        num_cols_(use.call == Op::kVerify ? num_cols_of_verify : num_cols),
        random_(kSeed) {}

  // Rows of all kinds and types, each option, what rows and arguments can have wrong.
  std::vector<Case> of_operation();

  // Slots, streams, rows of different lengths, and what they can have wrong.
  std::vector<Case> of_whole_call();

 private:
  static constexpr std::uint64_t kSeed = 20;

  bool has(const std::string &member) const;
  bool has_parameter(const std::string &name) const { return contains(use_.parameters, name); }
  bool is_verify() const { return use_.call == Op::kVerify; }
  bool is_residual() const { return use_.call == Op::kResidual; }
  bool has_candidates() const { return !is_residual(); }
  bool has_slots() const { return operation_.has("slots"); }
  std::vector<sampler_input_kind> kinds() const;
  // The rows, and the member of their values.
  std::string view() const { return spec().view(); }
  std::string rows() const { return spec().values(); }

  Spec spec(std::int64_t num_rows = 3) const;
  void use_defaults(Call *call) const;
  void restrict_to_use(Call *call) const;
  Case prepared(const std::string &name, const Spec &spec, const Kinds &kinds, const Edit &edit);
  void add(const std::string &name, const Spec &spec, const Kinds &kinds, const Edit &edit = {});
  void add_finished(Case made);
  void add_enumeration(const std::string &member, sampler_input_kind kind, int count);
  void add_failure(const std::string &name, const std::function<void(Case *)> &edit);

  void add_types_and_kinds();
  void add_widths();
  void add_scalars();
  void add_seeds();
  void add_sums();
  void add_enumerations();
  void add_candidates();
  void add_row_indices();
  void add_strides();
  void add_optional_outputs();
  void add_bad_rows();
  void add_bad_candidates();
  void add_verifications();
  void add_residuals();
  void add_failures();

  void add_slots();
  void add_streams();
  void add_lengths();
  void add_infinities();
  void add_failures_of_calls();

  const Use &use_;
  const Operation &operation_;
  const std::int64_t num_cols_;
  Random random_;
  std::vector<Case> cases_;
};

bool Cases::has(const std::string &member) const {
  static const std::map<std::string, std::vector<std::string>> kParametersOf = {
      {"params.top_k_ties", {"top_k"}},
      {"params.top_p_ties", {"top_p"}},
      {"params.top_p_sum", {"top_p"}},
      {"params.filter_order", {"top_k", "top_p"}}};
  if (!operation_.has(member)) return false;
  for (const std::string &name : kAllParameters) {
    if (member == "params." + name || member == "row_params." + name) return has_parameter(name);
  }
  if (const auto found = kParametersOf.find(member); found != kParametersOf.end()) {
    return std::all_of(found->second.begin(), found->second.end(),
                       [&](const std::string &name) { return has_parameter(name); });
  }
  if (member == "params.temperature_order") {
    return has_parameter("temperature") && (has_parameter("top_p") || has_parameter("min_p"));
  }
  if (member == "draw_method" || member == "row_indices" || member.compare(0, 7, "random.") == 0) {
    return use_.draws;
  }
  if (name_of_output(member) == "logprob_kind") return contains(use_.outputs, "out_logprobs");
  return true;
}

std::vector<sampler_input_kind> Cases::kinds() const {
  if (is_residual()) return {SAMPLER_PROBABILITIES};
  if (!use_.has_both_kinds) return {SAMPLER_LOGITS};
  return {SAMPLER_LOGITS, SAMPLER_PROBABILITIES};
}

Spec Cases::spec(std::int64_t num_rows) const {
  Spec spec;
  spec.operation = use_.call;
  spec.output_kind = use_.output_kind;
  spec.num_rows = num_rows;
  spec.num_cols = num_cols_;
  spec.num_drafts = 2;
  spec.contents = 100 + cases_.size();
  return spec;
}

// The scalars that say how to sample.
void Cases::use_defaults(Call *call) const {
  const capi_test::Args defaults(operation_);
  capi_test::Args &args = call->args();
  for (const std::string &name : kAllParameters) {
    const std::string member = "params." + name;
    if (has(member)) args.set(member, defaults.get<std::uint32_t>(member));
  }
  args.set_if_any<std::int32_t>("logprob_kind", 0);
  for (const char *member : {"random.seed", "random.offset"}) {
    args.set_if_any<std::uint64_t>(member, 0);
  }
}

// Leaves out what the use has not.
void Cases::restrict_to_use(Call *call) const {
  const capi_test::Args defaults(operation_);
  capi_test::Args &args = call->args();
  for (const auto &[member, description] : operation_.members) {
    const std::string output = name_of_output(member);
    const bool is_left_out = output.compare(0, 4, "out_") == 0 && !contains(use_.outputs, output) &&
                             output != "out_token_ids";
    if ((has(member) && !is_left_out) || is_of_stages(member)) continue;
    if (description.size == sizeof(std::uint64_t)) {
      args.set(member, defaults.get<std::uint64_t>(member));
    } else {
      args.set(member, defaults.get<std::uint32_t>(member));
    }
  }
  args.set_if_any("output_kind", use_.output_kind);
  if (operation_.has("params.temperature") && !has("params.temperature")) {
    args.set("params.temperature", use_.temperature);
  }
}

Case Cases::prepared(const std::string &name, const Spec &spec, const Kinds &kinds,
                     const Edit &edit) {
  Call call(spec);
  restrict_to_use(&call);
  fill(&call, kinds, &random_);
  if (edit) edit(&call);
  return to_case(use_.name + (": " + name), call);
}

void Cases::add_finished(Case made) {
  made = replayed(made, WorkspaceOf::kHandle);
  if (made.status != SAMPLER_OK) {
    std::fprintf(stderr, "%s: %s: %s\n", operation_.name, made.name.c_str(), made.error.c_str());
    std::abort();
  }
  cases_.push_back(std::move(made));
}

void Cases::add(const std::string &name, const Spec &spec, const Kinds &kinds, const Edit &edit) {
  add_finished(prepared(name, spec, kinds, edit));
}

void Cases::add_types_and_kinds() {
  for (const sampler_input_kind kind : kinds()) {
    for (int dtype = 0; dtype < 3; ++dtype) {
      Spec rows = spec(is_verify() ? 3 : 9);
      rows.dtype = sampler_dtype(dtype);
      rows.kind = rows.draft_kind = kind;
      rows.draft_dtype = sampler_dtype((dtype + kind) % 3);
      rows.output_dtype = sampler_dtype(has("output_dtype") && kind == kinds()[0] ? dtype : 0);
      rows.per_slot = true;
      const std::string name = std::string(kDtypeNames[dtype]) + " " + kKindNames[kind];
      add(name + ", hard rows, parameters per row", rows, kHard);
      rows.num_rows = is_verify() ? 3 : 4;
      add(name + ", likely rows, parameters per row", rows, kLikely);
    }
  }
}

void Cases::add_widths() {
  Spec one = spec();
  one.num_cols = one.num_selected = 1;
  add("one column", one, {RowKind::kNormal});
  Spec none = spec(0);
  add("no rows", none, kLikely);
  Spec wide = spec(is_verify() ? 1 : 2);
  wide.num_drafts = 1;
  wide.num_cols = kMaxCols;
  wide.dtype = wide.draft_dtype = SAMPLER_F16;
  wide.output_dtype = has("output_dtype") ? SAMPLER_F16 : SAMPLER_F32;
  add("1,500 columns of f16", wide, {RowKind::kLanguage});
  Spec tail = spec(1);
  tail.num_drafts = 1;
  tail.num_cols = 1000;
  tail.dtype = tail.draft_dtype = SAMPLER_BF16;
  tail.per_slot = true;
  add("1,000 columns of bf16 with a heavy tail", tail, {RowKind::kHeavyTail});
}

void Cases::add_scalars() {
  const Edit defaults = [&](Call *call) { use_defaults(call); };
  add("defaults", spec(), kLikely, defaults);
  if (kinds().size() == 2) {
    Spec given = spec();
    given.kind = given.draft_kind = SAMPLER_PROBABILITIES;
    add("defaults, probabilities", given, kLikely, defaults);
  }
  add("scalar parameters", spec(), kLikely);
  const auto add_alone = [&](const std::string &parameter, float value, const char *text) {
    if (!has_parameter(parameter)) return;
    add(parameter + " " + text, spec(), kLikely, [&](Call *call) {
      use_defaults(call);
      call->args().set("params." + parameter, value);
    });
  };
  if (has_parameter("temperature")) {
    add("greedy", spec(), kTied, [](Call *call) { call->args().set("params.temperature", 0.0f); });
  }
  add_alone("temperature", 1.75f, "1.75");
  add_alone("top_p", 0.3f, "0.3");
  add_alone("min_p", 0.3f, "0.3");
  if (!has_parameter("top_k")) return;
  add("top_k 4", spec(), kTied, [&](Call *call) {
    use_defaults(call);
    call->args().set<std::int32_t>("params.top_k", 4);
  });
}

void Cases::add_seeds() {
  if (!use_.draws) return;
  Spec rows = spec();
  rows.per_slot = true;
  Case one_seed = prepared("one seed in an array, offsets per row", rows, kLikely, {});
  one_seed.args["random.num_seeds"] = 1;
  one_seed.inputs.at("random.seeds").bytes.resize(sizeof(std::uint64_t));
  add_finished(one_seed);
  add("seeds per row, one offset", rows, kLikely, [](Call *call) {
    leave_out(call, "random.offsets");
    call->args().set<std::int64_t>("random.num_offsets", 0);
    call->args().set<std::uint64_t>("random.offset", UINT64_MAX);
  });
  add("seed 2^64 - 1", spec(), kLikely,
      [](Call *call) { call->args().set<std::uint64_t>("random.seed", UINT64_MAX); });
}

// The other values of an enumeration, a member of the arguments or of the parameters.
void Cases::add_enumeration(const std::string &name, sampler_input_kind kind, int count) {
  const std::string member = operation_.has(name) ? name : "params." + name;
  if (!has(member)) return;
  for (std::int32_t value = 1; value < count; ++value) {
    Spec rows = spec();
    rows.kind = rows.draft_kind = kind;
    add(name + " " + std::to_string(value) + ", " + kKindNames[kind], rows, kTied, [&](Call *call) {
      call->args().set_if_any<std::int32_t>("logprob_kind", SAMPLER_LOGPROB_RAW);
      call->args().set(member, value);
      if (kind != SAMPLER_LOGITS) return;
      if (has_parameter("top_k")) call->args().set<std::int32_t>("params.top_k", 7);
      if (has_parameter("top_p")) call->args().set("params.top_p", 0.6f);
      if (has_parameter("min_p")) call->args().set("params.min_p", 0.2f);
      if (has_parameter("temperature")) call->args().set("params.temperature", 1.5f);
    });
  }
}

// Rows of an even number of equal tokens, of which top-p 0.5 may keep one more than half.
void Cases::add_sums() {
  if (!has("params.top_p_sum")) return;
  add("top_p_sum 1, logits", spec(), {RowKind::kEqual}, [&](Call *call) {
    call->args().set<std::int32_t>("params.top_p_sum", SAMPLER_SUM_EXCEEDS);
    call->args().set("params.top_p", 0.5f);
    if (has_parameter("top_k")) call->args().set<std::int32_t>("params.top_k", 6);
    if (has_parameter("min_p")) call->args().set("params.min_p", 0.0f);
  });
}

void Cases::add_enumerations() {
  add_enumeration("top_k_ties", SAMPLER_LOGITS, 2);
  add_enumeration("top_p_ties", SAMPLER_LOGITS, 2);
  add_sums();
  add_enumeration("filter_order", SAMPLER_LOGITS, 3);
  add_enumeration("temperature_order", SAMPLER_LOGITS, 2);
  add_enumeration("draw_method", SAMPLER_LOGITS, 3);
  add_enumeration("draw_method", SAMPLER_PROBABILITIES, 3);
  add_enumeration("logprob_kind", SAMPLER_LOGITS, 2);
  add_enumeration("logprob_kind", SAMPLER_PROBABILITIES, 2);
  if (!has("token_id_type")) return;
  Spec rows = spec();
  rows.token_id_type = SAMPLER_ID_I64;
  rows.draft = !is_residual();
  add("token ids of type i64", rows, kLikely);
}

void Cases::add_candidates() {
  if (!has_candidates()) return;
  for (int type = 0; type < 2; ++type) {
    Spec lists = spec();
    lists.candidates = lists.per_slot = true;
    lists.candidate_id_type = sampler_id_type(type);
    lists.token_id_type = sampler_id_type(1 - type);
    add(std::string("candidate lists, ids of type ") + kIdNames[type], lists, kTied);
  }
  Spec full = spec();
  full.candidates = true;
  add("candidate lists without counts, with the largest id", full, kLikely, [&](Call *call) {
    leave_out(call, view() + ".candidate_counts");
    leave_out(call, "draft.candidate_counts");
    call->set_id(view() + ".candidate_ids", 0, argmax(*call, rows(), 0), kVocabularyLimit - 1);
  });
  if (kinds().size() != 2) return;
  full.kind = full.draft_kind = SAMPLER_PROBABILITIES;
  add("candidate lists of probabilities", full, kLikely);
}

void Cases::add_row_indices() {
  if (!has("row_indices")) return;
  Spec shared = spec(7);
  shared.row_indices = true;
  shared.num_input_rows = 3;
  add("outputs share rows", shared, kLikely);
  shared.per_slot = true;
  add("outputs share rows, parameters per row", shared, kTied);
  shared.candidates = true;
  add("outputs share candidate lists", shared, kTied);
  shared.candidates = false;
  shared.num_input_rows = 0;
  add("row_indices into as many rows", shared, kLikely);
}

void Cases::add_strides() {
  Spec apart = spec();
  apart.padding = 3;
  apart.dtype = apart.draft_dtype = SAMPLER_F16;
  add("rows lie apart", apart, kLikely);
  if (!has_candidates()) return;
  apart.candidates = true;
  apart.dtype = SAMPLER_F32;
  add("candidate lists lie apart", apart, kLikely);
}

void Cases::add_optional_outputs() {
  add("what is required alone", spec(), kLikely, [&](Call *call) {
    for (const std::string &member : use_.outputs) leave_out(call, member);
  });
  for (const std::string &wanted : use_.outputs) {
    add("no optional output but " + wanted, spec(), kLikely, [&](Call *call) {
      for (const std::string &member : use_.outputs) {
        if (member != wanted) leave_out(call, member);
      }
      const bool is_enough = use_.call == Op::kSelect && wanted == "out_values";
      if (is_enough) leave_out(call, "out_token_ids");
    });
  }
}

void Cases::add_bad_rows() {
  constexpr std::int64_t kNumRows = 9;
  for (const sampler_input_kind kind : kinds()) {
    const bool are_logits = kind == SAMPLER_LOGITS;
    Spec spoiled = spec(kNumRows);
    spoiled.kind = spoiled.draft_kind = kind;
    spoiled.per_slot = true;
    // Rows 0, 6 and 7 are good, 8 where there are no drafts, and 3 where rows are selected from
    // logits.
    const Edit spoil = [&](Call *call) {
      const auto row = [&](std::int64_t i) { return i * spoiled.num_positions(); };
      call->set_value(rows(), row(1), 5, kNan);
      call->set_row(rows(), row(2), are_logits ? -kInf : 0.0f);
      call->set_value(rows(), row(3), 10, are_logits ? kInf : -0.25f);
      if (is_verify()) {  // so that the bad element is looked at
        call->set_id("draft_token_ids", 1, 0, 5);
        call->set_id("draft_token_ids", 3, 0, 10);
        call->set_id("draft_token_ids", 8, 0, 3);
      }
      if (spoiled.has_two_models()) {
        call->set_value("draft.values", 8 * spoiled.num_draft_positions(), 3, kNan);
      }
      if (call->has_array("row_params.temperature")) {
        call->at<float>("row_params.temperature", 4) = are_logits ? kNan : 0.5f;
      }
      for (const char *member : {"row_params.top_p", "row_params.min_p"}) {
        if (call->has_array(member)) call->at<float>(member, 5) = kNan;
      }
    };
    const std::string name = std::string("bad rows of ") + kKindNames[kind];
    add(name, spoiled, kLikely, spoil);
    Case with_fallback = prepared(name + ", with a fallback token", spoiled, kLikely, spoil);
    with_fallback.fallback_token_id = 7;
    with_fallback.use_fallback_token = true;
    add_finished(with_fallback);
  }
  if (!has("row_indices")) return;
  Spec shared = spec(5);
  shared.row_indices = true;
  shared.num_input_rows = 2;
  add("rows that row_indices does not name", shared, kLikely, [](Call *call) {
    call->at<std::int32_t>("row_indices", 1) = -1;
    call->at<std::int32_t>("row_indices", 3) = 2;
  });
}

void Cases::add_bad_candidates() {
  if (!has_candidates()) return;
  const std::string ids = view() + ".candidate_ids", counts = view() + ".candidate_counts";
  Spec lists = spec(8);
  lists.candidates = true;
  // Row 0 is good, and 7 where there are no drafts.
  add("bad candidate lists", lists, kLikely, [&](Call *call) {
    const auto row = [&](std::int64_t i) { return i * lists.num_positions(); };
    call->set_id(ids, row(1), 0, -1);
    call->set_id(ids, row(2), 1, kVocabularyLimit);
    call->set_id(ids, row(3), 2, call->id(ids, row(3), 3));
    call->at<std::int32_t>(counts, row(4)) = std::int32_t(lists.num_cols + 1);
    call->at<std::int32_t>(counts, row(5)) = 0;
    call->at<std::int32_t>(counts, row(6)) = -1;
    if (is_verify()) call->set_id("draft.candidate_ids", 7 * lists.num_drafts, 0, -1);
  });
}

void Cases::add_verifications() {
  if (!is_verify()) return;
  for (int kind = 0; kind < 2; ++kind) {
    const std::string of = std::string(" of ") + kKindNames[kind];
    Spec chain = spec(4);
    chain.kind = chain.draft_kind = sampler_input_kind(kind);
    for (int dtype = 1; dtype < 3; ++dtype) {
      chain.draft_dtype = sampler_dtype(dtype);
      add("target f32, draft " + std::string(kDtypeNames[dtype]) + of, chain, kLikely);
    }
    chain.draft = false;
    add("deterministic drafts, targets" + of, chain, kLikely);
    chain.draft = true;
    chain.num_drafts = 0;
    add("no drafts, targets" + of, chain, kLikely);
    chain.num_drafts = 3;
    chain.draft_kind = sampler_input_kind(1 - kind);
    add("targets" + of + ", drafts of " + kKindNames[1 - kind], chain, kLikely);
  }
  Spec chain = spec(6);
  add("bad draft ids and counts", chain, kLikely, [&](Call *call) {
    call->set_id("draft_token_ids", 1, 0, -1);
    call->set_id("draft_token_ids", 2, 1, chain.num_cols);
    call->at<std::int32_t>("draft_counts", 3) = -1;
    call->at<std::int32_t>("draft_counts", 4) = std::int32_t(chain.num_drafts + 1);
    call->at<std::int32_t>("draft_counts", 5) = 0;
  });
  add("no draft_counts", chain, kLikely, [](Call *call) { leave_out(call, "draft_counts"); });

  Case added = prepared("accumulate_counts", spec(), kLikely, {});
  added.args["accumulate_counts"] = 1;
  const std::int32_t before[] = {100, 0, -7};
  for (const char *member : {"out_accepted_counts", "out_emitted_counts"}) {
    added.inputs[member] = {ElementType::kI32,
                            {reinterpret_cast<const char *>(before), sizeof before}};
  }
  add_finished(added);

  Spec apart = spec();
  apart.sequence_padding = 5;
  add("sequences lie apart", apart, kLikely);
}

void Cases::add_residuals() {
  if (!is_residual()) return;
  Spec residual = spec(4);
  residual.draft = false;
  for (int dtype = 0; dtype < 3; ++dtype) {
    residual.dtype = residual.output_dtype = sampler_dtype(dtype);
    add(std::string("deterministic drafts, targets of type ") + kDtypeNames[dtype], residual,
        kLikely);
  }
  residual.dtype = residual.output_dtype = SAMPLER_F32;
  add("draft ids outside the vocabulary", residual, kLikely, [&](Call *call) {
    call->set_id("draft_token_ids", 1, 0, -1);
    call->set_id("draft_token_ids", 2, 0, residual.num_cols);
  });
  add("nothing is left", residual, {RowKind::kOneFinite});
  residual.draft = true;
  add("the drafter's rows are 0", residual, kLikely, [&](Call *call) {
    for (std::int64_t row = 0; row < residual.num_rows; ++row) {
      call->set_row("draft.values", row, 0.0f);
    }
  });
}

void Cases::add_failure(const std::string &name, const std::function<void(Case *)> &edit) {
  Spec rows = spec(1);
  rows.num_drafts = 1;
  rows.num_cols = rows.num_selected = 2;
  Case made = prepared("refused: " + name, rows, kLikely, {});
  edit(&made);
  made = replayed(made, WorkspaceOf::kHandle);
  if (made.status == SAMPLER_OK) {
    std::fprintf(stderr, "%s: %s: must fail\n", operation_.name, name.c_str());
    std::abort();
  }
  cases_.push_back(std::move(made));
}

void Cases::add_failures() {
  add_failure("num_cols is 0", [&](Case *refused) { refused->args.erase(view() + ".num_cols"); });
  add_failure("an element type that does not exist",
              [&](Case *refused) { refused->args[view() + ".dtype"] = 3; });
  if (has_parameter("temperature")) {
    add_failure("temperature is NaN",
                [](Case *refused) { refused->args["params.temperature"] = kNanBits; });
  } else {
    const std::string stride = view() + ".row_stride";
    add_failure("" + stride + " is less than num_cols",
                [&](Case *refused) { refused->args[stride] = 1; });
  }
  if (is_residual()) {
    add_failure("neither draft nor draft_token_ids", [](Case *refused) {
      refused->inputs.erase("draft.values");
      for (const char *member : {"draft.num_rows", "draft.num_cols", "draft.kind"}) {
        refused->args.erase(member);
      }
    });
    add_failure("draft and draft_token_ids", [](Case *refused) {
      refused->inputs["draft_token_ids"] = {ElementType::kI32,
                                            std::string(sizeof(std::int32_t), '\0')};
    });
  }
  if (use_.draws) {
    add_failure("seeds are NULL, num_seeds is not 0",
                [](Case *refused) { refused->args["random.num_seeds"] = 1; });
  }
}

// ---- Cases of whole calls

void Cases::add_slots() {
  if (!has_slots()) return;
  Spec rows = spec();
  rows.slots = true;
  rows.num_drafts = 1;
  for (const sampler_input_kind kind : kinds()) {
    rows.kind = rows.draft_kind = kind;
    rows.per_slot = true;
    add(std::string("slots, parameters per slot, ") + kKindNames[kind], rows, kLikely);
  }
  rows.kind = rows.draft_kind = SAMPLER_LOGITS;
  add("slots that there are not", rows, kLikely, [&](Call *call) {
    call->at<std::int32_t>("slots", 0) = -1;
    call->at<std::int32_t>("slots", 2) = std::int32_t(rows.num_slots());
  });
  rows.per_slot = false;
  if (use_.draws) add("slots, one seed", rows, kLikely);
  if (!has("row_indices")) return;
  rows.per_slot = rows.row_indices = true;
  rows.num_rows = 5;
  rows.num_input_rows = 2;
  add("slots, outputs share rows", rows, kLikely);
}

void Cases::add_streams() {
  if (!use_.draws) return;
  Spec rows = spec();
  rows.streams = true;
  rows.num_drafts = 1;
  add("streams of one seed", rows, kLikely);
  rows.per_slot = true;
  add("streams, seeds and offsets per row", rows, kLikely);
  rows.slots = true;
  add("streams, seeds and offsets per slot", rows, kLikely);
}

void Cases::add_lengths() {
  if (is_residual()) return;
  const std::string counts = view() + ".candidate_counts";
  Spec ragged = spec(4);
  ragged.ragged = ragged.per_slot = true;
  for (const sampler_input_kind kind : kinds()) {
    ragged.kind = ragged.draft_kind = kind;
    add(std::string("rows of different lengths, ") + kKindNames[kind], ragged, kLikely, spoil_ends);
  }
  ragged.kind = ragged.draft_kind = SAMPLER_LOGITS;
  // Rows 0 and 4 are good, but 4 of verification: its draft is no element of the row.
  ragged.num_rows = 5;
  ragged.per_slot = false;
  add("lengths that cannot be, and 0", ragged, kLikely, [&](Call *call) {
    const auto row = [&](std::int64_t i) { return i * ragged.num_positions(); };
    call->at<std::int32_t>(counts, row(1)) = std::int32_t(ragged.num_cols + 1);
    call->at<std::int32_t>(counts, row(2)) = -1;
    call->at<std::int32_t>(counts, row(3)) = 0;
    call->at<std::int32_t>(counts, row(4)) = 1;
    if (is_verify()) call->set_id("draft_token_ids", 4, 0, 2);
  });
  Spec apart = spec();
  apart.ragged = true;
  apart.padding = 3;
  apart.dtype = apart.draft_dtype = SAMPLER_BF16;
  add("rows of different lengths lie apart", apart, kLikely, spoil_ends);
  if (!has("row_indices")) return;
  ragged.row_indices = true;
  ragged.num_input_rows = 2;
  add("outputs share rows of different lengths", ragged, kLikely, spoil_ends);
}

void Cases::add_infinities() {
  if (use_.call != Op::kSelect) return;
  for (const sampler_input_kind kind : kinds()) {
    Spec rows = spec(4);
    rows.kind = kind;
    add(std::string("+inf among ") + kKindNames[kind], rows, kLikely, [&](Call *call) {
      call->set_value(view() + ".values", 0, 4, kInf);
      call->set_value(view() + ".values", 1, 2, kInf);
      call->set_value(view() + ".values", 1, 6, kInf);
      call->set_row(view() + ".values", 2, kInf);
      call->set_value(view() + ".values", 3, 1, kInf);
      call->set_value(view() + ".values", 3, 4, kNan);
    });
  }
}

void Cases::add_failures_of_calls() {
  if (has_slots()) {
    add_failure("slots are NULL, num_slots is not 0",
                [](Case *refused) { refused->args["num_slots"] = 2; });
  }
  if (use_.draws) {
    add_failure("num_seeds is neither 1 nor the number of slots", [](Case *refused) {
      refused->inputs["random.seeds"] = {ElementType::kU64,
                                         std::string(3 * sizeof(std::uint64_t), '\0')};
      refused->args["random.num_seeds"] = 3;
    });
  }
  switch (use_.call) {
    case Op::kSample:
      add_failure("row_indices are NULL, num_row_indices is not 0",
                  [](Case *refused) { refused->args["num_row_indices"] = 2; });
      return;
    case Op::kFilter:
      add_failure("values of probabilities", [](Case *refused) {
        refused->args["input.kind"] = SAMPLER_PROBABILITIES;
        refused->args["output_kind"] = SAMPLER_OUTPUT_VALUES;
        refused->args.erase("params.temperature");
      });
      return;
    case Op::kSelect:
      add_failure("num_selected is more than num_cols",
                  [](Case *refused) { refused->args["num_selected"] = 3; });
      return;
    case Op::kVerify:
      add_failure("target.num_rows is no multiple of num_drafts + 1",
                  [](Case *refused) { refused->args["target.num_rows"] = 3; });
      return;
    case Op::kResidual:
      add_failure("target.kind is logits",
                  [](Case *refused) { refused->args.erase("target.kind"); });
      return;
    case Op::kScore:  // is in no vectors: what it gives is what sampling gave
      return;
  }
}

std::vector<Case> Cases::of_operation() {
  add_scalars();
  add_types_and_kinds();
  add_widths();
  add_seeds();
  add_enumerations();
  add_candidates();
  add_row_indices();
  add_strides();
  add_optional_outputs();
  add_bad_rows();
  add_bad_candidates();
  add_verifications();
  add_residuals();
  add_failures();
  return std::move(cases_);
}

std::vector<Case> Cases::of_whole_call() {
  add_slots();
  add_streams();
  add_lengths();
  add_infinities();
  add_failures_of_calls();
  return std::move(cases_);
}

void append_new(std::vector<Case> made, std::vector<Case> *cases) {
  for (Case &one : made) {
    const bool is_told = std::any_of(cases->begin(), cases->end(),
                                     [&](const Case &recorded) { return covers(recorded, one); });
    if (!is_told) cases->push_back(std::move(one));
  }
}

}  // namespace

std::vector<Case> make_cases(const Operation &operation) {
  std::vector<Case> cases;
  const auto is_of_it = [&](const Use &use) {
    return &capi_test::operation(use.call) == &operation;
  };
  for (const Use &use : operations_of_the_field()) {
    if (is_of_it(use)) append_new(Cases(use, 24, 11).of_operation(), &cases);
  }
  for (const Use &use : whole_calls()) {
    if (is_of_it(use)) append_new(Cases(use, 7, 4).of_whole_call(), &cases);
  }
  std::vector<Case> others = make_stage_cases(Op(&operation - capi_test::operations().data()));
  std::move(others.begin(), others.end(), std::back_inserter(cases));
  return cases;
}

}  // namespace vectors_test
