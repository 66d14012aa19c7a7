// From (op, base seed, iteration) to the plan of a case: every decision draws from its own stream.
#include "daemon/fuzz/case.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/blake2.h"
#include "common/rng/rng.h"
#include "daemon/fuzz/covering.h"
#include "daemon/fuzz/dims.h"
#include "daemon/fuzz/strategies.h"

namespace gpuemu {
namespace {

// Cases of one dtype before every other one is left to chance.
constexpr uint64_t kCoveringFirst = 8;

std::string_view bytes_of(const uint64_t& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
const T& choose(const CasePlan& plan, const std::string& label, const std::vector<T>& items) {
  Stream stream(plan.base_seed, plan.iteration, label);
  return items[stream.below(items.size())];
}

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
  return error(
      ErrorCode::InvalidArgument,
      "op '{}', dtype '{}' of '{}' is unknown, expected {{dtype}} or a name such as float32",
      op.name, spec.dtype, spec.name);
}

/// The case's layout where the kernel is given the tensor's strides, else contiguous.
Layout layout_of(const OpConfig& op, const CasePlan& plan, const TensorSpec& spec,
                 const Shape& shape) {
  if (plan.layout == "transposed" && spec.all_strides_passed) return transposed_layout(shape);
  if (plan.layout == "contiguous" || plan.layout == "transposed") return contiguous_layout(shape);
  // Not "layout/": its first output has chosen the layout of the case.
  Stream stream(plan.base_seed, plan.iteration, "strides/" + spec.name);
  if (plan.layout != "strided") {
    if (!spec.all_strides_passed || shape.empty()) return contiguous_layout(shape);
    const size_t axis = stream.below(shape.size());
    if (plan.layout == "reversed") return reversed_layout(shape, axis);
    const bool written =
        std::ranges::find(op.outputs, spec.name, &TensorSpec::name) != op.outputs.end();
    return written ? contiguous_layout(shape) : broadcast_layout(shape, axis);
  }
  const uint64_t kind = stream.below(3);
  if (spec.all_strides_passed && (kind == 2 || shape.size() < 2)) return stepped_layout(shape, 2);
  if (!spec.outer_strides_passed) return contiguous_layout(shape);
  return padded_layout(shape, kind == 0 ? 1 : 16);
}

/// A multiple of the alignment below that of allocations, half of the time.
uint32_t base_offset_of(const CasePlan& plan, const TensorSpec& spec, DType dtype) {
  const uint32_t align = std::max<uint32_t>(spec.align, static_cast<uint32_t>(byte_size(dtype)));
  if (align >= 256) return 0;
  Stream stream(plan.base_seed, plan.iteration, "offset/" + spec.name);
  const uint64_t steps = stream.below(256 / align);
  return stream.negative() ? static_cast<uint32_t>(steps * align) : 0;
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
  scope.shapes[spec.name] = tensor.shape;
  scope.strides[spec.name] = tensor.layout.strides;
  return tensor;
}

/// Shapes and layouts that follow from the plan's dims, attrs, dtype and layout.
Status add_tensors(const OpConfig& op, CasePlan& plan) {
  Scope scope = scope_of(op, plan);
  plan.inputs.clear();
  plan.outputs.clear();
  for (const TensorSpec& spec : op.inputs) {
    plan.inputs.push_back(GPUEMU_TRY(tensor_of(op, plan, spec, scope)));
  }
  for (const TensorSpec& spec : op.outputs) {
    const auto same = std::ranges::find(plan.inputs, spec.name, &CaseTensor::name);
    if (spec.inout && same != plan.inputs.end()) {
      same->inout = true;
      plan.outputs.push_back(*same);
      continue;
    }
    plan.outputs.push_back(GPUEMU_TRY(tensor_of(op, plan, spec, scope)));
    if (spec.inout) plan.inputs.push_back(plan.outputs.back());
  }
  return ok_status();
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

/// The tensor at which add_tensors has ended because it would have more elements than any may have;
/// null where it ended for another reason.
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

/// Lowers the largest dim of the tensor's shape; false when none can be lowered.
bool lower_one_dim(const OpConfig& op, const TensorSpec& spec, CasePlan& plan) {
  const DimSpec* pick = nullptr;
  for (const Expression& size : spec.shape) {
    for (const std::string& name : size.names()) {
      const auto dim = std::ranges::find(op.dims, name, &DimSpec::name);
      if (dim == op.dims.end()) continue;
      const int64_t now = plan.dims[name];
      if (smaller_size(*dim, now) >= now) continue;
      if (pick == nullptr || now > plan.dims[pick->name]) pick = &*dim;
    }
  }
  if (pick == nullptr) return false;
  plan.dims[pick->name] = smaller_size(*pick, plan.dims[pick->name]);
  return true;
}

Status fit(const OpConfig& op, CasePlan& plan, int64_t elements_max) {
  auto added = add_tensors(op, plan);
  while (true) {
    const TensorSpec* spec = added ? largest_above(op, plan, elements_max) : too_large(op, plan);
    if (spec == nullptr || !lower_one_dim(op, *spec, plan)) break;
    added = add_tensors(op, plan);
  }
  return added;
}

/// What a case chooses from beside its dtype.
struct Choices {
  std::vector<std::string> values;         ///< In the order in which they come up.
  std::vector<std::vector<int64_t>> dims;  ///< Corners of each dim.
};

Choices choices_of(const OpConfig& op, uint64_t base_seed, std::vector<std::string> values) {
  Choices choices{std::move(values), {}};
  Stream rotation(base_seed, 0, "strategy/value");
  const auto start = static_cast<ptrdiff_t>(rotation.below(choices.values.size()));
  std::ranges::rotate(choices.values, choices.values.begin() + start);
  for (const DimSpec& dim : op.dims) choices.dims.push_back(corner_sizes(dim, base_seed));
  return choices;
}

/// Which row of the covering array the case is: the first ones, then every other one, so that a
/// short run has both. Nothing for a case that is left to chance.
std::optional<uint64_t> covering_row(uint64_t row) {
  if (row < kCoveringFirst) return row;
  if (row % 2 != 0) return std::nullopt;
  return kCoveringFirst + (row - kCoveringFirst) / 2;
}

/// Sizes at corners, value strategy, layout and attrs as a row of the covering array has them.
/// False where it has no such row.
bool choose_covering(const OpConfig& op, const Choices& choices, uint64_t row, CasePlan& plan) {
  std::vector<size_t> counts{choices.values.size(), std::max<size_t>(1, op.layouts.size())};
  for (const AttrSpec& attr : op.attrs) counts.push_back(std::max<size_t>(1, attr.values.size()));
  for (const std::vector<int64_t>& corners : choices.dims) counts.push_back(corners.size());
  const CoveringArray array(counts);
  if (row >= array.rows()) return false;
  size_t factor = 0;
  plan.value_strategy = choices.values[array.choice(row, factor++)];
  const size_t layout = array.choice(row, factor++);
  if (!op.layouts.empty()) plan.layout = op.layouts[layout];
  for (const AttrSpec& attr : op.attrs) {
    const size_t value = array.choice(row, factor++);
    if (!attr.values.empty()) plan.attrs[attr.name] = attr.values[value];
  }
  for (size_t j = 0; j < op.dims.size(); ++j) {
    plan.dims[op.dims[j].name] = choices.dims[j][array.choice(row, factor++)];
  }
  plan.shape_strategy = "boundary";
  return true;
}

/// Cases left to chance go through the value strategies once, from the end, before chance decides
/// that too: the covering array has begun at the front.
std::string value_strategy_of(const CasePlan& plan, const Choices& choices, uint64_t row,
                              bool covered) {
  const size_t count = choices.values.size();
  if (!covered) {
    if (row < 2 * count) return choices.values[row % count];
  } else if (row > kCoveringFirst && (row - kCoveringFirst) / 2 < count) {
    return choices.values[count - 1 - (row - kCoveringFirst) / 2];
  }
  Stream stream(plan.base_seed, plan.iteration, "strategy/value");
  return choices.values[stream.below(count)];
}

/// Sizes that some cases draw without being asked for: the kernel's own numbers in every fourth
/// case, short sums and, where they can be exact, the longest ones in every sixteenth, long grids
/// in every thirty-second.
std::optional<std::string> reserved_strategy(const OpConfig& op, uint64_t row,
                                             const Constants& constants) {
  if (row < kCoveringFirst) return std::nullopt;
  if (row % 4 == 1 && fits_constants(op, constants)) return "constants";
  if (row % 16 == 11 && op.accumulate) return "short_reduce";
  if (row % 32 == 15) return "waves";
  const bool is_long_turn = row % 32 == 19 || row % 32 == 23;
  if (is_long_turn && op.accumulate && has_exact_sums(op)) return "long_reduce";
  return std::nullopt;
}

/// Short sums have the tightest bounds where the values are small too: these take turns.
std::string tight_values(const CasePlan& plan, const Choices& choices, uint64_t row) {
  constexpr std::string_view kTight[] = {"unit", "signed_zero", "normal", "bits_uniform"};
  const std::string_view wanted = kTight[row / 16 % std::size(kTight)];
  const bool there = std::ranges::find(choices.values, wanted) != choices.values.end();
  return there ? std::string(wanted) : plan.value_strategy;
}

/// One term of a long sum is less than the bound of its rounding errors: it shows where there are
/// none.
std::string exact_values(const CasePlan& plan, const Choices& choices) {
  const bool there = std::ranges::find(choices.values, "small_int") != choices.values.end();
  return there ? "small_int" : plan.value_strategy;
}

/// Of a size that comes once, zeros would hide what is done with it.
std::string telling_values(const CasePlan& plan, const Choices& choices) {
  const bool mostly_zero = plan.value_strategy == "zeros" || plan.value_strategy == "impulse";
  const bool has_other = std::ranges::find(choices.values, "uniform10") != choices.values.end();
  return mostly_zero && has_other ? "uniform10" : plan.value_strategy;
}

void change_one(const OpConfig& op, const std::vector<std::string>& values,
                const Constants& constants, Stream& stream, CasePlan& plan) {
  const uint64_t what = stream.below(4);
  if (what < 2 && !op.dims.empty()) {
    const DimSpec& dim = op.dims[stream.below(op.dims.size())];
    plan.dims[dim.name] = other_size(dim, plan.dims[dim.name], constants, stream);
    return;
  }
  if (what == 2 && op.layouts.size() > 1) {
    plan.layout = op.layouts[stream.below(op.layouts.size())];
    return;
  }
  if (what == 2 && !op.attrs.empty()) {
    const AttrSpec& attr = op.attrs[stream.below(op.attrs.size())];
    if (!attr.values.empty()) plan.attrs[attr.name] = attr.values[stream.below(attr.values.size())];
    return;
  }
  plan.value_strategy = values[stream.below(values.size())];
}

/// A name of its own for what does not follow from seed and number alone.
std::string label_of(const CasePlan& plan) {
  std::string label = plan.op + "?" + plan.layout + "," + plan.value_strategy;
  for (const auto& [name, size] : plan.dims) label += fmt::format(",{}={}", name, size);
  for (const auto& [name, value] : plan.attrs) label += fmt::format(",{}={}", name, value);
  return label;
}

}  // namespace

uint64_t case_seed_of(uint64_t base_seed, uint64_t iteration, const std::string& op) {
  return std::bit_cast<uint64_t>(blake2b_8({bytes_of(base_seed), bytes_of(iteration), op}));
}

Result<CasePlan> plan_case(const OpConfig& op, uint64_t base_seed, uint64_t iteration,
                           const CaseOptions& options) {
  CasePlan plan;
  plan.op = op.name;
  plan.base_seed = base_seed;
  plan.iteration = iteration;
  plan.case_seed = case_seed_of(base_seed, iteration, op.name);
  const std::vector<DType>& dtypes = options.dtypes.empty() ? op.dtypes : options.dtypes;
  if (dtypes.empty()) {
    return error(ErrorCode::InvalidArgument, "op '{}' has no dtypes, name at least one", op.name);
  }
  plan.dtype = choose(plan, "dtype", dtypes);
  for (const AttrSpec& attr : op.attrs) {
    if (!attr.values.empty()) {
      plan.attrs[attr.name] = choose(plan, "attr/" + attr.name, attr.values);
    }
  }
  const std::string first = op.inputs.empty() ? "" : op.inputs.front().name;
  if (!op.layouts.empty()) plan.layout = choose(plan, "layout/" + first, op.layouts);
  // Campaigns give every dtype of the op each n-th iteration; rows count within one of them.
  const uint64_t row = iteration / std::max<size_t>(1, op.dtypes.size());
  DimRequest request{base_seed, iteration, {}, options.constants, {}};
  request.strategies = GPUEMU_TRY(shape_strategies_for(op, options.strategies));
  const bool usual = request.strategies == GPUEMU_TRY(shape_strategies_for(op, {}));
  const Choices choices = choices_of(
      op, base_seed, GPUEMU_TRY(value_strategies_for(op, plan.dtype, options.strategies)));
  const auto covering = usual ? covering_row(row) : std::nullopt;
  if (!covering || !choose_covering(op, choices, *covering, plan)) {
    plan.value_strategy = value_strategy_of(plan, choices, row, usual);
    const auto reserved = usual ? reserved_strategy(op, row, options.constants) : std::nullopt;
    if (reserved) {
      request.strategies = {*reserved};
      request.turn = (row - kCoveringFirst) / 4;
      if (*reserved == "constants") plan.value_strategy = telling_values(plan, choices);
      if (*reserved == "short_reduce") plan.value_strategy = tight_values(plan, choices, row);
      request.longest = *reserved == "long_reduce";
      if (request.longest) plan.value_strategy = exact_values(plan, choices);
    }
    DimChoice choice = choose_dims(op, request);
    plan.shape_strategy = choice.strategy;
    plan.dims = std::move(choice.dims);
  }
  GPUEMU_TRY(fit(op, plan, options.elements_max));
  return plan;
}

Result<CasePlan> mutated_case(const OpConfig& op, const CasePlan& from, uint64_t base_seed,
                              uint64_t iteration, const CaseOptions& options) {
  constexpr uint64_t kChangesMax = 3;
  CasePlan plan = from;
  plan.base_seed = base_seed;
  plan.iteration = iteration;
  plan.value_scale = 1;
  plan.kernel.clear();
  plan.shape_strategy = "mutated";
  const auto values = GPUEMU_TRY(value_strategies_for(op, plan.dtype, options.strategies));
  Stream stream(base_seed, iteration, "mutate");
  for (uint64_t left = 1 + stream.below(kChangesMax); left > 0; --left) {
    change_one(op, values, options.constants, stream, plan);
  }
  GPUEMU_TRY(fit(op, plan, options.elements_max));
  plan.case_seed = case_seed_of(base_seed, iteration, label_of(plan));
  return plan;
}

Result<CasePlan> with_dims(const OpConfig& op, const CasePlan& plan,
                           const std::map<std::string, int64_t>& dims) {
  CasePlan changed = plan;
  changed.dims = dims;
  GPUEMU_TRY(add_tensors(op, changed));
  return changed;
}

}  // namespace gpuemu
