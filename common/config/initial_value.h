// What the elements of a tensor hold before the launch: the key `init` of gpuemu.toml.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/config/expression.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

/// The bytes of one element; empty for a tensor without the key. Negative numbers of an unsigned
/// type wrap as in C: -1 has all bits set. InvalidArgument for a number that the type cannot hold,
/// and for an expression that does not evaluate.
Result<std::vector<std::byte>> initial_element(const TensorSpec& spec, DType dtype,
                                               const Scope& scope);

/// Whether each dtype that the tensor may have can hold its initial number. InvalidArgument.
Status check_initial_number(const TensorSpec& spec, const std::vector<DType>& under_test);

}  // namespace gpuemu
