// Runs the kernel of a case on derived cases: those of its relations, and the case itself without
// rounding.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/case/case_request.h"
#include "daemon/plans/execution_plan.h"
#include "judge/relations/relation_checker.h"

namespace gpuemu {

struct PreparedKernel;
struct Slot;

/// Runs the kernel on whatever the relations of a case need, on one slot.
class DerivedRuns {
 public:
  /// Outputs of the runs that count: the computed ones, those without any rounding but their own,
  /// or those as float64.
  enum class Outputs : uint8_t { Computed, Exact, Wide };
  DerivedRuns(const CaseRequest& request, Slot& slot, Outputs outputs)
      : request_(request), slot_(slot), outputs_(outputs) {}

  Result<NamedTensors> run(const DerivedCase& derived);
  /// The bounds of the runs' shadows go there, and are those of underflow alone.
  void keep_underflow(NamedTensors& bounds);
  /// The same, of ShadowErrors::Fusable.
  void keep_fusable(NamedTensors& bounds);
  /// What the runs compute goes there too.
  void keep_computed(NamedTensors& computed) { computed_ = &computed; }
  void nudge(uint64_t draw) { nudge_ = draw; }
  void move_constants(uint64_t draw) { moved_constants_ = draw; }

  /// Checks relations on the case with these outputs; they and this object outlive the checker. It
  /// says Cancelled where a run failed: see take_failures().
  RelationChecker checker_for(const NamedTensors& outputs);
  /// Names the relation for messages of the runs that follow.
  void begin(const InvariantSpec& spec) { relation_ = describe_relation(spec); }
  /// What the runs themselves got wrong since it was asked last, faults for example.
  std::vector<ValidationFailure> take_failures() { return std::exchange(failures_, {}); }
  /// Floats of all runs that rounding to a whole number decided by their last digits.
  uint64_t close_roundings() const { return close_roundings_; }
  /// ShadowReport::lost_comparisons of all runs.
  uint64_t lost_comparisons() const { return lost_comparisons_; }

 private:
  /// What runs: the case's own kernel, or one of another op.
  struct Target {
    const OpConfig* op = nullptr;
    const KernelConfig* kernel = nullptr;
    const PreparedKernel* prepared = nullptr;
    std::shared_ptr<const PreparedKernel> owned;
  };
  Result<Target> target_of(const CasePlan& plan) const;
  Result<BuiltPlan> build(const DerivedCase& derived, const Target& target) const;
  Status upload(const DerivedCase& derived, const BuiltPlan& built);
  Status execute(const Target& target, const ExecutionPlan& plan);
  /// Keeps the finding and says so.
  Error failed(ValidationFailure finding);
  Result<NamedTensors> outputs_of(const DerivedCase& derived, const BuiltPlan& built);
  Result<NamedTensors> run_sparse(const DerivedCase& derived, const Target& target);

  const CaseRequest& request_;
  Slot& slot_;
  const Outputs outputs_;
  NamedTensors inputs_;   ///< For checker_for().
  std::string relation_;  ///< For messages.
  ShadowErrors errors_ = ShadowErrors::All;
  NamedTensors *bounds_ = nullptr, *computed_ = nullptr;
  uint64_t nudge_ = 0, moved_constants_ = 0;
  std::vector<ValidationFailure> failures_;
  uint64_t instructions_ = 0, close_roundings_ = 0, lost_comparisons_ = 0;
};

}  // namespace gpuemu
