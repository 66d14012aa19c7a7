#include "runtime/emulator/gpu_models.h"

#include <algorithm>
#include <iterator>

namespace gpuemu::emulator {
namespace {
/// From the technical specifications in the CUDA programming guide. Multiprocessors are those of
/// Quadro RTX 6000, A100, A40, L40, H100, B200 and RTX PRO 6000 Blackwell.
constexpr Part kParts[] = {
    {75, 72, 65536, 65536, 1024, 16},    {80, 108, 166912, 167936, 2048, 32},
    {86, 84, 101376, 102400, 1536, 16},  {89, 142, 101376, 102400, 1536, 24},
    {90, 132, 232448, 233472, 2048, 32}, {100, 148, 232448, 233472, 2048, 32},
    {120, 188, 101376, 102400, 1536, 24}};
}  // namespace

const Part& part_of(int sm) {
  const Part* found = std::begin(kParts);
  for (const Part& part : kParts) {
    if (part.sm <= sm) found = &part;
  }
  return *found;
}

uint64_t blocks_held(const Part& part, const Launch& launch) {
  const Dim3& block = launch.inputs.config->block;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  const uint64_t warps = (threads + kLanes - 1) / kLanes;
  uint64_t each = std::min<uint64_t>(part.blocks, part.threads / (warps * kLanes));
  if (launch.inputs.shared_bytes > 0) {
    each = std::min<uint64_t>(each, part.shared_per_multiprocessor / launch.inputs.shared_bytes);
  }
  return std::max<uint64_t>(each, 1) * part.multiprocessors;
}

}  // namespace gpuemu::emulator
