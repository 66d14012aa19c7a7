#include "runtime/ptx/flow/words_of_cas.h"

#include <map>
#include <set>
#include <tuple>

#include "runtime/ptx/flow/operands.h"

namespace gpuemu::ptx {
namespace {

/// Steps from one register of an address to the next that are looked through: additions of numbers,
/// in which compilers split it, and changes of its space.
constexpr int kAddressStepsMax = 8;

/// Finds the one instruction that writes each register.
class Writers {
 public:
  explicit Writers(const Function& function) : function_(function) {
    for (uint32_t i = 0; i < function.body.size(); ++i) {
      const Instruction& in = function.body[i];
      if (!in.has_result() || in.operands.empty()) continue;
      each_register(in.operands[0], [&](uint32_t reg) { note(reg, i); });
    }
  }
  /// Returns null if several instructions write it, or none does.
  const Instruction* of(uint32_t reg) const {
    const auto found = last_.find(reg);
    return found == last_.end() || found->second == kSeveral ? nullptr
                                                             : &function_.body[found->second];
  }

 private:
  static constexpr uint32_t kSeveral = ~uint32_t{0};
  void note(uint32_t reg, uint32_t index) {
    const auto [at, is_first] = last_.emplace(reg, index);
    if (!is_first) at->second = kSeveral;
  }

  const Function& function_;
  std::map<uint32_t, uint32_t> last_;
};

/// Returns the place with additions of numbers, as compilers split addresses, in its offset. The
/// space in which an address is given makes no difference.
auto whole_place(const Writers& writers, const Instruction& in) {
  Operand base = in.operands[1].elements.at(0);
  // Unsigned, because addresses wrap around.
  uint64_t offset =
      static_cast<uint64_t>(in.operands[1].offset) + static_cast<uint64_t>(base.offset);
  for (int left = kAddressStepsMax; left > 0 && base.kind == Operand::Kind::Register; --left) {
    const Instruction* const made = writers.of(base.reg);
    const bool is_plain = made != nullptr && !made->guard && made->operands.size() >= 2 &&
                          made->operands[1].kind == Operand::Kind::Register &&
                          made->operands[1].reg != base.reg;
    if (!is_plain) break;
    const bool adds = made->opcode == Opcode::Add && made->operands.size() == 3 &&
                      made->operands[2].kind == Operand::Kind::Integer;
    const bool passes_on =
        (made->opcode == Opcode::Mov || made->opcode == Opcode::Cvta) && made->operands.size() == 2;
    if (!adds && !passes_on) break;
    if (adds) offset += made->operands[2].bits;
    base = made->operands[1];
  }
  return std::tuple(base.kind, base.reg, base.name, offset);
}

/// Adds the registers whose values movs pass on to those in `compared`.
void add_sources(const Function& function, std::set<uint32_t>& compared) {
  for (size_t before = 0; before != compared.size();) {
    before = compared.size();
    for (const Instruction& in : function.body) {
      const bool moves = in.opcode == Opcode::Mov && in.operands.size() == 2 &&
                         in.operands[0].kind == Operand::Kind::Register &&
                         in.operands[1].kind == Operand::Kind::Register;
      if (moves && compared.contains(in.operands[0].reg)) compared.insert(in.operands[1].reg);
    }
  }
}

}  // namespace

std::vector<bool> words_of_cas(const Function& function) {
  std::vector<bool> found(function.body.size());
  std::set<uint32_t> compared;
  for (size_t i = 0; i < found.size(); ++i) {
    const Instruction& in = function.body[i];
    found[i] = in.opcode == Opcode::Atom && in.operands.size() == 4 && in.has(Modifier::B32) &&
               in.has(Modifier::Cas) && has_place(in);
    if (found[i]) each_register(in.operands[2], [&](uint32_t reg) { compared.insert(reg); });
  }
  if (compared.empty()) return found;
  add_sources(function, compared);
  const Writers writers(function);
  std::set<decltype(whole_place(writers, function.body[0]))> places;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) places.insert(whole_place(writers, function.body[i]));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const Instruction& in = function.body[i];
    const bool may = in.opcode == Opcode::Ld && in.operands.size() == 2 && has_place(in) &&
                     (in.has(Modifier::B32) || in.has(Modifier::U32) || in.has(Modifier::S32)) &&
                     in.operands[0].kind == Operand::Kind::Register &&
                     compared.contains(in.operands[0].reg);
    if (may) found[i] = places.contains(whole_place(writers, in));
  }
  return found;
}

}  // namespace gpuemu::ptx
