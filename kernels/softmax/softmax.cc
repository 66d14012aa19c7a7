// softmax: over the last axis.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {

const OpKind& softmax_op() {
  static const OpKind kOp = {
      .name = "softmax",
      .summary = "y = exp(x - max) / sum(exp(x - max)) over the last axis",
      .inputs = {{.name = "x", .rank_min = 1}},
      .outputs = {{.name = "y", .rank_min = 1}},
      .check = check_row_op,
      .variants = {{.name = "online",
                    .module = "softmax_online",
                    .entries = {"softmax_online_{T}"},
                    .types = float_types(),
                    .priority = 1,
                    .plan = plan_row_op},
                   {.name = "block_per_row",
                    .module = "softmax",
                    .entries = {"softmax_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
