#include "runtime/emulator/redundancy_review.h"

#include <algorithm>
#include <bit>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {

/// Above this size a review is not worth copying all memory.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;

void make_note(DeviceFinding& race, Evidence evidence) {
  const bool stores = (evidence & kEqualStores) != 0;
  const std::string place = race.line != 0 ? fmt::format("{}:{}", race.file, race.line)
                                           : fmt::format("PTX line {}", race.ptx_line);
  race.message = fmt::format(
      "{}: Triton has several threads do the same work: {}", place,
      stores ? "what they store to one place differs by rounding only"
             : "some read what others have overwritten, and what they read reaches no result");
  race.kind = stores ? DeviceFindingKind::RedundantStores : DeviceFindingKind::RedundantReads;
}

uint64_t address_of(const Warp& warp, const Step& step, uint32_t lane) {
  const std::byte* at = warp.registers.data + step.src[0];
  const MemoryOperands& access = *step.memory();
  const uint64_t base = access.is_wide ? reinterpret_cast<const uint64_t*>(at)[lane]
                                       : reinterpret_cast<const uint32_t*>(at)[lane];
  return base + static_cast<uint64_t>(access.offset);
}

}  // namespace

void explain(std::vector<DeviceFinding>& findings, const Suspicion& suspicion,
             const RedundancyReview& look) {
  const bool unused = suspicion.reads.complete() && !look.reads_used;
  for (DeviceFinding& finding : findings) {
    const Evidence needed = suspicion.needed_by(finding);
    if ((needed & kNoEvidence) != 0 || needed == 0) continue;
    if ((needed & kUnusedReads) != 0 && !unused) continue;
    if ((needed & kEqualStores) != 0 && !look.stores.are_equal(finding.ptx_line)) continue;
    make_note(finding, needed);
  }
}

bool MemoryCopy::take(Memory& memory, const std::set<uint64_t>& addresses) {
  uint64_t total = 0;
  pieces_.clear();
  for (const uint64_t address : addresses) {
    Allocation* of = memory.find(address, 0);
    if (of == nullptr) continue;
    total += of->bytes;
    if (total > kBytesMax) return pieces_.clear(), false;
    pieces_.push_back(piece_of(of));
  }
  return true;
}

MemoryCopy MemoryCopy::now() const {
  MemoryCopy copy;
  for (const Piece& piece : pieces_) copy.pieces_.push_back(piece_of(piece.of));
  return copy;
}

MemoryCopy::Piece MemoryCopy::piece_of(Allocation* of) {
  const auto* from = reinterpret_cast<const std::byte*>(of->base);
  return {of, {from, from + of->bytes}, of->defined};
}

void MemoryCopy::put_back() const {
  for (const Piece& piece : pieces_) {
    std::ranges::copy(piece.bytes, reinterpret_cast<std::byte*>(piece.of->base));
    std::ranges::copy(piece.defined, piece.of->defined.begin());
  }
}

void RedundancyObserver::collect(Warp& warp, const Step& step, uint32_t bytes) {
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t from = address_of(warp, step, lane);
    for (uint64_t at = from; at < from + bytes; ++at) {
      if (look_.reads.has(warp.block->position.linear, at & ~uint64_t{3})) {
        look_.reads.add_store({.block = warp.block->position.linear,
                               .address = at,
                               .epoch = warp.block->shared.epoch,
                               .warp = warp.index,
                               .lane = lane,
                               .event = warp.ordering.clock.now(),
                               .ordered = warp.ordering.clock.read_ordered()});
      }
    }
  }
}

/// Returns the lanes for which some of these bytes may be either the old or the new ones.
uint32_t RedundancyObserver::doubtful_lanes(Warp& warp, const Step& step, uint64_t offset,
                                            uint32_t bytes) const {
  uint32_t found = 0;
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t from = address_of(warp, step, lane) + offset;
    for (uint64_t at = from; at < from + bytes; ++at) {
      if (look_.reads.covers({.block = warp.block->position.linear,
                              .address = at,
                              .epoch = warp.block->shared.epoch,
                              .warp = warp.index,
                              .lane = lane,
                              .event = warp.ordering.clock.now(),
                              .ordered = warp.ordering.clock.ordered()})) {
        found |= uint32_t{1} << lane;
      }
    }
  }
  return found;
}

void RedundancyObserver::before(Warp& warp, const Step& step) {
  if (shadow_ != nullptr) shadow_->before(warp, step);
  const MemoryOperands* const access = step.memory();
  if (access == nullptr || look_.reads.empty()) return;
  const bool global = access->space == ptx::Space::Global || access->space == ptx::Space::Generic;
  if (!global) return;
  const ptx::Instruction& instruction = instruction_of(warp, step);
  const uint32_t element = element_bytes(instruction);
  if (look_.collects) {
    if (instruction.opcode == ptx::Opcode::St) collect(warp, step, element * step.elements().count);
    return;
  }
  if (instruction.opcode == ptx::Opcode::St || instruction.opcode == ptx::Opcode::Red) return;
  if (instruction.opcode != ptx::Opcode::Ld) {
    // Values read by copies and atomics are not tracked, so they count as used.
    constexpr uint32_t kWidest = 16;
    if (doubtful_lanes(warp, step, 0, kWidest) != 0) look_.reads_used = true;
    return;
  }
  for (uint32_t i = 0; i < step.elements().count; ++i) {
    if (const uint32_t lanes = doubtful_lanes(warp, step, uint64_t{i} * element, element)) {
      warp.tracking.definedness.note_element(warp, step, i, lanes,
                                             {DeviceFindingKind::UncertainReadUsed, "", "", 0});
    }
  }
}

}  // namespace gpuemu::emulator
