#include "daemon/server/open_projects.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <thread>

#include <fmt/ranges.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/private_path.h"
#include "common/base/project_id.h"
#include "common/base/text.h"
#include "common/config/start_settings.h"
#include "common/process/acting_user.h"
#include "daemon/server/project.h"
#include "daemon/server/project_entry.h"
#include "daemon/server/tape_settings.h"

namespace gpuemu {
namespace {

/// Ignores GPUEMU_CONFIG, which applies to the project that the daemon was started for.
ConfigSources sources_of(const std::string& file, std::map<std::string, std::string> environment) {
  ConfigSources sources;
  sources.working_folder = std::filesystem::path(file).parent_path().string();
  sources.file = file;
  sources.environment = std::move(environment);
  sources.environment.erase("GPUEMU_CONFIG");
  return sources;
}

// Listings end within this time; jobs take longer.
constexpr std::chrono::milliseconds kShortRequest{1000}, kShortRequestLook{10};

/// Metadata key that records which notes the project's user has seen.
constexpr char kToldMeta[] = "told:legacy";

}  // namespace

Taking claim_of(const Config& config, Taking taking) {
  for (const OpConfig& op : config.ops) taking.ops.insert(op.name);
  for (const KernelConfig& kernel : config.kernels) taking.kernels.insert(kernel.name);
  return taking;
}

OpenProjects::OpenProjects(ProjectStores& stores, DaemonFacts facts)
    : stores_(stores), facts_(std::move(facts)) {}

OpenProjects::~OpenProjects() = default;

Status OpenProjects::start(const ConfigSources& sources, const Config& config) {
  StoredProject project{.id = {}, .path = canonical_path(config.file), .name = config.name};
  project.id = project_id(project.path);
  ConfigSources own = sources;
  if (!config.file.empty()) own.file = config.file;
  const auto entry = entry_of(project);
  {
    const std::lock_guard lock(entry->mutex);
    entry->config = std::make_shared<ConfigWatch>(std::move(own), config);
  }
  auto lanes = GPUEMU_TRY(make_lanes(config, facts_.workers, gates_));
  tapes_ = std::make_shared<Tapes>(tape_settings(config, *lanes, facts_));
  facts_.sessions.on_end([tapes = std::weak_ptr(tapes_)](uint64_t number) {
    if (const auto alive = tapes.lock()) alive->end(number);
  });
  auto first = std::make_shared<OpenProject>();
  first->config = entry->config;
  first->store = GPUEMU_TRY(stores_.of(project.id));
  first->lanes = std::move(lanes);
  first->context = context_of(project, *first);
  {
    const std::lock_guard lock(entry->mutex);
    entry->open = std::move(first);
    entry->name = project.name;
  }
  project.last_used = now_seconds();
  GPUEMU_TRY(stores_.remember(project));
  const std::lock_guard lock(mutex_);
  default_id_ = project.id;
  return ok_status();
}

/// Creates the entry if it does not exist.
std::shared_ptr<OpenProjects::Entry> OpenProjects::entry_of(const StoredProject& project) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[project.id];
  if (entry == nullptr) {
    entry = std::make_shared<Entry>();
    entry->project = project;
  }
  entry->asked = Clock::now();
  entry->project.last_used = now_seconds();
  return entry;
}

Result<std::shared_ptr<OpenProject>> OpenProjects::open(const std::string& named,
                                                        const std::string& user) {
  const StoredProject project = GPUEMU_TRY(find(named, user));
  const uint64_t made = lanes_made_;
  auto opened = open(*entry_of(project));
  if (lanes_made_ != made) end_idle_lanes();
  return opened;
}

std::shared_ptr<Lanes> OpenProjects::default_lanes() const {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(default_id_);
    if (found == entries_.end()) return nullptr;
    entry = found->second;
  }
  const std::lock_guard lock(entry->mutex);
  return entry->open == nullptr ? nullptr : entry->open->lanes;
}

std::vector<RemoteWorkerInfo> OpenProjects::remote_workers() const {
  return facts_.remotes == nullptr ? std::vector<RemoteWorkerInfo>() : facts_.remotes->list();
}

std::string OpenProjects::text_of_lanes() const {
  const auto lanes = default_lanes();
  if (lanes == nullptr) return "no slots";
  return fmt::format("{} slots on {} ({}), references by {}", lanes->slots->size(),
                     lanes->devices.front().name, lanes->backend, lanes->python);
}

Result<std::shared_ptr<Lanes>> OpenProjects::lanes_for(const Config& config) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return error(ErrorCode::Unavailable, "the daemon is shutting down");
  }
  auto lanes = make_lanes(config, facts_.workers, gates_);
  if (lanes) ++lanes_made_;
  return lanes;
}

/// Reads gpuemu.toml again if it has changed.
Result<std::shared_ptr<OpenProject>> OpenProjects::open(Entry& entry) {
  StoredProject project;
  {
    const std::lock_guard lock(mutex_);
    project = entry.project;
  }
  const std::shared_ptr<Lanes> others = default_lanes();  // Before this entry's mutex is taken.
  const std::lock_guard lock(entry.mutex);
  if (entry.config == nullptr) {
    entry.config =
        project.path.empty()
            ? std::make_shared<ConfigWatch>(ConfigSources(), Config{.file = "", .folder = "/"})
            : std::make_shared<ConfigWatch>(sources_of(project.path, facts_.environment));
  }
  const auto config = entry.config->current();
  const bool fits =
      entry.open != nullptr && !entry.open->context->lanes_problem &&
      (!config || project.path.empty() || entry.open->lanes->key == lanes_key(**config));
  if (!fits) entry.open = GPUEMU_TRY(make(entry, project, config, others));
  if (config) learn_name(entry, project, **config);
  return entry.open;
}

/// If gpuemu.toml is invalid or no device fits it, uses the lanes of the default project, so that
/// stored records can still be read. Requires the mutex of the entry.
Result<std::shared_ptr<OpenProject>> OpenProjects::make(
    Entry& entry, const StoredProject& project, const Result<std::shared_ptr<const Config>>& config,
    const std::shared_ptr<Lanes>& others) {
  auto made = std::make_shared<OpenProject>();
  made->config = entry.config;
  made->store = GPUEMU_TRY(stores_.of(project.id));
  std::optional<Error> problem;
  if (config && !project.path.empty()) {
    auto lanes = lanes_for(**config);
    if (lanes) {
      made->lanes = *std::move(lanes);
    } else {
      problem = lanes.error();
    }
  }
  if (made->lanes == nullptr) {
    made->lanes = others;
    // They belong to the daemon's user.
    if (!problem && !user_of_space(project.id).empty()) {
      problem = config
                    ? error(ErrorCode::InvalidArgument, "this needs a project with a gpuemu.toml")
                    : config.error();
    }
  }
  if (made->lanes == nullptr) {
    return error(ErrorCode::Unavailable, "the daemon is starting or ending");
  }
  made->context = context_of(project, *made);
  made->context->lanes_problem = std::move(problem);
  return made;
}

/// Stores the project's current name. Requires the mutex of the entry.
void OpenProjects::learn_name(Entry& entry, StoredProject project, const Config& config) {
  if (entry.name == config.name) return;
  entry.name = config.name;
  project.name = config.name;
  project.last_used = now_seconds();
  // On failure, the next opening tries again.
  if (!stores_.remember(project)) return;
  const std::lock_guard guard(mutex_);
  entry.project.name = project.name;
}

/// Ends the processes of idle projects, starting with the oldest requests, until only kIdleLanesMax
/// keep theirs.
void OpenProjects::end_idle_lanes() {
  // Destroyed after the mutex is released, because that waits for processes to end.
  std::vector<std::shared_ptr<OpenProject>> ended;
  std::vector<std::pair<Clock::time_point, std::shared_ptr<Entry>>> idle;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (id != default_id_) idle.emplace_back(entry->asked, entry);
  }
  std::ranges::sort(idle, std::greater(), &decltype(idle)::value_type::first);
  size_t kept = 0;
  for (const auto& [asked, entry] : idle) {
    const std::unique_lock busy(entry->mutex, std::try_to_lock);
    if (!busy || entry->open == nullptr || entry->open.use_count() > 1) continue;
    if (++kept > kIdleLanesMax) ended.push_back(std::move(entry->open));
  }
}

/// Returns the folder for compiled kernels of the daemon's user, or of the user for whom the thread
/// acts: one user's compiled kernels must not run for another.
std::string OpenProjects::cache_for(const StoredProject& project) const {
  const std::string user = user_of_space(project.id);
  const auto ids = acting_for();
  if (user.empty() || !ids) return facts_.cache_folder;
  std::string folder = facts_.cache_folder + "." + user;
  const ActingOwner owner;
  // If it fails, everything is compiled again.
  if (make_private_folder(folder)) {
    [[maybe_unused]] const int given = ::chown(folder.c_str(), ids->uid, ids->gid);
  }
  return folder;
}

std::unique_ptr<ServerContext> OpenProjects::context_of(const StoredProject& project,
                                                        const OpenProject& open) {
  const auto config = open.config->current();
  std::map<std::string, std::string> settings;
  if (config) settings = start_settings(**config);
  return std::unique_ptr<ServerContext>(new ServerContext{.config = *open.config,
                                                          .store = *open.store,
                                                          .slots = *open.lanes->slots,
                                                          .jobs = facts_.jobs,
                                                          .cache_folder = cache_for(project),
                                                          .arch = open.lanes->arch,
                                                          .socket_path = facts_.socket_path,
                                                          .db_path = facts_.db_path,
                                                          .config_file = project.path,
                                                          .devices = open.lanes->devices,
                                                          .start_settings = std::move(settings),
                                                          .build = facts_.build,
                                                          .backend = open.lanes->backend,
                                                          .request_stop = facts_.request_stop,
                                                          .extra_slots = open.lanes->side.get(),
                                                          .start = start_,
                                                          .counts = counts_,
                                                          .project = project.id,
                                                          .projects = this,
                                                          .searches = searches_,
                                                          .lanes_problem = {}});
}

Status OpenProjects::set_default(const std::string& named) {
  const auto opened = GPUEMU_TRY(open(named));
  const std::lock_guard lock(mutex_);
  default_id_ = opened->context->project;
  return ok_status();
}

std::string OpenProjects::default_id() const {
  const std::lock_guard lock(mutex_);
  return default_id_;
}

std::string OpenProjects::default_path() const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(default_id_);
  return found == entries_.end() ? "" : found->second->project.path;
}

void OpenProjects::close_idle(Clock::time_point now) {
  std::vector<std::shared_ptr<Entry>> closed;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& one) {
      const auto& [id, entry] = one;
      if (id == default_id_ || now - entry->asked < kProjectIdle) return false;
      const std::unique_lock busy(entry->mutex, std::try_to_lock);
      // A job or a request uses it.
      if (!busy || (entry->open != nullptr && entry->open.use_count() > 1)) return false;
      closed.push_back(entry);
      return true;
    });
  }
  remember(closed);
}

std::vector<std::shared_ptr<Lanes>> OpenProjects::lanes() const {
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : entries_) entries.push_back(entry);
  }
  std::vector<std::shared_ptr<Lanes>> found;
  for (const auto& entry : entries) {
    const std::unique_lock lock(entry->mutex, std::try_to_lock);  // Otherwise it is being opened.
    if (!lock || entry->open == nullptr) continue;
    const auto& lanes = entry->open->lanes;
    if (std::ranges::find(found, lanes) == found.end()) found.push_back(lanes);
  }
  return found;
}

std::vector<std::string> OpenProjects::untold_notes(const ServerContext& context) {
  const auto config = context.config.current();
  const auto told = context.store.meta(kToldMeta);
  if (!config || (*config)->ops.empty() || !told || *told) return {};
  const auto found = stores_.take(claim_of(**config, {.from = kLegacyProject,
                                                      .to = context.project,
                                                      .all = false,
                                                      .ops = {},
                                                      .kernels = {},
                                                      .dry_run = true}));
  // Errors are reported when the records themselves are read.
  if (!found || !context.store.put_meta(kToldMeta, "told") || found->ops.empty()) return {};
  return {
      fmt::format("{} and {} of {} were stored before the database kept projects apart; `gpuemu "
                  "storage claim` takes them into this project",
                  counted(found->results, "result"), counted(found->failures, "failure"),
                  fmt::join(found->ops, ", "))};
}

size_t OpenProjects::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

bool OpenProjects::is_open(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(id);
}

bool OpenProjects::is_working(const std::string& id) const {
  const auto deadline = Clock::now() + kShortRequest;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(id);
      if (found == entries_.end()) return false;
      const long own = id == default_id_ ? 2 : 1;
      const std::unique_lock busy(found->second->mutex, std::try_to_lock);
      if (busy && found->second->open.use_count() <= own) return false;
    }
    if (Clock::now() > deadline) return true;
    std::this_thread::sleep_for(kShortRequestLook);
  }
}

std::shared_ptr<ConfigWatch> OpenProjects::watch_of(const std::string& id) const {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return nullptr;
    entry = found->second;
  }
  const std::lock_guard lock(entry->mutex);
  return entry->config;
}

void OpenProjects::close(const std::string& id) {
  std::shared_ptr<Entry> closed;  // Destroyed after the mutex is released, because it ends
                                  // processes.
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    closed = found->second;
    if (id != default_id_) entries_.erase(found);
  }
  const std::lock_guard lock(closed->mutex);
  closed->name.reset();
}

/// Stores when the projects were last used. Stops at the first write error, which the next command
/// that uses the database reports.
void OpenProjects::remember(const std::vector<std::shared_ptr<Entry>>& entries) {
  for (const auto& entry : entries) {
    StoredProject project;
    {
      const std::lock_guard lock(mutex_);
      project = entry->project;
    }
    const std::lock_guard lock(entry->mutex);
    if (!entry->name) continue;
    project.name = *entry->name;
    if (!stores_.remember(project)) return;
  }
}

void OpenProjects::shutdown() {
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto& [id, entry] : entries_) entries.push_back(entry);
  }
  if (tapes_ != nullptr) tapes_->shutdown();
  for (const auto& entry : entries) {
    const std::lock_guard lock(entry->mutex);
    if (entry->open != nullptr) entry->open->lanes->shutdown();
  }
  remember(entries);
}

}  // namespace gpuemu
