// Checks a call of an op before it may reach a kernel.
#pragma once

#include <string>

#include "kernels/op.h"
#include "ops/dispatch/type_binding.h"

namespace gpuemu {

/// InvalidArgument names the operand and what was expected: number of operands, ranks, sizes,
/// strides, dtypes, addresses (null, misaligned), outputs that overlap other tensors, attributes,
/// then the op's own requirements.
Result<TypeBinding> check_case(const OpCase& c);

/// Returns why `variant` cannot compute the case; "" if it can. Requires that check_case() accepted
/// it.
std::string refusal(const OpCase& c, const KernelVariant& variant, const TypeBinding& types);

}  // namespace gpuemu
