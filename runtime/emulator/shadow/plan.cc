#include "runtime/emulator/shadow/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runtime/emulator/shadow/float_registers.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

/// Frames place registers at multiples of 32 lanes of 4 bytes.
constexpr uint32_t kOffsetStep = 64;

constexpr ptx::PerOpcode<Meaning> kArithmetic({{Opcode::Add, Meaning::Add},
                                               {Opcode::Sub, Meaning::Sub},
                                               {Opcode::Mul, Meaning::Mul},
                                               {Opcode::Fma, Meaning::Fma},
                                               {Opcode::Mad, Meaning::Fma},
                                               {Opcode::Div, Meaning::Div},
                                               {Opcode::Min, Meaning::Min},
                                               {Opcode::Max, Meaning::Max},
                                               {Opcode::Neg, Meaning::Neg},
                                               {Opcode::Abs, Meaning::Abs},
                                               {Opcode::Copysign, Meaning::CopySign},
                                               {Opcode::Sqrt, Meaning::Sqrt},
                                               {Opcode::Rsqrt, Meaning::Rsqrt},
                                               {Opcode::Rcp, Meaning::Rcp},
                                               {Opcode::Ex2, Meaning::Ex2},
                                               {Opcode::Lg2, Meaning::Lg2},
                                               {Opcode::Sin, Meaning::Sin},
                                               {Opcode::Cos, Meaning::Cos},
                                               {Opcode::Tanh, Meaning::Tanh}});

/// Errors that the PTX ISA allows for approximations: relative to the result, and absolute.
struct Approximation {
  Opcode opcode;
  Format format;
  double unit, absolute;
};
const std::array kApproximations = {
    Approximation{Opcode::Ex2, Format::F32, 0x1p-22, 0},
    Approximation{Opcode::Ex2, Format::F16, std::exp2(-9.9), 0},
    Approximation{Opcode::Ex2, Format::BF16, 0x1p-7, 0},
    Approximation{Opcode::Lg2, Format::F32, 0x1p-22, 0x1p-22},
    Approximation{Opcode::Sin, Format::F32, 0x1p-23, std::exp2(-20.5)},
    Approximation{Opcode::Cos, Format::F32, 0x1p-23, std::exp2(-20.5)},
    Approximation{Opcode::Tanh, Format::F32, 0x1p-11, 0},
    Approximation{Opcode::Tanh, Format::F16, 0x1p-11, std::exp2(-10.987)},
    Approximation{Opcode::Tanh, Format::BF16, 0x1p-8, 0x1p-8},
    Approximation{Opcode::Rcp, Format::F32, 0x1p-23, 0},
    Approximation{Opcode::Rcp, Format::F64, 0x1p-20, 0},
    Approximation{Opcode::Rsqrt, Format::F32, std::exp2(-22.9), 0},
    Approximation{Opcode::Rsqrt, Format::F64, 0x1p-20, 0},
    Approximation{Opcode::Sqrt, Format::F32, 0x1p-23, 0},
    Approximation{Opcode::Div, Format::F32, 0x1p-22, 0},
};

std::vector<Type> types_of(const Instruction& in) {
  std::vector<Type> all;
  for (const std::string& modifier : in.modifiers) {
    if (const auto type = ptx::type_from_name(modifier)) all.push_back(*type);
  }
  return all;
}

bool is_pair(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

Decision decision_of(const Instruction& in) {
  static constexpr std::pair<ptx::Modifier, Decision> kRows[] = {
      {ptx::Modifier::Eq, Decision::Equal},
      {ptx::Modifier::Equ, Decision::Equal},
      {ptx::Modifier::Ne, Decision::NotEqual},
      {ptx::Modifier::Neu, Decision::NotEqual},
      {ptx::Modifier::Lt, Decision::Less},
      {ptx::Modifier::Ltu, Decision::Less},
      {ptx::Modifier::Le, Decision::LessOrEqual},
      {ptx::Modifier::Leu, Decision::LessOrEqual},
      {ptx::Modifier::Gt, Decision::Greater},
      {ptx::Modifier::Gtu, Decision::Greater},
      {ptx::Modifier::Ge, Decision::GreaterOrEqual},
      {ptx::Modifier::Geu, Decision::GreaterOrEqual},
      {ptx::Modifier::Rni, Decision::ToNearest},
      {ptx::Modifier::Rmi, Decision::Down},
      {ptx::Modifier::Rpi, Decision::Up},
      {ptx::Modifier::Rzi, Decision::ToZero},
  };
  for (const auto& [modifier, decision] : kRows) {
    if (in.has(modifier)) return decision;
  }
  return Decision::None;
}

class Planner {
 public:
  Planner(const Code& code, ShadowErrors errors)
      : code_(code), body_(code.source->body), errors_(errors) {}

  Plan make() {
    const FloatRegisters carriers = find_float_registers(*code_.source);
    plan_.code = &code_;
    plan_.planes_each = carriers.pairs ? 2 : 1;
    planes_.assign(code_.registers.size(), kNone);
    plan_.plane_of_offset.assign(code_.frame_bytes / kOffsetStep + 1, kNone);
    for (size_t reg = 0; reg < planes_.size(); ++reg) {
      if (!carriers.holds[reg] || code_.registers[reg].bytes == 0) continue;
      planes_[reg] = plan_.planes;
      plan_.plane_of_offset[code_.registers[reg].offset / kOffsetStep] = plan_.planes;
      plan_.planes += plan_.planes_each;
    }
    find_fixed();
    plan_.operations.resize(body_.size());
    for (uint32_t i = 0; i < body_.size(); ++i) {
      Operation& made = plan_.operations[i];
      made.index = i;
      plan_one(body_[i], made);
      if (errors_ == ShadowErrors::Fusable) {
        keep_fusable(body_[i], made);
      } else if (errors_ != ShadowErrors::All) {
        keep_underflow(body_[i], made);
      }
      if (made.meaning == Meaning::None) forget(body_[i], made);
    }
    find_steps();
    return std::move(plan_);
  }

 private:
  /// Finds registers that a single mov of a constant writes and nothing else does.
  void find_fixed() {
    std::vector<uint32_t> writes(planes_.size());
    fixed_.assign(planes_.size(), nullptr);
    for (const Instruction& in : body_) {
      each_result(in, [&](const Operand& to) { ++writes[to.reg]; });
      if (in.opcode != Opcode::Mov || in.guard || in.operands.size() != 2 ||
          in.operands[0].kind != Operand::Kind::Register) {
        continue;
      }
      const auto kind = in.operands[1].kind;
      if (kind == Operand::Kind::Float || kind == Operand::Kind::Integer) {
        fixed_[in.operands[0].reg] = &in.operands[1];
      }
    }
    for (size_t reg = 0; reg < writes.size(); ++reg) {
      if (writes[reg] != 1) fixed_[reg] = nullptr;
    }
  }

  Source source(const Operand& operand) const {
    Source made;
    made.bits = operand.bits;
    made.fixed = operand.kind != Operand::Kind::Register;
    if (operand.kind != Operand::Kind::Register) return made;
    const RegisterPlace& place = code_.registers[operand.reg];
    made.reg = operand.reg;
    made.offset = place.offset;
    made.bytes = place.bytes;
    made.plane = planes_[operand.reg];
    made.negated = operand.negated;
    made.fixed = fixed_[operand.reg] != nullptr;
    if (made.fixed) made.bits = fixed_[operand.reg]->bits;
    return made;
  }

  void take_operands(const Instruction& in, Operation& made, size_t first = 1) const {
    for (size_t i = first; i < in.operands.size(); ++i) {
      made.operands.push_back(source(in.operands[i]));
    }
  }
  void take_results(const Operand& to, Operation& made) const {
    if (to.kind == Operand::Kind::Register) made.results.push_back(source(to));
    for (const Operand& element : to.elements) {
      if (to.kind == Operand::Kind::Vector) made.results.push_back(source(element));
    }
  }

  void forget(const Instruction& in, Operation& made) const {
    made.results.clear();
    each_result(in, [&](const Operand& to) {
      if (planes_[to.reg] != kNone) made.results.push_back(source(to));
    });
    if (!made.results.empty()) made.meaning = Meaning::Forget;
  }

  void plan_one(const Instruction& in, Operation& made) const {
    if (in.operands.empty()) return;
    if (plan_arithmetic(in, made) || plan_conversion(in, made) || plan_move(in, made)) return;
    plan_memory(in, made);
  }

  bool plan_arithmetic(const Instruction& in, Operation& made) const {
    const Meaning* const meaning = kArithmetic.find(in.opcode);
    if (meaning == nullptr) return false;
    const std::vector<Type> types = types_of(in);
    if (types.empty()) return false;
    const Type type = types.back();
    const Format format = format_of(type);
    if (format == Format::None || in.operands[0].kind != Operand::Kind::Register) return false;
    if (in.operands.size() > 4 || in.has(ptx::Modifier::Xorsign)) return false;
    made.meaning = *meaning;
    made.from = made.to = format;
    made.pairs = is_pair(type) ? 2 : 1;
    made.saturates = in.has(ptx::Modifier::Sat);
    set_errors(in, made);
    take_results(in.operands[0], made);
    take_operands(in, made);
    made.magic = adds_magic(made);
    return true;
  }

  /// A sum with such a constant is meant to round to a whole number.
  static bool adds_magic(const Operation& made) {
    if (made.to != Format::F32 && made.to != Format::F64) return false;
    const auto fixed = [&](size_t i) {
      return i < made.operands.size() && made.operands[i].fixed &&
             is_magic(value_of(made.operands[i].bits, made.to), made.to);
    };
    if (made.meaning == Meaning::Fma) return fixed(2);
    return (made.meaning == Meaning::Add || made.meaning == Meaning::Sub) && (fixed(0) || fixed(1));
  }

  static void set_errors(const Instruction& in, Operation& made) {
    static constexpr std::array kDirected = {ptx::Modifier::Rz, ptx::Modifier::Rm,
                                             ptx::Modifier::Rp};
    made.unit = unit_of(made.to);
    for (const ptx::Modifier mode : kDirected) {
      if (in.has(mode)) made.unit *= 2;
    }
    const bool exact = made.meaning == Meaning::Min || made.meaning == Meaning::Max ||
                       made.meaning == Meaning::Neg || made.meaning == Meaning::Abs ||
                       made.meaning == Meaning::CopySign;
    if (exact) made.unit = 0;
    // Results below the smallest normal value keep fewer digits, or none.
    if (!exact && made.to != Format::F64) {
      const bool flushes = made.to == Format::F32 && in.has(ptx::Modifier::Ftz);
      made.absolute = flushes ? smallest_normal(made.to) : half_smallest(made.to);
    }
    const bool approximate =
        in.has(ptx::Modifier::Approx) || in.has(ptx::Modifier::Full) || in.opcode == Opcode::Tanh;
    for (const Approximation& row : kApproximations) {
      if (approximate && row.opcode == in.opcode && row.format == made.to) {
        made.unit = row.unit;
        made.absolute += row.absolute;
      }
    }
  }

  /// A product without a rounding modifier may be fused into an fma, and so may a quotient computed
  /// as a product with a reciprocal.
  static void keep_fusable(const Instruction& in, Operation& made) {
    const bool is_product = made.meaning == Meaning::Mul && !in.has(ptx::Modifier::Rn) &&
                            !in.has(ptx::Modifier::Rz) && !in.has(ptx::Modifier::Rm) &&
                            !in.has(ptx::Modifier::Rp);
    const bool is_quotient = made.meaning == Meaning::Div &&
                             (in.has(ptx::Modifier::Approx) || in.has(ptx::Modifier::Full));
    if (!is_product && !is_quotient) made.unit = made.absolute = 0;
  }

  /// Subnormal sums and roots of floats are exact; other subnormal results are not.
  void keep_underflow(const Instruction& in, Operation& made) const {
    static constexpr std::array kUnderflow = {Meaning::Mul, Meaning::Fma, Meaning::Div,
                                              Meaning::Rcp, Meaning::Ex2, Meaning::Convert};
    const bool rounds = std::ranges::find(kUnderflow, made.meaning) != kUnderflow.end();
    const bool narrows = made.meaning != Meaning::Convert || made.unit != 0;
    const bool flushes = errors_ == ShadowErrors::UnderflowOrFlush && in.has(ptx::Modifier::Ftz);
    made.unit = 0;
    made.absolute = 0;
    if (rounds && narrows) {
      made.absolute = flushes ? smallest_normal(made.to) : half_smallest(made.to);
    } else if (flushes && (made.meaning == Meaning::Add || made.meaning == Meaning::Sub)) {
      made.absolute = smallest_normal(made.to);
    } else if (made.meaning == Meaning::Atomic && made.to == Format::F32) {
      // In global memory the addend and the sum are flushed, even if the kernel does not use .ftz.
      made.absolute = 2 * smallest_normal(made.to);
    }
  }

  bool plan_conversion(const Instruction& in, Operation& made) const {
    const std::vector<Type> types = types_of(in);
    if (in.has(ptx::Trait::Compares)) {
      if (types.empty() || format_of(types.back()) == Format::None || is_pair(types.back()) ||
          in.operands.size() < 3 || in.opcode == Opcode::Set) {
        return false;
      }
      made.meaning = Meaning::Compare;
      made.decision = decision_of(in);
      made.from = format_of(types.back());
      take_operands(in, made);
      return true;
    }
    if (in.opcode != Opcode::Cvt || types.size() < 2) return false;
    made.to = format_of(types[0]);
    made.from = format_of(types[1]);
    if (types[0] == Type::TF32) made.to = Format::F32;
    if (made.to == Format::None && made.from == Format::None) return false;
    if (made.to == Format::None) return plan_to_integer(in, types, made);
    take_results(in.operands[0], made);
    take_operands(in, made);
    if (made.from == Format::None) {
      if (ptx::byte_size(types[1]) < 4 && ptx::name_of(types[1])[0] == 'e') return false;
      made.meaning = Meaning::FromInteger;
      made.is_unsigned = ptx::name_of(types[1])[0] == 'u';
      made.element = ptx::byte_size(types[1]);
      made.unit = unit_of(made.to);
      return true;
    }
    static constexpr std::array kWhole = {ptx::Modifier::Rni, ptx::Modifier::Rzi,
                                          ptx::Modifier::Rmi, ptx::Modifier::Rpi};
    const bool whole = std::ranges::any_of(kWhole, [&](ptx::Modifier m) { return in.has(m); });
    made.meaning = whole ? Meaning::Discretise : Meaning::Convert;
    if (whole) made.decision = decision_of(in);
    made.pairs = is_pair(types[0]) ? 2 : 1;
    made.picks_last = made.pairs == 2;
    made.saturates = in.has(ptx::Modifier::Sat);
    const bool narrows = unit_of(made.to) > unit_of(made.from) || types[0] == Type::TF32;
    made.unit = types[0] == Type::TF32 ? 0x1p-11 : narrows ? unit_of(made.to) : 0;
    if (narrows && in.has(ptx::Modifier::Rz)) made.unit *= 2;
    if (narrows && made.to == Format::F16) made.absolute = 0x1p-25;
    if (narrows && made.to == Format::F32) made.absolute = 0x1p-150;
    return true;
  }

  bool plan_to_integer(const Instruction& in, const std::vector<Type>& types,
                       Operation& made) const {
    const char kind = ptx::name_of(types[0])[0];
    if (kind != 's' && kind != 'u') return false;  // 8-bit floats, and packed ones.
    made.meaning = Meaning::ToInteger;
    made.decision = decision_of(in);
    take_operands(in, made);
    each_result(in, [&](const Operand& to) {
      if (planes_[to.reg] != kNone) made.results.push_back(source(to));
    });
    return true;
  }

  bool plan_move(const Instruction& in, Operation& made) const {
    const Operand& to = in.operands[0];
    const bool wanted = [&] {
      bool any = false;
      each_result(in, [&](const Operand& one) { any = any || planes_[one.reg] != kNone; });
      return any;
    }();
    if (!wanted) return false;
    if (in.opcode == Opcode::Mov && in.operands.size() == 2) {
      const Operand& from = in.operands[1];
      made.meaning = to.kind == Operand::Kind::Vector     ? Meaning::Unpack
                     : from.kind == Operand::Kind::Vector ? Meaning::Pack
                                                          : Meaning::Copy;
      take_results(to, made);
      for (const Operand& part : from.elements) made.operands.push_back(source(part));
      if (from.kind != Operand::Kind::Vector) made.operands.push_back(source(from));
      return true;
    }
    if (in.opcode == Opcode::Selp && in.operands.size() == 4) made.meaning = Meaning::Copy;
    if (in.opcode == Opcode::Shfl) made.meaning = Meaning::Shuffle;
    if (is_bitwise(in)) made.meaning = Meaning::Bits;
    if (made.meaning == Meaning::None) return false;
    if (to.kind == Operand::Kind::PredPair) {
      made.results.push_back(source(to.elements[0]));
    } else {
      take_results(to, made);
    }
    take_operands(in, made);
    return true;
  }

  void plan_memory(const Instruction& in, Operation& made) const {
    const std::vector<Type> types = types_of(in);
    if (in.has(ptx::Trait::RegisterMatrix)) return plan_matrix(in, made);
    if (moves_rows(in)) {
      made.meaning = in.opcode == Opcode::Stmatrix ? Meaning::StoreFragment : Meaning::LoadFragment;
      made.element = 2;
      return;
    }
    if (types.empty() || in.has(ptx::Modifier::Param) || types.back() == Type::B128) return;
    const bool reads = in.has(ptx::Trait::Reads), writes = in.has(ptx::Trait::Writes);
    if (!reads && !writes) return;
    const bool load = reads && !writes;
    made.element = ptx::byte_size(types.back());
    if (made.element != 2 && made.element != 4 && made.element != 8) return;
    if (load) {
      made.meaning = Meaning::Load;
      take_results(in.operands[0], made);
      if (std::ranges::all_of(made.results, [](const Source& s) { return s.plane == kNone; })) {
        made.meaning = Meaning::None;
      }
    } else if (in.opcode == Opcode::St) {
      made.meaning = Meaning::Store;
      const Operand& value = in.operands.back();
      if (value.elements.empty()) made.operands.push_back(source(value));
      for (const Operand& part : value.elements) made.operands.push_back(source(part));
    } else {
      made.meaning = Meaning::Atomic;
      made.from = made.to = format_of(types.back());
      made.pairs = is_pair(types.back()) ? 2 : 1;
      made.unit = unit_of(made.to);
      if (reads) take_results(in.operands[0], made);
      take_operands(in, made, reads ? 2 : 1);
    }
  }

  /// Returns the index into Code::tensors; kNone if the step is not a product of mma, wmma or
  /// wgmma.
  static uint32_t matrices_of(const Step& step) {
    if (const auto* const product = step.operands.find<ProductOperands>()) return product->matrices;
    const auto* const fragment = step.operands.find<FragmentOperands>();
    return fragment == nullptr ? kNone : fragment->matrices;
  }

  void plan_matrix(const Instruction& in, Operation& made) const {
    const auto found = std::ranges::find_if(code_.steps, [&](const Step& step) {
      return &body_[std::min<size_t>(step.origin, body_.size() - 1)] == &in &&
             matrices_of(step) < code_.tensors.size();
    });
    if (found == code_.steps.end() || code_.tensors.empty()) return;
    const TensorStep& tensor = code_.tensors[matrices_of(*found)];
    if (!in.has(ptx::Modifier::Mma) && in.opcode != Opcode::Mma) {
      const Format format = format_of(tensor.d.type == Type::TF32 ? Type::F32 : tensor.d.type);
      if (format == Format::None) return;
      made.meaning = tensor.store ? Meaning::StoreFragment : Meaning::LoadFragment;
      made.tensor = &tensor;
      made.element = bytes_of(format);
      return;
    }
    made.from = format_of(tensor.a.type == Type::TF32 ? Type::F32 : tensor.a.type);
    made.to = format_of(tensor.d.type);
    if (made.from == Format::None || made.to == Format::None) return;
    made.meaning = Meaning::Matrix;
    made.tensor = &tensor;
    made.unit = 2 * unit_of(made.to);
  }

  void find_steps() {
    plan_.roles.assign(code_.steps.size(), 0);
    for (size_t i = 0; i < code_.steps.size(); ++i) {
      const Step& step = code_.steps[i];
      if (step.origin >= plan_.operations.size()) continue;
      Operation& made = plan_.operations[step.origin];
      if (step.counted != 0) plan_.roles[i] |= 1;
      const bool memory = made.meaning == Meaning::Load || made.meaning == Meaning::Store ||
                          made.meaning == Meaning::Atomic || moves_fragment(made.meaning);
      if (!memory || step.memory() == nullptr) continue;
      made.access = &step;
      plan_.roles[i] |= 2;
    }
  }

  const Code& code_;
  const std::vector<Instruction>& body_;
  const ShadowErrors errors_;
  Plan plan_;
  std::vector<uint32_t> planes_;
  std::vector<const Operand*> fixed_;
};
}  // namespace

Plan make_plan(const Code& code, ShadowErrors errors) { return Planner(code, errors).make(); }

}  // namespace gpuemu::emulator
