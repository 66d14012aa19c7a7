// Finds launches in host code: kernel<<<grid, block, shared, stream>>>(arguments).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/host_checks.h"
#include "cli/cuda_text/host_fills.h"

namespace gpuemu::cli {

struct HostLaunch {
  std::string kernel;                      ///< Without its namespace.
  std::vector<std::string> template_args;  ///< As written.
  std::vector<std::string> grid, block;    ///< As written, one to three; empty if unknown.
  std::string shared;                      ///< "" if it is not given.
  std::vector<std::string> args;
  std::map<std::string, std::string> locals;   ///< Variables defined before it: name -> value.
  std::map<std::string, HostFill> fills = {};  ///< Memory that is filled before it, by variable.
  std::vector<MultipleCheck> checks = {};      ///< Checks before it.
  uint32_t line = 0;                           ///< Line of the text.
  std::string file = {};                       ///< The file of the text, set by the caller.
};

/// Returns the integers and dim3 that the text, which has no comments, declares with a value: name
/// -> value as written. For a dim3 also "block.x" and so on. The last declaration of a name counts.
std::map<std::string, std::string> declared_values(std::string_view text);

/// Scans text without comments.
std::vector<HostLaunch> scan_launches(std::string_view text);

}  // namespace gpuemu::cli
