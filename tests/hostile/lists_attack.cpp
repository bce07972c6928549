// Random calls with malformed lists, indices, counts and numbers: rows that do not read what was
// changed have the bytes that they have without it, and nothing else is written.
//
// usage: lists_attack [COUNT [SEED]]
#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../seed.h"
#include "call.h"

namespace {

using capi_test::Call;
using capi_test::Op;
using capi_test::Random;
using capi_test::Spec;

constexpr int kChangesOfACall = 50;

[[noreturn]] void fail(const Call &call, const std::string &change, const std::string &what) {
  std::printf("%s, contents %" PRIu64 ": %s: %s\n", describe(call.spec()).c_str(),
              call.spec().contents, change.c_str(), what.c_str());
  std::exit(1);
}

Spec random_spec(Random *random, const std::vector<Spec> &all) {
  const auto one_in = [&](std::int64_t number) { return random->between(1, number) == 1; };
  Spec spec = all[std::size_t(random->between(0, std::int64_t(all.size()) - 1))];
  spec.num_rows = random->between(1, 8);
  spec.num_cols = random->between(8, one_in(8) ? 300 : 40);
  spec.num_drafts = random->between(1, 4);
  spec.slots = one_in(2);
  spec.streams = one_in(3);
  spec.pipeline = !one_in(3);
  spec.reports = one_in(2);
  spec.packs_lists = one_in(3);
  spec.misalignment = random->between(0, 3);
  spec.padding = random->between(0, 3);
  spec.contents = random->next();
  return spec;
}

// The rows that read an element of an input array.
class Readers {
 public:
  explicit Readers(const Call &call) : call_(call) {}

  std::set<std::int64_t> of(const std::string &member, std::int64_t row) const {
    const Spec &spec = call_.spec();
    const auto begins = [&](const char *text) { return member.rfind(text, 0) == 0; };
    const auto ends = [&](const char *text) {
      const std::size_t size = std::strlen(text);
      return member.size() >= size && member.compare(member.size() - size, size, text) == 0;
    };
    if (begins("input.")) return of_input(row);
    if (begins("target.")) return {row / spec.num_positions()};
    if (begins("draft.")) return {row / spec.num_draft_positions()};
    if (member == "pipeline.token_bitmasks") return with(&Readers::mask, row);
    if (member == "pipeline.guidance_logits") return with(&Readers::guidance, row);
    if (member == "pipeline.biases") return with_slot(row / 3);
    if (member == "pipeline.bias_contexts.offsets") {
      return join(with_slot((row - 1) / 3), with_slot(row / 3));
    }
    if (begins("pipeline.dry_breakers")) return all();
    if (member == "pipeline.bad_words.offsets") return join(of_bad_word(row - 1), of_bad_word(row));
    if (member == "pipeline.bad_words.token_ids") return of_bad_word(row / 2);
    if (ends("offsets") && begins("pipeline.")) return join(with_slot(row - 1), with_slot(row));
    if (ends(".token_ids")) {
      const std::int64_t num_ids = call_.array(member).rows;
      return with_slot(row / (num_ids / spec.num_slots()));
    }
    if (begins("row_params.") || begins("random.") || member == "pipeline.dense_bias" ||
        member == "pipeline.prompt_lengths" || member == "pipeline.adaptive_values") {
      return with_slot(row);
    }
    return {row};  // by row of output
  }

 private:
  std::int64_t mask(std::int64_t row) const {
    return call_.id("pipeline.token_bitmask_indices", row, 0);
  }
  std::int64_t guidance(std::int64_t row) const {
    return call_.id("pipeline.guidance_row_indices", row, 0);
  }
  std::int64_t slot(std::int64_t row) const { return call_.slot(row); }
  std::int64_t input(std::int64_t row) const {
    return call_.has_array("row_indices") ? call_.id("row_indices", row, 0) : row;
  }

  std::set<std::int64_t> with(std::int64_t (Readers::*number)(std::int64_t) const,
                              std::int64_t value) const {
    std::set<std::int64_t> rows;
    for (std::int64_t row = 0; row < call_.spec().num_rows; ++row) {
      if ((this->*number)(row) == value) rows.insert(row);
    }
    return rows;
  }
  std::set<std::int64_t> with_slot(std::int64_t slot) const { return with(&Readers::slot, slot); }
  std::set<std::int64_t> of_input(std::int64_t row) const { return with(&Readers::input, row); }

  std::set<std::int64_t> of_bad_word(std::int64_t word) const {
    std::set<std::int64_t> rows;
    for (std::int64_t slot = 0; slot < call_.spec().num_slots(); ++slot) {
      if (call_.id("pipeline.bad_word_offsets", slot, 0) <= word &&
          word < call_.id("pipeline.bad_word_offsets", slot + 1, 0)) {
        rows = join(rows, with_slot(slot));
      }
    }
    return rows;
  }

  std::set<std::int64_t> all() const {
    std::set<std::int64_t> rows;
    for (std::int64_t row = 0; row < call_.spec().num_rows; ++row) rows.insert(row);
    return rows;
  }

  static std::set<std::int64_t> join(std::set<std::int64_t> left,
                                     const std::set<std::int64_t> &right) {
    left.insert(right.begin(), right.end());
    return left;
  }

  const Call &call_;
};

std::int64_t hostile_number(Random *random, std::size_t size, const Spec &spec) {
  const std::int64_t small[] = {-1,
                                -2,
                                0,
                                1,
                                spec.num_rows,
                                spec.num_rows + 1,
                                spec.num_cols,
                                spec.num_cols + 1,
                                2 * spec.num_slots(),
                                9,
                                10,
                                INT32_MAX,
                                INT32_MIN,
                                INT32_MIN + 1,
                                1 << 20,
                                0x7FC00000,
                                0x7F800000,
                                -0x800000,
                                0x7F7FFFFF,
                                1};  // NaN, infinities
  const std::int64_t large[] = {INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                std::int64_t(1) << 32,
                                -(std::int64_t(1) << 32),
                                std::int64_t(1) << 62,
                                INT64_MIN / 8,
                                std::int64_t(1) << 31};
  switch (random->between(0, size == 8 ? 3 : 1)) {
    case 0:
      return std::int64_t(random->next());
    case 1:
      return small[random->between(0, 19)];
    default:
      return large[random->between(0, 7)];
  }
}

struct Counts {
  std::int64_t calls = 0, bad_rows = 0, refused = 0, compared_rows = 0;
  std::map<sampler_row_status, std::int64_t> statuses;
};

// Changes inputs of a call, runs it, compares, and puts them back.
void attack(Random *random, sampler_t sampler, Call *call,
            const std::vector<std::string> &good_rows, Counts *counts) {
  const Spec &spec = call->spec();
  std::vector<std::string> members;
  for (const std::string &member : call->inputs_by_name()) {
    if (call->array(member).buffer.size() > 0) members.push_back(member);
  }
  struct Change {
    unsigned char *at;
    std::vector<unsigned char> before;
  };
  std::vector<Change> changes;
  std::set<std::int64_t> readers;
  std::string text;
  const Readers of_good(*call);
  // All rows are found before anything is changed.
  struct Place {
    std::string member;
    std::int64_t row, col, number;
  };
  std::vector<Place> places;
  for (std::int64_t i = random->between(1, 3); i > 0; --i) {
    const std::string &member =
        members[std::size_t(random->between(0, std::int64_t(members.size()) - 1))];
    const Call::Array &array = call->array(member);
    const Place place = {member, random->between(0, array.rows - 1),
                         random->between(0, array.cols - 1),
                         hostile_number(random, array.element_size, spec)};
    places.push_back(place);
    for (const std::int64_t row : of_good.of(member, place.row)) readers.insert(row);
    text += member + "[" + std::to_string(place.row) + "][" + std::to_string(place.col) +
            "] = " + std::to_string(place.number) + " ";
  }
  for (const Place &place : places) {
    unsigned char *const at = &call->at<unsigned char>(place.member, place.row, place.col);
    const std::size_t size = call->array(place.member).element_size;
    changes.push_back({at, {at, at + size}});
    std::memcpy(at, &place.number, size);
  }
  call->reset_outputs();
  const std::string inputs = call->inputs();
  const sampler_status status = call->run(sampler);
  ++counts->calls;
  if (call->inputs() != inputs) fail(*call, text, "an input was written");
  if (!call->output_padding_is_untouched()) fail(*call, text, "between rows was written");
  if (status != SAMPLER_OK) {
    ++counts->refused;
    if (!call->outputs_are_untouched()) fail(*call, text, "a refused call has written");
    fail(*call, text, std::string("refused: ") + sampler_last_error());
  }
  for (std::int64_t row = 0; row < spec.num_rows; ++row) {
    ++counts->statuses[call->status(row)];
    if (readers.count(row) > 0) {
      counts->bad_rows += call->status(row) != SAMPLER_ROW_OK;
      continue;
    }
    ++counts->compared_rows;
    if (call->output_row(row) != good_rows[std::size_t(row)]) {
      fail(*call, text,
           "row " + std::to_string(row) + " has changed, status " +
               std::to_string(call->status(row)));
    }
  }
  for (std::size_t i = changes.size(); i-- > 0;) {
    std::memcpy(changes[i].at, changes[i].before.data(), changes[i].before.size());
  }
}

}  // namespace

int main(int argc, char **argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 10000;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : seeded(30));
  const capi_test::Sampler samplers[] = {capi_test::roomy_sampler(1), capi_test::roomy_sampler(2)};
  const std::vector<Spec> all = capi_test::all_specs();
  Counts counts;
  while (counts.calls < count) {
    Call call(random_spec(&random, all));
    const sampler_t sampler = samplers[random.between(0, 7) == 0].get();
    call.reset_outputs();
    if (call.run(sampler) != SAMPLER_OK) fail(call, "nothing", sampler_last_error());
    std::vector<std::string> rows;
    for (std::int64_t row = 0; row < call.spec().num_rows; ++row)
      rows.push_back(call.output_row(row));
    for (int i = 0; i < kChangesOfACall; ++i) attack(&random, sampler, &call, rows, &counts);
  }
  std::printf("%" PRId64 " calls, %" PRId64 " rows that read what was changed are bad, %" PRId64
              " others have the same bytes\n",
              counts.calls, counts.bad_rows, counts.compared_rows);
  for (const auto &[status, number] : counts.statuses)
    std::printf("status %d: %" PRId64 " rows\n", int(status), number);
  // Where no change made a row bad, or all of them were, nothing has been looked at.
  return counts.bad_rows > counts.calls / 10 && counts.compared_rows > counts.calls ? 0 : 1;
}
