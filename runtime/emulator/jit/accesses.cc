// Loads and stores of global and shared memory where a launch asks for nothing but their bounds.
// All accesses of a stretch by one address register share one look at it: whether every lane stays
// inside, and whether the lanes lie side by side, at one place or anywhere. What is not inside or
// aligned is left to the handlers, before anything of it was done.
#include <algorithm>

#include "runtime/emulator/jit/operations.h"
#include "runtime/emulator/machine/allocation.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::Zmm;
using Looked = Emitter::Looked;

/// What a look leaves on the stack: how the lanes lie, and the host addresses of the first lanes of
/// both halves of the warp, less the instruction's own offset.
constexpr uint32_t kShapeAt = 0, kFirstAt = 8, kSecondAt = 16, kLookBytes = 24;
/// The shapes, in which halves may lie apart from each other in shared memory only.
constexpr uint32_t kRow = 0, kSame = 1;

constexpr uint8_t kGreater = 6, kNotEqual = 4;  ///< Of vpcmpd and its like.
constexpr uint8_t kFirstOrDifferent = 0xf6;     ///< Of vpternlogd: a | (b ^ c).
constexpr uint32_t kVectorBytes = 64, kWords = 16;
/// Displacements that instructions can have, with room for what is added.
constexpr int64_t kReach = int64_t{1} << 30;

struct Access {
  bool is_store = false, is_shared = false;
  uint32_t element = 4;  ///< Bytes.
};

std::array<uint32_t, kWords> counted(uint32_t step) {
  std::array<uint32_t, kWords> words{};
  for (uint32_t i = 0; i < kWords; ++i) words[i] = i * step;
  return words;
}
/// The same as 64-bit values from `first` on.
std::array<uint32_t, kWords> counted64(uint32_t first, uint32_t step) {
  std::array<uint32_t, kWords> words{};
  for (uint32_t i = 0; i < kWords; i += 2) words[i] = (first + i / 2) * step;
  return words;
}

bool writes(const Code& code, const Ins& ins, uint32_t offset) {
  if (ins.dst == offset) return true;
  for (uint32_t i = 0; i < ins.count && ins.list + i < code.lists.size(); ++i)
    if (code.lists[ins.list + i] == offset) return true;
  return false;
}

class Looks {
 public:
  Looks(Emitter& e, const Ins& ins, const Access& access)
      : e_(e), ins_(ins), access_(access), bytes_(access.element * ins.count) {}

  /// The look that covers this step, made before or now; nullptr: there is no more room.
  const Looked* find(const Vectors& base) {
    for (const Looked& each : e_.looked)
      if (each.base == ins_.src[0] && each.bytes == bytes_ && each.is_store == access_.is_store &&
          each.is_shared == access_.is_shared && e_.step() <= each.until &&
          (ins_.imm - each.low) % bytes_ == 0)
        return &each;
    const auto at = static_cast<uint32_t>(e_.looked.size()) * kLookBytes;
    if (at + kLookBytes > Emitter::kStackBytes) return nullptr;
    Looked made{.base = ins_.src[0],
                .bytes = bytes_,
                .is_store = access_.is_store,
                .is_shared = access_.is_shared,
                .until = e_.step(),
                .low = ins_.imm,
                .at = at};
    high_ = ins_.imm;
    gather_others(made);
    out_ = &e_.leave_here();
    if (access_.is_shared)
      look_at_shared(made, base);
    else
      look_at_global(made, base);
    e_.looked.push_back(made);
    return &e_.looked.back();
  }

 private:
  /// Further accesses of the stretch by the same register, before anything writes it.
  void gather_others(Looked& made) {
    const Code& code = e_.code();
    for (uint32_t step = e_.step(); step < e_.stretch().end; ++step) {
      const Ins& other = code.ins[step];
      if (other.run == ins_.run && other.src[0] == ins_.src[0] && other.count == ins_.count &&
          other.wide == ins_.wide && std::abs(other.imm) < kReach &&
          (other.imm - ins_.imm) % bytes_ == 0) {
        made.until = step;
        made.low = std::min(made.low, other.imm);
        high_ = std::max(high_, other.imm);
      }
      if (writes(code, other, ins_.src[0])) break;
    }
  }

  uint32_t span(const Looked& made) const {
    return static_cast<uint32_t>(high_ - made.low) + bytes_;
  }
  Xbyak::Address slot(const Looked& made, uint32_t what) const {
    return e_.qword[e_.rsp + static_cast<int>(made.at + what)];
  }
  /// After a kortest each of "some lane is not in the row" (dl) and "nor at one place" (cl).
  void note_shape(const Looked& made) {
    e_.inc(e_.ecx);
    e_.neg(e_.edx);
    e_.and_(e_.edx, e_.ecx);
    e_.mov(slot(made, kShapeAt), e_.rdx);
  }

  void look_at_shared(const Looked& made, const Vectors& base) {
    const Zmm first = e_.scratch(0), second = e_.scratch(1), third = e_.scratch(2),
              fourth = e_.scratch(3);
    e_.vpaddd(first, base.at[0], e_.splat(static_cast<uint32_t>(made.low)));
    e_.vpaddd(second, base.at[1], e_.splat(static_cast<uint32_t>(made.low)));
    e_.mov(e_.eax, e_.shared_bytes.cvt32());
    e_.sub(e_.eax, span(made));
    e_.jb(*out_, Xbyak::CodeGenerator::T_NEAR);
    e_.vpbroadcastd(third, e_.eax);
    e_.vpcmpud(e_.k7, first, third, kGreater);
    e_.vpcmpud(e_.k0, second, third, kGreater);
    leave_if_any();
    e_.vpord(third, first, second);
    e_.vptestmd(e_.k7, third, e_.splat(bytes_ - 1));
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    leave_if_any();
    for (const auto& [of, to, at] :
         {std::tuple(first, third, kFirstAt), std::tuple(second, fourth, kSecondAt)}) {
      const Xbyak::Xmm lowest(of.getIdx());
      e_.vpbroadcastd(to, lowest);
      e_.vpsubd(to, of, to);
      e_.vmovd(e_.eax, lowest);
      e_.lea(e_.rax, e_.ptr[e_.rax + e_.shared - static_cast<int>(made.low)]);
      e_.mov(slot(made, at), e_.rax);
    }
    e_.xor_(e_.edx, e_.edx);
    e_.xor_(e_.ecx, e_.ecx);
    e_.vpcmpd(e_.k7, third, e_.constant(counted(bytes_)), kNotEqual);
    e_.vpcmpd(e_.k0, fourth, e_.constant(counted(bytes_)), kNotEqual);
    e_.kortestw(e_.k7, e_.k0);
    e_.setnz(e_.dl);
    e_.vptestmd(e_.k7, third, third);
    e_.vptestmd(e_.k0, fourth, fourth);
    e_.kortestw(e_.k7, e_.k0);
    e_.setnz(e_.cl);
    note_shape(made);
  }

  void look_at_global(const Looked& made, const Vectors& base) {
    constexpr int kBase = offsetof(AllocationBounds, base),
                  kBytes = offsetof(AllocationBounds, bytes);
    const Zmm first = e_.scratch(0), rows = e_.scratch(1), here = e_.scratch(2),
              apart = e_.scratch(3);
    e_.mov(e_.rax, e_.ptr[e_.cache + static_cast<int>(ins_.cache * sizeof(Allocation*))]);
    e_.test(e_.rax, e_.rax);
    e_.jz(*out_, Xbyak::CodeGenerator::T_NEAR);
    e_.mov(e_.rdx, e_.ptr[e_.rax + kBytes]);
    e_.sub(e_.rdx, span(made));
    e_.jb(*out_, Xbyak::CodeGenerator::T_NEAR);
    e_.mov(e_.rcx, static_cast<uint64_t>(made.low));
    e_.sub(e_.rcx, e_.ptr[e_.rax + kBase]);
    e_.vpbroadcastq(first, e_.rdx);
    e_.vpbroadcastq(rows, e_.rcx);
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    for (uint32_t i = 0; i < base.count; ++i) {
      e_.vpaddq(here, base.at[i], rows);
      e_.vpcmpuq(e_.k7, here, first, kGreater);
      e_.korw(e_.k0, e_.k0, e_.k7);
    }
    leave_if_any();
    const Xbyak::Xmm lowest(base.at[0].getIdx());
    e_.vpbroadcastq(first, lowest);
    e_.vpxord(rows, rows, rows);
    e_.vpxord(apart, apart, apart);
    for (uint32_t i = 0; i < base.count; ++i) {
      e_.vpsubq(here, base.at[i], first);
      e_.vpternlogq(rows, here, e_.constant(counted64(i * kLanes / base.count, bytes_)),
                    kFirstOrDifferent);
      e_.vporq(apart, apart, here);
    }
    e_.vmovq(e_.rax, lowest);
    e_.mov(slot(made, kFirstAt), e_.rax);
    e_.add(e_.rax, static_cast<int>(made.low));
    e_.test(e_.al, static_cast<int>(bytes_ - 1));
    e_.jnz(*out_, Xbyak::CodeGenerator::T_NEAR);
    e_.vptestmq(e_.k7, apart, e_.splat64(bytes_ - 1));
    e_.kxorw(e_.k0, e_.k0, e_.k0);
    leave_if_any();
    e_.xor_(e_.edx, e_.edx);
    e_.xor_(e_.ecx, e_.ecx);
    e_.vptestmq(e_.k7, rows, rows);
    e_.kortestw(e_.k7, e_.k7);
    e_.setnz(e_.dl);
    e_.vptestmq(e_.k7, apart, apart);
    e_.kortestw(e_.k7, e_.k7);
    e_.setnz(e_.cl);
    note_shape(made);
  }

  void leave_if_any() {
    e_.kortestw(e_.k7, e_.k0);
    e_.jnz(*out_, Xbyak::CodeGenerator::T_NEAR);
  }

  Emitter& e_;
  const Ins& ins_;
  const Access& access_;
  const uint32_t bytes_;
  int64_t high_ = 0;
  Xbyak::Label* out_ = nullptr;
};

/// Moves one element of every lane between `values` and memory whose lanes were looked at.
class Mover {
 public:
  Mover(Emitter& e, const Access& access, const Looked& looked, int offset)
      : e_(e), access_(access), looked_(looked), offset_(offset) {}

  /// Lanes side by side; on to `others` where they are not.
  void row(const Vectors& values, const Xbyak::Label& others) {
    e_.cmp(slot(kShapeAt), static_cast<int>(kRow));
    e_.jnz(others, Xbyak::CodeGenerator::T_NEAR);
    first_half();
    for (uint32_t i = 0; i < values.count; ++i) {
      const bool upper = i >= values.count / 2;
      if (upper && i == values.count / 2) second_half();
      const uint32_t skip = upper && access_.is_shared ? i - values.count / 2 : i;
      const Xbyak::Address at = e_.ptr[e_.rax + offset_ + static_cast<int>(skip * kVectorBytes)];
      if (access_.is_store)
        e_.vmovdqu64(at, values.at[i]);
      else
        e_.vmovdqu64(values.at[i], at);
    }
  }

  /// All at one place, or anywhere.
  void others(const Vectors& values, const Vectors& base) {
    Xbyak::Label anywhere, done;
    if (!access_.is_store) {
      e_.cmp(slot(kShapeAt), static_cast<int>(kSame));
      e_.jnz(anywhere);
      same(values);
      e_.jmp(done);
      e_.L(anywhere);
    }
    if (access_.is_shared)
      anywhere_in_shared(values, base);
    else
      anywhere_in_global(values, base);
    e_.L(done);
  }

 private:
  Xbyak::Address slot(uint32_t what) const {
    return e_.qword[e_.rsp + static_cast<int>(looked_.at + what)];
  }
  void first_half() { e_.mov(e_.rax, slot(kFirstAt)); }
  void second_half() {
    if (access_.is_shared) e_.mov(e_.rax, slot(kSecondAt));
  }

  void same(const Vectors& values) {
    first_half();
    for (uint32_t i = 0; i < values.count; ++i) {
      if (i == values.count / 2) second_half();
      if (access_.element == sizeof(uint32_t))
        e_.vpbroadcastd(values.at[i], e_.ptr[e_.rax + offset_]);
      else
        e_.vpbroadcastq(values.at[i], e_.ptr[e_.rax + offset_]);
    }
  }

  void all_lanes() { e_.kxnorw(e_.k7, e_.k7, e_.k7); }

  void anywhere_in_shared(const Vectors& values, const Vectors& base) {
    const Xbyak::Ymm part(e_.scratch(0).getIdx());
    for (uint32_t i = 0; i < values.count; ++i) {
      all_lanes();
      if (access_.element == sizeof(uint32_t)) {
        const Xbyak::Address at = e_.ptr[e_.shared + base.at[i] + offset_];
        if (access_.is_store)
          e_.vpscatterdd(at | e_.k7, values.at[i]);
        else
          e_.vpgatherdd(values.at[i] | e_.k7, at);
        continue;
      }
      e_.vextracti64x4(part, base.at[i / 2], static_cast<uint8_t>(i % 2));
      const Xbyak::Address at = e_.ptr[e_.shared + part + offset_];
      if (access_.is_store)
        e_.vpscatterdq(at | e_.k7, values.at[i]);
      else
        e_.vpgatherdq(values.at[i] | e_.k7, at);
    }
  }

  void anywhere_in_global(const Vectors& values, const Vectors& base) {
    const Xbyak::Ymm part(e_.scratch(0).getIdx());
    e_.mov(e_.rax, offset_);
    for (uint32_t i = 0; i < base.count; ++i) {
      const Xbyak::Address at = e_.ptr[e_.rax + base.at[i]];
      all_lanes();
      if (access_.element == sizeof(uint64_t)) {
        if (access_.is_store)
          e_.vpscatterqq(at | e_.k7, values.at[i]);
        else
          e_.vpgatherqq(values.at[i] | e_.k7, at);
        continue;
      }
      const Zmm& words = values.at[i / 2];
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
  const Access& access_;
  const Looked& looked_;
  const int offset_;
};

/// 64-bit addresses of global memory, 32-bit ones of shared memory: all that compilers write.
bool is_usual(const Emitter& e, const Ins& ins, const Access& access) {
  return ins.count == 1 && (ins.wide == 0) == access.is_shared && std::abs(ins.imm) < kReach &&
         e.code().lists[ins.list] != kNone;
}

Emit access(bool is_store, bool is_shared, uint32_t element) {
  const Access how{.is_store = is_store, .is_shared = is_shared, .element = element};
  return [how](Emitter& e, const Ins& ins) {
    if (!is_usual(e, ins, how)) return e.call(ins, true);
    const uint32_t at = e.code().lists[ins.list];
    const Slot slot = how.element == sizeof(uint64_t) ? Slot::Wide : Slot::Narrow;
    const Vectors base = e.read(ins.src[0], how.is_shared ? Slot::Narrow : Slot::Wide);
    Vectors values;
    if (how.is_store) values = e.read(at, slot);
    const Looked* looked = Looks(e, ins, how).find(base);
    if (looked == nullptr) return e.call(ins, true);
    if (!how.is_store) values = e.write(at, slot);
    auto elsewhere = std::make_shared<Xbyak::Label>(), done = std::make_shared<Xbyak::Label>();
    Mover(e, how, *looked, static_cast<int>(ins.imm)).row(values, *elsewhere);
    e.L(*done);
    e.aside([=, &e, found = *looked, offset = static_cast<int>(ins.imm)] {
      e.L(*elsewhere);
      Mover(e, how, found, offset).others(values, base);
      e.jmp(*done, Xbyak::CodeGenerator::T_NEAR);
    });
  };
}
}  // namespace

void add_accesses(Operations& all) {
  for (const uint32_t element : {4u, 8u}) {
    const std::string type = element == 4 ? "u32" : "u64";
    for (const char* space : {"global.", "generic."}) {
      all.add(std::string("ld.") + space + type, access(false, false, element));
      all.add(std::string("st.") + space + type, access(true, false, element));
    }
    all.add("ld.shared." + type, access(false, true, element));
    all.add("st.shared." + type, access(true, true, element));
  }
}

}  // namespace gpuemu::emulator
