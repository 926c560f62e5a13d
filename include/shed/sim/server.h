// The service under load: workers that share their time among all calls they have.
#ifndef SHED_SIM_SERVER_H_
#define SHED_SIM_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shed/sim/random.h"
#include "shed/time.h"

namespace shed::sim {

// W workers and the calls in flight. Time is cut into slices. At the start of each, every worker
// takes another call at random and works on it until the slice ends: processor sharing, as threads
// on cores do it, so that each call takes longer the more calls are in flight. Nobody can take a
// call back: what was submitted is worked on until it is done, whether someone still waits for the
// answer or not. A call that comes in the middle of a slice waits for the next one.
//
// State: the calls lie densely, those of this slice in front (a partial Fisher-Yates shuffle puts
// them there), and a call that is done leaves by swapping with the last. There are no events inside
// a slice and none while the server is idle; a slice of one worker costs a draw and a swap, and no
// draw where there are workers enough for all.
class Server {
 public:
  // Requires workers > 0 and slice > 0.
  Server(std::uint32_t workers, Duration slice, Random random)
      : workers_(workers), slice_(slice), random_(random) {}

  // Hands in call `id`, which needs `slices` > 0 slices of work. Requires that RunUntil(now) was
  // called.
  void Submit(std::uint32_t id, std::uint32_t slices, TimePoint now) {
    if (jobs_.empty()) {
      const Duration into_slice = now.time_since_epoch() % slice_;
      boundary_ = into_slice == Duration(0) ? now : now + (slice_ - into_slice);
    }
    jobs_.push_back({id, slices});
  }

  // Works until `until`, what ends at that instant included, and calls `done(id, at)` for each call
  // that is done. `done` may submit others then.
  template <class Done>
  void RunUntil(TimePoint until, Done&& done) {
    while (boundary_ <= until && !jobs_.empty()) {
      EndSlice(done);
      StartSlice();
      boundary_ += slice_;
    }
  }

  // Calls that were submitted and are not done.
  std::size_t in_flight() const { return jobs_.size(); }
  // The work done so far, in slices.
  std::uint64_t slices_worked() const { return slices_worked_; }

 private:
  struct Job {
    std::uint32_t id;
    std::uint32_t left;  // Slices.
  };

  template <class Done>
  void EndSlice(Done&& done) {
    slices_worked_ += taken_;
    for (std::size_t i = taken_; i-- > 0;) {
      if (--jobs_[i].left != 0) continue;
      const std::uint32_t id = jobs_[i].id;
      jobs_[i] = jobs_.back();
      jobs_.pop_back();
      done(id, boundary_);
    }
  }

  void StartSlice() {
    const std::size_t n = jobs_.size();
    if (n <= workers_) {
      taken_ = n;
      return;
    }
    taken_ = workers_;
    for (std::size_t i = 0; i < taken_; ++i) {
      std::swap(jobs_[i], jobs_[i + random_.Below(static_cast<std::uint32_t>(n - i))]);
    }
  }

  std::size_t workers_;
  Duration slice_;
  Random random_;
  std::vector<Job> jobs_;
  std::size_t taken_ = 0;  // The first so many jobs have a worker in this slice.
  TimePoint boundary_{};   // Where this slice ends; means nothing while there are no jobs.
  std::uint64_t slices_worked_ = 0;
};

}  // namespace shed::sim

#endif  // SHED_SIM_SERVER_H_
