#include "runtime/emulator/jit/operations.h"

#include <algorithm>

namespace gpuemu::emulator {

void Operations::add(const std::string& key, Emit emit) {
  const auto found = handlers().find(key);
  if (found != handlers().end()) by_handler_[found->second.run] = std::move(emit);
}

void Operations::add_rounded(const std::string& key, Emit emit) {
  const auto found = handlers().find(key);
  if (found != handlers().end() && found->second.rounded != nullptr) {
    by_handler_[found->second.rounded] = std::move(emit);
  }
}

const Emit* Operations::find(Handler handler) const {
  const auto found = by_handler_.find(handler);
  return found == by_handler_.end() ? nullptr : &found->second;
}

const Operations& operations(Accesses accesses) {
  const auto made = [](Accesses of) {
    Operations all;
    add_integers(all);
    add_comparisons(all);
    add_floats(all);
    add_doubles(all);
    add_halves(all);
    add_accesses(all, of);
    add_exchanges(all, of);
    return all;
  };
  static const std::array<Operations, kAccesses> kAll = [&] {
    std::array<Operations, kAccesses> all;
    for (Accesses of = 0; of < kAccesses; ++of) all[of] = made(of);
    return all;
  }();
  return kAll[accesses];
}

Emit lane_by_lane(RegisterClass slot, Ternary instruction) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), b = e.read(step.src[1], slot);
    const Vectors out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) (e.*instruction)(out.at[i], a.at[i], b.at[i]);
  };
}

void widen(Emitter& e, const Xbyak::Zmm& out, const Vectors& narrow, uint32_t index,
           bool is_signed) {
  Xbyak::Ymm half(narrow.at[index / 2].getIdx());
  if (index % 2 != 0) {
    half = Xbyak::Ymm(out.getIdx());
    e.vextracti64x4(half, narrow.at[index / 2], 1);
  }
  if (is_signed) {
    e.vpmovsxdq(out, half);
  } else {
    e.vpmovzxdq(out, half);
  }
}

bool constant_at(const Code& code, uint32_t offset, uint32_t& value) {
  const auto found = std::ranges::find(code.constants, offset, &Constant::offset);
  if (found == code.constants.end()) return false;
  value = static_cast<uint32_t>(found->bits);
  return true;
}

}  // namespace gpuemu::emulator
