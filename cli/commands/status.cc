// `gpuemu status` and `gpuemu version`.
#include <algorithm>
#include <ostream>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/sessions.h"
#include "cli/session/launch_daemon.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// Reports a daemon that does not answer. Editors search the text for the word "running", so it
/// must not appear here.
ExitCode show_silent(pid_t daemon, Session& session) {
  const bool suspended = process_is_suspended(daemon);
  if (session.json()) {
    session.out << fmt::format("{{\"daemon\":\"silent\",\"pid\":{},\"suspended\":{}}}\n", daemon,
                               suspended);
  } else {
    session.out << fmt::format("Daemon: silent (process {})\n", daemon);
  }
  session.err << fmt::format(
      "gpuemu: the daemon (process {}) does not answer: {}; `gpuemu daemon stop` ends it\n", daemon,
      suspended ? fmt::format("a signal has suspended it, `kill -CONT {}` lets it continue", daemon)
                : "its socket was deleted, or it is too busy");
  return session.exit_code = ExitCode::Broken;
}

/// Prints the open projects in the order of their paths; with --all-projects also the closed ones.
void show_projects(Session& session) {
  std::vector<ProjectInfo> projects;
  for (const auto& [id, one] : session.known_projects()) projects.push_back(one);
  std::ranges::sort(projects, {}, &ProjectInfo::path);
  for (const ProjectInfo& one : projects) {
    if (!one.open && !session.all_projects) continue;
    session.out << (one.open ? "open:     " : "closed:   ")
                << (one.path.empty() ? one.id : one_line(one.path)) << '\n';
  }
}

}  // namespace

std::string text_of_workers(const DaemonStatusReply& status) {
  if (status.execution == "local") return "no workers (kernels run in the daemon)";
  if (status.execution == "remote") return "no workers of its own";
  return counted(status.workers, "worker");
}

ExitCode show_status(Session& session) {
  if (!session.daemon_answers()) {
    if (const auto silent = session.silent_daemon()) return show_silent(*silent, session);
    session.out << (session.json() ? "{\"daemon\":\"stopped\"}\n" : "Daemon: stopped\n");
    if (const auto problem = session.database_problem()) {
      session.err << "gpuemu: " << *problem << '\n';
      return session.exit_code = ExitCode::Broken;
    }
    return session.exit_code = ExitCode::Ok;
  }
  const auto reply = session.call(DaemonStatusRequest{});
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  const auto& status = std::get<DaemonStatusReply>(*reply);
  for (const std::string& note : status.notes) session.err << "note: " << note << '\n';
  if (!status.damage.empty()) {
    session.err << "gpuemu: " << status.damage << '\n';
    session.exit_code = ExitCode::Broken;
  }
  if (session.json()) {
    const auto document = session.all_projects ? session.call(ProjectsRequest{}) : reply;
    if (!document) return session.fail(document.error());
    session.print_json(encode_reply(*document));
    return session.exit_code;
  }
  session.out << fmt::format("Daemon: running (v{}, uptime {}s)\n", status.version,
                             status.uptime_secs);
  session.out << "socket:   " << status.socket_path
              << "\nproject:  " << (status.config_path.empty() ? "none" : status.config_path)
              << "\ndatabase: " << status.storage_path << '\n';
  session.out << fmt::format("process:  {}, {}, {} jobs, backend {}\n", status.pid,
                             text_of_workers(status), status.jobs_running, status.backend);
  show_projects(session);
  for (const std::string& line : remote_worker_lines(status.remote_workers)) {
    session.out << line << '\n';
  }
  const std::string own = daemon_build({session.program_folder, "", "", ""});
  if (!own.empty() && status.build != own) {
    session.out << "build:    differs from this program's; the next command restarts the daemon\n";
  }
  return session.exit_code;
}

void add_status(Command app, Session& session) {
  Command command = app.command("status", "Show whether a daemon runs, and for which project");
  add_all_projects(command, session);
  add_format(command, session);
  command.callback([&session] { show_status(session); });
  app.command("version", "Print the version").callback([&session] {
    session.out << "gpuemu v" << GPUEMU_VERSION << '\n';
  });
}

}  // namespace gpuemu::cli
