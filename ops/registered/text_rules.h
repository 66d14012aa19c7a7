// The rules of a kernel that was declared as text.
#pragma once

#include <memory>

#include "ops/registered/declaration.h"
#include "ops/registered/expression.h"

namespace gpuemu {

/// InvalidArgument names the launch and the part with a wrong expression or argument.
Result<std::shared_ptr<const VariantRules>> rules_of(const OpKind& op,
                                                     const AttributeSchema& schema,
                                                     const KernelDeclaration& declaration);

}  // namespace gpuemu
