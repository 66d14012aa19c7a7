// Memory of emulated devices that the host cannot access, as on a GPU: a program that accesses it
// directly ends with SIGSEGV. The emulator opens the fence while it works.
//
// A device address is a host address, so the fence is page protection and holds only between pieces
// of work: while a kernel runs, the host could access the memory. If changing the protection takes
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

/// The fence of the process, shared by all devices because they may access each other's memory.
/// Thread-safe.
class Fence {
 public:
  /// Never destroyed, because memory may be given back during exit.
  static Fence& instance();

  /// From now on, buffers with wide red zones are allocated behind the fence.
  void start();
  /// Allocates pages behind the fence, with undefined content; null if there is no room or no
  /// fence. The caller must hold the fence open.
  std::byte* take(uint64_t bytes);
  /// Frees such pages. Has the signature of a deleter of Allocation::storage.
  static void give_back(void* begin);

  /// Returns whether the address belongs to the range reserved for the fence.
  bool holds(uint64_t address) const {
    const uint64_t begin = begin_;
    return begin != 0 && address >= begin && address - begin < kRoom;
  }
  /// Gives the host access to the memory permanently.
  void remove();
  /// Opens the fence until the next piece of work ends. Returns false if the system refuses; the
  /// host then still cannot access the memory.
  bool open();
  /// Registers a function that is called each time before the fence closes.
  void on_close(void (*before)()) { before_close_ = before; }

  void enter();
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  /// Reserved address space. Allocations that do not fit are made outside the fence.
  static constexpr uint64_t kRoom = uint64_t{1} << 40;

  bool reserve();
  bool may_close() const;
  void protect(bool is_closed);
  bool set_access(int access);
  void add_free(uint64_t begin, uint64_t bytes);

  std::atomic<uint64_t> begin_ = 0;
  std::atomic<void (*)()> before_close_ = nullptr;
  std::mutex mutex_;   ///< Guards the members below.
  uint64_t used_ = 0;  ///< Bytes from begin_ up to the end of the highest allocation.
  uint64_t inside_ = 0;
  bool is_started_ = false, is_removed_ = false, is_closed_ = false;
  Clock::time_point started_;
  Clock::duration spent_{};
  std::map<uint64_t, uint64_t> taken_, free_;             ///< Bytes by address.
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  ///< Bytes and address.
};

/// A mutex whose owner may access memory behind the fence.
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
