// `gpuemu ops`: lists what gpuemu.toml declares, and where, for editors. Runs nothing and uses no
// daemon.
#include <algorithm>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/project_ops.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/source_kind.h"
#include "runtime/compile/source_text/includes.h"

namespace gpuemu::cli {
namespace {

KernelHeaders headers_of(const Config& config) {
  std::vector<std::string> folders = config.include_dirs;
  std::ranges::copy(compile::include_dirs_of(config.compile_flags), std::back_inserter(folders));
  const std::string forced = compile::forced_includes(config.compile_flags);
  KernelHeaders headers;
  for (const KernelConfig& kernel : config.kernels) {
    if (!is_cuda_source(kernel.source)) continue;
    const auto source = read_file(kernel.source, kSourceBytesMax);
    if (!source) continue;  // A run reports the error in it.
    headers[kernel.name] = compile::included_files(kernel.source, forced + *source, folders);
  }
  return headers;
}

void show_ops(Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (session.json()) {
    session.out << project_ops_json(*config, headers_of(*config)) << '\n';
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
