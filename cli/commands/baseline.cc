// `gpuemu baseline store|compare TAG`: the stored results of now under a name, and against it.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

struct Options {
  std::string tag;
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

void run(const Options& options, Session& session) {
  if (options.tag.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "a baseline needs a name, such as `gpuemu baseline {} main`",
                       options.compare ? "compare" : "store"));
    return;
  }
  const auto reply = options.compare ? session.answer(CompareBaselineRequest{options.tag})
                                     : session.answer(StoreBaselineRequest{options.tag});
  if (!reply || session.json()) return;
  if (const auto* comparison = std::get_if<BaselineComparisonReply>(&*reply)) {
    print(*comparison, session.out);
  } else {
    session.out << "stored the results of now as baseline " << options.tag << '\n';
  }
}

}  // namespace

void add_baseline(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("baseline", "Keep the stored results under a name; compare with them");
  command->require_subcommand(1);
  for (const bool compare : {false, true}) {
    auto options = std::make_shared<Options>();
    options->compare = compare;
    CLI::App* verb = command->add_subcommand(
        compare ? "compare" : "store",
        compare ? "Compare the results of now with a baseline" : "Store the results of now");
    add_tag(*verb, options->tag);
    add_format(*verb, session);
    verb->callback([options, &session] { run(*options, session); });
  }
  command->footer(
      "Example:\n"
      "  gpuemu test --seed 1 && gpuemu baseline store before\n"
      "  (change the kernel)\n"
      "  gpuemu test --seed 1; gpuemu baseline compare before");
}

}  // namespace gpuemu::cli
