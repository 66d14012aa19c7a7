#include "runtime/ptx/flow/reconvergence.h"

#include <algorithm>

namespace gpuemu::ptx {
namespace {
/// Above this size the search, quadratic in the worst case, takes too long.
constexpr size_t kBlocksMax = 4096;
constexpr size_t kCandidatesMax = 64;
/// Blocks visited for one function. Real functions need less than a hundredth of it. Where hostile
/// control flow exceeds the limit, post-dominators are used.
constexpr uint64_t kStepsMax = 20'000'000;
constexpr uint32_t kUnreached = UINT32_MAX;

class Meetings {
 public:
  Meetings(const ControlFlow& flow, const std::vector<bool>& leaving)
      : blocks_(flow.blocks), leaving_(leaving), rank_(blocks_.size(), kUnreached) {
    number_blocks();
    before_.resize(blocks_.size());
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      for (const uint32_t next : blocks_[i].successors) before_[next].push_back(i);
    }
  }

  bool exhausted() const { return steps_ > kStepsMax; }

  int32_t meeting_of(uint32_t block) {
    const int32_t near = first_common(block, false);
    return near >= 0 ? near : first_common(block, true);
  }

 private:
  /// Numbers the blocks in reverse post-order from the entry, without recursion.
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
    for (size_t i = 0; i < order.size(); ++i) {
      rank_[order[i]] = static_cast<uint32_t>(order.size() - 1 - i);
    }
  }

  /// Returns the blocks at which the loop closed by the edge from `latch` to `header` is left.
  std::vector<uint32_t> exits_of_loop(uint32_t latch, uint32_t header) {
    steps_ += blocks_.size();
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
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      for (const uint32_t next : blocks_[i].successors) {
        if (inside[i] && !inside[next]) exits.push_back(next);
      }
    }
    return exits;
  }

  /// Marks the blocks that paths from `start` reach. A path ends at the back edge of a loop; with
  /// `around` it continues after that loop.
  std::vector<bool> reach(uint32_t branch, uint32_t start, bool around, uint32_t without) {
    steps_ += blocks_.size() / 64;
    std::vector<bool> seen(blocks_.size(), false);
    std::vector<uint32_t> work;
    const auto follow = [&](uint32_t from, uint32_t to) {
      if (leaving_[to] || to == without) return;
      const bool closes = rank_[to] <= rank_[from];
      if (!closes || !around) {
        if (!seen[to] && !closes) work.push_back(to);
        seen[to] = true;
        return;
      }
      for (const uint32_t exit : exits_of_loop(from, to)) {
        if (seen[exit] || leaving_[exit] || exit == without) continue;
        work.push_back(exit);
        seen[exit] = true;
      }
    };
    follow(branch, start);
    while (!work.empty()) {
      const uint32_t block = work.back();
      work.pop_back();
      ++steps_;
      for (const uint32_t next : blocks_[block].successors) follow(block, next);
    }
    return seen;
  }

  /// Returns for each block how many successors' paths reach it (2 for two or more).
  std::vector<uint8_t> reached(uint32_t branch, bool around, uint32_t without) {
    steps_ += blocks_.size();
    std::vector<uint8_t> times(blocks_.size(), 0);
    for (const uint32_t start : blocks_[branch].successors) {
      const std::vector<bool> seen = reach(branch, start, around, without);
      for (size_t i = 0; i < seen.size(); ++i) {
        times[i] = static_cast<uint8_t>(std::min(2, times[i] + (seen[i] ? 1 : 0)));
      }
    }
    return times;
  }

  /// Returns the first common block ahead of the branch, else the nearest common loop header behind
  /// it.
  int32_t first_common(uint32_t branch, bool around) {
    const std::vector<uint8_t> times = reached(branch, around, kUnreached);
    std::vector<uint32_t> ahead;
    int32_t behind = -1;
    for (uint32_t i = 0; i < times.size(); ++i) {
      if (times[i] < 2 || i == branch) continue;
      if (rank_[i] > rank_[branch]) {
        ahead.push_back(i);
      } else if (behind < 0 || rank_[i] > rank_[static_cast<size_t>(behind)]) {
        behind = static_cast<int32_t>(i);
      }
    }
    std::ranges::sort(ahead, {}, [&](uint32_t block) { return rank_[block]; });
    for (size_t i = 0; i < std::min(ahead.size(), kCandidatesMax) && !exhausted(); ++i) {
      const std::vector<uint8_t> past = reached(branch, around, ahead[i]);
      const bool bypassed = std::any_of(ahead.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                        ahead.end(), [&](uint32_t b) { return past[b] > 0; });
      if (!bypassed) return static_cast<int32_t>(ahead[i]);
    }
    return ahead.empty() ? behind : static_cast<int32_t>(ahead.front());
  }

  const std::vector<BasicBlock>& blocks_;
  const std::vector<bool>& leaving_;
  std::vector<uint32_t> rank_;
  std::vector<std::vector<uint32_t>> before_;
  uint64_t steps_ = 0;
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
    const int32_t meet = meetings.meeting_of(i);
    if (meetings.exhausted()) return;
    block.meet = meet;
  }
}

}  // namespace gpuemu::ptx
