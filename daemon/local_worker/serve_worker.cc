#include "daemon/local_worker/serve_worker.h"

#include <memory>
#include <utility>

#include "daemon/tapes/local_device.h"
#include "daemon/tapes/tape_service.h"
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
  // Tapes have a device of their own: data that plans leave behind does not concern them, and the
  // daemon decides what is placed where.
  request.registers = nullptr;
  request.memory_limit_bytes = kNoMemoryLimit;
  TapeService tapes([&] {
    return open_local_tape_device(
        {.device = request, .cache_folder = options.cache_folder, .worker_id = {}});
  });
  return run_worker_loop(**device, std::move(arenas), socket,
                         [&](std::span<const std::byte> asked) { return tapes.answer(asked); });
}

}  // namespace gpuemu
