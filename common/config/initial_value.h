// The values of a tensor's elements before the launch: the key `init` of gpuemu.toml.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/result.h"
#include "common/config/expression.h"
#include "common/config/op_config.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

/// Returns the bytes of one element; empty for a tensor without the key. Negative numbers wrap in
/// unsigned types, as in C: -1 has all bits set. InvalidArgument for a number that does not fit the
/// type, and for an expression that cannot be evaluated.
Result<std::vector<std::byte>> initial_element(const TensorSpec& spec, DType dtype,
                                               const Scope& scope);

/// InvalidArgument if some dtype that the tensor may have cannot hold its initial number.
Status check_initial_number(const TensorSpec& spec, const std::vector<DType>& under_test);

}  // namespace gpuemu
