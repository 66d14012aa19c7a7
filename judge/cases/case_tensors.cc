// Computes shapes and layouts of a plan, and lowers its dims until they fit.
#include "judge/cases/case_tensors.h"

#include <algorithm>
#include <cmath>

#include "common/config/initial_value.h"
#include "common/rng/rng.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

Scope scope_of(const OpConfig& op, const CasePlan& plan) {
  Scope scope;
  for (const auto& [name, size] : plan.dims) scope.integers[name] = size;
  for (const AttrSpec& attr : op.attrs) {
    const auto found = plan.attrs.find(attr.name);
    if (found == plan.attrs.end()) continue;
    if (is_float(attr.dtype)) {
      scope.reals[attr.name] = found->second;
    } else {
      scope.integers[attr.name] = static_cast<int64_t>(found->second);
    }
  }
  scope.strings["dtype"] = std::string(name_of(plan.dtype));
  return scope;
}

/// Computes the dims that are derived from others.
Status settle_dims(const OpConfig& op, CasePlan& plan) {
  if (op.derived_dims.empty() && !op.require) return ok_status();
  Scope scope = scope_of(op, plan);
  GPUEMU_TRY(add_derived_dims(op, scope));
  for (const DerivedDim& dim : op.derived_dims) plan.dims[dim.name] = scope.integers[dim.name];
  return ok_status();
}

Result<Shape> shape_of(const OpConfig& op, const TensorSpec& spec, const Scope& scope) {
  Shape shape;
  for (const Expression& size : spec.shape) {
    const auto value = size.evaluate_size(scope);
    if (!value) {
      return value.error().with_context("op '" + op.name + "', shape of '" + spec.name + "'");
    }
    shape.push_back(*value);
  }
  const auto count = checked_element_count(shape);
  if (!count) {
    return count.error().with_context("op '" + op.name + "', shape of '" + spec.name + "'");
  }
  return shape;
}

Result<DType> dtype_of(const OpConfig& op, const TensorSpec& spec, DType case_dtype) {
  if (spec.dtype.empty() || spec.dtype == "{dtype}") return case_dtype;
  const auto dtype = dtype_from_alias(spec.dtype);
  if (dtype) return *dtype;
  return error(ErrorCode::InvalidArgument, "op '{}', tensor '{}': {}; {{dtype}} is the case's",
               op.name, spec.name, unknown_dtype(spec.dtype));
}

/// Returns the case's layout if the kernel takes the tensor's strides, else contiguous.
Layout layout_of(const OpConfig& op, const CasePlan& plan, const TensorSpec& spec,
                 const Shape& shape) {
  if (plan.layout == MemoryLayout::Transposed && spec.all_strides_passed) {
    return transposed_layout(shape);
  }
  if (plan.layout == MemoryLayout::Contiguous || plan.layout == MemoryLayout::Transposed) {
    return contiguous_layout(shape);
  }
  // Not the label "layout/": with the first output's name that one has chosen the layout of the
  // case.
  Stream stream(plan.base_seed, plan.iteration, "strides/" + spec.name);
  if (plan.layout != MemoryLayout::Strided) {
    const bool repeats = plan.layout == MemoryLayout::Broadcast && spec.distinct;
    if (!spec.all_strides_passed || shape.empty() || repeats) return contiguous_layout(shape);
    const size_t axis = stream.below(shape.size());
    if (plan.layout == MemoryLayout::Reversed) return reversed_layout(shape, axis);
    const bool written =
        std::ranges::find(op.outputs, spec.name, &TensorSpec::name) != op.outputs.end();
    return written ? contiguous_layout(shape) : broadcast_layout(shape, axis);
  }
  const uint64_t kind = stream.below(3);
  if (spec.all_strides_passed && (kind == 2 || shape.size() < 2)) return stepped_layout(shape, 2);
  if (!spec.outer_strides_passed) return contiguous_layout(shape);
  return padded_layout(shape, kind == 0 ? 1 : 16);
}

/// Returns, for half of the cases, a multiple of the alignment that is below an allocation's.
uint32_t base_offset_of(const CasePlan& plan, const TensorSpec& spec, DType dtype) {
  const uint32_t align = std::max<uint32_t>(spec.align, static_cast<uint32_t>(byte_size(dtype)));
  if (align >= 256) return 0;
  Stream stream(plan.base_seed, plan.iteration, "offset/" + spec.name);
  const uint64_t steps = stream.below(256 / align);
  return stream.negative() ? static_cast<uint32_t>(steps * align) : 0;
}

/// Returns the range of a tensor in this case; its ends may depend on sizes.
Result<std::pair<double, double>> settled_range(const OpConfig& op, const TensorSpec& spec,
                                                const Scope& scope) {
  std::pair<double, double> range = *spec.range;
  const auto settle = [&](const std::optional<Expression>& end, double& value) -> Status {
    if (!end) return ok_status();
    const auto found = end->evaluate(scope);
    if (found) {
      value = static_cast<double>(*found);
      return ok_status();
    }
    return found.error().with_context(fmt::format("op '{}', range of '{}'", op.name, spec.name));
  };
  GPUEMU_TRY(settle(spec.range_low, range.first));
  GPUEMU_TRY(settle(spec.range_high, range.second));
  return range;
}

/// A tensor with elements needs a range that is not empty.
Status check_range(const OpConfig& op, const TensorSpec& spec, const Shape& shape,
                   const Scope& scope) {
  if (!spec.range || element_count(shape) == 0) return ok_status();
  const auto range = GPUEMU_TRY(settled_range(op, spec, scope));
  const int64_t count = element_count(shape);
  if (spec.distinct && range.first <= range.second &&
      std::floor(range.second) - std::ceil(range.first) + 1 < static_cast<double>(count)) {
    return error(ErrorCode::InvalidArgument,
                 "op '{}', '{}' is distinct: its range [{}, {}] has fewer values than its {} "
                 "elements; widen the range, or let the dims in its shape be smaller",
                 op.name, spec.name, range.first, range.second, count);
  }
  if (range.first <= range.second) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "op '{}', range of '{}': [{}, {}] is empty in this case; let the dims in it begin "
               "with larger sizes",
               op.name, spec.name, range.first, range.second);
}

Result<CaseTensor> tensor_of(const OpConfig& op, const CasePlan& plan, const TensorSpec& spec,
                             Scope& scope) {
  CaseTensor tensor;
  tensor.name = spec.name;
  tensor.dtype = GPUEMU_TRY(dtype_of(op, spec, plan.dtype));
  tensor.shape = GPUEMU_TRY(shape_of(op, spec, scope));
  tensor.layout = layout_of(op, plan, spec, tensor.shape);
  tensor.inout = spec.inout;
  tensor.base_offset_bytes = base_offset_of(plan, spec, tensor.dtype);
  if (spec.distinct && is_float(tensor.dtype)) {
    return error(ErrorCode::InvalidArgument,
                 "op '{}', '{}' is distinct, which needs integers, but has dtype {} here", op.name,
                 spec.name, name_of(tensor.dtype));
  }
  GPUEMU_TRY(check_range(op, spec, tensor.shape, scope));
  auto initial = initial_element(spec, tensor.dtype, scope);
  if (!initial) {
    return initial.error().with_context("op '" + op.name + "', init of '" + spec.name + "'");
  }
  tensor.initial = *std::move(initial);
  scope.shapes[spec.name] = tensor.shape;
  scope.strides[spec.name] = tensor.layout.strides;
  return tensor;
}

const TensorSpec* largest_above(const OpConfig& op, const CasePlan& plan, int64_t elements_max) {
  const TensorSpec* largest = nullptr;
  int64_t most = elements_max;
  const auto look = [&](const std::vector<TensorSpec>& specs, const std::vector<CaseTensor>& made) {
    for (const TensorSpec& spec : specs) {
      const auto found = std::ranges::find(made, spec.name, &CaseTensor::name);
      if (found == made.end() || element_count(found->shape) <= most) continue;
      most = element_count(found->shape);
      largest = &spec;
    }
  };
  look(op.inputs, plan.inputs);
  look(op.outputs, plan.outputs);
  return largest;
}

/// Returns the tensor at which add_tensors() stopped because it would have too many elements; null
/// if it stopped for another reason.
const TensorSpec* too_large(const OpConfig& op, const CasePlan& plan) {
  const size_t inputs = plan.inputs.size(), outputs = plan.outputs.size();
  const TensorSpec* spec = inputs < op.inputs.size()     ? &op.inputs[inputs]
                           : outputs < op.outputs.size() ? &op.outputs[outputs]
                                                         : nullptr;
  if (spec == nullptr) return nullptr;
  Scope scope = scope_of(op, plan);
  for (const auto* made : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *made) {
      scope.shapes[tensor.name] = tensor.shape;
      scope.strides[tensor.name] = tensor.layout.strides;
    }
  }
  Shape shape;
  for (const Expression& size : spec->shape) {
    const auto value = size.evaluate_size(scope);
    if (!value) return nullptr;
    shape.push_back(*value);
  }
  return checked_element_count(shape) ? nullptr : spec;
}

/// Returns the names of the dims in the shape, and of those from which they are derived.
std::vector<std::string> names_of(const OpConfig& op, const TensorSpec& spec) {
  std::vector<std::string> names;
  for (const Expression& size : spec.shape) {
    for (const std::string& name : size.names()) names.push_back(name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto dim = std::ranges::find(op.derived_dims, names[i], &DerivedDim::name);
    if (dim == op.derived_dims.end()) continue;
    for (const std::string& name : dim->value.names()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Lowers the largest of these dims. Returns false if none can be lowered.
bool lower_one_dim(const OpConfig& op, const std::vector<std::string>& names, CasePlan& plan) {
  const DimSpec* pick = nullptr;
  for (const std::string& name : names) {
    const auto dim = std::ranges::find(op.dims, name, &DimSpec::name);
    if (dim == op.dims.end()) continue;
    const int64_t now = plan.dims[name];
    if (smaller_size(*dim, now) >= now) continue;
    if (pick == nullptr || now > plan.dims[pick->name]) pick = &*dim;
  }
  if (pick == nullptr) return false;
  plan.dims[pick->name] = smaller_size(*pick, plan.dims[pick->name]);
  return true;
}

std::vector<std::string> dims_of(const OpConfig& op) {
  std::vector<std::string> names;
  for (const DimSpec& dim : op.dims) names.push_back(dim.name);
  return names;
}

/// A limit that the plan exceeds, and the dims that may be lowered to fix it.
struct Excess {
  SizeLimit limit = SizeLimit::None;
  std::vector<std::string> dims = {};
};

Excess excess_of(const OpConfig& op, const CasePlan& plan, const SizeLimits& limits) {
  if (const TensorSpec* spec = largest_above(op, plan, limits.elements)) {
    return {SizeLimit::Elements, names_of(op, *spec)};
  }
  if (product_of_dims(plan) > limits.product) {
    return {SizeLimit::Product, dims_of(op)};
  }
  if (bytes_of(plan) > limits.bytes) {
    const TensorSpec* largest = largest_above(op, plan, 0);
    if (largest != nullptr) return {SizeLimit::Bytes, names_of(op, *largest)};
  }
  return {};
}

}  // namespace

std::optional<std::pair<double, double>> declared_range(const OpConfig& op, const CasePlan& plan,
                                                        const std::string& input) {
  for (const auto* specs : {&op.inputs, &op.outputs}) {
    const auto spec = std::ranges::find(*specs, input, &TensorSpec::name);
    if (spec == specs->end() || !spec->range) continue;
    if (!spec->range_low && !spec->range_high) return spec->range;
    Scope scope = scope_of(op, plan);
    for (const auto* made : {&plan.inputs, &plan.outputs}) {
      for (const CaseTensor& tensor : *made) scope.shapes[tensor.name] = tensor.shape;
    }
    // An empty range belongs to a tensor without elements.
    const auto range = settled_range(op, *spec, scope);
    if (range && range->first <= range->second) return *range;
    return std::nullopt;
  }
  return std::nullopt;
}

double product_of_dims(const CasePlan& plan) {
  double product = 1;
  for (const auto& [name, size] : plan.dims) {
    product *= static_cast<double>(std::max<int64_t>(1, size));
  }
  return product;
}

double bytes_of(const CasePlan& plan) {
  double bytes = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) {
      const bool updated = tensors == &plan.outputs && tensor.inout;
      if (updated) continue;
      bytes += static_cast<double>(element_count(tensor.shape)) *
               static_cast<double>(byte_size(tensor.dtype));
    }
  }
  return bytes;
}

Status add_tensors(const OpConfig& op, CasePlan& plan) {
  plan.inputs.clear();
  plan.outputs.clear();
  GPUEMU_TRY(settle_dims(op, plan));
  Scope scope = scope_of(op, plan);
  for (const TensorSpec& spec : op.inputs) {
    plan.inputs.push_back(GPUEMU_TRY(tensor_of(op, plan, spec, scope)));
  }
  for (const TensorSpec& spec : op.outputs) {
    const auto same = std::ranges::find(plan.inputs, spec.name, &CaseTensor::name);
    if (spec.inout && same != plan.inputs.end()) {
      same->inout = true;
      GPUEMU_TRY(check_range(op, spec, same->shape, scope));
      plan.outputs.push_back(*same);
      continue;
    }
    plan.outputs.push_back(GPUEMU_TRY(tensor_of(op, plan, spec, scope)));
    if (spec.inout) plan.inputs.push_back(plan.outputs.back());
  }
  return ok_status();
}

bool go_together(const OpConfig& op, const CasePlan& plan) {
  CasePlan made = plan;
  return add_tensors(op, made) || too_large(op, made) != nullptr;
}

Status fit(const OpConfig& op, CasePlan& plan, const SizeLimits& limits) {
  auto added = add_tensors(op, plan);
  bool was_lowered = false;
  while (true) {
    if (!added) {
      const TensorSpec* spec = too_large(op, plan);
      // Lowering one size may have made the sizes incompatible.
      const bool lowered = spec != nullptr ? lower_one_dim(op, names_of(op, *spec), plan)
                                           : was_lowered && lower_one_dim(op, dims_of(op), plan);
      if (!lowered) break;
    } else {
      const Excess excess = excess_of(op, plan, limits);
      if (excess.limit == SizeLimit::None || !lower_one_dim(op, excess.dims, plan)) break;
    }
    was_lowered = true;
    added = add_tensors(op, plan);
  }
  return added;
}

SizeLimit exceeded_limit(const OpConfig& op, const CasePlan& plan, const SizeLimits& limits) {
  CasePlan made = plan;
  if (!add_tensors(op, made)) return SizeLimit::Elements;
  return excess_of(op, made, limits).limit;
}

int64_t largest_tensor(const CasePlan& plan) {
  int64_t most = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) most = std::max(most, element_count(tensor.shape));
  }
  return most;
}

}  // namespace gpuemu
