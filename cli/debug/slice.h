// Selects parts of a tensor with the syntax of NumPy: y[0:4, ::2, -1]. No side effects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// The slice as typed for one axis.
struct AxisSlice {
  enum class Kind : uint8_t { Range, Index, Ellipsis } kind = Kind::Range;
  std::optional<int64_t> start, stop;  ///< For a single index: only `start`.
  int64_t step = 1;
};
using Slice = std::vector<AxisSlice>;

/// Parses the text between the brackets. InvalidArgument names the invalid part and what is
/// permitted there.
Result<Slice> parse_slice(std::string_view text);

/// The indices taken along one axis: start, start + step, ... `count` of them.
struct ChosenAxis {
  int64_t start = 0, step = 1, count = 0;
  bool kept = true;  ///< False: a single index was given, and the result does not have this axis.
  int64_t at(int64_t i) const { return start + i * step; }
};
using Selection = std::vector<ChosenAxis>;

/// Applies NumPy's rules: negative numbers count from the end, ranges are clamped to the axis, axes
/// that are not named are taken whole. InvalidArgument for an index outside its axis and for too
/// many axes.
Result<Selection> resolve(const Slice& slice, const Shape& shape);
/// Selects the whole tensor.
Selection whole(const Shape& shape);
/// Returns the number of selected elements.
int64_t count_of(const Selection& selection);

/// The parts of "y[0:4, ::2]" or "y.expected[3]".
struct TensorRef {
  std::string name;
  std::string part;  ///< "expected", "bound", "error", "input" or "output"; "": the current values.
  Slice slice;
};
/// Parses `word` as typed. A dot without a known part after it belongs to the name.
Result<TensorRef> parse_tensor_ref(const std::string& word);
/// Returns the parts that may follow a dot.
const std::vector<std::string>& tensor_parts();

/// Returns the flat row-major index of the only selected element; nothing if several are selected.
std::optional<int64_t> single_element(const Selection& selection, const Shape& shape);
/// Returns "y[3, 17]"; "y" for a scalar.
std::string element_name(const std::string& name, const Shape& shape, int64_t flat);

}  // namespace gpuemu::cli
