#include "judge/bounds/error_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/base/check.h"
#include "common/numeric/infinity.h"
#include "judge/bounds/blocks.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

constexpr double kSafety = 8;  // K: rounding noise beyond 8 sigma has probability under 3e-14.
constexpr double kUnknown = -1;
constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

std::vector<double> all_of(const TensorView& tensor) {
  std::vector<double> values(static_cast<size_t>(element_count(tensor.shape)));
  decode(tensor, 0, values);
  return values;
}

size_t row_size_of(const Shape& shape) {
  return shape.empty() || shape.back() <= 0 ? 1 : static_cast<size_t>(shape.back());
}

const TensorView* same_shape_input(const Comparison& comparison) {
  const auto found = comparison.inputs.find(comparison.reference_input);
  if (found != comparison.inputs.end() && found->second.shape == comparison.output.shape) {
    return &found->second;
  }
  for (const auto& [name, view] : comparison.inputs) {
    if (view.shape == comparison.output.shape) return &view;
  }
  return nullptr;
}

/// Returns (|x| + max |x|) / sigma + |r| per row: what subtracting a mean can cost.
std::vector<double> normalized_scale(const std::vector<double>& x, const std::vector<double>& r,
                                     size_t row_size) {
  std::vector<double> scale(x.size());
  for (size_t row = 0; row < x.size(); row += row_size) {
    const size_t end = std::min(row + row_size, x.size());
    double sum = 0, square = 0, largest = 0;
    for (size_t i = row; i < end; ++i) {
      sum += x[i];
      largest = std::max(largest, std::fabs(x[i]));
    }
    const double mean = sum / static_cast<double>(end - row);
    for (size_t i = row; i < end; ++i) square += (x[i] - mean) * (x[i] - mean);
    const double sigma = std::sqrt(square / static_cast<double>(end - row));
    for (size_t i = row; i < end; ++i) {
      const double amplified = sigma > 0 ? (std::fabs(x[i]) + largest) / sigma : 0;
      scale[i] = std::max(amplified, largest) + std::fabs(r[i]);
    }
  }
  return scale;
}

/// Returns the norms of the rows (axis 1) or columns (axis 0) of a matrix; their products bound |A|
/// |B|.
std::vector<double> lengths(const TensorView& matrix, size_t axis) {
  const std::vector<double> values = all_of(matrix);
  const auto columns = static_cast<size_t>(matrix.shape[1]);
  std::vector<double> squares(static_cast<size_t>(matrix.shape[1 - axis]), 0.0);
  for (size_t i = 0; i < values.size(); ++i) {
    squares[axis == 1 ? i / columns : i % columns] += values[i] * values[i];
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

/// Returns two inputs whose matrix product has the output's shape; nothing if there are none.
std::optional<std::pair<const TensorView*, const TensorView*>> factors_of(
    const Comparison& comparison) {
  const Shape& out = comparison.output.shape;
  if (out.size() != 2) return std::nullopt;
  for (const auto& [left_name, left] : comparison.inputs) {
    for (const auto& [right_name, right] : comparison.inputs) {
      if (left_name == right_name || left.shape.size() != 2 || right.shape.size() != 2) continue;
      if (left.shape[0] == out[0] && left.shape[1] == right.shape[0] && right.shape[1] == out[1]) {
        return std::pair(&left, &right);
      }
    }
  }
  return std::nullopt;
}

/// Returns S of a matrix product by the Cauchy-Schwarz inequality; empty if no two inputs multiply
/// to the output's shape.
std::vector<double> product_scale(const Comparison& comparison) {
  const auto factors = factors_of(comparison);
  if (!factors) return {};
  const std::vector<double> rows = lengths(*factors->first, 1),
                            columns = lengths(*factors->second, 0);
  std::vector<double> scale;
  scale.reserve(rows.size() * columns.size());
  for (const double row : rows) {
    for (const double column : columns) scale.push_back(row * column);
  }
  return scale;
}

/// Returns the first input, if it has a row for each element of the output.
const TensorView* summed_of(const Comparison& comparison) {
  const auto found = comparison.inputs.find(comparison.reference_input);
  const auto count = static_cast<size_t>(element_count(comparison.output.shape));
  if (found == comparison.inputs.end() || count == 0) return nullptr;
  const Shape& shape = found->second.shape;
  const auto terms = static_cast<size_t>(element_count(shape));
  const bool rows =
      count == 1 || (!shape.empty() && comparison.output.shape.size() <= shape.size() &&
                     row_size_of(shape) * count == terms);
  return rows ? &found->second : nullptr;
}

/// Returns sums of |x|, if an input holds a whole number of elements per output element.
std::vector<double> sum_scale(const Comparison& comparison) {
  const TensorView* summed = summed_of(comparison);
  if (summed == nullptr) return {};
  const auto count = static_cast<size_t>(element_count(comparison.output.shape));
  const std::vector<double> x = all_of(*summed);
  std::vector<double> sums(count, 0.0);
  for (size_t i = 0; i < x.size(); ++i) sums[i / (x.size() / count)] += std::fabs(x[i]);
  return sums;
}

std::vector<double> elementwise_scale(const Comparison& comparison, const std::vector<double>& r,
                                      ErrorScale kind) {
  const TensorView* input = same_shape_input(comparison);
  const std::vector<double> x = input == nullptr ? std::vector<double>() : all_of(*input);
  std::vector<double> scale(r.size());
  for (size_t i = 0; i < r.size(); ++i) {
    const double from = x.empty() ? comparison.policy.input_abs_max : std::fabs(x[i]);
    const double value = std::fabs(r[i]);
    scale[i] = kind == ErrorScale::Gelu ? std::max(value, from) : value * (1 + from);
  }
  return scale;
}

/// What a scale requires of the shapes of inputs and output.
enum class ScaleNeed : uint8_t { Nothing, Summed, Factors, SameShape };
ScaleNeed need_of(ErrorScale scale) {
  switch (scale) {
    case ErrorScale::Sum:
      return ScaleNeed::Summed;
    case ErrorScale::Dot:
    case ErrorScale::Matmul:
      return ScaleNeed::Factors;
    case ErrorScale::Norm:
    case ErrorScale::LayerNorm:
      return ScaleNeed::SameShape;
    default:
      return ScaleNeed::Nothing;
  }
}

/// Returns the scale of each element; empty if it is not per element or does not fit the shapes.
std::vector<double> scale_per_element(const Comparison& comparison, ErrorScale scale) {
  switch (scale) {
    case ErrorScale::Dot:
    case ErrorScale::Matmul: {
      std::vector<double> products = product_scale(comparison);
      return products.empty() ? sum_scale(comparison) : products;
    }
    case ErrorScale::Sum:
      return sum_scale(comparison);
    case ErrorScale::Gelu:
    case ErrorScale::Silu:
    case ErrorScale::Sigmoid:
    case ErrorScale::Exp:
      return elementwise_scale(comparison, all_of(comparison.reference), scale);
    case ErrorScale::Norm:
    case ErrorScale::LayerNorm: {
      const TensorView* input = same_shape_input(comparison);
      if (input == nullptr) return {};
      return normalized_scale(all_of(*input), all_of(comparison.reference),
                              row_size_of(comparison.output.shape));
    }
    default:
      return {};
  }
}

/// The formula. automatic_bounds_by_four does the same operations in the same order.
inline double automatic_bound(const BoundTerms& terms, double reference, double scale) {
  const double magnitude = std::fabs(reference);
  const double bound = ulp_at(terms.format, reference) + terms.sum_factor * std::fabs(scale) +
                       terms.value_factor * magnitude + terms.floor;
  return std::fabs(scale) < kInfinity ? bound : kInfinity;
}

}  // namespace

bool scale_applies(const Comparison& comparison) {
  switch (need_of(comparison.policy.error_scale)) {
    case ScaleNeed::Summed:
      return summed_of(comparison) != nullptr;
    case ScaleNeed::Factors:
      return factors_of(comparison).has_value() || summed_of(comparison) != nullptr;
    case ScaleNeed::SameShape:
      return same_shape_input(comparison) != nullptr;
    case ScaleNeed::Nothing:
      break;
  }
  return true;
}

ErrorBound::ErrorBound(const Comparison& comparison) {
  const ValidationPolicy& policy = comparison.policy;
  const DType dtype = comparison.output.dtype;
  automatic_ = policy.tolerance.automatic && is_float(dtype);
  if (!automatic_) {
    atol_ = policy.tolerance.automatic ? 0 : policy.widen * policy.tolerance.atol;
    rtol_ = policy.tolerance.automatic ? 0 : policy.widen * policy.tolerance.rtol;
    return;
  }
  const bool narrow = byte_size(dtype) == 2;
  const DType sums_in = policy.accumulate_dtype.value_or(narrow ? DType::Float32 : dtype);
  const double unit = is_float(sums_in) ? format_of(sums_in).unit : 0;
  const auto terms =
      static_cast<double>(std::max<int64_t>(policy.accumulate_length.value_or(1), 1));
  terms_.format = format_of(dtype);
  terms_.format.unit *= policy.widen;
  terms_.value_factor = policy.widen * kSafety * unit;
  terms_.sum_factor = terms_.value_factor * std::sqrt(terms);
  const double magnitude = std::isfinite(policy.input_abs_max) ? policy.input_abs_max : 0;
  // Each product of a sum may be flushed, always toward zero, or rounded as a subnormal.
  const double smallest = policy.ftz_ok ? terms * terms_.format.min_normal
                                        : std::sqrt(terms) * terms_.format.min_subnormal;
  terms_.floor = policy.widen * smallest * (1 + magnitude);

  given_ = comparison.scale;
  if (!given_.empty()) {
    const auto count = static_cast<size_t>(element_count(comparison.output.shape));
    GPUEMU_CHECK(given_.size() == count);
    return;
  }
  take_scale(comparison, magnitude);
}

void ErrorBound::take_scale(const Comparison& comparison, double magnitude) {
  switch (comparison.policy.error_scale) {
    case ErrorScale::Elementwise:
    case ErrorScale::Output:
    case ErrorScale::RmsNorm:
    case ErrorScale::L2Norm:
      return;
    case ErrorScale::Softmax:
      multiplier_ = 1 + magnitude;
      return;
    case ErrorScale::Tanh:
      multiplier_ = 0;
      addend_ = 1;
      return;
    default:
      break;
  }
  per_element_ = scale_per_element(comparison, comparison.policy.error_scale);
  if (!per_element_.empty()) return;
  row_size_ = row_size_of(comparison.output.shape);
  reference_ = comparison.reference;
  const auto count = static_cast<size_t>(element_count(reference_.shape));
  const size_t rows = (count + row_size_ - 1) / row_size_;
  row_maxima_ = std::vector<std::atomic<double>>(rows);
  for (std::atomic<double>& maximum : row_maxima_) maximum.store(kUnknown, kRelaxed);
}

double ErrorBound::row_maximum(size_t row) const {
  const double known = row_maxima_[row].load(kRelaxed);
  if (known != kUnknown) return known;
  const auto count = static_cast<size_t>(element_count(reference_.shape));
  const size_t end = std::min(count, (row + 1) * row_size_);
  std::array<double, kBlockElements> buffer;
  double largest = 0;
  for (size_t first = row * row_size_; first < end; first += kBlockElements) {
    const size_t size = std::min(kBlockElements, end - first);
    largest =
        std::max(largest, largest_finite(as_doubles(reference_, first, {buffer.data(), size})));
  }
  row_maxima_[row].store(largest, kRelaxed);
  return largest;
}

double ErrorBound::scale_at(size_t index, double reference) const {
  if (!given_.empty()) return given_[index];
  if (!per_element_.empty()) return per_element_[index];
  const double row = row_maxima_.empty() ? 0 : row_maximum(index / row_size_);
  return multiplier_ * std::fabs(reference) + addend_ + row;
}

double ErrorBound::at(size_t index, double reference) const {
  if (!automatic_) return atol_ + rtol_ * std::fabs(reference);
  return automatic_bound(terms_, reference, scale_at(index, reference));
}

std::span<const double> ErrorBound::scales_of(size_t first, std::span<const double> references,
                                              std::span<double> scales) const {
  const std::span<const double> each = given_.empty() ? std::span(per_element_) : given_;
  if (!each.empty()) return each.subspan(first, references.size());
  for (size_t i = 0; i < scales.size();) {
    const size_t row = (first + i) / row_size_;
    const bool by_row = !row_maxima_.empty();
    const double of_row = by_row ? row_maximum(row) : 0;
    const size_t end =
        by_row ? std::min(scales.size(), (row + 1) * row_size_ - first) : scales.size();
    for (; i < end; ++i) scales[i] = multiplier_ * std::fabs(references[i]) + addend_ + of_row;
  }
  return scales;
}

void ErrorBound::fill(size_t first, std::span<const double> references,
                      std::span<double> bounds) const {
  const size_t count = bounds.size();
  if (!automatic_) {
    for (size_t i = 0; i < count; ++i) bounds[i] = atol_ + rtol_ * std::fabs(references[i]);
    return;
  }
  const std::span<const double> scales = scales_of(first, references, bounds);
  const size_t groups = has_vector_blocks() ? count / 4 * 4 : 0;
  if (groups > 0) {
    automatic_bounds_by_four(terms_, references.data(), scales.data(), bounds.first(groups));
  }
  for (size_t i = groups; i < count; ++i) {
    bounds[i] = automatic_bound(terms_, references[i], scales[i]);
  }
}

}  // namespace gpuemu
