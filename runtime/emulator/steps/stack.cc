// alloca, stacksave and stackrestore: local memory that a function allocates while it runs. Every
// lane has a separate stack.
#include <algorithm>
#include <bit>

#include "common/base/limits.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

std::array<uint32_t, kLanes>& ends_of(Warp& warp) {
  Frame& frame = warp.frame();
  if (frame.stack_ends == nullptr) {
    const uint32_t end = warp.local_end();
    frame.stack_ends = std::make_unique<std::array<uint32_t, kLanes>>();
    frame.stack_ends->fill(end);
  }
  return *frame.stack_ends;
}

void put(Warp& warp, const Step& step, const StackOperands& stack, uint32_t lane, uint32_t value) {
  if (stack.is_wide) {
    warp.u64(step.dst)[lane] = value;
  } else {
    warp.u32(step.dst)[lane] = value;
  }
}
uint64_t get(Warp& warp, const Step& step, const StackOperands& stack, uint32_t lane) {
  return stack.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
}
}  // namespace

void take_stack(Warp& warp, const Step& step, const StackOperands& stack) {
  std::array<uint32_t, kLanes>& ends = ends_of(warp);
  const uint64_t align = stack.align;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const uint64_t begin = (ends[lane] + align - 1) / align * align,
                   bytes = get(warp, step, stack, lane);
    if (begin > kLocalBytesMax || bytes > kLocalBytesMax - begin) {
      return report_check(
          warp, step,
          {.kind = DeviceFindingKind::StackOverflow,
           .message = fmt::format("takes {} bytes of the stack, of which a thread has {} "
                                  "and uses {}",
                                  bytes, kLocalBytesMax, ends[lane]),
           .lane = lane});
    }
    ends[lane] = static_cast<uint32_t>(begin + bytes);
    warp.ensure_local(ends[lane]);
    // The content that an earlier alloca left there is undefined.
    const auto shadow = warp.local.defined.begin() +
                        static_cast<std::ptrdiff_t>(size_t{lane} * warp.local.stride + begin);
    std::fill_n(shadow, bytes, uint8_t{0});
    put(warp, step, stack, lane, static_cast<uint32_t>(begin));
  }
}

void save_stack(Warp& warp, const Step& step, const StackOperands& stack) {
  const std::array<uint32_t, kLanes>& ends = ends_of(warp);
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    put(warp, step, stack, first_lane(left), ends[first_lane(left)]);
  }
}

void restore_stack(Warp& warp, const Step& step, const StackOperands& stack) {
  std::array<uint32_t, kLanes>& ends = ends_of(warp);
  const uint32_t begin = warp.frame().local_base + warp.code().local_bytes;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const uint64_t to = get(warp, step, stack, lane);
    if (to >= begin && to <= ends[lane]) {
      ends[lane] = static_cast<uint32_t>(to);
      continue;
    }
    return report_check(
        warp, step,
        {.kind = DeviceFindingKind::StackOverflow,
         .message = fmt::format("sets the stack to {:#x}, which stacksave did not give in "
                                "this function",
                                to),
         .lane = lane});
  }
}

}  // namespace gpuemu::emulator::steps
