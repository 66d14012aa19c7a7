// st.async and red.async: stores to shared memory of the cluster that signal an mbarrier.
#include <bit>
#include <cstring>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

void reduce(const BulkCopy& copy, std::byte* to, const std::byte* from) {
  uint64_t operand = 0;
  std::memcpy(&operand, from, copy.bytes);
  update_atomically(copy.reduction, to, operand, false);
}

/// Returns the values of one lane, element after element.
std::vector<std::byte> values_of(Warp& warp, const Step& step, uint32_t lane) {
  const auto& store = step.operands.get<AsyncStoreOperands>();
  const uint32_t width = store.element_bytes;
  std::vector<std::byte> out(size_t{width} * store.count);
  for (uint32_t i = 0; i < store.count; ++i) {
    const uint32_t reg = warp.function.lists[store.list + i];
    const uint64_t value = width == 8 ? warp.u64(reg)[lane] : warp.u32(reg)[lane];
    std::memcpy(&out[size_t{width} * i], &value, width);
  }
  return out;
}

void start(Warp& warp, const Step& step, uint32_t lane) {
  BulkCopy copy;
  copy.seen = values_of(warp, step, lane);
  copy.bytes = copy.seen.size();
  const auto to = locate_shared(warp, step, warp.u64(step.src[0])[lane], lane, copy.bytes);
  const auto barrier = locate_mbarrier(warp, step, {lane, warp.u64(step.src[1])[lane]});
  if (!to || !barrier) return;
  if (to->block != barrier->block) {
    return report_mbarrier(warp, step, {lane, warp.u64(step.src[1])[lane]},
                           fmt::format("is of block {} of the cluster, the bytes go to block {}; "
                                       "both have to be of one",
                                       barrier->block->position.rank, to->block->position.rank));
  }
  copy.source = &instruction_of(warp, step);
  copy.lane = lane;
  copy.to = {to->block, to->offset};
  copy.from = {nullptr, reinterpret_cast<uint64_t>(copy.seen.data())};
  copy.barrier = barrier->offset;
  if (const auto& store = step.operands.get<AsyncStoreOperands>(); store.reduces) {
    copy.combine = reduce;
    copy.reduction = store.reduction;
  } else if (warp.launch->inputs.checks.init) {
    std::memset(to->block->shared.defined.data() + to->offset, kInFlight, copy.bytes);
  }
  add_copy(warp, *barrier->block, std::move(copy));
}
}  // namespace

void store_async(Warp& warp, const Step& step, const AsyncStoreOperands&) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    start(warp, step, static_cast<uint32_t>(std::countr_zero(left)));
  }
}

}  // namespace gpuemu::emulator::steps
