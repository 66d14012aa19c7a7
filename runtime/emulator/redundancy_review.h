// Executes a launch of a Triton kernel again, after the first execution found races that may be due
// to threads repeating each other's work (checks/redundancy.h). One execution records which threads
// store to the words that were read without synchronisation. The next treats such reads as
// undefined and tracks them to every use, and compares without rounding what several threads store.
#pragma once

#include <set>
#include <vector>

#include "runtime/emulator/checks/redundancy.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/shadow/equal_stores.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {

/// What an execution of the review checks, and its results.
struct RedundancyReview {
  DoubtfulReads& reads;
  EqualStores stores;
  bool collects = false;  ///< Record the storing threads; track nothing.
  bool compares = false;  ///< Compare stores, which requires shadows.
  bool reads_used = false;
};

/// Turns the races that the review explains into notes.
void explain(std::vector<DeviceFinding>& findings, const Suspicion& suspicion,
             const RedundancyReview& look);

/// A copy of allocations: their bytes, and which of them were written.
class MemoryCopy {
 public:
  /// Returns false, with an empty copy, if the allocations are too large for a review.
  bool take(Memory& memory, const std::set<uint64_t>& addresses);
  /// Returns what the same allocations hold now.
  MemoryCopy now() const;
  void put_back() const;

 private:
  struct Piece {
    Allocation* of = nullptr;
    std::vector<std::byte> bytes;
    std::vector<uint8_t> defined;
  };
  static Piece piece_of(Allocation* of);

  std::vector<Piece> pieces_;
};

class RedundancyObserver final : public StepObserver {
 public:
  /// `shadow` may be null.
  RedundancyObserver(RedundancyReview& look, Shadow* shadow) : look_(look), shadow_(shadow) {}
  void before(Warp& warp, const Step& step) override;

 private:
  void collect(Warp& warp, const Step& step, uint32_t bytes);
  uint32_t doubtful_lanes(Warp& warp, const Step& step, uint64_t offset, uint32_t bytes) const;

  RedundancyReview& look_;
  Shadow* shadow_;
};

}  // namespace gpuemu::emulator
