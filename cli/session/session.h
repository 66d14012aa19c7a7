// The context of every subcommand: configuration, daemon, streams. Tests pass streams of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include <sys/types.h>

#include "cli/report/event_lines.h"
#include "cli/report/terminal_text.h"
#include "common/codec/json_codec.h"
#include "common/config/config.h"
#include "common/transport/client.h"

namespace gpuemu::cli {

enum class ExitCode { Ok = 0, Findings = 1, Usage = 2, Broken = 3, Interrupted = 130 };

/// Used by one thread.
class Session {
 public:
  /// The streams and the flag must outlive the session.
  Session(std::ostream& output, std::ostream& errors, const std::atomic<bool>& stop)
      : out(output), err(errors), interrupted(stop) {}

  std::ostream& out;
  std::ostream& err;
  const std::atomic<bool>& interrupted;  ///< Ctrl-C was pressed.
  std::map<std::string, std::string> environment;
  std::string working_folder;
  std::string program_folder;          ///< gpuemu-daemon is in this folder too.
  bool terminal = false;               ///< Whether progress may be drawn on err.
  std::optional<TerminalStyle> style;  ///< Set if out is a terminal.
  bool same_streams = false;    ///< out and err are the same file, so nothing is printed on both.
  std::string config_file;      ///< --config
  std::string format = "text";  ///< --format
  bool stream = false;          ///< --stream
  bool all_projects = false;    ///< --all-projects: list the records of all projects
  std::optional<EventLines> events;      ///< Set by begin_stream() if --stream is given.
  std::string session_name;              ///< --session: the name of the session for the work.
  std::optional<double> session_weight;  ///< --weight
  bool no_workers = false;  ///< A daemon started by this command has no worker processes.
  bool verbose = false;
  ExitCode exit_code = ExitCode::Ok;

  bool json() const { return format == "json"; }
  /// Returns a text report as `out` shows it: on a terminal with colours and alignment, and wrapped
  /// except for `short`, whose lines are also read by programs, because editor tasks have a
  /// terminal.
  std::string shown(const std::string& report) const {
    if (!style) return report;
    return for_terminal(report, {style->colours, format == "short" ? 0 : style->columns});
  }

  /// Prints a document of --format json, with seeds also as text.
  void print_json(const std::string& document);
  /// Returns false if --stream cannot be combined with the other options, which has been reported.
  /// `output` is the value of --output.
  bool stream_fits(const std::string& output = "");
  /// With --stream, prints the first line.
  void begin_stream(const RunPlan& plan);

  /// Returns the effective configuration. Problems in gpuemu.toml are reported.
  std::optional<Config> config();
  /// As config(), for commands that need a project: reports if there is none.
  std::optional<Config> project();
  /// Returns whether the project has an op of this name; false without a project or with an invalid
  /// one.
  bool project_has_op(const std::string& name) const;
  /// Uses the kernels that come with gpuemu as the project. NotFound if their files are not
  /// installed.
  Status use_builtin_project();
  /// Returns the daemon's socket; the user's default if the project's file is invalid.
  Result<std::string> socket_path();

  /// Starts a daemon if none runs, and restarts an idle one of another version or database.
  /// Unavailable if such a daemon is busy. Prints the daemon's notes on the project. Opens the
  /// session that --session names.
  Status ensure_daemon();
  /// Records where, according to a reply, the kernels ran.
  void note_execution(const std::string& where) { runs_inside_ |= where == "local"; }
  /// After a run, prints a note if its kernels ran inside the daemon.
  void tell_where_kernels_ran();
  /// Returns whether another project is the daemon's default.
  bool is_other_default();
  /// Makes this project the default one, and prints the change.
  Status make_default();
  /// Stops a daemon that answers, and waits until its process is gone.
  Status stop_daemon();
  /// Returns InvalidArgument, Unavailable or Timeout; an Error reply of the daemon counts as a
  /// reply.
  Result<Reply> call(const Request& request);
  /// As call(), but returns nothing if that failed or the daemon answered with Error, which has
  /// been reported.
  std::optional<Reply> ask(const Request& request);
  /// As ask(), with the reply in its own type.
  template <typename R>
  std::optional<typename RequestTraits<R>::Reply> ask_for(const R& request) {
    auto reply = ask(request);
    if (!reply) return std::nullopt;
    return std::get<typename RequestTraits<R>::Reply>(*std::move(reply));
  }
  /// For commands that consist of one request: starts a daemon if necessary, sends the request, and
  /// with JSON prints the answer unchanged. Returns nothing on failure, which has been reported.
  std::optional<Reply> answer(const Request& request);
  /// As answer(), for requests that need no daemon: uses a running one, and starts none.
  std::optional<Reply> answer_storage(const Request& request);
  /// As answer_storage(), for work on a database that no daemon has open: runs the daemon's program
  /// with these options.
  std::optional<Reply> answer_of_program(const std::vector<std::string>& options);
  /// Returns the daemon's projects by id; empty if it does not list them.
  std::map<std::string, ProjectInfo> known_projects();
  /// With --all-projects, returns " in PATH" for the project with this id; otherwise "".
  std::string in_project(const std::string& id);
  /// Returns true if a daemon answers now; starts none.
  bool daemon_answers();
  /// Returns the problem with the database while no daemon runs; nothing if it is intact.
  std::optional<std::string> database_problem();
  /// Returns the process of a daemon that should answer but does not: it is suspended or very busy,
  /// or its socket was deleted.
  std::optional<pid_t> silent_daemon() const;
  /// Sends that process a signal to end, and waits until it is gone.
  Status end_silent_daemon(pid_t daemon);
  /// Kills that process, and waits until it is gone.
  Status kill_daemon(pid_t daemon);

  /// Reports the error, with JSON also as a document, and returns its exit code.
  ExitCode fail(const Error& error);
  ExitCode fail(const ErrorReply& reply);

 private:
  ConfigSources sources() const;
  /// Reads the file once, so that a command uses a single state of it.
  const ConfigResult& load() const;
  Result<Config> programs_config() const;
  Status connect();
  Status start_daemon();
  Status start_fitting_daemon();
  Status open_session();
  /// Returns the file with the token that the daemon requires; "" if it requires none.
  std::string token_file() const;
  Result<std::string> call_text(const Request& request, std::chrono::milliseconds timeout);
  /// Returns nothing for an error or an Error reply, which it reports.
  std::optional<Reply> told(Result<Reply> reply);
  /// As above, for a message; with JSON, prints it unchanged.
  std::optional<Reply> shown_reply(const Result<std::string>& text);
  /// Returns the message for a request, with the project that it refers to.
  std::string message_of(const Request& request) const;
  void tell_notes(const DaemonStatusReply& status);
  /// Returns the gpuemu.toml that requests name as their project, valid or not; "" outside a
  /// project.
  std::string project_path() const;
  std::optional<Client> client_;
  bool runs_inside_ = false;  ///< Whether the daemon runs kernels itself where no remote worker
                              ///< does.
  std::string secret_;        ///< Secret of the session that was opened; "": none.
  std::optional<std::map<std::string, ProjectInfo>> known_;  ///< For in_project().
  struct Loaded {
    ConfigSources sources;
    ConfigResult result;
  };
  mutable std::optional<Loaded> loaded_;
};

}  // namespace gpuemu::cli
