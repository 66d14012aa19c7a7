// Mutate: counts how many planted mistakes the cases of an op detect.
#include "common/protocol/wire_errors.h"
#include "daemon/mutation/mutation_run.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

std::string line_of(const MutantReport& mutant) {
  return fmt::format("mutant {} {} at {}:{}: {}", mutant.id, mutant.mutation,
                     mutant.file.empty() ? "PTX" : mutant.file,
                     mutant.file.empty() ? mutant.ptx_line : mutant.line, name_of(mutant.status));
}

Reply mutate(const MutateRequest& request, Call& call, JobControl& control) {
  const auto current = call.context.config.current();
  if (!current) return config_error(current.error());
  const Config& config = **current;
  const OpConfig* op = config.find_op(request.op_name);
  if (op == nullptr) return op_not_found(call, config, request.op_name);
  if (op->mode != ExecutionMode::Kernel) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("op '{}' has no kernel that the daemon runs", op->name)};
  }
  KernelStore kernels(config, call.context.cache_folder, call.context.arch);
  kernels.stop_when(control.cancel);
  MutationOptions options;
  options.kernel = request.kernel;
  options.dtype = request.dtype;
  options.cases = request.cases;
  options.seed = request.seed ? *request.seed : config.seed.value_or(fresh_seed());
  options.mutants_max = request.mutants_max;
  options.mutations = request.mutations;
  options.claim = call.claim;
  if (request.budget_ms > 0) {
    options.deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(request.budget_ms);
  }
  MutationEvents events;
  events.on_total = [&control](uint64_t total) { control.total = total; };
  events.on_mutant = [&control](const MutantReport& mutant) {
    if (mutant.status != MutantStatus::NotRun) ++control.done;
    if (mutant.status == MutantStatus::Survived) control.failed(line_of(mutant));
  };
  auto report =
      run_mutation({config, kernels, call.context.slots}, *op, options, events, control.cancel);
  if (!report) return error_reply(report.error());
  return *std::move(report);
}

}  // namespace

Reply handle(const MutateRequest& request, Call& call) {
  Call kept = call;
  return run_or_start_job(job_options(request), call, [request, kept](JobControl& control) mutable {
    return mutate(request, kept, control);
  });
}

}  // namespace gpuemu
