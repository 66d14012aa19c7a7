// malloc and free of device code.
#include <bit>

#include "common/base/limits.h"
#include "common/base/text.h"
#include "runtime/emulator/steps/externals.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr std::string_view kRemedy = "; free takes what malloc in a kernel gave, once";

void report_free(Warp& warp, const Step& step, uint32_t lane, std::string message) {
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::InvalidFree, .message = message.append(kRemedy), .lane = lane});
}
}  // namespace

void take_memory(Warp& warp, const Step&, const CallSite& site) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    give_back(warp, site, lane, warp.launch->memory->heap().take(argument(warp, site, 0, lane)));
  }
}

void free_memory(Warp& warp, const Step& step, const CallSite& site) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = argument(warp, site, 0, lane);
    if (address == 0) continue;
    Memory& memory = *warp.launch->memory;
    switch (memory.heap().give_back(address)) {
      case Heap::Returned::Yes:
        break;
      case Heap::Returned::Twice:
        report_free(warp, step, lane, fmt::format("frees {:#x} a second time", address));
        break;
      case Heap::Returned::Inside:
        report_free(
            warp, step, lane,
            fmt::format("frees {:#x}, which is {} after the beginning of its memory", address,
                        counted(address - memory.heap().nearest(address)->base, "byte")));
        break;
      case Heap::Returned::Foreign: {
        const Allocation* of = memory.nearest(address);
        const std::string what = of == nullptr ? "" : fmt::format(" but lies in '{}'", of->name);
        report_free(warp, step, lane,
                    fmt::format("frees {:#x}, which malloc did not give{}", address, what));
        break;
      }
    }
  }
}

}  // namespace gpuemu::emulator::steps
