// ldmatrix: eight rows of a matrix from shared memory to the registers of a warp.
#include <algorithm>
#include <cstring>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/product.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint32_t kRows = 8, kRowBytes = 16;
}

void load_matrix(Warp& warp, const Step& step, const AccessOperands& access) {
  if (!whole_warp(warp, step)) return;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t base =
        access.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    address[lane] = (base + static_cast<uint64_t>(access.offset)) & ~kWindowMask;
  }
  const uint32_t all = warp.masks.running,
                 wanted = access.count == 4 ? kNone : (uint32_t{1} << (kRows * access.count)) - 1;
  warp.masks.running &= wanted;
  const uint32_t lanes =
      warp.masks.running == 0 ? 0 : resolve_shared(warp, step, address, kRowBytes, Access::Load);
  if (lanes != 0 && warp.launch->inputs.checks.race) {
    note_shared(warp, step, address, kRowBytes, Access::Load, lanes, 0);
  }
  warp.meet_lanes(kNone);  // .sync, and the rows have been read for all of them.
  warp.masks.running = all;
  for (uint32_t matrix = 0; matrix < access.count; ++matrix) {
    uint16_t cells[kRows][kRows] = {};
    for (uint32_t row = 0; row < kRows; ++row) {
      if ((lanes >> (matrix * kRows + row) & 1) != 0) {
        std::memcpy(cells[row], warp.block->shared.bytes.data() + address[matrix * kRows + row],
                    kRowBytes);
      }
    }
    uint32_t* out = warp.u32(warp.function.lists[access.list + matrix]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((all >> lane & 1) == 0) continue;
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      const uint32_t low = access.is_transposed ? cells[column][row] : cells[row][column];
      const uint32_t high = access.is_transposed ? cells[column + 1][row] : cells[row][column + 1];
      out[lane] = high << 16 | low;
    }
  }
}

}  // namespace gpuemu::emulator::steps
