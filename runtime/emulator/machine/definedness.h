// Tracks undefined values from where they arise to where they matter. Reading such a value is not a
// fault: compiled code reads ahead, copies padding and keeps values that it discards later. Using
// it as an address, to decide a branch or as an output is a fault.
//
// Nothing is tracked until a load finds memory that nothing wrote, or a function begins whose
// registers may be used before they are written. From then on the warp runs one instruction at a
// time (Warp::run_observed) until no register is undefined. A register is undefined in a lane as a
// whole or not at all, and in doubt it is defined; for values that an undefined condition selected,
// the undefined bits are known (undefined_bits.h).
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

/// The registers of one frame: the lanes in which they are undefined, and why.
struct UndefinedRegisters {
  std::vector<uint32_t> lanes;     ///< Per register; empty if none is undefined.
  std::vector<uint32_t> origin;    ///< Index into Definedness::origins.
  std::vector<uint64_t> bits;      ///< Only these bits are undefined in any lane; 0: not known.
  std::vector<uint32_t> computed;  ///< Lanes whose value is not just what undefined memory held.

  /// Makes all `count` registers defined.
  void assign(size_t count);

  /// Takes over `taken` lanes from another frame of the same function.
  void take_lanes(const UndefinedRegisters& from, uint32_t taken);
};

/// Why a value is undefined, for the finding that is reported when it is used.
struct Cause {
  DeviceFindingKind kind = DeviceFindingKind::Uninitialized;
  std::string what;
  std::string tensor = {};
  int64_t byte_offset = 0;
  uint32_t source = 0;    ///< The UndefinedStore that computed it; 0: none did.
  bool is_moved = false;  ///< The value is what memory had that nothing wrote.
};

/// What an atomic operation does to undefined memory, where that matters when the host gets it.
struct UndefinedUpdate {
  uint32_t lanes = 0;                  ///< Lanes whose memory stays undefined.
  std::array<uint32_t, 32> sources{};  ///< Per lane, its UndefinedStore.
};

class Definedness {
 public:
  /// Marks registers that may be used before they are written as undefined in a new frame.
  static void enter(Warp& warp, Frame& frame);
  /// Notes that the instruction gives register `reg` an undefined value in `lanes`.
  void note(Warp& warp, const Step& step, uint32_t reg, uint32_t lanes, const Cause& cause);
  /// Notes the same for element `element` of a load.
  void note_element(Warp& warp, const Step& step, uint32_t element, uint32_t lanes,
                    const Cause& cause);
  /// Called before the first step of a PTX instruction, which masks.running of the masks.active
  /// lanes execute.
  void before(Warp& warp, const Step& step);
  /// After a step.
  void after(Warp& warp, const Step& step);
  /// Handles instructions that ran since the first note, the last of them warp.step. Call it before
  /// the lanes or the place of the warp change.
  void catch_up(Warp& warp);
  /// Handles a shuffle in which each lane gets its value from lane `from`.
  void shuffled(Warp& warp, const Step& step, const std::array<uint32_t, kLanes>& from);
  void clear();
  /// Handles an atomic operation of `lanes` on memory that `cause` says is undefined; what it makes
  /// is computed from that.
  void updated(Warp& warp, const Step& step, uint32_t lanes, const Cause& cause);
  /// Marks what `update` says of the operation that has just been executed at these addresses.
  void keep_update(Warp& warp, ptx::Space space, const uint64_t* address, uint32_t bytes);
  /// Whether a register of the current function may be undefined and stores of matrices have to
  /// tell which of their cells are: then keep_cell().
  static bool follows_cells(Warp& warp);
  /// A store has written a cell of `bytes` bytes from the register `from` of `from_lane`.
  struct Cell {
    const ptx::Operand& from;
    uint32_t from_lane = 0;
    ptx::Space space = ptx::Space::Generic;
    uint64_t address = 0;
    uint32_t bytes = 0;
  };
  void keep_cell(Warp& warp, const Step& step, const Cell& cell);
  UndefinedUpdate update;         ///< What the atomic operation in progress does.
  uint32_t fragment_element = 0;  ///< Which one a wmma.load is loading.

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
