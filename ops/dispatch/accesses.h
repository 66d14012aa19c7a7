// The memory that one launch of an op touches, from the operands of the case.
#pragma once

#include <array>
#include <span>

#include "kernels/op.h"
#include "runtime/device/stream.h"

namespace gpuemu {

class Accesses {
 public:
  /// Finds what `step` touches, with so many bytes of workspace. REQUIRES: check_case accepted it.
  Accesses(const OpCase& c, uint64_t workspace_bytes, const LaunchStep& step);
  /// Nothing when there are too many to tell: then the launch may touch everything.
  std::span<const MemoryAccess> list() const { return std::span(list_).first(count_); }

 private:
  static constexpr size_t kAccessesMax = 16;

  void add(const MemoryAccess& access);

  size_t count_ = 0;
  bool is_over_ = false;
  std::array<MemoryAccess, kAccessesMax> list_;
};

}  // namespace gpuemu
