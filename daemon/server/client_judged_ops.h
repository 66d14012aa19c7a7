// Ops of existing clients: their outputs come from a client or from an op script, never from a
// kernel of ours.
#pragma once

#include <functional>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

struct CampaignOptions;
struct Slot;

/// What a reference is run on. References outlive the call.
struct ScriptInputs {
  const NamedTensors& tensors;
  const Kwargs& kwargs;
  std::optional<Tolerance> wider = {};  ///< Accepts what the op's own tolerance refuses.
};

struct JudgedOutput {
  ValidationResult result;
  double bound_ratio_max = 0;  ///< Largest error over its allowed bound.
};

/// Runs the op's reference on `inputs` and compares. The reference's failure is an error here.
Result<JudgedOutput> judge_submitted(const Config& config, const OpConfig& op,
                                     const ScriptInputs& inputs, const Tensor& output, Slot& slot);

/// References outlive the run.
struct ScriptFuzz {
  const OpConfig& op;
  const FuzzOpRequest& request;
  const Config& config;
  std::function<bool()> stopped;                     ///< Asked before each case.
  std::function<void(const JudgedOutput&)> on_case;  ///< Each that counts, in order; may be empty.
};
/// Whether it is an op whose output an op script makes.
bool has_op_script(const OpConfig& op);
/// The base seed of its cases where one seed is given for many ops: each has seeds of its own, so
/// that a seed alone says which op failed.
uint64_t script_seed_of(uint64_t seed, const OpConfig& op);
/// FuzzOp for an op with an op script: cases of the clients' generator. Ops that run in the client
/// get an honest error: there is nothing here to test. Where the scripts answer no case at all,
/// `error` says why and nothing is kept.
Reply fuzz_script_op(const ScriptFuzz& fuzz, Call& call, JobControl& control);

/// Adds the ops with op scripts to a test run's report, in place of what the campaign says of them.
Status test_script_ops(const CampaignOptions& options, const Config& config, Call& call,
                       JobControl& control, TestReportReply& report);

/// Runs reference and op script on given inputs; a script's failure is a finding.
JudgedOutput judge_script(const Config& config, const OpConfig& op, const NamedTensors& inputs,
                          const Kwargs& kwargs, Slot& slot);

/// A stored failure of an op with an op script. References outlive the search.
struct ScriptCase {
  const Config& config;
  const OpConfig& op;
  const ValidationResult& failure;  ///< REQUIRES: has repro_info.
  const NamedTensors& inputs;
};
/// Minimize for it (minimize_script.cc): every trial runs op script and reference.
Reply minimize_script_case(const ScriptCase& given, const MinimizeRequest& request, Call& call,
                           JobControl& control);

}  // namespace gpuemu
