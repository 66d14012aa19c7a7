// `gpuemu diff --baseline TAG` and `gpuemu diff --since TIME` report what became better or worse;
// `gpuemu diff A B` compares two kernels.
#include "cli/report/diff.h"

#include <filesystem>
#include <ostream>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/kernel_diff.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/config/source_kind.h"

namespace gpuemu::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> kernels;
  std::string arch;
  std::string tag, file, since;
  size_t sides() const {
    return (tag.empty() ? 0U : 1U) + (file.empty() ? 0U : 1U) + (since.empty() ? 0U : 1U);
  }
  bool fail = false, no_fail = false, stored = false;
};

std::optional<Comparison> compare(const BaselineReply& baseline, const KernelNames& kernels,
                                  Session& session) {
  Comparison comparison{baseline.tag, std::nullopt, std::nullopt};
  if (!baseline.artifacts.empty()) {
    const auto reply =
        session.ask_for(DiffArtifactBaselineRequest{baseline.tag, baseline.artifacts, kernels});
    if (!reply) return std::nullopt;
    comparison.artifacts = reply->summary;
  }
  if (!baseline.results.empty()) {
    comparison.results =
        session.ask_for(CompareBaselineRequest{baseline.tag, baseline.results, true});
    if (!comparison.results) return std::nullopt;
  }
  return comparison;
}

/// Returns whether a CUDA source has a kernel template, which has no code until it is instantiated.
bool has_template_kernel(const std::string& path) {
  if (source_kind(path) != SourceKind::Cuda) return false;
  const auto text = read_file(path, kSourceBytesMax);
  if (!text) return false;
  for (size_t at = text->find("template"); at != std::string::npos;
       at = text->find("template", at + 1)) {
    const std::string_view rest = std::string_view(*text).substr(at);
    if (rest.substr(0, rest.find_first_of(";{")).find("__global__") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void compare_kernels(const DiffOptions& options, Session& session) {
  const auto path = [&](const std::string& name) {
    return (std::filesystem::path(session.working_folder) / name).lexically_normal().string();
  };
  if (options.kernels.size() != 2 || options.sides() > 0) {
    std::error_code failed;
    const bool is_file = std::filesystem::exists(path(options.kernels.front()), failed);
    session.fail(error(ErrorCode::InvalidArgument,
                       "diff compares two files, as in `gpuemu diff before.ptx after.ptx`, or the "
                       "project with a baseline, as in `gpuemu diff --baseline {}`; {} given",
                       options.kernels.size() == 1 && !is_file ? options.kernels[0] : "main",
                       options.kernels.size() == 2   ? "both were"
                       : options.kernels.size() == 1 ? "one file was"
                                                     : "too many files were"));
    return;
  }
  for (const std::string& name : options.kernels) {
    std::error_code failed;
    if (std::filesystem::is_regular_file(path(name), failed)) continue;
    session.fail(error(ErrorCode::InvalidArgument, "file '{}' does not exist", path(name)));
    return;
  }
  const auto reply = session.answer(
      CompareKernelsRequest{path(options.kernels[0]), path(options.kernels[1]), options.arch});
  if (!reply) return;
  const auto& comparison = std::get<KernelComparisonReply>(*reply);
  if (!session.json()) print_kernel_comparison(comparison, session.out);
  for (const std::string& name : options.kernels) {
    if (!has_template_kernel(path(name))) continue;
    session.err << "note: templates are compared where their file instantiates them; " << name
                << " has some\n";
  }
  if (comparison.verdict != EntryVerdict::None) session.exit_code = ExitCode::Findings;
}

void run(const DiffOptions& options, Session& session) {
  if (!options.kernels.empty()) return compare_kernels(options, session);
  if (options.sides() != 1) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "diff needs one thing to compare: two files of PTX or CUDA, --baseline TAG, "
                       "--file FILE, or --since TIME; {}",
                       options.sides() == 0     ? "none was given"
                       : !options.since.empty() ? "--since and a baseline were given"
                                                : "--baseline and --file were given"));
    return;
  }
  const auto config = session.config();
  if (!config) return;
  const auto baseline = options.since.empty() ? find_baseline(options.tag, options.file, session)
                                              : in_force(options.since, session);
  if (!baseline) return;
  std::optional<KernelNames> kernels = KernelNames();
  if (!baseline->artifacts.empty()) {
    kernels =
        options.stored ? measured_before(*config, session) : measure_project(*config, session);
  }
  if (!kernels) return;
  add_linted(*config, *baseline, *kernels);
  const auto comparison = compare(*baseline, *kernels, session);
  if (!comparison) return;
  if (session.json()) {
    session.print_json(comparison_json(*comparison));
  } else {
    print_comparison(*comparison, session.out);
  }
  const bool fails = options.fail || (config->fail_on_regression && !options.no_fail);
  if (fails && comparison->has_regressions()) session.exit_code = ExitCode::Findings;
}

}  // namespace

void add_diff(Command app, Session& session) {
  auto options = std::make_shared<DiffOptions>();
  Command command =
      app.command("diff", "Compare two kernels, or kernels and results with a baseline");
  command.option("KERNELS", options->kernels, "Two files of PTX or CUDA C++ to compare")
      .type_name(" ");
  command
      .option("--arch", options->arch,
              "Architecture to compile .cu files for (default: runtime.arch)")
      .type_name("NAME");
  command.option("--baseline", options->tag, "Name of a stored baseline")
      .type_name("TAG")
      .check(not_empty());
  command.option("--file", options->file, "A baseline that lives in a file")
      .type_name("FILE")
      .check(not_empty());
  command
      .option("--since", options->since,
              "The metrics of that time: 36h or 30d ago, or since\n2026-11-01 or 2026-11-01T12:00 "
              "(UTC)")
      .type_name("TIME")
      .check(not_empty());
  Option fail = command.flag("--fail-on-regression", options->fail,
                             "Exit with 1 on a regression, whatever gpuemu.toml says");
  command.flag("--no-fail", options->no_fail, "Exit with 0 on a regression").excludes(fail);
  command.flag("--stored", options->stored,
               "Compare the metrics of the last lint; measure nothing");
  add_format(command, session);
  command.footer(
      "Exit code: 0 no regression (of two files: no difference), 1 a regression (a difference),\n"
      "2 no such baseline, 3 could not be measured.\n"
      "Examples:\n"
      "  gpuemu diff before.ptx after.ptx\n"
      "  gpuemu diff --baseline main\n"
      "  gpuemu diff --file baseline.json --format json\n"
      "  gpuemu diff --since 30d");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
