// st.bulk: fills a range of shared memory with zeros.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "common/base/text.h"
#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint64_t kUnit = 8;

/// Returns whether the range has been filled with zeros already: storing the same value is no race.
bool is_zero(const Block& block, uint32_t offset, uint64_t bytes) {
  const auto* from = block.shared.bytes.data() + offset;
  return block.shared.all_written(offset, static_cast<uint32_t>(bytes)) &&
         std::all_of(from, from + bytes, [](std::byte one) { return one == std::byte{0}; });
}

void fill(Warp& warp, const Step& step, uint32_t lane) {
  const uint64_t address = warp.u64(step.src[0])[lane], bytes = warp.u64(step.src[1])[lane];
  if (bytes == 0) return;
  if (address % kUnit != 0 || bytes % kUnit != 0) {
    return report_check(warp, step,
                        {.kind = DeviceFindingKind::Misaligned,
                         .message = fmt::format("fills {} at {:#x}; address and number have to be "
                                                "multiples of {}",
                                                counted(bytes, "byte"), address, kUnit),
                         .lane = lane});
  }
  if (!locate_shared(warp, step, address, lane, kUnit)) return;
  const auto last = locate_shared(warp, step, address + bytes - kUnit, lane, kUnit);
  if (!last) return;
  const uint32_t offset = last->offset - static_cast<uint32_t>(bytes - kUnit);
  const Checks& checks = warp.launch->inputs.checks;
  if (checks.race && last->block == warp.block) {
    uint64_t at[kLanes] = {};
    at[lane] = offset;
    const uint32_t mask = uint32_t{1} << lane;
    note_shared(warp, step, at, static_cast<uint32_t>(bytes), Access::Store, mask,
                is_zero(*last->block, offset, bytes) ? mask : 0);
  }
  std::memset(last->block->shared.bytes.data() + offset, 0, bytes);
  if (checks.init) std::memset(last->block->shared.defined.data() + offset, 1, bytes);
}
}  // namespace

void store_bulk(Warp& warp, const Step& step, const BulkOperands&) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    fill(warp, step, static_cast<uint32_t>(std::countr_zero(left)));
  }
}

}  // namespace gpuemu::emulator::steps
