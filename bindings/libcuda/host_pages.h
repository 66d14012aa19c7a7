// Sees what the program itself reads and writes in memory that kernels use, too, by taking the
// pages away from it until it does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace gpuemu::libcuda {

/// Whole pages that work of the device used.
struct UsedPages {
  uint64_t begin = 0, end = 0;  ///< Addresses; end is not one of them.
  bool were_written = false;    ///< Else the host may read them.
};

/// Every access of a page that is taken away gives the page back first, whoever makes it, so that
/// programs go on as without this. Thread-safe after start().
class HostPages {
 public:
  /// Called in the thread that accesses memory, which is the program's and in no call of the
  /// driver.
  using Accessed = std::function<void(uint64_t address, bool writes)>;

  /// Must be called once, before anything else. `is_usable` tells whether an address is in memory
  /// that the host may use. `refused` is called before an access of the program's own of memory
  /// behind the devices' fence ends it.
  void start(Accessed accessed, std::function<bool(uint64_t)> is_usable, Accessed refused);
  /// Takes these pages away from the host, beside those that it has taken.
  void take(const std::vector<UsedPages>& pages);
  /// Gives all pages back.
  void give_back();
  bool has_any() const { return has_any_; }

 private:
  static void on_fault(int signal, void* info, void* context);
  static void install();
  /// Returns whether the access can be made again.
  bool give_back_for(uint64_t address, bool writes);
  bool open_for(uint64_t address, bool writes);

  Accessed accessed_;
  std::function<bool(uint64_t)> is_usable_;
  Accessed refused_;
  std::atomic<bool> has_any_ = false;
  std::mutex mutex_;  ///< Guards the members below.
  std::vector<UsedPages> taken_;
};

/// While one lives, the thread is in a call of the driver. The first of a thread gives pages back.
class InDriver {
 public:
  explicit InDriver(HostPages& pages);
  ~InDriver();
  InDriver(const InDriver&) = delete;
  InDriver& operator=(const InDriver&) = delete;
  /// Whether the call is the program's own, and no part of another.
  static bool is_outermost();
};

/// While one lives, accesses of this device thread are the program's: it runs a host function.
class AsProgram {
 public:
  AsProgram();
  ~AsProgram();
  AsProgram(const AsProgram&) = delete;
  AsProgram& operator=(const AsProgram&) = delete;
};

}  // namespace gpuemu::libcuda
