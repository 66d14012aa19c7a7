#include "kernels/elementwise/elementwise.h"

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
// The source text of elementwise.cu, which follows that of the op.
// NOLINTNEXTLINE(readability-identifier-naming): the build names it after the file.
extern const std::string_view kSource_elementwise;

namespace {

std::string too_many_axes(const OpCase& c) {
  if (c.out(0).rank() <= kStridedAxes) return "";
  return fmt::format("{} has {} axes, expected up to {}", c.op.outputs[0].name, c.out(0).rank(),
                     kStridedAxes);
}

void plan_map(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.out(0));
  add_sizes(step, c.out(0));
  add_strides(step, c.in(0));
  add_strides(step, c.out(0));
}

void plan_combine(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_packets(plan, c.out(0)).arg(c.in(0)).arg(c.in(1)).arg(c.out(0));
  add_sizes(step, c.out(0));
  add_broadcast_strides(step, c.in(0));
  add_broadcast_strides(step, c.in(1));
  add_strides(step, c.out(0));
}

/// Adds variants after the compiled ones.
KernelVariant generic(const std::string& kernel, const std::string& function,
                      std::vector<TypeRule> types, void (*plan)(const OpCase&, Plan&)) {
  return {
      .name = "generic",
      .module = "elementwise.cu",
      .source = kSource_elementwise,
      .entries = {fmt::format("gpuemu_kernels::{}<gpuemu_kernels::{}, {{T:c}}>", kernel, function)},
      .types = std::move(types),
      .priority = -1,
      .strided = true,
      .wide = true,
      .unsupported = too_many_axes,
      .plan = plan};
}

}  // namespace

void add_broadcast_strides(LaunchStep& step, const DeviceTensor& x) {
  for (size_t axis = kStridedAxes; axis > 0; --axis) {
    const bool repeats = axis > x.rank() || x.shape[x.rank() - axis] == 1;
    step.arg(repeats ? int64_t{0} : x.strides[x.rank() - axis]);
  }
}

KernelVariant generic_map(const std::string& function, std::vector<TypeRule> types) {
  return generic("map_strided", function, std::move(types), plan_map);
}

KernelVariant generic_combine(const std::string& function, std::vector<TypeRule> types) {
  return generic("combine_strided", function, std::move(types), plan_combine);
}

std::vector<TypeRule> number_types() {
  std::vector<TypeRule> types = float_types();
  const std::vector<TypeRule> all = all_types();
  for (const DType dtype : all[0].dtypes) {
    if (!is_float(dtype) && dtype != DType::Bool) types[0].dtypes.push_back(dtype);
  }
  return types;
}

}  // namespace gpuemu::kernels
