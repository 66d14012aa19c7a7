// Global memory of the emulated device: host allocations, registered and surrounded by red zones. A
// device address is the host address, so a checked access needs no translation.
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

#include "common/base/limits.h"
#include "common/base/result.h"
#include "runtime/device/device_finding.h"
#include "runtime/device/foreign_memory.h"
#include "runtime/emulator/memory/allocation.h"
#include "runtime/emulator/memory/heap.h"

namespace gpuemu::emulator {

/// Windows of generic addresses: above every host address, distinguished by the top four bits.
inline constexpr uint64_t kWindowShift = 60;
inline constexpr uint64_t kSharedWindow = uint64_t{1} << kWindowShift;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << kWindowShift;
inline constexpr uint64_t kParamWindow = uint64_t{3} << kWindowShift;
inline constexpr uint64_t kWindowMask = uint64_t{15} << kWindowShift;

class Memory {
 public:
  /// Default bytes around each allocation. Wide enough that an index wrong by a row still falls
  /// between two tensors.
  static constexpr uint64_t kRedZone = 4096;
  /// Keeps up to `freed_kept` bytes of freed buffers, so that their addresses are not reused.
  explicit Memory(uint64_t limit, uint64_t red_zone = kRedZone, uint64_t freed_kept = 0,
                  uint64_t history_bytes_max = kRaceHistoryBytesMax)
      : limit_(limit),
        red_zone_(red_zone),
        freed_kept_(freed_kept),
        history_bytes_max_(history_bytes_max) {}

  /// Buffers are filled with poison, and reads before a write are reported. A blank one has any
  /// content, until upload() or fill() of all of it. Module variables and host memory start as
  /// zeros; host memory does not count against the limit.
  enum class Kind { Buffer, Blank, Variable, Host };
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name, Kind kind = Kind::Buffer);
  /// Frees an allocation. Freeing the last buffer also clears the kernels' heap, because nothing
  /// can point into it any more. nearest() finds a freed buffer until newer ones use up the space
  /// kept for them.
  Status free(uint64_t address);
  /// Registers memory allocated elsewhere. Its content counts as written; its bounds are checked,
  /// and it has no red zones. InvalidArgument if it overlaps memory of this device.
  Status adopt(uint64_t address, uint64_t bytes, const std::string& name);
  Status release(uint64_t address, uint64_t bytes);
  /// Makes part of an allocation a separate one for kernels. From the first part on, bytes of a
  /// buffer outside all parts are out of bounds; in foreign memory only kBesidePart bytes before
  /// and after each part are. Copies and fills still reach the whole allocation. InvalidArgument if
  /// the bytes are not in one allocation or overlap another part.
  Status divide(uint64_t address, uint64_t bytes, const std::string& name);
  /// Removes the part that begins there, which then counts as freed. InvalidArgument if there is
  /// none.
  Status undivide(uint64_t address);
  Status upload(uint64_t address, std::span<const std::byte> from);
  Status download(std::span<std::byte> to, uint64_t address);
  Status fill(uint64_t address, std::byte value, uint64_t bytes);
  /// Marks the bytes as undefined without changing their values.
  Status forget(uint64_t address, uint64_t bytes);
  /// Copies bytes; undefined ones stay undefined. The ranges may overlap.
  Status copy(uint64_t to, uint64_t from, uint64_t bytes);

  /// Returns the allocation whose bytes or red zones contain `address`, else the freed one that
  /// contained it; null if there is none.
  Allocation* nearest(uint64_t address);
  /// Returns the allocation that contains all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// Recomputes `all_defined` of every allocation. Called once per launch.
  void settle();
  /// From now on, bytes of module variables can also be undefined.
  void track_variables();
  /// Returns a new number for an UndefinedStore.
  uint32_t new_source() { return sources_.fetch_add(1) + 1; }
  /// Implements Device::undefined_in.
  std::vector<UndefinedBytes> undefined_in(uint64_t address, uint64_t bytes);
  bool has_sources() const { return sources_ != 0; }
  /// Allocates race histories for as many allocations as fit the limit, the smallest first.
  void keep_histories();
  /// Returns the names of the allocations that were accessed without a history since the last call,
  /// in ascending order of address.
  std::vector<std::string> take_unrecorded();
  /// Returns the bytes of allocations that have room for their histories within the limit.
  uint64_t recorded_bytes_max() const;
  Heap& heap() { return heap_; }
  /// Returns a number that differs whenever an allocation that find() returned may be gone.
  uint64_t layout() const { return layout_; }
  /// The next unused number of a race segment; earlier launches used the lower ones.
  uint32_t segments = 1;
  uint64_t used() const { return used_; }
  uint64_t limit() const { return limit_; }

 private:
  struct Part {
    uint64_t bytes = 0;
    std::string name;
  };
  /// Bytes before and after a part of foreign memory that kernels may not access. An allocator
  /// keeps at least as many as its own overhead.
  static constexpr uint64_t kBesidePart = 8;
  using Pieces = std::map<uint64_t, uint64_t>;
  bool is_divided(uint64_t address, uint64_t bytes) const;
  /// Returns the rest of the ranges in foreign_ without the parts, as begin and end.
  Pieces foreign_pieces() const;
  Result<Allocation*> buffer_around(uint64_t address, uint64_t bytes);
  void join(Allocation& whole);
  /// Copies the checks' records from the parts of a divided buffer to the buffer, or back.
  void gather(Allocation& whole);
  void scatter(Allocation& whole);
  /// Updates the allocations of the ranges in foreign_.
  void follow_foreign(const std::string& name);
  void put(std::unique_ptr<Allocation> allocation);
  /// Called before the allocations change, and when one is no longer defined as a whole.
  void changes() {
    has_histories_ = has_unsettled_ = false;
    ++layout_;
  }
  void keep_freed(std::unique_ptr<Allocation> gone);
  void keep_history(Allocation& gone);
  void keep_marks(Allocation& gone);
  /// Marks for so many bytes, of any content. Throws std::bad_alloc.
  std::vector<uint8_t> any_marks(uint64_t bytes);
  std::vector<Allocation*> recorded_allocations();
  void give_history(Allocation& to, uint64_t words);
  void forget_freed(uint64_t bytes_max);
  Result<Allocation*> checked(uint64_t address, uint64_t bytes, const char* what);
  void written(Allocation& allocation, uint64_t address, uint64_t bytes);

  std::map<uint64_t, std::unique_ptr<Allocation>> by_base_;
  ForeignMemory foreign_;
  std::map<uint64_t, Part> parts_;
  /// Buffers that have parts, by base address.
  std::map<uint64_t, std::unique_ptr<Allocation>> divided_;
  uint64_t layout_ = 1;
  bool has_histories_ = false;          ///< keep_histories() has nothing to do.
  bool lacks_histories_ = false;        ///< Some allocation has none after keep_histories().
  bool has_unsettled_ = false;          ///< `unsettled_` is complete.
  std::vector<Allocation*> unsettled_;  ///< Allocations that may have undefined bytes.
  Heap heap_;
  uint64_t buffers_ = 0;  ///< Host allocations in use.
  uint64_t limit_;
  uint64_t used_ = 0;
  std::atomic<uint32_t> sources_ = 0;  ///< The last number that new_source() returned.
  const uint64_t red_zone_;
  const uint64_t freed_kept_;
  const uint64_t history_bytes_max_;
  std::deque<std::unique_ptr<Allocation>> freed_;  ///< Oldest first.
  uint64_t freed_bytes_ = 0;
  /// Race histories of freed allocations. Another allocation takes them as they are: all their
  /// segments belong to earlier launches.
  std::vector<RaceRecords> histories_;
  std::vector<std::vector<uint8_t>> marks_;  ///< Those of freed buffers, for blank ones.
};

}  // namespace gpuemu::emulator
