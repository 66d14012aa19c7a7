// reduce_max_bwd: the gradient of a maximum along one axis.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_reduce_max_bwd(const OpCase& c) {
  const auto rank = static_cast<int64_t>(c.in(0).rank());
  const int64_t axis = axis_of(c, c.in(0));
  if (axis < 0 || axis >= rank) {
    return error(ErrorCode::InvalidArgument, "axis is {}, expected {} to {}: x is {}",
                 c.attributes.get<int32_t>("axis"), -rank, rank - 1, shape_text(c.in(0).shape));
  }
  if (!same_shape(c.out(0), c.in(0))) {
    return error(ErrorCode::InvalidArgument, "dx is {}, expected {}, the shape of x",
                 shape_text(c.out(0).shape), shape_text(c.in(0).shape));
  }
  std::vector<int64_t> kept(c.in(0).shape.begin(), c.in(0).shape.end());
  kept[static_cast<size_t>(axis)] = 1;
  std::vector<int64_t> dropped = kept;
  dropped.erase(dropped.begin() + axis);
  const auto actual = c.in(1).shape;
  if (std::ranges::equal(actual, dropped) || std::ranges::equal(actual, kept)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "dy is {}, expected {} or {}: x, {}, without its axis {}", shape_text(actual),
               shape_text(dropped), shape_text(kept), shape_text(c.in(0).shape), axis);
}

void plan_reduce_max_bwd(const OpCase& c, Plan& plan) {
  const auto shape = c.in(0).shape;
  const auto axis = static_cast<size_t>(axis_of(c, c.in(0)));
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const auto blocks = static_cast<uint32_t>(std::clamp<int64_t>(outer * inner, 1, kGridXMax));
  const uint32_t threads = 32 * std::clamp(blocks_for(shape[axis], 32), 1U, 8U);
  plan.launch({blocks, 1, 1}, {threads, 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(outer))
      .arg(static_cast<int32_t>(shape[axis]))
      .arg(static_cast<int32_t>(inner));
}

}  // namespace

const OpKind& reduce_max_bwd_op() {
  static const OpKind kOp = {
      .name = "reduce_max_bwd",
      .summary = "dx = dy at the first largest element of x along an axis, else 0",
      .inputs = {{.name = "x", .rank_min = 1}, {"dy"}},
      .outputs = {{.name = "dx", .rank_min = 1}},
      .schema = {.number = 22,
                 .fields = {{.name = "axis",
                             .type = AttributeType::Int32,
                             .fallback = -1,
                             .meaning = "from 0, or from the end below 0"}}},
      .check = check_reduce_max_bwd,
      .variants = {{.name = "block_per_place",
                    .module = "reduce_max_bwd",
                    .entries = {"reduce_max_bwd_{T}"},
                    .types = float_types(),
                    .plan = plan_reduce_max_bwd}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
