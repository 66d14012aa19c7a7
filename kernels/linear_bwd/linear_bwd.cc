// linear_bwd: the gradients of a linear layer.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

constexpr int64_t kSide = 64;
/// Up to this size, one thread per element is faster than filling a tile.
constexpr int64_t kSmallGradients = 4096, kSmallGradientTerms = 64;
constexpr uint32_t kSmallThreads = 128;

Status check_linear_bwd(const OpCase& c) {
  const int64_t m = c.in(0).shape[0], k = c.in(0).shape[1], n = c.in(1).shape[0];
  GPUEMU_TRY(check_shape(c.in(1), "w", {n, k}, "as many columns as x"));
  GPUEMU_TRY(check_shape(c.in(2), "dy", {m, n}, "rows of x by rows of w"));
  GPUEMU_TRY(check_shape(c.out(0), "dx", {m, k}, "the shape of x"));
  GPUEMU_TRY(check_shape(c.out(1), "dw", {n, k}, "the shape of w"));
  return check_shape(c.out(2), "dbias", {n}, "one element per row of w");
}

std::string unsupported_linear_bwd(const OpCase& c) {
  return grid_y_refusal(std::max(c.in(0).shape[0], c.in(1).shape[0]), kSide);
}

/// Returns the number of elements of all outputs.
int64_t elements_of(const OpCase& c) {
  const int64_t m = c.in(0).shape[0], k = c.in(0).shape[1], n = c.in(1).shape[0];
  return m * k + n * k + n;
}

std::string unsupported_small_gradients(const OpCase& c) {
  const int64_t elements = elements_of(c);
  const int64_t terms = std::max(c.in(0).shape[0], c.in(1).shape[0]);
  if (elements <= kSmallGradients && terms <= kSmallGradientTerms) return "";
  return fmt::format("the gradients have {} elements of up to {} terms, it takes up to {} of {}",
                     elements, terms, kSmallGradients, kSmallGradientTerms);
}

void plan_small(const OpCase& c, Plan& plan) {
  plan.launch({blocks_for(elements_of(c), kSmallThreads), 1, 1}, {kSmallThreads, 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.in(2))
      .arg(c.out(0))
      .arg(c.out(1))
      .arg(c.out(2))
      .arg(static_cast<int32_t>(c.in(0).shape[0]))
      .arg(static_cast<int32_t>(c.in(1).shape[0]))
      .arg(static_cast<int32_t>(c.in(0).shape[1]));
}

void plan_linear_bwd(const OpCase& c, Plan& plan) {
  const auto m = static_cast<int32_t>(c.in(0).shape[0]);
  const auto k = static_cast<int32_t>(c.in(0).shape[1]);
  const auto n = static_cast<int32_t>(c.in(1).shape[0]);
  const uint32_t across = blocks_for(k, kSide);
  plan.launch({across, blocks_for(m, kSide), 1}, {256, 1, 1}, 0)
      .touches({1, 2}, {0})
      .arg(c.in(2))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(m)
      .arg(n)
      .arg(k);
  plan.launch({across, blocks_for(n, kSide), 1}, {256, 1, 1}, 1)
      .touches({0, 2}, {1})
      .arg(c.in(2))
      .arg(c.in(0))
      .arg(c.out(1))
      .arg(m)
      .arg(n)
      .arg(k);
  plan.launch({blocks_for(n, 32), 1, 1}, {256, 1, 1}, 2)
      .touches({2}, {2})
      .arg(c.in(2))
      .arg(c.out(2))
      .arg(m)
      .arg(n);
}

}  // namespace

const OpKind& linear_bwd_op() {
  static const OpKind kOp = {
      .name = "linear_bwd",
      .summary = "of y = x * w^T + bias: dx = dy * w, dw = dy^T * x, dbias = column sums of dy",
      .inputs = {{.name = "x", .rank_min = 2, .rank_max = 2},
                 {.name = "w", .rank_min = 2, .rank_max = 2},
                 {.name = "dy", .rank_min = 2, .rank_max = 2}},
      .outputs = {{.name = "dx", .rank_min = 2, .rank_max = 2},
                  {.name = "dw", .rank_min = 2, .rank_max = 2},
                  {.name = "dbias", .rank_min = 1, .rank_max = 1}},
      .check = check_linear_bwd,
      .variants = {{.name = "small",
                    .module = "linear_bwd",
                    .entries = {"linear_bwd_small_{T}"},
                    .types = float_types(),
                    .priority = 1,
                    .unsupported = unsupported_small_gradients,
                    .plan = plan_small},
                   {.name = "tiled",
                    .module = "linear_bwd",
                    .entries = {"linear_bwd_dx_{T}", "linear_bwd_dw_{T}", "linear_bwd_dbias_{T}"},
                    .types = float_types(),
                    .unsupported = unsupported_linear_bwd,
                    .plan = plan_linear_bwd}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
