// Keeps the memory that the program allocated: its range, and where it was allocated and freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "bindings/libcuda/call_sites/call_site.h"
#include "bindings/libcuda/interface/abi.h"

namespace gpuemu::libcuda {

enum class MemoryKind : uint8_t {
  Device,
  FromPool,
  Array,
  Virtual,
  OfGraph,
  Pinned,
  Registered,
  Managed
};
/// Returns true if the host accesses the memory without a call.
inline bool is_host(MemoryKind kind) {
  return kind == MemoryKind::Pinned || kind == MemoryKind::Managed ||
         kind == MemoryKind::Registered;
}

struct PoolState;

struct Allocation {
  uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  Context context = nullptr;
  int device = 0;
  unsigned flags = 0;
  /// Registered memory: its pages belong to the program only, so they can be protected from it.
  bool is_private = false;
  bool is_variable = false;               ///< A managed variable of a module, which nobody frees.
  Pool pool = nullptr;                    ///< Null unless it was allocated from a pool.
  std::shared_ptr<PoolState> pool_state;  ///< Lives on when the pool is destroyed.
  std::string name;                       ///< "allocation 3", as findings of the device name it.
  uint64_t number = 0;
  std::shared_ptr<const CallSite> made, freed;  ///< `freed` is null while the allocation lives.
};

/// All allocations of the process. Thread-safe.
class Allocations {
 public:
  using Shared = std::shared_ptr<const Allocation>;

  /// Returns 1, 2, ...: the number in the name of the next allocation.
  uint64_t next_number() { return next_.fetch_add(1) + 1; }
  void add(Allocation made);
  /// Finds the live allocation that starts at `address`; returns nullptr when there is none.
  Shared at(uint64_t address) const;
  /// Finds the live allocation that contains `address`; returns nullptr when there is none.
  Shared holding(uint64_t address) const;
  /// Moves the live allocation that starts at `address` to the freed ones and returns it; returns
  /// nullptr when there is none.
  Shared remove(uint64_t address, std::shared_ptr<const CallSite> freed);
  /// Finds the most recently freed allocation that contained `address`; returns nullptr when there
  /// is none or when a live allocation contains the address.
  Shared freed_holding(uint64_t address) const;
  /// Forgets freed allocations in this range, whose addresses the system has given out again.
  void forget_freed(uint64_t address, uint64_t bytes);
  /// Keeps pages of freed host memory, which nobody can access, from being reused; unmaps the
  /// oldest ones if there are too many.
  void keep_pages(uint64_t address, uint64_t bytes);
  bool keeps_pages() const { return keeps_pages_; }
  bool keeps_page(uint64_t address) const;
  /// Parts of allocations, used only by findings.
  void add_part(Allocation made);
  Shared part_at(uint64_t address) const;
  void remove_part(uint64_t address, std::shared_ptr<const CallSite> freed);
  /// Finds a live or freed allocation or part by name; returns nullptr when there is none.
  Shared named(const std::string& name) const;
  /// Returns the live allocations in the order in which they were made.
  std::vector<Shared> all() const;

 private:
  struct Pages {
    uint64_t address = 0, bytes = 0;
  };
  static constexpr uint64_t kPagesKept = uint64_t{4} << 30;  ///< They use only address space.
  void keep_freed(Shared gone);
  static constexpr size_t kFreedKept = 4096;  ///< Older ones are forgotten, to bound the memory.
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Shared> live_, parts_;
  std::deque<Shared> freed_;
  std::deque<Pages> pages_;
  uint64_t pages_bytes_ = 0;
  std::atomic<bool> keeps_pages_ = false;
  std::atomic<uint64_t> next_ = 0;
};

}  // namespace gpuemu::libcuda
