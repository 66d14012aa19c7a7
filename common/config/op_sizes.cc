#include "common/config/op_sizes.h"

#include <algorithm>
#include <vector>

#include "common/numeric/dtype.h"

namespace gpuemu {
namespace {

std::vector<std::string> tensors_in_shape(const OpConfig& op, const std::string& name) {
  std::vector<std::string> used;
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      if (tensor.name != name) continue;
      for (const Expression& size : tensor.shape) {
        for (const ExpressionUse& use : size.tensor_uses()) used.push_back(use.name);
      }
    }
  }
  return used;
}

}  // namespace

std::set<std::string> tensors_behind(const OpConfig& op, const std::string& name) {
  std::set<std::string> all;
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const std::string& used : tensors_in_shape(op, next)) {
      if (all.insert(used).second) open.push_back(used);
    }
  }
  return all;
}

Scope scope_at_end(const OpConfig& op, bool high, const DimSpec* other) {
  Scope scope;
  for (const DimSpec& dim : op.dims) {
    const bool is_high = high == (&dim != other);
    scope.integers[dim.name] =
        is_high ? std::ranges::max(dim.values) : std::ranges::min(dim.values);
  }
  for (const AttrSpec& attr : op.attrs) {
    const double value = high ? std::ranges::max(attr.values) : std::ranges::min(attr.values);
    if (is_float(attr.dtype)) {
      scope.reals[attr.name] = value;
    } else {
      scope.integers[attr.name] = static_cast<int64_t>(value);
    }
  }
  scope.strings["dtype"] = op.dtypes.empty() ? "float32" : std::string(name_of(op.dtypes[0]));
  // Ignore failures: a derived dim without a value is reported at its own key.
  static_cast<void>(add_derived_dims(op, scope).ok());
  return scope;
}

}  // namespace gpuemu
