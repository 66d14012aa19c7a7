// sigmoid: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_sigmoid(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& sigmoid_op() {
  static const OpKind kOp = {
      .name = "sigmoid",
      .summary = "y = 1 / (1 + exp(-x))",
      .inputs = {{"x"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "sigmoid",
                    .entries = {"sigmoid_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_sigmoid},
                   generic_map("Sigmoid", float_types())},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
