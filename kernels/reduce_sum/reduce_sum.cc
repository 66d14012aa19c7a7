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

void plan(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  launch_rows(plan, c.in(0), 256)
      .arg(c.in(0))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(size.rows))
      .arg(static_cast<int32_t>(size.cols));
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
                    .plan = plan}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
