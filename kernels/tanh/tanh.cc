// tanh: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_tanh(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& tanh_op() {
  static const OpKind kOp = {
      .name = "tanh",
      .summary = "y = tanh(x)",
      .inputs = {{"x"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "tanh",
                    .entries = {"tanh_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_tanh},
                   generic_map("Tanh", float_types())},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
