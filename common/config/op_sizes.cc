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

/// Returns the names that the expression uses, and those that derived dims among them depend on.
std::set<std::string> names_behind(const OpConfig& op, const Expression& expression) {
  std::set<std::string> names;
  for (const std::string& name : expression.names()) names.insert(name);
  // Each derived dim comes after those that it needs.
  for (size_t i = op.derived_dims.size(); i-- > 0;) {
    if (!names.contains(op.derived_dims[i].name)) continue;
    for (const std::string& name : op.derived_dims[i].value.names()) names.insert(name);
  }
  return names;
}

/// The allowed values of a dim or an integer attr.
struct Choices {
  std::string name;
  std::vector<int64_t> values;  ///< Empty for a range.
  int64_t lo = 0, count = 0;

  int64_t at(int64_t index) const {
    return values.empty() ? lo + index : values[static_cast<size_t>(index)];
  }
};

std::vector<Choices> choices_of(const OpConfig& op, const std::set<std::string>& names) {
  std::vector<Choices> all;
  for (const DimSpec& dim : op.dims) {
    if (!names.contains(dim.name)) continue;
    if (dim.is_set) {
      all.push_back({dim.name, dim.values, 0, static_cast<int64_t>(dim.values.size())});
    } else {
      all.push_back({dim.name, {}, dim.values.front(), dim.values.back() - dim.values.front() + 1});
    }
  }
  for (const AttrSpec& attr : op.attrs) {
    if (!names.contains(attr.name) || is_float(attr.dtype)) continue;
    Choices choices{attr.name, {}, 0, static_cast<int64_t>(attr.values.size())};
    for (const double value : attr.values) choices.values.push_back(static_cast<int64_t>(value));
    all.push_back(std::move(choices));
  }
  return all;
}

bool meets(const OpConfig& op, const std::set<std::string>& names, Scope& scope) {
  for (const DerivedDim& dim : op.derived_dims) {
    if (!names.contains(dim.name)) continue;
    const auto value = dim.value.evaluate_size(scope);
    if (!value) return false;
    scope.integers[dim.name] = *value;
  }
  const auto value = op.require->evaluate(scope);
  return value && *value != 0;
}

}  // namespace

bool never_holds(const OpConfig& op) {
  constexpr int64_t kChoicesMax = 100'000;  // Takes a tenth of a second.
  // The dtypes of the op may not be known yet.
  if (!op.require || op.require->text().find("dtype") != std::string::npos) return false;
  const std::set<std::string> names = names_behind(op, *op.require);
  const std::vector<Choices> choices = choices_of(op, names);
  int64_t product = 1;
  for (const Choices& one : choices) {
    if (one.count < 1 || one.count > kChoicesMax / product) return false;
    product *= one.count;
  }
  Scope scope;
  for (int64_t number = 0; number < product; ++number) {
    int64_t left = number;
    for (const Choices& one : choices) {
      scope.integers[one.name] = one.at(left % one.count);
      left /= one.count;
    }
    if (meets(op, names, scope)) return false;
  }
  return true;
}

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
