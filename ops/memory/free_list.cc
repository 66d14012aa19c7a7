#include "ops/memory/free_list.h"

#include <algorithm>

namespace gpuemu::memory {
namespace {

constexpr size_t kSlotsMin = 64;

}  // namespace

uint64_t SizeClasses::round_up(uint64_t bytes) const {
  const uint64_t granules = std::max<uint64_t>(1, (bytes + kGranule - 1) / kGranule);
  const auto log2 = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  if (log2 <= steps_log2_) return granules * kGranule;
  const uint64_t step = uint64_t{1} << (log2 - steps_log2_);
  return (granules + step - 1) / step * step * kGranule;
}

SizeClass SizeClasses::of(uint64_t bytes) const {
  const uint64_t granules = bytes / kGranule;
  const auto log2 = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  const uint64_t rest = granules ^ (uint64_t{1} << log2);
  const uint64_t step =
      log2 <= steps_log2_ ? rest << (steps_log2_ - log2) : rest >> (log2 - steps_log2_);
  return {log2, static_cast<uint32_t>(step)};
}

void Bins::insert(Block& block) {
  const SizeClass place = block.place;
  Block*& head = heads_[place.level][place.step];
  block.previous_free = nullptr;
  block.next_free = head;
  if (head != nullptr) head->previous_free = &block;
  head = &block;
  steps_[place.level] |= 1U << place.step;
  levels_ |= uint64_t{1} << place.level;
  bytes_ += block.bytes;
}

void Bins::remove(Block& block) {
  const SizeClass place = block.place;
  Block*& head = heads_[place.level][place.step];
  if (block.previous_free != nullptr) block.previous_free->next_free = block.next_free;
  if (block.next_free != nullptr) block.next_free->previous_free = block.previous_free;
  if (head == &block) head = block.next_free;
  if (head == nullptr) steps_[place.level] &= ~(1U << place.step);
  if (steps_[place.level] == 0) levels_ &= ~(uint64_t{1} << place.level);
  bytes_ -= block.bytes;
}

Block* Bins::find(SizeClass place) const {
  const uint32_t steps = steps_[place.level] & (~0U << place.step);
  if (steps != 0) return heads_[place.level][static_cast<size_t>(std::countr_zero(steps))];
  const uint64_t levels = place.level == 63 ? 0 : levels_ & (~uint64_t{0} << (place.level + 1));
  if (levels == 0) return nullptr;
  const auto level = static_cast<size_t>(std::countr_zero(levels));
  return heads_[level][static_cast<size_t>(std::countr_zero(steps_[level]))];
}

std::vector<Block*> Bins::all() const {
  std::vector<Block*> out;
  for (const auto& level : heads_) {
    for (Block* block : level) {
      for (; block != nullptr; block = block->next_free) out.push_back(block);
    }
  }
  return out;
}

void AddressMap::insert(uint64_t address, Block* block) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  slots_[place_of(address)] = {address, block};
  ++count_;
}

/// Moves up later entries that would not be found across a gap.
void AddressMap::erase(uint64_t address) {
  const size_t mask = slots_.size() - 1;
  size_t gap = place_of(address);
  slots_[gap].block = nullptr;
  --count_;
  for (size_t at = (gap + 1) & mask; slots_[at].block != nullptr; at = (at + 1) & mask) {
    const size_t home = home_of(slots_[at].address);
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    slots_[gap] = slots_[at];
    slots_[at].block = nullptr;
    gap = at;
  }
}

void AddressMap::grow() {
  std::vector<Slot> old(std::max<size_t>(2 * slots_.size(), kSlotsMin));
  old.swap(slots_);
  shift_ = 64 - static_cast<uint32_t>(std::countr_zero(slots_.size()));
  for (const Slot& slot : old) {
    if (slot.block != nullptr) slots_[place_of(slot.address)] = slot;
  }
}

Block& BlockStore::make() {
  if (spare_.empty()) return all_.emplace_back();
  Block& block = *spare_.back();
  spare_.pop_back();
  block.requested = 0;
  block.before = block.after = nullptr;
  block.is_free = false;
  block.ready = 0;
  block.also_used.clear();
  return block;
}

void BlockStore::recycle(Block& block) {
  block.is_free = false;
  spare_.push_back(&block);
}

}  // namespace gpuemu::memory
