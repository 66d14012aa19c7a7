// Tensors as lines that can be pasted into Python.
#pragma once

#include <string>

#include "common/protocol/records.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// "x = numpy.array([[0.5, 1.0]], 'float32')", or, of a tensor that is one value but for a few
/// elements, "x = numpy.zeros((3, 100), 'float32'); x[1, 5] = 2.0". "" where that takes more than a
/// line that people read. bfloat16, which NumPy does not have, becomes float32.
std::string python_line(const std::string& name, const Tensor& tensor);

/// The stored inputs of a case as such lines, below a heading; "" where none are stored.
std::string inputs_for_python(const ValidationResult& result);

}  // namespace gpuemu::cli
