// Asynchronous copies between global and shared memory. Their bytes are moved only when the kernel
// waits for them, so that a missing wait is detected.
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

/// Value in SharedMemory::defined: a copy to this byte is in flight.
inline constexpr uint8_t kInFlight = 2;

/// A cp.async of a warp. A lane is removed once its bytes have arrived.
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

/// A cp.async.mbarrier.arrive: each lane arrives when its copies with a lower serial number have.
struct AsyncArrival {
  uint64_t serial = 0;
  uint32_t lanes = 0;
  std::array<uint32_t, kLanes> barrier{};
};

/// The source or destination of a bulk copy.
struct BulkEnd {
  Block* block = nullptr;  ///< Block of the shared memory; null: global memory.
  uint64_t at = 0;         ///< Offset in shared memory, or address in global memory.
};

struct BulkCopy;
/// Combines the copied bytes with those at the destination.
using BulkCombine = void (*)(const BulkCopy& copy, std::byte* to, const std::byte* from);

/// A cp.async.bulk or cp.reduce.async.bulk, of plain bytes or of a tensor.
struct BulkCopy {
  const ptx::Instruction* source = nullptr;
  uint32_t lane = 0, group = 0;
  BulkEnd to, from;
  uint64_t bytes = 0;
  /// Set for a box of a tensor: its pieces hold the addresses in global memory.
  std::shared_ptr<const TensorBox> box;
  /// Returns the size of the range in shared memory from the first to the last byte accessed.
  uint64_t extent() const { return box != nullptr ? box->extent : bytes; }
  uint32_t barrier =
      0;  ///< Offset of the mbarrier that it signals, in the block that keeps the copy.
  BulkCombine combine = nullptr;
  Reduction reduction;          ///< The operation of `combine`.
  std::vector<std::byte> seen;  ///< Copy of the shared source at the start of the copy.
};

/// The copies started by the lanes of one warp.
struct WarpCopies {
  uint64_t serial = 0;
  std::vector<AsyncCopy> copies;
  std::vector<AsyncArrival> arrivals;
  std::array<uint32_t, kLanes> commits{};
  std::vector<BulkCopy> bulk;  ///< Copies that complete with a bulk group.
  std::array<uint32_t, kLanes> bulk_commits{};
};

/// Adds a copy of `warp` to those that `to` waits for.
void add_copy(Warp& warp, Block& to, BulkCopy copy);
/// Completes a bulk copy by moving its bytes.
void arrive(Warp* reporter, BulkCopy& copy);

/// Returns the instruction that started the copy in flight to `offset`; null if unknown.
const ptx::Instruction* copy_in_flight(const Block& block, uint32_t offset);
/// Returns a bulk copy that still accesses the block's shared memory; null if there is none.
const BulkCopy* unfinished_bulk(const Block& block);

}  // namespace gpuemu::emulator
