// Decode, find the handler, encode.
#include "daemon/server/server.h"

#include <random>

#include "common/base/service_limits.h"
#include "daemon/server/client_shared_memory.h"
#include "daemon/server/handlers.h"
#include "daemon/server/stub_reference.h"

namespace gpuemu {
namespace {

/// Keeps count of the long requests under way.
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

/// Whether it could keep Ping and Shutdown waiting.
bool may_take_long(const Request& request) {
  return std::visit([]<typename R>(const R&) { return RequestTraits<R>::kPace != Pace::Quick; },
                    request);
}

/// Whether `reply` is of a type that the protocol's table names for R.
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

/// Refuses what would leave no thread for Ping, Shutdown and the rest.
Reply dispatch_long(const Request& request, Call& call) {
  const LongRequest counted(call.context.long_requests);
  if (counted.number() <= kLongRequestsMax) return dispatch(request, call);
  return ErrorReply{WireErrorCode::InternalError,
                    fmt::format("{} requests are running or waiting for a device, the limit; send "
                                "{} again when some of them are done",
                                kLongRequestsMax, type_of(request))};
}

/// What exceeds the bound of "auto" fails in every op. Cached verdicts follow the settings.
void set_strict(Config& config) {
  config.strict = true;
  for (OpConfig& op : config.ops) op.strict.reset();
  for (Config::Setting& setting : config.settings) {
    if (setting.key == "validation.strict") setting = {setting.key, "true", "flag --strict"};
  }
}

}  // namespace

Result<std::unique_ptr<Project>> open_project(Call& call) {
  return open_project(call, ProjectWish());
}

Result<std::unique_ptr<Project>> open_project(Call& call, const ProjectWish& wish) {
  ServerContext& context = call.context;
  auto config = GPUEMU_TRY(context.config.current());
  if (wish.max_elements || wish.strict) {
    Config changed = *config;
    if (wish.max_elements) GPUEMU_TRY(set_max_elements(*wish.max_elements, changed));
    if (wish.strict) set_strict(changed);
    config = std::make_shared<const Config>(std::move(changed));
  }
  Config written = *config;
  if (set_stubs_aside(written)) config = std::make_shared<const Config>(std::move(written));
  return std::make_unique<Project>(std::move(config),
                                   Project::Slots{context.slots, context.extra_slots},
                                   context.cache_folder, context.arch);
}

ErrorReply config_error(const Error& error) { return {WireErrorCode::ConfigError, error.message}; }

ErrorReply op_not_found(const Config& config, const std::string& name) {
  std::string known;
  for (const OpConfig& op : config.ops) known += (known.empty() ? "" : ", ") + op.name;
  return {WireErrorCode::OpNotFound,
          fmt::format("no op '{}' in {}; there are: {}", name,
                      config.file.empty() ? "the configuration" : config.file,
                      known.empty() ? "none" : known)};
}

Reply run_or_start_job(const JobOptions& wish, Call& call, const JobTable::Work& work) {
  if (!wish.as_job) return call.context.jobs.run(call.key, work);
  const auto job = call.context.jobs.start(work, wish.lease_ms);
  if (!job) return error_reply(job.error());
  return JobStartedReply{*job};
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

std::string handle_message(std::string_view message, ServerContext& context) {
  ++context.requests;
  try {
    ClientSharedMemory memory;
    const FetchShared fetch = [&](const SharedTensorRef& where) { return memory.fetch(where); };
    const auto request = decode_request(message, fetch);
    if (!request) return encode_reply(error_reply(request.error()));
    Call call{context, std::string(message)};
    return encode_reply(may_take_long(*request) ? dispatch_long(*request, call)
                                                : dispatch(*request, call));
  } catch (const std::exception& surprise) {  // The last net: a request must not end the daemon.
    return encode_reply(ErrorReply{WireErrorCode::InternalError, surprise.what()});
  }
}

}  // namespace gpuemu
