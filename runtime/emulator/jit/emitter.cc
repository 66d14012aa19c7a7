#include "runtime/emulator/jit/emitter.h"

#include <algorithm>

#include "common/base/check.h"
#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {
namespace {
constexpr uint32_t kCanonicalNan = 0x7fffffff;
/// Calls keep the stack aligned to 16 bytes; with the return address these are seven words.
constexpr uint32_t kSavedWords = 6;
static_assert((kSavedWords + 1) * sizeof(uint64_t) % 16 == 8 && Emitter::kStackBytes % 16 == 8);

/// Runs a handler. Returns true if the warp must return to its caller for a check.
bool run_handler(Warp& warp, const Step& step) {
  step.run(warp, step);
  return warp.remaining == 0;
}
}  // namespace

Emitter::Emitter(const Code& code, size_t bytes)
    : CodeGenerator(bytes, Xbyak::DontSetProtectRWE), code_(code), liveness_(code) {}

void Emitter::begin(StepRange straight_line) {
  straight_line_ = straight_line;
  step_ = straight_line.begin;
  state_ = {};
  exits_.clear();
  asides_.clear();
  bounds.clear();
}

void Emitter::begin_step(uint32_t step) { step_ = step; }

void Emitter::end_step() {
  for (Held& held : state_.vectors) {
    held.locked = false;
    if (held.home != kNone && dead(held.home, step_)) held = {};
  }
  for (HeldMasks& held : state_.masks) {
    held.locked = false;
    if (held.home != kNone && dead(held.home, step_)) held = {};
  }
}

void Emitter::end_steps() { store_live(state_, straight_line_.end); }

void Emitter::go_on(uint32_t next, uint32_t last) {
  const auto found = pieces_.find(next);
  jmp(found == pieces_.end() ? out_at(next, last) : found->second, T_NEAR);
}

Xbyak::Label& Emitter::out_at(uint32_t next, uint32_t last) {
  auto label = std::make_unique<Xbyak::Label>();
  Xbyak::Label& at = *label;
  outs_.push_back({std::move(label), next, last});
  return at;
}

void Emitter::leave(uint32_t next, uint32_t last, const Step* by_handlers) {
  mov(dword[progress + static_cast<int>(offsetof(WarpProgress, pc))], next);
  mov(rax, reinterpret_cast<uint64_t>(&code_.steps[last]));
  mov(ptr[progress + static_cast<int>(offsetof(WarpProgress, step))], rax);
  if (by_handlers == nullptr) {
    xor_(eax, eax);
  } else {
    mov(rax, reinterpret_cast<uint64_t>(by_handlers));
  }
  jmp(out_, T_NEAR);
}

void Emitter::end() {
  // Asides may add exits, but neither adds more of its own kind.
  for (const auto& write : asides_) write();
  for (const auto& exit : exits_) {
    L(exit->label);
    store_live(exit->state, exit->step);
    leave(straight_line_.end, straight_line_.end - 1, &code_.steps[exit->step]);
  }
  for (const Out& out : outs_) {
    L(*out.label);
    leave(out.next, out.last, nullptr);
  }
  outs_.clear();
}

size_t Emitter::entry(uint32_t step) {
  align(16);
  const size_t at = getSize();
  for (const Xbyak::Reg64& kept : {warp, progress, registers, cache, shared, shared_bytes}) {
    push(kept);
  }
  sub(rsp, kStackBytes);
  mov(warp, rdi);
  mov(progress, ptr[rsi + static_cast<int>(offsetof(JitFrame, progress))]);
  mov(registers, ptr[rsi + static_cast<int>(offsetof(JitFrame, registers))]);
  mov(cache, ptr[rsi + static_cast<int>(offsetof(JitFrame, cache))]);
  mov(shared, ptr[rsi + static_cast<int>(offsetof(JitFrame, shared))]);
  mov(shared_bytes, ptr[rsi + static_cast<int>(offsetof(JitFrame, shared_bytes))]);
  mov(rax, ptr[rsi + static_cast<int>(offsetof(JitFrame, shared_defined))]);
  sub(rax, shared);
  mov(ptr[rsp + kDefinedAt], rax);
  mov(rax, ptr[rsi + static_cast<int>(offsetof(JitFrame, races))]);
  mov(ptr[rsp + kRacesAt], rax);
  mov(rax, ptr[rsi + static_cast<int>(offsetof(JitFrame, lane_event))]);
  mov(ptr[rsp + kLaneEventAt], rax);
  mov(eax, ptr[rsi + static_cast<int>(offsetof(JitFrame, warp_tag))]);
  mov(ptr[rsp + kWarpTagAt], rax);
  jmp(pieces_.at(step), T_NEAR);
  return at;
}

void Emitter::finish() {
  L(out_);
  vzeroupper();
  add(rsp, kStackBytes);
  for (const Xbyak::Reg64& kept : {shared_bytes, shared, cache, registers, progress, warp}) {
    pop(kept);
  }
  ret();
  for (auto& [writes, label] : routines_) {
    align(16);
    L(label);
    writes(*this);
  }
  align(kVectorBytes);
  for (auto& [words, label] : constants_) {
    L(label);
    for (const uint32_t each : words) dd(each);
  }
  for (auto& [value, label] : splats_) {
    L(label);
    dq(value);
  }
}

bool Emitter::dead(uint32_t home, uint32_t step) const {
  return liveness_.is_dead_after(home, step, straight_line_);
}

Masks Emitter::masks_of(uint32_t index) const {
  return {{Xbyak::Opmask(static_cast<int>(1 + 2 * index)),
           Xbyak::Opmask(static_cast<int>(2 + 2 * index))}};
}

void Emitter::clean(Held& held, uint32_t index) {
  if (!held.any_nan) return;
  const Xbyak::Zmm vector(static_cast<int>(index));
  vcmpps(k7, vector, vector, kUnordered);
  vbroadcastss(vector | k7, single(kCanonicalNan));
  held.any_nan = false;
}

void Emitter::store(Held& held, uint32_t index) {
  clean(held, index);
  vmovdqa64(in_frame(held.at), Xbyak::Zmm(static_cast<int>(index)));
  held.dirty = false;
}

void Emitter::store(HeldMasks& held, uint32_t index) {
  // Stored as one word, because branches read all 32 bits soon after.
  const Masks masks = masks_of(index);
  kunpckwd(k7, masks.at[1], masks.at[0]);
  kmovd(dword[registers + static_cast<int>(held.home)], k7);
  held.dirty = false;
}

void Emitter::store_live(State& state, uint32_t step) {
  for (uint32_t i = 0; i < kVectors; ++i) {
    Held& held = state.vectors[i];
    if (held.home != kNone && held.dirty && (step == 0 || !dead(held.home, step - 1))) {
      store(held, i);
    }
  }
  for (uint32_t i = 0; i < kMaskPairs; ++i) {
    HeldMasks& held = state.masks[i];
    if (held.home != kNone && held.dirty && (step == 0 || !dead(held.home, step - 1))) {
      store(held, i);
    }
  }
}

template <typename Any>
uint32_t Emitter::choose(const Any& held) const {
  uint32_t best = kNone, furthest = 0;
  for (uint32_t i = 0; i < held.size(); ++i) {
    if (held[i].locked) continue;
    if (held[i].home == kNone) return i;
    const uint32_t next = liveness_.next_mention(held[i].home, step_);
    if (best != kNone && next <= furthest) continue;
    best = i;
    furthest = next;
  }
  GPUEMU_CHECK(best != kNone);
  return best;
}

uint32_t Emitter::take_vector() {
  const uint32_t index = choose(state_.vectors);
  Held& given_up = state_.vectors[index];
  if (given_up.dirty) store(given_up, index);
  given_up = {};
  return index;
}

uint32_t Emitter::load(uint32_t at, uint32_t home) {
  for (uint32_t i = 0; i < kVectors; ++i) {
    if (state_.vectors[i].at == at) return i;
  }
  const uint32_t index = take_vector();
  vmovdqa64(Xbyak::Zmm(static_cast<int>(index)), in_frame(at));
  state_.vectors[index] = {.at = at, .home = home};
  return index;
}

Vectors Emitter::read(uint32_t offset, RegisterClass slot, Nan nan) {
  Vectors vectors;
  vectors.count = slot == RegisterClass::Wide ? 4 : 2;
  for (uint32_t i = 0; i < vectors.count; ++i) {
    const uint32_t index = load(offset + i * kVectorBytes, offset);
    state_.vectors[index].locked = true;
    if (nan == Nan::Exact) clean(state_.vectors[index], index);
    vectors.at[i] = Xbyak::Zmm(static_cast<int>(index));
  }
  return vectors;
}

Vectors Emitter::write(uint32_t offset, RegisterClass slot, Nan nan) {
  Vectors vectors;
  vectors.count = slot == RegisterClass::Wide ? 4 : 2;
  for (uint32_t i = 0; i < vectors.count; ++i) {
    const uint32_t at = offset + i * kVectorBytes;
    for (Held& old : state_.vectors) {
      if (old.at == at) old = {.locked = old.locked};
    }
    const uint32_t index = take_vector();
    state_.vectors[index] = {.at = at,
                             .home = offset,
                             .dirty = true,
                             .any_nan = nan == Nan::Any,
                             .locked = true,
                             .written = step_};
    vectors.at[i] = Xbyak::Zmm(static_cast<int>(index));
  }
  return vectors;
}

uint32_t Emitter::take_masks() {
  const uint32_t index = choose(state_.masks);
  HeldMasks& given_up = state_.masks[index];
  if (given_up.dirty) store(given_up, index);
  given_up = {};
  return index;
}

void Emitter::load_masks(const Masks& masks, uint32_t offset) {
  kmovw(masks.at[0], word[registers + static_cast<int>(offset)]);
  kmovw(masks.at[1], word[registers + static_cast<int>(offset + sizeof(uint16_t))]);
}

Masks Emitter::read_masks(uint32_t offset) {
  uint32_t index = 0;
  while (index < kMaskPairs && state_.masks[index].home != offset) ++index;
  if (index == kMaskPairs) {
    index = take_masks();
    load_masks(masks_of(index), offset);
    state_.masks[index] = {.home = offset};
  }
  state_.masks[index].locked = true;
  return masks_of(index);
}

Masks Emitter::write_masks(uint32_t offset) {
  for (HeldMasks& old : state_.masks) {
    if (old.home == offset) old = {.locked = old.locked};
  }
  const uint32_t index = take_masks();
  state_.masks[index] = {.home = offset, .dirty = true, .locked = true};
  return masks_of(index);
}

void Emitter::call(const Step& step, bool may_end) {
  store_live(state_, step_);
  state_ = {};
  if (may_end) return call_handler(step_);
  mov(rdi, warp);
  mov(rsi, reinterpret_cast<uint64_t>(&step));
  vzeroupper();
  mov(rax, reinterpret_cast<uint64_t>(step.run));
  Xbyak::CodeGenerator::call(rax);
}

void Emitter::load_all(const State& state) {
  for (uint32_t i = 0; i < kVectors; ++i) {
    if (state.vectors[i].home != kNone) {
      vmovdqa64(Xbyak::Zmm(static_cast<int>(i)), in_frame(state.vectors[i].at));
    }
  }
  for (uint32_t i = 0; i < kMaskPairs; ++i) {
    if (state.masks[i].home != kNone) load_masks(masks_of(i), state.masks[i].home);
  }
}

void Emitter::call_handler(uint32_t step) {
  mov(rdi, warp);
  mov(rsi, reinterpret_cast<uint64_t>(&code_.steps[step]));
  vzeroupper();
  mov(rax, reinterpret_cast<uint64_t>(&run_handler));
  Xbyak::CodeGenerator::call(rax);
  if (step + 1 == straight_line_.end) {
    return;  // The next piece checks whether the time slice is over.
  }
  auto exit = std::make_unique<Exit>();
  exit->step = step + 1;
  test(al, al);
  jnz(exit->label, T_NEAR);
  exits_.push_back(std::move(exit));
}

Xbyak::Label& Emitter::by_handler(const std::shared_ptr<Xbyak::Label>& done) {
  auto label = std::make_shared<Xbyak::Label>();
  aside([this, label, done, state = state_, step = step_]() mutable {
    L(*label);
    const State after = state;
    for (Held& held : state.vectors) held.dirty = held.dirty && held.written != step;
    store_live(state, step);
    call_handler(step);
    load_all(after);
    jmp(*done, T_NEAR);
  });
  return *label;
}

Xbyak::Label& Emitter::leave_here() {
  auto exit = std::make_unique<Exit>();
  exit->state = state_;
  exit->step = step_;
  exits_.push_back(std::move(exit));
  return exits_.back()->label;
}

Xbyak::Address Emitter::constant(const std::array<uint32_t, 16>& words) {
  return ptr[rip + constants_[words]];
}
Xbyak::Address Emitter::splat(uint32_t value) { return splat64(uint64_t{value} << 32 | value); }
Xbyak::Address Emitter::single(uint32_t value) {
  return ptr[rip + label_of(uint64_t{value} << 32 | value)];
}
Xbyak::Address Emitter::splat64(uint64_t value) { return ptr_b[rip + label_of(value)]; }

}  // namespace gpuemu::emulator
