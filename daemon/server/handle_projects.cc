// Lists the daemon's projects, sets the default one, and moves or deletes their records.
#include <filesystem>

#include "common/base/project_id.h"
#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"
#include "daemon/server/project.h"

namespace gpuemu {
namespace {

/// Returns the number of ops in its gpuemu.toml; 0 if it cannot be read.
uint64_t count_ops(OpenProjects& projects, const StoredProject& project) {
  if (project.path.empty()) return 0;
  if (const auto watch = projects.watch_of(project.id)) {
    const auto config = watch->current();
    return config ? (*config)->ops.size() : 0;
  }
  const ConfigResult loaded = load_config({.working_folder = "/", .file = project.path});
  return loaded.config ? loaded.config->ops.size() : 0;
}

Result<ProjectInfo> info_of(OpenProjects& projects, const StoredProject& project) {
  const auto store = GPUEMU_TRY(projects.stores().of(project.id));
  ProjectInfo info;
  info.id = project_of_space(project.id);
  info.user = user_of_space(project.id);
  info.path = project.path;
  info.name = project.name;
  info.open = projects.is_open(project.id);
  info.ops = count_ops(projects, project);
  info.results = GPUEMU_TRY(store->count_results());
  info.failures = GPUEMU_TRY(store->count_failures());
  info.bytes = GPUEMU_TRY(projects.stores().bytes(project.id));
  info.last_used = project.last_used;
  return info;
}

/// Returns the id of the project that a path or an id names, in the record space of the requesting
/// user.
std::string id_of(const std::string& named, const Call& call) {
  const std::string project =
      named.starts_with('/') ? project_id(canonical_path(named)) : project_of_space(named);
  return space_of(project, call.user);
}

/// Returns ProjectNotFound, which lists the ids, for an unknown project.
std::optional<ErrorReply> unless_known(const std::string& named, const Call& call) {
  const auto known = call.context.projects->known();
  if (!known) return error_reply(known.error());
  std::string ids;
  for (const StoredProject& one : *known) {
    if (one.id == id_of(named, call)) return std::nullopt;
    if (user_of_space(one.id) != call.user) continue;
    ids += (ids.empty() ? "" : ", ") + project_of_space(one.id);
  }
  return ErrorReply{
      WireErrorCode::ProjectNotFound,
      fmt::format("no project '{}'; there are: {}; `gpuemu projects` lists them", named, ids)};
}

/// Returns an error while jobs use the project, because their later writes would be lost.
std::optional<ErrorReply> unless_resting(OpenProjects& projects, const std::string& id) {
  if (!projects.is_working(id)) return std::nullopt;
  return ErrorReply{
      WireErrorCode::Busy,
      fmt::format("the project {} has running jobs; wait for them or cancel them", id)};
}

/// Returns whether the project has no records.
Result<bool> is_empty(OpenProjects& projects, const std::string& id) {
  const auto store = GPUEMU_TRY(projects.stores().of(id));
  const uint64_t records = GPUEMU_TRY(store->count_results()) + GPUEMU_TRY(store->count_failures());
  if (records > 0) return false;
  const auto tags = GPUEMU_TRY(store->list_baselines());
  const auto artifact_tags = GPUEMU_TRY(store->list_artifact_baselines());
  const auto artifacts = GPUEMU_TRY(store->list_artifacts());
  return tags.empty() && artifact_tags.empty() && artifacts.empty();
}

}  // namespace

Reply handle(const ProjectsRequest&, Call& call) {
  OpenProjects* const projects = call.context.projects;
  if (projects == nullptr) return no_projects();
  const auto known = projects->known();
  if (!known) return error_reply(known.error());
  ProjectsReply reply{projects->default_id(), {}};
  for (const StoredProject& one : *known) {
    if (!call.user.empty() && user_of_space(one.id) != call.user) continue;
    auto info = info_of(*projects, one);
    if (!info) return error_reply(info.error());
    reply.projects.push_back(*std::move(info));
  }
  return reply;
}

Reply handle(const SetDefaultProjectRequest&, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const Status set = call.context.projects->set_default(call.context.project);
  if (!set) return error_reply(set.error());
  return OkReply{};
}

Reply handle(const MoveProjectRequest& request, Call& call) {
  OpenProjects* const projects = call.context.projects;
  if (projects == nullptr) return no_projects();
  if (auto unknown = unless_known(request.old, call)) return *std::move(unknown);
  const auto to = projects->open(request.new_path, call.user);
  if (!to) {
    ErrorReply reply = error_reply(to.error());
    if (to.error().code == ErrorCode::NotFound) reply.code = WireErrorCode::ProjectNotFound;
    return reply;
  }
  const std::string from = id_of(request.old, call), id = (*to)->context->project;
  if (from == id) return OkReply{};
  if (auto working = unless_resting(*projects, from)) return *std::move(working);
  const auto taken = projects->stores().take(
      {.from = from, .to = id, .all = true, .ops = {}, .kernels = {}, .dry_run = false});
  if (!taken) return error_reply(taken.error());
  if (from == projects->default_id()) {
    const Status set = projects->set_default(request.new_path);
    if (!set) return error_reply(set.error());
  }
  projects->close(from);
  // Records whose names exist in the new project stay in the old one.
  const auto empty = is_empty(*projects, from);
  if (!empty) return error_reply(empty.error());
  if (!*empty) return OkReply{};
  const Status forgotten = projects->stores().forget(from);
  if (!forgotten) return error_reply(forgotten.error());
  return OkReply{};
}

Reply handle(const ForgetProjectRequest& request, Call& call) {
  OpenProjects* const projects = call.context.projects;
  if (projects == nullptr) return no_projects();
  if (auto unknown = unless_known(request.id, call)) return *std::move(unknown);
  const std::string id = id_of(request.id, call);
  if (auto working = unless_resting(*projects, id)) return *std::move(working);
  projects->close(id);
  const Status forgotten = projects->stores().forget(id);
  if (!forgotten) return error_reply(forgotten.error());
  return OkReply{};
}

Reply handle(const StorageClaimRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const auto config = call.context.config.current();
  if (!config) return config_error(config.error());
  Taking taking{.from = kLegacyProject,
                .to = call.context.project,
                .all = request.all,
                .ops = {request.ops.begin(), request.ops.end()},
                .kernels = {},
                .dry_run = request.dry_run};
  if (request.ops.empty()) taking = claim_of(**config, std::move(taking));
  const auto taken = call.context.projects->stores().take(taking);
  if (!taken) return error_reply(taken.error());
  return StorageClaimedReply{request.dry_run,  taken->results,   taken->failures,
                             taken->baselines, taken->artifacts, taken->corpus};
}

}  // namespace gpuemu
