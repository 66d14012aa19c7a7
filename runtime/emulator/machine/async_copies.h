// Copies in flight between global and shared memory. Their bytes arrive when the kernel waits for
// them and not before, so that a missing wait shows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/emulator/code/step.h"
#include "runtime/emulator/memory/tensor_box.h"

namespace gpuemu::emulator {

class Warp;
struct Block;

/// In SharedMemory::defined: a copy to this byte has not arrived.
inline constexpr uint8_t kInFlight = 2;

/// One cp.async of a warp. Lanes leave it as their bytes arrive.
struct AsyncCopy {
  const ptx::Instruction* source = nullptr;
  const Step* step = nullptr;
  const Code* code = nullptr;  ///< The function that contains the step.
  uint32_t site = 0;           ///< Its Step::cache.
  uint64_t serial = 0;
  uint32_t lanes = 0, bytes = 0;
  std::array<uint32_t, kLanes> group{}, to{}, size{};
  std::array<uint64_t, kLanes> from{};
};

/// cp.async.mbarrier.arrive: lanes arrive once their copies of a lower serial have.
struct AsyncArrival {
  uint64_t serial = 0;
  uint32_t lanes = 0;
  std::array<uint32_t, kLanes> barrier{};
};

/// A piece of memory that a bulk copy reads or writes.
struct BulkEnd {
  Block* block = nullptr;  ///< Block of the shared memory; null: global memory.
  uint64_t at = 0;         ///< Offset or address.
};

struct BulkCopy;
/// Combines what a copy brings with what is there.
using BulkCombine = void (*)(const BulkCopy& copy, std::byte* to, const std::byte* from);

/// One cp.async.bulk or cp.reduce.async.bulk, also of a tensor.
struct BulkCopy {
  const ptx::Instruction* source = nullptr;
  uint32_t lane = 0, group = 0;
  BulkEnd to, from;
  uint64_t bytes = 0;
  /// Set for a box of a tensor: its pieces name the addresses of the end in global memory.
  std::shared_ptr<const TensorBox> box;
  /// Bytes from the first to the last one that it touches in shared memory.
  uint64_t extent() const { return box != nullptr ? box->extent : bytes; }
  uint32_t barrier =
      0;  ///< Offset of the mbarrier that it signals, in the block that keeps the copy.
  BulkCombine combine = nullptr;
  Reduction reduction;          ///< What `combine` does.
  std::vector<std::byte> seen;  ///< The source in shared memory when the copy started.
};

/// The copies that the lanes of one warp have started.
struct WarpCopies {
  uint64_t serial = 0;
  std::vector<AsyncCopy> copies;
  std::vector<AsyncArrival> arrivals;
  std::array<uint32_t, kLanes> commits{};
  std::vector<BulkCopy> bulk;  ///< Copies that complete with a bulk group.
  std::array<uint32_t, kLanes> bulk_commits{};
};

/// Moves the bytes of a bulk copy.
void arrive(Warp* reporter, BulkCopy& copy);

/// The instruction that started the copy that has not arrived at `offset`, if it is known.
const ptx::Instruction* copy_in_flight(const Block& block, uint32_t offset);
/// A bulk copy that still accesses the block's shared memory; null if there is none.
const BulkCopy* unfinished_bulk(const Block& block);

}  // namespace gpuemu::emulator
