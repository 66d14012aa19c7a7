#include "runtime/emulator/checks/redundancy.h"

#include <algorithm>

namespace gpuemu::emulator {

void DoubtfulReads::add(uint64_t block, uint64_t word) {
  const std::lock_guard lock(mutex_);
  complete_ = complete_ && words_.size() < kWordsMax;
  if (complete_) words_.insert({block, word});
}

void DoubtfulReads::add_store(const ByteAccess& store) {
  complete_ = complete_ && stores_kept_ < kStoresMax;
  if (!complete_) return;
  stores_[{store.block, store.address}].push_back(store);
  ++stores_kept_;
}

bool DoubtfulReads::covers(const ByteAccess& load) const {
  const auto found = stores_.find({load.block, load.address});
  if (found == stores_.end()) return false;
  return std::ranges::any_of(found->second, [&](const ByteAccess& store) {
    if (store.epoch != load.epoch) return false;
    if (store.warp != load.warp) return true;
    if (store.lane == load.lane) return false;
    // Lanes of one warp: either access may have been the first.
    if (load.event > store.event) return store.event >= load.ordered;
    return load.event == store.event || load.event >= store.ordered;
  });
}

void Suspicion::note(DeviceFindingKind kind, const ptx::Instruction& at,
                     const ptx::Instruction* other, const std::string& tensor, Evidence needed) {
  const std::lock_guard lock(mutex_);
  needed_[{kind, at.where.line, other != nullptr ? other->where.line : 0, tensor}] |= needed;
}

Evidence Suspicion::needed_by(const DeviceFinding& finding) const {
  const auto found =
      needed_.find({finding.kind, finding.ptx_line, finding.other_ptx_line, finding.tensor});
  return found == needed_.end() ? kNoEvidence : found->second;
}

bool Suspicion::may_explain(const std::vector<DeviceFinding>& findings, Evidence evidence) const {
  return std::ranges::any_of(findings, [&](const DeviceFinding& finding) {
    const Evidence needed = needed_by(finding);
    return (needed & kNoEvidence) == 0 && (needed & evidence) != 0;
  });
}

std::set<uint32_t> Suspicion::stores(const std::vector<DeviceFinding>& findings) const {
  std::set<uint32_t> lines;
  for (const DeviceFinding& finding : findings) {
    if (const Evidence needed = needed_by(finding);
        (needed & kNoEvidence) == 0 && (needed & kEqualStores) != 0) {
      lines.insert(finding.ptx_line);
    }
  }
  return lines;
}

}  // namespace gpuemu::emulator
