// What a kernel that was declared as text does in a call.
#pragma once

#include <memory>

#include "ops/registered/declaration.h"
#include "ops/registered/expression.h"

namespace gpuemu {

/// InvalidArgument for an expression or argument that is wrong, naming the launch and the part.
Result<std::shared_ptr<const VariantRules>> rules_of(const OpKind& op,
                                                     const AttributeSchema& schema,
                                                     const KernelDeclaration& declaration);

}  // namespace gpuemu
