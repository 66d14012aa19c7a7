// The handler that counts what an instruction does and then runs it. Code that counts has it
// everywhere (decode/counting_code.cc), other code nowhere: counting costs nothing when it is off.
#pragma once

#include <array>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void count(Warp& warp, const Step& step);

/// Bytes that one lane's part of a matrix instruction's request has at most.
inline constexpr uint32_t kPieceBytes = 16;

/// Counts what an instruction moves whose addresses do not follow from one register per lane: 32
/// pieces are one request. REQUIRES: Block::counters is not null. What is left is counted at the
/// end.
class PieceCounter {
 public:
  PieceCounter(Warp& warp, const Step& step, ptx::Space space, uint32_t bytes);
  ~PieceCounter() { flush(); }
  PieceCounter(const PieceCounter&) = delete;
  PieceCounter& operator=(const PieceCounter&) = delete;
  void add(uint64_t address);

 private:
  void flush();

  Warp& warp_;
  const Step& step_;
  ptx::Space space_;
  uint32_t bytes_;
  std::array<uint64_t, kLanes> address_{};
  uint32_t used_ = 0;
};

/// One request for a row of bytes.
void count_row(Warp& warp, const Step& step, ptx::Space space, uint64_t address, uint64_t bytes);

}  // namespace gpuemu::emulator::steps
