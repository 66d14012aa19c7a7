// A finding as a block: what is wrong, the source line, the smallest case, what fixes it, what to
// do next.
//
//   error[OutOfBounds]: reads 4 bytes at byte offset 4 of 'x', which has 4 bytes
//     --> kernels/scale.cu:7:10
//      |
//    7 |   y[i] = x[i] * factor;
//      |          ^^^^ thread (1,0,0) of block (0,0,0)
//      = case: n=1 factor=0.5 values=descend, seed 66; 59 of 64 float32 cases fail here
//      = help: guard the access with a bounds check such as `if (i < n)`
//      = next: gpuemu minimize 66
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/findings/finding_groups.h"
#include "common/protocol/records.h"

namespace gpuemu::cli {

struct BlockStyle {
  std::string folder;    ///< Source files below it are named relative to it.
  size_t columns = 0;    ///< Width of the terminal; 0: lines are not broken.
  bool details = false;  ///< Reasons in full.
};

/// What is said of an op's failing cases.
struct OpFailures {
  std::vector<const ValidationResult*> failures;  ///< The failures that are listed.
  uint64_t failed = 0, cases = 0;  ///< All; 0 cases: of a single one, which is not counted.
  bool is_stored = true;           ///< Commands that take the seed find the case.
};

/// One block per finding, separated by empty lines; what follows from others is one line.
std::string finding_blocks(const OpFailures& op, const BlockStyle& style);

/// What a finding says: of a device's message what happened, and which thread did it.
struct MessageParts {
  std::string title;   ///< One line.
  std::string thread;  ///< "thread (1,0,0) of block (0,0,0)"; "" where it is not told.
};
MessageParts parts_of(const ValidationFailure& finding);
/// The title without the place of the other access of a race, where the finding has a line itself.
std::string short_title(const ValidationFailure& finding);

/// What usually fixes it. Of memory of the kernel's own nothing is said that only tensors have.
std::string help_of(const ValidationFailure& finding);

/// What to run next on the smallest case: a wrong value is explained, a fault of the kernel is made
/// smaller, or debugged where the op has one case alone.
std::string next_command(const FindingGroup& group, bool single_case);

/// "n=1 factor=0.5 values=descend", "" where nothing is known of the case.
std::string case_text(const ValidationResult& result);

/// "values=one_nan" where the inputs of the case were not ordinary numbers; "" where they were.
std::string values_text(const ReproductionInfo& info);

}  // namespace gpuemu::cli
