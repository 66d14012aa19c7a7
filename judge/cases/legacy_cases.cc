// Reproduces the cases of existing clients, decision by decision.
#include "judge/cases/legacy_cases.h"

#include <algorithm>

#include "common/base/service_limits.h"
#include "common/rng/legacy.h"

namespace gpuemu {
namespace {

template <typename T>
Result<T> choose(LegacyRng& rng, const std::vector<T>& items, const char* list) {
  if (items.empty()) {
    return error(ErrorCode::InvalidArgument, "{} is empty, name at least one", list);
  }
  return items[rng.index(items.size())];
}

Result<Shape> plain_shape(const FuzzConfig& config, LegacyRng rng) {
  if (!config.edge_cases.empty() && rng.boolean(0.1)) {
    return config.edge_cases[rng.index(config.edge_cases.size())];
  }
  const int64_t batch = GPUEMU_TRY(choose(rng, config.batch_sizes, "batch_sizes"));
  const int64_t seq = GPUEMU_TRY(choose(rng, config.seq_lengths, "seq_lengths"));
  const int64_t hidden = GPUEMU_TRY(choose(rng, config.hidden_dims, "hidden_dims"));
  return Shape{batch, seq, hidden};
}

using Sizes = std::map<std::string, int64_t>;

Sizes schema_sizes(const OpSchema& schema, const LegacyRng& rng) {
  Sizes sizes;
  for (const OpSchema::Dim& dim : schema.dims) {
    LegacyRng own = rng.child(dim.name);
    sizes[dim.name] = dim.candidates.empty() ? 1 : dim.candidates[own.index(dim.candidates.size())];
  }
  return sizes;
}

Shape schema_shape(const OpSchema::TensorDims& tensor, const Sizes& sizes) {
  Shape shape;
  for (const std::string& dim : tensor.dims) {
    const auto found = sizes.find(dim);
    shape.push_back(found == sizes.end() ? 1 : found->second);
  }
  return shape;
}

void plan_schema(const OpSchema& schema, const std::vector<std::string>& names,
                 const LegacyRng& rng, LegacyPlan& plan) {
  const Sizes sizes = schema_sizes(schema, rng);
  plan.shape = {1};
  if (schema.output) {
    plan.shape = schema_shape(*schema.output, sizes);
  } else if (!schema.inputs.empty()) {
    plan.shape = schema_shape(schema.inputs.front(), sizes);
  }
  for (const std::string& name : names) {
    const auto tensor = std::ranges::find(schema.inputs, name, &OpSchema::TensorDims::name);
    plan.input_shapes.push_back(tensor == schema.inputs.end() ? plan.shape
                                                              : schema_shape(*tensor, sizes));
  }
}

std::vector<std::string> names_or_default(const std::vector<std::string>& names) {
  return names.empty() ? std::vector<std::string>{"input"} : names;
}

Tensor legacy_input(uint64_t case_seed, size_t position, DType dtype, const Shape& shape) {
  Tensor tensor = make_tensor(dtype, shape);
  LegacyRng(case_seed)
      .child("data")
      .child("input_" + std::to_string(position))
      .fill(dtype, tensor.data);
  return tensor;
}

Status check_size(const LegacyPlan& plan) {
  GPUEMU_TRY(checked_element_count(plan.shape));
  uint64_t bytes = 0;
  for (const Shape& shape : plan.input_shapes) {
    bytes +=
        static_cast<uint64_t>(GPUEMU_TRY(checked_element_count(shape))) * byte_size(plan.dtype);
    if (bytes <= kClientCaseBytesMax) continue;
    return error(
        ErrorCode::InvalidArgument,
        "the inputs of a case with shape {} of {} hold more than {} MiB, the limit of such "
        "cases; draw from smaller sizes",
        to_string(shape), name_of(plan.dtype), kClientCaseBytesMax >> 20);
  }
  return ok_status();
}

}  // namespace

Strides legacy_strides(LayoutKind layout, const Shape& shape) {
  Shape memory = shape;
  if (layout == LayoutKind::Transposed && shape.size() >= 2) {
    std::swap(memory[shape.size() - 1], memory[shape.size() - 2]);
  }
  Strides strides = row_major_strides(memory);
  if (layout == LayoutKind::Strided) {
    for (int64_t& stride : strides) stride *= 2;
  }
  return strides;
}

Result<LegacyPlan> plan_legacy_case(const FuzzConfig& config,
                                    const std::vector<std::string>& input_names, uint64_t number) {
  const auto names = names_or_default(input_names);
  LegacyPlan plan;
  plan.case_seed = legacy_case_seed(config.seed, number);
  const LegacyRng rng(plan.case_seed);
  LegacyRng dtype = rng.child("dtype");
  LegacyRng layout = rng.child("layout");
  plan.dtype = GPUEMU_TRY(choose(dtype, config.dtypes, "dtypes"));
  plan.layout = GPUEMU_TRY(choose(layout, config.layouts, "layouts"));
  if (config.op_schema) {
    plan_schema(*config.op_schema, names, rng.child("shape"), plan);
  } else {
    plan.shape = GPUEMU_TRY(plain_shape(config, rng.child("shape")));
    plan.input_shapes.assign(names.size(), plan.shape);
  }
  GPUEMU_TRY(check_size(plan));
  return plan;
}

Result<LegacyCase> make_legacy_case(const FuzzConfig& config,
                                    const std::vector<std::string>& input_names, uint64_t number) {
  const auto names = names_or_default(input_names);
  LegacyPlan plan = GPUEMU_TRY(plan_legacy_case(config, names, number));
  LegacyCase made{plan.case_seed,
                  plan.dtype,
                  plan.layout,
                  plan.shape,
                  legacy_strides(plan.layout, plan.shape),
                  {},
                  {}};
  for (size_t i = 0; i < names.size(); ++i) {
    made.inputs[names[i]] = legacy_input(plan.case_seed, i, plan.dtype, plan.input_shapes[i]);
    made.input_strides[names[i]] = legacy_strides(plan.layout, plan.input_shapes[i]);
  }
  return made;
}

NamedTensors legacy_inputs(uint64_t case_seed, DType dtype, const Shape& shape,
                           const std::vector<std::string>& input_names) {
  NamedTensors inputs;
  const auto names = names_or_default(input_names);
  for (size_t i = 0; i < names.size(); ++i) {
    inputs[names[i]] = legacy_input(case_seed, i, dtype, shape);
  }
  return inputs;
}

}  // namespace gpuemu
