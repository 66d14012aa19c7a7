// Threads that stay from launch to launch: starting one takes longer than a small launch.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gpuemu::emulator {

class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Runs `work` here and on up to `count` thread_pool, which begin when they wake up: those that
  /// find it done leave it alone. Returns when nobody runs it any more. One thread at a time.
  void run(uint32_t count, const std::function<void()>& work);

 private:
  void serve(const std::stop_token& stop);
  void start(uint32_t count);

  std::mutex mutex_;  ///< Guards what follows, but for threads_.
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  const std::function<void()>* work_ = nullptr;
  uint32_t wanted_ = 0;  ///< ThreadPool that may still begin.
  uint32_t busy_ = 0;
  int beside_ = -1;                    ///< The processor that the thread_pool were kept off.
  std::vector<std::jthread> threads_;  ///< Last: they end before what they use.
};

}  // namespace gpuemu::emulator
