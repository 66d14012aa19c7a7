// Finds the wrong elements of an output. Its rules are those of an exported case: differences
// within the bounds, NaN and infinity by the op's policy. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

struct Difference {
  std::vector<bool> wrong;  ///< Per element.
  int64_t count = 0;        ///< Wrong elements.
  int64_t worst = -1;       ///< The wrong one that is farthest beyond its bound; -1: none.
  std::string refused;      ///< Why nothing could be compared; "" when it was.
};

/// Output `tensor` with the values `output` against what is expected of it.
Difference compare_output(const ExportedCaseReply& exported, const ExportedTensor& tensor,
                          const Tensor& output);

/// |output - expected| of every element, as float64; NaN where one of them is NaN.
Tensor errors_of(const Tensor& output, const Tensor& expected);

}  // namespace gpuemu::cli
