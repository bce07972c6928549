#include "check_outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fuzz {

namespace {

using capi_test::Call;
using capi_test::Op;
using capi_test::Spec;

constexpr sampler_row_status kAllBits = 255;

class Outputs {
 public:
  Outputs(Call *call, std::int64_t bad_token)
      : call_(*call), spec_(call->spec()), bad_token_(bad_token) {}

  void check() {
    require(call_.output_padding_is_untouched(), "output padding was written", -1);
    for (std::int64_t row = 0; row < spec_.num_rows; ++row) check_row(row);
  }

 private:
  // Whether the call was asked for this output.
  bool is_written(const char *member) {
    return call_.has_array(member) &&
           call_.args().get<void *>(member) == call_.buffer(member).data();
  }

  bool is_input_set(const std::string &member) {
    return call_.args().operation().has(member) && call_.args().get<void *>(member) != nullptr;
  }

  void require(bool condition, const char *what, std::int64_t row) {
    fuzz::require(condition, call_, what, row);
  }

  void check_row(std::int64_t row) {
    has_status_ = is_written("out_row_status");
    status_ = has_status_ ? call_.status(row) : SAMPLER_ROW_OK;
    require((status_ & ~kAllBits) == 0, "unknown status bits", row);
    require((status_ & ~possible_bits()) == 0, "a status that the call has no reason for", row);
    is_bad_ = (status_ & ~std::uint32_t(SAMPLER_ROW_INVALID_DRAFT)) != 0;
    if (spec_.is_verify()) {
      check_verified(row);
    } else if (call_.has_array("out_counts")) {
      check_selection(row);
    } else {
      if (is_written("out_token_ids")) check_token(row);
      if (is_written("output")) check_probabilities(row);
    }
    if (is_written("out_kept_counts")) check_kept_count(row);
    if (is_written("out_logprobs")) check_logprob(row);
    if (spec_.operation == Op::kSample && is_written("out_values")) check_value(row);
    if (spec_.reports && has_status_) check_reports(row);
  }

  // Bits that a row of this call may have.
  sampler_row_status possible_bits() {
    sampler_row_status bits = SAMPLER_ROW_INVALID_VALUE | SAMPLER_ROW_EMPTY;
    if (call_.args().operation().has("params")) bits |= SAMPLER_ROW_INVALID_PARAMETER;
    if (is_input_set("row_indices")) bits |= SAMPLER_ROW_INVALID_INDEX;
    if (is_input_set("slots")) bits |= SAMPLER_ROW_INVALID_SLOT;
    if (spec_.kept) bits |= SAMPLER_ROW_INVALID_LIST;
    if (spec_.pipeline) bits |= SAMPLER_ROW_INVALID_LIST | SAMPLER_ROW_INVALID_INDEX;
    if (spec_.has_two_models()) bits |= SAMPLER_ROW_INVALID_DRAFT;
    for (const char *view : {"input", "target", "draft"}) {
      const std::string ids = view + std::string(".candidate_ids");
      const std::string counts = view + std::string(".candidate_counts");
      if (is_input_set(ids) || is_input_set(counts)) bits |= SAMPLER_ROW_INVALID_CANDIDATE;
    }
    return bits;
  }

  // The row that an output row is made of.
  std::int64_t input_row(std::int64_t row) {
    return is_input_set("row_indices") ? call_.at<std::int32_t>("row_indices", row) : row;
  }

  // How many elements it has.
  std::int64_t count(std::int64_t row) {
    return is_input_set("input.candidate_counts") ? call_.count("input", input_row(row))
                                                  : spec_.num_cols;
  }

  // A column, or an id of the list. The row is good.
  bool is_id(std::int64_t id, std::int64_t row) {
    if (spec_.is_verify()) {
      const bool lists = is_input_set("target.candidate_ids");
      return id >= 0 && id < (lists ? std::int64_t(1) << 20 : spec_.num_cols);
    }
    look_up_ids(row);
    if (!has_list_) return id >= 0 && id < count_;
    return std::binary_search(ids_.begin(), ids_.end(), id);
  }

  // What is_id() asks of a row, once for all of its tokens.
  void look_up_ids(std::int64_t row) {
    if (row == row_of_ids_) return;
    row_of_ids_ = row;
    has_list_ = is_input_set("input.candidate_ids");
    count_ = count(row);
    ids_.clear();
    const std::int64_t source = input_row(row);
    for (std::int64_t i = 0; has_list_ && i < count_; ++i) {
      ids_.push_back(call_.id("input.candidate_ids", source, i));
    }
    std::sort(ids_.begin(), ids_.end());
  }

  void check_token(std::int64_t row) {
    const std::int64_t token = call_.token(row);
    if (!has_status_) {
      require(token >= -1 && token < 1 << 20, "a token that is no id", row);
    } else if (is_bad_) {
      require(token == bad_token_, "a bad row's token", row);
    } else {
      require(is_id(token, row), "a good row's token is no id", row);
    }
  }

  void check_kept_count(std::int64_t row) {
    const std::int32_t count = call_.at<std::int32_t>("out_kept_counts", row);
    require(count >= 0 && count <= spec_.num_cols, "kept count", row);
    if (has_status_) require((count == 0) == is_bad_, "kept count of a bad row", row);
  }

  void check_logprob(std::int64_t row) {
    const float logprob = call_.at<float>("out_logprobs", row);
    if (has_status_) require(std::isnan(logprob) == is_bad_, "NaN logprob", row);
    // Log-probabilities are right to 1e-5.
    require(std::isnan(logprob) || logprob <= 1e-5f, "positive logprob", row);
  }

  // That of the token, which is finite.
  void check_value(std::int64_t row) {
    const float value = call_.at<float>("out_values", row);
    if (has_status_) require(std::isnan(value) == is_bad_, "NaN value", row);
    require(!std::isinf(value), "an infinite value", row);
  }

  void check_reports(std::int64_t row) {
    if (is_written("out_ranks")) {
      const std::int32_t rank = call_.at<std::int32_t>("out_ranks", row);
      const bool may_be_out = is_bad_ || spec_.operation == Op::kScore;
      require(rank >= (may_be_out ? 0 : 1) && rank <= (is_bad_ ? 0 : count(row)), "a rank", row);
    }
    if (is_written("out_entropies")) {
      const float entropy = call_.at<float>("out_entropies", row);
      require(is_bad_ ? std::isnan(entropy) : entropy >= 0 && entropy < 14, "an entropy", row);
    }
    if (is_written("out_top_token_ids")) check_report_ids("out_top_token_ids", row);
    if (is_written("out_top_logprobs")) check_top_logprobs(row);
    if (!spec_.packs_lists && is_written("out_kept_token_ids")) {
      check_report_ids("out_kept_token_ids", row);
    } else if (spec_.packs_lists && is_written("out_kept_offsets")) {
      check_packed_list(row);
    }
    if (is_written("out_removed_by") && is_written("out_kept_counts")) {
      std::int64_t kept = 0;
      for (std::int64_t i = 0; i < spec_.num_cols; ++i) {
        kept += call_.at<std::uint8_t>("out_removed_by", row, i) == 0 ? 1 : 0;
      }
      require(kept == call_.at<std::int32_t>("out_kept_counts", row), "what is removed", row);
    }
  }

  // Where its list lies, and, if all have room, the list.
  void check_packed_list(std::int64_t row) {
    const auto offset = [&](std::int64_t i) {
      return call_.at<std::int64_t>("out_kept_offsets", 0, i);
    };
    const std::int64_t begin = offset(row), end = offset(row + 1);
    require(row > 0 || begin == 0, "the first offset", row);
    require(begin <= end && end - begin <= spec_.num_cols, "offsets", row);
    require((begin == end) == is_bad_, "the list of a bad row", row);
    const auto capacity = call_.args().get<std::int64_t>("kept_capacity");
    if (offset(spec_.num_rows) > capacity || !is_written("out_kept_token_ids")) return;
    for (std::int64_t i = begin; i < end; ++i) {
      require(is_id(call_.id("out_kept_token_ids", 0, i), row), "a token of a packed list", row);
    }
  }

  // Ids of the row, then -1.
  void check_report_ids(const char *member, std::int64_t row) {
    bool has_ended = is_bad_;
    for (std::int64_t i = 0; i < call_.array(member).cols; ++i) {
      const std::int64_t id = call_.id(member, row, i);
      has_ended = has_ended || id == -1;
      require(has_ended ? id == -1 : is_id(id, row), "a reported token", row);
    }
  }

  // They fall, then NaN.
  void check_top_logprobs(std::int64_t row) {
    float before = 1e-5f;
    for (std::int64_t i = 0; i < call_.array("out_top_logprobs").cols; ++i) {
      const float logprob = call_.at<float>("out_top_logprobs", row, i);
      require(!(logprob > before) && (!is_bad_ || std::isnan(logprob)), "a logprob", row);
      require(!std::isnan(before) || std::isnan(logprob), "a logprob after the last", row);
      before = logprob;
    }
  }

  bool writes_values() {
    return call_.args().operation().has("output_kind") &&
           call_.args().get<sampler_output_kind>("output_kind") == SAMPLER_OUTPUT_VALUES;
  }

  // Whole rows: probabilities in [0, 1], or masked logits.
  void check_probabilities(std::int64_t row) {
    if (writes_values()) return check_mask(row);
    double sum = 0;
    for (std::int64_t i = 0; i < spec_.num_cols; ++i) {
      const float p = call_.value("output", row, i);
      require(p >= 0 && p <= 1.000001f, "a probability outside [0, 1]", row);
      sum += double(p);
    }
    if (!has_status_) return;
    if (is_bad_) {
      require(sum == 0, "a bad row's probabilities", row);
    } else {
      // f16 and bf16 round each of up to 300 probabilities by 2^-9 of it; f16 flushes tiny ones.
      require(std::fabs(sum - 1) < 0.005, "probabilities do not sum to 1", row);
    }
  }

  void check_mask(std::int64_t row) {
    if (!has_status_ || is_bad_ || spec_.pipeline) return;
    for (std::int64_t i = 0; i < spec_.num_cols; ++i) {
      const float x = call_.value("output", row, i);
      const bool is_kept = i < count(row) && x == call_.value("input.values", row, i);
      require(is_kept || x == -std::numeric_limits<float>::infinity(), "a mask changed a value",
              row);
    }
  }

  void check_selection(std::int64_t row) {
    std::int64_t count = -1;
    if (is_written("out_counts")) {
      count = call_.at<std::int32_t>("out_counts", row);
      require(count >= 0 && count <= spec_.num_selected, "selected count", row);
      if (has_status_) require((count == 0) == is_bad_, "selected count of a bad row", row);
    }
    if (is_written("out_token_ids")) {
      for (std::int64_t i = 0; i < spec_.num_selected; ++i) {
        const std::int64_t id = call_.token(row, i);
        const bool is_known = has_status_ && !is_bad_ ? is_id(id, row) : id >= 0 && id < 1 << 20;
        require(id == -1 || is_known, "a selected token is no id", row);
        if (count >= 0) require((id == -1) == (i >= count), "selected ids after the count", row);
      }
    }
    if (is_written("out_values")) {
      for (std::int64_t i = 1; i < spec_.num_selected; ++i) {
        require(call_.value("out_values", row, i - 1) >= call_.value("out_values", row, i),
                "selected values are not in order", row);
      }
    }
  }

  void check_verified(std::int64_t row) {
    std::int64_t num_tokens = 0;
    while (num_tokens <= spec_.num_drafts && call_.token(row, num_tokens) != -1) ++num_tokens;
    for (std::int64_t i = num_tokens; i <= spec_.num_drafts; ++i) {
      require(call_.token(row, i) == -1, "tokens after the last", row);
    }
    if (has_status_ && is_bad_) {
      require(call_.token(row) == bad_token_, "a bad row's token", row);
      require(num_tokens == (bad_token_ == -1 ? 0 : 1), "a bad row's tokens", row);
    } else if (has_status_) {
      require(num_tokens > 0, "a good row without a token", row);
      for (std::int64_t i = 0; i + 1 < num_tokens; ++i) {
        require(call_.token(row, i) == call_.id("draft_token_ids", row, i), "not a draft", row);
      }
      require(is_id(call_.token(row, num_tokens - 1), row), "the last token is no id", row);
    }
    check_draft_counts(row, num_tokens);
  }

  void check_draft_counts(std::int64_t row, std::int64_t num_tokens) {
    if (call_.args().get<std::int32_t>("accumulate_counts") || !has_status_) return;
    const std::int64_t emitted = is_bad_ ? 0 : num_tokens - 1;
    if (is_written("out_emitted_counts")) {
      require(call_.at<std::int32_t>("out_emitted_counts", row) == emitted, "emitted count", row);
    }
    if (is_written("out_accepted_counts")) {
      const std::int32_t accepted = call_.at<std::int32_t>("out_accepted_counts", row);
      require(accepted >= emitted && accepted <= spec_.num_drafts, "accepted count", row);
    }
  }

  Call &call_;
  const Spec &spec_;
  std::int64_t bad_token_;
  bool has_status_ = false;
  sampler_row_status status_ = SAMPLER_ROW_OK;
  bool is_bad_ = false;
  std::int64_t row_of_ids_ = -1;  // whose elements these are
  bool has_list_ = false;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> ids_;  // of its list, in order
};

}  // namespace

void check_outputs(Call *call, std::int64_t bad_token) {
  Outputs(call, bad_token).check();
}

}  // namespace fuzz
