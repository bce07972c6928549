#include "unmasking.h"

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "runtime.h"

namespace gpu_check {

namespace {

// One block of memory: what a call reads, then what it writes.
struct Layout {
  int64_t num_rows, num_blocks;
  size_t offsets, scores, candidates, slots, tokens, changes, confidences, counts, end;

  Layout(int64_t rows, int64_t blocks) : num_rows(rows), num_blocks(blocks) {
    const auto words = [&](int64_t count) { return size_t(count) * 4; };
    offsets = 0;
    scores = size_t(blocks + 1) * 8;
    candidates = scores + words(2 * rows);
    slots = candidates + words(rows);
    tokens = slots + words(rows);
    confidences = tokens + words(rows);
    counts = confidences + words(rows);
    changes = counts + words(4 * blocks);
    end = changes + size_t(rows);
  }
};

sampler_unmask_args args_of(const Layout &layout, unsigned char *memory) {
  sampler_unmask_args args = {};
  args.struct_size = sizeof args;
  const auto at = [&](size_t offset) { return static_cast<void *>(memory + offset); };
  const auto count = [&](int64_t which) {
    return static_cast<int32_t *>(at(layout.counts + size_t(which * layout.num_blocks) * 4));
  };
  args.num_rows = layout.num_rows;
  args.num_blocks = layout.num_blocks;
  args.block_offsets = static_cast<const int64_t *>(at(layout.offsets));
  args.candidate_token_ids = at(layout.candidates);
  args.slots = static_cast<const int32_t *>(at(layout.slots));
  args.token_ids = at(layout.tokens);
  args.out_changes = static_cast<uint8_t *>(at(layout.changes));
  args.out_confidences = static_cast<float *>(at(layout.confidences));
  args.out_committed_counts = count(0);
  args.out_edited_counts = count(1);
  args.out_masked_counts = count(2);
  args.out_block_status = reinterpret_cast<sampler_row_status *>(count(3));
  return args;
}

void run(sampler_t sampler, const sampler_unmask_args &args) {
  if (sampler_unmask(sampler, &args) != SAMPLER_OK) throw std::runtime_error(sampler_last_error());
}

}  // namespace

std::string difference_in_unmasking(sampler_t cpu, sampler_t device, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  std::vector<int64_t> offsets(1);
  const int64_t longest = seed % 5 == 0 ? 3000 : seed % 2 == 0 ? 33 : 300;
  for (int64_t i = 1 + below(200); i > 0; --i) offsets.push_back(offsets.back() + below(longest));
  const Layout layout(offsets.back() + 1, int64_t(offsets.size()) - 1);
  std::vector<unsigned char> host(layout.end, 0x77);
  std::memcpy(host.data(), offsets.data(), offsets.size() * 8);
  for (int64_t row = 0; row < layout.num_rows; ++row) {
    const int32_t candidate = int32_t(below(10)) - (below(20) == 0 ? 11 : 0);
    const int32_t token = below(4) == 0 ? int32_t(below(9)) : 9, slot = int32_t(below(5));
    const bool is_bad = below(16) == 0;
    const float scores[2] = {is_bad ? NAN : float(below(64)) * -0.05f, float(below(64)) * -0.07f};
    std::memcpy(&host[layout.candidates + size_t(row) * 4], &candidate, 4);
    std::memcpy(&host[layout.tokens + size_t(row) * 4], &token, 4);
    std::memcpy(&host[layout.slots + size_t(row) * 4], &slot, 4);
    std::memcpy(&host[layout.scores + size_t(row) * 8], scores, 8);
  }
  const DeviceMemory there(layout.end);
  CUDA_CHECK(cudaMemcpy(there.data(), host.data(), layout.end, cudaMemcpyHostToDevice));

  const auto confidence = sampler_confidence(seed % 6);
  const bool is_scored = confidence <= SAMPLER_CONFIDENCE_GIVEN;
  sampler_unmask_params params = {};
  params.struct_size = sizeof params;
  params.mask_token_id = 9;
  params.confidence = confidence;
  if (is_scored) {
    params.order_temperature = seed % 4 == 1 ? 0.7f : 0;
    params.edit_threshold = seed % 3 == 0 ? 0.25f : 0;
    params.threshold = seed % 5 == 2 ? 0.5f : 0;
  }
  if (confidence == SAMPLER_CONFIDENCE_ENTROPY) params.entropy_bound = 2;
  params.num_committed = int32_t(seed % 7);
  params.num_steps_left = int32_t(seed % 9);
  const auto complete = [&](sampler_unmask_args args, unsigned char *memory) {
    args.params = &params;
    if (is_scored) {
      args.scores = reinterpret_cast<const float *>(memory + layout.scores);
      args.score_stride = 2;
    }
    args.num_slots = 4;  // one row in five has none
    args.random.seed = seed;
    return args;
  };
  run(device, complete(args_of(layout, there.data()), there.data()));
  run(cpu, complete(args_of(layout, host.data()), host.data()));
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<unsigned char> back(layout.end);
  CUDA_CHECK(cudaMemcpy(back.data(), there.data(), layout.end, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < layout.end; ++i) {
    if (back[i] == host[i]) continue;
    return "unmasking, seed " + std::to_string(seed) + ": byte " + std::to_string(i) + " of " +
           std::to_string(layout.end) + " differs";
  }
  return {};
}

}  // namespace gpu_check
