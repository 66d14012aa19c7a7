// `gpuemu diff --baseline TAG`: what changed, better or worse.
#include "cli/report/diff.h"

#include <filesystem>
#include <ostream>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

struct Options {
  std::string tag, file;
  bool fail = false, no_fail = false, stored = false;
};

/// The daemon's answer as a record; nothing when that failed, which has been told.
template <typename Wanted>
std::optional<Wanted> ask(const Request& request, Session& session) {
  const auto reply = session.call(request);
  if (!reply) return session.fail(reply.error()), std::nullopt;
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) {
    return session.fail(*failure), std::nullopt;
  }
  return std::get<Wanted>(*reply);
}

std::optional<Comparison> compare(const BaselineReply& baseline, Session& session) {
  Comparison comparison{baseline.tag, std::nullopt, std::nullopt};
  if (!baseline.artifacts.empty()) {
    const auto reply = ask<ArtifactDiffsReply>(
        DiffArtifactBaselineRequest{baseline.tag, baseline.artifacts}, session);
    if (!reply) return std::nullopt;
    comparison.artifacts = reply->summary;
  }
  if (!baseline.results.empty()) {
    comparison.results = ask<BaselineComparisonReply>(
        CompareBaselineRequest{baseline.tag, baseline.results}, session);
    if (!comparison.results) return std::nullopt;
  }
  return comparison;
}

void run(const Options& options, Session& session) {
  if (options.tag.empty() == options.file.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "diff needs the baseline to compare with: --baseline TAG, or --file FILE"));
    return;
  }
  const auto config = session.config();
  if (!config) return;
  const auto baseline = find_baseline(options.tag, options.file, session);
  if (!baseline) return;
  if (!options.stored && !baseline->artifacts.empty() && !measure_project(*config, session)) return;
  const auto comparison = compare(*baseline, session);
  if (!comparison) return;
  if (session.json()) {
    session.out << comparison_json(*comparison) << '\n';
  } else {
    print_comparison(*comparison, session.out);
  }
  const bool fails = options.fail || (config->fail_on_regression && !options.no_fail);
  if (fails && comparison->has_regressions()) session.exit_code = ExitCode::Findings;
}

}  // namespace

void add_diff(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("diff", "Compare kernels and results with a baseline");
  command->add_option("--baseline", options->tag, "Name of a stored baseline")->type_name("TAG");
  command->add_option("--file", options->file, "A baseline that lives in a file")
      ->type_name("FILE");
  CLI::Option* fail = command->add_flag("--fail-on-regression", options->fail,
                                        "Exit with 1 on a regression, whatever gpuemu.toml says");
  command->add_flag("--no-fail", options->no_fail, "Exit with 0 on a regression")->excludes(fail);
  command->add_flag("--stored", options->stored,
                    "Compare the metrics of the last lint; measure nothing");
  add_format(*command, session);
  command->footer(
      "Exit code: 0 no regression, 1 a regression, 2 no such baseline, 3 could not be measured.\n"
      "Examples:\n"
      "  gpuemu diff --baseline main\n"
      "  gpuemu diff --file baseline.json --format json");
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
