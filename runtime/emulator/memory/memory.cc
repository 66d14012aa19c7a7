#include "runtime/emulator/memory/memory.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "runtime/device/allocation_owners.h"
#include "runtime/device/texture.h"
#include "runtime/emulator/memory/fence.h"
#include "runtime/emulator/memory/race_cell.h"
#include "runtime/emulator/memory/sparse.h"

namespace gpuemu::emulator {
namespace {
/// Segment numbers have 26 bits and restart here. A launch needs at most 2^22 of them.
constexpr uint32_t kSegmentsEnd = uint32_t{15} << 22;
static_assert(kSegmentsEnd + kRaceSegmentsMax <= uint32_t{1} << (64 - kCellSegmentShift));
/// Alignment of allocations: what drivers give, and enough for any tensor to serve as a texture.
constexpr uint64_t kAlign = std::max<uint64_t>(kDeviceAlignment, kTextureAlignment);
constexpr std::byte kPoison{0xfb};
/// Limit of ranges that undefined_in() returns: a column of a matrix has one per row.
constexpr size_t kUndefinedMax = 4096;
constexpr std::string_view kHost = "what the host has left";
/// Race histories that are kept for later allocations: those of small cases, which are launched
/// often. Clearing new ones takes as long as a small launch.
constexpr uint64_t kHistoryWordsKept = uint64_t{64} << 10;
constexpr size_t kHistoriesKept = 32;
/// The same for marks of defined bytes.
constexpr uint64_t kMarksKept = 4 * kHistoryWordsKept;
/// For allocations from this size on, check that the host has as much memory left: if it runs out,
/// the kernel's out-of-memory killer ends processes.
constexpr uint64_t kLookBytes = uint64_t{256} << 20;

/// Returns the memory that the host can give without swapping; unlimited if that is unknown.
uint64_t host_bytes_left() {
  std::ifstream text("/proc/meminfo");
  std::string key, unit;
  uint64_t kibibytes = 0;
  while (text >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes << 10;
    std::getline(text, unit);
  }
  return ~uint64_t{0};
}

/// Starts tracking a variable; at first every byte of it is defined.
void track(Allocation& variable) {
  if (variable.tracked) return;
  variable.defined.assign(variable.bytes, 1);
  variable.marks = variable.defined.data();
  variable.tracked = true;
}
}  // namespace

Result<uint64_t> Memory::allocate(uint64_t bytes, const std::string& name, Kind kind) {
  const bool tracked = kind == Kind::Buffer || kind == Kind::Blank;
  const uint64_t counted = kind == Kind::Host ? 0 : bytes;
  const auto out = [&](std::string_view what) {
    std::vector<AllocationOwner> owners;
    for (const auto& [base, one] : by_base_) {
      if (one->counted != 0) owners.push_back({one->name, one->counted, base});
    }
    for (const auto& [base, one] : divided_) owners.push_back({one->name, one->counted, base});
    return out_of_memory(name, bytes, {what, used_, limit_}, std::move(owners));
  };
  if (counted > limit_ || used_ > limit_ - counted) return out("the emulator's memory");
  // A buffer takes twice its size: each byte has another that records whether it was written.
  if (tracked && bytes >= kLookBytes && bytes > host_bytes_left() / 2) return out(kHost);
  auto allocation = std::make_unique<Allocation>();
  const uint64_t total = bytes + 2 * red_zone_ + kAlign;
  // Untouched pages take no memory, which matters because a module may declare gigabytes and wide
  // red zones are larger than small allocations. Allocations with wide red zones have pages of
  // their own, which the fence can protect.
  std::byte* const fenced =
      tracked && red_zone_ > kRedZone ? Fence::instance().take(total) : nullptr;
  if (fenced != nullptr) {
    allocation->storage = {fenced, Fence::give_back};
  } else if ((kind == Kind::Host && is_sparse(bytes)) || red_zone_ > kRedZone) {
    allocation->storage = {map_sparse(total), unmap_sparse};
  } else {
    // A buffer is poisoned below, so that only its red zones are cleared.
    auto* const made =
        static_cast<std::byte*>(tracked ? std::malloc(total) : std::calloc(total, 1));
    allocation->storage.reset(made);
  }
  if (!allocation->storage) return out(kHost);
  const auto start = reinterpret_cast<uint64_t>(allocation->storage.get());
  allocation->base = (start + red_zone_ + kAlign - 1) / kAlign * kAlign;
  allocation->bytes = bytes;
  allocation->name = name;
  allocation->tracked = tracked;
  allocation->variable = kind == Kind::Variable;
  allocation->all_defined = !tracked;
  if (tracked) {
    try {
      allocation->defined = kind == Kind::Blank ? any_marks(bytes) : std::vector<uint8_t>(bytes);
      allocation->marks = allocation->defined.data();
    } catch (const std::bad_alloc&) {
      return out(kHost);
    }
    if (kind == Kind::Buffer) {
      std::memset(reinterpret_cast<void*>(allocation->base), static_cast<int>(kPoison), bytes);
    }
    if (fenced == nullptr && red_zone_ <= kRedZone) {
      const uint64_t end = allocation->base + bytes;
      std::memset(reinterpret_cast<void*>(start), 0, allocation->base - start);
      std::memset(reinterpret_cast<void*>(end), 0, start + total - end);
    }
  }
  const uint64_t base = allocation->base;
  allocation->counted = counted;
  used_ += counted;
  if (tracked) ++buffers_;
  put(std::move(allocation));
  return base;
}

void Memory::put(std::unique_ptr<Allocation> allocation) {
  changes();
  by_base_[allocation->base] = std::move(allocation);
}

Status Memory::free(uint64_t address) {
  if (const auto divided = divided_.find(address); divided != divided_.end()) {
    join(*divided->second);
  }
  const auto found = by_base_.find(address);
  if (found == by_base_.end()) {
    return error(ErrorCode::InvalidArgument, "free of {:#x}, which is not a live allocation",
                 address);
  }
  used_ -= found->second->counted;
  const bool is_buffer = found->second->tracked && !found->second->variable;
  if (is_buffer && --buffers_ == 0) heap_.clear();
  std::unique_ptr<Allocation> gone = std::move(found->second);
  changes();
  by_base_.erase(found);
  keep_history(*gone);
  keep_marks(*gone);
  if (freed_kept_ != 0 && is_buffer) keep_freed(std::move(gone));
  return ok_status();
}

void Memory::keep_history(Allocation& gone) {
  if (gone.rows == nullptr || gone.races.words > kHistoryWordsKept) return;
  if (histories_.size() == kHistoriesKept) histories_.erase(histories_.begin());
  histories_.push_back(gone.take_races());
}

void Memory::keep_marks(Allocation& gone) {
  if (gone.defined.empty() || gone.defined.size() > kMarksKept) return;
  if (marks_.size() == kHistoriesKept) marks_.erase(marks_.begin());
  marks_.push_back(std::move(gone.defined));
}

std::vector<uint8_t> Memory::any_marks(uint64_t bytes) {
  const auto kept = std::ranges::find_if(
      marks_, [&](const std::vector<uint8_t>& one) { return one.size() >= bytes; });
  if (kept == marks_.end()) return std::vector<uint8_t>(bytes);
  std::vector<uint8_t> found = std::move(*kept);
  marks_.erase(kept);
  found.resize(bytes);
  return found;
}

/// Gives an allocation a history: a kept one that has room and is not much larger, else a new one.
/// None if there is no memory.
void Memory::give_history(Allocation& to, uint64_t words) {
  constexpr uint64_t kMuchLarger = 4;
  const auto kept = std::ranges::find_if(histories_, [&](const RaceRecords& one) {
    return one.words >= words && one.words <= kMuchLarger * words;
  });
  if (kept != histories_.end()) {
    to.set_races(std::move(*kept));
    histories_.erase(kept);
    return;
  }
  // Untouched pages take no memory.
  RaceRecords made{.words = words};
  made.rows.reset(static_cast<RaceRow*>(std::calloc(row_count(words), sizeof(RaceRow))));
  made.writes.reset(static_cast<uint64_t*>(std::calloc(words, sizeof(uint64_t))));
  made.reads.reset(static_cast<uint64_t*>(std::calloc(words, sizeof(uint64_t))));
  const bool all = made.rows != nullptr && made.writes != nullptr && made.reads != nullptr;
  if (all) to.set_races(std::move(made));
}

void Memory::keep_freed(std::unique_ptr<Allocation> gone) {
  gone->freed = true;
  gone->marks = nullptr;
  gone->defined = {};
  gone->sources.clear();
  gone->take_races();
  freed_bytes_ += gone->bytes;
  freed_.push_back(std::move(gone));
  forget_freed(freed_kept_);
}

void Memory::forget_freed(uint64_t bytes_max) {
  constexpr size_t kFreedMax = 4096;  // Limits small ones, whose red zones also take address space.
  while (!freed_.empty() && (freed_bytes_ > bytes_max || freed_.size() > kFreedMax)) {
    freed_bytes_ -= freed_.front()->bytes;
    freed_.pop_front();
  }
}

Status Memory::adopt(uint64_t address, uint64_t bytes, const std::string& name) {
  if (address == 0 || address + bytes < address || (address + bytes) >> kWindowShift != 0) {
    return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} are not memory of this process",
                 bytes, address);
  }
  auto after = by_base_.lower_bound(address);
  if (after != by_base_.begin() &&
      std::prev(after)->second->base + std::prev(after)->second->bytes > address) {
    --after;
  }
  for (; after != by_base_.end() && after->first < address + bytes; ++after) {
    if (after->second->foreign) continue;
    return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} are in '{}', memory of this device",
                 bytes, address, after->second->name);
  }
  foreign_.add(address, bytes);
  follow_foreign(name);
  return ok_status();
}

Status Memory::release(uint64_t address, uint64_t bytes) {
  const Allocation* const piece = find(address, bytes);
  const std::string name = piece == nullptr ? std::string() : piece->name;
  if (!foreign_.remove(address, bytes)) {
    return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} were not adopted", bytes, address);
  }
  follow_foreign({});
  if (freed_kept_ == 0) return ok_status();
  auto gone = std::make_unique<Allocation>();
  gone->base = address;
  gone->bytes = bytes;
  gone->name = name;
  gone->foreign = true;
  keep_freed(std::move(gone));
  return ok_status();
}

void Memory::follow_foreign(const std::string& name) {
  const Pieces pieces = foreign_pieces();
  std::string known = name;
  changes();
  std::erase_if(by_base_, [&](const auto& one) {
    if (!one.second->foreign) return false;
    const auto piece = pieces.find(one.first);
    const bool stays = piece != pieces.end() && piece->second == one.first + one.second->bytes &&
                       one.second->part == parts_.contains(one.first);
    if (!stays && known.empty() && !one.second->part) known = one.second->name;
    return !stays;
  });
  for (const auto& [begin, end] : pieces) {
    if (by_base_.contains(begin)) continue;
    auto made = std::make_unique<Allocation>();
    const auto part = parts_.find(begin);
    made->part = part != parts_.end();
    made->base = begin;
    made->bytes = end - begin;
    made->name = made->part ? part->second.name : known;
    made->foreign = true;
    made->tracked = false;
    made->all_defined = true;
    put(std::move(made));
  }
}

Result<Allocation*> Memory::checked(uint64_t address, uint64_t bytes, const char* what) {
  if (Allocation* const allocation = find(address, bytes)) return allocation;
  const auto after = divided_.upper_bound(address);
  if (after != divided_.begin() && std::prev(after)->second->contains(address, bytes)) {
    Allocation* const whole = std::prev(after)->second.get();
    gather(*whole);
    return whole;
  }
  if (foreign_.contains(address, bytes)) {
    // Parts only limit what kernels may access; all bytes of the memory are defined.
    const auto next = by_base_.upper_bound(address);
    Allocation* const near = next == by_base_.begin() ? nullptr : std::prev(next)->second.get();
    if (near != nullptr && near->foreign) return near;
    if (next != by_base_.end() && next->second->foreign) return next->second.get();
  }
  return error(ErrorCode::InvalidArgument, "{} of {} bytes at {:#x} is not inside one allocation",
               what, bytes, address);
}

void Memory::written(Allocation& allocation, uint64_t address, uint64_t bytes) {
  if (!allocation.tracked) return;
  std::memset(allocation.shadow(address), 1, bytes);
  scatter(allocation);
}

Status Memory::upload(uint64_t address, std::span<const std::byte> from) {
  Allocation* allocation = GPUEMU_TRY(checked(address, from.size(), "upload"));
  if (from.empty()) return ok_status();
  auto* const to = reinterpret_cast<std::byte*>(address);
  // An upload from the same address only marks the bytes as written.
  if (to != from.data()) std::memcpy(to, from.data(), from.size());
  written(*allocation, address, from.size());
  return ok_status();
}

Status Memory::download(std::span<std::byte> to, uint64_t address) {
  GPUEMU_TRY(checked(address, to.size(), "download"));
  if (!to.empty()) std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
  return ok_status();
}

Status Memory::fill(uint64_t address, std::byte value, uint64_t bytes) {
  Allocation* allocation = GPUEMU_TRY(checked(address, bytes, "fill"));
  if (bytes == 0) return ok_status();
  std::memset(reinterpret_cast<void*>(address), static_cast<int>(value), bytes);
  written(*allocation, address, bytes);
  return ok_status();
}

Status Memory::forget(uint64_t address, uint64_t bytes) {
  Allocation* allocation = GPUEMU_TRY(checked(address, bytes, "forget"));
  if (bytes == 0) return ok_status();
  if (allocation->variable) track(*allocation);
  if (!allocation->tracked) return ok_status();
  std::memset(allocation->shadow(address), 0, bytes);
  allocation->sources.set(allocation->bytes, address - allocation->base, bytes, 0);
  allocation->all_defined = false;
  changes();
  scatter(*allocation);
  return ok_status();
}

Status Memory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  Allocation* target = GPUEMU_TRY(checked(to, bytes, "copy"));
  Allocation* source = GPUEMU_TRY(checked(from, bytes, "copy"));
  if (bytes == 0) return ok_status();
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  if (!target->tracked) return ok_status();
  if (source->tracked) {
    std::memmove(target->shadow(to), source->shadow(from), bytes);
    if (!source->all_defined && std::exchange(target->all_defined, false)) changes();
    target->sources.copy(target->bytes, to - target->base, source->sources, from - source->base,
                         bytes);
  } else {
    std::memset(target->shadow(to), 1, bytes);
  }
  scatter(*target);
  return ok_status();
}

Allocation* Memory::nearest(uint64_t address) {
  if (Allocation* piece = heap_.nearest(address)) return piece;
  auto after = by_base_.upper_bound(address);
  const bool lives = after != by_base_.begin() && std::prev(after)->second->contains(address, 1);
  const auto gone = std::ranges::find_if(
      freed_, [&](const auto& one) { return !lives && one->contains(address, 1); });
  if (gone != freed_.end()) return gone->get();
  Allocation* best = nullptr;
  uint64_t distance = red_zone_ + kAlign;
  if (after != by_base_.end() && after->first - address < distance) {
    best = after->second.get();
    distance = after->first - address;
  }
  if (after == by_base_.begin()) return best;
  Allocation* before = std::prev(after)->second.get();
  const uint64_t end = before->base + before->bytes;
  return address < end || address - end < distance ? before : best;
}

Allocation* Memory::find(uint64_t address, uint64_t size) {
  auto after = by_base_.upper_bound(address);
  if (after != by_base_.begin()) {
    Allocation* before = std::prev(after)->second.get();
    if (before->contains(address, size)) return before;
  }
  return heap_.find(address, size);
}

void Memory::track_variables() {
  constexpr uint64_t kVariableMax = uint64_t{64} << 20;  // Larger ones may be sparse.
  for (auto& [base, allocation] : by_base_) {
    const bool fits = allocation->variable && !allocation->constant;
    if (fits && !allocation->tracked && allocation->bytes <= kVariableMax) track(*allocation);
  }
}

std::vector<UndefinedBytes> Memory::undefined_in(uint64_t address, uint64_t bytes) {
  std::vector<UndefinedBytes> found;
  const Result<Allocation*> holding = checked(address, bytes, "look");
  const Allocation* const in = holding ? *holding : nullptr;
  if (in == nullptr || !in->tracked || in->sources.empty()) return found;
  const uint64_t first = address - in->base;
  for (uint64_t at = first; at < first + bytes; ++at) {
    const uint32_t number = in->defined[at] == 0 ? in->sources.at(at) : 0;
    if (number == 0) continue;
    const bool goes_on = !found.empty() && found.back().number == number &&
                         found.back().address + found.back().bytes == in->base + at;
    if (goes_on) {
      ++found.back().bytes;
    } else if (found.size() < kUndefinedMax) {
      found.push_back({in->base + at, 1, number});
    }
  }
  return found;
}

void Memory::settle() {
  if (!std::exchange(has_unsettled_, true)) {
    unsettled_.clear();
    for (auto& [base, allocation] : by_base_) {
      if (!allocation->all_defined) unsettled_.push_back(allocation.get());
    }
  }
  std::erase_if(unsettled_, [](Allocation* allocation) {
    // Most allocations that stay here have a gap that is never written.
    const uint64_t bytes = allocation->bytes;
    const uint8_t* const defined = allocation->defined.data();
    if (bytes != 0 && defined[allocation->undefined_at] == 0) return false;
    const void* const found = bytes == 0 ? nullptr : std::memchr(defined, 0, bytes);
    allocation->all_defined = found == nullptr;
    if (found != nullptr) {
      allocation->undefined_at =
          static_cast<uint64_t>(static_cast<const uint8_t*>(found) - defined);
    }
    return allocation->all_defined;
  });
}

void Memory::keep_histories() {
  if (segments > kSegmentsEnd) {
    for (auto& [base, allocation] : by_base_) {
      allocation->take_races();
    }
    histories_.clear();
    segments = 1;
    has_histories_ = false;
  }
  if (lacks_histories_) take_unrecorded();  // Marks of a launch that failed.
  if (std::exchange(has_histories_, true)) return;
  lacks_histories_ = false;
  for (Allocation* const allocation : recorded_allocations()) {
    if (allocation->rows == nullptr) give_history(*allocation, allocation->word_count());
    lacks_histories_ = lacks_histories_ || allocation->rows == nullptr;
  }
}

/// Returns the allocations whose accesses fit into the records: the smallest, so that which ones
/// does not depend on where they lie. Takes the records of the others.
std::vector<Allocation*> Memory::recorded_allocations() {
  const auto bytes_of = [](const Allocation* allocation) {
    const uint64_t words = allocation->word_count();
    return words * 2 * sizeof(uint64_t) + row_count(words) * sizeof(RaceRow);
  };
  std::vector<Allocation*> all;
  uint64_t bytes = 0;
  for (auto& [base, allocation] : by_base_) {
    all.push_back(allocation.get());
    bytes += bytes_of(allocation.get());
  }
  if (bytes <= history_bytes_max_) return all;
  std::ranges::stable_sort(all, {}, &Allocation::bytes);
  bytes = 0;
  const auto first_left_out = std::ranges::find_if(all, [&](const Allocation* allocation) {
    bytes += bytes_of(allocation);
    return bytes > history_bytes_max_;
  });
  for (Allocation* const left_out : std::ranges::subrange(first_left_out, all.end())) {
    left_out->take_races();
  }
  lacks_histories_ = true;
  all.erase(first_left_out, all.end());
  return all;
}

std::vector<std::string> Memory::take_unrecorded() {
  std::vector<std::string> names;
  if (!lacks_histories_) return names;
  for (const auto& [base, allocation] : by_base_) {
    if (allocation->unrecorded.exchange(false)) names.push_back(allocation->name);
  }
  return names;
}

uint64_t Memory::recorded_bytes_max() const {
  constexpr uint64_t kPerRow = kRowWords * 2 * sizeof(uint64_t) + sizeof(RaceRow);
  return history_bytes_max_ / kPerRow * kRowWords * sizeof(uint32_t);
}

}  // namespace gpuemu::emulator
