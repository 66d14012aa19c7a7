// Further executions of a launch of Triton's, after the first one has found races that may only be
// those of threads that repeat each other's work (machine/redundancy.h). One notes who stores to
// the words that were read without an order. In the next one such reads count as undefined and are
// followed to every use, and what several threads store is compared without rounding.
#pragma once

#include <set>
#include <vector>

#include "runtime/emulator/checks/redundancy.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/shadow/equal_stores.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {

/// What an execution looks at, and what it saw.
struct RedundancyReview {
  DoubtfulReads& reads;
  EqualStores stores;
  bool collects = false;  ///< Who stores; it follows nothing.
  bool compares = false;  ///< Stores, which takes shadows.
  bool reads_used = false;
};

/// Makes notes of those races that it explains.
void explain(std::vector<DeviceFinding>& findings, const Suspicion& suspicion,
             const RedundancyReview& look);

/// What allocations held at one time, and which of their bytes were written.
class MemoryCopy {
 public:
  /// False where they have more than a second look is worth; then the copy is empty.
  bool take(Memory& memory, const std::set<uint64_t>& addresses);
  void put_back() const;

 private:
  struct Piece {
    Allocation* of = nullptr;
    std::vector<std::byte> bytes;
    std::vector<uint8_t> defined;
  };
  std::vector<Piece> pieces_;
};

class RedundancyObserver final : public StepObserver {
 public:
  /// `shadow` may be absent.
  RedundancyObserver(RedundancyReview& look, Shadow* shadow) : look_(look), shadow_(shadow) {}
  void before(Warp& warp, const Step& step) override;

 private:
  void collect(Warp& warp, const Step& step, uint32_t bytes);
  uint32_t doubtful_lanes(Warp& warp, const Step& step, uint64_t offset, uint32_t bytes) const;

  RedundancyReview& look_;
  Shadow* shadow_;
};

}  // namespace gpuemu::emulator
