#include "runtime/emulator/jit/race_notes.h"

#include <bit>

#include "runtime/emulator/memory/race_history.h"

namespace gpuemu::emulator {
namespace {
using CheckedBounds = Emitter::CheckedBounds;

/// Predicates of vpcmpd and similar instructions.
constexpr uint32_t kTagsOfEpoch = 1u << kWarpBits;
constexpr uint32_t kWordBytes = sizeof(uint32_t);

int beyond(RaceField field) {
  return static_cast<int>(offsetof(RaceTags, beyond) +
                          static_cast<uint32_t>(field) * sizeof(uint64_t));
}

/// The routines take the address of shared memory's first word in rax, the note in edi and the
/// lanes in the first scratch vector or esi; they preserve all but scratch registers. They return
/// with the carry flag set, before recording anything, if a handler has to check.
class Routine {
 public:
  explicit Routine(Emitter& e) : e_(e) { e_.mov(e_.rcx, on_stack(Emitter::kRacesAt)); }

  void note_row_load() {
    const Vector lanes = e_.scratch(0), tags = e_.scratch(1), own = e_.scratch(2);
    leave_if_current(RaceField::Write, e_.k7);
    e_.mov(e_.r11, of(RaceField::Read));
    e_.vmovdqu32(tags, at(e_.r11));
    e_.kmovw(e_.r8d, e_.k1);
    e_.kmovw(e_.r9d, e_.k2);
    e_.kmovw(e_.r10d, e_.k3);
    // k1: words to change; k2: words last read by this warp; k3: words accessed by another warp.
    e_.vpcmpd(e_.k1, tags, spread(offsetof(RaceTags, many)), kNotEqual);
    self(e_.edx);
    e_.vpbroadcastd(own, e_.edx);
    e_.vpcmpeqd(e_.k2 | e_.k1, tags, own);
    compare_with_epoch(e_.k3 | e_.k1, tags);
    e_.kandnw(e_.k3, e_.k2, e_.k3);
    e_.vpbroadcastd(own | e_.k3, e_.ptr[e_.rcx + offset(offsetof(RaceTags, many))]);
    e_.vmovdqu32(at(e_.r11) | e_.k1, own);
    join_lanes(lanes, tags, own);
    e_.kmovw(e_.k1, e_.r8d);
    e_.kmovw(e_.k2, e_.r9d);
    e_.kmovw(e_.k3, e_.r10d);
    end();
  }

  void note_row_store() {
    const Vector lanes = e_.scratch(0);
    leave_if_current(RaceField::Write, e_.k7);
    leave_if_current(RaceField::Read, e_.k7);
    self(e_.edx);
    put(RaceField::Write, e_.edx);
    e_.xor_(e_.edx, e_.edx);
    e_.mov(e_.r8d, on_stack(Emitter::kWarpTagAt));
    e_.dec(e_.r8d);
    e_.bts(e_.edx, e_.r8d);
    put(RaceField::Writers, e_.edx);
    put(RaceField::WriteNote, e_.edi);
    event(e_.edx);
    put(RaceField::WriteEvent, e_.edx);
    e_.mov(e_.rdx, of(RaceField::WriteLanes));
    e_.vmovdqu32(at(e_.rdx), lanes);
    end();
  }

  void note_word_load() {
    Xbyak::Label done, fresh, note;
    e_.mov(e_.r8d, e_.dword[e_.rcx + offset(offsetof(RaceTags, epoch))]);
    e_.mov(e_.rdx, of(RaceField::Write));
    e_.mov(e_.edx, word(e_.rdx));
    e_.sub(e_.edx, e_.r8d);
    e_.cmp(e_.edx, kTagsOfEpoch);
    e_.jb(out_, kNear);
    e_.mov(e_.r9, of(RaceField::Read));
    e_.mov(e_.edx, word(e_.r9));
    e_.mov(e_.r10d, e_.dword[e_.rcx + offset(offsetof(RaceTags, many))]);
    e_.cmp(e_.edx, e_.r10d);
    e_.je(done, kNear);
    self(e_.r11d);
    e_.cmp(e_.edx, e_.r11d);
    e_.jne(fresh, kNear);
    // Other lanes of this warp with the same event are kept together with these.
    e_.mov(e_.r10d, e_.r11d);
    e_.mov(e_.r11, of(RaceField::ReadEvent));
    event(e_.edx);
    e_.cmp(word(e_.r11), e_.edx);
    e_.jne(note, kNear);
    e_.mov(e_.r11, of(RaceField::ReadNote));
    e_.cmp(word(e_.r11), static_cast<int>(kWholeNote));
    e_.jb(note, kNear);
    e_.mov(e_.r11, of(RaceField::ReadLanes));
    e_.or_(e_.esi, word(e_.r11));
    e_.jmp(note, kNear);
    e_.L(fresh);
    e_.sub(e_.edx, e_.r8d);
    e_.cmp(e_.edx, kTagsOfEpoch);
    e_.cmovae(e_.r10d, e_.r11d);
    e_.L(note);
    e_.mov(word(e_.r9), e_.r10d);
    put_word(RaceField::ReadLanes, e_.esi);
    event(e_.edx);
    put_word(RaceField::ReadEvent, e_.edx);
    put_word(RaceField::ReadNote, e_.edi);
    e_.L(done);
    end();
  }

 private:
  static int offset(size_t in_tags) { return static_cast<int>(in_tags); }
  Xbyak::Address on_stack(int at) {
    return e_.ptr[e_.rsp + at + static_cast<int>(sizeof(uint64_t))];  // Skips the return address.
  }
  Xbyak::Address of(RaceField field) { return e_.qword[e_.rcx + beyond(field)]; }
  Xbyak::Address at(const Xbyak::Reg64& field) { return e_.ptr[e_.rax + field]; }
  Xbyak::Address word(const Xbyak::Reg64& field) { return e_.dword[e_.rax + field]; }
  Xbyak::Address spread(size_t in_tags) { return e_.ptr_b[e_.rcx + offset(in_tags)]; }

  void self(const Xbyak::Reg32& to) {
    e_.mov(to, e_.dword[e_.rcx + offset(offsetof(RaceTags, epoch))]);
    e_.add(to, on_stack(Emitter::kWarpTagAt));
  }
  void event(const Xbyak::Reg32& to) {
    e_.mov(to.cvt64(), on_stack(Emitter::kLaneEventAt));
    e_.mov(to, e_.dword[to.cvt64()]);
  }
  void compare_with_epoch(const Xbyak::Opmask& to, const Vector& tags) {
    e_.vpsubd(tags, tags, spread(offsetof(RaceTags, epoch)));
    e_.vpcmpud(to, tags, e_.splat(kTagsOfEpoch), kLess);
  }
  void leave_if_current(RaceField field, const Xbyak::Opmask& some) {
    const Vector tags = e_.scratch(1);
    e_.mov(e_.rdx, of(field));
    e_.vmovdqu32(tags, at(e_.rdx));
    compare_with_epoch(some, tags);
    e_.kortestw(some, some);
    e_.jnz(out_, kNear);
  }
  void put(RaceField field, const Xbyak::Reg32& value) {
    const Vector all = e_.scratch(1);
    e_.vpbroadcastd(all, value);
    e_.mov(e_.r11, of(field));
    e_.vmovdqu32(at(e_.r11), all);
  }
  void put_word(RaceField field, const Xbyak::Reg32& value) {
    e_.mov(e_.r11, of(field));
    e_.mov(word(e_.r11), value);
  }
  /// Merges lanes that read whole words at the same event with those that read now.
  void join_lanes(const Vector& lanes, const Vector& now, const Vector& notes) {
    event(e_.edx);
    e_.vpbroadcastd(now, e_.edx);
    e_.mov(e_.rdx, of(RaceField::ReadEvent));
    e_.vpcmpeqd(e_.k2 | e_.k2, now, at(e_.rdx));
    e_.vmovdqu32(at(e_.rdx) | e_.k1, now);
    e_.mov(e_.rdx, of(RaceField::ReadNote));
    e_.vmovdqu32(notes | e_.k2 | Xbyak::util::T_z, at(e_.rdx));
    e_.vpcmpud(e_.k2 | e_.k2, notes, e_.splat(kWholeNote), kNotLess);
    e_.vpbroadcastd(notes, e_.edi);
    e_.vmovdqu32(at(e_.rdx) | e_.k1, notes);
    e_.mov(e_.rdx, of(RaceField::ReadLanes));
    e_.vpord(lanes | e_.k2, lanes, at(e_.rdx));
    e_.vmovdqu32(at(e_.rdx) | e_.k1, lanes);
  }
  void end() {
    e_.clc();
    e_.ret();
    e_.L(out_);
    e_.stc();
    e_.ret();
  }

  Emitter& e_;
  Xbyak::Label out_;
};

void row_load(Emitter& e) { Routine(e).note_row_load(); }
void row_store(Emitter& e) { Routine(e).note_row_store(); }
void word_load(Emitter& e) { Routine(e).note_word_load(); }

void load_half(Emitter& e, const CheckedBounds& bounds, uint32_t half) {
  e.mov(e.rax, on_stack(e, bounds, half == 0 ? kFirstAt : kSecondAt));
}

/// Returns the lane of each word, for accesses of `words` words per lane, from word `first` of a
/// half on.
std::array<uint32_t, 16> lanes_of(uint32_t half, uint32_t first, uint32_t words) {
  std::array<uint32_t, 16> lanes{};
  for (uint32_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = uint32_t{1} << (half * kHalfLanes + (first + i) / words);
  }
  return lanes;
}

/// Lists a load as pending; jumps to `closed` if it must be noted at once. The list's end is in rdx
/// then, and the tags' address in rcx.
void list_load(Emitter& e, const Step& step, const CheckedBounds& bounds, bool one_place,
               const Xbyak::Label& closed) {
  const auto member = [&](size_t which) { return e.qword[e.rcx + static_cast<int>(which)]; };
  const auto put = [&](size_t which) { return e.dword[e.rdx + static_cast<int>(which)]; };
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kRacesAt]);
  e.mov(e.rdx, member(offsetof(RaceTags, next)));
  e.cmp(e.rdx, member(offsetof(RaceTags, end)));
  e.jae(closed, kNear);
  for (uint32_t half = 0; half < 2; ++half) {
    load_half(e, bounds, half);
    e.mov(
        e.qword[e.rdx + static_cast<int>(offsetof(PendingLoad, halves) + half * sizeof(uint64_t))],
        e.rax);
  }
  e.mov(e.rax, e.ptr[e.rsp + Emitter::kLaneEventAt]);
  e.mov(e.eax, e.dword[e.rax]);
  e.mov(put(offsetof(PendingLoad, event)), e.eax);
  e.mov(e.eax, e.dword[e.rsp + Emitter::kWarpTagAt]);
  e.mov(put(offsetof(PendingLoad, warp)), e.eax);
  const auto log_words = static_cast<uint32_t>(std::countr_zero(bounds.bytes / kWordBytes));
  e.mov(put(offsetof(PendingLoad, what)), what_is_read(step.access().cache, log_words, one_place));
  e.mov(put(offsetof(PendingLoad, offset)),
        static_cast<uint32_t>(static_cast<int32_t>(step.access().offset)));
  e.add(e.rdx, sizeof(PendingLoad));
  e.mov(member(offsetof(RaceTags, next)), e.rdx);
}

/// Continues where loads are noted at once, if they can be here. A handler first notes those that
/// are pending.
void note_at_once(Emitter& e, const Xbyak::Label& out) {
  if (!e.is_avx512()) return e.jmp(out, kNear);
  e.cmp(e.rdx, e.ptr[e.rcx + static_cast<int>(offsetof(RaceTags, first))]);
  e.jne(out, kNear);
}

/// Lets loads after a store be noted at once.
void end_list(Emitter& e, const Xbyak::Label& out) {
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kRacesAt]);
  e.mov(e.rdx, e.ptr[e.rcx + static_cast<int>(offsetof(RaceTags, next))]);
  note_at_once(e, out);
  e.mov(e.ptr[e.rcx + static_cast<int>(offsetof(RaceTags, end))], e.rdx);
}

/// Jumps if a load would change the history of a vector of words. It does not if several warps read
/// all of them in this epoch and none wrote them.
void look_at_row(Emitter& e, int from, const Xbyak::Label& changes) {
  const Vector tags = e.scratch(0);
  e.mov(e.rdx, e.ptr[e.rcx + beyond(RaceField::Read)]);
  e.vmovdqu32(tags, e.ptr[e.rax + e.rdx + from]);
  e.vpcmpd(e.k7, tags, e.ptr_b[e.rcx + static_cast<int>(offsetof(RaceTags, many))], kNotEqual);
  e.mov(e.rdx, e.ptr[e.rcx + beyond(RaceField::Write)]);
  e.vmovdqu32(tags, e.ptr[e.rax + e.rdx + from]);
  e.vpsubd(tags, tags, e.ptr_b[e.rcx + static_cast<int>(offsetof(RaceTags, epoch))]);
  e.vpcmpud(e.k0, tags, e.splat(kTagsOfEpoch), kLess);
  e.kortestw(e.k7, e.k0);
  e.jnz(changes, kNear);
}

/// Two halves of a store that overlap are a race between its lanes.
void leave_if_halves_meet(Emitter& e, const CheckedBounds& bounds, uint32_t bytes,
                          Xbyak::Label& out) {
  load_half(e, bounds, 1);
  e.sub(e.rax, on_stack(e, bounds, kFirstAt));
  e.add(e.rax, static_cast<int>(bytes) - 1);
  e.cmp(e.rax, 2 * static_cast<int>(bytes) - 2);
  e.jbe(out, kNear);
}

void note_rows(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
               Xbyak::Label& out) {
  const uint32_t bytes = bounds.bytes * kHalfLanes;
  if (access.is_store) leave_if_halves_meet(e, bounds, bytes, out);
  e.mov(e.edi, race_note(step.access().cache, kWholeWord, kWholeWord));
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t at = 0; at < bytes; at += kVectorBytes) {
      load_half(e, bounds, half);
      e.add(e.rax, static_cast<int>(step.access().offset + at));
      e.vmovdqa32(e.scratch(0),
                  e.constant(lanes_of(half, at / kWordBytes, bounds.bytes / kWordBytes)));
      e.call(e.routine(access.is_store ? row_store : row_load));
      e.jc(out, kNear);
    }
  }
}

/// Notes a load at once.
void load_rows(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
               Xbyak::Label& out) {
  const uint32_t bytes = bounds.bytes * kHalfLanes;
  Xbyak::Label changes, done;
  for (uint32_t half = 0; half < 2; ++half) {
    load_half(e, bounds, half);
    for (uint32_t at = 0; at < bytes; at += kVectorBytes) {
      look_at_row(e, static_cast<int>(step.access().offset + at), changes);
    }
  }
  e.jmp(done, kNear);
  e.L(changes);
  note_rows(e, step, access, bounds, out);
  e.L(done);
}
}  // namespace

void note_row(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
              Xbyak::Label& out) {
  if (!access.race) return;
  if (!access.is_shared) return note_global_row(e, step, access, bounds, out);
  if (access.is_store) {
    end_list(e, out);
    return note_rows(e, step, access, bounds, out);
  }
  auto closed = std::make_shared<Xbyak::Label>(), done = std::make_shared<Xbyak::Label>();
  list_load(e, step, bounds, false, *closed);
  e.L(*done);
  e.aside([&e, &step, access, found = bounds, closed, done, to = &out] {
    e.L(*closed);
    note_at_once(e, *to);
    if (e.is_avx512()) load_rows(e, step, access, found, *to);
    e.jmp(*done, kNear);
  });
}

void note_same(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
               Xbyak::Label& out) {
  if (!access.is_shared || !access.race) return;
  Xbyak::Label closed, done;
  list_load(e, step, bounds, true, closed);
  e.jmp(done, kNear);
  e.L(closed);
  note_at_once(e, out);
  if (!e.is_avx512()) return e.L(done);
  e.mov(e.edi, race_note(step.access().cache, kWholeWord, kWholeWord));
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t at = 0; at < bounds.bytes; at += kWordBytes) {
      load_half(e, bounds, half);
      e.add(e.rax, static_cast<int>(step.access().offset + at));
      e.mov(e.esi, ((uint32_t{1} << kHalfLanes) - 1) << half * kHalfLanes);
      e.call(e.routine(word_load));
      e.jc(out, kNear);
    }
  }
  e.L(done);
}

}  // namespace gpuemu::emulator
