#include "runtime/emulator/shadow/shadow.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

void assign(Plane& to, uint32_t lane, const Plane& from, uint32_t from_lane) {
  to.high[lane] = from.high[from_lane];
  to.low[lane] = from.low[from_lane];
  to.bound[lane] = from.bound[from_lane];
  to.bits[lane] = from.bits[from_lane];
  to.bits_high[lane] = from.bits_high[from_lane];
  to.held[lane] = from.held[from_lane];
  to.node[lane] = from.node[from_lane];
}

Shadow::Shadow(Launch& launch, const ShadowConfig& config, ShadowMemory& global)
    : launch_(launch), config_(config), global_(global) {}

Shadow::~Shadow() = default;

const Plan& Shadow::plan_of(const Code& code) {
  const auto [found, fresh] = plans_.try_emplace(&code);
  if (fresh) found->second = make_plan(code, config_.errors);
  return found->second;
}

ShadowedWarp& Shadow::state_of(Warp& warp) {
  if (last_warp_ != &warp) {
    std::unique_ptr<ShadowedWarp>& kept = warps_[&warp];
    if (kept == nullptr) kept = std::make_unique<ShadowedWarp>();
    last_warp_ = &warp;
    last_state_ = kept.get();
  }
  ShadowedWarp* const state = last_state_;
  if (state->block != warp.block->position.linear) {
    state->block = warp.block->position.linear;
    state->pending = nullptr;
    state->local.clear();
    state->visits.clear();
    state->plan = nullptr;
  }
  return *state;
}

void ShadowRegisters::take_lanes(const ObservedRegisters& from, uint32_t lanes) {
  const auto& theirs = static_cast<const ShadowRegisters&>(from);
  for (size_t i = 0; i < std::min(planes.size(), theirs.planes.size()); ++i) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      assign(planes[i], lane, theirs.planes[i], lane);
    }
  }
}

ShadowRegisters& Shadow::registers_of(Warp& warp, const Plan& plan) {
  Frame& frame = warp.frame();
  if (frame.observed == nullptr) frame.observed = std::make_unique<ShadowRegisters>();
  auto& registers = static_cast<ShadowRegisters&>(*frame.observed);
  if (registers.code == plan.code && registers.block == warp.block->position.linear &&
      registers.warp == warp.index && registers.planes.size() == plan.planes) {
    return registers;
  }
  registers.planes.resize(plan.planes);
  for (Plane& plane : registers.planes) plane.held.fill(Held::Nothing);
  registers.code = plan.code;
  registers.block = warp.block->position.linear;
  registers.warp = warp.index;
  return registers;
}

void Shadow::before(Warp& warp, const Step& step) {
  ShadowedWarp& at = state_of(warp);
  const Code& code = warp.code();
  if (at.plan == nullptr || at.plan->code != &code) {
    finish(warp, at);
    at.plan = &plan_of(code);
    std::vector<uint32_t>& visits = at.visits[at.plan];
    visits.resize(at.plan->operations.size());
    at.counts = visits.data();
  }
  const uint8_t role = at.plan->roles[static_cast<size_t>(&step - code.steps.data())];
  if ((role & 1) != 0) {
    finish(warp, at);
    const Operation& next = at.plan->operations[step.origin];
    if (next.meaning == Meaning::None) return;
    at.pending = &next;
    at.mask = warp.masks.running;
    at.frame = warp.registers.data;
    at.registers = &registers_of(warp, *at.plan);
    at.has_address = false;
    ++at.counts[next.index];
    begin(warp, at);
  }
  if ((role & 2) == 0 || at.pending != &at.plan->operations[step.origin]) return;
  take_addresses(warp, step, at);
  if (at.pending->meaning == Meaning::Store) store(warp, at);
  if (at.pending->meaning == Meaning::Atomic) begin_atomic(warp, at);
  if (moves_fragment(at.pending->meaning)) find_moved(warp, step, at);
  if (at.pending->meaning == Meaning::StoreFragment) store_fragment(warp, at);
}

void Shadow::begin(Warp& warp, ShadowedWarp& at) {
  switch (at.pending->meaning) {
    case Meaning::Copy:
      return copy(warp, at);
    case Meaning::Shuffle:
      return shuffle(warp, at);
    case Meaning::Pack:
      return pack(warp, at);
    case Meaning::Unpack:
      return unpack(warp, at);
    case Meaning::Bits:
      return begin_bits(warp, at);
    case Meaning::Matrix:
      return begin_matrix(warp, at);
    case Meaning::FromInteger:
      return begin_from_integer(warp, at);
    case Meaning::Compare:
    case Meaning::ToInteger:
      return decide(warp, at);
    case Meaning::Load:
    case Meaning::Store:
    case Meaning::Atomic:
    case Meaning::LoadFragment:
    case Meaning::StoreFragment:
    case Meaning::Forget:
    case Meaning::None:
      return;
    default:
      return begin_arithmetic(warp, at);
  }
}

void Shadow::finish(Warp& warp, ShadowedWarp& at) {
  const Operation* done = std::exchange(at.pending, nullptr);
  if (done == nullptr) return;
  at.pending = done;
  std::byte* const regs = warp.registers.data;
  // The current function may have changed since; the frame of the pending operation still exists.
  warp.registers.data = const_cast<std::byte*>(at.frame);
  switch (done->meaning) {
    case Meaning::Copy:
    case Meaning::Shuffle:
    case Meaning::Pack:
    case Meaning::Unpack:
    case Meaning::Compare:
    case Meaning::Store:
    case Meaning::StoreFragment:
    case Meaning::None:
      break;
    case Meaning::Load:
      load(warp, at);
      break;
    case Meaning::LoadFragment:
      if (at.has_address) load_fragment(warp, at);
      break;
    case Meaning::Atomic:
      finish_atomic(warp, at);
      break;
    case Meaning::Bits:
      finish_bits(warp, at);
      break;
    case Meaning::Matrix:
      finish_matrix(warp, at);
      break;
    case Meaning::ToInteger:
    case Meaning::Forget:
      for (const Source& to : done->results) {
        for (uint32_t part = 0; to.plane != kNone && part < at.plan->planes_each; ++part) {
          at.registers->planes[to.plane + part].held.fill(Held::Nothing);
        }
      }
      break;
    default:
      finish_arithmetic(warp, at);
  }
  at.pending = nullptr;
  warp.registers.data = regs;
}

bool Shadow::traces(const Warp& warp) const {
  return config_.target && config_.target->block == warp.block->position.linear;
}

uint32_t Shadow::visit_of(const ShadowedWarp& at) const { return at.counts[at.pending->index]; }

uint32_t Shadow::add_node(const Warp& warp, const ShadowedWarp& at, uint32_t lane,
                          const Node& values, const Edge* edges, size_t count) {
  Node node = values;
  node.plan = at.plan;
  node.operation = at.pending->index;
  node.lane = lane;
  node.warp = warp.index;
  node.visit = visit_of(at);
  return history_.add(node, edges, count);
}

ShadowStep Shadow::step_at(const Warp& warp, const ShadowedWarp& at, uint32_t lane) const {
  ShadowStep step = step_of(launch_.inputs.program->module, *at.plan, at.pending->index);
  step.block = warp.block->position.index;
  step.thread = thread_of(warp, lane);
  step.visit = visit_of(at);
  return step;
}

ShadowReport Shadow::report() {
  for (const ShadowRegion& region : config_.regions) {
    std::vector<ShadowElement>& elements = report_.regions.emplace_back(region.count);
    const bool whole =
        launch_.memory->find(region.address, region.count * region.element_bytes) != nullptr;
    for (uint64_t i = 0; i < region.count; ++i) {
      const uint64_t address = region.address + i * region.element_bytes;
      const ShadowPage* page = address % 2 != 0 ? nullptr : global_.page_at(address);
      if (page == nullptr) continue;
      const Cell cell = page->get(address % ShadowPage::kBytes);
      if (static_cast<uint32_t>(cell.held) != region.element_bytes) continue;
      if (!whole && launch_.memory->find(address, region.element_bytes) == nullptr) continue;
      uint64_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const std::byte*>(address), region.element_bytes);
      if (bits == cell.bits) elements[i] = {true, cell.high, cell.low, cell.bound, cell.block};
    }
  }
  if (config_.target) {
    const Cell cell = global_.get(config_.target->address);
    const Dim3 grid = launch_.inputs.config->grid;
    const uint64_t linear = config_.target->block;
    const Dim3 block = {static_cast<uint32_t>(linear % grid.x),
                        static_cast<uint32_t>(linear / grid.x % grid.y),
                        static_cast<uint32_t>(linear / (uint64_t{grid.x} * grid.y))};
    if (cell.node != 0) {
      history_.explain(cell.node,
                       {launch_.inputs.program->module, block, launch_.inputs.config->block},
                       report_);
    }
  }
  report_.complete = !global_.full() && !history_.full();
  return std::move(report_);
}

}  // namespace gpuemu::emulator
