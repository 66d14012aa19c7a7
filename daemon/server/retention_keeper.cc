#include "daemon/server/retention_keeper.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/clock.h"
#include "common/base/project_id.h"
#include "common/base/text.h"
#include "common/config/config.h"

namespace gpuemu {
namespace {

/// Interval at which due projects are checked.
constexpr std::chrono::seconds kLook{15};
/// Interval until a project is checked again that is not pruned automatically, or could not be.
constexpr std::chrono::minutes kNextLook{60};

}  // namespace

Result<Retention> retention_of(const StoredProject& project, const Environment& environment) {
  ConfigSources sources;
  sources.environment = environment;
  sources.environment.erase("GPUEMU_CONFIG");
  sources.working_folder = "/";
  std::error_code ignored;
  if (!project.path.empty() && std::filesystem::exists(project.path, ignored)) {
    sources.file = project.path;
    sources.working_folder = std::filesystem::path(project.path).parent_path().string();
  }
  const ConfigResult loaded = load_config(sources);
  if (loaded.config) return loaded.config->retention;
  return error(ErrorCode::InvalidArgument, "{}", loaded.text());
}

RetentionKeeper::RetentionKeeper(ProjectStores& stores, JobTable& jobs, Environment environment,
                                 Tell tell)
    : stores_(stores), jobs_(jobs), environment_(std::move(environment)), tell_(std::move(tell)) {}

RetentionKeeper::~RetentionKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status RetentionKeeper::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return error(ErrorCode::ResourceExhausted, "the system has no thread for pruning");
  }
  return ok_status();
}

bool RetentionKeeper::is_ending() {
  const std::lock_guard lock(mutex_);
  return ends_;
}

void RetentionKeeper::run() {
  while (!is_ending()) {
    prune_due(Clock::now());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLook, [&] { return ends_; });
  }
}

void RetentionKeeper::prune_due(Clock::time_point now) {
  const auto projects = stores_.projects();
  if (!projects) {
    tell_(fmt::format("nothing was pruned: {}", projects.error().message));
    return;
  }
  for (const StoredProject& project : *projects) {
    const auto due = due_.find(project.id);
    if (is_ending() || project.id == kLegacyProject) continue;
    if (due != due_.end() && now < due->second) continue;
    due_[project.id] = now + kNextLook;
    const auto retention = retention_of(project, environment_);
    if (!retention) {
      tell_(fmt::format("project {} is not pruned: {}", project.path, retention.error().message));
      continue;
    }
    if (retention->prune_minutes == 0) continue;
    due_[project.id] = now + std::chrono::minutes(retention->prune_minutes);
    prune(project, *retention);
  }
}

void RetentionKeeper::prune(const StoredProject& project, const Retention& retention) {
  Pruning pruning = pruning_of(retention);
  pruning.project = project.id;
  pruning.automatic = true;
  // Read the time first, because a job that begins later is not among those checked.
  const uint64_t now = now_micros();
  const uint64_t oldest = jobs_.oldest_start();
  pruning.has_jobs = oldest != std::numeric_limits<uint64_t>::max();
  pruning.in_use_from = std::min(now, oldest);
  const auto pruned = stores_.prune(pruning);
  if (!pruned) {
    tell_(fmt::format("project {} is not pruned: {}", project.path, pruned.error().message));
    return;
  }
  const PrunedRecords& removed = pruned->removed;
  if (removed == PrunedRecords() && pruned->bytes == 0) return;
  tell_(fmt::format("pruned by [storage] of {}: {}, {}, metrics of {}, {}; {}", project.path,
                    counted(removed.passing, "passing result"),
                    counted(removed.failures, "failure"), counted(removed.artifacts, "kernel"),
                    counted(removed.runs, "CI run"), counted(pruned->bytes, "byte")));
}

}  // namespace gpuemu
