// `gpuemu fuzz`: many cases of one op, or of every op with a kernel one after the other.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/job.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

struct Options {
  std::string op;
  uint64_t iterations = 100;
  std::optional<uint64_t> seed;
  bool fail_fast = false;
  std::string format = "text";
};

std::vector<std::string> ops_of(const Options& options, const Config& config) {
  if (!options.op.empty()) return {options.op};
  std::vector<std::string> names;
  for (const OpConfig& op : config.ops) {
    if (op.mode == ExecutionMode::Kernel) names.push_back(op.name);
  }
  return names;
}

void print(const std::string& op, const FuzzResultsReply& results, Session& session) {
  for (const ValidationResult& failure : results.failures) {
    session.out << failure_line(failure) << '\n';
  }
  const std::string verdict = results.failed == 0 ? "[PASS]" : "[FAIL]";
  session.out << fmt::format("{} {} (seed: {}): {} cases, {} ok, {} bad\n", verdict, op,
                             results.seed, results.total, results.passed, results.failed);
}

ExitCode run(const Options& options, Session& session) {
  const auto config = session.config();
  if (!config) return session.exit_code = ExitCode::Usage;
  const std::vector<std::string> ops = ops_of(options, *config);
  if (ops.empty()) {
    return session.fail(error(ErrorCode::InvalidArgument,
                              "no op with a kernel in {}; name one with --op or add one",
                              config->file.empty() ? "the configuration" : config->file));
  }
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  std::string json;
  bool interrupted = false;
  for (const std::string& op : ops) {
    OwnFuzzConfig fuzz;
    fuzz.iterations = options.iterations;
    fuzz.seed = options.seed;
    const auto result = run_job(session,
                                FuzzOpRequest{.op_name = op,
                                              .fuzz_config = std::nullopt,
                                              .config = fuzz,
                                              .iterations = options.iterations,
                                              .fail_fast = options.fail_fast,
                                              .stream = true},
                                "fuzz " + op);
    if (!result) return session.fail(result.error());
    if (const auto* failure = std::get_if<ErrorReply>(&result->reply))
      return session.fail(*failure);
    const auto& results = std::get<FuzzResultsReply>(result->reply);
    json += (json.empty() ? "" : ",") + result->json;
    if (options.format == "text") print(op, results, session);
    if (results.failed > 0) session.exit_code = ExitCode::Findings;
    interrupted = interrupted || result->interrupted;
    if (interrupted || (results.failed > 0 && options.fail_fast)) break;
  }
  if (options.format == "json") {
    session.out << (options.op.empty() ? "[" + json + "]" : json) << '\n';
  }
  return session.exit_code = interrupted ? ExitCode::Interrupted : session.exit_code;
}

}  // namespace

void add_fuzz(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("fuzz", "Run many generated cases of an op");
  command->add_option("-o,--op", options->op, "The op (default: every op with a kernel)");
  command->add_option("-i,--iterations", options->iterations, "Cases of each op")
      ->capture_default_str();
  command->add_option("--seed", options->seed,
                      "Base seed (default: [validation].seed, else drawn)");
  command->add_flag("--fail-fast", options->fail_fast, "Stop after the first failing case");
  add_format(*command, options->format);
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
