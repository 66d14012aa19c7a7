#include "daemon/server/storage_requests.h"

#include <algorithm>

#include "common/base/project_id.h"
#include "common/codec/json_codec.h"
#include "common/codec/shared_tensor.h"
#include "common/protocol/wire_errors.h"
#include "daemon/server/folder_lock.h"

namespace gpuemu {
namespace {

bool has_kind(const StoragePruneRequest& request) {
  return request.passing || request.failures || request.artifacts || request.runs;
}

/// Returns the request's rule for a kind, which may or may not be `named`.
PruneRule rule_of(const StoragePruneRequest& request, bool named) {
  const bool bounded = request.older_than || request.keep;
  const bool meant = named || (!has_kind(request) && (bounded || !request.op.empty()));
  if (!meant) return {};
  // With only a size, the oldest are deleted; see pruning_of().
  const bool all = !bounded && !request.bytes;
  return {.all = all, .older_s = request.older_than, .keep = request.keep, .beyond_either = false};
}

/// Returns whether [storage] decides what is deleted.
bool goes_by_retention(const StoragePruneRequest& request) {
  const bool bounded = request.older_than || request.keep || request.bytes || !request.op.empty();
  return !has_kind(request) && !bounded;
}

Pruning pruning_of(const StoragePruneRequest& request) {
  Pruning pruning;
  pruning.passing = rule_of(request, request.passing);
  pruning.failures = rule_of(request, request.failures);
  pruning.artifacts = rule_of(request, request.artifacts);
  pruning.runs = rule_of(request, request.runs);
  pruning.op = request.op;
  pruning.bytes = request.bytes;
  pruning.shrink_passing = request.passing || !has_kind(request);
  pruning.shrink_failures = request.failures || !has_kind(request);
  return pruning;
}

/// Returns the stored form of the configuration's project.
StoredProject project_of(const Config& config) {
  const std::string path = canonical_path(config.file);
  return {.id = project_id(path), .path = path, .name = config.name};
}

Result<std::vector<StoredProject>> projects_of(const Config& config, bool all,
                                               ProjectStores& stores) {
  const StoredProject own = project_of(config);
  if (!all) return std::vector{own};
  auto projects = GPUEMU_TRY(stores.projects());
  for (const std::string& id : {own.id, std::string(kLegacyProject)}) {
    if (std::ranges::find(projects, id, &StoredProject::id) != projects.end()) continue;
    projects.push_back(id == own.id ? own : StoredProject{.id = id, .path = "", .name = id});
  }
  return projects;
}

/// A damaged database cannot be opened, so nothing is counted.
Reply not_opened(const Error& failure, const Request& request, const std::string& path) {
  const bool damaged = failure.code == ErrorCode::Corruption;
  if (!damaged || !std::holds_alternative<StorageStatusRequest>(request)) {
    return error_reply(failure);
  }
  StorageStatusReply reply;
  reply.path = path;
  reply.damaged = true;
  return reply;
}

/// Works on the folder as a whole while no daemon has it open.
template <typename Work>
std::string answer_for_folder(const Config& config, const Work& work) {
  const auto lock = FolderLock::take(config.db_path);
  if (!lock) return encode_reply(error_reply(lock.error()));
  const auto report = work();
  return encode_reply(report ? Reply(*report) : Reply(error_reply(report.error())));
}

Reply answer_locked(const AddressedRequest& asked, const Config& config, const ProjectNames& names,
                    const Environment& environment) {
  if (std::holds_alternative<StorageVerifyRequest>(asked.request)) {
    return verify_store(config.db_path);
  }
  const auto stores = open_stores(config.db_path, names);
  if (!stores) return not_opened(stores.error(), asked.request, config.db_path);
  if (const auto* backup = std::get_if<StorageBackupRequest>(&asked.request)) {
    return answer_storage(*backup, **stores);
  }
  if (const auto* compact = std::get_if<StorageCompactRequest>(&asked.request)) {
    return answer_storage(*compact, **stores);
  }
  auto projects = projects_of(config, asked.project == "*", **stores);
  if (!projects) return error_reply(projects.error());
  const StorageScope scope{.projects = *std::move(projects),
                           .retention = [&](const StoredProject& project) {
                             return retention_of(project, environment);
                           }};
  if (const auto* status = std::get_if<StorageStatusRequest>(&asked.request)) {
    return answer_storage(*status, scope, **stores);
  }
  if (const auto* prune = std::get_if<StoragePruneRequest>(&asked.request)) {
    return answer_storage(*prune, scope, **stores);
  }
  return ErrorReply{WireErrorCode::InvalidRequest,
                    fmt::format("{} needs a daemon", type_of(asked.request))};
}

}  // namespace

Reply answer_storage(const StorageStatusRequest& request, const StorageScope& scope,
                     ProjectStores& stores) {
  auto status = stores.status(scope.projects);
  if (!status) return error_reply(status.error());
  if (!request.kinds) {
    for (StoredOfProject& one : status->projects) one.bytes_by_kind.clear();
  }
  return *std::move(status);
}

Reply answer_storage(const StoragePruneRequest& request, const StorageScope& scope,
                     ProjectStores& stores) {
  std::vector<Pruning> prunings;  // Prepared completely before the first record is deleted.
  for (const StoredProject& project : scope.projects) {
    Pruning& pruning = prunings.emplace_back(pruning_of(request));
    if (goes_by_retention(request)) {
      const auto retention = scope.retention(project);
      if (!retention) return ErrorReply{WireErrorCode::ConfigError, retention.error().message};
      pruning = pruning_of(*retention);
    }
    pruning.project = project.id;
    pruning.dry_run = request.dry_run;
    pruning.in_use_from = scope.in_use_from;
    pruning.has_jobs = scope.in_use_from != std::numeric_limits<uint64_t>::max();
  }
  StoragePrunedReply reply;
  reply.dry_run = request.dry_run;
  for (const Pruning& pruning : prunings) {
    const auto pruned = stores.prune(pruning);
    if (!pruned) return error_reply(pruned.error());
    reply.removed.passing += pruned->removed.passing;
    reply.removed.failures += pruned->removed.failures;
    reply.removed.artifacts += pruned->removed.artifacts;
    reply.removed.runs += pruned->removed.runs;
    reply.bytes_freed += pruned->bytes;
  }
  return reply;
}

Reply answer_storage(const StorageBackupRequest& request, ProjectStores& stores) {
  const Status made = stores.back_up(request.path);
  if (!made) return error_reply(made.error());
  return OkReply{};
}

Reply answer_storage(const StorageCompactRequest&, ProjectStores& stores) {
  auto compacted = stores.compact();
  if (!compacted) return error_reply(compacted.error());
  return *std::move(compacted);
}

std::string answer_without_daemon(std::string_view message, const Config& config,
                                  const ProjectNames& names, const Environment& environment) {
  const FetchShared none = [](const SharedTensorRef&) -> Result<std::vector<std::byte>> {
    return error(ErrorCode::InvalidArgument, "no shared memory is taken here");
  };
  const auto asked = decode_request(message, none);
  if (!asked) return encode_reply(error_reply(asked.error()));
  std::error_code ignored;
  // Reading must not create the folder.
  const bool verifies = std::holds_alternative<StorageVerifyRequest>(asked->request);
  if (verifies && !std::filesystem::exists(config.db_path, ignored)) {
    return encode_reply(verify_store(config.db_path));
  }
  const auto lock = FolderLock::take(config.db_path);
  if (!lock) return encode_reply(error_reply(lock.error()));
  return encode_reply(answer_locked(*asked, config, names, environment));
}

std::string repair_without_daemon(const Config& config, bool dry_run) {
  std::error_code ignored;
  if (!std::filesystem::exists(config.db_path, ignored)) {
    return encode_reply(verify_store(config.db_path));
  }
  return answer_for_folder(config, [&] { return repair_store(config.db_path, dry_run); });
}

std::string restore_without_daemon(const Config& config, const std::string& backup, bool force) {
  return answer_for_folder(config, [&] { return restore_store(config.db_path, backup, force); });
}

}  // namespace gpuemu
