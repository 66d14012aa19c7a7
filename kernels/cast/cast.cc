// cast: from any dtype to any.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
namespace {

void plan(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.in(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

std::vector<TypeRule> pairs() {
  std::vector<TypeRule> types = all_types();
  types.push_back({'U', types[0].dtypes});
  return types;
}

}  // namespace

const OpKind& cast_op() {
  static const OpKind kOp = {
      .name = "cast",
      .summary = "y = x in another dtype: to nearest even, to integers towards zero and saturated",
      .inputs = {{"x"}},
      .outputs = {{.name = "y", .type = 'U'}},
      .check = check_same_shapes,
      .variants = {{.name = "per_pair",
                    .module = "cast",
                    .entries = {"cast_{T}_{U}"},
                    .types = pairs(),
                    .wide = true,
                    .plan = plan}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
