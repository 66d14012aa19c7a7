#include "runtime/emulator/jit/bounds_plan.h"

#include <algorithm>

#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::Zmm;
using CheckedBounds = Emitter::CheckedBounds;

constexpr uint8_t kGreater = 6, kNotEqual = 4;  ///< Predicates of vpcmpd and similar instructions.
constexpr uint8_t kFirstOrDifferent = 0xf6;     ///< Truth table for vpternlogd: a | (b ^ c).
constexpr uint32_t kWords = 16;
/// Limit for displacements in instructions, with room for additions.
constexpr int64_t kReach = int64_t{1} << 30;
/// Largest distance between offsets that share a check.
constexpr int64_t kSpanMax = int64_t{1} << 28;

std::array<uint32_t, kWords> counted(uint32_t stride) {
  std::array<uint32_t, kWords> words{};
  for (uint32_t i = 0; i < kWords; ++i) words[i] = i * stride;
  return words;
}
/// Returns first, first + stride and so on, as 64-bit values.
std::array<uint32_t, kWords> counted64(uint32_t first, uint32_t stride) {
  std::array<uint32_t, kWords> words{};
  for (uint32_t i = 0; i < kWords; i += 2) words[i] = (first + i / 2) * stride;
  return words;
}

bool writes(const Code& code, const Step& step, uint32_t offset) {
  if (step.dst == offset) return true;
  // Registers that a store reads count as written too: that only costs one more bounds check.
  const RegisterList listed = step.elements();
  for (uint32_t i = 0; i < listed.count; ++i) {
    if (code.lists[listed.first + i] == offset) return true;
  }
  return false;
}

class Looks {
 public:
  Looks(Emitter& e, const Step& step, const Access& access)
      : e_(e), step_(step), access_(access), bytes_(access.element * step.access().count) {}

  /// Returns the check that covers this step, emitted earlier or now; null if there is no more
  /// room.
  const CheckedBounds* find(const Vectors& base) {
    for (const CheckedBounds& each : e_.bounds) {
      if (each.base == step_.src[0] && each.bytes == bytes_ && each.is_store == access_.is_store &&
          each.is_shared == access_.is_shared && e_.step() <= each.until &&
          step_.access().offset >= each.low && step_.access().offset <= each.high &&
          (step_.access().offset - each.low) % bytes_ == 0) {
        return &each;
      }
    }
    const auto at = static_cast<uint32_t>(e_.bounds.size()) * kCheckedBoundsBytes;
    if (at + kCheckedBoundsBytes > Emitter::kLooksBytes) return nullptr;
    CheckedBounds made{.base = step_.src[0],
                       .bytes = bytes_,
                       .is_store = access_.is_store,
                       .is_shared = access_.is_shared,
                       .until = e_.step(),
                       .low = step_.access().offset,
                       .high = step_.access().offset,
                       .at = at};
    gather_others(made);
    out_ = &e_.leave_here();
    if (access_.is_shared) {
      look_at_shared(made, base);
    } else {
      look_at_global(made, base);
    }
    e_.bounds.push_back(made);
    return &e_.bounds.back();
  }

 private:
  /// Extends the check to later accesses of the straight line through the same register, up to the
  /// next write to it.
  void gather_others(CheckedBounds& made) {
    const Code& code = e_.code();
    for (uint32_t index = e_.step(); index < e_.straight_line().end; ++index) {
      const Step& other = code.steps[index];
      if (other.run == step_.run && other.src[0] == step_.src[0] &&
          other.access().count == step_.access().count &&
          other.access().is_wide == step_.access().is_wide &&
          std::abs(other.access().offset - step_.access().offset) < kSpanMax &&
          (other.access().offset - step_.access().offset) % bytes_ == 0) {
        made.until = index;
        made.low = std::min(made.low, other.access().offset);
        made.high = std::max(made.high, other.access().offset);
      }
      if (writes(code, other, step_.src[0])) break;
    }
  }

  uint32_t span(const CheckedBounds& made) const {
    return static_cast<uint32_t>(made.high - made.low) + bytes_;
  }
  using Label = Xbyak::Label;
  static constexpr auto kNear = Xbyak::CodeGenerator::T_NEAR;
  struct Aside {
    std::shared_ptr<Label> here = std::make_shared<Label>(), back = std::make_shared<Label>();
  };

  // The last lane of a row follows from its first, so bounds and alignment are checked with one
  // number. The code for rows is on the main path; other shapes are handled out of line.

  void look_at_shared(const CheckedBounds& made, const Vectors& base) {
    const std::array halves{e_.scratch(2), e_.scratch(3)};
    for (uint32_t i = 0; i < 2; ++i) {
      e_.vpbroadcastd(halves[i], lowest_of(base.at[i]));
      e_.vpsubd(halves[i], base.at[i], halves[i]);
    }
    Aside aside;
    e_.vpcmpd(e_.k7, halves[0], e_.constant(counted(bytes_)), kNotEqual);
    e_.vpcmpd(e_.k0, halves[1], e_.constant(counted(bytes_)), kNotEqual);
    e_.kortestw(e_.k7, e_.k0);
    e_.jnz(*aside.here, kNear);
    place_halves(made, base, kLanes / 2);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kRow));
    e_.L(*aside.back);
    e_.aside([self = *this, made, base, aside] { self.look_at_other_shared(made, base, aside); });
  }
  void look_at_other_shared(const CheckedBounds& made, const Vectors& base,
                            const Aside& aside) const {
    Label anywhere;
    e_.L(*aside.here);
    e_.vptestmd(e_.k7, e_.scratch(2), e_.scratch(2));
    e_.vptestmd(e_.k0, e_.scratch(3), e_.scratch(3));
    e_.kortestw(e_.k7, e_.k0);
    e_.jnz(anywhere, kNear);
    place_halves(made, base, 1);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kSame));
    e_.jmp(*aside.back, kNear);

    e_.L(anywhere);
    const Zmm first = e_.scratch(0), second = e_.scratch(1), all = e_.scratch(2);
    e_.vpaddd(first, base.at[0], e_.splat(static_cast<uint32_t>(made.low)));
    e_.vpaddd(second, base.at[1], e_.splat(static_cast<uint32_t>(made.low)));
    e_.mov(e_.eax, e_.shared_bytes.cvt32());
    e_.sub(e_.eax, span(made));
    e_.jb(*out_, kNear);
    e_.vpbroadcastd(all, e_.eax);
    e_.vpcmpud(e_.k7, first, all, kGreater);
    e_.vpcmpud(e_.k0, second, all, kGreater);
    leave_if_any();
    e_.vpord(all, first, second);
    e_.vptestmd(e_.k7, all, e_.splat(bytes_ - 1));
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    leave_if_any();
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kAnywhere));
    e_.jmp(*aside.back, kNear);
  }
  /// Checks the first of `lanes` consecutive lanes in each half, and stores its host address.
  void place_halves(const CheckedBounds& made, const Vectors& base, uint32_t lanes) const {
    e_.mov(e_.ecx, e_.shared_bytes.cvt32());
    e_.sub(e_.ecx, span(made) + (lanes - 1) * bytes_);
    e_.jb(*out_, kNear);
    for (uint32_t i = 0; i < 2; ++i) {
      e_.vmovd(e_.eax, lowest_of(base.at[i]));
      if (made.low != 0) e_.add(e_.eax, static_cast<int>(made.low));
      e_.cmp(e_.eax, e_.ecx);
      e_.ja(*out_, kNear);
      if (bytes_ != 1) {
        e_.test(e_.al, static_cast<int>(bytes_ - 1));
        e_.jnz(*out_, kNear);
      }
      e_.lea(e_.rax, e_.ptr[e_.rax + e_.shared - static_cast<int>(made.low)]);
      e_.mov(on_stack(e_, made, i == 0 ? kFirstAt : kSecondAt), e_.rax);
    }
  }

  void look_at_global(const CheckedBounds& made, const Vectors& base) {
    find_allocation(made);
    const Zmm first = e_.scratch(0), apart = e_.scratch(1), here = e_.scratch(2);
    e_.vpbroadcastq(first, lowest_of(base.at[0]));
    for (uint32_t i = 0; i < base.count; ++i) {
      const Zmm& from_row = i == 0 ? apart : here;
      e_.vpsubq(from_row, base.at[i], first);
      const auto row = e_.constant(counted64(i * kLanes / base.count, bytes_));
      if (i == 0) {
        e_.vpxorq(apart, apart, row);
      } else {
        e_.vpternlogq(apart, here, row, kFirstOrDifferent);
      }
    }
    Aside aside;
    e_.vptestmq(e_.k7, apart, apart);
    e_.kortestw(e_.k7, e_.k7);
    e_.jnz(*aside.here, kNear);
    place_first(made, base, kLanes);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kRow));
    e_.L(*aside.back);
    e_.aside([self = *this, made, base, aside] { self.look_at_other_global(made, base, aside); });
  }
  void look_at_other_global(const CheckedBounds& made, const Vectors& base,
                            const Aside& aside) const {
    Label anywhere;
    const Zmm first = e_.scratch(0), apart = e_.scratch(1), here = e_.scratch(2),
              limit = e_.scratch(3);
    e_.L(*aside.here);
    if (!access_.is_store) look_at_halves(made, base, aside);
    e_.vpxord(apart, apart, apart);
    for (uint32_t i = 0; i < base.count; ++i) {
      e_.vpsubq(here, base.at[i], first);
      e_.vporq(apart, apart, here);
    }
    e_.vptestmq(e_.k7, apart, apart);
    e_.kortestw(e_.k7, e_.k7);
    e_.jnz(anywhere, kNear);
    place_first(made, base, 1);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kSame));
    e_.jmp(*aside.back, kNear);

    e_.L(anywhere);
    e_.vptestmq(e_.k7, apart, e_.splat64(bytes_ - 1));
    e_.kortestw(e_.k7, e_.k7);
    e_.jnz(*out_, kNear);
    place_first(made, base, 1);
    e_.mov(e_.rcx, static_cast<uint64_t>(made.low));
    e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
    e_.vpbroadcastq(limit, e_.rdx);
    e_.vpbroadcastq(first, e_.rcx);
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    for (uint32_t i = 0; i < base.count; ++i) {
      e_.vpaddq(here, base.at[i], first);
      e_.vpcmpuq(e_.k7, here, limit, kGreater);
      e_.korw(e_.k0, e_.k0, e_.k7);
    }
    leave_if_any();
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kAnywhere));
    e_.jmp(*aside.back, kNear);
  }
  /// Handles two rows, one for each half of the warp, as in blocks of 16 x 16 threads.
  void look_at_halves(const CheckedBounds& made, const Vectors& base, const Aside& aside) const {
    Label others;
    const Zmm first = e_.scratch(0), apart = e_.scratch(1), here = e_.scratch(2),
              second = e_.scratch(3);
    e_.vpbroadcastq(second, lowest_of(base.at[2]));
    e_.vpxord(apart, apart, apart);
    for (uint32_t i = 0; i < base.count; ++i) {
      e_.vpsubq(here, base.at[i], i < 2 ? first : second);
      e_.vpternlogq(apart, here, e_.constant(counted64(i % 2 * kLanes / base.count, bytes_)),
                    kFirstOrDifferent);
    }
    e_.vptestmq(e_.k7, apart, apart);
    e_.kortestw(e_.k7, e_.k7);
    e_.jnz(others, kNear);
    place_first(made, base, kLanes / 2);
    place(made, base.at[2], kSecondAt);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kHalves));
    e_.jmp(*aside.back, kNear);
    e_.L(others);
  }
  /// Loads the allocation that the instruction used last into rax, and its size into rdx.
  void find_allocation(const CheckedBounds& made) {
    e_.mov(e_.rax, e_.ptr[e_.cache + static_cast<int>(step_.access().cache * sizeof(Allocation*))]);
    e_.test(e_.rax, e_.rax);
    e_.jz(*out_, kNear);
    if (access_.init && access_.is_store) {
      e_.mov(e_.rcx, e_.ptr[e_.rax + static_cast<int>(offsetof(AllocationBounds, marks))]);
      e_.test(e_.rcx, e_.rcx);
      e_.jz(*out_, kNear);
      e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
      e_.mov(on_stack(e_, made, kSecondAt), e_.rcx);
    } else if (access_.init) {
      e_.cmp(e_.byte[e_.rax + static_cast<int>(offsetof(AllocationBounds, all_defined))], 0);
      e_.jz(*out_, kNear);
    }
    e_.mov(e_.rdx, e_.ptr[e_.rax + static_cast<int>(offsetof(AllocationBounds, bytes))]);
  }
  /// Checks the first of `lanes` consecutive lanes, and stores its address.
  void place_first(const CheckedBounds& made, const Vectors& base, uint32_t lanes) const {
    e_.sub(e_.rdx, span(made) + (lanes - 1) * bytes_);
    e_.jb(*out_, kNear);
    place(made, base.at[0], kFirstAt);
  }
  void place(const CheckedBounds& made, const Zmm& lanes, uint32_t slot) const {
    e_.vmovq(e_.rcx, lowest_of(lanes));
    e_.mov(on_stack(e_, made, slot), e_.rcx);
    if (made.low != 0) e_.add(e_.rcx, static_cast<int>(made.low));
    if (bytes_ != 1) {
      e_.test(e_.cl, static_cast<int>(bytes_ - 1));
      e_.jnz(*out_, kNear);
    }
    e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
    e_.cmp(e_.rcx, e_.rdx);
    e_.ja(*out_, kNear);
  }

  static Xbyak::Xmm lowest_of(const Zmm& lanes) { return Xbyak::Xmm(lanes.getIdx()); }
  void leave_if_any() const {
    e_.kortestw(e_.k7, e_.k0);
    e_.jnz(*out_, kNear);
  }

  static constexpr int kBase = offsetof(AllocationBounds, base);

  Emitter& e_;
  const Step& step_;
  const Access access_;
  const uint32_t bytes_;
  Xbyak::Label* out_ = nullptr;
};

constexpr uint32_t kHalfLanes = kLanes / 2, kMarks = 0x01010101;

Xbyak::Address of_half(Emitter& e, const CheckedBounds& bounds, uint32_t half) {
  return on_stack(e, bounds, half == 0 ? kFirstAt : kSecondAt);
}
}  // namespace

void check_row(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset,
               Xbyak::Label& out) {
  if (!access.is_shared || access.is_store || !access.init) return;
  const uint32_t bytes = bounds.bytes * kHalfLanes;
  const Zmm seen = e.scratch(0);
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kDefinedAt]);
  for (uint32_t at = 0; at < 2 * bytes; at += kVectorBytes) {
    if (at % bytes == 0) e.mov(e.rax, of_half(e, bounds, at / bytes));
    const int from = offset + static_cast<int>(at % bytes);
    e.vmovdqu64(seen, e.ptr[e.rax + e.rcx + from]);
    e.vptestnmb(e.k7, seen, seen);
    e.kortestq(e.k7, e.k7);
    e.jnz(out, Xbyak::CodeGenerator::T_NEAR);
  }
}

void check_same(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset,
                Xbyak::Label& out) {
  if (!access.is_shared || !access.init) return;
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kDefinedAt]);
  for (uint32_t half = 0; half < 2; ++half) {
    e.mov(e.rax, of_half(e, bounds, half));
    for (uint32_t at = 0; at < bounds.bytes; at += sizeof(uint32_t)) {
      e.cmp(e.dword[e.rax + e.rcx + offset + static_cast<int>(at)], kMarks);
      e.jnz(out, Xbyak::CodeGenerator::T_NEAR);
    }
  }
}

void mark_row(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset) {
  if (!access.init) return;
  const uint32_t bytes = bounds.bytes * kHalfLanes;
  const Zmm marks = e.scratch(0);
  e.vpbroadcastd(marks, e.single(kMarks));
  if (access.is_shared) {
    e.mov(e.rcx, e.ptr[e.rsp + Emitter::kDefinedAt]);
  } else {
    e.mov(e.rcx, on_stack(e, bounds, kSecondAt));
  }
  for (uint32_t at = 0; at < 2 * bytes; at += kVectorBytes) {
    const bool second = access.is_shared && at >= bytes;
    if (at == 0 || (second && at == bytes)) e.mov(e.rax, of_half(e, bounds, second ? 1 : 0));
    e.vmovdqu64(e.ptr[e.rax + e.rcx + offset + static_cast<int>(second ? at - bytes : at)], marks);
  }
}

bool is_usual(const Step& step, const Access& access) {
  // Ordered accesses (volatile and similar) have a race history of their own.
  const bool has_history = access.race && step.access().is_ordered;
  return !has_history && step.access().is_wide != access.is_shared &&
         std::abs(step.access().offset) < kReach;
}

const CheckedBounds* check_bounds(Emitter& e, const Step& step, const Access& access,
                                  const Vectors& base) {
  return Looks(e, step, access).find(base);
}

}  // namespace gpuemu::emulator
