// Compiles loads and stores of vectors of two or four elements per lane, for consecutive lanes:
// rows are taken apart, or put together, in processor registers.
#include <algorithm>

#include "runtime/emulator/jit/race_notes.h"

namespace gpuemu::emulator {
namespace {
using Xbyak::Ymm;
using Xbyak::Zmm;
using CheckedBounds = Emitter::CheckedBounds;
using Words = std::array<uint32_t, 16>;

constexpr uint8_t kBothUpper = 0xee;  ///< Control byte of vshufi64x2.

template <typename Pick>
Words words(const Pick& pick) {
  Words made{};
  for (uint32_t i = 0; i < made.size(); ++i) made[i] = pick(i);
  return made;
}
/// Returns indices that permute eight 64-bit values.
template <typename Pick>
Words double_words(const Pick& pick) {
  Words made{};
  for (uint32_t i = 0; i < made.size(); i += 2) made[i] = pick(i / 2);
  return made;
}

class VectorMover {
 public:
  VectorMover(Emitter& e, const Access& access, const CheckedBounds& bounds, int offset)
      : e_(e), access_(access), looked_(bounds), offset_(offset) {}

  /// `elements` are the registers of the first, second and so on element of all lanes.
  void move(const std::array<Vectors, kElementsMax>& elements, uint32_t count) {
    const uint32_t units = elements[0].count;
    for (uint32_t unit = 0; unit < units; ++unit) {
      const uint32_t half = units / 2;
      if (unit == 0) e_.mov(e_.rax, on_stack(e_, looked_, kFirstAt));
      const bool second = access_.is_shared && unit >= half;
      if (second && unit == half) e_.mov(e_.rax, on_stack(e_, looked_, kSecondAt));
      at_ = offset_ + static_cast<int>((second ? unit - half : unit) * count * kVectorBytes);
      std::array<Zmm, kElementsMax> own;
      for (uint32_t i = 0; i < count; ++i) own[i] = zmm(elements[i].at[unit]);
      if (count == 2) {
        access_.is_store ? join_two(own) : part_two(own);
      } else {
        access_.is_store ? join_four(own) : part_four(own);
      }
    }
  }

 private:
  Xbyak::Address row(uint32_t index) {
    return e_.ptr[e_.rax + at_ + static_cast<int>(index * kVectorBytes)];
  }
  bool is_wide() const { return access_.element == sizeof(uint64_t); }
  /// Selects elements of two rows by index; the second row's indices follow the first's.
  void pick(const Zmm& numbers, const Zmm& first, const Xbyak::Operand& second) {
    if (is_wide()) {
      e_.vpermi2q(numbers, first, second);
    } else {
      e_.vpermi2d(numbers, first, second);
    }
  }

  void part_two(const std::array<Zmm, kElementsMax>& out) {
    e_.vmovdqu64(e_.scratch(0), row(0));
    for (uint32_t element = 0; element < 2; ++element) {
      const auto number = [&](uint32_t lane) { return 2 * lane + element; };
      e_.vmovdqa64(out[element], e_.constant(is_wide() ? double_words(number) : words(number)));
      pick(out[element], zmm(e_.scratch(0)), row(1));
    }
  }
  void join_two(const std::array<Zmm, kElementsMax>& in) {
    const uint32_t lanes = is_wide() ? 8 : 16;
    for (uint32_t part = 0; part < 2; ++part) {
      const auto number = [&](uint32_t at) {
        return at / 2 + part * lanes / 2 + (at % 2 != 0 ? lanes : 0);
      };
      const Zmm joined = zmm(e_.scratch(part));
      e_.vmovdqa64(joined, e_.constant(is_wide() ? double_words(number) : words(number)));
      pick(joined, in[0], in[1]);
      e_.vmovdqu64(row(part), joined);
    }
  }

  /// Splits vectors with two elements of eight lanes in two halves, then those with 16 lanes each.
  void part_four(const std::array<Zmm, kElementsMax>& out) {
    const Zmm low = zmm(e_.scratch(0)), high = zmm(e_.scratch(1)), first = zmm(e_.scratch(2));
    for (uint32_t element = 0; element < kElementsMax; element += 2) {
      const Words numbers =
          words([&](uint32_t at) { return kElementsMax * (at % 8) + element + at / 8; });
      for (const auto& [to, from] : {std::pair(low, 0u), std::pair(high, 2u)}) {
        e_.vmovdqa64(to, e_.constant(numbers));
        e_.vmovdqu64(first, row(from));
        e_.vpermi2d(to, first, row(from + 1));
      }
      e_.vinserti64x4(out[element], low, Ymm(high.getIdx()), 1);
      e_.vshufi64x2(out[element + 1], low, high, kBothUpper);
    }
  }
  /// Joins pairs for eight lanes first, then groups of four for four lanes.
  void join_four(const std::array<Zmm, kElementsMax>& in) {
    const Zmm first = zmm(e_.scratch(0)), second = zmm(e_.scratch(1)), joined = zmm(e_.scratch(2));
    for (uint32_t eight = 0; eight < 2; ++eight) {
      const Words pairs =
          words([&](uint32_t at) { return at / 2 + 8 * eight + (at % 2 != 0 ? 16 : 0); });
      e_.vmovdqa64(first, e_.constant(pairs));
      e_.vmovdqa64(second, first);
      e_.vpermi2d(first, in[0], in[1]);
      e_.vpermi2d(second, in[2], in[3]);
      for (uint32_t four = 0; four < 2; ++four) {
        e_.vmovdqa64(joined, e_.constant(double_words([&](uint32_t at) {
          return at / 2 + 4 * four + (at % 2 != 0 ? 8 : 0);
        })));
        e_.vpermi2q(joined, first, second);
        e_.vmovdqu64(row(2 * eight + four), joined);
      }
    }
  }

  Emitter& e_;
  const Access& access_;
  const CheckedBounds& looked_;
  const int offset_;
  int at_ = 0;
};

bool has_code(const Emitter& e, const Step& step, const Access& access) {
  const bool known =
      access.element >= 4 &&
      (step.access().count == 2 || (step.access().count == kElementsMax && access.element == 4));
  bool all = known && is_usual(step, access);
  for (uint32_t i = 0; all && i < step.access().count; ++i) {
    all = e.code().lists[step.access().list + i] != kNone;
  }
  // A register that is the target of two elements would be written twice.
  for (uint32_t i = 1; all && i < step.access().count; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      all = all && e.code().lists[step.access().list + i] != e.code().lists[step.access().list + j];
    }
  }
  return all || (known && access.is_store && is_usual(step, access));
}
}  // namespace

Emit of_several(const Access& access) {
  return [access](Emitter& e, const Step& step) {
    if (!has_code(e, step, access)) return e.call(step, true);
    const RegisterClass slot =
        access.element == sizeof(uint64_t) ? RegisterClass::Wide : RegisterClass::Narrow;
    const Vectors base =
        e.read(step.src[0], access.is_shared ? RegisterClass::Narrow : RegisterClass::Wide);
    std::array<Vectors, kElementsMax> elements;
    const uint32_t* list = &e.code().lists[step.access().list];
    const bool own_address =
        std::find(list, list + step.access().count, step.src[0]) != list + step.access().count;
    if (access.notes_rows() && own_address) return e.call(step, true);
    if (access.is_store) {
      for (uint32_t i = 0; i < step.access().count; ++i) elements[i] = e.read(list[i], slot);
    }
    const CheckedBounds* bounds = check_bounds(e, step, access, base);
    if (bounds == nullptr) return e.call(step, true);
    const auto write_elements = [&] {
      if (access.is_store) return;
      for (uint32_t i = 0; i < step.access().count; ++i) elements[i] = e.write(list[i], slot);
    };
    auto done = std::make_shared<Xbyak::Label>();
    if (access.notes_rows()) write_elements();
    e.cmp(on_stack(e, *bounds, kShapeAt), static_cast<int>(kRow));
    Xbyak::Label& out = access.notes_rows() ? e.by_handler(done) : e.leave_here();
    e.jnz(out, Xbyak::CodeGenerator::T_NEAR);
    const auto offset = static_cast<int>(step.access().offset);
    note_row(e, step, access, *bounds, out);
    check_row(e, access, *bounds, offset, out);
    if (!access.notes_rows()) write_elements();
    VectorMover(e, access, *bounds, offset).move(elements, step.access().count);
    end_row(e, access);
    if (access.is_store) mark_row(e, access, *bounds, offset);
    e.L(*done);
  };
}

}  // namespace gpuemu::emulator
