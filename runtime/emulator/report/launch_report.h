// Collects what a launch has found, printed and counted.
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

/// Collects the findings, printed lines and profile of a launch. Thread-safe, because the host
/// threads that run blocks add to it concurrently.
class LaunchReportBuilder {
 public:
  /// `counters` has the sizes that the program needs; null unless the launch is profiled.
  explicit LaunchReportBuilder(std::shared_ptr<Counters> counters);
  LaunchReportBuilder() : LaunchReportBuilder(nullptr) {}

  /// Adds a finding of a block, given by its BlockPosition::linear. Findings of the same kind,
  /// tensor and pair of instructions are counted together, and the one of the first block in the
  /// grid is shown, whichever host thread came first. `complete` fills in the message and the
  /// place, which takes time. Returns whether the list is full, so that the launch should stop.
  bool add(uint64_t block, DeviceFinding finding,
           const std::function<void(DeviceFinding&)>& complete);
  /// Adds an UndefinedStore, or counts it with an equal one. Returns its number: a new one from
  /// `number`, or 0 if there are too many.
  uint32_t add_undefined(uint64_t block, DeviceFinding finding,
                         const std::function<uint32_t()>& number,
                         const std::function<void(DeviceFinding&)>& complete);
  size_t finding_count() const;
  DeviceFinding finding(size_t index) const;

  /// Records that a NaN (bit 1) or an infinity (bit 2) was produced. Returns true for the first of
  /// each.
  bool note_nonfinite(uint32_t bit) { return (nonfinite_.fetch_or(bit) & bit) == 0; }

  /// Appends output of printf, up to the limits on lines and bytes.
  void print(const std::string& text);
  /// Returns whether print() would drop further text.
  bool is_print_full() const;

  /// Returns zeroed counters for one block; null unless the launch is profiled.
  std::shared_ptr<Counters> new_block_counters() const;
  void add_counts(const Counters& block);
  /// Returns whether the launch is profiled.
  bool is_counted() const { return counters_ != nullptr; }

  /// Moves the findings out, in the order of their blocks in the grid, and within a block in that
  /// of their instructions; those that end the launch are the last. Call this and the next two only
  /// when no block is running.
  std::vector<DeviceFinding> take_findings();
  std::vector<UndefinedStore> take_undefined();
  std::vector<std::string> take_printed();
  /// Returns the summed counters; null unless the launch is profiled. Valid when no block is
  /// running.
  Counters* counters() { return counters_.get(); }

 private:
  struct BlockFinding {
    uint64_t block = 0;  ///< BlockPosition::linear.
    DeviceFinding finding;
    uint32_t number = 0;  ///< UndefinedStore::number, once assigned.
  };

  /// Returns the entry for the finding; null if the list is full.
  static BlockFinding* add_to(std::vector<BlockFinding>& list, BlockFinding added,
                              const std::function<void(DeviceFinding&)>& complete);
  static void sort(std::vector<BlockFinding>& list);
  bool print_full() const;

  std::atomic<uint32_t> nonfinite_ = 0;
  mutable std::mutex mutex_;            ///< Guards all members below.
  std::vector<BlockFinding> findings_;  ///< In the order of their occurrence.
  std::vector<BlockFinding> undefined_;
  std::shared_ptr<Counters> counters_;
  std::vector<std::string> printed_;
  std::string printed_tail_;  ///< Output after the last newline.
  size_t printed_bytes_ = 0;
};

}  // namespace gpuemu::emulator
