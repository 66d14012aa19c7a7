// `gpuemu ops`: lists what gpuemu.toml declares, and where, for editors. Runs nothing and uses no
// daemon.
#include <ostream>

#include "cli/archive/needed_files.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/project_ops.h"

namespace gpuemu::cli {
namespace {

void show_ops(Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (session.json()) {
    session.out << project_ops_json(*config, headers_by_kernel(*config)) << '\n';
  } else {
    print_project_ops(*config, session.out);
  }
}

}  // namespace

void add_ops(Command app, Session& session) {
  Command command = app.command("ops", "List the ops and kernels of gpuemu.toml, run nothing");
  add_format(command, session);
  command.callback([&session] { show_ops(session); });
}

}  // namespace gpuemu::cli
