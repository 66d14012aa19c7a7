// `gpuemu minimize SEED`: shrinks a stored failure to the smallest input that still fails.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/job.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

struct Options {
  uint64_t seed = 0, max_iters = 100;
  std::string op, strategy = "binary-search-dims", format = "text";
};

std::string dims_text(const std::map<std::string, int64_t>& dims) {
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format(" {}={}", name, value);
  return text;
}

ExitCode run(const Options& options, Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  MinimizeRequest request{
      .seed = options.seed, .max_iters = options.max_iters, .op_name = options.op, .stream = true};
  if (options.strategy == "binary-search-values") {
    request.strategy = MinimizeStrategy::BinarySearchValues;
  }
  const auto result = run_job(session, request, "minimize");
  if (!result) return session.fail(result.error());
  if (options.format == "json") session.out << result->json << '\n';
  if (const auto* failure = std::get_if<ErrorReply>(&result->reply)) return session.fail(*failure);
  const auto& minimized = std::get<MinimizeResultReply>(result->reply);
  if (options.format == "text") {
    session.out << fmt::format("minimized in {} trials:{} -> {}\n", minimized.trials,
                               dims_text(minimized.original_dims),
                               dims_text(minimized.minimized_dims));
    print_case(minimized.result, session.out);
  }
  return session.exit_code = result->interrupted ? ExitCode::Interrupted : ExitCode::Ok;
}

}  // namespace

void add_minimize(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("minimize", "Shrink a stored failure");
  command->add_option("seed,--seed", options->seed, "Seed of the failure")->required();
  command->add_option("--op", options->op, "Its op, when several have this seed");
  command->add_option("--strategy", options->strategy, "binary-search-dims or binary-search-values")
      ->check(CLI::IsMember({"binary-search-dims", "binary-search-values"}))
      ->capture_default_str();
  command->add_option("--max-iters,--max_iters", options->max_iters, "Trials at most")
      ->capture_default_str();
  add_format(*command, options->format);
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
