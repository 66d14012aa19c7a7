#include "runtime/emulator/checks/shared_races.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/piece_notes.h"
#include "runtime/emulator/checks/race_records.h"
#include "runtime/emulator/checks/redundancy.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/advice.h"

namespace gpuemu::emulator {

uint64_t stored_value(Warp& warp, const Step& step, uint32_t element, uint32_t lane,
                      uint32_t element_size) {
  const uint32_t at = warp.function.lists[step.elements().first + element];
  if (element_size == 8) return warp.u64(at)[lane];
  const uint32_t word = warp.u32(at)[lane];
  return element_size == 4 ? word : word & ((uint32_t{1} << 8 * element_size) - 1);
}

namespace {

/// Returns a mask of the bytes of word `word` that an access to [address, address + bytes) touches.
uint32_t bytes_of_word(uint64_t word, uint64_t address, uint32_t bytes) {
  const uint64_t from = std::max(address, word * 4) - word * 4;
  const uint64_t to = std::min(address + bytes, word * 4 + 4) - word * 4;
  return ((1u << to) - 1) & ~((1u << from) - 1);
}

/// The conflicts that one access found.
struct Conflicts {
  Tally between_warps, within_warp;
  uint32_t site = 0;           ///< Step::cache of the other warp's access.
  Evidence evidence = 0;       ///< Evidence that would excuse the races between warps.
  bool read_before = false;    ///< The other warp only read.
  uint32_t others = 0;         ///< Lanes of this warp that accessed the place before.
  uint32_t within_site = 0;    ///< Step::cache of their access.
  bool read_in_warp = false;   ///< These lanes only read.
  uint64_t first_word = 0;     ///< The first word on which lanes of this warp conflict.
  bool several_words = false;  ///< They conflict on more than that word.
};

class SharedRace {
 public:
  /// With `in_warp_only`, conflicts with other warps are not reported.
  SharedRace(Warp& warp, const Step& step, Access access, bool in_warp_only = false)
      : warp_(warp),
        step_(step),
        access_(access),
        in_warp_only_(in_warp_only),
        epoch_(warp.block->shared.epoch),
        self_(warp.block->shared.epoch << kWarpBits | (warp.index + 1)) {}

  void look(uint32_t lane, RaceHistory& history, uint64_t word, uint32_t bytes, bool same_value) {
    check_within(lane, history.load(word), word, bytes, same_value);
  }
  void note(uint32_t lane, RaceHistory& history, uint64_t word, uint32_t bytes, bool same_value) {
    RaceWord seen = history.load(word);
    if (!in_warp_only_) check(lane, seen, bytes, same_value);
    const WordAccess by{self_, warp_.ordering.clock.now(), site_number(step_.cache()), lane, bytes};
    if (access_ == Access::Load) {
      record_read(seen, by);
    } else {
      record_write(seen, by, access_ == Access::Atomic ? kAtomicTag : 0, same_value);
    }
    history.store(word, seen);
  }
  void report_all(const uint64_t* address);

 private:
  bool current(uint32_t tag) const { return tag >> kWarpBits == epoch_; }
  bool own(uint32_t tag) const { return (tag & ~kAtomicTag) == self_; }
  void check(uint32_t lane, const RaceWord& seen, uint32_t bytes, bool same_value);
  void check_within(uint32_t lane, const RaceWord& seen, uint64_t word, uint32_t bytes,
                    bool same_value);
  uint32_t unordered_writers(uint32_t lane, const RaceWord& seen, uint32_t bytes) const;
  uint32_t unordered_readers(uint32_t lane, const RaceWord& seen, uint32_t bytes) const;
  void report_within(const uint64_t* address);
  void say(DeviceFindingKind kind, const Tally& bad, uint32_t site, const uint64_t* address,
           const std::string& words, Evidence evidence = kNoEvidence);
  std::string name_of(uint32_t site) const;
  ptx::Language language() const { return ptx::language_of(warp_.launch->inputs.program->module); }
  bool compares(uint32_t site) const {
    const ptx::Instruction* other = instruction_at(*warp_.launch->inputs.program, site);
    return other != nullptr && other->has(ptx::Modifier::Cas);
  }

  Warp& warp_;
  const Step& step_;
  Access access_;
  bool in_warp_only_;
  uint32_t epoch_, self_;
  Conflicts found_;
};

void SharedRace::check(uint32_t lane, const RaceWord& seen, uint32_t bytes, bool same_value) {
  if (current(seen.write) && (seen.written_bytes & bytes) != 0 && !same_value) {
    const bool atomic = (seen.write & kAtomicTag) != 0;
    const uint32_t own_bit = uint32_t{1} << warp_.index;
    // Each atomic counts as a separate write, even after one by this warp.
    const bool own = (seen.writers & own_bit) != 0 && (!atomic || (seen.writers & ~own_bit) == 0);
    // Compare-and-swap loops begin with a plain read.
    const bool demoted = atomic && (access_ == Access::Atomic ||
                                    (access_ == Access::Load && compares(seen.write_site)));
    if (!own && !demoted) {
      found_.between_warps.note(lane);
      found_.site = seen.write_site;
      found_.read_before = false;
      const bool again = access_ == Access::Store && !atomic && seen.write_site != 0 &&
                         seen.write_site == site_number(step_.cache());
      found_.evidence |= again ? kEqualStores : kNoEvidence;
    }
  }
  const bool read_by_others = current(seen.read) && (seen.read & ~kAtomicTag) != self_;
  if (access_ == Access::Store && read_by_others && !same_value && (seen.read_bytes & bytes) != 0) {
    found_.between_warps.note(lane);
    found_.site = seen.read_site;
    found_.read_before = true;
    found_.evidence |= kNoEvidence;
  }
}

uint32_t SharedRace::unordered_writers(uint32_t lane, const RaceWord& seen, uint32_t bytes) const {
  const bool atomic = (seen.write & kAtomicTag) != 0;
  if (!own(seen.write) || seen.write_event < warp_.ordering.clock.ordered()) return 0;
  const LanesOfWord by{seen.write_lanes, seen.write_parts};
  if (atomic) {
    const bool demoted =
        access_ == Access::Atomic || (access_ == Access::Load && compares(seen.write_site));
    if (demoted) return 0;
  } else if (by.includes(lane, bytes)) {
    return 0;
  }
  return warp_.ordering.clock.unordered_writes(lane, by.others(lane, bytes, atomic),
                                               seen.write_event);
}

uint32_t SharedRace::unordered_readers(uint32_t lane, const RaceWord& seen, uint32_t bytes) const {
  if (access_ != Access::Store || seen.read != self_) return 0;
  if (seen.read_event < warp_.ordering.clock.read_ordered()) return 0;
  const LanesOfWord by{seen.read_lanes, seen.read_parts};
  const uint32_t others = by.others(lane, bytes, true);
  const uint32_t left = warp_.ordering.clock.unordered_reads(lane, others, seen.read_event);
  // If only some of the candidate lanes are unordered, the one that read may be an ordered one.
  return (others | uint32_t{1} << lane) == LanesOfWord::kAnyOther && left != others ? 0 : left;
}

void SharedRace::check_within(uint32_t lane, const RaceWord& seen, uint64_t word, uint32_t bytes,
                              bool same_value) {
  if (same_value) return;
  const uint32_t writers = current(seen.write) ? unordered_writers(lane, seen, bytes) : 0;
  const uint32_t readers =
      writers == 0 && current(seen.read) ? unordered_readers(lane, seen, bytes) : 0;
  if ((writers | readers) == 0) return;
  const bool first = found_.within_warp.lanes == 0;
  found_.within_warp.note(lane);
  found_.several_words = found_.several_words || (!first && word != found_.first_word);
  if (!first) return;
  found_.first_word = word;
  found_.others = writers | readers;
  found_.read_in_warp = writers == 0;
  found_.within_site = writers != 0 ? seen.write_site : seen.read_site;
}

std::string SharedRace::name_of(uint32_t site) const {
  const Program& program = *warp_.launch->inputs.program;
  const ptx::Instruction* other = instruction_at(program, site);
  return other != nullptr ? describe(program.module, *other) : "an access";
}

void SharedRace::say(DeviceFindingKind kind, const Tally& bad, uint32_t site,
                     const uint64_t* address, const std::string& words, Evidence evidence) {
  const uint32_t element = element_bytes(instruction_of(warp_, step_));
  const uint64_t at = address[bad.first];
  report_check(warp_, step_,
               {.kind = kind,
                .message = fmt::format("{} shared memory {} {}", verb(access_),
                                       shared_place(warp_, at, element), words),
                .lane = bad.first,
                .byte_offset = static_cast<int64_t>(at),
                .count = bad.count(),
                .other = instruction_at(*warp_.launch->inputs.program, site)});
  if (Suspicion* suspicion = suspicion_of(*warp_.launch)) {
    suspicion->note(kind, instruction_of(warp_, step_),
                    instruction_at(*warp_.launch->inputs.program, site), "", evidence);
  }
}

void SharedRace::report_within(const uint64_t* address) {
  say(DeviceFindingKind::RaceWarp, found_.within_warp, found_.within_site, address,
      fmt::format("that lane {} of the same warp {} ({}) without {} in between{}",
                  std::countr_zero(found_.others), found_.read_in_warp ? "read" : "wrote",
                  name_of(found_.within_site), warp_barrier(language()),
                  in_warp_only_ ? ", and `volatile` puts them in no order" : ""));
}

void SharedRace::report_all(const uint64_t* address) {
  if (found_.between_warps.lanes != 0) {
    say(DeviceFindingKind::RaceShared, found_.between_warps, found_.site, address,
        fmt::format("without a barrier after another warp's {}; put {} between",
                    name_of(found_.site), block_barrier(language())),
        found_.evidence);
  }
  // A single volatile word that lanes write and read is a flag; several words are data.
  if (found_.within_warp.lanes != 0 && (!in_warp_only_ || found_.several_words)) {
    report_within(address);
  }
}

struct Clash {
  uint32_t lane = 0, other = 0;
  uint64_t value = 0, others = 0;
};

/// Returns the first lane that stores a different value than an earlier lane at the same address.
std::optional<Clash> first_clash(Warp& warp, const Step& step, const uint64_t* address,
                                 uint32_t lanes) {
  constexpr uint32_t kSlots = 2 * kLanes;
  constexpr uint8_t kFree = 0xff;
  const uint32_t size = element_bytes(instruction_of(warp, step));
  std::array<uint8_t, kSlots> slots{};
  slots.fill(kFree);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint8_t>(std::countr_zero(left));
    auto at = static_cast<uint32_t>((address[lane] * 0x9e3779b97f4a7c15u) >> 58);
    while (slots[at] != kFree && address[slots[at]] != address[lane]) at = (at + 1) % kSlots;
    if (slots[at] == kFree) {
      slots[at] = lane;
      continue;
    }
    for (uint32_t element = 0; element < step.elements().count; ++element) {
      const uint64_t mine = stored_value(warp, step, element, lane, size),
                     before = stored_value(warp, step, element, slots[at], size);
      if (mine != before) return Clash{lane, slots[at], mine, before};
    }
  }
  return std::nullopt;
}

bool ascending(const uint64_t* address, uint32_t lanes) {
  uint64_t last = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint64_t at = address[std::countr_zero(left)];
    if (at <= last && left != lanes) return false;
    last = at;
  }
  return true;
}
}  // namespace

void check_clashes(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes,
                   bool shared) {
  if (ascending(address, lanes)) return;
  const ptx::Instruction& instruction = instruction_of(warp, step);
  if (!only_stores(instruction)) return;
  const std::optional<Clash> clash = first_clash(warp, step, address, lanes);
  if (!clash) return;
  const uint64_t at = address[clash->lane];
  const Allocation* in = shared ? nullptr : warp.launch->memory->nearest(at);
  const auto offset = static_cast<int64_t>(at - (in != nullptr ? in->base : 0));
  const std::string place =
      in != nullptr ? fmt::format("byte offset {} of '{}'", offset, in->name)
                    : "shared memory " + shared_place(warp, at, element_bytes(instruction));
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::RaceWarp,
       .message = fmt::format("writes {:#x} to {}, where lane {} of the same warp writes {:#x} "
                              "with the same instruction; which of them stays is undefined",
                              clash->value, place, clash->other, clash->others),
       .lane = clash->lane,
       .tensor = in != nullptr ? in->name : "",
       .byte_offset = offset});
  if (Suspicion* suspicion = suspicion_of(*warp.launch)) {
    suspicion->note(DeviceFindingKind::RaceWarp, instruction, nullptr,
                    in != nullptr ? in->name : "", kEqualStores);
  }
}

namespace {
/// Records accesses of whole 16-byte pieces; false: nothing was recorded, and the words must be
/// looked at one by one.
bool note_pieces(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                 Access access, uint32_t lanes) {
  constexpr uint32_t kPieceBytes = 16;
  if (access == Access::Atomic || bytes % kPieceBytes != 0) return false;
  Block& block = *warp.block;
  const LaneClock& clock = warp.ordering.clock;
  const PieceAccess pieces{.address = address,
                           .lanes = lanes,
                           .words = bytes / 4,
                           .self = block.shared.epoch << kWarpBits | (warp.index + 1),
                           .own_bit = uint32_t{1} << warp.index,
                           .event = clock.now(),
                           .ordered = clock.ordered(),
                           .read_ordered = clock.read_ordered(),
                           .site = step.cache()};
  return access == Access::Load ? note_piece_loads(block.shared.races_for_loads(), pieces)
                                : note_piece_stores(block.shared.races(), pieces);
}
}  // namespace

void note_shared(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                 Access access, uint32_t lanes, uint32_t same_value) {
  Block& block = *warp.block;
  if (is_ordered(step, access)) order_before(warp, instruction_of(warp, step));
  const bool plain = access == Access::Atomic || !is_ordered(step, access);
  if (!plain && !instruction_of(warp, step).has(ptx::Modifier::Volatile)) return;
  if (!plain && block.shared.volatile_races.empty()) {
    block.shared.volatile_races.resize(block.shared.race_history.words(),
                                       block.shared.bytes.data());
  }
  if (plain && access == Access::Store) check_clashes(warp, step, address, lanes, true);
  if (plain && (same_value & lanes) == 0 &&
      note_pieces(warp, step, address, bytes, access, lanes)) {
    return;
  }
  RaceHistory& history = !plain                   ? block.shared.volatile_races
                         : access == Access::Load ? block.shared.races_for_loads()
                                                  : block.shared.races();
  SharedRace race(warp, step, access, !plain);
  using Phase = void (SharedRace::*)(uint32_t, RaceHistory&, uint64_t, uint32_t, bool);
  // All lanes are checked before any is recorded, so that the history does not contain accesses of
  // the same instruction.
  for (const Phase phase : {&SharedRace::look, &SharedRace::note}) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      const bool same = access == Access::Store && (same_value >> lane & 1) != 0;
      for (uint64_t word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; ++word) {
        (race.*phase)(lane, history, word, bytes_of_word(word, address[lane], bytes), same);
      }
    }
  }
  race.report_all(address);
}

void before_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   Access access, uint32_t lanes) {
  GlobalRaces& races = *warp.launch->races;
  if (!is_ordered(step, access)) return races.note(warp, step, address, bytes, access, lanes);
  const ptx::Instruction& instruction = instruction_of(warp, step);
  const bool of_block = instruction.has(ptx::Modifier::Cta);
  if (!of_block &&
      (instruction.has(ptx::Modifier::Release) || instruction.has(ptx::Modifier::AcqRel))) {
    races.fence(warp);
  }
  order_before(warp, instruction);
  warp.pass_global();
  if (access == Access::Atomic) races.note(warp, step, address, bytes, access, lanes);
  if (!of_block && access != Access::Load) races.note_flags(warp, step, address, access, lanes);
  if (of_block) {
    ++warp.block->grid_order.sync_ops;
  } else {
    races.publish(*warp.block);
  }
}

void after_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                  Access access, uint32_t lanes) {
  GlobalRaces& races = *warp.launch->races;
  if (is_ordered(step, access)) {
    warp.pass_global();
    if (instruction_of(warp, step).has(ptx::Modifier::Cta)) {
      ++warp.block->grid_order.sync_ops;
      return;
    }
    races.acquire(*warp.block);
    if (access != Access::Load) return;
    races.note(warp, step, address, bytes, access, lanes);
    races.note_flags(warp, step, address, access, lanes);
    return;
  }
  races.note(warp, step, address, bytes, access, lanes);
}

}  // namespace gpuemu::emulator
