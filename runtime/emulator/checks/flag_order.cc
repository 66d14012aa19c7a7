#include "runtime/emulator/checks/flag_order.h"

namespace gpuemu::emulator {

void FlagOrder::wrote(uint64_t word, Write write) {
  Words& words = shard_of(word);
  const std::lock_guard lock(words.mutex);
  // Under the lock, so that the later of two writes of a word has the later time.
  write.time = time_.fetch_add(1) + 1;
  if (words.writes.size() < kWordsMax / kShards || words.writes.contains(word)) {
    words.writes[word] = write;
  }
}

std::optional<FlagOrder::Write> FlagOrder::by_another(uint64_t word, uint64_t block) {
  Words& words = shard_of(word);
  const std::lock_guard lock(words.mutex);
  const auto found = words.writes.find(word);
  const bool is_other = found != words.writes.end() && found->second.block != block;
  return is_other ? std::optional(found->second) : std::nullopt;
}

void FlagOrder::awaited(uint64_t word, uint64_t block) {
  const std::optional<Write> flag = by_another(word, block);
  if (!flag) return;
  Flags& flags = flags_of(block);
  const std::lock_guard lock(flags.mutex);
  Write& last = flags.last[{block, flag->block}];
  if (flag->time > last.time) last = *flag;
}

std::optional<FlagOrder::Announced> FlagOrder::announced(uint64_t word, uint64_t block) {
  const std::optional<Write> data = by_another(word, block);
  if (!data || !data->is_store) return std::nullopt;
  Flags& flags = flags_of(block);
  const std::lock_guard lock(flags.mutex);
  const auto flag = flags.last.find({block, data->block});
  if (flag == flags.last.end() || flag->second.time <= data->time) return std::nullopt;
  // Otherwise nothing orders the two within their own block.
  const bool follows = flag->second.warp == data->warp || flag->second.epoch != data->epoch;
  if (!follows) return std::nullopt;
  return Announced{.data = *data, .flag_site = flag->second.site};
}

}  // namespace gpuemu::emulator
