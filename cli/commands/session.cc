// Finding, starting and talking to the daemon.
#include "cli/commands/session.h"

#include <ostream>
#include <thread>

#include "cli/commands/launch_daemon.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{2'000};
// Requests that run long are jobs; a plain one that takes a minute is broken.
constexpr std::chrono::milliseconds kRequestTimeout{120'000};
constexpr std::chrono::milliseconds kStartPoll{20};

}  // namespace

std::optional<Config> Session::config() {
  ConfigSources sources;
  sources.working_folder = working_folder;
  sources.environment = environment;
  if (!config_file.empty()) sources.file = config_file;
  ConfigResult loaded = load_config(sources);
  if (!loaded.config) {
    err << loaded.text();
    return std::nullopt;
  }
  for (const ConfigProblem& warning : loaded.config->warnings) {
    if (verbose) err << "warning: " << warning.text() << '\n';
  }
  return std::move(loaded.config);
}

Result<std::string> Session::socket_path() {
  ConfigSources sources;
  sources.working_folder = "/";
  sources.environment = environment;
  sources.environment.erase("GPUEMU_CONFIG");
  ConfigResult loaded = load_config(sources);
  if (!loaded.config) return Error{ErrorCode::InvalidArgument, loaded.text()};
  return loaded.config->socket_path;
}

Status Session::connect() {
  if (client_) return ok_status();
  const std::string path = GPUEMU_TRY(socket_path());
  auto client = Client::connect(path, kConnectTimeout);
  if (!client) return client.error();
  client_ = *std::move(client);
  return ok_status();
}

bool Session::daemon_answers() {
  if (!connect()) return false;
  const auto reply = call(PingRequest{});
  return reply && std::holds_alternative<PongReply>(*reply);
}

Status Session::start_daemon() {
  client_.reset();
  const std::string path = GPUEMU_TRY(socket_path());
  GPUEMU_TRY(launch_daemon({program_folder, working_folder, config_file, path}));
  const auto deadline = std::chrono::steady_clock::now() + kDaemonStartTimeout;
  while (std::chrono::steady_clock::now() < deadline) {
    if (daemon_answers()) return ok_status();
    client_.reset();
    if (auto said = daemon_start_error(path)) {
      return error(ErrorCode::Unavailable, "the daemon did not start: {}", *said);
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  return error(ErrorCode::Unavailable,
               "the daemon did not answer within {} s; `gpuemu daemon logs` shows why",
               kDaemonStartTimeout.count() / 1000);
}

Status Session::ensure_daemon() {
  if (!daemon_answers()) return start_daemon();
  const Reply reply = GPUEMU_TRY(call(DaemonStatusRequest{}));
  const auto* status = std::get_if<DaemonStatusReply>(&reply);
  const auto wanted = config();
  if (status == nullptr || !wanted || status->config_path == wanted->file) return ok_status();
  if (status->jobs_running > 0) {
    return error(ErrorCode::Unavailable,
                 "the daemon is busy with {}; wait, or set GPUEMU_SOCKET and GPUEMU_DB to run a "
                 "second one for this project",
                 status->config_path);
  }
  err << "note: the daemon served "
      << (status->config_path.empty() ? "no project" : status->config_path)
      << "; it is restarted for this one\n";
  GPUEMU_TRY(call(ShutdownRequest{}));
  client_.reset();
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while (daemon_answers() && std::chrono::steady_clock::now() < deadline) {
    client_.reset();
    std::this_thread::sleep_for(kStartPoll);
  }
  return start_daemon();
}

Result<std::string> Session::call_text(const Request& request) {
  GPUEMU_TRY(connect());
  auto reply = client_->request(encode_request(request), kRequestTimeout);
  if (!reply) client_.reset();
  return reply;
}

Result<Reply> Session::call(const Request& request) {
  return decode_reply(GPUEMU_TRY(call_text(request)));
}

ExitCode Session::fail(const Error& error) {
  err << "gpuemu: " << error.message << '\n';
  return exit_code = error.code == ErrorCode::InvalidArgument ? ExitCode::Usage : ExitCode::Broken;
}

ExitCode Session::fail(const ErrorReply& reply) {
  err << "gpuemu: " << reply.message << '\n';
  switch (reply.code) {
    case WireErrorCode::OpNotFound:
    case WireErrorCode::ConfigError:
    case WireErrorCode::InvalidRequest:
    case WireErrorCode::KernelNotFound:
    case WireErrorCode::NotFound:
    case WireErrorCode::BaselineNotFound:
      return exit_code = ExitCode::Usage;
    default:
      return exit_code = ExitCode::Broken;
  }
}

}  // namespace gpuemu::cli
