// Handles stores of undefined values: marks the bytes that they write, and reports those that are
// outputs.
#include <algorithm>
#include <array>
#include <vector>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/strict.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
using ptx::Instruction;
using ptx::Operand;

/// What the checks record for the bytes that a lane accesses.
struct KnownBytes {
  uint8_t* defined = nullptr;  ///< Null if nothing is recorded, as out of bounds.
  ByteSources* sources = nullptr;
  uint64_t at = 0, total = 0;  ///< Offset in `sources`, and the bytes that it covers.
  bool of_host = false;        ///< Memory that the host can read without a call.

  void set(uint64_t offset, uint32_t bytes, uint32_t number) const {
    if (defined == nullptr || at + offset + bytes > total) return;
    std::fill_n(defined + offset, bytes, uint8_t{0});
    sources->set(total, at + offset, bytes, number);
  }
};

bool is_global(ptx::Space space, uint64_t address) {
  return space == ptx::Space::Global ||
         (space == ptx::Space::Generic && (address & kWindowMask) == 0);
}

KnownBytes global_bytes(Warp& warp, uint64_t address, uint32_t bytes) {
  Allocation* const in = warp.launch->memory->find(address, bytes);
  if (in == nullptr) return {};
  if (!in->tracked) return {.of_host = in->foreign};
  // Loads of this launch that begin after this check each byte.
  std::atomic_ref(in->all_defined).store(false, std::memory_order_relaxed);
  return {in->shadow(address), &in->sources, address - in->base, in->bytes, false};
}

KnownBytes known_bytes(Warp& warp, ptx::Space space, uint64_t address, uint32_t bytes,
                       uint32_t lane) {
  if (is_global(space, address)) return global_bytes(warp, address, bytes);
  const uint64_t window = address & kWindowMask, at = address & ~kWindowMask;
  if (space == ptx::Space::Shared || window == kSharedWindow) {
    SharedMemory& shared = warp.block->shared;
    if (at >= shared.defined.size()) return {};
    return {shared.defined.data() + at, &shared.sources, at, shared.defined.size(), false};
  }
  if (space == ptx::Space::Local || window == kLocalWindow) {
    if (at >= warp.local.stride) return {};
    const uint64_t place = uint64_t{lane} * warp.local.stride + at;
    return {warp.local.defined.data() + place, &warp.local.sources, place,
            uint64_t{kLanes} * warp.local.stride, false};
  }
  return {};
}

/// Visits the running lanes among `lanes` with their addresses.
template <typename Operands, typename Visit>
void for_each_address(const Warp& warp, const Step& step, const Operands& access, uint32_t lanes,
                      const Visit& visit) {
  const std::byte* const base = warp.registers.data + step.src[0];
  for (uint32_t left = lanes & warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t from = access.is_wide ? reinterpret_cast<const uint64_t*>(base)[lane]
                                         : reinterpret_cast<const uint32_t*>(base)[lane];
    visit(lane, from + static_cast<uint64_t>(access.offset));
  }
}

bool has(uint32_t lanes, uint32_t lane) { return (lanes >> lane & 1) != 0; }

}  // namespace

void Definedness::stored(Warp& warp, const Step& step, const UndefinedRegisters& set) {
  const Operand& value = instruction_of(warp, step).operands.back();
  std::vector<Value> parts;
  if (value.elements.empty()) parts.push_back(value_of(set, value));
  for (const Operand& element : value.elements) parts.push_back(value_of(set, element));
  Value any;
  for (const Value& part : parts) {
    if ((part.lanes & warp.masks.running) != 0) any.origin = part.origin;
    any.lanes |= part.lanes & warp.masks.running;
  }
  if (any.lanes == 0) return;
  if (follows_strictly(*warp.launch)) return use(warp, step, any, "is stored");
  keep_stored(warp, step, parts);
  if (!warp.launch->inputs.checks.defers) report_stored(warp, step, parts);
}

/// Treats every store to global memory as an output. Reports it only if all elements of the value
/// are undefined, because others may contain padding.
void Definedness::report_stored(Warp& warp, const Step& step, const std::vector<Value>& parts) {
  Value written{warp.masks.running, 0};
  for (const Value& part : parts) {
    written.lanes &= part.lanes;
    written.origin = part.origin;
  }
  for_each_address(warp, step, *step.memory(), written.lanes, [&](uint32_t lane, uint64_t address) {
    if (!is_global(step.memory()->space, address)) written.lanes &= ~(uint32_t{1} << lane);
  });
  // Structures of unknown alignment are copied byte by byte.
  const bool is_byte = element_bytes(instruction_of(warp, step)) == 1;
  if (written.lanes != 0 && !is_byte) use(warp, step, written, "is an output");
}

/// Marks the stored bytes as undefined as the registers were. Without
/// LaunchConfig::defers_undefined global memory counts as defined, because the store itself was
/// reported.
void Definedness::keep_stored(Warp& warp, const Step& step, const std::vector<Value>& parts) {
  const bool defers = warp.launch->inputs.checks.defers;
  const uint32_t size = element_bytes(instruction_of(warp, step));
  Value to_host;
  for_each_address(warp, step, *step.memory(), kNone, [&](uint32_t lane, uint64_t address) {
    if (!defers && is_global(step.memory()->space, address)) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!has(parts[i].lanes, lane)) continue;
      const uint64_t at = address + i * size;
      const KnownBytes bytes = known_bytes(warp, step.memory()->space, at, size, lane);
      const bool computed = defers && has(parts[i].computed, lane);
      bytes.set(0, size, computed ? number_of(warp, step, parts[i].origin, lane) : 0);
      if (!computed || !bytes.of_host) continue;
      to_host.lanes |= uint32_t{1} << lane;
      to_host.origin = parts[i].origin;
    }
  });
  if (to_host.lanes != 0) use(warp, step, to_host, "is stored to memory of the host");
}

uint32_t Definedness::number_of(Warp& warp, const Step& step, uint32_t origin, uint32_t lane) {
  const Origin& from = origins_[origin];
  if (from.cause.source != 0) return from.cause.source;
  const Instruction& in = instruction_of(warp, step);
  const std::string store = describe(warp.launch->inputs.program->module, in);
  CheckReport made{.kind = DeviceFindingKind::Uninitialized,
                   .message = "a register that nothing wrote is stored in " + store,
                   .lane = lane,
                   .other = &in};
  if (from.step == nullptr) {
    made.other = nullptr;
    return note_undefined_store(warp, step, std::move(made));
  }
  made.kind = from.cause.kind;
  made.message = fmt::format("{}; what it gives is stored in {}", from.cause.what, store);
  made.tensor = from.cause.tensor;
  made.byte_offset = from.cause.byte_offset;
  made.code = from.code;
  return note_undefined_store(warp, *from.step, std::move(made));
}

/// Handles atom and red with an undefined operand: the memory then holds a value computed from it.
void Definedness::combined_in_memory(Warp& warp, const Step& step, const UndefinedRegisters& set) {
  const auto* const atomic = step.operands.find<AtomicOperands>();
  if (atomic == nullptr) return;
  const Value operand = value_of(set, instruction_of(warp, step).operands.back());
  for_each_address(warp, step, *atomic, operand.lanes, [&](uint32_t lane, uint64_t address) {
    known_bytes(warp, atomic->space, address, atomic->bytes, lane)
        .set(0, atomic->bytes, number_of(warp, step, operand.origin, lane));
  });
}

bool Definedness::follows_cells(Warp& warp) {
  return warp.launch->inputs.checks.defers && !warp.frame().undefined.lanes.empty();
}

void Definedness::keep_cell(Warp& warp, const Step& step, const Cell& cell) {
  const Value value = value_of(warp.frame().undefined, cell.from);
  if (!has(value.lanes, cell.from_lane)) return;
  const bool computed = has(value.computed, cell.from_lane);
  const uint32_t number = computed ? number_of(warp, step, value.origin, cell.from_lane) : 0;
  known_bytes(warp, cell.space, cell.address, cell.bytes, cell.from_lane)
      .set(0, cell.bytes, number);
}

void Definedness::updated(Warp& warp, const Step& step, uint32_t lanes, const Cause& cause) {
  const Instruction& in = instruction_of(warp, step);
  const auto* const atomic = step.operands.find<AtomicOperands>();
  const bool exchanges = atomic != nullptr && atomic->reduction.kind == AtomicKind::Exch;
  if (in.opcode == ptx::Opcode::Atom) note_element(warp, step, 0, lanes, cause);
  if (exchanges) return;
  update.lanes |= lanes;
  uint32_t number = cause.source;
  if (number == 0) {
    number = note_undefined_store(warp, step,
                                  {.kind = cause.kind,
                                   .message = cause.what + "; what it makes of that stays there",
                                   .lane = static_cast<uint32_t>(std::countr_zero(lanes)),
                                   .tensor = cause.tensor,
                                   .byte_offset = cause.byte_offset,
                                   .count = static_cast<uint64_t>(std::popcount(lanes))});
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    update.sources[static_cast<size_t>(std::countr_zero(left))] = number;
  }
}

void Definedness::keep_update(Warp& warp, ptx::Space space, const uint64_t* address,
                              uint32_t bytes) {
  for (uint32_t left = update.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    known_bytes(warp, space, address[lane], bytes, lane).set(0, bytes, update.sources[lane]);
  }
}

}  // namespace gpuemu::emulator
