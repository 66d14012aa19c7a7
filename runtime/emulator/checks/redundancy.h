// Triton spreads a small tile over all threads of a block: several threads then do the work of one,
// load what it loads and compute what it computes. They may read in place what it has overwritten,
// and store what differs from its values by rounding. Neither changes a result, and the language
// knows no threads that its programmer could order.
//
// A launch of such a module records what would have to be proved for each race. If all of it can be
// proved, further executions check it (runtime/emulator/redundancy_review.h).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/emulator/checks/global_races.h"

namespace gpuemu::emulator {

/// An access of one lane to one byte.
struct ByteAccess {
  uint64_t block = 0, address = 0;
  uint32_t epoch = 0, warp = 0, lane = 0;
  uint32_t event = 0;  ///< LaneClock::now()
  /// What of the warp's accesses was ordered before it: of a store LaneClock::read_ordered(), of a
  /// load LaneClock::ordered().
  uint32_t ordered = 0;
};

/// The words of global memory of which other threads of a block may have read either the old value
/// or the new one, and who wrote them.
class DoubtfulReads {
 public:
  void add(uint64_t block, uint64_t word);
  bool has(uint64_t block, uint64_t word) const { return words_.contains({block, word}); }
  bool empty() const { return words_.empty(); }
  /// A store to such a word.
  void add_store(const ByteAccess& store);
  /// Whether the load of a byte is not ordered with a store by another thread of the block.
  bool covers(const ByteAccess& load) const;
  /// False if there were too many to keep.
  bool complete() const { return complete_; }

 private:
  static constexpr size_t kWordsMax = size_t{1} << 20, kStoresMax = size_t{1} << 22;

  struct Place {
    uint64_t block = 0, at = 0;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& place) const {
      return (place.at ^ place.block << 40) * 0x9e3779b97f4a7c15u;
    }
  };

  std::mutex mutex_;
  std::unordered_set<Place, Hash> words_;
  std::unordered_map<Place, std::vector<ByteAccess>, Hash> stores_;  ///< By byte.
  size_t stores_kept_ = 0;
  bool complete_ = true;
};

/// What a launch gathers for the review of its races.
class Suspicion {
 public:
  DoubtfulReads reads;

  /// Records one occurrence of a race that `at` reports, and the evidence that it needs.
  void note(DeviceFindingKind kind, const ptx::Instruction& at, const ptx::Instruction* other,
            const std::string& tensor, Evidence needed);
  /// The evidence that all occurrences of a finding need; kNoEvidence if it is not a race.
  Evidence needed_by(const DeviceFinding& finding) const;
  /// Whether a review may explain one of these.
  bool may_explain(const std::vector<DeviceFinding>& findings, Evidence evidence) const;
  /// PTX lines whose stores have to be equal.
  std::set<uint32_t> stores(const std::vector<DeviceFinding>& findings) const;

 private:
  /// Kind, PTX line, that of the other instruction, tensor: findings with the same are one.
  using Race = std::tuple<DeviceFindingKind, uint32_t, uint32_t, std::string>;

  std::mutex mutex_;
  std::map<Race, Evidence> needed_;
};

/// The races of every launch, and what their review needs if there may be one.
class LaunchRaces final : public GlobalRaces {
 public:
  LaunchRaces(uint32_t first, Suspicion* gathered) : GlobalRaces(first), suspicion(gathered) {}
  Suspicion* const suspicion;
};

/// Null if races are always findings.
inline Suspicion* suspicion_of(const Launch& launch) {
  return launch.races == nullptr ? nullptr : static_cast<LaunchRaces*>(launch.races)->suspicion;
}

}  // namespace gpuemu::emulator
