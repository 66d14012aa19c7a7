#include "daemon/local_worker/serve_worker.h"

#include <memory>
#include <utility>

#include "daemon/worker/worker_loop.h"
#include "runtime/backends/backends.h"
#include "runtime/compile/registers.h"
#include "runtime/device/contraction.h"

namespace gpuemu {

Status serve_worker(const WorkerOptions& options, std::vector<Arena> arenas, int socket) {
  DeviceRequest request;
  request.backend = options.backend;
  request.index = options.device_index;
  request.sm = options.sm;
  request.threads = options.threads;
  request.contraction = contraction_from_name(options.contraction).value_or(Contraction::Auto);
  request.contraction_seed = options.contraction_seed;
  request.memory_limit_bytes = options.memory_limit_bytes;
  request.registers = registers_by_ptxas;
  request.emulated_devices = options.emulated_devices;
  const Result<std::unique_ptr<Device>> device = open_device(request);
  if (!device) {
    GPUEMU_TRY(report_no_device(device.error(), socket));
    return device.error();
  }
  return run_worker_loop(**device, std::move(arenas), socket);
}

}  // namespace gpuemu
