// gelu: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_gelu(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0))
      .arg(c.in(0))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(c.in(0).count()));
}

}  // namespace

const OpKind& gelu_op() {
  static const OpKind kOp = {
      .name = "gelu",
      .summary = "y = x * Phi(x) with the exact normal distribution",
      .inputs = {{"x"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "gelu",
                    .entries = {"gelu_{T}"},
                    .types = float_types(),
                    .plan = plan_gelu},
                   generic_map("Gelu", float_types())},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
