// Which places more than one thread uses.
#ifndef SHED_TESTS_SCHEDULE_SHARING_H_
#define SHED_TESTS_SCHEDULE_SHARING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "scenario.h"

namespace shed::schedule {

// What a thread does at a place that no other thread uses, or that nobody writes, or that all use
// with the same mutex held, may as well come at once after what it did before: schedules need no
// choice there. What is shared turns out as schedules run; the exploration begins again when
// something did, and is complete when nothing did.
class Sharing {
 public:
  // Notes an access to a word. Returns true if the place is known to be shared.
  bool Use(const void* address, int thread, bool writes) {
    return Use(address, thread, writes, held_[static_cast<std::size_t>(thread)]);
  }
  // The same for an access to a mutex.
  bool UseMutex(const void* mutex, int thread) { return Use(mutex, thread, true, 0); }
  void Locked(const void* mutex, int thread) {
    held_[static_cast<std::size_t>(thread)] |= BitOf(mutex);
  }
  void Unlocked(const void* mutex, int thread) {
    held_[static_cast<std::size_t>(thread)] &= ~BitOf(mutex);
  }
  // A schedule begins: no mutex is held.
  void Begin() { held_ = {}; }
  // Makes known what was found since the last time. Returns false if nothing was.
  bool Learn() {
    if (!std::exchange(found_, false)) return false;
    for (Place& place : places_) place.known = place.IsShared();
    return true;
  }

 private:
  struct Place {
    const void* address = nullptr;
    std::uint32_t threads = 0;               // That used it: a bit for each.
    std::uint64_t held = ~std::uint64_t{0};  // The mutexes held at every access.
    bool written = false;
    bool known = false;  // To be shared.

    bool IsShared() const noexcept {
      return (threads & (threads - 1)) != 0 && written && held == 0;
    }
  };

  bool Use(const void* address, int thread, bool writes, std::uint64_t held) {
    if (size_ * 2 >= places_.size()) Grow();
    Place& place = Find(address);
    if (place.address == nullptr) {
      place.address = address;
      ++size_;
    }
    place.threads |= 1u << thread;
    place.held &= held;
    place.written = place.written || writes;
    if (!place.known && place.IsShared()) found_ = true;
    return place.known;
  }
  // Mutexes after the first 64 count as one that is never held.
  std::uint64_t BitOf(const void* mutex) {
    std::size_t i = 0;
    while (i < mutexes_.size() && mutexes_[i] != mutex) ++i;
    if (i == mutexes_.size()) mutexes_.push_back(mutex);
    return i < 64 ? std::uint64_t{1} << i : 0;
  }

  Place& Find(const void* address) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15 >> 32 & mask;
    while (places_[i].address != nullptr && places_[i].address != address) i = (i + 1) & mask;
    return places_[i];
  }
  void Grow() {
    std::vector<Place> old = std::move(places_);
    places_.assign(old.empty() ? 1024 : old.size() * 2, {});
    for (const Place& place : old) {
      if (place.address != nullptr) Find(place.address) = place;
    }
  }

  std::size_t size_ = 0;
  bool found_ = false;
  std::vector<Place> places_;
  std::vector<const void*> mutexes_;
  std::array<std::uint64_t, kMaxThreads> held_{};  // By each thread.
};

}  // namespace shed::schedule

#endif  // SHED_TESTS_SCHEDULE_SHARING_H_
