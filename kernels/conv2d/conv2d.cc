// Convolutions of NCHW images with OIHW filters, and their gradients.
#include <algorithm>
#include <array>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

/// The tensors of an op that are the images, the filters and the result.
struct Roles {
  const DeviceTensor& images;
  const DeviceTensor& filters;
  const DeviceTensor& out;
};

Roles forward(const OpCase& c) { return {c.in(0), c.in(1), c.out(0)}; }
Roles of_images(const OpCase& c) { return {c.out(0), c.in(0), c.in(1)}; }
Roles of_filters(const OpCase& c) { return {c.in(0), c.out(0), c.in(1)}; }

struct Steps {
  int64_t stride_rows, stride_columns, pad_rows, pad_columns;
};

Steps steps_of(const OpCase& c) {
  const auto number = [&](const char* name) { return int64_t{c.attributes.get<int32_t>(name)}; };
  return {number("stride_rows"), number("stride_columns"), number("pad_rows"),
          number("pad_columns")};
}

/// Returns the number of windows that fit; 0 or less if none does.
int64_t windows(int64_t size, int64_t pad, int64_t kernel, int64_t stride) {
  return size + 2 * pad < kernel ? 0 : (size + 2 * pad - kernel) / stride + 1;
}

Status check_roles(const OpCase& c, const Roles& roles, const char* out_name) {
  const Steps steps = steps_of(c);
  if (steps.stride_rows < 1 || steps.stride_columns < 1 || steps.pad_rows < 0 ||
      steps.pad_columns < 0) {
    return error(ErrorCode::InvalidArgument,
                 "strides {} and {}, padding {} and {}: expected strides from 1 and padding from 0",
                 steps.stride_rows, steps.stride_columns, steps.pad_rows, steps.pad_columns);
  }
  const auto x = roles.images.shape, w = roles.filters.shape;
  if (x[1] != w[1]) {
    return error(ErrorCode::InvalidArgument,
                 "images {} have {} channels and filters {} have {}, expected the same",
                 shape_text(x), x[1], shape_text(w), w[1]);
  }
  return check_shape(roles.out, out_name,
                     {x[0], w[0], windows(x[2], steps.pad_rows, w[2], steps.stride_rows),
                      windows(x[3], steps.pad_columns, w[3], steps.stride_columns)},
                     "images by filters by the windows that fit");
}

Status check_forward(const OpCase& c) { return check_roles(c, forward(c), "y"); }
Status check_of_images(const OpCase& c) { return check_roles(c, of_images(c), "dy"); }
Status check_of_filters(const OpCase& c) { return check_roles(c, of_filters(c), "dy"); }

void add_arguments(LaunchStep& step, const OpCase& c, const Roles& roles) {
  step.arg(c.in(0)).arg(c.in(1)).arg(c.out(0));
  const auto x = roles.images.shape, w = roles.filters.shape, y = roles.out.shape;
  const Steps steps = steps_of(c);
  for (const int64_t one : {x[0], x[1], x[2], x[3], w[0], w[2], w[3], y[2], y[3], steps.stride_rows,
                            steps.stride_columns, steps.pad_rows, steps.pad_columns}) {
    step.arg(static_cast<int32_t>(one));
  }
}

void plan_forward(const OpCase& c, Plan& plan) {
  LaunchStep& step = plan.launch({blocks_for(c.out(0).count(), 256), 1, 1}, {256, 1, 1});
  add_arguments(step, c, forward(c));
}

void plan_of_images(const OpCase& c, Plan& plan) {
  LaunchStep& step = plan.launch({blocks_for(c.out(0).count(), 256), 1, 1}, {256, 1, 1});
  add_arguments(step, c, of_images(c));
}

void plan_of_filters(const OpCase& c, Plan& plan) {
  const auto blocks = static_cast<uint32_t>(std::clamp<int64_t>(c.out(0).count(), 1, kGridXMax));
  add_arguments(plan.launch({blocks, 1, 1}, {128, 1, 1}), c, of_filters(c));
}

/// The differences between the three ops.
struct ConvolutionKind {
  std::string name;
  const char* summary;
  uint32_t schema;
  std::array<const char*, 3> operands;
  const char* variant;
  Status (*check)(const OpCase&);
  void (*plan)(const OpCase&, Plan&);
};

OpKind convolution(const ConvolutionKind& kind) {
  const auto operand = [](const char* of) {
    return OperandSpec{.name = of, .rank_min = 4, .rank_max = 4};
  };
  const auto field = [](const char* of, double fallback, const char* meaning) {
    return AttributeField{
        .name = of, .type = AttributeType::Int32, .fallback = fallback, .meaning = meaning};
  };
  return {.name = kind.name,
          .summary = kind.summary,
          .inputs = {operand(kind.operands[0]), operand(kind.operands[1])},
          .outputs = {operand(kind.operands[2])},
          .schema = {.number = kind.schema,
                     .fields = {field("stride_rows", 1, "rows from one window to the next"),
                                field("stride_columns", 1, "columns from one window to the next"),
                                field("pad_rows", 0, "rows of zeros above and below"),
                                field("pad_columns", 0, "columns of zeros left and right")}},
          .check = kind.check,
          .variants = {{.name = kind.variant,
                        .module = "conv2d",
                        .entries = {kind.name + "_{T}"},
                        .types = float_types(),
                        .plan = kind.plan}}};
}

}  // namespace

const OpKind& conv2d_op() {
  static const OpKind kOp =
      convolution({"conv2d",
                   "y = the products of images x (NCHW) with filters w (OIHW)",
                   25,
                   {"x", "w", "y"},
                   "thread_per_element",
                   check_forward,
                   plan_forward});
  return kOp;
}
const OpKind& conv2d_bwd_w_op() {
  static const OpKind kOp = convolution({"conv2d_bwd_w",
                                         "dw = the gradient of conv2d by its filters",
                                         27,
                                         {"x", "dy", "dw"},
                                         "block_per_weight",
                                         check_of_filters,
                                         plan_of_filters});
  return kOp;
}
const OpKind& conv2d_bwd_x_op() {
  static const OpKind kOp = convolution({"conv2d_bwd_x",
                                         "dx = the gradient of conv2d by its images",
                                         26,
                                         {"w", "dy", "dx"},
                                         "thread_per_element",
                                         check_of_images,
                                         plan_of_images});
  return kOp;
}

}  // namespace gpuemu::kernels
