// ValidateOp and SubmitOutput: the client ran the op, the daemon judges the output.
#include <array>
#include <bit>
#include <cmath>

#include "common/base/blake2.h"
#include "common/protocol/wire_errors.h"
#include "common/tensor/snapshot.h"
#include "daemon/case/case_report.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

struct Submission {
  const std::string& op_name;
  const NamedTensors& inputs;
  const Tensor& output;
  const Kwargs& kwargs;
  uint64_t seed;
  std::optional<double> atol, rtol;
};

/// Returns the tolerance that the client accepts beyond the op's own; nothing if it sets none.
Result<std::optional<Tolerance>> wider_of(const Submission& submission) {
  if (!submission.atol && !submission.rtol) return std::optional<Tolerance>();
  Tolerance wider;
  wider.atol = submission.atol.value_or(0);
  wider.rtol = submission.rtol.value_or(0);
  for (const double part : {wider.atol, wider.rtol}) {
    if (!(part >= 0) || !std::isfinite(part)) {
      return error(ErrorCode::InvalidArgument,
                   "atol is {} and rtol {}, expected finite numbers from 0", wider.atol,
                   wider.rtol);
    }
  }
  return std::optional(wider);
}

/// Distinguishes submissions with the same seed by their inputs.
uint64_t digest_of(const NamedTensors& inputs) {
  std::array<uint8_t, 8> digest{};
  const auto view = [](const auto* data, size_t count) {
    return std::string_view(reinterpret_cast<const char*>(data), count * sizeof *data);
  };
  for (const auto& [name, tensor] : inputs) {
    const std::string head =
        fmt::format("{}\n{} {}\n", name, name_of(tensor.dtype), to_string(tensor.shape));
    digest = blake2b_8(
        {view(digest.data(), digest.size()), head, view(tensor.data.data(), tensor.data.size())});
  }
  return std::bit_cast<uint64_t>(digest);
}

/// Returns the verdict after storing it, or the reply that explains why there is none.
std::variant<ValidationResult, ErrorReply> judge(const Submission& submission, Call& call) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const Config& config = (*project)->config();
  const OpConfig* op = config.find_op(submission.op_name);
  if (op == nullptr) return op_not_found(call, config, submission.op_name);
  const auto wider = wider_of(submission);
  if (!wider) return ErrorReply{WireErrorCode::InvalidRequest, wider.error().message};
  auto lease = call.context.slots.acquire(call.claim);
  if (!lease) return error_reply(lease.error());
  auto judged = judge_submitted(config, *op, {submission.inputs, submission.kwargs, *wider},
                                submission.output, **lease);
  if (!judged) return ErrorReply{WireErrorCode::ReferenceScriptFailed, judged.error().message};
  ValidationResult* const result = &judged->result;
  result->seed = submission.seed;
  if (!result->passed) {
    ReproductionInfo info;
    info.seed = submission.seed;
    info.shape = submission.output.shape;
    info.strides = row_major_strides(submission.output.shape);
    info.dtype = submission.output.dtype;
    if (auto snapshot = encode_legacy_snapshot(submission.inputs)) {
      info.input_snapshot = *std::move(snapshot);
    }
    result->repro_info = std::move(info);
  }
  const Status kept =
      call.context.store.put_result(*result, !result->passed, digest_of(submission.inputs));
  if (!kept) return error_reply(kept.error());
  return *std::move(result);
}

uint64_t nanoseconds_now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

Reply handle(const ValidateOpRequest& request, Call& call) {
  auto verdict = judge({request.op_name, request.inputs, request.output, request.kwargs,
                        nanoseconds_now(), request.atol, request.rtol},
                       call);
  if (auto* failure = std::get_if<ErrorReply>(&verdict)) return *failure;
  return ValidationResultReply{std::get<ValidationResult>(std::move(verdict))};
}

Reply handle(const SubmitOutputRequest& request, Call& call) {
  auto verdict = judge({request.op_name, request.inputs, request.output, request.kwargs,
                        request.seed, request.atol, request.rtol},
                       call);
  if (auto* failure = std::get_if<ErrorReply>(&verdict)) return *failure;
  return SubmitResultReply{std::get<ValidationResult>(std::move(verdict))};
}

}  // namespace gpuemu
