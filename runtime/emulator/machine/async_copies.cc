#include "runtime/emulator/machine/async_copies.h"

#include <cstring>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {

std::byte* host(const BulkEnd& end) {
  return end.block != nullptr ? end.block->shared.bytes.data() + end.at
                              : reinterpret_cast<std::byte*>(end.at);
}

/// Returns the definedness bytes at one end of a copy; null if undefined values are not checked.
uint8_t* defined(Launch& launch, const BulkEnd& end, uint64_t bytes) {
  if (!launch.inputs.checks.init) return nullptr;
  if (end.block != nullptr) return end.block->shared.defined.data() + end.at;
  Allocation* allocation = launch.memory->find(end.at, bytes);
  return allocation != nullptr && allocation->tracked ? allocation->shadow(end.at) : nullptr;
}

/// Copies the bytes and their definedness.
void move_bytes(Launch& launch, const BulkCopy& copy, const BulkEnd& to, const BulkEnd& from) {
  if (copy.combine != nullptr) {
    copy.combine(copy, host(to), host(from));
  } else {
    std::memmove(host(to), host(from), copy.bytes);
  }
  uint8_t* const shadow = defined(launch, to, copy.bytes);
  if (shadow == nullptr) return;
  const uint8_t* const source = defined(launch, from, copy.bytes);
  for (uint64_t i = 0; i < copy.bytes; ++i) {
    shadow[i] = source == nullptr || source[i] != 0 ? uint8_t{1} : uint8_t{0};
  }
}

/// If the tensor map fills with NaN, each 16 bits are this NaN (measured on an H200).
void fill_outside(const TensorBox& box, const TensorPiece& piece, std::byte* to) {
  std::memset(to, 0, piece.bytes);
  for (uint32_t at = 0; box.fills_with_nan && at + 1 < piece.bytes; at += 2) {
    to[at] = std::byte{0xf7};
    to[at + 1] = std::byte{0x7f};
  }
}

void arrive_in_pieces(Launch& launch, const BulkCopy& copy) {
  const bool loads = copy.to.block != nullptr;
  const BulkEnd& shared = loads ? copy.to : copy.from;
  uint8_t* const shadow = loads ? defined(launch, copy.to, copy.bytes) : nullptr;
  if (shadow != nullptr) std::memset(shadow, 1, copy.box->extent);
  BulkCopy part;
  part.to = copy.to;
  part.combine = copy.combine;
  part.reduction = copy.reduction;
  for (const TensorPiece& one : copy.box->pieces) {
    const BulkEnd here{shared.block, shared.at + one.offset}, there{nullptr, one.address};
    part.bytes = one.bytes;
    if (one.address != 0) {
      move_bytes(launch, part, loads ? here : there, loads ? there : here);
    } else if (loads) {
      fill_outside(*copy.box, one, host(here));
    }
  }
}
}  // namespace

void add_copy(Warp& warp, Block& to, BulkCopy copy) {
  if (&to != warp.block) warp.launch->copies_between_blocks.store(true, std::memory_order_relaxed);
  to.barriers.bulk_copies.push_back(std::move(copy));
}

void arrive(Warp* reporter, BulkCopy& copy) {
  Launch& launch = *(copy.to.block != nullptr ? copy.to.block : copy.from.block)->launch;
  if (reporter != nullptr && !copy.seen.empty() &&
      std::memcmp(copy.seen.data(), host(copy.from), copy.seen.size()) != 0) {
    report_check(
        *reporter, *reporter->step,
        {.kind = DeviceFindingKind::RaceAsync,
         .message = fmt::format("shared memory was changed while {} could still read it: wait with "
                                "cp.async.bulk.wait_group.read before it is written again",
                                describe(launch.inputs.program->module, *copy.source)),
         .lane = copy.lane,
         .other = copy.source});
  }
  if (copy.box != nullptr) {
    arrive_in_pieces(launch, copy);
  } else {
    move_bytes(launch, copy, copy.to, copy.from);
  }
}

const ptx::Instruction* copy_in_flight(const Block& block, uint32_t offset) {
  for (const Warp& warp : block.warps) {
    if (warp.copies == nullptr) continue;
    for (const AsyncCopy& copy : warp.copies->copies) {
      for (uint32_t rest = copy.lanes; rest != 0; rest &= rest - 1) {
        if (offset - copy.to[first_lane(rest)] < copy.bytes) return copy.source;
      }
    }
  }
  for (const BulkCopy& copy : block.barriers.bulk_copies) {
    if (copy.to.block == &block && offset - copy.to.at < copy.extent()) return copy.source;
  }
  return nullptr;
}

const BulkCopy* unfinished_bulk(const Block& block) {
  for (const Warp& warp : block.warps) {
    if (warp.copies != nullptr && !warp.copies->bulk.empty()) return &warp.copies->bulk.front();
  }
  return block.barriers.bulk_copies.empty() ? nullptr : &block.barriers.bulk_copies.front();
}

}  // namespace gpuemu::emulator
