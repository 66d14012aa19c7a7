// A logical clock that orders the accesses of the lanes of one warp.
//
// An event is a warp-level instruction at which lanes wait for each other. __syncwarp() and
// barriers order all accesses of their lanes before the event with those after it. By the memory
// model, shuffles, votes, matches and reductions order no accesses. A lane that has passed one
// holds the values that it read, however, so reads (and only reads) count as done before it. An
// access is stamped with the event count at its time; it is ordered before lane A's next access if
// a later event joined both lanes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace gpuemu::emulator {

class LaneClock {
 public:
  /// Counts are stored in 16 bits. When the clock is full, the caller starts a new epoch of the
  /// block, in which earlier accesses are ignored, and calls restart().
  static constexpr uint32_t kEventsMax = 0x7fff;

  uint32_t now() const { return counts_.now; }
  /// The part that compiled code accesses: now(), ordered() and read_ordered().
  struct Counts {
    uint32_t now = 0, ordered = 0, read_ordered = 0;
  };
  Counts& counts() { return counts_; }
  bool full() const { return counts_.now == kEventsMax; }
  /// Writes (reads) with a lower count are ordered before every lane.
  uint32_t ordered() const { return counts_.ordered; }
  uint32_t read_ordered() const { return counts_.read_ordered; }

  void restart() {
    counts_ = {};
    some_.reset();
  }
  /// Counts an event that orders nothing by itself; earlier accesses have a lower count.
  uint32_t advance() { return ++counts_.now; }
  /// Counts an event of all lanes of the warp.
  void order_all() { counts_.ordered = counts_.read_ordered = ++counts_.now; }
  void order_reads() { counts_.read_ordered = ++counts_.now; }
  /// Counts an event of `lanes` only.
  void order_all(uint32_t lanes);
  void order_reads(uint32_t lanes);

  /// Returns the lanes of `others` whose writes (reads) at the time `event` are not ordered before
  /// the next access of `lane`.
  uint32_t unordered_writes(uint32_t lane, uint32_t others, uint32_t event) const {
    return event < counts_.ordered ? 0 : some_ == nullptr ? others : unknown(lane, others, event);
  }
  uint32_t unordered_reads(uint32_t lane, uint32_t others, uint32_t event) const {
    if (event < counts_.read_ordered ||
        (some_ != nullptr && some_->met[lane] > static_cast<int32_t>(event))) {
      return 0;
    }
    return some_ == nullptr ? others : unknown(lane, others, event);
  }

 private:
  using Events = std::array<int16_t, 32>;
  struct Some {
    std::array<Events, 32>
        known{};   ///< The last event of each lane (column) that a lane (row) knows.
    Events met{};  ///< The last meeting of each lane.
  };
  Some& some();
  uint32_t unknown(uint32_t lane, uint32_t others, uint32_t event) const;

  Counts counts_;
  std::unique_ptr<Some> some_;  ///< None until some lanes synchronise without the others.
};

}  // namespace gpuemu::emulator
