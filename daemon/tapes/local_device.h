// A tape's device in this process.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "daemon/tapes/tape_device.h"
#include "daemon/tapes/tape_hosts.h"
#include "ops/dispatch/dispatcher.h"
#include "runtime/backends/backends.h"

namespace gpuemu {

struct LocalTapeOptions {
  DeviceRequest device;
  std::string cache_folder;  ///< For compiled kernels; "": none.
  std::string worker_id;
  /// Held while an op runs, where others shall not run meanwhile.
  std::shared_ptr<std::mutex> turn = {};
};

Result<std::shared_ptr<TapeDevice>> open_local_tape_device(const LocalTapeOptions& options);

/// So many devices in this process, one GPU after the other where they are GPUs.
std::shared_ptr<TapeHosts> local_tape_hosts(LocalTapeOptions options, size_t count);

}  // namespace gpuemu
