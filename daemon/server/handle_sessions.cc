// Opens, changes, closes and lists sessions, and reports what devices do.
#include <array>

#include <unistd.h>

#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"

namespace gpuemu {
namespace {

ErrorReply no_session(const Error& failure) {
  ErrorReply reply = error_reply(failure);
  if (failure.code == ErrorCode::NotFound) reply.code = WireErrorCode::SessionNotFound;
  return reply;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// The workers of one backend, for all projects: a device has one worker for each.
struct Backend {
  const Lanes* lanes = nullptr;  ///< The first that has the backend.
  size_t queue = 0;
  std::vector<WorkerActivity> workers;

  void add(const SlotPool& pool) {
    const std::vector<WorkerActivity> activity = pool.activity();
    workers.resize(std::max(workers.size(), activity.size()));
    for (size_t i = 0; i < activity.size(); ++i) {
      workers[i].busy = std::min(1.0, workers[i].busy + activity[i].busy);
      workers[i].memory_bytes += activity[i].memory_bytes;
      if (activity[i].session) workers[i].session = activity[i].session;
    }
  }
};

std::vector<TopDevice> top_devices(const std::vector<std::shared_ptr<Lanes>>& all) {
  std::map<std::string, Backend> backends;
  for (const auto& lanes : all) {
    Backend& one = backends[lanes->backend];
    if (one.lanes == nullptr) one.lanes = lanes.get();
    one.queue = lanes->slots->waiting_at_gate();
    one.add(*lanes->slots);
    for (const SlotPool* pool : lanes->side->pools()) one.add(*pool);
  }
  std::vector<TopDevice> devices;
  const std::string host = host_name();
  for (const auto& [name, backend] : backends) {
    for (size_t i = 0; i < backend.workers.size(); ++i) {
      const DeviceInfo& device = backend.lanes->devices[i % backend.lanes->devices.size()];
      const WorkerActivity& worker = backend.workers[i];
      devices.push_back({.index = devices.size(),
                         .name = device.name,
                         .worker_id = fmt::format("local-{}", devices.size()),
                         .host = host,
                         .busy = worker.busy,
                         .queue = backend.queue,
                         .memory_used_bytes = worker.memory_bytes,
                         .memory_bytes = device.memory_bytes,
                         .session = worker.session,
                         .state = "",
                         .attempts = 0});
    }
  }
  return devices;
}

void add_remote(const std::vector<RemoteWorkerInfo>& workers, std::vector<TopDevice>& devices) {
  for (const RemoteWorkerInfo& one : workers) {
    devices.push_back({.index = devices.size(),
                       .name = one.device.name,
                       .worker_id = one.worker_id,
                       .host = one.host,
                       .busy = one.state == WorkerState::Busy ? 1.0 : 0.0,
                       .queue = 0,
                       .memory_used_bytes = 0,
                       .memory_bytes = one.device.memory_bytes,
                       .session = std::nullopt,
                       .state = name_of(one.state),
                       .attempts = one.attempts});
  }
}

}  // namespace

Reply handle(const OpenSessionRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const std::string project = call.names_project ? project_of_space(call.context.project) : "";
  auto opened = call.context.projects->sessions().open(request, project, call.peer);
  return std::visit([](auto& one) { return Reply(std::move(one)); }, opened);
}

Reply handle(const CloseSessionRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const Sessions& sessions = call.context.projects->sessions();
  if (auto refused = sessions.refusal(request.session, request.name, {}, call.peer)) {
    return *std::move(refused);
  }
  const Status closed = call.context.projects->sessions().close(request.session, request.name);
  if (!closed) return no_session(closed.error());
  return OkReply{};
}

Reply handle(const SetSessionRequest& request, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  const Sessions& sessions = call.context.projects->sessions();
  if (auto refused = sessions.refusal(request.session, request.name, request.weight, call.peer)) {
    return *std::move(refused);
  }
  auto set = call.context.projects->sessions().set(request);
  if (!set) return no_session(set.error());
  return SessionInfoReply{*std::move(set)};
}

Reply handle(const ListSessionsRequest&, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  return SessionsReply{call.context.projects->sessions().list()};
}

Reply handle(const TopRequest&, Call& call) {
  if (call.context.projects == nullptr) return no_projects();
  TopReply top;
  top.time = now_seconds();
  top.devices = top_devices(call.context.projects->lanes());
  add_remote(call.context.projects->remote_workers(), top.devices);
  top.sessions = call.context.projects->sessions().list();
  for (JobInfo& job : call.context.jobs.list()) {
    if (job.state == JobState::Running) top.jobs.push_back(std::move(job));
  }
  return top;
}

Reply handle(const JobListRequest&, Call& call) {
  JobsReply reply;
  for (JobInfo& job : call.context.jobs.list()) {
    const bool is_seen = call.user.empty() || job.user == call.user;
    const bool is_meant =
        call.all_projects || job.project == project_of_space(call.context.project);
    if (is_seen && is_meant) {
      reply.jobs.push_back(std::move(job));
    }
  }
  return reply;
}

}  // namespace gpuemu
