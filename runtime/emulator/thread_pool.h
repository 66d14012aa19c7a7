// Threads kept from launch to launch, because starting one takes longer than a small launch.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/processors.h"

namespace gpuemu::emulator {

class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Lets threads of the pool begin too. Called at most once; empty on those threads.
  using CallOthers = std::function<void()>;
  using Work = std::function<void(const CallOthers& call_others)>;
  /// Runs `work` on the calling thread and, once that calls for them, on up to `count` threads of
  /// the pool, in the default floating-point mode. Threads that wake up after it is done skip it.
  /// Returns when none runs it any more. One caller at a time.
  void run(uint32_t count, const Work& work);

 private:
  void serve(const std::stop_token& stop);
  void start(uint32_t count);
  void call(uint32_t count, const Work& work);

  std::mutex mutex_;  ///< Guards the members below, except threads_.
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  const Work* work_ = nullptr;
  uint32_t wanted_ = 0;  ///< Threads of the pool that may still start.
  uint32_t busy_ = 0;
  int beside_ = -1;  ///< The core that the pool's threads were kept off.
  const cpu_set_t allowed_ =
      allowed_processors();            ///< Processors of the thread that made the pool.
  std::vector<std::jthread> threads_;  ///< Last, so that they end before the members they use are
                                       ///< destroyed.
};

}  // namespace gpuemu::emulator
