// Runs a few threads of a scenario one access at a time, in an order that somebody chooses.
#ifndef SHED_TESTS_SCHEDULE_SCHEDULER_H_
#define SHED_TESTS_SCHEDULE_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>

#include "fiber.h"
#include "scenario.h"
#include "sharing.h"

namespace shed::schedule {

enum class Op : std::uint8_t {
  kStart,
  kWork,
  kLoad,
  kStore,
  kExchange,
  kChange,  // fetch_add and its kin.
  kCas,
  kWeakCas,
  kLock,  // From here on: of a mutex.
  kTryLock,
  kUnlock,
};

// What a thread is about to do.
struct Pending {
  Op op = Op::kStart;
  const void* address = nullptr;
  std::uint64_t expected = 0;                    // By a weak compare-exchange.
  std::uint64_t (*read)(const void*) = nullptr;  // The word there; of a mutex, 0 if it is free.
};

// Says who goes on.
class Chooser {
 public:
  static constexpr int kEnough = -1;  // What follows is known: run to the end, in any order.

  virtual ~Chooser() = default;
  // Returns one of `count` (2 or more) ways on, or kEnough. Way 0 is that the thread which made the
  // last access makes another, if `may_stay`.
  virtual int Choose(int count, bool may_stay) = 0;
  // How many more accesses the thread just chosen makes without a choice, locks that are held
  // apart.
  virtual std::uint32_t Stay() { return 0; }
};

constexpr std::uint64_t MixBits(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// One for all; all on one thread of the operating system.
class Scheduler {
 public:
  struct Options {
    int spurious = 1;                      // Failures of weak compare-exchanges, per thread.
    std::uint32_t max_accesses = 200'000;  // Of one schedule; more is taken for an endless loop.
    Sharing* sharing = nullptr;            // Where a choice is due; everywhere without.
    std::string* trace = nullptr;          // Gets a line per access.
  };

  static Scheduler& Instance() {
    static Scheduler scheduler;
    return scheduler;
  }

  // Runs the scenario once. Returns what is wrong, or "".
  std::string Run(Scenario& scenario, Chooser& chooser, const Options& options) {
    scenario_ = &scenario;
    chooser_ = &chooser;
    options_ = options;
    failure_.clear();
    draining_ = broken_ = false;
    memory_ = 0;
    accesses_ = 0;
    stay_ = 0;
    current_ = 0;
    for (int i = 0; i < scenario.threads(); ++i) {
      Thread& thread = At(i);
      if (!thread.fiber) thread.fiber = std::make_unique<Fiber>(&Scheduler::Body, &thread);
      thread.index = i;
      thread.pending = {};
      thread.history = MixBits(static_cast<std::uint64_t>(i) + 1);
      thread.done = thread.fails = false;
      thread.spurious_left = options.spurious;
    }
    if (options_.sharing != nullptr) options_.sharing->Begin();
    running_ = this;
    if (Fiber* next = Decide(false)) Fiber::Switch(main_, *next);
    running_ = nullptr;
    names_.clear();
    return draining_ ? failure_ : scenario.End();
  }

  // Of the schedule that runs, or ran last.
  std::uint32_t accesses() const noexcept { return accesses_; }
  // A hash of all that the future depends on: the words that the threads share, and what each
  // thread has seen, from which follows where it stands. (Two states with one hash are as unlikely
  // as n^2 / 2^65 for n states.)
  std::uint64_t State() const {
    std::uint64_t state = memory_ ^ MixBits(scenario_->Ghost() + 1);
    for (int i = 0; i < scenario_->threads(); ++i) {
      const Thread& thread = threads_[static_cast<std::size_t>(i)];
      state = MixBits(state ^ thread.history) + static_cast<std::uint64_t>(thread.spurious_left);
    }
    return state;
  }

  // A thread of the scenario says that of all it saw, what it does from here on, and what it has
  // noted, depends on `known` alone. Without this, states that differ in what does not matter any
  // more are not taken for the same.
  static void Remember(std::initializer_list<std::uint64_t> known) {
    if (running_ == nullptr) return;
    std::uint64_t history = MixBits(static_cast<std::uint64_t>(running_->current_) + 1);
    for (const std::uint64_t bits : known) history = MixBits(history + kGolden + MixBits(bits));
    running_->At(running_->current_).history = history;
  }

  // A thread of the scenario works for a while: others may go on meanwhile. What it notes between
  // two accesses, no check sees; what it has noted before its work, checks see.
  static void Work() {
    if (running_ == nullptr) return;
    Scheduler& self = *running_;
    self.Await({.op = Op::kWork});
    self.Made(Op::kWork, nullptr, 0, 0, 0);
  }

  // A thread of the scenario complains. The first complaint counts; and none in the rest of a
  // schedule that is of no more interest, as nothing is checked there.
  static void Fail(const std::string& what) {
    Scheduler& self = Instance();
    if (self.draining_) return;
    self.failure_ = what;
    self.draining_ = true;
  }

  // While it lives, what a thread of the scenario reads is not scheduled: between two accesses, it
  // sees things as its last access left them.
  class Look {
   public:
    Look() : was_(running_) { running_ = nullptr; }
    ~Look() { running_ = was_; }
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

   private:
    Scheduler* const was_;
  };

  // For ScheduledSync. -------------------------------------------------------------------------

  // nullptr outside a schedule, and while a check looks: then nothing waits.
  static Scheduler* Running() noexcept { return running_; }
  int current() const noexcept { return current_; }
  unsigned Stripe() const noexcept {
    return static_cast<unsigned>(current_) % scenario_->stripes();
  }

  // Returns when it is this thread's turn to make the access; false if its weak compare-exchange
  // shall fail whatever it finds.
  bool Await(const Pending& pending) {
    Thread& self = At(current_);
    self.pending = pending;
    if (!draining_) {
      if (IsPrivate(self)) {
        Check();
      } else {
        SwitchTo(self, Decide(true));
      }
    }
    if (draining_) {
      if (++accesses_ > 2 * options_.max_accesses) Die("an endless loop, even without others");
      if (pending.op == Op::kLock) DrainHolder(self);
      return true;
    }
    if (!self.fails) return true;
    self.fails = false;
    --self.spurious_left;
    return false;
  }
  // A part of the access: a word goes from `before` to `after`.
  void Changes(const void* address, std::uint64_t before, std::uint64_t after) {
    const auto place = reinterpret_cast<std::uintptr_t>(address) * kGolden;
    memory_ ^= MixBits(place ^ MixBits(before)) ^ MixBits(place ^ MixBits(after));
  }
  // The access is made; the thread has learned `seen`, and nothing else.
  void Made(Op op, const void* address, std::uint64_t before, std::uint64_t after,
            std::uint64_t seen) {
    Thread& self = At(current_);
    self.history = MixBits(self.history + kGolden + MixBits(seen));
    if (options_.trace != nullptr && !draining_) Trace(op, address, before, after);
  }
  void Locked(const void* mutex) {
    if (options_.sharing != nullptr) options_.sharing->Locked(mutex, current_);
  }
  void Unlocked(const void* mutex) {
    if (options_.sharing != nullptr) options_.sharing->Unlocked(mutex, current_);
  }
  std::uint64_t history() { return At(current_).history; }
  // After a deadlock: locks hold nobody, so that all threads come to an end.
  bool broken() const noexcept { return broken_; }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

  struct Thread {
    std::unique_ptr<Fiber> fiber;
    Pending pending;
    std::uint64_t history = 0;
    int index = 0;
    int spurious_left = 0;
    bool done = false;
    bool fails = false;  // The pending compare-exchange, without a reason.
  };
  struct Way {
    int thread = 0;
    bool fails = false;
  };

  static void Body(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    Scheduler& self = Instance();
    for (;;) {
      self.current_ = thread.index;
      self.Made(Op::kStart, nullptr, 0, 0, 0);
      self.scenario_->Run(thread.index);
      thread.done = true;
      self.SwitchTo(thread, self.draining_ ? self.DrainNext() : self.Decide(false));
    }
  }

  Thread& At(int i) { return threads_[static_cast<std::size_t>(i)]; }

  // nullptr: back to Run. Returns when it is the turn of `self` again.
  void SwitchTo(Thread& self, Fiber* next) {
    if (next != self.fiber.get()) Fiber::Switch(*self.fiber, next != nullptr ? *next : main_);
    current_ = self.index;
  }

  static bool CanGo(const Thread& thread) {
    const Pending& pending = thread.pending;
    return !thread.done && (pending.op != Op::kLock || pending.read(pending.address) == 0);
  }
  static bool MayFail(const Thread& thread) {
    const Pending& pending = thread.pending;
    return !thread.done && pending.op == Op::kWeakCas && thread.spurious_left > 0 &&
           pending.read(pending.address) == pending.expected;
  }

  // Whether nobody cares when the pending access is made.
  bool IsPrivate(const Thread& self) {
    if (options_.sharing == nullptr) return false;
    const Op op = self.pending.op;
    if (op == Op::kWork) return false;
    const bool shared =
        op >= Op::kLock ? options_.sharing->UseMutex(self.pending.address, self.index)
                        : options_.sharing->Use(self.pending.address, self.index, op != Op::kLoad);
    return !shared && CanGo(self) && (op != Op::kWeakCas || self.spurious_left == 0);
  }
  void Check() {
    const Look look;
    if (const std::string wrong = scenario_->Check(current_); !wrong.empty()) Fail(wrong);
    if (++accesses_ > options_.max_accesses) Fail("an endless loop");
  }

  // Checks, and returns who makes the next access; nullptr when all are done. `waits`: the current
  // thread is not done.
  Fiber* Decide(bool waits) {
    Check();
    if (stay_ > 0 && waits && !draining_ && CanGo(At(current_))) {
      --stay_;
      return At(current_).fiber.get();
    }
    if (draining_) return waits ? At(current_).fiber.get() : DrainNext();

    std::array<Way, std::size_t{kMaxThreads} * 2> ways;
    std::size_t count = 0;
    const bool may_stay = waits && CanGo(At(current_));
    if (may_stay) ways[count++] = {current_, false};
    bool all_done = true;
    for (int i = 0; i < scenario_->threads(); ++i) {
      all_done = all_done && At(i).done;
      if ((i != current_ || !may_stay) && CanGo(At(i))) ways[count++] = {i, false};
    }
    if (all_done) return nullptr;
    if (count == 0) return DrainNext();
    for (int i = 0; i < scenario_->threads(); ++i) {
      if (MayFail(At(i))) ways[count++] = {i, true};
    }
    int choice = 0;
    if (count > 1) choice = chooser_->Choose(static_cast<int>(count), may_stay);
    if (choice == Chooser::kEnough) {
      draining_ = true;
      choice = 0;
    }
    const Way way = ways[static_cast<std::size_t>(choice)];
    stay_ = chooser_->Stay();
    At(way.thread).fails = way.fails;
    return At(way.thread).fiber.get();
  }

  // What is left of a schedule that is of no more interest is run to its end, one thread after the
  // other, so that the next one finds nothing on the stacks of the fibers.
  Fiber* DrainNext() {
    bool all_done = true;
    for (int i = 0; i < scenario_->threads(); ++i) {
      if (CanGo(At(i))) return At(i).fiber.get();
      all_done = all_done && At(i).done;
    }
    if (all_done) return nullptr;
    Fail("a deadlock");
    broken_ = true;
    for (int i = 0;; ++i) {
      if (!At(i).done) return At(i).fiber.get();
    }
  }
  void DrainHolder(Thread& self) {
    while (!broken_ && !CanGo(self)) SwitchTo(self, DrainNext());
  }
  [[noreturn]] static void Die(const char* why) {
    std::fprintf(stderr, "schedule: %s\n", why);
    std::abort();
  }

  void Trace(Op op, const void* address, std::uint64_t before, std::uint64_t after) {
    static constexpr const char* kNames[] = {"starts",   "works",    "load",  "store",
                                             "exchange", "change",   "cas",   "weak cas",
                                             "lock",     "try_lock", "unlock"};
    std::array<char, 160> line;
    int length = 0;
    if (op <= Op::kWork) {
      length = std::snprintf(line.data(), line.size(), "  thread %d %s\n", current_,
                             kNames[static_cast<std::size_t>(op)]);
    } else {
      const auto place = names_.emplace(address, names_.size()).first->second;
      length = std::snprintf(line.data(), line.size(), "  thread %d %s #%zu: %llx -> %llx\n",
                             current_, kNames[static_cast<std::size_t>(op)], place,
                             static_cast<unsigned long long>(before),
                             static_cast<unsigned long long>(after));
    }
    options_.trace->append(line.data(), static_cast<std::size_t>(length));
  }

  static inline Scheduler* running_ = nullptr;

  Scenario* scenario_ = nullptr;
  Chooser* chooser_ = nullptr;
  Options options_;
  std::string failure_;
  Fiber main_;
  std::array<Thread, kMaxThreads> threads_;
  int current_ = 0;
  bool draining_ = false;
  bool broken_ = false;
  std::uint32_t accesses_ = 0;
  std::uint32_t stay_ = 0;
  std::uint64_t memory_ = 0;                            // A hash of the shared words.
  std::unordered_map<const void*, std::size_t> names_;  // Of places, for traces.
};

}  // namespace shed::schedule

#endif  // SHED_TESTS_SCHEDULE_SCHEDULER_H_
