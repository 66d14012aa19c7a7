// The table of instructions that can be compiled, by their handlers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/emulator/jit/emitter.h"

namespace gpuemu::emulator {

/// Emits one step. Must get its operands from the emitter before it uses scratch vectors and
/// flag(), because the emitter may use them too.
using Emit = std::function<void(Emitter&, const Step&)>;

/// Returns whether a step of the kind can be compiled.
using Suits = bool (*)(const Code& code, const Step& step);

struct Operation {
  Emit emit;
  Suits suits = nullptr;  ///< Null: all steps.
  /// Computes each lane of the result from the same lane of the operands alone.
  bool is_lane_by_lane = true;
};

class Operations {
 public:
  explicit Operations(Target target) : target_(target) {}

  Target target() const { return target_; }
  /// Adds an operation lane by lane for the handler of this key; does nothing if the table has
  /// none.
  void add(const std::string& key, Emit emit, Suits suits = nullptr);
  /// Adds `emit` for the form of the instruction that takes RoundingOperands.
  void add_rounded(const std::string& key, Emit emit);
  /// Adds an operation of the whole warp, for a handler of the table or another step.
  void add_whole(const std::string& key, Emit emit, Suits suits = nullptr);
  void add_step(Handler step, Emit emit, Suits suits = nullptr);
  /// Returns null if the step's handler must run.
  const Operation* find(const Code& code, const Step& step) const;

 private:
  Target target_;
  std::unordered_map<Handler, Operation> by_handler_;
};

void add_integers(Operations& operations);
void add_comparisons(Operations& operations);
void add_floats(Operations& operations);
void add_doubles(Operations& operations);
void add_halves(Operations& operations);
void add_accesses(Operations& operations, Accesses accesses);
void add_exchanges(Operations& operations, Accesses accesses);

/// Returns whether the step is an unguarded shuffle in one segment whose members may be all lanes.
/// Such a step may be inside a piece, although it ends a straight line of the handlers.
bool is_whole_shuffle(const Code& code, const Step& step);

/// Built at the first call. Thread-safe.
const Operations& operations(Target target, Accesses accesses);

// --- Used by the units of operations ---

/// An instruction with two vector sources and a vector result.
using Ternary = void (Assembler::*)(const Vector&, const Vector&, const Xbyak::Operand&);
Emit lane_by_lane(RegisterClass slot, Ternary instruction);
/// Computes vector `index` of those of 64-bit values, from those of 32-bit ones, in `out`.
void widen(Emitter& e, const Vector& out, const Vectors& narrow, uint32_t index, bool is_signed);
/// Returns the value of the operand, if it is a constant or a register that always holds one.
std::optional<uint32_t> constant_at(const Code& code, uint32_t offset);

}  // namespace gpuemu::emulator
