#include "runtime/emulator/block_scheduler.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/emulator/program/budget.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
/// Rounds of a single block, and of one among several, per pass of the scheduler.
constexpr uint32_t kRoundsAlone = 128, kRoundsTogether = 4;
/// Passes without a block ending after which many blocks seem to wait for each other.
constexpr size_t kLonelyPasses = 32;
/// Rounds without a block ending before the first deadlock check. Each check doubles the number.
constexpr size_t kTurnsBeforeLook = 1024;
/// Blocks in progress per thread in the random thread order.
constexpr size_t kMixed = 4;
constexpr auto kBetweenLooks = std::chrono::microseconds(200);
/// Fewer blocks than this may be a group that cooperates, however large the grid is.
constexpr uint64_t kTellingBlocks = 16;
/// Blocks that a thread takes at once if none can wait for another, and the smallest number of such
/// batches per thread. Taking a batch moves the shared counter's cache line between cores.
constexpr uint64_t kTakenMost = 16, kTakings = 64;
/// If all blocks wait, the clock is advanced by 2^10, 2^11 and so on of its units of 16 ns, up to 5
/// hours in total.
constexpr uint32_t kFirstLeap = 10, kLeaps = 30;
/// Waking a thread takes about as long, on a busy machine longer.
constexpr auto kAlone = std::chrono::microseconds(20);
}  // namespace

Schedule::Schedule(Launch& launch, ClusterPool& pool, uint32_t threads, size_t resident_max,
                   const Issue& issue)
    : launch_(launch),
      pool_(pool),
      clusters_(cluster_count(launch)),
      order_(launch.inputs.config->thread_order, launch.inputs.config->thread_order_seed,
             clusters_),
      held_(std::max<uint64_t>(1, issue.held / blocks_of_cluster(launch))),
      resident_max_(issue.in_order ? std::min<size_t>(resident_max, held_) : resident_max),
      issue_(issue),
      counts_(launch.inputs.program->may_spin || issue.in_order),
      taken_at_once_(
          counts_ || launch.inputs.config->thread_order != ThreadOrder::InOrder
              ? 1
              : std::clamp<uint64_t>(clusters_ / (uint64_t{threads} * kTakings), 1, kTakenMost)),
      deadlock_(threads) {}

void Schedule::join(Clusters& resident, Clusters& spare, Taken& taken, size_t wanted) {
  const size_t joining = std::min(wanted, resident_max_ - resident.size());
  for (size_t i = 0; i < joining; ++i) {
    if (taken.next == taken.end) {
      taken.next = launch_.progress.next_block.fetch_add(taken_at_once_, std::memory_order_relaxed);
      taken.end = taken.next + taken_at_once_;
    }
    const uint64_t next = taken.next;
    if (next >= clusters_) return;
    ++taken.next;
    if (spare.empty()) spare.push_back(pool_.take(launch_));
    resident.push_back(std::move(spare.back()));
    spare.pop_back();
    if (counts_) count_another();
    resident.back()->start(order_.at(next));
  }
}

void Schedule::count_another() {
  const uint64_t now = in_progress_.fetch_add(1, std::memory_order_relaxed) + 1;
  uint64_t most = in_progress_most_.load(std::memory_order_relaxed);
  while (now > most && !in_progress_most_.compare_exchange_weak(most, now)) continue;
}

size_t Schedule::pass(Clusters& resident, Clusters& spare) {
  size_t ended = 0;
  const bool mixed = launch_.inputs.config->thread_order == ThreadOrder::Random;
  const uint32_t rounds = mixed ? 1 : resident.size() == 1 ? kRoundsAlone : kRoundsTogether;
  for (size_t i = 0; i < resident.size();) {
    if (!resident[i]->advance(rounds)) {
      ++i;
      continue;
    }
    ++ended;
    if (counts_) in_progress_.fetch_sub(1, std::memory_order_relaxed);
    spare.push_back(std::move(resident[i]));
    resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

bool Schedule::is_full(const Clusters& resident) const {
  return issue_.in_order || resident.size() == resident_max_ ||
         launch_.progress.next_block.load(std::memory_order_relaxed) >= clusters_;
}

bool Schedule::blocks_met() const {
  return launch_.inputs.program->may_spin &&
         (in_progress_most_ > held_ || grows_too_large(in_progress_most_));
}

bool Schedule::grows_too_large(size_t waiting) const {
  const uint64_t each = blocks_of_cluster(launch_);
  return clusters_ * each >= kTellingBlocks && 2 * uint64_t{waiting} >= clusters_ &&
         launch_.inputs.config->grown_blocks > issue_.held;
}

bool Schedule::is_short_of_memory(size_t resident) const {
  return issue_.in_order && resident < held_ && !grows_too_large(resident) &&
         launch_.progress.next_block.load(std::memory_order_relaxed) < clusters_;
}

size_t Schedule::issued_beside(size_t resident) const {
  const uint64_t begun = launch_.progress.next_block.load(std::memory_order_relaxed);
  if (!issue_.in_order || begun >= clusters_ || grows_too_large(resident)) return 0;
  return std::min(resident, resident_max_ - resident);
}

std::string Schedule::why_not_begun(uint64_t begun) const {
  const uint64_t each = blocks_of_cluster(launch_);
  const std::string held =
      fmt::format("the {} blocks of this kernel that sm_{} with {} multiprocessors holds at once",
                  issue_.held, issue_.sm, issue_.multiprocessors);
  const std::string waiting = fmt::format(
      "all {} blocks in progress wait in loops for blocks that begin after them; {} of the {} of "
      "the "
      "grid have not begun",
      in_progress_ * each, (clusters_ - begun) * each, clusters_ * each);
  const std::string why =
      in_progress_ >= held_
          ? fmt::format("; they are {}, so that no other ever begins", held)
          : fmt::format(
                "; the grid grows with the sizes, and where it is larger than {} the "
                "others never begin",
                held);
  return waiting + why +
         ": take the number of a block from an atomic counter, wait for lower numbers only, launch "
         "cooperatively, or bound the grid";
}

std::string Schedule::why_stuck() const {
  const uint64_t begun = launch_.progress.next_block.load(std::memory_order_relaxed);
  if (issue_.in_order && begun < clusters_) return why_not_begun(begun);
  std::string why = "every thread waits in a loop for a value that no running thread writes";
  if (begun < clusters_) {
    why += fmt::format("; {} of the {} blocks of the grid could not begin beside those that wait",
                       (clusters_ - begun) * blocks_of_cluster(launch_),
                       clusters_ * blocks_of_cluster(launch_));
  }
  if (leaps_ > 0) why += "; hours later on the device's clock they all still wait";
  return why;
}

bool Schedule::pass_time() {
  if (!launch_.inputs.program->reads_clock || leaps_ == kLeaps) return false;
  launch_.clock.ahead += uint64_t{1} << (kFirstLeap + leaps_++);
  return true;
}

size_t Schedule::look(uint32_t thread, const Clusters& resident) {
  const auto over = [&] { return launch_.clock.stop.load() || is_over(launch_); };
  while (!over()) {
    const uint64_t time = deadlock_.begin(thread);
    if (!std::ranges::all_of(resident,
                             [](const auto& cluster) { return cluster->is_livelocked(); })) {
      leaps_ = 0;
      break;
    }
    if (deadlock_.all_stuck(thread, time)) {
      if (const size_t more = issued_beside(resident.size()); more > 0) {
        deadlock_.goes_on(thread);
        return more;
      }
      if (!pass_time()) {
        if (is_short_of_memory(resident.size())) {
          launch_.clock.stop = true;
        } else {
          resident.front()->stop_blocks(why_stuck());
        }
        return 0;
      }
      deadlock_.goes_on(thread);
      continue;
    }
    do {
      std::this_thread::sleep_for(kBetweenLooks);
    } while (!over() && !deadlock_.may_have_changed(thread));
  }
  deadlock_.goes_on(thread);
  return 0;
}

size_t Schedule::joining(size_t resident, bool ended, size_t passes) const {
  const bool mixes = launch_.inputs.config->thread_order == ThreadOrder::Random;
  if (mixes && resident < kMixed) return kMixed - resident;
  // Blocks that wait for each other must all be in progress, even in the random order.
  if (mixes && !launch_.inputs.program->may_spin) return 0;
  if (resident == 0) return 1;
  if (ended || issue_.in_order) return 0;
  return passes > kLonelyPasses ? resident : 1;
}

bool Schedule::is_short() const {
  const uint64_t each = launch_.inputs.entry->cluster_ns;
  constexpr uint64_t kAloneNs = std::chrono::nanoseconds(kAlone).count();
  return each != 0 && clusters_ <= kAloneNs / each;
}

void Schedule::work(const std::function<void()>& call_others) {
  const uint32_t thread = next_thread_.fetch_add(1);
  const Clock::time_point begin = call_others ? Clock::now() : Clock::time_point();
  bool is_alone = call_others && is_short();
  if (call_others && !is_alone) call_others();
  Clusters resident, spare;
  Taken taken;
  bool ended = true;
  uint64_t done = 0;
  size_t passes = 0, before_look = kTurnsBeforeLook, wanted = 0;
  while (!launch_.clock.stop.load(std::memory_order_relaxed)) {
    passes = ended ? 0 : passes + 1;
    join(resident, spare, taken, std::max(wanted, joining(resident.size(), ended, passes)));
    wanted = 0;
    if (resident.empty()) break;
    const size_t finished = pass(resident, spare);
    done += finished;
    ended = finished > 0;
    if (ended) before_look = kTurnsBeforeLook;
    if (is_alone && !is_full(resident) && Clock::now() - begin > kAlone) {
      is_alone = false;
      call_others();
    }
    if (ended || !launch_.inputs.program->may_spin || !is_full(resident)) continue;
    const size_t rounds =
        passes * (resident.size() == 1 ? kRoundsAlone : kRoundsTogether * resident.size());
    if (rounds < before_look) continue;
    if (std::exchange(is_alone, false)) call_others();  // They tell that they have no blocks.
    before_look = 2 * rounds;
    wanted = look(thread, resident);
    if (wanted > 0) before_look = kTurnsBeforeLook, passes = 0;
  }
  deadlock_.leaves(thread);
  if (done == 0 || launch_.clock.stop.load(std::memory_order_relaxed)) return;
  pool_.keep(std::move(spare.back()), launch_);
  if (!call_others) return;
  const std::chrono::nanoseconds spent = Clock::now() - begin;
  launch_.inputs.entry->cluster_ns =
      std::max<uint64_t>(1, static_cast<uint64_t>(spent.count()) / done);
}

}  // namespace gpuemu::emulator
