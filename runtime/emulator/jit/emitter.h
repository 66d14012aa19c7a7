// Emits the machine code of one function, piece by piece. Tracks where values are: in the frame, or
// in vector registers until they are needed elsewhere. The instructions themselves are in
// operations.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/jit/assembler.h"
#include "runtime/emulator/jit/liveness.h"

namespace gpuemu::emulator {

/// The vectors that hold one register for the lanes of a pass, lowest lanes first. With AVX-512 one
/// pass has all lanes: two vectors of 32-bit values, or four of 64-bit ones. With AVX2 each of four
/// passes has eight: one vector, or two.
struct Vectors {
  Vectors() : at() {}
  explicit Vectors(uint32_t how_many) : at(), count(how_many) {}
  std::array<Vector, 4> at;
  uint32_t count = 0;
};
inline Xbyak::Zmm zmm(const Vector& vector) { return Xbyak::Zmm(vector.getIdx()); }
/// The masks of a predicate, one for each vector of 32-bit values.
struct Masks {
  std::array<Mask, 2> at;
  uint32_t count = 0;
};
/// Whether the NaNs of an f32 value are the GPU's (Exact) or any NaN (Any). Any ones are replaced
/// by the GPU's when the value leaves the registers; float operations give the same results with
/// any NaN.
enum class Nan : uint8_t { Exact, Any };

inline constexpr uint32_t kVectorBytes = 64;        ///< Size of a vector of AVX-512.
inline constexpr uint32_t kHalfLanes = kLanes / 2;  ///< The 32-bit values in one.
/// Size of a vector of AVX2, which is a part of a register's row in the frame.
inline constexpr uint32_t kPartBytes = 32;
inline constexpr uint32_t kElementsMax = 4;  ///< Elements of one access: ld.v4.

class Emitter : public Assembler {
 public:
  /// Reserves `bytes` bytes for the code.
  Emitter(const Code& code, Target target, size_t bytes);

  /// Begins a piece: a straight line with the branch after it, if any, or one step with a guard.
  /// Other code enters the piece by jumping to its label.
  void begin(StepRange straight_line);
  /// AVX2: called around steps that are done lane by lane, once for each pass. Values stay in
  /// vectors from one of them to the next; other steps find all of them in the frame.
  static constexpr uint32_t kPasses = 4;
  void begin_pass(uint32_t pass);
  void end_pass(uint32_t next_step);
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
  /// Stores a register's value into the frame, so that by_handler() may be used for a step that
  /// overwrites one of its operands.
  void keep(uint32_t offset);
  /// Calls the step's handler. `may_end`: the call may end the compiled code, so that handlers
  /// continue.
  void call(const Step& step, bool may_end);
  using CodeGenerator::call;

  Xbyak::Address in_frame(uint32_t offset) { return ptr[registers + static_cast<int>(offset)]; }

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
  static constexpr uint32_t kStackBytes = 680, kLooksBytes = 640;
  /// Above them: the distance from shared memory to its definedness marks, and JitFrame's members
  /// for race detection.
  static constexpr int kDefinedAt = 640, kRacesAt = 648, kLaneEventAt = 656, kWarpTagAt = 664,
                       kRowsAt = 672;
  /// Returns a label at which the straight line ends before the current step; handlers execute the
  /// rest of it.
  Xbyak::Label& leave_here();
  /// Returns a label at which the current step's handler runs instead of its code, and then the
  /// code after `done`. Call it when the step's results have vectors but these are still unchanged.
  /// No result may be an operand, unless keep() was called for it.
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
  static constexpr uint32_t kVectors = 28, kAvx2Vectors = 9, kHeldMasks = 3, kPassLanes = 8;
  struct Held {
    uint32_t at = kNone;       ///< Its place in the frame.
    uint32_t home = kNone;     ///< The place of the whole register there; kNone: it is free.
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
    std::array<HeldMasks, kHeldMasks> masks;
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

  uint32_t held_vectors() const { return is_avx512() ? kVectors : kAvx2Vectors; }
  /// Returns how many vectors a register has in a pass, and the offset of one of them in the frame.
  uint32_t count_of(RegisterClass slot) const;
  uint32_t place_of(uint32_t offset, RegisterClass slot, uint32_t index) const;
  /// Selects a vector that is not locked: a free one, else the one whose register is used last.
  template <typename Any>
  uint32_t choose(const Any& held, uint32_t count) const;
  uint32_t take_vector();
  uint32_t take_masks();
  uint32_t load(uint32_t at, uint32_t home);
  void clean(Held& held, uint32_t index);
  void store(Held& held, uint32_t index);
  void store(HeldMasks& held, uint32_t index, bool at_end);
  /// Stores to the frame what steps from `step` on may read.
  void store_live(State& state, uint32_t step);
  void load_all(const State& state);
  void load_masks(const Masks& masks, uint32_t offset);
  void store_bits(uint32_t home, const Mask& mask, bool at_end);
  std::array<uint32_t, 16> bits_of_lanes() const;
  /// Calls run_handler() for a step, and leaves the straight line after it if the warp must stop.
  void call_handler(uint32_t step);
  bool dead(uint32_t home, uint32_t step) const;
  Masks masks_of(uint32_t index) const;
  void leave(uint32_t next, uint32_t last, const Step* by_handlers);

  const Code& code_;
  Liveness liveness_;
  StepRange straight_line_;
  uint32_t step_ = 0;
  uint32_t pass_ = 0;
  State state_;
  /// AVX2: the predicates whose bits of several passes are put together, and where.
  std::map<uint32_t, Xbyak::Reg32> joined_;
  std::vector<std::unique_ptr<Exit>> exits_;
  std::vector<Out> outs_;
  std::vector<std::function<void()>> asides_;
  Xbyak::Label out_;  ///< The common exit.
  std::map<uint32_t, Xbyak::Label> pieces_;
  std::map<Routine, Xbyak::Label> routines_;
};

}  // namespace gpuemu::emulator
