// softmax_bwd: over the last axis.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {

const OpKind& softmax_bwd_op() {
  static const OpKind kOp = {
      .name = "softmax_bwd",
      .summary = "dx = y * (dy - sum(y * dy)) over the last axis, of y = softmax(x)",
      .inputs = {{.name = "y", .rank_min = 1}, {.name = "dy", .rank_min = 1}},
      .outputs = {{.name = "dx", .rank_min = 1}},
      .check = check_same_shapes,
      .variants = {{.name = "block_per_row",
                    .module = "softmax_bwd",
                    .entries = {"softmax_bwd_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
