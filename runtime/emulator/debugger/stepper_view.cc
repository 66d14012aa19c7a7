// Implements DebugView: the state of a stopped launch.
#include <algorithm>
#include <cstring>

#include "runtime/emulator/debugger/listing.h"
#include "runtime/emulator/debugger/stepper.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {

std::string state_of(const Warp& warp) {
  switch (warp.control.state) {
    case WarpState::Running:
      return "running";
    case WarpState::AtBarrier:
      return fmt::format("at barrier {}", warp.control.barrier);
    case WarpState::AtCluster:
      return "at the cluster's barrier";
    case WarpState::Done:
      return "ended";
  }
  GPUEMU_UNREACHABLE();
}

/// Returns the element type of a variable; "" if it is declared as bytes.
std::string element_type(const std::vector<ptx::Variable>& among, const std::string& name) {
  const auto found = std::ranges::find(among, name, &ptx::Variable::name);
  if (found == among.end() || found->type == ptx::Type::B8) return "";
  return std::string(name_of(found->type));
}

}  // namespace

bool Stepper::has_ended(uint64_t block, uint32_t warp, uint32_t lane) const {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return false;
  const Block& of = *found->second;
  // The object of a block that has ended may serve another block.
  if (of.position.linear != block || of.shared.released || warp >= of.warps.size()) return true;
  return (of.warps[warp].masks.alive >> lane & 1) == 0;
}

size_t Stepper::findings() const { return launch_.report.finding_count(); }

DeviceFinding Stepper::finding(size_t index) const { return launch_.report.finding(index); }

Dim3 Stepper::thread_index(uint32_t warp, uint32_t lane) const {
  return thread_of(warp_->block->warps[warp], lane);
}

/// Returns the function that an entry of the warp's stack belongs to.
const Code& Stepper::code_at_entry(const Warp& warp, size_t stack_index) const {
  size_t level = warp.control.depth - 1;
  while (level > 0 && warp.control.frames[level].stack_base > stack_index) --level;
  return *warp.control.frames[level].frame->code;
}

std::vector<DebugGroup> Stepper::groups_of(Warp& warp) const {
  std::vector<DebugGroup> groups;
  if (warp.control.depth == 0) {
    if (warp.masks.alive != 0) {
      groups.push_back({warp.masks.alive, {index_of(*launch_.inputs.entry), 0}});
    }
    return groups;
  }
  const auto origin = [](const Code& code, uint32_t pc) {
    return code.steps[std::min<size_t>(pc, code.steps.size() - 1)].origin;
  };
  uint32_t left = warp.masks.alive;
  const auto add = [&](uint32_t lanes, const Code& code, uint32_t instruction) {
    lanes &= left;
    left &= ~lanes;
    if (lanes != 0) groups.push_back({lanes, {index_of(code), instruction}});
  };
  // A waiting warp is at the instruction that made it wait; any other is before its next one.
  const bool executes = &warp == warp_;
  const bool waits = warp.control.state != WarpState::Running;
  const uint32_t now = executes                        ? place_.instruction
                       : waits && warp.step != nullptr ? warp.next_instruction().origin
                                                       : origin(warp.code(), warp.pc);
  add(warp.masks.active, warp.code(), now);
  for (size_t i = warp.control.stack.size(); i-- > 0;) {
    add(warp.control.stack[i].mask, code_at_entry(warp, i),
        origin(code_at_entry(warp, i), warp.control.stack[i].pc));
  }
  for (const Path& path : warp.control.suspended) {
    for (size_t i = path.stack.size(); i-- > 0;) {
      const Code& code = *path.frames.back().frame->code;
      add(path.stack[i].mask, code, origin(code, path.stack[i].pc));
    }
  }
  return groups;
}

std::vector<DebugWarp> Stepper::warps() const {
  std::vector<DebugWarp> all;
  for (Warp& warp : warp_->block->warps) {
    all.push_back({warp.index, state_of(warp), groups_of(warp)});
  }
  return all;
}

std::vector<DebugRegister> Stepper::registers(uint32_t index) const {
  std::vector<DebugRegister> all;
  Warp& warp = warp_->block->warps[index];
  // A function in which no instruction of the launch ran has no types and no values yet.
  if (warp.control.depth == 0 || !functions_.contains(warp.frame().code)) return all;
  const Frame& frame = warp.frame();
  const Code& code = *frame.code;
  const std::vector<std::string>& types = functions_.at(&code).register_types;
  const auto* written = static_cast<const Written*>(frame.observed.get());
  if (written != nullptr &&
      (written->code != &code || written->block != warp_->block->position.linear ||
       written->warp != index)) {
    written = nullptr;
  }
  for (size_t i = 0; i < code.registers.size(); ++i) {
    const RegisterPlace& place = code.registers[i];
    DebugRegister made{
        .name = code.source->registers[i].name, .type = types[i], .bytes = place.bytes};
    const std::byte* at = frame.registers + place.offset;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if (place.bytes == 0) {
        made.lanes[lane] = *reinterpret_cast<const uint32_t*>(at) >> lane & 1;
      } else {
        std::memcpy(&made.lanes[lane], at + size_t{lane} * place.bytes, place.bytes);
      }
    }
    if (i < frame.undefined.lanes.size()) made.undefined = frame.undefined.lanes[i];
    made.undefined |= written == nullptr ? kNone : ~written->lanes[i];
    all.push_back(std::move(made));
  }
  return all;
}

std::span<const std::byte> Stepper::shared() const {
  return std::span(warp_->block->shared.bytes).first(launch_.inputs.own_shared_bytes);
}

std::vector<DebugVariable> Stepper::shared_variables() const {
  std::vector<DebugVariable> all;
  const Code& entry = *launch_.inputs.entry;
  const std::string used = shared_type(*entry.source);
  for (const SharedVariable& variable : entry.shared) {
    std::string type = element_type(entry.source->variables, variable.name);
    if (type.empty()) type = element_type(launch_.inputs.program->module.variables, variable.name);
    all.push_back(
        {short_name(variable.name), type.empty() ? used : type, variable.offset, variable.bytes});
  }
  // Arrays of the same name in several functions are shown by their full names.
  for (size_t i = 0; i < all.size(); ++i) {
    const auto same = [&](const DebugVariable& one) {
      return &one != &all[i] && one.name == short_name(entry.shared[i].name);
    };
    if (std::ranges::any_of(all, same)) all[i].name = entry.shared[i].name;
  }
  if (launch_.inputs.own_shared_bytes > entry.dynamic_offset &&
      launch_.inputs.config->dynamic_shared_bytes != 0) {
    all.push_back({"dynamic", used, entry.dynamic_offset,
                   launch_.inputs.own_shared_bytes - entry.dynamic_offset});
  }
  return all;
}

std::span<const std::byte> Stepper::local(uint32_t index, uint32_t lane) const {
  const Warp& warp = warp_->block->warps[index];
  if (warp.local.stride == 0) return {};
  return std::span(warp.local.storage).subspan(size_t{lane} * warp.local.stride, warp.local.stride);
}

std::span<const std::byte> Stepper::params() const { return launch_.inputs.params; }

std::vector<DebugVariable> Stepper::param_variables() const {
  std::vector<DebugVariable> all;
  const Code& entry = *launch_.inputs.entry;
  for (size_t i = 0; i < entry.params.size(); ++i) {
    const ParamSlot& slot = entry.params[i];
    all.push_back(
        {slot.name, std::string(name_of(entry.source->params[i].type)), slot.offset, slot.bytes});
  }
  return all;
}

Status Stepper::read(std::span<std::byte> to, uint64_t address) const {
  if (to.empty()) return ok_status();
  if (launch_.memory->find(address, to.size()) == nullptr) {
    return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} are not inside of one allocation",
                 to.size(), address);
  }
  std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
  return ok_status();
}

}  // namespace gpuemu::emulator
