// Asynchronous copies and the mbarriers that they signal.
#include <algorithm>
#include <array>
#include <map>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;
namespace {

/// The whole address in one 64-bit register.
uint32_t whole_address(Decoder& d, const Operand& operand) {
  const Operand& inner = operand.elements.empty() ? operand : operand.elements[0];
  const uint32_t base = d.source(inner, RegisterClass::Wide, Type::U64);
  if (&inner == &operand || operand.offset == 0) return base;
  const uint32_t step = d.constant(static_cast<uint64_t>(operand.offset), true);
  const uint32_t sum = d.temp(RegisterClass::Wide);
  Step& add = d.emit(handlers().at("add.u64").run);
  add.src = {base, step, 0, 0};
  add.dst = sum;
  return sum;
}

bool is_predicate(const Decoder& d, const Operand& operand) {
  return operand.kind == Operand::Kind::Register &&
         d.register_class(operand) == RegisterClass::Pred;
}

/// Modifiers of cp.async that only say where data may be cached.
bool cache_modifier(const std::string& name) {
  static constexpr std::array kKnown = {"async", "ca", "cg", "shared", "shared::cta", "global"};
  return std::ranges::find(kKnown, name) != kKnown.end() || name.starts_with("L2::");
}

/// [to], [from], bytes {, bytes to read or predicate to read none} {, cache policy}
bool decode_copy(Decoder& d, const Instruction& in, const Form& form) {
  if (!std::ranges::all_of(form.rest, cache_modifier)) return false;
  const size_t hints = form.has(ptx::Modifier::L2CacheHint) ? 1 : 0;
  if (in.operands.size() < 3 + hints || in.operands.size() > 4 + hints) return false;
  if (in.operands[2].kind != Operand::Kind::Integer) return false;
  const uint64_t bytes = in.operands[2].bits;
  if (bytes != 16 && (form.has(ptx::Modifier::Cg) || (bytes != 4 && bytes != 8))) return false;
  uint32_t to = 0;
  int64_t offset = 0;
  uint8_t wide = 1;
  d.address(to, offset, wide, in.operands[0]);
  const uint32_t from = whole_address(d, in.operands[1]);
  uint32_t size = d.constant(bytes, false);
  if (in.operands.size() == 4 + hints && is_predicate(d, in.operands[3])) {
    const uint32_t ignored = d.source(in.operands[3], RegisterClass::Pred, Type::Pred);
    const uint32_t none = d.constant(0, false), all = size;
    size = d.temp(RegisterClass::Narrow);
    Step& choose = d.emit(handlers().at("selp.b32").run);
    choose.src = {none, all, ignored, 0};
    choose.dst = size;
  } else if (in.operands.size() == 4 + hints) {
    size = d.source(in.operands[3], RegisterClass::Narrow, Type::U32);
  }
  Step& ins = d.emit(steps::copy_async);
  ins.src = {to, from, size, 0};
  ins.imm = offset;
  ins.wide = wide;
  ins.count = static_cast<uint8_t>(bytes);
  ins.cache = d.program().cached++;
  d.uses_memory(ptx::Space::Shared, ins.count);
  MemoryUse read = d.code().memory_uses.back();
  read.space = ptx::Space::Global;
  read.base = from;
  read.offset = 0;
  read.wide = true;
  d.code().memory_uses.push_back(read);
  return true;
}

/// wait_group N, wait_group.read N, wait_all
bool decode_wait(Decoder& d, const Instruction& in, const Form& form) {
  const bool all = form.has(ptx::Modifier::WaitAll), bulk = form.has(ptx::Modifier::Bulk);
  if (!all && (in.operands.size() != 1 || in.operands[0].kind != Operand::Kind::Integer)) {
    return false;
  }
  Step& ins = d.emit(bulk ? steps::wait_bulk : steps::wait_copies);
  ins.imm = all ? -1 : static_cast<int64_t>(in.operands[0].bits);
  return true;
}

bool decode_arrival_of_copies(Decoder& d, const Instruction& in, const Form& form) {
  if (!form.has(ptx::Modifier::Arrive) || in.operands.size() != 1) return false;
  uint32_t base = 0;
  int64_t offset = 0;
  uint8_t wide = 1;
  d.address(base, offset, wide, in.operands[0]);
  Step& ins = d.emit(steps::arrive_copies);
  ins.src[0] = base;
  ins.imm = offset;
  ins.wide = wide;
  ins.flags = form.has(ptx::Modifier::Noinc) ? 1 : 0;
  return true;
}

std::optional<steps::AtomicKind> reduction(const Form& form) {
  using steps::AtomicKind;
  static const std::map<std::string_view, AtomicKind> kKinds = {
      {"add", AtomicKind::Add}, {"min", AtomicKind::Min}, {"max", AtomicKind::Max},
      {"and", AtomicKind::And}, {"or", AtomicKind::Or},   {"xor", AtomicKind::Xor},
      {"inc", AtomicKind::Inc}, {"dec", AtomicKind::Dec}};
  for (const std::string& modifier : form.rest) {
    if (const auto found = kKinds.find(modifier); found != kKinds.end()) return found->second;
  }
  return std::nullopt;
}

/// Spaces in the order of their operands.
std::vector<std::string> spaces_of(const Form& form) {
  std::vector<std::string> out;
  for (const std::string& modifier : form.rest) {
    if (modifier == "global" || modifier.starts_with("shared::")) out.push_back(modifier);
  }
  return out;
}

bool decode_bulk(Decoder& d, const Instruction& in, const Form& form) {
  if (form.has(ptx::Modifier::Tensor) || form.has(ptx::Modifier::CpMask) ||
      form.has(ptx::Modifier::IgnoreOob)) {
    return false;
  }
  const size_t hints = form.has(ptx::Modifier::L2CacheHint) ? 1 : 0;
  if (form.has(ptx::Modifier::Prefetch)) {
    if (in.operands.size() != 2 + hints) return false;
    const uint32_t from = whole_address(d, in.operands[0]);
    const uint32_t bytes = d.source(in.operands[1], RegisterClass::Narrow, Type::U32);
    d.emit(steps::prefetch_bulk).src = {from, bytes, 0, 0};
    return true;
  }
  const std::vector<std::string> spaces = spaces_of(form);
  const bool signals = form.has(ptx::Modifier::MbarrierCompleteTxBytes);
  const bool multicast = form.has(ptx::Modifier::MulticastCluster),
             reduces = form.has(ptx::Modifier::Reduce);
  if (spaces.size() != 2 || (signals == form.has(ptx::Modifier::BulkGroup))) return false;
  const bool to_shared = spaces[0] != "global", from_shared = spaces[1] != "global";
  if (to_shared != signals || (!to_shared && !from_shared)) return false;
  if (in.operands.size() != 3 + hints + (signals ? 1 : 0) + (multicast ? 1 : 0)) return false;
  uint32_t how = 0;
  if (reduces) {
    const auto kind = reduction(form);
    const uint32_t bytes = ptx::byte_size(form.type());
    if (!kind || (bytes != 2 && bytes != 4 && bytes != 8)) return false;
    how = static_cast<uint32_t>(*kind) | static_cast<uint32_t>(form.type()) << 8 |
          (to_shared ? 0u : 1u << 16);
  }
  const uint32_t to = whole_address(d, in.operands[0]), from = whole_address(d, in.operands[1]);
  const uint32_t bytes = d.source(in.operands[2], RegisterClass::Narrow, Type::U32);
  const uint32_t barrier = signals ? whole_address(d, in.operands[3]) : d.constant(0, true);
  const uint32_t list =
      multicast ? d.list({d.source(in.operands[4], RegisterClass::Narrow, Type::U16)}) : 0;
  Step& ins = d.emit(steps::copy_bulk);
  ins.src = {to, from, bytes, barrier};
  ins.list = list;
  ins.aux = how;
  ins.flags = static_cast<uint8_t>((to_shared ? steps::kBulkToShared : 0) |
                                   (from_shared ? steps::kBulkFromShared : 0) |
                                   (multicast ? steps::kBulkMulticast : 0));
  ins.cache = d.program().cached++;
  return true;
}

}  // namespace

/// st.async [to], values, [mbarrier] and red.async [to], value, [mbarrier].
bool decode_async_store(Decoder& d, const Instruction& in, const Form& form) {
  const bool reduces = in.opcode == Opcode::Red;
  const auto kind = reduction(form);
  if (in.operands.size() != 3 || form.types.size() != 1 || reduces != kind.has_value()) {
    return false;
  }
  const uint32_t bytes = ptx::byte_size(form.type());
  const Operand& value = in.operands[1];
  const bool vector = value.kind == Operand::Kind::Vector;
  if ((vector ? value.elements.size() : 1u) != form.vector) return false;
  const RegisterClass slot = bytes == 8 ? RegisterClass::Wide : RegisterClass::Narrow;
  std::vector<uint32_t> registers;
  for (uint32_t i = 0; i < form.vector; ++i) {
    registers.push_back(d.source(vector ? value.elements[i] : value, slot, form.type()));
  }
  const uint32_t to = whole_address(d, in.operands[0]), barrier = whole_address(d, in.operands[2]);
  const uint32_t list = d.list(registers);
  Step& ins = d.emit(steps::store_async);
  ins.src = {to, barrier, 0, 0};
  ins.list = list;
  ins.count = static_cast<uint8_t>(form.vector);
  ins.aux = bytes;
  if (!reduces) return true;
  ins.flags = steps::kAsyncReduces;
  ins.aux |= static_cast<uint32_t>(*kind) << 8 | static_cast<uint32_t>(form.type()) << 16;
  return true;
}

/// Modifiers of mbarrier that order accesses or name the space of the address.
bool order_modifier(const std::string& name) {
  static constexpr std::array kKnown = {"relaxed", "acquire",     "release", "cta",
                                        "cluster", "shared::cta", "shared",  "shared::cluster"};
  return std::ranges::find(kKnown, name) != kKnown.end();
}

bool emit_mbarrier(Decoder& d, const Operand& where, Handler run, std::array<uint32_t, 2> rest) {
  uint32_t base = 0;
  int64_t offset = 0;
  uint8_t wide = 1;
  d.address(base, offset, wide, where);
  Step& ins = d.emit(run);
  ins.src = {base, rest[0], 0, 0};
  ins.imm = offset;
  ins.wide = wide;
  ins.dst = rest[1];
  return true;
}

namespace {
bool decode_arrive(Decoder& d, const Instruction& in, const Form& form) {
  // The state may be left away where the mbarrier can be another block's.
  const bool state = in.operands[0].kind != Operand::Kind::Address;
  const size_t at = state ? 1 : 0;
  const bool expects = form.has(ptx::Modifier::ExpectTx);
  if (in.operands.size() < at + 1 + (expects ? 1 : 0) || in.operands.size() > at + 2) return false;
  const uint32_t count = in.operands.size() > at + 1
                             ? d.source(in.operands[at + 1], RegisterClass::Narrow, Type::U32)
                             : d.constant(1, false);
  const bool kept = state && in.operands[0].kind == Operand::Kind::Register;
  const uint32_t out = kept ? d.destination(in.operands[0], RegisterClass::Wide) : kTrueOffset;
  emit_mbarrier(d, in.operands[at], steps::mbarrier, {count, out});
  Step& ins = d.code().steps.back();
  ins.flags = static_cast<uint8_t>(steps::MbarrierKind::Arrive);
  ins.aux = (form.has(ptx::Modifier::ArriveDrop) ? steps::kDrop : 0) |
            (form.has(ptx::Modifier::NoComplete) ? steps::kNoComplete : 0) |
            (expects ? steps::kArriveExpect : 0);
  return true;
}

bool decode_wait_mbarrier(Decoder& d, const Instruction& in, const Form& form) {
  const bool may_block = form.has(ptx::Modifier::TryWait), parity = form.has(ptx::Modifier::Parity);
  if (in.operands.size() != 3 && !(may_block && in.operands.size() == 4)) return false;
  const uint32_t phase = parity ? d.source(in.operands[2], RegisterClass::Narrow, Type::U32)
                                : d.source(in.operands[2], RegisterClass::Wide, Type::B64);
  const uint32_t out = d.destination(in.operands[0], RegisterClass::Pred);
  emit_mbarrier(d, in.operands[1], steps::wait_mbarrier, {phase, out});
  d.code().steps.back().aux = (parity ? steps::kByParity : 0) | (may_block ? steps::kMayBlock : 0);
  return true;
}
}  // namespace

bool decode_mbarrier(Decoder& d, const Instruction& in, const Form& form) {
  using steps::MbarrierKind;
  static constexpr std::array kOps = {"init",      "inval",       "arrive",       "arrive_drop",
                                      "expect_tx", "complete_tx", "test_wait",    "try_wait",
                                      "parity",    "noComplete",  "pending_count"};
  const auto known = [](const std::string& name) {
    return order_modifier(name) || std::ranges::find(kOps, name) != kOps.end();
  };
  if (in.operands.empty() || !std::ranges::all_of(form.rest, known)) return false;
  if (form.has(ptx::Modifier::Arrive) || form.has(ptx::Modifier::ArriveDrop)) {
    return decode_arrive(d, in, form);
  }
  if (form.has(ptx::Modifier::TestWait) || form.has(ptx::Modifier::TryWait)) {
    return decode_wait_mbarrier(d, in, form);
  }
  if (form.has(ptx::Modifier::PendingCount)) {
    if (in.operands.size() != 2) return false;
    const uint32_t state = d.source(in.operands[1], RegisterClass::Wide, Type::B64);
    const uint32_t out = d.destination(in.operands[0], RegisterClass::Narrow);
    Step& ins = d.emit(steps::count_mbarrier);
    ins.src[0] = state;
    ins.dst = out;
    return true;
  }
  const bool inval = form.has(ptx::Modifier::Inval);
  if (in.operands.size() != (inval ? 1u : 2u)) return false;
  const uint32_t count =
      inval ? kTrueOffset : d.source(in.operands[1], RegisterClass::Narrow, Type::U32);
  emit_mbarrier(d, in.operands[0], steps::mbarrier, {count, kTrueOffset});
  d.code().steps.back().flags =
      static_cast<uint8_t>(inval                               ? MbarrierKind::Inval
                           : form.has(ptx::Modifier::Init)     ? MbarrierKind::Init
                           : form.has(ptx::Modifier::ExpectTx) ? MbarrierKind::ExpectTx
                                                               : MbarrierKind::CompleteTx);
  return true;
}

/// cp.async, cp.async.bulk and what waits for them.
bool decode_copies(Decoder& d, const Instruction& in, const Form& form) {
  if (!form.has(ptx::Modifier::Async)) return false;
  if (form.has(ptx::Modifier::CommitGroup)) {
    return d.emit(form.has(ptx::Modifier::Bulk) ? steps::commit_bulk : steps::commit_copies), true;
  }
  if (form.has(ptx::Modifier::WaitGroup) || form.has(ptx::Modifier::WaitAll)) {
    return decode_wait(d, in, form);
  }
  if (form.has(ptx::Modifier::Bulk)) return decode_bulk(d, in, form);
  if (form.has(ptx::Modifier::Mbarrier)) return decode_arrival_of_copies(d, in, form);
  return decode_copy(d, in, form);
}

}  // namespace gpuemu::emulator
