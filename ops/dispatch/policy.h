// Reads from a file which variant of an op is preferred:
//
//   strategy = "best_performance"     # or "first_supported", the default
//   [prefer]
//   matmul = "tiled"
//
// or the same as JSON: {"strategy": ..., "prefer": {...}}.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"
#include "ops/dispatch/registry.h"

namespace gpuemu {

enum class SelectionRule : uint8_t {
  FirstSupported,   ///< By priority, then in order of declaration.
  BestPerformance,  ///< The fastest, measured once per op, shape class, dtypes and device.
};

struct DispatchPolicy {
  SelectionRule strategy = SelectionRule::FirstSupported;
  /// Op to variant; takes precedence over the strategy.
  std::map<std::string, std::string> preferred = {};
};

/// InvalidArgument names the position and what was expected: text that does not parse, unknown
/// keys, ops and variants that are not in `registry`. `file` is used in messages.
Result<DispatchPolicy> policy_from_toml(const std::string& text, const std::string& file,
                                        const OpRegistry& registry);
Result<DispatchPolicy> policy_from_json(const std::string& text, const std::string& file,
                                        const OpRegistry& registry);
/// Returns the same object with both keys, in alphabetical order.
std::string json_of(const DispatchPolicy& policy);
/// Selects the format by the file's ending, .toml or .json.
Result<DispatchPolicy> load_policy(const std::string& path, const OpRegistry& registry);

}  // namespace gpuemu
