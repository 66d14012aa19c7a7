// The debugger interface: stops a launch between two instructions and inspects its state. Only the
// emulator offers it, to whoever sets EmulatorOptions::debugger.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/device.h"

namespace gpuemu {

inline constexpr uint32_t kDebugLanes = 32;  ///< Lanes of a warp.

struct DebugInstruction {
  std::string text;  ///< PTX
  std::string file;  ///< From .loc; "" without -lineinfo. The innermost line outside the CUDA
                     ///< toolkit.
  uint32_t line = 0, ptx_line = 0;
};
struct DebugFunction {
  std::string name;
  bool is_entry = false;
  std::vector<DebugInstruction> body;
};
/// A loaded module, as the emulator executes it.
struct DebugProgram {
  std::vector<DebugFunction> functions;
};

/// A position in a program: indices into a DebugProgram.
struct DebugPlace {
  uint32_t function = 0, instruction = 0;
  bool operator==(const DebugPlace&) const = default;
};

/// A register of one warp, in the function that the warp currently executes.
struct DebugRegister {
  std::string name;  ///< "%r17"
  std::string type;  ///< Type given by the instructions that use it: "f32", "s32", "pred"; "b32" if
                     ///< unknown.
  uint32_t bytes = 4;  ///< Per lane; 0 for a predicate.
  std::array<uint64_t, kDebugLanes> lanes{};
  uint32_t undefined = 0;  ///< Mask of the lanes whose value is undefined.
};

/// A named variable in shared or parameter memory.
struct DebugVariable {
  std::string name;
  std::string type;  ///< Element type, such as "f32"; "" if unknown.
  uint64_t offset = 0, bytes = 0;
};

/// The lanes of a warp that are at the same instruction.
struct DebugGroup {
  uint32_t lanes = 0;
  DebugPlace place;
};
struct DebugWarp {
  uint32_t index = 0;
  std::string state;  ///< "running", "at barrier 0", "at the cluster's barrier", "ended".
  std::vector<DebugGroup> groups;
};

/// A range of global memory whose stores are reported.
struct DebugWatch {
  uint32_t number = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
};
/// A store to watched memory.
struct DebugStore {
  uint32_t number = 0;
  std::vector<std::byte> before, after;
  DebugPlace place;  ///< The storing instruction.
  Dim3 block{0, 0, 0};
  std::optional<Dim3> thread;  ///< Empty if no single lane's address identifies the thread.
};

/// A launch, stopped between two instructions of one of its warps. Valid only inside
/// Debugger::before.
class DebugView {
 public:
  virtual ~DebugView() = default;

  // Called for every instruction, so these must be cheap.
  virtual DebugPlace place() const = 0;
  virtual uint64_t block() const = 0;  ///< Linear index of the block in the grid.
  virtual uint32_t warp() const = 0;   ///< Index of the warp in its block.
  virtual uint32_t lanes() const = 0;  ///< Mask of the lanes that will execute the instruction.
  virtual uint32_t depth() const = 0;  ///< Call depth, the entry function included.
  /// Returns whether the thread has exited, alone or with its block.
  virtual bool has_ended(uint64_t block, uint32_t warp, uint32_t lane) const = 0;
  /// Returns the stores to watched memory since the last instruction.
  virtual const std::vector<DebugStore>& stores() const = 0;
  /// Returns how many distinct findings there are so far. Grows with each new one.
  virtual size_t findings() const = 0;
  virtual DeviceFinding finding(size_t index) const = 0;

  // State of the block that is executing, and of its warps.
  virtual Dim3 block_index() const = 0;
  virtual Dim3 block_size() const = 0;
  virtual Dim3 thread_index(uint32_t warp, uint32_t lane) const = 0;
  virtual std::vector<DebugWarp> warps() const = 0;
  /// Returns the registers of the warp's current function; none if the warp has ended or has not
  /// begun.
  virtual std::vector<DebugRegister> registers(uint32_t warp) const = 0;
  virtual std::span<const std::byte> shared() const = 0;
  virtual std::vector<DebugVariable> shared_variables() const = 0;
  /// Returns a thread's local memory, with that of all its active calls.
  virtual std::span<const std::byte> local(uint32_t warp, uint32_t lane) const = 0;
  virtual std::span<const std::byte> params() const = 0;
  virtual std::vector<DebugVariable> param_variables() const = 0;
  virtual Status read(std::span<std::byte> to, uint64_t address) const = 0;
};

/// Receives callbacks from the emulator, which then runs launches on one thread, block after block.
class Debugger {
 public:
  virtual ~Debugger() = default;
  /// Called when a module was loaded.
  virtual void loaded(const DebugProgram& program) = 0;
  /// Called before each PTX instruction that a warp executes. Returning false ends the launch.
  virtual bool before(const DebugView& view) = 0;
  /// Returns the ranges to watch. Called at the start of a launch and after every before().
  virtual const std::vector<DebugWatch>& watches() const = 0;
};

}  // namespace gpuemu
