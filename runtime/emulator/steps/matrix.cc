// ldmatrix, and cp.async, which copies at once: a missing wait stays invisible.
#include <algorithm>
#include <cstring>

#include "runtime/emulator/machine/access.h"
#include "runtime/emulator/machine/races.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint32_t kRows = 8, kRowBytes = 16;
}

/// src[0]: row addresses in shared memory, lane 8m + r for row r of matrix m. flags 1: transposed.
void load_matrix(Warp& warp, const Ins& ins) {
  if (warp.mask != kNone && warp.launch->checks.sync)
    report(warp, ins,
           {.kind = "illegal_mask",
            .message = "ldmatrix needs all lanes of the warp",
            .lane = static_cast<uint32_t>(std::countr_zero(warp.mask))});
  ++warp.syncs;  // .sync
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t base = ins.wide != 0 ? warp.u64(ins.src[0])[lane] : warp.u32(ins.src[0])[lane];
    address[lane] = (base + static_cast<uint64_t>(ins.imm)) & ~kWindowMask;
  }
  const uint32_t all = warp.mask,
                 wanted = ins.count == 4 ? kNone : (uint32_t{1} << (kRows * ins.count)) - 1;
  warp.mask &= wanted;
  const uint32_t lanes =
      warp.mask == 0 ? 0 : resolve_shared(warp, ins, address, kRowBytes, Access::Load);
  if (lanes != 0 && warp.launch->checks.race)
    note_shared(warp, ins, address, kRowBytes, Access::Load, lanes, 0);
  warp.mask = all;
  for (uint32_t matrix = 0; matrix < ins.count; ++matrix) {
    uint16_t cells[kRows][kRows] = {};
    for (uint32_t row = 0; row < kRows; ++row)
      if ((lanes >> (matrix * kRows + row) & 1) != 0)
        std::memcpy(cells[row], warp.block->shared.data() + address[matrix * kRows + row],
                    kRowBytes);
    uint32_t* out = warp.u32(warp.lists[ins.list + matrix]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((all >> lane & 1) == 0) continue;
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      const uint32_t low = ins.flags != 0 ? cells[column][row] : cells[row][column];
      const uint32_t high = ins.flags != 0 ? cells[column + 1][row] : cells[row][column + 1];
      out[lane] = high << 16 | low;
    }
  }
}

/// src: shared address, global address, bytes to read; count: bytes to write, the rest is zero.
void copy_async(Warp& warp, const Ins& ins) {
  uint64_t to[kLanes], from[kLanes];
  const uint32_t bytes = ins.count, all = warp.mask;
  const auto lead = static_cast<uint32_t>(std::countr_zero(all));
  uint32_t reading = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t of = (all >> lane & 1) != 0 ? lane : lead;
    const uint64_t base = ins.wide != 0 ? warp.u64(ins.src[0])[of] : warp.u32(ins.src[0])[of];
    to[lane] = (base + static_cast<uint64_t>(ins.imm)) & ~kWindowMask;
    from[lane] = warp.u64(ins.src[1])[of] + ins.aux;
    if ((all >> lane & 1) != 0 && warp.u32(ins.src[2])[lane] != 0) reading |= uint32_t{1} << lane;
  }
  uint32_t readable = 0;
  for (uint32_t left = reading; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    warp.mask = uint32_t{1} << lane;
    const uint32_t size = std::min(warp.u32(ins.src[2])[lane], bytes);
    // A shortened read may have any size; its alignment is that of the whole copy.
    const bool whole = (size & (size - 1)) == 0;
    readable |= whole ? resolve_global(warp, ins, from, size, Access::Load) : warp.mask;
  }
  warp.mask = all;
  const uint32_t lanes = resolve_shared(warp, ins, to, bytes, Access::Store);
  if (warp.launch->checks.race) note_shared(warp, ins, to, bytes, Access::Store, lanes, 0);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    std::byte* out = warp.block->shared.data() + to[lane];
    const uint32_t size =
        (readable >> lane & 1) != 0 ? std::min(warp.u32(ins.src[2])[lane], bytes) : 0;
    std::memset(out, 0, bytes);
    if (warp.launch->checks.init)
      std::memset(warp.block->shared_defined.data() + to[lane], 1, bytes);
    if (size != 0 && warp.launch->memory->find(from[lane], size) != nullptr)
      std::memcpy(out, reinterpret_cast<const void*>(from[lane]), size);
  }
}

}  // namespace gpuemu::emulator::steps
