#include "capi/reports.h"

#include <algorithm>

#include "capi/views.h"
#include "contract/elements.h"

namespace sampler::capi {

namespace {

// Members of which any asks for something.
bool has_any(const sampler_report_args &args) {
  return args.num_top_logprobs || args.num_chosen || args.out_ranks || args.out_entropies ||
         args.out_kept_bitmask || args.kept_bitmask_stride || args.kept_capacity ||
         args.out_kept_offsets || args.out_removed_by;
}

// [output rows, per_row]
class Arrays {
 public:
  Arrays(Check &check, const contract::SampleRequest &request)
      : check_(check),
        num_rows_(request.num_rows),
        id_size_(contract::size_of_id(request.out_token_ids.type)) {}

  void check(const char *name, const void *data, size_t size, int64_t per_row,
             Need need = Need::kOptional, Access access = Access::kWrite) const {
    check_.array(name, data, size, num_rows_, per_row, per_row, access, need);
  }
  void check_ids(const char *name, const void *data, int64_t per_row, Need need,
                 Access access = Access::kWrite) const {
    check(name, data, id_size_, per_row, need, access);
  }

 private:
  Check &check_;
  int64_t num_rows_;
  size_t id_size_;
};

void read_top(Check &check, const sampler_report_args &args, const Arrays &arrays,
              int64_t num_cols) {
  check.range("reports->num_top_logprobs", args.num_top_logprobs, 0, num_cols + 1);
  if (!check.ok()) return;
  arrays.check("reports->out_top_logprobs", args.out_top_logprobs, sizeof(float),
               args.num_top_logprobs);
  arrays.check_ids("reports->out_top_token_ids", args.out_top_token_ids, args.num_top_logprobs,
                   args.out_top_logprobs ? Need::kOptional : Need::kRequired);
}

void read_chosen(Check &check, const sampler_report_args &args, const Arrays &arrays,
                 int64_t num_cols) {
  check.range("reports->num_chosen", args.num_chosen, 0, num_cols + 1);
  if (!check.ok()) return;
  arrays.check_ids("reports->chosen_token_ids", args.chosen_token_ids, args.num_chosen,
                   Need::kRequired, Access::kRead);
  arrays.check("reports->out_chosen_logprobs", args.out_chosen_logprobs, sizeof(float),
               args.num_chosen, Need::kRequired);
}

// The result is the stride, in words.
int64_t read_bitmask(Check &check, const sampler_report_args &args, const Arrays &arrays,
                     const contract::Rows &input) {
  if (!args.out_kept_bitmask) {
    check.zero("reports->kept_bitmask_stride", args.kept_bitmask_stride);
    return 0;
  }
  check.range("reports->kept_bitmask_stride", args.kept_bitmask_stride, input.ids ? 1 : 0,
              kMaxRows);
  if (!check.ok()) return 0;
  const int64_t stride =
      args.kept_bitmask_stride ? args.kept_bitmask_stride : (input.num_cols + 31) / 32;
  arrays.check("reports->out_kept_bitmask", args.out_kept_bitmask, sizeof(uint32_t), stride);
  return stride;
}

// Lists that follow one another. The result is how many entries they can have.
int64_t read_packed_lists(Check &check, const sampler_report_args &args,
                          const contract::SampleRequest &request) {
  constexpr int64_t kMaxEntries = kMaxRows * contract::kMaxVocabulary;
  const int64_t capacity = args.kept_capacity;
  check.range("reports->kept_capacity", capacity, 0, kMaxEntries + 1);
  if (!check.ok()) return 0;
  check.array("reports->out_kept_offsets", args.out_kept_offsets, sizeof(int64_t),
              request.num_rows + 1, Access::kWrite);
  check.array("reports->out_kept_probabilities", args.out_kept_probabilities, sizeof(float),
              capacity, Access::kWrite);
  check.array("reports->out_kept_token_ids", args.out_kept_token_ids,
              contract::size_of_id(request.out_token_ids.type), capacity, Access::kWrite,
              args.out_kept_probabilities ? Need::kOptional : Need::kRequired);
  return std::min(capacity, request.num_rows * request.input.num_cols);
}

// The result is how many entries a list can have, or all of them.
int64_t read_kept_lists(Check &check, const sampler_report_args &args, const Arrays &arrays,
                        const contract::SampleRequest &request) {
  if (args.out_kept_offsets) return read_packed_lists(check, args, request);
  const int64_t num_cols = request.input.num_cols;
  check.range("reports->kept_capacity", args.kept_capacity, 0, num_cols + 1);
  if (!check.ok()) return 0;
  arrays.check("reports->out_kept_probabilities", args.out_kept_probabilities, sizeof(float),
               args.kept_capacity);
  arrays.check_ids("reports->out_kept_token_ids", args.out_kept_token_ids, args.kept_capacity,
                   args.out_kept_probabilities ? Need::kOptional : Need::kRequired);
  return args.kept_capacity;
}

}  // namespace

sampler_report_args read_report_args(Check &check, const sampler_report_args *user) {
  sampler_report_args args = {};
  if (user) check.read("reports", user, &args);
  return args;
}

void refuse_reports(Check &check, const char *function,
                    std::initializer_list<AskedReport> reports) {
  for (const AskedReport &report : reports) {
    if (!report.is_set) continue;
    check.fail(SAMPLER_ERROR_INVALID_ARGUMENT, "reports->%s is set; %s does not report it",
               report.name, function);
  }
}

namespace {

// Null: none of them is wanted.
const contract::Reports *read_more(Check &check, const sampler_report_args &args,
                                   const contract::SampleRequest &request,
                                   std::optional<contract::Reports> *storage) {
  if (!has_any(args) || !check.ok()) return nullptr;
  const int64_t num_cols = request.input.num_cols;
  const Arrays arrays(check, request);
  read_top(check, args, arrays, num_cols);
  read_chosen(check, args, arrays, num_cols);
  arrays.check("reports->out_ranks", args.out_ranks, sizeof(int32_t), 1);
  arrays.check("reports->out_entropies", args.out_entropies, sizeof(float), 1);
  const int64_t bitmask_stride = read_bitmask(check, args, arrays, request.input);
  const int64_t kept_capacity = read_kept_lists(check, args, arrays, request);
  arrays.check("reports->out_removed_by", args.out_removed_by, sizeof(uint8_t), num_cols);
  if (!check.ok()) return nullptr;

  contract::Reports &out = storage->emplace();
  const sampler_id_type id_type = request.out_token_ids.type;
  out.num_top = args.num_top_logprobs;
  out.out_top_token_ids = {args.out_top_token_ids, id_type};
  out.out_top_logprobs = args.out_top_logprobs;
  out.num_chosen = args.num_chosen;
  out.chosen_token_ids = args.chosen_token_ids;
  out.out_chosen_logprobs = args.out_chosen_logprobs;
  out.out_ranks = args.out_ranks;
  out.out_entropies = args.out_entropies;
  out.out_kept_bitmask = args.out_kept_bitmask;
  out.kept_bitmask_stride = bitmask_stride;
  out.kept_capacity = kept_capacity;
  out.out_kept_token_ids = {args.out_kept_token_ids, id_type};
  out.out_kept_probabilities = args.out_kept_probabilities;
  out.out_kept_offsets = args.out_kept_offsets;
  out.out_removed_by = args.out_removed_by;
  return &out;
}

}  // namespace

void read_reports(Check &check, const sampler_report_args &args,
                  std::optional<contract::Reports> *storage, contract::SampleRequest *request) {
  const int64_t num_rows = request->num_rows;
  request->logprob_kind = check.enumeration("reports->logprob_kind", args.logprob_kind, 3);
  check.zero("reports->reserved", args.reserved);
  request->out_kept_counts =
      read_output_array(check, "reports->out_kept_counts", args.out_kept_counts, num_rows);
  request->out_logprobs =
      read_output_array(check, "reports->out_logprobs", args.out_logprobs, num_rows);
  request->out_values = read_output_array(check, "reports->out_values", args.out_values, num_rows);
  request->out_observations =
      read_output_array(check, "reports->out_observations", args.out_observations, num_rows);
  request->reports = read_more(check, args, *request, storage);
  const bool is_edited = request->pipeline && request->pipeline->has_edits();
  if (request->logprob_kind == SAMPLER_LOGPROB_EDITED && !is_edited) {
    request->logprob_kind = SAMPLER_LOGPROB_RAW;  // the same row
  }
}

}  // namespace sampler::capi
