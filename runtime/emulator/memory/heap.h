// Memory that kernels take with malloc: an arena of the limit's size, of which every piece is an
// allocation of its own, so that accesses beside it and behind its end are found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {

/// Threads of several blocks may use it at once.
class Heap {
 public:
  /// Address of `bytes` bytes that nothing has written; 0 when there is no place for them.
  uint64_t take(uint64_t bytes);

  enum class Returned { Yes, Foreign, Twice, Inside };
  /// Foreign: malloc never gave it. Twice: it is free already. Inside: a piece begins before it.
  Returned give_back(uint64_t address);

  /// The piece that holds all of [address, address + size).
  Allocation* find(uint64_t address, uint64_t size);
  /// The piece, live or free, that `address` lies in or behind; nullptr outside of the arena.
  Allocation* nearest(uint64_t address);
  /// Everything is free again. No kernel runs.
  void clear();

 private:
  struct Piece {
    std::unique_ptr<Allocation> allocation;
    uint64_t room = 0;  ///< To the next piece.
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
  uint64_t begin_ = 0, unused_ = 0, end_ = 0;  ///< Everything from unused_ on was never given.
  Pieces pieces_;
  /// Of pieces that were joined. Instructions may remember them as what they accessed last.
  std::vector<std::unique_ptr<Allocation>> spare_;
  uint64_t hopeless_ = ~uint64_t{0};  ///< So much was not found since the last give_back().
};

}  // namespace gpuemu::emulator
