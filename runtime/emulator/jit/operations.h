// The instructions that can be compiled, by their handlers.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "runtime/emulator/jit/emitter.h"

namespace gpuemu::emulator {

/// Writes one step. It reads and writes its operands by the emitter before it uses scratch vectors
/// and k7, which those may need themselves.
using Emit = std::function<void(Emitter&, const Step&)>;

class Operations {
 public:
  /// Adds `emit` for the handler of this key; does nothing if the table has none.
  void add(const std::string& key, Emit emit);
  /// Adds `emit` for the form of it that takes RoundingOperands.
  void add_rounded(const std::string& key, Emit emit);
  /// Adds `emit` for a step that is not in the table.
  void add_step(Handler step, Emit emit) { by_handler_[step] = std::move(emit); }
  /// Null if the handler itself has to run.
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

/// A shuffle without a guard in one segment, of members that may be all lanes of the warp: it may
/// stand inside of a piece, though it ends what handlers do as one straight-line run.
bool is_whole_shuffle(const Code& code, const Step& step);

/// Built at the first call. Thread-safe.
const Operations& operations(Accesses accesses);

// --- What the units share ---

/// An instruction with two sources and a result in vectors.
using Ternary = void (Xbyak::CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Xmm&,
                                               const Xbyak::Operand&);
Emit lane_by_lane(RegisterClass slot, Ternary instruction);
/// Vector `index` of four of 64-bit values, from two of 32-bit ones, in `out`.
void widen(Emitter& e, const Xbyak::Zmm& out, const Vectors& narrow, uint32_t index,
           bool is_signed);
/// The value of a constant operand; false if it is not a constant.
bool constant_at(const Code& code, uint32_t offset, uint32_t& value);

}  // namespace gpuemu::emulator
