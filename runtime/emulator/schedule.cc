#include "runtime/emulator/schedule.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/turns.h"

namespace gpuemu::emulator {
namespace {
/// Turns of a block on its own before it seems to wait, and of one among several.
constexpr uint32_t kRoundsAlone = 128, kRoundsTogether = 4;
/// Passes in which none ends before it seems that many have to meet.
constexpr size_t kLonelyPasses = 32;
/// Turns without an end before the first look whether there can be one. Every look doubles them.
constexpr size_t kTurnsBeforeLook = 1024;
/// Blocks in progress at once where blocks are to be mixed.
constexpr size_t kMixed = 4;
constexpr auto kBetweenLooks = std::chrono::microseconds(200);
/// While all wait the clock leaps by 2^10, 2^11, ... of its units of 16 ns: to 5 hours in all.
constexpr uint32_t kFirstLeap = 10, kLeaps = 30;
}  // namespace

void Schedule::join(Clusters& resident, Clusters& spare, size_t wanted) {
  const size_t joining = std::min(wanted, resident_max_ - resident.size());
  for (size_t i = 0; i < joining; ++i) {
    const uint64_t next = launch_.next_block.fetch_add(1, std::memory_order_relaxed);
    if (next >= clusters_) return;
    if (spare.empty()) spare.push_back(std::make_unique<Cluster>(launch_));
    resident.push_back(std::move(spare.back()));
    spare.pop_back();
    const LaunchConfig& config = *launch_.config;
    resident.back()->start(
        block_in_turn(config.interleaving, config.interleaving_seed, next, clusters_));
  }
}

bool Schedule::pass(Clusters& resident, Clusters& spare) {
  bool ended = false;
  const bool mixed = launch_.config->interleaving == Interleaving::Random;
  const uint32_t rounds = mixed ? 1 : resident.size() == 1 ? kRoundsAlone : kRoundsTogether;
  for (size_t i = 0; i < resident.size();) {
    if (!resident[i]->advance(rounds)) {
      ++i;
      continue;
    }
    ended = true;
    spare.push_back(std::move(resident[i]));
    resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

bool Schedule::is_full(const Clusters& resident) const {
  return resident.size() == resident_max_ ||
         launch_.next_block.load(std::memory_order_relaxed) >= clusters_;
}

std::string Schedule::why_stuck() const {
  std::string why = "every thread waits in a loop for a value that nobody is going to write";
  const uint64_t begun = launch_.next_block.load(std::memory_order_relaxed);
  if (begun < clusters_)
    why += fmt::format("; {} of the {} blocks of the grid could not begin beside those that wait",
                       (clusters_ - begun) * blocks_of_cluster(launch_),
                       clusters_ * blocks_of_cluster(launch_));
  if (leaps_ > 0) why += "; hours later on the device's clock they all still wait";
  return why;
}

bool Schedule::pass_time() {
  if (!launch_.program->reads_clock || leaps_ == kLeaps) return false;
  launch_.clock_ahead += uint64_t{1} << (kFirstLeap + leaps_++);
  return true;
}

void Schedule::look(uint32_t thread, const Clusters& resident) {
  const auto over = [&] {
    return launch_.stop.load() || std::chrono::steady_clock::now() > launch_.deadline;
  };
  while (!over()) {
    const uint64_t time = stalls_.begin(thread);
    if (!std::ranges::all_of(resident, [](const auto& cluster) { return cluster->spins(); })) {
      leaps_ = 0;
      break;
    }
    if (stalls_.all_stuck(thread, time)) {
      if (!pass_time()) return resident.front()->give_up(why_stuck());
      stalls_.goes_on(thread);
      continue;
    }
    do std::this_thread::sleep_for(kBetweenLooks);
    while (!over() && !stalls_.may_have_changed(thread));
  }
  stalls_.goes_on(thread);
}

size_t Schedule::joining(size_t resident, bool ended, size_t passes) const {
  const bool mixes = launch_.config->interleaving == Interleaving::Random;
  if (mixes && resident < kMixed) return kMixed - resident;
  // Blocks that wait for each other have to meet, however the others are mixed.
  if (mixes && !launch_.program->may_spin) return 0;
  if (resident == 0) return 1;
  if (ended) return 0;
  return passes > kLonelyPasses ? resident : 1;
}

void Schedule::work() {
  const uint32_t thread = next_thread_.fetch_add(1);
  Clusters resident, spare;
  bool ended = true;
  size_t passes = 0, before_look = kTurnsBeforeLook;
  while (!launch_.stop.load(std::memory_order_relaxed)) {
    passes = ended ? 0 : passes + 1;
    join(resident, spare, joining(resident.size(), ended, passes));
    if (resident.empty()) break;
    ended = pass(resident, spare);
    if (ended) before_look = kTurnsBeforeLook;
    if (ended || !launch_.program->may_spin || !is_full(resident)) continue;
    const size_t turns =
        passes * (resident.size() == 1 ? kRoundsAlone : kRoundsTogether * resident.size());
    if (turns < before_look) continue;
    before_look = 2 * turns;
    look(thread, resident);
  }
  stalls_.leaves(thread);
}

}  // namespace gpuemu::emulator
