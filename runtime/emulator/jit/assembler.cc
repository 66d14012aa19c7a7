#include "runtime/emulator/jit/assembler.h"

#include "common/base/check.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Opmask;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr uint32_t kOnes = 0xffffffff;

Opmask opmask(const Mask& mask) { return Opmask(mask.getIdx()); }
Ymm ymm(const Mask& mask) { return Ymm(mask.getIdx()); }
}  // namespace

Address Assembler::constant(const std::array<uint32_t, 16>& words) {
  return ptr[rip + constants_[words]];
}
Address Assembler::splat(uint32_t value) { return splat64(both(value)); }
Address Assembler::splat64(uint64_t value) {
  if (is_avx512()) return ptr_b[rip + splats_[value]];
  std::array<uint32_t, 16> words{};
  for (uint32_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<uint32_t>(i % 2 == 0 ? value : value >> 32);
  }
  return constant(words);
}

void Assembler::write_constants() {
  constexpr uint32_t kConstantBytes = 64;
  instruction_bytes_ = getSize();
  align(kConstantBytes);
  for (auto& [words, label] : constants_) {
    L(label);
    for (const uint32_t each : words) dd(each);
  }
  for (auto& [value, label] : splats_) {
    L(label);
    dq(value);
  }
}

// --- Bits ---

// Instructions on 64-bit values take a splat of either width.

void Assembler::copy(const Vector& out, const Operand& from) {
  is_avx512() ? vmovdqa64(out, from) : vmovdqa(out, from);
}
void Assembler::store(const Address& to, const Vector& from) {
  is_avx512() ? vmovdqa64(to, from) : vmovdqa(to, from);
}
void Assembler::bit_and(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpandq(out, a, b) : vpand(out, a, b);
}
void Assembler::bit_or(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vporq(out, a, b) : vpor(out, a, b);
}
void Assembler::bit_xor(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpxorq(out, a, b) : vpxor(out, a, b);
}
void Assembler::bit_and_not(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpandnq(out, a, b) : vpandn(out, a, b);
}
void Assembler::bit_not(const Vector& out, const Vector& a) {
  constexpr uint8_t kNotLast = 0x55;  ///< Rows of the truth table in which the last operand is 0.
  if (is_avx512()) return vpternlogd(out, a, a, kNotLast);
  vpxor(out, a, splat(kOnes));
}

void Assembler::bit_table(const Vector& out, const Vector& a, const Vector& b, const Vector& c,
                          uint8_t table) {
  if (is_avx512()) {
    vmovdqa64(out, a);
    return vpternlogd(out, b, c, table);
  }
  constexpr uint8_t kRows = 4, kAllRows = 0xf;
  // The functions of a and b where c is 0 and where it is 1.
  uint8_t otherwise = 0, where = 0;
  for (uint8_t row = 0; row < kRows; ++row) {
    otherwise = static_cast<uint8_t>(otherwise | (table >> (2 * row) & 1) << row);
    where = static_cast<uint8_t>(where | (table >> (2 * row + 1) & 1) << row);
  }
  if (where == otherwise) return bit_table_of_two(out, a, b, where);
  bit_table_of_two(spare(), a, b, otherwise == 0 ? where : otherwise);
  if (otherwise == 0) return vpand(out, c, spare());
  if (where == 0) return vpandn(out, c, spare());
  if (where == kAllRows) return vpor(out, c, spare());
  if (where == (otherwise ^ kAllRows)) return vpxor(out, c, spare());
  vpandn(spare(), c, spare());
  bit_table_of_two(ymm15, a, b, where);
  vpand(ymm15, ymm15, c);
  vpor(out, ymm15, spare());
}

void Assembler::bit_table_of_two(const Vector& out, const Vector& a, const Vector& b,
                                 uint8_t table) {
  constexpr uint8_t kFalse = 0, kOnlyB = 2, kOnlyA = 4, kDiffer = 6, kBoth = 8, kB = 10, kA = 12,
                    kEither = 14, kAllRows = 0xf;
  // Bit 0 is the row in which both are 0.
  const bool inverse = (table & 1) != 0;
  switch (inverse ? table ^ kAllRows : table) {
    case kFalse:
      vpxor(out, out, out);
      break;
    case kOnlyB:
      vpandn(out, a, b);
      break;
    case kOnlyA:
      vpandn(out, b, a);
      break;
    case kDiffer:
      vpxor(out, a, b);
      break;
    case kBoth:
      vpand(out, a, b);
      break;
    case kB:
      vmovdqa(out, b);
      break;
    case kA:
      vmovdqa(out, a);
      break;
    case kEither:
      vpor(out, a, b);
      break;
  }
  if (inverse) vpxor(out, out, splat(kOnes));
}

// --- Integers ---

void Assembler::multiply64(const Vector& out, const Vector& a, const Operand& b) {
  if (is_avx512()) return vpmullq(out, a, b);
  constexpr uint8_t kSwapped = 0xb1, kWord = 32;
  vpshufd(spare(), b, kSwapped);
  vpmulld(spare(), spare(), a);
  vpsrlq(ymm15, spare(), kWord);
  vpaddd(spare(), spare(), ymm15);
  vpsllq(spare(), spare(), kWord);
  vpmuludq(ymm15, a, b);
  vpaddq(out, spare(), ymm15);
}

/// AVX2 shifts 64-bit values only without their sign. So for a negative number, shifts the
/// complement, which is not negative, and complements the result.
void Assembler::shift_signed64(const Vector& out, const Vector& a, const Operand& by) {
  if (is_avx512()) return vpsravq(out, a, by);
  vpxor(spare(), spare(), spare());
  vpcmpgtq(spare(), spare(), a);
  vpxor(ymm15, a, spare());
  vpsrlvq(ymm15, ymm15, by);
  vpxor(out, ymm15, spare());
}

void Assembler::min_or_max64(const Vector& out, const Vector& a, const Operand& b, bool is_signed,
                             bool is_min) {
  GPUEMU_CHECK(b.isYMM());  // compare_same() takes no memory.
  const Vector& second = static_cast<const Xmm&>(b);
  compare_same(is_signed ? Number::S64 : Number::U64, spare(), a, second, Relation::Greater);
  is_min ? vblendvpd(out, a, second, spare()) : vblendvpd(out, second, a, spare());
}
void Assembler::min_s64(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpminsq(out, a, b) : min_or_max64(out, a, b, true, true);
}
void Assembler::max_s64(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpmaxsq(out, a, b) : min_or_max64(out, a, b, true, false);
}
void Assembler::min_u64(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpminuq(out, a, b) : min_or_max64(out, a, b, false, true);
}
void Assembler::max_u64(const Vector& out, const Vector& a, const Operand& b) {
  is_avx512() ? vpmaxuq(out, a, b) : min_or_max64(out, a, b, false, false);
}

// --- Widths ---

Vector Assembler::lower(const Vector& whole) const {
  return {is_avx512() ? Operand::YMM : Operand::XMM, whole.getIdx()};
}

Vector Assembler::half_of(const Vector& whole, bool upper, const Vector& into) {
  if (!upper) return lower(whole);
  const Vector half = lower(into);
  if (is_avx512()) {
    vextracti64x4(half, Zmm(whole.getIdx()), 1);
  } else {
    vextracti128(half, Ymm(whole.getIdx()), 1);
  }
  return half;
}

void Assembler::widen(const Vector& out, const Vector& narrow, bool upper, bool is_signed) {
  const Vector half = half_of(narrow, upper, out);
  is_signed ? vpmovsxdq(out, half) : vpmovzxdq(out, half);
}

void Assembler::truncate(const Vector& out, const Vector& low, const Vector& high) {
  if (!is_avx512()) {
    vshufps(out, low, high, kEvenWords);
    return vpermq(Ymm(out.getIdx()), out, kMiddleSwapped);
  }
  const Ymm upper(scratch(0).getIdx());
  vpmovqd(upper, high);
  vpmovqd(Ymm(out.getIdx()), low);
  vinserti64x4(Zmm(out.getIdx()), Zmm(out.getIdx()), upper, 1);
}

Vector Assembler::pack_words(const Vector& into, const Vector& from) {
  const Vector half = lower(into);
  if (is_avx512()) {
    vpmovdw(half, from);
  } else {
    vpand(into, from, splat(kLow16));
    vpackusdw(into, into, into);
    vpermq(Ymm(into.getIdx()), into, kMiddleSwapped);
  }
  return half;
}

// --- Floats ---

/// Adds the halves of the number as floats: the first sum is exact, the second one rounds.
void Assembler::unsigned_to_float(const Vector& out, const Vector& from) {
  if (is_avx512()) return vcvtudq2ps(out, from);
  constexpr uint32_t kTwoTo23 = 0x4b000000, kTwoTo39 = 0x53000000, kBoth = 0x53000080;
  constexpr uint8_t kUpperHalves = 0xaa, kHalf = 16;
  vpsrld(spare(), from, kHalf);
  vpblendw(spare(), spare(), splat(kTwoTo39), kUpperHalves);
  vsubps(spare(), spare(), splat(kBoth));
  vpblendw(ymm15, Ymm(from.getIdx()), splat(kTwoTo23), kUpperHalves);
  vaddps(out, spare(), ymm15);
}

/// The word is the lower part of a number from 2^52 on.
void Assembler::unsigned_to_double(const Vector& out, const Vector& from) {
  if (is_avx512()) return vcvtudq2pd(out, from);
  constexpr uint64_t kTwoTo52 = 0x4330000000000000;
  vpmovzxdq(out, from);
  vpor(out, out, splat64(kTwoTo52));
  vsubpd(out, out, splat64(kTwoTo52));
}

// vminps and vmaxps give the second operand for two zeros. Both orders together have both signs.

void Assembler::min_float(const Vector& out, const Vector& a, const Vector& b) {
  constexpr uint8_t kMinimum = 4;  ///< Mode of vrangeps.
  if (is_avx512()) return vrangeps(out, a, b, kMinimum);
  vminps(spare(), a, b);
  vminps(out, b, a);
  vorps(out, out, spare());
}
void Assembler::max_float(const Vector& out, const Vector& a, const Vector& b) {
  constexpr uint8_t kMaximum = 5;  ///< Mode of vrangeps.
  if (is_avx512()) return vrangeps(out, a, b, kMaximum);
  vmaxps(spare(), a, b);
  vmaxps(out, b, a);
  vandps(out, out, spare());
}

// --- Masks ---

/// Compares into a vector, all ones where the relation holds. `to` may not be an operand.
void Assembler::compare_same(Number of, const Vector& to, const Vector& a, const Vector& b,
                             Relation relation) {
  const bool wide = of == Number::S64 || of == Number::U64;
  const bool equality = relation == Relation::Equal || relation == Relation::NotEqual;
  const bool swaps = relation == Relation::Less || relation == Relation::NotLess;
  Vector first = swaps ? b : a, second = swaps ? a : b;
  if (!equality && (of == Number::U32 || of == Number::U64)) {
    const Address sign = wide ? splat64(kSign64) : splat(kSign32);
    vpxor(to, first, sign);
    const Ymm other = to.getIdx() == spare().getIdx() ? ymm15 : spare();
    vpxor(other, second, sign);
    first = to;
    second = other;
  }
  if (equality) {
    wide ? vpcmpeqq(to, first, second) : vpcmpeqd(to, first, second);
  } else {
    wide ? vpcmpgtq(to, first, second) : vpcmpgtd(to, first, second);
  }
}

namespace {
/// Whether the relation is the opposite of the one that AVX2 compares for.
bool is_inverse(uint8_t relation) {
  const auto is = static_cast<Relation>(relation);
  return is == Relation::NotEqual || is == Relation::NotLess || is == Relation::NotGreater;
}
}  // namespace

void Assembler::compare(Number of, const Mask& to, const Vector& a, const Vector& b,
                        uint8_t relation) {
  if (is_avx512()) {
    if (of == Number::F32) return vcmpps(opmask(to), a, b, relation);
    return of == Number::S32 ? vpcmpd(opmask(to), a, b, relation)
                             : vpcmpud(opmask(to), a, b, relation);
  }
  if (of == Number::F32) return vcmpps(ymm(to), a, b, relation);
  compare_same(of, ymm(to), a, b, static_cast<Relation>(relation));
  if (is_inverse(relation)) vpxor(ymm(to), ymm(to), splat(kOnes));
}

void Assembler::compare64(Number of, const Mask& to, const Vector* a, const Vector* b,
                          uint8_t relation) {
  if (is_avx512()) {
    for (uint32_t part = 0; part < 2; ++part) {
      const Opmask half = opmask(part == 0 ? to : flag());
      if (of == Number::F64) {
        vcmppd(half, a[part], b[part], relation);
      } else if (of == Number::S64) {
        vpcmpq(half, a[part], b[part], relation);
      } else {
        vpcmpuq(half, a[part], b[part], relation);
      }
    }
    return kunpckbw(opmask(to), opmask(flag()), opmask(to));
  }
  for (uint32_t part = 0; part < 2; ++part) {
    const Ymm half = ymm(part == 0 ? to : flag());
    if (of == Number::F64) {
      vcmppd(half, a[part], b[part], relation);
    } else {
      compare_same(of, half, a[part], b[part], static_cast<Relation>(relation));
    }
  }
  truncate(ymm(to), ymm(to), ymm(flag()));
  if (of != Number::F64 && is_inverse(relation)) vpxor(ymm(to), ymm(to), splat(kOnes));
}

void Assembler::compare_low_words(const Mask& to, const Vector& a, const Vector& b, bool equal) {
  if (is_avx512()) {
    const Vector differ = scratch(0);
    vpxord(differ, a, b);
    return equal ? vptestnmd(opmask(to), differ, splat(kLow16))
                 : vptestmd(opmask(to), differ, splat(kLow16));
  }
  constexpr uint8_t kHalf = 16;
  vpxor(ymm(to), a, b);
  vpslld(ymm(to), ymm(to), kHalf);
  vpxor(spare(), spare(), spare());
  vpcmpeqd(ymm(to), ymm(to), spare());
  if (!equal) vpxor(ymm(to), ymm(to), splat(kOnes));
}

void Assembler::select(const Vector& out, const Mask& chosen, const Vector& yes, const Vector& no) {
  if (is_avx512()) return vpblendmd(out | opmask(chosen), no, yes);
  vblendvps(out, no, yes, ymm(chosen));
}

void Assembler::select64(const Vector& out, const Mask& chosen, bool upper, const Vector& yes,
                         const Vector& no) {
  constexpr uint8_t kUpperLanes = 8;
  if (is_avx512()) {
    if (upper) kshiftrw(k7, opmask(chosen), kUpperLanes);
    return vpblendmq(out | (upper ? k7 : opmask(chosen)), no, yes);
  }
  widen(spare(), ymm(chosen), upper, true);
  vblendvpd(out, no, yes, spare());
}

void Assembler::mask_and(const Mask& out, const Mask& a, const Mask& b) {
  is_avx512() ? kandw(opmask(out), opmask(a), opmask(b)) : vpand(ymm(out), ymm(a), ymm(b));
}
void Assembler::mask_or(const Mask& out, const Mask& a, const Mask& b) {
  is_avx512() ? korw(opmask(out), opmask(a), opmask(b)) : vpor(ymm(out), ymm(a), ymm(b));
}
void Assembler::mask_xor(const Mask& out, const Mask& a, const Mask& b) {
  is_avx512() ? kxorw(opmask(out), opmask(a), opmask(b)) : vpxor(ymm(out), ymm(a), ymm(b));
}
void Assembler::mask_not(const Mask& out, const Mask& a) {
  is_avx512() ? knotw(opmask(out), opmask(a)) : vpxor(ymm(out), ymm(a), splat(kOnes));
}
void Assembler::mask_copy(const Mask& out, const Mask& a) {
  is_avx512() ? kmovw(opmask(out), opmask(a)) : vmovdqa(ymm(out), ymm(a));
}

void Assembler::flag_floats(const Vector& a, const Operand& b, uint8_t predicate) {
  is_avx512() ? vcmpps(k7, a, b, predicate) : vcmpps(ymm15, a, b, predicate);
}
void Assembler::flag_doubles(const Vector& a, const Operand& b, uint8_t predicate) {
  is_avx512() ? vcmppd(k7, a, b, predicate) : vcmppd(ymm15, a, b, predicate);
}
void Assembler::take_flagged(const Vector& out, const Vector& from) {
  is_avx512() ? vmovaps(out | k7, from) : vblendvps(out, out, from, ymm15);
}
void Assembler::take_flagged(const Vector& out, uint32_t value) {
  is_avx512() ? vpbroadcastd(out | k7, single(value)) : vblendvps(out, out, splat(value), ymm15);
}
void Assembler::take_flagged64(const Vector& out, const Vector& from, uint64_t value) {
  if (is_avx512()) return vporq(out | k7, from, splat64(value));
  vpor(spare(), from, splat64(value));
  vblendvpd(out, out, spare(), ymm15);
}

}  // namespace gpuemu::emulator
