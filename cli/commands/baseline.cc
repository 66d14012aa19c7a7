// `gpuemu baseline store|compare TAG`: the stored results of now under a name, and against it.
#include <ostream>

#include "cli/commands/commands.h"

namespace gpuemu::cli {
namespace {

struct Options {
  std::string tag, format = "text";
  bool compare = false;
};

void print(const BaselineComparisonReply& reply, std::ostream& out) {
  for (const BaselineComparison& one : reply.comparisons) {
    if (!one.is_regression) continue;
    out << fmt::format("[REGRESSION] {} seed {}: max_diff {:.3e}, was {:.3e}{}\n", one.op_name,
                       one.seed, one.current_max_diff, one.baseline_max_diff.value_or(0),
                       one.current_passed ? "" : ", does not pass any more");
  }
  out << fmt::format("{} results compared with baseline {}: {}\n", reply.comparisons.size(),
                     reply.baseline_tag, reply.has_regressions ? "regressions" : "no regression");
}

ExitCode run(const Options& options, Session& session) {
  const Status ready = session.ensure_daemon();
  if (!ready) return session.fail(ready.error());
  const auto text = options.compare ? session.call_text(CompareBaselineRequest{options.tag})
                                    : session.call_text(StoreBaselineRequest{options.tag});
  if (!text) return session.fail(text.error());
  if (options.format == "json") session.out << *text << '\n';
  const auto reply = decode_reply(*text);
  if (!reply) return session.fail(reply.error());
  if (const auto* failure = std::get_if<ErrorReply>(&*reply)) return session.fail(*failure);
  if (options.format == "json") return session.exit_code = ExitCode::Ok;
  if (const auto* comparison = std::get_if<BaselineComparisonReply>(&*reply)) {
    print(*comparison, session.out);
  } else {
    session.out << "stored the results of now as baseline " << options.tag << '\n';
  }
  return session.exit_code = ExitCode::Ok;
}

}  // namespace

void add_baseline(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("baseline", "Keep results under a tag and compare with it");
  command->require_subcommand(1);
  for (const bool compare : {false, true}) {
    auto options = std::make_shared<Options>();
    options->compare = compare;
    CLI::App* verb = command->add_subcommand(
        compare ? "compare" : "store",
        compare ? "Compare the results of now with a baseline" : "Store the results of now");
    verb->add_option("tag,--tag", options->tag, "Name of the baseline")->required();
    add_format(*verb, options->format);
    verb->callback([options, &session] { run(*options, session); });
  }
}

}  // namespace gpuemu::cli
