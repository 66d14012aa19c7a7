#include "runtime/emulator/machine/cluster_races.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/advice.h"

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kRaceWordBytes = 4;
/// Words recorded at once, for 20 MB: the tiles of most kernels. Beyond it, all are forgotten.
constexpr size_t kWordsMost = size_t{1} << 17;

uint32_t bits_at(const Block& of, uint32_t number) {
  uint32_t word = 0;
  std::memcpy(&word, of.shared.bytes.data() + size_t{number} * kRaceWordBytes, sizeof word);
  return word;
}

/// Returns the bits of a word that belong to the bytes of `bits`.
uint32_t bytes_mask(uint32_t bits) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < kRaceWordBytes; ++i) mask |= (bits >> i & 1) != 0 ? 0xffu << (8 * i) : 0;
  return mask;
}

/// The accesses of a block to a word of its own, in the current phase.
struct OwnAccesses {
  uint32_t written = 0, read = 0;  ///< Bytes.
  bool is_atomic = false;          ///< The last write.
  uint32_t write_site = 0, read_site = 0;
};

OwnAccesses own_accesses(const Block& of, uint32_t number) {
  const RaceWord seen = of.shared.race_history.load(number);
  const auto is_of_phase = [&](uint32_t tag) {
    return tag != 0 && tag >> kWarpBits >= of.shared.phase_epoch;
  };
  OwnAccesses own{.is_atomic = (seen.write & kAtomicTag) != 0,
                  .write_site = seen.write_site,
                  .read_site = seen.read_site};
  if (is_of_phase(seen.write)) own.written = seen.written_bytes;
  if (is_of_phase(seen.read)) own.read = seen.read_bytes;
  return own;
}

/// Returns whether the instruction is a compare-and-swap, whose loop begins with a plain read.
bool is_swap(const ptx::Instruction* instruction) {
  return instruction != nullptr && instruction->has(ptx::Modifier::Cas);
}

}  // namespace

/// The other half of a race: an instruction, and the block that executed it.
struct ClusterRaces::Other {
  const ptx::Instruction* instruction = nullptr;
  const Block* block = nullptr;
};

void ClusterRaces::report(const Seen& by, Access access, const Block& of, uint32_t number,
                          const Other& other) {
  const Launch& launch = *by.warp->launch;
  const ptx::Module& module = launch.inputs.program->module;
  const auto first = static_cast<uint32_t>(std::countr_zero(by.bits));
  const uint64_t at = uint64_t{number} * kRaceWordBytes + first;
  const std::string what =
      other.instruction == nullptr ? "an access" : describe(module, *other.instruction);
  report_check(
      *by.warp, *by.step,
      {.kind = DeviceFindingKind::RaceShared,
       .message = fmt::format(
           "{} shared memory {} of block {} of the cluster, which nothing orders with {} of block "
           "{}; put {} between",
           verb(access), shared_place(*by.warp, at, element_bytes(*by.instruction)),
           of.position.rank, what, other.block->position.rank,
           cluster_barrier(ptx::language_of(module))),
       .lane = by.lane,
       .byte_offset = static_cast<int64_t>(at),
       .other = other.instruction,
       .at = by.instruction,
       .code = by.code});
}

std::optional<ClusterRaces::Other> ClusterRaces::earlier(const Seen& by, Access access,
                                                         const Word& word, uint32_t number) {
  const bool is_atomic = access == Access::Atomic;
  const auto meets = [&](const Seen& seen) {
    return seen.warp != nullptr && seen.warp->block != by.warp->block && (seen.bits & by.bits) != 0;
  };
  // As in a block, an atomic access after plain reads is no race, nor is a read after a swap.
  const auto is_allowed = [&](bool other_is_atomic, const ptx::Instruction* other) {
    return other_is_atomic && (is_atomic || (access == Access::Load && is_swap(other)));
  };
  if (meets(word.write) && !is_allowed(word.write.is_atomic, word.write.instruction)) {
    return Other{word.write.instruction, word.write.warp->block};
  }
  if (access == Access::Store && meets(word.read)) {
    return Other{word.read.instruction, word.read.warp->block};
  }
  if (word.of == by.warp->block) return std::nullopt;
  const Program& program = *by.warp->launch->inputs.program;
  const OwnAccesses own = own_accesses(*word.of, number);
  const ptx::Instruction* const write = instruction_at(program, own.write_site);
  if ((own.written & by.bits) != 0 && !is_allowed(own.is_atomic, write)) {
    return Other{write, word.of};
  }
  if (access == Access::Store && (own.read & by.bits) != 0) {
    return Other{instruction_at(program, own.read_site), word.of};
  }
  return std::nullopt;
}

void ClusterRaces::note(Warp& warp, const Step& step, uint32_t lane, const SharedPlace& place,
                        uint32_t bytes, Access access, const std::byte* from) {
  Block& of = *place.block;
  // To write what is there already is no race.
  if (from != nullptr && of.shared.all_written(place.offset, bytes) &&
      std::memcmp(from, of.shared.bytes.data() + place.offset, bytes) == 0) {
    return;
  }
  if (words_.size() >= kWordsMost) look_at_all();
  Seen by{.warp = &warp,
          .step = &step,
          .code = &warp.code(),
          .instruction = &instruction_of(warp, step),
          .lane = lane,
          .is_atomic = access == Access::Atomic};
  for (uint32_t at = place.offset; at < place.offset + bytes;) {
    const uint32_t number = at / kRaceWordBytes, begin = at % kRaceWordBytes;
    const uint32_t count = std::min(kRaceWordBytes - begin, place.offset + bytes - at);
    by.bits = ((1u << count) - 1) << begin;
    by.value = bits_at(of, number);
    if (from != nullptr) {
      std::memcpy(reinterpret_cast<std::byte*>(&by.value) + begin, from + (at - place.offset),
                  count);
    }
    Word& word = words_[{of.position.rank, number}];
    word.of = &of;
    const std::optional<Other> other = earlier(by, access, word, number);
    if (other && !by.is_reported) report(by, access, of, number, *other);
    by.is_reported = by.is_reported || other;
    (access == Access::Load ? word.read : word.write) = by;
    at += count;
  }
}

void ClusterRaces::look_at_later(const Word& word, uint32_t number) {
  const Block& of = *word.of;
  const OwnAccesses own = own_accesses(of, number);
  const uint32_t now = bits_at(of, number);
  const auto look = [&](const Seen& seen, Access access) {
    if (seen.warp == nullptr || seen.warp->block == &of || seen.is_reported) return;
    const Program& program = *seen.warp->launch->inputs.program;
    // If the value is still the same, the block may have written that again, which is no race.
    const bool differs = seen.is_atomic || ((now ^ seen.value) & bytes_mask(seen.bits)) != 0;
    const bool is_after_read = access == Access::Load && own.is_atomic;
    if ((own.written & seen.bits) != 0 && differs && !is_after_read &&
        !(seen.is_atomic && own.is_atomic)) {
      return report(seen, access, of, number, {instruction_at(program, own.write_site), &of});
    }
    const bool is_after_swap = seen.is_atomic && is_swap(seen.instruction);
    if (access != Access::Load && !is_after_swap && (own.read & seen.bits) != 0) {
      report(seen, access, of, number, {instruction_at(program, own.read_site), &of});
    }
  };
  look(word.write, word.write.is_atomic ? Access::Atomic : Access::Store);
  look(word.read, Access::Load);
}

void ClusterRaces::look_at_all() {
  for (const auto& [key, word] : words_) look_at_later(word, key.second);
  words_.clear();
}

void ClusterRaces::order(const std::vector<std::unique_ptr<Block>>& blocks) {
  look_at_all();
  for (const auto& block : blocks) block->shared.phase_epoch = block->shared.epoch + 1;
}

}  // namespace gpuemu::emulator
