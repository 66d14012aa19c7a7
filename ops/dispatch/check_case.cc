// Checks operands against an op's declaration, and a case against a variant.
#include "ops/dispatch/check_case.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/ranges.h>

#include "runtime/device/device.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// Largest case for variants that count in 32 bits: their loops may step past the end by up to a
/// block of 1024 threads, or a smaller tile, before they check.
constexpr int64_t kNarrowElementsMax = std::numeric_limits<int32_t>::max() - 1024;

/// Bytes from the first to the last element; `end` is exclusive. Nothing for a tensor without
/// elements.
struct Range {
  uint64_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

Status check_sizes(const OperandSpec& operand, const DeviceTensor& tensor) {
  if (tensor.strides.size() != tensor.rank()) {
    return error(ErrorCode::InvalidArgument, "{} has {} strides for {} axes", operand.name,
                 tensor.strides.size(), tensor.rank());
  }
  if (tensor.rank() < operand.rank_min || tensor.rank() > operand.rank_max) {
    const std::string expected = operand.rank_min == operand.rank_max
                                     ? std::to_string(operand.rank_min)
                                     : fmt::format("{} to {}", operand.rank_min, operand.rank_max);
    return error(ErrorCode::InvalidArgument, "{} is {} of rank {}, expected rank {}", operand.name,
                 shape_text(tensor.shape), tensor.rank(), expected);
  }
  int64_t count = 1;
  for (const int64_t size : tensor.shape) {
    if (size < 0 || __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count)) {
      return error(ErrorCode::InvalidArgument,
                   "{} has the shape {}, expected sizes from 0 whose "
                   "product fits 64 bits",
                   operand.name, shape_text(tensor.shape));
    }
  }
  return ok_status();
}

/// Refuses negative strides, which would read before the address; no kernel supports them.
Result<Range> range_of(const OperandSpec& operand, const DeviceTensor& tensor) {
  const auto width = static_cast<int64_t>(byte_size(tensor.dtype));
  int64_t last = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (tensor.shape[i] == 0) return Range{};
    int64_t reach = 0;
    if (tensor.strides[i] < 0 ||
        __builtin_mul_overflow(tensor.strides[i], tensor.shape[i] - 1, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return error(ErrorCode::InvalidArgument,
                   "{} has the strides [{}], expected values from 0 that stay within 64 bits",
                   operand.name, fmt::join(tensor.strides, ", "));
    }
  }
  uint64_t end = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, width, &last) ||
      __builtin_add_overflow(tensor.address, static_cast<uint64_t>(last), &end)) {
    return error(ErrorCode::InvalidArgument, "{} reaches beyond 64 bits of addresses",
                 operand.name);
  }
  if (tensor.address == 0) {
    return error(ErrorCode::InvalidArgument, "{} has a null address and {} elements", operand.name,
                 tensor.count());
  }
  if (tensor.address % byte_size(tensor.dtype) != 0) {
    return error(ErrorCode::InvalidArgument, "{} lies at {:#x}, expected a multiple of {} for {}",
                 operand.name, tensor.address, byte_size(tensor.dtype), name_of(tensor.dtype));
  }
  return Range{tensor.address, end};
}

Status check_count(const char* what, const std::vector<OperandSpec>& expected, size_t given) {
  if (expected.size() == given) return ok_status();
  std::string names;
  for (const OperandSpec& operand : expected) names += (names.empty() ? "" : ", ") + operand.name;
  return error(ErrorCode::InvalidArgument, "{} {}, expected {}: {}", given, what, expected.size(),
               names);
}

bool same_layout(const DeviceTensor& a, const DeviceTensor& b) {
  return a.address == b.address && a.dtype == b.dtype && same_shape(a, b) &&
         std::ranges::equal(a.strides, b.strides);
}

/// Refuses an output in which elements share a place, because its final value would be undefined.
/// Every axis must step over all that the axes with smaller strides span. Requires that range_of()
/// accepted the tensor and that it has elements.
Status check_output(const OperandSpec& operand, const DeviceTensor& tensor) {
  std::array<size_t, kRankMax> axes;
  size_t count = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    if (tensor.shape[i] > 1) axes[count++] = i;
  }
  const std::span<size_t> used = std::span(axes).first(count);
  std::ranges::sort(used, {}, [&](size_t axis) { return tensor.strides[axis]; });
  int64_t reach = 0;
  for (const size_t axis : used) {
    const int64_t stride = tensor.strides[axis];
    if (stride == 0) {
      return error(ErrorCode::InvalidArgument,
                   "{} has stride 0 along axis {} of {} elements; an output needs a place for each",
                   operand.name, axis, tensor.shape[axis]);
    }
    if (stride <= reach) {
      return error(ErrorCode::InvalidArgument,
                   "{} has the strides [{}] for the shape {}: along axis {} it steps {} elements, "
                   "expected more than the {} that other axes reach; an output needs a place for "
                   "each element",
                   operand.name, fmt::join(tensor.strides, ", "), shape_text(tensor.shape), axis,
                   stride, reach);
    }
    reach += stride * (tensor.shape[axis] - 1);
  }
  return ok_status();
}

Status check_places(const OpCase& c) {
  std::array<Range, kTensorsMax> ranges;
  const size_t input_count = c.inputs.size();
  for (size_t i = 0; i < input_count; ++i) {
    ranges[i] = GPUEMU_TRY(range_of(c.op.inputs[i], c.in(i)));
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Range range = GPUEMU_TRY(range_of(c.op.outputs[i], c.out(i)));
    if (!range.empty()) GPUEMU_TRY(check_output(c.op.outputs[i], c.out(i)));
    ranges[input_count + i] = range;
    for (size_t other = 0; other < input_count + i; ++other) {
      if (range.empty() || !range.overlaps(ranges[other])) continue;
      const bool is_input = other < input_count;
      if (is_input && c.op.in_place && same_layout(c.out(i), c.in(other))) continue;
      return error(ErrorCode::InvalidArgument, "{} and {} share memory{}", c.op.outputs[i].name,
                   is_input ? c.op.inputs[other].name : c.op.outputs[other - input_count].name,
                   is_input && c.op.in_place ? "; only the very same tensor is allowed" : "");
    }
  }
  return ok_status();
}

std::string dtype_refusal(const KernelVariant& variant, const TypeBinding& types) {
  for (const TypeRule& rule : variant.types) {
    const DType* dtype = types.find(rule.letter);
    if (dtype == nullptr || std::ranges::find(rule.dtypes, *dtype) != rule.dtypes.end()) continue;
    std::string known;
    for (const DType one : rule.dtypes) {
      known += (known.empty() ? "" : ", ") + std::string(name_of(one));
    }
    return fmt::format("{} is {}, it computes {}", rule.letter, name_of(*dtype), known);
  }
  return {};
}

std::string tensor_refusal(const OperandSpec& operand, const DeviceTensor& tensor,
                           const KernelVariant& variant) {
  if (!variant.strided && !tensor.contiguous()) {
    return fmt::format("{} is not contiguous: shape {}, strides [{}]", operand.name,
                       shape_text(tensor.shape), fmt::join(tensor.strides, ", "));
  }
  if (!variant.wide && tensor.count() > kNarrowElementsMax) {
    return fmt::format("{} has {} elements, it counts with 32 bits and takes up to {}",
                       operand.name, tensor.count(), kNarrowElementsMax);
  }
  return {};
}

}  // namespace

Result<TypeBinding> check_case(const OpCase& c) {
  GPUEMU_TRY(check_count("inputs", c.op.inputs, c.inputs.size()));
  GPUEMU_TRY(check_count("outputs", c.op.outputs, c.outputs.size()));
  for (size_t i = 0; i < c.inputs.size(); ++i) GPUEMU_TRY(check_sizes(c.op.inputs[i], c.in(i)));
  for (size_t i = 0; i < c.outputs.size(); ++i) GPUEMU_TRY(check_sizes(c.op.outputs[i], c.out(i)));
  const TypeBinding types = GPUEMU_TRY(bind_types(c));
  GPUEMU_TRY(check_places(c));
  if (c.op.check != nullptr) GPUEMU_TRY(c.op.check(c));
  return types;
}

std::string refusal(const OpCase& c, const KernelVariant& variant, const TypeBinding& types) {
  if (std::string reason = dtype_refusal(variant, types); !reason.empty()) return reason;
  if (!variant.library.empty() && !device_traits(c.device.backend).is_gpu) {
    return fmt::format("{} needs a GPU, the device is the {}", variant.library, c.device.backend);
  }
  if (c.device.sm < variant.sm_min) {
    return fmt::format("the device is sm_{}, it needs sm_{}", c.device.sm, variant.sm_min);
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    std::string reason = tensor_refusal(c.op.inputs[i], c.in(i), variant);
    if (!reason.empty()) return reason;
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    std::string reason = tensor_refusal(c.op.outputs[i], c.out(i), variant);
    if (!reason.empty()) return reason;
  }
  if (variant.rules != nullptr) return variant.rules->unsupported(c);
  return variant.unsupported == nullptr ? std::string() : variant.unsupported(c);
}

}  // namespace gpuemu
