// What a launch of device code costs, counted: a Context that is SimtContext and keeps books.
//
// Nothing in kernels/ knows of it. Row passes show as vectors read, copies as such, barriers and
// atomics as calls of the Context. What calls nothing, the sort, the scores and candidates' ids, is
// counted by overloads that are chosen for this Context alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "row/row.cuh"
#include "simt.h"

namespace simt_test {

struct Costs {
  uint64_t visited = 0;  // elements in the vectors that warps read, from wherever: as many as
                         // the lane that reads most; and in the same way candidates' ids
  uint64_t copied = 0;   // elements in the vectors that came from device memory
  uint64_t copied_bytes = 0;
  uint64_t compared = 0;        // pairs that sorts compare
  uint64_t atomics = 0;         // adds to shared memory, each lane's
  uint64_t atomic_steps = 0;    // the same, where lanes of a warp that add to one place take turns
  uint64_t most_turns = 0;      // of one warp at one place
  uint64_t barriers = 0;        // of the block or the team, as one thread of the leader meets them
  uint64_t team_barriers = 0;   // of these the team's
  uint64_t block_barriers = 0;  // those that the block's are in the hardware's Context
  uint64_t warp_steps = 0;      // collectives of a warp, all warps'
  uint64_t marked = 0;          // candidates' ids marked in device memory, each lane's
  uint64_t scored = 0;          // times that a warp scores a token of each lane for a Gumbel draw
  uint64_t num_left = 0;        // rows that other kernels take up

  // Adds those of another block, which runs beside this one.
  void add(const Costs &other) {
    visited += other.visited, copied += other.copied, copied_bytes += other.copied_bytes;
    compared += other.compared, atomics += other.atomics, atomic_steps += other.atomic_steps;
    warp_steps += other.warp_steps, marked += other.marked, scored += other.scored;
    most_turns = std::max(most_turns, other.most_turns);
    barriers = std::max(barriers, other.barriers);
    team_barriers = std::max(team_barriers, other.team_barriers);
    block_barriers = std::max(block_barriers, other.block_barriers);
  }
};

class Books {
 public:
  // `warp` counts over the team. Lanes that make their `turn`-th atomic after the same collective
  // or vector do so at once.
  void add_atomic(int warp, uint64_t moment, uint32_t turn, const void *address) {
    ++costs_.atomics;
    const size_t index = size_t(warp);
    if (atomics_.size() <= index) atomics_.resize(index + 1);
    atomics_[index].push_back({moment << 16 | turn, address});
  }

  // How many vectors and ids a lane read from one barrier to the next.
  void add_reads(int warp, uint64_t interval, uint64_t num_vectors, uint64_t num_ids) {
    const size_t index = size_t(warp);
    if (reads_.size() <= index) reads_.resize(index + 1);
    auto &intervals = reads_[index];
    if (intervals.size() <= interval) intervals.resize(interval + 1);
    Reads &reads = intervals[interval];
    reads.num_vectors = std::max(reads.num_vectors, num_vectors);
    reads.num_ids = std::max(reads.num_ids, num_ids);
  }

  Costs &costs() { return costs_; }

  // Once the launch is over, whose rows have elements of element_bytes.
  Costs close(int element_bytes) {
    const uint64_t elements_of_vector = sizeof(sampler::kernels::Vector) / uint64_t(element_bytes);
    for (auto &warp : atomics_) {
      std::sort(warp.begin(), warp.end(), [](const Atomic &a, const Atomic &b) {
        return a.moment != b.moment ? a.moment < b.moment : a.address < b.address;
      });
      for (size_t i = 0; i < warp.size();) {
        const uint64_t moment = warp[i].moment;
        uint64_t most = 0;
        while (i < warp.size() && warp[i].moment == moment) {
          const void *address = warp[i].address;
          uint64_t count = 0;
          for (; i < warp.size() && warp[i].moment == moment && warp[i].address == address; ++i) {
            ++count;
          }
          most = std::max(most, count);
        }
        costs_.atomic_steps += most;
        costs_.most_turns = std::max(costs_.most_turns, most);
      }
    }
    for (const auto &warp : reads_) {
      for (const Reads &reads : warp) {
        costs_.visited += (reads.num_vectors * elements_of_vector + reads.num_ids) * 32;
      }
    }
    costs_.copied = costs_.copied_bytes / uint64_t(element_bytes);
    costs_.warp_steps /= simt::kWarpSize;
    return costs_;
  }

 private:
  struct Atomic {
    uint64_t moment;
    const void *address;
  };
  struct Reads {
    uint64_t num_vectors = 0;
    uint64_t num_ids = 0;
  };

  Costs costs_;
  std::vector<std::vector<Atomic>> atomics_;
  std::vector<std::vector<Reads>> reads_;
};

template <int kThreads_>
class CountingContext : public simt::SimtContext<kThreads_> {
  using Base = simt::SimtContext<kThreads_>;
  using Place = simt::Place;
  // CUB's own barrier, and those after which all threads have the result.
  static constexpr uint64_t kBarriersOfReduction = 3;
  static constexpr uint64_t kBarriersOfScan = 2;

 public:
  CountingContext(const Base &base, std::size_t shared_bytes, Books *books)
      : Base(base), shared_bytes_(shared_bytes), books_(books) {}
  ~CountingContext() { close_interval(); }

  void sync(Place place = Place::here()) const {
    count_barrier(1);
    Base::sync(place);
  }
  void team_sync(Place place = Place::here()) const {
    count_barrier(0);
    if (is_first()) ++books_->costs().team_barriers;
    Base::team_sync(place);
  }
  std::uint64_t block_sum(std::uint64_t value, Place place = Place::here()) const {
    count_barrier(kBarriersOfReduction);
    return Base::block_sum(value, place);
  }
  std::uint64_t block_max(std::uint64_t value, Place place = Place::here()) const {
    count_barrier(kBarriersOfReduction);
    return Base::block_max(value, place);
  }
  std::uint64_t block_exclusive_sum(std::uint64_t value, std::uint64_t *total,
                                    Place place = Place::here()) const {
    count_barrier(kBarriersOfScan);
    return Base::block_exclusive_sum(value, total, place);
  }
  std::uint32_t block_count(bool predicate, Place place = Place::here()) const {
    count_barrier(1);
    return Base::block_count(predicate, place);
  }

  std::uint32_t ballot(bool predicate, Place place = Place::here()) const {
    count_collective();
    return Base::ballot(predicate, place);
  }
  std::uint64_t warp_broadcast(std::uint64_t value, int lane, Place place = Place::here()) const {
    count_collective();
    return Base::warp_broadcast(value, lane, place);
  }
  std::uint64_t warp_inclusive_sum(std::uint64_t value, Place place = Place::here()) const {
    count_collective();
    return Base::warp_inclusive_sum(value, place);
  }
  std::uint64_t warp_sum(std::uint64_t value, Place place = Place::here()) const {
    count_collective();
    return Base::warp_sum(value, place);
  }
  std::uint32_t warp_max(std::uint32_t value, Place place = Place::here()) const {
    count_collective();
    return Base::warp_max(value, place);
  }
  std::uint32_t warp_match(std::uint32_t value, Place place = Place::here()) const {
    count_collective();
    return Base::warp_match(value, place);
  }

  template <class T>
  T atomic_add(T *address, T value) const {
    if (is_shared(address)) {
      books_->add_atomic(warp_of_team(), moment_, turn_++, address);
    }
    return Base::atomic_add(address, value);
  }

  std::uint32_t atomic_or(std::uint32_t *address, std::uint32_t value) const {
    ++books_->costs().marked;
    return Base::atomic_or(address, value);
  }

  std::uint32_t atomic_max(std::uint32_t *address, std::uint32_t value) const {
    books_->add_atomic(warp_of_team(), moment_, turn_++, address);
    return Base::atomic_max(address, value);
  }

  void add_to_shared(std::uint32_t *address, std::uint32_t value,
                     Place place = Place::here()) const {
    books_->add_atomic(warp_of_team(), moment_, turn_++, address);
    Base::add_to_shared(address, value, place);
  }
  void add_to_shared(sampler::kernels::TwoWords *address, std::uint64_t value,
                     Place place = Place::here()) const {
    books_->add_atomic(warp_of_team(), moment_, turn_++, &address->low);
    books_->add_atomic(warp_of_team(), moment_, turn_++, &address->high);
    Base::add_to_shared(address, value, place);
  }

  template <class T>
  T load_vector(const T *address, Place place = Place::here()) const {
    next_moment();
    ++num_vectors_;
    if (!is_shared(address)) books_->costs().copied_bytes += sizeof(T);
    return Base::load_vector(address, place);
  }
  template <class T>
  T load_shared(const T *address, Place place = Place::here()) const {
    next_moment();
    ++num_vectors_;
    return Base::load_shared(address, place);
  }
  template <class T>
  T load_streamed(const T *address, Place place = Place::here()) const {
    return load_vector(address, place);
  }
  template <class T>
  T load_last(const T *address, Place place = Place::here()) const {
    return load_vector(address, place);
  }
  // Words are those of counters.
  template <class T>
  T load_fresh(const T *address) const {
    if constexpr (sizeof(T) < sizeof(sampler::kernels::Vector)) {
      return Base::load_fresh(address);
    } else {
      return load_vector(address);
    }
  }
  template <class T>
  void copy_async(T *shared, const T *global, Place place = Place::here()) const {
    books_->costs().copied_bytes += sizeof(T);
    Base::copy_async(shared, global, place);
  }

  void count_id() const { ++num_ids_; }

  void count_scores() const {
    if (this->lane() == 0) ++books_->costs().scored;
  }

  void count_sort(int count) const {
    if (this->thread() != 0) return;
    uint64_t size = 2, steps = 1;
    for (uint64_t log2 = 1; size < uint64_t(count); steps += ++log2) size *= 2;
    books_->costs().compared += steps * size / 2;
  }

 private:
  bool is_shared(const void *address) const {
    for (int rank = 0; rank < this->team_size(); ++rank) {
      const char *begin = this->peer(&this->template shared<char>(), rank);
      if (address >= begin && address < begin + shared_bytes_) return true;
    }
    return false;
  }

  void next_moment() const {
    ++moment_;
    turn_ = 0;
  }
  int warp_of_team() const { return this->cluster_rank() * Base::kWarps + this->warp(); }
  void close_interval() const {
    books_->add_reads(warp_of_team(), num_intervals_++, num_vectors_, num_ids_);
    num_vectors_ = num_ids_ = 0;
  }
  bool is_first() const { return this->cluster_rank() == 0 && this->thread() == 0; }
  void count_barrier(uint64_t num_block_barriers) const {
    next_moment();
    close_interval();
    if (!is_first()) return;
    ++books_->costs().barriers;
    books_->costs().block_barriers += num_block_barriers;
  }
  void count_collective() const {
    next_moment();
    ++books_->costs().warp_steps;
  }

  std::size_t shared_bytes_;
  Books *books_;
  mutable uint64_t moment_ = 0;
  mutable uint32_t turn_ = 0;
  mutable uint64_t num_intervals_ = 0;
  mutable uint64_t num_vectors_ = 0;
  mutable uint64_t num_ids_ = 0;
};

}  // namespace simt_test

namespace sampler::kernels {
struct GumbelSearch;
}

namespace simt_test {

// More specialised than the kernels' own, so that these are the ones that they call.
template <int kThreads, class Source>
int64_t id_of(CountingContext<kThreads> &ctx, const Source &source, int index) {
  if (source.ids) ctx.count_id();
  return source.id(index);
}
template <int kThreads>
uint32_t word_of_bitmap(CountingContext<kThreads> &ctx, const uint32_t *bitmap, int word) {
  ctx.count_id();
  return bitmap[word];
}
template <int kThreads>
void sort_list(CountingContext<kThreads> &ctx, uint64_t *list, int count);
template <int kThreads>
void score_contender(CountingContext<kThreads> &ctx, int index, float x, uint32_t word,
                     bool contends, sampler::kernels::GumbelSearch *search);

}  // namespace simt_test

#include "row/draw.cuh"
#include "row/selection.cuh"

namespace simt_test {

template <int kThreads>
void sort_list(CountingContext<kThreads> &ctx, uint64_t *list, int count) {
  ctx.count_sort(count);
  sampler::kernels::sort_list<CountingContext<kThreads>>(ctx, list, count);
}

template <int kThreads>
void score_contender(CountingContext<kThreads> &ctx, int index, float x, uint32_t word,
                     bool contends, sampler::kernels::GumbelSearch *search) {
  ctx.count_scores();
  sampler::kernels::score_contender<CountingContext<kThreads>>(ctx, index, x, word, contends,
                                                               search);
}

}  // namespace simt_test
