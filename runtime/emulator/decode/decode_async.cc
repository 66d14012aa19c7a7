// Decodes asynchronous copies and the mbarriers that they signal.
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

uint32_t whole_address(Decoder& d, const Operand& operand) {
  const Operand& inner = operand.elements.empty() ? operand : operand.elements[0];
  const uint32_t base = d.source(inner, RegisterClass::Wide, Type::U64);
  if (&inner == &operand || operand.offset == 0) return base;
  const uint32_t offset = d.constant(static_cast<uint64_t>(operand.offset), true);
  const uint32_t sum = d.temp(RegisterClass::Wide);
  Step& add = d.emit(handlers().at("add.u64").run);
  add.src = {base, offset, 0, 0};
  add.dst = sum;
  return sum;
}

std::optional<AtomicKind> reduction_in(const Form& form) {
  static const std::map<std::string_view, AtomicKind> kKinds = {
      {"add", AtomicKind::Add}, {"min", AtomicKind::Min}, {"max", AtomicKind::Max},
      {"and", AtomicKind::And}, {"or", AtomicKind::Or},   {"xor", AtomicKind::Xor},
      {"inc", AtomicKind::Inc}, {"dec", AtomicKind::Dec}};
  for (const std::string& modifier : form.rest) {
    if (const auto found = kKinds.find(modifier); found != kKinds.end()) return found->second;
  }
  return std::nullopt;
}

namespace {

bool is_predicate(const Decoder& d, const Operand& operand) {
  return operand.kind == Operand::Kind::Register &&
         d.register_class(operand) == RegisterClass::Pred;
}

/// Returns whether a modifier of cp.async only says where data may be cached.
bool cache_modifier(const std::string& name) {
  static constexpr std::array kKnown = {"async", "ca", "cg", "shared", "shared::cta", "global"};
  return std::ranges::find(kKnown, name) != kKnown.end() || name.starts_with("L2::");
}

/// Operands: [to], [from], bytes {, bytes to read or predicate to read none} {, cache policy}
bool decode_copy(Decoder& d, const Instruction& in, const Form& form) {
  if (!std::ranges::all_of(form.rest, cache_modifier)) return false;
  const size_t hints = form.has(ptx::Modifier::L2CacheHint) ? 1 : 0;
  if (in.operands.size() < 3 + hints || in.operands.size() > 4 + hints) return false;
  if (in.operands[2].kind != Operand::Kind::Integer) return false;
  const uint64_t bytes = in.operands[2].bits;
  if (bytes != 16 && (form.has(ptx::Modifier::Cg) || (bytes != 4 && bytes != 8))) return false;
  CopyOperands copy;
  const uint32_t to = d.address(copy, in.operands[0]);
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
  copy.bytes = static_cast<uint8_t>(bytes);
  copy.cache = d.program().cached++;
  d.emit<steps::copy_async>(copy).src = {to, from, size, 0};
  d.uses_memory(ptx::Space::Shared, copy.bytes);
  MemoryUse read = d.code().memory_uses.back();
  read.space = ptx::Space::Global;
  read.base = from;
  read.offset = 0;
  read.wide = true;
  d.code().memory_uses.push_back(read);
  return true;
}

/// Decodes wait_group N, wait_group.read N and wait_all.
bool decode_wait(Decoder& d, const Instruction& in, const Form& form) {
  const bool all = form.has(ptx::Modifier::WaitAll), bulk = form.has(ptx::Modifier::Bulk);
  if (!all && (in.operands.size() != 1 || in.operands[0].kind != Operand::Kind::Integer)) {
    return false;
  }
  const GroupsOperands groups{.in_flight = all ? 0 : in.operands[0].bits, .waits_for_all = all};
  if (bulk) {
    d.emit<steps::wait_bulk>(groups);
  } else {
    d.emit<steps::wait_copies>(groups);
  }
  return true;
}

bool decode_arrival_of_copies(Decoder& d, const Instruction& in, const Form& form) {
  if (!form.has(ptx::Modifier::Arrive) || in.operands.size() != 1) return false;
  ArrivalOperands arrival;
  const uint32_t base = d.address(arrival, in.operands[0]);
  arrival.is_expected = form.has(ptx::Modifier::Noinc);
  d.emit<steps::arrive_copies>(arrival).src[0] = base;
  return true;
}

/// Returns the spaces in the order of their operands.
std::vector<std::string> spaces_of(const Form& form) {
  std::vector<std::string> out;
  for (const std::string& modifier : form.rest) {
    if (modifier == "global" || modifier.starts_with("shared::")) out.push_back(modifier);
  }
  return out;
}

bool decode_bulk(Decoder& d, const Instruction& in, const Form& form) {
  if (form.has(ptx::Modifier::Tensor)) return decode_tensor_copy(d, in, form);
  if (form.has(ptx::Modifier::CpMask) || form.has(ptx::Modifier::IgnoreOob)) return false;
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
  BulkOperands bulk;
  if (reduces) {
    const auto kind = reduction_in(form);
    const uint32_t bytes = ptx::byte_size(form.type());
    if (!kind || (bytes != 2 && bytes != 4 && bytes != 8)) return false;
    bulk.reduces = true;
    bulk.reduction = {*kind, form.type()};
  }
  const uint32_t to = whole_address(d, in.operands[0]), from = whole_address(d, in.operands[1]);
  const uint32_t bytes = d.source(in.operands[2], RegisterClass::Narrow, Type::U32);
  const uint32_t barrier = signals ? whole_address(d, in.operands[3]) : d.constant(0, true);
  if (multicast) bulk.list = d.list({d.source(in.operands[4], RegisterClass::Narrow, Type::U16)});
  bulk.to_shared = to_shared;
  bulk.from_shared = from_shared;
  bulk.is_multicast = multicast;
  bulk.cache = d.program().cached++;
  d.emit<steps::copy_bulk>(bulk).src = {to, from, bytes, barrier};
  return true;
}

}  // namespace

/// Decodes st.async [to], values, [mbarrier] and red.async [to], value, [mbarrier].
bool decode_async_store(Decoder& d, const Instruction& in, const Form& form) {
  const bool reduces = in.opcode == Opcode::Red;
  const auto kind = reduction_in(form);
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
  AsyncStoreOperands store{.list = d.list(registers),
                           .count = static_cast<uint8_t>(form.vector),
                           .element_bytes = static_cast<uint8_t>(bytes),
                           .reduces = reduces,
                           .reduction = {}};
  if (reduces) store.reduction = {*kind, form.type()};
  d.emit<steps::store_async>(store).src = {to, barrier, 0, 0};
  return true;
}

/// Decodes st.bulk [to], bytes, 0.
bool decode_bulk_store(Decoder& d, const Instruction& in) {
  if (in.operands.size() != 3) return false;
  const Operand& value = in.operands[2];
  if (value.kind != Operand::Kind::Integer || value.bits != 0) {
    return d.refuse("the value that it stores has to be the constant 0");
  }
  const uint32_t to = whole_address(d, in.operands[0]);
  const uint32_t bytes = d.source(in.operands[1], RegisterClass::Wide, Type::U64);
  BulkOperands fill;
  fill.space = ptx::Space::Shared;
  fill.cache = d.program().cached++;
  d.emit<steps::store_bulk>(fill).src = {to, bytes, 0, 0};
  return true;
}

/// Returns whether a modifier of mbarrier orders accesses or names the space of the address.
bool order_modifier(const std::string& name) {
  static constexpr std::array kKnown = {"relaxed", "acquire",     "release", "cta",
                                        "cluster", "shared::cta", "shared",  "shared::cluster"};
  return std::ranges::find(kKnown, name) != kKnown.end();
}

namespace {
bool decode_arrive(Decoder& d, const Instruction& in, const Form& form) {
  // The state may be omitted if the mbarrier can belong to another block.
  const bool state = in.operands[0].kind != Operand::Kind::Address;
  const size_t at = state ? 1 : 0;
  const bool expects = form.has(ptx::Modifier::ExpectTx);
  if (in.operands.size() < at + 1 + (expects ? 1 : 0) || in.operands.size() > at + 2) return false;
  const uint32_t count = in.operands.size() > at + 1
                             ? d.source(in.operands[at + 1], RegisterClass::Narrow, Type::U32)
                             : d.constant(1, false);
  const bool kept = state && in.operands[0].kind == Operand::Kind::Register;
  const uint32_t out = kept ? d.destination(in.operands[0], RegisterClass::Wide) : kTrueOffset;
  MbarrierOperands arrival;
  arrival.kind = MbarrierKind::Arrive;
  arrival.drops = form.has(ptx::Modifier::ArriveDrop);
  arrival.is_no_complete = form.has(ptx::Modifier::NoComplete);
  arrival.expects_bytes = expects;
  const uint32_t base = d.address(arrival, in.operands[at]);
  Step& step = d.emit<steps::mbarrier>(arrival);
  step.src = {base, count, 0, 0};
  step.dst = out;
  return true;
}

bool decode_wait_mbarrier(Decoder& d, const Instruction& in, const Form& form) {
  const bool may_block = form.has(ptx::Modifier::TryWait), parity = form.has(ptx::Modifier::Parity);
  if (in.operands.size() != 3 && !(may_block && in.operands.size() == 4)) return false;
  const uint32_t phase = parity ? d.source(in.operands[2], RegisterClass::Narrow, Type::U32)
                                : d.source(in.operands[2], RegisterClass::Wide, Type::B64);
  const uint32_t out = d.destination(in.operands[0], RegisterClass::Pred);
  MbarrierWaitOperands wait;
  wait.by_parity = parity;
  const uint32_t base = d.address(wait, in.operands[1]);
  Step& step = d.emit<steps::wait_mbarrier>(wait);
  step.src = {base, phase, 0, 0};
  step.dst = out;
  return true;
}
}  // namespace

bool decode_mbarrier(Decoder& d, const Instruction& in, const Form& form) {
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
    Step& step = d.emit(steps::count_mbarrier);
    step.src[0] = state;
    step.dst = out;
    return true;
  }
  const bool inval = form.has(ptx::Modifier::Inval);
  if (in.operands.size() != (inval ? 1u : 2u)) return false;
  const uint32_t count =
      inval ? kTrueOffset : d.source(in.operands[1], RegisterClass::Narrow, Type::U32);
  MbarrierOperands change;
  change.kind = inval                               ? MbarrierKind::Inval
                : form.has(ptx::Modifier::Init)     ? MbarrierKind::Init
                : form.has(ptx::Modifier::ExpectTx) ? MbarrierKind::ExpectTx
                                                    : MbarrierKind::CompleteTx;
  const uint32_t base = d.address(change, in.operands[0]);
  d.emit<steps::mbarrier>(change).src = {base, count, 0, 0};
  return true;
}

/// Decodes cp.async, cp.async.bulk and the waits for them.
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
