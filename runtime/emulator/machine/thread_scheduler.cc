#include "runtime/emulator/machine/thread_scheduler.h"

#include <algorithm>
#include <numeric>

namespace gpuemu::emulator {
namespace {
/// Longest time slice where the order is to be fine-grained, in warp instructions.
constexpr uint64_t kFineSlice = 48;
/// Random time slices have up to this many bits, so short and long ones are equally likely.
constexpr uint64_t kRandomBits = 7;
/// Number of priority changes of ThreadOrder::Priorities, and the rounds within which they happen.
constexpr size_t kChanges = 3;
constexpr uint64_t kChangesWithin = 256;
}  // namespace

/// The first draw of a block is the warp that runs ahead.
void ThreadScheduler::begin_draws() {
  draws_ = true;
  random_ = derive_state(seed_, block_, "turns");
  ahead_ = static_cast<uint32_t>(draw(order_.size()));
}

uint64_t ThreadScheduler::draw(uint64_t below) {
  if (!draws_) begin_draws();
  return scale_below(next_output(random_), below);
}

void ThreadScheduler::start(uint64_t block, uint32_t warps) {
  block_ = block;
  draws_ = false;
  order_.resize(warps);
  std::iota(order_.begin(), order_.end(), uint32_t{0});
  if (how_ == ThreadOrder::Reverse) std::ranges::reverse(order_);
  if (how_ == ThreadOrder::FarAhead) {
    begin_draws();
    std::swap(order_[0], order_[ahead_]);
  }
  rounds_ = 0;
  changes_left_.clear();
  if (how_ != ThreadOrder::Priorities) return;
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draw(i)]);
  for (size_t i = 0; i < kChanges; ++i) changes_left_.push_back(draw(kChangesWithin));
}

std::span<const uint32_t> ThreadScheduler::next_round() {
  ++rounds_;
  if (how_ == ThreadOrder::Random) {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draw(i)]);
  }
  if (std::ranges::find(changes_left_, rounds_) != changes_left_.end()) {
    std::ranges::rotate(order_, order_.begin() + 1);
  }
  return order_;
}

uint64_t ThreadScheduler::slice(uint32_t warp, uint64_t longest) {
  if (how_ == ThreadOrder::Random) return uint64_t{1} << draw(kRandomBits);
  const bool fine =
      how_ == ThreadOrder::Priorities || (how_ == ThreadOrder::FarAhead && warp != ahead_);
  return fine ? std::min(longest, kFineSlice) : longest;
}

BlockOrder::BlockOrder(ThreadOrder how, uint64_t seed, uint64_t count) : how_(how), count_(count) {
  if (count == 0 || (how != ThreadOrder::Random && how != ThreadOrder::OneBlock)) return;
  // Stepping by a number coprime to the count visits every block once.
  Stream random(seed, count, "blocks");
  first_ = random.below(count);
  step_ = 1 + random.below(count);
  while (std::gcd(step_, count) != 1) ++step_;
}

uint64_t BlockOrder::at(uint64_t number) const {
  if (how_ == ThreadOrder::Reverse) return count_ - 1 - number;
  if (step_ == 1 && first_ == 0) return number;
  return static_cast<uint64_t>((static_cast<uint128_for_products>(number) * step_ + first_) %
                               count_);
}

}  // namespace gpuemu::emulator
