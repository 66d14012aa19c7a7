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

Emitter::Emitter(const Code& code, Target target, size_t bytes)
    : Assembler(target, bytes), code_(code), liveness_(code) {}

void Emitter::begin(StepRange straight_line) {
  straight_line_ = straight_line;
  step_ = straight_line.begin;
  state_ = {};
  exits_.clear();
  asides_.clear();
  bounds.clear();
}

void Emitter::begin_pass(uint32_t pass) {
  pass_ = pass;
  state_ = {};
  if (pass == 0) joined_.clear();
}

void Emitter::end_pass(uint32_t next_step) {
  store_live(state_, next_step);
  if (pass_ + 1 != kPasses) return;
  state_ = {};
  for (const auto& [home, bits] : joined_) {
    mov(dword[registers + static_cast<int>(home)], bits);
  }
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
  // Asides may add asides and exits; exits add nothing. An aside owns labels to which later ones
  // jump, so all are kept until begin().
  for (size_t i = 0; i < asides_.size(); ++i) {
    const std::function<void()> write = asides_[i];
    write();
  }
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
  mov(rax, ptr[rsi + static_cast<int>(offsetof(JitFrame, rows))]);
  mov(ptr[rsp + kRowsAt], rax);
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
  write_constants();
}

bool Emitter::dead(uint32_t home, uint32_t step) const {
  return liveness_.is_dead_after(home, step, straight_line_);
}

Masks Emitter::masks_of(uint32_t index) const {
  constexpr uint32_t kFirstMask = 9;
  if (!is_avx512()) return {{vector(kFirstMask + index)}, 1};
  return {{Xbyak::Opmask(static_cast<int>(1 + 2 * index)),
           Xbyak::Opmask(static_cast<int>(2 + 2 * index))},
          2};
}

void Emitter::clean(Held& held, uint32_t index) {
  if (!held.any_nan) return;
  flag_floats(vector(index), vector(index), kUnordered);
  take_flagged(vector(index), kCanonicalNan);
  held.any_nan = false;
}

void Emitter::store(Held& held, uint32_t index) {
  clean(held, index);
  Assembler::store(in_frame(held.at), vector(index));
  held.dirty = false;
}

void Emitter::store(HeldMasks& held, uint32_t index, bool at_end) {
  const Masks masks = masks_of(index);
  held.dirty = false;
  if (!is_avx512()) return store_bits(held.home, masks.at[0], at_end);
  // Stored as one word, because branches read all 32 bits soon after.
  kunpckwd(k7, Xbyak::Opmask(masks.at[1].getIdx()), Xbyak::Opmask(masks.at[0].getIdx()));
  kmovd(dword[registers + static_cast<int>(held.home)], k7);
}

/// Stores the lanes of one pass. At its end they are put together with those of the others, so that
/// the predicate is stored as one word.
void Emitter::store_bits(uint32_t home, const Mask& mask, bool at_end) {
  const Xbyak::Ymm lanes(mask.getIdx());
  const std::array free{r8d, r9d, r10d, r11d, esi, edi};
  if (at_end && pass_ == 0 && joined_.size() < free.size()) {
    joined_.emplace(home, free[joined_.size()]);
  }
  const auto found = joined_.find(home);
  if (!at_end || found == joined_.end()) {
    vmovmskps(eax, lanes);
    mov(byte[registers + static_cast<int>(home + pass_)], al);
  } else if (pass_ == 0) {
    vmovmskps(found->second, lanes);
  } else {
    vmovmskps(eax, lanes);
    shl(eax, static_cast<int>(pass_ * kPassLanes));
    or_(found->second, eax);
  }
}

void Emitter::store_live(State& state, uint32_t step) {
  for (uint32_t i = 0; i < held_vectors(); ++i) {
    Held& held = state.vectors[i];
    if (held.home != kNone && held.dirty && (step == 0 || !dead(held.home, step - 1))) {
      store(held, i);
    }
  }
  for (uint32_t i = 0; i < kHeldMasks; ++i) {
    HeldMasks& held = state.masks[i];
    if (held.home != kNone && held.dirty && (step == 0 || !dead(held.home, step - 1))) {
      store(held, i, true);
    }
  }
}

template <typename Any>
uint32_t Emitter::choose(const Any& held, uint32_t count) const {
  uint32_t best = kNone, furthest = 0;
  for (uint32_t i = 0; i < count; ++i) {
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
  const uint32_t index = choose(state_.vectors, held_vectors());
  Held& given_up = state_.vectors[index];
  if (given_up.dirty) store(given_up, index);
  given_up = {};
  return index;
}

uint32_t Emitter::load(uint32_t at, uint32_t home) {
  for (uint32_t i = 0; i < held_vectors(); ++i) {
    if (state_.vectors[i].at == at) return i;
  }
  const uint32_t index = take_vector();
  copy(vector(index), in_frame(at));
  state_.vectors[index] = {.at = at, .home = home};
  return index;
}

uint32_t Emitter::count_of(RegisterClass slot) const {
  return (is_avx512() ? 2 : 1) * (slot == RegisterClass::Wide ? 2 : 1);
}

uint32_t Emitter::place_of(uint32_t offset, RegisterClass slot, uint32_t index) const {
  const uint32_t before = is_avx512() ? 0 : pass_ * count_of(slot);
  return offset + (before + index) * vector_bytes();
}

Vectors Emitter::read(uint32_t offset, RegisterClass slot, Nan nan) {
  Vectors vectors(count_of(slot));
  for (uint32_t i = 0; i < vectors.count; ++i) {
    const uint32_t index = load(place_of(offset, slot, i), offset);
    state_.vectors[index].locked = true;
    if (nan == Nan::Exact) clean(state_.vectors[index], index);
    vectors.at[i] = vector(index);
  }
  return vectors;
}

Vectors Emitter::write(uint32_t offset, RegisterClass slot, Nan nan) {
  Vectors vectors(count_of(slot));
  for (uint32_t i = 0; i < vectors.count; ++i) {
    const uint32_t at = place_of(offset, slot, i);
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
    vectors.at[i] = vector(index);
  }
  return vectors;
}

uint32_t Emitter::take_masks() {
  const uint32_t index = choose(state_.masks, kHeldMasks);
  HeldMasks& given_up = state_.masks[index];
  if (given_up.dirty) store(given_up, index, false);
  given_up = {};
  return index;
}

/// Returns the bit of each lane of the pass.
std::array<uint32_t, 16> Emitter::bits_of_lanes() const {
  std::array<uint32_t, 16> bits{};
  for (uint32_t i = 0; i < kPassLanes; ++i) bits[i] = uint32_t{1} << (pass_ * kPassLanes + i);
  return bits;
}

void Emitter::load_masks(const Masks& masks, uint32_t offset) {
  if (!is_avx512()) {
    const Xbyak::Ymm lanes(masks.at[0].getIdx());
    vpbroadcastd(lanes, in_frame(offset));
    vpand(lanes, lanes, constant(bits_of_lanes()));
    return vpcmpeqd(lanes, lanes, constant(bits_of_lanes()));
  }
  for (uint32_t half = 0; half < masks.count; ++half) {
    kmovw(Xbyak::Opmask(masks.at[half].getIdx()),
          word[registers + static_cast<int>(offset + half * sizeof(uint16_t))]);
  }
}

Masks Emitter::read_masks(uint32_t offset) {
  uint32_t index = 0;
  while (index < kHeldMasks && state_.masks[index].home != offset) ++index;
  if (index == kHeldMasks) {
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

void Emitter::keep(uint32_t offset) {
  for (uint32_t i = 0; i < held_vectors(); ++i) {
    if (state_.vectors[i].home == offset && state_.vectors[i].dirty) store(state_.vectors[i], i);
  }
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
  for (uint32_t i = 0; i < held_vectors(); ++i) {
    if (state.vectors[i].home != kNone) copy(vector(i), in_frame(state.vectors[i].at));
  }
  for (uint32_t i = 0; i < kHeldMasks; ++i) {
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

}  // namespace gpuemu::emulator
