#include "runtime/emulator/jit/bounds_plan.h"

#include <algorithm>

#include "runtime/emulator/jit/lane_tests.h"
#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {
namespace {
using CheckedBounds = Emitter::CheckedBounds;

/// Limit for displacements in instructions, with room for additions.
constexpr int64_t kReach = int64_t{1} << 30;
/// Largest distance between offsets that share a check.
constexpr int64_t kSpanMax = int64_t{1} << 28;

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
  const CheckedBounds* find(const Addresses& base) {
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
  struct Aside {
    std::shared_ptr<Label> here = std::make_shared<Label>(), back = std::make_shared<Label>();
  };

  // The last lane of a row follows from its first, so bounds and alignment are checked with one
  // number. The code for rows is on the main path; other shapes are handled out of line.

  void look_at_shared(const CheckedBounds& made, const Addresses& base) {
    const LaneTests lanes(e_, base);
    Aside aside;
    lanes.rows32(bytes_, *aside.here);
    place_halves(made, lanes, kLanes / 2);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kRow));
    e_.L(*aside.back);
    e_.aside([self = *this, made, lanes, aside] { self.look_at_other_shared(made, lanes, aside); });
  }
  void look_at_other_shared(const CheckedBounds& made, const LaneTests& lanes,
                            const Aside& aside) const {
    Label anywhere;
    e_.L(*aside.here);
    lanes.rows32(0, anywhere);
    place_halves(made, lanes, 1);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kSame));
    e_.jmp(*aside.back, kNear);

    e_.L(anywhere);
    e_.mov(e_.eax, e_.shared_bytes.cvt32());
    e_.sub(e_.eax, span(made));
    e_.jb(*out_, kNear);
    lanes.inside32(static_cast<uint32_t>(made.low), bytes_, *out_);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kAnywhere));
    e_.jmp(*aside.back, kNear);
  }
  /// Checks the first of `row` consecutive lanes in each half, and stores its host address.
  void place_halves(const CheckedBounds& made, const LaneTests& lanes, uint32_t row) const {
    e_.mov(e_.ecx, e_.shared_bytes.cvt32());
    e_.sub(e_.ecx, span(made) + (row - 1) * bytes_);
    e_.jb(*out_, kNear);
    for (uint32_t half = 0; half < 2; ++half) {
      lanes.first32(e_.eax, half);
      if (made.low != 0) e_.add(e_.eax, static_cast<int>(made.low));
      e_.cmp(e_.eax, e_.ecx);
      e_.ja(*out_, kNear);
      if (bytes_ != 1) {
        e_.test(e_.al, static_cast<int>(bytes_ - 1));
        e_.jnz(*out_, kNear);
      }
      e_.lea(e_.rax, e_.ptr[e_.rax + e_.shared - static_cast<int>(made.low)]);
      e_.mov(on_stack(e_, made, half == 0 ? kFirstAt : kSecondAt), e_.rax);
    }
  }

  void look_at_global(const CheckedBounds& made, const Addresses& base) {
    const LaneTests lanes(e_, base);
    find_allocation(made);
    Aside aside;
    lanes.rows64(bytes_, false, *aside.here);
    place_first(made, lanes, kLanes);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kRow));
    e_.L(*aside.back);
    e_.aside([self = *this, made, lanes, aside] { self.look_at_other_global(made, lanes, aside); });
  }
  void look_at_other_global(const CheckedBounds& made, const LaneTests& lanes,
                            const Aside& aside) const {
    Label anywhere;
    e_.L(*aside.here);
    if (!access_.is_store) look_at_halves(made, lanes, aside);
    lanes.rows64(0, false, anywhere);
    place_first(made, lanes, 1);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kSame));
    e_.jmp(*aside.back, kNear);

    e_.L(anywhere);
    lanes.aligned64(bytes_, *out_);
    place_first(made, lanes, 1);
    e_.mov(e_.rcx, static_cast<uint64_t>(made.low));
    e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
    lanes.inside64(*out_);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kAnywhere));
    e_.jmp(*aside.back, kNear);
  }
  /// Handles two rows, one for each half of the warp, as in blocks of 16 x 16 threads.
  void look_at_halves(const CheckedBounds& made, const LaneTests& lanes, const Aside& aside) const {
    Label others;
    lanes.rows64(bytes_, true, others);
    place_first(made, lanes, kLanes / 2);
    place(made, lanes, 1);
    e_.mov(on_stack(e_, made, kShapeAt), static_cast<int>(kHalves));
    e_.jmp(*aside.back, kNear);
    e_.L(others);
  }
  /// Loads the allocation that the instruction used last into rax, and its size into rdx.
  void find_allocation(const CheckedBounds& made) {
    e_.mov(e_.rax, e_.ptr[e_.cache + static_cast<int>(step_.access().cache * sizeof(Allocation*))]);
    e_.test(e_.rax, e_.rax);
    e_.jz(*out_, kNear);
    if (access_.notes_rows()) e_.mov(on_stack(e_, made, kAllocationAt), e_.rax);
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
  /// Checks the first of `row` consecutive lanes, and stores its address.
  void place_first(const CheckedBounds& made, const LaneTests& lanes, uint32_t row) const {
    e_.sub(e_.rdx, span(made) + (row - 1) * bytes_);
    e_.jb(*out_, kNear);
    place(made, lanes, 0);
  }
  void place(const CheckedBounds& made, const LaneTests& lanes, uint32_t half) const {
    lanes.first64(e_.rcx, half);
    e_.mov(on_stack(e_, made, half == 0 ? kFirstAt : kSecondAt), e_.rcx);
    if (made.low != 0) e_.add(e_.rcx, static_cast<int>(made.low));
    if (bytes_ != 1) {
      e_.test(e_.cl, static_cast<int>(bytes_ - 1));
      e_.jnz(*out_, kNear);
    }
    e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
    e_.cmp(e_.rcx, e_.rdx);
    e_.ja(*out_, kNear);
  }

  static constexpr int kBase = offsetof(AllocationBounds, base);

  Emitter& e_;
  const Step& step_;
  const Access access_;
  const uint32_t bytes_;
  Xbyak::Label* out_ = nullptr;
};

constexpr uint32_t kMarks = 0x01010101;

Xbyak::Address of_half(Emitter& e, const CheckedBounds& bounds, uint32_t half) {
  return on_stack(e, bounds, half == 0 ? kFirstAt : kSecondAt);
}
}  // namespace

void check_row(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset,
               Xbyak::Label& out) {
  if (!access.is_shared || access.is_store || !access.init) return;
  const uint32_t bytes = bounds.bytes * kHalfLanes;
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kDefinedAt]);
  // Bytes that an asynchronous copy will write have a mark of their own.
  const Vector written = e.is_avx512() ? e.scratch(1) : Vector(e.ymm1);
  e.vpbroadcastd(written, e.single(kMarks));
  for (uint32_t at = 0; at < 2 * bytes; at += e.vector_bytes()) {
    if (at % bytes == 0) e.mov(e.rax, of_half(e, bounds, at / bytes));
    const Xbyak::Address marks = e.ptr[e.rax + e.rcx + offset + static_cast<int>(at % bytes)];
    if (e.is_avx512()) {
      e.vpcmpub(e.k7, written, marks, kNotEqual);
      e.kortestq(e.k7, e.k7);
    } else {
      e.vpxor(e.ymm0, e.ymm1, marks);
      e.vptest(e.ymm0, e.ymm0);
    }
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
  const Vector marks = e.is_avx512() ? e.scratch(0) : Vector(e.ymm0);
  e.vpbroadcastd(marks, e.single(kMarks));
  if (access.is_shared) {
    e.mov(e.rcx, e.ptr[e.rsp + Emitter::kDefinedAt]);
  } else {
    e.mov(e.rcx, on_stack(e, bounds, kSecondAt));
  }
  for (uint32_t at = 0; at < 2 * bytes; at += e.vector_bytes()) {
    const bool second = access.is_shared && at >= bytes;
    if (at == 0 || (second && at == bytes)) e.mov(e.rax, of_half(e, bounds, second ? 1 : 0));
    const Xbyak::Address to =
        e.ptr[e.rax + e.rcx + offset + static_cast<int>(second ? at - bytes : at)];
    e.is_avx512() ? e.vmovdqu64(to, marks) : e.vmovdqu(to, marks);
  }
}

bool is_usual(const Step& step, const Access& access) {
  // Ordered accesses (volatile and similar) have a race history of their own.
  const bool has_history = access.race && step.access().is_ordered;
  return !has_history && step.access().is_wide != access.is_shared &&
         std::abs(step.access().offset) < kReach;
}

const CheckedBounds* check_bounds(Emitter& e, const Step& step, const Access& access,
                                  const Vectors& vectors) {
  const Addresses base{.offset = step.src[0], .vectors = vectors};
  return Looks(e, step, access).find(base);
}

}  // namespace gpuemu::emulator
