// Instances of a template that are worth testing: those that host code launches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/cuda_text/host_launch.h"
#include "cli/cuda_text/source_scan.h"

namespace gpuemu::cli {

struct Instance {
  std::string entry;   ///< "softmax<{ctype}, 128>"
  std::string suffix;  ///< Distinguishes it from the others: "128"; "" if it is the only one.
  std::map<std::string, std::string> types;   ///< "T" -> "{dtype}" or a type's name.
  std::map<std::string, std::string> values;  ///< "BLOCK" -> "128"
  std::vector<std::string> dtypes;          ///< Dtypes that {ctype} stands for; empty: the default.
  std::vector<const HostLaunch*> launches;  ///< Its launches, of those given.
  std::vector<std::string> guessed;  ///< Template parameters that host code does not determine.
};

/// Returns one instance for each combination of values, at most kInstancesMax; one for a kernel
/// that is no template.
inline constexpr size_t kInstancesMax = 4;
std::vector<Instance> instances_of(const SourceKernel& kernel, const Definitions& definitions,
                                   const std::vector<HostLaunch>& launches);

}  // namespace gpuemu::cli
