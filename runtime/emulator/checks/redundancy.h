// Triton replicates a small tile over all threads of a block: several threads then load and compute
// the same. They may read a place that another has already overwritten in place, and store values
// that differ from each other's by rounding. Neither changes a result, and Triton programs have no
// threads that their author could order.
//
// For each race, a launch of such a module records what would have to hold for the race to be
// harmless. If all of it could hold, further executions check it
// (runtime/emulator/redundancy_review.h).
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
  /// How far the warp's accesses are ordered before this one: for a store
  /// LaneClock::read_ordered(), for a load LaneClock::ordered().
  uint32_t ordered = 0;
};

/// The words of global memory of which other threads of a block may have read either the old or the
/// new value, and the stores to them.
class DoubtfulReads {
 public:
  void add(uint64_t block, uint64_t word);
  bool has(uint64_t block, uint64_t word) const { return words_.contains({block, word}); }
  bool empty() const { return words_.empty(); }
  /// Records a store to such a word.
  void add_store(const ByteAccess& store);
  /// Returns whether the load of a byte is unordered with a store by another thread of the block.
  bool covers(const ByteAccess& load) const;
  /// Returns false if there were too many stores to keep.
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

/// Collects what the review of a launch's races needs.
class Suspicion {
 public:
  DoubtfulReads reads;

  /// Records one occurrence of a race reported at `at`, and the evidence that would excuse it.
  void note(DeviceFindingKind kind, const ptx::Instruction& at, const ptx::Instruction* other,
            const std::string& tensor, Evidence needed);
  /// Returns the evidence that all occurrences of a finding need; kNoEvidence if it is not a race.
  Evidence needed_by(const DeviceFinding& finding) const;
  /// Returns whether a review with this evidence may excuse any of the findings.
  bool may_explain(const std::vector<DeviceFinding>& findings, Evidence evidence) const;
  /// Returns the PTX lines whose stores must be equal.
  std::set<uint32_t> stores(const std::vector<DeviceFinding>& findings) const;

 private:
  /// Kind, PTX line, PTX line of the other instruction, tensor. Findings equal in all of these are
  /// one race.
  using Race = std::tuple<DeviceFindingKind, uint32_t, uint32_t, std::string>;

  std::mutex mutex_;
  std::map<Race, Evidence> needed_;
};

/// The race detector of a launch, with the data for a review if one is possible.
class LaunchRaces final : public GlobalRaces {
 public:
  LaunchRaces(uint32_t first, bool awaits, PendingStores& stores, uint32_t most,
              Suspicion* gathered)
      : GlobalRaces(first, awaits, stores, most), suspicion(gathered) {}
  Suspicion* const suspicion;
};

/// Returns null if races are always findings.
inline Suspicion* suspicion_of(const Launch& launch) {
  return launch.races == nullptr ? nullptr : static_cast<LaunchRaces*>(launch.races)->suspicion;
}

}  // namespace gpuemu::emulator
