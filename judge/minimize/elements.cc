#include "judge/minimize/elements.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/numeric/element.h"
#include "judge/minimize/minimize.h"

namespace gpuemu {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> wide(tensor.data.size() / byte_size(tensor.dtype));
  widen_to_double(tensor.dtype, tensor.data, wide);
  return wide;
}

size_t count_of(const Tensor& tensor) { return tensor.data.size() / byte_size(tensor.dtype); }

/// Returns the bytes of one element.
std::vector<std::byte> bytes_of(DType dtype, double value) {
  std::vector<std::byte> bytes(byte_size(dtype));
  narrow_from_double(dtype, std::vector<double>{value}, bytes);
  return bytes;
}

/// Converts the row-major index `at` in a tensor of shape `shape` to one in `within`; nothing if it
/// is outside.
std::optional<size_t> index_within(const Shape& shape, size_t at, const Shape& within) {
  std::vector<size_t> place(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = at % static_cast<size_t>(shape[axis]);
    at /= static_cast<size_t>(shape[axis]);
    if (place[axis] >= static_cast<size_t>(within[axis])) return std::nullopt;
  }
  size_t index = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    index = index * static_cast<size_t>(within[axis]) + place[axis];
  }
  return index;
}

}  // namespace

Elements::Elements(const NamedTensors& inputs, const std::map<std::string, double>& simplest)
    : inputs_(inputs), simplest_(simplest) {}

double Elements::simplest_of(const std::string& name) const {
  const auto found = simplest_.find(name);
  return found == simplest_.end() ? 0 : found->second;
}

std::vector<size_t> Elements::differing() const {
  std::vector<size_t> all;
  size_t first = 0;
  for (const auto& [name, tensor] : inputs_) {
    const std::vector<double> values = numbers_of(tensor);
    const double simple = simplest_of(name);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(simple) && !(values[i] == simple)) all.push_back(first + i);
    }
    first += values.size();
  }
  return all;
}

NamedTensors Elements::only(const std::vector<size_t>& kept) const {
  NamedTensors made = inputs_;
  size_t first = 0;
  auto next = kept.begin();
  for (auto& [name, tensor] : made) {
    const std::vector<std::byte> simple = bytes_of(tensor.dtype, simplest_of(name));
    const size_t count = count_of(tensor);
    for (size_t i = 0; i < count; ++i) {
      if (std::isnan(simplest_of(name))) continue;
      if (next != kept.end() && *next == first + i) {
        ++next;
      } else {
        std::ranges::copy(simple, tensor.data.begin() + static_cast<ptrdiff_t>(i * simple.size()));
      }
    }
    first += count;
  }
  return made;
}

NamedTensors Elements::with(size_t element, double value) const {
  NamedTensors made = inputs_;
  for (auto& [name, tensor] : made) {
    const size_t count = count_of(tensor);
    if (element < count) {
      const std::vector<std::byte> bytes = bytes_of(tensor.dtype, value);
      std::ranges::copy(bytes,
                        tensor.data.begin() + static_cast<ptrdiff_t>(element * bytes.size()));
      break;
    }
    element -= count;
  }
  return made;
}

double Elements::value_of(size_t element) const {
  for (const auto& [name, tensor] : inputs_) {
    const size_t count = count_of(tensor);
    if (element < count) return numbers_of(tensor)[element];
    element -= count;
  }
  return 0;
}

NamedTensors cropped(const NamedTensors& inputs, const NamedTensors& wanted) {
  NamedTensors made = wanted;
  for (auto& [name, tensor] : made) {
    const auto from = inputs.find(name);
    if (from == inputs.end() || from->second.shape.size() != tensor.shape.size()) continue;
    const size_t bytes = byte_size(tensor.dtype);
    const size_t count = count_of(tensor);
    for (size_t i = 0; i < count; ++i) {
      const auto at = index_within(tensor.shape, i, from->second.shape);
      if (!at) continue;
      std::copy_n(from->second.data.begin() + static_cast<ptrdiff_t>(*at * bytes), bytes,
                  tensor.data.begin() + static_cast<ptrdiff_t>(i * bytes));
    }
  }
  return made;
}

ElementCount count_elements(const NamedTensors& inputs,
                            const std::map<std::string, double>& simplest) {
  ElementCount count;
  for (const auto& [name, tensor] : inputs) count.all += count_of(tensor);
  count.differing = Elements(inputs, simplest).differing().size();
  return count;
}

}  // namespace gpuemu
