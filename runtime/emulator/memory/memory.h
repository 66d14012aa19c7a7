// Global memory of the emulated device: registered host allocations between red zones. A device
// address is the host address, so a checked access needs no translation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device_finding.h"
#include "runtime/device/foreign_memory.h"
#include "runtime/emulator/memory/allocation.h"
#include "runtime/emulator/memory/heap.h"

namespace gpuemu::emulator {

/// Generic address windows: beyond every host address, distinguished by the top four bits.
inline constexpr uint64_t kWindowShift = 60;
inline constexpr uint64_t kSharedWindow = uint64_t{1} << kWindowShift;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << kWindowShift;
inline constexpr uint64_t kParamWindow = uint64_t{3} << kWindowShift;
inline constexpr uint64_t kWindowMask = uint64_t{15} << kWindowShift;

class Memory {
 public:
  /// The usual bytes around each allocation: wide enough that an index wrong by a row still falls
  /// between two tensors.
  static constexpr uint64_t kRedZone = 4096;
  /// Keeps freed buffers, up to `freed_kept` bytes of them, so that no other one takes their place.
  explicit Memory(uint64_t limit, uint64_t red_zone = kRedZone, uint64_t freed_kept = 0)
      : limit_(limit), red_zone_(red_zone), freed_kept_(freed_kept) {}

  /// Buffers are poisoned, and reads of them before a write are reported. Module variables and the
  /// host's own memory start as zeros; the latter does not count against the limit.
  enum class Kind { Buffer, Variable, Host };
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name, Kind kind = Kind::Buffer);
  /// Freeing the last buffer also clears the heap of kernels: nothing can point there any more.
  /// A freed buffer stays where nearest() finds it until newer ones fill what is kept.
  Status free(uint64_t address);
  /// Memory of others, whose content counts as written: its bounds are checked, it has no red
  /// zones. InvalidArgument where it overlaps memory of this device.
  Status adopt(uint64_t address, uint64_t bytes, const std::string& name);
  Status release(uint64_t address, uint64_t bytes);
  /// Makes a part of an allocation one of its own for kernels. From the first part on, bytes of a
  /// buffer that are in no part are out of bounds; of memory of others only kBesidePart bytes
  /// before and behind each part are. Copies and fills reach all of the allocation as before.
  /// InvalidArgument where the bytes are not in one allocation, or in another part.
  Status divide(uint64_t address, uint64_t bytes, const std::string& name);
  /// Ends the part that begins there; it counts as freed. InvalidArgument where there is none.
  Status undivide(uint64_t address);
  Status upload(uint64_t address, std::span<const std::byte> from);
  Status download(std::span<std::byte> to, uint64_t address);
  Status fill(uint64_t address, std::byte value, uint64_t bytes);
  /// Makes the bytes undefined; their values stay.
  Status forget(uint64_t address, uint64_t bytes);
  /// Undefined bytes stay undefined. The ranges may overlap.
  Status copy(uint64_t to, uint64_t from, uint64_t bytes);

  /// The allocation whose bytes or red zones hold `address`, else the freed one that held it;
  /// nullptr when there is none.
  Allocation* nearest(uint64_t address);
  /// The allocation that holds all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// Recomputes `all_defined` of every allocation; the launch does it once.
  void settle();
  /// From now on variables of modules have bytes that may be undefined, too.
  void track_variables();
  /// A number for an UndefinedStore.
  uint32_t new_source() { return sources_.fetch_add(1) + 1; }
  /// Device::undefined_in.
  std::vector<UndefinedBytes> undefined_in(uint64_t address, uint64_t bytes);
  bool has_sources() const { return sources_ != 0; }
  /// Allocates race histories for as many allocations as kRaceHistoryBytesMax allows.
  void keep_histories();
  Heap& heap() { return heap_; }
  /// The next number of a race segment; earlier launches used the lower ones.
  uint32_t segments = 1;
  uint64_t used() const { return used_; }
  uint64_t limit() const { return limit_; }

 private:
  struct Part {
    uint64_t bytes = 0;
    std::string name;
  };
  /// Bytes before and after a part of foreign memory that kernels may not access. An allocator
  /// keeps at least as many for itself.
  static constexpr uint64_t kBesidePart = 8;
  using Pieces = std::map<uint64_t, uint64_t>;
  bool is_divided(uint64_t address, uint64_t bytes) const;
  /// What is left of the pieces of foreign_ beside the parts, begin to end.
  Pieces foreign_pieces() const;
  Result<Allocation*> buffer_around(uint64_t address, uint64_t bytes);
  void join(Allocation& whole);
  /// Carries what is known of the bytes from the parts of a divided buffer to it, or back.
  void gather(Allocation& whole);
  void scatter(Allocation& whole);
  /// Allocations for the pieces of foreign_.
  void follow_foreign(const std::string& name);
  void keep_freed(std::unique_ptr<Allocation> gone);
  void forget_freed(uint64_t bytes_max);
  Result<Allocation*> checked(uint64_t address, uint64_t bytes, const char* what);
  void written(Allocation& allocation, uint64_t address, uint64_t bytes);

  std::map<uint64_t, std::unique_ptr<Allocation>> by_base_;
  ForeignMemory foreign_;
  std::map<uint64_t, Part> parts_;
  std::map<uint64_t, std::unique_ptr<Allocation>> divided_;  ///< Buffers with parts, by base.
  Heap heap_;
  uint64_t buffers_ = 0;  ///< Allocations of the host that are in use.
  uint64_t limit_;
  uint64_t used_ = 0;
  std::atomic<uint32_t> sources_ = 0;  ///< Numbers that new_source() gave.
  const uint64_t red_zone_;
  const uint64_t freed_kept_;
  std::deque<std::unique_ptr<Allocation>> freed_;  ///< The oldest first.
  uint64_t freed_bytes_ = 0;
};

}  // namespace gpuemu::emulator
