// Parts of a tensor as NumPy writes them: y[0:4, ::2, -1]. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu::cli {

/// What was typed for one axis.
struct AxisSlice {
  enum class Kind : uint8_t { Range, Index, Ellipsis } kind = Kind::Range;
  std::optional<int64_t> start, stop;  ///< Index: `start` alone.
  int64_t step = 1;
};
using Slice = std::vector<AxisSlice>;

/// The text between the brackets. InvalidArgument says which part is wrong and what may stand
/// there.
Result<Slice> parse_slice(std::string_view text);

/// The indices taken along one axis: start, start + step, ... `count` of them.
struct ChosenAxis {
  int64_t start = 0, step = 1, count = 0;
  bool kept = true;  ///< False: an index was given, and the axis is gone from the result.
  int64_t at(int64_t i) const { return start + i * step; }
};
using Selection = std::vector<ChosenAxis>;

/// NumPy's rules: negative numbers count from the end, ranges are cut to the axis, axes that are
/// not named are taken whole. InvalidArgument for an index outside of its axis and for too many
/// axes.
Result<Selection> resolve(const Slice& slice, const Shape& shape);
/// All of it.
Selection whole(const Shape& shape);
/// Elements chosen.
int64_t count_of(const Selection& selection);

/// "y[0:4, ::2]" or "y.expected[3]" as its parts.
struct TensorRef {
  std::string name;
  std::string part;  ///< "expected", "bound", "error", "input" or "output"; "": what there is.
  Slice slice;
};
/// `word` as typed. A dot that no part follows belongs to the name.
Result<TensorRef> parse_tensor_ref(const std::string& word);
/// The parts that may follow a dot.
const std::vector<std::string>& tensor_parts();

/// Flat row-major index of the one element that `selection` names; nothing when it names several.
std::optional<int64_t> single_element(const Selection& selection, const Shape& shape);
/// "y[3, 17]"; "y" for a scalar.
std::string element_name(const std::string& name, const Shape& shape, int64_t flat);

}  // namespace gpuemu::cli
