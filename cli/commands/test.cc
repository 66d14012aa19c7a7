// `gpuemu test [OPS]`: every op with a kernel, many generated cases each.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/job.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kQuickCases = 10;
constexpr uint64_t kThoroughCases = 256;

struct Options {
  std::vector<std::string> ops, dtypes, strategies;
  bool quick = false, thorough = false, fail_fast = false;
  uint64_t cases = 0;
  std::optional<uint64_t> seed;
  std::string format = "text";
};

bool has_broken_op(const TestReportReply& report) {
  for (const OpTestReport& op : report.ops) {
    if (op.skipped_reason.starts_with("error: ")) return true;
  }
  return false;
}

ExitCode run(const Options& options, Session& session) {
  if (!session.config()) return session.exit_code = ExitCode::Usage;
  RunTestsRequest request{.ops = options.ops,
                          .dtypes = {},
                          .cases = options.cases,
                          .seed = options.seed,
                          .strategies = options.strategies,
                          .fail_fast = options.fail_fast,
                          .stream = true};
  for (const std::string& name : options.dtypes) {
    const auto dtype = dtype_from_alias(name);
    if (!dtype) {
      return session.fail(error(ErrorCode::InvalidArgument,
                                "no dtype '{}'; float32, float16, "
                                "bfloat16, float64, int8 ... uint64 and bool are there",
                                name));
    }
    request.dtypes.push_back(*dtype);
  }
  if (options.quick) request.cases = kQuickCases;
  if (options.thorough) request.cases = kThoroughCases;
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  const auto result = run_job(session, request, "test");
  if (!result) return session.fail(result.error());
  if (const auto* failure = std::get_if<ErrorReply>(&result->reply)) return session.fail(*failure);
  const auto& report = std::get<TestReportReply>(result->reply);
  if (options.format == "json") {
    session.out << result->json << '\n';
    for (const OpTestReport& op : report.ops) {
      if (op.skipped_reason.starts_with("error: ")) session.err << op.skipped_reason << '\n';
    }
  } else {
    print_test_report(report, session.out, session.err);
  }
  if (result->interrupted) return session.exit_code = ExitCode::Interrupted;
  if (has_broken_op(report)) return session.exit_code = ExitCode::Broken;
  return session.exit_code = report.failed > 0 ? ExitCode::Findings : ExitCode::Ok;
}

}  // namespace

void add_format(CLI::App& command, std::string& format) {
  command.add_option("--format", format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void add_test(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("test", "Test the kernels of gpuemu.toml");
  command->add_option("ops", options->ops, "Only these ops (default: all)");
  command->add_flag("--quick", options->quick, "10 cases per op and dtype");
  command->add_flag("--thorough", options->thorough, "256 cases per op and dtype");
  command->add_option("--cases", options->cases,
                      "Cases per op and dtype (default: [validation].cases)");
  command->add_option("--seed", options->seed,
                      "Base seed (default: [validation].seed, else drawn)");
  command->add_option("--dtype", options->dtypes, "Only these dtypes");
  command->add_option("--strategy", options->strategies, "Only these input strategies");
  command->add_flag("--fail-fast", options->fail_fast, "Stop after the first failing case");
  add_format(*command, options->format);
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
