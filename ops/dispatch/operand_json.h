// Describes an op's operands, attributes and dtypes in JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/op.h"

namespace gpuemu {

inline nlohmann::json operands_json(const std::vector<OperandSpec>& operands) {
  auto list = nlohmann::json::array();
  for (const OperandSpec& operand : operands) {
    list.push_back({{"name", operand.name},
                    {"type", std::string(1, operand.type)},
                    {"rank_min", operand.rank_min},
                    {"rank_max", operand.rank_max}});
  }
  return list;
}

inline nlohmann::json attribute_json(const AttributeField& field) {
  return {{"name", field.name},
          {"type", name_of(field.type)},
          {"default", field.fallback ? nlohmann::json(*field.fallback) : nlohmann::json()},
          {"since", field.since},
          {"meaning", field.meaning}};
}

/// Returns the dtypes of each letter.
inline nlohmann::json types_json(const KernelVariant& variant) {
  auto types = nlohmann::json::object();
  for (const TypeRule& rule : variant.types) {
    auto names = nlohmann::json::array();
    for (const DType dtype : rule.dtypes) names.push_back(name_of(dtype));
    types[std::string(1, rule.letter)] = names;
  }
  return types;
}

}  // namespace gpuemu
