// `gpuemu prove [OP]`: lists which memory accesses stay inside their tensors for all data and
// sizes.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/bounds.h"
#include "cli/session/job.h"

namespace gpuemu::cli {
namespace {

constexpr double kPercent = 100;

struct ProveOptions {
  std::string op, kernel, dtype;
  std::optional<double> proved_min;
  bool all = false;
};

Result<ProveRequest> request_of(const ProveOptions& options) {
  ProveRequest request{.op_name = options.op, .kernel = options.kernel, .dtype = {}};
  request.stream = true;
  if (options.dtype.empty()) return request;
  request.dtype = GPUEMU_TRY(dtype_option(options.dtype));
  return request;
}

void run(const ProveOptions& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (!options.op.empty() && config->find_op(options.op) == nullptr) {
    session.fail(no_such_op(options.op, *config));
    return;
  }
  const auto request = request_of(options);
  if (!request) {
    session.fail(request.error());
    return;
  }
  const auto result = finish_job<BoundsReportReply>(
      session, *request, options.op.empty() ? "prove" : "prove " + options.op);
  if (!result) return;
  const BoundsReportReply& report = result->reply;
  if (session.json()) {
    session.print_json(result->json);
  } else {
    print_bounds(report, options.all, session.out);
  }
  const auto part = static_cast<double>(report.proved) * kPercent;
  const bool low =
      options.proved_min && !(part >= *options.proved_min * static_cast<double>(report.total));
  if (low) session.exit_code = ExitCode::Findings;
  session.exit_code = result->ended_with(session.exit_code);
}

}  // namespace

void add_prove(Command app, Session& session) {
  auto options = std::make_shared<ProveOptions>();
  Command command = app.command(
      "prove", "Prove for all data and sizes that memory accesses stay inside their tensors");
  command.option("OP", options->op, "The op (default: all with a kernel)").type_name(" ");
  command.option("-k,--kernel", options->kernel, "A variant (default: all of the op's)")
      .type_name("NAME");
  command.option("--dtype", options->dtype, "Default: all of the op's").type_name("NAME");
  command
      .option("--proved-min", options->proved_min,
              "Exit with 1 when a smaller part of the accesses is proved")
      .type_name("PERCENT")
      .check(number(0, kPercent));
  command.flag("--all", options->all, "List the accesses that are proved too");
  add_format(command, session);
  command.footer(
      "Exit code: 0 done, 1 less is proved than --proved-min, 2 wrong use, 3 could not run.\n"
      "Examples:\n"
      "  gpuemu prove vector_add --all\n"
      "  gpuemu prove --proved-min 90");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
