// `gpuemu test [OPS]`: runs many generated cases of every op with a kernel.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>

#include <fmt/ranges.h>

#include "cli/cluster/cluster.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "cli/report/text.h"
#include "cli/scaffold/framework_text.h"
#include "cli/session/job.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

struct TestOptions {
  std::vector<std::string> ops, dtypes, strategies;
  bool quick = false, thorough = false, fail_fast = false, fragile = false, strict = false;
  uint64_t cases = 0;
  std::optional<uint64_t> seed, max_elements;
  ClusterOptions cluster;
};

Result<RunTestsRequest> request_of(const TestOptions& options, const Config& config) {
  RunTestsRequest request{.ops = options.ops,
                          .dtypes = {},
                          .cases = options.cases,
                          .seed = options.seed,
                          .strategies = options.strategies,
                          .fail_fast = options.fail_fast,
                          .fragile = options.fragile,
                          .max_elements = options.max_elements,
                          .strict = options.strict,
                          .stream = true};
  for (const std::string& name : options.ops) {
    if (config.find_op(name) == nullptr) return no_such_op(name, config);
  }
  for (const std::string& name : options.dtypes) {
    request.dtypes.push_back(GPUEMU_TRY(dtype_option(name)));
  }
  if (int{options.quick} + int{options.thorough} + int{options.cases > 0} > 1) {
    return error(ErrorCode::InvalidArgument,
                 "--quick, --thorough and --cases each set the number of cases; give one of them");
  }
  if (options.quick) request.cases = kQuickCases;
  if (options.thorough) request.cases = kThoroughCases;
  return request;
}

/// Returns what the request will run, for the first line of a stream.
RunPlan plan_of(const RunTestsRequest& request, const Config& config) {
  RunPlan plan{.command = "test", .ops = {}, .dtypes = {}, .cases = request.cases};
  if (plan.cases == 0) plan.cases = config.cases;
  const auto wanted = [](const auto& list, const auto& one) {
    return list.empty() || std::ranges::find(list, one) != list.end();
  };
  for (const OpConfig& op : config.ops) {
    if (!wanted(request.ops, op.name)) continue;
    plan.ops.push_back(op.name);
    for (const DType dtype : op.dtypes) {
      if (wanted(request.dtypes, dtype) &&
          std::ranges::find(plan.dtypes, dtype) == plan.dtypes.end()) {
        plan.dtypes.push_back(dtype);
      }
    }
  }
  return plan;
}

void show(const TestReportReply& report, const std::string& json, Session& session) {
  std::ostringstream nowhere;
  std::ostream& repeated = session.same_streams ? nowhere : session.err;
  if (session.events) {
    session.events->run_finished(static_cast<int>(session.exit_code), json);
  } else if (session.json()) {
    session.print_json(json);
  }
  if (session.json()) {
    print_broken_ops(report, session.err);
  } else {
    std::ostringstream text;
    print_test_report(report, report_style(session, session.format), text, repeated);
    session.out << session.shown(text.str());
  }
}

/// Returns the requested ops, by name or all, of which no case ran.
std::vector<std::string> untested(const TestReportReply& report,
                                  const std::vector<std::string>& named) {
  std::map<std::string, uint64_t> cases;
  for (const OpTestReport& op : report.ops) cases[op.op_name] += op.cases;
  std::vector<std::string> none;
  for (const auto& [name, count] : cases) {
    if (count == 0) none.push_back(name);
  }
  // An op that runs in the client is reported as skipped if others ran.
  const bool some_ran = none.size() < cases.size();
  if (named.empty() && some_ran) none.clear();
  return none;
}

Status check(const TestOptions& options, const Session& session) {
  GPUEMU_TRY(check_cluster(options.cluster, session));
  if (!options.cluster.is_wanted() || !options.fragile) return ok_status();
  return error(ErrorCode::InvalidArgument,
               "--fragile does not go with --cluster: it compares runs of one machine; leave one "
               "out");
}

std::vector<std::string> cluster_words(const RunTestsRequest& request, const RunPlan& plan) {
  std::vector<std::string> words = {"test", fmt::format("--cases={}", plan.cases)};
  for (const std::string& op : plan.ops) words.push_back("--op=" + op);
  for (const DType dtype : request.dtypes) {
    words.push_back(fmt::format("--dtype={}", name_of(dtype)));
  }
  for (const std::string& name : request.strategies) words.push_back("--strategy=" + name);
  if (request.seed) words.push_back(fmt::format("--seed={}", *request.seed));
  if (request.max_elements) {
    words.push_back(fmt::format("--max-elements={}", *request.max_elements));
  }
  if (request.fail_fast) words.emplace_back("--fail-fast");
  if (request.strict) words.emplace_back("--strict");
  return words;
}

/// Returns nothing if it could not run, which has been reported.
std::optional<Finished<TestReportReply>> test_on_cluster(const RunTestsRequest& request,
                                                         const ClusterOptions& cluster,
                                                         const Config& config, Session& session) {
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  std::optional<JobResult> result;
  const Status ran =
      run_on_cluster(session, cluster, config, cluster_words(request, plan_of(request, config)),
                     [&](JobResult one) { result = std::move(one); });
  if (session.interrupted && !result) {
    session.exit_code = ExitCode::Interrupted;
    return std::nullopt;
  }
  const auto* const refused = result ? std::get_if<ErrorReply>(&result->reply) : nullptr;
  if (refused != nullptr) {
    session.fail(*refused);
    return std::nullopt;
  }
  auto* const report = result ? std::get_if<TestReportReply>(&result->reply) : nullptr;
  if (!ran || report == nullptr) {
    session.fail(ran ? error(ErrorCode::Unavailable, "the cluster gave no report") : ran.error());
    return std::nullopt;
  }
  if (result->interrupted) {
    session.err << "gpuemu: interrupted: not everything ran, this is what was found until then\n";
  }
  if (result->incomplete) tell_incomplete(*result, "test", session);
  return Finished<TestReportReply>{std::move(*report), std::move(result->json), result->interrupted,
                                   result->incomplete};
}

constexpr std::string_view kBuiltin = "builtin";

/// Returns whether the first argument selects the kernels that come with gpuemu. An op of the
/// project with this name takes precedence.
bool means_builtin(const TestOptions& options, const Session& session) {
  return !options.ops.empty() && options.ops.front() == kBuiltin && session.config_file.empty() &&
         !session.project_has_op(options.ops.front());
}

void run(const TestOptions& given, Session& session) {
  TestOptions options = given;
  if (!session.stream_fits()) return;
  if (const Status fits = check(options, session); !fits) {
    session.fail(fits.error());
    return;
  }
  if (means_builtin(options, session)) {
    const Status found = session.use_builtin_project();
    if (!found) {
      session.fail(found.error());
      return;
    }
    options.ops.erase(options.ops.begin());
  }
  const auto config = session.project();
  if (!config) return;
  if (config->ops.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "{} has no ops, so there is nothing to test; give [[kernels]] a source, "
                       "launches and outputs, or let `gpuemu init` find them{}",
                       config->file,
                       python_programs_hint(std::filesystem::path(config->file).parent_path())));
    return;
  }
  const auto request = request_of(options, *config);
  if (!request) {
    session.fail(request.error());
    return;
  }
  session.begin_stream(plan_of(*request, *config));
  const auto result = options.cluster.is_wanted()
                          ? test_on_cluster(*request, options.cluster, *config, session)
                          : finish_job<TestReportReply>(session, *request, "test");
  if (!result) return;
  const TestReportReply& report = result->reply;
  session.exit_code = result->ended_with(has_broken_op(report) ? ExitCode::Broken
                                         : report.failed > 0   ? ExitCode::Findings
                                                               : ExitCode::Ok);
  const std::vector<std::string> none = untested(report, options.ops);
  const bool tells_none = session.exit_code == ExitCode::Ok && !none.empty();
  if (tells_none) session.exit_code = ExitCode::Broken;
  show(report, result->json, session);
  if (!tells_none) return;
  session.err << fmt::format("gpuemu: not tested: {}; give it a kernel or an op script\n",
                             fmt::join(none, ", "));
}

}  // namespace

Error no_such_op(const std::string& name, const Config& config) {
  std::vector<std::string> known;
  for (const OpConfig& op : config.ops) known.push_back(op.name);
  return no_such("op", name, config.file, known);
}

void add_test(Command app, Session& session) {
  auto options = std::make_shared<TestOptions>();
  Command command = app.command("test", "Test the kernels of gpuemu.toml");
  command.option("OPS", options->ops, "Only these ops (default: all)").type_name(" ");
  command.flag("--quick", options->quick, "10 cases per op and dtype");
  command.flag("--thorough", options->thorough, "256 cases per op and dtype");
  command.option("--cases", options->cases, "Cases per op and dtype (default: validation.cases)")
      .type_name("N")
      .check(whole_number(1, kIterationsMax));
  add_base_seed(command, options->seed);
  add_max_elements(command, options->max_elements);
  command.option("--dtype", options->dtypes, "Only these dtypes, as in float32,float16")
      .type_name("NAMES")
      .separated_by(',')
      .one_word();
  command
      .option("--strategy", options->strategies,
              "Only these input strategies (docs/reference/strategies.md lists them)")
      .type_name("NAMES")
      .separated_by(',')
      .one_word();
  command.flag("--fail-fast", options->fail_fast, "Stop after the first failing case");
  command.flag("--fragile", options->fragile,
               "Run passing cases with products and sums fused otherwise\nand threads in "
               "other orders too, and report what then fails");
  add_strict(command, options->strict);
  add_cluster(command, options->cluster);
  add_session(command, session);
  add_report_format(command, session);
  add_stream(command, session);
  command.footer(
      "Exit code: 0 all pass, 1 something failed, 2 wrong use or gpuemu.toml, 3 could not run.\n"
      "Examples:\n"
      "  gpuemu test --quick\n"
      "  gpuemu test softmax gelu --cases 500 --seed 7\n"
      "  gpuemu test builtin --quick            the kernels that come with gpuemu\n"
      "  gpuemu test --dtype float16 --strategy large,one_nan --format json");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
