#include "runtime/memory/blocks.h"

#include <algorithm>

namespace gpuemu::memory {

uint64_t SizeClasses::round_up(uint64_t bytes) const {
  const uint64_t granules = std::max<uint64_t>(1, (bytes + kGranule - 1) / kGranule);
  const auto log2 = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  if (log2 <= steps_log2_) return granules * kGranule;
  const uint64_t step = uint64_t{1} << (log2 - steps_log2_);
  return (granules + step - 1) / step * step * kGranule;
}

SizeClasses::Place SizeClasses::of(uint64_t bytes) const {
  const uint64_t granules = bytes / kGranule;
  const auto log2 = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  const uint64_t rest = granules ^ (uint64_t{1} << log2);
  const uint64_t step =
      log2 <= steps_log2_ ? rest << (steps_log2_ - log2) : rest >> (log2 - steps_log2_);
  return {log2, static_cast<uint32_t>(step)};
}

void Bins::insert(Block& block, SizeClasses::Place place) {
  Block*& head = heads_[place.level][place.step];
  block.previous_free = nullptr;
  block.next_free = head;
  if (head != nullptr) head->previous_free = &block;
  head = &block;
  steps_[place.level] |= 1U << place.step;
  levels_ |= uint64_t{1} << place.level;
  bytes_ += block.bytes;
}

void Bins::remove(Block& block, SizeClasses::Place place) {
  Block*& head = heads_[place.level][place.step];
  if (block.previous_free != nullptr) block.previous_free->next_free = block.next_free;
  if (block.next_free != nullptr) block.next_free->previous_free = block.previous_free;
  if (head == &block) head = block.next_free;
  if (head == nullptr) steps_[place.level] &= ~(1U << place.step);
  if (steps_[place.level] == 0) levels_ &= ~(uint64_t{1} << place.level);
  bytes_ -= block.bytes;
}

Block* Bins::find(SizeClasses::Place place) const {
  const uint32_t steps = steps_[place.level] & (~0U << place.step);
  if (steps != 0) return heads_[place.level][static_cast<size_t>(std::countr_zero(steps))];
  const uint64_t levels = place.level == 63 ? 0 : levels_ & (~uint64_t{0} << (place.level + 1));
  if (levels == 0) return nullptr;
  const auto level = static_cast<size_t>(std::countr_zero(levels));
  return heads_[level][static_cast<size_t>(std::countr_zero(steps_[level]))];
}

std::vector<Block*> Bins::all() const {
  std::vector<Block*> out;
  for (const auto& level : heads_)
    for (Block* block : level)
      for (; block != nullptr; block = block->next_free) out.push_back(block);
  return out;
}

Block& BlockStore::make() {
  if (spare_.empty()) return all_.emplace_back();
  Block& block = *spare_.back();
  spare_.pop_back();
  return block;
}

void BlockStore::recycle(Block& block) { spare_.push_back(&block); }

}  // namespace gpuemu::memory
