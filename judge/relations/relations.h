// Private to this folder: one function per relation, and what they share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/rng/rng.h"
#include "judge/relations/axes.h"
#include "judge/relations/compare.h"
#include "judge/relations/relate.h"

namespace gpuemu {

/// One relation on one case.
class Relating {
 public:
  Relating(RelationChecker& checker, const InvariantSpec& spec) : checker_(checker), spec_(spec) {}

  const OpConfig& op() const { return checker_.of().op; }
  const CasePlan& plan() const { return checker_.of().plan; }
  RelationChecker& checker() const { return checker_; }
  const InvariantSpec& spec() const { return spec_; }
  double number(const char* name, double otherwise) const;
  std::string text(const char* name) const;  ///< "" without it.
  /// Draws that belong to the relation and the case.
  Stream stream() const { return {plan().base_seed, plan().iteration, "relation/" + spec_.name}; }

  /// The input that the spec names, else the first float one (any one with `any`); null: none.
  const CaseTensor* input(bool any = false) const;
  /// `exact` as written, else `otherwise`; never where runs need not agree bit for bit.
  bool exact(bool otherwise) const;
  /// The case itself where the comparison is exact, else the run on tame inputs.
  Result<RelationRun> base(bool exact) const;

  /// How the outputs of a further run must agree with what is expected of them.
  struct Demand {
    std::string change;  ///< "x times 4"
    bool exact = true;
    double widen = 2;                                    ///< Of the bound, where it is not exact.
    std::map<std::string, std::vector<bool>> free = {};  ///< By output; see Agreement.
    std::map<std::string, std::vector<double>> slack = {};
    const NamedTensors* inputs = nullptr;
  };
  /// Outputs that `expected` does not have are not looked at.
  RelationVerdict agree(const NamedTensors& got, const NamedTensors& expected,
                        const Demand& demand) const;

 private:
  RelationChecker& checker_;
  const InvariantSpec& spec_;
};

using RelationResult = Result<RelationVerdict>;
/// The case says nothing about the relation.
inline RelationVerdict not_checked() { return {}; }

std::vector<double> values_of(const Tensor& tensor);
Tensor with_values(const Tensor& like, const std::vector<double>& values);

/// a + b of every float output; what rounding a and b to their type can cost goes to the slack.
NamedTensors sum_of(const NamedTensors& a, const NamedTensors& b, Relating::Demand& demand);

// relate_values.cc: other values in the same places.
RelationResult relate_reads_inputs(const Relating& relating);
RelationResult relate_scale(const Relating& relating);
RelationResult relate_shift(const Relating& relating);
RelationResult relate_mirror(const Relating& relating);  ///< odd, even
RelationResult relate_linear(const Relating& relating);
// relate_axes.cc: slices along an axis.
RelationResult relate_permutation(const Relating& relating);
RelationResult relate_independence(const Relating& relating);  ///< row_independent, causal
RelationResult relate_padding(const Relating& relating);
RelationResult relate_additive(const Relating& relating);
RelationResult relate_transpose_dual(const Relating& relating);
// relate_parts.cc
RelationResult relate_concat(const Relating& relating);
// relate_huge.cc: tensors beyond 2^31 elements.
RelationResult relate_huge(const Relating& relating);
// relate_runs.cc: other launches, or the output as input.
RelationResult relate_idempotent(const Relating& relating);
RelationResult relate_in_place(const Relating& relating);
RelationResult relate_launch(const Relating& relating);
RelationResult relate_inverse(const Relating& relating);
RelationResult relate_deterministic(const Relating& relating);

}  // namespace gpuemu
