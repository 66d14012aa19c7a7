// Prints the ops and kernels of gpuemu.toml as text.
#include "cli/report/project_ops.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/op_words.h"
#include "cli/report/text.h"

namespace gpuemu::cli {

const char* mode_name(ExecutionMode mode) {
  switch (mode) {
    case ExecutionMode::ClientSide:
      return "client_side";
    case ExecutionMode::ScriptBased:
      return "script_based";
    case ExecutionMode::Kernel:
      return "kernel";
  }
  GPUEMU_UNREACHABLE();
}

std::vector<std::string> dtype_names(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return names;
}

std::vector<std::string> ops_of_kernel(const KernelConfig& kernel, const Config& config) {
  std::vector<std::string> names;
  for (const OpConfig& op : config.ops) {
    if (std::ranges::find(op.kernels, kernel.name) != op.kernels.end()) names.push_back(op.name);
  }
  return names;
}

void print_project_ops(const Config& config, std::ostream& out) {
  for (const OpConfig& op : config.ops) {
    out << fmt::format("{} {} {}", one_line(op.name), fmt::join(dtype_names(op.dtypes), ","),
                       mode_name(op.mode));
    for (const std::string& name : op.kernels) out << ' ' << one_line(name);
    out << fmt::format(" ({}:{})\n", op.file, op.line);
  }
  for (const KernelConfig& kernel : config.kernels) {
    if (!ops_of_kernel(kernel, config).empty()) continue;
    out << fmt::format("{} kernel of no op ({}:{})\n", one_line(kernel.name), kernel.file,
                       kernel.line);
  }
}

}  // namespace gpuemu::cli
