// Dims are ranges or sets; both are narrowed in place.
#include "daemon/server/narrow_op.h"

#include <algorithm>
#include <limits>

namespace gpuemu {
namespace {

struct Bounds {
  int64_t low = 0, high = std::numeric_limits<int64_t>::max();
};

Status cut_dim(DimSpec& dim, Bounds bounds) {
  const std::vector<int64_t> before = dim.values;
  if (dim.is_set) {
    std::erase_if(dim.values,
                  [&](int64_t size) { return size < bounds.low || size > bounds.high; });
  } else {
    dim.values.front() = std::max(dim.values.front(), bounds.low);
    dim.values.back() = std::min(dim.values.back(), bounds.high);
    if (dim.values.front() > dim.values.back()) dim.values.clear();
  }
  if (!dim.values.empty()) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "no size of dim '{}' ({} to {}) is within min_shape and max_shape ({} to {})",
               dim.name, *std::ranges::min_element(before), *std::ranges::max_element(before),
               bounds.low, bounds.high);
}

Status cut_shape(OpConfig& op, const OwnFuzzConfig& wanted) {
  const size_t rank = op.outputs.empty() ? 0 : op.outputs.front().shape.size();
  for (const Shape* bound : {&wanted.min_shape, &wanted.max_shape}) {
    if (bound->empty() || bound->size() == rank) continue;
    return error(ErrorCode::InvalidArgument, "{} has {} sizes, the output of '{}' has {}",
                 bound == &wanted.min_shape ? "min_shape" : "max_shape", bound->size(), op.name,
                 rank);
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    Bounds bounds;
    if (!wanted.min_shape.empty()) bounds.low = wanted.min_shape[axis];
    if (!wanted.max_shape.empty()) bounds.high = wanted.max_shape[axis];
    const std::string& size = op.outputs.front().shape[axis].text();
    const auto dim = std::ranges::find(op.dims, size, &DimSpec::name);
    if (dim == op.dims.end()) {
      return error(ErrorCode::InvalidArgument,
                   "min_shape and max_shape cannot bound size {} of the output of '{}', which is "
                   "'{}' and no dim of its own; narrow `dims` in gpuemu.toml instead",
                   axis, op.name, size);
    }
    GPUEMU_TRY(cut_dim(*dim, bounds));
  }
  return ok_status();
}

Status cut_layouts(OpConfig& op, const std::vector<LayoutKind>& wanted) {
  std::erase_if(op.layouts, [&](MemoryLayout layout) {
    const auto kind = layout_from_name(std::string(name_of(layout)));
    return !kind || std::ranges::find(wanted, *kind) == wanted.end();
  });
  if (!op.layouts.empty()) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "op '{}' takes none of these layouts; its kernel must be passed strides for "
               "another than contiguous",
               op.name);
}

}  // namespace

Result<Config> narrow_op(Config config, const std::string& op_name, const OwnFuzzConfig& wanted) {
  const auto op = std::ranges::find(config.ops, op_name, &OpConfig::name);
  GPUEMU_CHECK(op != config.ops.end());
  if (!wanted.layouts.empty()) GPUEMU_TRY(cut_layouts(*op, wanted.layouts));
  if (!wanted.min_shape.empty() || !wanted.max_shape.empty()) GPUEMU_TRY(cut_shape(*op, wanted));
  return config;
}

}  // namespace gpuemu
