#include "daemon/executor/launch_config.h"

namespace gpuemu {

Result<LaunchConfig> launch_config(const ExecutionPlan& plan, const PlanLaunch& launch,
                                   std::span<const uint64_t> addresses) {
  LaunchConfig config;
  config.entry = launch.entry;
  config.grid = launch.grid;
  config.block = launch.block;
  config.cluster = launch.cluster;
  config.dynamic_shared_bytes = launch.shared_bytes;
  config.sanitize = plan.sanitize;
  config.grown_blocks = launch.grown_blocks;
  for (const PlanArg& arg : launch.args) {
    if (arg.tensor < 0) {
      config.args.push_back(arg.scalar);
      continue;
    }
    const auto tensor = static_cast<size_t>(arg.tensor);
    if (tensor >= addresses.size()) {
      return error(ErrorCode::InvalidArgument, "argument '{}' names tensor {} of {}", arg.text,
                   arg.tensor, addresses.size());
    }
    const uint64_t address = addresses[tensor] + arg.offset_bytes;
    const auto* bytes = reinterpret_cast<const std::byte*>(&address);
    config.args.emplace_back(bytes, bytes + sizeof address);
  }
  return config;
}

}  // namespace gpuemu
