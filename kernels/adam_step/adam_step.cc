// adam_step: one step of Adam with decoupled weight decay, any shape.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_adam_step(const OpCase& c) {
  for (const DeviceTensor* one : {&c.in(1), &c.in(2), &c.in(3), &c.out(0), &c.out(1), &c.out(2)}) {
    if (same_shape(*one, c.in(0))) continue;
    return error(ErrorCode::InvalidArgument,
                 "p is {} and another tensor {}; g, m, v and the outputs have its shape",
                 shape_text(c.in(0).shape), shape_text(one->shape));
  }
  return check_shape(c.in(4), "scalars", {3}, "rate and both bias corrections");
}

void plan_adam_step(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.in(0));
  for (size_t i = 0; i < 5; ++i) step.arg(c.in(i));
  for (size_t i = 0; i < 3; ++i) step.arg(c.out(i));
  step.arg(c.in(0).count());
  for (const char* number : {"beta1", "beta2", "eps", "decay"}) add_number(step, c, number);
}

KernelVariant variant(const char* name, std::vector<DType> parameters, DType moments) {
  return {.name = name,
          .module = "adam_step",
          .entries = {"adam_step_{T}"},
          .types = {{'T', std::move(parameters)}, {'M', {moments}}, {'R', {DType::Float32}}},
          .wide = true,
          .plan = plan_adam_step};
}

}  // namespace

const OpKind& adam_step_op() {
  static const OpKind kOp = {
      .name = "adam_step",
      .summary =
          "m, v: running means of g and g^2; p = p - rate (m c1 / (sqrt(v c2) + eps) + decay p)",
      .inputs = {{"p"},
                 {"g"},
                 {.name = "m", .type = 'M'},
                 {.name = "v", .type = 'M'},
                 {.name = "scalars", .type = 'R'}},
      .outputs = {{"p_out"}, {.name = "m_out", .type = 'M'}, {.name = "v_out", .type = 'M'}},
      .schema = numbers_schema(12, {{"beta1", 0.9, "share of m that stays"},
                                    {"beta2", 0.999, "share of v that stays"},
                                    {"eps", 1e-8, "added to the root of v"},
                                    {"decay", 0, "of weights, beside the gradient"}}),
      .in_place = true,
      .check = check_adam_step,
      .variants = {variant("float_moments", {DType::Float32, DType::Float16, DType::BFloat16},
                           DType::Float32),
                   variant("double_moments", {DType::Float64}, DType::Float64)},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
