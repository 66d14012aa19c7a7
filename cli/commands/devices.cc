// `gpuemu devices`: lists the devices that can run kernels.
#include <ostream>

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/sessions.h"

namespace gpuemu::cli {
namespace {

void run(Session& session) {
  const auto reply = session.answer(DevicesRequest{});
  if (!reply || session.json()) return;
  const auto& all = std::get<DevicesReply>(*reply);
  for (const DeviceInfo& device : all.devices) {
    session.out << fmt::format("{}: {} {}, {} MiB\n", device.backend, device.name,
                               device.architecture, device.memory_bytes >> 20);
    session.out << fmt::format(
        "  {} multiprocessors; a block has {} KiB of shared memory and {} registers at most\n",
        device.multiprocessors, device.shared_bytes_per_block >> 10, device.registers_per_block);
    if (!device.driver_version.empty()) {
      session.out << fmt::format(
          "  driver for CUDA {}{}\n", device.driver_version,
          device.runtime_version.empty() ? "" : ", runtime " + device.runtime_version);
    }
    if (!device.dtypes.empty()) {
      session.out << fmt::format("  computes {}\n", fmt::join(device.dtypes, ", "));
    }
  }
  for (const std::string& line : remote_worker_lines(all.remote_workers)) {
    session.out << line << '\n';
  }
}

}  // namespace

void add_devices(Command app, Session& session) {
  Command command = app.command("devices", "List the devices that kernels can run on");
  add_format(command, session);
  command.callback([&session] { run(session); });
}

}  // namespace gpuemu::cli
