// The launch plan of an op: grid, block, shared memory and arguments of each kernel, in order. Has
// a fixed size, so that planning allocates no memory.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "common/base/check.h"
#include "kernels/device_tensor.h"
#include "runtime/device/launch_shape.h"

namespace gpuemu {

/// Arguments of one launch: twice the largest number in our kernels.
inline constexpr size_t kPlanArgumentsMax = 24;
inline constexpr size_t kPlanArgumentBytesMax = 512;
/// Launches per op.
inline constexpr size_t kPlanStepsMax = 6;
inline constexpr uint32_t kEveryOperand = 0xffffffff;

/// One launch. Arguments are appended in the order of the entry's parameters.
class LaunchStep {
 public:
  LaunchStep() {}  // NOLINT: argument bytes are written before they are read.

  uint32_t entry = 0;  ///< Index into KernelVariant::entries.
  Dim3 grid, block;
  uint32_t shared_bytes = 0;  ///< Dynamic shared memory.
  /// Bit masks of the operands that it accesses.
  uint32_t inputs = kEveryOperand, outputs = kEveryOperand;

  /// Declares that this launch accesses only these inputs and outputs, and the workspace. In a
  /// graph it does not wait for other launches of the plan that access neither.
  LaunchStep& touches(std::initializer_list<uint32_t> in, std::initializer_list<uint32_t> out) {
    inputs = outputs = 0;
    for (const uint32_t operand : in) inputs |= 1U << operand;
    for (const uint32_t operand : out) outputs |= 1U << operand;
    return *this;
  }
  LaunchStep& arg(const DeviceTensor& tensor) { return arg(tensor.address); }
  /// Appends a value or a struct as the kernel takes it.
  template <typename T>
  LaunchStep& arg(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);
    const size_t at = (end_ + alignof(T) - 1) / alignof(T) * alignof(T);
    GPUEMU_CHECK(count_ < kPlanArgumentsMax && at + sizeof(T) <= kPlanArgumentBytesMax);
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    begin_[count_] = static_cast<uint16_t>(at);
    size_[count_++] = static_cast<uint16_t>(sizeof(T));
    end_ = at + sizeof(T);
    return *this;
  }

  size_t arg_count() const { return count_; }
  std::span<const std::byte> argument(size_t index) const {
    return std::span(bytes_).subspan(begin_[index], size_[index]);
  }

 private:
  size_t count_ = 0, end_ = 0;
  std::array<uint16_t, kPlanArgumentsMax> begin_, size_;
  alignas(16) std::array<std::byte, kPlanArgumentBytesMax> bytes_;
};

class Plan {
 public:
  /// Adds a launch. An empty grid or block is an error in the declaration.
  LaunchStep& launch(Dim3 grid, Dim3 block, uint32_t entry = 0) {
    GPUEMU_CHECK(count_ < kPlanStepsMax);
    LaunchStep& step = steps_[count_++];
    step.grid = grid;
    step.block = block;
    step.entry = entry;
    return step;
  }
  std::span<const LaunchStep> steps() const { return std::span(steps_).first(count_); }

 private:
  size_t count_ = 0;
  std::array<LaunchStep, kPlanStepsMax> steps_;
};

/// Returns the number of blocks of `per_block` items for `count` items, at least one. Requires 0 <=
/// count and 0 < per_block.
inline uint32_t blocks_for(int64_t count, int64_t per_block) {
  return static_cast<uint32_t>(count <= 0 ? 1 : (count + per_block - 1) / per_block);
}

}  // namespace gpuemu
