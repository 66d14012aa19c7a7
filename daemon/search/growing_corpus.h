// The corpus of a search while it grows: what cases have reached, merged in their order, and which
// entries there were after each epoch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/search/corpus_entries.h"
#include "runtime/profile/reach_set.h"

namespace gpuemu {

/// What cases of an epoch follow.
struct CorpusView {
  std::map<DType, CorpusEntries> entries;  ///< The oldest first.
  uint64_t grown_at = 0;                   ///< The number behind that of the newest one; or 0.
};

/// The members that change it are for one thread at a time, view() and known() for any.
class GrowingCorpus {
 public:
  /// An entry that the search begins with. Its features are known from here on.
  void start_with(CorpusEntry entry);
  /// The features that no case before had. REQUIRES: the cases before were learned.
  size_t learn(DType dtype, const std::vector<uint32_t>& features);
  void add(CorpusEntry entry);
  /// The entries of now are those that the search begins with.
  void end_start();
  /// All cases of the epoch were learned.
  void end_epoch(uint64_t epoch);

  /// After the epoch; what the search began with where that has not ended in this run. REQUIRES: it
  /// is one of the last two that ended.
  std::shared_ptr<const CorpusView> view(uint64_t epoch) const;
  /// All features of the dtype by now; kernels of other dtypes are other kernels.
  std::shared_ptr<const ReachSet> known(DType dtype) const;

  const CorpusEntries& entries() const { return entries_; }

 private:
  std::shared_ptr<const CorpusView> view_of_now() const;

  CorpusEntries entries_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<DType, std::shared_ptr<const ReachSet>> known_;
  std::shared_ptr<const CorpusView> start_ = std::make_shared<const CorpusView>();
  std::map<uint64_t, std::shared_ptr<const CorpusView>> views_;  ///< By epoch.
};

}  // namespace gpuemu
