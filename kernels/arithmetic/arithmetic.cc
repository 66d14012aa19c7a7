// add, sub, mul and div, for tensors that broadcast to the shape of the result.
#include <algorithm>

#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// Sizes must be those of y, or 1, aligned at the last axis.
Status check_arithmetic(const OpCase& c) {
  const DeviceTensor& y = c.out(0);
  for (size_t i = 0; i < 2; ++i) {
    const DeviceTensor& x = c.in(i);
    bool fits = x.rank() <= y.rank();
    for (size_t axis = 1; fits && axis <= x.rank(); ++axis) {
      const int64_t size = x.shape[x.rank() - axis];
      fits = size == 1 || size == y.shape[y.rank() - axis];
    }
    if (fits) continue;
    return error(ErrorCode::InvalidArgument, "{} is {}, which does not broadcast to y, {}",
                 c.op.inputs[i].name, shape_text(x.shape), shape_text(y.shape));
  }
  return ok_status();
}

std::string unsupported_arithmetic(const OpCase& c) {
  return c.out(0).contiguous() ? "" : "y is not contiguous";
}

void plan_arithmetic(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.in(1)).arg(c.out(0));
  add_sizes(step, c.out(0));
  add_broadcast_strides(step, c.in(0));
  add_broadcast_strides(step, c.in(1));
}

/// `types`: dtypes of the compiled entries; `generic`: dtypes compiled on first use.
OpKind operation(const char* name, const char* function, const char* summary,
                 std::vector<TypeRule> types, std::vector<TypeRule> generic) {
  return {
      .name = name,
      .summary = summary,
      .inputs = {{.name = "a", .rank_max = kStridedAxes}, {.name = "b", .rank_max = kStridedAxes}},
      .outputs = {{.name = "y", .rank_max = kStridedAxes}},
      .check = check_arithmetic,
      .variants = {{.name = "strided",
                    .module = "arithmetic",
                    .entries = {std::string(name) + "_{T}"},
                    .types = std::move(types),
                    .strided = true,
                    .wide = true,
                    .unsupported = unsupported_arithmetic,
                    .plan = plan_arithmetic},
                   generic_combine(function, std::move(generic))}};
}

std::vector<TypeRule> with_integers() {
  std::vector<TypeRule> types = float_types();
  types[0].dtypes.push_back(DType::Int32);
  types[0].dtypes.push_back(DType::Int64);
  return types;
}

}  // namespace

const OpKind& add_op() {
  static const OpKind kOp =
      operation("add", "Add", "y = a + b, with broadcasting", with_integers(), number_types());
  return kOp;
}
const OpKind& div_op() {
  static const OpKind kOp =
      operation("div", "Div", "y = a / b, with broadcasting", float_types(), float_types());
  return kOp;
}
const OpKind& mul_op() {
  static const OpKind kOp =
      operation("mul", "Mul", "y = a * b, with broadcasting", with_integers(), number_types());
  return kOp;
}
const OpKind& sub_op() {
  static const OpKind kOp =
      operation("sub", "Sub", "y = a - b, with broadcasting", with_integers(), number_types());
  return kOp;
}

}  // namespace gpuemu::kernels
