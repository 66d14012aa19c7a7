#include "judge/bounds/undefined_integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

bool is_finite_everywhere(const TensorView& tensor) {
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(element(tensor, i))) return false;
  }
  return true;
}

bool has_special_input(const Comparison& comparison) {
  return std::ranges::any_of(comparison.inputs, [](const auto& input) {
    return is_float(input.second.dtype) && !is_finite_everywhere(input.second);
  });
}

bool is_none(const TensorView& reference, size_t index) {
  if (is_float(reference.dtype)) return !std::isfinite(element(reference, index));
  const std::byte* at = reference.data.data() + index * byte_size(reference.dtype);
  return reference.dtype == DType::Int64 &&
         read_as_int64(reference.dtype, at) == std::numeric_limits<int64_t>::min();
}

/// Returns whether the common leading dims are all dims of one of the two shapes.
bool belong_together(const Shape& a, const Shape& b) {
  const size_t common = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin());
}

/// Marks the elements of `out` that belong to a non-finite element of `from`.
void mark_belonging(const TensorView& from, std::vector<uint8_t>& out) {
  const auto count = static_cast<size_t>(element_count(from.shape));
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(element(from, i))) continue;
    if (count > out.size()) {
      out[i / (count / out.size())] = 1;
    } else {
      const size_t each = out.size() / count;
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(i * each), each, uint8_t{1});
    }
  }
}

std::optional<size_t> first_marked(const std::vector<uint8_t>& mask) {
  const auto found = std::ranges::find(mask, uint8_t{1});
  if (found == mask.end()) return std::nullopt;
  return static_cast<size_t>(found - mask.begin());
}

}  // namespace

UndefinedIntegers undefined_integers(const Comparison& comparison,
                                     const std::vector<NamedReference>& floats, bool has_to_match) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  UndefinedIntegers made;
  const auto count = static_cast<size_t>(element_count(output.shape));
  if (is_float(output.dtype) || output.dtype == DType::Bool || count == 0) return made;
  if (reference.shape != output.shape || !has_special_input(comparison)) return made;
  made.mask.resize(count);
  for (size_t i = 0; i < count; ++i) made.mask[i] = is_none(reference, i) ? 1 : 0;
  for (const NamedReference& one : floats) {
    if (!belong_together(one.values.shape, output.shape)) continue;
    std::vector<uint8_t> belonging(count);
    mark_belonging(one.values, belonging);
    const auto first = first_marked(belonging);
    if (!first) continue;
    if (has_to_match && made.hint.empty() && made.mask[*first] == 0) {
      made.hint = fmt::format(
          "element {} is an integer made of '{}', which is {:.9g} there: C leaves converting a NaN "
          "or "
          "infinity to an integer undefined; if any value is acceptable, set nan_policy = \"any\"",
          *first, one.name,
          element(one.values,
                  *first * static_cast<size_t>(element_count(one.values.shape)) / count));
    }
    for (size_t i = 0; !has_to_match && i < count; ++i) made.mask[i] |= belonging[i];
  }
  if (!first_marked(made.mask)) made.mask.clear();
  return made;
}

}  // namespace gpuemu
