#include "runtime/ptx/flow/written_params.h"

#include <algorithm>
#include <ranges>

#include "runtime/ptx/flow/operands.h"

namespace gpuemu::ptx {
namespace {

/// What a value may have been computed from: a bit for each parameter, and these.
using Sources = uint64_t;
constexpr Sources kAnywhere = Sources{1} << 63;       ///< May be any address.
constexpr Sources kPartOfAddress = Sources{1} << 62;  ///< At most 32 bits that came from memory.
constexpr uint32_t kParamsMax = 62;

class Tracer {
 public:
  explicit Tracer(const Function& entry) : entry_(entry), of_(entry.registers.size()) {}

  std::optional<std::vector<uint32_t>> trace() {
    if (entry_.params.size() > kParamsMax) return std::nullopt;
    do {
      changed_ = false;
      for (const Instruction& in : entry_.body) {
        if (!follow(in)) return std::nullopt;
      }
    } while (changed_);
    if ((written_ & kAnywhere) != 0) return std::nullopt;
    std::vector<uint32_t> params;
    for (uint32_t i = 0; i < entry_.params.size(); ++i) {
      if ((written_ >> i & 1) != 0) params.push_back(i);
    }
    return params;
  }

 private:
  bool is_wide(uint32_t reg) const { return byte_size(entry_.registers[reg].type) >= 8; }
  /// Returns the number of entry parameters if `name` is none.
  uint32_t param_named(const std::string& name) const {
    const auto at = std::ranges::find(entry_.params, name, &Variable::name);
    return static_cast<uint32_t>(at - entry_.params.begin());
  }
  bool is_near(const std::string& name) const {
    return std::ranges::any_of(entry_.variables, [&](const Variable& variable) {
      return variable.name == name &&
             (variable.space == Space::Shared || variable.space == Space::Local);
    });
  }

  Sources of(const Operand& operand) const {
    Sources found = 0;
    each_register(operand, [&](uint32_t reg) { found |= of_[reg]; });
    if (operand.kind == Operand::Kind::Variable && !is_near(operand.name)) found |= kAnywhere;
    const bool is_whole_address = operand.kind == Operand::Kind::Integer &&
                                  static_cast<int64_t>(operand.bits) >= int64_t{1} << 32;
    if (is_whole_address) found |= kAnywhere;
    if (operand.kind == Operand::Kind::Address && !operand.elements.empty()) {
      found |= of(operand.elements[0]);
    }
    return found;
  }
  void add(uint32_t reg, Sources sources) {
    changed_ = changed_ || (sources & ~of_[reg]) != 0;
    of_[reg] |= sources;
  }
  void add_loaded(const Operand& result) {
    each_register(result,
                  [&](uint32_t reg) { add(reg, is_wide(reg) ? kAnywhere : kPartOfAddress); });
  }
  void write(const Instruction& in, const Operand& address) {
    const bool elsewhere = in.has(Modifier::Shared) || in.has(Modifier::Local) ||
                           in.has(Modifier::Param) || in.has(Modifier::SharedCta);
    if (!elsewhere) written_ |= of(address);
  }

  /// Returns false where nothing is known about what the instruction writes.
  bool follow(const Instruction& in) {
    const std::vector<Operand>& operands = in.operands;
    switch (in.opcode) {
      case Opcode::Call:
      case Opcode::Unknown:
        return false;
      case Opcode::Ld:
        return load(in);
      case Opcode::St:
        if (operands.empty() || in.has(Modifier::Async) || in.has(Modifier::Bulk)) return false;
        write(in, operands[0]);
        return true;
      case Opcode::Red:
        if (operands.empty() || in.has(Modifier::Async)) return false;
        write(in, operands[0]);
        return true;
      case Opcode::Atom:
        if (operands.size() < 2) return false;
        write(in, operands[1]);
        add_loaded(operands[0]);
        return true;
      case Opcode::Cp:  // Without .bulk it copies to shared memory.
        return !in.has(Modifier::Bulk) || operands.empty();
      case Opcode::Ldmatrix:
        add_loaded(operands[0]);
        return true;
      case Opcode::Stmatrix:
        return true;
      default:
        break;
    }
    if (in.has(Trait::TouchesMemory) && !in.has(Trait::NoEffect)) return false;
    if (in.opcode == Opcode::Wmma && !in.has(Modifier::Mma)) return false;
    if (!in.has_result() || operands.empty()) return true;
    return compute(in);
  }

  bool load(const Instruction& in) {
    const std::vector<Operand>& operands = in.operands;
    if (!in.has(Modifier::Param)) return add_loaded(operands[0]), true;
    const Operand& from = operands[1];
    const bool named = from.kind == Operand::Kind::Address && !from.elements.empty() &&
                       from.elements[0].kind == Operand::Kind::Variable;
    const uint32_t param =
        named ? param_named(from.elements[0].name) : static_cast<uint32_t>(entry_.params.size());
    if (param == entry_.params.size()) return false;
    each_register(operands[0], [&](uint32_t reg) { add(reg, Sources{1} << param); });
    return true;
  }

  bool compute(const Instruction& in) {
    Sources sources = 0;
    for (const Operand& operand : in.operands | std::views::drop(1)) {
      // The address of a parameter: what is read through it is not followed.
      if (param_named(operand.name) != entry_.params.size()) return false;
      sources |= of(operand);
    }
    const bool joins = (sources & kPartOfAddress) != 0 && joins_parts(in);
    each_register(in.operands[0], [&](uint32_t reg) {
      add(reg, sources | (joins && is_wide(reg) ? kAnywhere : 0));
    });
    return true;
  }
  /// Returns whether it may make an address of two numbers of 32 bits.
  static bool joins_parts(const Instruction& in) {
    if (in.opcode == Opcode::Mov) return in.operands[1].kind == Operand::Kind::Vector;
    if (in.opcode != Opcode::Shl) return in.opcode == Opcode::Bfi;
    const Operand& by = in.operands[2];
    return by.kind != Operand::Kind::Integer || by.bits >= 32;
  }

  const Function& entry_;
  std::vector<Sources> of_;
  Sources written_ = 0;
  bool changed_ = false;
};

}  // namespace

std::optional<std::vector<uint32_t>> written_params(const Function& entry) {
  return Tracer(entry).trace();
}

}  // namespace gpuemu::ptx
