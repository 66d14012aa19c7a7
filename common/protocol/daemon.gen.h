// What a daemon tells of itself: its devices, its settings, its projects.
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

}  // namespace gpuemu
