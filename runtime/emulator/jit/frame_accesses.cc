// Compiles loads and stores for AVX2: elements are moved between memory and the frame, so that 16
// vectors are enough. Lanes that store to scattered places are left to the handlers.
#include "runtime/emulator/jit/race_notes.h"

namespace gpuemu::emulator {
namespace {
using CheckedBounds = Emitter::CheckedBounds;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr uint8_t kOddWords = 0xdd;  ///< Control byte of vshufps, beside kEvenWords.
/// Control bytes of vperm2i128: the lower and upper halves of both.
constexpr uint8_t kLowerHalves = 0x20, kUpperHalves = 0x31;

/// Moves one access. A part is what one vector holds of a register: 8 lanes, or 4 of 64 bits.
class FrameMover {
 public:
  FrameMover(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds)
      : e_(e),
        step_(step),
        access_(access),
        bounds_(bounds),
        list_(&e.code().lists[step.access().list]),
        count_(step.access().count),
        offset_(static_cast<int>(step.access().offset)) {}

  /// Moves rows of consecutive lanes. `apart`: one for each half of the warp.
  void rows(bool apart) {
    load_place(kFirstAt);
    for (uint32_t part = 0; part < parts(); ++part) {
      const bool second = apart && part >= parts() / 2;
      if (second && part == parts() / 2) load_place(kSecondAt);
      row(part, second ? part - parts() / 2 : part);
    }
  }

  /// Loads what all lanes of a half read from one place.
  void same() {
    for (uint32_t half = 0; half < 2; ++half) {
      // In global memory both halves read the place of the first.
      load_place(half != 0 && access_.is_shared ? kSecondAt : kFirstAt);
      for (uint32_t i = 0; i < count_; ++i) {
        broadcast(e_.ymm0, offset_ + static_cast<int>(i * access_.element));
        for (uint32_t part = 0; part < parts() / 2; ++part) {
          e_.vmovdqa(in_frame(i, half * parts() / 2 + part), e_.ymm0);
        }
      }
    }
  }

  /// Loads single elements of 32 or 64 bits from anywhere.
  void gather() {
    const Ymm from = e_.ymm0, value = e_.ymm1, all = e_.ymm2;
    if (!access_.is_shared) e_.mov(e_.rax, offset_);
    for (uint32_t part = 0; part < parts(); ++part) {
      if (access_.is_shared) {
        gather_shared(part);
      } else if (is_wide()) {
        e_.vmovdqa(from, address(part));
        e_.vpcmpeqd(all, all, all);
        e_.vpgatherqq(value, e_.ptr[e_.rax + from], all);
      } else {
        for (uint32_t half = 0; half < 2; ++half) {
          const Xmm to(half == 0 ? 1 : 3);
          e_.vmovdqa(from, address(2 * part + half));
          e_.vpcmpeqd(all, all, all);
          e_.vpgatherqd(to, e_.ptr[e_.rax + from], e_.xmm2);
        }
        e_.vinserti128(value, value, e_.xmm3, 1);
      }
      e_.vmovdqa(in_frame(0, part), value);
    }
  }

 private:
  bool is_wide() const { return access_.element == sizeof(uint64_t); }
  uint32_t parts() const { return is_wide() ? 8 : 4; }
  void load_place(uint32_t which) { e_.mov(e_.rax, on_stack(e_, bounds_, which)); }
  Xbyak::Address in_frame(uint32_t element, uint32_t part) {
    return e_.in_frame(list_[element] + part * kPartBytes);
  }
  Xbyak::Address address(uint32_t part) { return e_.in_frame(step_.src[0] + part * kPartBytes); }

  void broadcast(const Ymm& to, int at) {
    if (access_.element == sizeof(uint32_t)) return e_.vpbroadcastd(to, e_.ptr[e_.rax + at]);
    if (is_wide()) return e_.vpbroadcastq(to, e_.ptr[e_.rax + at]);
    const Xbyak::Address from = access_.element == 1 ? e_.byte[e_.rax + at] : e_.word[e_.rax + at];
    access_.is_signed ? e_.movsx(e_.eax, from) : e_.movzx(e_.eax, from);
    e_.vmovd(Xmm(to.getIdx()), e_.eax);
    e_.vpbroadcastd(to, Xmm(to.getIdx()));
  }

  void gather_shared(uint32_t part) {
    const Ymm from = e_.ymm0, value = e_.ymm1, all = e_.ymm2;
    const Xbyak::Reg64& base = e_.shared;
    e_.vpcmpeqd(all, all, all);
    if (is_wide()) {
      e_.vmovdqa(e_.xmm0, e_.in_frame(step_.src[0] + part * kPartBytes / 2));
      e_.vpgatherdq(value, e_.ptr[base + e_.xmm0 + offset_], all);
    } else {
      e_.vmovdqa(from, address(part));
      e_.vpgatherdd(value, e_.ptr[base + from + offset_], all);
    }
  }

  /// Moves one part, which is at number `place` of its row.
  void row(uint32_t part, uint32_t place) {
    const uint32_t lanes = kLanes / parts();
    at_ = offset_ + static_cast<int>(place * lanes * access_.element * count_);
    if (access_.element < sizeof(uint32_t)) {
      access_.is_store ? store_small(part) : load_small(part);
    } else if (count_ == 1) {
      one(part);
    } else if (count_ == kElementsMax) {
      access_.is_store ? join_four(part) : part_four(part);
    } else {
      access_.is_store ? join_two(part) : part_two(part);
    }
  }
  Xbyak::Address memory(uint32_t vector) {
    return e_.ptr[e_.rax + at_ + static_cast<int>(vector * kPartBytes)];
  }
  Xbyak::Address half_of_memory(uint32_t half) {
    return e_.ptr[e_.rax + at_ + static_cast<int>(half * kPartBytes / 2)];
  }

  void one(uint32_t part) {
    const Ymm value(static_cast<int>(part));
    if (access_.is_store) {
      e_.vmovdqa(value, in_frame(0, part));
      e_.vmovdqu(memory(0), value);
    } else {
      e_.vmovdqu(value, memory(0));
      e_.vmovdqa(in_frame(0, part), value);
    }
  }

  void load_small(uint32_t part) {
    const Ymm value(static_cast<int>(part));
    if (access_.element == 1) {
      access_.is_signed ? e_.vpmovsxbd(value, memory(0)) : e_.vpmovzxbd(value, memory(0));
    } else {
      access_.is_signed ? e_.vpmovsxwd(value, memory(0)) : e_.vpmovzxwd(value, memory(0));
    }
    e_.vmovdqa(in_frame(0, part), value);
  }
  /// Stores two parts together, at the second one.
  void store_small(uint32_t part) {
    const Ymm value(static_cast<int>(part % 2));
    e_.vmovdqa(value, in_frame(0, part));
    e_.vpand(value, value, e_.splat(access_.element == 1 ? kLow8 : kLow16));
    if (part % 2 == 0) return;
    at_ -= static_cast<int>(kLanes / parts() * access_.element);
    e_.vpackusdw(e_.ymm0, e_.ymm0, e_.ymm1);
    e_.vpermq(e_.ymm0, e_.ymm0, kMiddleSwapped);
    if (access_.element == 2) return e_.vmovdqu(memory(0), e_.ymm0);
    e_.vextracti128(e_.xmm1, e_.ymm0, 1);
    e_.vpackuswb(e_.xmm0, e_.xmm0, e_.xmm1);
    e_.vmovdqu(memory(0), e_.xmm0);
  }

  void part_two(uint32_t part) {
    e_.vmovdqu(e_.ymm0, memory(0));
    e_.vmovdqu(e_.ymm1, memory(1));
    if (is_wide()) {
      e_.vpunpcklqdq(e_.ymm2, e_.ymm0, e_.ymm1);
      e_.vpunpckhqdq(e_.ymm3, e_.ymm0, e_.ymm1);
    } else {
      e_.vshufps(e_.ymm2, e_.ymm0, e_.ymm1, kEvenWords);
      e_.vshufps(e_.ymm3, e_.ymm0, e_.ymm1, kOddWords);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      const Ymm value(static_cast<int>(2 + i));
      e_.vpermq(value, value, kMiddleSwapped);
      e_.vmovdqa(in_frame(i, part), value);
    }
  }
  void join_two(uint32_t part) {
    for (uint32_t i = 0; i < 2; ++i) {
      e_.vpermq(Ymm(static_cast<int>(i)), in_frame(i, part), kMiddleSwapped);
    }
    if (is_wide()) {
      e_.vpunpcklqdq(e_.ymm2, e_.ymm0, e_.ymm1);
      e_.vpunpckhqdq(e_.ymm3, e_.ymm0, e_.ymm1);
    } else {
      e_.vpunpckldq(e_.ymm2, e_.ymm0, e_.ymm1);
      e_.vpunpckhdq(e_.ymm3, e_.ymm0, e_.ymm1);
    }
    e_.vmovdqu(memory(0), e_.ymm2);
    e_.vmovdqu(memory(1), e_.ymm3);
  }

  /// Transposes ymm0 to ymm3 as 4 x 4 words in each half, into ymm8 to ymm11.
  void transpose() {
    e_.vpunpckldq(e_.ymm4, e_.ymm0, e_.ymm1);
    e_.vpunpckhdq(e_.ymm5, e_.ymm0, e_.ymm1);
    e_.vpunpckldq(e_.ymm6, e_.ymm2, e_.ymm3);
    e_.vpunpckhdq(e_.ymm7, e_.ymm2, e_.ymm3);
    e_.vpunpcklqdq(e_.ymm8, e_.ymm4, e_.ymm6);
    e_.vpunpckhqdq(e_.ymm9, e_.ymm4, e_.ymm6);
    e_.vpunpcklqdq(e_.ymm10, e_.ymm5, e_.ymm7);
    e_.vpunpckhqdq(e_.ymm11, e_.ymm5, e_.ymm7);
  }
  /// A vector has one lane of the first four and one of the second four.
  void part_four(uint32_t part) {
    for (uint32_t lane = 0; lane < 4; ++lane) {
      const Ymm both(static_cast<int>(lane));
      e_.vmovdqu(Xmm(static_cast<int>(lane)), half_of_memory(lane));
      e_.vinserti128(both, both, half_of_memory(4 + lane), 1);
    }
    transpose();
    for (uint32_t i = 0; i < kElementsMax; ++i) {
      e_.vmovdqa(in_frame(i, part), Ymm(static_cast<int>(8 + i)));
    }
  }
  void join_four(uint32_t part) {
    for (uint32_t i = 0; i < kElementsMax; ++i) {
      e_.vmovdqa(Ymm(static_cast<int>(i)), in_frame(i, part));
    }
    transpose();
    for (uint32_t pair = 0; pair < 2; ++pair) {
      const Ymm first(static_cast<int>(8 + 2 * pair)), second(static_cast<int>(9 + 2 * pair));
      e_.vperm2i128(e_.ymm0, first, second, kLowerHalves);
      e_.vperm2i128(e_.ymm1, first, second, kUpperHalves);
      e_.vmovdqu(memory(pair), e_.ymm0);
      e_.vmovdqu(memory(2 + pair), e_.ymm1);
    }
  }

  Emitter& e_;
  const Step& step_;
  const Access& access_;
  const CheckedBounds& bounds_;
  const uint32_t* const list_;
  const uint32_t count_;
  const int offset_;
  int at_ = 0;
};

bool has_frame_code(const Emitter& e, const Step& step, const Access& access) {
  const auto& [first, count] = step.elements();
  const bool several = access.element == sizeof(uint32_t)   ? count == 2 || count == kElementsMax
                       : access.element == sizeof(uint64_t) ? count == 2
                                                            : false;
  if (!is_usual(step, access)) return false;
  if (count != 1 && !several) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = e.code().lists[first + i];
    if (at == kNone) return false;
    // A register that is the target of two elements would be written twice.
    for (uint32_t j = 0; j < i && !access.is_store; ++j) {
      if (e.code().lists[first + j] == at) return false;
    }
  }
  return true;
}

/// Handles what is no row of the whole warp, or jumps to `out`.
void others(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
            Xbyak::Label& out) {
  if (access.is_store) return e.jmp(out, kNear);
  Xbyak::Label not_same, done;
  FrameMover mover(e, step, access, bounds);
  if (access.notes_rows()) {
    e.cmp(on_stack(e, bounds, kShapeAt), static_cast<int>(kHalves));
    e.jnz(out, kNear);
    note_global_halves(e, step, access, bounds, out);
    return mover.rows(true);
  }
  e.cmp(on_stack(e, bounds, kShapeAt), static_cast<int>(kSame));
  e.jnz(not_same, kNear);
  note_same(e, step, access, bounds, out);
  check_same(e, access, bounds, static_cast<int>(step.access().offset), out);
  mover.same();
  e.jmp(done, kNear);
  e.L(not_same);
  if (!access.is_shared) {
    Xbyak::Label anywhere;
    e.cmp(on_stack(e, bounds, kShapeAt), static_cast<int>(kHalves));
    e.jnz(anywhere, kNear);
    mover.rows(true);
    e.jmp(done, kNear);
    e.L(anywhere);
  }
  const bool checked = access.is_shared && (access.init || access.race);
  if (checked || access.element < sizeof(uint32_t) || step.access().count != 1) {
    e.jmp(out, kNear);
  } else {
    mover.gather();
  }
  e.L(done);
}
}  // namespace

Emit through_frame(const Access& access) {
  return [access](Emitter& e, const Step& step) {
    const bool small = access.element < sizeof(uint32_t);
    if (!has_frame_code(e, step, access) || (small && access.notes_rows())) {
      return e.call(step, true);
    }
    const CheckedBounds* found = check_bounds(e, step, access, {});
    if (found == nullptr) return e.call(step, true);
    const CheckedBounds bounds = *found;
    auto elsewhere = std::make_shared<Xbyak::Label>(), done = std::make_shared<Xbyak::Label>();
    Xbyak::Label* out = &e.by_handler(done);
    const auto offset = static_cast<int>(step.access().offset);
    e.cmp(on_stack(e, bounds, kShapeAt), static_cast<int>(kRow));
    e.jnz(*elsewhere, kNear);
    note_row(e, step, access, bounds, *out);
    check_row(e, access, bounds, offset, *out);
    FrameMover(e, step, access, bounds).rows(access.is_shared);
    end_row(e, access);
    if (access.is_store) mark_row(e, access, bounds, offset);
    e.L(*done);
    e.aside([=, &e, &step] {
      e.L(*elsewhere);
      others(e, step, access, bounds, *out);
      e.jmp(*done, kNear);
    });
  };
}

}  // namespace gpuemu::emulator
