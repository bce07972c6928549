// The machine that runs simt.h: a fiber per thread of a team, run one at a time in random order,
// and what they meet in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fiber.h"
#include "sanitizers.h"

namespace simt {

constexpr int kWarpSize = 32;
constexpr int kMaxThreads = 1024;                                // of a block
constexpr int kMaxTeamSize = 16;                                 // blocks
constexpr std::size_t kMaxSharedBytes = std::size_t{227} << 10;  // of a block

// What threads meet in. Up to kWarpSync they are barriers: what a thread wrote before, the others
// see after. From there on they are the warp's.
enum class Kind : std::uint8_t {
  kSync,
  kTeamSync,
  kBlockSum,
  kBlockMax,
  kBlockExclusiveSum,
  kBlockCount,
  kWarpSync,
  kBallot,
  kWarpBroadcast,
  kWarpInclusiveSum,
  kWarpSum,
  kWarpMax,
  kWarpMatch,
};

constexpr bool is_barrier(Kind kind) {
  return kind <= Kind::kWarpSync;
}
constexpr bool is_of_warp(Kind kind) {
  return kind >= Kind::kWarpSync;
}

// The Context's name for it: "team_sync".
const char *name_of(Kind kind);

// A line of device code. As a default argument, here() is the line of the call.
struct Place {
  const char *file = "";
  int line = 0;

  static constexpr Place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// A meeting in the text of a kernel. Two of one kind on one line are one site.
struct Site {
  Kind kind = Kind::kSync;
  Place place;
};

bool operator==(const Site &a, const Site &b);

// "team_sync at passes.cuh:40"
std::string to_string(const Site &site);

// The barriers that the launches of this process have reached, in the order of first appearance:
// the same launches with the same seeds give the same order.
const std::vector<Site> &sites();

constexpr int kNoSite = -1;

struct Options {
  // Index into sites() of a barrier that makes nobody wait: threads run on through a sync,
  // team_sync or warp_sync, and leave a block's collective with what its threads have put in so
  // far.
  int skip_site = kNoSite;

  // A thread lets others run at about one in yield_interval atomics and vector accesses, before or
  // after it; 0 for never. Otherwise it runs until it has to wait.
  int yield_interval = 16;
};

enum class ErrorKind : std::uint8_t {
  kDivergence,     // threads that have to meet are in different places
  kEndedThread,    // threads wait for one that has ended
  kSharedSize,     // shared<T>() of a T larger than the launch's shared memory
  kPeerRank,       // no such block in the team
  kPeerAddress,    // peer() of something outside of the block's own shared memory
  kSharedAddress,  // load_shared() or add_to_shared() of something outside of the block's own
                   // shared memory
  kMisaligned,     // a vector access at an address that is no multiple of its size
  kLane,           // a broadcast from a lane that no warp has
  kWarpSum,        // warp_sum() of a number too large for it
  kEndlessWait,    // threads wait for what no thread that runs will publish
};

// Where a thread was when it broke a rule.
struct Where {
  Place place;
  std::int64_t team = 0;
  int rank = 0;    // of the block in its team
  int thread = 0;  // of the block
};

// Thrown out of launch() when device code breaks a rule of the machine.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const Where &where, const std::string &message)
      : std::runtime_error(message), kind_(kind), where_(where) {}

  ErrorKind kind() const { return kind_; }
  const Where &where() const { return where_; }

 private:
  ErrorKind kind_;
  Where where_;
};

struct Dimensions {
  std::int64_t num_teams = 0;
  int team_size = 0;    // blocks
  int num_threads = 0;  // of a block
  std::size_t shared_bytes = 0;
  // Not 0: teams stand for groups of single blocks that run at once, num_blocks in all.
  std::int64_t num_blocks = 0;
};

// splitmix64
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  // In [0, limit), limit <= 2^32.
  std::size_t below(std::size_t limit) { return std::size_t(((next() >> 32) * limit) >> 32); }

 private:
  std::uint64_t state_;
};

// The dynamic shared memory of a block, of exactly as many bytes as the launch asks for. It is
// there while the block runs: filled with garbage at the begin and at the end, and to
// AddressSanitizer no memory at all before and after.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  void open(std::uint64_t garbage);
  void close(std::uint64_t garbage);

  std::byte *data() const { return data_; }
  std::size_t num_bytes() const { return num_bytes_; }

 private:
  void fill(std::uint64_t garbage);

  std::byte *data_;
  std::size_t num_bytes_;
};

// The threads of a warp, a block or a team, and what they meet in.
struct Scope {
  int first = 0;  // ordinal of the first thread
  int num_threads = 0;
  int num_arrived = 0;
  Site site;

  // What orders accesses for ThreadSanitizer. One for every other meeting, so that a thread that
  // leaves one is not ordered after the arrivals at the next.
  int round = 0;
  char tokens[2] = {};
};

class Machine;

// Asynchronous copies of a thread, in groups. Each arrives when it is started or when it is waited
// for.
class Copies {
 public:
  void clear() {
    const sanitizers::Unwatched unwatched;
    copies_.clear();
    groups_.clear();
    num_open_ = 0;
  }

  void start(void *to, const void *from, std::size_t bytes) {
    const sanitizers::Unwatched unwatched;
    copies_.push_back({to, from, bytes});
    ++num_open_;
  }

  void commit() {
    groups_.push_back(num_open_);
    num_open_ = 0;
  }

  void wait(std::size_t pending) {
    for (; groups_.size() > pending; groups_.pop_front()) {
      for (std::size_t i = 0; i < groups_.front(); ++i) {
        std::memcpy(copies_.front().to, copies_.front().from, copies_.front().bytes);
        copies_.pop_front();
      }
    }
  }

 private:
  struct Copy {
    void *to;
    const void *from;
    std::size_t bytes;
  };
  std::deque<Copy> copies_;
  std::deque<std::size_t> groups_;  // copies in each group that has not been waited for
  std::size_t num_open_ = 0;        // copies after the last group
};

// Stores of a thread that other teams see after its fence. Each arrives when it is made, at the
// fence, or, if there is none, when the launch is over.
class Publications {
 public:
  void add(void *to, const void *value, std::size_t bytes) {
    const sanitizers::Unwatched unwatched;
    const auto *from = static_cast<const std::byte *>(value);
    stores_.push_back({to, std::vector<std::byte>(from, from + bytes)});
  }

  void arrive() {
    for (const Store &store : stores_)
      sanitizers::store_shared(store.to, store.value.data(), store.value.size());
    const sanitizers::Unwatched unwatched;
    stores_.clear();
  }

  void take(Publications *others) {
    for (Store &store : others->stores_) stores_.push_back(std::move(store));
    others->stores_.clear();
  }

 private:
  struct Store {
    void *to;
    std::vector<std::byte> value;
  };
  std::vector<Store> stores_;
};

struct Block {
  int rank = 0;
  int num_started = 0;
  int num_ended = 0;
  std::unique_ptr<SharedMemory> shared;
  Publications publications;  // of its threads, before its last barrier
  char fence_token = 0;       // orders blocks for ThreadSanitizer
};

struct Thread {
  Thread(Machine *machine, int ordinal, void (*body)(void *));

  enum class State : std::uint8_t { kNotStarted, kStarted, kEnded };

  Machine *const machine;
  const int ordinal;  // in the team: rank * num_threads + index
  int index = 0;      // in the block
  State state = State::kEnded;
  Block *block = nullptr;
  const Scope *waits_in = nullptr;

  // What it gave to the meeting that it is in, or was in last, and what it got.
  std::uint64_t input = 0;
  int source_lane = 0;
  std::uint64_t output = 0;
  std::uint64_t total = 0;

  Copies copies;
  Publications publications;
  Fiber fiber;
};

class Machine {
 public:
  using Body = std::function<void(Thread &)>;

  static Machine &instance();

  void launch(const Dimensions &dimensions, std::uint64_t seed, const Options &options,
              const Body &body);
  const std::vector<Site> &sites() const { return sites_; }

  // The rest is for the threads of a launch.

  const Dimensions &dimensions() const { return dimensions_; }
  std::int64_t team() const { return team_; }
  const Block &block(int rank) const { return blocks_[std::size_t(rank)]; }

  // Waits for the other threads of the warp, block or team; returns self.output.
  std::uint64_t meet(Thread &self, const Site &site, std::uint64_t input = 0, int source_lane = 0);

  // Whether an asynchronous copy or a publication arrives at once.
  bool is_early() {
    const sanitizers::Unwatched unwatched;
    return random_.below(2) == 0;
  }

  // Lets the thread's publications arrive, and those of its block before its last barrier. What
  // was before a fence in one block is before what follows a later fence in another: kernels are
  // to make sure which one is later. Threads of one block have barriers for that.
  void fence(Thread &self);

  // Now and then lets others run.
  SIMT_UNWATCHED_FUNCTION void tick(Thread &self) {
    if (--ticks_until_yield_ == 0) yield(self);
  }

  // Lets others run, for one that waits for what they publish.
  void pause(Thread &self, Place place);

  [[noreturn]] void fail(ErrorKind kind, Place place, const Thread &self,
                         const std::string &what) const;

 private:
  // Unwinds a thread whose team is given up.
  struct GivenUp {};

  void lay_out_team();
  void run_team(std::int64_t team);
  void reset_team();
  void run_until_done();
  void unwind_threads();

  static void serve(void *thread);
  void start(Thread &self);
  void run_body(Thread &self);
  void end(Thread &self);

  Scope &scope_of(const Thread &thread, Kind kind);
  void arrive(Thread &self, Scope &scope, const Site &site);
  void release(Scope &scope);
  template <class Deliver>
  std::uint64_t combine(const Scope &scope, Kind kind, const Deliver &deliver) const;

  void make_ready(int first, int num_threads);
  void draw_order();
  void draw_ticks();
  Thread *take_ready();
  void suspend(Thread &self);
  void yield(Thread &self);

  std::string describe(const Thread &thread) const;
  Error error_at(ErrorKind kind, Place place, const Thread &thread, const std::string &what) const;
  const Thread &member_of(const Scope &scope, bool is_waiting_in_it) const;
  Error stuck() const;

  std::vector<Site> sites_;
  std::vector<std::unique_ptr<Thread>> threads_;  // as many as the largest team had
  Fiber caller_;

  // The launch's.
  Dimensions dimensions_;
  std::uint64_t seed_ = 0;
  Options options_;
  std::optional<Site> skipped_;
  const Body *body_ = nullptr;
  Random random_{0};
  Publications unfenced_;  // of teams that have ended
  std::vector<Block> blocks_;
  std::vector<Scope> scopes_;  // of the warps, then of the blocks, then of the team

  // The running team's.
  std::int64_t team_ = 0;
  int num_ended_ = 0;
  std::vector<Thread *> ready_;
  std::size_t window_ = 0;  // the next thread is one of the last window_ made ready
  std::int64_t ticks_until_yield_ = 0;
  std::int64_t num_pauses_ = 0;  // since a thread met others or ended
  std::exception_ptr failure_;
  char begin_token_ = 0;  // order the team's accesses and the caller's for ThreadSanitizer
  char end_token_ = 0;
};

}  // namespace simt
