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
#include "common/protocol/records.gen.h"

namespace gpuemu::cli {

struct BlockStyle {
  std::string folder;    ///< Source files below it are shown relative to it.
  size_t columns = 0;    ///< Width of the terminal; 0: lines are not wrapped.
  bool details = false;  ///< Show reasons in full.
};

/// The failing cases of an op, as a report describes them.
struct OpFailures {
  std::vector<const ValidationResult*> failures;  ///< The failures that are listed.
  uint64_t failed = 0, cases = 0;  ///< All cases; 0 cases: a single one, without counts.
  bool is_stored = true;           ///< Whether commands that take the seed find the case.
};

/// Returns one block per finding, separated by empty lines; consequences of other findings take one
/// line.
std::string finding_blocks(const OpFailures& op, const BlockStyle& style);

/// The parts of a finding's message: for a device's message, the event and the thread.
struct MessageParts {
  std::string title;   ///< One line.
  std::string thread;  ///< "thread (1,0,0) of block (0,0,0)"; "" if the message has none.
};
MessageParts parts_of(const ValidationFailure& finding);
/// Returns the title without the location of a race's other access, if the finding has a line of
/// its own.
std::string short_title(const ValidationFailure& finding);

/// Returns the usual fix; of a wrong value, the one that fits what the diagnosis says (null: there
/// is none). For the kernel's own memory, omits advice that only applies to tensors.
std::string help_of(const ValidationFailure& finding, const Diagnosis* diagnosis);

/// Returns the command to run next on the smallest case: `explain` for a wrong value; for a fault
/// of the kernel, `minimize`, or `debug` if the op has a single case.
std::string next_command(const FindingGroup& group, bool single_case);

/// Returns "n=1 factor=0.5 values=descend"; "" if nothing is known about the case.
std::string case_text(const ValidationResult& result);

/// Returns "values=one_nan" if the inputs of the case were not ordinary numbers; otherwise "".
std::string values_text(const ReproductionInfo& info);

}  // namespace gpuemu::cli
