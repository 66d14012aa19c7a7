// Emits the machine code of one function, piece by piece. Tracks where values are: in the frame, or
// in vector registers until they are needed elsewhere. The instructions themselves are in
// operations.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

// Xbyak reports errors as exceptions, which compile_code() catches.
#include <xbyak/xbyak.h>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/jit/liveness.h"

namespace gpuemu::emulator {

/// The vectors that hold one register for all lanes, lowest lanes first: two vectors of 32-bit
/// values, or four of 64-bit ones.
struct Vectors {
  Vectors() : at() {}
  std::array<Xbyak::Zmm, 4> at;
  uint32_t count = 0;
};
/// The two masks of a predicate: lanes 0 to 15 and 16 to 31.
struct Masks {
  std::array<Xbyak::Opmask, 2> at;
};
/// Whether the NaNs of an f32 value are the GPU's (Exact) or any NaN (Any). Any ones are replaced
/// by the GPU's when the value leaves the registers; float operations give the same results with
/// any NaN.
enum class Nan : uint8_t { Exact, Any };

inline constexpr uint32_t kVectorBytes = 64;
inline constexpr uint8_t kUnordered =
    3;  ///< Predicate of vcmpps and vcmppd: at least one operand is NaN.

class Emitter : public Xbyak::CodeGenerator {
 public:
  /// Reserves `bytes` bytes for the code.
  Emitter(const Code& code, size_t bytes);

  /// Begins a piece: a straight line with the branch after it, if any, or one step with a guard.
  /// Other code enters the piece by jumping to its label.
  void begin(StepRange straight_line);
  /// Called before and after each step of the piece, in order.
  void begin_step(uint32_t step);
  void end_step();
  /// After the last step: stores live values into the frame.
  void end_steps();
  /// Continues at step `next`, or leaves the code if nothing is compiled there. `last` is the step
  /// before it.
  void go_on(uint32_t next, uint32_t last);
  /// Returns an out-of-line label at which the code is left.
  Xbyak::Label& out_at(uint32_t next, uint32_t last);
  /// Returns the label of the piece that begins at `step`.
  Xbyak::Label& piece(uint32_t step) { return pieces_[step]; }
  /// Emits the out-of-line code. Called after all code that continues or leaves.
  void end();
  /// Emits a function that a warp can call to enter at a piece. Returns the offset of its first
  /// byte.
  size_t entry(uint32_t step);
  /// Emits the exit and the constants. Called last.
  void finish();

  const Code& code() const { return code_; }
  uint32_t step() const { return step_; }
  StepRange straight_line() const { return straight_line_; }

  /// Returns the value at an offset of the frame. The vectors stay valid until the step ends.
  Vectors read(uint32_t offset, RegisterClass slot, Nan nan = Nan::Exact);
  /// Returns vectors for the step's result, different from those of its operands.
  Vectors write(uint32_t offset, RegisterClass slot, Nan nan = Nan::Exact);
  Masks read_masks(uint32_t offset);
  Masks write_masks(uint32_t offset);
  /// Calls the step's handler. `may_end`: the call may end the compiled code, so that handlers
  /// continue.
  void call(const Step& step, bool may_end);
  using CodeGenerator::call;

  /// Vectors, and a mask (k7; k0 means no mask), for use within one step.
  static constexpr uint32_t kScratch = 4;
  Xbyak::Zmm scratch(uint32_t index) const {
    return Xbyak::Zmm(static_cast<int>(kVectors + index));
  }
  /// Returns the address of a vector of constants. Equal vectors are stored once.
  Xbyak::Address constant(const std::array<uint32_t, 16>& words);
  /// Returns an operand that broadcasts one value to all lanes.
  Xbyak::Address splat(uint32_t value);
  Xbyak::Address splat64(uint64_t value);

  /// Returns a broadcast of `value` that is used once.
  Xbyak::Address single(uint32_t value);

  /// A bounds check that a straight line has made (accesses.cc), and where on the stack it stored
  /// the result.
  struct CheckedBounds {
    uint32_t base = 0;   ///< Offset of the address register.
    uint32_t bytes = 0;  ///< Per lane.
    bool is_store = false, is_shared = false;
    uint32_t until = 0;         ///< The last step for which it is valid.
    int64_t low = 0, high = 0;  ///< Range of instruction offsets that it covers.
    uint32_t at = 0;            ///< Position on the stack.
  };
  std::vector<CheckedBounds> bounds;
  static constexpr uint32_t kStackBytes = 520, kLooksBytes = 480;
  /// Above them: the distance from shared memory to its definedness marks, and JitFrame's members
  /// for race detection.
  static constexpr int kDefinedAt = 480, kRacesAt = 488, kLaneEventAt = 496, kWarpTagAt = 504;
  /// Returns a label at which the straight line ends before the current step; handlers execute the
  /// rest of it.
  Xbyak::Label& leave_here();
  /// Returns a label at which the current step's handler runs instead of its code, and then the
  /// code after `done`. Call it when the step's results have vectors but these are still unchanged.
  /// No result may be an operand.
  Xbyak::Label& by_handler(const std::shared_ptr<Xbyak::Label>& done);
  using Routine = void (*)(Emitter&);
  /// Returns the label of a shared routine, which `writes` emits once per function after all other
  /// code.
  Xbyak::Label& routine(Routine writes) { return routines_[writes]; }
  /// Adds out-of-line code for the straight line, for the rare cases. `write` emits it at the end.
  void aside(std::function<void()> write) { asides_.push_back(std::move(write)); }

  // The members of JitFrame, in callee-saved registers.
  const Xbyak::Reg64 warp = rbx, progress = rbp, registers = r12, cache = r13, shared = r14,
                     shared_bytes = r15;

 private:
  static constexpr uint32_t kVectors = 28, kMaskPairs = 3;
  struct Held {
    uint32_t at = kNone;       ///< Offset of its 64 bytes in the frame.
    uint32_t home = kNone;     ///< Offset of the register that it holds; kNone: it is free.
    bool dirty = false;        ///< Not yet stored to the frame.
    bool any_nan = false;      ///< May hold NaNs other than the GPU's.
    bool locked = false;       ///< In use until the step ends.
    uint32_t written = kNone;  ///< The step that produced it.
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
  /// Selects a vector that is not locked: a free one, else the one whose register is used last.
  template <typename Any>
  uint32_t choose(const Any& held) const;
  uint32_t take_vector();
  uint32_t take_masks();
  uint32_t load(uint32_t at, uint32_t home);
  void clean(Held& held, uint32_t index);
  void store(Held& held, uint32_t index);
  void store(HeldMasks& held, uint32_t index);
  /// Stores to the frame what steps from `step` on may read.
  void store_live(State& state, uint32_t step);
  void load_all(const State& state);
  void load_masks(const Masks& masks, uint32_t offset);
  /// Calls run_handler() for a step, and leaves the straight line after it if the warp must stop.
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
  Xbyak::Label out_;  ///< The common exit.
  std::map<uint32_t, Xbyak::Label> pieces_;
  std::map<Routine, Xbyak::Label> routines_;
  std::map<std::array<uint32_t, 16>, Xbyak::Label> constants_;  ///< Whole vectors.
  std::map<uint64_t, Xbyak::Label> splats_;
};

}  // namespace gpuemu::emulator
