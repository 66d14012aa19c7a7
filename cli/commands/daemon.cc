// `gpuemu daemon start|stop|status|logs|certs`.
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/session/launch_daemon.h"
#include "common/base/text.h"
#include "common/tls/certificates.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kLogLinesMax = 1'000'000;
constexpr int64_t kCertificateDays = 365, kCertificateDaysMax = 36'500;

struct CertificateWish {
  std::string folder;
  std::vector<std::string> hosts;
  std::optional<int64_t> days;
};

struct StartOptions {
  bool background = false, no_workers = false;
};

/// Rejects options that a running daemon cannot adopt, because its workers stay as they are.
Status check_running(const StartOptions& options, Session& session) {
  if (!options.no_workers) return ok_status();
  const Reply reply = GPUEMU_TRY(session.call(DaemonStatusRequest{}));
  const auto* const status = std::get_if<DaemonStatusReply>(&reply);
  if (status == nullptr || status->workers == 0) return ok_status();
  return error(ErrorCode::Unavailable,
               "a daemon with {} is already running at {}; `gpuemu daemon stop` ends it, "
               "then --no-workers starts one without",
               counted(status->workers, "worker"), status->socket_path);
}

ExitCode start(const StartOptions& options, Session& session) {
  const auto config = session.config();
  if (!config) return session.exit_code;
  const bool background = options.background;
  const bool answers = session.daemon_answers();
  if (answers) {
    if (const Status fits = check_running(options, session); !fits) {
      return session.fail(fits.error());
    }
  }
  session.no_workers = options.no_workers;
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
                                     session.config_file, config->socket_path, options.no_workers})
                          .error());
}

/// `now` kills a daemon that has not ended a few seconds after the stop request.
ExitCode stop(bool now, Session& session) {
  Status stopped = ok_status();
  if (session.daemon_answers()) {
    stopped = session.stop_daemon();
  } else if (const auto silent = session.silent_daemon()) {
    stopped = session.end_silent_daemon(*silent);
  }
  const bool still_runs = !stopped && stopped.error().code == ErrorCode::Timeout;
  const auto process = still_runs && now ? session.silent_daemon() : std::nullopt;
  if (process) stopped = session.kill_daemon(*process);
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

ExitCode make_certificates_of(const CertificateWish& wish, Session& session) {
  const CertificateOptions options{.hosts = wish.hosts.empty() ? default_hosts() : wish.hosts,
                                   .days = wish.days.value_or(kCertificateDays)};
  if (std::abs(options.days) > kCertificateDaysMax) {
    return session.fail(error(ErrorCode::InvalidArgument, "--days: {}, expected at most {}",
                              options.days, kCertificateDaysMax));
  }
  const std::filesystem::path folder = session.working_folder / std::filesystem::path(wish.folder);
  const Status made = make_certificates(folder, options);
  if (!made) return session.fail(made.error());
  session.out << fmt::format(
      "{}: ca.pem, daemon.pem, daemon.key, worker.pem, worker.key, token; for {}; {}\n",
      wish.folder, fmt::join(options.hosts, ", "),
      options.days > 0 ? fmt::format("valid for {} days", options.days) : "expired");
  return session.exit_code = ExitCode::Ok;
}

void add_certs(Command daemon, Session& session) {
  auto wish = std::make_shared<CertificateWish>();
  Command command = daemon.command(
      "certs", "Make certificates and a token for a daemon and workers on other machines");
  command.option("folder", wish->folder, "Where they go").type_name("FOLDER").required();
  command
      .option("--host", wish->hosts,
              "Name or address by which workers reach the daemon; may be given several times "
              "(default: localhost and the name of this machine)")
      .type_name("NAME")
      .check(not_empty())
      .one_word();
  command.option("--days", wish->days, "How long they are valid (default: 365)").type_name("N");
  command.callback([wish, &session] { make_certificates_of(*wish, session); });
}

}  // namespace

void add_daemon(Command app, Session& session) {
  Command command = app.command("daemon", "Start, stop and inspect the daemon");
  command.require_command();
  auto options = std::make_shared<StartOptions>();
  Command starting =
      command.command("start", "Start a daemon for this project (commands do so by themselves)");
  starting.flag("--background", options->background,
                "Return when it answers, instead of staying in the foreground");
  starting.flag("--no-workers", options->no_workers,
                "Start no worker processes: kernels run on remote workers, or in the daemon");
  starting.callback([options, &session] { start(*options, session); });
  auto now = std::make_shared<bool>(false);
  Command stopping = command.command("stop", "Stop the daemon");
  stopping.flag("--now", *now, "Kill it if it has not ended after 5 s; no stored data is lost");
  stopping.callback([now, &session] { stop(*now, session); });
  Command status = command.command("status", "The same as `gpuemu status`");
  add_format(status, session);
  status.callback([&session] { show_status(session); });
  auto lines = std::make_shared<size_t>(50);
  Command showing = command.command("logs", "Show the end of the daemon's log");
  showing.option("-l,--lines", *lines, "Maximum number of lines")
      .type_name("N")
      .check(whole_number(1, kLogLinesMax))
      .show_default();
  showing.callback([lines, &session] { logs(*lines, session); });
  add_certs(command, session);
}

}  // namespace gpuemu::cli
