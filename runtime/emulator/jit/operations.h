// The table of instructions that can be compiled, by their handlers.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "runtime/emulator/jit/emitter.h"

namespace gpuemu::emulator {

/// Emits one step. Must get its operands from the emitter before it uses scratch vectors and k7,
/// because the emitter may use them too.
using Emit = std::function<void(Emitter&, const Step&)>;

class Operations {
 public:
  /// Adds `emit` for the handler of this key; does nothing if the table has none.
  void add(const std::string& key, Emit emit);
  /// Adds `emit` for the form of the instruction that takes RoundingOperands.
  void add_rounded(const std::string& key, Emit emit);
  /// Adds `emit` for a step that is not in the table.
  void add_step(Handler step, Emit emit) { by_handler_[step] = std::move(emit); }
  /// Returns null if the step's handler must run.
  const Emit* find(Handler handler) const;

 private:
  std::unordered_map<Handler, Emit> by_handler_;
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
const Operations& operations(Accesses accesses);

// --- Used by the units of operations ---

/// An instruction with two vector sources and a vector result.
using Ternary = void (Xbyak::CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Xmm&,
                                               const Xbyak::Operand&);
Emit lane_by_lane(RegisterClass slot, Ternary instruction);
/// Computes vector `index` of four vectors of 64-bit values, from two of 32-bit ones, in `out`.
void widen(Emitter& e, const Xbyak::Zmm& out, const Vectors& narrow, uint32_t index,
           bool is_signed);
/// Gets the value of a constant operand. Returns false if it is not a constant.
bool constant_at(const Code& code, uint32_t offset, uint32_t& value);

}  // namespace gpuemu::emulator
