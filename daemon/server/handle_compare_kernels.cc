// CompareKernels: finds what two kernels do differently.
#include "common/protocol/wire_errors.h"
#include "daemon/measure/compare_kernels.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

Reply handle(const CompareKernelsRequest& request, Call& call) {
  const auto config = call.context.config.current();
  if (!config) return config_error(config.error());
  KernelFiles files{request.before, request.after, request.arch, call.context.cache_folder};
  if (files.arch.empty()) files.arch = call.context.arch;
  auto reply = compare_kernels(**config, files);
  if (!reply) return error_reply(reply.error());
  return *std::move(reply);
}

}  // namespace gpuemu
