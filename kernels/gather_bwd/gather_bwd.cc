// gather_bwd: the gradient of gather.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// Checks that dy has the axes of the index in place of the axis of dx.
Status check_gather_bwd(const OpCase& c) {
  const auto dx = c.out(0).shape, index = c.in(0).shape;
  const auto rank = static_cast<int64_t>(dx.size());
  const int64_t axis = axis_of(c, c.out(0));
  if (axis < 0 || axis >= rank) {
    return error(ErrorCode::InvalidArgument, "axis is {}, expected {} to {}: dx is {}",
                 c.attributes.get<int32_t>("axis"), -rank, rank - 1, shape_text(dx));
  }
  std::vector<int64_t> expected(dx.begin(), dx.begin() + axis);
  expected.insert(expected.end(), index.begin(), index.end());
  expected.insert(expected.end(), dx.begin() + axis + 1, dx.end());
  if (std::ranges::equal(c.in(1).shape, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "dy is {}, expected {}: dx, {}, with the axes of index, {}, instead of axis {}",
               shape_text(c.in(1).shape), shape_text(expected), shape_text(dx), shape_text(index),
               axis);
}

void plan_gather_bwd(const OpCase& c, Plan& plan) {
  const auto dx = c.out(0).shape;
  const auto axis = static_cast<size_t>(axis_of(c, c.out(0)));
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= dx[i];
  for (size_t i = axis + 1; i < dx.size(); ++i) inner *= dx[i];
  plan.launch({blocks_for(c.out(0).count(), 256), 1, 1}, {256, 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(outer))
      .arg(static_cast<int32_t>(dx[axis]))
      .arg(static_cast<int32_t>(inner))
      .arg(static_cast<int32_t>(c.in(0).count()));
}

std::vector<TypeRule> types_of_gather_bwd() {
  std::vector<TypeRule> all = float_types();
  all.push_back({'I', {DType::Int32, DType::Int64}});
  return all;
}

}  // namespace

const OpKind& gather_bwd_op() {
  static const OpKind kOp = {
      .name = "gather_bwd",
      .summary = "dx = the sums of the slices of dy that index gives each place, in their order",
      .inputs = {{.name = "index", .type = 'I'}, {"dy"}},
      .outputs = {{.name = "dx", .rank_min = 1}},
      .schema = {.number = 23,
                 .fields = {{.name = "axis",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "of dx, from 0, or from the end below 0"}}},
      .check = check_gather_bwd,
      .variants = {{.name = "thread_per_element",
                    .module = "gather_bwd",
                    .entries = {"gather_bwd_{I}_{T}"},
                    .types = types_of_gather_bwd(),
                    .plan = plan_gather_bwd}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
