// bias_add: adds one vector to every row.
#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_bias_add(const OpCase& c, Plan& plan) {
  const RowsCols size = rows_cols(c.in(0));
  const auto width = static_cast<int64_t>(byte_size(c.in(0).dtype));
  const auto down = static_cast<uint32_t>(std::clamp<int64_t>(size.rows, 1, kGridYzMax));
  const int64_t bytes = size.cols * width;
  plan.launch({blocks_for(bytes, kPacketBlockBytes), down, 1}, {packet_threads(bytes), 1, 1})
      .arg(c.in(0))
      .arg(c.in(1))
      .arg(c.out(0))
      .arg(size.rows)
      .arg(size.cols);
}

}  // namespace

const OpKind& bias_add_op() {
  static const OpKind kOp = {
      .name = "bias_add",
      .summary = "y = x + bias along the last axis",
      .inputs = {{.name = "x", .rank_min = 1}, {.name = "bias", .rank_min = 1, .rank_max = 1}},
      .outputs = {{.name = "y", .rank_min = 1}},
      .check = check_row_op,
      .variants = {{.name = "packets",
                    .module = "bias_add",
                    .entries = {"bias_add_{T}"},
                    .types = float_types(),
                    .wide = true,
                    .plan = plan_bias_add}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
