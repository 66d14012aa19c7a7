#include "judge/verdict/right_answers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>

#include "common/config/op_config.h"
#include "common/numeric/element.h"
#include "judge/bounds/comparison.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// The lines of a tensor along one axis.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
};

/// Requires an axis of the shape.
Lines lines_along(const Shape& shape, int64_t axis) {
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  Lines lines;
  for (size_t i = 0; i < shape.size(); ++i) {
    (i < at ? lines.outer : i == at ? lines.length : lines.inner) *= shape[i];
  }
  return lines;
}

size_t place(const Lines& lines, int64_t line, int64_t step) {
  const int64_t outer = line / lines.inner, inner = line % lines.inner;
  return static_cast<size_t>((outer * lines.length + step) * lines.inner + inner);
}

/// Exact for every dtype: 64-bit integers fit its 64-bit mantissa.
long double value_at(const TensorView& tensor, size_t index) {
  const std::byte* element = tensor.data.data() + index * byte_size(tensor.dtype);
  if (is_float(tensor.dtype)) {
    return static_cast<long double>(read_as_double(tensor.dtype, element));
  }
  if (tensor.dtype == DType::UInt64) {
    return static_cast<long double>(read_as_uint64(tensor.dtype, element));
  }
  return static_cast<long double>(read_as_int64(tensor.dtype, element));
}

bool same_key(long double a, long double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Returns the places in ascending order of value, NaN last.
std::vector<size_t> sorted_places(const TensorView& tensor, const Lines& lines, int64_t line) {
  std::vector<std::pair<long double, size_t>> all;
  for (int64_t step = 0; step < lines.length; ++step) {
    const size_t at = place(lines, line, step);
    all.emplace_back(value_at(tensor, at), at);
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return std::isnan(b.first) ? !std::isnan(a.first) : a.first < b.first;
  });
  std::vector<size_t> places;
  for (const auto& [value, at] : all) places.push_back(at);
  return places;
}

/// Moves the k-th smallest expected element to the place of the k-th smallest computed one.
void match_order(const Lines& lines, const Comparison& comparison, MatchedReference& matched) {
  const TensorView& reference = comparison.reference;
  const size_t bytes = byte_size(reference.dtype);
  for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    const auto from = sorted_places(reference, lines, line);
    const auto to = sorted_places(comparison.output, lines, line);
    for (size_t i = 0; i < from.size(); ++i) {
      std::memcpy(matched.tensor.data.data() + to[i] * bytes,
                  reference.data.data() + from[i] * bytes, bytes);
      if (!matched.scale.empty()) matched.scale[to[i]] = comparison.scale[from[i]];
    }
  }
}

/// Accepts indices whose keys equal the expected ones' keys, in lines without duplicate indices.
void match_indices(const Lines& keys_lines, const TensorView& keys, const Lines& lines,
                   const Comparison& comparison, MatchedReference& matched) {
  const size_t bytes = byte_size(comparison.reference.dtype);
  for (int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    std::set<long double> used;
    for (int64_t step = 0; step < lines.length; ++step) {
      used.insert(value_at(comparison.output, place(lines, line, step)));
    }
    if (used.size() < static_cast<size_t>(lines.length)) continue;
    for (int64_t step = 0; step < lines.length; ++step) {
      const size_t at = place(lines, line, step);
      const long double got = value_at(comparison.output, at);
      const long double expected = value_at(comparison.reference, at);
      const auto is_index = [&](long double index) {
        return index >= 0 && index < static_cast<long double>(keys_lines.length);
      };
      if (got == expected || !is_index(got) || !is_index(expected)) continue;
      const auto key = [&](long double index) {
        return value_at(keys, place(keys_lines, line, static_cast<int64_t>(index)));
      };
      if (!same_key(key(got), key(expected))) continue;
      write_from_int64(comparison.reference.dtype, static_cast<int64_t>(got),
                       matched.tensor.data.data() + at * bytes);
    }
  }
}

/// Returns the lines of an output that has one or more indices per line of the keys.
Result<Lines> index_lines(const TensorSpec& spec, const Lines& keys, const Shape& shape) {
  const int64_t lines = keys.outer * keys.inner, count = element_count(shape);
  if (lines > 0 && count % lines == 0) return Lines{keys.outer, count / lines, keys.inner};
  if (count == 0) return Lines{0, 0, 0};
  return error(
      ErrorCode::InvalidArgument,
      "output '{}' has the shape {}, which does not have the same number of indices for each "
      "of the {} lines of '{}' along axis {}; write its axis",
      spec.name, to_string(shape), lines, spec.indices_of, spec.axis);
}

/// Distance, in units in the last place of the largest element or of 1, that a softmax may lose
/// when it subtracts the maximum and applies a function: exp of nearly 0 is nearly 1.
constexpr double kCloseUnits = 4;
/// exp of a smaller value is 0 or subnormal in float32.
constexpr long double kExpVanishes = -87;

/// Returns whether a float32 softmax of elements up to `largest` may lose the difference.
bool are_near(long double a, long double b, long double largest, DType dtype) {
  const double unit = format_of(dtype == DType::Float64 ? dtype : DType::Float32).unit;
  return std::fabs(a - b) <= kCloseUnits * 2 * unit * std::max(1.0L, std::fabs(largest));
}
/// Returns whether such a softmax may treat the two as equal.
bool are_alike(long double a, long double b, long double largest, DType dtype) {
  return are_near(a, b, largest, dtype) || std::max(a, b) - largest <= kExpVanishes;
}

/// Returns whether the expected integers of a line may be a choice among its elements, and not
/// counts of something: none comes twice, and one is the place of a largest or smallest element.
bool may_choose(const std::vector<long double>& all, const std::vector<long double>& expected,
                DType dtype) {
  std::vector<long double> numbers;
  std::ranges::copy_if(all, std::back_inserter(numbers),
                       [](long double key) { return !std::isnan(key); });
  if (numbers.empty()) return true;
  const auto [smallest, largest] = std::ranges::minmax(numbers);
  std::set<long double> places;
  bool has_extreme = false;
  for (const long double index : expected) {
    if (!(index >= 0 && index < static_cast<long double>(all.size()))) continue;
    if (!places.insert(index).second) return false;
    const long double key = all[static_cast<size_t>(index)];
    const auto is_at = [&](long double extreme) {
      return key == extreme || are_near(key, extreme, largest, dtype);
    };
    has_extreme = has_extreme || std::isnan(key) || is_at(smallest) || is_at(largest);
  }
  return has_extreme;
}

/// Checks one line of the output and the elements that it chooses from.
bool is_close_line(const Lines& keys_lines, const TensorView& keys, const Lines& lines,
                   const Comparison& comparison, int64_t line) {
  std::vector<long double> all;
  for (int64_t step = 0; step < keys_lines.length; ++step) {
    all.push_back(value_at(keys, place(keys_lines, line, step)));
  }
  const long double largest = all.empty() ? 0 : *std::ranges::max_element(all);
  std::set<long double> chosen;
  std::vector<long double> expected_ones;
  bool differs = false, is_near = false;
  for (int64_t step = 0; step < lines.length; ++step) {
    const long double got = value_at(comparison.output, place(lines, line, step));
    const long double expected = value_at(comparison.reference, place(lines, line, step));
    chosen.insert(got);
    expected_ones.push_back(expected);
    if (got == expected) continue;
    differs = true;
    for (const long double index : {got, expected}) {
      if (!(index >= 0 && index < static_cast<long double>(all.size()))) return false;
    }
    const long double a = all[static_cast<size_t>(got)], b = all[static_cast<size_t>(expected)];
    if (!are_alike(a, b, largest, keys.dtype)) return false;
    is_near = is_near || a != b;
  }
  const std::set<long double> different(expected_ones.begin(), expected_ones.end());
  return !differs || (is_near && chosen.size() == different.size() &&
                      may_choose(all, expected_ones, keys.dtype));
}

}  // namespace

bool are_close_choices(const Comparison& comparison) {
  const int64_t count = element_count(comparison.output.shape);
  return std::ranges::any_of(comparison.inputs, [&](const auto& input) {
    const TensorView& keys = input.second;
    if (!is_float(keys.dtype) || keys.shape.empty()) return false;
    const Lines keys_lines = lines_along(keys.shape, -1);
    const int64_t rows = keys_lines.outer;
    if (rows == 0 || count % rows != 0) return false;
    const Lines lines{rows, count / rows, 1};
    for (int64_t line = 0; line < rows; ++line) {
      if (!is_close_line(keys_lines, keys, lines, comparison, line)) return false;
    }
    return true;
  });
}

Result<std::optional<MatchedReference>> matched_reference(const TensorSpec& spec,
                                                          const Comparison& comparison) {
  const std::optional<MatchedReference> none;
  const TensorView &output = comparison.output, &reference = comparison.reference;
  if (spec.indices_of.empty() && !spec.any_order) return none;
  if (output.shape != reference.shape || element_count(output.shape) == 0) return none;
  MatchedReference matched{{reference.dtype, reference.shape, {}}, {}};
  matched.tensor.data.assign(reference.data.begin(), reference.data.end());
  matched.scale.assign(comparison.scale.begin(), comparison.scale.end());
  if (spec.any_order) {
    match_order(lines_along(output.shape, spec.axis), comparison, matched);
    return std::optional(std::move(matched));
  }
  const auto keys = comparison.inputs.find(spec.indices_of);
  if (keys == comparison.inputs.end() || is_float(reference.dtype)) return none;
  const Lines keys_lines = lines_along(keys->second.shape, spec.axis);
  const Lines lines = GPUEMU_TRY(index_lines(spec, keys_lines, output.shape));
  match_indices(keys_lines, keys->second, lines, comparison, matched);
  return std::optional(std::move(matched));
}

}  // namespace gpuemu
