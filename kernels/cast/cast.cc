// cast: converts any dtype to any other.
#include "kernels/op_checks.h"

namespace gpuemu::kernels {
// The source text of cast_strided.cu.
// NOLINTNEXTLINE(readability-identifier-naming): the build names it after the file.
extern const std::string_view kSource_cast_strided;

namespace {

void plan_cast(const OpCase& c, Plan& plan) {
  launch_packets(plan, c.in(0)).arg(c.in(0)).arg(c.out(0)).arg(c.in(0).count());
}

std::string too_many_axes(const OpCase& c) {
  if (c.in(0).rank() <= kStridedAxes) return "";
  return fmt::format("x has {} axes, expected up to {}", c.in(0).rank(), kStridedAxes);
}

void plan_strided(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0));
  add_sizes(step, c.in(0));
  add_strides(step, c.in(0));
  add_strides(step, c.out(0));
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
                    .plan = plan_cast},
                   {.name = "strided",
                    .module = "cast_strided.cu",
                    .source = kSource_cast_strided,
                    .entries = {"gpuemu_kernels::cast_strided<{T:c}, {U:c}>"},
                    .types = pairs(),
                    .priority = -1,
                    .strided = true,
                    .wide = true,
                    .unsupported = too_many_axes,
                    .plan = plan_strided}},
  };
  return kOp;
}

}  // namespace gpuemu::kernels
