#include "runtime/emulator/machine/cluster.h"

#include <algorithm>

namespace gpuemu::emulator {

Block* block_of(const Warp& warp, uint64_t address) {
  const uint64_t rank = address >> kRankShift & kRankMask;
  return rank == 0 ? warp.block : nullptr;
}

std::optional<SharedPlace> locate_shared(Warp& warp, const Ins& ins, uint64_t address,
                                         uint32_t lane, uint64_t bytes) {
  const uint64_t window = address & kWindowMask, offset = address & kSharedOffsetMask;
  Block* block = window == 0 || window == kSharedWindow ? block_of(warp, address) : nullptr;
  const uint64_t size = warp.launch->shared_bytes, align = std::min<uint64_t>(bytes, 16);
  const auto refuse = [&](const char* kind, const std::string& message) {
    report(warp, ins,
           {.kind = kind,
            .message = message,
            .lane = lane,
            .byte_offset = static_cast<int64_t>(offset)});
    return std::nullopt;
  };
  if (block == nullptr)
    return refuse("out_of_bounds",
                  fmt::format("needs an address of shared memory, not {:#x}", address));
  if (offset > size || bytes > size - offset)
    return refuse("out_of_bounds",
                  fmt::format("accesses {} bytes at offset {} of shared memory, which has {} bytes",
                              bytes, offset, size));
  if (offset % align != 0)
    return refuse(
        "misaligned",
        fmt::format("accesses {} bytes at shared memory {}, which is not a multiple of {}", bytes,
                    shared_place(warp, offset, 8), align));
  return SharedPlace{block, static_cast<uint32_t>(offset)};
}

}  // namespace gpuemu::emulator
