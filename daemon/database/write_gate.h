// Admits batches that write different keys concurrently, because RocksDB syncs them together, and
// those with a key in common one after the other.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gpuemu::storage {

class WriteGate {
 public:
  /// The keys that one batch writes.
  struct Claim {
    /// Hashes of the keys; two keys with the same hash by chance only wait for each other.
    std::vector<uint64_t> keys;
    bool everything = false;  ///< The batch writes ranges: no other batch may be in progress.
  };

  /// Held while a batch is written.
  class Pass {
   public:
    Pass(WriteGate& gate, Claim claim) : gate_(gate), claim_(std::move(claim)) {
      gate_.enter(claim_);
    }
    ~Pass() { gate_.leave(claim_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    WriteGate& gate_;
    const Claim claim_;
  };

 private:
  void enter(const Claim& claim) {
    std::unique_lock lock(mutex_);
    if (claim.everything) {
      changed_.wait(lock, [&] { return !closed_; });
      closed_ = true;  // Later batches wait, so that this one gets its turn.
      changed_.wait(lock, [&] { return under_way_.empty(); });
    } else {
      changed_.wait(lock, [&] { return !closed_ && !meets_another(claim); });
    }
    under_way_.push_back(&claim);
  }
  void leave(const Claim& claim) {
    const std::lock_guard lock(mutex_);
    if (claim.everything) closed_ = false;
    std::erase(under_way_, &claim);
    changed_.notify_all();
  }
  /// Few batches are in progress at once, usually none. REQUIRES: mutex_ is held.
  bool meets_another(const Claim& claim) const {
    return std::ranges::any_of(under_way_, [&](const Claim* other) {
      return std::ranges::find_first_of(claim.keys, other->keys) != claim.keys.end();
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const Claim*> under_way_;
  bool closed_ = false;
};

}  // namespace gpuemu::storage
