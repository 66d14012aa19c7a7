// `gpuemu status` and `gpuemu version`.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {

ExitCode show_status(Session& session) {
  if (!session.daemon_answers()) {
    session.out << (session.json() ? "{\"daemon\":\"stopped\"}\n" : "Daemon: stopped\n");
    return session.exit_code = ExitCode::Ok;
  }
  const auto reply = session.call(DaemonStatusRequest{});
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  if (session.json()) {
    session.out << encode_reply(*reply) << '\n';
    return session.exit_code = ExitCode::Ok;
  }
  const auto& status = std::get<DaemonStatusReply>(*reply);
  session.out << fmt::format("Daemon: running (v{}, uptime {}s)\n", status.version,
                             status.uptime_secs);
  session.out << "socket:   " << status.socket_path
              << "\nproject:  " << (status.config_path.empty() ? "none" : status.config_path)
              << "\ndatabase: " << status.storage_path << '\n';
  session.out << fmt::format("process:  {}, {} workers, {} jobs, backend {}\n", status.pid,
                             status.workers, status.jobs_running, status.backend);
  return session.exit_code = ExitCode::Ok;
}

void add_status(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("status", "Say whether a daemon runs, and for what");
  add_format(*command, session);
  command->callback([&session] { show_status(session); });
  app.add_subcommand("version", "Print the version")->callback([&session] {
    session.out << "gpuemu v" << GPUEMU_VERSION << '\n';
  });
}

}  // namespace gpuemu::cli
