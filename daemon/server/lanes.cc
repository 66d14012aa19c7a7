#include "daemon/server/lanes.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "common/base/device_list.h"
#include "common/base/machine_memory.h"
#include "common/config/start_settings.h"
#include "daemon/local_worker/worker_thread.h"
#include "daemon/reference/find_python.h"
#include "daemon/remote/device_info.h"
#include "daemon/schedule/slot_pool_options.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// One slot waits for the worker while others draw cases, compute references and compare. A case
/// needs the worker for a tenth of its time on a GPU, and for about half on the emulator. If a
/// project requests fewer workers than there are processors, the rest is left for others: each
/// worker then has one slot, which keeps about one processor busy.
constexpr size_t kSlotsPerGpu = 8;
constexpr uint32_t kSlotsPerEmulator = 2;
/// Small cases that a thread hands to a slot together, so that its processes wake up, and find
/// their caches cold, once for all. On a GPU more slots share a worker.
constexpr uint32_t kPlacesPerGpuSlot = 4;
constexpr uint32_t kPlacesPerEmulatorSlot = 32;
/// Each place has a descriptor.
constexpr uint32_t kPlacesMax = 512;
/// Slots for remote workers; each has a reference process here once it is used.
constexpr uint32_t kRemoteSlotsMax = 64;

size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

uint32_t slots_per_emulator(const Config& config) {
  const bool leaves_processors = config.workers != 0 && config.workers < processors();
  return leaves_processors ? 1 : kSlotsPerEmulator;
}

/// Returns an equal share of three quarters of the machine's memory for the reference process of
/// each slot.
uint64_t reference_share(uint64_t slots) {
  constexpr uint64_t kSmallest = uint64_t{2}
                                 << 30;  // Less is not enough to import a framework reliably.
  const uint64_t machine = machine_memory_bytes();
  return machine == 0 ? 0 : std::max(kSmallest, machine / 4 * 3 / std::max<uint64_t>(slots, 1));
}

bool is_gpu(const std::string& backend) { return device_traits(backend).is_gpu; }

WorkerPlaces worker_places(const WorkerSetup& workers) {
  WorkerPlaces places;
  places.remotes = workers.remotes;
  if (workers.processes && workers.falls_back) {
    places.link = [log = workers.log] { return worker_process_or_thread(log); };
  }
  if (workers.processes) return places;
  places.link = worker_thread;
  places.has_processes = false;
  places.turn = workers.turn;
  places.prefers_remote = true;
  places.runs_local = workers.falls_back;
  return places;
}

SlotPoolOptions slot_options(const Config& config, const std::vector<DeviceProperties>& devices,
                             const WorkerSetup& workers) {
  SlotPoolOptions options;
  const std::string& backend = devices.front().backend;
  const bool on_gpu = is_gpu(backend);
  options.count = static_cast<uint32_t>(on_gpu                ? devices.size()
                                        : config.workers != 0 ? config.workers
                                                              : processors());
  options.slots_per_worker = slots_per_emulator(config);
  if (on_gpu) {
    options.devices = static_cast<uint32_t>(devices.size());
    options.slots_per_worker = static_cast<uint32_t>(std::min(processors(), kSlotsPerGpu));
  }
  if (!workers.processes) {
    // As many cases as elsewhere, for remote workers; those that run here take turns.
    options.slots_per_worker *= options.count;
    options.count = 1;
  }
  options.places = worker_places(workers);
  if (workers.processes && workers.remotes == nullptr) {
    const uint32_t fit = std::max(1U, kPlacesMax / (options.count * options.slots_per_worker));
    options.places_per_slot = std::min(on_gpu ? kPlacesPerGpuSlot : kPlacesPerEmulatorSlot, fit);
  }
  if (workers.remotes != nullptr) {
    options.slots_per_remote = static_cast<uint32_t>(on_gpu ? kSlotsPerGpu : kSlotsPerEmulator);
    options.remote_slots_max = kRemoteSlotsMax;
  }
  options.worker.program = workers.program;
  options.worker.backend = backend;
  options.worker.contraction = config.contraction;
  options.worker.memory_limit_bytes = config.memory_limit_mb << 20;
  options.worker.emulated_devices = emulated_devices_of(config);
  options.worker.sm = devices.front().sm;
  if (config.arch.starts_with("sm_")) {
    options.worker.sm = nearest_emulated_architecture(std::atoi(config.arch.c_str() + 3));
  }
  options.reference.python = find_python(config.python, config.folder);
  options.reference.folder = config.folder;
  options.reference.memory_bytes =
      reference_share(uint64_t{options.count} * options.slots_per_worker);
  return options;
}

/// The devices of one backend: the configured one, else the first that answers.
struct Devices {
  std::vector<DeviceProperties> served;  ///< Devices of one backend.
  std::vector<std::string> backends;     ///< Backends with a device that answers.
};

Result<Devices> devices_of(const Config& config, bool has_processes) {
  if (!has_processes && is_gpu(config.backend)) {
    return error(ErrorCode::Unavailable,
                 "backend = \"{}\" needs worker processes, and the daemon was started with "
                 "--no-workers; use backend = \"emulator\", or a daemon without that option",
                 config.backend);
  }
  std::vector<DeviceProperties> devices = GPUEMU_TRY(list_devices(emulated_devices_of(config)));
  if (!has_processes) {
    std::erase_if(devices, [](const DeviceProperties& one) { return is_gpu(one.backend); });
  }
  std::vector<std::string> backends;
  for (const DeviceProperties& one : devices) backends.push_back(one.backend);
  const bool is_named = is_computing_backend(config.backend);  // Otherwise "auto".
  std::erase_if(devices, [&](const DeviceProperties& one) {
    return is_named && one.backend != config.backend;
  });
  if (devices.empty()) {
    return error(ErrorCode::Unavailable,
                 "no device answers for backend '{}'; use "
                 "backend = \"emulator\" on a machine without a GPU",
                 config.backend);
  }
  const std::string backend = devices.front().backend;
  std::erase_if(devices, [&](const DeviceProperties& one) { return one.backend != backend; });
  return Devices{std::move(devices), std::move(backends)};
}

}  // namespace

std::string lanes_key(const Config& config) {
  std::string key = config.folder;
  for (const auto& [name, value] : start_settings(config)) key += "\n" + name + " = " + value;
  return key;
}

std::shared_ptr<LaneGate> LaneGates::of(const std::string& backend, size_t lanes) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LaneGate>& gate = gates_[backend];
  if (gate == nullptr) gate = std::make_shared<LaneGate>(lanes);
  return gate;
}

Result<std::shared_ptr<Lanes>> make_lanes(const Config& config, const WorkerSetup& workers,
                                          LaneGates& gates) {
  const Devices devices = GPUEMU_TRY(devices_of(config, workers.processes));
  auto lanes = std::make_shared<Lanes>();
  lanes->key = lanes_key(config);
  for (const DeviceProperties& one : devices.served) lanes->devices.push_back(info_of(one));
  lanes->backend = devices.served.front().backend;
  lanes->arch = config.arch.starts_with("sm_") ? config.arch
                                               : "sm_" + std::to_string(devices.served.front().sm);
  SlotPoolOptions options = slot_options(config, devices.served, workers);
  // A project with fewer workers than the machine has processors leaves the rest to others.
  const size_t slots = size_t{options.count} * options.slots_per_worker;
  const size_t all = is_gpu(lanes->backend) ? slots : processors() * kSlotsPerEmulator;
  options.gate = gates.of(lanes->backend, std::max(slots, all));
  lanes->python = options.reference.python;
  lanes->slots = GPUEMU_TRY(SlotPool::create(options));
  options.remote_slots_max = 0;  // Second opinions wait for a local worker.
  lanes->side = std::make_unique<ExtraSlots>(std::move(options), devices.backends);
  return lanes;
}

}  // namespace gpuemu
