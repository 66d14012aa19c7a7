#include "kernels/elementwise/elementwise.h"

#include <algorithm>

#include "kernels/op_checks.h"

namespace gpuemu::kernels {
// The text of elementwise.cu behind that of the ops.
// NOLINTNEXTLINE(readability-identifier-naming): the build names it after the file.
extern const std::string_view kSource_elementwise;

namespace {

/// A variant that is not wide takes fewer.
constexpr int64_t kNarrowElementsMax = (int64_t{1} << 31) - 1024;

/// Whether the op's own entries compute the case. Who chooses by time must not compile for it.
bool has_entry(const OpCase& c) {
  const KernelVariant& own = c.op.variants[0];
  const std::vector<DType>& dtypes = own.types[0].dtypes;
  if (std::ranges::find(dtypes, c.out(0).dtype) == dtypes.end()) return false;
  const auto fits = [&](const DeviceTensor& one) {
    return (own.strided || one.contiguous()) && (own.wide || one.count() < kNarrowElementsMax);
  };
  if (!std::ranges::all_of(c.inputs, fits) || !std::ranges::all_of(c.outputs, fits)) return false;
  return own.unsupported == nullptr || own.unsupported(c).empty();
}

std::string unsupported(const OpCase& c) {
  if (c.out(0).rank() > kStridedAxes) {
    return fmt::format("{} has {} axes, expected up to {}", c.op.outputs[0].name, c.out(0).rank(),
                       kStridedAxes);
  }
  return has_entry(c) ? c.op.variants[0].name + " computes it, which comes compiled" : "";
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

/// Behind those that come compiled.
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
      .unsupported = unsupported,
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
