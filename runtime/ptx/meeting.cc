#include "runtime/ptx/meeting.h"

#include <algorithm>

namespace gpuemu::ptx {
namespace {
/// Beyond it the search, quadratic at worst, is not worth its time.
constexpr size_t kBlocksMax = 4096;
constexpr uint32_t kUnreached = UINT32_MAX;

class Meetings {
 public:
  Meetings(const ControlFlow& flow, const std::vector<bool>& leaving)
      : blocks_(flow.blocks), leaving_(leaving), rank_(blocks_.size(), kUnreached) {
    number_blocks();
    before_.resize(blocks_.size());
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      for (const uint32_t next : blocks_[i].successors) before_[next].push_back(i);
  }

  int32_t meeting_of(uint32_t block) {
    const int32_t near = first_common(block, false);
    return near >= 0 ? near : first_common(block, true);
  }

 private:
  /// Reverse post-order from the entry, without recursion.
  void number_blocks() {
    std::vector<bool> seen(blocks_.size(), false);
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    std::vector<uint32_t> order;
    seen[0] = true;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      if (next == blocks_[block].successors.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      const uint32_t other = blocks_[block].successors[next++];
      if (!seen[other]) stack.emplace_back(other, 0);
      seen[other] = true;
    }
    for (size_t i = 0; i < order.size(); ++i)
      rank_[order[i]] = static_cast<uint32_t>(order.size() - 1 - i);
  }

  /// Where the loop that `latch` closes by going to `header` continues.
  std::vector<uint32_t> exits_of_loop(uint32_t latch, uint32_t header) const {
    std::vector<bool> inside(blocks_.size(), false);
    std::vector<uint32_t> work{latch}, exits;
    inside[header] = true;
    inside[latch] = true;
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      if (block == header) continue;
      for (const uint32_t other : before_[block]) {
        if (!inside[other]) work.push_back(other);
        inside[other] = true;
      }
    }
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      for (const uint32_t next : blocks_[i].successors)
        if (inside[i] && !inside[next]) exits.push_back(next);
    return exits;
  }

  /// Marks what paths from `start` reach. A path ends where a loop closes; with `around` it goes on
  /// behind that loop.
  std::vector<bool> reach(uint32_t branch, uint32_t start, bool around) const {
    std::vector<bool> seen(blocks_.size(), false);
    std::vector<uint32_t> work;
    const auto follow = [&](uint32_t from, uint32_t to) {
      if (leaving_[to]) return;
      const bool closes = rank_[to] <= rank_[from];
      if (!closes || !around) {
        if (!seen[to] && !closes) work.push_back(to);
        seen[to] = true;
        return;
      }
      for (const uint32_t exit : exits_of_loop(from, to)) {
        if (!seen[exit] && !leaving_[exit]) work.push_back(exit);
        seen[exit] = seen[exit] || !leaving_[exit];
      }
    };
    follow(branch, start);
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      for (const uint32_t next : blocks_[block].successors) follow(block, next);
    }
    return seen;
  }

  int32_t first_common(uint32_t branch, bool around) const {
    std::vector<uint8_t> times(blocks_.size(), 0);
    for (const uint32_t start : blocks_[branch].successors) {
      const std::vector<bool> seen = reach(branch, start, around);
      for (size_t i = 0; i < seen.size(); ++i)
        times[i] = static_cast<uint8_t>(std::min(2, times[i] + (seen[i] ? 1 : 0)));
    }
    // Blocks ahead come first, then headers of loops around the branch.
    int32_t ahead = -1, behind = -1;
    for (uint32_t i = 0; i < times.size(); ++i) {
      if (times[i] < 2 || i == branch) continue;
      int32_t& best = rank_[i] > rank_[branch] ? ahead : behind;
      const bool later = rank_[i] > rank_[branch];
      const bool better = best < 0 || (later ? rank_[i] < rank_[static_cast<size_t>(best)]
                                             : rank_[i] > rank_[static_cast<size_t>(best)]);
      if (better) best = static_cast<int32_t>(i);
    }
    return ahead >= 0 ? ahead : behind;
  }

  const std::vector<BasicBlock>& blocks_;
  const std::vector<bool>& leaving_;
  std::vector<uint32_t> rank_;
  std::vector<std::vector<uint32_t>> before_;
};
}  // namespace

void find_meetings(ControlFlow& flow, const std::vector<bool>& leaving) {
  for (BasicBlock& block : flow.blocks) block.meet = block.ipdom;
  if (flow.blocks.empty() || flow.blocks.size() > kBlocksMax) return;
  Meetings meetings(flow, leaving);
  for (uint32_t i = 0; i < flow.blocks.size(); ++i) {
    BasicBlock& block = flow.blocks[i];
    const bool only_exit = block.ipdom < 0 || leaving[static_cast<size_t>(block.ipdom)];
    if (block.successors.size() < 2 || !only_exit) continue;
    const int32_t found = meetings.meeting_of(i);
    if (found >= 0) block.meet = found;
  }
}

}  // namespace gpuemu::ptx
