// softmax: over the last axis.
#include "kernels/rules.h"

namespace gpuemu::kernels {
namespace {

void plan(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  launch_rows(plan, c.in(0), 256)
      .arg(c.in(0))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(size.rows))
      .arg(static_cast<int32_t>(size.cols));
}

}  // namespace

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
                    .plan = plan},
                   {.name = "block_per_row",
                    .module = "softmax",
                    .entries = {"softmax_{T}"},
                    .types = float_types(),
                    .plan = plan}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
