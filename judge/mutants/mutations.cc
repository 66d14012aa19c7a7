#include "judge/mutants/mutations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

namespace gpuemu {
namespace {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Trait;
using Texts = std::vector<std::string>;

/// Returns the type that an instruction computes in: its last modifier that is a type.
ptx::Type type_of(const Instruction& one) {
  for (size_t i = one.modifiers.size(); i-- > 0;) {
    if (const auto type = ptx::type_from_name(one.modifiers[i])) return *type;
  }
  return ptx::Type::None;
}

bool is_float(ptx::Type type) {
  using enum ptx::Type;
  return type == F16 || type == F16x2 || type == BF16 || type == BF16x2 || type == F32 ||
         type == F64;
}

std::string with_modifier(const Statement& statement, std::string_view from, std::string_view to) {
  Statement changed = statement;
  const std::string wanted = fmt::format(".{}", from);
  for (size_t at = changed.opcode.find(wanted); at != std::string::npos;
       at = changed.opcode.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    if (end < changed.opcode.size() && changed.opcode[end] != '.') continue;
    changed.opcode.replace(at + 1, from.size(), to);
    return changed.text();
  }
  return "";
}

std::string with_operand(const Statement& statement, size_t index, std::string operand) {
  Statement changed = statement;
  changed.operands[index] = std::move(operand);
  return changed.text();
}

/// Builds `opcode` with the given operands of the statement, under its guard.
std::string made_of(const Statement& statement, std::string opcode,
                    std::initializer_list<size_t> operands) {
  Statement changed = statement;
  changed.opcode = std::move(opcode);
  changed.operands.clear();
  for (const size_t index : operands) changed.operands.push_back(statement.operands[index]);
  return changed.text();
}

// --- Constants -----------------------------------------------------------------------------------

std::string float_text(const Operand& like, double value) {
  if (like.float_bits == 64) return fmt::format("0d{:016X}", std::bit_cast<uint64_t>(value));
  return fmt::format("0f{:08X}", std::bit_cast<uint32_t>(static_cast<float>(value)));
}

double value_of(const Operand& operand) {
  return operand.float_bits == 64 ? std::bit_cast<double>(operand.bits)
                                  : std::bit_cast<float>(static_cast<uint32_t>(operand.bits));
}

/// Returns a plausible mistaken constant: one identity for another, 1 for 1/2, else a wrong digit.
double mistaken(double value) {
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return 0;
  if (value == 0) return -std::numeric_limits<double>::infinity();
  if (std::fabs(value) == 1) return value / 2;
  if (std::fabs(value) == 0.5) return 2 * value;
  return value * 0.984375;  // For example 0.044 for 0.044715.
}

Texts swap_constant(const MutationSite& site) {
  Texts out;
  for (size_t i = 0; i < site.instruction.operands.size(); ++i) {
    const Operand& operand = site.instruction.operands[i];
    if (operand.kind != Operand::Kind::Float) continue;
    const double value = value_of(operand);
    out.push_back(with_operand(site.statement, i, float_text(operand, mistaken(value))));
  }
  return out;
}

// --- Synchronization -----------------------------------------------------------------------------

Texts drop_barrier(const MutationSite& site) {
  const Instruction& one = site.instruction;
  const bool waits =
      one.has(Modifier::Sync) || one.has(Modifier::WaitGroup) || one.has(Modifier::WaitAll);
  const bool barrier = one.has(Trait::Synchronizes) && one.has(Modifier::Sync);
  const bool fence = one.has(Trait::Fences);
  const bool copies = one.opcode == Opcode::Cp && waits;
  return barrier || fence || copies ? Texts{""} : Texts{};
}

Texts shuffle_mask(const MutationSite& site) {
  const Instruction& one = site.instruction;
  const bool takes_mask = one.has(Trait::TakesMembers) && one.has(Modifier::Sync);
  if (!takes_mask || one.operands.empty()) return {};
  const Operand& mask = one.operands.back();
  constexpr uint32_t kLowerHalf = 0xffff;
  if (mask.kind != Operand::Kind::Integer || static_cast<uint32_t>(mask.bits) == kLowerHalf) {
    return {};
  }
  return {with_operand(site.statement, one.operands.size() - 1, fmt::format("{}", kLowerHalf))};
}

Texts shuffle_lane(const MutationSite& site) {
  const Instruction& one = site.instruction;
  if (one.opcode != Opcode::Shfl || one.operands.size() < 3) return {};
  const Operand& lane = one.operands[2];
  if (lane.kind != Operand::Kind::Integer) return {};
  return {with_operand(site.statement, 2, fmt::format("{}", lane.bits == 0 ? 1 : lane.bits / 2))};
}

// --- Conditions ----------------------------------------------------------------------------------

Texts negate_predicate(const MutationSite& site) {
  const std::string& guard = site.statement.guard;
  if (guard.empty()) return {};
  Statement changed = site.statement;
  const bool negated = guard.starts_with("@!");
  changed.guard = fmt::format("{}{}", negated ? "@" : "@!", guard.substr(negated ? 2 : 1));
  return {changed.text()};
}

Texts loosen_predicate(const MutationSite& site) {
  if (!site.instruction.has(Trait::Compares)) return {};
  constexpr std::pair<Modifier, Modifier> kPairs[] = {
      {Modifier::Lt, Modifier::Le},   {Modifier::Le, Modifier::Lt},
      {Modifier::Gt, Modifier::Ge},   {Modifier::Ge, Modifier::Gt},
      {Modifier::Lo, Modifier::Ls},   {Modifier::Ls, Modifier::Lo},
      {Modifier::Hi, Modifier::Hs},   {Modifier::Hs, Modifier::Hi},
      {Modifier::Eq, Modifier::Ne},   {Modifier::Ne, Modifier::Eq},
      {Modifier::Ltu, Modifier::Leu}, {Modifier::Leu, Modifier::Ltu},
      {Modifier::Gtu, Modifier::Geu}, {Modifier::Geu, Modifier::Gtu}};
  for (const auto& [from, to] : kPairs) {
    if (site.instruction.has(from)) {
      return {with_modifier(site.statement, name_of(from), name_of(to))};
    }
  }
  return {};
}

// --- Arithmetic ----------------------------------------------------------------------------------

void replace_opcode(Statement& statement, Opcode from, Opcode to) {
  statement.opcode.replace(0, ptx::info(from).text.size(), ptx::info(to).text);
}

Texts add_to_sub(const MutationSite& site) {
  const Instruction& one = site.instruction;
  if (one.opcode != Opcode::Add || !is_float(type_of(one))) return {};
  Statement changed = site.statement;
  replace_opcode(changed, Opcode::Add, Opcode::Sub);
  return {changed.text()};
}

Texts swap_extreme(const MutationSite& site) {
  const Instruction& one = site.instruction;
  static constexpr ptx::PerOpcode<Opcode> kOther(
      {{Opcode::Max, Opcode::Min}, {Opcode::Min, Opcode::Max}});
  const Opcode* const other = kOther.find(one.opcode);
  if (other == nullptr) return {};
  Statement changed = site.statement;
  replace_opcode(changed, one.opcode, *other);
  return {changed.text()};
}

std::string move_of(const Instruction& one) {
  const ptx::Type type = type_of(one);
  if (type == ptx::Type::F16 || type == ptx::Type::BF16) return "mov.b16";
  if (type == ptx::Type::F16x2 || type == ptx::Type::BF16x2) return "mov.b32";
  return fmt::format("mov.{}", ptx::name_of(type));
}

bool same_register(const Operand& a, const Operand& b) {
  return a.kind == Operand::Kind::Register && b.kind == Operand::Kind::Register && a.reg == b.reg;
}

Texts drop_accumulate(const MutationSite& site) {
  const Instruction& one = site.instruction;
  if (!is_float(type_of(one))) return {};
  if (one.opcode == Opcode::Fma && one.operands.size() == 4) {
    Statement changed = site.statement;
    replace_opcode(changed, Opcode::Fma, Opcode::Mul);
    changed.operands.pop_back();
    return {changed.text()};
  }
  if (one.opcode != Opcode::Add || one.operands.size() != 3) return {};
  // sum = sum + x becomes sum = x.
  if (same_register(one.operands[0], one.operands[1])) {
    return {made_of(site.statement, move_of(one), {0, 2})};
  }
  if (same_register(one.operands[0], one.operands[2])) {
    return {made_of(site.statement, move_of(one), {0, 1})};
  }
  return {};
}

Texts drop_mul(const MutationSite& site) {
  const Instruction& one = site.instruction;
  if (one.opcode != Opcode::Mul || !is_float(type_of(one)) || one.operands.size() != 3) return {};
  const size_t kept = one.operands[1].kind == Operand::Kind::Register ? 1 : 2;
  return {made_of(site.statement, move_of(one), {0, kept})};
}

Texts through_half(const MutationSite& site) {
  const Instruction& one = site.instruction;
  if (!one.has(Trait::FloatArithmetic) || type_of(one) != ptx::Type::F32 ||
      !site.statement.guard.empty()) {
    return {};
  }
  const std::string& to = site.statement.operands.front();
  return {
      fmt::format("{{ .reg .b16 %gpuemu_half; {} cvt.rn.f16.f32 %gpuemu_half, {}; "
                  "cvt.f32.f16 {}, %gpuemu_half; }}",
                  site.statement.text(), to, to)};
}

// --- Memory --------------------------------------------------------------------------------------

bool touches_tensors(const Instruction& one) {
  return (one.has(Modifier::Global) || one.has(Modifier::Shared) || one.has(Modifier::SharedCta)) &&
         (one.opcode == Opcode::Ld || one.opcode == Opcode::St);
}

Texts shift_index(const MutationSite& site) {
  const Instruction& one = site.instruction;
  const auto bytes = static_cast<int64_t>(ptx::byte_size(type_of(one)));
  if (!touches_tensors(one) || bytes == 0) return {};
  for (size_t i = 0; i < one.operands.size(); ++i) {
    const Operand& address = one.operands[i];
    if (address.kind != Operand::Kind::Address || address.elements.size() != 1) continue;
    std::string base = site.statement.operands[i];
    base = base.substr(1, base.find_first_of("+]") - 1);
    // A minus before the offset belongs to it too.
    while (!base.empty() && base.back() == ' ') base.pop_back();
    Texts out;
    for (const int64_t step : {bytes, -bytes}) {
      out.push_back(
          with_operand(site.statement, i, fmt::format("[{}{:+}]", base, address.offset + step)));
    }
    return out;
  }
  return {};
}

Texts drop_store(const MutationSite& site) {
  const bool stores = touches_tensors(site.instruction) && site.instruction.opcode == Opcode::St;
  return stores ? Texts{""} : Texts{};
}

Texts atomic_to_plain(const MutationSite& site) {
  const Instruction& one = site.instruction;
  const bool returns = one.opcode == Opcode::Atom;
  if ((!returns && one.opcode != Opcode::Red) || !site.statement.guard.empty()) return {};
  constexpr Modifier kOperations[] = {Modifier::Add, Modifier::Min, Modifier::Max,
                                      Modifier::And, Modifier::Or,  Modifier::Xor};
  const auto* operation =
      std::ranges::find_if(kOperations, [&](Modifier one_of) { return one.has(one_of); });
  const size_t address = returns ? 1 : 0;
  if (operation == std::end(kOperations) || one.operands.size() != address + 2) return {};
  const ptx::Type type = type_of(one);
  const std::string space = one.has(Modifier::Shared)   ? "shared"
                            : one.has(Modifier::Global) ? "global"
                                                        : "";
  const std::string bits = fmt::format("b{}", 8 * ptx::byte_size(type));
  const bool logical =
      *operation == Modifier::And || *operation == Modifier::Or || *operation == Modifier::Xor;
  if (space.empty() || type == ptx::Type::None || type == ptx::Type::F16x2) return {};
  const std::string kind = logical ? bits : std::string(ptx::name_of(type));
  const std::string rounding = is_float(type) && *operation == Modifier::Add ? ".rn" : "";
  const std::string& from = site.statement.operands[address];
  const std::string& value = site.statement.operands[address + 1];
  std::string text = fmt::format(
      "{{ .reg .{0} %gpuemu_old, %gpuemu_new; ld.{1}.{0} %gpuemu_old, {2}; "
      "{3}{4}.{0} %gpuemu_new, %gpuemu_old, {5}; st.{1}.{0} {2}, %gpuemu_new; ",
      kind, space, from, name_of(*operation), rounding, value);
  if (returns) text += fmt::format("mov.{} {}, %gpuemu_old; ", kind, site.statement.operands[0]);
  return {text + "}"};
}

constexpr Mutation kMutations[] = {
    {"swap_constant",
     "a literal becomes another: infinity 0, 0 minus infinity, 1 a half, else its last digits",
     swap_constant},
    {"drop_barrier", "a barrier, a fence or a wait for copies is missing", drop_barrier},
    {"negate_predicate", "a guard has the opposite sense", negate_predicate},
    {"loosen_predicate", "a comparison is off by one: < for <=, == for !=", loosen_predicate},
    {"add_to_sub", "a sum of reals becomes a difference", add_to_sub},
    {"swap_extreme", "max becomes min, min becomes max", swap_extreme},
    {"drop_accumulate", "the sum so far is overwritten instead of added to", drop_accumulate},
    {"through_half", "a result goes through float16", through_half},
    {"drop_mul", "a factor is forgotten", drop_mul},
    {"shift_index", "a load or store is one element beside its place", shift_index},
    {"drop_store", "a result is not stored", drop_store},
    {"atomic_to_plain", "an atomic operation becomes load, operation and store", atomic_to_plain},
    {"shuffle_mask", "an exchange names half of its lanes", shuffle_mask},
    {"shuffle_lane", "an exchange is with another lane", shuffle_lane},
};

}  // namespace

std::span<const Mutation> known_mutations() { return kMutations; }

}  // namespace gpuemu
