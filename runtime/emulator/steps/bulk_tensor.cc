// cp.async.bulk.tensor and related instructions: one lane copies a box of a tensor that a tensor
// map describes.
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/memory/tensor_box.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/bulk.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

constexpr uint32_t kSharedAlign = 128, kMapAlign = 64, kChunk = 16;

/// The registers of an instruction: the map, the indices, the im2col offsets, the multicast mask.
struct Registers {
  Warp& warp;
  std::span<const uint32_t> all;
  uint32_t lane;

  uint64_t map() const { return warp.u64(all[0])[lane]; }
  uint32_t operator[](size_t i) const { return warp.u32(all[i])[lane]; }
};

void refuse(Warp& warp, const Step& step, uint32_t lane, DeviceFindingKind kind,
            const std::string& message) {
  report_check(warp, step, {.kind = kind, .message = message, .lane = lane});
}

/// Returns the bytes of a parameter or of global memory; null if fewer are accessible.
const void* bytes_at(Warp& warp, uint64_t address, uint64_t bytes) {
  if ((address & kWindowMask) != kParamWindow) {
    return warp.launch->memory->find(address, bytes) == nullptr
               ? nullptr
               : reinterpret_cast<const void*>(address);
  }
  const std::vector<std::byte>& all = warp.launch->inputs.params;
  const uint64_t at = address - kParamWindow;
  return bytes > all.size() || at > all.size() - bytes ? nullptr : all.data() + at;
}

std::optional<TensorMap> map_at(Warp& warp, const Step& step, const Registers& in,
                                const BulkOperands& bulk) {
  const uint64_t address = in.map();
  const void* const at = bytes_at(warp, address, sizeof(TensorMap));
  if (at == nullptr || address % kMapAlign != 0) {
    refuse(warp, step, in.lane, DeviceFindingKind::IllegalAddress,
           fmt::format("needs the address of a tensor map: a multiple of {} in a parameter, in "
                       "constant or in global memory, not {:#x}",
                       kMapAlign, address));
    return std::nullopt;
  }
  TensorMap map;
  std::memcpy(&map, at, sizeof map);
  if (const char* const reason = reason_against(map)) {
    const bool is_none = !is_map(map);
    refuse(warp, step, in.lane,
           is_none ? DeviceFindingKind::IllegalAddress : DeviceFindingKind::UnsupportedInstruction,
           is_none ? fmt::format("cannot copy by what lies at this address: {}", reason)
                   : fmt::format("the emulator cannot copy by this tensor map: {}", reason));
    return std::nullopt;
  }
  const bool has_columns = map.kind == TensorMapKind::Im2col;
  if (map.rank() != bulk.rank || has_columns != bulk.is_im2col) {
    refuse(warp, step, in.lane, DeviceFindingKind::IllegalAddress,
           fmt::format("needs {} map of {} dimensions; this one is {} and has {}",
                       bulk.is_im2col ? "an im2col" : "a tiled", bulk.rank,
                       has_columns ? "im2col" : "tiled", map.rank()));
    return std::nullopt;
  }
  return map;
}

TensorPlace place_of(const Registers& in, const BulkOperands& bulk) {
  TensorPlace place;
  for (uint32_t i = 0; i < bulk.rank; ++i) place.index[i] = static_cast<int32_t>(in[1 + i]);
  for (uint32_t i = 0; bulk.has_added && i + 2 < bulk.rank; ++i) {
    place.added[i] = static_cast<uint16_t>(in[1u + bulk.rank + i]);
  }
  return place;
}

/// Checks for what a GPU rejects as an illegal instruction (measured on an H200, driver 580,
/// 2026-11-29, tiles of uint8 and float32): tiles, also of loads, that do not begin at a multiple
/// of 16 bytes, and stored boxes that begin before the tensor. Loads may begin there.
bool may_begin_at(Warp& warp, const Step& step, const Registers& in, const TensorMap& map,
                  const TensorPlace& place) {
  const auto& bulk = step.operands.get<BulkOperands>();
  const int64_t byte = int64_t{place.index[0]} * kTensorElements[map.type].bytes;
  if (!bulk.is_im2col && byte % kChunk != 0) {
    refuse(warp, step, in.lane, DeviceFindingKind::Misaligned,
           fmt::format("begins at index {} of the first dimension, which is byte {}: it has to be "
                       "a multiple of {} bytes",
                       place.index[0], byte, kChunk));
    return false;
  }
  for (uint32_t i = 0; bulk.from_shared && i < bulk.rank; ++i) {
    if (place.index[i] >= 0) continue;
    refuse(warp, step, in.lane, DeviceFindingKind::IllegalAddress,
           fmt::format("writes a box that begins at index {} of dimension {}: where it is written, "
                       "no index may be negative",
                       place.index[i], i));
    return false;
  }
  return true;
}

ptx::Type type_of(const TensorMap& map) {
  using ptx::Type;
  constexpr Type kTypes[] = {Type::None, Type::None, Type::U32, Type::S32, Type::U64,
                             Type::S64,  Type::F16,  Type::F32, Type::F64, Type::BF16};
  return kTypes[map.type];
}

/// Bitwise reductions ignore the element type.
std::optional<Reduction> reduction_of(const BulkOperands& bulk, const TensorMap& map) {
  const AtomicKind kind = bulk.reduction.kind;
  const ptx::Type type = type_of(map);
  const bool is_bits = kind == AtomicKind::And || kind == AtomicKind::Or || kind == AtomicKind::Xor;
  const bool is_float = kTensorElements[map.type].is_float;
  const bool counts = kind == AtomicKind::Inc || kind == AtomicKind::Dec;
  const bool is_half = type == ptx::Type::F16 || type == ptx::Type::BF16;
  if (type == ptx::Type::None || (counts && type != ptx::Type::U32)) return std::nullopt;
  if (is_float && (is_bits || (kind != AtomicKind::Add && !is_half))) return std::nullopt;
  if (is_bits) {
    return Reduction{kind, kTensorElements[map.type].bytes == 8 ? ptx::Type::B64 : ptx::Type::B32};
  }
  return Reduction{kind, type};
}

/// Drops the pieces without memory, and reports them.
void check_memory(Warp& warp, const Step& step, uint32_t lane, TensorBox& box) {
  std::erase_if(box.pieces, [&](const TensorPiece& one) {
    return one.address != 0 && !has_memory(warp, step, lane, one.address, one.bytes);
  });
}

uint32_t width_of(const TensorPiece& piece, const TensorBox& box) {
  return piece.address % kChunk == 0 && piece.bytes % kChunk == 0 ? kChunk : box.element_bytes;
}

/// Reports the accesses to global memory to the race detectors and the counters.
void note_pieces(Warp& warp, const Step& step, const BulkCopy& copy, Access access) {
  const bool counts = warp.block->counters != nullptr;
  if (warp.launch->races == nullptr && !counts) return;
  BulkCopy part;
  part.source = copy.source;
  part.lane = copy.lane;
  for (const TensorPiece& one : copy.box->pieces) {
    if (one.address == 0) continue;
    part.bytes = one.bytes;
    note_end(warp, step, part, {nullptr, one.address}, access, width_of(one, *copy.box));
    if (counts) count_row(warp, step, ptx::Space::Global, one.address, one.bytes);
  }
}

void load(Warp& warp, const Step& step, BulkCopy copy, const Registers& in, const BulkEnd& end) {
  const auto& bulk = step.operands.get<BulkOperands>();
  copy.to = end;
  note_pieces(warp, step, copy, Access::Load);
  const auto barrier = locate_mbarrier(warp, step, {in.lane, warp.u64(step.src[1])[in.lane]});
  if (!barrier) return;
  copy.barrier = barrier->offset;
  if (bulk.is_multicast) return multicast(warp, step, copy, in[in.all.size() - 1]);
  note_target(warp, step, copy);
  add_copy(warp, *barrier->block, std::move(copy));
}

void store(Warp& warp, const Step& step, BulkCopy copy, const BulkEnd& end) {
  copy.from = end;
  note_end(warp, step, copy, copy.from, Access::Load, kChunk);
  note_pieces(warp, step, copy, copy.combine != nullptr ? Access::Atomic : Access::Store);
  if (warp.launch->inputs.checks.race) {
    const std::byte* const source = end.block->shared.bytes.data() + end.at;
    copy.seen.assign(source, source + copy.box->extent);
  }
  add_to_group(warp, std::move(copy));
}

void start(Warp& warp, const Step& step, const BulkOperands& bulk, const Registers& in) {
  const auto map = map_at(warp, step, in, bulk);
  if (!map) return;
  const TensorPlace place = place_of(in, bulk);
  if (!may_begin_at(warp, step, in, *map, place)) return;
  auto box = std::make_shared<TensorBox>(box_at(*map, place));
  const uint64_t shared = warp.u64(step.src[0])[in.lane];
  const auto at = locate_shared(warp, step, shared, in.lane, box->extent);
  if (!at) return;
  if (at->offset % kSharedAlign != 0) {
    return refuse(warp, step, in.lane, DeviceFindingKind::Misaligned,
                  fmt::format("copies a box from or to offset {} of shared memory, which is not a "
                              "multiple of {}",
                              at->offset, kSharedAlign));
  }
  check_memory(warp, step, in.lane, *box);
  swizzle(*box, *map, at->offset);
  BulkCopy copy;
  copy.source = &instruction_of(warp, step);
  copy.lane = in.lane;
  copy.bytes = box->bytes;
  copy.box = std::move(box);
  if (bulk.reduces) {
    const auto reduction = reduction_of(bulk, *map);
    if (!reduction) {
      return refuse(warp, step, in.lane, DeviceFindingKind::UnsupportedInstruction,
                    "the elements of this tensor map have no such reduction");
    }
    copy.combine = combine_elements;
    copy.reduction = *reduction;
  }
  if (warp.block->counters != nullptr) {
    count_row(warp, step, ptx::Space::Shared, at->offset, copy.box->extent);
  }
  if (bulk.to_shared) {
    load(warp, step, std::move(copy), in, {at->block, at->offset});
  } else {
    store(warp, step, std::move(copy), {at->block, at->offset});
  }
}

template <typename Work>
void each_lane(Warp& warp, const BulkOperands& bulk, const Work& work) {
  const std::span<const uint32_t> list(warp.function.lists + bulk.list, bulk.registers_of_map());
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    work(Registers{warp, list, first_lane(left)});
  }
}

}  // namespace

void copy_box(Warp& warp, const Step& step, const BulkOperands& bulk) {
  each_lane(warp, bulk, [&](const Registers& in) { start(warp, step, bulk, in); });
}

void copy_tensor_map(Warp& warp, const Step& step) {
  check_aligned(warp, step);
  const uint32_t lane = first_lane(warp.masks.running);
  const uint64_t to = warp.u64(step.src[0])[lane], from = warp.u64(step.src[1])[lane];
  for (const uint64_t address : {to, from}) {
    if (address % sizeof(TensorMap) == 0) continue;
    return refuse(warp, step, lane, DeviceFindingKind::Misaligned,
                  fmt::format("copies a tensor map from or to {:#x}, which is not a multiple of {}",
                              address, sizeof(TensorMap)));
  }
  const auto source = locate_shared(warp, step, from, lane, sizeof(TensorMap));
  if (!source || !has_memory(warp, step, lane, to, sizeof(TensorMap))) return;
  BulkCopy copy;
  copy.source = &instruction_of(warp, step);
  copy.lane = lane;
  copy.bytes = sizeof(TensorMap);
  copy.from = {source->block, source->offset};
  copy.to = {nullptr, to};
  note_end(warp, step, copy, copy.to, Access::Store, kChunk);
  arrive(nullptr, copy);
}

void prefetch_box(Warp& warp, const Step& step, const BulkOperands& bulk) {
  each_lane(warp, bulk, [&](const Registers& in) { (void)map_at(warp, step, in, bulk); });
}

}  // namespace gpuemu::emulator::steps
