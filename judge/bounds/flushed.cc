#include "judge/bounds/flushed.h"

#include <algorithm>
#include <cmath>

#include "common/numeric/element.h"
#include "judge/bounds/float_format.h"

namespace gpuemu {
namespace {

/// Returns the smallest positive number of the type that is not flushed; 0 if the type is not
/// flushed.
double least_kept(DType dtype) {
  if (!is_float(dtype)) return 0;
  const double smallest = format_of(dtype).min_normal;
  return smallest <= format_of(DType::Float32).min_normal ? smallest : 0;
}

bool is_flushed(double value, double least) { return value != 0 && std::fabs(value) < least; }

/// Returns whether both count as zero. Not all instructions flush: a comparison may treat a number
/// as zero that a move then keeps.
bool are_both_zero(double computed, double expected, double least) {
  return computed != expected && std::fabs(computed) < least && std::fabs(expected) < least;
}

/// Returns whether `other` explains the computed value better than `reference` does.
bool is_nearer(double computed, double other, double reference, DType dtype) {
  if (computed == reference) return false;
  if (std::isnan(computed)) return std::isnan(other) && !std::isnan(reference);
  if (std::isinf(computed)) {
    const bool beyond = std::fabs(other) >= format_of(dtype).max;
    return beyond && std::signbit(other) == std::signbit(computed);
  }
  // Written so that a non-finite reference is farther away than any finite one.
  return std::isfinite(other) && !(std::fabs(computed - reference) <= std::fabs(computed - other));
}

void copy_element(const TensorView& from, size_t index, Tensor& to) {
  const size_t bytes = byte_size(to.dtype);
  std::ranges::copy(from.data.subspan(index * bytes, bytes), to.data.begin() + index * bytes);
}

void write_element(double value, size_t index, Tensor& to) {
  const size_t bytes = byte_size(to.dtype);
  narrow_from_double(to.dtype, {&value, 1}, std::span(to.data).subspan(index * bytes, bytes));
}

/// Sets the element to zero with its sign, as processors flush.
void clear_element(size_t index, Tensor& in) {
  constexpr std::byte kSign{0x80};
  const size_t bytes = byte_size(in.dtype);
  std::byte* const element = in.data.data() + index * bytes;
  const std::byte sign = element[bytes - 1] & kSign;
  std::fill_n(element, bytes, std::byte{0});
  element[bytes - 1] = sign;
}

}  // namespace

std::optional<Tensor> flushed_reference(const Comparison& comparison,
                                        const TensorView* of_flushed_inputs) {
  const TensorView &output = comparison.output, &reference = comparison.reference;
  if (output.shape != reference.shape) return std::nullopt;
  const TensorView* other = of_flushed_inputs;
  if (other != nullptr && (other->shape != reference.shape || other->dtype != reference.dtype)) {
    other = nullptr;
  }
  const double least = least_kept(output.dtype);
  if (other == nullptr && least == 0) return std::nullopt;
  std::optional<Tensor> made;
  const auto to = [&]() -> Tensor& {
    if (!made) {
      made =
          Tensor{reference.dtype, reference.shape, {reference.data.begin(), reference.data.end()}};
    }
    return *made;
  };
  const auto count = static_cast<size_t>(element_count(reference.shape));
  for (size_t i = 0; i < count; ++i) {
    const double computed = element(output, i);
    double expected = element(reference, i);
    if (other != nullptr && is_nearer(computed, element(*other, i), expected, output.dtype)) {
      copy_element(*other, i, to());
      expected = element(*other, i);
    }
    if (are_both_zero(computed, expected, least)) write_element(computed, i, to());
  }
  return made;
}

std::optional<Tensor> flushed(const TensorView& tensor) {
  const double least = least_kept(tensor.dtype);
  if (least == 0) return std::nullopt;
  std::optional<Tensor> made;
  const auto count = static_cast<size_t>(element_count(tensor.shape));
  for (size_t i = 0; i < count; ++i) {
    if (!is_flushed(element(tensor, i), least)) continue;
    if (!made) made = Tensor{tensor.dtype, tensor.shape, {tensor.data.begin(), tensor.data.end()}};
    clear_element(i, *made);
  }
  return made;
}

}  // namespace gpuemu
