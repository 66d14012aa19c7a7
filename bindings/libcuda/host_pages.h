// Observes the program's own accesses to memory that kernels use, too, by protecting its pages
// until an access.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace gpuemu::libcuda {

/// Whole pages accessed by work of the device.
struct UsedPages {
  uint64_t begin = 0, end = 0;  ///< Addresses; `end` is exclusive.
  bool were_written = false;    ///< If false, the host may read them.
};

/// Any access to a protected page restores the page first, whatever thread makes it, so that
/// programs continue normally. Thread-safe after start().
class HostPages {
 public:
  /// Called in the thread that accesses the memory: a thread of the program, not in a call of the
  /// driver.
  using Accessed = std::function<void(uint64_t address, bool writes)>;

  /// Must be called once, before anything else. `is_usable` returns true for an address in memory
  /// that the host may use. `refused` is called before the process is ended by the program's own
  /// access to memory behind the devices' fence.
  void start(Accessed accessed, std::function<bool(uint64_t)> is_usable, Accessed refused);
  /// Protects these pages from the host, in addition to those already protected.
  void take(const std::vector<UsedPages>& pages);
  /// Restores all pages.
  void give_back();
  bool has_any() const { return has_any_; }

 private:
  static void on_fault(int signal, void* info, void* context);
  static void install();
  /// Returns true if the access can be repeated.
  bool give_back_for(uint64_t address, bool writes);
  bool open_for(uint64_t address, bool writes);

  Accessed accessed_;
  std::function<bool(uint64_t)> is_usable_;
  Accessed refused_;
  std::atomic<bool> has_any_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::vector<UsedPages> taken_;
};

/// Marks the thread as being in a call of the driver while it lives. The outermost one of a thread
/// restores pages.
class InDriver {
 public:
  explicit InDriver(HostPages& pages);
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
  /// Returns true if the call is the program's own, and not part of another call.
  static bool is_outermost();
};

/// Makes accesses of this device thread count as the program's while it lives: the thread runs a
/// host function.
class AsProgram {
 public:
  AsProgram();
  ~AsProgram();
  AsProgram(const AsProgram&) = delete;
  AsProgram& operator=(const AsProgram&) = delete;
};

}  // namespace gpuemu::libcuda
