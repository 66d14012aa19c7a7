// attention, over the last two axes; the axes before them are a batch.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

constexpr int64_t kTile = 32;              ///< Queries per block; the same as in attention.cu.
constexpr int64_t kNaiveBlocksMax = 1024;  ///< Each needs a row of scores in the workspace.

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
                      const char* name, const char* why) {
  std::vector<int64_t> expected(c.in(0).shape.begin(), c.in(0).shape.end() - 2);
  expected.insert(expected.end(), matrix.begin(), matrix.end());
  if (std::ranges::equal(tensor.shape, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument, "{} is {}, expected {}: {}", name,
               shape_text(tensor.shape), shape_text(expected), why);
}

Status check_attention(const OpCase& c) {
  const size_t rank = c.in(0).rank();
  for (const DeviceTensor* one : {&c.in(1), &c.in(2), &c.out(0)}) {
    if (one->rank() == rank) continue;
    return error(ErrorCode::InvalidArgument,
                 "q is of rank {} and another tensor of rank {}, "
                 "expected the same for q, k, v and y",
                 rank, one->rank());
  }
  const Sizes size = sizes_of(c);
  GPUEMU_TRY(check_matrices(c, c.in(1), {size.keys, size.dim}, "k", "rows of v by columns of q"));
  GPUEMU_TRY(check_matrices(c, c.in(2), {size.keys, size.v_dim}, "v", "the batch of q"));
  GPUEMU_TRY(
      check_matrices(c, c.out(0), {size.queries, size.v_dim}, "y", "rows of q by columns of v"));
  const auto scale = c.attributes.get<double>("scale");
  if (std::isfinite(scale)) return ok_status();
  return error(ErrorCode::InvalidArgument, "scale is {}, expected a finite number", scale);
}

double scale_of(const OpCase& c) {
  const auto scale = c.attributes.get<double>("scale");
  const int64_t dim = sizes_of(c).dim;
  if (scale != 0 || dim == 0) return scale;
  return 1 / std::sqrt(static_cast<double>(dim));
}

void add_sizes_of(LaunchStep& step, const OpCase& c) {
  const Sizes size = sizes_of(c);
  for (const int64_t one : {size.batch, size.queries, size.keys, size.dim, size.v_dim}) {
    step.arg(static_cast<int32_t>(one));
  }
  step.arg(c.attributes.get<int32_t>("causal")).arg(scale_of(c));
}

uint32_t naive_blocks(const OpCase& c) {
  const Sizes size = sizes_of(c);
  return static_cast<uint32_t>(std::clamp<int64_t>(size.batch * size.queries, 1, kNaiveBlocksMax));
}

uint64_t score_bytes(const OpCase& c) {
  const uint64_t width = c.in(0).dtype == DType::Float64 ? sizeof(double) : sizeof(float);
  return static_cast<uint64_t>(sizes_of(c).keys) * naive_blocks(c) * width;
}

void plan_naive(const OpCase& c, Plan& plan) {
  LaunchStep& step = plan.launch({naive_blocks(c), 1, 1}, {128, 1, 1});
  step.arg(c.in(0)).arg(c.in(1)).arg(c.in(2)).arg(c.out(0)).arg(c.workspace);
  add_sizes_of(step, c);
}

void plan_online(const OpCase& c, Plan& plan) {
  const Sizes size = sizes_of(c);
  const int64_t blocks = size.batch * blocks_for(size.queries, kTile);
  LaunchStep& step = plan.launch(
      {static_cast<uint32_t>(std::clamp<int64_t>(blocks, 1, kGridXMax)), 1, 1}, {128, 1, 1});
  step.arg(c.in(0)).arg(c.in(1)).arg(c.in(2)).arg(c.out(0));
  add_sizes_of(step, c);
}

std::string unsupported_online(const OpCase& c) {
  const Sizes size = sizes_of(c);
  const int64_t most = c.in(0).dtype == DType::Float64 ? 64 : 128;
  if (size.dim <= most && size.v_dim <= most) return {};
  return fmt::format("q has {} and v {} columns, its tiles hold up to {}", size.dim, size.v_dim,
                     most);
}

}  // namespace

const OpKind& attention_op() {
  static const OpKind kOp = {
      .name = "attention",
      .summary = "y = softmax(scale q k^T) v of the last two axes",
      .inputs = {{.name = "q", .rank_min = 2},
                 {.name = "k", .rank_min = 2},
                 {.name = "v", .rank_min = 2}},
      .outputs = {{.name = "y", .rank_min = 2}},
      .schema = {.number = 19,
                 .fields = {{.name = "causal",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "1: query i sees the keys up to i"},
                            {.name = "scale",
                             .type = AttributeType::Float64,
                             .fallback = 0,
                             .meaning = "of the products; 0 is 1 / sqrt(columns of q)"}}},
      .check = check_attention,
      .variants = {{.name = "online",
                    .module = "attention",
                    .entries = {"attention_online_{T}"},
                    .types = float_types(),
                    .priority = 1,
                    .unsupported = unsupported_online,
                    .plan = plan_online},
                   {.name = "naive",
                    .module = "attention",
                    .entries = {"attention_naive_{T}"},
                    .types = float_types(),
                    .workspace_bytes = score_bytes,
                    .plan = plan_naive}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
