// Maximum and mean over windows of NCHW images, and their gradients.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// The tensors of an op that are the images and the windows.
struct Roles {
  const DeviceTensor& images;
  const DeviceTensor& windows;
};

Roles forward(const OpCase& c) { return {c.in(0), c.out(0)}; }
/// The last input is dy.
Roles backward(const OpCase& c) { return {c.out(0), c.in(c.inputs.size() - 1)}; }

struct Steps {
  int64_t kernel_rows, kernel_columns, stride_rows, stride_columns;
};

Steps steps_of(const OpCase& c) {
  const auto number = [&](const char* name) { return int64_t{c.attributes.get<int32_t>(name)}; };
  Steps steps{number("kernel_rows"), number("kernel_columns"), number("stride_rows"),
              number("stride_columns")};
  if (steps.stride_rows == 0) steps.stride_rows = steps.kernel_rows;
  if (steps.stride_columns == 0) steps.stride_columns = steps.kernel_columns;
  return steps;
}

Status check_roles(const OpCase& c, const Roles& roles, const char* windows_name) {
  const Steps steps = steps_of(c);
  if (steps.kernel_rows < 1 || steps.kernel_columns < 1 || steps.stride_rows < 1 ||
      steps.stride_columns < 1) {
    return error(ErrorCode::InvalidArgument,
                 "a kernel of {} by {} with strides {} and {}: expected numbers from 1, or strides "
                 "of 0 for those of the kernel",
                 steps.kernel_rows, steps.kernel_columns, steps.stride_rows, steps.stride_columns);
  }
  const auto x = roles.images.shape;
  const auto fit = [](int64_t size, int64_t kernel, int64_t stride) {
    return size < kernel ? 0 : (size - kernel) / stride + 1;
  };
  return check_shape(roles.windows, windows_name,
                     {x[0], x[1], fit(x[2], steps.kernel_rows, steps.stride_rows),
                      fit(x[3], steps.kernel_columns, steps.stride_columns)},
                     "the windows that fit into " + shape_text(x));
}

Status check_forward(const OpCase& c) { return check_roles(c, forward(c), "y"); }

Status check_backward(const OpCase& c) {
  if (c.inputs.size() == 2 && !same_shape(c.in(0), c.out(0))) {
    return error(ErrorCode::InvalidArgument, "dx is {}, expected {}, the shape of x",
                 shape_text(c.out(0).shape), shape_text(c.in(0).shape));
  }
  return check_roles(c, backward(c), "dy");
}

void plan_with(const OpCase& c, Plan& plan, const Roles& roles) {
  LaunchStep& step = plan.launch({blocks_for(c.out(0).count(), 256), 1, 1}, {256, 1, 1});
  for (const DeviceTensor& tensor : c.inputs) step.arg(tensor);
  step.arg(c.out(0));
  const auto x = roles.images.shape, y = roles.windows.shape;
  const Steps steps = steps_of(c);
  for (const int64_t one : {x[0] * x[1], x[2], x[3], steps.kernel_rows, steps.kernel_columns,
                            steps.stride_rows, steps.stride_columns, y[2], y[3]}) {
    step.arg(static_cast<int32_t>(one));
  }
}

void plan_forward(const OpCase& c, Plan& plan) { plan_with(c, plan, forward(c)); }
void plan_backward(const OpCase& c, Plan& plan) { plan_with(c, plan, backward(c)); }

OpKind pooling(const std::string& name, const char* summary, uint32_t schema,
               const std::vector<const char*>& inputs, bool is_forward) {
  const auto operand = [](const char* of) {
    return OperandSpec{.name = of, .rank_min = 4, .rank_max = 4};
  };
  const auto field = [](const char* of, std::optional<double> fallback, const char* meaning) {
    return AttributeField{
        .name = of, .type = AttributeType::Int32, .fallback = fallback, .meaning = meaning};
  };
  OpKind op = {.name = name,
               .summary = summary,
               .outputs = {operand(is_forward ? "y" : "dx")},
               .schema = {.number = schema,
                          .fields = {field("kernel_rows", 2, "of a window"),
                                     field("kernel_columns", 2, "of a window"),
                                     field("stride_rows", 0, "0 is kernel_rows"),
                                     field("stride_columns", 0, "0 is kernel_columns")}},
               .check = is_forward ? check_forward : check_backward,
               .variants = {{.name = "thread_per_element",
                             .module = "pool2d",
                             .entries = {name + "_{T}"},
                             .types = float_types(),
                             .plan = is_forward ? plan_forward : plan_backward}}};
  for (const char* one : inputs) op.inputs.push_back(operand(one));
  return op;
}

}  // namespace

const OpKind& avg_pool2d_op() {
  static const OpKind kOp =
      pooling("avg_pool2d", "y = the mean of each window of images x (NCHW)", 28, {"x"}, true);
  return kOp;
}
const OpKind& avg_pool2d_bwd_op() {
  static const OpKind kOp =
      pooling("avg_pool2d_bwd", "dx = the gradient of avg_pool2d", 29, {"dy"}, false);
  return kOp;
}
const OpKind& max_pool2d_op() {
  static const OpKind kOp =
      pooling("max_pool2d", "y = the maximum of each window of images x (NCHW)", 30, {"x"}, true);
  return kOp;
}
const OpKind& max_pool2d_bwd_op() {
  static const OpKind kOp =
      pooling("max_pool2d_bwd", "dx = dy at the first largest element of each window, summed", 31,
              {"x", "dy"}, false);
  return kOp;
}

}  // namespace gpuemu::kernels
