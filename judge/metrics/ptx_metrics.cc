#include "judge/metrics/ptx_metrics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>

#include <cxxabi.h>
#include <fmt/core.h>

#include "judge/metrics/divergence.h"
#include "judge/metrics/loops.h"
#include "runtime/ptx/flow/cfg.h"

namespace gpuemu {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::Operand;
using ptx::Trait;

const char* class_name(OpcodeClass what) {
  switch (what) {
    case OpcodeClass::Arithmetic:
      return "arithmetic";
    case OpcodeClass::Compare:
      return "compare";
    case OpcodeClass::Logic:
      return "logic";
    case OpcodeClass::Convert:
      return "convert";
    case OpcodeClass::Memory:
      return "memory";
    case OpcodeClass::Atomic:
      return "atomic";
    case OpcodeClass::Control:
      return "control";
    case OpcodeClass::Warp:
      return "warp";
    case OpcodeClass::Barrier:
      return "barrier";
    case OpcodeClass::Matrix:
      return "matrix";
    case OpcodeClass::Async:
      return "async";
    case OpcodeClass::Texture:
      return "texture";
    case OpcodeClass::Misc:
    case OpcodeClass::Video:
    case OpcodeClass::Unknown:
      return "other";
  }
  return "other";
}

/// Returns "global" for ld.global, "shared" for ld.shared::cta, "generic" without a space.
std::string space_of(const Instruction& one) {
  for (const char* space : {"global", "shared", "local", "param", "const"}) {
    for (const std::string& modifier : one.modifiers) {
      if (modifier == space || modifier.starts_with(std::string(space) + "::")) return space;
    }
  }
  return "generic";
}

/// Returns the bytes that one thread moves: size of the type times vector width.
uint32_t width_of(const Instruction& one) {
  uint32_t bytes = 0, elements = 1;
  for (const std::string& modifier : one.modifiers) {
    if (const auto type = ptx::type_from_name(modifier)) bytes = ptx::byte_size(*type);
    if (modifier == "v2") elements = 2;
    if (modifier == "v4") elements = 4;
    if (modifier == "v8") elements = 8;
  }
  return bytes * elements;
}

std::string literal(const Operand& operand) {
  if (operand.float_bits == 32) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(operand.bits));
    return fmt::format("{}{}", value, std::isfinite(value) ? "f" : "");
  }
  return fmt::format("{}", std::bit_cast<double>(operand.bits));
}

void count_operand(const Operand& operand, PtxMetrics& metrics,
                   std::set<std::string_view>& variables) {
  if (operand.kind == Operand::Kind::Float) ++metrics.constants[literal(operand)];
  if (operand.kind == Operand::Kind::Variable) variables.insert(operand.name);
  for (const Operand& one : operand.elements) count_operand(one, metrics, variables);
}

bool is_tensor_op(const Instruction& one) {
  if (!one.has(Trait::MatrixProduct)) return false;
  if (one.opcode == Opcode::Mma) return true;
  return one.has(ptx::Modifier::Mma) || one.has(ptx::Modifier::MmaAsync);
}

void count_instruction(const Instruction& one, PtxMetrics& metrics) {
  ++metrics.instructions;
  const OpcodeClass what = ptx::info(one.opcode).what;
  ++metrics.classes[class_name(what)];
  if (one.has(Trait::Reads) && !one.has(Trait::Writes)) {
    ++metrics.loads[fmt::format("{}.{}", space_of(one), width_of(one))];
  }
  if (one.opcode == Opcode::St) {
    ++metrics.stores[fmt::format("{}.{}", space_of(one), width_of(one))];
  }
  const bool divides =
      one.opcode == Opcode::Div && (one.has(ptx::Modifier::Approx) || one.has(ptx::Modifier::Full));
  if (one.has(Trait::SpecialFunction) || divides) {
    ++metrics.special_functions[one.spelling()];
  }
  if (one.has(Trait::Synchronizes)) ++metrics.barriers;
  if (what == OpcodeClass::Atomic) ++metrics.atomics;
  if (is_tensor_op(one)) ++metrics.tensor_ops;
  if (one.has(ptx::Modifier::Ftz)) ++metrics.ftz;
  if (one.has(ptx::Modifier::Approx) || one.has(ptx::Modifier::Full)) ++metrics.approx;
}

void count_variable(const ptx::Variable& variable, PtxMetrics& metrics) {
  if (variable.space == ptx::Space::Shared && variable.bytes == 0) metrics.dynamic_shared = true;
  if (variable.space == ptx::Space::Shared) metrics.shared_bytes += variable.bytes;
  if (variable.space == ptx::Space::Local) metrics.local_bytes += variable.bytes;
  if (variable.space == ptx::Space::Const) metrics.const_bytes += variable.bytes;
}

void find_source(const ptx::Module& module, const ptx::Function& entry, PtxMetrics& metrics) {
  for (const Instruction& one : entry.body) {
    const ptx::SourceLine line = module.outermost(one.source);
    const auto file = module.files.find(line.file);
    if (file == module.files.end() || line.line == 0) continue;
    if (metrics.source_line != 0 && line.line >= metrics.source_line) continue;
    if (!metrics.source_file.empty() && metrics.source_file != file->second) continue;
    metrics.source_file = file->second;
    metrics.source_line = line.line;
  }
}

}  // namespace

PtxMetrics measure_ptx(const ptx::Module& module, const ptx::Function& entry) {
  PtxMetrics metrics;
  metrics.entry = entry.name;
  metrics.target = module.target;
  find_source(module, entry, metrics);
  for (const ptx::Register& one : entry.registers) {
    ++metrics.registers[std::string(ptx::name_of(one.type))];
  }
  std::set<std::string_view> variables;
  for (const Instruction& one : entry.body) {
    count_instruction(one, metrics);
    for (const Operand& operand : one.operands) count_operand(operand, metrics, variables);
    for (const Operand& operand : one.call_arguments) count_operand(operand, metrics, variables);
  }
  for (const ptx::Variable& variable : entry.variables) count_variable(variable, metrics);
  for (const ptx::Variable& variable : module.variables) {
    if (variables.contains(variable.name)) count_variable(variable, metrics);
  }
  for (const ptx::Variable& param : entry.params) {
    metrics.params.push_back({param.name, std::string(ptx::name_of(param.type)), param.bytes});
  }
  const Branches branches = find_divergence(entry);
  metrics.branches = branches.conditional;
  metrics.divergent_branches = branches.divergent;
  const Loops loops = find_loops(ptx::analyse(entry).blocks);
  metrics.loops = loops.headers;
  metrics.loop_depth = loops.depth;
  metrics.back_edges = loops.back_edges;
  return metrics;
}

InstructionSite place_of(const ptx::Module& module, const ptx::Instruction& instruction) {
  const ptx::SourceLine line = module.outermost(instruction.source);
  const auto file = module.files.find(line.file);
  if (file == module.files.end() || line.line == 0) {
    return {instruction.spelling(), "", instruction.where.line};
  }
  return {instruction.spelling(), file->second, line.line};
}

std::string readable_name(const std::string& entry) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return entry;
  std::string name = text.get();
  // For "void ns::scale<float, 4>(float*, int)": the parameters begin at the first parenthesis
  // outside angle brackets, the name after the last blank before it.
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (depth > 0) continue;
    if (name[at] == ' ') begin = at + 1;
    const bool anonymous = name.compare(at, 21, "(anonymous namespace)") == 0;
    if (anonymous) at += 20;
    if (name[at] == '(' && !anonymous) return name.substr(begin, at - begin);
  }
  return name;
}

std::map<std::string, std::string> readable_names(const std::set<std::string>& entries) {
  std::map<std::string, std::string> names;
  std::map<std::string, size_t> uses;
  for (const std::string& entry : entries) ++uses[names[entry] = readable_name(entry)];
  for (auto& [entry, name] : names) {
    if (uses[name] > 1) name = entry;
  }
  return names;
}

}  // namespace gpuemu
