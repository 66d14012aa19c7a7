#include "daemon/search/corpus_turns.h"

#include <algorithm>
#include <iterator>

#include "daemon/search/corpus.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

/// Joins what jobs before `first_running` kept: nothing will come between them.
void join_ended(std::map<uint64_t, CorpusEntries>& ended, uint64_t first_running) {
  const auto last = ended.lower_bound(first_running);
  CorpusEntries joined;
  for (auto at = ended.begin(); at != last; ++at) {
    std::ranges::move(at->second, std::back_inserter(joined));
  }
  if (joined.empty()) return;
  const uint64_t job = ended.begin()->first;
  ended.erase(ended.begin(), last);
  ended[job] = smallest_cover(std::move(joined), kCorpusEntriesMax);
}

}  // namespace

Result<std::unique_ptr<CorpusTurns::Turn>> CorpusTurns::begin(Store& store, const std::string& op,
                                                              uint64_t job) {
  std::unique_ptr<Turn> turn(new Turn(*this, store, op, job));
  const std::lock_guard lock(mutex_);
  turn->start_ = GPUEMU_TRY(store.list_corpus(op));
  Group& group = groups_[{&store, op}];
  if (group.running.empty()) group.stored = turn->start_;
  group.running.insert(job);
  return turn;
}

Status CorpusTurns::Turn::keep(CorpusEntries found) {
  const std::lock_guard lock(turns_.mutex_);
  Group& group = turns_.groups_[{&store_, op_}];
  group.ended[job_] = std::move(found);
  CorpusEntries all;
  for (const auto& [job, entries] : group.ended) {
    std::ranges::copy(entries, std::back_inserter(all));
  }
  Bytes stored;
  for (const auto& entry : smallest_cover(std::move(all), kCorpusEntriesMax)) {
    stored.push_back(corpus_entry(entry->result));
  }
  Bytes now = GPUEMU_TRY(store_.list_corpus(op_));
  for (auto& entry : now) {
    if (std::ranges::find(group.stored, entry) == group.stored.end()) {
      stored.push_back(std::move(entry));
    }
  }
  GPUEMU_TRY(store_.replace_corpus(op_, stored));
  group.stored = std::move(stored);
  return ok_status();
}

Status CorpusTurns::put(Store& store, const OpConfig& op, const std::set<uint64_t>& began_with,
                        const CorpusEntries& found) {
  const std::lock_guard lock(mutex_);
  Bytes stored;
  std::set<uint64_t> replaced = began_with;
  for (const auto& entry : found) {
    stored.push_back(corpus_entry(entry->result));
    replaced.insert(entry->plan.case_seed);
  }
  const Bytes now = GPUEMU_TRY(store.list_corpus(op.name));
  for (const std::vector<std::byte>& entry : now) {
    const std::vector<CasePlan> plans = corpus_plans(op, {&entry, 1});
    if (plans.empty() || replaced.contains(plans.front().case_seed)) continue;
    stored.push_back(entry);
  }
  return store.replace_corpus(op.name, stored);
}

CorpusTurns::Turn::~Turn() {
  const std::lock_guard lock(turns_.mutex_);
  const auto found = turns_.groups_.find({&store_, op_});
  if (found == turns_.groups_.end()) return;
  Group& group = found->second;
  group.running.erase(job_);
  if (group.running.empty()) {
    turns_.groups_.erase(found);
  } else {
    join_ended(group.ended, *group.running.begin());
  }
}

}  // namespace gpuemu
