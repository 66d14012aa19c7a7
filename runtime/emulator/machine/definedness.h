// Follows values that nothing wrote from where they come to where they matter. Reading such a value
// is no fault: compiled code reads ahead, copies padding and keeps what it throws away later. Using
// it as an address, to decide a branch or as an output is.
//
// Nothing is followed until a load finds memory that nothing wrote, or a function begins whose
// registers may be used before they are written. From then on the warp runs one instruction at a
// time (Warp::run_watched) until no register is concerned. A register is undefined in a lane as a
// whole or not at all, and in doubt it is defined; of what an undefined condition picked it is
// known which bits are (undefined_bits.h).
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

/// The registers of one frame: which lanes hold nothing that was written, and where that is from.
struct UndefinedRegisters {
  std::vector<uint32_t> lanes;   ///< Per register; empty: none is.
  std::vector<uint32_t> origin;  ///< Index into Definedness::origins.
  std::vector<uint64_t> bits;    ///< No others are undefined in any lane; 0: that is not known.

  /// Lanes of another frame of the same function come into this one.
  void take_lanes(const UndefinedRegisters& from, uint32_t taken);
};

/// Why a value means nothing, for the finding that follows when it is used.
struct Cause {
  DeviceFindingKind kind = DeviceFindingKind::Uninitialized;
  std::string what;
  std::string tensor = {};
  int64_t byte_offset = 0;
};

class Definedness {
 public:
  /// A new frame of `code`: registers that may be used before they are written are undefined.
  static void enter(Warp& warp, Frame& frame);
  /// The instruction gives register `reg` a value that means nothing in `lanes`.
  void note(Warp& warp, const Ins& ins, uint32_t reg, uint32_t lanes, const Cause& cause);
  /// The same for element `element` of a load.
  void note_element(Warp& warp, const Ins& ins, uint32_t element, uint32_t lanes,
                    const Cause& cause);
  /// Before the first step of a PTX instruction, for warp.mask of the warp.active lanes.
  void before(Warp& warp, const Ins& ins);
  /// After a step.
  void after(Warp& warp, const Ins& ins);
  /// Instructions that ran since the first note, the last of them warp.ins. Before the lanes or the
  /// place of the warp change.
  void catch_up(Warp& warp);
  /// A shuffle: each lane has its value from lane `from`.
  void shuffled(Warp& warp, const Ins& ins, const std::array<uint32_t, kLanes>& from);
  void clear();

 private:
  struct Origin {
    const Ins* ins = nullptr;
    const Code* code = nullptr;
    Cause cause;
  };
  struct Note {
    const Ins* ins = nullptr;
    uint32_t reg = 0, lanes = 0, origin = 0;
  };
  using Value = UndefinedValue;

  uint32_t origin_of(Warp& warp, const Ins& ins, const Cause& cause);
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
  void check_address(Warp& warp, const Ins& ins, UndefinedRegisters& set);
  void check_guard(Warp& warp, const Ins& ins, UndefinedRegisters& set);
  void stored(Warp& warp, const Ins& ins, const UndefinedRegisters& set);
  void use(Warp& warp, const Ins& ins, Value value, const std::string& how);

  std::vector<Origin> origins_;
  std::vector<Note> notes_;
};

}  // namespace gpuemu::emulator
