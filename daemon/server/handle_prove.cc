// Prove: finds which accesses of the kernels are provably in bounds of their tensors.
#include "common/protocol/wire_errors.h"
#include "daemon/measure/prove_accesses.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

Reply prove(const ProveRequest& request, Call& call, JobControl& control) {
  const auto current = call.context.config.current();
  if (!current) return config_error(current.error());
  const Config& config = **current;
  std::vector<const OpConfig*> ops;
  for (const OpConfig& op : config.ops) {
    const bool wanted = request.op_name.empty() || request.op_name == op.name;
    if (wanted && op.mode == ExecutionMode::Kernel) ops.push_back(&op);
  }
  if (ops.empty()) {
    if (!request.op_name.empty() && config.find_op(request.op_name) == nullptr) {
      return op_not_found(call, config, request.op_name);
    }
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        request.op_name.empty()
            ? "no op of the project has a kernel that the daemon runs"
            : fmt::format("op '{}' has no kernel that the daemon runs", request.op_name)};
  }
  const auto begin = std::chrono::steady_clock::now();
  KernelStore kernels(config, call.context.cache_folder, call.context.arch);
  kernels.stop_when(control.cancel);
  BoundsReportReply reply;
  control.total = ops.size();
  for (const OpConfig* op : ops) {
    const ProveOptions options{request.kernel, request.dtype,
                               [&control] { return control.cancel.load(); }};
    const Status done = prove_op(config, kernels, *op, options, reply);
    if (!done) return error_reply(done.error());
    ++control.done;
  }
  reply.duration_ms = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::steady_clock::now() - begin)
                                                .count());
  return reply;
}

}  // namespace

Reply handle(const ProveRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return prove(request, kept, control);
  });
}

}  // namespace gpuemu
