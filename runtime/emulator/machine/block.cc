// Runs the warps of one block in turn until all are done, or none can go on.
#include <algorithm>
#include <thread>

#include "common/base/limits.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/counters.h"
#include "runtime/emulator/machine/livelock.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/thread_scheduler.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {
constexpr uint64_t kSlice = 1 << 16;
/// Where warps may wait for each other in loops, their turns are short.
constexpr uint64_t kShortSlice = 1 << 9;
/// Slices of a warp before the first look whether it can end at all, where none waits for others.
constexpr uint64_t kLongRun = 1 << 6;
/// Short slices without an end before lanes count as waiting for others of their warp.
constexpr uint64_t kPatience = 8;
/// Steps in which a path that only waits is recognised, and the most slices between two such looks
/// at a warp that works.
constexpr uint32_t kGlance = 64, kUnwatchedMax = 64;
/// Rounds in which every warp only waited.
constexpr uint32_t kRoundsBeforeYield = 64;
/// Slices that ended early (barrier, exit) between two looks at the clock, also over blocks.
constexpr uint32_t kClockSlices = 512;
}  // namespace

Block::Block(Launch& of) : launch(&of) {
  const Dim3 size = of.config->block;
  threads = size.x * size.y * size.z;
  warps.resize((threads + kLanes - 1) / kLanes);
  cache.resize(of.program->cached + 1);
  shared.resize(of.shared_bytes + 64);
  if (of.checks.init) shared_defined.resize(of.shared_bytes + 64);
  if (of.checks.race) race.resize(of.shared_bytes / 4 + 1, shared.data());
  if (of.config->thread_order != ThreadOrder::InOrder)
    turns = std::make_shared<Turns>(of.config->thread_order, of.config->thread_order_seed);
  if (of.counters != nullptr) {
    counters = std::make_shared<Counters>(*of.counters);
    counters->counts.clear();
  }
}

void Block::start(Dim3 at) {
  index = at;
  ended = false;
  std::fill(shared.begin(), shared.end(), std::byte{0});
  std::fill(shared_defined.begin(), shared_defined.end(), uint8_t{0});
  if (launch->program->reserved_shared && !shared_defined.empty())
    std::fill_n(shared_defined.begin() + reserved_shared_offset(*launch), kReservedSharedBytes,
                uint8_t{1});
  next_epoch();
  proxy_epoch = epoch;
  const Dim3 grid = launch->config->grid;
  linear = index.x + uint64_t{grid.x} * (index.y + uint64_t{grid.y} * index.z);
  if (turns != nullptr) turns->start(linear, static_cast<uint32_t>(warps.size()));
  acquired = 0;
  fences = published = sync_ops = 0;
  barriers = {};
  barriers_in_use = 0;
  live_threads = threads;
  mbarriers.clear();
  bulk.clear();
  warp_instructions = 0;
  for (uint32_t i = 0; i < warps.size(); ++i) {
    Warp& warp = warps[i];
    warp.block = this;
    warp.launch = launch;
    warp.cache = cache.data();
    warp.executed = 0;
    warp.slices = warp.unwatched = warp.unwatched_next = 0;
    warp.spins = false;
    warp.start(i, threads - i * kLanes);
  }
}

bool Block::run_warp(Warp& warp, uint64_t slice) {
  if (unchecked_ >= kClockSlices) {
    unchecked_ = 0;
    if (launch->stop.load(std::memory_order_relaxed) || over_budget()) return false;
  }
  const uint64_t before = warp.executed;
  if (!warp.spins) warp.run(slice);
  if (launch->program->may_spin) take_turns(warp);
  if (never_ends(warp)) {
    report_stuck(DeviceFindingKind::Deadlock, "a loop that reads and changes nothing never ends");
    return false;
  }
  warp_instructions += (warp.executed - before) / kLanes + 1;
  unchecked_ += warp.state == WarpState::Running ? kClockSlices : 1;
  settle(warp);
  return true;
}

bool Block::advance_in_turns(uint32_t rounds) {
  const bool may_spin = launch->program->may_spin;
  const bool in_parts = may_spin || turns->mixes_blocks();
  // Who waits in a loop must not keep the one that it waits for from its turn.
  const bool one_per_pass = turns->one_per_pass() && !may_spin;
  bool progress = true;
  while (progress && !launch->stop.load(std::memory_order_relaxed)) {
    if (in_parts && rounds-- == 0) return false;
    progress = false;
    for (const uint32_t at : turns->next_pass()) {
      Warp& warp = warps[at];
      if (warp.state != WarpState::Running) continue;
      progress = true;
      if (!run_warp(warp, turns->slice(at, may_spin ? kShortSlice : kSlice)) || one_per_pass) break;
    }
  }
  return end_unless_waiting();
}

/// False when the block goes on once the other blocks of its cluster have come to a barrier.
bool Block::end_unless_waiting() {
  const bool waits =
      std::ranges::any_of(warps, [](const Warp& w) { return w.state == WarpState::AtCluster; });
  if (waits && !launch->stop.load(std::memory_order_relaxed)) return false;
  finish();
  return true;
}

bool Block::advance(uint32_t rounds) {
  if (turns != nullptr) return advance_in_turns(rounds);
  const bool may_spin = launch->program->may_spin;
  const uint64_t slice = may_spin ? kShortSlice : kSlice;
  bool progress = true;
  while (progress && !launch->stop.load(std::memory_order_relaxed)) {
    if (may_spin && rounds-- == 0) return false;
    progress = false;
    bool all_spin = may_spin;
    for (Warp& warp : warps) {
      if (warp.state != WarpState::Running) continue;
      progress = true;
      if (!run_warp(warp, slice)) break;
      all_spin = all_spin && warp.spins;
    }
    // What they wait for may be up to a thread of the host that has no processor. On a busy machine
    // a yield costs milliseconds.
    idle_rounds_ = all_spin && progress ? idle_rounds_ + 1 : 0;
    if (idle_rounds_ % kRoundsBeforeYield == kRoundsBeforeYield - 1) std::this_thread::yield();
  }
  return end_unless_waiting();
}

void Block::settle(Warp& warp) {
  if (warp.state != WarpState::Done) return;
  warp.give_back_frame();
  for (uint32_t id = 0; barriers_in_use >> id != 0; ++id) release_if_complete(id);
  cluster->release_if_complete();
}

bool Block::spins() {
  for (Warp& warp : warps) {
    if (warp.state != WarpState::Running) continue;
    const bool waits = all_paths_repeat(warp);
    settle(warp);
    if (!waits) return false;
  }
  return true;
}

std::shared_ptr<Frame> Block::take_frame(uint32_t warp_index) {
  if (frames.empty()) return std::make_shared<Frame>();
  // Where no warp waits for another there is one frame, which is the last one given back.
  size_t best = frames.size() - 1;
  for (size_t i = 0; i < best; ++i)
    if (frames[i]->warp == warp_index) best = i;
  std::swap(frames[best], frames.back());
  std::shared_ptr<Frame> taken = std::move(frames.back());
  frames.pop_back();
  return taken;
}

bool Block::can_run() const {
  return std::ranges::any_of(warps, [](const Warp& w) { return w.state == WarpState::Running; });
}

void Block::give_up(const std::string& why) {
  report_stuck(DeviceFindingKind::Deadlock, why);
  finish();
}

Block::~Block() { launch->executed.fetch_add(executed, std::memory_order_relaxed); }

void Block::finish() {
  ended = true;
  const bool stuck =
      std::ranges::any_of(warps, [](const Warp& w) { return w.state == WarpState::AtBarrier; });
  if (stuck && !launch->stop.load())
    report_stuck(DeviceFindingKind::Deadlock, "no thread of the block can continue");
  report_unfinished_copy();
  for (const Warp& warp : warps) executed += warp.executed;
  if (counters == nullptr) return;
  const std::lock_guard lock(launch->mutex);
  launch->counters->counts.add(counters->counts);
  counters->counts.clear();
}

/// Shared memory is gone when the block ends, whatever still reads or writes it.
void Block::report_unfinished_copy() {
  const BulkCopy* copy = launch->stop.load() ? nullptr : unfinished_bulk(*this);
  if (copy == nullptr) return;
  Warp& warp = warps.front();
  if (launch->checks.race)
    report(warp, Ins{},
           {.kind = DeviceFindingKind::RaceAsync,
            .message = "the block ends before this copy has been waited for",
            .lane = copy->lane,
            .at = copy->source});
  for (Warp& any : warps)
    for (size_t i = 0; any.copies != nullptr && i < any.copies->bulk.size(); ++i)
      arrive(nullptr, any.copies->bulk[i]);
}

void Block::take_turns(Warp& warp) {
  warp.slices = warp.state == WarpState::Running ? warp.slices + 1 : 0;
  warp.spins = warp.slices != 0 && only_waits(warp);
  if (warp.state != WarpState::Running) warp.slices = 0;
  if (warp.slices == 0) return;
  if (!warp.spins && warp.slices < kPatience && warp.parked.empty()) return;
  warp.slices = 0;
  warp.yield();
}

/// Whether its loop depends on nothing that anybody could change. Every look doubles the time to
/// the next one.
bool Block::never_ends(Warp& warp) {
  if (launch->program->may_spin || launch->follower != nullptr) return false;
  if (warp.state != WarpState::Running || ++warp.slices < kLongRun ||
      !std::has_single_bit(warp.slices))
    return false;
  const Spin spin = watch(warp);
  return spin.repeats && spin.read == nullptr;
}

/// Whether the path goes round in a loop and changes nothing. A warp that is found at work is left
/// alone for longer and longer.
bool Block::only_waits(Warp& warp) {
  // A follower would miss the steps of a look, an order of turns is broken by them.
  if (launch->follower != nullptr || turns != nullptr) return false;
  if (!warp.spins && warp.unwatched != 0) {
    --warp.unwatched;
    return false;
  }
  const bool waits = watch(warp, kGlance).repeats;
  warp.unwatched_next = waits ? 0 : std::min(2 * warp.unwatched_next + 1, kUnwatchedMax);
  warp.unwatched = warp.unwatched_next;
  return waits;
}

void Block::release_if_complete(uint32_t id) {
  Barrier& barrier = barriers[id];
  if (barrier.arrived == 0) return;
  const uint32_t wanted = barrier.expected != 0 ? barrier.expected : live_threads;
  if (barrier.arrived < wanted) return;
  for (Warp& warp : warps)
    if (warp.state == WarpState::AtBarrier && warp.barrier == id) {
      const Ins& ins = *warp.ins;
      const auto kind = ins.flags & 0x7f;
      if (kind == 2)
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          warp.u32(ins.dst)[lane] = barrier.reduce_count;
      if (kind == 3) warp.pred(ins.dst) = barrier.reduce_and != 0 ? kNone : 0;
      if (kind == 4) warp.pred(ins.dst) = barrier.reduce_or != 0 ? kNone : 0;
      warp.state = WarpState::Running;
    }
  barrier = {};
  barriers_in_use &= ~(uint32_t{1} << id);
  next_epoch();
}

void Block::next_epoch() {
  if (++epoch == kEpochsMax) {  // Tags are about to repeat.
    race.forget();
    volatile_race.forget();
    epoch = proxy_epoch = 1;
  }
  race.begin_epoch(epoch);
}

bool Block::over_budget() {
  if (std::chrono::steady_clock::now() > launch->deadline.load()) {
    report_stuck(
        DeviceFindingKind::Timeout,
        launch->cut_short
            ? "the launch was stopped early: memory that nothing was written to had "
              "decided a branch, and it ran on and on"
            : fmt::format("the launch did not end within {} ms", launch->config->timeout_ms));
    return true;
  }
  const uint64_t most = launch->config->warp_instructions_max;
  if (warp_instructions < most) return false;
  report_stuck(DeviceFindingKind::Timeout,
               fmt::format("the block executed more than {} warp instructions", most));
  return true;
}

namespace {
/// Warps that stand at one instruction with the same lanes.
struct Standing {
  uint32_t first = 0, last = 0, lanes = 0;
  const ptx::Instruction* at = nullptr;
  std::string reads;  ///< What they look at again and again, if they do.
};

void note_standing(std::vector<Standing>& all, const Standing& one) {
  if (!all.empty() && all.back().at == one.at && all.back().lanes == one.lanes &&
      all.back().reads == one.reads && all.back().last + 1 == one.first)
    all.back().last = one.last;
  else
    all.push_back(one);
}

/// Where the threads of the block that have not ended are, warp by warp.
std::string standing_threads(Block& block) {
  constexpr size_t kListed = 8;
  std::vector<Standing> all;
  for (Warp& warp : block.warps) {
    if (warp.state == WarpState::Done || warp.depth == 0 || warp.ins == nullptr) continue;
    const bool looks = warp.state == WarpState::Running && all.size() < kListed;
    const Spin spin = looks ? watch(warp) : Spin();
    if (warp.depth == 0) continue;
    uint32_t lanes = warp.alive;
    for (const Path& path : warp.parked) {
      const Code& code = *path.levels.back().frame->code;
      const StackEntry& top = path.stack.back();
      const size_t origin = code.ins[std::min<size_t>(top.pc, code.ins.size() - 1)].origin;
      if (origin >= code.source->body.size()) continue;
      lanes &= ~top.mask;
      note_standing(all, {warp.index, warp.index, top.mask, &code.source->body[origin], ""});
    }
    const ptx::Instruction& next = instruction_of(warp, warp.next_instruction());
    note_standing(
        all, {warp.index, warp.index, lanes, spin.read != nullptr ? spin.read : &next, spin.what});
  }
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kListed); ++i)
    text += fmt::format("; {} (lanes {:#x}) {} at {}{}{}",
                        all[i].first == all[i].last
                            ? fmt::format("warp {}", all[i].first)
                            : fmt::format("warps {} to {}", all[i].first, all[i].last),
                        all[i].lanes, all[i].first == all[i].last ? "is" : "are",
                        describe(block.launch->program->module, *all[i].at),
                        all[i].reads.empty() ? "" : " and ", all[i].reads);
  if (all.size() > kListed) text += fmt::format("; and {} more", all.size() - kListed);
  return text;
}
}  // namespace

void Block::report_stuck(DeviceFindingKind kind, const std::string& message) {
  for (Warp& warp : warps) {
    if (warp.state == WarpState::Done) continue;
    const bool begun = warp.depth != 0;
    const Ins& at = begun ? warp.next_instruction() : launch->entry->ins.front();
    const Code& code = begun ? warp.code() : *launch->entry;
    const auto lane = static_cast<uint32_t>(std::countr_zero(warp.alive | 0x80000000u));
    // A look at what the warps do runs them on: afterwards this one may be elsewhere, or at its
    // end.
    const std::string standing = standing_threads(*this);
    return report(warp, at,
                  {.kind = kind, .message = message + standing, .lane = lane, .code = &code});
  }
}

}  // namespace gpuemu::emulator
