#include "runtime/emulator/decode/decode.h"

#include <algorithm>
#include <bit>

#include "common/base/limits.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kFrameAlign = 64;

uint32_t align_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

}  // namespace

void decode(Program& program) {
  find_uses(program);
  for (Code& code : program.functions) Decoder(program, code).run();
}

RegisterClass register_class(ptx::Type type) {
  if (type == ptx::Type::Pred) return RegisterClass::Pred;
  return ptx::byte_size(type) == 8 ? RegisterClass::Wide : RegisterClass::Narrow;
}

bool is_signed(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::S16 || type == ptx::Type::S32 ||
         type == ptx::Type::S64;
}

Form::Form(const ptx::Instruction& from) {
  for (const std::string& modifier : from.modifiers) {
    if (modifier == "ftz") {
      ftz = true;
    } else if (modifier == "sat") {
      sat = true;
    } else if (modifier == "rn") {
      rounding = Rounding::Nearest;
    } else if (modifier == "rz") {
      rounding = Rounding::Zero;
    } else if (modifier == "rm") {
      rounding = Rounding::Down;
    } else if (modifier == "rp") {
      rounding = Rounding::Up;
    } else if (const auto type = ptx::type_from_name(modifier)) {
      types.push_back(*type == ptx::Type::B128 ? ptx::Type::B64 : *type);
    } else {
      rest.add(modifier);
    }
    if (modifier == "global") space = ptx::Space::Global;
    if (modifier == "const") space = ptx::Space::Const;
    if (modifier == "local") space = ptx::Space::Local;
    if (modifier.starts_with("shared")) space = ptx::Space::Shared;
    if (modifier.starts_with("param")) space = ptx::Space::Param;
    if (modifier == "v2") vector = 2;
    if (modifier == "v4") vector = 4;
    if (modifier == "v8") vector = 8;
  }
  pairs = from.has(ptx::Modifier::B128);
  if (pairs) vector *= 2;
  key = from.name();
  for (const std::string& modifier : rest) key.append(".").append(modifier);
  if (ftz) key += ".ftz";
  if (sat) key += ".sat";
  for (const ptx::Type type : types) key.append(".").append(ptx::name_of(type));
  key = canonical_key(key);
}

Decoder::Decoder(Program& program, Code& code) : program_(program), code_(code) {
  layout_registers();
  layout_variables();
}

void Decoder::layout_registers() {
  code_.frame_bytes = kFrameAlign;
  for (const ptx::Register& reg : function().registers) {
    slots_.push_back(emulator::register_class(reg.type));
    offsets_.push_back(temp(slots_.back()));
    code_.registers.push_back({offsets_.back(), slots_.back() == RegisterClass::Pred   ? 0u
                                                : slots_.back() == RegisterClass::Wide ? 8u
                                                                                       : 4u});
  }
}

uint32_t Decoder::temp(RegisterClass slot) {
  if (code_.frame_bytes > kFrameBytesMax) return kTrueOffset;  // check_frames refuses the function.
  if (slot == RegisterClass::Pred) {
    const uint32_t at = code_.frame_bytes;
    code_.frame_bytes += 4;
    code_.slots.push_back({at, 0});
    return at;
  }
  const uint32_t at = align_up(code_.frame_bytes, kFrameAlign);
  const uint32_t bytes = slot == RegisterClass::Wide ? 8 : 4;
  code_.frame_bytes = at + bytes * kLanes;
  code_.slots.push_back({at, bytes});
  return at;
}

void Decoder::layout_variables() {
  const auto of_kernel = program_.shared_of_kernels.find(function().name);
  const bool is_kernel = of_kernel != program_.shared_of_kernels.end();
  uint32_t shared = is_kernel ? of_kernel->second.of_functions : program_.shared_bytes;
  const auto place_shared = [&](const ptx::Variable& variable) {
    shared = align_up(shared, std::max({1u, variable.align, ptx::byte_size(variable.type)}));
    shared_[variable.name] = shared;
    code_.shared.push_back({variable.name, shared, variable.bytes});
    shared += static_cast<uint32_t>(variable.bytes);
  };
  const auto place_param = [&](const ptx::Variable& variable, std::vector<ParamSlot>& into) {
    const uint32_t align = std::max(variable.align, std::max(1u, ptx::byte_size(variable.type)));
    code_.param_bytes = align_up(code_.param_bytes, align);
    into.push_back({variable.name, code_.param_bytes, static_cast<uint32_t>(variable.bytes)});
    code_.param_bytes += static_cast<uint32_t>(variable.bytes);
  };
  for (const ptx::Variable& variable : function().params) place_param(variable, code_.params);
  for (const ptx::Variable& variable : function().results) place_param(variable, code_.results);
  for (const ptx::Variable& variable : function().variables) {
    const uint32_t align = std::max(1u, std::max(variable.align, ptx::byte_size(variable.type)));
    if (variable.space == ptx::Space::Local) {
      code_.local_bytes = align_up(code_.local_bytes, align);
      locals_[variable.name] = code_.local_bytes;
      code_.local_bytes += static_cast<uint32_t>(variable.bytes);
    } else if (variable.space == ptx::Space::Shared && !variable.is_extern && function().is_entry) {
      place_shared(variable);
    } else if (variable.space == ptx::Space::Param) {
      place_param(variable, param_slots_);
    }
  }
  code_.local_bytes = align_up(code_.local_bytes, 16);
  code_.param_bytes = align_up(code_.param_bytes, 16);
  if (is_kernel) {
    for (const size_t i : of_kernel->second.own) place_shared(program_.module.variables[i]);
  }
  if (is_kernel) {
    for (const size_t i : of_kernel->second.used) {
      const ptx::Variable& variable = program_.module.variables[i];
      code_.shared.push_back({variable.name, program_.shared.at(variable.name), variable.bytes});
    }
  }
  code_.static_shared = shared;
  const bool shares_dynamic = !is_kernel || of_kernel->second.shares_dynamic;
  code_.dynamic_offset =
      shares_dynamic ? program_.dynamic_offset : align_up(shared, Program::kDynamicSharedAlign);
}

const ParamSlot* Decoder::param(const std::string& name) const {
  for (const std::vector<ParamSlot>* slots : std::initializer_list<const std::vector<ParamSlot>*>{
           &param_slots_, &code_.params, &code_.results}) {
    for (const ParamSlot& slot : *slots) {
      if (slot.name == name) return &slot;
    }
  }
  return nullptr;
}

uint32_t Decoder::constant(uint64_t bits, bool wide) {
  const auto [found, fresh] = constants_.try_emplace({bits, wide}, 0);
  if (fresh) {
    found->second = temp(wide ? RegisterClass::Wide : RegisterClass::Narrow);
    code_.constants.push_back({found->second, bits, wide});
  }
  return found->second;
}

uint32_t Decoder::list(const std::vector<uint32_t>& items) {
  const auto at = static_cast<uint32_t>(code_.lists.size());
  code_.lists.insert(code_.lists.end(), items.begin(), items.end());
  return at;
}

void Decoder::uses_memory(ptx::Space space, uint32_t bytes) {
  const Step& step = code_.steps.back();
  const MemoryOperands& access = step.operands.get<MemoryOperands>();
  code_.memory_uses.push_back({static_cast<uint32_t>(code_.steps.size() - 1), space, step.src[0],
                               access.offset, access.is_wide, bytes});
}

RegisterClass Decoder::register_class(const ptx::Operand& operand) const {
  if (operand.kind == ptx::Operand::Kind::Register) return slots_[operand.reg];
  return RegisterClass::None;
}

Step& Decoder::emit(Handler handler) {
  Step step;
  step.run = handler;
  step.guard = guard_;
  step.origin = current_;
  step.counted = 0;
  code_.steps.push_back(step);
  return code_.steps.back();
}

uint64_t Decoder::variable_address(const ptx::Operand& operand, bool& local) const {
  const auto offset = static_cast<uint64_t>(operand.offset);
  if (const auto at = locals_.find(operand.name); at != locals_.end()) {
    local = true;
    return at->second + offset;
  }
  if (const auto at = shared_.find(operand.name); at != shared_.end()) return at->second + offset;
  if (const auto at = program_.shared.find(operand.name); at != program_.shared.end()) {
    return at->second + offset;
  }
  if (const auto at = program_.addresses.find(operand.name); at != program_.addresses.end()) {
    return at->second + offset;
  }
  if (const ParamSlot* slot = param(operand.name)) return slot->offset + offset;
  for (size_t i = 0; i < program_.callable.size(); ++i) {
    if (program_.callable[i]->name == operand.name) return i + 1;
  }
  for (const std::vector<ptx::Variable>* variables :
       std::initializer_list<const std::vector<ptx::Variable>*>{&function().variables,
                                                                &program_.module.variables}) {
    for (const ptx::Variable& variable : *variables) {
      if (variable.name == operand.name && variable.space == ptx::Space::Shared) {
        code_.names_dynamic = true;
        return code_.dynamic_offset + offset;
      }
    }
  }
  return 0;
}

uint32_t Decoder::register_source(const ptx::Operand& operand, RegisterClass slot) {
  uint32_t at = offsets_[operand.reg];
  // A part of a register, such as %r1.b0, which only the scalar video instructions use.
  if (operand.name != function().registers[operand.reg].name) {
    refuse("the emulator does not support parts of registers such as " + operand.name);
  }
  const RegisterClass have = slots_[operand.reg];
  if (operand.negated) {
    const uint32_t turned = temp(RegisterClass::Pred);
    Step& step = emit(handlers().at("not.pred").run);
    step.dst = turned;
    step.src[0] = at;
    at = turned;
  }
  if (have == slot) return at;
  if (have == RegisterClass::Pred || slot == RegisterClass::Pred) return refused_source(slot);
  const uint32_t converted = temp(slot);
  Step& step = emit(handlers().at(slot == RegisterClass::Wide ? "cvt.u64.u32" : "cvt.u32.u64").run);
  step.dst = converted;
  step.src[0] = at;
  return converted;
}

uint32_t Decoder::number_source(const ptx::Operand& operand, RegisterClass slot, ptx::Type type) {
  const bool wide = slot == RegisterClass::Wide;
  if (operand.kind == ptx::Operand::Kind::Float) {
    uint64_t bits = operand.bits;
    if (operand.float_bits == 64 && !wide) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    }
    if (operand.float_bits == 32 && wide) {
      bits = std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(bits))});
    }
    return constant(bits, wide);
  }
  if (slot == RegisterClass::Pred) return constant(operand.bits != 0 ? kNone : 0, false);
  if (type == ptx::Type::F32 && !wide) {
    return constant(std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(operand.bits))),
                    false);
  }
  if (type == ptx::Type::F64 && wide) {
    return constant(
        std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(operand.bits))), true);
  }
  return constant(wide ? operand.bits : static_cast<uint32_t>(operand.bits), wide);
}

uint32_t Decoder::refused_source(RegisterClass slot) {
  refuse("the emulator does not know this form of operand");
  return constant(0, slot == RegisterClass::Wide);
}

uint32_t Decoder::source(const ptx::Operand& operand, RegisterClass slot, ptx::Type type) {
  using Kind = ptx::Operand::Kind;
  const bool wide = slot == RegisterClass::Wide;
  switch (operand.kind) {
    case Kind::Register:
      return register_source(operand, slot);
    case Kind::Special: {
      const auto which = steps::special_register(operand.name);
      if (!which) refuse("the emulator has no special register " + operand.name);
      const uint32_t at = temp(slot);
      emit<steps::special>({.which = which.value_or(SpecialRegister::Zero), .is_wide = wide}).dst =
          at;
      return at;
    }
    case Kind::Integer:
    case Kind::Float:
      return number_source(operand, slot, type);
    case Kind::Variable: {
      bool local = false;
      const uint64_t at = variable_address(operand, local);
      if (!local) return constant(at, wide);
      const uint32_t out = temp(slot);
      emit<steps::local_address>({.offset = at, .is_wide = wide}).dst = out;
      return out;
    }
    case Kind::Vector:
      if (operand.elements.size() == 1) return source(operand.elements[0], slot, type);
      return refused_source(slot);
    default:
      return refused_source(slot);
  }
}

uint32_t Decoder::destination(const ptx::Operand& operand, RegisterClass slot, bool is_signed) {
  if (operand.kind == ptx::Operand::Kind::Vector && operand.elements.size() == 1) {
    return destination(operand.elements[0], slot, is_signed);
  }
  if (operand.kind != ptx::Operand::Kind::Register) return temp(slot);
  const RegisterClass have = slots_[operand.reg];
  if (have == slot) return offsets_[operand.reg];
  const uint32_t at = temp(slot);
  pending_.push_back({at, offsets_[operand.reg], slot, have, is_signed});
  return at;
}

void Decoder::finish_destinations() {
  for (const Pending& pending : pending_) {
    const char* key = pending.wanted == RegisterClass::Wide
                          ? (pending.is_signed ? "cvt.s64.s32" : "cvt.u64.u32")
                          : "cvt.u32.u64";
    if (pending.wanted == RegisterClass::Pred || pending.slot == RegisterClass::Pred) {
      emit<steps::unsupported>({});
      continue;
    }
    Step& step = emit(handlers().at(key).run);
    step.dst = pending.to;
    step.src[0] = pending.from;
  }
  pending_.clear();
}

Decoder::Address Decoder::address_of(const ptx::Operand& operand) {
  const ptx::Operand& inner = operand.elements.empty() ? operand : operand.elements[0];
  const bool is_wide = register_class(inner) != RegisterClass::Narrow;
  const uint32_t base =
      source(inner, is_wide ? RegisterClass::Wide : RegisterClass::Narrow, ptx::Type::U64);
  return {base, &inner == &operand ? 0 : operand.offset, is_wide};
}

bool Decoder::refuse(const std::string& why) {
  refusal_ = why;
  return false;
}

}  // namespace gpuemu::emulator
