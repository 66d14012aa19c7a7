// Memory that kernels allocate with malloc, in an arena of the limit's size. Every piece is a
// separate allocation, so that accesses out of bounds and after free are detected.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {

/// Thread-safe, because threads of several blocks use it.
class Heap {
 public:
  /// Allocates `bytes` undefined bytes and returns their address; 0 if there is no room.
  uint64_t take(uint64_t bytes);

  enum class Returned { Yes, Foreign, Twice, Inside };
  /// Frees a piece. Foreign: malloc did not return the address. Twice: it is already free. Inside:
  /// it is not the start of a piece.
  Returned give_back(uint64_t address);

  /// Returns the piece that contains all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// Returns the piece, live or freed, that contains or precedes `address`; null outside the arena.
  Allocation* nearest(uint64_t address);
  /// Frees everything. No kernel may be running.
  void clear();

 private:
  struct Piece {
    std::unique_ptr<Allocation> allocation;
    uint64_t room = 0;  ///< Distance to the next piece, in bytes.
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
  uint64_t begin_ = 0, unused_ = 0, end_ = 0;  ///< Memory from unused_ on was never allocated.
  Pieces pieces_;
  /// Pieces that were merged with others. Kept because instructions may still have them cached as
  /// their last access.
  std::vector<std::unique_ptr<Allocation>> spare_;
  uint64_t hopeless_ =
      ~uint64_t{0};  ///< No piece of this size was found since the last give_back().
};

}  // namespace gpuemu::emulator
