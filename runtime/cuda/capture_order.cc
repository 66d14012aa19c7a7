#include "runtime/cuda/capture_order.h"

#include <algorithm>

namespace gpuemu::cuda {
namespace {

/// Each launch is compared with at most this many earlier ones.
constexpr size_t kLaunchesMax = 1024;

bool conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

bool conflict(std::span<const MemoryAccess> a, std::span<const MemoryAccess> b) {
  return std::ranges::any_of(a, [&](const MemoryAccess& mine) {
    return std::ranges::any_of(b, [&](const MemoryAccess& other) { return conflict(mine, other); });
  });
}

}  // namespace

void CaptureOrder::begin(uint64_t capture, std::span<const Node> now) {
  const auto is_ours = [&](Node node) {
    return std::ranges::find(base_, node) != base_.end() ||
           std::ranges::find(launched_, node, &Launched::node) != launched_.end();
  };
  const bool is_as_left = capture == capture_ && now.size() == base_.size() + launched_.size() &&
                          std::ranges::all_of(now, is_ours);
  if (is_as_left) return;
  capture_ = capture;
  base_.assign(now.begin(), now.end());
  launched_.clear();
}

std::vector<size_t> CaptureOrder::needed(std::span<const MemoryAccess> accesses) const {
  std::vector<size_t> found;
  std::vector<bool> covered(launched_.size());
  for (size_t i = launched_.size(); i-- > 0;) {
    // Skip launches that another dependency already waits for.
    if (covered[i] || !conflict(accesses, launched_[i].accesses)) continue;
    found.push_back(i);
    for (size_t k = 0; k < i; ++k) covered[k] = covered[k] || launched_[i].after[k];
  }
  return found;
}

std::vector<CaptureOrder::Node> CaptureOrder::before(std::span<const MemoryAccess> accesses) const {
  std::vector<Node> nodes;
  for (const size_t i : needed(accesses)) nodes.push_back(launched_[i].node);
  return nodes.empty() ? base_ : nodes;
}

void CaptureOrder::add(Node node, std::span<const MemoryAccess> accesses) {
  std::vector<bool> after(launched_.size());
  for (const size_t i : needed(accesses)) {
    after[i] = true;
    for (size_t k = 0; k < i; ++k) after[k] = after[k] || launched_[i].after[k];
  }
  launched_.push_back({node, {accesses.begin(), accesses.end()}, std::move(after)});
}

bool CaptureOrder::is_full() const { return launched_.size() >= kLaunchesMax; }

}  // namespace gpuemu::cuda
