// Memory that kernels allocate with malloc: an arena of the limit's size. Every piece is an
// allocation of its own, so that accesses out of its bounds and after free are found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {

/// Thread-safe: threads of several blocks may use it at once.
class Heap {
 public:
  /// Returns the address of `bytes` undefined bytes; 0 if there is no room for them.
  uint64_t take(uint64_t bytes);

  enum class Returned { Yes, Foreign, Twice, Inside };
  /// Foreign: not an address that malloc returned. Twice: already free. Inside: not the start of a
  /// piece.
  Returned give_back(uint64_t address);

  /// The piece that holds all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// The piece, live or free, that `address` lies in or behind; nullptr outside of the arena.
  Allocation* nearest(uint64_t address);
  /// Frees everything. No kernel may run.
  void clear();

 private:
  struct Piece {
    std::unique_ptr<Allocation> allocation;
    uint64_t room = 0;  ///< Bytes to the next piece.
    bool live = false;
  };
  using Pieces = std::map<uint64_t, Piece>;

  bool open();
  Pieces::iterator holding(uint64_t address);
  Pieces::iterator reused(uint64_t room);
  void join_free();
  std::unique_ptr<Allocation> allocation();

  std::mutex mutex_;
  std::unique_ptr<std::byte[], Freed> arena_;
  uint64_t begin_ = 0, unused_ = 0, end_ = 0;  ///< Nothing from unused_ on was ever allocated.
  Pieces pieces_;
  /// Pieces that were joined with others. Instructions may still remember them as their last
  /// access.
  std::vector<std::unique_ptr<Allocation>> spare_;
  uint64_t hopeless_ =
      ~uint64_t{0};  ///< No piece of this size was found since the last give_back().
};

}  // namespace gpuemu::emulator
