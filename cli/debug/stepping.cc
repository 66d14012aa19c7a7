#include "cli/debug/stepping.h"

#include <algorithm>
#include <bit>

#include "cli/debug/interrupt.h"
#include "cli/debug/machine_text.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

bool same_line(const DebugInstruction& a, const DebugInstruction& b) {
  return a.line == b.line && a.file == b.file;
}

}  // namespace

void Stepping::begin(bool stop) {
  view_ = nullptr;
  pace_ = Pace::Go;
  steps_left_ = 0;
  findings_ = 0;
  first_ = stop;
  resumed_ = ended_ = false;
}

void Stepping::resume(Pace pace, uint64_t count) {
  pace_ = pace;
  steps_left_ = count;
  resumed_ = true;
  if (view_ == nullptr) return;
  from_ = focused_place().value_or(view_->place());
  from_depth_ = view_->depth();
}

void Stepping::forget() {
  breakpoints_.clear();
  watchpoints_.clear();
  watches_.clear();
  program_ = {};
}

bool Stepping::before(const DebugView& view) {
  const std::vector<std::string> why = reasons(view);
  if (why.empty()) return true;
  view_ = &view;
  take_focus(view, wanted_thread_);
  resumed_ = false;
  at_stop_(why);
  view_ = nullptr;
  if (!resumed_) ended_ = true;
  return !ended_;
}

std::vector<std::string> Stepping::reasons(const DebugView& view) {
  std::vector<std::string> why;
  wanted_thread_.reset();
  stepped_.reset();
  if (first_) why.emplace_back("the launch begins");
  first_ = false;
  // The interrupt is taken when the next command is read.
  if (is_interrupted()) why.emplace_back("interrupted");
  if (view.findings() != findings_) add_findings(view, why);
  if (!view.stores().empty()) add_stores(view, why);
  if (!breakpoints_.empty()) add_breakpoints(view, why);
  if (pace_ != Pace::Go) add_step(view, why);
  return why;
}

void Stepping::add_findings(const DebugView& view, std::vector<std::string>& why) {
  for (; findings_ < view.findings(); ++findings_) {
    const DeviceFinding finding = view.finding(findings_);
    why.push_back(one_line(fmt::format("{}: {}", name_of(finding.kind), finding.message)));
  }
}

void Stepping::add_stores(const DebugView& view, std::vector<std::string>& why) {
  for (const DebugStore& store : view.stores()) {
    const auto watch = std::ranges::find(watchpoints_, store.number, &Watchpoint::number);
    if (watch == watchpoints_.end()) continue;
    ++watch->hits;
    why.push_back(store_text(*watch, store, program_));
  }
}

void Stepping::add_breakpoints(const DebugView& view, std::vector<std::string>& why) {
  const DebugPlace place = view.place();
  for (Breakpoint& one : breakpoints_) {
    if (std::ranges::find(one.places, place) == one.places.end()) continue;
    if (one.spec.block && *one.spec.block != view.block_index()) continue;
    if (one.spec.thread) {
      bool among = false;
      for (uint32_t left = view.lanes(); left != 0 && !among; left &= left - 1) {
        among = view.thread_index(view.warp(), static_cast<uint32_t>(std::countr_zero(left))) ==
                *one.spec.thread;
      }
      if (!among) continue;
      wanted_thread_ = one.spec.thread;
    }
    ++one.hits;
    why.push_back(fmt::format("breakpoint {}", one.number));
  }
}

bool Stepping::step_is_done(const DebugView& view) const {
  if (pace_ == Pace::Out) return view.depth() < from_depth_;
  if (pace_ == Pace::Instruction) return true;
  if (view.depth() < from_depth_) return true;
  if (pace_ == Pace::Over && view.depth() > from_depth_) return false;
  const DebugInstruction& now = instruction(view.place());
  const DebugInstruction& from = instruction(from_);
  // Without line information each instruction is a step; instructions without a line are skipped
  // otherwise.
  if (from.line == 0 && now.line == 0) return true;
  return now.line != 0 && !same_line(now, from);
}

void Stepping::add_step(const DebugView& view, std::vector<std::string>& why) {
  const bool same_warp = view.block() == focus_.block && view.warp() == focus_.warp;
  if (same_warp && (view.lanes() >> focus_.lane & 1) != 0) {
    if (!step_is_done(view)) return;
    const bool same_function = from_.function == view.place().function;
    if (pace_ == Pace::Instruction && same_function) stepped_ = from_;
    from_ = view.place();
    if (pace_ != Pace::Out) from_depth_ = view.depth();
    if (--steps_left_ > 0) return;
    pace_ = Pace::Go;
    why.emplace_back("");
    return;
  }
  if (!view.has_ended(focus_.block, focus_.warp, focus_.lane)) return;
  pace_ = Pace::Go;
  why.emplace_back("the thread that was stepped has ended");
}

void Stepping::take_focus(const DebugView& view, std::optional<Dim3> thread) {
  const bool stays = view.block() == focus_.block && view.warp() == focus_.warp &&
                     (view.lanes() >> focus_.lane & 1) != 0 && !thread;
  if (stays) return;
  focus_.block = view.block();
  focus_.block_index = view.block_index();
  focus_.warp = view.warp();
  focus_.lane = static_cast<uint32_t>(std::countr_zero(view.lanes() | 0x80000000U));
  for (uint32_t lane = 0; thread && lane < kDebugLanes; ++lane) {
    if (view.thread_index(focus_.warp, lane) == *thread) focus_.lane = lane;
  }
}

std::optional<DebugPlace> Stepping::focused_place() const {
  for (const DebugWarp& warp : view_->warps()) {
    if (warp.index != focus_.warp) continue;
    for (const DebugGroup& group : warp.groups) {
      if ((group.lanes >> focus_.lane & 1) != 0) return group.place;
    }
  }
  return std::nullopt;
}

Status Stepping::focus_on(const Dim3& thread) {
  const Dim3 size = view_->block_size();
  const bool exists = thread.x < size.x && thread.y < size.y && thread.z < size.z;
  for (const DebugWarp& warp : view_->warps()) {
    for (uint32_t lane = 0; exists && lane < kDebugLanes; ++lane) {
      if (view_->thread_index(warp.index, lane) == thread) {
        focus_.block = view_->block();
        focus_.block_index = view_->block_index();
        focus_.warp = warp.index;
        focus_.lane = lane;
        return ok_status();
      }
    }
  }
  return error(ErrorCode::InvalidArgument,
               "block {} has no thread {}; only threads of the block that is executing can be "
               "looked at: `break ... block X,Y,Z` stops in another",
               index_text(view_->block_index()), index_text(thread));
}

}  // namespace gpuemu::cli
