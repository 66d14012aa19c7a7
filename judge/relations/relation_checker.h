// Checks metamorphic relations: what further runs of a kernel on changed inputs must return,
// without any reference. Everything follows from the case, so that a finding can be reproduced.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/config/op_config.h"
#include "common/protocol/records.gen.h"
#include "judge/bounds/comparison.h"
#include "judge/relations/derived_case.h"

namespace gpuemu {

/// A case that ran. Op, plan and tensors are borrowed; the callbacks are owned.
struct RelationCase {
  const OpConfig& op;
  const CasePlan& plan;
  const NamedTensors &inputs, &outputs;
  ValidationPolicy policy;  ///< The op's; tolerance and invariants are ignored.
  std::function<Tolerance(const std::string& output, DType)> tolerance_of;
  DerivedCaseRunner run;
  /// Returns null for an unknown op.
  std::function<const OpConfig*(const std::string& name)> find_op;
};

struct RelationVerdict {
  bool checked = false;  ///< False if the case cannot check the relation.
  std::optional<ValidationFailure> finding;
};

/// A run on some inputs.
struct DerivedRun {
  NamedTensors inputs, outputs;
};

/// Checks the relations of one case. Runs that several relations need are made once.
class RelationChecker {
 public:
  explicit RelationChecker(RelationCase of) : of_(std::move(of)) {}

  /// Returns errors of the runner, except Unsupported, which gives a verdict that is not checked.
  Result<RelationVerdict> check(const InvariantSpec& spec);

  const RelationCase& of() const { return of_; }
  /// Returns the run on tame inputs number `draw`.
  Result<const DerivedRun*> tame(uint64_t draw);
  /// Runs the case's kernel on these inputs.
  Result<NamedTensors> run(const NamedTensors& inputs) const;

 private:
  RelationCase of_;
  std::map<uint64_t, DerivedRun> tame_;
};

/// Returns for example "permutation_equivariant (dim rows)", for messages.
std::string describe_relation(const InvariantSpec& spec);

}  // namespace gpuemu
