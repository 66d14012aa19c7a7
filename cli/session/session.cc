// Finds, starts and talks to the daemon.
#include "cli/session/session.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <thread>

#include "cli/report/seed_text.h"
#include "cli/session/launch_daemon.h"
#include "common/base/limits.h"
#include "common/base/project_id.h"
#include "common/base/service_limits.h"
#include "common/config/project_file.h"
#include "common/config/start_settings.h"
#include "common/protocol/wire_errors.h"

namespace gpuemu::cli {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{2'000};
// Long requests are jobs; a plain request that takes minutes is stuck.
constexpr std::chrono::milliseconds kRequestTimeout{120'000};
// A daemon answers a ping in well under a millisecond; one that is shutting down never does.
constexpr std::chrono::milliseconds kPingTimeout{3'000};
constexpr std::chrono::milliseconds kStartPoll{20};

/// Returns why the daemon must be restarted; "" if it can be used.
std::string why_unfit(const DaemonStatusReply& served, const Config* wanted,
                      const std::string& own_build) {
  if (served.version != GPUEMU_VERSION) {
    return fmt::format("is gpuemu {}, this is {}", served.version, GPUEMU_VERSION);
  }
  if (!own_build.empty() && served.build != own_build) {
    return fmt::format("is another build of gpuemu {} (process {})", served.version, served.pid);
  }
  // Outside a project, and with an invalid gpuemu.toml, any daemon can be used.
  if (wanted == nullptr || wanted->file.empty()) return "";
  if (served.storage_path != wanted->db_path) {
    return fmt::format("keeps its database in {}, expected {}", served.storage_path,
                       wanted->db_path);
  }
  return "";
}

}  // namespace

ConfigSources Session::sources() const {
  ConfigSources all;
  all.working_folder = working_folder;
  all.environment = environment;
  if (!config_file.empty()) all.file = config_file;
  return all;
}

bool Session::stream_fits(const std::string& output) {
  if (!stream) return true;
  if (!json()) {
    fail(error(ErrorCode::InvalidArgument,
               "--stream writes JSON lines, but --format is {}; add --format json, or leave out "
               "--stream",
               format));
  } else if (!output.empty()) {
    fail(error(ErrorCode::InvalidArgument,
               "--stream ends with the report on standard output, but --output names {}; write "
               "--report json={} instead",
               output, output));
  } else {
    return true;
  }
  return false;
}

void Session::print_json(const std::string& document) { out << with_seed_texts(document) << '\n'; }

void Session::begin_stream(const RunPlan& plan) {
  if (stream) events.emplace(out).run_started(plan);
}

const ConfigResult& Session::load() const {
  ConfigSources wanted = sources();
  const bool known = loaded_ && loaded_->sources.working_folder == wanted.working_folder &&
                     loaded_->sources.file == wanted.file &&
                     loaded_->sources.environment == wanted.environment;
  if (!known) {
    ConfigResult result = load_config(wanted);
    loaded_ = Loaded{std::move(wanted), std::move(result)};
  }
  return loaded_->result;
}

std::optional<Config> Session::config() {
  const ConfigResult& loaded = load();
  if (!loaded.config) {
    const std::string problems = loaded.text();
    if (json()) print_json(encode_reply(ErrorReply{WireErrorCode::ConfigError, problems}));
    err << problems;
    exit_code = ExitCode::Usage;
    return std::nullopt;
  }
  for (const ConfigProblem& warning : loaded.config->warnings) {
    // Nobody intends sizes that make every run slow, or a folder that is not there.
    const bool is_unintended =
        warning.key.ends_with(".dims") || warning.key.starts_with("runtime.include_dirs");
    if (verbose || is_unintended) err << "warning: " << warning.text() << '\n';
  }
  return loaded.config;
}

std::optional<Config> Session::project() {
  auto found = config();
  if (!found || !found->file.empty()) return found;
  fail(error(ErrorCode::InvalidArgument,
             "no gpuemu.toml in {} or its parents; run 'gpuemu init' to create one, or pass "
             "--config FILE",
             working_folder));
  return std::nullopt;
}

bool Session::project_has_op(const std::string& name) const {
  const ConfigResult& loaded = load();
  return loaded.config && loaded.config->find_op(name) != nullptr;
}

Status Session::use_builtin_project() {
  namespace fs = std::filesystem;
  const fs::path above = fs::path(program_folder).parent_path();
  const fs::path installed = above / "share/gpuemu/builtin/gpuemu.toml";
  const fs::path built = above / "kernels/builtin/gpuemu.toml";
  for (const fs::path& file : {installed, built}) {
    std::error_code failed;
    if (!fs::is_regular_file(file, failed)) continue;
    config_file = file.string();
    return ok_status();
  }
  return error(ErrorCode::NotFound,
               "the project of the built-in kernels is missing; expected {}: install gpuemu again",
               installed.string());
}

/// Returns the settings for locations; the user's defaults if the project's file is invalid.
Result<Config> Session::programs_config() const {
  if (const ConfigResult& own = load(); own.config) return *own.config;
  ConfigSources without_project;
  without_project.working_folder = "/";
  without_project.environment = environment;
  without_project.environment.erase("GPUEMU_CONFIG");
  ConfigResult loaded = load_config(without_project);
  if (!loaded.config) return Error{ErrorCode::InvalidArgument, loaded.text()};
  return *std::move(loaded.config);
}

Result<std::string> Session::socket_path() {
  if (const ConfigResult& own = load(); own.config) return own.config->socket_path;
  return GPUEMU_TRY(programs_config()).socket_path;
}

std::optional<std::string> Session::database_problem() {
  const auto path = socket_path();
  if (!path) return std::nullopt;
  return cli::database_problem({program_folder, working_folder, config_file, *path});
}

std::optional<pid_t> Session::silent_daemon() const {
  const auto config = programs_config();
  return config ? daemon_behind(config->db_path, config->socket_path) : std::nullopt;
}

Status Session::end_silent_daemon(pid_t daemon) {
  if (::kill(daemon, SIGTERM) != 0 && errno != ESRCH) {
    return error(ErrorCode::Unavailable,
                 "the daemon (process {}) does not answer, and a signal "
                 "cannot be sent to it: {}",
                 daemon, std::strerror(errno));
  }
  client_.reset();
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while (process_runs(daemon)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return error(
          ErrorCode::Timeout,
          "the daemon (process {}) does not answer and has not ended {} s after SIGTERM; "
          "{}`kill -9 {}` ends it, nothing that is stored is lost",
          daemon, kStopTimeout.count() / 1000,
          process_is_suspended(daemon)
              ? fmt::format("a signal has suspended it: `kill -CONT {}` lets it continue, ", daemon)
              : "",
          daemon);
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  return ok_status();
}

Status Session::kill_daemon(pid_t daemon) {
  if (::kill(daemon, SIGKILL) != 0 && errno != ESRCH) {
    return error(ErrorCode::Unavailable, "the daemon (process {}) cannot be killed: {}", daemon,
                 std::strerror(errno));
  }
  client_.reset();
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while (process_runs(daemon)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return error(ErrorCode::Timeout, "the daemon (process {}) has not ended {} s after SIGKILL",
                   daemon, kStopTimeout.count() / 1000);
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  return ok_status();
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
  const auto text = call_text(PingRequest{}, kPingTimeout);
  if (!text) return false;
  const auto reply = decode_reply(*text);
  return reply && std::holds_alternative<PongReply>(*reply);
}

Status Session::stop_daemon() {
  const Reply before = GPUEMU_TRY(call(DaemonStatusRequest{}));
  // A daemon that ends may disappear before its answer is read, so only the end of its process
  // counts.
  const auto asked = call(ShutdownRequest{});
  if (!asked && asked.error().code != ErrorCode::Unavailable) return asked.error();
  client_.reset();
  const auto* status = std::get_if<DaemonStatusReply>(&before);
  const auto pid = status != nullptr ? static_cast<pid_t>(status->pid) : 0;
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while (pid > 0 && process_runs(pid)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return error(ErrorCode::Timeout,
                   "the daemon (process {}) is still finishing its running requests", pid);
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  return ok_status();
}

Status Session::start_daemon() {
  client_.reset();
  secret_.clear();  // It belonged to the previous daemon.
  const std::string path = GPUEMU_TRY(socket_path());
  const pid_t daemon =
      GPUEMU_TRY(launch_daemon({program_folder, working_folder, config_file, path, no_workers}));
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  while (std::chrono::steady_clock::now() < start + kDaemonStartMax && !interrupted) {
    // Checked before the request, so that the daemon had its chance.
    const bool runs = process_runs(daemon);
    const bool answers = daemon_answers();
    const auto words = answers || !runs ? daemon_start_words(path) : std::nullopt;
    if (answers) {
      if (words) err << "note: the daemon says: " << *words << '\n';
      return ok_status();
    }
    client_.reset();
    if (!runs) {
      return error(ErrorCode::Unavailable, "the daemon did not start: {}",
                   words.value_or("it exited without output; see 'gpuemu daemon logs'"));
    }
    if (!told && std::chrono::steady_clock::now() > start + kDaemonStartTimeout) {
      err << "note: the daemon (process " << daemon << ") is still starting\n";
      told = true;
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  if (interrupted) return error(ErrorCode::Cancelled, "interrupted while the daemon was starting");
  return error(ErrorCode::Unavailable,
               "the daemon did not answer within {} s; `gpuemu daemon logs` shows why",
               kDaemonStartMax.count() / 1000);
}

Status Session::ensure_daemon() {
  GPUEMU_TRY(start_fitting_daemon());
  return session_name.empty() || !secret_.empty() ? ok_status() : open_session();
}

std::string Session::token_file() const {
  const auto config = load().config ? Result<Config>(*load().config) : programs_config();
  return config && config->share ? config->share->token_file : "";
}

Status Session::open_session() {
  OpenSessionRequest request;
  request.name = session_name.empty() ? fmt::format("gpuemu {}", ::getpid()) : session_name;
  request.weight = session_weight;
  if (const std::string file = token_file(); !file.empty()) {
    request.token = GPUEMU_TRY(read_token(file));
  }
  const Reply reply = GPUEMU_TRY(call(request));
  if (const auto* opened = std::get_if<SessionOpenedReply>(&reply)) {
    secret_ = opened->session;
    return ok_status();
  }
  const auto* failure = std::get_if<ErrorReply>(&reply);
  const bool is_wrong = failure != nullptr && blames_the_request(failure->code);
  return error(is_wrong ? ErrorCode::InvalidArgument : ErrorCode::Unavailable, "{}{}",
               session_name.empty() ? "" : "--session: ",
               failure != nullptr ? failure->message : "the daemon answered with something else");
}

Status Session::start_fitting_daemon() {
  if (!daemon_answers()) GPUEMU_TRY(start_daemon());
  const Reply reply = GPUEMU_TRY(call(DaemonStatusRequest{}));
  const auto* status = std::get_if<DaemonStatusReply>(&reply);
  if (status == nullptr) return ok_status();
  const ConfigResult& wanted = load();
  const std::string unfit = why_unfit(*status, wanted.config ? &*wanted.config : nullptr,
                                      daemon_build({program_folder, "", "", ""}));
  if (unfit.empty()) {
    tell_notes(*status);
    return ok_status();
  }
  if (status->jobs_running > 0) {
    return error(ErrorCode::Unavailable,
                 "the daemon is busy, and it {}; wait, or set GPUEMU_SOCKET and GPUEMU_DB to run a "
                 "second one",
                 unfit);
  }
  err << "note: the daemon " << unfit << "; it is restarted\n";
  GPUEMU_TRY(stop_daemon());
  return start_daemon();
}

void Session::tell_where_kernels_ran() {
  if (!runs_inside_) return;
  err << "note: this daemon has no workers (--no-workers): while no remote worker is connected, "
         "kernels run inside of it, one at a time, on the emulator\n";
}

void Session::tell_notes(const DaemonStatusReply& status) {
  const bool is_served = std::ranges::any_of(
      status.remote_workers, [](const auto& one) { return one.state != WorkerState::Lost; });
  runs_inside_ = status.execution == "local" && !is_served;
  for (const std::string& note : status.notes) err << "note: " << note << '\n';
  const ConfigResult& wanted = load();
  if (!wanted.config) return;
  const std::string unlike = unlike_environment(*wanted.config, status.start_settings);
  if (unlike.empty()) return;
  err << "note: the daemon was started with " << unlike
      << "; `gpuemu daemon stop`, and the next command starts one with it\n";
}

bool Session::is_other_default() {
  const std::string path = canonical_path(project_path());
  const auto reply = call(DaemonStatusRequest{});
  const auto* status = reply ? std::get_if<DaemonStatusReply>(&*reply) : nullptr;
  if (status == nullptr) return false;
  tell_notes(*status);  // The daemon sends them only once.
  return !path.empty() && status->config_path != path;
}

Status Session::make_default() {
  const Reply before = GPUEMU_TRY(call(DaemonStatusRequest{}));
  const Reply reply = GPUEMU_TRY(call(SetDefaultProjectRequest{}));
  const auto* failure = std::get_if<ErrorReply>(&reply);
  if (failure != nullptr && failure->code == WireErrorCode::Unauthorized) {
    out << "another user shares this daemon; its default project stays as it is\n";
    return ok_status();
  }
  if (failure != nullptr) return error(ErrorCode::Unavailable, "{}", failure->message);
  const auto* status = std::get_if<DaemonStatusReply>(&before);
  const std::string path = canonical_path(project_path());
  if (status == nullptr || path.empty() || status->config_path == path) return ok_status();
  out << "the default project is " << path << " now; it was "
      << (status->config_path.empty() ? "none" : status->config_path) << '\n';
  return ok_status();
}

std::string Session::project_path() const {
  const std::string file = project_file(sources());
  if (file.empty()) return "";
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(file, failed);
  return failed ? file : absolute.string();
}

std::map<std::string, ProjectInfo> Session::known_projects() {
  std::map<std::string, ProjectInfo> found;
  const auto reply = call(ProjectsRequest{});
  const auto* known = reply ? std::get_if<ProjectsReply>(&*reply) : nullptr;
  if (known == nullptr) return found;
  for (const ProjectInfo& one : known->projects) found[one.id] = one;
  return found;
}

std::string Session::in_project(const std::string& id) {
  if (!all_projects) return "";
  if (!known_) known_ = known_projects();
  const auto found = known_->find(id);
  const bool has_path = found != known_->end() && !found->second.path.empty();
  return " in " + (has_path ? found->second.path : id);
}

std::string Session::message_of(const Request& request) const {
  const bool all = all_projects && about_of(request) == About::Records;
  return encode_request(request, all ? "*" : project_path(), secret_);
}

Result<std::string> Session::call_text(const Request& request, std::chrono::milliseconds timeout) {
  GPUEMU_TRY(connect());
  const bool needs_none = std::holds_alternative<PingRequest>(request) ||
                          std::holds_alternative<OpenSessionRequest>(request);
  if (secret_.empty() && !needs_none && !token_file().empty()) GPUEMU_TRY(open_session());
  auto reply = client_->request(message_of(request), timeout);
  if (!reply) client_.reset();
  return reply;
}

Result<Reply> Session::call(const Request& request) {
  return decode_reply(GPUEMU_TRY(call_text(request, kRequestTimeout)));
}

std::optional<Reply> Session::told(Result<Reply> reply) {
  if (!reply) {
    fail(reply.error());
    return std::nullopt;
  }
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) {
    fail(*failure);
    return std::nullopt;
  }
  return *std::move(reply);
}

std::optional<Reply> Session::ask(const Request& request) { return told(call(request)); }

std::optional<Reply> Session::answer(const Request& request) {
  const Status ready = ensure_daemon();
  if (!ready) {
    fail(ready.error());
    return std::nullopt;
  }
  return shown_reply(call_text(request, kRequestTimeout));
}

std::optional<Reply> Session::answer_storage(const Request& request) {
  if (daemon_answers()) return answer(request);
  if (!config()) return std::nullopt;
  return shown_reply(cli::answer_without_daemon({program_folder, working_folder, config_file, ""},
                                                {"--answer"}, message_of(request)));
}

std::optional<Reply> Session::answer_of_program(const std::vector<std::string>& options) {
  if (!config()) return std::nullopt;
  return shown_reply(
      cli::answer_without_daemon({program_folder, working_folder, config_file, ""}, options, ""));
}

std::optional<Reply> Session::shown_reply(const Result<std::string>& text) {
  if (!text) {
    fail(text.error());
    return std::nullopt;
  }
  auto reply = told(decode_reply(*text));
  if (reply && json()) print_json(*text);
  return reply;
}

ExitCode Session::fail(const Error& error) {
  if (json()) print_json(encode_reply(error_reply(error)));
  err << "gpuemu: " << error.message << '\n';
  return exit_code = error.code == ErrorCode::InvalidArgument ? ExitCode::Usage : ExitCode::Broken;
}

ExitCode Session::fail(const ErrorReply& reply) {
  if (json()) print_json(encode_reply(reply));
  err << "gpuemu: " << reply.message << '\n';
  return exit_code = blames_the_request(reply.code) ? ExitCode::Usage : ExitCode::Broken;
}

}  // namespace gpuemu::cli
