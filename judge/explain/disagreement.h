// Finds the side that disagrees about one element: backends, other kernels of the op, the same
// kernel without rounding, or the reference. A pure function of their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"

namespace gpuemu {

/// The values known for an element that failed on `backend`.
struct DisputedElement {
  std::string backend;  ///< The backend on which the output was found wrong.
  double computed = 0;
  std::string other_backend;    ///< "": none.
  std::optional<double> other;  ///< The kernel's output on that backend.
  std::optional<double> exact;  ///< The result of the kernel's instructions without rounding.
  std::vector<DisagreementSide>
      others;  ///< "kernel NAME": other kernels of the op, on the same inputs.
  double reference = 0;
  double tolerance = 0;  ///< Values at most this far apart agree.
  /// An invariant that only the reference, or only the output, violates.
  std::string broken_by_reference, broken_by_output;
};

/// Returns nothing if fewer than three sides are known.
std::optional<Disagreement> find_dissenter(const DisputedElement& disputed);

}  // namespace gpuemu
