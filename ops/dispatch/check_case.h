// What is checked before a call of an op may reach a kernel.
#pragma once

#include <string>

#include "kernels/op.h"
#include "ops/dispatch/type_binding.h"

namespace gpuemu {

/// InvalidArgument naming the operand and what was expected: number of operands, ranks, sizes,
/// strides, dtypes, addresses (null, misaligned), outputs that overlap other tensors, attributes,
/// then what the op itself demands.
Result<TypeBinding> check_case(const OpCase& c);

/// Why `variant` cannot compute the case; "" when it can. REQUIRES: check_case accepted it.
std::string refusal(const OpCase& c, const KernelVariant& variant, const TypeBinding& types);

}  // namespace gpuemu
