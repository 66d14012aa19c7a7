// `gpuemu failures`: lists stored failures, newest first.
#include <limits>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/fault_list.h"
#include "cli/report/text.h"
#include "common/base/service_limits.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kListedByDefault = 20, kGroupedByDefault = 1'000;

struct FailuresOptions {
  std::optional<uint64_t> limit;
  std::string op;
  bool deletes = false, all = false;
  std::optional<uint64_t> seed;
};

void delete_failures(const FailuresOptions& options, Session& session) {
  if (!options.seed && options.op.empty() && !options.all) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--delete needs to know which failures: a SEED, --op NAME, or --all"));
    return;
  }
  const auto reply = session.answer(DeleteFailuresRequest{options.seed, options.op, options.all});
  if (!reply || session.json()) return;
  const uint64_t count = std::get<FailuresDeletedReply>(*reply).count;
  session.out << fmt::format("deleted {}\n", counted(count, "failure"));
}

void run(const FailuresOptions& options, Session& session) {
  if (options.deletes && session.all_projects) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--delete is for one project, and --all-projects for all; run it in each"));
    return;
  }
  if (options.deletes) return delete_failures(options, session);
  if (options.seed || options.all) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "a SEED and --all belong to --delete; `gpuemu failures --limit 5` lists "
                       "five, `gpuemu explain SEED` one"));
    return;
  }
  // Ops of different projects may have the same name, so each line then names the project.
  const ReportStyle style = report_style(session, session.format);
  const bool by_fault = style.blocks && !session.all_projects;
  const uint64_t limit = options.limit.value_or(by_fault ? kGroupedByDefault : kListedByDefault);
  const auto reply = session.answer(ListFailuresRequest{limit, options.op});
  if (!reply || session.json()) return;
  const auto& results = std::get<ResultsReply>(*reply).results;
  if (by_fault) session.out << session.shown(fault_list(results, style.block));
  if (by_fault && results.size() == limit) {
    session.out << fmt::format("the newest {} only; `--limit N` shows more\n",
                               counted(limit, "failure"));
  }
  for (const ValidationResult& result : results) {
    if (by_fault) break;
    session.out << failure_line(result) << (result.passes_now ? " (passes now)" : "")
                << session.in_project(result.project) << '\n';
  }
  if (results.empty()) {
    session.err << "no stored failures"
                << (options.op.empty() ? "" : fmt::format(" of op '{}'", options.op)) << '\n';
  }
}

}  // namespace

void add_failures(Command app, Session& session) {
  auto options = std::make_shared<FailuresOptions>();
  Command command = app.command("failures", "List stored failures, newest first");
  command
      .option("-l,--limit", options->limit,
              fmt::format("At most this many failures\n(default: {}, grouped by fault {})",
                          kListedByDefault, kGroupedByDefault))
      .type_name("N")
      .check(whole_number(1, kResultsListedMax));
  command.option("--op", options->op, "Only failures of this op").type_name("NAME");
  command.flag("--delete", options->deletes,
               "Delete failures and their inputs: of SEED, of --op, or --all");
  command.flag("--all", options->all, "With --delete: all failures of the project");
  command.option("SEED", options->seed, "With --delete: this one")
      .type_name(" ")
      .check(whole_number(0, std::numeric_limits<uint64_t>::max()));
  add_all_projects(command, session);
  add_report_format(command, session);
  command.footer(
      "On a terminal, and with --format full, one entry for each fault; else one line for each "
      "case,\n"
      "which begins with the seed that `gpuemu reproduce` and `gpuemu minimize` take.");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
