// One handler per request. std::visit over Request selects it, so a request without one does not
// link.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"
#include "common/transport/server.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/server/job_table.h"
#include "daemon/server/server.h"

namespace gpuemu {

class Project;
class Store;
struct Config;

/// A handler's input besides the request: the context, and the message's own text, which identifies
/// repeated requests.
struct Call {
  ServerContext& context;
  std::string key;
  std::shared_ptr<const void> held = {};  ///< Keeps `context` alive.
  bool names_project = false;  ///< The client names its project, so it shows notes to its user.
  bool all_projects = false;   ///< Requested as "*": lists stored records of all projects.
  LaneClaim claim = {};        ///< For slots; null: no session.
  std::shared_ptr<LaneSession> session = {};  ///< The requesting session; null: none.
  bool names_session = false;                 ///< Identified by its secret.
  ClientPeer peer = {};
  std::string user = {};          ///< The requesting user; "": the daemon's user, or root.
  std::string_view request = {};  ///< Type of the request.
};

/// Declares `Reply handle(const PingRequest& request, Call& call)`, and so on for every request.
/// The reply is the one of the request's traits, JobStartedReply or ErrorReply.
#define GPUEMU_HANDLER(name, ...) Reply handle(const name##Request& request, Call& call);
GPUEMU_REQUESTS(GPUEMU_HANDLER)
#undef GPUEMU_HANDLER

/// Returns the current project. Fails with the text of ConfigError if gpuemu.toml is invalid.
Result<std::unique_ptr<Project>> open_project(Call& call);
/// Settings in a request that replace keys of gpuemu.toml, for all ops.
struct ProjectOverrides {
  std::optional<uint64_t> max_elements;
  bool strict = false;
};
Result<std::unique_ptr<Project>> open_project(Call& call, const ProjectOverrides& overrides);
/// Converts an error of open_project() to a reply.
ErrorReply config_error(const Error& error);
/// A store that a listing reads.
struct ListedStore {
  std::string project;  ///< Its id.
  std::string user;     ///< Owner of the records; "" if the daemon has a single user.
  std::shared_ptr<Store> store;
};
/// Returns the stores of the requested projects: the requesting user's own; for the daemon's user,
/// those of all users.
Result<std::vector<ListedStore>> listed_stores(const Call& call);
/// Returns OpNotFound with the existing names, and the open projects that have the op.
ErrorReply op_not_found(const Call& call, const Config& config, const std::string& name);
/// How the request's work runs.
struct JobOptions {
  bool as_job = false;
  std::optional<uint64_t> lease_ms;
};
template <class R>
  requires(RequestTraits<R>::kPace == Pace::Job)
JobOptions job_options(const R& request) {
  return {request.stream, request.lease_ms};
}
/// Returns where kernels run, for reports: "local" in the daemon, "" in workers.
std::string execution_now(const SlotPool& slots);
/// Returns the reply of `work`, with where its kernels ran, or the number of the job that runs it.
Reply run_or_start_job(const JobOptions& options, Call& call, const JobTable::Work& work);
/// Returns Busy, with the time after which the request may be repeated.
ErrorReply busy(std::string message);
/// Formats a failure as a line of a job's log.
std::string log_line(const ValidationResult& failure);
/// Drops input snapshots (which clients must tolerate) if all of them would make the reply too
/// large. Reproduce still finds each one.
void bound_snapshots(std::vector<ValidationResult>& results);
/// Returns a random seed from the operating system.
uint64_t fresh_seed();

}  // namespace gpuemu
