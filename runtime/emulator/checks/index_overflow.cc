#include "runtime/emulator/checks/index_overflow.h"

#include <algorithm>
#include <optional>

#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

constexpr uint32_t kDepthMax = 24;
__extension__ using Wide = __int128;

/// How a 32-bit value is extended when it becomes part of a 64-bit address.
enum class Extension : uint8_t { Signed, Unsigned };

class WrapSearch {
 public:
  WrapSearch(Warp& warp, uint32_t lane) : warp_(warp), lane_(lane) {}
  std::string address(const Operand& operand);

 private:
  std::string visit(const Operand& operand, Extension extension, uint32_t depth);
  std::string sources(const Instruction& of, Extension extension, uint32_t depth);
  std::string arithmetic(const Instruction& in, Extension extension, uint32_t depth);
  const Instruction* definition(uint32_t reg) const;
  std::optional<uint64_t> bits(const Operand& operand) const;

  Warp& warp_;
  uint32_t lane_;
};

/// Returns the only instruction that writes the register; null if none or several do.
const Instruction* WrapSearch::definition(uint32_t reg) const {
  const Instruction* found = nullptr;
  for (const Instruction& in : warp_.code().source->body) {
    if (in.operands.empty() || !in.has_result()) continue;
    const Operand& to = in.operands[0];
    const auto writes = [&](const Operand& o) {
      return o.kind == Operand::Kind::Register && o.reg == reg;
    };
    if (!writes(to) && !std::ranges::any_of(to.elements, writes)) continue;
    if (found != nullptr || in.guard) return nullptr;
    found = &in;
  }
  return found;
}

std::optional<uint64_t> WrapSearch::bits(const Operand& operand) const {
  if (operand.kind == Operand::Kind::Integer) return operand.bits;
  if (operand.kind != Operand::Kind::Register) return std::nullopt;
  const RegisterPlace& place = warp_.code().registers[operand.reg];
  if (place.bytes == 8) return warp_.u64(place.offset)[lane_];
  if (place.bytes == 4) return warp_.u32(place.offset)[lane_];
  return std::nullopt;
}

bool is_32_bit(const Instruction& in) {
  return in.has(ptx::Modifier::S32) || in.has(ptx::Modifier::U32) || in.has(ptx::Modifier::B32);
}

std::string WrapSearch::sources(const Instruction& of, Extension extension, uint32_t depth) {
  for (size_t i = 1; i < of.operands.size(); ++i) {
    if (std::string found = visit(of.operands[i], extension, depth + 1); !found.empty()) {
      return found;
    }
  }
  return "";
}

/// Compares the register with the exact result of the operation.
std::string WrapSearch::arithmetic(const Instruction& in, Extension extension, uint32_t depth) {
  const bool signed_result = extension == Extension::Signed;
  const size_t count = in.opcode == Opcode::Mad ? 3 : 2;
  if (in.operands.size() != count + 1) return "";
  int64_t s[3] = {}, u[3] = {};
  bool subtracts = false;  // Compilers write i - 1 as i + -1.
  for (size_t i = 0; i < count; ++i) {
    const Operand& operand = in.operands[i + 1];
    subtracts = subtracts ||
                (operand.kind == Operand::Kind::Integer && static_cast<int64_t>(operand.bits) < 0);
    const auto value = bits(in.operands[i + 1]);
    if (!value) return "";
    s[i] = static_cast<int32_t>(static_cast<uint32_t>(*value));
    u[i] = static_cast<int64_t>(static_cast<uint32_t>(*value));
  }
  const auto result = bits(in.operands[0]);
  if (!result) return "";
  const auto exact = [&](const int64_t* v) -> Wide {
    if (in.opcode == Opcode::Add) return Wide{v[0]} + v[1];
    if (in.opcode == Opcode::Sub) return Wide{v[0]} - v[1];
    if (in.opcode == Opcode::Shl) return Wide{v[0]} << std::min<int64_t>(u[1], 63);
    return Wide{v[0]} * v[1] + (in.opcode == Opcode::Mad ? v[2] : 0);
  };
  const auto low = static_cast<uint32_t>(*result);
  // Skip if the operands have changed since.
  if (static_cast<uint32_t>(exact(s)) != low) return "";
  const bool fits = signed_result ? exact(s) == static_cast<int32_t>(low)
                                  : exact(s) == low || (!subtracts && exact(u) == low);
  if (fits) return sources(in, extension, depth);
  const int64_t* shown = signed_result || subtracts ? s : u;
  const char* sign = in.opcode == Opcode::Add   ? "+"
                     : in.opcode == Opcode::Sub ? "-"
                     : in.opcode == Opcode::Shl ? "<<"
                                                : "*";
  std::string text = fmt::format("{} {} {}", shown[0], sign, shown[1]);
  if (in.opcode == Opcode::Mad) text += fmt::format(" + {}", shown[2]);
  return fmt::format("; the index wrapped around: {} does not fit {} 32 bits in {}; {}", text,
                     signed_result ? "signed" : "unsigned",
                     describe(warp_.launch->inputs.program->module, in),
                     subtracts && !signed_result ? "check it before" : "compute it in 64 bits");
}

std::string WrapSearch::visit(const Operand& operand, Extension extension, uint32_t depth) {
  if (operand.kind != Operand::Kind::Register || depth > kDepthMax) return "";
  const Instruction* in = definition(operand.reg);
  if (in == nullptr) return "";
  const auto of_type = [&] {
    return in->has(ptx::Modifier::S32) ? Extension::Signed : Extension::Unsigned;
  };
  const bool wide = in->has(ptx::Modifier::Wide);
  if (in->opcode == Opcode::Cvt && is_32_bit(*in) &&
      (in->has(ptx::Modifier::S64) || in->has(ptx::Modifier::U64))) {
    return sources(*in, of_type(), depth);
  }
  if (wide) return sources(*in, of_type(), depth);
  const bool computes =
      in->opcode == Opcode::Add || in->opcode == Opcode::Sub || in->opcode == Opcode::Shl ||
      (in->has(ptx::Modifier::Lo) && (in->opcode == Opcode::Mul || in->opcode == Opcode::Mad));
  if (computes && is_32_bit(*in)) return arithmetic(*in, extension, depth);
  if (computes || in->has(ptx::Trait::PassesIndex)) return sources(*in, extension, depth);
  return "";
}

std::string WrapSearch::address(const Operand& operand) {
  return visit(operand.elements.empty() ? operand : operand.elements[0], Extension::Signed, 0);
}
}  // namespace

std::string explain_wrap(Warp& warp, const Step& step, uint32_t lane) {
  const Instruction& in = instruction_of(warp, step);
  for (const Operand& operand : in.operands) {
    if (operand.kind == Operand::Kind::Address) {
      if (std::string found = WrapSearch(warp, lane).address(operand); !found.empty()) return found;
    }
  }
  return "";
}

}  // namespace gpuemu::emulator
