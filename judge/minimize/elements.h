// Single elements of inputs: finds those that differ from the simplest value, and simplifies some
// of them. Used only by minimize_case.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/tensor/tensor.h"

namespace gpuemu {

/// Numbers elements through all inputs in order of name. Elements of an input whose simplest value
/// is NaN are not changed.
class Elements {
 public:
  Elements(const NamedTensors& inputs, const std::map<std::string, double>& simplest);

  /// Returns the elements that are not yet simple, ascending.
  std::vector<size_t> differing() const;
  /// Returns the inputs with every other element simplified. Requires `kept` to be ascending.
  NamedTensors only(const std::vector<size_t>& kept) const;
  /// Returns the inputs with this element set to `value`.
  NamedTensors with(size_t element, double value) const;
  double value_of(size_t element) const;

 private:
  double simplest_of(const std::string& name) const;

  const NamedTensors& inputs_;
  const std::map<std::string, double>& simplest_;
};

/// Returns the leading part of each input in the wanted shape; new elements are simple.
NamedTensors cropped(const NamedTensors& inputs, const NamedTensors& wanted);

}  // namespace gpuemu
