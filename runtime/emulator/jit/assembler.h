// The vector instructions that operations are made of, for each instruction set for which code is
// compiled. With AVX-512 nearly all are one instruction for 16 lanes, and masks are opmasks. With
// AVX2 they are short sequences for 8 lanes, and a mask is a vector of words that are all ones or
// zero.
#pragma once

#include <array>
#include <cstdint>
#include <map>

// Xbyak reports errors as exceptions, which compile_code() catches.
#include <xbyak/xbyak.h>

#include "runtime/emulator/jit/target.h"

namespace gpuemu::emulator {

/// A vector register of the target: a Zmm or a Ymm.
using Vector = Xbyak::Xmm;
/// A bit or a word for each lane of a vector of 32-bit values: an Opmask or a Ymm.
using Mask = Xbyak::Reg;

/// What a comparison takes its operands for.
enum class Number : uint8_t { S32, U32, S64, U64, F32, F64 };

/// Predicates of vpcmpd and similar instructions.
enum class Relation : uint8_t {
  Equal = 0,
  Less = 1,
  NotGreater = 2,
  NotEqual = 4,
  NotLess = 5,
  Greater = 6
};

/// Relations as bytes, which Xbyak's functions take.
inline constexpr uint8_t kLess = static_cast<uint8_t>(Relation::Less),
                         kNotEqual = static_cast<uint8_t>(Relation::NotEqual),
                         kNotLess = static_cast<uint8_t>(Relation::NotLess),
                         kGreater = static_cast<uint8_t>(Relation::Greater);

inline constexpr uint8_t kUnordered =
    3;  ///< Predicate of vcmpps and vcmppd: at least one operand is NaN.

/// Control bytes of vshufps (takes the words with even numbers) and vpermq (swaps the two 64-bit
/// values in the middle), which together keep the lower words of 64-bit values.
inline constexpr uint8_t kEvenWords = 0x88, kMiddleSwapped = 0xd8;

inline constexpr uint32_t kSign32 = uint32_t{1} << 31, kLow16 = 0xffff, kLow8 = 0xff;
inline constexpr uint64_t kSign64 = uint64_t{1} << 63;

/// For jumps over more than the 127 bytes that a short jump reaches.
inline constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;

/// Sequences for AVX2 use two vectors of their own, one of which is also flag().
class Assembler : public Xbyak::CodeGenerator {
 public:
  /// Reserves `bytes` bytes for the code.
  Assembler(Target target, size_t bytes)
      : CodeGenerator(bytes, Xbyak::DontSetProtectRWE), target_(target) {}

  bool is_avx512() const { return target_ == Target::Avx512; }
  uint32_t vector_bytes() const { return is_avx512() ? 64 : 32; }

  /// Returns the size of the instructions, which constants follow. Valid at the end.
  size_t instruction_bytes() const { return instruction_bytes_; }

  // --- Operands ---

  Vector vector(uint32_t index) const {
    return {is_avx512() ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, static_cast<int>(index)};
  }
  /// Vectors for use within one step.
  Vector scratch(uint32_t index) const { return vector((is_avx512() ? 28 : 12) + index); }
  /// A mask for use within one step (k7; k0 means no mask).
  Mask flag() const { return is_avx512() ? Mask(k7) : Mask(ymm15); }

  /// Returns the address of a vector of constants, of which those of 8 lanes are the first 8. Equal
  /// vectors are stored once.
  Xbyak::Address constant(const std::array<uint32_t, 16>& words);
  /// Returns an operand that has one value in all lanes.
  Xbyak::Address splat(uint32_t value);
  Xbyak::Address splat64(uint64_t value);
  /// Returns the address of a value, for instructions that broadcast it.
  Xbyak::Address single(uint32_t value) { return ptr[rip + splats_[both(value)]]; }

  // --- Bits ---

  void copy(const Vector& out, const Xbyak::Operand& from);
  void store(const Xbyak::Address& to, const Vector& from);
  void bit_and(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void bit_or(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void bit_xor(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void bit_not(const Vector& out, const Vector& a);
  /// Computes ~a & b.
  void bit_and_not(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  /// Any function of three bits. `table` has the row of a, b and c at bit 4a + 2b + c.
  void bit_table(const Vector& out, const Vector& a, const Vector& b, const Vector& c,
                 uint8_t table);

  // --- Integers ---

  void multiply64(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void shift_signed64(const Vector& out, const Vector& a, const Xbyak::Operand& by);
  void min_s64(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void max_s64(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void min_u64(const Vector& out, const Vector& a, const Xbyak::Operand& b);
  void max_u64(const Vector& out, const Vector& a, const Xbyak::Operand& b);

  // --- Widths ---

  /// Returns half of a vector as a register of half the size: the lower one as it is, the upper one
  /// in `into`.
  Vector half_of(const Vector& whole, bool upper, const Vector& into);
  /// Returns the register of half the size that is the lower half of `whole`.
  Vector lower(const Vector& whole) const;
  /// Widens half of a vector to 64-bit integers.
  void widen(const Vector& out, const Vector& narrow, bool upper, bool is_signed);
  /// Keeps the lower words of two vectors of 64-bit integers. `out` is neither of them.
  void truncate(const Vector& out, const Vector& low, const Vector& high);
  /// Keeps the lower 16 bits of each word, in a register of half the size, which it returns.
  Vector pack_words(const Vector& into, const Vector& from);

  // --- Floats ---

  void unsigned_to_float(const Vector& out, const Vector& from);
  /// `from` is of half the size.
  void unsigned_to_double(const Vector& out, const Vector& from);
  /// Both treat -0 as less than 0; the result is undefined if an operand is NaN.
  void min_float(const Vector& out, const Vector& a, const Vector& b);
  void max_float(const Vector& out, const Vector& a, const Vector& b);

  // --- Masks ---

  /// Compares 32-bit values. For floats `relation` is a predicate of vcmpps.
  void compare(Number of, const Mask& to, const Vector& a, const Vector& b, uint8_t relation);
  /// Compares two vectors of 64-bit values, the lower lanes first.
  void compare64(Number of, const Mask& to, const Vector* a, const Vector* b, uint8_t relation);
  /// Compares the lower 16 bits of words.
  void compare_low_words(const Mask& to, const Vector& a, const Vector& b, bool equal);
  void select(const Vector& out, const Mask& chosen, const Vector& yes, const Vector& no);
  /// Selects 64-bit values in the lower or upper half of the lanes of `chosen`.
  void select64(const Vector& out, const Mask& chosen, bool upper, const Vector& yes,
                const Vector& no);
  void mask_and(const Mask& out, const Mask& a, const Mask& b);
  void mask_or(const Mask& out, const Mask& a, const Mask& b);
  void mask_xor(const Mask& out, const Mask& a, const Mask& b);
  void mask_not(const Mask& out, const Mask& a);
  void mask_copy(const Mask& out, const Mask& a);

  /// Compares floats and keeps the result in flag(), for the instructions below.
  void flag_floats(const Vector& a, const Xbyak::Operand& b, uint8_t predicate);
  void flag_doubles(const Vector& a, const Xbyak::Operand& b, uint8_t predicate);
  /// Replaces `out` where flag() is set.
  void take_flagged(const Vector& out, const Vector& from);
  void take_flagged(const Vector& out, uint32_t value);
  /// Replaces 64-bit values by those of `from` with the bits of `value`.
  void take_flagged64(const Vector& out, const Vector& from, uint64_t value);

 protected:
  /// Emits the constants. Called last.
  void write_constants();

 private:
  static constexpr uint64_t both(uint32_t value) { return uint64_t{value} << 32 | value; }
  Xbyak::Ymm spare() const { return ymm14; }
  void bit_table_of_two(const Vector& out, const Vector& a, const Vector& b, uint8_t table);
  void compare_same(Number of, const Vector& to, const Vector& a, const Vector& b,
                    Relation relation);
  void min_or_max64(const Vector& out, const Vector& a, const Xbyak::Operand& b, bool is_signed,
                    bool is_min);

  const Target target_;
  size_t instruction_bytes_ = 0;
  std::map<std::array<uint32_t, 16>, Xbyak::Label> constants_;  ///< Whole vectors.
  std::map<uint64_t, Xbyak::Label> splats_;
};

}  // namespace gpuemu::emulator
