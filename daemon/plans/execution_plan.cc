// Evaluates the launch data of a kernel over the dims and attrs of a case.
#include "daemon/plans/execution_plan.h"

#include <algorithm>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/config/config.h"
#include "common/config/initial_value.h"
#include "common/numeric/element.h"
#include "daemon/executor/execute_buffer.h"
#include "daemon/kernels/prepared_kernel.h"
#include "judge/cases/case.h"
#include "judge/explain/shadow_options.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

/// Allocates offsets in the arena one after another.
class OffsetPlanner {
 public:
  explicit OffsetPlanner(uint64_t first = 0) : next_(arena_aligned(first)) {}
  uint64_t take(uint64_t bytes) {
    const uint64_t at = next_;
    next_ += arena_aligned(bytes);
    return at;
  }
  uint64_t end() const { return next_; }

 private:
  uint64_t next_;
};

void add_case_tensors(const CasePlan& plan, OffsetPlanner& offsets, ExecutionPlan& out) {
  for (const CaseTensor& input : plan.inputs) {
    PlanTensor tensor{.name = input.name,
                      .dtype = input.dtype,
                      .shape = input.shape,
                      .layout = input.layout,
                      .base_offset_bytes = input.base_offset_bytes};
    tensor.arena_offset = offsets.take(packed_bytes(input.dtype, input.shape));
    const bool updated = std::ranges::any_of(
        plan.outputs, [&](const CaseTensor& output) { return output.name == input.name; });
    tensor.role = updated ? PlanTensor::Role::InOut : PlanTensor::Role::Input;
    if (updated) tensor.output_offset = offsets.take(packed_bytes(input.dtype, input.shape));
    out.tensors.push_back(std::move(tensor));
  }
  for (const CaseTensor& output : plan.outputs) {
    const bool known = std::ranges::any_of(
        out.tensors, [&](const PlanTensor& tensor) { return tensor.name == output.name; });
    if (known) continue;
    PlanTensor tensor{.name = output.name,
                      .role = PlanTensor::Role::Output,
                      .dtype = output.dtype,
                      .shape = output.shape,
                      .layout = output.layout,
                      .base_offset_bytes = output.base_offset_bytes,
                      .initial = output.initial};
    tensor.output_offset = offsets.take(packed_bytes(output.dtype, output.shape));
    out.tensors.push_back(std::move(tensor));
  }
}

Status add_scratch(const KernelConfig& kernel, const Scope& scope, DType dtype,
                   ExecutionPlan& out) {
  for (const TensorSpec& spec : kernel.scratch) {
    PlanTensor tensor{.name = spec.name, .role = PlanTensor::Role::Scratch};
    const auto scratch_dtype = dtype_from_alias(with_dtype(spec.dtype, dtype));
    if (!scratch_dtype) {
      return error(ErrorCode::InvalidArgument, "kernel '{}': scratch '{}' has no dtype '{}'",
                   kernel.name, spec.name, spec.dtype);
    }
    tensor.dtype = *scratch_dtype;
    for (const Expression& size : spec.shape) {
      auto value = size.evaluate(scope);
      if (!value) {
        return value.error().with_context("scratch '" + spec.name + "' of " + kernel.name);
      }
      tensor.shape.push_back(*value);
    }
    auto count = checked_element_count(tensor.shape);
    if (!count) return count.error().with_context("scratch '" + spec.name + "' of " + kernel.name);
    tensor.layout = contiguous_layout(tensor.shape);
    auto initial = initial_element(spec, tensor.dtype, scope);
    if (!initial) {
      return initial.error().with_context("scratch '" + spec.name + "' of " + kernel.name);
    }
    tensor.initial = *std::move(initial);
    out.tensors.push_back(std::move(tensor));
  }
  return ok_status();
}

Result<Dim3> evaluate_dim3(const std::vector<Expression>& sizes, const Scope& scope,
                           const std::string& what) {
  uint32_t values[3] = {1, 1, 1};
  for (size_t axis = 0; axis < sizes.size() && axis < 3; ++axis) {
    auto value = sizes[axis].evaluate(scope);
    if (!value) return value.error().with_context(what);
    if (*value < 0 || *value > kGridXMax) {
      return error(ErrorCode::InvalidArgument, "{}: '{}' is {}, expected 0 to {}", what,
                   sizes[axis].text(), *value, kGridXMax);
    }
    values[axis] = static_cast<uint32_t>(*value);
  }
  return Dim3{values[0], values[1], values[2]};
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  return {from, from + sizeof(T)};
}

template <typename T>
Result<std::vector<std::byte>> integer_bytes(const LaunchSpec::Arg& arg, const Scope& scope) {
  const int64_t value = GPUEMU_TRY(arg.value->evaluate(scope));
  if constexpr (sizeof(T) < 8) {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      return error(ErrorCode::InvalidArgument, "'{}' is {}, which its type cannot hold", arg.text,
                   value);
    }
  } else if constexpr (std::is_unsigned_v<T>) {
    if (value < 0) {
      return error(ErrorCode::InvalidArgument, "'{}' is {}, expected 0 or more", arg.text, value);
    }
  }
  return bytes_of(static_cast<T>(value));
}

Result<std::vector<std::byte>> number_bytes(const LaunchSpec::Arg& arg, const Scope& scope) {
  switch (arg.dtype) {
    case DType::Int8:
      return integer_bytes<int8_t>(arg, scope);
    case DType::UInt8:
      return integer_bytes<uint8_t>(arg, scope);
    case DType::Int16:
      return integer_bytes<int16_t>(arg, scope);
    case DType::UInt16:
      return integer_bytes<uint16_t>(arg, scope);
    case DType::Int32:
      return integer_bytes<int32_t>(arg, scope);
    case DType::UInt32:
      return integer_bytes<uint32_t>(arg, scope);
    case DType::Int64:
      return integer_bytes<int64_t>(arg, scope);
    case DType::UInt64:
      return integer_bytes<uint64_t>(arg, scope);
    case DType::Bool: {
      const int64_t value = GPUEMU_TRY(arg.value->evaluate(scope));
      if (value != 0 && value != 1) {
        return error(ErrorCode::InvalidArgument, "'{}' is {}, expected 0 or 1", arg.text, value);
      }
      return bytes_of(static_cast<uint8_t>(value));
    }
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float32:
    case DType::Float64:
      break;
  }
  std::vector<std::byte> bytes(byte_size(arg.dtype));
  write_from_double(arg.dtype, GPUEMU_TRY(arg.value->evaluate_real(scope)), bytes.data());
  return bytes;
}

Result<std::vector<std::byte>> scalar_bytes(const LaunchSpec::Arg& arg, const Scope& scope);

struct AlignedBytes {
  std::vector<std::byte> bytes;
  size_t align = 1;
};

/// Returns the bytes of a structure with each member at a multiple of its alignment, as C lays it
/// out.
Result<AlignedBytes> struct_bytes(const LaunchSpec::Arg& arg, const Scope& scope) {
  AlignedBytes out;
  const auto pad_to = [&out](size_t align) {
    out.bytes.resize((out.bytes.size() + align - 1) / align * align);
  };
  for (const LaunchSpec::Arg& member : arg.members) {
    AlignedBytes one;
    if (member.kind == LaunchSpec::Arg::Kind::Struct) {
      one = GPUEMU_TRY(struct_bytes(member, scope));
    } else {
      one.bytes = GPUEMU_TRY(scalar_bytes(member, scope));
      one.align = one.bytes.size();
    }
    out.align = std::max(out.align, one.align);
    pad_to(one.align);
    out.bytes.insert(out.bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  pad_to(out.align);
  return out;
}

Result<std::vector<std::byte>> scalar_bytes(const LaunchSpec::Arg& arg, const Scope& scope) {
  using Kind = LaunchSpec::Arg::Kind;
  switch (arg.kind) {
    case Kind::Tensor:
      break;
    case Kind::NullPointer:
      return bytes_of(uint64_t{0});
    case Kind::Number:
      return number_bytes(arg, scope);
    case Kind::Struct:
      return GPUEMU_TRY(struct_bytes(arg, scope)).bytes;
  }
  GPUEMU_UNREACHABLE();
}

Result<PlanArg> build_arg(const LaunchSpec::Arg& arg, const Scope& scope,
                          const ExecutionPlan& plan) {
  PlanArg built{.text = arg.text};
  if (arg.kind != LaunchSpec::Arg::Kind::Tensor) {
    built.scalar = GPUEMU_TRY(scalar_bytes(arg, scope));
    return built;
  }
  for (size_t index = 0; index < plan.tensors.size(); ++index) {
    if (plan.tensors[index].name == arg.tensor) built.tensor = static_cast<int32_t>(index);
  }
  if (built.tensor < 0) {
    return error(ErrorCode::InvalidArgument, "'{}' is not an input, output or scratch tensor",
                 arg.tensor);
  }
  if (!arg.value) return built;
  const PlanTensor& tensor = plan.tensors[static_cast<size_t>(built.tensor)];
  const int64_t elements = GPUEMU_TRY(arg.value->evaluate(scope));
  if (elements < 0 || elements > tensor.layout.buffer_elements) {
    return error(ErrorCode::InvalidArgument,
                 "the address is {} elements behind the first of '{}', expected 0 to {}", elements,
                 arg.tensor, tensor.layout.buffer_elements);
  }
  built.offset_bytes = static_cast<uint64_t>(elements) * byte_size(tensor.dtype);
  return built;
}

Result<PlanLaunch> build_launch(const LaunchSpec& spec, const Scope& scope,
                                const ExecutionPlan& plan, const std::string& what) {
  PlanLaunch launch;
  launch.grid = GPUEMU_TRY(evaluate_dim3(spec.grid, scope, what + " grid"));
  launch.block = GPUEMU_TRY(evaluate_dim3(spec.block, scope, what + " block"));
  if (!spec.cluster.empty()) {
    launch.cluster = GPUEMU_TRY(evaluate_dim3(spec.cluster, scope, what + " cluster"));
  }
  if (spec.shared) {
    auto bytes = spec.shared->evaluate(scope);
    if (!bytes) return bytes.error().with_context(what + " shared");
    if (*bytes < 0 || *bytes > std::numeric_limits<int32_t>::max()) {
      return error(ErrorCode::InvalidArgument, "{} shared: '{}' is {} bytes, expected 0 to {}",
                   what, spec.shared->text(), *bytes, std::numeric_limits<int32_t>::max());
    }
    launch.shared_bytes = static_cast<uint32_t>(*bytes);
  }
  for (const LaunchSpec::Arg& arg : spec.args) {
    auto built = build_arg(arg, scope, plan);
    if (!built) return built.error().with_context(what + " argument '" + arg.text + "'");
    launch.args.push_back(*std::move(built));
  }
  return launch;
}

Result<PlanVariable> build_variable(const PreparedVariable& variable, const KernelConfig& kernel,
                                    const Scope& scope, const ExecutionPlan& plan) {
  PlanVariable built{
      variable.name, variable.source_name, {}, variable.initial, variable.starts_undefined};
  built.initial.resize(variable.bytes);
  if (variable.symbol < 0) return built;
  const std::string what = "kernel '" + kernel.name + "', symbol '" + variable.source_name + "'";
  auto value = build_arg(kernel.symbols[static_cast<size_t>(variable.symbol)].value, scope, plan);
  if (!value) return value.error().with_context(what);
  built.value = *std::move(value);
  uint64_t bytes = built.value.scalar.size();
  if (built.value.tensor >= 0) {
    const PlanTensor& tensor = plan.tensors[static_cast<size_t>(built.value.tensor)];
    bytes = packed_bytes(tensor.dtype, tensor.shape);
  }
  if (bytes <= variable.bytes) return built;
  return error(
      ErrorCode::InvalidArgument,
      "{}: '{}' has {} bytes, the variable only {}; make the dims smaller, or the variable "
      "larger",
      what, built.value.text, bytes, variable.bytes);
}

/// Returns a scope of the same op with much larger sizes: it enlarges every dim that may be
/// declared as kSizeFrom or more. Smaller dims count things that are always few, such as heads.
Scope grown_scope(const OpConfig& op, Scope scope) {
  constexpr int64_t kSizeFrom = 256, kGrowth = 4096;
  for (const DimSpec& dim : op.dims) {
    if (std::ranges::max(dim.values) < kSizeFrom) continue;
    int64_t& size = scope.integers[dim.name];
    size = std::max<int64_t>(size, 1) * kGrowth;
  }
  static_cast<void>(add_derived_dims(op, scope).ok());
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      std::vector<int64_t> shape;
      for (const Expression& axis : tensor.shape) {
        if (const auto size = axis.evaluate(scope)) shape.push_back(*size);
      }
      if (shape.size() == tensor.shape.size()) scope.shapes[tensor.name] = std::move(shape);
    }
  }
  return scope;
}

/// Returns the number of blocks of the grid in such a scope; 0 if it cannot be evaluated.
uint64_t grown_blocks(const LaunchSpec& spec, const Scope& grown) {
  constexpr int64_t kEnough = int64_t{1} << 20;  // More than any device holds at once.
  int64_t blocks = 1;
  for (const Expression& axis : spec.grid) {
    const auto size = axis.evaluate(grown);
    if (!size || *size <= 0) return 0;
    blocks = std::min(kEnough, blocks * std::min(kEnough, *size));
  }
  return static_cast<uint64_t>(blocks);
}

bool is_declared(InvariantKind invariant, const OpConfig& op, const KernelConfig& kernel) {
  const auto declared = invariants_of(op, kernel);
  return std::ranges::find(declared, invariant, &InvariantSpec::kind) != declared.end();
}

}  // namespace

Scope scope_of(const OpConfig& op, const CasePlan& plan) {
  Scope scope;
  scope.integers = plan.dims;
  for (const AttrSpec& attr : op.attrs) {
    const auto value = plan.attrs.find(attr.name);
    if (value == plan.attrs.end()) continue;
    if (is_float(attr.dtype)) {
      scope.reals[attr.name] = value->second;
    } else {
      scope.integers[attr.name] = static_cast<int64_t>(value->second);
    }
  }
  scope.strings["dtype"] = std::string(name_of(plan.dtype));
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) {
      scope.shapes[tensor.name] = tensor.shape;
      scope.strides[tensor.name] = tensor.layout.strides;
    }
  }
  return scope;
}

Result<bool> supports_case(const KernelConfig& kernel, const Scope& scope) {
  if (!kernel.supports) return true;
  auto value = kernel.supports->evaluate(scope);
  if (!value) return value.error().with_context("kernel '" + kernel.name + "' supports");
  return *value != 0;
}

Result<BuiltPlan> build_plan(const Config& config, const KernelConfig& kernel,
                             const PreparedKernel& prepared, const OpConfig& op,
                             const CasePlan& plan) {
  BuiltPlan built;
  ExecutionPlan& out = built.plan;
  out.module_key = prepared.key;
  out.module_name = prepared.name;
  out.runs = std::max<uint32_t>(1, config.determinism_runs);
  out.deterministic = op.deterministic;
  out.order_seed = plan.case_seed;
  out.timeout_ms = config.case_timeout_ms;
  out.memory_limit_bytes = config.memory_limit_mb << 20;
  out.sanitize = config.sanitize;
  if (is_declared(InvariantKind::WrittenOnce, op, kernel)) out.sanitize.add(DeviceCheck::Writes);
  OffsetPlanner offsets;
  add_case_tensors(plan, offsets, out);
  const Scope scope = scope_of(op, plan);
  GPUEMU_TRY(add_scratch(kernel, scope, plan.dtype, out));
  if (out.tensors.size() > kTensorsMax) {
    return error(ErrorCode::InvalidArgument, "kernel '{}' uses {} tensors, the limit is {}",
                 kernel.name, out.tensors.size(), kTensorsMax);
  }
  for (const PreparedVariable& variable : prepared.variables) {
    out.variables.push_back(GPUEMU_TRY(build_variable(variable, kernel, scope, out)));
  }
  const Scope grown = grown_scope(op, scope);
  for (size_t index = 0; index < kernel.launches.size(); ++index) {
    const std::string what = fmt::format("kernel '{}' launch {}", kernel.name, index + 1);
    out.launches.push_back(GPUEMU_TRY(build_launch(kernel.launches[index], scope, out, what)));
    out.launches.back().entry = prepared.entries[index];
    out.launches.back().grown_blocks = grown_blocks(kernel.launches[index], grown);
  }
  built.result_offset = offsets.end();
  return built;
}

Result<uint64_t> device_bytes_of(const KernelConfig& kernel, const OpConfig& op,
                                 const CasePlan& plan) {
  OffsetPlanner offsets;
  ExecutionPlan needed;
  add_case_tensors(plan, offsets, needed);
  if (!kernel.scratch.empty()) {
    GPUEMU_TRY(add_scratch(kernel, scope_of(op, plan), plan.dtype, needed));
  }
  uint64_t bytes = 0;
  for (const PlanTensor& tensor : needed.tensors) {
    bytes += GPUEMU_TRY(ExecuteBuffer::bytes_for(tensor, true));
  }
  return bytes;
}

void add_warmup(BuiltPlan& built) {
  OffsetPlanner offsets(built.result_offset);
  for (PlanTensor& tensor : built.plan.tensors) {
    if (!is_read(tensor)) continue;
    tensor.warmup_offset = offsets.take(packed_bytes(tensor.dtype, tensor.shape));
  }
  built.result_offset = offsets.end();
  built.plan.warmup = true;
}

Status change_launches(const InvariantSpec& sizes, const Scope& scope, ExecutionPlan& plan) {
  const auto value_of = [&](const char* name) -> Result<std::optional<int64_t>> {
    const auto text = sizes.strings.find(name);
    if (text == sizes.strings.end()) return std::optional<int64_t>();
    const Expression size = GPUEMU_TRY(Expression::parse(text->second));
    const auto value = size.evaluate(scope);
    if (!value) return value.error().with_context(fmt::format("{} {}", name_of(sizes.kind), name));
    if (*value < 0 || *value > kGridXMax) {
      return error(ErrorCode::InvalidArgument, "{} {}: '{}' is {}, expected 0 to {}",
                   name_of(sizes.kind), name, text->second, *value, kGridXMax);
    }
    return std::optional(*value);
  };
  const auto grid = GPUEMU_TRY(value_of("grid"));
  const auto block = GPUEMU_TRY(value_of("block"));
  const auto shared = GPUEMU_TRY(value_of("shared"));
  for (PlanLaunch& launch : plan.launches) {
    if (grid) launch.grid = {static_cast<uint32_t>(*grid), 1, 1};
    if (block) launch.block = {static_cast<uint32_t>(*block), 1, 1};
    if (shared) launch.shared_bytes = static_cast<uint32_t>(*shared);
  }
  return ok_status();
}

void plan_shadow(const ShadowOptions& options, BuiltPlan& built) {
  ExecutionPlan& plan = built.plan;
  plan.runs = 1;
  plan.shadow.wanted = true;
  plan.shadow.errors = options.errors;
  plan.shadow.nudge = options.nudge;
  if (options.timeout_ms != 0) plan.timeout_ms = std::min(plan.timeout_ms, options.timeout_ms);
  plan.shadow.offsets.clear();
  built.result_offset = (built.result_offset + 63) / 64 * 64;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    plan.shadow.offsets.push_back(built.result_offset);
    if (is_written(tensor)) {
      built.result_offset +=
          static_cast<uint64_t>(element_count(tensor.shape)) * sizeof(ElementShadow);
    }
    if (!is_written(tensor) || options.output != tensor.name) continue;
    plan.shadow.tensor = static_cast<int32_t>(i);
    plan.shadow.element = options.element;
    plan.shadow.block = options.block;
  }
}

}  // namespace gpuemu
