// The memory that the program has asked for: where it lies, who asked, and where.
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

#include "bindings/libcuda/abi.h"
#include "bindings/libcuda/call_site.h"

namespace gpuemu::libcuda {

enum class MemoryKind : uint8_t { Device, FromPool, Pinned, Registered, Managed };

struct Allocation {
  uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  Context context = nullptr;
  int device = 0;
  unsigned flags = 0;
  std::string name;  ///< "allocation 3": what findings of the device call it.
  uint64_t number = 0;
  std::shared_ptr<const CallSite> made, freed;  ///< `freed`: null while it lives.
};

/// Any thread.
class Allocations {
 public:
  using Shared = std::shared_ptr<const Allocation>;

  uint64_t next_number() { return next_.fetch_add(1) + 1; }
  void add(Allocation made);
  /// The one that begins there and lives; null for none.
  Shared at(uint64_t address) const;
  /// The one that holds the address and lives.
  Shared holding(uint64_t address) const;
  /// Takes it out and remembers it as freed.
  Shared remove(uint64_t address, std::shared_ptr<const CallSite> freed);
  /// The freed one that lies there, the last first; null where nothing was or something lives.
  Shared freed_holding(uint64_t address) const;
  /// By its name, freed ones too.
  Shared named(const std::string& name) const;
  std::vector<Shared> all() const;

 private:
  static constexpr size_t kFreedKept = 4096;  ///< For messages: about as many as people look at.
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Shared> live_;
  std::deque<Shared> freed_;
  std::atomic<uint64_t> next_ = 0;
};

}  // namespace gpuemu::libcuda
