// layernorm: over the last axis.
#include "kernels/rules.h"

namespace gpuemu::kernels {

const OpKind& layernorm_op() {
  static const OpKind kOp = {
      .name = "layernorm",
      .summary = "y = (x - mean) / sqrt(variance + eps) * weight + bias over the last axis",
      .inputs = {{.name = "x", .rank_min = 1},
                 {.name = "weight", .rank_min = 1, .rank_max = 1},
                 {.name = "bias", .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "y", .rank_min = 1}},
      .schema = {.number = 1,
                 .fields = {{.name = "eps",
                             .type = AttributeType::Float32,
                             .fallback = 1e-5,
                             .meaning = "added to the variance"}}},
      .check = check_row_op,
      .variants = {{.name = "block_per_row",
                    .module = "layernorm",
                    .entries = {"layernorm_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op_with_eps}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
