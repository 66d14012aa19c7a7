// Decodes warp-level instructions, carry chains and atomics.
#include <map>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

bool decode_shuffle(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() < 4) return false;
  const Operand& to = in.operands[0];
  const bool pair = to.kind == Operand::Kind::PredPair;
  std::array<uint32_t, 4> sources = {};
  for (uint32_t i = 0; i < 3; ++i) {
    sources[i] = d.source(in.operands[i + 1], RegisterClass::Narrow, Type::B32);
  }
  sources[3] = in.operands.size() > 4 ? d.source(in.operands[4], RegisterClass::Narrow, Type::B32)
                                      : d.constant(kNone, false);
  const uint32_t predicate = pair ? d.destination(to.elements[1], RegisterClass::Pred) : kNone;
  const uint32_t out = d.destination(pair ? to.elements[0] : to, RegisterClass::Narrow);
  Step& step = d.emit<steps::shuffle>({.kind = form.has(ptx::Modifier::Up)     ? ShuffleKind::Up
                                               : form.has(ptx::Modifier::Down) ? ShuffleKind::Down
                                               : form.has(ptx::Modifier::Bfly) ? ShuffleKind::Bfly
                                                                               : ShuffleKind::Idx,
                                       .predicate = predicate});
  step.src = sources;
  step.dst = out;
  return true;
}

bool decode_vote(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() < 2) return false;
  const bool ballot = form.has(ptx::Modifier::Ballot);
  const uint32_t value = d.source(in.operands[1], RegisterClass::Pred, Type::Pred);
  const uint32_t members = in.operands.size() > 2
                               ? d.source(in.operands[2], RegisterClass::Narrow, Type::B32)
                               : d.constant(kNone, false);
  const uint32_t out =
      d.destination(in.operands[0], ballot ? RegisterClass::Narrow : RegisterClass::Pred);
  Step& step = d.emit<steps::vote>({.kind = ballot                         ? VoteKind::Ballot
                                            : form.has(ptx::Modifier::All) ? VoteKind::All
                                            : form.has(ptx::Modifier::Any) ? VoteKind::Any
                                                                           : VoteKind::Uni});
  step.src = {value, members, 0, 0};
  step.dst = out;
  return true;
}

bool decode_match(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() < 3) return false;
  const Operand& to = in.operands[0];
  const bool pair = to.kind == Operand::Kind::PredPair;
  const RegisterClass slot = register_class(form.type());
  const uint32_t value = d.source(in.operands[1], slot, form.type());
  const uint32_t members = d.source(in.operands[2], RegisterClass::Narrow, Type::B32);
  const uint32_t predicate = pair ? d.destination(to.elements[1], RegisterClass::Pred) : kNone;
  const uint32_t out = d.destination(pair ? to.elements[0] : to, RegisterClass::Narrow);
  Step& step = d.emit<steps::match>({.predicate = predicate,
                                     .of_all = form.has(ptx::Modifier::All),
                                     .is_wide = slot == RegisterClass::Wide});
  step.src = {value, members, 0, 0};
  step.dst = out;
  return true;
}

bool decode_reduce(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() < 3 || register_class(form.type()) != RegisterClass::Narrow) return false;
  const bool sign = is_signed(form.type());
  const ReduceKind kind =
      form.has(ptx::Modifier::Add)   ? ReduceKind::Add
      : form.has(ptx::Modifier::Min) ? (sign ? ReduceKind::MinS : ReduceKind::MinU)
      : form.has(ptx::Modifier::Max) ? (sign ? ReduceKind::MaxS : ReduceKind::MaxU)
      : form.has(ptx::Modifier::And) ? ReduceKind::And
      : form.has(ptx::Modifier::Or)  ? ReduceKind::Or
                                     : ReduceKind::Xor;
  const uint32_t value = d.source(in.operands[1], RegisterClass::Narrow, Type::B32);
  const uint32_t members = d.source(in.operands[2], RegisterClass::Narrow, Type::B32);
  const uint32_t out = d.destination(in.operands[0], RegisterClass::Narrow);
  Step& step = d.emit<steps::reduce>({.kind = kind});
  step.src = {value, members, 0, 0};
  step.dst = out;
  return true;
}

/// Decodes add.cc, addc, sub.cc, subc, mad.lo.cc and madc. A product is computed first, then added
/// with carry.
bool decode_carry(Decoder& d, const Instruction& in, const Form& form) {
  const bool multiply = in.opcode == Opcode::Mad || in.opcode == Opcode::Madc;
  const bool subtracts = in.opcode == Opcode::Sub || in.opcode == Opcode::Subc;
  const bool carry_in =
      in.opcode == Opcode::Addc || in.opcode == Opcode::Subc || in.opcode == Opcode::Madc;
  if (!carry_in && !form.has(ptx::Modifier::Cc)) return false;
  if (in.operands.size() != (multiply ? 4u : 3u)) return false;
  const RegisterClass slot = register_class(form.type());
  uint32_t a = d.source(in.operands[1], slot, form.type());
  uint32_t b = d.source(in.operands[2], slot, form.type());
  if (multiply) {
    const auto found =
        handlers().find(std::string(form.has(ptx::Modifier::Hi) ? "mul.hi." : "mul.lo.") +
                        std::string(ptx::name_of(form.type())));
    if (found == handlers().end()) return false;
    const uint32_t c = d.source(in.operands[3], slot, form.type()), product = d.temp(slot);
    Step& step = d.emit(found->second.run);
    step.src = {a, b, 0, 0};
    step.dst = product;
    a = product;
    b = c;
  }
  const uint32_t out = d.destination(in.operands[0], slot);
  Step& step = d.emit<steps::add_carry>({.is_wide = slot == RegisterClass::Wide,
                                         .subtracts = subtracts,
                                         .takes_carry = carry_in,
                                         .gives_carry = form.has(ptx::Modifier::Cc)});
  step.src = {a, b, 0, 0};
  step.dst = out;
  return true;
}

bool decode_active_mask(Decoder& d, const Instruction& in, const Form& /*form*/) {
  if (in.operands.empty()) return false;
  const uint32_t out = d.destination(in.operands[0], RegisterClass::Narrow);
  d.emit(steps::activemask).dst = out;
  return true;
}

bool decode_elect(Decoder& d, const Instruction& in, const Form& /*form*/) {
  if (in.operands.size() != 2 || in.operands[0].kind != Operand::Kind::PredPair) return false;
  const uint32_t members = d.source(in.operands[1], RegisterClass::Narrow, Type::B32);
  const uint32_t lane = d.destination(in.operands[0].elements[0], RegisterClass::Narrow);
  const uint32_t predicate = d.destination(in.operands[0].elements[1], RegisterClass::Pred);
  Step& step = d.emit<steps::elect>({.predicate = predicate});
  step.src[0] = members;
  step.dst = lane;
  return true;
}

namespace {
/// Decodes an atomic of .b128. The list holds the operand, the new value of cas and the result, two
/// registers each.
bool decode_atomic_pair(Decoder& d, const Instruction& in, const Form& form, AtomicKind kind) {
  constexpr uint32_t kBytes = 16;
  const bool cas = kind == AtomicKind::Cas;
  if (in.opcode != Opcode::Atom || (!cas && kind != AtomicKind::Exch)) return false;
  const Operand &to = in.operands[0], &next = in.operands[cas ? 3 : 2];
  const bool kept = to.kind == Operand::Kind::Vector;
  std::vector<uint32_t> registers;
  for (const Operand* operand : {&in.operands[2], &next}) {
    if (operand->elements.size() != 2) return false;
    for (const Operand& half : operand->elements) {
      registers.push_back(d.source(half, RegisterClass::Wide, Type::B64));
    }
  }
  AtomicOperands atomic;
  const uint32_t base = d.address(atomic, in.operands[1]);
  for (size_t i = 0; i < 2; ++i) {
    registers.push_back(kept ? d.destination(to.elements.at(i), RegisterClass::Wide)
                             : d.temp(RegisterClass::Wide));
  }
  atomic.bytes = kBytes;
  atomic.list = d.list(registers);
  atomic.reduction = {kind, Type::B64};
  atomic.space = form.space;
  atomic.cache = d.program().cached++;
  d.note_repetition(atomic);
  d.emit<steps::atomic>(atomic).src = {base, 0, 0, 0};
  d.uses_memory(form.space, kBytes);
  return true;
}
}  // namespace

bool decode_atomic(Decoder& d, const Instruction& in, const Form& form) {
  static const std::map<std::string_view, AtomicKind> kKinds = {
      {"add", AtomicKind::Add},   {"min", AtomicKind::Min}, {"max", AtomicKind::Max},
      {"and", AtomicKind::And},   {"or", AtomicKind::Or},   {"xor", AtomicKind::Xor},
      {"exch", AtomicKind::Exch}, {"cas", AtomicKind::Cas}, {"inc", AtomicKind::Inc},
      {"dec", AtomicKind::Dec}};
  if (form.has(ptx::Modifier::Async)) return decode_async_store(d, in, form);
  const bool returns = in.opcode == Opcode::Atom;
  const AtomicKind* kind = nullptr;
  for (const std::string& modifier : form.rest) {
    if (const auto found = kKinds.find(modifier); found != kKinds.end()) kind = &found->second;
  }
  const size_t first = returns ? 1 : 0,
               wanted = first + 2 + (kind != nullptr && *kind == AtomicKind::Cas ? 1 : 0);
  const uint32_t bytes = ptx::byte_size(form.type());
  if (kind == nullptr || in.operands.size() != wanted) return false;
  if (form.pairs) return decode_atomic_pair(d, in, form, *kind);
  if (form.vector != 1) return false;
  if (bytes != 2 && bytes != 4 && bytes != 8) return false;
  const RegisterClass slot = register_class(form.type());
  AtomicOperands atomic;
  const uint32_t base = d.address(atomic, in.operands[first]);
  const uint32_t b = d.source(in.operands[first + 1], slot, form.type());
  const uint32_t c = wanted == first + 3 ? d.source(in.operands[first + 2], slot, form.type()) : b;
  const uint32_t out =
      returns ? d.destination(in.operands[0], slot, is_signed(form.type())) : kTrueOffset;
  atomic.bytes = static_cast<uint8_t>(bytes);
  atomic.reduction = {*kind, form.type()};
  atomic.space = form.space;
  atomic.cache = d.program().cached++;
  d.note_repetition(atomic);
  Step& step = d.emit<steps::atomic>(atomic);
  step.src = {base, b, c, 0};
  step.dst = out;
  d.uses_memory(form.space, bytes);
  return true;
}

}  // namespace gpuemu::emulator
