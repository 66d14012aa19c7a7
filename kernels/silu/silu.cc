// silu: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_silu(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& silu_op() {
  static const OpKind kOp = {
      .name = "silu",
      .summary = "y = x / (1 + exp(-x))",
      .inputs = {{"x"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "silu",
                    .entries = {"silu_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_silu},
                   generic_map("Silu", float_types())},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
