// Formats tensors as lines that can be pasted into Python.
#pragma once

#include <string>

#include "common/protocol/records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// Returns "x = numpy.array([[0.5, 1.0]], 'float32')"; for a tensor with one value except in a few
/// elements, "x = numpy.zeros((3, 100), 'float32'); x[1, 5] = 2.0"; "" if that needs more than a
/// readable line. bfloat16, which NumPy lacks, becomes float32.
std::string python_line(const std::string& name, const Tensor& tensor);

/// Returns the stored inputs of a case as such lines, below a heading; "" if none are stored.
std::string inputs_for_python(const ValidationResult& result);

}  // namespace gpuemu::cli
