#include "daemon/search/growing_corpus.h"

#include <algorithm>
#include <utility>

namespace gpuemu {
namespace {

// More entries than a run is likely to find; bounds what it holds of them.
constexpr size_t kEntriesMax = 1024;

/// Bounds the entries without a change of their order.
void bound(CorpusEntries& entries) {
  if (entries.size() <= kEntriesMax) return;
  const CorpusEntries cover = smallest_cover(entries, kEntriesMax);
  std::erase_if(entries,
                [&](const auto& one) { return std::ranges::find(cover, one) == cover.end(); });
}

}  // namespace

void GrowingCorpus::start_with(CorpusEntry entry) {
  learn(entry.plan.dtype, entry.features);
  add(std::move(entry));
}

size_t GrowingCorpus::learn(DType dtype, const std::vector<uint32_t>& features) {
  const std::shared_ptr<const ReachSet> before = known(dtype);
  if (before->has_all(features)) return 0;
  auto more = std::make_shared<ReachSet>(*before);
  const size_t fresh = more->add(features);
  const std::lock_guard lock(mutex_);
  known_[dtype] = std::move(more);
  return fresh;
}

void GrowingCorpus::add(CorpusEntry entry) {
  entries_.push_back(std::make_shared<const CorpusEntry>(std::move(entry)));
}

void GrowingCorpus::end_start() {
  auto now = view_of_now();
  const std::lock_guard lock(mutex_);
  start_ = std::move(now);
}

void GrowingCorpus::end_epoch(uint64_t epoch) {
  bound(entries_);
  auto now = view_of_now();
  const std::lock_guard lock(mutex_);
  views_[epoch] = std::move(now);
  // Cases of the next two epochs may be planned by now, none of those before.
  std::erase_if(views_, [&](const auto& one) { return one.first + 1 < epoch; });
}

std::shared_ptr<const CorpusView> GrowingCorpus::view_of_now() const {
  auto made = std::make_shared<CorpusView>();
  for (const auto& entry : entries_) {
    made->entries[entry->plan.dtype].push_back(entry);
    if (entry->number) made->grown_at = std::max(made->grown_at, *entry->number + 1);
  }
  return made;
}

std::shared_ptr<const CorpusView> GrowingCorpus::view(uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  const auto found = views_.find(epoch);
  return found == views_.end() ? start_ : found->second;
}

std::shared_ptr<const ReachSet> GrowingCorpus::known(DType dtype) const {
  static const auto kNothing = std::make_shared<const ReachSet>();
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(dtype);
  return found == known_.end() ? kNothing : found->second;
}

}  // namespace gpuemu
