// mse and its gradient, over all elements; any shape.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// Enough to fill a large GPU twice; one block adds the partial sums.
constexpr int64_t kBlocksMax = 1024;

uint32_t partial_blocks(const OpCase& c) {
  return static_cast<uint32_t>(std::min<int64_t>(blocks_for(c.in(0).count(), 1024), kBlocksMax));
}

Status check_mse(const OpCase& c) {
  if (!same_shape(c.in(0), c.in(1))) {
    return error(ErrorCode::InvalidArgument, "target is {}, expected {}, the shape of x",
                 shape_text(c.in(1).shape), shape_text(c.in(0).shape));
  }
  return check_shape(c.out(0), "loss", {}, "one number");
}

/// Threads without a number to add change no sum, so a block has no warps of them.
uint32_t threads_for(int64_t count) {
  return kWarpThreads * std::min(blocks_for(count, kWarpThreads), 8U);
}

uint64_t workspace_bytes(const OpCase& c) { return partial_blocks(c) * sizeof(double); }

void plan_mse(const OpCase& c, Plan& plan) {
  const uint32_t blocks = partial_blocks(c);
  plan.launch({blocks, 1, 1}, {threads_for(c.in(0).count()), 1, 1}, 0)
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.workspace)
      .arg(c.in(0).count());
  plan.launch({1, 1, 1}, {threads_for(blocks), 1, 1}, 1)
      .arg(c.workspace)
      .arg(c.out(0))
      .arg(static_cast<int32_t>(blocks))
      .arg(c.in(0).count());
}

void plan_grad(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.in(1)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& mse_op() {
  static const OpKind kOp = {
      .name = "mse",
      .summary = "loss = mean((x - target)^2)",
      .inputs = {{"x"}, {"target"}},
      .outputs = {{.name = "loss", .rank_max = 0}},
      .check = check_mse,
      .variants = {{.name = "two_steps",
                    .module = "mse",
                    .entries = {"mse_partial_{T}", "mse_total_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .workspace_bytes = workspace_bytes,
                    .plan = plan_mse}},
  };
  return kOp;
}

const OpKind& mse_grad_op() {
  static const OpKind kOp = {
      .name = "mse_grad",
      .summary = "dx = 2 (x - target) / n",
      .inputs = {{"x"}, {"target"}},
      .outputs = {{"dx"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "mse",
                    .entries = {"mse_grad_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_grad}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
