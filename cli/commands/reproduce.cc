// `gpuemu reproduce SEED`: makes a stored failure again and runs it.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

struct Options {
  uint64_t seed = 0;
  std::string op, format = "text";
  bool verbose = false, exit_code = false;
};

ExitCode run(const Options& options, Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  const auto text = session.call_text(ReproduceRequest{options.seed, options.op});
  if (!text) return session.fail(text.error());
  const auto reply = decode_reply(*text);
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) {
    if (options.format == "json") session.out << *text << '\n';
    return session.fail(*failure);
  }
  const auto& again = std::get<ReproduceResultReply>(*reply);
  if (again.result.seed != options.seed) {
    session.err << "note: no failure has seed " << options.seed << "; " << again.result.seed
                << " is the one that rounds to it\n";
  }
  if (options.format == "json") {
    session.out << *text << '\n';
  } else {
    print_case(again.result, session.out);
    if (options.verbose || session.verbose) print_inputs(again.inputs, session.out);
  }
  const bool fails = options.exit_code && !again.result.passed;
  return session.exit_code = fails ? ExitCode::Findings : ExitCode::Ok;
}

}  // namespace

void add_reproduce(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("reproduce", "Run a stored failure again");
  command->add_option("seed,--seed", options->seed, "Seed of the failure")->required();
  command->add_option("--op", options->op, "Its op, when several have this seed");
  command->add_flag("-v,--verbose", options->verbose, "Show the inputs too");
  command->add_flag("--exit-code", options->exit_code, "Exit with 1 when it still fails");
  add_format(*command, options->format);
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
