// Runs one case end to end: inputs into shared memory, kernel and reference at the same time, the
// verdict, then the runs that relations ask for. The only folder that knows generator, worker,
// reference and validator together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "common/config/config.h"
#include "common/protocol/ci.h"
#include "common/protocol/records.h"
#include "common/protocol/replies.h"
#include "daemon/pipeline/execution_plan.h"
#include "daemon/reference/reference_process.h"
#include "daemon/schedule/slot_pool.h"
#include "daemon/worker/worker_seat.h"
#include "judge/cases/case.h"
#include "judge/explain/exact_comparison.h"
#include "judge/verdict/envelope.h"
#include "judge/verdict/power.h"
#include "judge/verdict/validate.h"

namespace gpuemu {

/// An element whose error exceeds its bound.
struct ExceedingElement {
  std::string output;
  size_t index = 0;
  double computed = 0, reference = 0, tolerance = 0;
  double customary = 0;   ///< What a customary test would allow.
  double magnitude = 0;   ///< What counts as one there: Customary::magnitude().
  bool declared = false;  ///< The op says how large the output's errors may be.
};

/// What CaseOutcome::relations names beside relations: why errors beyond the bound pass, or
/// elements were not compared.
inline constexpr const char* kUnderflow = "underflow";
inline constexpr const char* kFlushed = "flushed";
inline constexpr const char* kConditioning = "error_scale";
inline constexpr const char* kCustomary = "customary";
inline constexpr const char* kNotLookedAt = "not_looked_at";
/// Cases in which threads that Triton has do the same work raced without a consequence.
inline constexpr const char* kRedundantThreads = "redundant_threads";
inline constexpr const char* kUndefinedIntegers = "undefined_integers";

struct CaseOutcome {
  ValidationResult result;
  double worst_use = 0;  ///< Largest |output - reference| / bound.
  uint64_t thread_instructions = 0;
  std::string kernel;                  ///< The variant that ran.
  NamedTensors inputs;                 ///< Filled for failing cases and when asked for.
  NamedTensors outputs;                ///< When asked for.
  std::vector<std::string> relations;  ///< That were checked on it.
  std::vector<std::string> printed;
  std::vector<LineProfile> profile;   ///< When asked for, on a device that counts.
  std::optional<ErrorMap> error_map;  ///< When asked for, of the output with the largest error.
  std::optional<Power> power;         ///< When asked for, of a case whose values were compared.
  bool exact = false;                 ///< All its outputs were compared without a tolerance.
  ErrorEnvelope envelope;             ///< When asked for, of all outputs of floats.
  Reached reached;                    ///< When asked for, on a device that counts.
  std::optional<ExportedCaseReply> exported;  ///< When asked for; without inputs and result.
  std::vector<ComparedShadow> shadows;        ///< When asked for, per output that has them.
  std::vector<ExactProperty> properties;      ///< Likewise: what the outputs violate.
  NamedTensors exact_outputs;                 ///< Likewise: without rounding but their own.
  std::vector<ExceedingElement> exceeding;    ///< Of outputs whose tolerance is "auto".
  /// Of exceeding elements beyond as many as are listed: a customary test refuses one.
  bool exceeding_refused = false;
  /// Outputs of integers that are all within 1 of their reference, and how many are not equal to
  /// it.
  std::map<std::string, uint64_t> off_by_one;
  std::set<std::string> notes;  ///< For the report of the run, each once.
  ExecutionShadow shadow;
};

/// What a case gives beside its result.
struct CaseWishes {
  bool tensors = false;
  bool profile = false;
  bool error_map = false;
  bool power = false;          ///< Whether a trivial output would have passed as well.
  bool envelope = false;       ///< How large the errors are.
  bool coverage = false;       ///< What was reached of the kernel.
  bool coverage_lines = true;  ///< Reached::lines of it, for which the kernel runs slower.
  bool exported = false;
  bool reproduction = false;  ///< repro_info of passing cases too, without their inputs.
  ShadowWish shadow = {};
  Interleaving order = Interleaving::InOrder;  ///< Of the threads in the first run.
};

/// A kernel of another op, for a relation between two ops.
struct ChosenKernel {
  const KernelConfig* kernel = nullptr;
  std::shared_ptr<const PreparedKernel> prepared;
};
/// Unsupported when no kernel takes the case.
using KernelFinder = std::function<Result<ChosenKernel>(const OpConfig& op, const CasePlan& plan)>;

struct CaseRequest {
  const Config& config;
  const OpConfig& op;
  const KernelConfig& kernel;
  const PreparedKernel& prepared;
  const CasePlan& plan;
  CaseWishes wishes = {};
  KernelFinder find_kernel = {};
  /// A slot with shadows, for a device that has none. Empty: there is no such slot.
  std::function<Result<SlotLease>()> emulator_slot = {};
  /// What the reference says of inputs whose subnormal numbers are zero, by output; may be empty.
  std::map<std::string, TensorView> of_flushed_inputs = {};
};

/// Whatever the kernel or the reference does wrong is in the result's failures; an error means that
/// the case could not be made (its schema does not evaluate, no shared memory, no Python).
Result<CaseOutcome> run_case(const CaseRequest& request, Slot& slot);

/// Of the inputs that are stored with it; 0 when it passed.
size_t snapshot_bytes(const ValidationResult& result);

/// Inputs of a case as tensors, without running anything.
NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan);

/// What is stored so that the case can be made again.
ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs);

/// The plan of a stored case. InvalidArgument when the op's schema has changed so that it does not
/// fit any more.
Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info);

}  // namespace gpuemu
