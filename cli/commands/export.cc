// `gpuemu export SEED`: writes a stored failure to a folder that runs without gpuemu.
#include <filesystem>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/export/export_folder.h"
#include "cli/scaffold/file_plan.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  FailureChoice failure;
  std::string output;
  bool force = false;
};

/// Fails if the folder exists, unless `force` is set; its contents must then not lead elsewhere.
Status check_folder(const fs::path& folder, bool force) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(folder, failed);
  if (!fs::exists(status)) return ok_status();
  if (!force) {
    return error(ErrorCode::InvalidArgument,
                 "{} exists; nothing was written. Choose another folder with --output, or --force "
                 "to write into it (files that are replaced keep a backup)",
                 folder.string());
  }
  if (!fs::is_directory(folder, failed)) {
    return error(ErrorCode::InvalidArgument, "{} is not a folder; choose another with --output",
                 folder.string());
  }
  for (const char* name : {"inputs", "expected", "bounds", "kernel"}) {
    if (!fs::is_symlink(fs::symlink_status(folder / name, failed))) continue;
    return error(ErrorCode::InvalidArgument,
                 "{} is a link, and files would be written where it leads; remove it",
                 (folder / name).string());
  }
  return ok_status();
}

void run(ExportOptions& options, Session& session) {
  if (!find_seed(options.failure, "export", session)) return;
  const uint64_t seed = *options.failure.seed;
  const std::string name =
      options.output.empty() ? fmt::format("gpuemu-export-{}", seed) : options.output;
  const fs::path folder = (fs::path(session.working_folder) / name).lexically_normal();
  if (const Status free = check_folder(folder, options.force); !free) {
    session.fail(free.error());
    return;
  }
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return;
  }
  const auto exported = session.ask_for(ExportCaseRequest{seed, options.failure.op});
  if (!exported) return;
  const auto written = write_files({folder, export_files(*exported)}, options.force);
  if (!written) {
    session.fail(written.error());
    return;
  }
  if (session.json()) {
    session.print_json(exported_json(*exported, folder.string(), written->written));
    return;
  }
  session.out << fmt::format("{} of {} in {}\n", counted(written->written.size(), "file"),
                             one_line(exported->result.op_name), one_line(folder.string()));
  session.out << "run there: python3 run.py, or make check on a machine with a GPU\n";
}

}  // namespace

void add_export(Command app, Session& session) {
  auto options = std::make_shared<ExportOptions>();
  Command command =
      app.command("export", "Write a failing case as a folder that runs without gpuemu");
  add_failure_choice(command, options->failure);
  command.option("-o,--output", options->output, "The folder to make (default: gpuemu-export-SEED)")
      .type_name("DIR");
  command.flag("--force", options->force, "Write into a folder that is there already");
  add_format(command, session);
  command.footer(
      "The folder has the kernel, its inputs, what is expected, and a C++ and a Python program\n"
      "that run them on a GPU; the Python one also on gpuemu's emulator.\n"
      "Example:\n"
      "  gpuemu export 6610381852238677408 --output bug && python3 bug/run.py");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
