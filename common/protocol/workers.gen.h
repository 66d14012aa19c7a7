// Remote workers: programs on other machines that run kernels for a daemon, over TLS.
// Written by tools/make_protocol.py from workers.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/daemon.gen.h"

namespace gpuemu {

/// WorkerRegister.worker_protocol of this version.
inline constexpr uint64_t kWorkerProtocol = 1;

enum class WorkerState {
  Idle,
  Busy,  ///< It runs a kernel.
  Lost,  ///< Its connection has ended; listed for a while.
};
inline constexpr WorkerState kLastWorkerState = WorkerState::Lost;
/// The name on the wire, and back.
const char* name_of(WorkerState value);
std::optional<WorkerState> worker_state_from_name(const std::string& name);

/// A remote worker as `gpuemu status`, `devices` and `top` list it.
struct RemoteWorkerInfo {
  std::string worker_id;
  std::string host;
  WorkerState state = WorkerState::Idle;
  uint64_t attempts = 0;  ///< Runs of kernels that it was given.
  uint64_t lost = 0;  ///< Attempts that it did not answer.
  int64_t connected = 0;  ///< Since when, in seconds since 1970.
  uint64_t pid = 0;
  std::string version;
  DeviceInfo device;
  bool operator==(const RemoteWorkerInfo&) const = default;
};

/// The first message of a remote worker, over the connection of [daemon.listen] alone.
struct WorkerRegisterRequest {
  std::string worker_id;
  std::string version;
  uint64_t worker_protocol = 0;
  std::string hostname;
  uint64_t pid = 0;
  DeviceInfo device;
  std::string token;
  bool operator==(const WorkerRegisterRequest&) const = default;
};

struct WorkerAcceptedReply {
  uint64_t heartbeat_ms = 0;  ///< Both sides send something at least so often.
  uint64_t lost_after_ms = 0;  ///< Whoever has sent nothing for so long is lost.
  bool operator==(const WorkerAcceptedReply&) const = default;
};

}  // namespace gpuemu
