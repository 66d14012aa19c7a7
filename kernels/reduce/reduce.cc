// reduce_sum, reduce_mean and reduce_max, along one axis of a tensor of any rank.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

constexpr uint32_t kThreads = 256;
/// Blocks that fill a large GPU; with fewer, a second launch is worthwhile for a long axis. Does
/// not depend on the device, so that results are the same on every one.
constexpr int64_t kBlocksWanted = 1024;
/// Elements of the axis that are worth a block of their own.
constexpr int64_t kRowPieceMin = 8192, kColumnPieceMin = 256;
/// Rows up to this length get a warp instead of a block.
constexpr int64_t kWarpRow = 1024;

/// The tensor as outer x length x inner around the axis.
struct Around {
  int64_t outer = 1, length = 1, inner = 1;
};

Around around_axis(const OpCase& c) {
  const auto shape = c.in(0).shape;
  const auto axis = static_cast<size_t>(axis_of(c, c.in(0)));
  Around sizes;
  for (size_t i = 0; i < axis; ++i) sizes.outer *= shape[i];
  sizes.length = shape[axis];
  for (size_t i = axis + 1; i < shape.size(); ++i) sizes.inner *= shape[i];
  return sizes;
}

Status check_reduce(const OpCase& c) {
  const auto rank = static_cast<int64_t>(c.in(0).rank());
  const int64_t axis = axis_of(c, c.in(0));
  if (axis < 0 || axis >= rank) {
    return error(ErrorCode::InvalidArgument, "axis is {}, expected {} to {}: x is {}",
                 c.attributes.get<int32_t>("axis"), -rank, rank - 1, shape_text(c.in(0).shape));
  }
  std::vector<int64_t> kept(c.in(0).shape.begin(), c.in(0).shape.end());
  kept[static_cast<size_t>(axis)] = 1;
  std::vector<int64_t> dropped = kept;
  dropped.erase(dropped.begin() + axis);
  const auto actual = c.out(0).shape;
  if (std::ranges::equal(actual, dropped) || std::ranges::equal(actual, kept)) return ok_status();
  return error(ErrorCode::InvalidArgument, "y is {}, expected {} or {}: x, {}, without its axis {}",
               shape_text(actual), shape_text(dropped), shape_text(kept), shape_text(c.in(0).shape),
               axis);
}

/// Returns the number of column tiles, as in kernels/columns.cuh.
int64_t tiles_of(const Around& sizes, DType dtype) {
  const auto packet = static_cast<int64_t>(16 / byte_size(dtype));
  return blocks_for(sizes.inner, 32 * (sizes.inner % packet == 0 ? packet : 1));
}

int64_t blocks_of(const Around& sizes, DType dtype, int64_t parts) {
  const int64_t pieces = sizes.outer * parts;
  if (sizes.inner > 1) return pieces * tiles_of(sizes, dtype);
  const int64_t piece = (sizes.length + parts - 1) / parts;
  return piece <= kWarpRow ? blocks_for(pieces, kThreads / 32) : pieces;
}

LaunchStep& launch(Plan& plan, const Around& sizes, DType dtype, int64_t parts, uint32_t entry) {
  const int64_t blocks = std::clamp<int64_t>(blocks_of(sizes, dtype, parts), 1, kGridXMax);
  return plan.launch({static_cast<uint32_t>(blocks), 1, 1}, {kThreads, 1, 1}, entry);
}

/// Returns the number of pieces into which the axis is cut; 1 if one launch is enough.
int64_t parts_of(const OpCase& c) {
  const Around sizes = around_axis(c);
  const int64_t least = sizes.inner > 1 ? kColumnPieceMin : kRowPieceMin;
  const int64_t blocks = std::max<int64_t>(blocks_of(sizes, c.in(0).dtype, 1), 1);
  return std::max<int64_t>(std::min(kBlocksWanted / blocks, sizes.length / least), 1);
}

std::string unsupported_split(const OpCase& c) {
  return parts_of(c) > 1 ? "" : "the axis is too short, or there is work for a device without it";
}

DType partial_dtype(const OpCase& c) {
  return c.in(0).dtype == DType::Float64 ? DType::Float64 : DType::Float32;
}

uint64_t partial_bytes(const OpCase& c) {
  return static_cast<uint64_t>(c.out(0).count() * parts_of(c)) * byte_size(partial_dtype(c));
}

void plan_split(const OpCase& c, Plan& plan) {
  const Around sizes = around_axis(c);
  const int64_t parts = parts_of(c);
  const auto outer = static_cast<int32_t>(sizes.outer), inner = static_cast<int32_t>(sizes.inner);
  const auto length = static_cast<int32_t>(sizes.length), count = static_cast<int32_t>(parts);
  launch(plan, sizes, c.in(0).dtype, parts, 0)
      .arg(c.in(0))
      .arg(c.workspace)
      .arg(outer)
      .arg(length)
      .arg(inner)
      .arg(count);
  launch(plan, {sizes.outer, parts, sizes.inner}, partial_dtype(c), 1, 1)
      .arg(c.workspace)
      .arg(c.out(0))
      .arg(outer)
      .arg(count)
      .arg(inner)
      .arg(length);
}

void plan_once(const OpCase& c, Plan& plan) {
  const Around sizes = around_axis(c);
  const bool rows = sizes.inner == 1;
  LaunchStep& step = launch(plan, sizes, c.in(0).dtype, 1, rows ? 0 : 1);
  step.arg(c.in(0)).arg(c.out(0)).arg(static_cast<int32_t>(sizes.outer));
  step.arg(static_cast<int32_t>(sizes.length));
  if (!rows) step.arg(static_cast<int32_t>(sizes.inner));
}

OpKind reduction(const std::string& name, const char* summary, uint32_t schema) {
  return {.name = name,
          .summary = summary,
          .inputs = {{.name = "x", .rank_min = 1}},
          .outputs = {{"y"}},
          .schema = {.number = schema,
                     .fields = {{.name = "axis",
                                 .type = AttributeType::Int32,
                                 .fallback = -1,
                                 .meaning = "from 0, or from the end below 0"}}},
          .check = check_reduce,
          .variants = {{.name = "two_steps",
                        .module = name,
                        .entries = {name + "_part_{T}", name + "_join_{T}"},
                        .types = float_types(),
                        .priority = 1,
                        .unsupported = unsupported_split,
                        .workspace_bytes = partial_bytes,
                        .plan = plan_split},
                       {.name = "one_step",
                        .module = name,
                        .entries = {name + "_{T}", name + "_columns_{T}"},
                        .types = float_types(),
                        .plan = plan_once}}};
}

}  // namespace

const OpKind& reduce_max_op() {
  static const OpKind kOp =
      reduction("reduce_max", "y = maximum of x along an axis; NaN where one is, -inf of none", 13);
  return kOp;
}
const OpKind& reduce_mean_op() {
  static const OpKind kOp =
      reduction("reduce_mean", "y = mean of x along an axis; NaN of none", 14);
  return kOp;
}
const OpKind& reduce_sum_op() {
  static const OpKind kOp = reduction("reduce_sum", "y = sum of x along an axis; 0 of none", 15);
  return kOp;
}

}  // namespace gpuemu::kernels
