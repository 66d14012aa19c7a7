#include "judge/scan/mismatch_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/text.h"
#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"
#include "judge/bounds/wrapped_integers.h"

namespace gpuemu {
namespace {

const char* word_of(Fault fault) {
  switch (fault) {
    case Fault::NanCreated:
      return "nan_created: ";
    case Fault::NanLost:
      return "nan_lost: ";
    case Fault::InfCreated:
      return "inf_created: ";
    case Fault::InfLost:
      return "inf_lost: ";
    case Fault::NanBoth:
    case Fault::InfBoth:
      return "not finite: ";
    case Fault::None:
    case Fault::Tolerance:
      return "";
  }
  return "";
}

bool is_integer(const TensorView& tensor) {
  return !is_float(tensor.dtype) && tensor.dtype != DType::Bool;
}

/// Returns an integer with all digits, which float64 would lose; NaN without its sign.
std::string text_of(const TensorView& tensor, size_t index) {
  const std::byte* at = tensor.data.data() + index * byte_size(tensor.dtype);
  const double value = element(tensor, index);
  if (std::isnan(value)) return "nan";
  if (!is_integer(tensor)) return fmt::format("{:.9g}", value);
  return is_signed_integer(tensor.dtype) ? fmt::format("{}", read_as_int64(tensor.dtype, at))
                                         : fmt::format("{}", read_as_uint64(tensor.dtype, at));
}

std::string difference_of(const TensorView& a, const TensorView& b, size_t index) {
  if (!is_integer(a) || a.dtype != b.dtype) {
    return fmt::format("{:.6g}", std::fabs(element(a, index) - element(b, index)));
  }
  const std::byte* left = a.data.data() + index * byte_size(a.dtype);
  const std::byte* right = b.data.data() + index * byte_size(b.dtype);
  const uint64_t x = read_as_uint64(a.dtype, left);
  const uint64_t y = read_as_uint64(b.dtype, right);
  const bool less = is_signed_integer(a.dtype)
                        ? read_as_int64(a.dtype, left) < read_as_int64(b.dtype, right)
                        : x < y;
  return fmt::format("{}", less ? y - x : x - y);
}

/// Returns the key that changes how a NaN or infinity is judged; "" if there is none.
std::string policy_hint(const Comparison& comparison, Fault fault, size_t index) {
  const bool judged = comparison.policy.nan_policy && fault != Fault::None &&
                      fault != Fault::Tolerance && is_float(comparison.output.dtype);
  if (!judged || std::isfinite(element(comparison.reference, index))) return "";
  return std::isfinite(element(comparison.output, index))
             ? "; nan_policy = \"any\" accepts any number where the reference has none"
             : "; nan_policy = \"class\" accepts NaN for infinity, and infinity for NaN";
}

}  // namespace

std::string place_of(size_t index, const Shape& shape) {
  if (shape.size() < 2) return fmt::format("{}", index);
  std::vector<size_t> place(shape.size());
  size_t rest = index;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(std::max<int64_t>(shape[axis], 1));
    place[axis] = rest % size;
    rest /= size;
  }
  return fmt::format("{} [{}]", index, fmt::join(place, ", "));
}

std::string describe_fault(const Judge& judge, Fault fault, const MismatchPattern& faults) {
  const Comparison& comparison = judge.comparison();
  const Shape& shape = comparison.output.shape;
  const size_t index = faults.first();
  const double expected = element(comparison.reference, index);
  std::string text =
      fmt::format("{}element {}: expected {}, got {}", word_of(fault), place_of(index, shape),
                  text_of(comparison.reference, index), text_of(comparison.output, index));
  if (fault == Fault::Tolerance) {
    text += fmt::format(", |diff| {} > bound {:.6g}",
                        difference_of(comparison.reference, comparison.output, index),
                        judge.bound().at(index, expected));
    if (is_beyond(comparison.output.dtype, expected)) {
      text += fmt::format("; {} cannot hold what is expected", name_of(comparison.output.dtype));
    }
  }
  const int64_t count = element_count(shape);
  text +=
      fmt::format(" ({} of {}", faults.count(), counted(static_cast<uint64_t>(count), "element"));
  const std::string pattern = faults.pattern(grid_of(shape));
  text += pattern.empty() ? ")" : "; " + pattern + ")";
  text += policy_hint(comparison, fault, index);
  return comparison.undefined_hint.empty() ? text : text + "; " + comparison.undefined_hint;
}

}  // namespace gpuemu
