// matmul: the product of two matrices.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

Status check_matmul(const OpCase& c) {
  const int64_t m = c.in(0).shape[0], k = c.in(0).shape[1], n = c.in(1).shape[1];
  GPUEMU_TRY(check_shape(c.in(1), "b", {k, n}, "as many rows as a has columns"));
  return check_shape(c.out(0), "c", {m, n}, "rows of a by columns of b");
}

std::string unsupported_matmul(const OpCase& c) { return grid_y_refusal(c.in(0).shape[0], 16); }

void plan_matmul(const OpCase& c, Plan& plan) {
  const auto m = static_cast<int32_t>(c.in(0).shape[0]);
  const auto k = static_cast<int32_t>(c.in(0).shape[1]);
  const auto n = static_cast<int32_t>(c.in(1).shape[1]);
  plan.launch({blocks_for(n, 16), blocks_for(m, 16), 1}, {16, 16, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(m)
      .arg(n)
      .arg(k);
}

}  // namespace

const OpKind& matmul_op() {
  static const OpKind kOp = {
      .name = "matmul",
      .summary = "c = a * b, summed in float32",
      .inputs = {{.name = "a", .rank_min = 2, .rank_max = 2},
                 {.name = "b", .rank_min = 2, .rank_max = 2}},
      .outputs = {{.name = "c", .rank_min = 2, .rank_max = 2}},
      .check = check_matmul,
      .variants = {{.name = "tiled",
                    .module = "matmul",
                    .entries = {"matmul_{T}"},
                    .types = float_types(),
                    .unsupported = unsupported_matmul,
                    .plan = plan_matmul}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
