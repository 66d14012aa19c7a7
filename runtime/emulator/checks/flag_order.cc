#include "runtime/emulator/checks/flag_order.h"

namespace gpuemu::emulator {

void FlagOrder::wrote(uint64_t word, Write write) {
  const std::lock_guard lock(mutex_);
  write.time = ++time_;
  if (writes_.size() < kWordsMax || writes_.contains(word)) writes_[word] = write;
}

void FlagOrder::awaited(uint64_t word, uint64_t block) {
  const std::lock_guard lock(mutex_);
  const auto found = writes_.find(word);
  if (found == writes_.end() || found->second.block == block) return;
  Write& last = flags_[{block, found->second.block}];
  if (found->second.time > last.time) last = found->second;
}

std::optional<FlagOrder::Write> FlagOrder::announced(uint64_t word, uint64_t block) const {
  const std::lock_guard lock(mutex_);
  const auto found = writes_.find(word);
  if (found == writes_.end() || !found->second.is_store) return std::nullopt;
  const Write& data = found->second;
  const auto flag = flags_.find({block, data.block});
  if (flag == flags_.end() || flag->second.time <= data.time) return std::nullopt;
  // Otherwise nothing orders the two within their own block.
  const bool follows = flag->second.warp == data.warp || flag->second.epoch != data.epoch;
  return follows ? std::optional(data) : std::nullopt;
}

}  // namespace gpuemu::emulator
