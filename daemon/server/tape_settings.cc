#include "daemon/server/tape_settings.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "common/base/device_list.h"
#include "common/config/start_settings.h"
#include "daemon/server/server.h"
#include "daemon/tapes/local_device.h"
#include "daemon/tapes/worker_device.h"
#include "runtime/device/contraction.h"
#include "runtime/device/device_traits.h"
#include "runtime/tape/tape.h"

namespace gpuemu {
namespace {

/// Interval at which a wait for a remote worker checks whether it should continue.
constexpr std::chrono::milliseconds kRemoteLook{100};
/// After this many refusals by remote workers, kRemoteLook apart, other workers run the ops.
/// Otherwise a worker that is lost while it opens a device and then reconnects would be retried
/// forever.
constexpr int kRefusalsMax = 50;
constexpr int kStartsMax = 3;

/// The workers of a daemon, its own first.
class DaemonHosts final : public TapeHosts {
 public:
  DaemonHosts(WorkerSetup workers, WorkerOptions worker, LocalTapeOptions local, size_t own)
      : workers_(std::move(workers)),
        worker_(std::move(worker)),
        local_(std::move(local)),
        own_(own) {}

  size_t count() const override {
    const size_t remote = workers_.remotes == nullptr ? 0 : workers_.remotes->count(worker_);
    return workers_.processes ? own_ + remote : std::max<size_t>(remote, 1);
  }
  Result<DeviceProperties> properties() const override {
    return GPUEMU_TRY(open_device(local_.device))->properties();
  }
  Result<std::shared_ptr<TapeDevice>> open(size_t place,
                                           const std::function<bool()>& ended) override;
  bool has_better(const TapeDevice& device) const override {
    return !workers_.processes && device.is_here() && workers_.remotes != nullptr &&
           workers_.remotes->has(worker_);
  }

 private:
  Result<std::shared_ptr<TapeDevice>> open_own(size_t place) const;
  Result<std::shared_ptr<TapeDevice>> open_here(size_t place) const;

  const WorkerSetup workers_;
  const WorkerOptions worker_;
  const LocalTapeOptions local_;
  const size_t own_;
};

std::string local_name(size_t place) { return fmt::format("local-{}", place); }

Result<std::shared_ptr<TapeDevice>> DaemonHosts::open_here(size_t place) const {
  LocalTapeOptions options = local_;
  options.worker_id = local_name(place);
  if (device_traits(options.device.backend).is_gpu) {
    options.device.index = static_cast<int>(place % own_);
  }
  return open_local_tape_device(options);
}

Result<std::shared_ptr<TapeDevice>> DaemonHosts::open_own(size_t place) const {
  WorkerOptions options = worker_;
  if (device_traits(options.backend).is_gpu) {
    options.device_index = static_cast<int>(place % own_);
  }
  Result<std::shared_ptr<TapeDevice>> opened = error(ErrorCode::Unavailable, "no worker process");
  // A process may be killed while it starts.
  for (int i = 0; i < kStartsMax; ++i) {
    auto channel = start_tape_process(options, local_name(place));
    opened = channel ? open_worker_tape_device(*std::move(channel))
                     : Result<std::shared_ptr<TapeDevice>>(channel.error());
    if (opened || opened.error().code != ErrorCode::Unavailable) return opened;
  }
  if (!workers_.falls_back) return opened;
  workers_.log(
      fmt::format("no worker process: {}; ops of tapes run in the daemon "
                  "(scheduler.fallback)",
                  opened.error().message));
  return open_here(place);
}

Result<std::shared_ptr<TapeDevice>> DaemonHosts::open(size_t place,
                                                      const std::function<bool()>& ended) {
  if (workers_.processes && place < own_) return open_own(place);
  for (int refusals = 0; refusals < kRefusalsMax;) {
    auto channel =
        workers_.remotes == nullptr ? nullptr : workers_.remotes->tape_channel(worker_, place);
    if (channel != nullptr) {
      auto opened = open_worker_tape_device(channel);
      // If the worker was lost meanwhile, another one may succeed.
      if (opened || !channel->is_lost()) return opened;
      ++refusals;
    }
    if (ended()) return error(ErrorCode::Cancelled, "the daemon or the session has ended");
    if (channel == nullptr && workers_.processes) return open_own(place);
    if (channel == nullptr && workers_.falls_back) return open_here(place);
    // The worker that has just failed may be the only one.
    if (!workers_.remotes->wait(kRemoteLook)) {
      return error(ErrorCode::Unavailable, "the daemon is shutting down");
    }
  }
  if (workers_.processes) return open_own(place);
  if (workers_.falls_back) return open_here(place);
  return error(ErrorCode::Unavailable,
               "remote workers refused device {} of the tape {} times, or were lost while they "
               "opened it; `gpuemu status` lists them, daemon.log says why each was lost",
               place, kRefusalsMax);
}

DeviceRequest device_request(const Config& config, const Lanes& lanes, bool has_processes) {
  DeviceRequest device;
  device.backend = lanes.backend;
  device.emulated_devices = emulated_devices_of(config);
  if (lanes.arch.starts_with("sm_") && !device_traits(lanes.backend).is_gpu) {
    device.sm = nearest_emulated_architecture(std::atoi(lanes.arch.c_str() + 3));
  }
  device.contraction = contraction_from_name(config.contraction).value_or(Contraction::Auto);
  device.memory_limit_bytes = kNoMemoryLimit;  // The scheduler decides what is where.
  // Each worker has one processor, so that a project leaves the rest to others. Without workers,
  // one op runs at a time and uses all.
  device.threads = has_processes ? 1 : std::max(1U, std::thread::hardware_concurrency());
  return device;
}

/// Returns options for the same device in a process of its own.
WorkerOptions worker_options(const DeviceRequest& device, const Config& config,
                             const DaemonFacts& facts) {
  return {.program = facts.workers.program,
          .backend = device.backend,
          .emulated_devices = device.emulated_devices,
          .sm = device.sm,
          .threads = device.threads,
          .contraction = config.contraction,
          .memory_limit_bytes = kNoMemoryLimit,
          .cache_folder = facts.cache_folder};
}

}  // namespace

TapeSettings tape_settings(const Config& config, const Lanes& lanes, const DaemonFacts& facts) {
  TapeSettings settings;
  for (const DeviceInfo& one : lanes.devices) settings.names.push_back(one.name);
  const bool has_processes = facts.workers.processes;
  const size_t own =
      has_processes ? std::min<size_t>(lanes.slots->workers(), tape::kDevicesMax) : 1;
  LocalTapeOptions local{.device = device_request(config, lanes, has_processes),
                         .cache_folder = facts.cache_folder,
                         .worker_id = {},
                         .turn = facts.workers.turn};
  WorkerOptions worker = worker_options(local.device, config, facts);
  settings.hosts =
      std::make_shared<DaemonHosts>(facts.workers, std::move(worker), std::move(local), own);
  settings.memory_bytes = config.memory_limit_mb << 20;
  settings.seed = config.scheduler.seed;
  settings.policy = tape::policy_from_name(config.scheduler.policy).value_or(settings.policy);
  settings.tick = std::chrono::milliseconds(config.scheduler.tick_ms);
  settings.entries_max = config.scheduler.trace_entries;
  settings.version = kVersion;
  settings.log = facts.log;
  return settings;
}

}  // namespace gpuemu
