// gather: slices along one axis selected by an index. embedding: selected rows of a table, and its
// gradient.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// Checks that y has the axes of the index in place of the axis.
Status check_along(const OpCase& c, int64_t axis) {
  const auto x = c.in(0).shape, index = c.in(1).shape;
  std::vector<int64_t> expected(x.begin(), x.begin() + axis);
  expected.insert(expected.end(), index.begin(), index.end());
  expected.insert(expected.end(), x.begin() + axis + 1, x.end());
  const auto actual = c.out(0).shape;
  if (std::vector<int64_t>(actual.begin(), actual.end()) == expected) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "y is {}, expected {}: {}, {}, with those of index, {}, "
               "instead of axis {}",
               shape_text(actual), shape_text(expected), c.op.inputs[0].name, shape_text(x),
               shape_text(index), axis);
}

Status check_gather(const OpCase& c) {
  const auto rank = static_cast<int64_t>(c.in(0).rank());
  const int64_t axis = axis_of(c, c.in(0));
  if (axis >= 0 && axis < rank) return check_along(c, axis);
  return error(ErrorCode::InvalidArgument, "axis is {}, expected {} to {}: x is {}",
               c.attributes.get<int32_t>("axis"), -rank, rank - 1, shape_text(c.in(0).shape));
}

Status check_embedding(const OpCase& c) { return check_along(c, 0); }

void plan_along(const OpCase& c, Plan& plan, int64_t axis) {
  const auto x = c.in(0).shape;
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= x[static_cast<size_t>(i)];
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.size(); ++i) inner *= x[i];
  launch_packets(plan, c.out(0))
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(outer))
      .arg(static_cast<int32_t>(x[static_cast<size_t>(axis)]))
      .arg(static_cast<int32_t>(inner))
      .arg(static_cast<int32_t>(c.in(1).count()));
}

void plan_gather(const OpCase& c, Plan& plan) { plan_along(c, plan, axis_of(c, c.in(0))); }
void plan_embedding(const OpCase& c, Plan& plan) { plan_along(c, plan, 0); }

Status check_backward(const OpCase& c) {
  const auto index = c.in(0).shape, dtable = c.out(0).shape;
  std::vector<int64_t> expected(index.begin(), index.end());
  expected.push_back(dtable[1]);
  const auto dy = c.in(1).shape;
  if (std::ranges::equal(dy, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "dy is {}, expected {}: index, {}, and the columns of dtable, {}", shape_text(dy),
               shape_text(expected), shape_text(index), shape_text(dtable));
}

void plan_backward(const OpCase& c, Plan& plan) {
  const auto rows = c.out(0).shape[0], cols = c.out(0).shape[1];
  const int64_t blocks = std::clamp<int64_t>(rows * blocks_for(cols, 1024), 1, kGridXMax);
  plan.launch({static_cast<uint32_t>(blocks), 1, 1}, {256, 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(rows))
      .arg(static_cast<int32_t>(cols))
      .arg(static_cast<int32_t>(c.in(0).count()));
}

std::vector<TypeRule> backward_types() {
  std::vector<TypeRule> types = float_types();
  types.push_back({'I', {DType::Int32, DType::Int64}});
  return types;
}

KernelVariant variant(void (*plan)(const OpCase&, Plan&)) {
  std::vector<TypeRule> types = all_types();
  types.push_back({'I', {DType::Int32, DType::Int64}});
  return {.name = "packets",
          .module = "gather",
          .entries = {"gather_{I}_{T}"},
          .types = std::move(types),
          .plan = plan};
}

}  // namespace

const OpKind& embedding_op() {
  static const OpKind kOp = {
      .name = "embedding",
      .summary = "y[j] = table[index[j]]; 0 where index names no row",
      .inputs = {{.name = "table", .rank_min = 2, .rank_max = 2}, {.name = "index", .type = 'I'}},
      .outputs = {{"y"}},
      .check = check_embedding,
      .variants = {variant(plan_embedding)},
  };
  return kOp;
}

const OpKind& embedding_bwd_op() {
  static const OpKind kOp = {
      .name = "embedding_bwd",
      .summary = "dtable = the sums of the rows of dy that index gives each row, in their order",
      .inputs = {{.name = "index", .type = 'I'}, {.name = "dy", .rank_min = 1}},
      .outputs = {{.name = "dtable", .rank_min = 2, .rank_max = 2}},
      .check = check_backward,
      .variants = {{.name = "block_per_row",
                    .module = "embedding_bwd",
                    .entries = {"embedding_bwd_{I}_{T}"},
                    .types = backward_types(),
                    .plan = plan_backward}},
  };
  return kOp;
}

const OpKind& gather_op() {
  static const OpKind kOp = {
      .name = "gather",
      .summary = "the slices of x along an axis that index names; 0 where it names none",
      .inputs = {{.name = "x", .rank_min = 1}, {.name = "index", .type = 'I'}},
      .outputs = {{"y"}},
      .schema = {.number = 17,
                 .fields = {{.name = "axis",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "from 0, or from the end below 0"}}},
      .check = check_gather,
      .variants = {variant(plan_gather)},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
