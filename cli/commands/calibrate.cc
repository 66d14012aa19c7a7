// `gpuemu calibrate OP`: measures how large the errors of a kernel are, and suggests a tolerance.
#include <algorithm>
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/calibration.h"
#include "cli/session/job.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

struct CalibrateOptions {
  std::string op;
  std::vector<std::string> dtypes;
  uint64_t cases = 256;
  std::optional<uint64_t> seed;
};

Result<CalibrateRequest> request_of(const CalibrateOptions& options, const Config& config) {
  if (config.find_op(options.op) == nullptr) return no_such_op(options.op, config);
  CalibrateRequest request{.op_name = options.op,
                           .dtypes = {},
                           .cases = options.cases,
                           .seed = options.seed,
                           .stream = true};
  for (const std::string& name : options.dtypes) {
    request.dtypes.push_back(GPUEMU_TRY(dtype_option(name)));
  }
  return request;
}

CalibrationPlace place_in(const Config& config, const std::string& name) {
  const OpConfig* op = config.find_op(name);
  const KernelConfig* kernel = config.find_kernel(name);
  if (op == nullptr) return {};
  const bool is_kernel = kernel != nullptr && kernel->line == op->line && kernel->file == op->file;
  return {is_kernel, op->end_line};
}

ExitCode exit_code_of(const CalibrationReply& reply) {
  const auto broken = [](const CalibratedDType& one) { return one.state == OpState::Broken; };
  if (std::ranges::any_of(reply.dtypes, broken)) return ExitCode::Broken;
  const auto fails = [](const CalibratedDType& one) { return one.left_out > 0; };
  return std::ranges::any_of(reply.dtypes, fails) ? ExitCode::Findings : ExitCode::Ok;
}

void run(const CalibrateOptions& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  const auto request = request_of(options, *config);
  if (!request) {
    session.fail(request.error());
    return;
  }
  const auto result = finish_job<CalibrationReply>(session, *request, "calibrate " + options.op);
  if (!result) return;
  if (session.json()) {
    session.print_json(result->json);
  } else {
    print_calibration(result->reply, place_in(*config, options.op), session.out);
  }
  session.exit_code = result->ended_with(exit_code_of(result->reply));
}

}  // namespace

void add_calibrate(Command app, Session& session) {
  auto options = std::make_shared<CalibrateOptions>();
  Command command = app.command("calibrate", "Measure a kernel's errors and propose its tolerance");
  command.option("OP", options->op, "The op, whose kernel is taken to be right")
      .type_name(" ")
      .required();
  command.option("--cases", options->cases, "Cases per dtype")
      .type_name("N")
      .check(whole_number(1, kIterationsMax))
      .show_default();
  add_base_seed(command, options->seed);
  command.option("--dtype", options->dtypes, "Only these dtypes, as in float32,float16")
      .type_name("NAMES")
      .separated_by(',')
      .one_word();
  add_format(command, session);
  command.footer(
      "Exit code: 0 measured, 1 some cases do not pass and were left out, 2 wrong use,\n"
      "3 could not run.\n"
      "Example:\n"
      "  gpuemu calibrate softmax --cases 1000");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
