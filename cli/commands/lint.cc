// `gpuemu lint [FILES]`: compares the resources that kernels use on a multiprocessor with their
// limits.
#include "cli/report/lint.h"

#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

struct LintOptions {
  std::vector<std::string> files, kernels, archs;
  std::string output;
  uint32_t threads = 0;
  uint64_t shared = 0;
};

Result<std::string> readable_file(const std::string& name, const std::string& folder) {
  std::error_code failed;
  const fs::path path = (fs::path(folder) / name).lexically_normal();
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) {
    return error(
        ErrorCode::InvalidArgument,
        "no file {}; lint takes .cu, .ptx, .cubin, .fatbin, object files and libraries, and a "
        "kernel of gpuemu.toml with --kernel",
        path.string());
  }
  if (!fs::is_directory(status) && !fs::is_regular_file(status)) {
    return error(ErrorCode::InvalidArgument, "{} is a device, a pipe or a socket; expected a file",
                 path.string());
  }
  if (fs::is_directory(status)) {
    return error(ErrorCode::InvalidArgument,
                 "{} is a folder; name the files in it, as in `gpuemu lint {}`", path.string(),
                 (fs::path(name) / "*.cu").string());
  }
  return path.string();
}

Result<InspectRequest> request_of(const LintOptions& options, const Session& session) {
  InspectRequest request;
  request.kernels = options.kernels;
  request.archs = options.archs;
  request.threads = options.threads;
  request.dynamic_shared_bytes = options.shared;
  request.stream = true;
  for (const std::string& file : options.files) {
    request.files.push_back(GPUEMU_TRY(readable_file(file, session.working_folder)));
  }
  return request;
}

std::string text_of(const std::vector<LintResult>& results, const Config& config,
                    const Session& session) {
  if (session.json()) return encode_lint_results(results) + "\n";
  const std::string& folder = config.file.empty() ? session.working_folder : config.folder;
  if (session.format == "sarif") return lint_sarif(results, &config, folder) + "\n";
  std::ostringstream text;
  print_lint(results, session.verbose, text);
  print_new_limits(results, text);
  return text.str();
}

ExitCode verdict_of(const std::vector<LintResult>& results) {
  ExitCode code = ExitCode::Ok;
  for (const LintResult& result : results) {
    if (!result.error.empty()) return ExitCode::Broken;
    if (!result.passed) code = ExitCode::Findings;
  }
  return code;
}

void show(const LintResultsReply& reply, const Config& config, const LintOptions& options,
          Session& session) {
  for (const std::string& missing : reply.missing_tools) session.err << "note: " << missing << '\n';
  const std::string text = text_of(reply.results, config, session);
  if (session.exit_code == ExitCode::Ok) session.exit_code = verdict_of(reply.results);
  if (options.output.empty()) {
    session.out << (session.format == "text" ? session.shown(text) : text);
  } else if (const Status written = write_file(options.output, text); !written) {
    session.fail(written.error());
  }
  if (session.exit_code == ExitCode::Ok || session.format == "text") return;
  for (const LintResult& result : reply.results) {
    if (!result.error.empty()) session.err << "gpuemu: " << result.error << '\n';
    for (const LintViolation& one : result.violations) session.err << one.message << '\n';
  }
}

void run(const LintOptions& options, Session& session) {
  // Files need no project; without files, the project's kernels are linted.
  const auto config = options.files.empty() ? session.project() : session.config();
  if (!config) return;
  if (options.files.empty() && config->kernels.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "{} has no [[kernels]]; add one, or name files: `gpuemu lint kernel.cu`",
                       config->file));
    return;
  }
  const auto request = request_of(options, session);
  if (!request) {
    session.fail(request.error());
    return;
  }
  const auto reply = inspect(*request, session);
  if (reply) show(*reply, *config, options, session);
}

}  // namespace

void add_lint(Command app, Session& session) {
  auto options = std::make_shared<LintOptions>();
  Command command = app.command("lint", "Measure kernels and check them against limits");
  command
      .option("FILES", options->files,
              "CUDA sources, PTX, cubins, fatbins, object files or libraries\n"
              "(default: the kernels of gpuemu.toml)")
      .type_name(" ");
  command.option("-p,--ptx", options->files, "The same").hidden();
  command
      .option(
          "-k,--kernel", options->kernels,
          "Only this kernel of gpuemu.toml;\nwith FILES: check them against this kernel's limits")
      .type_name("NAME")
      .one_word();
  command
      .option("--arch", options->archs, "Architectures, as in sm_80,sm_90\n(default: runtime.arch)")
      .type_name("NAMES")
      .separated_by(',')
      .one_word();
  command
      .option("--threads", options->threads,
              "Threads per block, for occupancy\n(default: from the launches)")
      .type_name("N")
      .check(whole_number(1, 1024));
  command.option("--shared", options->shared, "Bytes of dynamic shared memory per block")
      .type_name("N")
      .check(whole_number(0, uint64_t{1} << 20));
  Option format = command.option("--format", session.format,
                                 "For people (text), programs (json), code scanning (sarif)");
  format.one_of({"text", "json", "sarif"});
  command.option("-o,--output", options->output, "Write the report to this file").type_name("FILE");
  command.footer(
      "Exit code: 0 within all limits, 1 not, 2 wrong use or gpuemu.toml, 3 could not be "
      "measured.\n"
      "Examples:\n"
      "  gpuemu lint                        every kernel of gpuemu.toml\n"
      "  gpuemu lint --arch sm_80,sm_90 -v  all that is counted, for two architectures\n"
      "  gpuemu lint kernel.cu build/libkernels.so --threads 256");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
