// `gpuemu devices`: what kernels can run on.
#include <ostream>

#include "cli/commands/commands.h"

namespace gpuemu::cli {
namespace {

ExitCode run(const std::string& format, Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  const auto text = session.call_text(DevicesRequest{});
  if (!text) return session.fail(text.error());
  if (format == "json") session.out << *text << '\n';
  const auto reply = decode_reply(*text);
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  if (format == "json") return session.exit_code = ExitCode::Ok;
  for (const DeviceInfo& device : std::get<DevicesReply>(*reply).devices) {
    session.out << fmt::format("{}: {} {}, {} MiB\n", device.backend, device.name,
                               device.architecture, device.memory_bytes >> 20);
  }
  return session.exit_code = ExitCode::Ok;
}

}  // namespace

void add_devices(CLI::App& app, Session& session) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("devices", "List what kernels can run on");
  add_format(*command, *format);
  command->callback([format, &session] { run(*format, session); });
}

}  // namespace gpuemu::cli
