// Compiles loads and stores of global and shared memory with one element per lane.
#include "runtime/emulator/jit/race_notes.h"

namespace gpuemu::emulator {
namespace {
using CheckedBounds = Emitter::CheckedBounds;

/// Moves one element of every lane between `values` and memory, after the bounds check.
class Mover {
 public:
  Mover(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds)
      : e_(e),
        step_(step),
        access_(access),
        looked_(bounds),
        offset_(static_cast<int>(step.access().offset)) {}

  /// Handles consecutive lanes; jumps to `others` if they are not consecutive.
  void row(const Vectors& values, const Xbyak::Label& others, Xbyak::Label* out) {
    e_.cmp(slot(kShapeAt), static_cast<int>(kRow));
    e_.jnz(others, kNear);
    if (out != nullptr) {
      note_row(e_, step_, access_, looked_, *out);
      check_row(e_, access_, looked_, offset_, *out);
    }
    first_half();
    for (uint32_t i = 0; i < values.count; ++i) {
      const bool upper = i >= values.count / 2;
      if (upper && i == values.count / 2) second_half();
      const uint32_t skip = upper && access_.is_shared ? i - values.count / 2 : i;
      const Xbyak::Address at = e_.ptr[e_.rax + offset_ + static_cast<int>(skip * kVectorBytes)];
      if (access_.is_store) {
        e_.vmovdqu64(at, values.at[i]);
      } else {
        e_.vmovdqu64(values.at[i], at);
      }
    }
    end_row(e_, access_);
    if (access_.is_store) mark_row(e_, access_, looked_, offset_);
  }

  /// Handles lanes that all access one place, and scattered lanes. Jumps to `out` if bytes must be
  /// marked or checked lane by lane.
  void others(const Vectors& values, const Vectors& base, Xbyak::Label* out) {
    Xbyak::Label anywhere, done;
    if (!access_.is_store) {
      e_.cmp(slot(kShapeAt), static_cast<int>(kSame));
      e_.jnz(anywhere, kNear);
      if (out != nullptr) {
        note_same(e_, step_, access_, looked_, *out);
        check_same(e_, access_, looked_, offset_, *out);
      }
      same(values);
      e_.jmp(done, kNear);
      e_.L(anywhere);
    }
    if (out != nullptr && (access_.is_store || access_.is_shared)) {
      e_.jmp(*out, kNear);
    } else if (access_.is_shared) {
      anywhere_in_shared(values, base);
    } else {
      if (!access_.is_store) {
        Xbyak::Label scattered;
        halves(values, scattered, nullptr);
        e_.jmp(done, kNear);
        e_.L(scattered);
      }
      anywhere_in_global(values, base);
    }
    e_.L(done);
  }

  /// Loads global memory that is accessed as one row per half of the warp. Jumps to `others` if it
  /// is not, and to `out`, unless that is null, if the access may race.
  void halves(const Vectors& values, const Xbyak::Label& others, const Xbyak::Label* out) {
    e_.cmp(slot(kShapeAt), static_cast<int>(kHalves));
    e_.jnz(others, kNear);
    if (out != nullptr) note_global_halves(e_, step_, access_, looked_, *out);
    for (uint32_t i = 0; i < values.count; ++i) {
      const uint32_t each = values.count / 2;
      if (i % each == 0) e_.mov(e_.rax, slot(i == 0 ? kFirstAt : kSecondAt));
      e_.vmovdqu64(values.at[i],
                   e_.ptr[e_.rax + offset_ + static_cast<int>(i % each * kVectorBytes)]);
    }
  }

 private:
  Xbyak::Address slot(uint32_t what) const { return on_stack(e_, looked_, what); }
  void first_half() { e_.mov(e_.rax, slot(kFirstAt)); }
  void second_half() {
    if (access_.is_shared) e_.mov(e_.rax, slot(kSecondAt));
  }

  void same(const Vectors& values) {
    first_half();
    for (uint32_t i = 0; i < values.count; ++i) {
      if (i == values.count / 2) second_half();
      if (access_.element == sizeof(uint32_t)) {
        e_.vpbroadcastd(values.at[i], e_.ptr[e_.rax + offset_]);
      } else {
        e_.vpbroadcastq(values.at[i], e_.ptr[e_.rax + offset_]);
      }
    }
  }

  void all_lanes() { e_.kxnorw(e_.k7, e_.k7, e_.k7); }

  void anywhere_in_shared(const Vectors& values, const Vectors& base) {
    const Xbyak::Ymm part(e_.scratch(0).getIdx());
    for (uint32_t i = 0; i < values.count; ++i) {
      all_lanes();
      if (access_.element == sizeof(uint32_t)) {
        const Xbyak::Address at = e_.ptr[e_.shared + base.at[i] + offset_];
        if (access_.is_store) {
          e_.vpscatterdd(at | e_.k7, values.at[i]);
        } else {
          e_.vpgatherdd(values.at[i] | e_.k7, at);
        }
        continue;
      }
      e_.vextracti64x4(part, zmm(base.at[i / 2]), static_cast<uint8_t>(i % 2));
      const Xbyak::Address at = e_.ptr[e_.shared + part + offset_];
      if (access_.is_store) {
        e_.vpscatterdq(at | e_.k7, values.at[i]);
      } else {
        e_.vpgatherdq(values.at[i] | e_.k7, at);
      }
    }
  }

  void anywhere_in_global(const Vectors& values, const Vectors& base) {
    const Xbyak::Ymm part(e_.scratch(0).getIdx());
    e_.mov(e_.rax, offset_);
    for (uint32_t i = 0; i < base.count; ++i) {
      const Xbyak::Address at = e_.ptr[e_.rax + base.at[i]];
      all_lanes();
      if (access_.element == sizeof(uint64_t)) {
        if (access_.is_store) {
          e_.vpscatterqq(at | e_.k7, values.at[i]);
        } else {
          e_.vpgatherqq(values.at[i] | e_.k7, at);
        }
        continue;
      }
      const Xbyak::Zmm words = zmm(values.at[i / 2]);
      const auto half = static_cast<uint8_t>(i % 2);
      if (access_.is_store) {
        e_.vextracti64x4(part, words, half);
        e_.vpscatterqd(at | e_.k7, part);
      } else {
        e_.vpgatherqd(part | e_.k7, at);
        e_.vinserti64x4(words, words, part, half);
      }
    }
  }

  Emitter& e_;
  const Step& step_;
  const Access& access_;
  const CheckedBounds& looked_;
  const int offset_;
};

/// Moves elements of 8 and 16 bits, which registers hold in words. Scattered accesses are left to
/// the handlers.
class SmallMover {
 public:
  SmallMover(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset)
      : e_(e), access_(access), looked_(bounds), offset_(offset) {}

  void row(const Vectors& values, const Xbyak::Label& others) {
    e_.cmp(on_stack(e_, looked_, kShapeAt), static_cast<int>(kRow));
    e_.jnz(others, kNear);
    for (uint32_t i = 0; i < values.count; ++i) {
      load_place(i);
      const uint32_t skip = access_.is_shared ? 0 : i * access_.element * kLanes / values.count;
      move(values.at[i], e_.ptr[e_.rax + offset_ + static_cast<int>(skip)]);
    }
  }

  void others(const Vectors& values, const Xbyak::Label& out) {
    if (access_.is_store) return e_.jmp(out, kNear);
    e_.cmp(on_stack(e_, looked_, kShapeAt), static_cast<int>(kSame));
    e_.jnz(out, kNear);
    for (uint32_t i = 0; i < values.count; ++i) {
      load_place(i);
      const Xbyak::Address from =
          access_.element == 1 ? e_.byte[e_.rax + offset_] : e_.word[e_.rax + offset_];
      if (access_.is_signed) {
        e_.movsx(e_.eax, from);
      } else {
        e_.movzx(e_.eax, from);
      }
      e_.vpbroadcastd(values.at[i], e_.eax);
    }
  }

 private:
  /// In global memory both halves of a row are addressed from the first one.
  void load_place(uint32_t half) {
    const bool second = half != 0 && access_.is_shared;
    e_.mov(e_.rax, on_stack(e_, looked_, second ? kSecondAt : kFirstAt));
  }
  void move(const Vector& value, const Xbyak::Address& at) {
    if (access_.element == 1) {
      if (access_.is_store) return e_.vpmovdb(at, value);
      return access_.is_signed ? e_.vpmovsxbd(value, at) : e_.vpmovzxbd(value, at);
    }
    if (access_.is_store) return e_.vpmovdw(at, value);
    return access_.is_signed ? e_.vpmovsxwd(value, at) : e_.vpmovzxwd(value, at);
  }

  Emitter& e_;
  const Access& access_;
  const CheckedBounds& looked_;
  const int offset_;
};

Emit of_one(const Access& how) {
  return [how](Emitter& e, const Step& step) {
    const uint32_t at = e.code().lists[step.access().list];
    const bool small = how.element < sizeof(uint32_t), noted = how.notes_rows();
    // If the handler runs instead, it needs the address register unchanged.
    const bool own_address = (how.is_shared || noted) && at == step.src[0];
    if (!is_usual(step, how) || at == kNone || own_address || (small && noted)) {
      return e.call(step, true);
    }
    const RegisterClass slot =
        how.element == sizeof(uint64_t) ? RegisterClass::Wide : RegisterClass::Narrow;
    const Vectors base =
        e.read(step.src[0], how.is_shared ? RegisterClass::Narrow : RegisterClass::Wide);
    Vectors values;
    if (how.is_store) values = e.read(at, slot);
    const CheckedBounds* bounds = check_bounds(e, step, how, base);
    if (bounds == nullptr) return e.call(step, true);
    const bool checked = how.init || how.race;
    auto elsewhere = std::make_shared<Xbyak::Label>(), done = std::make_shared<Xbyak::Label>();
    Xbyak::Label* out = small || (checked && how.is_store && !noted) ? &e.leave_here() : nullptr;
    if (!how.is_store) values = e.write(at, slot);
    if (noted) {
      out = &e.by_handler(done);
      Mover(e, step, how, *bounds).row(values, how.is_store ? *out : *elsewhere, out);
      e.L(*done);
      if (how.is_store) return;
      return e.aside([=, &e, &step, found = *bounds] {
        e.L(*elsewhere);
        Mover(e, step, how, found).halves(values, *out, out);
        e.jmp(*done, kNear);
      });
    }
    if (!small && checked && how.is_shared) out = &e.by_handler(done);
    const auto offset = static_cast<int>(step.access().offset);
    if (small) {
      SmallMover(e, how, *bounds, offset).row(values, *elsewhere);
    } else {
      Mover(e, step, how, *bounds).row(values, *elsewhere, out);
    }
    e.L(*done);
    e.aside([=, &e, &step, found = *bounds] {
      e.L(*elsewhere);
      if (small) {
        SmallMover(e, how, found, offset).others(values, *out);
      } else {
        Mover(e, step, how, found).others(values, base, out);
      }
      e.jmp(*done, kNear);
    });
  };
}

/// Vectors of several elements are compiled separately (vectors.cc), and so is all for AVX2
/// (frame_accesses.cc).
Emit access(Target target, const Access& how) {
  if (target == Target::Avx2) return through_frame(how);
  return [one = of_one(how), several = of_several(how)](Emitter& e, const Step& step) {
    return step.access().count == 1 ? one(e, step) : several(e, step);
  };
}
}  // namespace

void add_accesses(Operations& all, Accesses accesses) {
  const bool init = (accesses & kInit) != 0, races = (accesses & kSharedRaces) != 0,
             global = (accesses & kWritesOnce) == 0;
  const auto add = [&](const std::string& type, Access how) {
    const bool small = how.element < sizeof(uint32_t);
    for (const bool is_store : {false, true}) {
      if (is_store && how.is_signed) continue;
      const std::string family = is_store ? "st." : "ld.";
      how.is_store = is_store;
      how.is_shared = false;
      how.init = init;
      how.race = (accesses & kGlobalRaces) != 0;
      for (const char* space : {"global.", "generic."}) {
        if (global && !(small && init && is_store)) {
          all.add_whole(family + space + type, access(all.target(), how));
        }
      }
      how.is_shared = true;
      how.race = races;
      const bool by_handlers = races && is_store && all.target() == Target::Avx2;
      if (!(small && (init || races)) && !by_handlers) {
        all.add_whole(family + "shared." + type, access(all.target(), how));
      }
    }
  };
  add("u8", {.element = 1});
  add("s8", {.element = 1, .is_signed = true});
  add("u16", {.element = 2});
  add("s16", {.element = 2, .is_signed = true});
  add("u32", {.element = 4});
  add("u64", {.element = 8});
}

}  // namespace gpuemu::emulator
