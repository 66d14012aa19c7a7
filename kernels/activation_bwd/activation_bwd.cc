// Gradients of gelu, silu, sigmoid and tanh: elementwise, any shape.
#include "kernels/elementwise/elementwise.h"
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_activation_bwd(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.in(1)).arg(c.out(0)).arg(c.in(0).count());
}

/// `function`: name in the CUDA source; `given`: the input from which the slope is computed.
OpKind gradient(const std::string& name, const char* function, const char* given,
                const char* summary) {
  return {.name = name,
          .summary = summary,
          .inputs = {{given}, {"dy"}},
          .outputs = {{"dx"}},
          .in_place = true,
          .check = check_same_shapes,
          .variants = {{.name = "packets",
                        .module = "activation_bwd",
                        .entries = {name + "_{T}"},
                        .types = float_types(),
                        .wide = true,
                        .plan = plan_activation_bwd},
                       generic_combine(function, float_types())}};
}

}  // namespace

const OpKind& gelu_bwd_op() {
  static const OpKind kOp =
      gradient("gelu_bwd", "GeluBackward", "x",
               "dx = dy * (Phi(x) + x phi(x)) with the exact normal distribution");
  return kOp;
}
const OpKind& sigmoid_bwd_op() {
  static const OpKind kOp =
      gradient("sigmoid_bwd", "SigmoidBackward", "y", "dx = dy * y * (1 - y) of y = sigmoid(x)");
  return kOp;
}
const OpKind& silu_bwd_op() {
  static const OpKind kOp = gradient("silu_bwd", "SiluBackward", "x",
                                     "dx = dy * s * (1 + x (1 - s)) with s = sigmoid(x)");
  return kOp;
}
const OpKind& tanh_bwd_op() {
  static const OpKind kOp =
      gradient("tanh_bwd", "TanhBackward", "y", "dx = dy * (1 - y * y) of y = tanh(x)");
  return kOp;
}

}  // namespace gpuemu::kernels
