// The projects of a daemon: opened when a request first names them, read again when their
// gpuemu.toml changes, and closed after a while without requests.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/remote/remote_registry.h"
#include "daemon/server/lanes.h"
#include "daemon/server/server.h"
#include "daemon/sessions/sessions.h"
#include "daemon/storage/project_stores.h"
#include "daemon/tapes/tapes.h"

namespace gpuemu {

/// Time that a project without requests stays open, with its warm processes.
inline constexpr std::chrono::minutes kProjectIdle{10};
/// Number of idle projects, besides the default one, whose processes stay warm. Limits memory: the
/// others start their processes again when they have work.
inline constexpr size_t kIdleLanesMax = 4;

/// A project and what its requests use. A request keeps a reference while it works, because the
/// project may be closed or replaced meanwhile.
struct OpenProject {
  std::shared_ptr<ConfigWatch> config;
  std::shared_ptr<Store> store;
  std::shared_ptr<Lanes> lanes;
  std::unique_ptr<ServerContext> context;  ///< Built from the three members above.
};

/// Shared by all projects. All references must outlive them.
struct DaemonFacts {
  JobTable& jobs;
  Sessions& sessions;
  Share& share;
  std::string socket_path, db_path, cache_folder;
  std::string build;  ///< GNU build id of this program.
  WorkerSetup workers;
  /// Null if the daemon does not listen for workers.
  std::shared_ptr<RemoteRegistry> remotes = {};
  std::function<void()> request_stop;
  std::function<void(const std::string& line)> log;
  std::map<std::string, std::string> environment;  ///< Settings that apply to all projects.
};

/// Thread-safe.
class OpenProjects {
 public:
  using Clock = std::chrono::steady_clock;

  /// `stores` must outlive it.
  OpenProjects(ProjectStores& stores, DaemonFacts facts);
  ~OpenProjects();
  OpenProjects(const OpenProjects&) = delete;
  OpenProjects& operator=(const OpenProjects&) = delete;

  /// Opens the project for which the daemon was started, and makes it the default.
  Status start(const ConfigSources& sources, const Config& config);
  /// Opens a project: "" for the default one, else the absolute path of a gpuemu.toml or an id.
  /// Opens it for a user ("" for the daemon's), with that user's records and processes; the calling
  /// thread acts for the user if it is allowed to. NotFound for a path that cannot be read or an
  /// unknown id. Errors in a gpuemu.toml are reported by ServerContext::config.
  Result<std::shared_ptr<OpenProject>> open(const std::string& named, const std::string& user = "");
  /// Makes this project, by path or id, the default.
  Status set_default(const std::string& named);
  std::string default_id() const;
  /// Returns the path of the default project's gpuemu.toml; "" if it has none.
  std::string default_path() const;
  /// Closes the projects without a request in the kProjectIdle before `now`.
  void close_idle(Clock::time_point now);
  /// Returns the sorted paths of the projects that the user ("" for the daemon's) has opened and
  /// that have an op of this name.
  std::vector<std::string> with_op(const std::string& op, const std::string& user = "") const;
  /// Describes for the log how cases of the default project run.
  std::string text_of_lanes() const;
  void log(const std::string& line) const { facts_.log(line); }
  std::vector<RemoteWorkerInfo> remote_workers() const;
  void count_request() { ++counts_->requests; }
  /// Returns each note to the user of the project of `context` once: that records stored before
  /// projects were separated belong to its ops.
  std::vector<std::string> untold_notes(const ServerContext& context);
  /// Returns the number of open projects.
  size_t count() const;
  bool is_open(const std::string& id) const;
  /// Returns all projects that have records or are open.
  Result<std::vector<StoredProject>> known();
  /// Returns whether jobs or requests use the project, except the calling request, which belongs to
  /// the default project. Waits up to a second for short requests to end.
  bool is_working(const std::string& id) const;
  /// Returns the watch on its gpuemu.toml; null if the project is not open.
  std::shared_ptr<ConfigWatch> watch_of(const std::string& id) const;
  /// Closes the project, so that the next request opens it again. The default project stays open;
  /// only its stored name is refreshed by the next request.
  void close(const std::string& id);
  ProjectStores& stores() { return stores_; }
  Sessions& sessions() { return facts_.sessions; }
  Share& share() const { return facts_.share; }
  /// Requires start().
  Tapes& tapes() { return *tapes_; }
  /// Returns the bytes of the user's records over all projects. If counting takes long, the result
  /// is that of a moment ago; less long ago if it has reached `limit`, as records may have gone.
  Result<uint64_t> bytes_of(const std::string& user, uint64_t limit);
  /// Returns the lanes of all open projects, each once.
  std::vector<std::shared_ptr<Lanes>> lanes() const;
  /// Returns the settings that apply to all projects.
  const std::map<std::string, std::string>& environment() const { return facts_.environment; }
  /// Ends all waiting for slots, now and in the future.
  void shutdown();

 private:
  struct Entry;
  Result<StoredProject> find(const std::string& named, const std::string& user);
  std::shared_ptr<Entry> entry_of(const StoredProject& project);
  Result<std::shared_ptr<OpenProject>> open(Entry& entry);
  Result<std::shared_ptr<OpenProject>> make(Entry& entry, const StoredProject& project,
                                            const Result<std::shared_ptr<const Config>>& config,
                                            const std::shared_ptr<Lanes>& others);
  void learn_name(Entry& entry, StoredProject project, const Config& config);
  void end_idle_lanes();
  void remember(const std::vector<std::shared_ptr<Entry>>& entries);
  Result<std::shared_ptr<Lanes>> lanes_for(const Config& config);
  std::string cache_for(const StoredProject& project) const;
  std::unique_ptr<ServerContext> context_of(const StoredProject& project, const OpenProject& open);
  std::shared_ptr<Lanes> default_lanes() const;

  ProjectStores& stores_;
  const DaemonFacts facts_;
  const Clock::time_point start_ = Clock::now();
  const std::shared_ptr<ServerCounts> counts_ = std::make_shared<ServerCounts>();
  const std::shared_ptr<CorpusTurns> searches_ = std::make_shared<CorpusTurns>();
  LaneGates gates_;
  std::atomic<uint64_t> lanes_made_{0};
  std::shared_ptr<Tapes> tapes_;  ///< Set by start().
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::string default_id_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  ///< By id.
  bool ended_ = false;

  struct CountedBytes {
    std::mutex mutex;  ///< Guards the members below.
    uint64_t bytes = 0;
    Clock::time_point counted{};
    Clock::duration took{};
  };
  std::mutex bytes_mutex_;
  /// By user. Guarded by bytes_mutex_.
  std::map<std::string, std::shared_ptr<CountedBytes>> bytes_;
};

/// Adds the op and kernel names of the project, which decide what it claims of the records that
/// were stored before projects were separated.
Taking claim_of(const Config& config, Taking taking);

/// The reply to requests about several projects if the context has none, as in tests.
inline ErrorReply no_projects() {
  return {WireErrorCode::InternalError, "this daemon serves a single project"};
}

/// Answers one message like handle_message() of server.h, for the project and session that it
/// names.
std::string handle_message(std::string_view message, const ClientPeer& peer,
                           OpenProjects& projects);

}  // namespace gpuemu
