// gemm: the product of two matrices, each optionally transposed.
#include <algorithm>
#include <bit>

#include "kernels/op_checks.h"
#include "runtime/device/device.h"

namespace gpuemu::kernels {
namespace {

struct Sizes {
  int64_t m, n, k;
};

bool transposed(const OpCase& c, const char* name) { return c.attributes.get<int32_t>(name) != 0; }

Sizes sizes_of(const OpCase& c) {
  const auto a = c.in(0).shape;
  const auto b = c.in(1).shape;
  const bool turn_a = transposed(c, "trans_a");
  return {turn_a ? a[1] : a[0], transposed(c, "trans_b") ? b[0] : b[1], turn_a ? a[0] : a[1]};
}

Status check_gemm(const OpCase& c) {
  const Sizes size = sizes_of(c);
  if (transposed(c, "trans_b")) {
    GPUEMU_TRY(check_shape(c.in(1), "b", {size.n, size.k}, "n x k, as trans_b is set"));
  } else {
    GPUEMU_TRY(check_shape(c.in(1), "b", {size.k, size.n}, "as many rows as op(a) has columns"));
  }
  return check_shape(c.out(0), "c", {size.m, size.n}, "rows of op(a) by columns of op(b)");
}

void launch(const OpCase& c, Plan& plan, Dim3 block, int64_t side) {
  const Sizes size = sizes_of(c);
  plan.launch({blocks_for(size.n, side), blocks_for(size.m, side), 1}, block)
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(static_cast<int32_t>(size.m))
      .arg(static_cast<int32_t>(size.n))
      .arg(static_cast<int32_t>(size.k))
      .arg(static_cast<int32_t>(transposed(c, "trans_a")))
      .arg(static_cast<int32_t>(transposed(c, "trans_b")));
}

/// Up to this size, one thread per element is faster than filling a tile.
constexpr int64_t kSmallElements = 1024, kSmallTerms = 64;

int64_t tiled_side(const OpCase& c) { return c.in(0).dtype == DType::Float64 ? 64 : 128; }

/// Plans one thread per element of c; a small c needs only part of a block.
void plan_naive(const OpCase& c, Plan& plan) {
  constexpr int64_t kSide = 16;
  const Sizes size = sizes_of(c);
  const auto side_for = [&](int64_t count) {
    return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(count, 1, kSide)));
  };
  launch(c, plan, {side_for(size.n), side_for(size.m), 1}, kSide);
}
void plan_tiled(const OpCase& c, Plan& plan) { launch(c, plan, {256, 1, 1}, tiled_side(c)); }
void plan_mma(const OpCase& c, Plan& plan) { launch(c, plan, {128, 1, 1}, 64); }

std::string unsupported_naive(const OpCase& c) { return grid_y_refusal(sizes_of(c).m, 16); }
std::string unsupported_small(const OpCase& c) {
  const Sizes size = sizes_of(c);
  if (size.m * size.n <= kSmallElements && size.k <= kSmallTerms) return "";
  return fmt::format("c has {} elements of {} terms each, it takes up to {} of {}", size.m * size.n,
                     size.k, kSmallElements, kSmallTerms);
}
std::string unsupported_tiled(const OpCase& c) {
  return grid_y_refusal(sizes_of(c).m, tiled_side(c));
}
std::string unsupported_mma(const OpCase& c) { return grid_y_refusal(sizes_of(c).m, 64); }

MatrixProduct product_of(const OpCase& c) {
  const Sizes size = sizes_of(c);
  return {.m = size.m,
          .n = size.n,
          .k = size.k,
          .a_transposed = transposed(c, "trans_a"),
          .b_transposed = transposed(c, "trans_b"),
          .tf32 = c.attributes.get<int32_t>("tf32") != 0};
}

std::string unsupported_cublas(const OpCase& c) {
  return sizes_of(c).k > 0 ? "" : "k is 0, it multiplies from 1 on";
}

/// NVIDIA's recommendations for Hopper and for earlier GPUs.
uint64_t cublas_workspace_bytes(const OpCase& c) {
  return uint64_t{c.device.sm >= 90 ? 32U : 4U} << 20;
}

}  // namespace

const OpKind& gemm_op() {
  static const OpKind kOp = {
      .name = "gemm",
      .summary = "c = op(a) * op(b), where op is the matrix or its transpose",
      .inputs = {{.name = "a", .rank_min = 2, .rank_max = 2},
                 {.name = "b", .rank_min = 2, .rank_max = 2}},
      .outputs = {{.name = "c", .rank_min = 2, .rank_max = 2}},
      .schema = {.number = 10,
                 .fields = {{.name = "trans_a",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "1: a is stored as k x m"},
                            {.name = "trans_b",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .meaning = "1: b is stored as n x k"},
                            {.name = "tf32",
                             .type = AttributeType::Int32,
                             .fallback = 0,
                             .since = 2,
                             .meaning = "1: cublas may round float32 to TF32 first"}}},
      .check = check_gemm,
      .variants = {{.name = "mma",
                    .module = "gemm_mma",
                    .entries = {"gemm_mma_{T}"},
                    .types = {{'T', {DType::Float16, DType::BFloat16}}},
                    .priority = 2,
                    .sm_min = 80,
                    .unsupported = unsupported_mma,
                    .plan = plan_mma},
                   {.name = "small",
                    .module = "gemm",
                    .entries = {"gemm_naive_{T}"},
                    .types = {{'T', {DType::Float32, DType::Float64}}},
                    .priority = 2,
                    .unsupported = unsupported_small,
                    .plan = plan_naive},
                   {.name = "tiled",
                    .module = "gemm",
                    .entries = {"gemm_tiled_{T}"},
                    .types = float_types(),
                    .priority = 1,
                    .unsupported = unsupported_tiled,
                    .plan = plan_tiled},
                   {.name = "naive",
                    .module = "gemm",
                    .entries = {"gemm_naive_{T}"},
                    .types = float_types(),
                    .unsupported = unsupported_naive,
                    .plan = plan_naive},
                   {.name = "cublas",
                    .library = "cublas",
                    .product = product_of,
                    .types = float_types(),
                    .priority = -1,
                    .unsupported = unsupported_cublas,
                    .workspace_bytes = cublas_workspace_bytes}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
