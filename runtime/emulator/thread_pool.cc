#include "runtime/emulator/thread_pool.h"

#include <sched.h>

#include "runtime/emulator/float_mode.h"

namespace gpuemu::emulator {

void ThreadPool::start(uint32_t count) {
  const size_t before = threads_.size();
  while (threads_.size() < count) {
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
  }
  const int here = ::sched_getcpu();
  if (here == beside_ && threads_.size() == before) return;
  for (std::jthread& thread : threads_) {
    keep_off_my_processor(thread.native_handle(), allowed_);
  }
  beside_ = here;
}

void ThreadPool::call(uint32_t count, const Work& work) {
  start(count);
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    wanted_ = count;
  }
  wake_.notify_one();
}

void ThreadPool::run(uint32_t count, const Work& work) {
  const FloatMode mode;
  if (count == 0) return work({});
  bool called = false;
  work([&] {
    called = true;
    call(count, work);
  });
  if (!called) return;
  std::unique_lock lock(mutex_);
  wanted_ = 0;
  idle_.wait(lock, [this] { return busy_ == 0; });
  work_ = nullptr;
}

void ThreadPool::serve(const std::stop_token& stop) {
  name_device_thread();
  const FloatMode mode;  // A thread begins with that of the one that started it.
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return wanted_ != 0; })) {
    --wanted_;
    ++busy_;
    const Work& work = *work_;
    lock.unlock();
    wake_.notify_one();  // Each thread wakes the next, because the launching thread has work to do.
    work({});
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

}  // namespace gpuemu::emulator
