// Runs the warps of one block in time slices until all are done, or none can continue.
#include "runtime/emulator/machine/block.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/livelock.h"
#include "runtime/emulator/machine/thread_scheduler.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/budget.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/counters.h"

namespace gpuemu::emulator {
namespace {
constexpr uint64_t kSlice = 1 << 16;
/// If warps may wait for each other in loops, their time slices are short.
constexpr uint64_t kShortSlice = 1 << 9;
/// Time slices of a warp before the first test for an endless loop, in programs that cannot spin.
constexpr uint64_t kLongRun = 1 << 6;
/// Consecutive short slices of a warp before its lanes count as waiting for each other.
constexpr uint64_t kPatience = 8;
/// Steps examined to recognise a path that only waits, and the longest interval, in time slices,
/// between two such tests of a warp that makes progress.
constexpr uint32_t kGlance = 64, kSpinCheckIntervalMax = 64;
/// Consecutive rounds in which every warp only waited before the host thread yields.
constexpr uint32_t kRoundsBeforeYield = 64;
/// Time slices that ended early (at a barrier or exit) between two checks of the deadline, counted
/// across blocks.
constexpr uint32_t kClockSlices = 512;
/// The end of the message about a timeout that restarts, which is that of gpuemu run.
constexpr std::string_view kOnlySlow =
    "; if it is slow and does not hang, give it longer with --launch-timeout";
/// What shared memory holds before the first store, where that is not checked.
constexpr std::byte kUnwritten{0xa7};

/// Adds the instructions of the blocks that have ended to the launch's.
void tell_executed(Launch& launch, BlockClock& clock) {
  launch.progress.executed.fetch_add(std::exchange(clock.thread_instructions, 0),
                                     std::memory_order_relaxed);
}
}  // namespace

Block::Block(Launch& of) : launch(&of) {
  const Dim3 size = of.inputs.config->block;
  threads.total = size.x * size.y * size.z;
  warps.resize((threads.total + kLanes - 1) / kLanes);
  allocations.resize(of.inputs.program->cached + 1);
  layout_ = of.memory->layout();
  shared.bytes.resize(shared_room(of.inputs));
  if (of.inputs.checks.init) shared.defined.resize(shared_room(of.inputs));
  if (of.inputs.checks.race) {
    shared.race_history.resize(of.inputs.shared_bytes / 4 + 1, shared.bytes.data());
    // Other blocks of a cluster race with loads of earlier epochs, too.
    const bool is_alone = blocks_of_cluster(of) == 1;
    if (of.inputs.shared_bytes != 0 && is_alone) shared.race_history.keep_pending();
  }
  if (of.inputs.config->thread_order != ThreadOrder::InOrder) {
    scheduler = std::make_shared<ThreadScheduler>(of.inputs.config->thread_order,
                                                  of.inputs.config->thread_order_seed);
  }
  counters = of.report.new_block_counters();
}

void Block::serve(Launch& of, bool same_inputs) {
  launch = &of;
  clock = {};
  unchecked_ = idle_rounds_ = 0;
  const uint64_t layout = of.memory->layout();
  if (std::exchange(layout_, layout) != layout) {
    std::ranges::fill(allocations, nullptr);  // They may have been freed.
  }
  const auto mark = [same_inputs](Frame& frame) {
    const bool stays_valid = same_inputs && frame.code != nullptr && frame.code->used_early.empty();
    if (!stays_valid) frame.is_of_earlier_launch = true;
  };
  for (const auto& frame : frames) mark(*frame);
  for (const Warp& warp : warps) {
    for (const CallFrame& level : warp.control.frames) {
      if (level.frame != nullptr) mark(*level.frame);
    }
  }
}

void Block::release() {
  tell_executed(*launch, clock);
  launch = nullptr;
}

void Block::start(Dim3 at) {
  position.index = at;
  shared.released = false;
  // Without a record of what was written, a store of 0 must not look like one of the same value.
  const Checks& checks = launch->inputs.checks;
  const bool may_be_same = checks.race && !checks.init;
  std::fill(shared.bytes.begin(), shared.bytes.end(), may_be_same ? kUnwritten : std::byte{0});
  std::fill(shared.defined.begin(), shared.defined.end(), uint8_t{0});
  shared.sources.clear();
  if (launch->inputs.program->reserved_shared) {
    const size_t reserved = reserved_shared_offset(launch->inputs);
    std::fill_n(shared.bytes.begin() + reserved, kReservedSharedBytes, std::byte{0});
    if (!shared.defined.empty()) {
      std::fill_n(shared.defined.begin() + reserved, kReservedSharedBytes, uint8_t{1});
    }
  }
  next_epoch();
  shared.proxy_epoch = shared.phase_epoch = shared.epoch;
  const Dim3 grid = launch->inputs.config->grid;
  position.linear = position.index.x +
                    uint64_t{grid.x} * (position.index.y + uint64_t{grid.y} * position.index.z);
  if (scheduler != nullptr) scheduler->start(position.linear, static_cast<uint32_t>(warps.size()));
  grid_order.acquired = 0;
  grid_order.fences = grid_order.published = grid_order.sync_ops = 0;
  barriers.named = {};
  barriers.in_use = 0;
  threads.live = threads.total;
  barriers.mbarriers.clear();
  barriers.bulk_copies.clear();
  clock.warp_instructions = 0;
  for (uint32_t i = 0; i < warps.size(); ++i) {
    Warp& warp = warps[i];
    warp.block = this;
    warp.launch = launch;
    warp.registers.allocations = allocations.data();
    warp.executed = 0;
    warp.spin.slices = warp.spin.slices_to_check = warp.spin.check_interval = 0;
    warp.spin.waits = false;
    warp.start(i, threads.total - i * kLanes);
  }
}

bool Block::run_warp(Warp& warp, uint64_t slice) {
  if (unchecked_ >= kClockSlices) {
    unchecked_ = 0;
    if (launch->clock.stop.load(std::memory_order_relaxed) || over_budget()) return false;
  }
  const uint64_t before = warp.executed;
  if (!warp.spin.waits) warp.run(slice);
  if (launch->inputs.program->may_spin) alternate_paths(warp);
  if (is_endless(warp)) {
    report_unfinished(DeviceFindingKind::Deadlock,
                      "a loop that reads and changes nothing never ends");
    return false;
  }
  clock.warp_instructions += (warp.executed - before) / kLanes + 1;
  unchecked_ += warp.control.state == WarpState::Running ? kClockSlices : 1;
  settle(warp);
  return true;
}

bool Block::advance_scheduled(uint32_t rounds) {
  const bool may_spin = launch->inputs.program->may_spin;
  const bool in_parts = may_spin || scheduler->mixes_blocks();
  // A spinning warp must not keep the warp that it waits for from running.
  const bool one_warp_per_round = scheduler->one_warp_per_round() && !may_spin;
  bool progress = true;
  while (progress && !launch->clock.stop.load(std::memory_order_relaxed)) {
    if (in_parts && rounds-- == 0) return false;
    progress = false;
    for (const uint32_t at : scheduler->next_round()) {
      Warp& warp = warps[at];
      if (warp.control.state != WarpState::Running) continue;
      progress = true;
      if (!run_warp(warp, scheduler->slice(at, may_spin ? kShortSlice : kSlice)) ||
          one_warp_per_round) {
        break;
      }
    }
  }
  return end_unless_waiting();
}

/// Returns false if the block can continue once the other blocks of its cluster reach a barrier.
bool Block::end_unless_waiting() {
  const bool waits = std::ranges::any_of(
      warps, [](const Warp& w) { return w.control.state == WarpState::AtCluster; });
  if (waits && !launch->clock.stop.load(std::memory_order_relaxed)) return false;
  finish();
  return true;
}

bool Block::advance(uint32_t rounds) {
  if (scheduler != nullptr) return advance_scheduled(rounds);
  const bool may_spin = launch->inputs.program->may_spin;
  const uint64_t slice = may_spin ? kShortSlice : kSlice;
  bool progress = true;
  while (progress && !launch->clock.stop.load(std::memory_order_relaxed)) {
    if (may_spin && rounds-- == 0) return false;
    progress = false;
    bool all_spin = may_spin;
    for (Warp& warp : warps) {
      if (warp.control.state != WarpState::Running) continue;
      progress = true;
      if (!run_warp(warp, slice)) break;
      all_spin = all_spin && warp.spin.waits;
    }
    // The thread that would end the wait may be on a host thread that has no core. On a busy
    // machine a yield costs milliseconds, so it is rare.
    idle_rounds_ = all_spin && progress ? idle_rounds_ + 1 : 0;
    if (idle_rounds_ % kRoundsBeforeYield == kRoundsBeforeYield - 1) std::this_thread::yield();
  }
  return end_unless_waiting();
}

void Block::settle(Warp& warp) {
  if (warp.control.state != WarpState::Done) return;
  warp.give_back_frame();
  for (uint32_t id = 0; barriers.in_use >> id != 0; ++id) release_if_complete(id);
  cluster->release_if_complete();
}

bool Block::is_livelocked() {
  for (Warp& warp : warps) {
    if (warp.control.state != WarpState::Running) continue;
    const bool waits = all_paths_repeat(warp);
    settle(warp);
    if (!waits) return false;
  }
  return true;
}

std::shared_ptr<Frame> Block::take_frame(uint32_t warp_index) {
  if (frames.empty()) return std::make_shared<Frame>();
  // If no warp waits for another, there is a single frame: the last one given back.
  size_t best = frames.size() - 1;
  for (size_t i = 0; i < best; ++i) {
    if (frames[i]->warp == warp_index) best = i;
  }
  std::swap(frames[best], frames.back());
  std::shared_ptr<Frame> taken = std::move(frames.back());
  frames.pop_back();
  return taken;
}

bool Block::can_run() const {
  return std::ranges::any_of(warps,
                             [](const Warp& w) { return w.control.state == WarpState::Running; });
}

void Block::stop_block(const std::string& why) {
  report_unfinished(DeviceFindingKind::Deadlock, why);
  finish();
}

Block::~Block() {
  if (launch != nullptr) release();
}

void Block::finish() {
  shared.released = true;
  const bool stuck = std::ranges::any_of(
      warps, [](const Warp& w) { return w.control.state == WarpState::AtBarrier; });
  if (stuck && !launch->clock.stop.load()) {
    report_unfinished(DeviceFindingKind::Deadlock, "no thread of the block can continue");
  }
  report_unfinished_copy();
  for (const Warp& warp : warps) clock.thread_instructions += warp.executed;
  // Shows is_over() that the launch makes progress.
  if (launch->inputs.config->timeout_restarts) tell_executed(*launch, clock);
  if (counters == nullptr) return;
  launch->report.add_counts(*counters);
  counters->counts.clear();
}

/// Reports a copy in flight at the end of the block, when its shared memory becomes invalid.
void Block::report_unfinished_copy() {
  const BulkCopy* copy = launch->clock.stop.load() ? nullptr : unfinished_bulk(*this);
  if (copy == nullptr) return;
  Warp& warp = warps.front();
  if (launch->inputs.checks.race) {
    report_check(warp, Step{},
                 {.kind = DeviceFindingKind::RaceAsync,
                  .message = "the block ends before this copy has been waited for",
                  .lane = copy->lane,
                  .at = copy->source});
  }
  for (Warp& any : warps) {
    for (size_t i = 0; any.copies != nullptr && i < any.copies->bulk.size(); ++i) {
      arrive(nullptr, any.copies->bulk[i]);
    }
  }
}

void Block::alternate_paths(Warp& warp) {
  warp.spin.slices = warp.control.state == WarpState::Running ? warp.spin.slices + 1 : 0;
  warp.spin.waits = warp.spin.slices != 0 && only_waits(warp);
  if (warp.control.state != WarpState::Running) warp.spin.slices = 0;
  if (warp.spin.slices == 0) return;
  if (!warp.spin.waits && warp.spin.slices < kPatience && warp.control.suspended.empty()) return;
  warp.spin.slices = 0;
  warp.yield();
}

/// Returns whether the warp's loop depends on nothing that could change. Each test doubles the
/// interval to the next.
bool Block::is_endless(Warp& warp) {
  if (launch->inputs.program->may_spin || launch->observer != nullptr) return false;
  if (warp.control.state != WarpState::Running || ++warp.spin.slices < kLongRun ||
      !std::has_single_bit(warp.spin.slices)) {
    return false;
  }
  const SpinWait spin = watch(warp);
  return spin.repeats && spin.read == nullptr;
}

/// Returns whether the current path loops without changing anything. For a warp that makes progress
/// the interval between tests grows.
bool Block::only_waits(Warp& warp) {
  // With an observer or a chosen thread order this test is skipped: the observer would miss its
  // steps, and they would disturb the order.
  if (launch->observer != nullptr || scheduler != nullptr) return false;
  if (!warp.spin.waits && warp.spin.slices_to_check != 0) {
    --warp.spin.slices_to_check;
    return false;
  }
  const bool waits = watch(warp, kGlance).repeats;
  warp.spin.check_interval =
      waits ? 0 : std::min(2 * warp.spin.check_interval + 1, kSpinCheckIntervalMax);
  warp.spin.slices_to_check = warp.spin.check_interval;
  return waits;
}

void Block::release_if_complete(uint32_t id) {
  Barrier& barrier = barriers.named[id];
  if (barrier.arrived == 0) return;
  const uint32_t wanted = barrier.expected != 0 ? barrier.expected : threads.live;
  if (barrier.arrived < wanted) return;
  for (Warp& warp : warps) {
    if (warp.control.state == WarpState::AtBarrier && warp.control.barrier == id) {
      const Step& step = *warp.step;
      const BarrierKind kind = step.operands.get<BarrierOperands>().kind;
      if (kind == BarrierKind::RedPopc) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          warp.u32(step.dst)[lane] = barrier.reduce_count;
        }
      }
      if (kind == BarrierKind::RedAnd) warp.pred(step.dst) = barrier.reduce_and != 0 ? kNone : 0;
      if (kind == BarrierKind::RedOr) warp.pred(step.dst) = barrier.reduce_or != 0 ? kNone : 0;
      warp.control.state = WarpState::Running;
    }
  }
  barrier = {};
  barriers.in_use &= ~(uint32_t{1} << id);
  next_epoch();
}

void Block::next_epoch() {
  if (++shared.epoch == kEpochsMax) {  // Epoch tags would repeat.
    shared.race_history.forget();
    shared.volatile_races.forget();
    shared.epoch = shared.proxy_epoch = shared.phase_epoch = 1;
  }
  shared.race_history.begin_epoch(shared.epoch);
  // It ends the segment of each warp, even amid a straight line of compiled code.
  for (Warp& warp : warps) warp.ordering.rows.event = RowTags::kStale;
}

bool Block::over_budget() {
  const LaunchConfig& config = *launch->inputs.config;
  if (is_over(*launch)) {
    const std::string_view what = launch->clock.executed_then == 0
                                      ? "the launch did not end within"
                                      : "no block of the launch ended in the last";
    report_unfinished(DeviceFindingKind::Timeout,
                      launch->clock.cut_short
                          ? "the launch was stopped early: memory that nothing was written to had "
                            "decided a branch, and it ran on and on"
                          : fmt::format("{} {} ms{}", what, config.timeout_ms,
                                        config.timeout_restarts ? kOnlySlow : ""));
    return true;
  }
  const uint64_t most = config.warp_instructions_max;
  if (clock.warp_instructions < most) return false;
  report_unfinished(DeviceFindingKind::Timeout,
                    fmt::format("the block executed more than {} warp instructions", most));
  return true;
}

namespace {
/// A run of warps that stand at one instruction with the same lanes.
struct Standing {
  uint32_t first = 0, last = 0, lanes = 0;
  const ptx::Instruction* at = nullptr;
  std::string reads;  ///< The memory that they read repeatedly; empty if none.
};

void note_standing(std::vector<Standing>& all, const Standing& one) {
  if (!all.empty() && all.back().at == one.at && all.back().lanes == one.lanes &&
      all.back().reads == one.reads && all.back().last + 1 == one.first) {
    all.back().last = one.last;
  } else {
    all.push_back(one);
  }
}

/// Describes, warp by warp, where the block's unfinished threads are.
std::string standing_threads(Block& block) {
  constexpr size_t kListed = 8;
  std::vector<Standing> all;
  for (Warp& warp : block.warps) {
    if (warp.control.state == WarpState::Done || warp.control.depth == 0 || warp.step == nullptr) {
      continue;
    }
    const bool looks = warp.control.state == WarpState::Running && all.size() < kListed;
    const SpinWait spin = looks ? watch(warp) : SpinWait();
    if (warp.control.depth == 0) continue;
    uint32_t lanes = warp.masks.alive;
    for (const Path& path : warp.control.suspended) {
      const Code& code = *path.frames.back().frame->code;
      const ReconvergenceEntry& top = path.stack.back();
      const size_t origin = code.steps[std::min<size_t>(top.pc, code.steps.size() - 1)].origin;
      if (origin >= code.source->body.size()) continue;
      lanes &= ~top.mask;
      note_standing(all, {warp.index, warp.index, top.mask, &code.source->body[origin], ""});
    }
    const ptx::Instruction& next = instruction_of(warp, warp.next_instruction());
    note_standing(
        all, {warp.index, warp.index, lanes, spin.read != nullptr ? spin.read : &next, spin.what});
  }
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kListed); ++i) {
    text += fmt::format("; {} (lanes {:#x}) {} at {}{}{}",
                        all[i].first == all[i].last
                            ? fmt::format("warp {}", all[i].first)
                            : fmt::format("warps {} to {}", all[i].first, all[i].last),
                        all[i].lanes, all[i].first == all[i].last ? "is" : "are",
                        describe(block.launch->inputs.program->module, *all[i].at),
                        all[i].reads.empty() ? "" : " and ", all[i].reads);
  }
  if (all.size() > kListed) text += fmt::format("; and {} more", all.size() - kListed);
  return text;
}
}  // namespace

void Block::report_unfinished(DeviceFindingKind kind, const std::string& message) {
  for (Warp& warp : warps) {
    if (warp.control.state == WarpState::Done) continue;
    const bool begun = warp.control.depth != 0;
    const Step& at = begun ? warp.next_instruction() : launch->inputs.entry->steps.front();
    const Code& code = begun ? warp.code() : *launch->inputs.entry;
    const auto lane = static_cast<uint32_t>(std::countr_zero(warp.masks.alive | 0x80000000u));
    // Describing the warps may run them further, so save what this warp's report needs first.
    const std::string standing = standing_threads(*this);
    return report_check(warp, at,
                        {.kind = kind, .message = message + standing, .lane = lane, .code = &code});
  }
}

}  // namespace gpuemu::emulator
