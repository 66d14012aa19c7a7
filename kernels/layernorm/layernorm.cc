// layernorm and its gradients, over the last axis.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {

const OpKind& layernorm_op() {
  static const OpKind kOp = {
      .name = "layernorm",
      .summary = "y = (x - mean) / sqrt(variance + eps) * weight + bias over the last axis",
      .inputs = {{.name = "x", .rank_min = 1},
                 {.name = "weight", .rank_min = 1, .rank_max = 1},
                 {.name = "bias", .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "y", .rank_min = 1}},
      .schema = numbers_schema(1, {{"eps", 1e-5, "added to the variance"}}),
      .check = check_row_op,
      .variants = {{.name = "block_per_row",
                    .module = "layernorm",
                    .entries = {"layernorm_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op_with_eps}},
  };
  return kOp;
}

namespace {

/// Threads of the first launch, whose blocks each sum all columns: as many as a large GPU runs at
/// once, fewer if there are few rows. Does not depend on the device, so that results are the same
/// on every one.
constexpr int64_t kBackwardThreadsMax = 1 << 16;

int32_t backward_blocks(const OpCase& c) {
  const int64_t most = kBackwardThreadsMax / row_threads(c.in(0));
  return static_cast<int32_t>(std::clamp<int64_t>(rows_cols(c.in(0)).rows, 1, most));
}

Status check_backward(const OpCase& c) {
  const int64_t cols = rows_cols(c.in(0)).cols;
  for (const DeviceTensor* one : {&c.in(2), &c.out(0)}) {
    if (same_shape(*one, c.in(0))) continue;
    return error(ErrorCode::InvalidArgument, "{} is {}, expected {}, the shape of x",
                 one == &c.out(0) ? "dx" : "dy", shape_text(one->shape), shape_text(c.in(0).shape));
  }
  GPUEMU_TRY(check_shape(c.in(1), "weight", {cols}, "one element per column of x"));
  GPUEMU_TRY(check_shape(c.out(1), "dweight", {cols}, "one element per column of x"));
  return check_shape(c.out(2), "dbias", {cols}, "one element per column of x");
}

uint64_t backward_bytes(const OpCase& c) {
  const uint64_t width = c.in(0).dtype == DType::Float64 ? sizeof(double) : sizeof(float);
  return static_cast<uint64_t>(2 * backward_blocks(c) * rows_cols(c.in(0)).cols) * width;
}

void plan_backward(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  const int32_t blocks = backward_blocks(c), cols = static_cast<int32_t>(size.cols);
  plan.launch({static_cast<uint32_t>(blocks), 1, 1}, {row_threads(c.in(0)), 1, 1}, 0)
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.in(2))
      .arg(c.out(0))
      .arg(c.workspace)
      .arg(static_cast<int32_t>(size.rows))
      .arg(cols)
      .arg(c.attributes.get<double>("eps"));
  plan.launch({2 * blocks_for(size.cols, 32), 1, 1}, {256, 1, 1}, 1)
      .arg(c.workspace)
      .arg(c.out(1))
      .arg(c.out(2))
      .arg(blocks)
      .arg(cols);
}

}  // namespace

const OpKind& layernorm_bwd_op() {
  static const OpKind kOp = {
      .name = "layernorm_bwd",
      .summary = "gradients of layernorm; statistics of x are computed again",
      .inputs = {{.name = "x", .rank_min = 1},
                 {.name = "weight", .rank_min = 1, .rank_max = 1},
                 {.name = "dy", .rank_min = 1}},
      .outputs = {{.name = "dx", .rank_min = 1},
                  {.name = "dweight", .rank_min = 1, .rank_max = 1},
                  {.name = "dbias", .rank_min = 1, .rank_max = 1}},
      .schema = {.number = 16,
                 .fields = {{.name = "eps",
                             .type = AttributeType::Float64,
                             .fallback = 1e-5,
                             .meaning = "added to the variance"}}},
      .check = check_backward,
      .variants = {{.name = "two_steps",
                    .module = "layernorm_bwd",
                    .entries = {"layernorm_bwd_{T}", "layernorm_bwd_total_{T}"},
                    .types = float_types(),
                    .workspace_bytes = backward_bytes,
                    .plan = plan_backward}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
