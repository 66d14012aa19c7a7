// `gpuemu mutate OP`: plants mistakes in the op's kernel and reports those that the cases do not
// find.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/mutation.h"
#include "cli/session/job.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kMutantsMax = 1'000'000;

struct MutateOptions {
  std::string op, kernel, dtype, budget;
  uint64_t cases = 0;
  std::optional<uint64_t> seed;
  uint64_t mutants = 200;
  std::vector<std::string> mutations;
  std::optional<double> score_min;
  bool all = false;
};

Result<MutateRequest> request_of(const MutateOptions& options) {
  MutateRequest request{.op_name = options.op, .kernel = options.kernel, .dtype = {}};
  request.cases = options.cases;
  request.seed = options.seed;
  request.mutants_max = options.mutants;
  request.mutations = options.mutations;
  request.stream = true;
  if (!options.dtype.empty()) request.dtype = GPUEMU_TRY(dtype_option(options.dtype));
  if (!options.budget.empty()) {
    request.budget_ms = GPUEMU_TRY(parse_duration("--budget", options.budget));
  }
  return request;
}

void run(const MutateOptions& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (config->find_op(options.op) == nullptr) {
    session.fail(no_such_op(options.op, *config));
    return;
  }
  const auto request = request_of(options);
  if (!request) {
    session.fail(request.error());
    return;
  }
  const auto result = finish_job<MutationReportReply>(session, *request, "mutate " + options.op);
  if (!result) return;
  const MutationReportReply& report = result->reply;
  if (session.json()) {
    session.print_json(result->json);
  } else {
    print_mutation(report, options.all, session.out);
  }
  const bool low = options.score_min && !(report.score.value_or(0) >= *options.score_min / 100);
  if (low) session.exit_code = ExitCode::Findings;
  session.exit_code = result->ended_with(session.exit_code);
}

}  // namespace

void add_mutate(Command app, Session& session) {
  auto options = std::make_shared<MutateOptions>();
  Command command =
      app.command("mutate", "Plant mistakes in a kernel and count those that its cases find");
  command.option("OP", options->op, "The op").required().type_name(" ");
  command.option("-k,--kernel", options->kernel, "A variant (default: the one that runs)")
      .type_name("NAME");
  command.option("--dtype", options->dtype, "Default: the op's first").type_name("NAME");
  command.option("--cases", options->cases, "Cases for each mutant (default: validation.cases)")
      .type_name("N")
      .check(whole_number(1, kIterationsMax));
  add_base_seed(command, options->seed);
  command.option("--mutants", options->mutants, "Mutants at most, chosen by the seed; 0: all")
      .type_name("N")
      .check(whole_number(0, kMutantsMax))
      .show_default();
  command
      .option("--mutation", options->mutations,
              "Only this kind of mistake, as in drop_barrier;\nmay be repeated")
      .type_name("KIND")
      .one_word();
  command.option("--budget", options->budget, "Begin no mutant later: 90s, 10m, 2h")
      .type_name("TIME");
  command.option("--score-min", options->score_min, "Exit with 1 below this score")
      .type_name("PERCENT")
      .check(number(0, 100));
  command.flag("--all", options->all, "List the mutants that were killed too");
  add_session(command, session);
  add_format(command, session);
  command.footer(
      "Exit code: 0 done, 1 the score is below --score-min, 2 wrong use, 3 could not run, or the\n"
      "budget left mutants out.\n"
      "Example:\n"
      "  gpuemu mutate softmax --seed 1 --budget 5m --score-min 95");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
