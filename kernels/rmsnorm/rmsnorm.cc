// rmsnorm: over the last axis.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {

const OpKind& rmsnorm_op() {
  static const OpKind kOp = {
      .name = "rmsnorm",
      .summary = "y = x / sqrt(mean(x * x) + eps) * weight over the last axis",
      .inputs = {{.name = "x", .rank_min = 1}, {.name = "weight", .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "y", .rank_min = 1}},
      .schema = numbers_schema(2, {{"eps", 1e-5, "added to the mean square"}}),
      .check = check_row_op,
      .variants = {{.name = "block_per_row",
                    .module = "rmsnorm",
                    .entries = {"rmsnorm_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op_with_eps}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
