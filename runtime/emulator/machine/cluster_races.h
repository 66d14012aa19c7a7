// Finds races in the shared memory of a cluster: of a block's own accesses with those of the other
// blocks, and of other blocks with each other.
//
// A block's own accesses are in its race history, with the epoch of each. Accesses by way of the
// cluster are recorded here until something may order accesses of one block before those of
// another: the cluster's barrier, the end of a phase of an mbarrier, a release, or a fence with an
// atomic or volatile access after it. That ends a phase for all blocks, whoever waits for it, so
// too many pairs may count as ordered, never too few. Within a phase no two accesses of different
// blocks are ordered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/check_report.h"
#include "runtime/emulator/memory/access_kind.h"

namespace gpuemu::emulator {

struct SharedPlace;

class ClusterRaces {
 public:
  /// Call it before `lane` accesses `bytes` at `place` by way of the cluster. `from`: the bytes
  /// that it stores; null if it stores none, or others that are not known yet.
  void note(Warp& warp, const Step& step, uint32_t lane, const SharedPlace& place, uint32_t bytes,
            Access access, const std::byte* from);
  /// Ends a phase. `blocks`: those of the cluster.
  void order(const std::vector<std::unique_ptr<Block>>& blocks);

 private:
  /// The last write or read of a word by way of the cluster.
  struct Seen {
    Warp* warp = nullptr;  ///< Null: there was none in this phase.
    const Step* step = nullptr;
    const Code* code = nullptr;
    const ptx::Instruction* instruction = nullptr;
    uint32_t lane = 0;
    uint32_t bits = 0;   ///< One for each byte of the word.
    uint32_t value = 0;  ///< What it left there or read.
    bool is_atomic = false, is_reported = false;
  };
  struct Word {
    Block* of = nullptr;
    Seen write, read;
  };
  /// Rank of the block and number of the word, in the order of reports.
  using Key = std::pair<uint32_t, uint32_t>;

  struct Other;

  /// Returns an access of this phase before `by` that races with it.
  static std::optional<Other> earlier(const Seen& by, Access access, const Word& word,
                                      uint32_t number);
  /// Reports accesses of the block itself after those of the others.
  static void look_at_later(const Word& word, uint32_t number);
  /// Does so for all words, and forgets them.
  void look_at_all();
  static void report(const Seen& by, Access access, const Block& of, uint32_t number,
                     const Other& other);

  std::map<Key, Word> words_;
};

}  // namespace gpuemu::emulator
