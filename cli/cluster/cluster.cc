#include "cli/cluster/cluster.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cluster/cluster_lines.h"
#include "cli/run/python_package.h"
#include "common/base/unique_fd.h"

namespace gpuemu::cli {
namespace {

constexpr int kLookMs = 100;

/// Returns the project's Python, which also runs its references.
std::string python_of(const Config& config) {
  if (!config.python.empty()) return config.python;
  const std::string own = config.folder + "/.venv/bin/python";
  return ::access(own.c_str(), X_OK) == 0 ? own : "python3";
}

/// Returns an environment with this installation's package and program, so that both sides have the
/// same version.
std::vector<std::string> environment_for(const Session& session, const Config& config) {
  std::map<std::string, std::string> variables = session.environment;
  if (const std::string root = python_package_root(session.program_folder); !root.empty()) {
    std::string& path = variables["PYTHONPATH"];
    path = path.empty() ? root : root + ":" + path;
  }
  variables["GPUEMU_CLI"] = session.program_folder + "/gpuemu";
  variables["GPUEMU_CONFIG"] = config.file;
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> made;
  for (std::string& word : words) made.push_back(word.data());
  made.push_back(nullptr);
  return made;
}

/// The Python process. It ends when its standard input is closed.
class PythonRun {
 public:
  static Result<PythonRun> start(std::vector<std::string> command,
                                 std::vector<std::string> environment) {
    int in[2] = {}, out[2] = {};
    if (::pipe2(in, O_CLOEXEC) != 0) return no_process();
    UniqueFd in_read(in[0]), in_write(in[1]);
    if (::pipe2(out, O_CLOEXEC) != 0) return no_process();
    UniqueFd out_read(out[0]), out_write(out[1]);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_write.get(), STDOUT_FILENO);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, command[0].c_str(), &files, nullptr,
                                      pointers_to(command).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
      return error(ErrorCode::Unavailable,
                   "--cluster needs Python, and {} cannot be run: {}; set runtime.python",
                   command[0], std::strerror(failed));
    }
    return PythonRun(child, std::move(in_write), std::move(out_read));
  }
  PythonRun(PythonRun&& other) noexcept
      : child_(std::exchange(other.child_, 0)),
        lifeline_(std::move(other.lifeline_)),
        output_(std::move(other.output_)) {}
  PythonRun& operator=(PythonRun&&) = delete;
  ~PythonRun() {
    lifeline_.reset();
    wait();
  }

  void interrupt() const { ::kill(child_, SIGINT); }
  /// Returns what it wrote since the last call; nothing at its end.
  std::optional<std::string> read() {
    pollfd waits{output_.get(), POLLIN, 0};
    if (::poll(&waits, 1, kLookMs) <= 0) return "";
    char part[65536];
    const ssize_t got = ::read(output_.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) return "";
    if (got <= 0) return std::nullopt;
    return std::string(part, static_cast<size_t>(got));
  }
  /// Returns text such as "exit code 3" or "signal 9".
  std::string wait() {
    if (child_ == 0) return "";
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                               : fmt::format("exit code {}", WEXITSTATUS(status));
  }

 private:
  PythonRun(pid_t child, UniqueFd lifeline, UniqueFd output)
      : child_(child), lifeline_(std::move(lifeline)), output_(std::move(output)) {}
  static Error no_process() {
    return error(ErrorCode::ResourceExhausted, "cannot start a process: {}", std::strerror(errno));
  }

  pid_t child_;
  UniqueFd lifeline_, output_;
};

/// Handles the output lines of one run.
class ClusterRun {
 public:
  ClusterRun(Session& session, const std::function<void(JobResult)>& on_result)
      : session_(session), on_result_(on_result) {}

  /// Handles one line; returns false after the last.
  bool take(const ClusterLine& line) {
    if (line.word != ClusterWord::Progress) clear();
    switch (line.word) {
      case ClusterWord::Result:
        take_result(line.text);
        break;
      case ClusterWord::Progress:
        draw(line.text);
        break;
      case ClusterWord::Warning:
        session_.err << "warning: " << line.text << '\n';
        break;
      case ClusterWord::Note:
        if (!session_.json()) session_.err << "note: " << line.text << '\n';
        break;
      case ClusterWord::Ended:
        ended_ = line.text;
        break;
      case ClusterWord::Usage:
        problem_ = Error{ErrorCode::InvalidArgument, line.text};
        break;
      case ClusterWord::Failed:
        problem_ = Error{ErrorCode::Unavailable, line.text};
        break;
      case ClusterWord::Done:
        is_done_ = true;
        break;
    }
    return !is_done_ && !problem_;
  }
  bool is_over() const { return is_done_ || problem_; }
  Status outcome() const {
    if (problem_) return *problem_;
    return ok_status();
  }

 private:
  void take_result(const std::string& json) {
    auto reply = decode_reply(json);
    if (!reply) {
      problem_ = Error{ErrorCode::Unavailable,
                       "the Python package gpuemu wrote no reply: " + reply.error().message};
      return;
    }
    JobResult result{*std::move(reply), json, ended_ == "interrupted", false};
    result.incomplete = !ended_.empty() && !result.interrupted;
    on_result_(std::move(result));
  }
  void draw(const std::string& text) {
    if (!session_.terminal) return;
    session_.err << '\r' << text << "\x1b[K" << std::flush;
    is_drawn_ = true;
  }
  void clear() {
    if (std::exchange(is_drawn_, false)) session_.err << "\r\x1b[K" << std::flush;
  }

  Session& session_;
  const std::function<void(JobResult)>& on_result_;
  std::string ended_;
  std::optional<Error> problem_;
  bool is_done_ = false, is_drawn_ = false;
};

}  // namespace

void add_cluster(Command command, ClusterOptions& options) {
  Option address =
      command
          .option("--cluster", options.address,
                  "Run the cases on a Ray cluster: the one of this machine (auto),\nHOST:PORT, "
                  "ray://HOST:PORT, or N nodes here for trying (local:N)")
          .type_name("ADDRESS")
          .check([](std::string& text) { return cluster_address_problem(text); });
  command
      .option("--cluster-resources", options.resources,
              "What each process takes of the cluster beside its core or GPU,\nas in '{\"a100\": "
              "1}'")
      .type_name("JSON")
      .needs(address);
}

Status check_cluster(const ClusterOptions& options, const Session& session) {
  if (!options.is_wanted()) return ok_status();
  if (session.stream) {
    return error(ErrorCode::InvalidArgument,
                 "--stream does not go with --cluster: results arrive in pieces; leave one out");
  }
  if (!session.session_name.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "--session does not go with --cluster: no lane of this machine's daemon is used; "
                 "leave one out");
  }
  return ok_status();
}

Status run_on_cluster(Session& session, const ClusterOptions& options, const Config& config,
                      const std::vector<std::string>& words,
                      const std::function<void(JobResult)>& on_result) {
  std::vector<std::string> command = {python_of(config), "-m", "gpuemu.cluster"};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(),
                 {"--project=" + config.file, "--socket=" + GPUEMU_TRY(session.socket_path()),
                  "--address=" + options.address});
  if (!options.resources.empty()) command.push_back("--resources=" + options.resources);
  if (session.terminal) command.emplace_back("--progress");
  PythonRun python = GPUEMU_TRY(PythonRun::start(command, environment_for(session, config)));
  ClusterRun run(session, on_result);
  LineReader reader;
  bool is_told = false;
  while (!run.is_over()) {
    if (session.interrupted && !std::exchange(is_told, true)) python.interrupt();
    const std::optional<std::string> bytes = python.read();
    if (!bytes) break;
    for (const std::string& text : reader.add(*bytes)) {
      const auto line = cluster_line(text);
      if (line && !run.take(*line)) break;
    }
  }
  const bool is_over = run.is_over();
  const std::string how = python.wait();
  if (is_over) return run.outcome();
  return error(ErrorCode::Unavailable,
               "the Python of --cluster ended with {} before the run was done; it has said why "
               "above, and needs the packages numpy, pynng and ray: pip install gpuemu[ray]",
               how);
}

}  // namespace gpuemu::cli
