// Tracks undefined values from where they arise to where they matter. Copying such a value is no
// fault: compiled code reads ahead, copies padding and computes values that it discards. Using it
// as an address, as a branch condition or as an output is a fault.
//
// Nothing is tracked until a load reads uninitialised memory, or a function begins whose registers
// may be used before they are written. From then on the warp runs one instruction at a time
// (Warp::run_observed) until no register is undefined. A register is undefined in a lane as a whole
// or not at all, and in doubt counts as defined. For values selected by an undefined condition, the
// undefined bits are known (undefined_bits.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device/device_finding.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/memory/undefined_bits.h"

namespace gpuemu::emulator {

class Warp;
struct Frame;

/// For the registers of one frame: the lanes in which each is undefined, and why.
struct UndefinedRegisters {
  std::vector<uint32_t> lanes;     ///< Per register; empty if none is undefined.
  std::vector<uint32_t> origin;    ///< Index into Definedness::origins.
  std::vector<uint64_t> bits;      ///< Mask of the undefined bits in any lane; 0: unknown.
  std::vector<uint32_t> computed;  ///< Lanes whose value was computed, not just loaded from
                                   ///< undefined memory.

  /// Makes all `count` registers defined.
  void assign(size_t count);

  /// Copies the state of lanes `taken` from another frame of the same function.
  void take_lanes(const UndefinedRegisters& from, uint32_t taken);
};

/// Why a value is undefined, for the finding that is reported when it is used.
struct Cause {
  DeviceFindingKind kind = DeviceFindingKind::Uninitialized;
  std::string what;
  std::string tensor = {};
  int64_t byte_offset = 0;
  uint32_t source = 0;    ///< The UndefinedStore that computed it; 0: none.
  bool is_moved = false;  ///< The value was loaded unchanged from uninitialised memory.
};

/// The effect of an atomic operation on undefined memory, if that is tracked until the host reads
/// it.
struct UndefinedUpdate {
  uint32_t lanes = 0;                  ///< Lanes whose memory stays undefined.
  std::array<uint32_t, 32> sources{};  ///< The UndefinedStore of each lane.
};

class Definedness {
 public:
  /// Marks the registers of a new frame that may be used before they are written as undefined.
  static void enter(Warp& warp, Frame& frame);
  /// Records that the instruction gives register `reg` an undefined value in `lanes`.
  void note(Warp& warp, const Step& step, uint32_t reg, uint32_t lanes, const Cause& cause);
  /// Records the same for element `element` of a load.
  void note_element(Warp& warp, const Step& step, uint32_t element, uint32_t lanes,
                    const Cause& cause);
  /// Called before the first step of a PTX instruction, which masks.running of the masks.active
  /// lanes execute.
  void before(Warp& warp, const Step& step);
  /// Called after a step.
  void after(Warp& warp, const Step& step);
  /// Handles the instructions that ran since the first note, up to warp.step. Call it before the
  /// lanes or the position of the warp change.
  void catch_up(Warp& warp);
  /// Handles a shuffle; lane i gets its value from lane from[i].
  void shuffled(Warp& warp, const Step& step, const std::array<uint32_t, kLanes>& from);
  void clear();
  /// Handles an atomic operation of `lanes` on undefined memory described by `cause`, whose result
  /// is computed from it.
  void updated(Warp& warp, const Step& step, uint32_t lanes, const Cause& cause);
  /// Applies `update` to the memory of the atomic operation that has just been executed.
  void keep_update(Warp& warp, ptx::Space space, const uint64_t* address, uint32_t bytes);
  /// Returns whether a register of the current function may be undefined, so that stores of
  /// matrices must call keep_cell() for each cell.
  static bool follows_cells(Warp& warp);
  /// A cell of `bytes` bytes that a matrix store wrote from register `from` of lane `from_lane`.
  struct Cell {
    const ptx::Operand& from;
    uint32_t from_lane = 0;
    ptx::Space space = ptx::Space::Generic;
    uint64_t address = 0;
    uint32_t bytes = 0;
  };
  void keep_cell(Warp& warp, const Step& step, const Cell& cell);
  UndefinedUpdate update;         ///< Effect of the atomic operation in progress.
  uint32_t fragment_element = 0;  ///< The element that a wmma.load is loading.

 private:
  struct Origin {
    const Step* step = nullptr;
    const Code* code = nullptr;
    Cause cause;
  };
  struct Note {
    const Step* step = nullptr;
    uint32_t reg = 0, lanes = 0, origin = 0;
  };
  using Value = UndefinedValue;

  uint32_t origin_of(Warp& warp, const Step& step, const Cause& cause);
  Value value_of(const UndefinedRegisters& set, const ptx::Operand& operand) const;
  Value any_of(const UndefinedRegisters& set, const ptx::Instruction& in) const;
  Value all_of(const UndefinedRegisters& set, const ptx::Instruction& in) const;
  LogicOperand operand_of(Warp& warp, const UndefinedRegisters& set,
                          const ptx::Operand& operand) const;
  Value combined(Warp& warp, const UndefinedRegisters& set, const ptx::Instruction& in) const;
  Value of_lanes(Warp& warp, const UndefinedRegisters& set, const ptx::Instruction& in) const;
  Value selected(Warp& warp, const UndefinedRegisters& set, const ptx::Instruction& in) const;
  void assign(UndefinedRegisters& set, const ptx::Operand& to, Value value, uint32_t mask);
  void transfer(Warp& warp, UndefinedRegisters& set, const ptx::Instruction& in);
  void check_address(Warp& warp, const Step& step, UndefinedRegisters& set);
  void check_guard(Warp& warp, const Step& step, UndefinedRegisters& set);
  void stored(Warp& warp, const Step& step, const UndefinedRegisters& set);
  void report_stored(Warp& warp, const Step& step, const std::vector<Value>& parts);
  void keep_stored(Warp& warp, const Step& step, const std::vector<Value>& parts);
  void combined_in_memory(Warp& warp, const Step& step, const UndefinedRegisters& set);
  uint32_t number_of(Warp& warp, const Step& step, uint32_t origin, uint32_t lane);
  void use(Warp& warp, const Step& step, Value value, const std::string& how);

  std::vector<Origin> origins_;
  std::vector<Note> notes_;
};

}  // namespace gpuemu::emulator
