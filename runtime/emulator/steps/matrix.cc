// ldmatrix: eight rows of a matrix from shared memory to the registers of a warp.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint32_t kRows = 8, kRowBytes = 16, kCellBytes = 2;

/// Records lanes that receive a pair of undefined cells. `address` and `lanes` are those of the
/// rows.
void note_undefined_rows(Warp& warp, const Step& step, const AccessOperands& access,
                         const uint64_t* address, uint32_t lanes) {
  const std::vector<uint8_t>& defined = warp.block->shared.defined;
  for (uint32_t matrix = 0; matrix < access.count; ++matrix) {
    uint32_t undefined = 0;
    uint64_t offset[kLanes] = {};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      bool all = true;
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t line = lane / 4, along = lane % 4 * 2 + half;
        const uint32_t row = matrix * kRows + (access.is_transposed ? along : line);
        const uint64_t at =
            address[row] + uint64_t{kCellBytes} * (access.is_transposed ? line : along);
        if (half == 0) offset[lane] = at;
        all = all && (lanes >> row & 1) != 0 && defined[at] == 0 && defined[at + 1] == 0;
      }
      if (all) undefined |= uint32_t{1} << lane;
    }
    if (undefined != 0) note_undefined_shared(warp, step, matrix, undefined, offset);
  }
}
}  // namespace

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
  if (warp.launch->inputs.checks.defers) note_undefined_rows(warp, step, access, address, lanes);
  warp.meet_lanes(kNone);  // .sync: the rows have been read for all lanes.
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
