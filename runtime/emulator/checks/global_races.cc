#include "runtime/emulator/checks/global_races.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/emulator/checks/redundancy.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {
namespace {
constexpr auto kStorePatience = std::chrono::milliseconds(20);

/// Returns a mask of the word's bytes in [address, end).
uint32_t bits_of(uint64_t word_address, uint64_t address, uint64_t end) {
  const uint64_t from = std::max(address, word_address) - word_address;
  const uint64_t to = std::min(end, word_address + 4) - word_address;
  return ((1u << to) - 1) & ~((1u << from) - 1);
}

/// Returns a mask of the bytes of the word at `word_address` that accesses of `bytes` bytes touch.
uint32_t touched_bits(uint64_t word_address, const uint64_t* address, uint32_t bytes,
                      uint32_t lanes) {
  uint32_t bits = 0;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint64_t from = address[std::countr_zero(left)];
    bits |= bits_of(word_address, from, from + bytes);
  }
  return bits;
}

/// Returns the lanes that access the same word as the first of `lanes`, if they access parts of it.
uint32_t lanes_of_word(const uint64_t* address, uint32_t bytes, uint32_t lanes) {
  const auto first = static_cast<uint32_t>(std::countr_zero(lanes));
  uint32_t found = uint32_t{1} << first;
  if (bytes >= 4) return found;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (address[lane] / 4 == address[first] / 4) found |= uint32_t{1} << lane;
  }
  return found;
}

/// Returns whether the step is a plain ld or st, not an atomic or a copy.
bool loads_or_stores(Warp& warp, const Step& step) {
  const ptx::Opcode opcode = instruction_of(warp, step).opcode;
  return opcode == ptx::Opcode::Ld || opcode == ptx::Opcode::St;
}
}  // namespace

bool GlobalRaces::writes_same(Warp& warp, const Touch& touch) {
  const ptx::Instruction& instruction = instruction_of(warp, touch.step);
  if (!only_stores(instruction)) return false;
  const uint32_t size = element_bytes(instruction);
  for (uint32_t left = touch.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    for (uint32_t element = 0;
         element * size < touch.bytes && element < touch.step.elements().count; ++element) {
      const uint64_t value = stored_value(warp, touch.step, element, lane, size);
      const auto* there = reinterpret_cast<const void*>(touch.address[lane] + element * size);
      if (std::memcmp(there, &value, size) != 0) return false;
    }
  }
  return true;
}

bool GlobalRaces::same_soon(Warp& warp, const Touch& touch, uint32_t other) const {
  if (writes_same(warp, touch)) return true;
  if (!only_stores(instruction_of(warp, touch.step))) return false;
  // The other host thread may be preempted, or wait here for a store of this thread: limit the
  // wait.
  const auto patience = std::chrono::steady_clock::now() + kStorePatience;
  while (stores_.any_of(other) && std::chrono::steady_clock::now() < patience) {
    std::this_thread::yield();
  }
  return writes_same(warp, touch);
}

GlobalRaces::~GlobalRaces() {
  for (size_t i = 1; i < chunks_.size(); ++i) delete[] chunks_[i].load(std::memory_order_relaxed);
}

const GlobalRaces::Segment& GlobalRaces::segment(uint32_t number) const {
  const Place place = place_of(number);
  return chunks_[place.chunk].load(std::memory_order_acquire)[place.at];
}

uint32_t GlobalRaces::new_segment(Warp& warp) {
  Block& block = *warp.block;
  const uint32_t number = alone_ ? next_.load(std::memory_order_relaxed)
                                 : next_.fetch_add(1, std::memory_order_relaxed);
  if (alone_) next_.store(number + 1, std::memory_order_relaxed);
  if (number - first_ >= most_) {
    next_.store(first_ + most_, std::memory_order_relaxed);
    is_full_.store(true, std::memory_order_relaxed);
    return 0;
  }
  const Place place = place_of(number);
  std::atomic<Segment*>& chunk = chunks_[place.chunk];
  if (chunk.load(std::memory_order_acquire) == nullptr) {
    const std::lock_guard lock(mutex_);
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new Segment[size_t{kFirstChunk} << place.chunk], std::memory_order_release);
    }
  }
  const uint32_t now = warp.ordering.clock.now();
  chunk.load(std::memory_order_acquire)[place.at] = {.block = block.position.linear,
                                                     .warp = warp.index,
                                                     .epoch = block.shared.epoch,
                                                     .fences = block.grid_order.fences,
                                                     .sync_ops = block.grid_order.sync_ops,
                                                     .event = now};
  // The fence changes nothing in the order of the warp's own lanes.
  const bool is_behind_fence =
      warp.ordering.segment == 0 && warp.ordering.segment_epoch == block.shared.epoch;
  if (!is_behind_fence) warp.ordering.segment_ordered = now;
  warp.ordering.segment = number;
  warp.ordering.segment_epoch = block.shared.epoch;
  warp.ordering.segment_event = now;
  return number;
}

void GlobalRaces::fence(Warp& warp) {
  Block& block = *warp.block;
  const std::lock_guard lock(mutex_);
  std::vector<Fence>& fences = fences_[block.position.linear];
  const bool again = warp.ordering.segment == 0 && !fences.empty() &&
                     fences.back().warp == warp.index &&
                     fences.back().epoch == block.shared.epoch && fences.back().published == 0;
  if (!again) {
    fences.push_back(
        {.warp = warp.index, .epoch = block.shared.epoch, .sync_ops = block.grid_order.sync_ops});
  }
  block.grid_order.fences = static_cast<uint32_t>(fences.size());
  warp.ordering.rows.event = RowTags::kStale;
  warp.ordering.segment = 0;  // The fence does not cover later accesses.
}

void GlobalRaces::publish(Block& block) {
  ++block.grid_order.sync_ops;
  if (block.grid_order.fences == block.grid_order.published) return;
  const std::lock_guard lock(mutex_);
  const uint64_t now = clock_.fetch_add(1) + 1;
  std::vector<Fence>& fences = fences_[block.position.linear];
  for (; block.grid_order.published < block.grid_order.fences; ++block.grid_order.published) {
    fences[block.grid_order.published].published = now;
  }
}

void GlobalRaces::acquire(Block& block) {
  ++block.grid_order.sync_ops;
  block.grid_order.acquired = clock_.load();
}

bool GlobalRaces::ordered(const Segment& before, const Warp& now) {
  const Block& block = *now.block;
  if (before.block == block.position.linear) {
    return before.warp == now.index || before.epoch != block.shared.epoch ||
           before.sync_ops != block.grid_order.sync_ops;
  }
  const std::lock_guard lock(mutex_);
  const auto found = fences_.find(before.block);
  if (found == fences_.end()) return false;
  for (size_t i = before.fences; i < found->second.size(); ++i) {
    const Fence& fence = found->second[i];
    if (fence.published == 0 || fence.published > block.grid_order.acquired) return false;
    if (fence.warp == before.warp || fence.epoch != before.epoch ||
        fence.sync_ops != before.sync_ops) {
      return true;
    }
  }
  return false;
}

bool GlobalRaces::is_of(const Warp& warp, uint32_t number) const {
  if (number == 0 || number < first_) return false;
  if (number == warp.ordering.segment) return true;
  const Segment& other = segment(number);
  return other.block == warp.block->position.linear && other.warp == warp.index &&
         other.epoch == warp.block->shared.epoch;
}

/// Returns whether the cell names another segment of this launch that accessed the same bytes.
bool GlobalRaces::conflicts(Warp&, uint64_t cell, uint32_t bits, uint32_t own) const {
  const uint32_t other = segment_in(cell);
  return other >= first_ && other != own && (bytes_in(cell) & bits) != 0;
}

std::optional<GlobalRaces::Seen> GlobalRaces::unfenced_store(Warp& warp, const Touch& touch,
                                                             const RaceCells& cells,
                                                             uint32_t& flag_site) {
  const uint64_t written = load_cell(cells.last_write), self = warp.block->position.linear;
  const bool plain = (written & kCellAtomic) == 0;
  if (plain && conflicts(warp, written, cells.bits, touch.own)) {
    const Segment& other = segment(segment_in(written));
    if (other.block == self || ordered(other, warp)) return std::nullopt;
    return Seen{.segment = segment_in(written), .site = site_in(written)};
  }
  const bool may_be_announced = flags_ != nullptr && !touch.step.memory()->is_awaited;
  const auto found = may_be_announced ? flags_->announced(cells.at, self) : std::nullopt;
  if (!found || ordered(segment(found->data.segment), warp)) return std::nullopt;
  flag_site = cell_site(found->flag_site);
  return Seen{.segment = found->data.segment, .site = cell_site(found->data.site)};
}

Evidence GlobalRaces::evidence_for(Warp& warp, const Touch& touch, const RaceCells& cells,
                                   const Seen& race, uint64_t written) {
  const bool plain = loads_or_stores(warp, touch.step) && !race.atomic && !race.read_only;
  if (touch.is_volatile || !plain || segment(race.segment).block != warp.block->position.linear) {
    return kNoEvidence;
  }
  const bool stores = touch.access == Access::Store,
             again = site_in(written) == cell_site(touch.step.cache());
  const Evidence equal = again && site_in(written) != 0 ? kEqualStores : kNoEvidence;
  if (stores && !race.read_before) return equal;
  suspicion_of(*warp.launch)->reads.add(warp.block->position.linear, cells.at);
  const bool overwrites = stores && conflicts(warp, written, cells.bits, touch.own) &&
                          !ordered(segment(segment_in(written)), warp) && !writes_same(warp, touch);
  return kUnusedReads | (overwrites ? equal : 0);
}

void GlobalRaces::note(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                       Access access, uint32_t lanes) {
  const MemoryOperands* const operands = step.memory();
  const bool is_volatile = access == Access::Load && operands != nullptr && operands->is_ordered;
  const uint32_t own = is_volatile ? 0 : segment_of(warp);  // Polling does not start a segment.
  if (own == 0 && !is_volatile) return;
  if (access == Access::Store) {
    if (only_stores(instruction_of(warp, step))) begin_store(own);
    check_clashes(warp, step, address, lanes, false);
  }
  const Reach reach = access != Access::Atomic                             ? Reach::Plain
                      : instruction_of(warp, step).has(ptx::Modifier::Cta) ? Reach::Block
                                                                           : Reach::All;
  const uint32_t event = warp.ordering.clock.now() - warp.ordering.segment_event;
  const bool is_plain = access != Access::Atomic && !is_volatile;
  const bool stores = access == Access::Store;
  const uint64_t cell = cell_of({.segment = own, .who = 0, .event = event, .site = step.cache()});
  const Allocation* in = warp.registers.allocations[step.cache()];
  Found found;
  uint32_t left = lanes;
  if (is_plain && in != nullptr) {
    const RowNotes how{.in = *in,
                       .stem = cell & ~(uint64_t{0xf} << kCellBytesShift),
                       .stores = stores,
                       .read_only = step.is_read_only(),
                       .left = nullptr};
    left = note_consecutive(*in, address, bytes, how, lanes);
  }
  while (left != 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (in == nullptr || !in->contains(address[lane], bytes)) {
      in = warp.launch->memory->find(address[lane], bytes);
    }
    const bool is_noted = in != nullptr && in->rows != nullptr;
    if (is_noted && is_plain) {
      const uint32_t rest = note_alone(*in, address, bytes, stores, cell, left);
      if (rest != left) {
        left = rest;
        continue;
      }
    }
    const Touch touch{step,       access, own,   lanes_of_word(address, bytes, left),
                      address,    bytes,  event, reach,
                      is_volatile};
    left &= ~touch.lanes;
    if (!is_noted) {
      if (in != nullptr) in->unrecorded.store(true, std::memory_order_relaxed);
      continue;
    }
    note_words(warp, touch, *in, found);
  }
  report(warp, step, access, found, address);
}

/// Notes the words of an access one by one.
void GlobalRaces::note_words(Warp& warp, const Touch& touch, const Allocation& in, Found& found) {
  const Suspicion* const suspicion = suspicion_of(*warp.launch);
  const uint64_t begin = touch.address[std::countr_zero(touch.lanes)], end = begin + touch.bytes;
  open_words(in, in.word_of(begin), in.word_of(end - 1) - in.word_of(begin) + 1);
  for (uint64_t at = begin & ~uint64_t{3}; at < end; at += 4) {
    const uint64_t word = in.word_of(at);
    const RaceCells cells{in.races.writes[word], in.races.reads[word], at,
                          touched_bits(at, touch.address, touch.bytes, touch.lanes)};
    const uint64_t written = suspicion != nullptr ? load_cell(cells.last_write) : 0;
    uint32_t flag_site = 0;
    const std::optional<Seen> before = touch.is_volatile
                                           ? unfenced_store(warp, touch, cells, flag_site)
                                           : note_word(warp, touch, cells);
    if (!before) continue;
    if (suspicion != nullptr) found.needed |= evidence_for(warp, touch, cells, *before, written);
    if (found.bad.lanes == 0) {
      found.seen = *before;
      found.flag_site = flag_site;
    }
    for (uint32_t each = touch.lanes; each != 0; each &= each - 1) {
      found.bad.note(static_cast<uint32_t>(std::countr_zero(each)));
    }
  }
}

void GlobalRaces::report(Warp& warp, const Step& step, Access access, const Found& found,
                         const uint64_t* address) {
  if (found.bad.lanes == 0) return;
  const bool in_warp = found.seen.others != 0;
  const uint64_t first = address[found.bad.first];
  (this->*(in_warp ? &GlobalRaces::report_in_warp : &GlobalRaces::report_race))(warp, step, access,
                                                                                found, first);
  Suspicion* const suspicion = suspicion_of(*warp.launch);
  if (suspicion == nullptr) return;
  suspicion->note(in_warp ? DeviceFindingKind::RaceWarp : DeviceFindingKind::RaceGlobal,
                  instruction_of(warp, step),
                  instruction_at(*warp.launch->inputs.program, found.seen.site),
                  warp.launch->memory->nearest(first)->name, found.needed);
}

/// Returns how a cell of the word at `at` encodes which lane accesses which byte.
uint32_t GlobalRaces::who_touches(const Touch& touch, uint64_t at) {
  const auto first = static_cast<uint32_t>(std::countr_zero(touch.lanes));
  if ((touch.lanes & (touch.lanes - 1)) == 0) return first;
  if (touch.bytes > 2) return kUnknownLanes;
  const uint32_t form =
      touch.bytes == 2 ? kPairs + first / kLanesOfPairs : kFours + first / kLanesOfFours;
  for (uint32_t left = touch.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (lane_of_byte(form, static_cast<uint32_t>(touch.address[lane] - at)) != lane) {
      return kUnknownLanes;
    }
  }
  return form;
}

/// Returns the lanes that earlier accessed bytes of this warp's cell which other lanes access now
/// without an order between them.
uint32_t GlobalRaces::unordered_lanes(const Warp& warp, const Touch& touch, uint64_t at,
                                      uint64_t cell, bool reads) const {
  const uint32_t event = segment(segment_in(cell)).event + event_in(cell), who = who_in(cell);
  uint32_t out = 0;
  if (event < warp.ordering.segment_ordered) return out;
  for (uint32_t left = touch.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t from = touch.address[lane];
    uint32_t others = 0;
    for (uint32_t bits = bits_of(at, from, from + touch.bytes) & bytes_in(cell); bits != 0;
         bits &= bits - 1) {
      const uint32_t other = lane_of_byte(who, static_cast<uint32_t>(std::countr_zero(bits)));
      if (other == kSeveralLanes) others = ~uint32_t{0};
      if (other < kLanes) others |= uint32_t{1} << other;
    }
    others &= ~(uint32_t{1} << lane);
    const uint32_t found = reads ? warp.ordering.clock.unordered_reads(lane, others, event)
                                 : warp.ordering.clock.unordered_writes(lane, others, event);
    // If only some of the candidate lanes are unordered, the one that read may be an ordered one.
    if (who != kSeveralLanes || found == others) out |= found;
  }
  return out;
}

std::optional<GlobalRaces::Seen> GlobalRaces::note_in_warp(Warp& warp, const Touch& touch,
                                                           const RaceCells& cells) const {
  const auto mine = [&](uint64_t cell) {
    return (bytes_in(cell) & cells.bits) != 0 && (cell & kCellAtomic) == 0 &&
           is_of(warp, segment_in(cell));
  };
  const uint64_t written = load_cell(cells.last_write), read = load_cell(cells.last_read);
  // check_clashes() handles several lanes that write in one instruction.
  const bool writes_again =
      touch.access != Access::Load && site_in(written) == cell_site(touch.step.cache());
  uint32_t others = 0;
  if (mine(written) && !writes_again) {
    others = unordered_lanes(warp, touch, cells.at, written, false);
  }
  const bool read_before = others == 0 && touch.access == Access::Store && mine(read);
  if (read_before) others = unordered_lanes(warp, touch, cells.at, read, true);
  if (others == 0 || writes_same(warp, touch)) return std::nullopt;
  return Seen{.segment = touch.own,
              .site = site_in(read_before ? read : written),
              .read_before = read_before,
              .others = others};
}

std::optional<GlobalRaces::Seen> GlobalRaces::note_word(Warp& warp, const Touch& touch,
                                                        const RaceCells& cells) {
  std::optional<Seen> seen = note_in_warp(warp, touch, cells);
  const uint64_t written = load_cell(cells.last_write);
  const auto same = [&] { return writes_same(warp, touch); };
  bool harmless = false;
  if (conflicts(warp, written, cells.bits, touch.own)) {
    const bool by_atomic = (written & kCellAtomic) != 0;
    // Compare-and-swap loops begin with a plain read, and counters are polled.
    const bool narrow = by_atomic && too_narrow(touch, written, warp);
    const bool demoted = by_atomic && !narrow &&
                         (touch.access != Access::Store || warp.block->grid_order.acquired != 0);
    if (!demoted && !ordered(segment(segment_in(written)), warp)) {
      harmless = touch.access == Access::Store && same_soon(warp, touch, segment_in(written));
      if (!harmless) {
        seen = Seen{.segment = segment_in(written),
                    .site = site_in(written),
                    .atomic = by_atomic,
                    .narrow = narrow};
      }
    }
  }
  if (touch.access == Access::Load) return note_reading(touch, cells, seen);
  const bool atomic = touch.access == Access::Atomic;
  const uint64_t read = load_cell(cells.last_read);
  if (!harmless && !atomic && conflicts(warp, read, cells.bits, touch.own) &&
      !ordered(segment(segment_in(read)), warp) && !same()) {
    seen = Seen{.segment = segment_in(read), .site = site_in(read), .read_before = true};
  }
  // If several blocks or lanes wrote the same value, each of them may read it.
  Touched by{.segment = touch.own,
             .who = who_touches(touch, cells.at),
             .event = touch.event,
             .bytes = harmless ? 0 : cells.bits,
             .site = touch.step.cache(),
             .reach = touch.reach};
  const bool joins = segment_in(written) == touch.own && event_in(written) == touch.event &&
                     who_in(written) != by.who;
  if (joins && (site_in(written) == cell_site(touch.step.cache()) || same())) {
    by.who = kUnknownLanes;
  }
  store_cell(cells.last_write, cell_of(by));
  return seen;
}

/// Returns whether two atomic accesses are not atomic to each other: one has the scope of a block,
/// and the other is in another block.
bool GlobalRaces::too_narrow(const Touch& touch, uint64_t written, const Warp& now) const {
  if (touch.access != Access::Atomic) return false;
  if (touch.reach != Reach::Block && (written & kCellNarrow) == 0) return false;
  return segment(segment_in(written)).block != now.block->position.linear;
}

/// Checks reads through the texture cache (`nc`), which may miss every store of the launch, even
/// one by the same thread.
std::optional<GlobalRaces::Seen> GlobalRaces::note_reading(const Touch& touch,
                                                           const RaceCells& cells,
                                                           std::optional<Seen> before) const {
  const uint64_t written = load_cell(cells.last_write);
  const bool of_launch = segment_in(written) >= first_ && (bytes_in(written) & cells.bits) != 0;
  if (!before && of_launch && touch.step.is_read_only()) {
    before = Seen{.segment = segment_in(written), .site = site_in(written), .read_only = true};
  }
  const uint64_t now = cell_of({.segment = touch.own,
                                .who = who_touches(touch, cells.at),
                                .event = touch.event,
                                .bytes = cells.bits,
                                .site = touch.step.cache()});
  store_cell(cells.last_read, merged_reads(load_cell(cells.last_read), now));
  return before;
}

}  // namespace gpuemu::emulator
