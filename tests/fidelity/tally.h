// Two answers compared bit for bit, and the sum over the cases of an op.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fidelity/side.h"

namespace gpuemu::fidelity {

/// Of one output, over all cases.
struct OutputTally {
  std::string name;
  DType dtype = DType::Float32;
  uint64_t elements = 0, identical = 0;
  uint64_t nan_bits = 0;    ///< NaN on both sides with different bits, among those that differ.
  uint64_t not_finite = 0;  ///< NaN or infinity on one side, among those that differ.
  uint64_t ulps_max = 0;    ///< Of the differences where both are finite.
  std::string first;        ///< "case 3, element 17: 0x3f800000 | 0x3f800001"
};

struct Tally {
  std::string subject;
  uint64_t cases = 0, cases_identical = 0;
  std::vector<OutputTally> outputs;
  std::vector<std::string> notes;  ///< What went wrong on a side, each text once.

  bool identical() const { return cases == cases_identical && notes.empty(); }
};

struct Amount {
  uint64_t cases = 16, seed = 42;
  int64_t elements_max = 1 << 14;  ///< Of the largest tensor of a case.
};

/// Adds one case, `left` and `right` being the two answers to `plan`.
void compare_case(const CasePlan& plan, const ExecutionPlan& execution, const Answer& left,
                  const Answer& right, Tally& into);

/// Runs all cases of a subject on both sides. With `keep` the right side's answers go there.
Result<Tally> compare_subject(const Subject& subject, const Amount& amount, Side& left,
                              Side& right);
Status record_subject(const Subject& subject, const Amount& amount, Side& side, Recording& into);

}  // namespace gpuemu::fidelity
