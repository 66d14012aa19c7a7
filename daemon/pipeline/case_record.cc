#include "daemon/pipeline/case_record.h"

#include <chrono>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "daemon/case/case_work.h"
#include "daemon/case/reproduction.h"

namespace gpuemu {
namespace {

/// Scripts and kernels write part of a message; its beginning and end are the most informative.
void clip(std::string& message) {
  if (message.size() <= kMessageCharsMax) return;
  const size_t half = kMessageCharsMax / 2;
  message = message.substr(0, half) + " ... " + message.substr(message.size() - half);
}

}  // namespace

Result<Next> record_case(CaseWork& work) {
  const CaseRequest& request = work.request;
  ValidationResult& result = work.report.result;
  for (ValidationFailure& failure : result.failures) clip(failure.message);
  result.passed = result.failures.empty();
  NamedTensors inputs;
  if (work.wants(Extra::Tensors) || !result.passed) {
    inputs = make_inputs(request.op, request.plan);
  }
  if (!result.passed || !result.warnings.empty() || work.wants(Extra::Reproduction)) {
    result.repro_info = reproduction_of(request, result.passed ? NamedTensors() : inputs);
  }
  if (!inputs.empty() || work.wants(Extra::Tensors)) {
    work.report.extras.tensors = {std::move(inputs), {}};
    if (work.wants(Extra::Tensors)) work.report.extras.tensors->outputs = std::move(work.outputs);
  }
  const auto took = std::chrono::steady_clock::now() - work.started;
  result.duration_ms =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  result.timestamp = now_seconds();
  return Next::Continue;
}

}  // namespace gpuemu
