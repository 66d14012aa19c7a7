// One handler per request; std::visit over Request picks it, so a request without one does not
// link.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/transport/server.h"
#include "daemon/schedule/lane_claim.h"
#include "daemon/server/job_table.h"
#include "daemon/server/server.h"

namespace gpuemu {

class Project;
class Store;
struct Config;

/// What a handler knows beside the request: the context and the message's own text, which names
/// repeated requests.
struct Call {
  ServerContext& context;
  std::string key;
  std::shared_ptr<const void> held = {};  ///< What `context` belongs to.
  bool names_project = false;             ///< Comes from a client that tells notes to its user.
  bool all_projects = false;              ///< Asked for "*": lists what is stored of all projects.
  LaneClaim claim = {};                   ///< For lanes; null: of no session.
  std::shared_ptr<LaneSession> session = {};  ///< That asks; null: of none.
  bool names_session = false;                 ///< By its secret.
  ClientPeer peer = {};
  std::string user = {};          ///< Who asks; "": the daemon's user, or root.
  std::string_view request = {};  ///< Its type.
};

/// `Reply handle(const PingRequest& request, Call& call)`, and so on for every request. The reply
/// is that of the request's traits, JobStartedReply or ErrorReply.
#define GPUEMU_HANDLER(name, ...) Reply handle(const name##Request& request, Call& call);
GPUEMU_REQUESTS(GPUEMU_HANDLER)
#undef GPUEMU_HANDLER

/// The project as it is now. ConfigError's text when gpuemu.toml is wrong.
Result<std::unique_ptr<Project>> open_project(Call& call);
/// What a request says instead of keys of gpuemu.toml, of all ops.
struct ProjectOverrides {
  std::optional<uint64_t> max_elements;
  bool strict = false;
};
Result<std::unique_ptr<Project>> open_project(Call& call, const ProjectOverrides& overrides);
/// An error of open_project as a reply.
ErrorReply config_error(const Error& error);
/// What a listing reads.
struct ListedStore {
  std::string project;  ///< Its id.
  std::string user;     ///< Owner of the records; "" where the daemon has one user.
  std::shared_ptr<Store> store;
};
/// The stores of the projects that the call asks for: those of whoever asks, of all users for the
/// daemon's.
Result<std::vector<ListedStore>> listed_stores(const Call& call);
/// OpNotFound with the names there are, and the open projects that have it.
ErrorReply op_not_found(const Call& call, const Config& config, const std::string& name);
/// How a request wants its work to run.
struct JobOptions {
  bool as_job = false;
  std::optional<uint64_t> lease_ms;
};
template <class R>
  requires(RequestTraits<R>::kPace == Pace::Job)
JobOptions job_options(const R& request) {
  return {request.stream, request.lease_ms};
}
/// Where kernels run now, as reports say it: "local" in the daemon; "" in workers.
std::string execution_now(const SlotPool& slots);
/// The reply of `work`, which says where its kernels ran, or the number of the job that runs it.
Reply run_or_start_job(const JobOptions& options, Call& call, const JobTable::Work& work);
/// Busy, with the time after which it may be sent again.
ErrorReply busy(std::string message);
/// One failure as a line of a job's log.
std::string log_line(const ValidationResult& failure);
/// Leaves out input snapshots (clients may miss them) where all of them would make a reply that is
/// too large. Reproduce still finds every one.
void bound_snapshots(std::vector<ValidationResult>& results);
/// A fresh seed from the operating system.
uint64_t fresh_seed();

}  // namespace gpuemu
