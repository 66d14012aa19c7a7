// `gpuemu failures`: what is stored, newest first.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

struct Options {
  uint64_t limit = 20;
  std::string op, format = "text";
};

ExitCode run(const Options& options, Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  const auto text = session.call_text(ListFailuresRequest{options.limit, options.op});
  if (!text) return session.fail(text.error());
  if (options.format == "json") session.out << *text << '\n';
  const auto reply = decode_reply(*text);
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  const auto& results = std::get<ResultsReply>(*reply).results;
  if (options.format == "text") {
    for (const ValidationResult& result : results) session.out << failure_line(result) << '\n';
    if (results.empty()) session.err << "no stored failures\n";
  }
  return session.exit_code = ExitCode::Ok;
}

}  // namespace

void add_failures(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("failures", "List stored failures, newest first");
  command->add_option("-l,--limit", options->limit, "At most this many")->capture_default_str();
  command->add_option("--op", options->op, "Only of this op");
  add_format(*command, options->format);
  command->callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
