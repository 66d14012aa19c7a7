// Writes the machine code of one function, piece by piece. It tracks where values are: in the
// frame, or in vector registers until they are needed elsewhere. Operations (operations.h) know
// what instructions mean.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

// Errors come back as exceptions, which compile_code() catches.
#include <xbyak/xbyak.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/jit/liveness.h"

namespace gpuemu::emulator {

/// The vectors that hold one register of all lanes, the first lanes in the first: two of 32-bit
/// values, four of 64-bit ones.
struct Vectors {
  Vectors() : at() {}
  std::array<Xbyak::Zmm, 4> at;
  uint32_t count = 0;
};
/// The two masks of a predicate: lanes 0 to 15 and 16 to 31.
struct Masks {
  std::array<Xbyak::Opmask, 2> at;
};
/// How exact the NaNs of f32 results are. Any: the GPU's NaN is written when the value leaves the
/// registers; operations on floats give the same results with any NaN.
enum class Nan : uint8_t { Exact, Any };

inline constexpr uint32_t kVectorBytes = 64;
inline constexpr uint8_t kUnordered =
    3;  ///< Predicate of vcmpps and vcmppd: at least one is a NaN.

class Emitter : public Xbyak::CodeGenerator {
 public:
  /// Reserves `bytes` bytes for the code.
  Emitter(const Code& code, size_t bytes);

  /// The code of a piece: a straight-line run and perhaps the branch behind it, or one step with a
  /// guard. What runs before it jumps to its label, from wherever it is.
  void begin(StepRange straight_line);
  /// Before and after each step of it, in order.
  void begin_step(uint32_t step);
  void end_step();
  /// After the last step: stores live values into the frame.
  void end_steps();
  /// Continues at step `next`, or leaves the code if nothing is compiled there. `last` is the step
  /// before.
  void go_on(uint32_t next, uint32_t last);
  /// A label, off the main path, at which the code is left.
  Xbyak::Label& out_at(uint32_t next, uint32_t last);
  /// The label of a piece.
  Xbyak::Label& piece(uint32_t step) { return pieces_[step]; }
  /// After all code that continues or leaves.
  void end();
  /// Emits the function that a warp calls to begin at a piece; returns the offset of its first
  /// byte.
  size_t entry(uint32_t step);
  /// Emits the exit and the constants, after everything else.
  void finish();

  const Code& code() const { return code_; }
  uint32_t step() const { return step_; }
  StepRange straight_line() const { return straight_line_; }

  /// The value at an offset of the frame. What this returns stays where it is until the step ends.
  Vectors read(uint32_t offset, RegisterClass slot, Nan nan = Nan::Exact);
  /// The vectors for the step's result; never those of an operand.
  Vectors write(uint32_t offset, RegisterClass slot, Nan nan = Nan::Exact);
  Masks read_masks(uint32_t offset);
  Masks write_masks(uint32_t offset);
  /// Calls the step's handler. `may_end`: it may stop the compiled code, so that handlers continue.
  void call(const Step& step, bool may_end);
  using CodeGenerator::call;

  /// Vectors and a mask (k7; k0 holds one that guards nothing) for the inside of one step.
  static constexpr uint32_t kScratch = 4;
  Xbyak::Zmm scratch(uint32_t index) const {
    return Xbyak::Zmm(static_cast<int>(kVectors + index));
  }
  /// Address of a vector of constants; equal ones are stored once.
  Xbyak::Address constant(const std::array<uint32_t, 16>& words);
  /// One value for all lanes, as an operand that instructions spread.
  Xbyak::Address splat(uint32_t value);
  Xbyak::Address splat64(uint64_t value);

  /// A broadcast of `value` that is used once.
  Xbyak::Address single(uint32_t value);

  /// Addresses that a straight-line run has checked (accesses.cc), and where on its stack it put
  /// what it saw.
  struct CheckedBounds {
    uint32_t base = 0;   ///< Offset of the address register.
    uint32_t bytes = 0;  ///< Per lane.
    bool is_store = false, is_shared = false;
    uint32_t until = 0;         ///< The last step for which it holds.
    int64_t low = 0, high = 0;  ///< Offsets of instructions that it covers.
    uint32_t at = 0;            ///< On the stack.
  };
  std::vector<CheckedBounds> bounds;
  static constexpr uint32_t kStackBytes = 520, kLooksBytes = 480;
  /// Behind them: how far from shared memory its marks lie, and what JitFrame has for races.
  static constexpr int kDefinedAt = 480, kRacesAt = 488, kLaneEventAt = 496, kWarpTagAt = 504;
  /// A label at which the straight-line run ends before the current step: handlers do the rest of
  /// it.
  Xbyak::Label& leave_here();
  /// A label at which the current step's handler runs instead of its code, and then what is behind
  /// `done`. After the step's results have their vectors, before those are changed; no result may
  /// be an operand.
  Xbyak::Label& by_handler(const std::shared_ptr<Xbyak::Label>& done);
  using Routine = void (*)(Emitter&);
  /// Where the code lies that this writes, once for a function, behind all others.
  Xbyak::Label& routine(Routine writes) { return routines_[writes]; }
  /// What stands behind the straight-line run, off the way that nearly all take. `write` runs at
  /// its end.
  void aside(std::function<void()> write) { asides_.push_back(std::move(write)); }

  // What the code works on (JitFrame), in registers that calls keep.
  const Xbyak::Reg64 warp = rbx, progress = rbp, registers = r12, cache = r13, shared = r14,
                     shared_bytes = r15;

 private:
  static constexpr uint32_t kVectors = 28, kMaskPairs = 3;
  struct Held {
    uint32_t at = kNone;       ///< Offset of its 64 bytes in the frame.
    uint32_t home = kNone;     ///< Offset of the register it belongs to; kNone: it is free.
    bool dirty = false;        ///< Not yet stored in the frame.
    bool any_nan = false;      ///< Holds NaNs that are not the GPU's.
    bool locked = false;       ///< Until the step ends.
    uint32_t written = kNone;  ///< The step whose result it is.
  };
  struct HeldMasks {
    uint32_t home = kNone;
    bool dirty = false, locked = false;
  };
  struct State {
    std::array<Held, kVectors> vectors;
    std::array<HeldMasks, kMaskPairs> masks;
  };
  struct Exit {
    Xbyak::Label label;
    State state;
    uint32_t step = 0;
  };

  struct Out {
    std::unique_ptr<Xbyak::Label> label;
    uint32_t next = 0, last = 0;
  };

  Xbyak::Address in_frame(uint32_t offset) { return ptr[registers + static_cast<int>(offset)]; }
  /// Picks a vector that is not locked: a free one, or else the one whose register is used last.
  template <typename Any>
  uint32_t choose(const Any& held) const;
  uint32_t take_vector();
  uint32_t take_masks();
  uint32_t load(uint32_t at, uint32_t home);
  void clean(Held& held, uint32_t index);
  void store(Held& held, uint32_t index);
  void store(HeldMasks& held, uint32_t index);
  /// Stores into the frame what steps from `step` on may read.
  void store_live(State& state, uint32_t step);
  void load_all(const State& state);
  void load_masks(const Masks& masks, uint32_t offset);
  /// Calls run_handler() for a step; out of the straight-line run behind it where the warp is to
  /// stop.
  void call_handler(uint32_t step);
  bool dead(uint32_t home, uint32_t step) const;
  Masks masks_of(uint32_t index) const;
  void leave(uint32_t next, uint32_t last, const Step* by_handlers);
  Xbyak::Label& label_of(uint64_t value) { return splats_[value]; }

  const Code& code_;
  Liveness liveness_;
  StepRange straight_line_;
  uint32_t step_ = 0;
  State state_;
  std::vector<std::unique_ptr<Exit>> exits_;
  std::vector<Out> outs_;
  std::vector<std::function<void()>> asides_;
  Xbyak::Label out_;  ///< Where all of the code returns.
  std::map<uint32_t, Xbyak::Label> pieces_;
  std::map<Routine, Xbyak::Label> routines_;
  std::map<std::array<uint32_t, 16>, Xbyak::Label> constants_;  ///< Whole vectors.
  std::map<uint64_t, Xbyak::Label> splats_;
};

}  // namespace gpuemu::emulator
