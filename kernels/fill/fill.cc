// fill: any shape.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_fill(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0))
      .arg(c.out(0))
      .arg(c.out(0).count())
      .arg(c.attributes.get<double>("value"));
}

}  // namespace

const OpKind& fill_op() {
  static const OpKind kOp = {
      .name = "fill",
      .summary = "y = value everywhere",
      .outputs = {{"y"}},
      .schema = {.number = 24,
                 .fields = {{.name = "value",
                             .type = AttributeType::Float64,
                             .fallback = 0,
                             .meaning = "rounded to the dtype of y"}}},
      .variants = {{.name = "grid_stride",
                    .module = "fill",
                    .entries = {"fill_{T}"},
                    .types = all_types(),
                    .wide = true,
                    .plan = plan_fill}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
