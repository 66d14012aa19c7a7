#include "runtime/emulator/jit/operations.h"

#include <algorithm>
#include <vector>

namespace gpuemu::emulator {

void Operations::add(const std::string& key, Emit emit, Suits suits) {
  const auto found = handlers().find(key);
  if (found == handlers().end()) return;
  by_handler_[found->second.run] = {.emit = std::move(emit), .suits = suits};
}

void Operations::add_rounded(const std::string& key, Emit emit) {
  const auto found = handlers().find(key);
  if (found == handlers().end() || found->second.rounded == nullptr) return;
  by_handler_[found->second.rounded] = {.emit = std::move(emit)};
}

void Operations::add_whole(const std::string& key, Emit emit, Suits suits) {
  const auto found = handlers().find(key);
  if (found != handlers().end()) add_step(found->second.run, std::move(emit), suits);
}

void Operations::add_step(Handler step, Emit emit, Suits suits) {
  by_handler_[step] = {.emit = std::move(emit), .suits = suits, .is_lane_by_lane = false};
}

const Operation* Operations::find(const Code& code, const Step& step) const {
  const auto found = by_handler_.find(step.run);
  if (found == by_handler_.end()) return nullptr;
  const Operation& operation = found->second;
  return operation.suits == nullptr || operation.suits(code, step) ? &operation : nullptr;
}

const Operations& operations(Target target, Accesses accesses) {
  const auto made = [](Target of, Accesses with) {
    Operations all(of);
    add_integers(all);
    add_comparisons(all);
    add_floats(all);
    add_doubles(all);
    add_halves(all);
    add_accesses(all, with);
    add_exchanges(all, with);
    return all;
  };
  static const std::vector<Operations> kAll = [&] {
    std::vector<Operations> all;
    for (const Target of : {Target::Avx2, Target::Avx512}) {
      for (Accesses with = 0; with < kAccesses; ++with) all.push_back(made(of, with));
    }
    return all;
  }();
  return kAll[static_cast<size_t>(target) * kAccesses + accesses];
}

Emit lane_by_lane(RegisterClass slot, Ternary instruction) {
  return [=](Emitter& e, const Step& step) {
    const Vectors a = e.read(step.src[0], slot), b = e.read(step.src[1], slot);
    const Vectors out = e.write(step.dst, slot);
    for (uint32_t i = 0; i < out.count; ++i) (e.*instruction)(out.at[i], a.at[i], b.at[i]);
  };
}

void widen(Emitter& e, const Vector& out, const Vectors& narrow, uint32_t index, bool is_signed) {
  e.widen(out, narrow.at[index / 2], index % 2 != 0, is_signed);
}

std::optional<uint32_t> constant_at(const Code& code, uint32_t offset) {
  const auto found = std::ranges::find(code.constants, offset, &Constant::offset);
  if (found != code.constants.end()) return static_cast<uint32_t>(found->bits);
  // What the prologue moves into a register is all that the register ever holds.
  const auto moved = std::ranges::find(code.prologue.once, offset, &Step::dst);
  if (moved == code.prologue.once.end() || moved->run != handlers().at("mov.b32").run) {
    return std::nullopt;
  }
  return constant_at(code, moved->src[0]);
}

}  // namespace gpuemu::emulator
