// Describes a case: converts its plan and its kernel's files to records of the protocol.
#include "daemon/pipeline/case_export.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "common/base/files.h"
#include "common/config/kernel_config.h"
#include "common/config/nan_policy.h"
#include "common/config/op_config.h"
#include "common/tensor/fill_elements.h"
#include "daemon/case/case_request.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/plans/execution_plan.h"
#include "judge/bounds/error_bound.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSourcesMax = 64;                       // Counts a kernel's own headers.
constexpr size_t kSourceFileBytesMax = size_t{4} << 20;  // Allows for generated sources.

TensorRole role_of(PlanTensor::Role role) {
  switch (role) {
    case PlanTensor::Role::Input:
      return TensorRole::Input;
    case PlanTensor::Role::Output:
      return TensorRole::Output;
    case PlanTensor::Role::InOut:
      return TensorRole::InOut;
    case PlanTensor::Role::Scratch:
      return TensorRole::Scratch;
  }
  GPUEMU_UNREACHABLE();
}

ExportedTensor describe(const PlanTensor& tensor) {
  ExportedTensor out{.name = tensor.name, .role = role_of(tensor.role), .dtype = tensor.dtype};
  out.shape = tensor.shape;
  out.strides = tensor.layout.strides;
  out.storage_elements = static_cast<uint64_t>(tensor.layout.buffer_elements);
  out.first_element = tensor.layout.offset_elements;
  out.base_offset_bytes = tensor.base_offset_bytes;
  if (is_float(tensor.dtype)) {
    const FloatFormat& format = format_of(tensor.dtype);
    out.edge = format.max / (1 + 4 * format.unit);
  }
  return out;
}

std::vector<uint32_t> sizes_of(const Dim3& size) { return {size.x, size.y, size.z}; }

ExportedLaunch describe(const PlanLaunch& launch, const ExecutionPlan& plan) {
  ExportedLaunch out{.entry = launch.entry,
                     .grid = sizes_of(launch.grid),
                     .block = sizes_of(launch.block),
                     .cluster = {},
                     .shared_bytes = launch.shared_bytes,
                     .args = {}};
  if (launch.cluster.x > 0) out.cluster = sizes_of(launch.cluster);
  for (const PlanArg& arg : launch.args) {
    ExportedArg one{.text = arg.text, .tensor = {}, .bytes = arg.scalar};
    if (arg.tensor >= 0) one.tensor = plan.tensors[static_cast<size_t>(arg.tensor)].name;
    one.offset_bytes = arg.offset_bytes;
    out.args.push_back(std::move(one));
  }
  return out;
}

/// Returns the names in #include "name" lines.
std::vector<std::string> included_names(const std::string& text) {
  constexpr std::string_view kInclude = "#include";
  std::vector<std::string> names;
  for (size_t at = text.find(kInclude); at != std::string::npos; at = text.find(kInclude, at)) {
    at += kInclude.size();
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t open = text.find_first_not_of(" \t", at);
    if (open >= end || text[open] != '"') continue;
    const size_t close = text.find('"', open + 1);
    if (close < end) names.push_back(text.substr(open + 1, close - open - 1));
  }
  return names;
}

/// Returns whether the path stays within the folder that it starts from.
bool is_plain_path(const fs::path& path) {
  return !path.empty() && path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

/// Adds the kernel's file and those of its includes that lie beside or below it. System headers and
/// those of other projects are not exported.
void add_sources(const std::string& file, ExportedCaseReply& out) {
  const fs::path folder = fs::path(file).parent_path();
  std::vector<fs::path> waiting{fs::path(file).filename()};
  out.source = waiting.front().string();
  while (!waiting.empty() && out.sources.size() < kSourcesMax) {
    const fs::path name = waiting.back();
    waiting.pop_back();
    if (out.sources.contains(name.string())) continue;
    const auto text = read_file((folder / name).string(), kSourceFileBytesMax);
    if (!text) continue;
    for (const std::string& included : included_names(*text)) {
      const fs::path path = (name.parent_path() / included).lexically_normal();
      if (is_plain_path(path)) waiting.push_back(path);
    }
    out.sources[name.string()] = *text;
  }
  if (!out.sources.contains(out.source)) out.source.clear();
}

/// Converts packed numbers of any element type to a tensor of doubles.
Tensor doubles(const Shape& shape, std::span<const double> values) {
  Tensor tensor = make_tensor(DType::Float64, shape);
  std::ranges::copy(std::as_bytes(values), tensor.data.begin());
  return tensor;
}

}  // namespace

LaunchedCode launched_code(const CaseRequest& request, const BuiltPlan& built) {
  LaunchedCode code{.ptx = request.prepared.ptx, .launches = {}};
  for (const PlanLaunch& launch : built.plan.launches) {
    code.launches.push_back(describe(launch, built.plan));
  }
  return code;
}

ExportedCaseReply describe_case(const CaseRequest& request, const BuiltPlan& built) {
  ExportedCaseReply out;
  out.kernel = request.kernel.name;
  LaunchedCode code = launched_code(request, built);
  out.ptx = std::move(code.ptx);
  out.launches = std::move(code.launches);
  out.nan_policy = name_of(request.op.nan_policy);
  if (fs::path(request.kernel.source).is_absolute()) add_sources(request.kernel.source, out);
  for (const PlanTensor& tensor : built.plan.tensors) {
    ExportedTensor& one = out.tensors.emplace_back(describe(tensor));
    if (!tensor.initial.empty()) {
      Tensor& values = out.inputs[tensor.name] = make_tensor(tensor.dtype, tensor.shape);
      fill_elements(tensor.initial, values.data);
    }
    const NanPolicy own = request.op.nan_policy_of(tensor.name);
    if (own != request.op.nan_policy) one.nan_policy = name_of(own);
  }
  return out;
}

void add_expectation(const Comparison& comparison, ExportedCaseReply& to) {
  const TensorView& reference = comparison.reference;
  const auto count = static_cast<size_t>(element_count(reference.shape));
  const ErrorBound bound(comparison);
  const auto& ulps = comparison.policy.tolerance.ulp;
  const bool widened =
      ulps && !comparison.policy.tolerance.automatic && is_float(comparison.output.dtype);
  std::vector<double> values(count), bounds(count);
  decode(reference, 0, values);
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    bounds[i] = bound.at(i, values[i]);
    if (!comparison.undefined.empty() && comparison.undefined[i] != 0) {
      bounds[i] = std::numeric_limits<double>::max();
    }
    if (!widened) continue;
    // The reference is rounded to the output's type before units in the last place are counted:
    // that adds half a unit.
    const double place = ulp_at(format_of(comparison.output.dtype), values[i]);
    bounds[i] = std::max(bounds[i], (static_cast<double>(*ulps) + 0.5) * place);
  }
  // Integers beyond 2^53 are exact only in their own type.
  to.expected[comparison.output_name] =
      is_float(reference.dtype)
          ? doubles(reference.shape, values)
          : Tensor{
                reference.dtype, reference.shape, {reference.data.begin(), reference.data.end()}};
  to.bounds[comparison.output_name] = doubles(reference.shape, bounds);
}

}  // namespace gpuemu
