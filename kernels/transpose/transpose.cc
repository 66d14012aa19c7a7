// transpose: transposes a matrix.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_transpose(const OpCase& c) {
  return check_shape(c.out(0), "y", {c.in(0).shape[1], c.in(0).shape[0]}, "x transposed");
}

std::string unsupported_transpose(const OpCase& c) {
  return grid_y_refusal(rows_cols(c.in(0)).rows, 32);
}

void plan_transpose(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  plan.launch({blocks_for(size.cols, 32), blocks_for(size.rows, 32), 1}, {32, 8, 1})
      .arg(c.in(0))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(size.rows))
      .arg(static_cast<int32_t>(size.cols));
}

}  // namespace

const OpKind& transpose_op() {
  static const OpKind kOp = {
      .name = "transpose",
      .summary = "y[j, i] = x[i, j]",
      .inputs = {{.name = "x", .rank_min = 2, .rank_max = 2}},
      .outputs = {{.name = "y", .rank_min = 2, .rank_max = 2}},
      .check = check_transpose,
      .variants = {{.name = "tiled",
                    .module = "transpose",
                    .entries = {"transpose_{T}"},
                    .types = float_types(),
                    .unsupported = unsupported_transpose,
                    .plan = plan_transpose}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
