#include "runtime/emulator/machine/races.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/emulator/machine/global_races.h"
#include "runtime/emulator/machine/program.h"

namespace gpuemu::emulator {

const ptx::Instruction* instruction_at(const Program& program, uint32_t site) {
  for (const Code& code : program.functions)
    for (const Ins& ins : code.ins)
      if (site != 0 && ins.cache == site && ins.origin < code.source->body.size())
        return &code.source->body[ins.origin];
  return nullptr;
}

uint64_t stored_value(Warp& warp, const Ins& ins, uint32_t element, uint32_t lane,
                      uint32_t element_size) {
  const uint32_t at = warp.lists[ins.list + element];
  if (element_size == 8) return warp.u64(at)[lane];
  const uint32_t word = warp.u32(at)[lane];
  return element_size == 4 ? word : word & ((uint32_t{1} << 8 * element_size) - 1);
}

namespace {

/// The bytes of word `word` that an access to [address, address + bytes) touches, as bits.
uint8_t bytes_of_word(uint64_t word, uint64_t address, uint32_t bytes) {
  const uint64_t from = std::max(address, word * 4) - word * 4;
  const uint64_t to = std::min(address + bytes, word * 4 + 4) - word * 4;
  return static_cast<uint8_t>(((1u << to) - 1) & ~((1u << from) - 1));
}

/// What an access conflicts with.
struct Conflicts {
  Tally between_warps, within_warp;
  uint32_t site = 0;         ///< Of the other warp's access.
  uint32_t lanes = 0;        ///< Of this warp that stored before.
  uint32_t within_site = 0;  ///< With which instruction.
  bool read_before = false;  ///< The other warp only read.
};

class SharedRace {
 public:
  SharedRace(Warp& warp, const Ins& ins, Access access)
      : warp_(warp),
        ins_(ins),
        access_(access),
        epoch_(warp.block->epoch),
        self_(warp.block->epoch << kWarpBits | (warp.index + 1)) {}

  void note(uint32_t lane, RaceWord& seen, uint8_t bytes, bool same_value) {
    check(lane, seen, bytes, same_value);
    if (access_ == Access::Load)
      read(seen, bytes);
    else
      write(lane, seen, bytes, same_value);
  }
  void report_all(const uint64_t* address);

 private:
  bool current(uint32_t tag) const { return tag >> kWarpBits == epoch_; }
  void check(uint32_t lane, const RaceWord& seen, uint8_t bytes, bool same_value);
  void read(RaceWord& seen, uint8_t bytes);
  void write(uint32_t lane, RaceWord& seen, uint8_t bytes, bool same_value);
  bool compares(uint32_t site) const {
    const ptx::Instruction* other = instruction_at(*warp_.launch->program, site);
    return other != nullptr && other->has("cas");
  }

  Warp& warp_;
  const Ins& ins_;
  Access access_;
  uint32_t epoch_, self_;
  Conflicts found_;
};

void SharedRace::check(uint32_t lane, const RaceWord& seen, uint8_t bytes, bool same_value) {
  const bool overlaps = (seen.written_bytes & bytes) != 0;
  if (current(seen.write) && overlaps && !same_value) {
    const bool atomic = (seen.write & kAtomicTag) != 0;
    const uint32_t own_bit = uint32_t{1} << warp_.index;
    // Each atomic is a write of its own, also beside one of this warp.
    const bool own = (seen.writers & own_bit) != 0 && (!atomic || (seen.writers & ~own_bit) == 0);
    // Loops that compare and swap begin with a plain read.
    const bool demoted = atomic && (access_ == Access::Atomic ||
                                    (access_ == Access::Load && compares(seen.write_site)));
    if (!own && !demoted) {
      found_.between_warps.note(lane);
      found_.site = seen.write_site;
      found_.read_before = false;
    } else if (own && !atomic && access_ != Access::Atomic && seen.syncs == warp_.syncs &&
               (seen.lanes >> lane & 1) == 0 && seen.write_site != ins_.cache) {
      found_.within_warp.note(lane);
      found_.lanes = seen.lanes;
      found_.within_site = seen.write_site;
    }
  }
  const bool read_by_others = current(seen.read) && (seen.read & ~kAtomicTag) != self_;
  if (access_ == Access::Store && read_by_others && !same_value && (seen.read_bytes & bytes) != 0) {
    found_.between_warps.note(lane);
    found_.site = seen.read_site;
    found_.read_before = true;
  }
}

void SharedRace::read(RaceWord& seen, uint8_t bytes) {
  const bool several = current(seen.read) && seen.read != self_;
  seen.read_bytes = static_cast<uint8_t>(current(seen.read) ? seen.read_bytes | bytes : bytes);
  seen.read = several ? epoch_ << kWarpBits | kMany : self_;
  seen.read_site = ins_.cache;
}

void SharedRace::write(uint32_t lane, RaceWord& seen, uint8_t bytes, bool same_value) {
  const uint32_t bit = uint32_t{1} << lane, flag = access_ == Access::Atomic ? kAtomicTag : 0;
  const bool again = current(seen.write) && seen.write_site == ins_.cache &&
                     seen.syncs == warp_.syncs && (seen.writers >> warp_.index & 1) != 0;
  seen.lanes = again || (same_value && current(seen.write)) ? seen.lanes | bit : bit;
  if (!current(seen.write)) seen.writers = 0, seen.written_bytes = 0;
  const bool joins = flag != 0 && current(seen.write) && (seen.write & kAtomicTag) != 0;
  if (!same_value && !joins) seen.writers = 0;
  seen.writers |= uint32_t{1} << warp_.index;
  const bool several = (seen.writers & (seen.writers - 1)) != 0;
  seen.write = several ? epoch_ << kWarpBits | kMany | flag : self_ | flag;
  seen.written_bytes = static_cast<uint8_t>(seen.written_bytes | bytes);
  seen.syncs = warp_.syncs;
  seen.write_site = ins_.cache;
}

void SharedRace::report_all(const uint64_t* address) {
  const Program& program = *warp_.launch->program;
  const uint32_t element = element_bytes(instruction_of(warp_, ins_));
  const auto say = [&](const char* kind, const Tally& bad, uint32_t site, const auto& words) {
    const ptx::Instruction* other = instruction_at(program, site);
    const uint64_t at = address[bad.first];
    const std::string text = other != nullptr ? describe(program.module, *other) : "an access";
    report(warp_, ins_,
           {.kind = kind,
            .message = fmt::format("{} shared memory {} {}", verb(access_),
                                   shared_place(warp_, at, element), words(text)),
            .lane = bad.first,
            .byte_offset = static_cast<int64_t>(at),
            .count = bad.count(),
            .other = other});
  };
  if (found_.between_warps.lanes != 0)
    say("race_shared", found_.between_warps, found_.site, [&](const std::string& other) {
      return fmt::format("without a barrier after another warp's {}; put __syncthreads() between",
                         other);
    });
  if (found_.within_warp.lanes != 0)
    say("race_warp", found_.within_warp, found_.within_site, [&](const std::string& other) {
      return fmt::format(
          "that lane {} of the same warp wrote ({}) without __syncwarp() after it; threads of a "
          "warp run on their own",
          std::countr_zero(found_.lanes), other);
    });
}

struct Clash {
  uint32_t lane = 0, other = 0;
  uint64_t value = 0, others = 0;
};

/// The first lane that stores something else than an earlier one to the same address.
std::optional<Clash> first_clash(Warp& warp, const Ins& ins, const uint64_t* address,
                                 uint32_t lanes) {
  constexpr uint32_t kSlots = 2 * kLanes;
  constexpr uint8_t kFree = 0xff;
  const uint32_t size = element_bytes(instruction_of(warp, ins));
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
    for (uint32_t element = 0; element < ins.count; ++element) {
      const uint64_t mine = stored_value(warp, ins, element, lane, size),
                     before = stored_value(warp, ins, element, slots[at], size);
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

void check_clashes(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t lanes,
                   bool shared) {
  if (ascending(address, lanes)) return;
  const ptx::Instruction& instruction = instruction_of(warp, ins);
  if (instruction.family != "st") return;
  const std::optional<Clash> clash = first_clash(warp, ins, address, lanes);
  if (!clash) return;
  const uint64_t at = address[clash->lane];
  const Allocation* in = shared ? nullptr : warp.launch->memory->nearest(at);
  const auto offset = static_cast<int64_t>(at - (in != nullptr ? in->base : 0));
  const std::string place =
      in != nullptr ? fmt::format("byte offset {} of '{}'", offset, in->name)
                    : "shared memory " + shared_place(warp, at, element_bytes(instruction));
  report(warp, ins,
         {.kind = "race_warp",
          .message = fmt::format("writes {:#x} to {}, where lane {} of the same warp writes {:#x} "
                                 "with the same instruction; which of them stays is undefined",
                                 clash->value, place, clash->other, clash->others),
          .lane = clash->lane,
          .tensor = in != nullptr ? in->name : "",
          .byte_offset = offset});
}

namespace {
bool is_ordered(const Ins& ins, Access access) {
  return access == Access::Atomic || (ins.flags & kOrdered) != 0;
}

/// Threads that order their accesses tell each other through flags, which the detectors do not
/// follow: what a release, or a fence with an atomic or volatile access behind it, finds done
/// counts as ordered for the whole block.
void order_before(Warp& warp, const ptx::Instruction& instruction) {
  const bool releases = instruction.has("release") || instruction.has("acq_rel");
  if (!releases && !warp.fenced) return;
  warp.fenced = false;
  warp.block->next_epoch();
}
}  // namespace

void note_shared(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes, Access access,
                 uint32_t lanes, uint32_t same_value) {
  Block& block = *warp.block;
  if (is_ordered(ins, access)) order_before(warp, instruction_of(warp, ins));
  if (access != Access::Atomic && (ins.flags & kOrdered) != 0) return;
  if (access == Access::Store) check_clashes(warp, ins, address, lanes, true);
  SharedRace race(warp, ins, access);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const bool same = access == Access::Store && (same_value >> lane & 1) != 0;
    for (uint64_t word = address[lane] / 4; word <= (address[lane] + bytes - 1) / 4; ++word)
      race.note(lane, block.race[word], bytes_of_word(word, address[lane], bytes), same);
  }
  race.report_all(address);
}

void before_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                   Access access, uint32_t lanes) {
  GlobalRaces& races = *warp.launch->races;
  if (!is_ordered(ins, access)) return races.note(warp, ins, address, bytes, access, lanes);
  const ptx::Instruction& instruction = instruction_of(warp, ins);
  const bool of_block = instruction.has("cta");
  if (!of_block && (instruction.has("release") || instruction.has("acq_rel"))) ++warp.block->fences;
  order_before(warp, instruction);
  if (access == Access::Atomic) races.note(warp, ins, address, bytes, access, lanes);
  if (of_block)
    ++warp.block->sync_ops;
  else
    races.publish(*warp.block);
}

void after_global(Warp& warp, const Ins& ins, const uint64_t* address, uint32_t bytes,
                  Access access, uint32_t lanes) {
  GlobalRaces& races = *warp.launch->races;
  if (is_ordered(ins, access)) {
    if (!instruction_of(warp, ins).has("cta")) return races.acquire(*warp.block);
    ++warp.block->sync_ops;
    return;
  }
  races.note(warp, ins, address, bytes, access, lanes);
}

}  // namespace gpuemu::emulator
