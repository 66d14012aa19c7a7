// Lets batches that write different keys pass side by side, as RocksDB syncs them together, and
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
  /// REQUIRES: mutex_ is held. Few batches are under way at once, most often none.
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
