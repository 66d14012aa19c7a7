// Ops of existing clients, whose outputs come from a client or an op script instead of a kernel of
// gpuemu's.
#pragma once

#include <functional>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

struct CampaignOptions;
struct Slot;

/// The inputs of a reference. References must outlive the call.
struct ScriptInputs {
  const NamedTensors& tensors;
  const Kwargs& kwargs;
  std::optional<Tolerance> wider = {};  ///< Accepts outputs within this tolerance too.
};

struct JudgedOutput {
  ValidationResult result;
  double bound_ratio_max = 0;  ///< Largest ratio of error to allowed bound.
};

/// Runs the op's reference on `inputs` and compares. A failing reference is returned as an error.
Result<JudgedOutput> judge_submitted(const Config& config, const OpConfig& op,
                                     const ScriptInputs& inputs, const Tensor& output, Slot& slot);

/// The parameters of a run. References must outlive it.
struct ScriptFuzz {
  const OpConfig& op;
  const FuzzOpRequest& request;
  const Config& config;
  std::function<bool()> stopped;  ///< Called before each case.
  /// Called for each counted case, in order; may be empty.
  std::function<void(const JudgedOutput&)> on_case;
};
/// Returns whether an op script makes the op's outputs.
bool has_op_script(const OpConfig& op);
/// Derives the op's base seed if one seed is given for several ops, so that a case's seed
/// identifies the op.
uint64_t script_seed_of(uint64_t seed, const OpConfig& op);
/// Handles FuzzOp for an op with an op script, with cases of the clients' generator. For ops that
/// run in the client, returns an error, because there is nothing to test here. If no case can be
/// answered, `error` says why and nothing is stored.
Reply fuzz_script_op(const ScriptFuzz& fuzz, Call& call, JobControl& control);

/// Adds the ops with op scripts to a test run's report, replacing the campaign's entries for them.
Status test_script_ops(const CampaignOptions& options, const Config& config, Call& call,
                       JobControl& control, TestReportReply& report);

/// Runs reference and op script on given inputs. A failing script is a finding. Returns the error
/// Cancelled if one of them was ended because the caller no longer waits for the verdict.
Result<JudgedOutput> judge_script(const Config& config, const OpConfig& op,
                                  const NamedTensors& inputs, const Kwargs& kwargs, Slot& slot);

/// A stored failure of an op with an op script. References must outlive the search.
struct ScriptCase {
  const Config& config;
  const OpConfig& op;
  const ValidationResult& failure;  ///< Requires repro_info.
  const NamedTensors& inputs;
};
/// Implements Minimize for it (minimize_script.cc); every trial runs op script and reference.
Reply minimize_script_case(const ScriptCase& given, const MinimizeRequest& request, Call& call,
                           JobControl& control);

}  // namespace gpuemu
