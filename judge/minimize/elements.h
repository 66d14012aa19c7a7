// Single elements of inputs: which differ from the simplest value, and inputs with some of them
// simplified. Used by minimize_case.cc alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/tensor/tensor.h"

namespace gpuemu {

/// Elements are numbered through all inputs in order of name. Those of an input whose simplest
/// value is NaN stay.
class Elements {
 public:
  Elements(const NamedTensors& inputs, const std::map<std::string, double>& simplest);

  /// The elements that are not simple already, ascending.
  std::vector<size_t> differing() const;
  /// The inputs with every other element simplified. REQUIRES: `kept` ascends.
  NamedTensors only(const std::vector<size_t>& kept) const;
  /// The inputs with this element as `value`.
  NamedTensors with(size_t element, double value) const;
  double value_of(size_t element) const;

 private:
  double simplest_of(const std::string& name) const;

  const NamedTensors& inputs_;
  const std::map<std::string, double>& simplest_;
};

/// The leading part of each input that has the wanted shape; what is new is simple.
NamedTensors cropped(const NamedTensors& inputs, const NamedTensors& wanted);

}  // namespace gpuemu
