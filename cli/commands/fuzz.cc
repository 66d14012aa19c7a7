// `gpuemu fuzz`: runs many cases of one op, or of every op with a kernel in turn.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/cluster/cluster.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/text.h"
#include "cli/session/job.h"
#include "common/base/limits.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

struct FuzzOptions {
  std::vector<std::string> ops;
  uint64_t iterations = 100;
  std::optional<uint64_t> seed, max_elements;
  bool fail_fast = false, unguided = false, strict = false;
  ClusterOptions cluster;
};

std::vector<std::string> ops_of(const FuzzOptions& options, const Config& config) {
  if (!options.ops.empty()) return options.ops;
  std::vector<std::string> names;
  for (const OpConfig& op : config.ops) {
    const bool runs = op.mode == ExecutionMode::Kernel || op.mode == ExecutionMode::ScriptBased;
    if (runs) names.push_back(op.name);
  }
  return names;
}

/// Returns "; the first with values=one_nan" if the first failure is such a case.
std::string values_of_first(const FuzzResultsReply& results) {
  if (results.failures.empty() || !results.failures.front().repro_info) return "";
  const std::string values = values_text(*results.failures.front().repro_info);
  return values.empty() ? "" : "; the first with " + values;
}

/// Describes the requested cases that --fail-fast left out; "" if there are none.
std::string left_out(const FuzzResultsReply& results, const FuzzOptions& options) {
  const uint64_t asked = options.iterations + (results.search ? results.search->replayed : 0);
  if (!options.fail_fast || results.failed == 0 || results.total >= asked) return "";
  return fmt::format("; --fail-fast left out {} of {}", asked - results.total, asked);
}

void print_failures(const FuzzResultsReply& results, const Session& session, std::ostream& out) {
  const ReportStyle style = report_style(session, session.format);
  if (!style.blocks) {
    for (const ValidationResult& failure : results.failures) {
      out << failure_line(failure) << '\n';
      print_reasons(failure, out);
    }
    return;
  }
  OpFailures all{.failures = {}, .failed = results.failed, .cases = results.total};
  for (const ValidationResult& failure : results.failures) all.failures.push_back(&failure);
  if (!all.failures.empty()) out << finding_blocks(all, style.block) << '\n';
}

void print(const std::string& op, const FuzzResultsReply& results, const FuzzOptions& options,
           Session& session) {
  std::ostringstream out;
  print_failures(results, session, out);
  const std::string verdict = results.failed > 0       ? "[FAIL]"
                              : !results.error.empty() ? "[ERROR]"
                                                       : "[PASS]";
  out << fmt::format("{} {} (seed: {}): {}, {}{}{}\n", verdict, op, results.seed,
                     counted(results.total, "case"),
                     counts_text(results.passed, results.failed, 0, 0), left_out(results, options),
                     values_of_first(results));
  out << warnings_text(results.warned, results.total, results.warnings);
  for (const std::string& note : results.notes) out << "       " << one_line(note) << '\n';
  for (const Evidence& evidence : results.evidence) {
    if (results.evidence.size() > 1) out << fmt::format("    {}\n", name_of(evidence.dtype));
    out << evidence_line(evidence);
  }
  if (results.search) out << search_line(*results.search);
  session.out << session.shown(out.str());
}

/// The findings over all ops.
struct Totals {
  std::string json;
  bool found = false, broken = false, interrupted = false, incomplete = false;
};

FuzzOpRequest request_of(const std::string& op, const FuzzOptions& options) {
  OwnFuzzConfig fuzz;
  fuzz.iterations = options.iterations;
  fuzz.seed = options.seed;
  return {.op_name = op,
          .fuzz_config = std::nullopt,
          .config = fuzz,
          .iterations = options.iterations,
          .fail_fast = options.fail_fast,
          .stream = true,
          .guided = !options.unguided,
          .max_elements = options.max_elements,
          .strict = options.strict};
}

/// Adds the result of one op. An op that cannot run is reported, and the others go on.
void take_result(const std::string& op, const JobResult& result, const FuzzOptions& options,
                 Session& session, Totals& totals) {
  totals.json += (totals.json.empty() ? "" : ",") + result.json;
  if (session.events) session.events->op_finished(op, result.json);
  totals.interrupted = result.interrupted;
  totals.incomplete = result.incomplete;
  if (result.incomplete) tell_incomplete(result, "fuzz " + op, session);
  if (const auto* failure = std::get_if<ErrorReply>(&result.reply)) {
    session.err << fmt::format("[ERROR] {}: {}\n", op, failure->message);
    totals.broken = true;
    return;
  }
  const auto& results = std::get<FuzzResultsReply>(result.reply);
  if (!session.json()) print(op, results, options, session);
  if (!results.error.empty()) {
    session.err << fmt::format("[ERROR] {}: not all cases could be run: {}\n", op, results.error);
    totals.broken = true;
  }
  totals.found = totals.found || results.failed > 0;
}

/// Runs one op. Only the loss of the daemon is an error.
Status fuzz_one(const std::string& op, const FuzzOptions& options, Session& session,
                Totals& totals) {
  if (session.events) session.events->op_started(op);
  const JobResult result =
      GPUEMU_TRY(run_job(session, Request(request_of(op, options)), "fuzz " + op));
  take_result(op, result, options, session, totals);
  return ok_status();
}

/// Reports the ops after the one that ended the command.
void tell_not_run(const std::vector<std::string>& ops, const std::string& why, Session& session) {
  for (const std::string& op : ops) session.err << fmt::format("[SKIP] {}: not run{}\n", op, why);
}

/// Returns every dtype of these ops once.
std::vector<DType> dtypes_of(const std::vector<std::string>& ops, const Config& config) {
  std::vector<DType> dtypes;
  for (const std::string& name : ops) {
    for (const DType dtype : config.find_op(name)->dtypes) {
      if (std::ranges::find(dtypes, dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

void show_json(const Totals& totals, const FuzzOptions& options, Session& session) {
  const std::string json = options.ops.size() != 1 ? "[" + totals.json + "]" : totals.json;
  if (session.events) {
    session.events->run_finished(static_cast<int>(session.exit_code), json);
  } else {
    session.print_json(json);
  }
}

std::vector<std::string> cluster_words(const std::vector<std::string>& ops,
                                       const FuzzOptions& options) {
  std::vector<std::string> words = {"fuzz", fmt::format("--iterations={}", options.iterations)};
  for (const std::string& op : ops) words.push_back("--op=" + op);
  if (options.seed) words.push_back(fmt::format("--seed={}", *options.seed));
  if (options.max_elements) {
    words.push_back(fmt::format("--max-elements={}", *options.max_elements));
  }
  if (options.unguided) words.emplace_back("--unguided");
  if (options.fail_fast) words.emplace_back("--fail-fast");
  if (options.strict) words.emplace_back("--strict");
  return words;
}

/// Returns nothing if the cluster could not be used, which has been reported.
std::optional<Totals> fuzz_on_cluster(const std::vector<std::string>& ops, const Config& config,
                                      const FuzzOptions& options, Session& session) {
  Totals totals;
  size_t ended = 0;
  const Status ran = run_on_cluster(session, options.cluster, config, cluster_words(ops, options),
                                    [&](const JobResult& result) {
                                      if (ended < ops.size()) {
                                        take_result(ops[ended++], result, options, session, totals);
                                      }
                                    });
  totals.interrupted = totals.interrupted || session.interrupted;
  if (!ran && !totals.interrupted) session.fail(ran.error());
  const bool enough = totals.found && options.fail_fast;
  tell_not_run({ops.begin() + static_cast<std::ptrdiff_t>(ended), ops.end()},
               enough ? " (--fail-fast)" : "", session);
  if (!ran && !totals.interrupted) return std::nullopt;
  return totals;
}

/// Returns nothing if the daemon was lost, which has been reported.
std::optional<Totals> fuzz_here(const std::vector<std::string>& ops, const FuzzOptions& options,
                                Session& session) {
  Totals totals;
  for (size_t i = 0; i < ops.size(); ++i) {
    const Status done = fuzz_one(ops[i], options, session, totals);
    const std::vector<std::string> left(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                        ops.end());
    if (!done) {
      session.fail(lost_job("fuzz " + ops[i], done.error()));
      tell_not_run(left, "", session);
      return std::nullopt;
    }
    const bool enough = totals.found && options.fail_fast;
    if (!totals.interrupted && !totals.incomplete && !enough) continue;
    tell_not_run(left, enough ? " (--fail-fast)" : "", session);
    break;
  }
  return totals;
}

void run(const FuzzOptions& options, Session& session) {
  if (!session.stream_fits()) return;
  if (const Status fits = check_cluster(options.cluster, session); !fits) {
    session.fail(fits.error());
    return;
  }
  const auto config = session.project();
  if (!config) return;
  const std::vector<std::string> ops = ops_of(options, *config);
  if (ops.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "no op with a kernel or an op script in {}; add one", config->file));
    return;
  }
  for (const std::string& op : options.ops) {
    if (config->find_op(op) != nullptr) continue;
    session.fail(no_such_op(op, *config));
    return;
  }
  session.begin_stream({.command = "fuzz",
                        .ops = ops,
                        .dtypes = dtypes_of(ops, *config),
                        .cases = options.iterations,
                        .tells_ops = false});
  const Status ready = session.ensure_daemon();
  if (!ready) {
    session.fail(ready.error());
    return;
  }
  const auto found = options.cluster.is_wanted() ? fuzz_on_cluster(ops, *config, options, session)
                                                 : fuzz_here(ops, options, session);
  if (!found) return;
  const Totals& totals = *found;
  session.exit_code = totals.interrupted                   ? ExitCode::Interrupted
                      : totals.broken || totals.incomplete ? ExitCode::Broken
                      : totals.found                       ? ExitCode::Findings
                                                           : ExitCode::Ok;
  session.tell_where_kernels_ran();
  if (session.json()) show_json(totals, options, session);
}

}  // namespace

void add_fuzz(Command app, Session& session) {
  auto options = std::make_shared<FuzzOptions>();
  Command command = app.command("fuzz", "Run many generated cases of an op");
  command
      .option("OPS,-o,--op", options->ops,
              "Only these ops (default: every op with a kernel or op script)")
      .type_name("NAME");
  command.option("-i,--iterations", options->iterations, "Cases of each op")
      .type_name("N")
      .check(whole_number(1, kIterationsMax))
      .show_default();
  add_base_seed(command, options->seed);
  add_max_elements(command, options->max_elements);
  add_strict(command, options->strict);
  command.flag("--fail-fast", options->fail_fast, "Stop after the first failing case");
  command.flag("--unguided", options->unguided,
               "Generated cases alone: no corpus, none that follows another");
  add_cluster(command, options->cluster);
  add_session(command, session);
  add_report_format(command, session);
  add_stream(command, session);
  command.footer(
      "Every failure is stored: `gpuemu failures` lists them.\n"
      "Exit code: 0 nothing found, 1 something failed, 2 wrong use, 3 could not run.\n"
      "Example:\n"
      "  gpuemu fuzz softmax -i 2000 --seed 7");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
