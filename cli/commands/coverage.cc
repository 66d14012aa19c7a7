// `gpuemu coverage`: which configured ops have a stored result.
#include <ostream>
#include <set>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/op_coverage.h"
#include "common/base/files.h"

namespace gpuemu::cli {
namespace {

struct Options {
  std::string format = "codecov", output;
};

void run(const Options& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return;
  }
  OpCoverage coverage;
  for (const OpConfig& op : config->ops) {
    const auto reply = session.call(ListResultsRequest{1, op.name});
    if (!reply) {
      session.fail(reply.error());
      return;
    }
    if (const auto* failure = std::get_if<ErrorReply>(&*reply)) {
      session.fail(*failure);
      return;
    }
    const bool covered = !std::get<ResultsReply>(*reply).results.empty();
    (covered ? coverage.covered : coverage.uncovered).push_back(op.name);
  }
  const std::string text = op_coverage_text(coverage, options.format);
  if (options.output.empty()) {
    session.out << text;
  } else if (const Status written = write_file(options.output, text); !written) {
    session.fail(written.error());
  }
}

}  // namespace

void add_coverage(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("coverage", "Which ops have results; lines are in `gpuemu ci --coverage`");
  CLI::Option* format = command->add_option("--format", options->format, "What is written");
  check_one_of(*format, {"codecov", "json", "text"});
  command->add_option("-o,--output", options->output, "Write it to this file")->type_name("FILE");
  command->callback([options, &session] {
    session.format = options->format == "json" ? "json" : "text";
    run(*options, session);
  });
}

}  // namespace gpuemu::cli
