// `gpuemu minimize SEED`: shrinks a stored failure to the smallest input that still fails.
#include <algorithm>
#include <ostream>

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/python_text.h"
#include "cli/session/job.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kTrialsMax = 1'000'000;

/// The values of --strategy, the default first.
struct StrategyRow {
  std::string_view name;
  MinimizeStrategy strategy;
};
constexpr StrategyRow kStrategies[] = {
    {"binary-search-dims", MinimizeStrategy::BinarySearchDims},
    {"binary-search-values", MinimizeStrategy::BinarySearchValues},
};

struct MinimizeOptions {
  FailureChoice failure;
  uint64_t max_iters = 100;
  std::string strategy = std::string(kStrategies[0].name);
};

/// Cases of op scripts have no dims.
std::string sizes_text(const std::map<std::string, int64_t>& dims, const Shape& shape) {
  if (dims.empty()) return fmt::format(" [{}]", fmt::join(shape, ", "));
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format(" {}={}", name, value);
  return text;
}

void run(MinimizeOptions& options, Session& session) {
  if (!find_seed(options.failure, "minimize", session)) return;
  MinimizeRequest request{.seed = *options.failure.seed,
                          .max_iters = options.max_iters,
                          .op_name = options.failure.op,
                          .stream = true};
  const auto* const named = std::ranges::find(kStrategies, options.strategy, &StrategyRow::name);
  if (named != std::end(kStrategies)) request.strategy = named->strategy;
  const auto result = finish_job<MinimizeResultReply>(session, request, "minimize");
  if (!result) return;
  if (session.json()) {
    session.print_json(result->json);
  } else {
    const MinimizeResultReply& minimized = result->reply;
    session.out << fmt::format("minimized in {}:{} ->{}\n", counted(minimized.trials, "trial"),
                               sizes_text(minimized.original_dims, minimized.original_shape),
                               sizes_text(minimized.minimized_dims, minimized.minimized_shape));
    for (const std::string& change : minimized.simplified) session.out << "    " << change << '\n';
    if (minimized.input_elements > 0) {
      session.out << fmt::format("    {} of {} of the inputs {}\n", minimized.nonzero_elements,
                                 counted(minimized.input_elements, "element"),
                                 minimized.nonzero_elements == 1 ? "matters" : "matter");
    }
    for (const std::string& note : minimized.notes) session.out << "    " << note << '\n';
    print_case_report(minimized.result, minimized.guess, session);
    session.out << inputs_for_python(minimized.result);
  }
  session.exit_code = result->ended_with(session.exit_code);
}

}  // namespace

void add_minimize(Command app, Session& session) {
  auto options = std::make_shared<MinimizeOptions>();
  Command command = app.command("minimize", "Find a smaller input that fails in the same way");
  add_failure_choice(command, options->failure);
  Option strategy = command.option("--strategy", options->strategy,
                                   "What to reduce: everything, or only the values");
  std::vector<std::string> words;
  for (const StrategyRow& row : kStrategies) words.emplace_back(row.name);
  strategy.one_of(words);
  strategy.show_default();
  command.option("--max-iters,--max_iters", options->max_iters, "Maximum number of trials")
      .type_name("N")
      .check(whole_number(1, kTrialsMax))
      .show_default();
  add_format(command, session);
  command.footer("Every trial runs the kernel. The smaller case is stored with a seed of its own.");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
