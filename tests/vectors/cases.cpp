#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

#include "call.h"
#include "rows.h"

namespace vectors_test {
namespace {

using capi_test::Call;
using capi_test::Operation;
using capi_test::Spec;
using oracle_test::Random;
using oracle_test::RowKind;
using Edit = std::function<void(Call *)>;
using Kinds = std::vector<RowKind>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
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
      row.push_back(call->value("target", position, col));
    }
    set_row(call, "draft", draft, oracle_test::to_type(row, spec.draft_dtype).values);
  }
}

// Each draft is in turn the target's likeliest token, the drafter's, and any.
void fill_drafts(Call *call, Random *random) {
  const Spec &spec = call->spec();
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    for (std::int64_t i = 0; i < spec.num_draft_positions(); ++i) {
      const std::int64_t position = row * spec.num_positions() + i;
      std::int64_t col = std::int64_t(random->below(std::size_t(spec.num_cols)));
      if ((row + i) % 3 == 0) col = argmax(*call, "target", position);
      if ((row + i) % 3 == 1 && spec.draft) col = argmax(*call, "draft", row * spec.num_drafts + i);
      const bool lists = call->has_array("target_candidate_ids");
      call->set_id("draft_token_ids", row, i,
                   lists ? call->id("target_candidate_ids", position, col) : col);
    }
  }
}

void fill(Call *call, const Kinds &kinds, Random *random) {
  const Spec &spec = call->spec();
  if (!spec.has_two_models()) return fill_rows(call, "input", spec.kind, kinds, random);
  fill_rows(call, "target", spec.kind, kinds, random);
  if (spec.draft) fill_rows(call, "draft", spec.draft_kind, kinds, random);
  if (spec.draft && spec.draft_kind == spec.kind) copy_targets(call);
  if (call->has_array("draft_token_ids")) fill_drafts(call, random);
}

// The scalars as the struct's _INIT macro has them, where they say how to sample.
void use_defaults(Call *call) {
  const capi_test::Args defaults(call->spec().op());
  capi_test::Args &args = call->args();
  for (const char *member : {"temperature", "top_p", "min_p"}) {
    if (args.operation().has(member)) args.set(member, defaults.get<float>(member));
  }
  for (const char *member : {"top_k", "logprob_kind"}) args.set_if_any<std::int32_t>(member, 0);
  for (const char *member : {"seed", "offset"}) args.set_if_any<std::uint64_t>(member, 0);
}

void leave_out(Call *call, const std::string &member) {
  call->args().set_if_any<void *>(member, nullptr);
}

std::vector<std::string> optional_outputs(const Operation &operation) {
  std::vector<std::string> members;
  for (const char *member : {"out_kept_counts", "out_logprobs", "out_values", "out_counts",
                             "out_accepted_counts", "out_emitted_counts", "out_row_status"}) {
    if (operation.has(member)) members.emplace_back(member);
  }
  return members;
}

// ---- From a Call to a Case

ElementType element_type(const Call::Array &array) {
  static const std::vector<std::string> kFloats = {"temperatures", "top_ps", "min_ps",
                                                   "out_logprobs"};
  static const std::vector<std::string> kValues = {"input", "target", "draft", "output",
                                                   "out_values"};
  const auto is_in = [&](const std::vector<std::string> &members) {
    return std::find(members.begin(), members.end(), array.member) != members.end();
  };
  if (is_in(kFloats)) return ElementType::kF32;
  if (is_in(kValues)) return ElementType(array.dtype);
  if (array.member == "seeds" || array.member == "offsets") return ElementType::kU64;
  if (array.member == "out_row_status") return ElementType::kU32;
  return array.element_size == 8 ? ElementType::kI64 : ElementType::kI32;
}

Case to_case(const std::string &name, const Call &call) {
  Case result(call.spec().op());
  result.name = name;
  result.args = call.args();
  for (const auto &[member, description] : call.spec().op().members) {
    if (description.type != capi_test::MemberType::kPointer || !call.has_array(member)) continue;
    if (result.args.get<void *>(member) == nullptr) continue;
    result.args.set<void *>(member, nullptr);
    const Call::Array &array = call.array(member);
    Arrays &arrays = array.direction == Call::Direction::kIn ? result.inputs : result.outputs;
    arrays[member] = {element_type(array), array.buffer.bytes()};
  }
  return result;
}

// ---- The cases of one operation

class Cases {
 public:
  explicit Cases(const Operation &operation) : operation_(operation), random_(kSeed) {}

  std::vector<Case> make();

 private:
  static constexpr std::uint64_t kSeed = 20;

  bool has(const std::string &member) const { return operation_.has(member); }
  bool is_chain() const { return operation_.number == SAMPLER_OP_CHAIN_SPECULATIVE; }
  bool is_residual() const { return operation_.number == SAMPLER_OP_RESIDUAL; }
  bool has_kind() const { return has("input_kind") || is_chain(); }
  bool has_candidates() const { return has("candidate_id_type"); }
  std::vector<sampler_input_kind> kinds() const;
  // The member of the rows.
  std::string rows() const { return spec().values(); }

  Spec spec(std::int64_t num_rows = 3) const;
  Case prepared(const std::string &name, const Spec &spec, const Kinds &kinds, const Edit &edit);
  void add(const std::string &name, const Spec &spec, const Kinds &kinds, const Edit &edit = {});
  void add_finished(Case made);
  void add_enumeration(const std::string &member, sampler_input_kind kind, int count);
  void add_failure(const std::string &name, const std::function<void(Case *)> &edit);

  void add_types_and_kinds();
  void add_widths();
  void add_scalars();
  void add_seeds();
  void add_enumerations();
  void add_candidates();
  void add_row_indices();
  void add_strides();
  void add_optional_outputs();
  void add_bad_rows();
  void add_bad_candidates();
  void add_chains();
  void add_residuals();
  void add_failures();

  const Operation &operation_;
  Random random_;
  std::vector<Case> cases_;
};

std::vector<sampler_input_kind> Cases::kinds() const {
  if (is_residual()) return {SAMPLER_PROBABILITIES};
  if (has_kind()) return {SAMPLER_LOGITS, SAMPLER_PROBABILITIES};
  return {SAMPLER_LOGITS};
}

// Chains have several rows of input for each of output, so theirs are narrower.
Spec Cases::spec(std::int64_t num_rows) const {
  Spec spec;
  spec.operation = operation_.number;
  spec.num_rows = num_rows;
  spec.num_cols = is_chain() ? 11 : 24;
  spec.num_drafts = 2;
  spec.contents = 100 + cases_.size();
  return spec;
}

Case Cases::prepared(const std::string &name, const Spec &spec, const Kinds &kinds,
                     const Edit &edit) {
  Call call(spec);
  fill(&call, kinds, &random_);
  if (edit) edit(&call);
  return to_case(name, call);
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
      Spec rows = spec(is_chain() ? 3 : 9);
      rows.dtype = sampler_dtype(dtype);
      rows.kind = rows.draft_kind = kind;
      rows.draft_dtype = sampler_dtype((dtype + kind) % 3);
      rows.output_dtype = sampler_dtype(has("output_dtype") && kind == kinds()[0] ? dtype : 0);
      rows.per_row = true;
      const std::string name = std::string(kDtypeNames[dtype]) + " " + kKindNames[kind];
      add(name + ", hard rows, parameters per row", rows, kHard);
      rows.num_rows = is_chain() ? 3 : 4;
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
  Spec wide = spec(is_chain() ? 1 : 2);
  wide.num_drafts = 1;
  wide.num_cols = kMaxCols;
  wide.dtype = wide.draft_dtype = SAMPLER_F16;
  wide.output_dtype = has("output_dtype") ? SAMPLER_F16 : SAMPLER_F32;
  add("1,500 columns of f16", wide, {RowKind::kLanguage});
  Spec tail = spec(1);
  tail.num_drafts = 1;
  tail.num_cols = 1000;
  tail.dtype = tail.draft_dtype = SAMPLER_BF16;
  tail.per_row = true;
  add("1,000 columns of bf16 with a heavy tail", tail, {RowKind::kHeavyTail});
}

void Cases::add_scalars() {
  add("defaults", spec(), kLikely, use_defaults);
  if (has_kind()) {
    Spec given = spec();
    given.kind = given.draft_kind = SAMPLER_PROBABILITIES;
    add("defaults, probabilities", given, kLikely, use_defaults);
  }
  add("scalar parameters", spec(), kLikely);
  if (has("temperature")) {
    add("greedy", spec(), kTied, [](Call *call) { call->args().set("temperature", 0.0f); });
    add("temperature 1.75", spec(), kLikely, [](Call *call) {
      use_defaults(call);
      call->args().set("temperature", 1.75f);
    });
  }
  for (const char *member : {"top_p", "min_p"}) {
    if (!has(member)) continue;
    add(std::string(member) + " 0.3", spec(), kLikely, [&](Call *call) {
      use_defaults(call);
      call->args().set(member, 0.3f);
    });
  }
  if (!has("top_k")) return;
  add("top_k 4", spec(), kTied, [](Call *call) {
    use_defaults(call);
    call->args().set<std::int32_t>("top_k", 4);
  });
}

void Cases::add_seeds() {
  if (!has("seeds")) return;
  Spec rows = spec();
  rows.per_row = true;
  Case one_seed = prepared("one seed in an array, offsets per row", rows, kLikely, {});
  one_seed.args.set<std::int64_t>("num_seeds", 1);
  one_seed.inputs.at("seeds").bytes.resize(sizeof(std::uint64_t));
  add_finished(one_seed);
  add("seeds per row, one offset", rows, kLikely, [](Call *call) {
    leave_out(call, "offsets");
    call->args().set<std::int64_t>("num_offsets", 0);
    call->args().set<std::uint64_t>("offset", UINT64_MAX);
  });
  add("seed 2^64 - 1", spec(), kLikely,
      [](Call *call) { call->args().set<std::uint64_t>("seed", UINT64_MAX); });
}

void Cases::add_enumeration(const std::string &member, sampler_input_kind kind, int count) {
  if (!has(member)) return;
  for (std::int32_t value = 1; value < count; ++value) {
    Spec rows = spec();
    rows.kind = rows.draft_kind = kind;
    const std::string name = member + " " + std::to_string(value) + ", " + kKindNames[kind];
    add(name, rows, kTied, [&](Call *call) {
      call->args().set_if_any<std::int32_t>("logprob_kind", SAMPLER_LOGPROB_RAW);
      call->args().set(member, value);
      if (kind != SAMPLER_LOGITS) return;
      call->args().set_if_any<std::int32_t>("top_k", 7);
      call->args().set_if_any("top_p", 0.6f);
      call->args().set_if_any("min_p", 0.2f);
      call->args().set_if_any("temperature", 1.5f);
    });
  }
}

void Cases::add_enumerations() {
  add_enumeration("top_k_ties", SAMPLER_LOGITS, 2);
  add_enumeration("top_p_ties", SAMPLER_LOGITS, 2);
  add_enumeration("filter_order", SAMPLER_LOGITS, 3);
  add_enumeration("temperature_order", SAMPLER_LOGITS, 2);
  add_enumeration("draw_method", SAMPLER_LOGITS, 2);
  add_enumeration("draw_method", SAMPLER_PROBABILITIES, 2);
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
    lists.candidates = lists.per_row = true;
    lists.candidate_id_type = sampler_id_type(type);
    lists.token_id_type = sampler_id_type(1 - type);
    add(std::string("candidate lists, ids of type ") + kIdNames[type], lists, kTied);
  }
  Spec full = spec();
  full.candidates = true;
  add("candidate lists without counts, with the largest id", full, kLikely, [&](Call *call) {
    for (const char *member :
         {"candidate_counts", "target_candidate_counts", "draft_candidate_counts"}) {
      leave_out(call, member);
    }
    const std::string ids = is_chain() ? "target_candidate_ids" : "candidate_ids";
    call->set_id(ids, 0, argmax(*call, rows(), 0), kVocabularyLimit - 1);
  });
  if (!has_kind()) return;
  full.kind = full.draft_kind = SAMPLER_PROBABILITIES;
  add("candidate lists of probabilities", full, kLikely);
}

void Cases::add_row_indices() {
  if (!has("row_indices")) return;
  Spec shared = spec(7);
  shared.row_indices = true;
  shared.num_input_rows = 3;
  add("outputs share rows", shared, kLikely);
  shared.per_row = true;
  add("outputs share rows, parameters per row", shared, kTied);
  shared.candidates = true;
  add("outputs share candidate lists", shared, kTied);
  shared.candidates = false;
  shared.num_input_rows = 0;
  add("row_indices without num_input_rows", shared, kLikely);
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
  const std::vector<std::string> members = optional_outputs(operation_);
  const bool select = operation_.number == SAMPLER_OP_TOP_K_SELECT;
  add("what is required alone", spec(), kLikely, [&](Call *call) {
    for (const std::string &member : members) leave_out(call, member);
  });
  for (const std::string &wanted : members) {
    add("no optional output but " + wanted, spec(), kLikely, [&](Call *call) {
      for (const std::string &member : members) {
        if (member != wanted) leave_out(call, member);
      }
      if (select && wanted == "out_values") leave_out(call, "out_token_ids");
    });
  }
}

void Cases::add_bad_rows() {
  constexpr std::int64_t kNumRows = 9;
  for (const sampler_input_kind kind : kinds()) {
    const bool are_logits = kind == SAMPLER_LOGITS;
    Spec spoiled = spec(kNumRows);
    spoiled.kind = spoiled.draft_kind = kind;
    spoiled.per_row = true;
    // Rows 0, 6 and 7 are good, and 8 but for two models.
    const Edit spoil = [&](Call *call) {
      const auto row = [&](std::int64_t i) { return i * spoiled.num_positions(); };
      call->set_value(rows(), row(1), 5, kNan);
      call->set_row(rows(), row(2), are_logits ? -kInf : 0.0f);
      call->set_value(rows(), row(3), 10, are_logits ? kInf : -0.25f);
      if (is_chain()) {  // so that the bad element is looked at
        call->set_id("draft_token_ids", 1, 0, 5);
        call->set_id("draft_token_ids", 3, 0, 10);
        call->set_id("draft_token_ids", 8, 0, 3);
      }
      if (has("draft")) call->set_value("draft", 8 * spoiled.num_draft_positions(), 3, kNan);
      if (call->has_array("temperatures")) {
        call->at<float>("temperatures", 4) = are_logits ? kNan : 0.5f;
      }
      for (const char *member : {"top_ps", "min_ps"}) {
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
  const std::string prefix = is_chain() ? "target_" : "";
  const std::string ids = prefix + "candidate_ids", counts = prefix + "candidate_counts";
  Spec lists = spec(8);
  lists.candidates = true;
  // Row 0 is good, and 7 but for chains.
  add("bad candidate lists", lists, kLikely, [&](Call *call) {
    const std::int64_t positions = is_chain() ? lists.num_drafts + 1 : 1;
    const auto row = [&](std::int64_t i) { return i * positions; };
    call->set_id(ids, row(1), 0, -1);
    call->set_id(ids, row(2), 1, kVocabularyLimit);
    call->set_id(ids, row(3), 2, call->id(ids, row(3), 3));
    call->at<std::int32_t>(counts, row(4)) = std::int32_t(lists.num_cols + 1);
    call->at<std::int32_t>(counts, row(5)) = 0;
    call->at<std::int32_t>(counts, row(6)) = -1;
    if (is_chain()) call->set_id("draft_candidate_ids", 7 * lists.num_drafts, 0, -1);
  });
}

// Moves the rows of a member further apart.
void widen_rows(const std::string &member, std::int64_t elements_per_row, std::int64_t gap,
                Case *chain) {
  Array &array = chain->inputs.at(member);
  const std::size_t element = array.type == ElementType::kF32 ? 4 : 2;
  const std::size_t row = std::size_t(elements_per_row) * element;
  for (std::size_t end = array.bytes.size() - row; end > 0; end -= row) {
    array.bytes.insert(end, std::size_t(gap) * element, '\xFF');
  }
  chain->args.set(member + "_row_stride", elements_per_row + gap);
}

void Cases::add_chains() {
  if (!is_chain()) return;
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
  add("bad draft ids and lengths", chain, kLikely, [&](Call *call) {
    call->set_id("draft_token_ids", 1, 0, -1);
    call->set_id("draft_token_ids", 2, 1, chain.num_cols);
    call->at<std::int32_t>("draft_lengths", 3) = -1;
    call->at<std::int32_t>("draft_lengths", 4) = std::int32_t(chain.num_drafts + 1);
    call->at<std::int32_t>("draft_lengths", 5) = 0;
  });
  add("no draft_lengths", chain, kLikely, [](Call *call) { leave_out(call, "draft_lengths"); });

  Case added = prepared("accumulate_counts", spec(), kLikely, {});
  added.args.set<std::int32_t>("accumulate_counts", 1);
  const std::int32_t before[] = {100, 0, -7};
  for (const char *member : {"out_accepted_counts", "out_emitted_counts"}) {
    added.inputs[member] = {ElementType::kI32,
                            {reinterpret_cast<const char *>(before), sizeof before}};
  }
  add_finished(added);

  Case apart = prepared("chains lie apart", spec(), kLikely, {});
  widen_rows("target", 3 * spec().num_cols, 5, &apart);
  widen_rows("draft", 2 * spec().num_cols, 4, &apart);
  add_finished(apart);
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
    for (std::int64_t row = 0; row < residual.num_rows; ++row) call->set_row("draft", row, 0.0f);
  });
}

void Cases::add_failure(const std::string &name, const std::function<void(Case *)> &edit) {
  Spec rows = spec(2);
  rows.num_drafts = 1;
  Case made = prepared(name, rows, kLikely, {});
  edit(&made);
  made = replayed(made, WorkspaceOf::kHandle);
  if (made.status == SAMPLER_OK) {
    std::fprintf(stderr, "%s: %s: must fail\n", operation_.name, name.c_str());
    std::abort();
  }
  cases_.push_back(std::move(made));
}

void Cases::add_failures() {
  add_failure("refused: num_cols is 0",
              [](Case *refused) { refused->args.set<std::int64_t>("num_cols", 0); });
  add_failure("refused: an element type that does not exist",
              [&](Case *refused) { refused->args.set<std::int32_t>(rows() + "_dtype", 3); });
  if (has("temperature")) {
    add_failure("refused: temperature is NaN",
                [](Case *refused) { refused->args.set("temperature", kNan); });
  } else {
    const std::string stride = is_residual() ? "target_row_stride" : "row_stride";
    add_failure("refused: " + stride + " is less than num_cols",
                [&](Case *refused) { refused->args.set<std::int64_t>(stride, 23); });
  }
  if (is_residual()) {
    add_failure("refused: neither draft nor draft_token_ids",
                [](Case *refused) { refused->inputs.erase("draft"); });
    add_failure("refused: draft and draft_token_ids", [](Case *refused) {
      refused->inputs["draft_token_ids"] = {ElementType::kI32,
                                            std::string(2 * sizeof(std::int32_t), '\0')};
    });
  }
  if (has("seeds")) {
    add_failure("refused: seeds are NULL, num_seeds is not 0",
                [](Case *refused) { refused->args.set<std::int64_t>("num_seeds", 1); });
  }
}

std::vector<Case> Cases::make() {
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
  add_chains();
  add_residuals();
  add_failures();
  return std::move(cases_);
}

}  // namespace

std::vector<Case> make_cases(const Operation &operation) {
  return Cases(operation).make();
}

}  // namespace vectors_test
