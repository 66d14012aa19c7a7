// dropout: elementwise, any shape. The same call on the gradient with the same key gives the
// gradient of dropout.
#include <algorithm>
#include <cmath>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

constexpr double kWords = 0x1p32;

Status check_dropout(const OpCase& c) {
  if (!same_shape(c.out(0), c.in(0))) {
    return error(ErrorCode::InvalidArgument, "y is {}, expected {}, the shape of x",
                 shape_text(c.out(0).shape), shape_text(c.in(0).shape));
  }
  GPUEMU_TRY(check_shape(c.in(1), "key", {2}, "the seed and the offset"));
  const auto p = c.attributes.get<double>("p");
  if (p >= 0 && p <= 1) return ok_status();
  return error(ErrorCode::InvalidArgument, "p is {}, expected a probability from 0 to 1", p);
}

void plan_dropout(const OpCase& c, Plan& plan) {
  const int64_t count = c.in(0).count();
  // Elements that a thread handles at once; the same as in kernels/dropout/dropout.cu.
  const auto run = std::max<int64_t>(4, static_cast<int64_t>(16 / byte_size(c.in(0).dtype)));
  const int64_t blocks = (count + run * kPacketThreads - 1) / (run * kPacketThreads);
  const auto grid = static_cast<uint32_t>(std::clamp<int64_t>(blocks, 1, kGridXMax));
  plan.launch({grid, 1, 1}, {kPacketThreads, 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(count)
      .arg(static_cast<uint64_t>(std::llround(c.attributes.get<double>("p") * kWords)));
}

std::vector<TypeRule> types_of_dropout() {
  std::vector<TypeRule> all = float_types();
  all.push_back({'K', {DType::UInt64}});
  return all;
}

}  // namespace

const OpKind& dropout_op() {
  static const OpKind kOp = {
      .name = "dropout",
      .summary = "y = x / (1 - p), or 0 with probability p; the bits are Philox4x32-10 of key",
      .inputs = {{"x"}, {.name = "key", .type = 'K', .rank_min = 1, .rank_max = 1}},
      .outputs = {{"y"}},
      .schema = {.number = 18,
                 .fields = {{.name = "p",
                             .type = AttributeType::Float64,
                             .fallback = 0.5,
                             .meaning = "share that is dropped, as a multiple of 2^-32"}}},
      .in_place = true,
      .check = check_dropout,
      .variants = {{.name = "philox",
                    .module = "dropout",
                    .entries = {"dropout_{T}"},
                    .types = types_of_dropout(),
                    .wide = true,
                    .plan = plan_dropout}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
