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
struct KernelConfig;
struct Slot;

/// Runs the kernel on all derived cases that the relations of a case need, on one slot.
class DerivedRuns {
 public:
  /// Selects the outputs of a run: as the kernel computed them; computed without rounding and then
  /// rounded once, to the type of the output; or computed without rounding, as float64.
  enum class Outputs : uint8_t { Computed, Exact, Wide };
  DerivedRuns(const CaseRequest& request, Slot& slot, Outputs outputs)
      : request_(request), slot_(slot), outputs_(outputs) {}

  Result<NamedTensors> run(const DerivedCase& derived);
  /// Stores the bounds of the runs' shadows in `bounds`, which then cover underflow only.
  void keep_underflow(NamedTensors& bounds);
  /// Stores the bounds of ShadowErrors::Fusable in `bounds`.
  void keep_fusable(NamedTensors& bounds);
  /// From now on, runs also add their computed outputs to `computed`.
  void keep_computed(NamedTensors& computed) { computed_ = &computed; }
  void nudge(uint64_t draw) { nudge_ = draw; }
  void move_constants(uint64_t draw) { moved_constants_ = draw; }

  /// Returns a checker of relations on the case with these outputs, which must outlive it, as must
  /// this object. The checker returns Cancelled if a run failed: see take_failures().
  RelationChecker checker_for(const NamedTensors& outputs);
  /// Names the relation in the messages of the runs that follow.
  void begin(const InvariantSpec& spec) { relation_ = describe_relation(spec); }
  /// Returns and clears the findings of the runs themselves, such as faults.
  std::vector<ValidationFailure> take_failures() { return std::exchange(failures_, {}); }
  /// The number of floats, in all runs, whose rounding to a whole number their last digits decided.
  uint64_t close_roundings() const { return close_roundings_; }
  /// ShadowReport::lost_comparisons of all runs.
  uint64_t lost_comparisons() const { return lost_comparisons_; }

 private:
  /// The kernel to run: the case's own, or one of another op.
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
  /// Stores the finding and returns the error that points to it.
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
