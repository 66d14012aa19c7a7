// reduce_sum: over the last axis, which the output does not have.
#include <algorithm>

#include "kernels/rules.h"

namespace gpuemu::kernels {
namespace {

Status check(const OpCase& c) {
  const auto expected = c.in(0).shape.first(c.in(0).rank() - 1);
  if (std::ranges::equal(c.out(0).shape, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument, "y is {}, expected {}: x, {}, without its last axis",
               shape_text(c.out(0).shape), shape_text(expected), shape_text(c.in(0).shape));
}

}  // namespace

const OpKind& reduce_sum_op() {
  static const OpKind kOp = {
      .name = "reduce_sum",
      .summary = "y = sum of x over the last axis",
      .inputs = {{.name = "x", .rank_min = 1}},
      .outputs = {{"y"}},
      .check = check,
      .variants = {{.name = "block_per_row",
                    .module = "reduce_sum",
                    .entries = {"reduce_sum_{T}"},
                    .types = float_types(),
                    .plan = plan_row_op}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
