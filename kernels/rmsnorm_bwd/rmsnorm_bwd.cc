// Gradients of rmsnorm: over the last axis.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_rmsnorm_bwd(const OpCase& c) {
  const int64_t cols = rows_cols(c.in(0)).cols;
  for (const DeviceTensor* one : {&c.in(2), &c.out(0)}) {
    if (same_shape(*one, c.in(0))) continue;
    return error(ErrorCode::InvalidArgument, "{} is {}, expected {}, the shape of x",
                 one == &c.out(0) ? "dx" : "dy", shape_text(one->shape), shape_text(c.in(0).shape));
  }
  GPUEMU_TRY(check_shape(c.in(1), "weight", {cols}, "one element per column of x"));
  return check_shape(c.out(1), "dweight", {cols}, "one element per column of x");
}

uint64_t scale_bytes(const OpCase& c) {
  const uint64_t width = c.in(0).dtype == DType::Float64 ? sizeof(double) : sizeof(float);
  return static_cast<uint64_t>(rows_cols(c.in(0)).rows) * width;
}

void plan_rmsnorm_bwd(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  const auto rows = static_cast<int32_t>(size.rows), cols = static_cast<int32_t>(size.cols);
  launch_rows(plan, c.in(0), row_threads(c.in(0)))
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.in(2))
      .arg(c.out(0))
      .arg(c.workspace)
      .arg(rows)
      .arg(cols)
      .arg(c.attributes.get<double>("eps"));
  plan.launch({blocks_for(cols, 128), 1, 1}, {128, 1, 1}, 1)
      .arg(c.in(0))
      .arg(c.in(2))
      .arg(c.workspace)
      .arg(c.out(1))
      .arg(rows)
      .arg(cols);
}

}  // namespace

const OpKind& rmsnorm_bwd_op() {
  static const OpKind kOp = {
      .name = "rmsnorm_bwd",
      .summary = "gradients of rmsnorm; the mean square of x is computed again",
      .inputs = {{.name = "x", .rank_min = 1},
                 {.name = "weight", .rank_min = 1, .rank_max = 1},
                 {.name = "dy", .rank_min = 1}},
      .outputs = {{.name = "dx", .rank_min = 1}, {.name = "dweight", .rank_min = 1, .rank_max = 1}},
      .schema = {.number = 21,
                 .fields = {{.name = "eps",
                             .type = AttributeType::Float64,
                             .fallback = 1e-5,
                             .meaning = "added to the mean square"}}},
      .check = check_rmsnorm_bwd,
      .variants = {{.name = "two_steps",
                    .module = "rmsnorm_bwd",
                    .entries = {"rmsnorm_bwd_{T}", "rmsnorm_bwd_weight_{T}"},
                    .types = float_types(),
                    .workspace_bytes = scale_bytes,
                    .plan = plan_rmsnorm_bwd}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
