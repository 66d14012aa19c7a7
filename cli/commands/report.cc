// `gpuemu report`: writes the last CI run, or stored results, as a document; `gpuemu report verify`
// checks one.
#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "cli/commands/baselines.h"
#include "cli/commands/ci_reports.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/ci.h"
#include "cli/session/own_daemon.h"
#include "cli/sign/sign.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/service_limits.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kHoursMax = 24 * 366 * 100;
// A page with thousands of failures has a few MiB.
constexpr size_t kPageBytesMax = size_t{1} << 28;

struct ReportOptions {
  std::optional<uint64_t> since_hours;
  bool lint = false;
  std::string tag;
  ReportChoice reports;
};

struct VerifyOptions {
  std::string file, key;
};

/// Adds the ops with the counts of their stored results.
void count_ops(const Config& config, CiRunSummary& summary) {
  std::map<std::pair<std::string, DType>, CiOp> ops;
  for (const ValidationResult& one : summary.validation_results) {
    const OpConfig* op = config.find_op(one.op_name);
    // A passing result does not record its dtype, so it is that of an op with only one.
    const DType dtype = one.repro_info                         ? one.repro_info->dtype
                        : op != nullptr && !op->dtypes.empty() ? op->dtypes.front()
                                                               : DType::Float32;
    CiOp& report = ops[{one.op_name, dtype}];
    report.op_name = one.op_name;
    report.dtype = dtype;
    ++report.cases;
    ++(one.passed ? report.passed : report.failed);
    report.duration_ms += one.duration_ms;
    report.max_diff = std::max(report.max_diff, one.max_diff);
    if (op != nullptr) report.file = op->file, report.line = op->line;
  }
  for (auto& [key, report] : ops) {
    summary.total_tests += report.cases;
    summary.passed += report.passed;
    summary.failed += report.failed;
    summary.ops.push_back(std::move(report));
  }
}

/// Returns the newest result of each op and seed; nothing on failure, which has been reported.
std::optional<CiRunSummary> stored_results(const ReportOptions& options, const Config& config,
                                           Session& session) {
  const auto reply = session.ask_for(ListResultsRequest{kResultsListedMax, ""});
  if (!reply) return std::nullopt;
  CiRunSummary summary;
  summary.profile = kStored;
  summary.timestamp = now_seconds();
  const int64_t oldest = options.since_hours
                             ? summary.timestamp - static_cast<int64_t>(*options.since_hours) * 3600
                             : 0;
  for (const ValidationResult& one : reply->results) {
    if (one.timestamp < oldest) continue;
    summary.duration_ms += one.duration_ms;
    summary.validation_results.push_back(one);
  }
  count_ops(config, summary);
  return summary;
}

/// Returns the last CI run if there is one and no time was given, otherwise the stored results.
std::optional<CiRunSummary> summary_for(const ReportOptions& options, const Config& config,
                                        Session& session) {
  if (!options.since_hours) {
    const auto reply = session.call(GetCiSummaryRequest{});
    if (!reply) {
      session.fail(reply.error());
      return std::nullopt;
    }
    if (const auto* run = std::get_if<CiRunCompleteReply>(&*reply)) return run->summary;
    const auto* failure = std::get_if<ErrorReply>(&*reply);
    if (failure == nullptr || failure->code != WireErrorCode::NotFound) {
      session.fail(failure == nullptr ? ErrorReply{} : *failure);
      return std::nullopt;
    }
  }
  return stored_results(options, config, session);
}

bool add_lint(const ReportOptions& options, CiRunSummary& summary, Session& session) {
  if (!options.lint) return true;
  InspectRequest request;
  request.stream = true;
  const auto reply = inspect(request, session);
  if (!reply) return false;
  for (const LintResult& one : summary.lint_results) {
    --summary.total_tests;
    --(one.passed ? summary.passed : summary.failed);
  }
  summary.lint_results = reply->results;
  summary.kernels_cached = 0;
  for (const LintResult& one : summary.lint_results) {
    ++summary.total_tests;
    ++(one.passed ? summary.passed : summary.failed);
  }
  return true;
}

bool add_artifacts(const ReportOptions& options, const Config& config, CiRunSummary& summary,
                   Session& session) {
  if (options.tag.empty()) return true;
  const auto kernels = measured_before(config, session);
  if (!kernels) return false;
  const auto reply = session.ask_for(DiffArtifactBaselineRequest{options.tag, {}, *kernels});
  if (!reply) return false;
  summary.artifact_diffs = reply->summary;
  return true;
}

void run(const ReportOptions& options, Session& session) {
  const auto config = session.project();
  if (!config) return;
  if (const Status writable = options.reports.check(session); !writable) {
    session.fail(writable.error());
    return;
  }
  const OwnDaemon daemon(session);
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return;
  }
  auto summary = summary_for(options, *config, session);
  if (!summary || !add_lint(options, *summary, session) ||
      !add_artifacts(options, *config, *summary, session)) {
    return;
  }
  const CasePictures pictures =
      options.reports.wants_pictures() ? picture_cases(*summary, session) : CasePictures();
  options.reports.show(*summary, *config, pictures, session);
}

void verify(const VerifyOptions& options, Session& session) {
  const auto place = std::filesystem::path(session.working_folder);
  const auto page = read_file(place / options.file, kPageBytesMax);
  if (!page) {
    session.fail(Error{ErrorCode::InvalidArgument, page.error().message});
    return;
  }
  const auto key =
      options.key.empty() ? key_folder(session) / "sign-ed25519.pub" : place / options.key;
  const auto checked = verify_page(*page, key);
  if (!checked) {
    session.fail(checked.error());
  } else if (checked->valid) {
    session.out << options.file << ": signed by key " << checked->key << ", unchanged\n";
  } else {
    session.out << options.file << ": not valid: " << checked->why << '\n';
    session.exit_code = ExitCode::Findings;
  }
}

void add_verify(Command command, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  Command verifies = command.command("verify", "Check that a signed page is what was signed");
  verifies.option("FILE", options->file, "A page of `gpuemu report --signed`")
      .type_name(" ")
      .required();
  verifies
      .option("--key", options->key,
              "The signer's public key in PEM\n(default: your own, "
              "~/.gpuemu/sign-ed25519.pub)")
      .type_name("FILE");
  verifies.footer("Exit code: 0 it is, 1 it is not, 2 no such file or key.");
  verifies.callback([options, &session] { verify(*options, session); });
}

}  // namespace

void add_report(Command app, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  Command command = app.command("report", "Write a report of the last CI run or of stored results");
  command.optional_command();
  command.keep_options();
  command
      .option("--since-hours,--since_hours", options->since_hours,
              "Stored results of the last N hours instead of the last CI run")
      .type_name("N")
      .check(whole_number(0, kHoursMax));
  command.flag("--include-lint,--include_lint", options->lint, "Measure the kernels now");
  command
      .option("--include-artifacts,--include_artifacts", options->tag,
              "Compare stored metrics of kernels with this baseline")
      .type_name("TAG");
  add_reports(command, options->reports, session);
  add_verify(command, session);
  command.footer(
      "Exit code: 0 it was written, whatever it says, 2 wrong use, 3 it could not be.\n"
      "Examples:\n"
      "  gpuemu report --format pr-comment --output comment.md\n"
      "  gpuemu report --format html --signed -o report.html\n"
      "  gpuemu report verify report.html --key team.pub");
  command.callback([options, command, &session] {
    if (!command.has_chosen()) run(*options, session);
  });
}

}  // namespace gpuemu::cli
