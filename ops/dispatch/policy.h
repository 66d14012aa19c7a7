// Reads from a file which variant of an op is preferred.
//
//   strategy = "best_performance"     # or "first_supported", the default
//   [prefer]
//   matmul = "tiled"
//
// and the same as JSON: {"strategy": ..., "prefer": {...}}.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"
#include "ops/dispatch/registry.h"

namespace gpuemu {

enum class SelectionRule : uint8_t {
  FirstSupported,   ///< By priority, then in order of declaration.
  BestPerformance,  ///< The fastest, timed once per op, shape class, dtypes and device.
};

struct DispatchPolicy {
  SelectionRule strategy = SelectionRule::FirstSupported;
  std::map<std::string, std::string> preferred = {};  ///< Op to variant; goes before the strategy.
};

/// InvalidArgument with place and what was expected: text that does not parse, unknown keys, ops
/// and variants that `registry` does not have. `file` is used in messages.
Result<DispatchPolicy> policy_from_toml(const std::string& text, const std::string& file,
                                        const OpRegistry& registry);
Result<DispatchPolicy> policy_from_json(const std::string& text, const std::string& file,
                                        const OpRegistry& registry);
/// The same object with both keys, in alphabetical order.
std::string json_of(const DispatchPolicy& policy);
/// By the ending of the name, .toml or .json.
Result<DispatchPolicy> load_policy(const std::string& path, const OpRegistry& registry);

}  // namespace gpuemu
