// Records rows of lanes in the race records of global memory.
#include <bit>

#include "runtime/emulator/checks/row_tags.h"
#include "runtime/emulator/jit/race_notes.h"
#include "runtime/emulator/memory/allocation.h"
#include "runtime/emulator/memory/race_row.h"

namespace gpuemu::emulator {
namespace {
using CheckedBounds = Emitter::CheckedBounds;

int of_tags(size_t member) { return static_cast<int>(member); }

/// Jumps if WarpOrdering::rows must be brought up to date; else leaves its address in rcx.
void look_at_tags(Emitter& e, const Xbyak::Label& stale) {
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kRowsAt]);
  e.mov(e.rdx, e.ptr[e.rsp + Emitter::kLaneEventAt]);
  e.mov(e.edx, e.dword[e.rdx]);
  e.cmp(e.edx, e.dword[e.rcx + of_tags(offsetof(RowTags, event))]);
  e.jne(stale, kNear);
}

/// The code for one row of global memory. Its address is in rdx, the tags' in rcx,
/// RowTags::of_launch in r8, the run that the access becomes in r10; rax and r11 are overwritten.
/// Jumps to `out` if runs cannot tell the access, or it may race.
class RowCode {
 public:
  RowCode(Emitter& e, const Xbyak::Label& out) : e_(e), out_(&out) {}

  /// A store to the whole row.
  void store_all(int row) const {
    for (const size_t member : {kReads, kReads + kHigh, kWrites + kHigh}) {
      leave_if_current(member, row);
    }
    check_low_write(row);
    put_low_write(row);
  }
  /// A load of the whole row. The code for a row that was read before is in `replace_read()`.
  void load_all(int row, const Xbyak::Label& again, Xbyak::Label& note) const {
    for (const size_t member : {kReads + kHigh, kWrites, kWrites + kHigh}) {
      leave_if_current(member, row);
    }
    e_.mov(e_.r11, run(kReads, row));
    e_.cmp(e_.r11, e_.r8);
    e_.jae(again, kNear);
    e_.L(note);
    put_run(kReads, row);
    leave_if_current(kWrites, row);
  }
  /// Goes on at `note` if r10 may replace r11: a read of the same words at another time, or by the
  /// same lanes.
  void replace_read(const Xbyak::Label& note) const {
    e_.xor_(e_.r11, e_.r10);
    e_.test(e_.r11d, static_cast<int>(((1u << kRunBoundBits) - 1) << kRunBoundShift));
    e_.jnz(*out_, kNear);
    e_.mov(e_.rax, kCellTime);
    e_.test(e_.r11, e_.rax);
    e_.jnz(note, kNear);
    e_.shr(e_.r11, kRunFormShift);
    e_.jz(note, kNear);
    e_.jmp(*out_, kNear);
  }
  /// An access to the words from esi on (`upper`), or to those before it.
  void part(bool upper, bool stores) const {
    const size_t own = upper ? kHigh : 0, other = upper ? 0 : kHigh;
    upper ? leave_if_current(kWrites + own, 0) : check_low_write(0);
    leave_if_meets(kWrites + other, upper);
    leave_if_meets(kReads + other, upper);
    if (stores) {
      leave_if_current(kReads + own, 0);
      if (!upper) return put_low_write(0);
      put_run(kWrites + own, 0);
      return leave_if_meets(kWrites + other, upper);
    }
    Xbyak::Label note;
    e_.mov(e_.r11, run(kReads + own, 0));
    e_.cmp(e_.r11, e_.r8);
    e_.jb(note, kNear);
    replace_read(note);
    e_.L(note);
    put_run(kReads + own, 0);
    upper ? leave_if_meets(kWrites + other, upper) : leave_if_current(kWrites, 0);
  }

 private:
  static constexpr size_t kReads = offsetof(RaceRow, reads), kWrites = offsetof(RaceRow, writes),
                          kHigh = sizeof(uint64_t);

  Xbyak::Address run(size_t member, int row) const {
    return e_.qword[e_.rdx + row + static_cast<int>(member)];
  }
  void leave_if_current(size_t member, int row) const {
    e_.cmp(run(member, row), e_.r8);
    e_.jae(*out_, kNear);
  }
  /// Keeps the low write in rax for put_low_write(), which leaves if another host thread has
  /// replaced it: by a run of its own, or by the mark of a row that is split.
  void check_low_write(int row) const {
    e_.mov(e_.rax, run(kWrites, row));
    e_.cmp(e_.rax, e_.r8);
    e_.jae(*out_, kNear);
  }
  void put_low_write(int row) const {
    put_alone_or(run(kWrites, row), [&] {
      e_.lock();
      e_.cmpxchg(run(kWrites, row), e_.r10);
      e_.jne(*out_, kNear);
    });
  }
  /// Look at the low write again behind it, as put_run() in race_row.cc does.
  void put_run(size_t member, int row) const {
    put_alone_or(run(member, row), [&] {
      e_.mov(e_.r11, e_.r10);
      e_.xchg(run(member, row), e_.r11);
    });
  }
  /// Stores the run; with `put` if other host threads may note and split the row.
  template <typename Put>
  void put_alone_or(const Xbyak::Address& to, const Put& put) const {
    Xbyak::Label alone, done;
    e_.cmp(e_.byte[e_.rcx + of_tags(offsetof(RowTags, alone))], 0);
    e_.jne(alone);
    put();
    e_.jmp(done);
    e_.L(alone);
    e_.mov(to, e_.r10);
    e_.L(done);
  }
  void leave_if_meets(size_t member, bool upper) const {
    Xbyak::Label apart;
    e_.mov(e_.r11, run(member, 0));
    e_.cmp(e_.r11, e_.r8);
    e_.jb(apart);
    e_.shr(e_.r11, kRunBoundShift);
    e_.and_(e_.r11d, (1 << kRunBoundBits) - 1);
    e_.cmp(e_.r11d, e_.esi);
    upper ? e_.jae(*out_, kNear) : e_.jb(*out_, kNear);
    e_.L(apart);
  }

  Emitter& e_;
  const Xbyak::Label* const out_;
};

/// Returns with the carry flag set if RowCode jumps out.
template <typename Write>
void row_routine(Emitter& e, const Write& write) {
  Xbyak::Label out;
  write(RowCode(e, out));
  e.clc();
  e.ret();
  e.L(out);
  e.stc();
  e.ret();
}
template <bool Upper, bool Stores>
void part_routine(Emitter& e) {
  row_routine(e, [](const RowCode& code) { code.part(Upper, Stores); });
}
template <bool Stores>
void whole_routine(Emitter& e) {
  row_routine(e, [&e](const RowCode& code) {
    if (Stores) return code.store_all(0);
    Xbyak::Label again, note, done;
    code.load_all(0, again, note);
    e.jmp(done, kNear);
    e.L(again);
    code.replace_read(note);
    e.L(done);
  });
}

/// Records consecutive lanes in global memory. A handler that has to check then finds part of them
/// recorded, which it takes as its own.
class GlobalRows {
 public:
  GlobalRows(Emitter& e, const Step& step, const Access& access, const CheckedBounds& bounds,
             const Xbyak::Label& out)
      : e_(e),
        step_(step),
        access_(access),
        bounds_(bounds),
        words_(bounds.bytes / static_cast<uint32_t>(sizeof(uint32_t))),
        shift_(static_cast<uint32_t>(std::countr_zero(words_))),
        out_(&out) {}

  void note() {
    auto apart = std::make_shared<Xbyak::Label>(), done = std::make_shared<Xbyak::Label>(),
         unrecorded = std::make_shared<Xbyak::Label>();
    look_at_tags(e_, *out_);
    find_row(kFirstAt, *unrecorded);
    e_.mov(e_.r8, tag(offsetof(RowTags, of_launch)));
    e_.mov(e_.r9, tag(offsetof(RowTags, stem)));
    if (access_.is_store) begin_store();
    e_.test(e_.edx, static_cast<int>(kRowBytes - 1));
    e_.jnz(*apart, kNear);
    static_assert(kRowBytes == 4 * sizeof(RaceRow));
    e_.shr(e_.rdx, 2);
    e_.add(e_.rdx, e_.rax);
    for (uint32_t i = 0; i < words_; ++i) note_whole(i);
    e_.L(*done);
    e_.aside([self = *this, apart, done, unrecorded] {
      self.e_.L(*apart);
      self.note_apart();
      self.e_.jmp(*done, kNear);
      self.e_.L(*unrecorded);
      self.say_unrecorded();
      self.e_.jmp(*done, kNear);
    });
  }

  /// A load by halves. Handles those that are the lower or the upper half of a row each.
  void note_halves() {
    static_assert(kHalfLanes == kRowWords / 2);
    if (words_ != 1) return e_.jmp(*out_, kNear);
    Xbyak::Label done, unrecorded;
    look_at_tags(e_, *out_);
    e_.mov(e_.r8, tag(offsetof(RowTags, of_launch)));
    e_.mov(e_.r9, tag(offsetof(RowTags, stem)));
    e_.mov(e_.esi, kHalfLanes);
    for (uint32_t half = 0; half < 2; ++half) {
      find_row(half == 0 ? kFirstAt : kSecondAt, unrecorded);
      e_.test(e_.edx, static_cast<int>(kRowBytes / 2 - 1));
      e_.jnz(*out_, kNear);
      note_half(half);
    }
    e_.jmp(done, kNear);
    e_.L(unrecorded);
    say_unrecorded();
    e_.L(done);
  }

 private:
  Xbyak::Address tag(size_t member) const { return e_.qword[e_.rcx + of_tags(member)]; }
  /// There was no memory for records, which the launch reports.
  void say_unrecorded() const {
    static_assert(sizeof(AllocationBounds::unrecorded) == 1);
    e_.mov(e_.rax, on_stack(e_, bounds_, kAllocationAt));
    e_.mov(e_.byte[e_.rax + static_cast<int>(offsetof(AllocationBounds, unrecorded))], 1);
  }
  uint64_t run(uint32_t lane, uint32_t bound) const {
    return run_of(cell_site(step_.access().cache), form_of(lane, shift_), bound);
  }
  /// Leaves the distance of the access from its allocation in rdx, and the allocation's rows in
  /// rax.
  void find_row(uint32_t first, const Xbyak::Label& none) const {
    e_.mov(e_.rdx, on_stack(e_, bounds_, first));
    if (step_.access().offset != 0) e_.add(e_.rdx, static_cast<int>(step_.access().offset));
    e_.mov(e_.rax, on_stack(e_, bounds_, kAllocationAt));
    e_.sub(e_.rdx, e_.ptr[e_.rax + static_cast<int>(offsetof(AllocationBounds, base))]);
    e_.mov(e_.rax, e_.ptr[e_.rax + static_cast<int>(offsetof(AllocationBounds, rows))]);
    e_.test(e_.rax, e_.rax);
    e_.jz(none, kNear);
  }
  void note_half(uint32_t half) const {
    Xbyak::Label upper, noted;
    const uint32_t lane = half * kHalfLanes;
    e_.mov(e_.edi, e_.edx);
    place_row();
    e_.test(e_.edi, static_cast<int>(kRowBytes / 2));
    e_.jnz(upper);
    e_.mov(e_.r10, run(lane, kHalfLanes - 1));
    e_.or_(e_.r10, e_.r9);
    e_.call(e_.routine(&part_routine<false, false>));
    e_.jmp(noted);
    e_.L(upper);
    e_.mov(e_.r10, run(lane, kHalfLanes));
    e_.or_(e_.r10, e_.r9);
    e_.call(e_.routine(&part_routine<true, false>));
    e_.L(noted);
    e_.jc(*out_, kNear);
  }
  /// Turns a distance from the allocation in rdx into the address of its row.
  void place_row() const {
    static_assert(kRowBytes == 1 << 7 && sizeof(RaceRow) == 1 << 5);
    e_.shr(e_.rdx, 7);
    e_.shl(e_.rdx, 5);
    e_.add(e_.rdx, e_.rax);
  }
  void begin_store() const {
    e_.mov(e_.r10, tag(offsetof(RowTags, pending)));
    e_.mov(e_.r11d, e_.dword[e_.rcx + of_tags(offsetof(RowTags, segment))]);
    e_.mov(e_.dword[e_.r10], e_.r11d);
  }
  void note_whole(uint32_t index) const {
    const RowCode code(e_, *out_);
    const int row = static_cast<int>(index * sizeof(RaceRow));
    e_.mov(e_.r10, run(index * kRowWords / words_, kRowWords - 1));
    e_.or_(e_.r10, e_.r9);
    if (access_.is_store) return code.store_all(row);
    auto again = std::make_shared<Xbyak::Label>(), note = std::make_shared<Xbyak::Label>();
    code.load_all(row, *again, *note);
    e_.aside([code, again, note, &e = e_] {
      e.L(*again);
      code.replace_read(*note);
    });
  }

  /// The access begins at word esi of a row, so that it has a part of the first and of the last.
  void note_apart() const {
    e_.test(e_.edx, static_cast<int>(bounds_.bytes - 1));
    e_.jnz(*out_, kNear);
    e_.mov(e_.esi, e_.edx);
    e_.shr(e_.esi, 2);
    e_.and_(e_.esi, static_cast<int>(kRowWords - 1));
    place_row();
    for (uint32_t i = 0; i <= words_; ++i) {
      const bool first = i == 0, last = i == words_;
      e_.mov(e_.r10, run(0, first || last ? 0 : kRowWords - 1));
      if (!first) {
        e_.add(e_.rdx, static_cast<int>(sizeof(RaceRow)));
        e_.mov(e_.edi, i * kRowWords);
        e_.sub(e_.edi, e_.esi);
        e_.shr(e_.edi, static_cast<int>(shift_));
        e_.shl(e_.rdi, kRunFormShift);
        e_.add(e_.r10, e_.rdi);
      }
      if (first || last) {
        e_.mov(e_.edi, e_.esi);
        if (last) e_.dec(e_.edi);
        e_.shl(e_.rdi, kRunBoundShift);
        e_.or_(e_.r10, e_.rdi);
      }
      e_.or_(e_.r10, e_.r9);
      e_.call(e_.routine(routine_of(first, last)));
      e_.jc(*out_, kNear);
    }
  }
  Emitter::Routine routine_of(bool first, bool last) const {
    if (access_.is_store) {
      return first  ? &part_routine<true, true>
             : last ? &part_routine<false, true>
                    : &whole_routine<true>;
    }
    return first  ? &part_routine<true, false>
           : last ? &part_routine<false, false>
                  : &whole_routine<false>;
  }

  Emitter& e_;
  const Step& step_;
  const Access access_;
  const CheckedBounds bounds_;
  const uint32_t words_, shift_;  ///< Words per lane, and the binary logarithm of that.
  const Xbyak::Label* const out_;
};
}  // namespace

void prepare_rows(Emitter& e) {
  auto stale = std::make_shared<Xbyak::Label>(), ready = std::make_shared<Xbyak::Label>();
  look_at_tags(e, *stale);
  e.L(*ready);
  e.aside([&e, stale, ready] {
    e.L(*stale);
    e.mov(e.rdi, e.warp);
    e.vzeroupper();
    e.mov(e.rax, reinterpret_cast<uint64_t>(&prepare_row_tags));
    e.call(e.rax);
    e.jmp(*ready, kNear);
  });
}

void note_global_halves(Emitter& e, const Step& step, const Access& access,
                        const CheckedBounds& bounds, const Xbyak::Label& out) {
  GlobalRows(e, step, access, bounds, out).note_halves();
}

void end_row(Emitter& e, const Access& access) {
  if (!access.notes_rows() || !access.is_store) return;
  e.mov(e.rcx, e.ptr[e.rsp + Emitter::kRowsAt]);
  e.mov(e.rcx, e.ptr[e.rcx + of_tags(offsetof(RowTags, pending))]);
  e.mov(e.dword[e.rcx], 0);
}

void note_global_row(Emitter& e, const Step& step, const Access& access,
                     const CheckedBounds& bounds, Xbyak::Label& out) {
  GlobalRows(e, step, access, bounds, out).note();
}

}  // namespace gpuemu::emulator
