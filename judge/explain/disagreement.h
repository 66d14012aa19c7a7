// Finds the side that disagrees about one element: backends, other kernels of the op, the same
// kernel without any rounding, the reference. A pure function of what each of them says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/records.h"

namespace gpuemu {

/// What is known of an element that failed on `backend`.
struct DisputedElement {
  std::string backend;  ///< Where the kernel's output was found wrong.
  double computed = 0;
  std::string other_backend;    ///< "": there is none.
  std::optional<double> other;  ///< This kernel's output there.
  std::optional<double> exact;  ///< What the kernel's instructions give without any rounding.
  std::vector<DisagreementSide>
      others;  ///< "kernel NAME": other kernels of the op on the same inputs.
  double reference = 0;
  double tolerance = 0;  ///< Values that are not farther apart agree.
  /// An invariant that only the reference violates, or only the output.
  std::string broken_by_reference, broken_by_output;
};

/// Nothing where fewer than three sides are known.
std::optional<Disagreement> find_dissenter(const DisputedElement& disputed);

}  // namespace gpuemu
