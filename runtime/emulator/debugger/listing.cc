#include "runtime/emulator/debugger/listing.h"

#include "runtime/emulator/report/element_names.h"
#include "runtime/ptx/flow/operands.h"

namespace gpuemu::emulator {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

bool is_untyped(Type type) {
  return type == Type::None || type == Type::B8 || type == Type::B16 || type == Type::B32 ||
         type == Type::B64 || type == Type::B128;
}

/// Returns the type of twice the width, as mul.wide.u32 has it.
Type doubled(Type type) {
  switch (type) {
    case Type::U16:
      return Type::U32;
    case Type::S16:
      return Type::S32;
    case Type::U32:
      return Type::U64;
    case Type::S32:
      return Type::S64;
    default:
      return type;
  }
}

class Namer {
 public:
  explicit Namer(const ptx::Function& function)
      : function_(function), found_(function.registers.size(), Type::None) {}

  std::vector<std::string> run() {
    for (const ptx::Instruction& instruction : function_.body) visit(instruction, true);
    for (const ptx::Instruction& instruction : function_.body) visit(instruction, false);
    std::vector<std::string> names;
    for (size_t i = 0; i < found_.size(); ++i) {
      names.emplace_back(
          name_of(found_[i] == Type::None ? function_.registers[i].type : found_[i]));
    }
    return names;
  }

 private:
  void visit(const ptx::Instruction& instruction, bool results) {
    std::vector<Type> types;
    for (const std::string& modifier : instruction.modifiers) {
      if (const auto type = ptx::type_from_name(modifier)) types.push_back(*type);
    }
    if (types.empty() || instruction.operands.empty()) return;
    // A store has no result; the types of a matrix product belong to different operands.
    const bool stores = instruction.has(ptx::Trait::Writes) && !instruction.has(ptx::Trait::Reads);
    if (results && !stores) {
      const bool wide = instruction.has(ptx::Modifier::Wide);
      note(instruction.operands[0], wide ? doubled(types.front()) : types.front());
    }
    if (results || instruction.has(ptx::Trait::RegisterMatrix)) return;
    for (size_t i = stores ? 0 : 1; i < instruction.operands.size(); ++i) {
      if (instruction.operands[i].kind != Operand::Kind::Address) {
        note(instruction.operands[i], types.back());
      }
    }
  }

  void note(const Operand& operand, Type type) {
    for (const Operand& element : operand.elements) note(element, type);
    if (operand.kind != Operand::Kind::Register || is_untyped(type)) return;
    const Type declared = function_.registers[operand.reg].type;
    if (declared == Type::Pred || ptx::byte_size(declared) != ptx::byte_size(type)) return;
    Type& known = found_[operand.reg];
    if (known == Type::None) known = type;
  }

  const ptx::Function& function_;
  std::vector<Type> found_;
};

}  // namespace

std::vector<std::string> register_types(const ptx::Function& function) {
  return Namer(function).run();
}

std::vector<std::vector<uint32_t>> results_of(const ptx::Function& function) {
  std::vector<std::vector<uint32_t>> all;
  for (const ptx::Instruction& instruction : function.body) {
    std::vector<uint32_t>& made = all.emplace_back();
    if (!instruction.has_result() || instruction.operands.empty()) continue;
    const Operand& to = instruction.operands[0];
    if (to.kind == Operand::Kind::Register) made.push_back(to.reg);
    if (to.kind != Operand::Kind::Vector && to.kind != Operand::Kind::PredPair) continue;
    ptx::each_register(to, [&](uint32_t reg) { made.push_back(reg); });
  }
  return all;
}

std::string shared_type(const ptx::Function& function) {
  const std::vector<std::string> types = register_types(function);
  std::string all;
  for (const ptx::Instruction& instruction : function.body) {
    const bool load = instruction.opcode == Opcode::Ld, store = instruction.opcode == Opcode::St;
    if ((!load && !store) || !instruction.has(ptx::Modifier::Shared) ||
        instruction.operands.size() < 2) {
      continue;
    }
    const Operand& operand = instruction.operands[load ? 0 : 1];
    const Operand& value = operand.elements.empty() ? operand : operand.elements[0];
    if (value.kind != Operand::Kind::Register) continue;
    const std::string& type = types[value.reg];
    const auto known = ptx::type_from_name(type);
    if (!known || is_untyped(*known) || (!all.empty() && all != type)) return "";
    all = type;
  }
  return all;
}

DebugProgram listing_of(const Program& program) {
  DebugProgram made;
  for (const Code& code : program.functions) {
    DebugFunction& function = made.functions.emplace_back();
    function.name = code.name;
    function.is_entry = code.source->is_entry;
    for (const ptx::Instruction& instruction : code.source->body) {
      const SourcePlace place = source_place(program.module, instruction);
      function.body.push_back({instruction.text(), place.file, place.line, instruction.where.line});
    }
  }
  return made;
}

}  // namespace gpuemu::emulator
