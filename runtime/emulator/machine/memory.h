// Global memory of the emulated device: registered host allocations between red zones. A device
// address is the host address, so a checked access needs no translation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::emulator {

/// Generic address windows: beyond every host address, told apart by the top four bits.
inline constexpr uint64_t kWindowShift = 60;
inline constexpr uint64_t kSharedWindow = uint64_t{1} << kWindowShift;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << kWindowShift;
inline constexpr uint64_t kParamWindow = uint64_t{3} << kWindowShift;
inline constexpr uint64_t kWindowMask = uint64_t{15} << kWindowShift;

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  std::string name;
  bool tracked = true;           ///< Definedness matters (module variables are always defined).
  bool all_defined = false;      ///< Every byte was written before this launch.
  std::vector<uint8_t> defined;  ///< 1 per byte once written.
  std::unique_ptr<std::byte[], void (*)(void*)> storage{nullptr, std::free};
  /// The last write and read of every four bytes, for the race detector; absent until it runs.
  std::unique_ptr<uint64_t[], Freed> last_writes, last_reads;

  bool contains(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
  uint8_t* shadow(uint64_t address) { return defined.data() + (address - base); }
};

class Memory {
 public:
  explicit Memory(uint64_t limit) : limit_(limit) {}

  /// Poisoned; zero when not `tracked`.
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name, bool tracked = true);
  Status free(uint64_t address);
  Status upload(uint64_t address, std::span<const std::byte> from);
  Status download(std::span<std::byte> to, uint64_t address);
  Status fill(uint64_t address, std::byte value, uint64_t bytes);

  /// The allocation whose bytes or red zones hold `address`; nullptr when there is none.
  Allocation* nearest(uint64_t address);
  /// The allocation that holds all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// Recomputes `all_defined` of every allocation; the launch does it once.
  void settle();
  /// Makes place for the histories of as many allocations as kRaceHistoryBytesMax allows.
  void keep_histories();
  /// Numbers below it were given out by earlier launches.
  uint32_t segments = 1;
  uint64_t used() const { return used_; }
  uint64_t limit() const { return limit_; }

 private:
  Result<Allocation*> checked(uint64_t address, uint64_t bytes, const char* what);

  std::map<uint64_t, std::unique_ptr<Allocation>> by_base_;
  uint64_t limit_;
  uint64_t used_ = 0;
};

}  // namespace gpuemu::emulator
