// What a launch has found, printed and counted so far.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu::emulator {

struct Counters;

/// Collects the findings, the printed lines and the profile of a launch. Thread-safe: the host
/// threads that run blocks add to it side by side.
class LaunchReportBuilder {
 public:
  /// `counters` have the sizes that the program needs; null unless the launch is profiled.
  explicit LaunchReportBuilder(std::shared_ptr<Counters> counters);
  LaunchReportBuilder() : LaunchReportBuilder(nullptr) {}

  /// Adds one finding of a block, given by its BlockPosition::linear. One of the same kind, tensor
  /// and pair of instructions is counted together with it, and the block that comes first in the
  /// grid is named, whichever host thread was the faster one. `complete` fills in the message and
  /// the place, which costs time. Returns whether the list is full, so that the launch should stop.
  bool add(uint64_t block, DeviceFinding finding,
           const std::function<void(DeviceFinding&)>& complete);
  /// Adds an UndefinedStore, or counts it as add() does. Returns its number, which `number` gives
  /// it when it is new; 0 when there are too many.
  uint32_t add_undefined(uint64_t block, DeviceFinding finding,
                         const std::function<uint32_t()>& number,
                         const std::function<void(DeviceFinding&)>& complete);
  size_t finding_count() const;
  DeviceFinding finding(size_t index) const;

  /// Notes that a NaN (bit 1) or an infinity (bit 2) was made. Returns true for the first of each.
  bool note_nonfinite(uint32_t bit) { return (nonfinite_.fetch_or(bit) & bit) == 0; }

  /// Appends what printf wrote, up to the limits on printed lines and bytes.
  void print(const std::string& text);
  /// Whether print() would drop any further text.
  bool is_print_full() const;

  /// Zeroed counters for one block; null unless the launch is profiled.
  std::shared_ptr<Counters> new_block_counters() const;
  void add_counts(const Counters& block);

  /// Moves the findings out, in the order of their blocks in the grid and for one block in the
  /// order in which they were met. Call it and the next two when no block runs any more.
  std::vector<DeviceFinding> take_findings();
  std::vector<UndefinedStore> take_undefined();
  std::vector<std::string> take_printed();
  /// The summed counters; null unless the launch is profiled. Read it when no block runs any more.
  Counters* counters() { return counters_.get(); }

 private:
  struct BlockFinding {
    uint64_t block = 0;  ///< BlockPosition::linear.
    DeviceFinding finding;
    uint32_t number = 0;  ///< UndefinedStore::number, once it has one.
  };

  /// The entry that stands for the finding; null when the list is full.
  static BlockFinding* add_to(std::vector<BlockFinding>& list, BlockFinding added,
                              const std::function<void(DeviceFinding&)>& complete);
  bool print_full() const;

  std::atomic<uint32_t> nonfinite_ = 0;
  mutable std::mutex mutex_;            ///< Guards all members below.
  std::vector<BlockFinding> findings_;  ///< As they were met.
  std::vector<BlockFinding> undefined_;
  std::shared_ptr<Counters> counters_;
  std::vector<std::string> printed_;
  std::string printed_tail_;  ///< Text after the last line end.
  size_t printed_bytes_ = 0;
};

}  // namespace gpuemu::emulator
