// Decodes one function's body, and the instructions that table rows describe completely.
#include <algorithm>
#include <array>

#include "runtime/emulator/decode/counting_code.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/decode/modifiers.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/ptx/flow/repeated_reads.h"
#include "runtime/ptx/flow/words_of_cas.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

void Decoder::run() {
  flow_ = ptx::analyse(function());
  awaited_reads_ = ptx::awaited_reads(function(), flow_);
  words_of_cas_ = ptx::words_of_cas(function());
  const auto& body = function().body;
  first_.resize(body.size() + 1);
  for (current_ = 0; current_ < body.size(); ++current_) {
    first_[current_] = static_cast<uint32_t>(code_.steps.size());
    one(body[current_]);
  }
  current_ = body.empty() ? 0 : static_cast<uint32_t>(body.size() - 1);
  first_[body.size()] = static_cast<uint32_t>(code_.steps.size());
  guard_ = {};
  emit(steps::ret);
  // Passes that move or merge instructions would hide them from counters and observers.
  if (!program_.counting && !program_.plain) hoist_invariants();
  code_.used_early = used_early(function(), flow_);
  // The prologue's results are defined before any step runs.
  const Prologue& prologue = code_.prologue;
  for (const auto* part : {&prologue.once, &prologue.per_warp, &prologue.per_block}) {
    for (const Step& step : *part) {
      const Operand& to = function().body[step.origin].operands[0];
      std::erase_if(code_.used_early, [&](uint32_t reg) {
        return to.kind == Operand::Kind::Register && to.reg == reg;
      });
    }
  }
  resolve_targets();
  if (program_.counting) insert_counters(program_, code_, flow_);
  mark_straight_lines(code_);
}

void Decoder::one(const Instruction& instruction) {
  guard_ = {};
  if (instruction.guard) {
    guard_ = {.predicate = offsets_[instruction.guard->reg],
              .flip = instruction.guard->negated ? kNone : 0};
  }
  const size_t begin = code_.steps.size();
  const Form form(instruction);
  refusal_.clear();
  watch_division(instruction, form);
  if (!try_decoders(instruction, form) || !refusal_.empty()) {
    code_.steps.resize(begin);
    std::erase_if(code_.memory_uses, [&](const MemoryUse& use) { return use.step >= begin; });
    pending_.clear();
    uint32_t reason = kNone;
    if (!refusal_.empty()) {
      reason = static_cast<uint32_t>(code_.refusals.size());
      code_.refusals.push_back(refusal_);
    }
    emit<steps::unsupported>({.reason = reason});
  }
  finish_destinations();
  if (code_.steps.size() > begin) code_.steps[begin].counted = 1;
}

/// Emits a check before an integer division by a register. Division by zero gives a value on
/// hardware but is undefined in the language.
void Decoder::watch_division(const Instruction& in, const Form& form) {
  if ((in.opcode != Opcode::Div && in.opcode != Opcode::Rem) || in.operands.size() != 3) return;
  const std::string_view type = ptx::name_of(form.type());
  const Operand &to = in.operands[0], &by = in.operands[2];
  const bool integer = type.starts_with("s") || type.starts_with("u");
  if (!integer || by.kind != Operand::Kind::Register || to.kind != Operand::Kind::Register) return;
  const uint32_t divisor = source(by, emulator::register_class(form.type()), form.type());
  const auto bytes = static_cast<uint8_t>(ptx::byte_size(form.type()));
  emit<steps::check_divisor>({.quotient = to.reg, .bytes = bytes}).src[0] = divisor;
}

bool Decoder::try_decoders(const Instruction& instruction, const Form& form) {
  if (instruction.has(ptx::Trait::Refused) || !is_known_form(instruction)) return false;
  if (instruction.opcode == Opcode::Mov) return move(instruction, form);
  if (is_of_three(instruction)) return extreme_of_three(instruction, form);
  if (instruction.has(ptx::Trait::Compares)) return comparison(instruction, form);
  if (pure(instruction, form)) return true;
  const DecodeFunction* const decode = decoder_of(instruction.opcode);
  return decode != nullptr && (*decode)(*this, instruction, form);
}

namespace {
/// Returns whether results of the type are rounded to nearest by default, as all floats are.
bool rounds_to_nearest(Type type) {
  const std::string_view name = ptx::name_of(type);
  return name[0] == 'f' || name.starts_with("bf") || name[0] == 'e' || type == Type::TF32;
}

bool is_combination(const std::string& name) {
  return name == "and" || name == "or" || name == "xor";
}
}  // namespace

/// Returns the row for the instruction's rounding; null if there is none.
const Row* Decoder::row_of(const Instruction& instruction, const Form& form) const {
  const auto row = [](const std::string& key) {
    const auto found = handlers().find(key);
    return found == handlers().end() ? nullptr : &found->second;
  };
  const Row* plain = row(form.key);
  if (!form.rounding || (plain != nullptr && plain->rounded != nullptr)) return plain;
  if (*form.rounding == Rounding::Nearest) return rounds_to_nearest(form.type()) ? plain : nullptr;
  const char* mode = *form.rounding == Rounding::Zero   ? "rz"
                     : *form.rounding == Rounding::Down ? "rm"
                                                        : "rp";
  const std::string name(instruction.name());
  return row(canonical_key(name + "." + mode + form.key.substr(name.size())));
}

bool Decoder::pure(const Instruction& instruction, const Form& form) {
  const Row* found = row_of(instruction, form);
  if (found == nullptr || instruction.operands.size() != found->sources + 1u) return false;
  const Row& row = *found;
  const Rounding rounding = form.rounding.value_or(Rounding::Nearest);
  std::array<uint32_t, 4> sources = {};
  for (uint32_t i = 0; i < row.sources; ++i) {
    Type type = form.type();
    if (instruction.opcode == Opcode::Cvt || (instruction.opcode == Opcode::Slct && i == 2)) {
      type = form.types.back();
    }
    sources[i] = source(instruction.operands[i + 1], row.src[i],
                        row.src[i] == emulator::register_class(type) ? type : Type::None);
  }
  const bool directed = rounding != Rounding::Nearest && row.rounded != nullptr;
  const uint32_t to = destination(instruction.operands[0], row.dst, is_signed(form.type()));
  Step& step = emit(directed ? row.rounded : row.run);
  step.src = sources;
  if (directed) step.operands = RoundingOperands{.mode = static_cast<uint32_t>(rounding)};
  step.dst = to;
  // The register holds small signed results sign-extended, as the wider register does.
  if ((form.type() == Type::S8 || form.type() == Type::S16) && instruction.opcode == Opcode::Cvt) {
    Step& widen = emit(handlers().at(form.type() == Type::S8 ? "cvt.s32.s8" : "cvt.s32.s16").run);
    widen.dst = to;
    widen.src[0] = to;
  }
  return true;
}

/// Returns what `set` writes for true; for packed operands, in one half of a word.
uint32_t true_of(Type type, bool packed) {
  switch (type) {
    case Type::F32:
      return 0x3f800000;
    case Type::F16:
    case Type::F16x2:
      return 0x3c00;
    case Type::BF16:
    case Type::BF16x2:
      return 0x3f80;
    case Type::U16:
    case Type::S16:
      return 0xffff;
    default:
      return packed ? 0xffff : kNone;
  }
}

/// Emits the result of `set` from its predicates. `high` is kNone unless the operands are packed.
bool Decoder::set_values(const Instruction& instruction, Type type, uint32_t low, uint32_t high) {
  static constexpr std::array kResults = {Type::U32,   Type::S32,  Type::F32,
                                          Type::U16,   Type::S16,  Type::F16,
                                          Type::F16x2, Type::BF16, Type::BF16x2};
  if (std::ranges::find(kResults, type) == kResults.end()) return false;
  const uint32_t yes = true_of(type, high != kNone);
  const auto select = [&](uint32_t value, uint32_t when, uint32_t out) {
    const uint32_t one = constant(value, false), zero = constant(0, false);
    Step& step = emit(handlers().at("selp.b32").run);
    step.src = {one, zero, when, 0};
    step.dst = out;
  };
  const uint32_t out = destination(instruction.operands[0], RegisterClass::Narrow);
  if (high == kNone) {
    select(yes, low, out);
    return true;
  }
  const uint32_t lower = temp(RegisterClass::Narrow), upper = temp(RegisterClass::Narrow);
  select(yes, low, lower);
  select(yes << 16, high, upper);
  Step& join = emit(handlers().at("or.b32").run);
  join.src = {lower, upper, 0, 0};
  join.dst = out;
  return true;
}

bool Decoder::comparison(const Instruction& instruction, const Form& form) {
  const bool is_set = instruction.opcode == Opcode::Set;
  if (form.types.empty() || form.rest.empty() || instruction.operands.size() < 3) return false;
  const Type type = form.types.back();
  const std::string name(ptx::name_of(type));
  const std::string ftz = form.ftz ? "ftz." : "";
  if (form.rounding || form.sat || form.types.size() != (is_set ? 2u : 1u)) return false;
  const bool combines = form.rest.size() == 2 && is_combination(form.rest[1]);
  if (form.rest.size() > (combines ? 2u : 1u)) return false;
  if (instruction.operands.size() != (combines ? 4u : 3u)) return false;
  const auto found = handlers().find("setp." + form.rest[0] + "." + ftz + name);
  if (found == handlers().end()) return false;
  const Row& row = found->second;
  const uint32_t a = source(instruction.operands[1], row.src[0], type);
  const uint32_t b = source(instruction.operands[2], row.src[1], type);
  const uint32_t with = instruction.operands.size() > 3
                            ? source(instruction.operands[3], RegisterClass::Pred, Type::Pred)
                            : kNone;
  const Operand& to = instruction.operands[0];
  const bool pair = to.kind == Operand::Kind::PredPair;
  const bool packed = type == Type::F16x2 || type == Type::BF16x2;
  if (pair && to.elements.size() != 2) return false;
  if (with != kNone && form.rest.size() > 1 && !handlers().contains(form.rest[1] + ".pred")) {
    return false;
  }
  const auto combine = [&](uint32_t value, uint32_t out) {
    const bool combined = with != kNone && form.rest.size() > 1;
    Step& step = emit(handlers().at(combined ? form.rest[1] + ".pred" : "mov.pred").run);
    step.src = {value, combined ? with : kTrueOffset, 0, 0};
    step.dst = out;
  };
  const auto compare = [&](const Row& by) {
    const uint32_t out = temp(RegisterClass::Pred);
    Step& step = emit(by.run);
    step.src = {a, b, 0, 0};
    step.dst = out;
    return out;
  };
  const bool direct = !is_set && !pair && (with == kNone || form.rest.size() < 2);
  if (direct) {
    const uint32_t out = destination(to, RegisterClass::Pred);
    Step& step = emit(row.run);
    step.src = {a, b, 0, 0};
    step.dst = out;
    return true;
  }
  const uint32_t result = compare(row);
  uint32_t second = kNone;
  if ((pair || is_set) && packed) {
    second = compare(handlers().at("setp." + form.rest[0] + "." + ftz + name + ".high"));
  }
  if (pair && !packed) {
    second = temp(RegisterClass::Pred);
    Step& step = emit(handlers().at("not.pred").run);
    step.src[0] = result;
    step.dst = second;
  }
  if (is_set) {
    const uint32_t low = temp(RegisterClass::Pred),
                   high = packed ? temp(RegisterClass::Pred) : kNone;
    combine(result, low);
    if (packed) combine(second, high);
    return set_values(instruction, form.types[0], low, high);
  }
  combine(result, destination(pair ? to.elements[0] : to, RegisterClass::Pred));
  if (pair) combine(second, destination(to.elements[1], RegisterClass::Pred));
  return true;
}

bool Decoder::move_special(const Operand& to, const std::string& name, RegisterClass slot) {
  if (name == "%is_explicit_cluster" && slot == RegisterClass::Pred) {
    const uint32_t yes = constant(function().explicit_cluster ? kNone : 0, false);
    const uint32_t out = destination(to, RegisterClass::Pred);
    Step& step = emit(handlers().at("mov.pred").run);
    step.src[0] = yes;
    step.dst = out;
    return true;
  }
  const auto which = steps::special_register(name);
  if (!which) return refuse("the emulator has no special register " + name);
  if (slot == RegisterClass::Pred) return false;
  const uint32_t out = destination(to, slot);
  emit<steps::special>({.which = *which, .is_wide = slot == RegisterClass::Wide}).dst = out;
  return true;
}

/// Decodes mov.b128 between two register pairs, which may be the same pair swapped.
bool Decoder::move_pair(const Operand& to, const Operand& from) {
  if (to.elements.size() != 2 || from.elements.size() != 2) return false;
  std::array<uint32_t, 2> values = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t value = source(from.elements[i], RegisterClass::Wide, Type::B64);
    values[i] = temp(RegisterClass::Wide);
    Step& keep = emit(handlers().at("mov.b64").run);
    keep.src[0] = value;
    keep.dst = values[i];
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t out = destination(to.elements[i], RegisterClass::Wide);
    Step& copy = emit(handlers().at("mov.b64").run);
    copy.src[0] = values[i];
    copy.dst = out;
  }
  return true;
}

/// Decodes min and max of three floats.
bool Decoder::extreme_of_three(const Instruction& instruction, const Form& form) {
  const bool nan = form.has(ptx::Modifier::NaN), absolute = form.has(ptx::Modifier::Abs);
  std::string key(instruction.name());
  if (nan) key += ".NaN";
  if (form.ftz) key += ".ftz";
  const Handler extreme = handlers().at(canonical_key(key + ".f32")).run;
  std::array<uint32_t, 3> values = {};
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = source(instruction.operands[i + 1], RegisterClass::Narrow, Type::F32);
    if (!absolute) continue;
    const uint32_t size = temp(RegisterClass::Narrow);
    Step& step = emit(handlers().at("abs.f32").run);
    step.src[0] = values[i];
    step.dst = size;
    values[i] = size;
  }
  const uint32_t of_two = temp(RegisterClass::Narrow);
  Step& first = emit(extreme);
  first.src = {values[0], values[1], 0, 0};
  first.dst = of_two;
  const uint32_t out = destination(instruction.operands[0], RegisterClass::Narrow);
  Step& second = emit(extreme);
  second.src = {of_two, values[2], 0, 0};
  second.dst = out;
  return true;
}

/// Decodes mov, which copies, packs {a, b} into a wider register, or unpacks one.
bool Decoder::move(const Instruction& instruction, const Form& form) {
  if (instruction.operands.size() != 2 || form.types.empty()) return false;
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  const RegisterClass slot = emulator::register_class(form.type());
  if (form.pairs) return move_pair(to, from);
  const bool unpack = to.kind == Operand::Kind::Vector && to.elements.size() > 1;
  const bool pack = from.kind == Operand::Kind::Vector && from.elements.size() > 1;
  // The old form that reads all of %tid: mov.v4.u32 {x, y, z, w}, %tid.
  if (from.kind == Operand::Kind::Special && unpack && form.rest.size() == 1 &&
      form.has(ptx::Modifier::V4)) {
    static constexpr std::array kParts = {".x", ".y", ".z", ".w"};
    bool all = to.elements.size() == kParts.size();
    for (size_t i = 0; all && i < kParts.size(); ++i) {
      if (to.elements[i].kind == Operand::Kind::Register) {
        all = move_special(to.elements[i], from.name + kParts[i], slot);
      }
    }
    return all;
  }
  if (from.kind == Operand::Kind::Special && !unpack && !pack) {
    return move_special(to, from.name, slot);
  }
  if (!unpack && !pack) return pure(instruction, form);
  const auto parts = static_cast<uint32_t>(pack ? from.elements.size() : to.elements.size());
  const uint32_t bits = ptx::byte_size(form.type()) * 8 / parts;
  if (slot == RegisterClass::Pred || bits * parts != ptx::byte_size(form.type()) * 8 ||
      (bits != 8 && bits != 16 && bits != 32)) {
    return false;
  }
  if (ptx::byte_size(form.type()) > 8 || (pack && unpack) || !form.rest.empty()) return false;
  if (unpack) {
    unpack_parts(to, source(from, slot, form.type()), slot, bits);
  } else {
    pack_parts(to, from, slot, bits);
  }
  return true;
}

void Decoder::unpack_parts(const Operand& to, uint32_t value, RegisterClass slot, uint32_t bits) {
  const bool wide = slot == RegisterClass::Wide;
  // Every part is read before any register is written, because the source may be among them.
  std::vector<uint32_t> shifted;
  for (uint32_t i = 0; i < to.elements.size(); ++i) {
    const uint32_t amount = constant(i * bits, false), part = temp(slot);
    Step& shift = emit(handlers().at(wide ? "shr.b64" : "shr.b32").run);
    shift.src = {value, amount, 0, 0};
    shift.dst = part;
    shifted.push_back(part);
  }
  const char* width = bits == 32 ? "u32" : bits == 16 ? "u16" : "u8";
  for (size_t i = 0; i < to.elements.size(); ++i) {
    if (to.elements[i].kind != Operand::Kind::Register) continue;
    const uint32_t out = destination(to.elements[i], RegisterClass::Narrow);
    Step& cut = emit(handlers().at(fmt::format("cvt.{}.{}", width, wide ? "u64" : "u32")).run);
    cut.src[0] = shifted[i];
    cut.dst = out;
  }
}

void Decoder::pack_parts(const Operand& to, const Operand& from, RegisterClass slot,
                         uint32_t bits) {
  const bool wide = slot == RegisterClass::Wide;
  uint32_t sum = kNone;
  for (uint32_t i = 0; i < from.elements.size(); ++i) {
    const uint32_t part = source(from.elements[i], slot, Type::None);
    const uint32_t cut = temp(slot), amount = constant(i * bits, false), moved = temp(slot);
    const uint32_t keep = constant((uint64_t{1} << bits) - 1, wide);
    Step& narrow = emit(handlers().at(wide ? "and.b64" : "and.b32").run);
    narrow.src = {part, keep, 0, 0};
    narrow.dst = cut;
    Step& shift = emit(handlers().at(wide ? "shl.b64" : "shl.b32").run);
    shift.src = {cut, amount, 0, 0};
    shift.dst = moved;
    if (sum == kNone) {
      sum = moved;
      continue;
    }
    const uint32_t joined = i + 1 == from.elements.size() ? destination(to, slot) : temp(slot);
    Step& join = emit(handlers().at(wide ? "or.b64" : "or.b32").run);
    join.src = {sum, moved, 0, 0};
    join.dst = joined;
    sum = joined;
  }
}

uint32_t Decoder::label_target(const std::string& name) const {
  for (const ptx::Label& label : function().labels) {
    if (label.name == name) return label.instruction;
  }
  return kNone;
}

/// Replaces PTX indices in branches by step indices, now that every instruction has its place.
void Decoder::resolve_targets() {
  const auto place = [&](uint32_t index) {
    return index == kNone ? kNone : first_[std::min<size_t>(index, first_.size() - 1)];
  };
  for (Step& step : code_.steps) {
    const bool direct = step.run == kRunOf<steps::branch>;
    if (!direct && step.run != kRunOf<steps::branch_indexed>) continue;
    uint32_t meet = flow_.reconvergence(step.origin);
    // Lanes that leave a loop wait for those that continue it, even if only the function's end
    // follows: the loop may need all lanes of the warp.
    const bool goes_back = direct && step.operands.get<BranchOperands>().target <= step.origin;
    if (goes_back && meet >= function().body.size()) meet = step.origin + 1;
    const uint32_t reconverge = meet >= function().body.size() ? kNone : place(meet);
    if (direct) {
      auto& to = step.operands.get<BranchOperands>();
      to.reconverge = reconverge;
      to.target = place(to.target);
      continue;
    }
    auto& to = step.operands.get<IndexedBranchOperands>();
    to.reconverge = reconverge;
    for (uint32_t i = 0; i < to.count; ++i) {
      code_.lists[to.list + i] = place(code_.lists[to.list + i]);
    }
  }
}

}  // namespace gpuemu::emulator
