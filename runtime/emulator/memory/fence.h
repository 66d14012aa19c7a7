// Memory of emulated devices that the host cannot touch, as on a GPU: a program that does so itself
// ends with SIGSEGV. The emulator passes the fence while it works.
//
// A device address is a host address, so the fence is page protection, and holds between pieces of
// work: while a kernel runs the host could touch the memory. Where changing the protection takes
// more than a small share of the time, the fence stays open.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace gpuemu::emulator {

/// One for all devices of the process, which may use each other's memory. Thread-safe.
class Fence {
 public:
  /// Never destroyed: memory is given back late.
  static Fence& instance();

  /// From now on buffers with wide red zones lie behind the fence.
  void start();
  /// Pages behind the fence; null where there is no room, or no fence. Their content is not
  /// defined. The caller has passed the fence.
  std::byte* take(uint64_t bytes);
  /// Has the signature of a deleter of Allocation::storage.
  static void give_back(void* begin);

  /// Whether memory behind the fence has, had or may get this address.
  bool holds(uint64_t address) const {
    const uint64_t begin = begin_;
    return begin != 0 && address >= begin && address - begin < kRoom;
  }
  /// From now on the host may touch the memory, too.
  void remove();
  /// Opens the fence until the next piece of work ends.
  void open();
  /// `before` is called each time before the host is shut out.
  void on_close(void (*before)()) { before_close_ = before; }

  void enter();
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  /// Addresses only. An allocation that does not fit lies in front of the fence.
  static constexpr uint64_t kRoom = uint64_t{1} << 40;

  bool reserve();
  bool may_close() const;
  void protect(bool is_closed);
  void add_free(uint64_t begin, uint64_t bytes);

  std::atomic<uint64_t> begin_ = 0;
  std::atomic<void (*)()> before_close_ = nullptr;
  std::mutex mutex_;   ///< Guards the members below.
  uint64_t used_ = 0;  ///< Bytes from begin_ on of which some were taken.
  uint64_t inside_ = 0;
  bool is_started_ = false, is_removed_ = false, is_closed_ = false;
  Clock::time_point started_;
  Clock::duration spent_{};
  std::map<uint64_t, uint64_t> taken_, free_;             ///< Bytes by address.
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  ///< Bytes and address.
};

/// A mutex whose owner has passed the fence.
class FencedMutex {
 public:
  void lock() {
    mutex_.lock();
    Fence::instance().enter();
  }
  void unlock() {
    Fence::instance().leave();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

}  // namespace gpuemu::emulator
