// One tensor of a plan in device memory: guards, poison, upload, and the downloaded content.
//
//   | guard | base offset | layout.buffer_elements | guard |
//
// Guards are added only if the device does not check bounds by itself.
#pragma once

#include <optional>
#include <vector>

#include "common/base/arena.h"
#include "daemon/executor/plan.h"
#include "daemon/executor/run_memory.h"

namespace gpuemu {

/// Two patterns that no kernel writes by chance. The first is a NaN in every float format, the
/// second a large finite number; as integers they differ in every byte.
std::byte poison_byte(uint32_t run, uint64_t index);
/// Returns the value around tensors, which differs from the poison of the same run.
std::byte guard_byte(uint32_t run);

/// Frees its allocation on destruction. Its images of the memory come from RunMemory::host().
class ExecuteBuffer {
 public:
  static Result<ExecuteBuffer> create(RunMemory& memory, const PlanTensor& tensor);
  ExecuteBuffer(ExecuteBuffer&& other) noexcept;
  ExecuteBuffer(const ExecuteBuffer&) = delete;
  ExecuteBuffer& operator=(const ExecuteBuffer&) = delete;
  ExecuteBuffer& operator=(ExecuteBuffer&&) = delete;
  ~ExecuteBuffer();

  /// Returns the bytes that create() allocates for it.
  static Result<uint64_t> bytes_for(const PlanTensor& tensor, bool checks_bounds);

  /// Returns the address of the tensor's buffer, after guard and base offset.
  uint64_t address() const { return allocation_ + front_bytes_; }
  uint64_t front_bytes() const { return front_bytes_; }

  /// Fills everything for `run`, and copies the inputs (with `warmup`, those of the warmup) from
  /// the arena. Until the findings below are computed, nothing may grow or refresh the arena or
  /// write the inputs in it: a dense input is compared with the arena itself.
  Status upload(Arena& arena, uint32_t run, bool warmup = false);
  /// Reads everything back. After RunMemory::settle(), the packed elements and the findings below
  /// are available.
  Status download();
  std::vector<std::byte> packed() const;

  /// Finds damaged guards, and writes to gaps between elements. Requires download() and settle().
  std::optional<HarnessFinding> guard_finding() const;
  /// Finds elements of an input that changed. Requires download() and settle().
  std::optional<HarnessFinding> input_finding() const;

 private:
  ExecuteBuffer(RunMemory& memory, const PlanTensor& tensor) : memory_(&memory), tensor_(&tensor) {}
  /// Returns what upload() copies to the device: the elements in the arena where that is all.
  Result<std::span<const std::byte>> image(Arena& arena, uint32_t run, bool warmup) const;
  std::span<const std::byte> body(std::span<const std::byte> image) const;

  RunMemory* memory_;  ///< Null after a move.
  const PlanTensor* tensor_;
  uint64_t allocation_ = 0;
  uint64_t front_bytes_ = 0, body_bytes_ = 0, total_bytes_ = 0;
  std::span<const std::byte> uploaded_;  ///< What image() returned: may lie in the arena.
  std::span<std::byte> downloaded_;
};

}  // namespace gpuemu
