#include "daemon/server/tape_settings.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "common/base/device_list.h"
#include "common/config/start_settings.h"
#include "daemon/server/server.h"
#include "runtime/device/contraction.h"
#include "runtime/device/device_traits.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

TapeSettings tape_settings(const Config& config, const Lanes& lanes, const DaemonFacts& facts) {
  TapeSettings settings;
  const size_t count = std::min<size_t>(lanes.slots->workers(), tape::kDevicesMax);
  for (size_t i = 0; i < count; ++i) {
    settings.names.push_back(lanes.devices[i % lanes.devices.size()].name);
  }
  DeviceRequest& device = settings.device;
  device.backend = lanes.backend;
  device.emulated_devices = emulated_devices_of(config);
  if (lanes.arch.starts_with("sm_") && !device_traits(lanes.backend).is_gpu) {
    device.sm = nearest_emulated_architecture(std::atoi(lanes.arch.c_str() + 3));
  }
  device.contraction = contraction_from_name(config.contraction).value_or(Contraction::Auto);
  device.memory_limit_bytes = kNoMemoryLimit;  // What may be where is the scheduler's to say.
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  device.threads = static_cast<uint32_t>(std::max<size_t>(1, processors / count));
  settings.memory_bytes = config.memory_limit_mb << 20;
  settings.cache_folder = facts.cache_folder;
  settings.seed = config.scheduler.seed;
  settings.policy = tape::policy_from_name(config.scheduler.policy).value_or(settings.policy);
  settings.tick = std::chrono::milliseconds(config.scheduler.tick_ms);
  settings.entries_max = config.scheduler.trace_entries;
  settings.version = kVersion;
  settings.log = facts.log;
  return settings;
}

}  // namespace gpuemu
