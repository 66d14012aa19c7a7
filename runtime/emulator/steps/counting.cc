#include "runtime/emulator/steps/counting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/report/counters.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

constexpr uint32_t kSectorBytes = 32, kLineBytes = 128;
constexpr uint32_t kBanks = 32, kBankBytes = 4;
/// Largest number of pieces that one request can touch: 32 misaligned bytes per lane.
constexpr size_t kPiecesMax = kLanes * 10;

struct Request {
  std::array<uint64_t, kLanes> address;
  uint32_t lanes = 0;
  uint32_t bytes = 0;
};

/// The distinct aligned pieces of `piece` bytes (a power of two) that the lanes access.
class Pieces {
 public:
  Pieces(const Request& request, uint32_t lanes, uint32_t piece) {
    const int shift = std::countr_zero(piece);
    bool ascending = true;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint64_t first = request.address[static_cast<uint32_t>(std::countr_zero(left))];
      const uint64_t last = (first + request.bytes - 1) >> shift;
      for (uint64_t at = first >> shift; at <= last && size_ < kPiecesMax; ++at) {
        // Neighbouring lanes mostly access the same piece or the next one.
        if (size_ != 0 && all_[size_ - 1] == at) continue;
        ascending = ascending && (size_ == 0 || all_[size_ - 1] < at);
        all_[size_++] = at;
      }
    }
    if (ascending) return;
    std::sort(all_.begin(), all_.begin() + size_);
    size_ = static_cast<uint32_t>(std::unique(all_.begin(), all_.begin() + size_) - all_.begin());
  }
  uint32_t size() const { return size_; }
  /// Returns the largest number of pieces in any of `kBanks` banks.
  uint32_t deepest_bank() const {
    std::array<uint32_t, kBanks> depth{};
    for (uint32_t i = 0; i < size_; ++i) ++depth[all_[i] % kBanks];
    return *std::ranges::max_element(depth);
  }

 private:
  std::array<uint64_t, kPiecesMax> all_;
  uint32_t size_ = 0;
};

/// Returns the bytes from the first to the last lane, if the lanes access them in order without
/// gaps or all access the same ones. Then pieces can be counted without listing them.
std::optional<std::pair<uint64_t, uint64_t>> row_of(const Request& request, uint32_t lanes) {
  const uint64_t first = request.address[static_cast<uint32_t>(std::countr_zero(lanes))];
  uint64_t next = first;
  bool in_order = true, same = true;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint64_t at = request.address[static_cast<uint32_t>(std::countr_zero(left))];
    in_order = in_order && at == next;
    same = same && at == first;
    next += request.bytes;
  }
  if (in_order) return std::pair(first, next);
  if (same) return std::pair(first, first + request.bytes);
  return std::nullopt;
}

uint64_t pieces_of_row(std::pair<uint64_t, uint64_t> row, uint64_t piece) {
  return (row.second - 1) / piece - row.first / piece + 1;
}

void count_global(const Request& request, MemoryCount& to) {
  to.global_requests += 1;
  to.global_bytes += lanes_in(request.lanes) * request.bytes;
  if (const auto row = row_of(request, request.lanes)) {
    to.sectors += pieces_of_row(*row, kSectorBytes);
    to.lines += pieces_of_row(*row, kLineBytes);
    return;
  }
  to.sectors += Pieces(request, request.lanes, kSectorBytes).size();
  to.lines += Pieces(request, request.lanes, kLineBytes).size();
}

/// Returns the passes over the banks that the lanes of one part need.
uint64_t passes_of(const Request& request, uint32_t lanes) {
  // Consecutive words are in consecutive banks.
  if (const auto row = row_of(request, lanes)) {
    return (pieces_of_row(*row, kBankBytes) + kBanks - 1) / kBanks;
  }
  return Pieces(request, lanes, kBankBytes).deepest_bank();
}

/// Shared memory serves 128 bytes at once: 8-byte accesses are split into two halves of the warp,
/// 16-byte ones into four quarters. A word that several lanes read is served once.
void count_shared(const Request& request, MemoryCount& to) {
  const uint32_t parts = std::clamp(request.bytes / kBankBytes, 1u, 4u), width = kLanes / parts;
  to.shared_requests += 1;
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t of_part = width == kLanes ? kNone : ((1u << width) - 1) << (part * width);
    const uint32_t lanes = request.lanes & of_part;
    if (lanes == 0) continue;
    const uint64_t passes = passes_of(request, lanes);
    to.wavefronts += passes;
    to.bank_conflicts += passes - 1;
  }
}

void count_memory(Warp& warp, const MemoryUse& use, MemoryCount& to) {
  Request request;
  request.bytes = use.bytes;
  uint32_t shared = 0, global = 0;
  const bool generic = use.space == ptx::Space::Generic;
  const auto offset = static_cast<uint64_t>(use.offset);
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint64_t& at = request.address[lane];
    at = use.wide ? warp.u64(use.base)[lane] + offset
                  : static_cast<uint32_t>(warp.u32(use.base)[lane] + offset);
    const uint64_t window = at & kWindowMask;
    if (use.space == ptx::Space::Shared || (generic && window == kSharedWindow)) {
      shared |= 1u << lane;
    } else if (!generic || (window != kLocalWindow && window != kParamWindow)) {
      global |= 1u << lane;
    }
    if (shared >> lane & 1) at &= ~kWindowMask;
  }
  request.lanes = global;
  if (global != 0) count_global(request, to);
  request.lanes = shared;
  if (shared != 0) count_shared(request, to);
}

void add(std::vector<FlowCount>& to, uint32_t index, uint32_t lanes) {
  if (index == kNone || lanes == 0) return;
  to[index].warps += 1;
  to[index].threads += lanes_in(lanes);
}

/// Counts the edges that lanes take after this instruction; `active` are the lanes that reached it.
void count_edges(Warp& warp, const Step& step, const CountingStep& counter, uint32_t active) {
  ProfileCounts& counts = warp.block->counters->counts;
  const uint32_t mask = warp.masks.running;
  const bool goes_away = counter.run == kRunOf<branch> || counter.run == kRunOf<branch_indexed> ||
                         counter.run == ret || counter.run == exit || counter.run == trap;
  add(counts.edges, counter.taken, mask);
  add(counts.edges, counter.next, goes_away ? active & ~mask : active);
  if (counter.targets == kNone || mask == 0) return;
  const uint32_t* index = warp.u32(step.src[0]);
  const uint32_t lead = index[std::countr_zero(mask)];
  uint32_t same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0 && index[lane] == lead) same |= 1u << lane;
  }
  if (lead < step.operands.get<IndexedBranchOperands>().count) {
    add(counts.edges, warp.function.lists[counter.targets + lead], same);
  }
}

/// Returns the counter for the requests of `step`; null for a helper step.
MemoryCount* memory_count(Warp& warp, const Step& step) {
  const Code& code = warp.code();
  const uint32_t instruction =
      code.counting_steps[static_cast<size_t>(&step - code.steps.data())].instruction;
  if (instruction == kNone) return nullptr;
  return &warp.block->counters->counts.instructions[instruction].memory;
}
}  // namespace

PieceCounter::PieceCounter(Warp& warp, const Step& step, ptx::Space space, uint32_t bytes)
    : warp_(warp), step_(step), space_(space), bytes_(bytes) {}

void PieceCounter::add(uint64_t address) {
  address_[used_++] = address;
  if (used_ == kLanes) flush();
}

void PieceCounter::flush() {
  MemoryCount* const to = used_ != 0 ? memory_count(warp_, step_) : nullptr;
  if (to != nullptr) {
    Request request{address_, used_ == kLanes ? kNone : (1u << used_) - 1, bytes_};
    const bool shared =
        space_ == ptx::Space::Shared ||
        (space_ == ptx::Space::Generic && (address_[0] & kWindowMask) == kSharedWindow);
    for (uint64_t& at : request.address) at &= shared ? ~kWindowMask : ~uint64_t{0};
    (shared ? count_shared : count_global)(request, *to);
  }
  used_ = 0;
}

void count_row(Warp& warp, const Step& step, ptx::Space space, uint64_t address, uint64_t bytes) {
  MemoryCount* const to = bytes != 0 ? memory_count(warp, step) : nullptr;
  if (to == nullptr) return;
  const auto pieces = [&](uint64_t size) {
    return (address + bytes - 1) / size - address / size + 1;
  };
  if (space == ptx::Space::Shared) {
    to->shared_requests += 1;
    to->wavefronts += pieces(uint64_t{kBanks} * kBankBytes);
    return;
  }
  to->global_requests += 1;
  to->global_bytes += bytes;
  to->sectors += pieces(kSectorBytes);
  to->lines += pieces(kLineBytes);
}

void count(Warp& warp, const Step& step) {
  const Code& code = warp.code();
  const CountingStep& counter = code.counting_steps[static_cast<size_t>(&step - code.steps.data())];
  ProfileCounts& counts = warp.block->counters->counts;
  const uint32_t active = warp.masks.running;
  add(counts.blocks, counter.block, active);
  warp.masks.running &= warp.pred(counter.guard.predicate) ^ counter.guard.flip;
  warp.executed += uint64_t{lanes_in(warp.masks.running)} * counter.counted;
  if (counter.instruction != kNone && warp.masks.running != 0) {
    InstructionCount& of = counts.instructions[counter.instruction];
    if (counter.counted != 0) {
      of.warps += 1;
      of.threads += lanes_in(warp.masks.running);
    }
    if (counter.run == kRunOf<branch> && warp.masks.running != active) of.divergent += 1;
    for (uint32_t i = counter.uses_begin; i < counter.uses_end; ++i) {
      count_memory(warp, code.memory_uses[i], of.memory);
    }
  }
  count_edges(warp, step, counter, active);
  if (warp.masks.running != 0) counter.run(warp, step);
}

}  // namespace gpuemu::emulator::steps
