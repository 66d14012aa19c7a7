// Finds the wrong elements of an output. Uses the rules of exported cases: differences within the
// bounds, and the op's policy for NaN and infinity. No side effects.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

struct Difference {
  std::vector<bool> wrong;  ///< Per element.
  int64_t count = 0;        ///< Wrong elements.
  int64_t worst = -1;       ///< The wrong element that exceeds its bound most; -1: none.
  std::string refused;      ///< Why the comparison was impossible; "" if it was done.
};

/// Compares the values `output` of the output `tensor` with the expected ones.
Difference compare_output(const ExportedCaseReply& exported, const ExportedTensor& tensor,
                          const Tensor& output);

/// Returns |output - expected| for every element, as float64; NaN if either is NaN.
Tensor errors_of(const Tensor& output, const Tensor& expected);

}  // namespace gpuemu::cli
