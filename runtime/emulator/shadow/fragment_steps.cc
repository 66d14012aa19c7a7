// Moves shadows between memory and the matrices in a warp's registers: wmma.load, wmma.store,
// ldmatrix and stmatrix.
#include <utility>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
/// Returns the bits of one element of a register.
uint64_t element_bits_of(const Warp& warp, const MovedElement& one, uint32_t bytes) {
  const std::byte* const reg = warp.registers.data + one.reg;
  if (bytes == 8) return reinterpret_cast<const uint64_t*>(reg)[one.lane];
  const uint32_t word = reinterpret_cast<const uint32_t*>(reg)[one.lane] >> one.shift;
  return bytes == 4 ? word : word & 0xffff;
}

/// Every lane has its own base and stride, but they are the same in all lanes.
void find_fragment(Warp& warp, const Step& step, ShadowedWarp& at) {
  const TensorStep& matrices = *at.pending->tensor;
  const uint32_t bytes = at.pending->element;
  for (const steps::ElementPlace& each : steps::elements_of(matrices.d)) {
    const uint64_t stride = warp.u32(step.src[1])[each.lane];
    const auto [row, column] = each.place;
    const uint64_t index = matrices.by_column ? column * stride + row : row * stride + column;
    at.moved.push_back({each.reg, each.lane, each.shift, at.address[each.lane] + index * bytes});
  }
}

/// Lane 8 m + r holds the address of row r of matrix m.
void find_rows(const Warp& warp, const AccessOperands& access, ShadowedWarp& at) {
  constexpr uint32_t kRows = 8;
  for (uint32_t i = 0; i < kRows * 8 * access.count; ++i) {
    const uint32_t matrix = i / (kRows * 8), lane = i / 2 % kLanes, half = i % 2;
    uint32_t row = lane / 4, column = lane % 4 * 2 + half;
    if (access.is_transposed) std::swap(row, column);
    const uint32_t reg = warp.function.lists[access.list + matrix];
    at.moved.push_back({reg, lane, 16 * half, at.address[matrix * kRows + row] + 2 * column});
  }
}
}  // namespace

void Shadow::find_moved(Warp& warp, const Step& step, ShadowedWarp& at) {
  at.moved.clear();
  if (at.pending->tensor != nullptr) return find_fragment(warp, step, at);
  find_rows(warp, step.access(), at);
}

Shadow::ShadowPlace Shadow::place_of_moved(Warp& warp, ShadowedWarp& at, const MovedElement& one) {
  // ldmatrix and stmatrix access shared memory only.
  const bool rows = at.pending->tensor == nullptr;
  return place_at(warp, at, one.lane, one.address,
                  rows ? ptx::Space::Shared : at.pending->access->memory()->space);
}

void Shadow::store_fragment(Warp& warp, ShadowedWarp& at) {
  const uint32_t bytes = at.pending->element;
  for (const MovedElement& one : at.moved) {
    const ShadowPlace place = place_of_moved(warp, at, one);
    const uint32_t plane = at.plan->plane_of_offset[one.reg / 64], part = one.shift / 16;
    const uint64_t bits = element_bits_of(warp, one, bytes);
    bool kept = false;
    if (plane != kNone && part < at.plan->planes_each) {
      const Plane& from = at.registers->planes[plane + part];
      kept =
          from.held[one.lane] == held_of(bytes) &&
          is_live(from, one.lane, part, bits << one.shift) &&
          place.memory->put(place.key, cell_of(from, one.lane, bits, warp.block->position.linear));
    }
    if (!kept) place.memory->drop(place.key);
  }
}

void Shadow::load_fragment(Warp& warp, ShadowedWarp& at) {
  const uint32_t bytes = at.pending->element;
  for (const MovedElement& one : at.moved) {
    const uint32_t plane = at.plan->plane_of_offset[one.reg / 64], part = one.shift / 16;
    if (plane == kNone || part >= at.plan->planes_each) continue;
    Plane& to = at.registers->planes[plane + part];
    const ShadowPlace place = place_of_moved(warp, at, one);
    const Cell cell = place.memory->get(place.key);
    if (cell.held == held_of(bytes) && cell.bits == element_bits_of(warp, one, bytes)) {
      take(to, one.lane, cell);
    } else {
      to.held[one.lane] = Held::Nothing;
    }
  }
}

}  // namespace gpuemu::emulator
