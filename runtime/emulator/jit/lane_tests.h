// Emits tests of the addresses of all lanes. With AVX-512 the addresses are in vectors; with AVX2
// they are in the frame.
#pragma once

#include "runtime/emulator/jit/emitter.h"

namespace gpuemu::emulator {

/// The addresses of all lanes, 32 bits each in shared memory and 64 bits in global memory.
struct Addresses {
  uint32_t offset = 0;  ///< In the frame.
  Vectors vectors;      ///< AVX-512.
};

/// Changes scratch vectors, k0 and k7; with AVX2 all vectors.
class LaneTests {
 public:
  LaneTests(Emitter& e, const Addresses& of) : e_(e), of_(of) {}

  /// Moves the address of the first lane of a half of the warp.
  void first32(const Xbyak::Reg32& to, uint32_t half) const;
  void first64(const Xbyak::Reg64& to, uint32_t half) const;

  /// Jumps to `others` unless the lanes of each half of the warp are `stride` bytes apart.
  void rows32(uint32_t stride, const Xbyak::Label& others) const;
  /// Jumps to `others` unless lanes are `stride` bytes apart, in the whole warp or in each half.
  void rows64(uint32_t stride, bool by_halves, const Xbyak::Label& others) const;
  /// Jumps to `out` unless addresses plus `low` are at most eax and multiples of `alignment`.
  void inside32(uint32_t low, uint32_t alignment, const Xbyak::Label& out) const;
  /// Jumps to `out` unless addresses plus rcx are at most rdx.
  void inside64(const Xbyak::Label& out) const;
  /// Jumps to `out` unless all addresses are equal to the first one modulo `alignment`.
  void aligned64(uint32_t alignment, const Xbyak::Label& out) const;

 private:
  static constexpr uint32_t kParts32 = 4, kParts64 = 8;  ///< Vectors in the frame, for AVX2.
  Xbyak::Address part(uint32_t index) const;
  const Vector& lanes(uint32_t index) const { return of_.vectors.at[index]; }
  void jump_if_any(const Xbyak::Label& out) const;

  Emitter& e_;
  const Addresses of_;
};

}  // namespace gpuemu::emulator
