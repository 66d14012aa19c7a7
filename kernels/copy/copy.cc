// copy: from any strides to any strides. copy_saved: what a training step keeps for its backward
// pass.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan_copy(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0));
  add_sizes(step, c.out(0));
  add_strides(step, c.in(0));
  add_strides(step, c.out(0));
}

void plan_saved(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

}  // namespace

const OpKind& copy_op() {
  static const OpKind kOp = {
      .name = "copy",
      .summary = "y = x, whatever the strides of either",
      .inputs = {{.name = "x", .rank_max = kStridedAxes}},
      .outputs = {{.name = "y", .rank_max = kStridedAxes}},
      .check = check_same_shapes,
      .variants = {{.name = "strided",
                    .module = "copy",
                    .entries = {"copy_{T}"},
                    .types = all_types(),
                    .strided = true,
                    .wide = true,
                    .plan = plan_copy}},
  };
  return kOp;
}

const OpKind& copy_saved_op() {
  static const OpKind kOp = {
      .name = "copy_saved",
      .summary = "saved = x, both contiguous",
      .inputs = {{"x"}},
      .outputs = {{"saved"}},
      .check = check_same_shapes,
      .variants = {{.name = "packets",
                    .module = "copy",
                    .entries = {"copy_saved_{T}"},
                    .types = all_types(),
                    .wide = true,
                    .plan = plan_saved}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
