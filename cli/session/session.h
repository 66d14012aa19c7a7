// What every subcommand works with: configuration, the daemon, the streams. Subcommands are tested
// with streams of their own.
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

/// One thread.
class Session {
 public:
  /// The streams and the flag outlive the session.
  Session(std::ostream& output, std::ostream& errors, const std::atomic<bool>& stop)
      : out(output), err(errors), interrupted(stop) {}

  std::ostream& out;
  std::ostream& err;
  const std::atomic<bool>& interrupted;  ///< Ctrl-C was pressed.
  std::map<std::string, std::string> environment;
  std::string working_folder;
  std::string program_folder;            ///< Where gpuemu-daemon lies beside this program.
  bool terminal = false;                 ///< Progress may be drawn on err.
  std::optional<TerminalStyle> style;    ///< out is a terminal.
  bool same_streams = false;             ///< out and err end in one place: nothing is said on both.
  std::string config_file;               ///< --config
  std::string format = "text";           ///< --format
  bool stream = false;                   ///< --stream
  bool all_projects = false;             ///< --all-projects: list the records of all projects
  std::optional<EventLines> events;      ///< After begin_stream(), where --stream is given.
  std::string session_name;              ///< --session: what runs is in a session of this name
  std::optional<double> session_weight;  ///< --weight
  bool no_workers = false;               ///< A daemon that is started has no worker processes.
  bool verbose = false;
  ExitCode exit_code = ExitCode::Ok;

  bool json() const { return format == "json"; }
  /// A text report as `out` gets it: on a terminal with colours, aligned and, but for `short`,
  /// broken. Programs read the lines of `short` on a terminal too: tasks of editors have one.
  std::string shown(const std::string& report) const {
    if (!style) return report;
    return for_terminal(report, {style->colours, format == "short" ? 0 : style->columns});
  }

  /// A document of --format json, with seeds as text too.
  void print_json(const std::string& document);
  /// False when --stream does not go with the other options, which has been told. `output` is that
  /// of --output.
  bool stream_fits(const std::string& output = "");
  /// With --stream, the first line.
  void begin_stream(const RunPlan& plan);

  /// The effective configuration. When gpuemu.toml is wrong every problem has been told.
  std::optional<Config> config();
  /// As config(), for commands that need a project: reports when there is none.
  std::optional<Config> project();
  /// Whether the project has an op of this name; false without a project or with a wrong one.
  bool project_has_op(const std::string& name) const;
  /// Makes the kernels that come with gpuemu the project. NotFound where its files are not
  /// installed.
  Status use_builtin_project();
  /// Where the daemon listens; the user's own place when the project's file is wrong.
  Result<std::string> socket_path();

  /// Starts a daemon when none runs, and restarts an idle one of another version or database.
  /// Unavailable when such a daemon is busy. Prints the daemon's notes on the project. Opens the
  /// session that --session names.
  Status ensure_daemon();
  /// Takes note of where a reply says that kernels ran.
  void note_execution(const std::string& where) { runs_inside_ |= where == "local"; }
  /// After a run: notes that its kernels ran inside of the daemon, where they did.
  void tell_where_kernels_ran();
  /// Whether the daemon's default project is another one.
  bool is_other_default();
  /// Makes this project the default one, and prints the change.
  Status make_default();
  /// Ends a daemon that answers and waits until its process is gone.
  Status stop_daemon();
  /// InvalidArgument, Unavailable or Timeout; an Error reply of the daemon is a reply.
  Result<Reply> call(const Request& request);
  /// As call(); nothing when that failed or the daemon answered with Error, which has been told.
  std::optional<Reply> ask(const Request& request);
  /// The reply of a request, in its own type.
  template <typename R>
  std::optional<typename RequestTraits<R>::Reply> ask_for(const R& request) {
    auto reply = ask(request);
    if (!reply) return std::nullopt;
    return std::get<typename RequestTraits<R>::Reply>(*std::move(reply));
  }
  /// For commands that are one request: starts a daemon if need be, asks, and in JSON prints the
  /// answer as it came. Nothing when that failed, which has been told.
  std::optional<Reply> answer(const Request& request);
  /// As answer(), for what needs no daemon: asks one that runs, and starts none.
  std::optional<Reply> answer_storage(const Request& request);
  /// As answer_storage(), for what works on a database that no daemon has open: the daemon's
  /// program with these options.
  std::optional<Reply> answer_of_program(const std::vector<std::string>& options);
  /// The daemon's projects by id; empty when it does not list them.
  std::map<std::string, ProjectInfo> known_projects();
  /// With --all-projects, " in PATH" for the project with this id; else "".
  std::string in_project(const std::string& id);
  /// True when a daemon answers now; starts none.
  bool daemon_answers();
  /// What is wrong with the database while no daemon runs; nothing where it is whole.
  std::optional<std::string> database_problem();
  /// The process of a daemon that should answer here and does not: it is suspended or very busy, or
  /// its socket was deleted.
  std::optional<pid_t> silent_daemon() const;
  /// Asks that process to end, by a signal, and waits until it is gone.
  Status end_silent_daemon(pid_t daemon);
  /// Ends that process whatever it does, and waits until it is gone.
  Status kill_daemon(pid_t daemon);

  /// Says what went wrong, in JSON as a document of its own too, and maps it to an exit code.
  ExitCode fail(const Error& error);
  ExitCode fail(const ErrorReply& reply);

 private:
  ConfigSources sources() const;
  /// Read once: a command goes by one state of the file.
  const ConfigResult& load() const;
  Result<Config> programs_config() const;
  Status connect();
  Status start_daemon();
  Status start_fitting_daemon();
  Status open_session();
  /// What holds the token that the daemon asks for; "": it asks for none.
  std::string token_file() const;
  Result<std::string> call_text(const Request& request, std::chrono::milliseconds timeout);
  /// Nothing for an error and an Error reply, which it tells.
  std::optional<Reply> told(Result<Reply> reply);
  /// As above, of a message; in JSON prints it as it came.
  std::optional<Reply> shown_reply(const Result<std::string>& text);
  /// The request for the project that it is about.
  std::string message_of(const Request& request) const;
  void tell_notes(const DaemonStatusReply& status);
  /// The gpuemu.toml that requests name as their project, valid or not; "" outside of a project.
  std::string project_path() const;
  std::optional<Client> client_;
  bool runs_inside_ = false;  ///< The daemon runs kernels itself where no remote worker does.
  std::string secret_;        ///< Names the session that was opened; "": none.
  std::optional<std::map<std::string, ProjectInfo>> known_;  ///< For in_project().
  struct Loaded {
    ConfigSources sources;
    ConfigResult result;
  };
  mutable std::optional<Loaded> loaded_;
};

}  // namespace gpuemu::cli
