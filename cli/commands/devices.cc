// `gpuemu devices`: what kernels can run on.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

void run(Session& session) {
  const auto reply = session.answer(DevicesRequest{});
  if (!reply || session.json()) return;
  for (const DeviceInfo& device : std::get<DevicesReply>(*reply).devices) {
    session.out << fmt::format("{}: {} {}, {} MiB\n", device.backend, device.name,
                               device.architecture, device.memory_bytes >> 20);
  }
}

}  // namespace

void add_devices(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("devices", "List what kernels can run on");
  add_format(*command, session);
  command->callback([&session] { run(session); });
}

}  // namespace gpuemu::cli
