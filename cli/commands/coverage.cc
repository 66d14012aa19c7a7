// `gpuemu coverage [KERNEL]`: lists the configured ops that have a stored result, or the lines of a
// kernel that cases reach.
#include <ostream>

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/kernel_coverage.h"
#include "cli/report/op_coverage.h"
#include "cli/session/job.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

struct CoverageOptions {
  std::string format, output, kernel;
  uint64_t cases = 0;
  std::optional<uint64_t> seed;
};

void write(const std::string& text, const CoverageOptions& options, Session& session) {
  if (options.output.empty()) {
    session.out << text;
  } else if (const Status written = write_file(options.output, text); !written) {
    session.fail(written.error());
  }
}

Error no_such_kernel(const std::string& name, const Config& config) {
  std::vector<std::string> known;
  for (const KernelConfig& kernel : config.kernels) known.push_back(kernel.name);
  return no_such("kernel", name, config.file, known);
}

/// The kernel named `name`, or the only kernel of the op named `name`.
Result<std::string> kernel_of(const std::string& name, const Config& config) {
  if (config.find_kernel(name) != nullptr) return name;
  const OpConfig* op = config.find_op(name);
  if (op == nullptr) return no_such_kernel(name, config);
  if (op->kernels.size() == 1) return op->kernels.front();
  if (op->kernels.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "op '{}' ({}:{}) has no kernel whose lines can be counted; expected an op with "
                 "`kernel`, or the name of a kernel",
                 name, op->file, op->line);
  }
  return error(ErrorCode::InvalidArgument, "op '{}' has {} kernels: {}; name one of them", name,
               op->kernels.size(), fmt::join(op->kernels, ", "));
}

void cover_kernel(const CoverageOptions& options, const Config& config, Session& session) {
  const auto result = finish_job<KernelCoverageReply>(
      session,
      Request(KernelCoverageRequest{
          .kernel = options.kernel, .cases = options.cases, .seed = options.seed, .stream = true}),
      "coverage " + options.kernel);
  if (!result) return;
  const KernelCoverageReply& reply = result->reply;
  const std::string format = options.format.empty() ? "text" : options.format;
  write(kernel_coverage_text(reply, config, sources_of(reply), format), options, session);
  if (reply.failed > 0) {
    session.err << fmt::format("{} of {} {} not pass; see `gpuemu failures`\n", reply.failed,
                               counted(reply.cases, "case"), reply.failed == 1 ? "does" : "do");
  }
  session.exit_code = result->ended_with(session.exit_code);
}

/// Returns the format; by default codecov for a file, because coverage services read it, otherwise
/// text.
std::string ops_format(const CoverageOptions& options) {
  if (!options.format.empty()) return options.format;
  return options.output.empty() ? "text" : "codecov";
}

void cover_ops(const CoverageOptions& options, const Config& config, Session& session) {
  OpCoverage coverage;
  for (const KernelConfig& kernel : config.kernels) coverage.kernels.push_back(kernel.name);
  for (const OpConfig& op : config.ops) {
    const auto reply = session.ask_for(ListResultsRequest{1, op.name});
    if (!reply) return;
    const bool covered = !reply->results.empty();
    (covered ? coverage.covered : coverage.uncovered).push_back(op.name);
  }
  write(op_coverage_text(coverage, ops_format(options)), options, session);
}

/// Returns why the options cannot be combined; "" if they can.
std::string misuse(const CoverageOptions& options) {
  const bool of_ops = options.kernel.empty();
  if (of_ops && (options.format == "lcov" || options.format == "html")) {
    return fmt::format(
        "--format {0} shows lines of a kernel, but none is named; expected `gpuemu "
        "coverage KERNEL --format {0}`",
        options.format);
  }
  if (of_ops && (options.cases > 0 || options.seed)) {
    return "--cases and --seed need a kernel to run, as in `gpuemu coverage KERNEL --cases 20`; "
           "without one, coverage only lists stored results";
  }
  return "";
}

void run(CoverageOptions& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (const std::string wrong = misuse(options); !wrong.empty()) {
    session.fail(error(ErrorCode::InvalidArgument, "{}", wrong));
    return;
  }
  if (!options.kernel.empty()) {
    const auto kernel = kernel_of(options.kernel, *config);
    if (!kernel) {
      session.fail(kernel.error());
      return;
    }
    options.kernel = *kernel;
  }
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return;
  }
  options.kernel.empty() ? cover_ops(options, *config, session)
                         : cover_kernel(options, *config, session);
}

}  // namespace

void add_coverage(Command app, Session& session) {
  auto options = std::make_shared<CoverageOptions>();
  Command command = app.command(
      "coverage", "Show which ops have results, or the lines of a kernel that cases reach");
  command
      .option("KERNEL", options->kernel,
              "Run cases of its ops and show which lines and branches none\n"
              "reaches (default: list the ops that have no result)")
      .type_name(" ");
  command.option("-k,--kernel", options->kernel, "The same").type_name("NAME").hidden();
  Option format =
      command.option("--format", options->format,
                     "Output format\n(default: text; codecov for a file without KERNEL)");
  format.one_of({"text", "json", "codecov", "lcov", "html"});
  command
      .option("--cases", options->cases,
              "Cases per op and dtype in addition to the corpus (default: validation.cases)")
      .type_name("N")
      .check(whole_number(1, kIterationsMax));
  add_base_seed(command, options->seed);
  command.option("-o,--output", options->output, "Write it to this file").type_name("FILE");
  command.footer(
      "Exit code: 0 the report was written, 2 wrong use, 3 nothing could run.\n"
      "Examples:\n"
      "  gpuemu coverage                  ops without a result\n"
      "  gpuemu coverage relu             lines and branches of the kernel relu\n"
      "  gpuemu coverage relu --format html -o relu.html");
  command.callback([options, &session] {
    session.format = options->format == "json" ? "json" : "text";
    run(*options, session);
  });
}

}  // namespace gpuemu::cli
