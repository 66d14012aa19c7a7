// The stores to global memory that host threads have recorded and not yet made.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace gpuemu::emulator {

/// Names each by the segment that makes it (global_races.h). Outlives a launch, because clearing
/// it takes as long as a small one. Thread-safe.
class PendingStores {
 public:
  /// Call begin() when a store is recorded, and end() on the same thread when it is made.
  void begin(uint32_t segment) {
    slots_[host_thread()].segment.store(segment, std::memory_order_relaxed);
  }
  /// The place of the calling thread, which code may write instead.
  std::atomic<uint32_t>* place() { return &slots_[host_thread()].segment; }
  void end() { slots_[host_thread()].segment.store(0, std::memory_order_release); }
  bool any_of(uint32_t segment) const {
    return std::ranges::any_of(slots_, [&](const Slot& slot) {
      return slot.segment.load(std::memory_order_acquire) == segment;
    });
  }

 private:
  static constexpr uint32_t kSlots = 64;  ///< More host threads than this share slots.
  struct alignas(64) Slot {
    std::atomic<uint32_t> segment = 0;
  };

  static uint32_t host_thread() {
    static std::atomic<uint32_t> threads = 0;
    thread_local const uint32_t own = threads.fetch_add(1, std::memory_order_relaxed) % kSlots;
    return own;
  }

  std::array<Slot, kSlots> slots_;
};

}  // namespace gpuemu::emulator
