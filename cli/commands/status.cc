// `gpuemu status` and `gpuemu version`.
#include <ostream>

#include "cli/commands/commands.h"

namespace gpuemu::cli {
namespace {

ExitCode run(const std::string& format, Session& session) {
  if (!session.daemon_answers()) {
    session.out << (format == "json" ? "{\"daemon\":\"stopped\"}\n" : "Daemon: stopped\n");
    return session.exit_code = ExitCode::Ok;
  }
  const auto text = session.call_text(DaemonStatusRequest{});
  if (!text) return session.fail(text.error());
  if (format == "json") {
    session.out << *text << '\n';
    return session.exit_code = ExitCode::Ok;
  }
  const auto reply = decode_reply(*text);
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  const auto& status = std::get<DaemonStatusReply>(*reply);
  session.out << fmt::format("Daemon: running (v{}, uptime {}s)\n", status.version,
                             status.uptime_secs);
  session.out << "socket: " << status.socket_path
              << "\nproject: " << (status.config_path.empty() ? "none" : status.config_path)
              << "\ndatabase: " << status.storage_path << '\n';
  session.out << fmt::format("process: {}, {} lanes, {} jobs, backend {}\n", status.pid,
                             status.workers, status.jobs_running, status.backend);
  return session.exit_code = ExitCode::Ok;
}

}  // namespace

void add_status(CLI::App& app, Session& session) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("status", "Say whether the daemon runs");
  add_format(*command, *format);
  command->callback([format, &session] { run(*format, session); });
  app.add_subcommand("version", "Print the version")->callback([&session] {
    session.out << "gpuemu v" << GPUEMU_VERSION << '\n';
  });
}

}  // namespace gpuemu::cli
