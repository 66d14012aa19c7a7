// Metamorphic relations: what further runs of a kernel on changed inputs must give, found out
// without any reference. Everything follows from the case, so that a finding can be reproduced.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/config/config.h"
#include "common/protocol/records.h"
#include "judge/bounds/comparison.h"
#include "judge/relations/derived_case.h"

namespace gpuemu {

/// A case that ran. Op, plan and tensors are borrowed; what it calls is its own.
struct RelationCase {
  const OpConfig& op;
  const CasePlan& plan;
  const NamedTensors &inputs, &outputs;
  ValidationPolicy policy;  ///< The op's; tolerance and invariants do not matter.
  std::function<Tolerance(const std::string& output, DType)> tolerance_of;
  DerivedCaseRunner run;
  std::function<const OpConfig*(const std::string& name)> find_op;  ///< Null for an unknown one.
};

struct RelationVerdict {
  bool checked = false;  ///< False where the case says nothing about the relation.
  std::optional<ValidationFailure> finding;
};

/// One run on some inputs.
struct DerivedRun {
  NamedTensors inputs, outputs;
};

/// Checks the relations of one case; runs that several of them need happen once.
class RelationChecker {
 public:
  explicit RelationChecker(RelationCase of) : of_(std::move(of)) {}

  /// An error of the runner, but for Unsupported, which makes a verdict that is not checked.
  Result<RelationVerdict> check(const InvariantSpec& spec);

  const RelationCase& of() const { return of_; }
  /// The run on tame inputs number `draw`.
  Result<const DerivedRun*> tame(uint64_t draw);
  /// Runs the case's kernel on these.
  Result<NamedTensors> run(const NamedTensors& inputs) const;

 private:
  RelationCase of_;
  std::map<uint64_t, DerivedRun> tame_;
};

/// For a message: "permutation_equivariant (dim rows)".
std::string describe_relation(const InvariantSpec& spec);

}  // namespace gpuemu
