#include "daemon/validate/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "daemon/validate/formats.h"

namespace gpuemu {
namespace {

constexpr double kSafety = 8;  // K: rounding noise beyond 8 sigma has probability under 3e-14.
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> all_of(const TensorView& tensor) {
  std::vector<double> values(static_cast<size_t>(element_count(tensor.shape)));
  decode(tensor, 0, values);
  return values;
}

size_t row_size_of(const Shape& shape) {
  return shape.empty() || shape.back() <= 0 ? 1 : static_cast<size_t>(shape.back());
}

/// Largest finite magnitude of every row.
std::vector<double> row_maxima(const std::vector<double>& values, size_t row_size) {
  std::vector<double> maxima((values.size() + row_size - 1) / row_size, 0.0);
  for (size_t i = 0; i < values.size(); ++i) {
    const double magnitude = std::fabs(values[i]);
    if (std::isfinite(magnitude)) maxima[i / row_size] = std::max(maxima[i / row_size], magnitude);
  }
  return maxima;
}

const TensorView* same_shape_input(const Comparison& comparison) {
  const auto found = comparison.inputs.find(comparison.first_input);
  if (found != comparison.inputs.end() && found->second.shape == comparison.output.shape) {
    return &found->second;
  }
  for (const auto& [name, view] : comparison.inputs) {
    if (view.shape == comparison.output.shape) return &view;
  }
  return nullptr;
}

/// (|x| + max |x|) / sigma + |r| of rows: what subtracting a mean can cost.
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

/// Lengths of the rows (axis 1) or columns (axis 0) of a matrix; their products bound |A| |B|.
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

/// S of a matrix product by Cauchy and Schwarz; empty when no two inputs multiply to the output's
/// shape.
std::vector<double> product_scale(const Comparison& comparison) {
  const Shape& out = comparison.output.shape;
  if (out.size() != 2) return {};
  for (const auto& [left_name, left] : comparison.inputs) {
    for (const auto& [right_name, right] : comparison.inputs) {
      if (left_name == right_name || left.shape.size() != 2 || right.shape.size() != 2) continue;
      if (left.shape[0] != out[0] || left.shape[1] != right.shape[0] || right.shape[1] != out[1]) {
        continue;
      }
      const std::vector<double> rows = lengths(left, 1), columns = lengths(right, 0);
      std::vector<double> scale;
      scale.reserve(rows.size() * columns.size());
      for (const double row : rows) {
        for (const double column : columns) scale.push_back(row * column);
      }
      return scale;
    }
  }
  return {};
}

/// Sums of |x| where one input holds a whole number of elements per output element.
std::vector<double> sum_scale(const Comparison& comparison) {
  const auto found = comparison.inputs.find(comparison.first_input);
  const size_t count = static_cast<size_t>(element_count(comparison.output.shape));
  if (found == comparison.inputs.end() || count == 0) return {};
  const std::vector<double> x = all_of(found->second);
  if (x.size() % count != 0) return {};
  const Shape& shape = found->second.shape;
  const bool rows =
      count == 1 || (!shape.empty() && comparison.output.shape.size() <= shape.size() &&
                     row_size_of(shape) * count == x.size());
  if (!rows) return {};
  std::vector<double> sums(count, 0.0);
  for (size_t i = 0; i < x.size(); ++i) sums[i / (x.size() / count)] += std::fabs(x[i]);
  return sums;
}

std::vector<double> elementwise_scale(const Comparison& comparison, const std::vector<double>& r,
                                      std::string_view name) {
  const TensorView* input = same_shape_input(comparison);
  const std::vector<double> x = input == nullptr ? std::vector<double>() : all_of(*input);
  std::vector<double> scale(r.size());
  for (size_t i = 0; i < r.size(); ++i) {
    const double from = x.empty() ? comparison.policy.input_magnitude : std::fabs(x[i]);
    const double value = std::fabs(r[i]);
    scale[i] = name == "gelu" ? std::max(value, from) : value * (1 + from);
  }
  return scale;
}

/// Built-in scales by name; empty when the name has none for these shapes.
std::vector<double> built_in_scale(const Comparison& comparison, std::string_view name) {
  if (name == "dot" || name == "matmul") {
    std::vector<double> scale = product_scale(comparison);
    return scale.empty() ? sum_scale(comparison) : scale;
  }
  if (name == "sum") return sum_scale(comparison);
  if (name == "gelu" || name == "silu" || name == "sigmoid" || name == "exp") {
    return elementwise_scale(comparison, all_of(comparison.reference), name);
  }
  const TensorView* input = same_shape_input(comparison);
  if ((name == "norm" || name == "layernorm") && input != nullptr) {
    return normalized_scale(all_of(*input), all_of(comparison.reference),
                            row_size_of(comparison.output.shape));
  }
  return {};
}

}  // namespace

Bound::Bound(const Comparison& comparison) {
  const ValidationPolicy& policy = comparison.policy;
  dtype_ = comparison.output.dtype;
  automatic_ = policy.tolerance.automatic && is_float(dtype_);
  if (!automatic_) {
    atol_ = policy.tolerance.automatic ? 0 : policy.tolerance.atol;
    rtol_ = policy.tolerance.automatic ? 0 : policy.tolerance.rtol;
    return;
  }
  const bool narrow = byte_size(dtype_) == 2;
  const DType sums_in = policy.accumulate_dtype.value_or(narrow ? DType::Float32 : dtype_);
  const double unit = is_float(sums_in) ? format_of(sums_in).unit : 0;
  const auto terms =
      static_cast<double>(std::max<int64_t>(policy.accumulate_length.value_or(1), 1));
  value_factor_ = kSafety * unit;
  sum_factor_ = value_factor_ * std::sqrt(terms);
  const FloatFormat& format = format_of(dtype_);
  const double magnitude = std::isfinite(policy.input_magnitude) ? policy.input_magnitude : 0;
  floor_ = (policy.ftz_ok ? format.floor_ftz : format.floor) * (1 + magnitude);

  given_ = comparison.scale;
  if (!given_.empty()) return;
  const std::string& name = policy.error_scale;
  if (name == "elementwise" || name == "output" || name == "rmsnorm" || name == "l2norm") return;
  if (name == "softmax") {
    multiplier_ = 1 + magnitude;
    return;
  }
  if (name == "tanh") {
    multiplier_ = 0;
    addend_ = 1;
    return;
  }
  per_element_ = built_in_scale(comparison, name);
  if (!per_element_.empty()) return;
  row_size_ = row_size_of(comparison.output.shape);
  row_addend_ = row_maxima(all_of(comparison.reference), row_size_);
}

double Bound::scale_at(size_t index, double reference) const {
  if (!given_.empty()) return given_[index];
  if (!per_element_.empty()) return per_element_[index];
  const double row = row_addend_.empty() ? 0 : row_addend_[index / row_size_];
  return multiplier_ * std::fabs(reference) + addend_ + row;
}

double Bound::at(size_t index, double reference) const {
  const double magnitude = std::fabs(reference);
  if (!automatic_) return atol_ + rtol_ * magnitude;
  const double scale = std::fabs(scale_at(index, reference));
  if (!std::isfinite(scale)) return kInfinity;
  return ulp_at(format_of(dtype_), reference) + sum_factor_ * scale + value_factor_ * magnitude +
         floor_;
}

}  // namespace gpuemu
