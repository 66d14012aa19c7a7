// What a daemon tells of itself: its devices, settings, projects and remote workers. Remote workers
// are programs on other machines that run kernels for it, over TLS.
// Written by tools/make_protocol.py from daemon.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

/// One device as Ping, Devices and DaemonStatus tell it.
struct DeviceInfo {
  std::string name;
  std::string backend;
  std::string architecture;  ///< "NVIDIA H100", "cuda", "sm_90"
  uint64_t memory_bytes = 0;
  uint64_t multiprocessors = 0;
  uint64_t index = 0;  ///< Among the devices of its backend.
  uint64_t memory_free_bytes = 0;
  uint64_t shared_bytes_per_block = 0;
  uint64_t shared_bytes_per_multiprocessor = 0;
  uint64_t registers_per_block = 0;
  uint64_t registers_per_multiprocessor = 0;
  uint64_t threads_per_multiprocessor = 0;
  std::string driver_version;
  std::string runtime_version;  ///< "" without one.
  std::vector<std::string> dtypes;  ///< Computed or converted in hardware.
  std::string note;  ///< Why it is not usable, "" when it is.
  bool operator==(const DeviceInfo&) const = default;
};

/// One effective value of the configuration, as `gpuemu config show --origin` prints it.
struct ConfigSetting {
  std::string key;
  std::string value;
  std::string origin;
  bool operator==(const ConfigSetting&) const = default;
};

/// A project that the daemon knows, with what is stored of it.
struct ProjectInfo {
  std::string id;
  std::string path;  ///< Its gpuemu.toml with links resolved; "" where it has none.
  std::string name;  ///< For people; need not be unique.
  bool open = false;
  uint64_t ops = 0;  ///< 0 where its file cannot be read.
  uint64_t results = 0;
  uint64_t failures = 0;
  uint64_t bytes = 0;  ///< About, on disk.
  int64_t last_used = 0;  ///< Seconds since 1970.
  std::string user;  ///< Owner of the records, on a daemon that several users share.
  bool operator==(const ProjectInfo&) const = default;
};

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
