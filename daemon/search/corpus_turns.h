// Searches of one op that run at the same time: each begins with the stored corpus, and what they
// have found is joined in the order of their jobs, whichever ends first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "daemon/search/corpus_entries.h"

namespace gpuemu {

class Store;
struct OpConfig;

/// Thread-safe.
class CorpusTurns {
 public:
  using Bytes = std::vector<std::vector<std::byte>>;

  /// One search, until it is destroyed.
  class Turn {
   public:
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// The stored entries when it began.
    const Bytes& start() const { return start_; }
    /// Stores these and what other searches of now have found, in place of what they began with.
    /// REQUIRES: each has a result.
    Status keep(CorpusEntries found);

   private:
    friend class CorpusTurns;
    Turn(CorpusTurns& turns, Store& store, std::string op, uint64_t job)
        : turns_(turns), store_(store), op_(std::move(op)), job_(job) {}

    CorpusTurns& turns_;
    Store& store_;
    const std::string op_;
    const uint64_t job_;
    Bytes start_;
  };

  /// The store and this object outlive the turn.
  Result<std::unique_ptr<Turn>> begin(Store& store, const std::string& op, uint64_t job);
  /// Stores what a search without a turn has found, in place of what it began with: the cases with
  /// these seeds. What others have stored meanwhile stays. REQUIRES: each has a result.
  Status put(Store& store, const OpConfig& op, const std::set<uint64_t>& began_with,
             const CorpusEntries& found);

 private:
  /// The searches of one op, as long as one of them runs.
  struct Group {
    std::set<uint64_t> running;               ///< Jobs.
    std::map<uint64_t, CorpusEntries> ended;  ///< What they kept, by job.
    Bytes stored;  ///< By these searches; others, as `gpuemu ci`, add to it.
  };
  using Key = std::pair<const Store*, std::string>;

  std::mutex mutex_;
  std::map<Key, Group> groups_;  // Guarded by mutex_.
};

}  // namespace gpuemu
