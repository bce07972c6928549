#include "machine.h"

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace simt {
namespace {

// Device code may count on no more for its dynamic shared memory.
constexpr std::align_val_t kSharedAlignment{16};

const char *file_name(const char *path) {
  const char *slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

std::string to_string(const Place &place) {
  return std::string(file_name(place.file)) + ":" + std::to_string(place.line);
}

// A device computes in the default environment, whatever the caller has set.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&callers_); }
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

 private:
  std::fenv_t callers_;
};

void check(const Dimensions &dimensions, const Options &options, std::size_t num_sites) {
  auto require = [](bool holds, const char *rule) {
    if (!holds) throw std::invalid_argument(std::string("simt::launch: ") + rule);
  };
  require(dimensions.num_teams > 0, "a grid has at least one team");
  require(dimensions.team_size >= 1 && dimensions.team_size <= kMaxTeamSize,
          "a team has 1 to 16 blocks");
  require(dimensions.shared_bytes <= kMaxSharedBytes, "a block has at most 227 KiB shared memory");
  require(options.skip_site == kNoSite ||
              (options.skip_site >= 0 && std::size_t(options.skip_site) < num_sites),
          "skip_site is an index into sites()");
  require(options.yield_interval >= 0, "yield_interval is not negative");
}

}  // namespace

const char *name_of(Kind kind) {
  switch (kind) {
    case Kind::kSync:
      return "sync";
    case Kind::kTeamSync:
      return "team_sync";
    case Kind::kBlockSum:
      return "block_sum";
    case Kind::kBlockMax:
      return "block_max";
    case Kind::kBlockExclusiveSum:
      return "block_exclusive_sum";
    case Kind::kBlockCount:
      return "block_count";
    case Kind::kWarpSync:
      return "warp_sync";
    case Kind::kBallot:
      return "ballot";
    case Kind::kWarpBroadcast:
      return "warp_broadcast";
    case Kind::kWarpInclusiveSum:
      return "warp_inclusive_sum";
    case Kind::kWarpSum:
      return "warp_sum";
    case Kind::kWarpMax:
      return "warp_max";
    case Kind::kWarpMatch:
      return "warp_match";
  }
  return "";
}

bool operator==(const Site &a, const Site &b) {
  return a.kind == b.kind && a.place.line == b.place.line &&
         (a.place.file == b.place.file || std::strcmp(a.place.file, b.place.file) == 0);
}

std::string to_string(const Site &site) {
  return std::string(name_of(site.kind)) + " at " + to_string(site.place);
}

const std::vector<Site> &sites() {
  return Machine::instance().sites();
}

// ---- Shared memory ------------------------------------------------------------------------------

SharedMemory::SharedMemory(std::size_t bytes)
    : data_(static_cast<std::byte *>(::operator new(bytes, kSharedAlignment))), num_bytes_(bytes) {
  sanitizers::forbid_access(data_, num_bytes_);
}

SharedMemory::~SharedMemory() {
  sanitizers::allow_access(data_, num_bytes_);
  ::operator delete(data_, kSharedAlignment);
}

void SharedMemory::open(std::uint64_t garbage) {
  sanitizers::allow_access(data_, num_bytes_);
  fill(garbage);
}

void SharedMemory::close(std::uint64_t garbage) {
  fill(garbage);
  sanitizers::forbid_access(data_, num_bytes_);
}

void SharedMemory::fill(std::uint64_t garbage) {
  for (std::size_t i = 0; i < num_bytes_; i += sizeof garbage) {
    std::memcpy(data_ + i, &garbage, std::min(sizeof garbage, num_bytes_ - i));
  }
}

// ---- Launch -------------------------------------------------------------------------------------

// Never destroyed: the stacks of its fibers are never unwound.
Machine &Machine::instance() {
  static Machine *const machine = new Machine;
  return *machine;
}

void Machine::launch(const Dimensions &dimensions, std::uint64_t seed, const Options &options,
                     const Body &body) {
  if (body_ != nullptr) throw std::logic_error("simt::launch within a launch");
  check(dimensions, options, sites_.size());
  const DefaultFloatingPoint floating_point;
  dimensions_ = dimensions;
  seed_ = seed;
  options_ = options;
  skipped_.reset();
  if (options.skip_site != kNoSite) skipped_ = sites_[std::size_t(options.skip_site)];
  random_ = Random(seed);
  num_pauses_ = 0;
  lay_out_team();

  std::vector<std::int64_t> teams(std::size_t(dimensions.num_teams));
  std::iota(teams.begin(), teams.end(), 0);
  body_ = &body;
  for (std::size_t left = teams.size(); left > 0 && !failure_; --left) {
    std::swap(teams[left - 1], teams[random_.below(left)]);
    run_team(teams[left - 1]);
  }
  body_ = nullptr;
  blocks_.clear();
  unfenced_.arrive();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Machine::lay_out_team() {
  const int team_threads = dimensions_.num_threads * dimensions_.team_size;
  while (int(threads_.size()) < team_threads) {
    threads_.push_back(std::make_unique<Thread>(this, int(threads_.size()), serve));
  }
  blocks_.clear();
  blocks_.resize(std::size_t(dimensions_.team_size));
  for (int rank = 0; rank < dimensions_.team_size; ++rank) {
    blocks_[std::size_t(rank)].rank = rank;
    blocks_[std::size_t(rank)].shared = std::make_unique<SharedMemory>(dimensions_.shared_bytes);
  }
  scopes_.clear();
  for (const int size : {kWarpSize, dimensions_.num_threads, team_threads}) {
    for (int first = 0; first < team_threads; first += size) {
      Scope scope;
      scope.first = first;
      scope.num_threads = size;
      scopes_.push_back(scope);
    }
  }
}

void Machine::run_team(std::int64_t team) {
  team_ = team;
  reset_team();
  sanitizers::release(&begin_token_);
  {
    const sanitizers::Unwatched unwatched;
    run_until_done();
    if (failure_) unwind_threads();
  }
  sanitizers::acquire(&end_token_);
}

void Machine::reset_team() {
  num_ended_ = 0;
  for (Block &block : blocks_) block.num_started = block.num_ended = 0;
  for (Scope &scope : scopes_) scope.num_arrived = 0;
  const int team_threads = scopes_.back().num_threads;
  for (int ordinal = 0; ordinal < team_threads; ++ordinal) {
    Thread &thread = *threads_[std::size_t(ordinal)];
    thread.index = ordinal % dimensions_.num_threads;
    thread.state = Thread::State::kNotStarted;
    thread.block = &blocks_[std::size_t(ordinal / dimensions_.num_threads)];
    thread.waits_in = nullptr;
    thread.input = 0;
    thread.copies.clear();
  }
  ready_.clear();
  make_ready(0, team_threads);
  draw_order();
  draw_ticks();
}

void Machine::run_until_done() {
  while (!failure_ && num_ended_ < scopes_.back().num_threads) {
    if (Thread *next = take_ready()) {
      caller_.switch_to(next->fiber);
    } else {
      failure_ = std::make_exception_ptr(stuck());
    }
  }
}

void Machine::unwind_threads() {
  for (const auto &thread : threads_) {
    if (thread->state == Thread::State::kStarted) caller_.switch_to(thread->fiber);
  }
}

// ---- The life of a thread -----------------------------------------------------------------------

Thread::Thread(Machine *its_machine, int its_ordinal, void (*body)(void *))
    : machine(its_machine), ordinal(its_ordinal), fiber(its_ordinal, body, this) {}

// A fiber is used again by thread after thread.
void Machine::serve(void *thread) {
  Thread &self = *static_cast<Thread *>(thread);
  Machine &machine = *self.machine;
  for (;;) {
    machine.start(self);
    machine.run_body(self);
    machine.end(self);
  }
}

void Machine::start(Thread &self) {
  const sanitizers::Unwatched unwatched;
  sanitizers::acquire(&begin_token_);
  self.state = Thread::State::kStarted;
  if (self.block->num_started++ == 0) self.block->shared->open(random_.next());
}

void Machine::run_body(Thread &self) {
  try {
    (*body_)(self);
  } catch (const GivenUp &) {
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

void Machine::end(Thread &self) {
  const sanitizers::Unwatched unwatched;
  sanitizers::release(&end_token_);
  self.state = Thread::State::kEnded;
  unfenced_.take(&self.publications);
  ++num_ended_;
  num_pauses_ = 0;
  if (++self.block->num_ended == dimensions_.num_threads) {
    unfenced_.take(&self.block->publications);
    self.block->shared->close(random_.next());
  }
  Thread *next = failure_ ? nullptr : take_ready();
  self.fiber.switch_to(next == nullptr ? caller_ : next->fiber);
}

// ---- Meetings -----------------------------------------------------------------------------------

std::uint64_t Machine::meet(Thread &self, const Site &site, std::uint64_t input, int source_lane) {
  const sanitizers::Unwatched unwatched;
  Scope &scope = scope_of(self, site.kind);
  self.input = input;
  self.source_lane = source_lane;
  if (skipped_ && *skipped_ == site) {
    self.total = combine(scope, site.kind, [&](Thread &thread, std::uint64_t output) {
      if (&thread == &self) self.output = output;
    });
    return self.output;
  }

  arrive(self, scope, site);
  char *token = &scope.tokens[scope.round % 2];
  if (is_barrier(site.kind)) sanitizers::release(token);
  if (scope.num_arrived == scope.num_threads) release(scope);
  suspend(self);
  if (is_barrier(site.kind)) sanitizers::acquire(token);
  return self.output;
}

void Machine::fence(Thread &self) {
  self.block->publications.arrive();
  self.publications.arrive();
  const sanitizers::Unwatched unwatched;
  sanitizers::release(&self.block->fence_token);
  for (Block &block : blocks_) {
    if (&block != self.block) sanitizers::acquire(&block.fence_token);
  }
}

Scope &Machine::scope_of(const Thread &thread, Kind kind) {
  if (kind == Kind::kTeamSync) return scopes_.back();
  if (is_of_warp(kind)) return scopes_[std::size_t(thread.ordinal / kWarpSize)];
  return scopes_[scopes_.size() - 1 - blocks_.size() + std::size_t(thread.block->rank)];
}

void Machine::arrive(Thread &self, Scope &scope, const Site &site) {
  if (scope.num_arrived == 0) {
    scope.site = site;
    if (is_barrier(site.kind) && std::find(sites_.begin(), sites_.end(), site) == sites_.end()) {
      sites_.push_back(site);
    }
  } else if (!(scope.site == site)) {
    throw error_at(ErrorKind::kDivergence, site.place, self,
                   describe(self) + " comes to " + to_string(site) + ", but " +
                       describe(member_of(scope, true)));
  }
  ++scope.num_arrived;
  self.waits_in = &scope;
}

// The last thread has arrived: hands out the results.
void Machine::release(Scope &scope) {
  const std::uint64_t total = combine(
      scope, scope.site.kind, [](Thread &thread, std::uint64_t output) { thread.output = output; });
  ++scope.round;
  scope.num_arrived = 0;
  for (int ordinal = scope.first; ordinal < scope.first + scope.num_threads; ++ordinal) {
    Thread &thread = *threads_[std::size_t(ordinal)];
    thread.input = 0;
    thread.total = total;
    thread.waits_in = nullptr;
    if (is_barrier(scope.site.kind) && !is_of_warp(scope.site.kind)) {
      thread.block->publications.take(&thread.publications);
    }
  }
  num_pauses_ = 0;
  make_ready(scope.first, scope.num_threads);
  if (is_barrier(scope.site.kind)) draw_order();
}

// Computes what the threads get of their inputs; returns the total where there is one.
template <class Deliver>
std::uint64_t Machine::combine(const Scope &scope, Kind kind, const Deliver &deliver) const {
  const auto *first = threads_.data() + scope.first;
  const auto *end = first + scope.num_threads;
  std::uint64_t total = 0;
  switch (kind) {
    case Kind::kSync:
    case Kind::kTeamSync:
    case Kind::kWarpSync:
      break;
    case Kind::kBlockSum:
    case Kind::kBlockCount:
    case Kind::kWarpSum:
      for (auto *thread = first; thread != end; ++thread) total += (*thread)->input;
      for (auto *thread = first; thread != end; ++thread) deliver(**thread, total);
      break;
    case Kind::kBlockMax:
    case Kind::kWarpMax:
      for (auto *thread = first; thread != end; ++thread) {
        total = std::max(total, (*thread)->input);
      }
      for (auto *thread = first; thread != end; ++thread) deliver(**thread, total);
      break;
    case Kind::kBlockExclusiveSum:
      for (auto *thread = first; thread != end; ++thread) {
        deliver(**thread, total);
        total += (*thread)->input;
      }
      break;
    case Kind::kBallot:
      for (auto *thread = first; thread != end; ++thread) {
        total |= (*thread)->input << (thread - first);
      }
      for (auto *thread = first; thread != end; ++thread) deliver(**thread, total);
      break;
    case Kind::kWarpBroadcast:
      for (auto *thread = first; thread != end; ++thread) {
        deliver(**thread, first[(*thread)->source_lane]->input);
      }
      break;
    case Kind::kWarpMatch:
      for (auto *thread = first; thread != end; ++thread) {
        std::uint64_t lanes = 0;
        for (auto *other = first; other != end; ++other) {
          if ((*other)->input == (*thread)->input) lanes |= std::uint64_t(1) << (other - first);
        }
        deliver(**thread, lanes);
      }
      break;
    case Kind::kWarpInclusiveSum:
      for (auto *thread = first; thread != end; ++thread) {
        total += (*thread)->input;
        deliver(**thread, total);
      }
      break;
  }
  return total;
}

// ---- Order --------------------------------------------------------------------------------------

// Upwards or downwards, which matters where they are taken from the end.
void Machine::make_ready(int first, int num_threads) {
  const bool is_downwards = random_.below(2) == 0;
  for (int i = 0; i < num_threads; ++i) {
    const int ordinal = first + (is_downwards ? num_threads - 1 - i : i);
    ready_.push_back(threads_[std::size_t(ordinal)].get());
  }
}

// Any thread that can run, the warp that was let go last, or one by one from an end: what one order
// hides, another shows.
void Machine::draw_order() {
  constexpr std::size_t kWindows[] = {std::numeric_limits<std::uint32_t>::max(), kWarpSize, 1};
  const std::size_t draw = random_.below(4);
  window_ = kWindows[draw < 2 ? 0 : draw - 1];
}

void Machine::draw_ticks() {
  ticks_until_yield_ =
      options_.yield_interval == 0
          ? std::numeric_limits<std::int64_t>::max()
          : std::int64_t(1 + random_.below(4 * std::size_t(options_.yield_interval)));
}

Thread *Machine::take_ready() {
  if (ready_.empty()) return nullptr;
  const std::size_t window = std::min(window_, ready_.size());
  if (window > 1) std::swap(ready_.back(), ready_[ready_.size() - 1 - random_.below(window)]);
  Thread *thread = ready_.back();
  ready_.pop_back();
  return thread;
}

void Machine::suspend(Thread &self) {
  Thread *next = take_ready();
  if (next == &self) return;
  self.fiber.switch_to(next == nullptr ? caller_ : next->fiber);
  if (failure_) throw GivenUp();
}

void Machine::yield(Thread &self) {
  const sanitizers::Unwatched unwatched;
  draw_ticks();
  ready_.push_back(&self);
  std::swap(ready_.back(), ready_[random_.below(ready_.size())]);
  suspend(self);
}

void Machine::pause(Thread &self, Place place) {
  constexpr std::int64_t kPausesOfAThread = 1000;
  const sanitizers::Unwatched unwatched;
  if (++num_pauses_ > kPausesOfAThread * scopes_.back().num_threads) {
    fail(ErrorKind::kEndlessWait, place, self, "what it waits for does not come");
  }
  yield(self);
}

// ---- Errors -------------------------------------------------------------------------------------

void Machine::fail(ErrorKind kind, Place place, const Thread &self, const std::string &what) const {
  throw error_at(kind, place, self, what);
}

Error Machine::error_at(ErrorKind kind, Place place, const Thread &thread,
                        const std::string &what) const {
  const Where where{place, team_, thread.block->rank, thread.index};
  return Error(kind, where,
               to_string(place) + ": " + what + " (block " + std::to_string(where.rank) +
                   ", thread " + std::to_string(where.thread) + ", team " +
                   std::to_string(where.team) + ", seed " + std::to_string(seed_) + ")");
}

std::string Machine::describe(const Thread &thread) const {
  std::string text =
      "thread " + std::to_string(thread.index) + " of block " + std::to_string(thread.block->rank);
  if (thread.state == Thread::State::kEnded) return text + " has ended";
  if (thread.waits_in != nullptr) text += " is in " + to_string(thread.waits_in->site);
  return text;
}

const Thread &Machine::member_of(const Scope &scope, bool is_waiting_in_it) const {
  const auto *first = threads_.data() + scope.first;
  return **std::find_if(first, first + scope.num_threads, [&](const auto &thread) {
    return (thread->waits_in == &scope) == is_waiting_in_it;
  });
}

// No thread can run, but not all have ended: the smallest scope that misses a thread says why.
Error Machine::stuck() const {
  const Scope &scope = *std::find_if(scopes_.begin(), scopes_.end(),
                                     [](const Scope &one) { return one.num_arrived > 0; });
  const Thread &waiting = member_of(scope, true);
  const Thread &missing = member_of(scope, false);
  const bool has_ended = missing.state == Thread::State::kEnded;
  return error_at(has_ended ? ErrorKind::kEndedThread : ErrorKind::kDivergence, scope.site.place,
                  waiting, describe(waiting) + ", but " + describe(missing));
}

}  // namespace simt
