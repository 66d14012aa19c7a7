// Private to this folder: limits the bytes of input snapshots in one listing.
#pragma once

#include "common/protocol/records.gen.h"

namespace gpuemu {

class SnapshotBudget {
 public:
  explicit SnapshotBudget(size_t bytes_max) : bytes_left_(bytes_max) {}

  /// Removes the snapshot, even an empty one, once the budget is spent.
  void apply(ValidationResult& result) {
    if (!result.repro_info || !result.repro_info->input_snapshot) return;
    const size_t bytes = result.repro_info->input_snapshot->size();
    if (bytes_left_ > 0 && bytes <= bytes_left_) {
      bytes_left_ -= bytes;
      return;
    }
    bytes_left_ = 0;
    result.repro_info->input_snapshot.reset();
  }

 private:
  size_t bytes_left_;
};

}  // namespace gpuemu
