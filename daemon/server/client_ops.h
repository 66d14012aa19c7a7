// Ops of existing clients: their outputs come from a client or from an op script, never from a
// kernel of ours.
#pragma once

#include <functional>

#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// What a reference is run on. References outlive the call.
struct ScriptInputs {
  const NamedTensors& tensors;
  const Kwargs& kwargs;
};

/// Runs the op's reference on `inputs` and compares. The reference's failure is an error here.
Result<ValidationResult> judge_submitted(const Config& config, const OpConfig& op,
                                         const ScriptInputs& inputs, const Tensor& output,
                                         Lane& lane);

/// References outlive the run.
struct ScriptFuzz {
  const OpConfig& op;
  const FuzzOpRequest& request;
  const Config& config;
  std::function<bool()> stopped;  ///< Asked before each case.
};
/// FuzzOp for an op with an op script: cases of the clients' generator. Ops that run in the client
/// get an honest error: there is nothing here to test.
Reply fuzz_script_op(const ScriptFuzz& fuzz, Call& call, JobControl& control);

/// Runs reference and op script on given inputs; a script's failure is a finding.
ValidationResult judge_script(const Config& config, const OpConfig& op, const NamedTensors& inputs,
                              const Kwargs& kwargs, Lane& lane);

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
