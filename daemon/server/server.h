// Requests in, replies out. Owns none of its parts; `main` builds the object graph.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/protocol/daemon.gen.h"
#include "daemon/search/corpus_turns.h"

namespace gpuemu {

class ConfigWatch;
class ExtraSlots;
class JobTable;
class SlotPool;
class Store;

class OpenProjects;

/// Counters over all projects.
struct ServerCounts {
  std::atomic<uint64_t> requests{0};
  std::atomic<size_t> long_requests{0};  ///< Long requests in progress.
};

/// What handlers work with: one project of the daemon. All references must outlive the server, or
/// the open project that they belong to.
struct ServerContext {
  ConfigWatch& config;
  Store& store;
  SlotPool& slots;
  JobTable& jobs;
  std::string cache_folder,
      arch;  ///< Folder for compiled kernels, and the architecture for which they are compiled.
  std::string socket_path, db_path, config_file;  ///< config_file: the project's gpuemu.toml.
  std::vector<DeviceInfo> devices;
  /// Settings with which the daemon was started.
  std::map<std::string, std::string> start_settings;
  std::string build;                   ///< GNU build id of this program.
  std::string backend;                 ///< The backend that "auto" selected.
  std::function<void()> request_stop;  ///< Called by Shutdown; must not block.
  ExtraSlots* extra_slots = nullptr;   ///< For second opinions; null: none.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::shared_ptr<ServerCounts> counts = std::make_shared<ServerCounts>();
  std::string project;               ///< Id of the project.
  OpenProjects* projects = nullptr;  ///< All projects of the daemon; null: only this one.
  /// Running guided searches of all projects.
  std::shared_ptr<CorpusTurns> searches = std::make_shared<CorpusTurns>();
  std::optional<Error> lanes_problem;  ///< Why its cases cannot run with its own settings.
};

/// Version of the program, as in Pong and `gpuemu version`.
inline constexpr char kVersion[] = GPUEMU_VERSION;

/// Answers one message, whatever project it names. Thread-safe; never throws; errors are returned
/// as an Error reply.
std::string handle_message(std::string_view message, ServerContext& context);

}  // namespace gpuemu
