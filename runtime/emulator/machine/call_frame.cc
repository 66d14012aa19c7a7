// Merges frames: when lanes that called a function separately reconverge inside it, their registers
// and parameters move into one frame.
#include <array>
#include <bit>
#include <cstring>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {

void move_lanes(std::byte* to, const std::byte* from, size_t bytes, uint32_t lanes) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const size_t at = bytes * static_cast<size_t>(std::countr_zero(left));
    std::memcpy(to + at, from + at, bytes);
  }
}

uint32_t mixed(uint32_t own, uint32_t other, uint32_t lanes) {
  return (own & ~lanes) | (other & lanes);
}

}  // namespace

bool Frame::may_take(const Frame& from) const {
  return this == &from ||
         (code == from.code && site == from.site && local_base == from.local_base &&
          warp == from.warp && block == from.block &&
          (observed == nullptr) == (from.observed == nullptr));
}

void Frame::take_lanes(const Frame& from, uint32_t lanes) {
  if (this == &from) return;
  for (const RegisterPlace& slot : code->slots) {
    std::byte* const to = registers + slot.offset;
    const std::byte* const other = from.registers + slot.offset;
    if (slot.bytes != 0) {
      move_lanes(to, other, slot.bytes, lanes);
      continue;
    }
    uint32_t own = 0, theirs = 0;
    std::memcpy(&own, to, sizeof own);
    std::memcpy(&theirs, other, sizeof theirs);
    own = mixed(own, theirs, lanes);
    std::memcpy(to, &own, sizeof own);
  }
  move_lanes(params.data(), from.params.data(), code->param_bytes, lanes);
  if (stack_ends != nullptr || from.stack_ends != nullptr) {
    const uint32_t begin = local_base + code->local_bytes;
    if (stack_ends == nullptr) {
      stack_ends = std::make_unique<std::array<uint32_t, kLanes>>();
      stack_ends->fill(begin);
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) != 0) {
        (*stack_ends)[lane] = from.stack_ends != nullptr ? (*from.stack_ends)[lane] : begin;
      }
    }
  }
  undefined.take_lanes(from.undefined, lanes);
  if (observed != nullptr) observed->take_lanes(*from.observed, lanes);
}

void UndefinedRegisters::assign(size_t count) {
  lanes.assign(count, 0);
  origin.assign(count, 0);
  bits.assign(count, 0);
  computed.assign(count, 0);
}

void UndefinedRegisters::take_lanes(const UndefinedRegisters& from, uint32_t taken) {
  if (lanes.empty()) {
    if (from.lanes.empty()) return;
    assign(from.lanes.size());
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    const uint32_t theirs = from.lanes.empty() ? 0 : from.lanes[i] & taken;
    lanes[i] &= ~taken;
    computed[i] &= ~taken;
    if (theirs == 0) continue;
    computed[i] |= from.computed[i] & theirs;
    const bool known = from.bits[i] != 0 && (lanes[i] == 0 || bits[i] != 0);
    bits[i] = known ? (lanes[i] == 0 ? 0 : bits[i]) | from.bits[i] : 0;
    origin[i] = from.origin[i];
    lanes[i] |= theirs;
  }
}

}  // namespace gpuemu::emulator
