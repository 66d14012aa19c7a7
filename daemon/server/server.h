// Requests in, replies out. Owns nothing of what it combines; `main` builds the graph.
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

/// Counted over all projects.
struct ServerCounts {
  std::atomic<uint64_t> requests{0};
  std::atomic<size_t> long_requests{0};  ///< Long requests under way.
};

/// What handlers work with: one project of the daemon. All references outlive the server, or the
/// open project that they belong to.
struct ServerContext {
  ConfigWatch& config;
  Store& store;
  SlotPool& slots;
  JobTable& jobs;
  std::string cache_folder,
      arch;  ///< Where compiled kernels are kept, and what they are compiled for.
  std::string socket_path, db_path, config_file;  ///< config_file: the project's gpuemu.toml.
  std::vector<DeviceInfo> devices;
  std::map<std::string, std::string> start_settings;  ///< What the daemon was started with.
  std::string build;                                  ///< GNU build id of this program.
  std::string backend;                                ///< What "auto" became.
  std::function<void()> request_stop;                 ///< Called by Shutdown; must not block.
  ExtraSlots* extra_slots = nullptr;                  ///< For second opinions; null: none.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::shared_ptr<ServerCounts> counts = std::make_shared<ServerCounts>();
  std::string project;               ///< Its id.
  OpenProjects* projects = nullptr;  ///< All of the daemon; null: it has this one alone.
  /// Guided searches of now, of all projects.
  std::shared_ptr<CorpusTurns> searches = std::make_shared<CorpusTurns>();
  std::optional<Error> lanes_problem;  ///< Why its cases cannot run with its own settings.
};

/// Version of the program, as Pong and `gpuemu version` say it.
inline constexpr char kVersion[] = GPUEMU_VERSION;

/// One message to its answer, whatever project it names. Any thread; never throws; anything wrong
/// is an Error reply.
std::string handle_message(std::string_view message, ServerContext& context);

}  // namespace gpuemu
