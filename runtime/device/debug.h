// Stopping a launch between two of its instructions and looking at what it holds. Only the emulator
// offers it, to the one who made it (EmulatorOptions::debugger).
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
  std::string file;  ///< From .loc, "" without -lineinfo: the innermost line outside the toolkit.
  uint32_t line = 0, ptx_line = 0;
};
struct DebugFunction {
  std::string name;
  bool is_entry = false;
  std::vector<DebugInstruction> body;
};
/// A module as it runs.
struct DebugProgram {
  std::vector<DebugFunction> functions;
};

/// Indices into a DebugProgram.
struct DebugPlace {
  uint32_t function = 0, instruction = 0;
  bool operator==(const DebugPlace&) const = default;
};

/// A register of one warp, in its current function.
struct DebugRegister {
  std::string name;    ///< "%r17"
  std::string type;    ///< What instructions take it for: "f32", "s32", "pred"; "b32" if unknown.
  uint32_t bytes = 4;  ///< Per lane; 0: a predicate.
  std::array<uint64_t, kDebugLanes> lanes{};
  uint32_t undefined = 0;  ///< Lanes that hold nothing that was written.
};

/// A named piece of shared or parameter memory.
struct DebugVariable {
  std::string name;
  std::string type;  ///< Element type: "f32"; "" unknown.
  uint64_t offset = 0, bytes = 0;
};

/// Lanes of a warp that stand at one instruction.
struct DebugGroup {
  uint32_t lanes = 0;
  DebugPlace place;
};
struct DebugWarp {
  uint32_t index = 0;
  std::string state;  ///< "running", "at barrier 0", "at the cluster's barrier", "ended"
  std::vector<DebugGroup> groups;
};

/// Bytes of global memory of which every store is wanted.
struct DebugWatch {
  uint32_t number = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
};
/// What happened to them.
struct DebugStore {
  uint32_t number = 0;
  std::vector<std::byte> before, after;
  DebugPlace place;  ///< The instruction that stored.
  Dim3 block{0, 0, 0};
  std::optional<Dim3> thread;  ///< Nothing when no lane's address told.
};

/// A launch between two instructions of one of its warps. Valid inside of Debugger::before.
class DebugView {
 public:
  virtual ~DebugView() = default;

  // Asked before every instruction: cheap.
  virtual DebugPlace place() const = 0;
  virtual uint64_t block() const = 0;  ///< Linear index in the grid.
  virtual uint32_t warp() const = 0;   ///< In the block.
  virtual uint32_t lanes() const = 0;  ///< Bits of the lanes that are going to execute it.
  virtual uint32_t depth() const = 0;  ///< Calls in progress, the entry's own included.
  /// Whether the thread has exited, with its block or before.
  virtual bool has_ended(uint64_t block, uint32_t warp, uint32_t lane) const = 0;
  /// Stores to watched bytes since the last instruction.
  virtual const std::vector<DebugStore>& stores() const = 0;
  /// Kinds of findings so far; their number grows with each.
  virtual size_t findings() const = 0;
  virtual DeviceFinding finding(size_t index) const = 0;

  // The block that is executing, and its warps.
  virtual Dim3 block_index() const = 0;
  virtual Dim3 block_size() const = 0;
  virtual Dim3 thread_index(uint32_t warp, uint32_t lane) const = 0;
  virtual std::vector<DebugWarp> warps() const = 0;
  /// Registers of the function that the warp is in; none when it has ended or not begun.
  virtual std::vector<DebugRegister> registers(uint32_t warp) const = 0;
  virtual std::span<const std::byte> shared() const = 0;
  virtual std::vector<DebugVariable> shared_variables() const = 0;
  /// A thread's local memory, of all its calls.
  virtual std::span<const std::byte> local(uint32_t warp, uint32_t lane) const = 0;
  virtual std::span<const std::byte> params() const = 0;
  virtual std::vector<DebugVariable> param_variables() const = 0;
  virtual Status read(std::span<std::byte> to, uint64_t address) const = 0;
};

/// Whom the emulator asks. Its launches run on one thread then, block after block.
class Debugger {
 public:
  virtual ~Debugger() = default;
  /// A module was loaded.
  virtual void loaded(const DebugProgram& program) = 0;
  /// Before each PTX instruction that a warp executes. False ends the launch.
  virtual bool before(const DebugView& view) = 0;
  /// What is to be watched, at the begin of a launch and whenever before() has returned.
  virtual const std::vector<DebugWatch>& watches() const = 0;
};

}  // namespace gpuemu
