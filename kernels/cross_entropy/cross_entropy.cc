// cross_entropy and its gradient, for rows of logits with one target column each.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_targets(const OpCase& c) {
  return check_shape(c.in(1), "target", {c.in(0).shape[0]}, "one column per row of x");
}

Status check_cross_entropy(const OpCase& c) {
  GPUEMU_TRY(check_targets(c));
  return check_shape(c.out(0), "loss", {c.in(0).shape[0]}, "one element per row of x");
}

Status check_grad(const OpCase& c) {
  const auto x = c.in(0).shape;
  GPUEMU_TRY(check_targets(c));
  GPUEMU_TRY(check_shape(c.in(2), "dloss", {x[0]}, "one element per row of x"));
  return check_shape(c.out(0), "dx", {x[0], x[1]}, "the shape of x");
}

void add_sizes_of(LaunchStep& step, const OpCase& c) {
  step.arg(static_cast<int32_t>(c.in(0).shape[0])).arg(static_cast<int32_t>(c.in(0).shape[1]));
}

void plan_cross_entropy(const OpCase& c, Plan& plan) {
  add_sizes_of(launch_rows(plan, c.in(0), 256).arg(c.in(0)).arg(c.in(1)).arg(c.out(0)), c);
}

void plan_grad(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_rows(plan, c.in(0), 256);
  add_sizes_of(step.arg(c.in(0)).arg(c.in(1)).arg(c.in(2)).arg(c.out(0)), c);
}

std::vector<TypeRule> types_of_cross_entropy() {
  std::vector<TypeRule> all = float_types();
  all.push_back({'I', {DType::Int32, DType::Int64}});
  return all;
}

}  // namespace

const OpKind& cross_entropy_op() {
  static const OpKind kOp = {
      .name = "cross_entropy",
      .summary = "loss = log(sum(exp(x))) - x[target] of each row; 0 where target is not a column",
      .inputs = {{.name = "x", .rank_min = 2, .rank_max = 2},
                 {.name = "target", .type = 'I', .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "loss", .rank_min = 1, .rank_max = 1}},
      .check = check_cross_entropy,
      .variants = {{.name = "block_per_row",
                    .module = "cross_entropy",
                    .entries = {"cross_entropy_{I}_{T}"},
                    .types = types_of_cross_entropy(),
                    .plan = plan_cross_entropy}},
  };
  return kOp;
}

const OpKind& cross_entropy_grad_op() {
  static const OpKind kOp = {
      .name = "cross_entropy_grad",
      .summary = "dx = (softmax(x) - onehot(target)) * dloss of each row",
      .inputs = {{.name = "x", .rank_min = 2, .rank_max = 2},
                 {.name = "target", .type = 'I', .rank_min = 1, .rank_max = 1},
                 {.name = "dloss", .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "dx", .rank_min = 2, .rank_max = 2}},
      .check = check_grad,
      .variants = {{.name = "block_per_row",
                    .module = "cross_entropy",
                    .entries = {"cross_entropy_grad_{I}_{T}"},
                    .types = types_of_cross_entropy(),
                    .plan = plan_grad}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
