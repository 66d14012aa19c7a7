// Cases that reached something no case before them did: which are kept, and which are followed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"
#include "judge/cases/case.h"

namespace gpuemu {

struct CorpusEntry {
  CasePlan plan;
  ValidationResult result;         ///< With repro_info, of one that ran; else empty.
  std::vector<uint32_t> features;  ///< As of features_of(); empty: it has not run yet.
  std::optional<uint64_t> number;  ///< In the run; nothing: it was there when that began.
};
using CorpusEntries = std::vector<std::shared_ptr<const CorpusEntry>>;

/// The elements of its inputs and outputs.
int64_t elements_of(const CasePlan& plan);

/// Entries kept of one op: what reached something first, not everything that ran.
inline constexpr size_t kCorpusEntriesMax = 256;

/// The entries that together reach all that `entries` do: small cases first, none that adds
/// nothing, at most `count_max`. In that order.
CorpusEntries smallest_cover(CorpusEntries entries, size_t count_max);

/// Whether the case `number`, the `round`-th of its dtype, is made from the corpus: every other
/// one, fewer once the corpus has grown dry.
bool follows_corpus(uint64_t number, uint64_t round, bool is_dry);
/// The entry that it follows. Newer ones come more often; of two the smaller one is taken: what a
/// case costs grows with its elements, what it may reach hardly does. REQUIRES: there is one.
const CorpusEntry& one_to_follow(const CorpusEntries& entries, uint64_t seed, uint64_t number);

/// Names these cases in this order: 32 hex digits.
std::string digest_of(std::span<const ReproductionInfo> cases);

}  // namespace gpuemu
