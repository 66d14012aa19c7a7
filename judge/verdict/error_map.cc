#include "judge/verdict/error_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/numeric/element.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {
namespace {

constexpr uint64_t kGridMax = 48;
constexpr int kSmallestDecade = -12;  ///< Smaller errors are counted here.

std::vector<double> widened(const TensorView& view) {
  std::vector<double> wide(view.data.size() / byte_size(view.dtype));
  widen_to_double(view.dtype, view.data, wide);
  return wide;
}

double error_between(double output, double reference) {
  if (std::isnan(output) && std::isnan(reference)) return 0;
  if (output == reference) return 0;  // Equal infinities have no difference: inf - inf is NaN.
  const double difference = std::abs(output - reference);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

std::string decade_of(double error) {
  if (error == 0) return "0";
  if (!std::isfinite(error)) return "not finite";
  const int decade = static_cast<int>(std::floor(std::log10(error)));
  return fmt::format("1e{:+03}", std::max(decade, kSmallestDecade));
}

}  // namespace

ErrorMap map_errors(const Comparison& comparison) {
  ErrorMap map;
  map.output = comparison.output_name;
  map.dtype = comparison.output.dtype;
  map.shape = comparison.output.shape;
  if (comparison.output.shape != comparison.reference.shape) return map;
  const std::vector<double> output = widened(comparison.output);
  const std::vector<double> reference = widened(comparison.reference);
  if (output.empty()) return map;
  const uint64_t columns =
      map.shape.empty() ? 1 : static_cast<uint64_t>(std::max<int64_t>(1, map.shape.back()));
  const uint64_t rows = output.size() / columns;
  map.rows = std::min(rows, kGridMax);
  map.columns = std::min(columns, kGridMax);
  map.cells.assign(map.rows * map.columns, 0);
  for (size_t index = 0; index < output.size(); ++index) {
    const double error = error_between(output[index], reference[index]);
    double& cell = map.cells[index / columns * map.rows / rows * map.columns +
                             index % columns * map.columns / columns];
    cell = std::max(cell, error);
    ++map.distribution[decade_of(error)];
  }
  return map;
}

}  // namespace gpuemu
