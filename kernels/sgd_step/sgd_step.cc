// sgd_step: one step of gradient descent with momentum; any shape.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_sgd_step(const OpCase& c) {
  for (const DeviceTensor* one : {&c.in(1), &c.in(2), &c.out(0), &c.out(1)}) {
    if (same_shape(*one, c.in(0))) continue;
    return error(ErrorCode::InvalidArgument,
                 "p is {} and another tensor {}; g, velocity and the outputs have its shape",
                 shape_text(c.in(0).shape), shape_text(one->shape));
  }
  return check_shape(c.in(3), "rate", {1}, "one number");
}

void plan_sgd_step(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.in(0));
  for (size_t i = 0; i < 4; ++i) step.arg(c.in(i));
  step.arg(c.out(0)).arg(c.out(1)).arg(c.in(0).count());
  add_number(step, c, "momentum");
  add_number(step, c, "decay");
}

std::vector<TypeRule> types_of_sgd_step() {
  std::vector<TypeRule> all = float_types();
  all.push_back({'R', {DType::Float32}});
  return all;
}

}  // namespace

const OpKind& sgd_step_op() {
  static const OpKind kOp = {
      .name = "sgd_step",
      .summary = "velocity = momentum velocity + g + decay p; p = p - rate velocity",
      .inputs = {{"p"}, {"g"}, {"velocity"}, {.name = "rate", .type = 'R'}},
      .outputs = {{"p_out"}, {"velocity_out"}},
      .schema = numbers_schema(11, {{"momentum", 0, "share of the velocity that stays"},
                                    {"decay", 0, "of weights, added to the gradient"}}),
      .in_place = true,
      .check = check_sgd_step,
      .variants = {{.name = "elementwise",
                    .module = "sgd_step",
                    .entries = {"sgd_step_{T}"},
                    .types = types_of_sgd_step(),
                    .wide = true,
                    .plan = plan_sgd_step}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
