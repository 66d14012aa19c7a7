#include "daemon/search/corpus_entries.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "common/base/blake2.h"
#include "common/codec/json_codec.h"
#include "common/rng/rng.h"
#include "daemon/search/epochs.h"
#include "runtime/profile/reach_set.h"

namespace gpuemu {
namespace {

// How often a case follows the corpus, and how often once it has grown dry: its entries are those
// that run long, and what they have in common was tried.
constexpr uint64_t kFollowEvery = 2, kFollowEveryWhenDry = 8;

}  // namespace

int64_t elements_of(const CasePlan& plan) {
  const auto add = [](int64_t sum, const CaseTensor& tensor) {
    return sum + element_count(tensor.shape);
  };
  return std::accumulate(plan.inputs.begin(), plan.inputs.end(), int64_t{0}, add) +
         std::accumulate(plan.outputs.begin(), plan.outputs.end(), int64_t{0}, add);
}

bool follows_corpus(uint64_t number, uint64_t round, bool is_dry) {
  const uint64_t every = is_dry ? kFollowEveryWhenDry : kFollowEvery;
  return epoch_of(number) >= kFirstFollowingEpoch && round % every == 1;
}

const CorpusEntry& one_to_follow(const CorpusEntries& entries, uint64_t seed, uint64_t number) {
  Stream stream(seed, number, "follow");
  const auto newer = [&]() -> const CorpusEntry& {
    const uint64_t one = stream.below(entries.size()), other = stream.below(entries.size());
    return *entries[std::max(one, other)];
  };
  const CorpusEntry &first = newer(), &second = newer();
  return elements_of(second.plan) < elements_of(first.plan) ? second : first;
}

CorpusEntries smallest_cover(CorpusEntries entries, size_t count_max) {
  std::ranges::stable_sort(entries, {}, [](const auto& one) { return elements_of(one->plan); });
  std::map<DType, ReachSet> known;
  CorpusEntries kept;
  for (auto& entry : entries) {
    if (kept.size() >= count_max) break;
    if (known[entry->plan.dtype].add(entry->features) > 0) kept.push_back(std::move(entry));
  }
  return kept;
}

std::string digest_of(std::span<const ReproductionInfo> cases) {
  std::string text;
  for (const ReproductionInfo& one : cases) {
    ValidationResult named;
    named.repro_info = one;
    named.repro_info->input_snapshot.reset();
    text += encode_reply(ValidationResultReply{named}) + '\n';
  }
  return content_hash({text});
}

}  // namespace gpuemu
