// The memory that one launch of an op accesses, computed from the operands of the case.
#pragma once

#include <array>
#include <span>

#include "kernels/op.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class Accesses {
 public:
  /// Computes what `step` accesses, with `workspace_bytes` of workspace. Requires that check_case()
  /// accepted the case.
  Accesses(const OpCase& c, uint64_t workspace_bytes, const LaunchStep& step);
  /// Returns an empty list if there are too many ranges; the launch may then access everything.
  std::span<const MemoryAccess> list() const { return std::span(list_).first(count_); }

 private:
  static constexpr size_t kAccessesMax = 16;

  void add(const MemoryAccess& access);

  size_t count_ = 0;
  bool is_over_ = false;
  std::array<MemoryAccess, kAccessesMax> list_;
};

}  // namespace gpuemu
