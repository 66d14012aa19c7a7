// Private to this folder: one function per relation, and their shared helpers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/rng/rng.h"
#include "judge/relations/compare.h"
#include "judge/relations/relation_checker.h"
#include "judge/relations/shared_axes.h"

namespace gpuemu {

/// One relation on one case.
class RelationCheck {
 public:
  RelationCheck(RelationChecker& checker, const InvariantSpec& spec)
      : checker_(checker), spec_(spec) {}

  const OpConfig& op() const { return checker_.of().op; }
  const CasePlan& plan() const { return checker_.of().plan; }
  RelationChecker& checker() const { return checker_; }
  const InvariantSpec& spec() const { return spec_; }
  double number(const char* name, double otherwise) const;
  std::string text(const char* name) const;  ///< "" if it is absent.
  /// Returns a stream of draws for this relation and case.
  Stream stream() const {
    return {plan().base_seed, plan().iteration, fmt::format("relation/{}", name_of(spec_.kind))};
  }

  /// Returns the input that the spec names, else the first float input (with `any`, the first
  /// input); null if there is none.
  const CaseTensor* input(bool any = false) const;
  /// Returns the spec's `exact`, else `otherwise`; always false if runs need not agree bit for bit.
  bool exact(bool otherwise) const;
  /// Returns the case itself if the comparison is exact, else the run on tame inputs.
  Result<DerivedRun> base(bool exact) const;

  /// How the outputs of a further run must agree with the expected ones.
  struct Demand {
    std::string change;  ///< For messages, such as "x times 4".
    bool exact = true;
    double widen = 2;  ///< Multiplies the bound, if it is not exact.
    std::map<std::string, std::vector<bool>> free = {};  ///< By output; see Agreement.
    std::map<std::string, std::vector<double>> slack = {};
    const NamedTensors* inputs = nullptr;
  };
  /// Ignores outputs that `expected` does not have.
  RelationVerdict agree(const NamedTensors& got, const NamedTensors& expected,
                        const Demand& demand) const;

 private:
  RelationChecker& checker_;
  const InvariantSpec& spec_;
};

using RelationResult = Result<RelationVerdict>;
/// Returns the verdict of a case that cannot check the relation.
inline RelationVerdict not_checked() { return {}; }

std::vector<double> values_of(const Tensor& tensor);
Tensor with_values(const Tensor& like, const std::vector<double>& values);

/// Returns a + b for every float output. Adds the possible cost of rounding a and b to their type
/// to the slack.
NamedTensors sum_of(const NamedTensors& a, const NamedTensors& b, RelationCheck::Demand& demand);

// --- relate_values.cc: other values at the same places ---
RelationResult relate_reads_inputs(const RelationCheck& relation);
RelationResult relate_scale(const RelationCheck& relation);
RelationResult relate_shift(const RelationCheck& relation);
RelationResult relate_mirror(const RelationCheck& relation);  ///< odd, even
RelationResult relate_linear(const RelationCheck& relation);
// --- relate_axes.cc: slices along an axis ---
RelationResult relate_permutation(const RelationCheck& relation);
RelationResult relate_independence(const RelationCheck& relation);  ///< row_independent, causal
RelationResult relate_padding(const RelationCheck& relation);
RelationResult relate_additive(const RelationCheck& relation);
RelationResult relate_transpose_dual(const RelationCheck& relation);
// --- relate_concat.cc ---
RelationResult relate_concat(const RelationCheck& relation);
// --- relate_index_width.cc: tensors of more than 2^31 elements ---
RelationResult relate_index_width(const RelationCheck& relation);
// --- relate_runs.cc: other launches, or the output as input ---
RelationResult relate_idempotent(const RelationCheck& relation);
RelationResult relate_in_place(const RelationCheck& relation);
RelationResult relate_launch(const RelationCheck& relation);
RelationResult relate_inverse(const RelationCheck& relation);
RelationResult relate_deterministic(const RelationCheck& relation);

}  // namespace gpuemu
