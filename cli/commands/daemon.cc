// `gpuemu daemon start|stop|status|logs`.
#include <deque>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/session/launch_daemon.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kLogLinesMax = 1'000'000;

ExitCode start(bool background, Session& session) {
  const auto config = session.config();
  if (!config) return session.exit_code;
  const bool answers = session.daemon_answers();
  if (background || (answers && session.is_other_default())) {
    Status ready = session.ensure_daemon();
    if (ready) ready = session.make_default();
    if (!ready) return session.fail(ready.error());
    session.out << "daemon is running at " << config->socket_path << '\n';
    return session.exit_code = ExitCode::Ok;
  }
  if (answers) {
    return session.fail(
        error(ErrorCode::Unavailable, "a daemon is already running at {}", config->socket_path));
  }
  return session.fail(become_daemon({session.program_folder, session.working_folder,
                                     session.config_file, config->socket_path})
                          .error());
}

ExitCode stop(Session& session) {
  Status stopped = ok_status();
  if (session.daemon_answers()) {
    stopped = session.stop_daemon();
  } else if (const auto silent = session.silent_daemon()) {
    stopped = session.end_silent_daemon(*silent);
  }
  if (!stopped) return session.fail(stopped.error());
  session.out << "daemon is stopped\n";
  return session.exit_code = ExitCode::Ok;
}

ExitCode logs(size_t lines, Session& session) {
  const auto socket = session.socket_path();
  if (!socket) return session.fail(socket.error());
  const std::string path = (std::filesystem::path(*socket).parent_path() / "daemon.log").string();
  std::ifstream file(path);
  if (!file) {
    return session.fail(error(ErrorCode::NotFound,
                              "no log at {}; a daemon writes it once it has been started", path));
  }
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  for (const std::string& line : last) session.out << line << '\n';
  return session.exit_code = ExitCode::Ok;
}

}  // namespace

void add_daemon(Command app, Session& session) {
  Command command = app.command("daemon", "Start, stop and inspect the daemon");
  command.require_command();
  auto background = std::make_shared<bool>(false);
  Command starting =
      command.command("start", "Start a daemon for this project (commands do so by themselves)");
  starting.flag("--background", *background,
                "Return when it answers, instead of staying in the foreground");
  starting.callback([background, &session] { start(*background, session); });
  command.command("stop", "Stop the daemon").callback([&session] { stop(session); });
  Command status = command.command("status", "The same as `gpuemu status`");
  add_format(status, session);
  status.callback([&session] { show_status(session); });
  auto lines = std::make_shared<size_t>(50);
  Command showing = command.command("logs", "Show the end of the daemon's log");
  showing.option("-l,--lines", *lines, "Lines at most")
      .type_name("N")
      .check(whole_number(1, kLogLinesMax))
      .show_default();
  showing.callback([lines, &session] { logs(*lines, session); });
}

}  // namespace gpuemu::cli
