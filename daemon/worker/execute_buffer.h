// One tensor of a plan in device memory: guards, poison, upload, and what came back.
//
//   | guard | base offset | layout.buffer_elements | guard |     guards only where the device does
//   not
//                                                              check bounds by itself
#pragma once

#include <optional>
#include <vector>

#include "common/base/arena.h"
#include "daemon/worker/plan.h"
#include "daemon/worker/run_memory.h"

namespace gpuemu {

/// Two patterns that no kernel writes by chance. The first is a NaN in every float format, the
/// second a finite, large number; as integers they differ in every byte.
std::byte poison_byte(uint32_t run, uint64_t index);
/// What lies around the tensors; another value than the poison of the same run.
std::byte guard_byte(uint32_t run);

/// Frees its allocation when it goes. Its images of the memory are of RunMemory::host().
class ExecuteBuffer {
 public:
  static Result<ExecuteBuffer> create(RunMemory& memory, const PlanTensor& tensor);
  ExecuteBuffer(ExecuteBuffer&& other) noexcept;
  ExecuteBuffer(const ExecuteBuffer&) = delete;
  ExecuteBuffer& operator=(const ExecuteBuffer&) = delete;
  ExecuteBuffer& operator=(ExecuteBuffer&&) = delete;
  ~ExecuteBuffer();

  /// Bytes that create() allocates for it.
  static Result<uint64_t> bytes_for(const PlanTensor& tensor, bool checks_bounds);

  /// The bytes of the tensor's buffer, without guard and base offset.
  uint64_t address() const { return allocation_ + front_bytes_; }
  uint64_t front_bytes() const { return front_bytes_; }

  /// Fills everything for `run` and copies the inputs from the arena; those of the warmup if asked.
  Status upload(Arena& arena, uint32_t run, bool warmup = false);
  /// Reads all back: after RunMemory::settle() the packed elements and the findings below can be
  /// asked for.
  Status download();
  std::vector<std::byte> packed() const;

  /// Damaged guards, and gaps of the layout that no element uses. REQUIRES: download(), settled.
  std::optional<HarnessFinding> guard_finding() const;
  /// Elements of an input that changed. REQUIRES: download(), settled.
  std::optional<HarnessFinding> input_finding() const;

 private:
  ExecuteBuffer(RunMemory& memory, const PlanTensor& tensor) : memory_(&memory), tensor_(&tensor) {}
  std::span<const std::byte> body(std::span<const std::byte> image) const;

  RunMemory* memory_;  ///< Null after a move.
  const PlanTensor* tensor_;
  uint64_t allocation_ = 0;
  uint64_t front_bytes_ = 0, body_bytes_ = 0, total_bytes_ = 0;
  std::span<std::byte> uploaded_, downloaded_;
};

}  // namespace gpuemu
