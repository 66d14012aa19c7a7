// Loads, stores and atomics: shadows of memory.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
Held held_of(uint32_t bytes) {
  return bytes == 8 ? Held::Eight : bytes == 4 ? Held::Four : Held::Two;
}
uint64_t ones(uint32_t bytes) {
  return bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
}

void put(Cell& cell, const Plane& from, uint32_t lane, Held held, uint64_t bits) {
  cell.high = from.high[lane];
  cell.low = from.low[lane];
  cell.bound = from.bound[lane];
  cell.node = from.node[lane];
  cell.bits = bits;
  cell.held = held;
}
void take(Plane& to, uint32_t lane, const Cell& cell) {
  to.high[lane] = cell.high;
  to.low[lane] = cell.low;
  to.bound[lane] = cell.bound;
  to.node[lane] = cell.node;
  to.bits[lane] = static_cast<uint32_t>(cell.bits);
  to.bits_high[lane] = static_cast<uint32_t>(cell.bits >> 32);
  to.held[lane] = cell.held;
}
}  // namespace

void Shadow::take_addresses(Warp& warp, const Ins& ins, ShadowedWarp& at) {
  at.has_address = true;
  const auto offset = static_cast<uint64_t>(ins.imm);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    at.address[lane] = ins.wide != 0 ? warp.u64(ins.src[0])[lane] + offset
                                     : static_cast<uint32_t>(warp.u32(ins.src[0])[lane] + offset);
}

Shadow::Places Shadow::place_of(Warp& warp, const ShadowedWarp& at, uint32_t lane,
                                uint32_t offset) {
  const uint64_t address = at.address[lane] + offset, window = address & kWindowMask;
  const auto space = static_cast<ptx::Space>(at.pending->access->space);
  const bool generic = space == ptx::Space::Generic;
  if (space == ptx::Space::Shared || (generic && window == kSharedWindow)) {
    std::unique_ptr<ShadowedBlock>& block = blocks_[warp.block];
    if (block == nullptr) block = std::make_unique<ShadowedBlock>();
    if (block->linear != warp.block->linear) block->shared.clear();
    block->linear = warp.block->linear;
    return {&block->shared, address & ~kWindowMask};
  }
  if (space == ptx::Space::Local || (generic && window == kLocalWindow))
    return {&warps_.at(&warp)->local, uint64_t{lane} << 32 | (address & 0xffffffff)};
  return {&global_, address};
}

/// What memory holds there now; 0 where nothing may be read.
uint64_t Shadow::read_bits(Warp& warp, const ShadowedWarp& at, uint32_t lane, uint32_t bytes) {
  const Places place = place_of(warp, at, lane, 0);
  uint64_t bits = 0;
  if (place.memory == &global_) {
    if (launch_.memory->find(place.key, bytes) != nullptr)
      std::memcpy(&bits, reinterpret_cast<const std::byte*>(place.key), bytes);
  } else if (place.key + bytes <= warp.block->shared.size()) {
    std::memcpy(&bits, warp.block->shared.data() + place.key, bytes);
  }
  return bits;
}

void Shadow::store(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  for (size_t i = 0; i < does.operands.size(); ++i) {
    const Source& from = does.operands[i];
    const auto offset = static_cast<uint32_t>(i) * does.element;
    const Plane* planes = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
    for (uint32_t left = at.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const uint64_t bits = bits_of(warp, from, lane) & ones(does.element);
      const Places place = place_of(warp, at, lane, offset);
      bool whole = false;
      for (uint32_t part = 0; planes != nullptr && part < at.plan->planes_each; ++part) {
        const Held held = planes[part].held[lane];
        const auto bytes = static_cast<uint32_t>(held);
        if (bytes > does.element || (part + 1) * bytes > std::max(does.element, bytes) ||
            !is_live(planes[part], lane, part, bits_of(warp, from, lane)))
          continue;
        Cell* cell = place.memory->make(place.key + uint64_t{part} * bytes);
        if (cell == nullptr) continue;
        put(*cell, planes[part], lane, held, bits >> (8 * part * bytes) & ones(bytes));
        cell->block = warp.block->linear;
        whole = whole || part == 0;
      }
      if (whole) continue;
      Cell* old = place.memory->find(place.key);
      if (old != nullptr) old->held = Held::Nothing;
    }
  }
}

/// One register of a load, in one lane: a float of its size, or two of half of it.
void Shadow::load_float(Warp& warp, ShadowedWarp& at, uint32_t lane, const Source& to,
                        uint32_t offset) {
  const Operation& does = *at.pending;
  Plane* planes = &at.registers->planes[to.plane];
  const uint64_t bits = bits_of(warp, to, lane) & ones(does.element);
  const Places place = place_of(warp, at, lane, offset);
  Cell* cell = place.memory->find(place.key);
  for (uint32_t i = 0; i < at.plan->planes_each; ++i) planes[i].held[lane] = Held::Nothing;
  if (cell != nullptr && cell->held == held_of(does.element) && cell->bits == bits) {
    take(planes[0], lane, *cell);
    return;
  }
  const uint32_t half = does.element / 2;
  bool any = false;
  for (uint32_t i = 0; half >= 2 && i < at.plan->planes_each; ++i) {
    cell = place.memory->find(place.key + uint64_t{i} * half);
    if (cell == nullptr || cell->held != held_of(half) ||
        cell->bits != (bits >> (8 * i * half) & ones(half)))
      continue;
    take(planes[i], lane, *cell);
    any = true;
  }
  if (any || !traces(warp)) return;
  // What the kernel did not make itself is where the history begins.
  Node node;
  const Format format = does.element == 8   ? Format::F64
                        : does.element == 4 ? Format::F32
                                            : Format::F16;
  node.computed = node.exact = value_of(bits, format);
  Plane& plane = planes[0];
  plane.high[lane] = node.computed;
  plane.low[lane] = plane.bound[lane] = 0;
  plane.bits[lane] = static_cast<uint32_t>(bits);
  plane.bits_high[lane] = static_cast<uint32_t>(bits >> 32);
  if (does.element == 2) return;  // Nothing says which format it has.
  plane.held[lane] = held_of(does.element);
  plane.node[lane] = add_node(warp, at, lane, node, nullptr, 0);
}

void Shadow::load(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  for (size_t i = 0; i < does.results.size(); ++i) {
    const Source& to = does.results[i];
    if (to.plane == kNone) continue;
    const auto offset = static_cast<uint32_t>(i) * does.element;
    for (uint32_t left = at.has_address ? at.mask : 0; left != 0; left &= left - 1)
      load_float(warp, at, static_cast<uint32_t>(std::countr_zero(left)), to, offset);
  }
}

/// Float additions: the exact sum of what was there and of all lanes' operands, in their order.
void Shadow::begin_atomic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  sums_.clear();
  const ptx::Instruction& in = at.plan->code->source->body[does.index];
  if (does.to == Format::None || !in.has("add") || does.pairs != 1 || does.operands.empty()) return;
  fetch(warp, at, does.operands[0], 0, does.to, at.operands[0][0]);
  const Lanes& by = at.operands[0][0];
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const Places place = place_of(warp, at, lane, 0);
    const auto [sum, fresh] = sums_.try_emplace(place.key);
    auto& [exact, bound] = sum->second;
    if (fresh) {
      const uint64_t bits = read_bits(warp, at, lane, does.element);
      const Cell* cell = place.memory->find(place.key);
      const bool live =
          cell != nullptr && cell->held == held_of(does.element) && cell->bits == bits;
      exact = live ? Exact{cell->high, cell->low} : Exact{value_of(bits, does.to), 0};
      bound = live ? cell->bound : 0;
    }
    exact = add(exact, {by.high[lane], by.low[lane]});
    bound += by.bound[lane] + does.unit * std::fabs(exact.high);
  }
}

void Shadow::finish_atomic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const bool exchanges = sums_.empty() && !does.operands.empty();
  for (uint32_t left = at.has_address ? at.mask : 0; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const Places place = place_of(warp, at, lane, 0);
    const uint64_t bits = read_bits(warp, at, lane, does.element);
    const auto sum = sums_.find(place.key);
    if (sum != sums_.end()) {
      Cell* cell = place.memory->make(place.key);
      if (cell == nullptr) continue;
      *cell = {sum->second.first.high, sum->second.first.low, sum->second.second, bits, 0,
               held_of(does.element),  warp.block->linear};
      continue;
    }
    // exch and cas: what is there now may be what a lane put there.
    const Source& value = does.operands.back();
    if (!exchanges || value.plane == kNone || bits_of(warp, value, lane) != bits) continue;
    const Plane& plane = at.registers->planes[value.plane];
    Cell* cell = is_live(plane, lane, 0, bits) ? place.memory->make(place.key) : nullptr;
    if (cell == nullptr || static_cast<uint32_t>(plane.held[lane]) != does.element) continue;
    put(*cell, plane, lane, plane.held[lane], bits);
    cell->block = warp.block->linear;
  }
  for (const Source& to : does.results)
    for (uint32_t part = 0; to.plane != kNone && part < at.plan->planes_each; ++part)
      for (uint32_t left = at.mask; left != 0; left &= left - 1)
        at.registers->planes[to.plane + part].held[static_cast<uint32_t>(std::countr_zero(left))] =
            Held::Nothing;
}

}  // namespace gpuemu::emulator
