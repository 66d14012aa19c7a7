// Checks whether a kernel's addresses stay in bounds of the regions that they point into.
#include <algorithm>

#include <fmt/core.h>

#include "judge/inbounds/evaluator.h"

namespace gpuemu::inbounds {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Trait;

// Size of the row that one lane's address of ldmatrix points to.
constexpr uint64_t kMatrixRowBytes = 16;
constexpr uint64_t kBarrierBytes = 8;

Space space_of(const Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier == "global") return Space::Global;
    if (modifier.starts_with("shared")) return Space::Shared;
    if (modifier == "local") return Space::Local;
    if (modifier == "const") return Space::Const;
    if (modifier.starts_with("param")) return Space::Param;
  }
  return Space::Generic;
}

uint64_t bytes_of(const Instruction& instruction) {
  uint64_t count = 1;
  uint64_t bytes = 0;
  for (const std::string& modifier : instruction.modifiers) {
    if (modifier == "v2") count = 2;
    if (modifier == "v4") count = 4;
    if (modifier == "v8") count = 8;
    const auto type = ptx::type_from_name(modifier);
    if (type && ptx::byte_size(*type) > 0) bytes = ptx::byte_size(*type);
  }
  return count * bytes;
}

bool has_address(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [](const Operand& operand) {
    return operand.kind == Operand::Kind::Address;
  });
}

}  // namespace

std::vector<Use> uses_of(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode;
  const Space space = space_of(instruction);
  if (space == Space::Param || opcode == Opcode::Prefetch || opcode == Opcode::Mov ||
      opcode == Opcode::Cvta) {
    return {};
  }
  const uint64_t bytes = bytes_of(instruction);
  const bool reads = instruction.has(Trait::Reads), writes = instruction.has(Trait::Writes);
  if (reads && !writes) return {{MemoryUseKind::Load, 1, space, bytes}};
  if (opcode == Opcode::St) return {{MemoryUseKind::Store, 0, space, bytes}};
  if (opcode == Opcode::Atom) return {{MemoryUseKind::Atomic, 1, space, bytes}};
  if (opcode == Opcode::Red && !instruction.has(ptx::Modifier::Async)) {
    return {{MemoryUseKind::Atomic, 0, space, bytes}};
  }
  const bool copies = opcode == Opcode::Cp && instruction.has(ptx::Modifier::Async) &&
                      !instruction.has(ptx::Modifier::Bulk);
  if (copies && instruction.operands.size() >= 3) {
    const Operand& size = instruction.operands[2];
    const uint64_t count = size.kind == Operand::Kind::Integer ? size.bits : 0;
    return {{MemoryUseKind::CopyTo, 0, Space::Shared, count},
            {MemoryUseKind::CopyFrom, 1, Space::Global, count}};
  }
  if (instruction.has(ptx::Modifier::M8n8) && instruction.has(ptx::Modifier::B16)) {
    constexpr uint64_t kBytes = kMatrixRowBytes;
    if (opcode == Opcode::Ldmatrix) return {{MemoryUseKind::Load, 1, Space::Shared, kBytes}};
    if (opcode == Opcode::Stmatrix) return {{MemoryUseKind::Store, 0, Space::Shared, kBytes}};
  }
  if (!has_address(instruction)) return {};
  const auto place =
      std::ranges::find(instruction.operands, Operand::Kind::Address, &Operand::kind);
  const auto index = static_cast<size_t>(place - instruction.operands.begin());
  return {{MemoryUseKind::Access, index, space, opcode == Opcode::Mbarrier ? kBarrierBytes : 0}};
}

std::vector<Access> list_accesses(const ptx::Function& entry, const std::string& reason) {
  std::vector<Access> all;
  for (uint32_t at = 0; at < entry.body.size(); ++at) {
    for (const Use& use : uses_of(entry.body[at])) {
      all.push_back({at, use.space, use.kind, "", false, reason, "", ""});
    }
  }
  return all;
}

Polynomial Evaluator::address(uint32_t at, const Operand& operand) {
  if (operand.kind != Operand::Kind::Address || operand.elements.empty()) {
    return Polynomial::broken();
  }
  const Operand& base = operand.elements[0];
  Polynomial from = Polynomial::broken();
  if (base.kind == Operand::Kind::Register) from = value_of(ssa_.read(at, base.reg)).poly;
  if (base.kind == Operand::Kind::Variable) from = address_of(base.name) + Polynomial(base.offset);
  return from + Polynomial(operand.offset);
}

namespace {
// Only symbols from which this one was made: conditions mention others too.
void add_earlier(const Assumption& assumption, Symbol symbol, std::vector<Symbol>& to) {
  for (const Polynomial& fact : assumption.facts) {
    for (const Symbol other : fact.symbols()) {
      if (other < symbol) to.push_back(other);
    }
  }
}
}  // namespace

// Returns the first symbol about which nothing is known.
std::string Evaluator::blame(const Polynomial& poly) const {
  std::vector<Symbol> open;
  for (const Symbol symbol : poly.symbols()) open.push_back(symbol);
  std::set<Symbol> seen;
  while (!open.empty()) {
    const Symbol symbol = open.back();
    open.pop_back();
    if (!seen.insert(symbol).second) continue;
    const SymbolInfo& info = space_.symbols[symbol];
    if (!info.reason.empty()) return info.name + " " + info.reason;
    open.insert(open.end(), info.parts.begin(), info.parts.end());
    for (const Alternatives& cases : info.cases) {
      for (const Assumption& one : cases) add_earlier(one, symbol, open);
    }
  }
  return "";
}

Access Evaluator::judge(uint32_t at, const Use& use) {
  const Instruction& instruction = function_.body[at];
  Access access{at, use.space, use.kind, "", false, "", "", ""};
  Polynomial where = use.operand < instruction.operands.size()
                         ? address(at, instruction.operands[use.operand])
                         : Polynomial::broken();
  if (use.bytes == 0) {
    access.reason = instruction.spelling() + " is not understood";
    return access;
  }
  std::vector<Symbol> bases;
  for (const Symbol symbol : where.symbols()) {
    if (space_.symbols[symbol].region >= 0) bases.push_back(symbol);
  }
  const auto parts = bases.size() == 1 ? where.linear_in(bases[0]) : std::nullopt;
  if (where.is_broken() || !parts || !(parts->factor == Polynomial(1))) {
    const std::string what = where.is_broken() ? "" : blame(where);
    access.reason =
        what.empty() ? "what the address points into is not known" : "the address: " + what;
    return access;
  }
  const Region& region = space_.regions[static_cast<size_t>(space_.symbols[bases[0]].region)];
  access.region = region.name;
  Polynomial offset = parts->rest;
  if (use.space == Space::Generic) offset = offset - window_of(region.space);
  if (use.space == Space::Generic) access.space = region.space;
  const Polynomial room = region.bytes - Polynomial(static_cast<int64_t>(use.bytes)) - offset;
  access.offset = space_.symbols.text(offset);
  access.extent = space_.symbols.text(region.bytes);
  const bool same_space = use.space == Space::Generic || use.space == region.space;
  const Known known = known_at(at);
  const bool low = same_space && prover_.holds(offset, known);
  const bool high = low && prover_.holds(room, known);
  access.proved = low && high;
  if (access.proved) return access;
  const std::string what = blame(offset);
  if (!same_space) {
    access.reason = "the address is of other memory";
  } else if (!what.empty()) {
    access.reason = "the index: " + what;
  } else if (!low) {
    access.reason = fmt::format("may begin before '{}': byte {}", region.name, access.offset);
  } else {
    access.reason = fmt::format("may end behind '{}': byte {} + {} of {}", region.name,
                                access.offset, use.bytes, access.extent);
  }
  return access;
}

std::vector<Access> Evaluator::accesses() {
  std::vector<Access> all;
  for (const uint32_t block : flow_.order) {
    const ptx::BasicBlock& range = flow_.control.blocks[block];
    for (uint32_t at = range.begin; at < range.end; ++at) {
      const Instruction& instruction = function_.body[at];
      if (instruction.opcode == Opcode::Call) {
        Access call{at, Space::Generic, MemoryUseKind::Call, "", false, "", "", ""};
        call.reason = "the called function is not examined";
        all.push_back(std::move(call));
        continue;
      }
      for (const Use& use : uses_of(instruction)) all.push_back(judge(at, use));
    }
  }
  std::ranges::stable_sort(all, {}, &Access::instruction);
  return all;
}

}  // namespace gpuemu::inbounds
