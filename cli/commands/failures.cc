// `gpuemu failures`: what is stored, newest first.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

// The daemon lists no more in one answer.
constexpr uint64_t kListedMax = 10'000;

struct Options {
  uint64_t limit = 20;
  std::string op;
};

void run(const Options& options, Session& session) {
  const auto reply = session.answer(ListFailuresRequest{options.limit, options.op});
  if (!reply || session.json()) return;
  const auto& results = std::get<ResultsReply>(*reply).results;
  for (const ValidationResult& result : results) session.out << failure_line(result) << '\n';
  if (results.empty()) {
    session.err << "no stored failures"
                << (options.op.empty() ? "" : fmt::format(" of op '{}'", options.op)) << '\n';
  }
}

}  // namespace

void add_failures(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("failures", "List stored failures, newest first");
  command->add_option("-l,--limit", options->limit, "At most this many")
      ->type_name("N")
      ->check(whole_number(1, kListedMax))
      ->capture_default_str();
  command->add_option("--op", options->op, "Only of this op")->type_name("NAME");
  add_format(*command, session);
  command->footer(
      "A line begins with the seed that `gpuemu reproduce` and `gpuemu minimize` take.");
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
