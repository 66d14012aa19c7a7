// Shadows loads, stores and atomics.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
uint64_t ones(uint32_t bytes) {
  return bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
}

/// Consecutive lanes from `lane` on whose words, from `word` on, are in one page.
struct Stretch {
  uint32_t lane, word, count;
  uint64_t address;
};
/// Splits a row of words, which spans one page or two.
std::array<Stretch, 2> straight_lines(uint64_t first) {
  const auto word = static_cast<uint32_t>(first % ShadowPage::kBytes / 4);
  const uint32_t count = std::min(kLanes, ShadowPage::kWords - word);
  return {{{0, word, count, first}, {count, 0, kLanes - count, first + uint64_t{count} * 4}}};
}
template <typename Element>
void copy_words(const Element* from, Element* to, uint32_t count) {
  if (count == kLanes) {
    std::memcpy(to, from, kLanes * sizeof *from);
  } else {
    std::copy_n(from, count, to);
  }
}

/// A row that a warp stores: a plane's f32 values in the lanes `live`; void in the rest of `mask`.
struct StoredRow {
  const Plane* plane;
  uint32_t live, mask;
  uint64_t block;
};
void put_stretch(ShadowMemory& memory, const Stretch& to, const StoredRow& row) {
  const auto& [lane, word, count, address] = to;
  const auto wanted = static_cast<uint32_t>(((uint64_t{1} << count) - 1) << lane);
  const uint32_t live = row.live & wanted;
  if ((row.mask & wanted) == 0) return;
  ShadowPage* page = live != 0 ? memory.make_page(address) : memory.page_at(address);
  if (page == nullptr) return;
  if (live == wanted) {
    copy_words(&row.plane->high[lane], &page->high[word], count);
    copy_words(&row.plane->low[lane], &page->low[word], count);
    copy_words(&row.plane->bound[lane], &page->bound[word], count);
    copy_words(&row.plane->bits[lane], &page->bits[word], count);
    copy_words(&row.plane->node[lane], &page->node[word], count);
    std::fill_n(&page->bits_high[word], count, 0);
    std::fill_n(&page->held[word], count, Held::Four);
    std::fill_n(&page->block[word], count, row.block);
    return;
  }
  for (uint32_t left = row.mask & wanted; left != 0; left &= left - 1) {
    const auto which = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t within = uint64_t{word + which - lane} * 4;
    if ((live >> which & 1) != 0) {
      page->put(within, cell_of(*row.plane, which, row.plane->bits[which], row.block));
    } else {
      page->drop(within);
    }
  }
}
}  // namespace

void Shadow::take_addresses(Warp& warp, const Step& step, ShadowedWarp& at) {
  at.has_address = true;
  const MemoryOperands& access = *step.memory();
  const auto offset = static_cast<uint64_t>(access.offset);
  if (access.is_wide) {
    const uint64_t* from = warp.u64(step.src[0]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) at.address[lane] = from[lane] + offset;
    return;
  }
  const uint32_t* from = warp.u32(step.src[0]);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    at.address[lane] = static_cast<uint32_t>(from[lane] + offset);
  }
}

Shadow::ShadowPlace Shadow::place_of(Warp& warp, ShadowedWarp& at, uint32_t lane, uint32_t offset) {
  return place_at(warp, at, lane, at.address[lane] + offset, at.pending->access->memory()->space);
}

Shadow::ShadowPlace Shadow::place_at(Warp& warp, ShadowedWarp& at, uint32_t lane, uint64_t address,
                                     ptx::Space space) {
  const uint64_t window = address & kWindowMask;
  const bool generic = space == ptx::Space::Generic;
  if (space == ptx::Space::Shared || (generic && window == kSharedWindow)) {
    return {&shared_of(warp, at), address & ~kWindowMask};
  }
  if (space == ptx::Space::Local || (generic && window == kLocalWindow)) {
    return {&at.local, uint64_t{lane} << 32 | (address & 0xffffffff)};
  }
  return {&global_, address};
}

ShadowMemory& Shadow::shared_of(Warp& warp, ShadowedWarp& at) {
  if (at.home_of != warp.block) {
    std::unique_ptr<ShadowedBlock>& block = blocks_[warp.block];
    if (block == nullptr) block = std::make_unique<ShadowedBlock>();
    at.home = block.get();
    at.home_of = warp.block;
  }
  if (at.home->linear != warp.block->position.linear) at.home->shared.wipe();
  at.home->linear = warp.block->position.linear;
  return at.home->shared;
}

/// Returns the current content of memory; 0 where it must not be read.
uint64_t Shadow::read_bits(Warp& warp, ShadowedWarp& at, uint32_t lane, uint32_t bytes) {
  const ShadowPlace place = place_of(warp, at, lane, 0);
  uint64_t bits = 0;
  if (place.memory == &global_) {
    if (launch_.memory->find(place.key, bytes) != nullptr) {
      std::memcpy(&bits, reinterpret_cast<const std::byte*>(place.key), bytes);
    }
  } else if (place.key + bytes <= warp.block->shared.bytes.size()) {
    std::memcpy(&bits, warp.block->shared.bytes.data() + place.key, bytes);
  }
  return bits;
}

void Shadow::compare_stores(Warp& warp, ShadowedWarp& at) {
  const ptx::Instruction& instruction = instruction_of(warp, *at.pending->access);
  if (!equal_stores_->compares(instruction)) return;
  const uint32_t element = at.pending->element;
  for (size_t i = 0; i < at.pending->operands.size(); ++i) {
    for (uint32_t left = at.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const Source& from = at.pending->operands[i];
      const uint64_t bits = bits_of(warp, from, lane);
      StoredValue value{.bits = bits & ones(element), .parts = {}};
      for (uint32_t part = 0; from.plane != kNone && part < at.plan->planes_each; ++part) {
        const Plane& plane = at.registers->planes[from.plane + part];
        const auto bytes = static_cast<uint32_t>(plane.held[lane]);
        if (part < value.parts.size() && bytes * (part + 1) <= element &&
            is_live(plane, lane, part, bits)) {
          value.parts[part] = cell_of(plane, lane, plane.bits[lane], warp.block->position.linear);
        }
      }
      const ShadowPlace place = place_of(warp, at, lane, static_cast<uint32_t>(i) * element);
      equal_stores_->add(*warp.block, instruction, place.key, value);
    }
  }
}

void Shadow::store(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  if (equal_stores_ != nullptr) compare_stores(warp, at);
  for (size_t i = 0; i < does.operands.size(); ++i) {
    const Source& from = does.operands[i];
    const auto offset = static_cast<uint32_t>(i) * does.element;
    if (store_row(warp, at, from, offset)) continue;
    for (uint32_t left = at.mask; left != 0; left &= left - 1) {
      store_float(warp, at, static_cast<uint32_t>(std::countr_zero(left)), from, offset);
    }
  }
}

/// Stores one register, in one lane.
void Shadow::store_float(Warp& warp, ShadowedWarp& at, uint32_t lane, const Source& from,
                         uint32_t offset) {
  const uint32_t element = at.pending->element;
  const Plane* planes = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
  const uint64_t bits = bits_of(warp, from, lane) & ones(element);
  const ShadowPlace place = place_of(warp, at, lane, offset);
  bool whole = false;
  for (uint32_t part = 0; planes != nullptr && part < at.plan->planes_each; ++part) {
    const Held held = planes[part].held[lane];
    const auto bytes = static_cast<uint32_t>(held);
    if (bytes > element || (part + 1) * bytes > std::max(element, bytes) ||
        !is_live(planes[part], lane, part, bits_of(warp, from, lane))) {
      continue;
    }
    const uint64_t part_bits = bits >> (8 * part * bytes) & ones(bytes);
    const bool kept =
        place.memory->put(place.key + uint64_t{part} * bytes,
                          cell_of(planes[part], lane, part_bits, warp.block->position.linear));
    whole = whole || (kept && part == 0);
  }
  if (!whole) place.memory->drop(place.key);
}

/// Returns whether all lanes' f32 values can be moved as whole rows between registers and memory.
bool Shadow::moves_words(const Warp& warp, const ShadowedWarp& at, const Source& reg) const {
  return at.pending->element == 4 && reg.reg != kNone && reg.bytes == 4 && at.mask != 0 &&
         at.plan->planes_each == 1 && !traces(warp);
}

/// Does the same as store_float() for all lanes at once. Returns false if it is not possible.
bool Shadow::store_row(Warp& warp, ShadowedWarp& at, const Source& from, uint32_t offset) {
  if (!moves_words(warp, at, from)) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(at.mask));
  const ShadowPlace place = place_of(warp, at, first, offset);
  const auto* bits = reinterpret_cast<const uint32_t*>(warp.registers.data + from.offset);
  const Plane* plane = from.plane == kNone ? nullptr : &at.registers->planes[from.plane];
  if (plane != nullptr && (pairs_.others(*plane) & at.mask) != 0) return false;
  const uint32_t live = plane == nullptr ? 0 : pairs_.live(bits, *plane) & at.mask;
  const bool near = at.pending->access->memory()->space != ptx::Space::Generic;
  if (live == 0 && near && place.memory->empty()) return true;
  if (place.memory == &at.local || place.key % 4 != 0) return false;
  const uint64_t block = warp.block->position.linear;
  if (pairs_.shape(at.address.data(), at.mask, 4) == LaneShape::Row) {
    const StoredRow row{plane, live, at.mask, block};
    for (const Stretch& one : straight_lines(place.key - uint64_t{first} * 4)) {
      put_stretch(*place.memory, one, row);
    }
    return true;
  }
  if (!near) return false;
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t key = place.key + (at.address[lane] - at.address[first]);
    const bool kept =
        (live >> lane & 1) != 0 && place.memory->put(key, cell_of(*plane, lane, bits[lane], block));
    if (!kept) place.memory->drop(key);
  }
  return true;
}

/// Fills `row_` from a row of words. Returns the lanes whose pages exist; nothing if a page holds
/// floats of other sizes.
std::optional<uint32_t> Shadow::gather_row(ShadowMemory& memory, uint64_t begin) {
  uint32_t there = 0;
  for (const auto& [lane, word, count, address] : straight_lines(begin)) {
    const ShadowPage* page = count == 0 ? nullptr : memory.page_at(address);
    if (page == nullptr) continue;
    if (!page->only_words) return std::nullopt;
    there |= static_cast<uint32_t>(((uint64_t{1} << count) - 1) << lane);
    copy_words(&page->high[word], &row_.high[lane], count);
    copy_words(&page->low[word], &row_.low[lane], count);
    copy_words(&page->bound[word], &row_.bound[lane], count);
    copy_words(&page->bits[word], &row_.bits[lane], count);
    copy_words(&page->bits_high[word], &row_.bits_high[lane], count);
    copy_words(&page->node[word], &row_.node[lane], count);
    copy_words(&page->held[word], &row_.held[lane], count);
  }
  return there;
}

/// Gathers for lanes that all have one address.
std::optional<uint32_t> Shadow::gather_same(ShadowMemory& memory, uint64_t address) {
  const ShadowPage* page = memory.page_at(address);
  if (page == nullptr) return 0;
  if (!page->only_words) return std::nullopt;
  const Cell cell = page->get(address % ShadowPage::kBytes);
  if (cell.held != Held::Four) return 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) take(row_, lane, cell);
  return kNone;
}

/// Gathers for lanes with separate addresses, which differ by `apart` from those in shadow memory.
std::optional<uint32_t> Shadow::gather_apart(ShadowMemory& memory, const ShadowedWarp& at,
                                             uint64_t apart) {
  uint32_t there = 0;
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = at.address[lane] + apart, offset = address % ShadowPage::kBytes;
    const ShadowPage* page = memory.page_at(address);
    if (page == nullptr) continue;
    if (!page->only_words || offset % 4 != 0) return std::nullopt;
    if (page->held[offset / 4] == Held::Nothing) continue;
    take(row_, lane, page->get(offset));
    there |= uint32_t{1} << lane;
  }
  return there;
}

/// Does the same as load_float() for all lanes at once. Returns false if it is not possible.
bool Shadow::load_row(Warp& warp, ShadowedWarp& at, const Source& to, uint32_t offset) {
  if (!moves_words(warp, at, to)) return false;
  const auto first = static_cast<uint32_t>(std::countr_zero(at.mask));
  const ShadowPlace place = place_of(warp, at, first, offset);
  Plane& plane = at.registers->planes[to.plane];
  const bool near = at.pending->access->memory()->space != ptx::Space::Generic;
  if (near && place.memory->empty()) return pairs_.clear(at.mask, plane), true;
  const LaneShape shape = pairs_.shape(at.address.data(), at.mask, 4);
  const uint64_t begin = place.key - (shape == LaneShape::Row ? uint64_t{first} * 4 : 0);
  if (place.memory == &at.local || begin % 4 != 0) return false;
  if (shape == LaneShape::Apart && !near) return false;
  const auto there = shape == LaneShape::Row ? gather_row(*place.memory, begin)
                     : shape == LaneShape::Same
                         ? gather_same(*place.memory, begin)
                         : gather_apart(*place.memory, at, begin - at.address[first]);
  if (!there) return false;
  const auto* bits = reinterpret_cast<const uint32_t*>(warp.registers.data + to.offset);
  const uint32_t live = *there == 0 ? 0 : pairs_.live(bits, row_) & *there & at.mask;
  pairs_.clear(at.mask & ~live, plane);
  if (live != 0) pairs_.assign(row_, live, plane);
  return true;
}

/// Loads one register, in one lane: a float of its size, or two of half its size.
void Shadow::load_float(Warp& warp, ShadowedWarp& at, uint32_t lane, const Source& to,
                        uint32_t offset) {
  const Operation& does = *at.pending;
  Plane* planes = &at.registers->planes[to.plane];
  const uint64_t bits = bits_of(warp, to, lane) & ones(does.element);
  const ShadowPlace place = place_of(warp, at, lane, offset);
  Cell cell = place.memory->get(place.key);
  for (uint32_t i = 0; i < at.plan->planes_each; ++i) planes[i].held[lane] = Held::Nothing;
  if (cell.held == held_of(does.element) && cell.bits == bits) {
    take(planes[0], lane, cell);
    return;
  }
  const uint32_t half = does.element / 2;
  bool any = false;
  for (uint32_t i = 0; half >= 2 && i < at.plan->planes_each; ++i) {
    cell = place.memory->get(place.key + uint64_t{i} * half);
    if (cell.held != held_of(half) || cell.bits != (bits >> (8 * i * half) & ones(half))) continue;
    take(planes[i], lane, cell);
    any = true;
  }
  if (any || !traces(warp)) return;
  // The history begins at values that the kernel did not compute itself.
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
  if (does.element == 2) return;  // The format is not known.
  plane.held[lane] = held_of(does.element);
  plane.node[lane] = add_node(warp, at, lane, node, nullptr, 0);
}

void Shadow::load(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  for (size_t i = 0; i < does.results.size(); ++i) {
    const Source& to = does.results[i];
    if (to.plane == kNone) continue;
    const auto offset = static_cast<uint32_t>(i) * does.element;
    if (at.has_address && load_row(warp, at, to, offset)) continue;
    for (uint32_t left = at.has_address ? at.mask : 0; left != 0; left &= left - 1) {
      load_float(warp, at, static_cast<uint32_t>(std::countr_zero(left)), to, offset);
    }
  }
}

/// Handles float additions: the exact sum of the old value and all lanes' operands, in lane order.
void Shadow::begin_atomic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  sums_.clear();
  const ptx::Instruction& in = at.plan->code->source->body[does.index];
  if (does.to == Format::None || !in.has(ptx::Modifier::Add) || does.pairs != 1 ||
      does.operands.empty()) {
    return;
  }
  fetch(warp, at, does.operands[0], 0, does.to, at.operands[0][0]);
  const Lanes& by = at.operands[0][0];
  for (uint32_t left = at.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const ShadowPlace place = place_of(warp, at, lane, 0);
    const auto [sum, fresh] = sums_.try_emplace(place.key);
    auto& [exact, bound] = sum->second;
    if (fresh) {
      const uint64_t bits = read_bits(warp, at, lane, does.element);
      const Cell cell = place.memory->get(place.key);
      const bool live = cell.held == held_of(does.element) && cell.bits == bits;
      exact = live ? DoubleDouble{cell.high, cell.low} : DoubleDouble{value_of(bits, does.to), 0};
      bound = live ? cell.bound : 0;
    }
    exact = add(exact, {by.high[lane], by.low[lane]});
    bound += by.bound[lane] + does.unit * std::fabs(exact.high) + does.absolute;
  }
}

void Shadow::finish_atomic(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const bool exchanges = sums_.empty() && !does.operands.empty();
  for (uint32_t left = at.has_address ? at.mask : 0; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const ShadowPlace place = place_of(warp, at, lane, 0);
    const uint64_t bits = read_bits(warp, at, lane, does.element);
    const auto sum = sums_.find(place.key);
    if (sum != sums_.end()) {
      const auto& [exact, bound] = sum->second;
      place.memory->put(place.key, {exact.high, exact.low, bound, bits, 0, held_of(does.element),
                                    warp.block->position.linear});
      continue;
    }
    // exch and cas: the value now in memory may be a lane's operand.
    const Source& value = does.operands.back();
    if (!exchanges || value.plane == kNone || bits_of(warp, value, lane) != bits) continue;
    const Plane& plane = at.registers->planes[value.plane];
    if (is_live(plane, lane, 0, bits) && static_cast<uint32_t>(plane.held[lane]) == does.element) {
      place.memory->put(place.key, cell_of(plane, lane, bits, warp.block->position.linear));
    }
  }
  for (const Source& to : does.results) {
    for (uint32_t part = 0; to.plane != kNone && part < at.plan->planes_each; ++part) {
      for (uint32_t left = at.mask; left != 0; left &= left - 1) {
        at.registers->planes[to.plane + part].held[static_cast<uint32_t>(std::countr_zero(left))] =
            Held::Nothing;
      }
    }
  }
}

}  // namespace gpuemu::emulator
