// gpuemu-daemon: builds the object graph and serves until SIGTERM or Shutdown.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/build_id.h"
#include "common/base/environment.h"
#include "common/base/heap.h"
#include "common/base/private_path.h"
#include "common/base/project_id.h"
#include "common/base/service_limits.h"
#include "common/process/acting_user.h"
#include "common/process/spawn.h"
#include "common/tls/secret_file.h"
#include "common/transport/server.h"
#include "daemon/remote/worker_listener.h"
#include "daemon/server/folder_lock.h"
#include "daemon/server/job_table.h"
#include "daemon/server/open_projects.h"
#include "daemon/server/retention_keeper.h"
#include "daemon/server/storage_requests.h"
#include "daemon/sessions/sessions.h"
#include "daemon/storage/project_stores.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

constexpr int kExitOk = 0, kExitUsage = 2, kExitBroken = 3;
constexpr size_t kLogBytesMax = size_t{8} << 20, kLogsKept = 2;
// Concurrent requests: those that may take long, and some short ones. A waiting thread costs a few
// KiB.
constexpr size_t kRequestsMax = kRequestsUnfinishedMax + 64;
// One connection per waiting client, and as many idle ones.
constexpr size_t kClientsMax = 2 * kRequestsMax;
// Interval at which projects are checked for being idle.
constexpr std::chrono::milliseconds kIdleLook{15'000};
// Descriptors reserved for the database, the slots and everything else.
constexpr rlim_t kOtherDescriptors = 4096;

std::filesystem::path own_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// Raises the limit on descriptors as far as allowed. At most half of them are for clients.
size_t clients_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kClientsMax / 2;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, kClientsMax + kOtherDescriptors);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return std::min<size_t>(kClientsMax, limit.rlim_cur / 2);
}

/// Writes and rotates the log with the rights of the daemon's user, whoever a thread acts for.
class OwnersSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit OwnersSink(const std::string& file) : file_(file, kLogBytesMax, kLogsKept) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const ActingOwner owner;
    file_.log(message);
  }
  void flush_() override { file_.flush(); }

 private:
  spdlog::sinks::rotating_file_sink_st file_;
};

/// Opens the log. Unavailable if another user may have created the folder or file. Continues
/// without a log if it cannot be written for another reason.
Status open_log(const Config& config) {
  const std::filesystem::path file =
      std::filesystem::path(config.socket_path).parent_path() / "daemon.log";
  GPUEMU_TRY(make_private_folder(file.parent_path()));
  const auto checked = open_private_file(file);
  if (!checked && checked.error().code == ErrorCode::Unavailable) return checked.error();
  try {
    auto sink = std::make_shared<OwnersSink>(file.string());
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("gpuemu", std::move(sink)));
  } catch (const spdlog::spdlog_ex& failure) {
    std::fprintf(stderr, "gpuemu-daemon: no log file: %s\n", failure.what());
  }
  spdlog::set_level(spdlog::level::from_str(config.log_level));
  spdlog::flush_on(spdlog::level::info);
  return ok_status();
}

/// Waits for SIGTERM, SIGINT or request_stop, whichever comes first.
class StopSignal {
 public:
  StopSignal() : event_(::eventfd(0, EFD_CLOEXEC)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // Exceeding a file limit then fails the write, like a full disk.
  }
  void request() {
    const uint64_t one = 1;
    if (::write(event_.get(), &one, sizeof one) < 0) spdlog::error("cannot signal the stop");
  }
  /// Returns false if no stop was requested in that time.
  bool wait(std::chrono::milliseconds time) {
    pollfd waits[2] = {{event_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    return ::poll(waits, 2, static_cast<int>(time.count())) > 0;
  }

 private:
  UniqueFd event_, signals_;
};

int fail(const Error& failure, int code) {
  spdlog::error("{}", failure.message);
  std::fprintf(stderr, "gpuemu-daemon: %s\n", failure.message.c_str());
  return code;
}

/// Reports that an existing database has disappeared.
void note_missing_folder(const Config& config) {
  std::error_code ignored;
  const std::filesystem::path folder = config.db_path;
  if (std::filesystem::exists(folder, ignored)) return;
  if (!std::filesystem::exists(folder.string() + ".lock", ignored)) return;
  spdlog::warn("the database folder {} is gone; this daemon starts with an empty one",
               folder.string());
}

/// Returns the project's id, and the ops and kernels whose records it claims.
ProjectNames names_of(const Config& config) {
  ProjectNames names{.id = project_id(canonical_path(config.file)), .ops = {}, .kernels = {}};
  for (const OpConfig& op : config.ops) names.ops.insert(op.name);
  for (const KernelConfig& kernel : config.kernels) names.kernels.insert(kernel.name);
  return names;
}

/// For `gpuemu status`. Only needed without a daemon: a daemon refuses to open a damaged database.
int check_database(const Config& config) {
  std::error_code ignored;
  if (!std::filesystem::exists(config.db_path, ignored)) return kExitOk;
  const auto lock = FolderLock::take(config.db_path);
  if (!lock) return kExitOk;
  const Status whole = check_store(config.db_path);
  if (whole) return kExitOk;
  std::fprintf(stderr, "%s\n", whole.error().message.c_str());
  return kExitBroken;
}

int print(const std::string& reply) {
  std::fwrite(reply.data(), 1, reply.size(), stdout);
  return std::fflush(stdout) == 0 ? kExitOk : kExitBroken;
}

/// Answers the request on standard input as a daemon would, without becoming one.
int answer_once(const Config& config, const Environment& environment) {
  std::string message;
  char part[4096];
  while (const size_t bytes = std::fread(part, 1, sizeof part, stdin)) message.append(part, bytes);
  return print(answer_without_daemon(message, config, names_of(config), environment));
}

/// Returns the key under which a user's device time of today is stored.
std::string budget_meta(const DayBudget& budget) { return "budget:" + budget.user(); }

/// Restores the used device time, so that restarting the daemon does not reset a user's daily
/// budget. Read and write errors are ignored here; requests that need the database report them.
void restore_budgets(const Share& share, ProjectStores& stores) {
  const auto store = stores.of(kNoProject);
  for (const auto& budget : share.budgets()) {
    const auto text = store ? (*store)->meta(budget_meta(*budget)) : store.error();
    DayBudget::Use use;
    const bool is_kept = text && *text;
    if (is_kept && std::sscanf((*text)->c_str(), "%ld %ld", &use.day, &use.used_us) == 2) {
      budget->restore(use);
    }
  }
}

void keep_budgets(const Share& share, ProjectStores& stores) {
  const auto store = stores.of(kNoProject);
  for (const auto& budget : share.budgets()) {
    const DayBudget::Use use = budget->use();
    const std::string text = fmt::format("{} {}", use.day, use.used_us);
    if (store) (void)(*store)->put_meta(budget_meta(*budget), text).ok();
  }
}

/// Answers requests about `projects`, which must outlive the server, as must `sessions`.
Result<std::unique_ptr<Server>> listen(const std::string& socket, std::optional<gid_t> group,
                                       OpenProjects& projects, Sessions& sessions) {
  const Server::Handler handler = [&projects](std::string_view message, const ClientPeer& peer) {
    return handle_message(message, peer, projects);
  };
  return Server::listen(
      socket, handler,
      {.threads_max = kRequestsMax,
       .queued_max = kRequestsMax,
       .connections_max = clients_max(),
       .group = group,
       .on_connected = [&sessions](const ClientPeer& peer) { sessions.connected(peer); },
       .on_disconnected = [&sessions](const ClientPeer& peer) { sessions.disconnected(peer); }});
}

/// Serves clients that connect over TCP. They act as the daemon's user, because they have its
/// token.
class NetworkPort {
 public:
  NetworkPort(WorkerListener* port, const std::string& token, OpenProjects& projects,
              Sessions& sessions)
      : port_(port),
        clients_(
            {.token = token,
             .answer =
                 [&projects](std::string_view message, uint64_t connection) {
                   return handle_message(message, peer_of(connection), projects);
                 },
             .connected = [&sessions](uint64_t one) { sessions.connected(peer_of(one)); },
             .disconnected = [&sessions](uint64_t one) { sessions.disconnected(peer_of(one)); },
             .log = [](const std::string& line) { spdlog::info("{}", line); }}) {
    if (port_ != nullptr) port_->serve_clients(&clients_);
  }
  ~NetworkPort() {
    if (port_ != nullptr) port_->serve_clients(nullptr);
  }
  NetworkPort(const NetworkPort&) = delete;
  NetworkPort& operator=(const NetworkPort&) = delete;

 private:
  static ClientPeer peer_of(uint64_t connection) {
    return {.connection = connection,
            .pid = 0,
            .uid = ::geteuid(),
            .gid = ::getegid(),
            .has_shown_token = true};
  }
  WorkerListener* const port_;
  NetworkClients clients_;
};

/// Both are null if gpuemu.toml has no [daemon.listen].
struct RemoteWorkers {
  std::shared_ptr<RemoteRegistry> registry;
  std::unique_ptr<WorkerListener> port;
  std::string token = {};
};

/// Opens the port for remote workers. InvalidArgument if a file cannot be used.
Result<RemoteWorkers> listen_for_workers(const Config& config) {
  if (!config.listen) return RemoteWorkers{};
  const ListenConfig& listen = *config.listen;
  const std::string prefix = "daemon.listen.";
  WorkerListenerOptions options;
  options.address = GPUEMU_TRY(parse_tls_address(listen.address));
  options.context =
      GPUEMU_TRY(TlsContext::make(TlsSide::Daemon, {listen.ca, listen.cert, listen.key}, prefix));
  options.token = GPUEMU_TRY(read_secret(prefix + "token_file", listen.token_file));
  options.log = [](const std::string& line) { spdlog::info("{}", line); };
  RemoteWorkers made{
      .registry = std::make_shared<RemoteRegistry>(), .port = nullptr, .token = options.token};
  made.port = GPUEMU_TRY(WorkerListener::listen(std::move(options), made.registry));
  return made;
}

/// Does the daemon's periodic work until it is told to stop.
Status maintain_until_stopped(StopSignal& stop, OpenProjects& projects, JobTable& jobs,
                              const Environment& environment) {
  RetentionKeeper keeper(projects.stores(), jobs, environment,
                         [](const std::string& line) { spdlog::info("{}", line); });
  GPUEMU_TRY(keeper.start());
  while (!stop.wait(kIdleLook)) {
    projects.close_idle(OpenProjects::Clock::now());
    keep_budgets(projects.share(), projects.stores());
  }
  return ok_status();
}

/// Returns why --no-workers does not fit this configuration; "" if it does.
std::string misfit_of_no_workers(const Config& config) {
  if (device_traits(config.backend).is_gpu) {
    return fmt::format(
        "--no-workers runs kernels in the daemon, on the emulator: backend = \"{}\" needs worker "
        "processes; start the daemon without --no-workers, or set backend = \"emulator\"",
        config.backend);
  }
  if (config.scheduler.fallback == "none" && !config.listen) {
    return "--no-workers with scheduler.fallback = \"none\" needs [daemon.listen]: nothing could "
           "run a kernel";
  }
  return "";
}

WorkerSetup worker_setup(const Config& config, bool has_processes,
                         std::shared_ptr<RemotePool> remotes) {
  const std::string& fallback = config.scheduler.fallback;
  return {.program = (own_folder() / "gpuemu-worker").string(),
          .remotes = std::move(remotes),
          .processes = has_processes,
          .falls_back = fallback.empty() ? !has_processes : fallback == "local",
          .log = [](const std::string& line) { spdlog::warn("{}", line); }};
}

int serve(const ConfigSources& sources, const Config& config, bool has_processes) {
  StopSignal stop;
  const Status log = open_log(config);
  if (!log) return fail(log.error(), kExitBroken);
  const auto share = Share::make(config.share);
  if (!share) return fail(share.error(), kExitUsage);
  for (const ConfigProblem& warning : config.warnings) spdlog::warn("{}", warning.text());
  note_missing_folder(config);
  auto lock = FolderLock::take(config.db_path);
  if (!lock) return fail(lock.error(), kExitBroken);
  // Kernels compiled by another user would be run with this user's rights.
  const Status cache = make_private_folder(config.db_path + ".cache");
  if (!cache) return fail(cache.error(), kExitBroken);
  auto stores = open_stores(config.db_path, names_of(config));
  if (!stores) return fail(stores.error(), kExitBroken);
  if (const std::string note = (*stores)->note(); !note.empty()) spdlog::warn("database: {}", note);

  const auto remote = listen_for_workers(config);
  if (!remote) {
    const bool is_wrong = remote.error().code == ErrorCode::InvalidArgument;
    return fail(remote.error(), is_wrong ? kExitUsage : kExitBroken);
  }

  const WorkerSetup setup = worker_setup(config, has_processes, remote->registry);
  Sessions sessions(**share);
  if (!setup.processes && !setup.falls_back) {
    sessions.why_waiting([registry = remote->registry] {
      return registry->is_empty() ? "no worker is connected" : "";
    });
  }
  restore_budgets(**share, **stores);
  JobTable jobs;
  OpenProjects projects(**stores, {.jobs = jobs,
                                   .sessions = sessions,
                                   .share = **share,
                                   .socket_path = config.socket_path,
                                   .db_path = config.db_path,
                                   .cache_folder = config.db_path + ".cache",
                                   .build = build_id_of("/proc/self/exe"),
                                   .workers = setup,
                                   .remotes = remote->registry,
                                   .request_stop = [&stop] { stop.request(); },
                                   .log = [](const std::string& line) { spdlog::warn("{}", line); },
                                   .environment = sources.environment});
  const Status started = projects.start(sources, config);
  if (!started) return fail(started.error(), kExitBroken);
  const Status ends = sessions.start();
  if (!ends) return fail(ends.error(), kExitBroken);
  auto server = listen(config.socket_path, (*share)->group(), projects, sessions);
  if (!server) return fail(server.error(), kExitBroken);
  std::optional<NetworkPort> network(std::in_place, remote->port.get(), remote->token, projects,
                                     sessions);
  const Status told = lock->serves(config.socket_path);
  if (!told) return fail(told.error(), kExitBroken);
  spdlog::info("gpuemu-daemon {} serves {} at {}; {}", kVersion,
               config.file.empty() ? "no gpuemu.toml" : config.file, config.socket_path,
               projects.text_of_lanes());
  const Status kept = maintain_until_stopped(stop, projects, jobs, sources.environment);
  if (!kept) return fail(kept.error(), kExitBroken);
  spdlog::info("stopping");
  if (remote->registry != nullptr) remote->registry->shutdown();
  sessions.stop_work();
  jobs.stop();
  keep_budgets(**share, **stores);
  projects.shutdown();
  network.reset();
  (*server)->stop();
  spdlog::info("stopped");
  return kExitOk;
}

/// Returns a file in a private folder that a cluster node would not have put there; "" if none.
std::string stray_in(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    std::string name = entry.path().filename().string();
    if (name != "project" && name != "start.log") return name;
  }
  return "";
}

/// Serves with one slot, stores nothing elsewhere, and is only reachable through the folder's
/// socket. Ends with the process that started it.
int serve_privately(const ConfigSources& sources, Config config, const std::string& folder) {
  if (const std::string stray = stray_in(folder); !stray.empty()) {
    std::fprintf(stderr,
                 "gpuemu-daemon: --private: %s holds '%s' and would be removed in the end; name a "
                 "new folder\n",
                 folder.c_str(), stray.c_str());
    return kExitUsage;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  config.socket_path = folder + "/gpuemu.sock";
  config.db_path = folder + "/db";
  config.workers = 1;
  config.listen.reset();
  config.share.reset();
  const int code = serve(sources, config, true);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("Serves gpuemu's requests; see docs/reference/config.md for its settings",
               "gpuemu-daemon");
  std::string config_file, backup, private_folder;
  bool only_check = false, only_answer = false, only_repair = false, dry_run = false, force = false;
  bool no_workers = false;
  app.set_version_flag("-V,--version", std::string("gpuemu-daemon v") + kVersion);
  app.add_option("--config", config_file, "The gpuemu.toml to serve (default: found upwards)");
  CLI::Option* const is_private =
      app.add_option("--private", private_folder,
                     "Serve one lane from this folder alone, until the process that starts it "
                     "ends; then remove the folder");
  CLI::Option* const check =
      app.add_flag("--check-database", only_check,
                   "Say whether the database is damaged, and end; with 3 when it is");
  CLI::Option* const answer = app.add_flag(
      "--answer", only_answer, "Answer the request of `gpuemu storage` on standard input, and end");
  CLI::Option* const repair = app.add_flag(
      "--repair", only_repair, "Make a database of what can be read of a damaged one, and end");
  app.add_flag("--dry-run", dry_run, "Only say what repairing would lose")->needs(repair);
  CLI::Option* const restore =
      app.add_option("--restore", backup, "Put this backup in the place of the database, and end");
  CLI::Option* const without_workers =
      app.add_flag("--no-workers", no_workers,
                   "Start no worker processes: kernels run on remote workers, or in the daemon");
  for (CLI::Option* const other : {is_private, check, answer, repair, restore}) {
    without_workers->excludes(other);
  }
  app.add_flag("--force", force, "Also where the database has records")->needs(restore);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? kExitOk : kExitUsage;
  }
  ConfigSources sources;
  sources.working_folder = std::filesystem::current_path().string();
  sources.environment = environment_of_process();
  if (!config_file.empty()) sources.file = config_file;
  ConfigResult loaded = load_config(sources);
  if (!loaded.config) {
    std::fprintf(stderr, "%s", loaded.text().c_str());
    return kExitUsage;
  }
  make_private_files();
  if (only_answer) return answer_once(*loaded.config, sources.environment);
  if (only_repair) return print(repair_without_daemon(*loaded.config, dry_run));
  if (!backup.empty()) return print(restore_without_daemon(*loaded.config, backup, force));
  if (only_check) return check_database(*loaded.config);
  if (!private_folder.empty()) return serve_privately(sources, *loaded.config, private_folder);
  if (no_workers) {
    if (const std::string why = misfit_of_no_workers(*loaded.config); !why.empty()) {
      std::fprintf(stderr, "gpuemu-daemon: %s\n", why.c_str());
      return kExitUsage;
    }
  }
  return serve(sources, *loaded.config, !no_workers);
}

}  // namespace
}  // namespace gpuemu

int GPUEMU_MAIN(int argc, char** argv) {
  gpuemu::keep_freed_memory();
  try {
    return gpuemu::run(argc, argv);
  } catch (const std::exception& surprise) {  // The last resort.
    std::fprintf(stderr, "gpuemu-daemon: %s\n", surprise.what());
    return 3;
  }
}
