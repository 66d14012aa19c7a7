// gpuemu-daemon: builds the object graph, serves until SIGTERM or Shutdown.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/build_id.h"
#include "common/base/device_list.h"
#include "common/base/environment.h"
#include "common/base/heap.h"
#include "common/base/machine_memory.h"
#include "common/base/private_path.h"
#include "common/base/project_id.h"
#include "common/config/start_settings.h"
#include "common/process/spawn.h"
#include "common/transport/server.h"
#include "daemon/reference/find_python.h"
#include "daemon/server/folder_lock.h"
#include "daemon/server/server.h"
#include "daemon/storage/project_stores.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

constexpr int kExitOk = 0, kExitUsage = 2, kExitBroken = 3;
/// One slot waits for the worker while others draw, compute references and compare. A case on a GPU
/// needs the worker for a fifth of its time, on the emulator for about half.
constexpr size_t kSlotsPerGpu = 4;
constexpr uint32_t kSlotsPerEmulator = 2;
constexpr size_t kLogBytesMax = size_t{8} << 20;
// Requests at the same time: those that may take long and plenty of short ones. A thread that
// waits costs a few KiB.
constexpr size_t kRequestsMax = kLongRequestsMax + 64;
// Every waiting client and as many that are silent.
constexpr size_t kClientsMax = 2 * kRequestsMax;
// Descriptors for the database, the slots and everything else.
constexpr rlim_t kOtherDescriptors = 1024;

std::filesystem::path own_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// Raises the limit on descriptors as far as it may be; at most half of them are for clients.
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

/// Unavailable when the folder or the file may be another user's work. A log that cannot be written
/// for another reason is done without.
Status open_log(const Config& config) {
  const std::filesystem::path file =
      std::filesystem::path(config.socket_path).parent_path() / "daemon.log";
  GPUEMU_TRY(make_private_folder(file.parent_path()));
  const auto checked = open_private_file(file);
  if (!checked && checked.error().code == ErrorCode::Unavailable) return checked.error();
  try {
    spdlog::set_default_logger(
        spdlog::rotating_logger_mt("gpuemu", file.string(), kLogBytesMax, 2));
  } catch (const spdlog::spdlog_ex& failure) {
    std::fprintf(stderr, "gpuemu-daemon: no log file: %s\n", failure.what());
  }
  spdlog::set_level(spdlog::level::from_str(config.log_level));
  spdlog::flush_on(spdlog::level::info);
  return ok_status();
}

DeviceInfo info_of(const DeviceProperties& device) {
  return {.name = device.name,
          .backend = device.backend,
          .architecture = "sm_" + std::to_string(device.sm),
          .memory_bytes = device.memory_bytes,
          .multiprocessors = device.multiprocessors,
          .index = static_cast<uint64_t>(device.index),
          .memory_free_bytes = device.memory_free_bytes,
          .shared_bytes_per_block = device.shared_bytes_per_block_max,
          .shared_bytes_per_multiprocessor = device.shared_bytes_per_multiprocessor,
          .registers_per_block = device.registers_per_block,
          .registers_per_multiprocessor = device.registers_per_multiprocessor,
          .threads_per_multiprocessor = device.threads_per_multiprocessor,
          .driver_version = device.driver_version,
          .runtime_version = device.runtime_version,
          .dtypes = device.dtypes,
          .note = ""};
}

/// SIGTERM, SIGINT or request_stop, whichever comes first.
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
    ::signal(SIGXFSZ, SIG_IGN);  // A limit on files is an error of the write, as a full disk is.
  }
  void request() {
    const uint64_t one = 1;
    if (::write(event_.get(), &one, sizeof one) < 0) spdlog::error("cannot signal the stop");
  }
  void wait() {
    pollfd waits[2] = {{event_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    while (::poll(waits, 2, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  UniqueFd event_, signals_;
};

/// An equal share of three quarters of the machine for the reference process of each slot.
uint64_t reference_share(uint64_t slots) {
  constexpr uint64_t kSmallest = uint64_t{2}
                                 << 30;  // Less does not even import a framework safely.
  const uint64_t machine = machine_memory_bytes();
  return machine == 0 ? 0 : std::max(kSmallest, machine / 4 * 3 / std::max<uint64_t>(slots, 1));
}

SlotPoolOptions slot_options(const Config& config, const std::vector<DeviceProperties>& devices) {
  SlotPoolOptions options;
  const std::string& backend = devices.front().backend;
  const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const bool is_gpu = device_traits(backend).is_gpu;
  options.count = static_cast<uint32_t>(is_gpu                ? devices.size()
                                        : config.workers != 0 ? config.workers
                                                              : cores);
  options.slots_per_worker = kSlotsPerEmulator;
  if (is_gpu) {
    options.devices = static_cast<uint32_t>(devices.size());
    options.slots_per_worker = static_cast<uint32_t>(std::min(cores, kSlotsPerGpu));
  }
  options.worker.program = (own_folder() / "gpuemu-worker").string();
  options.worker.backend = backend;
  options.worker.contraction = config.contraction;
  options.worker.memory_limit_bytes = config.memory_limit_mb << 20;
  options.worker.sm = devices.front().sm;
  if (config.arch.starts_with("sm_")) {
    options.worker.sm = nearest_emulated_architecture(std::atoi(config.arch.c_str() + 3));
  }
  options.reference.python = find_python(config.python, config.folder);
  options.reference.folder = config.folder;
  options.reference.memory_bytes =
      reference_share(uint64_t{options.count} * options.slots_per_worker);
  return options;
}

std::string target_arch(const Config& config, const std::vector<DeviceProperties>& devices) {
  if (config.arch.starts_with("sm_")) return config.arch;
  return "sm_" + std::to_string(devices.empty() ? 80 : devices.front().sm);
}

int fail(const Error& failure, int code) {
  spdlog::error("{}", failure.message);
  std::fprintf(stderr, "gpuemu-daemon: %s\n", failure.message.c_str());
  return code;
}

/// What a user can do about a database that does not open.
Error with_remedy(Error failure) {
  if (failure.code == ErrorCode::Corruption) {
    failure.message +=
        "; restore the folder from a copy, or move it away to start with an empty one, or set "
        "GPUEMU_DB to another";
  }
  return failure;
}

/// Says when a database that there was is there no more.
void note_missing_folder(const Config& config) {
  std::error_code ignored;
  const std::filesystem::path folder = config.db_path;
  if (std::filesystem::exists(folder, ignored)) return;
  if (!std::filesystem::exists(folder.string() + ".lock", ignored)) return;
  spdlog::warn("the database folder {} is gone; this daemon starts with an empty one",
               folder.string());
}

/// The project's id and the ops and kernels whose records it claims.
ProjectNames names_of(const Config& config) {
  ProjectNames names{.id = project_id(canonical_path(config.file)), .ops = {}, .kernels = {}};
  for (const OpConfig& op : config.ops) names.ops.insert(op.name);
  for (const KernelConfig& kernel : config.kernels) names.kernels.insert(kernel.name);
  return names;
}

/// Claims records of this project's ops and kernels that come from a database without projects.
/// Records that cannot be read stay where they are.
void take_own_records(const ProjectNames& names, ProjectStores& stores) {
  if (names.id == kNoProject) return;
  const auto taken = stores.take(
      {.from = kLegacyProject, .to = names.id, .ops = names.ops, .kernels = names.kernels});
  if (!taken) {
    spdlog::warn("database: cannot move records of an earlier version to this project: {}",
                 taken.error().message);
  } else if (*taken != Taken()) {
    spdlog::info(
        "database: moved {} results, {} failures, {} baselines and metrics of {} kernels that an "
        "earlier version stored to this project",
        taken->results, taken->failures, taken->baselines, taken->artifacts);
  }
}

/// For `gpuemu status`: a daemon that has the folder open would have refused a damaged database.
int check_database(const Config& config) {
  std::error_code ignored;
  if (!std::filesystem::exists(config.db_path, ignored)) return kExitOk;
  const auto lock = FolderLock::take(config.db_path);
  if (!lock) return kExitOk;
  const Status whole = check_store(config.db_path);
  if (whole) return kExitOk;
  std::fprintf(stderr, "%s\n", with_remedy(whole.error()).message.c_str());
  return kExitBroken;
}

/// The devices of one backend: that of the configuration, else the first that answers.
struct Devices {
  std::vector<DeviceProperties> served;  ///< Devices of one backend.
  std::vector<std::string> backends;     ///< Backends with a device that answers.
};

Result<Devices> devices_of(const Config& config) {
  // The workers, which open the devices, inherit it.
  if (const std::string emulated = emulated_devices_of(config); !emulated.empty()) {
    ::setenv("GPUEMU_EMULATED_DEVICES", emulated.c_str(), 1);
  }
  std::vector<DeviceProperties> devices = GPUEMU_TRY(list_devices());
  std::vector<std::string> backends;
  for (const DeviceProperties& one : devices) backends.push_back(one.backend);
  const bool is_named = is_computing_backend(config.backend);  // Not "auto".
  std::erase_if(devices, [&](const DeviceProperties& one) {
    return is_named && one.backend != config.backend;
  });
  if (devices.empty()) {
    return error(ErrorCode::Unavailable,
                 "no device answers for backend '{}'; use "
                 "backend = \"emulator\" on a machine without a GPU",
                 config.backend);
  }
  const std::string backend = devices.front().backend;
  std::erase_if(devices, [&](const DeviceProperties& one) { return one.backend != backend; });
  return Devices{std::move(devices), std::move(backends)};
}

/// Opens the database in `folder` and claims legacy records for the project.
Result<std::unique_ptr<ProjectStores>> stores_with(const ProjectNames& names,
                                                   const std::filesystem::path& folder) {
  auto stores = GPUEMU_TRY(open_stores(folder, names));
  if (const std::string note = stores->note(); !note.empty()) spdlog::warn("database: {}", note);
  take_own_records(names, *stores);
  return stores;
}

int serve(const ConfigSources& sources, Config config) {
  StopSignal stop;
  const Status log = open_log(config);
  if (!log) return fail(log.error(), kExitBroken);
  for (const ConfigProblem& warning : config.warnings) spdlog::warn("{}", warning.text());
  note_missing_folder(config);
  auto lock = FolderLock::take(config.db_path);
  if (!lock) return fail(lock.error(), kExitBroken);
  // Compiled kernels of another user would be run as this one's.
  const Status cache = make_private_folder(config.db_path + ".cache");
  if (!cache) return fail(cache.error(), kExitBroken);
  const ProjectNames names = names_of(config);
  auto stores = stores_with(names, config.db_path);
  if (!stores) return fail(with_remedy(stores.error()), kExitBroken);
  auto store = (*stores)->of(names.id);
  if (!store) return fail(with_remedy(store.error()), kExitBroken);

  auto found = devices_of(config);
  if (!found) return fail(found.error(), kExitBroken);
  const std::vector<DeviceProperties>& devices = found->served;
  const std::string backend = devices.front().backend;

  const std::string socket_path = config.socket_path, db_path = config.db_path;
  const auto settings = start_settings(config);
  const SlotPoolOptions slots_wanted = slot_options(config, devices);
  auto pool = SlotPool::create(slots_wanted);
  if (!pool) return fail(pool.error(), kExitBroken);
  SlotPool& slots = **pool;
  ExtraSlots extra_slots(slots_wanted, found->backends);
  JobTable jobs;
  const std::string file = config.file, arch = target_arch(config, devices);
  ConfigWatch watch(sources, std::move(config));
  ServerContext context{.config = watch,
                        .store = **store,
                        .slots = slots,
                        .jobs = jobs,
                        .cache_folder = db_path + ".cache",
                        .arch = arch,
                        .socket_path = socket_path,
                        .db_path = db_path,
                        .config_file = file,
                        .devices = {},
                        .start_settings = settings,
                        .build = build_id_of("/proc/self/exe"),
                        .backend = backend,
                        .request_stop = [&stop] { stop.request(); },
                        .extra_slots = &extra_slots};
  for (const DeviceProperties& device : devices) context.devices.push_back(info_of(device));

  const Server::Handler handler = [&context](std::string_view message) {
    return handle_message(message, context);
  };
  auto server = Server::listen(
      socket_path, handler,
      {.threads_max = kRequestsMax, .queued_max = kRequestsMax, .connections_max = clients_max()});
  if (!server) return fail(server.error(), kExitBroken);
  const Status told = lock->serves(socket_path);
  if (!told) return fail(told.error(), kExitBroken);
  spdlog::info("gpuemu-daemon {} serves {} at {} with {} slots on {} ({}), references by {}",
               kVersion, file.empty() ? "no gpuemu.toml" : file, socket_path, slots.size(),
               devices.front().name, backend, slots_wanted.reference.python);
  stop.wait();
  spdlog::info("stopping");
  jobs.stop();
  slots.shutdown();
  extra_slots.shutdown();
  (*server)->stop();
  spdlog::info("stopped");
  return kExitOk;
}

int run(int argc, char** argv) {
  CLI::App app("Serves gpuemu's requests; see docs/reference/config.md for its settings",
               "gpuemu-daemon");
  std::string config_file;
  bool only_check = false;
  app.set_version_flag("-V,--version", std::string("gpuemu-daemon v") + kVersion);
  app.add_option("--config", config_file, "The gpuemu.toml to serve (default: found upwards)");
  app.add_flag("--check-database", only_check,
               "Say whether the database is damaged, and end; with 3 when it is");
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
  if (only_check) return check_database(*loaded.config);
  return serve(sources, *std::move(loaded.config));
}

}  // namespace
}  // namespace gpuemu

int GPUEMU_MAIN(int argc, char** argv) {
  gpuemu::keep_freed_memory();
  try {
    return gpuemu::run(argc, argv);
  } catch (const std::exception& surprise) {  // The last net.
    std::fprintf(stderr, "gpuemu-daemon: %s\n", surprise.what());
    return 3;
  }
}
