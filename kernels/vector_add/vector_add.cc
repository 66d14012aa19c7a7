// vector_add: elementwise; both inputs have the same shape.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_vector_add(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0))
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(c.in(0).count()));
}

}  // namespace

const OpKind& vector_add_op() {
  static const OpKind kOp = {
      .name = "vector_add",
      .summary = "y = a + b",
      .inputs = {{"a"}, {"b"}},
      .outputs = {{"y"}},
      .in_place = true,
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "vector_add",
                    .entries = {"vector_add_{T}"},
                    .types = float_types(),
                    .plan = plan_vector_add}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
