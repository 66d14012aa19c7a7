// Gradients of attention, over the last two axes; the axes before them are a batch.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

constexpr uint32_t kThreads = 128;  ///< Per block; the limit of attention_bwd.cu.
constexpr uint64_t kNumbers = 3;    ///< Kept per query in the workspace.

struct Sizes {
  int64_t batch = 1, queries = 0, keys = 0, dim = 0, v_dim = 0;
};

Sizes sizes_of(const OpCase& c) {
  const auto q = c.in(0).shape, v = c.in(2).shape;
  const size_t rank = q.size();
  Sizes sizes{1, q[rank - 2], v[rank - 2], q[rank - 1], v[rank - 1]};
  for (size_t i = 0; i + 2 < rank; ++i) sizes.batch *= q[i];
  return sizes;
}

/// Checks that the tensor has the batch axes of q, followed by these two.
Status check_matrices(const OpCase& c, const DeviceTensor& tensor, std::array<int64_t, 2> matrix,
                      const char* name) {
  std::vector<int64_t> expected(c.in(0).shape.begin(), c.in(0).shape.end() - 2);
  expected.insert(expected.end(), matrix.begin(), matrix.end());
  if (std::ranges::equal(tensor.shape, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "{} is {}, expected {}: q is {}, [..., queries, dim], and v {}, [..., keys, v_dim]",
               name, shape_text(tensor.shape), shape_text(expected), shape_text(c.in(0).shape),
               shape_text(c.in(2).shape));
}

Status check_attention_bwd(const OpCase& c) {
  const Sizes size = sizes_of(c);
  GPUEMU_TRY(check_matrices(c, c.in(1), {size.keys, size.dim}, "k"));
  GPUEMU_TRY(check_matrices(c, c.in(2), {size.keys, size.v_dim}, "v"));
  GPUEMU_TRY(check_matrices(c, c.in(3), {size.queries, size.v_dim}, "dy"));
  GPUEMU_TRY(check_matrices(c, c.out(0), {size.queries, size.dim}, "dq"));
  GPUEMU_TRY(check_matrices(c, c.out(1), {size.keys, size.dim}, "dk"));
  GPUEMU_TRY(check_matrices(c, c.out(2), {size.keys, size.v_dim}, "dv"));
  const auto scale = c.attributes.get<double>("scale");
  if (std::isfinite(scale)) return ok_status();
  return error(ErrorCode::InvalidArgument, "scale is {}, expected a finite number", scale);
}

uint64_t row_bytes(const OpCase& c) {
  const uint64_t width = c.in(0).dtype == DType::Float64 ? sizeof(double) : sizeof(float);
  const Sizes size = sizes_of(c);
  return static_cast<uint64_t>(size.batch * size.queries) * kNumbers * width;
}

/// Adds a launch with one block per row, and the arguments common to all entries.
LaunchStep& launch(const OpCase& c, Plan& plan, int64_t rows, uint32_t entry) {
  const Sizes size = sizes_of(c);
  const auto blocks = static_cast<uint32_t>(std::clamp<int64_t>(rows, 1, kGridXMax));
  LaunchStep& step = plan.launch({blocks, 1, 1}, {kThreads, 1, 1}, entry);
  step.arg(c.in(0)).arg(c.in(1)).arg(c.in(2)).arg(c.in(3)).arg(c.workspace);
  for (const int64_t one : {size.batch, size.queries, size.keys, size.dim, size.v_dim}) {
    step.arg(static_cast<int32_t>(one));
  }
  const auto scale = c.attributes.get<double>("scale");
  step.arg(c.attributes.get<int32_t>("causal"));
  return step.arg(scale != 0 || size.dim == 0 ? scale
                                              : 1 / std::sqrt(static_cast<double>(size.dim)));
}

void plan_attention_bwd(const OpCase& c, Plan& plan) {
  const Sizes size = sizes_of(c);
  launch(c, plan, size.batch * size.queries, 0);
  launch(c, plan, size.batch * size.queries, 1).arg(c.out(0));
  launch(c, plan, size.batch * size.keys, 2).arg(c.out(1)).arg(c.out(2));
}

}  // namespace

const OpKind& attention_bwd_op() {
  static const OpKind kOp = {
      .name = "attention_bwd",
      .summary = "gradients of attention; its weights are computed again",
      .inputs = {{.name = "q", .rank_min = 2},
                 {.name = "k", .rank_min = 2},
                 {.name = "v", .rank_min = 2},
                 {.name = "dy", .rank_min = 2}},
      .outputs = {{.name = "dq", .rank_min = 2},
                  {.name = "dk", .rank_min = 2},
                  {.name = "dv", .rank_min = 2}},
      .schema = {.number = 32,
                 .fields = {{.name = "causal",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "1: query i sees the keys up to i"},
                            {.name = "scale",
                             .type = AttributeType::Float64,
                             .fallback = 0,
                             .meaning = "of the products; 0 is 1 / sqrt(columns of q)"}}},
      .check = check_attention_bwd,
      .variants = {{.name = "three_steps",
                    .module = "attention_bwd",
                    .entries = {"attention_bwd_rows_{T}", "attention_bwd_q_{T}",
                                "attention_bwd_kv_{T}"},
                    .types = float_types(),
                    .workspace_bytes = row_bytes,
                    .plan = plan_attention_bwd}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
