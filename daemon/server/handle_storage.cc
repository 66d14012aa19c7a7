// Counts, prunes, compacts, verifies and copies the stored records of all projects.
#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"
#include "daemon/server/storage_requests.h"

namespace gpuemu {
namespace {

Result<StorageScope> scope_of(const Call& call) {
  StorageScope scope;
  scope.in_use_from = call.context.jobs.oldest_start();
  scope.retention = [projects = call.context.projects](const StoredProject& project) {
    return retention_of(project, projects->environment());
  };
  for (StoredProject& one : GPUEMU_TRY(call.context.projects->known())) {
    const bool is_seen = call.user.empty() || user_of_space(one.id) == call.user;
    const bool is_meant = call.all_projects || one.id == call.context.project;
    if (is_seen && is_meant) scope.projects.push_back(std::move(one));
  }
  return scope;
}

/// A client that repeats the request while it runs gets the same answer.
template <typename Work>
Reply once(Call& call, const Work& work) {
  return call.context.jobs.run(call.key, [&](JobControl&) { return Reply(work()); });
}

template <typename R>
Reply answer_scoped(const R& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const auto scope = scope_of(call);
  if (!scope) return error_reply(scope.error());
  return once(call,
              [&] { return answer_storage(request, *scope, call.context.projects->stores()); });
}

}  // namespace

Reply handle(const StorageStatusRequest& request, Call& call) {
  return answer_scoped(request, call);
}

Reply handle(const StoragePruneRequest& request, Call& call) {
  return answer_scoped(request, call);
}

Reply handle(const StorageVerifyRequest&, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  return once(call, [&]() -> Reply {
    auto report = call.context.projects->stores().verify();
    if (!report) return error_reply(report.error());
    return *std::move(report);
  });
}

Reply handle(const StorageBackupRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  return once(call, [&] { return answer_storage(request, call.context.projects->stores()); });
}

Reply handle(const StorageCompactRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  return once(call, [&] { return answer_storage(request, call.context.projects->stores()); });
}

}  // namespace gpuemu
