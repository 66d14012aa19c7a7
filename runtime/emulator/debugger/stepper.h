// Calls a Debugger before every PTX instruction of a launch, and gives it access to the machine's
// state.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "runtime/device/debug.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/step_observer.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

/// Stops before instructions of one launch. Runs on one thread.
class Stepper final : public StepObserver, private DebugView {
 public:
  Stepper(Launch& launch, Debugger& debugger);
  void before(Warp& warp, const Step& step) override;

 private:
  /// The memory accesses and results of a function's instructions, computed once per function.
  struct Function {
    uint32_t index = 0;
    std::vector<std::vector<MemoryUse>> uses;    ///< Per step.
    std::vector<std::vector<uint32_t>> results;  ///< Registers, per PTX instruction.
    std::vector<std::string> register_types;
  };
  /// A watched range, with its bytes as they were before the last instruction.
  struct Watched {
    DebugWatch watch;
    std::vector<std::byte> bytes;
    bool stored = false;  ///< An instruction stored to the range, whatever the value.
    DebugStore by;
  };

  /// For each register of a frame, the lanes in which it was written.
  struct Written final : ObservedRegisters {
    const Code* code = nullptr;
    uint64_t block = 0;
    uint32_t warp = 0;
    std::vector<uint32_t> lanes;
    void take_lanes(const ObservedRegisters& from, uint32_t taken) override;
  };

  // stepper.cc
  static void note_written(Warp& warp, const Step& step, const Function& in);
  const Function& function_of(const Code& code);
  void renew_watches();
  void note_stores(const Warp& warp, const Step& step, const Function& in);
  void compare_watched();
  DebugPlace place_of(const Code& code, const Step& step);

  // DebugView; stepper_view.cc
  DebugPlace place() const override { return place_; }
  uint64_t block() const override { return warp_->block->position.linear; }
  uint32_t warp() const override { return warp_->index; }
  uint32_t lanes() const override { return warp_->masks.running; }
  uint32_t depth() const override { return warp_->control.depth; }
  bool has_ended(uint64_t block, uint32_t warp, uint32_t lane) const override;
  const std::vector<DebugStore>& stores() const override { return stores_; }
  size_t findings() const override;
  DeviceFinding finding(size_t index) const override;
  Dim3 block_index() const override { return warp_->block->position.index; }
  Dim3 block_size() const override { return launch_.inputs.config->block; }
  Dim3 thread_index(uint32_t warp, uint32_t lane) const override;
  std::vector<DebugWarp> warps() const override;
  std::vector<DebugRegister> registers(uint32_t warp) const override;
  std::span<const std::byte> shared() const override;
  std::vector<DebugVariable> shared_variables() const override;
  std::span<const std::byte> local(uint32_t warp, uint32_t lane) const override;
  std::span<const std::byte> params() const override;
  std::vector<DebugVariable> param_variables() const override;
  Status read(std::span<std::byte> to, uint64_t address) const override;

  std::vector<DebugGroup> groups_of(Warp& warp) const;
  const Code& code_at_entry(const Warp& warp, size_t stack_index) const;
  uint32_t index_of(const Code& code) const;

  Launch& launch_;
  Debugger& debugger_;
  std::map<const Code*, Function> functions_;
  std::unordered_map<uint64_t, Block*> blocks_;  ///< Blocks that have started, by linear index.
  Warp* warp_ = nullptr;                         ///< The warp that executes the next instruction.
  DebugPlace place_, last_place_;
  Dim3 last_block_{0, 0, 0};
  std::vector<Watched> watched_;
  std::vector<DebugStore> stores_;
};

}  // namespace gpuemu::emulator
