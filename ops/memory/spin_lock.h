// A lock for sections that are nearly always a few instructions long: half of what std::mutex
// costs, which in a program with several threads would be most of what an allocation costs.
#pragma once

#include <atomic>
#include <thread>

namespace gpuemu::memory {

class SpinLock {
 public:
  void lock() {
    int tries = 0;
    while (is_held_.exchange(true, std::memory_order_acquire)) {
      // Whoever holds it may be asking the device for memory: let others run meanwhile.
      while (is_held_.load(std::memory_order_relaxed)) {
        if (++tries > kTriesBeforeYield) std::this_thread::yield();
      }
    }
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  /// About a microsecond, longer than a section that asks nobody.
  static constexpr int kTriesBeforeYield = 1000;
  std::atomic<bool> is_held_ = false;
};

}  // namespace gpuemu::memory
