// A step of a plan as a launch of a stream.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "kernels/plan.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// The arguments of a step in the form of a launch. Valid as long as the step.
class StepLaunch {
 public:
  StepLaunch(const LaunchStep& step, FunctionId function, std::span<const MemoryAccess> accesses,
             uint64_t tag, std::unique_ptr<LaunchMemo>* memo = nullptr) {
    for (size_t i = 0; i < step.arg_count(); ++i) {
      const std::span<const std::byte> bytes = step.argument(i);
      args_[i] = {bytes.data(), bytes.size()};
    }
    launch_.function = function;
    launch_.grid = step.grid;
    launch_.block = step.block;
    launch_.dynamic_shared_bytes = step.shared_bytes;
    launch_.args = std::span(args_).first(step.arg_count());
    launch_.accesses = accesses;
    launch_.tag = tag;
    launch_.memo = memo;
  }
  StepLaunch(const StepLaunch&) = delete;
  StepLaunch& operator=(const StepLaunch&) = delete;
  const StreamLaunch& operator*() const { return launch_; }

 private:
  StreamLaunch launch_;
  std::array<KernelArg, kPlanArgumentsMax> args_;
};

}  // namespace gpuemu
