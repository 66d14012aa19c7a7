// Checks that the tensors of an op's smallest case fit into memory. Larger cases are reduced until
// they fit, but not below what gpuemu.toml requires.
#include <algorithm>

#include "common/config/op_sizes.h"
#include "common/config/readers.h"
#include "common/numeric/dtype.h"

namespace gpuemu {
namespace {

// Cases are reduced to a few MiB if their dims allow it; a case beyond this size is slow to
// generate, run and compare.
constexpr double kSlowBytes = 64 << 20;

size_t least_bytes_per_element(const OpConfig& op, const TensorSpec& tensor) {
  if (const auto fixed = dtype_from_alias(tensor.dtype)) return byte_size(*fixed);
  size_t least = op.dtypes.empty() ? 1 : byte_size(op.dtypes.front());
  for (const DType dtype : op.dtypes) least = std::min(least, byte_size(dtype));
  return least;
}

/// Returns 0 if a size depends on something only known for a case. A double, so that nothing
/// overflows.
double bytes_of(const OpConfig& op, const TensorSpec& tensor, const Scope& scope) {
  auto bytes = static_cast<double>(least_bytes_per_element(op, tensor));
  for (const Expression& size : tensor.shape) {
    if (!size.tensor_uses().empty()) return 0;
    const auto value = size.evaluate_size(scope);
    if (!value) return 0;
    bytes *= static_cast<double>(*value);
  }
  return bytes;
}

std::string mebibytes(double bytes) { return fmt::format("{:.0f} MiB", bytes / (1 << 20)); }

}  // namespace

void widen_ranges(OpConfig& op) {
  constexpr double kFarthest = 1e18;
  const Scope least = scope_at_end(op, false), most = scope_at_end(op, true);
  for (auto* tensors : {&op.inputs, &op.outputs}) {
    for (TensorSpec& tensor : *tensors) {
      if (!tensor.range || (!tensor.range_low && !tensor.range_high)) continue;
      auto& [low, high] = *tensor.range;
      if (tensor.range_low) low = kFarthest;
      if (tensor.range_high) high = -kFarthest;
      for (const Scope* scope : {&least, &most}) {
        const auto value_of = [&](const std::optional<Expression>& end, double other) {
          const auto value = end ? end->evaluate(*scope) : Result<int64_t>(0);
          return value ? static_cast<double>(*value) : other;
        };
        if (tensor.range_low) low = std::min(low, value_of(tensor.range_low, -kFarthest));
        if (tensor.range_high) high = std::max(high, value_of(tensor.range_high, kFarthest));
      }
      high = std::max(low, high);
    }
  }
}

void check_smallest_case(ReadState& state, const Config& config, const OpConfig& op,
                         const OpDraft& draft) {
  if (op.mode != ExecutionMode::Kernel) return;
  const Scope scope = scope_at_end(op, false);
  double all = 0, most = 0;
  std::string largest;
  const auto add = [&](const std::vector<TensorSpec>& tensors, bool outputs) {
    for (const TensorSpec& tensor : tensors) {
      if (outputs && tensor.inout) continue;
      const double bytes = bytes_of(op, tensor, scope);
      all += bytes;
      if (bytes > most) largest = tensor.name;
      most = std::max(most, bytes);
    }
  };
  add(op.inputs, false);
  add(op.outputs, true);
  const std::string own = draft.path + ".dims";
  const std::string key = state.places.contains(own) ? own : draft.data_path + ".dims";
  const auto limit = static_cast<double>(config.memory_limit_mb << 20);
  if (all > limit) {
    state.problem_at(key, fmt::format("the smallest case of op '{}' has {} of tensors, {} of them "
                                      "'{}', but runtime.memory_limit_mb is {}; give the dims "
                                      "smaller sizes or raise the limit",
                                      op.name, mebibytes(all), mebibytes(most), largest,
                                      config.memory_limit_mb));
  } else if (all > kSlowBytes) {
    const Place place = state.place_of(key);
    state.warn(
        place, key,
        fmt::format(
            "the smallest case of op '{}' has {} of tensors and takes the time of hundreds of "
            "usual cases; let the dims begin with smaller sizes",
            op.name, mebibytes(all)));
  }
}

}  // namespace gpuemu
