// A lock for critical sections of a few instructions. Costs half as much as std::mutex, which in a
// program with several threads would dominate the cost of an allocation.
#pragma once

#include <atomic>
#include <thread>

namespace gpuemu::memory {

class SpinLock {
 public:
  void lock() {
    int tries = 0;
    while (is_held_.exchange(true, std::memory_order_acquire)) {
      // The owner may be allocating from the device: let other threads run.
      while (is_held_.load(std::memory_order_relaxed)) {
        if (++tries > kTriesBeforeYield) std::this_thread::yield();
      }
    }
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  /// About a microsecond, longer than a critical section without a device call.
  static constexpr int kTriesBeforeYield = 1000;
  std::atomic<bool> is_held_ = false;
};

}  // namespace gpuemu::memory
