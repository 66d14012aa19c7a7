// relu and its gradient: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_relu(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

void plan_bwd(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.in(1)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& relu_op() {
  static const OpKind kOp = {
      .name = "relu",
      .summary = "y = x above 0, else 0; NaN stays",
      .inputs = {{"x"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "relu",
                    .entries = {"relu_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_relu}},
  };
  return kOp;
}

const OpKind& relu_bwd_op() {
  static const OpKind kOp = {
      .name = "relu_bwd",
      .summary = "dx = dy where x is above 0 or NaN, else 0",
      .inputs = {{"x"}, {"dy"}},
      .outputs = {{"dx"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "relu",
                    .entries = {"relu_bwd_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_bwd},
                   generic_combine("ReluBackward", float_types())},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
