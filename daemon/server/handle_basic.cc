// Handles Ping, Shutdown, lists of ops and devices, and jobs.
#include <unistd.h>

#include "common/protocol/wire_errors.h"
#include "daemon/schedule/slot_pool_options.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"

namespace gpuemu {
namespace {

std::string execution_of(const WorkerPlaces& places) {
  if (places.has_processes) return "workers";
  return places.runs_local ? "local" : "remote";
}

ErrorReply no_job(uint64_t job_id) {
  return {WireErrorCode::NotFound, fmt::format("no job {}", job_id)};
}

uint64_t uptime_seconds(const ServerContext& context) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::steady_clock::now() - context.start)
                                   .count());
}

}  // namespace

Reply handle(const PingRequest&, Call& call) {
  PongReply pong;
  pong.version = kVersion;
  pong.uptime_secs = uptime_seconds(call.context);
  pong.capabilities.assign(std::begin(kCapabilities), std::end(kCapabilities));
  pong.backend = call.context.backend;
  pong.devices = call.context.devices;
  return pong;
}

Reply handle(const ShutdownRequest&, Call& call) {
  call.context.request_stop();
  return OkReply{};
}

Reply handle(const DevicesRequest&, Call& call) {
  DevicesReply reply{call.context.devices, {}};
  if (call.context.projects != nullptr) {
    reply.remote_workers = call.context.projects->remote_workers();
  }
  return reply;
}

Reply handle(const WorkerRegisterRequest&, Call&) {
  return ErrorReply{WireErrorCode::InvalidRequest,
                    "workers register over TLS, at the address of [daemon.listen]"};
}

Reply handle(const ConfigShowRequest&, Call& call) {
  const auto config = call.context.config.current();
  if (!config) return config_error(config.error());
  ConfigShowReply shown{(*config)->file, {}};
  for (const Config::Setting& setting : (*config)->settings) {
    shown.settings.push_back({setting.key, setting.value, setting.origin});
  }
  return shown;
}

Reply handle(const DaemonStatusRequest&, Call& call) {
  const ServerContext& context = call.context;
  DaemonStatusReply status;
  status.version = kVersion;
  status.backend = context.backend;
  status.socket_path = context.socket_path;
  status.config_path = context.config_file;
  status.storage_path = context.db_path;
  status.pid = static_cast<uint64_t>(::getpid());
  status.uptime_secs = uptime_seconds(context);
  const WorkerPlaces& places = context.slots.places();
  status.workers = places.has_processes ? context.slots.workers() : 0;
  status.execution = execution_of(places);
  status.jobs_running = context.jobs.running();
  status.requests_served = context.counts->requests;
  status.devices = context.devices;
  status.start_settings = context.start_settings;
  status.build = context.build;
  status.projects = 1;
  if (context.projects != nullptr) {
    status.config_path = context.projects->default_path();
    status.projects = context.projects->count();
    status.remote_workers = context.projects->remote_workers();
    if (call.names_project) status.notes = context.projects->untold_notes(context);
  }
  // The folder may have been deleted or replaced since the last request.
  const auto newest = context.store.list_results(1);
  if (context.projects != nullptr) status.damage = context.projects->stores().damage();
  if (!newest && newest.error().message != status.damage) {
    status.notes.push_back(newest.error().message);
  }
  return status;
}

Reply handle(const JobStatusRequest& request, Call& call) {
  if (!call.context.jobs.is_for(call.user, request.job_id)) return no_job(request.job_id);
  auto status = call.context.jobs.status(request);
  if (!status) return error_reply(status.error());
  return *std::move(status);
}

Reply handle(const JobCancelRequest& request, Call& call) {
  if (!call.context.jobs.is_for(call.user, request.job_id)) return no_job(request.job_id);
  const Status cancelled = call.context.jobs.cancel(request.job_id);
  if (!cancelled) return error_reply(cancelled.error());
  return OkReply{};
}

}  // namespace gpuemu
