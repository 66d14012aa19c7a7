// Decodes a request, finds its handler, and encodes the reply.
#include "daemon/server/server.h"

#include <optional>
#include <random>

#include <fmt/ranges.h>

#include "common/base/service_limits.h"
#include "common/codec/json_codec.h"
#include "common/config/stub_reference.h"
#include "common/process/acting_user.h"
#include "common/protocol/wire_errors.h"
#include "daemon/schedule/slot_pool_options.h"
#include "daemon/server/access.h"
#include "daemon/server/client_shared_memory.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"
#include "daemon/server/project.h"
#include "daemon/server/session_urgency.h"
#include "daemon/sessions/client_names.h"

namespace gpuemu {
namespace {

/// Counts the long requests in progress.
class LongRequest {
 public:
  explicit LongRequest(std::atomic<size_t>& count) : count_(count), number_(++count) {}
  ~LongRequest() { --count_; }
  LongRequest(const LongRequest&) = delete;
  LongRequest& operator=(const LongRequest&) = delete;
  size_t number() const { return number_; }

 private:
  std::atomic<size_t>& count_;
  const size_t number_;
};

/// Returns whether `reply` has a type that the protocol's table names for R.
template <typename R>
bool answers(const Reply& reply) {
  using Traits = RequestTraits<R>;
  return std::holds_alternative<typename Traits::Reply>(reply) ||
         std::holds_alternative<ErrorReply>(reply) ||
         (Traits::kPace == Pace::Job && std::holds_alternative<JobStartedReply>(reply));
}

Reply dispatch(const Request& request, Call& call) {
  return std::visit(
      [&]<typename R>(const R& one) -> Reply {
        Reply reply = handle(one, call);
        if (answers<R>(reply)) return reply;
        return ErrorReply{WireErrorCode::InternalError,
                          fmt::format("{} was answered with {}, which clients do not expect; "
                                      "please report this",
                                      RequestTraits<R>::kName, type_of(reply))};
      },
      request);
}

/// Refuses a request that would leave no thread for Ping, Shutdown and others.
Reply dispatch_long(const Request& request, Call& call) {
  const LongRequest counted(call.context.counts->long_requests);
  if (call.context.lanes_problem && needs_device(request)) {
    const auto config = call.context.config.current();
    if (!config) return config_error(config.error());
    return error_reply(*call.context.lanes_problem);
  }
  // The transport handles more at once, so that Ping and Shutdown are always answered.
  if (counted.number() <= kRequestsUnfinishedMax) return dispatch(request, call);
  return busy_reply(
      fmt::format("{} requests are running or waiting for a device, the limit; send {} "
                  "again when some of them are done",
                  kRequestsUnfinishedMax, type_of(request)));
}

/// Makes errors beyond the bound of "auto" fail in every op. Cached verdicts depend on the
/// settings.
void set_strict(Config& config) {
  config.strict = true;
  for (OpConfig& op : config.ops) op.strict.reset();
  for (Config::Setting& setting : config.settings) {
    if (setting.key == "validation.strict") setting = {setting.key, "true", "flag --strict"};
  }
}

}  // namespace

Result<std::unique_ptr<Project>> open_project(Call& call) {
  return open_project(call, ProjectOverrides());
}

Result<std::unique_ptr<Project>> open_project(Call& call, const ProjectOverrides& overrides) {
  ServerContext& context = call.context;
  auto config = GPUEMU_TRY(context.config.current());
  if (overrides.max_elements || overrides.strict) {
    Config changed = *config;
    if (overrides.max_elements) GPUEMU_TRY(set_max_elements(*overrides.max_elements, changed));
    if (overrides.strict) set_strict(changed);
    config = std::make_shared<const Config>(std::move(changed));
  }
  Config written = *config;
  if (set_stubs_aside(written)) config = std::make_shared<const Config>(std::move(written));
  return std::make_unique<Project>(std::move(config),
                                   Project::Slots{context.slots, context.extra_slots},
                                   context.store, context.cache_folder, context.arch);
}

ErrorReply config_error(const Error& error) { return {WireErrorCode::ConfigError, error.message}; }

Result<std::vector<ListedStore>> listed_stores(const Call& call) {
  const ServerContext& context = call.context;
  OpenProjects* const projects = context.projects;
  const bool is_shared = projects != nullptr && projects->share().is_shared();
  // The context owns it.
  const ListedStore own{project_of_space(context.project),
                        is_shared ? user_name(call.peer.uid) : "",
                        std::shared_ptr<Store>(&context.store, [](Store*) {})};
  if (projects == nullptr || !(call.all_projects || (is_shared && call.user.empty()))) {
    return std::vector{own};
  }
  std::vector<ListedStore> stores;
  for (const StoredProject& one : GPUEMU_TRY(projects->known())) {
    const std::string project = project_of_space(one.id), user = user_of_space(one.id);
    if (!call.user.empty() && user != call.user) continue;
    if (!call.all_projects && project != own.project) continue;
    stores.push_back(
        {project, user.empty() ? own.user : user, GPUEMU_TRY(projects->stores().of(one.id))});
  }
  return stores;
}

ErrorReply op_not_found(const Call& call, const Config& config, const std::string& name) {
  std::string known;
  for (const OpConfig& op : config.ops) known += (known.empty() ? "" : ", ") + op.name;
  std::string message = fmt::format("no op '{}' in {}; there are: {}", name,
                                    config.file.empty() ? "the configuration" : config.file,
                                    known.empty() ? "none" : known);
  if (call.context.projects != nullptr) {
    const std::vector<std::string> others = call.context.projects->with_op(name, call.user);
    if (!others.empty()) message += fmt::format("; {} has one", fmt::join(others, ", "));
  }
  return {WireErrorCode::OpNotFound, std::move(message)};
}

std::string execution_now(const SlotPool& slots) {
  const WorkerPlaces& places = slots.places();
  return !places.has_processes && places.runs_local && slots.remote_slots() == 0 ? "local" : "";
}

Reply run_or_start_job(const JobOptions& options, Call& call, const JobTable::Work& work) {
  // Workers come and go meanwhile; the claim records where its plans ran.
  const JobTable::Work told = [work, kept = call](JobControl& control) {
    const SlotPool& slots = kept.context.slots;
    const std::string before = execution_now(slots);
    Reply reply = work(control);
    const bool ran_inside = kept.claim != nullptr && kept.claim->ran_inside;
    const std::string where = ran_inside ? "local" : before.empty() ? "" : execution_now(slots);
    if (std::string* const execution = execution_of(reply)) *execution = where;
    return reply;
  };
  if (!options.as_job) return call.context.jobs.run(call.key, told, call.claim);
  const auto job = call.context.jobs.start(
      told, options.lease_ms,
      {.claim = call.claim, .space = call.context.project, .request = std::string(call.request)});
  if (job) return JobStartedReply{*job};
  const bool too_many = job.error().code == ErrorCode::ResourceExhausted;
  return too_many ? busy_reply(job.error().message) : error_reply(job.error());
}

std::string log_line(const ValidationResult& failure) {
  const bool told = !failure.failures.empty();
  return fmt::format("{} {} [{}] {}", failure.seed, failure.op_name,
                     told ? name_of(failure.failures.front().kind) : "",
                     told ? failure.failures.front().message : "");
}

void bound_snapshots(std::vector<ValidationResult>& results) {
  size_t bytes = 0;
  for (ValidationResult& result : results) {
    if (!result.repro_info || !result.repro_info->input_snapshot) continue;
    bytes += result.repro_info->input_snapshot->size();
    if (bytes > kSnapshotReplyBytesMax) result.repro_info->input_snapshot.reset();
  }
}

uint64_t fresh_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

namespace {

Reply answer(const Request& request, Call& call) {
  // Long requests could keep Ping and Shutdown waiting.
  return pace_of(request) == Pace::Quick ? dispatch(request, call) : dispatch_long(request, call);
}

WireErrorCode code_of(LaneStop::Why why) {
  if (why == LaneStop::Why::DaemonStops) return WireErrorCode::Stopped;
  const bool limited = why == LaneStop::Why::LimitReached;
  return limited ? WireErrorCode::LimitExceeded : WireErrorCode::SessionNotFound;
}

/// Like answer(), for work under a claim of the session: an error caused by the claim's end says
/// so.
Reply answer_claimed(const Request& request, Call& call) {
  Reply reply = answer(request, call);
  auto* const failure = std::get_if<ErrorReply>(&reply);
  if (failure == nullptr || !call.claim->is_stopped()) return reply;
  const bool follows = failure->code == WireErrorCode::InternalError ||
                       failure->code == WireErrorCode::ReferenceScriptFailed;
  if (!follows) return reply;
  const LaneStop stop = call.claim->stopped().value_or(LaneStop{});
  if (stop.why == LaneStop::Why::WorkEnded) return reply;  // The reply itself says why.
  *failure = {code_of(stop.why), stop.text};
  return reply;
}

ErrorReply not_opened(const Error& failure) {
  ErrorReply reply = error_reply(failure);
  if (failure.code == ErrorCode::NotFound) reply.code = WireErrorCode::ProjectNotFound;
  return reply;
}

/// Refuses a request that may add records if the user's storage limit is reached.
std::optional<ErrorReply> storage_refusal(const Request& request, const std::string& user,
                                          OpenProjects& projects) {
  const auto most = projects.share().quota_of(user).storage_bytes;
  if (user.empty() || !most || !(needs_device(request) || stores_records(request))) {
    return std::nullopt;
  }
  const auto bytes = projects.bytes_of(user, *most);
  if (!bytes) return error_reply(bytes.error());
  if (*bytes < *most) return std::nullopt;
  return ErrorReply{WireErrorCode::LimitExceeded,
                    fmt::format("user {}: {} of {} bytes are stored (storage_bytes), renewed when "
                                "records go: by their age, or by `gpuemu storage prune`",
                                user, *bytes, *most)};
}

/// The `project` of requests that list records of all projects.
constexpr char kAllProjects[] = "*";

/// `visit`: of the requesting session; nothing for one that is being opened.
Reply answer(const AddressedRequest& asked, std::string_view message, OpenProjects& projects,
             const ClientPeer& peer, const std::optional<Sessions::Visit>& visit) {
  const bool all = asked.project == kAllProjects;
  const About about = about_of(asked.request);
  if (all && about != About::Records) {
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        fmt::format("{} is for one project, got project \"*\"; only {} are for all",
                    type_of(asked.request), fmt::join(requests_about(About::Records), ", "))};
  }
  const std::string user = projects.share().user_of(peer);
  if (auto refused = refusal(asked.request, user, projects.share())) return *std::move(refused);
  if (auto used_up = storage_refusal(asked.request, user, projects)) return *std::move(used_up);
  const std::string& named = asked.project.empty() && visit ? visit->project() : asked.project;
  auto project = projects.open(all || about == About::Daemon ? "" : named, user);
  // A client requests the status to decide whether this daemon fits, even with an unreadable
  // project.
  bool is_named = !asked.project.empty();
  if (!project && std::holds_alternative<DaemonStatusRequest>(asked.request)) {
    project = projects.open("", user);
    is_named = false;
  }
  if (!project) return not_opened(project.error());
  // These are part of the key, because the default project may change between two equal messages,
  // and another session's equal request may be stopped early.
  ServerContext& context = *(*project)->context;
  Call call{context, fmt::format("{} {} {}", context.project, visit ? visit->number() : 0, message),
            *std::move(project), is_named, all};
  call.peer = peer;
  call.user = user;
  call.request = type_of(asked.request);
  if (visit) call.session = visit->lanes();
  call.names_session = !asked.session.empty() && visit && visit->is_explicit();
  if (!visit || !needs_device(asked.request)) return answer(asked.request, call);
  auto begun =
      projects.sessions().begin(*visit, urgency_of(asked.request, visit->session_class(), context));
  if (auto* refused = std::get_if<ErrorReply>(&begun)) return *std::move(refused);
  call.claim = std::get<LaneClaim>(std::move(begun));
  return answer_claimed(asked.request, call);
}

Reply answer(const AddressedRequest& asked, std::string_view message, OpenProjects& projects,
             const ClientPeer& peer) {
  std::optional<Sessions::Visit> visit;
  if (!std::holds_alternative<OpenSessionRequest>(asked.request)) {
    // A trace may be requested by a session's name, even after the session has ended.
    const bool is_name = std::holds_alternative<GetTraceRequest>(asked.request) &&
                         !projects.sessions().is_open(asked.session);
    auto begun = projects.sessions().visit(is_name ? "" : asked.session, peer);
    if (!begun) return ErrorReply{WireErrorCode::SessionNotFound, begun.error().message};
    visit.emplace(*std::move(begun));
    if (auto refused = token_refusal(asked.request, *visit)) return *std::move(refused);
  }
  return answer(asked, message, projects, peer, visit);
}

/// Acts with the rights of the requesting user, whatever the daemon reads or runs for the request.
std::string respond_as(const ClientPeer& peer, const Share& share,
                       const std::function<std::string()>& respond) {
  if (share.user_of(peer).empty() || !may_act_for_others()) return respond();
  const ActingUser user(ids_of_user(peer.uid, peer.gid));
  return respond();
}

/// `respond` receives the request.
template <typename Respond>
std::string respond_to(std::string_view message, const Respond& respond) {
  try {
    ClientSharedMemory memory;
    const FetchShared fetch = [&](const SharedTensorRef& where) { return memory.fetch(where); };
    const auto asked = decode_request(message, fetch);
    return encode_reply(asked ? respond(*asked) : Reply(error_reply(asked.error())));
  } catch (const std::exception& surprise) {  // The last resort: a request must not end the daemon.
    return encode_reply(ErrorReply{WireErrorCode::InternalError, surprise.what()});
  }
}

}  // namespace

std::string handle_message(std::string_view message, ServerContext& context) {
  ++context.counts->requests;
  return respond_to(message, [&](const AddressedRequest& asked) {
    Call call{context, std::string(message)};
    return answer(asked.request, call);
  });
}

std::string handle_message(std::string_view message, const ClientPeer& peer,
                           OpenProjects& projects) {
  projects.count_request();
  return respond_as(peer, projects.share(), [&] {
    return respond_to(message, [&](const AddressedRequest& asked) {
      Reply reply = answer(asked, message, projects, peer);
      const auto* const failure = std::get_if<ErrorReply>(&reply);
      if (failure != nullptr && failure->code == WireErrorCode::Unauthorized) {
        projects.log(refused_line(*failure, peer));
        delay_unauthorized();
      }
      return reply;
    });
  });
}

}  // namespace gpuemu
