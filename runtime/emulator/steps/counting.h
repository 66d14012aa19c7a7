// The handler that counts an instruction and then executes it. Instrumented code uses it everywhere
// (decode/counting_code.cc), other code nowhere, so counting costs nothing when it is off.
#pragma once

#include <array>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void count(Warp& warp, const Step& step);

/// Largest number of bytes of one lane's part in a matrix instruction's request.
inline constexpr uint32_t kPieceBytes = 16;

/// Counts the accesses of instructions whose addresses do not follow from one register per lane; 32
/// pieces make one request. The destructor counts the rest. Requires Block::counters to be set.
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

/// Counts one request for a row of bytes.
void count_row(Warp& warp, const Step& step, ptx::Space space, uint64_t address, uint64_t bytes);

}  // namespace gpuemu::emulator::steps
