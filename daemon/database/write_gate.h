// Lets batches that write different keys pass side by side, as RocksDB syncs them together, and
// those with a key in common one after the other.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace gpuemu::storage {

class WriteGate {
 public:
  /// What one batch writes.
  struct Claim {
    /// Hashes of them: two that are equal by chance only wait for each other.
    std::vector<uint64_t> keys;
    bool everything = false;  ///< Ranges: no other batch may be under way.
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
      closed_ = true;  // Later ones wait, so that this one's turn comes.
      changed_.wait(lock, [&] { return under_way_ == 0; });
    } else {
      changed_.wait(lock, [&] {
        return !closed_ &&
               std::ranges::none_of(claim.keys, [&](uint64_t key) { return keys_.contains(key); });
      });
      keys_.insert(claim.keys.begin(), claim.keys.end());
    }
    ++under_way_;
  }
  void leave(const Claim& claim) {
    const std::lock_guard lock(mutex_);
    if (claim.everything) closed_ = false;
    for (uint64_t key : claim.keys) keys_.erase(key);
    --under_way_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<uint64_t> keys_;
  size_t under_way_ = 0;
  bool closed_ = false;
};

}  // namespace gpuemu::storage
