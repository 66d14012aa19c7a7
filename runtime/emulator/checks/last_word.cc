#include "runtime/emulator/checks/last_word.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kWordBytes = 4;

/// Calls `take(lane, allocation, bytes of the word inside of it)` for each lane at such a word.
template <typename Take>
void each_last_word(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes,
                    const Take& take) {
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    Allocation* const in = ending_in_word(warp, step, address[lane], kWordBytes);
    if (in != nullptr) take(lane, *in, in->base + in->bytes - address[lane]);
  }
}
}  // namespace

Allocation* ending_in_word(Warp& warp, const Step& step, uint64_t address, uint32_t bytes) {
  const MemoryOperands* const operands = step.memory();
  const bool may = operands != nullptr && operands->is_word_of_cas && bytes == kWordBytes &&
                   address % kWordBytes == 0;
  Allocation* const in = may ? warp.launch->memory->find(address, 1) : nullptr;
  return in != nullptr && !in->freed && !in->contains(address, kWordBytes) ? in : nullptr;
}

void load_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes) {
  const uint32_t to = warp.function.lists[step.access().list];
  if (to == kNone) return;
  each_last_word(warp, step, address, lanes,
                 [&](uint32_t lane, const Allocation&, uint64_t inside) {
                   uint32_t value = 0;
                   std::memcpy(&value, reinterpret_cast<const void*>(address[lane]), inside);
                   warp.u32(to)[lane] = value;
                 });
}

void swap_last_words(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes) {
  Tally beyond;
  each_last_word(warp, step, address, lanes, [&](uint32_t lane, Allocation& in, uint64_t inside) {
    const uint32_t wanted = warp.u32(step.src[1])[lane], next = warp.u32(step.src[2])[lane];
    const std::lock_guard lock(warp.launch->wide_atomics);
    auto* const at = reinterpret_cast<std::byte*>(address[lane]);
    uint32_t old = 0;
    std::memcpy(&old, at, inside);
    if (old == wanted) {
      std::memcpy(at, &next, inside);
      if (in.tracked) std::fill_n(in.shadow(address[lane]), inside, uint8_t{1});
      if ((old ^ next) >> 8 * inside != 0) beyond.note(lane);
    }
    if (step.dst != kTrueOffset) warp.u32(step.dst)[lane] = old;
  });
  if (beyond.lanes != 0) {
    report_outside(warp, step, beyond, address[beyond.first], kWordBytes, Access::Atomic);
  }
}

}  // namespace gpuemu::emulator
