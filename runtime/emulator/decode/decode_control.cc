// Decodes branches, calls, barriers and exits.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;
namespace {

/// Explains why a function without a body cannot be called.
std::string missing_function(const std::string& name) {
  constexpr std::array kLaunches = {"cudaLaunchDevice", "cudaGetParameterBuffer",
                                    "__cudaCDP2LaunchDevice", "__cudaCDP2GetParameterBuffer"};
  for (const char* launch : kLaunches) {
    if (name.starts_with(launch)) {
      return fmt::format(
          "this kernel launches a kernel (by {}), which the emulator does not run; launch both "
          "from "
          "the host, or run on hardware",
          name);
    }
  }
  if (name.starts_with("cuda") || name.starts_with("__cudaCDP2")) {
    return fmt::format(
        "calls {} of the device runtime, which the emulator does not have; call it on the host",
        name);
  }
  return fmt::format(
      "calls {}, which this module does not define; the emulator has vprintf, __assertfail, malloc "
      "and free, everything else must be linked into the module",
      name);
}

}  // namespace

bool decode_call(Decoder& d, const Instruction& in, const Form& /*form*/) {
  if (in.operands.empty()) return false;
  CallSite site;
  const auto slots = [&](const std::vector<Operand>& operands, std::vector<ParamSlot>& into) {
    for (const Operand& operand : operands) {
      const ParamSlot* slot = d.param(operand.name);
      if (slot == nullptr) return false;
      into.push_back(*slot);
    }
    return true;
  };
  if (!slots(in.call_arguments, site.arguments) || !slots(in.call_results, site.results)) {
    return false;
  }
  const Operand& callee = in.operands[0];
  uint32_t pointer = kNone;
  if (callee.kind == Operand::Kind::Register) {
    pointer = d.source(callee, RegisterClass::Wide, Type::U64);
  } else {
    const auto found = d.program().by_name.find(callee.name);
    if (found != d.program().by_name.end()) {
      site.callee = found->second;
    } else {
      site.external = callee.name;
    }
    if (site.callee == nullptr && !steps::is_external(site.external)) {
      return d.refuse(missing_function(callee.name));
    }
  }
  d.code().calls.push_back(site);
  const CallOperands call{.site = static_cast<uint32_t>(d.code().calls.size() - 1)};
  if (pointer == kNone) {
    d.emit<steps::call>(call);
  } else {
    d.emit<steps::call_indirect>(call).src[0] = pointer;
  }
  return true;
}

bool decode_barrier(Decoder& d, const Instruction& in, const Form& form) {
  BarrierKind kind = BarrierKind::Sync;
  size_t first = 0;
  if (form.has(ptx::Modifier::Warp)) {
    if (in.operands.empty()) return false;
    const uint32_t members = d.source(in.operands.at(0), RegisterClass::Narrow, Type::B32);
    d.emit(steps::warp_barrier).src[0] = members;
    return true;
  }
  if (form.has(ptx::Modifier::Cluster)) {
    if (!form.has(ptx::Modifier::Arrive) && !form.has(ptx::Modifier::Wait)) return false;
    const ClusterBarrierOperands barrier{.is_aligned = form.has(ptx::Modifier::Aligned)};
    if (form.has(ptx::Modifier::Arrive)) {
      d.emit<steps::arrive_at_cluster>(barrier);
    } else {
      d.emit<steps::wait_for_cluster>(barrier);
    }
    return true;
  }
  if (form.has(ptx::Modifier::Arrive)) kind = BarrierKind::Arrive;
  if (form.has(ptx::Modifier::Red)) {
    kind = form.has(ptx::Modifier::Popc)  ? BarrierKind::RedPopc
           : form.has(ptx::Modifier::And) ? BarrierKind::RedAnd
                                          : BarrierKind::RedOr;
    first = 1;
  }
  const size_t count = in.operands.size();
  if (kind >= BarrierKind::RedPopc && count < 3) return false;
  const size_t plain = kind >= BarrierKind::RedPopc ? count - 1 : count;
  uint32_t id = d.constant(0, false), threads = d.constant(0, false), predicate = kTrueOffset,
           out = kTrueOffset;
  if (plain > first) id = d.source(in.operands[first], RegisterClass::Narrow, Type::U32);
  if (plain > first + 1) {
    threads = d.source(in.operands[first + 1], RegisterClass::Narrow, Type::U32);
  }
  if (kind >= BarrierKind::RedPopc) {
    predicate = d.source(in.operands[count - 1], RegisterClass::Pred, Type::Pred);
    out = d.destination(in.operands[0],
                        kind == BarrierKind::RedPopc ? RegisterClass::Narrow : RegisterClass::Pred);
  }
  const bool aligned = in.opcode == Opcode::Bar || form.has(ptx::Modifier::Aligned);
  Step& step = d.emit<steps::barrier>({.kind = kind, .is_aligned = aligned});
  step.src = {id, threads, predicate, 0};
  step.dst = out;
  return true;
}

namespace {
/// Returns whether all threads of a warp must execute the barrier together.
bool is_aligned_barrier(const Instruction& in) {
  if (in.guard || in.has(ptx::Modifier::Warp)) return false;
  return in.opcode == Opcode::Bar ||
         (in.opcode == Opcode::Barrier && in.has(ptx::Modifier::Aligned));
}

/// Returns whether the jump at `from` skips aligned barriers and nothing else.
bool skips_only_barriers(const ptx::Function& function, uint32_t from, uint32_t target) {
  if (target < from + 2 || target > function.body.size()) return false;
  return std::all_of(function.body.begin() + from + 1, function.body.begin() + target,
                     is_aligned_barrier);
}
}  // namespace

bool decode_branch(Decoder& d, const Instruction& in, const Form& /*form*/) {
  if (in.opcode == Opcode::Bra) {
    if (in.operands.empty() || in.operands[0].kind != Operand::Kind::Label) return false;
    const uint32_t target = d.function().labels[in.operands[0].label].instruction;
    Step& step = d.emit<steps::branch>({.target = target});
    step.operands.get<BranchOperands>().skips_barrier =
        in.guard.has_value() && skips_only_barriers(d.function(), step.origin, target);
    return true;
  }
  if (in.operands.size() < 2) return false;
  const uint32_t index = d.source(in.operands[0], RegisterClass::Narrow, Type::U32);
  const auto targets = d.function().branch_targets.find(in.operands[1].name);
  if (targets == d.function().branch_targets.end()) return false;
  std::vector<uint32_t> list;
  for (const std::string& name : targets->second) {
    list.push_back(d.label_target(name));
    if (list.back() == kNone) return false;  // A table of functions.
  }
  const uint32_t at = d.list(list);
  d.emit<steps::branch_indexed>({.list = at, .count = static_cast<uint32_t>(list.size())}).src[0] =
      index;
  return true;
}

bool decode_fence(Decoder& d, const Instruction& /*in*/, const Form& form) {
  // Without a space the fence covers all spaces.
  const bool proxies = form.has(ptx::Modifier::Proxy) && form.has(ptx::Modifier::Async) &&
                       !form.has(ptx::Modifier::Global);
  d.emit<steps::fence>({.of_block = form.has(ptx::Modifier::Cta), .of_proxies = proxies});
  return true;
}

bool decode_return(Decoder& d, const Instruction& /*in*/, const Form& /*form*/) {
  d.emit(steps::ret);
  return true;
}

bool decode_exit(Decoder& d, const Instruction& /*in*/, const Form& /*form*/) {
  d.emit(steps::exit);
  return true;
}

bool decode_trap(Decoder& d, const Instruction& /*in*/, const Form& /*form*/) {
  d.emit(steps::trap);
  return true;
}

/// Decodes createpolicy to a constant: the emulator has no caches.
bool decode_cache_policy(Decoder& d, const Instruction& in, const Form& /*form*/) {
  const uint32_t none = d.constant(0, true),
                 to = d.destination(in.operands[0], RegisterClass::Wide);
  Step& step = d.emit(handlers().at("mov.b64").run);
  step.src[0] = none;
  step.dst = to;
  return true;
}

bool decode_nothing(Decoder& d, const Instruction& /*in*/, const Form& /*form*/) {
  d.emit(steps::nothing);
  return true;
}

}  // namespace gpuemu::emulator
