#include "runtime/emulator/memory/heap.h"

#include <algorithm>
#include <cstring>

#include "common/base/limits.h"

namespace gpuemu::emulator {
namespace {
/// Alignment of the driver's malloc, and the unused bytes after each piece.
constexpr uint64_t kPieceAlign = 16, kGap = 32;
constexpr int kNewPoison = 0xfb;
}  // namespace

bool Heap::open() {
  if (arena_ != nullptr) return true;
  arena_.reset(static_cast<std::byte*>(std::calloc(kDeviceHeapBytes + kPieceAlign, 1)));
  begin_ = (reinterpret_cast<uint64_t>(arena_.get()) + kPieceAlign - 1) / kPieceAlign * kPieceAlign;
  unused_ = begin_;
  end_ = begin_ + kDeviceHeapBytes;
  return arena_ != nullptr;
}

uint64_t Heap::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kDeviceHeapBytes || !open()) return 0;
  const uint64_t room = (bytes + kGap + kPieceAlign - 1) / kPieceAlign * kPieceAlign;
  auto at = pieces_.end();
  if (room <= end_ - unused_) {
    at = pieces_.insert_or_assign(unused_, Piece{allocation(), room}).first;
    unused_ += room;
  } else {
    at = reused(room);
    if (at == pieces_.end()) return 0;
  }
  Piece& piece = at->second;
  piece.live = true;
  Allocation& made = *piece.allocation;
  made.base = at->first;
  made.name = "malloc";
  made.bytes = bytes;
  made.defined.assign(bytes, 0);
  made.sources.clear();
  made.marks = made.defined.data();
  std::memset(reinterpret_cast<void*>(made.base), kNewPoison, bytes);
  return made.base;
}

/// Reuses memory as late as possible, so that an access after free is detected.
Heap::Pieces::iterator Heap::reused(uint64_t room) {
  if (room >= hopeless_) return pieces_.end();
  join_free();
  const auto at = std::ranges::find_if(
      pieces_, [&](const auto& one) { return !one.second.live && one.second.room >= room; });
  if (at == pieces_.end()) {
    hopeless_ = room;
    return at;
  }
  if (const uint64_t rest = at->second.room - room; rest != 0) {
    at->second.room = room;
    pieces_[at->first + room] = {allocation(), rest, false};
  }
  return at;
}

void Heap::join_free() {
  for (auto at = pieces_.begin(); at != pieces_.end(); ++at) {
    for (auto next = std::next(at); !at->second.live && next != pieces_.end() && !next->second.live;
         next = pieces_.erase(next)) {
      at->second.room += next->second.room;
      spare_.push_back(std::move(next->second.allocation));
    }
  }
}

std::unique_ptr<Allocation> Heap::allocation() {
  if (spare_.empty()) return std::make_unique<Allocation>();
  std::unique_ptr<Allocation> made = std::move(spare_.back());
  spare_.pop_back();
  return made;
}

Heap::Pieces::iterator Heap::holding(uint64_t address) {
  if (address < begin_ || address >= unused_) return pieces_.end();
  return std::prev(pieces_.upper_bound(address));
}

Heap::Returned Heap::give_back(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = holding(address);
  if (at == pieces_.end()) return Returned::Foreign;
  if (!at->second.live) return Returned::Twice;
  if (at->first != address) return Returned::Inside;
  at->second.live = false;
  at->second.allocation->bytes = 0;
  at->second.allocation->name = "freed memory";
  hopeless_ = ~uint64_t{0};
  return Returned::Yes;
}

Allocation* Heap::find(uint64_t address, uint64_t size) {
  const std::lock_guard lock(mutex_);
  const auto at = holding(address);
  if (at == pieces_.end()) return nullptr;
  Allocation* found = at->second.allocation.get();
  return found->contains(address, size) ? found : nullptr;
}

Allocation* Heap::nearest(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = holding(address);
  return at == pieces_.end() ? nullptr : at->second.allocation.get();
}

void Heap::clear() {
  pieces_.clear();
  spare_.clear();
  unused_ = begin_;
  hopeless_ = ~uint64_t{0};
}

}  // namespace gpuemu::emulator
